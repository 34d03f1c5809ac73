"""Writes an LSTM of 64 units for each number of steps: sequences.py FOLDER STEPS... (scripts/sequence-times)."""
import sys
from pathlib import Path

import numpy as np

from model import Model

UNITS = 64


def lstm(steps):
    m = Model(np.random.default_rng(1))
    x = m.input("f32", (steps, 1, UNITS))

    def gates(*shape):
        return [m.const("f32", m.values("f32", shape, 0.1)) for _ in range(4)]
    states = [m.variable("f32", (1, UNITS)) for _ in range(2)]
    operands = [x, *gates(UNITS, UNITS), *gates(UNITS, UNITS), *[None] * 3, *gates(UNITS), None, None, *states]
    y = m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [("f32",)], "UnidirectionalSequenceLSTMOptions",
             time_major=True, fused_activation_function="TANH")
    m.output(y)
    y.shape = x.shape
    return m.write()


if __name__ == "__main__":
    for steps in sys.argv[2:]:
        (Path(sys.argv[1]) / f"lstm-{steps}.tflite").write_bytes(lstm(int(steps)))
