#!/usr/bin/env python3
"""A picture of a Julia set, from a graph made by calls and run on buffers that stay on the device.

Usage: julia.py [OUTPUT.png]        (needs Pillow)

One run of the graph takes every point eight turns of z -> z^2 + c further. What it writes, the next run reads: each
output is a buffer that is donated as the input of the same name, so that nothing but the picture goes to the host.
"""

import sys

import numpy as np
from PIL import Image

import tosavk

WIDTH, HEIGHT, RUNS, TURNS = 720, 480, 16, 8
C = complex(-0.79, 0.156)
COLOURS = np.array([(8, 12, 40), (32, 107, 203), (237, 255, 255), (255, 170, 0), (60, 8, 30), (8, 12, 40)], float)


def turns() -> tosavk.Network:
    """Real and imaginary parts and the count of turns within the circle: in, and eight turns later out."""
    b = tosavk.Builder("julia")
    shape = (HEIGHT, WIDTH)
    re, im, count = b.input("re", shape), b.input("im", shape), b.input("count", shape)
    no_shift = np.zeros(1, np.int8)
    number = lambda x: np.full((1, 1), x, np.float32)  # noqa: E731
    for _ in range(TURNS):
        re2, im2 = b.mul(re, re, no_shift), b.mul(im, im, no_shift)
        is_inside = b.greater(number(4), b.add(re2, im2))
        count = b.add(count, b.select(is_inside, number(1), number(0)))
        product = b.mul(re, im, no_shift)
        im = b.clamp(b.add(b.add(product, product), number(C.imag)), min_val=-1e6, max_val=1e6)
        re = b.clamp(b.add(b.sub(re2, im2), number(C.real)), min_val=-1e6, max_val=1e6)
    b.output(re, im, count)
    return b.build()


def main(path: str) -> None:
    net = turns().compile()
    y, x = np.mgrid[-1.1 : 1.1 : HEIGHT * 1j, -1.65 : 1.65 : WIDTH * 1j]
    context = net.context()
    for k, start in enumerate((x, y, np.zeros_like(x))):
        buffer = tosavk.Buffer.from_array(start, "fp32", net.device)
        context.bind_input(k, buffer)
        context.bind_output(k, buffer)
        count = buffer
    for _ in range(RUNS):
        context.run()
    share = np.sqrt(count.numpy() / (RUNS * TURNS)) * (len(COLOURS) - 1)
    below = np.minimum(share.astype(int), len(COLOURS) - 2)
    between = (share - below)[..., None]
    picture = COLOURS[below] * (1 - between) + COLOURS[below + 1] * between
    Image.fromarray(picture.astype(np.uint8)).save(path)
    counters = context.counters()
    print(f"{path}: {RUNS} runs on {net.device.name}, {counters['host_copies']} tensors went through the host")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "julia.png")
