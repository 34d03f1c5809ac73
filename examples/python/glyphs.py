#!/usr/bin/env python3
"""What the sample network reads, as one picture: every sample with the class that it is taken for.

Usage: glyphs.py [OUTPUT.png]       (needs Pillow)

All samples are under way at once, and asyncio waits for them.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import tosavk

GLYPHS = Path(__file__).resolve().parent.parent / "glyphs"
CELL, COLUMNS = 96, 6


async def read(net: tosavk.Network, samples: list[np.ndarray]) -> list[np.ndarray]:
    fast = net.compile()
    return await asyncio.gather(*(fast.submit(sample) for sample in samples))


def main(path: str) -> None:
    net = tosavk.load(GLYPHS / "glyphs_int8.tflite")
    labels = (GLYPHS / "labels.txt").read_text().split()
    files = sorted((GLYPHS / "samples").glob("*.int8.npy"))
    samples = [np.load(file) for file in files]
    scores = asyncio.run(read(net, samples))
    scale, zero_point = net.outputs[0].scale, net.outputs[0].zero_point
    rows = -(-len(files) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * CELL, rows * (CELL + 20)), "white")
    draw = ImageDraw.Draw(sheet)
    right = 0
    for k, (file, sample, score) in enumerate(zip(files, samples, scores, strict=True)):
        x, y = k % COLUMNS * CELL, k // COLUMNS * (CELL + 20)
        grey = Image.fromarray((sample[0, :, :, 0].astype(np.int16) + 128).astype(np.uint8))
        sheet.paste(grey.resize((CELL - 8, CELL - 8), Image.Resampling.NEAREST), (x + 4, y + 4))
        best = int(score.argmax())
        is_right = file.name.split(".")[0].endswith(f"_{labels[best]}")
        right += is_right
        text = f"{labels[best]}  {scale * (int(score[0, best]) - zero_point):.2f}"
        draw.text((x + 8, y + CELL), text, fill="darkgreen" if is_right else "red")
    sheet.save(path)
    print(f"{path}: {right} of {len(files)} samples read right")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "glyphs.png")
