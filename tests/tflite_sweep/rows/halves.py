"""FLOAT16 numbers, of which the runtime has kernels for some operators."""
import numpy as np

from model import draw_floats
from rows import row
from rows.arithmetic import broadcast


def small(rng, shape):
    return draw_floats(rng, shape, 4)


def unary(operator, table=None, draw=small, **options):
    def make(m, kind):
        x = m.input(kind, m.shape(), None, draw)
        m.output(m.op(operator, [x], [(kind,)], table, **options))
    row(operator, "f16")(make)


unary("NEG", "NegOptions")
unary("SIN")
unary("COS", "CosOptions")
unary("FLOOR")
unary("LOGISTIC")
unary("TANH")
unary("GELU", "GeluOptions", approximate=False)
unary("SOFTMAX", "SoftmaxOptions", beta=1.0)


def binary(operator, table, result="f16", draw=small, **options):
    def make(m, kind):
        first, other = broadcast(m, None, 200)
        a, b = m.input(kind, first, None, draw), m.operand(kind, other, None, draw)
        m.output(m.op(operator, [a, b], [(result,)], table, **options))
    row(operator, "f16")(make)


for name in ("ADD", "MUL"):
    binary(name, f"{name.title()}Options")
for name in ("MAXIMUM", "MINIMUM"):
    binary(name, "MaximumMinimumOptions")
for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    binary(name, name.title().replace("_", "") + "Options", "bool", lambda rng, shape: np.round(small(rng, shape)))
