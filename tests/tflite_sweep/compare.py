"""Times of networks here and in the real TFLite runtime. scripts/compare-tflite starts it."""
import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import judge
import runtimes
from model import draw_floats

ROOT = Path(__file__).resolve().parents[2]


class Tflite:
    """XNNPACK, with the inputs set and the outputs read in every run."""

    def __init__(self, data, threads):
        from ai_edge_litert import interpreter as tflite
        self.name = f"XNNPACK, {threads} thread{'s' if threads > 1 else ''}"
        try:
            self.interpreter = tflite.Interpreter(model_content=data, num_threads=threads)
            self.interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise runtimes.Refused(" ".join(str(error).split())) from error
        self.inputs = self.interpreter.get_input_details()
        self.outputs = [d["index"] for d in self.interpreter.get_output_details()]

    def run(self, arrays):
        for detail, array in zip(self.inputs, arrays):
            self.interpreter.set_tensor(detail["index"], array)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(index) for index in self.outputs]


class Ours:
    def __init__(self, library, data):
        self.name = "tosa-vk"
        self.model = runtimes.OurModel(library, data)
        self.types = None

    def run(self, arrays):
        return self.model.on_device(arrays, self.types)


def draw(details):
    rng = np.random.default_rng(1)
    arrays = []
    for detail in details:
        kind = np.dtype(detail["dtype"])
        if kind.kind == "f":
            arrays.append(draw_floats(rng, detail["shape"]).astype(kind))
        elif kind.itemsize == 1 and kind.kind in "iu":
            limits = np.iinfo(kind)
            arrays.append(rng.integers(limits.min, limits.max, detail["shape"], endpoint=True).astype(kind))
        else:  # may be a place in something
            arrays.append(np.zeros(detail["shape"], kind))
    return arrays


def compare(library, path, seconds):
    """{name: milliseconds of each run} and how far the results are apart."""
    data = Path(path).read_bytes()
    threads = os.cpu_count()
    sides = [Tflite(data, 1)] + ([Tflite(data, threads)] if threads > 1 else [])
    arrays = draw(sides[0].inputs)
    theirs = sides[0].run(arrays)
    ours = Ours(library, data)
    ours.types = [a.dtype for a in theirs]
    sides.insert(0, ours)
    apart = max((judge.deviation(a.astype(np.float64), b.astype(np.float64)) if a.shape == b.shape else np.inf)
                for a, b in zip(ours.run(arrays), theirs))
    for side in sides:
        side.run(arrays)
    times = {side.name: [] for side in sides}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[ours.name]) < 5:
        for side in sides:  # in turn, so that whatever else the machine does hits all of them
            begun = time.perf_counter()
            side.run(arrays)
            times[side.name].append((time.perf_counter() - begun) * 1e3)
    ours.model.close()
    return times, apart


def main():
    parser = argparse.ArgumentParser(prog="scripts/compare-tflite", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE.tflite")
    parser.add_argument("--device", default="", help="as everywhere; the default is the best one")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each file")
    parser.add_argument("--json", help="a file for the results, or - for standard output in the place of the table")
    parser.add_argument("--build", help="the build folder that has the library")
    options = parser.parse_args()
    build = options.build or next((str(ROOT / b) for b in ("build", "build-ci") if (ROOT / b / "lib").exists()), "build")
    library = runtimes.Library(runtimes.library_path(build), options.device)
    library.c.tosavk_device_name.restype = ctypes.c_char_p
    device = library.c.tosavk_device_name(library.device).decode()
    if options.json != "-":
        print(f"device: {device}; the best run, with its inputs set and its outputs read, in milliseconds")
    results, names, failed = [], None, False
    for path in options.files:
        try:
            times, apart = compare(library, path, options.seconds)
        except (runtimes.Refused, RuntimeError, OSError) as error:
            print(f"scripts/compare-tflite: {path}: {error}", file=sys.stderr)
            failed = True
            continue
        results.append({"file": path, "apart": None if np.isinf(apart) else apart, "ms": {
            name: {"best": min(t), "median": statistics.median(t), "runs": len(t)} for name, t in times.items()}})
        if options.json == "-":
            continue
        if names is None:
            names = list(times)
            print(f"{'network':32s}" + "".join(f"{n:>22s}" for n in names) + f"{'times XNNPACK, 1':>20s}{'apart':>10s}")
        label = "/".join(Path(path).parts[-2:])
        print(f"{label[-32:]:32s}" + "".join(f"{min(times[n]):22.3f}" for n in names)
              + f"{min(times[names[0]]) / min(times[names[1]]):20.2f}{apart:10.1e}", flush=True)
    if options.json:
        text = json.dumps({"device": device, "threads": os.cpu_count(), "networks": results}, indent=1)
        if options.json == "-":
            print(text)
        else:
            Path(options.json).write_text(text + "\n")
    library.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
