"""Writes the corpus of tflite_fuzz_test: small models of the sweep's rows, one of each operator (of some, more).

Usage: scripts/tflite-sweep --corpus FOLDER"""
from pathlib import Path

import runtimes
from rows import ROWS

LARGEST = 2800  # bytes


def write(folder, make_model, seed=7):
    """The smallest of a few models of one row of each operator, quantized where there is such a row."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = {}
    for row in ROWS:
        operator, _, kind = row.partition(" ")
        rows.setdefault(operator, []).append(kind)
    for operator, kinds in rows.items():
        likes = [k for k in kinds if k in ("i8 channel", "i8", "hybrid i8", "i32")] + kinds
        more = [k for k in kinds if "hybrid" in k][:1] + [k for k in kinds if k == "f32 basic"]
        for kind in dict.fromkeys([likes[0]] + more):
            models = []
            for number in range(4):
                try:
                    models.append(make_model(f"{operator} {kind}", seed, number)[1])
                except runtimes.Refused:
                    continue
            if models and len(min(models, key=len)) <= LARGEST:
                name = f"{operator}-{kind}".replace(" ", "-").lower()
                (folder / f"{name}.tflite").write_bytes(min(models, key=len))
