"""Reductions, and places of the largest."""
import numpy as np

from model import Quant, draw_floats
from rows import row
from rows.elementwise import integers, limited


def reduction(operator, kinds, same=False, draws=None):
    def make(m, kind):
        kind, _, form = kind.partition(" ")
        shape = m.shape(ranks=(1, 5), most=300)
        quant = m.quant(kind, 1e-2, 0.1)
        x = m.input(kind, shape, quant, (draws or {}).get(kind))
        if operator == "SUM" and kind in ("i8", "i16"):
            m.resolver = "optimized"  # the reference kernel adds to memory that it never set
        axes = m.const("i32", m.axes(len(shape)))
        if form == "limited":
            x = limited(m, x, 2 if operator == "REDUCE_PROD" else 1 << 22)
        out = quant
        if quant is not None and not same and m.chance(0.8):
            out = Quant(quant.scale * np.float32(2 ** m.rng.uniform(-2, 4)), m.quant(kind).zero_point)
        m.output(m.op(operator, [x, axes], [(kind, out)], "ReducerOptions", keep_dims=m.chance()))
    row(operator, *kinds)(make)


reduction("MEAN", ["f32", "i8", "u8", "i16"])
reduction("MEAN", ["i32", "i64"], draws={"i32": integers(-100000, 100000), "i64": integers(-(1 << 31), (1 << 31) - 1)})
reduction("SUM", ["f32", "i8", "u8", "i16", "i32", "i64", "i64 limited"],
          draws={"i32": integers(-(1 << 22), 1 << 22), "i64": integers(-(1 << 22), 1 << 22)})
reduction("REDUCE_PROD", ["f32", "i8", "i16", "i32", "i64", "i64 limited"],
          draws={"i32": integers(-3, 3), "i64": integers(-9, 9), "f32": lambda rng, s: draw_floats(rng, s, 0.3) + 1})
reduction("REDUCE_MAX", ["f32", "i8", "u8", "i16", "i32", "i64"], same=True)
reduction("REDUCE_MIN", ["f32", "i8", "u8", "i16", "i32", "i64"], same=True)
reduction("REDUCE_ANY", ["bool"], draws={"bool": lambda rng, s: rng.random(s) < 0.15})
reduction("REDUCE_ALL", ["bool"], draws={"bool": lambda rng, s: rng.random(s) < 0.85})


def of_nothing(operator, kinds):
    """A dimension of size 0 is among those that are reduced, or is left."""
    def make(m, kind):
        kind = kind.split()[0]
        shape = list(m.shape(ranks=(2, 4)))
        none = m.size(0, len(shape) - 1)
        shape[none] = 0
        quant = m.quant(kind, 1e-2, 0.1)
        axes = sorted({none} | set(m.axes(len(shape)))) if m.chance(0.8) else [(none + 1) % len(shape)]
        x = m.input(kind, shape, quant)
        out = m.op(operator, [x, m.const("i32", axes)], [(kind, quant)], "ReducerOptions", keep_dims=m.chance())
        m.output(out)
    row(operator, *(f"{kind} of-nothing" for kind in kinds))(make)


of_nothing("SUM", ["f32", "u8", "i32"])
of_nothing("MEAN", ["f32", "i8", "u8", "i16", "i32"])
of_nothing("REDUCE_PROD", ["f32", "i32", "i64"])
of_nothing("REDUCE_MAX", ["f32", "i8", "u8", "i16", "i32"])
of_nothing("REDUCE_MIN", ["f32", "i8", "u8", "i16", "i32"])
of_nothing("REDUCE_ANY", ["bool"])
of_nothing("REDUCE_ALL", ["bool"])


def place(operator, table):
    @row(operator, "f32", "i8", "u8", "i32", "bool", "f32 i64")
    def make(m, kind):
        kind, wide = kind.split()[0], "i64" in kind
        shape = m.shape()
        draw = {"f32": lambda rng, s: np.round(draw_floats(rng, s, 3)), "i32": integers(-5, 5)}.get(kind)
        x = m.input(kind, shape, draw=draw)
        axis = m.const("i32", m.pick(m.axis(len(shape)), [m.axis(len(shape))]))
        m.output(m.op(operator, [x, axis], [("i64" if wide else "i32",)], table,
                      output_type="INT64" if wide else "INT32"))


place("ARG_MAX", "ArgMaxOptions")
place("ARG_MIN", "ArgMinOptions")


@row("CUMSUM", "f32", "i32", "i64")
def cumsum(m, kind):
    shape = m.shape()
    x = m.input(kind, shape, draw=integers(-(1 << 24), 1 << 24) if kind != "f32" else None)
    m.output(m.op("CUMSUM", [x, m.const("i32", m.axis(len(shape)))], [(kind,)], "CumsumOptions", exclusive=m.chance(),
                  reverse=m.chance()))


@row("TOPK_V2", "f32", "i8", "u8", "i32", "i16", "i64")
def topk(m, kind):
    shape = m.shape(ranks=(1, 4), low=2)
    draw = {"f32": lambda rng, s: np.round(draw_floats(rng, s, 3) * 2) / 2, "i32": integers(-5, 5),
            "i64": integers(-(1 << 40), 1 << 40)}.get(kind)
    x = m.input(kind, shape, draw=draw)
    k = m.const("i32", m.size(1, shape[-1]))
    m.output(*m.op("TOPK_V2", [x, k], [(kind, x.quant), ("i32",)], "TopKV2Options"))
