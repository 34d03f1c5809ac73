#!/usr/bin/env python3
"""Reads the samples of the glyph network through a service of Ray actors, many times over.

Usage: glyphs.py [--actors N] [--requests N] [--kill]

--actors: so many instead of one for each Vulkan device; devices take turns. --kill: one actor's process is killed half
the way; every request is answered all the same.
"""

import argparse
import asyncio
import logging
import os
import signal
import time
from pathlib import Path

import numpy as np
import ray
from service import Service, all_devices, as_array

GLYPHS = Path(__file__).resolve().parent.parent / "glyphs"


async def read(actors: int | None, count: int, kill: bool) -> None:
    found = all_devices()
    places = found if actors is None else [found[k % len(found)] for k in range(actors)]
    service = Service(GLYPHS / "glyphs_int8.tflite", places)
    about = [await actor.about.remote() for actor in service.actors]
    labels = (GLYPHS / "labels.txt").read_text().split()
    files = sorted((GLYPHS / "samples").glob("*.int8.npy"))
    samples = [np.load(file) for file in files]

    async def one(k: int) -> bool:
        scores = as_array(await service(samples[k % len(samples)]))
        return files[k % len(files)].name.split(".")[0].endswith(f"_{labels[int(scores.argmax())]}")

    begun = time.perf_counter()
    pending = [asyncio.create_task(one(k)) for k in range(count)]
    if kill:
        while sum(service.answered) < count // 2:
            await asyncio.sleep(0.001)
        os.kill(about[0][1], signal.SIGKILL)  # of this machine
    right = await asyncio.gather(*pending)
    seconds = time.perf_counter() - begun
    for (device, process), answered, deaths in zip(about, service.answered, service.deaths, strict=True):
        print(f"{device}, process {process}: {answered} requests{', was killed' if deaths else ''}")
    print(f"{len(right)} of {count} requests answered, {sum(right)} read right, {count / seconds:.0f} a second")
    await service.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        asyncio.run(read(given.actors, given.requests, given.kill))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
