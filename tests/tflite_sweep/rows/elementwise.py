"""Operators of one operand, and what changes types."""
import numpy as np

from model import TYPES, Quant, draw_floats
from rows import row

FIXED = {  # what the runtime asks of the output
    ("LOGISTIC", "i8"): (1 / 256, -128), ("LOGISTIC", "u8"): (1 / 256, 0), ("LOGISTIC", "i16"): (1 / 32768, 0),
    ("TANH", "i8"): (1 / 128, 0), ("TANH", "u8"): (1 / 128, 128), ("TANH", "i16"): (1 / 32768, 0),
}
TABLES = {"ABS": "AbsOptions", "NEG": "NegOptions", "SQUARE": "SquareOptions", "EXP": "ExpOptions", "COS": "CosOptions",
          "HARD_SWISH": "HardSwishOptions", "GELU": "GeluOptions", "SIGN": "SignOptions"}


def positive(rng, shape):
    return np.abs(draw_floats(rng, shape)) * 10 ** rng.uniform(-3, 3) + 1e-6


def integers(low, high):
    return lambda rng, shape: rng.integers(low, high, shape, endpoint=True)


def halves(rng, shape):
    """Numbers that rounding is decided at."""
    x = draw_floats(rng, shape, 4)
    return np.where(rng.random(shape) < 0.5, np.round(x * 2) / 2, x)


def limited(m, x, most):
    """INT64 between -most and most, so that what is made of it is known to fit 32 bits."""
    x = m.op("MAXIMUM", [x, m.const("i64", [-most])], [("i64",)], "MaximumMinimumOptions")
    return m.op("MINIMUM", [x, m.const("i64", [most])], [("i64",)], "MaximumMinimumOptions")


def unary(operator, kinds, specials=False, draw=None):
    def make(m, kind):
        kind, _, form = kind.partition(" ")
        m.specials = specials
        quant = m.quant(kind, 1e-3, 0.3)
        if operator in ("RSQRT", "SQRT", "LOG") and quant is not None and kind != "f32":
            quant = Quant(quant.scale, np.iinfo(np.int8).min if kind == "i8" else 0)
        own = draw or {"i32": integers(-(1 << 20), 1 << 20), "i64": integers(-(1 << 40), 1 << 40)}.get(kind)
        if operator in ("RSQRT", "SQRT", "LOG") and kind == "i16":
            own = integers(0, 32767)
        x = m.input(kind, m.shape(ranks=(1, 5)), quant, own)
        x = limited(m, x, (1 << 31) - 1) if form == "limited" else x
        if operator in ("MAXIMUM",) or kind not in ("i8", "u8", "i16"):
            out = None
        elif (operator, kind) in FIXED:
            out = Quant(*FIXED[operator, kind])
        elif operator in ("ABS", "NEG") and kind == "i16" or operator == "NEG":
            out = quant
        else:
            out = m.quant(kind, 1e-3, 0.3)
        if operator == "GELU":
            more = {"approximate": m.chance()}
        elif operator == "LEAKY_RELU":
            more = {"alpha": float(np.float32(m.pick(0.01, 0.1, 0.2, 0.5, 1.5, -0.3)))}
        else:
            more = {}
        table = "LeakyReluOptions" if operator == "LEAKY_RELU" else TABLES.get(operator)
        m.output(m.op(operator, [x], [(kind, out)], table, **more))
    row(operator, *kinds)(make)


for name in ("ABS", "NEG"):
    unary(name, ["f32"], specials=True)
unary("ABS", ["i8", "i16", "i32"])
unary("NEG", ["i8", "i16", "i32", "i64", "i64 limited"])
unary("SQUARE", ["f32"], specials=True)
unary("SQRT", ["f32"], draw=positive)
unary("RSQRT", ["f32"], draw=positive)
unary("RSQRT", ["i8", "i16"])
unary("SQRT", ["i8", "i16"])
unary("LOG", ["f32"], draw=positive)
unary("LOG", ["i8", "i16"])
unary("EXP", ["f32", "i8", "i16"])
unary("SIN", ["f32"])
unary("COS", ["f32"])
for name in ("FLOOR", "CEIL", "ROUND"):
    unary(name, ["f32"], draw=halves)
unary("SIGN", ["f32", "i32"])
unary("ELU", ["f32", "i8"])
unary("GELU", ["f32", "i8", "u8", "i16"])
unary("HARD_SWISH", ["f32", "i8", "u8"])
for name in ("LOGISTIC", "TANH"):
    unary(name, ["f32", "i8", "u8", "i16"])
for name in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"):
    unary(name, ["f32"], specials=True)
    unary(name, ["i8", "u8"])
unary("RELU", ["i16"])
unary("RELU6", ["i16"])
unary("LEAKY_RELU", ["f32", "i8", "u8", "i16"])


@row("HARD_SWISH", "i8 coarse")
def coarse_hard_swish(m, kind):
    """An output whose steps are so large that only the rounding is seen."""
    quant = m.quant("i8", 1e-3, 0.3)
    x = m.input("i8", m.shape(), quant)
    out = Quant(quant.scale * np.float32(10 ** m.rng.uniform(2, 5)), m.quant("i8").zero_point)
    m.output(m.op("HARD_SWISH", [x], [("i8", out)], "HardSwishOptions"))


@row("LOGICAL_NOT", "bool")
def logical_not(m, kind):
    m.output(m.op("LOGICAL_NOT", [m.input(kind, m.shape())], [(kind,)], "LogicalNotOptions"))


@row("ZEROS_LIKE", "f32", "i32", "i64")
def zeros_like(m, kind):
    m.output(m.op("ZEROS_LIKE", [m.input(kind, m.shape())], [(kind,)], "ZerosLikeOptions"))


@row("CAST", *[f"{a} {b}" for a in ("f32", "i32", "i64", "i8", "u8", "i16", "bool", "f16")
               for b in ("f32", "i32", "i64", "i8", "u8", "i16", "bool", "f16") if a != b])
def cast(m, kind):
    source, target = kind.split()
    ranges = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767), "bool": (0, 1)}
    low, high = ranges.get(target, (-(1 << 30), 1 << 30))
    if source in ("f32", "f16"):
        reach = min(high, 60000 if source == "f16" else high)

        def draw(rng, shape):
            return np.clip(draw_floats(rng, shape, 100), max(low, -60000) if target != "u8" else 0, reach)
    elif source == "bool":
        draw = None
    else:
        own = ranges.get(source, (-(1 << 31), (1 << 31) - 1))
        if source == "i64":
            own = (-(1 << 40), 1 << 40) if target == "f32" else own
        if target in ("f16",):
            own = (max(own[0], -2048), min(own[1], 2048))
        draw = integers(*own)
    x = m.input(source, m.shape(), None, draw)
    number = {"f32": "FLOAT32", "i32": "INT32", "i64": "INT64", "i8": "INT8", "u8": "UINT8", "i16": "INT16",
              "bool": "BOOL", "f16": "FLOAT16"}
    m.output(m.op("CAST", [x], [(target,)], "CastOptions", in_data_type=number[source], out_data_type=number[target]))


@row("QUANTIZE", "f32 i8", "f32 u8", "f32 i16", "i8 i8", "i8 u8", "u8 i8", "u8 u8", "i16 i16", "i8 i16", "i16 i8",
     "i32 i8", "i32 i16", "i16 i32")
def quantize(m, kind):
    source, target = kind.split()
    x_quant, out = m.quant(source), m.quant(target)
    if source == "i32":
        x_quant = Quant(m.scale(1e-6, 1e-4))
    if target == "i32":
        out = Quant(m.scale(1e-6, 1e-4))
    if source == "f32":
        span = float(out.scale[0]) * {"i8": 100, "u8": 100, "i16": 30000}[target]

        def draw(rng, shape):
            x = rng.standard_normal(shape) * span
            steps = (np.round(x / out.scale[0]) + 0.5) * out.scale[0]
            return np.where(rng.random(shape) < 0.3, steps, x)
        x = m.input(source, m.shape(), None, draw)
    else:
        x = m.input(source, m.shape(), x_quant, integers(-(1 << 20), 1 << 20) if source == "i32" else None)
    m.output(m.op("QUANTIZE", [x], [(target, out)], "QuantizeOptions"))


@row("QUANTIZE", "f32 i4")
def quantize_to_int4(m, kind):
    x = m.input("f32", m.shape())
    steps = m.op("QUANTIZE", [x], [("i4", Quant(m.scale(0.05, 1)))], "QuantizeOptions")
    m.output(m.op("DEQUANTIZE", [steps], [("f32",)], "DequantizeOptions"))


@row("DEQUANTIZE", "i8", "u8", "i16", "f16", "i8 channel", "i4")
def dequantize(m, kind):
    if kind == "f16":
        x = m.input("f16", m.shape(), None)
    elif kind == "i8 channel":
        shape = m.shape(rank=m.pick(2, 4))
        axis = m.size(0, len(shape) - 1)
        count = shape[axis]
        x = m.input("i8", shape, Quant([m.scale() for _ in range(count)], [m.size(-5, 5) for _ in range(count)], axis))
    elif kind == "i4":
        shape = m.shape(rank=2)
        x = m.const("i4", m.values("i4", shape), Quant(m.scale()))
        y = m.op("DEQUANTIZE", [x], [("f32",)], "DequantizeOptions")
        m.output(m.op("ADD", [m.input("f32", shape), y], [("f32",)], "AddOptions"))
        return
    else:
        x = m.input(kind, m.shape())
    m.output(m.op("DEQUANTIZE", [x], [("f32",)], "DequantizeOptions"))


@row("FAKE_QUANT", "f32")
def fake_quant(m, kind):
    low = -abs(m.scale(0.1, 10))
    high = abs(m.scale(0.1, 10))
    x = m.input(kind, m.shape())
    m.output(m.op("FAKE_QUANT", [x], [(kind,)], "FakeQuantOptions", min=low, max=high, num_bits=m.pick(8, 8, 4, 16),
                  narrow_range=m.chance()))


@row("BITCAST", "f32 i32", "i32 f32", "i8 u8", "u8 i8", "i16 i8", "i16 u8", "i8 i16", "u8 i16", "f32 u8", "f32 i16",
     "u8 i32", "i8 f32", "i16 i32", "i16 f32", "i16 f16", "f16 i16", "f16 i32", "f16 u8", "i32 f16", "bool i8",
     "bool i32", "f32 f32", "i64 i32", "i64 u8", "i64 f32")
def bitcast(m, kind):
    source, target = kind.split()
    sizes = {"f32": 4, "i32": 4, "i8": 1, "u8": 1, "i16": 2, "f16": 2, "bool": 1, "i64": 8}
    shape = m.shape(ranks=(1, 4))
    if sizes[target] > sizes[source]:
        shape = (*shape[:3], sizes[target] // sizes[source])

    def numbers(rng, s):
        """Bits that are ordinary floats in the end."""
        size = int(np.prod(s)) * sizes[source] // sizes[target]
        return draw_floats(rng, (size,)).astype(TYPES[target][1]).view(TYPES[source][1]).reshape(s)

    x = m.input(source, shape, None, numbers if target in ("f32", "f16") and source not in ("bool", "i64") else None)
    m.output(m.op("BITCAST", [x], [(target,)], "BitcastOptions"))


@row("BUCKETIZE", "f32", "i32", "i64")
def bucketize(m, kind):
    bounds = np.sort(m.rng.uniform(-3, 3, m.size(1, 6))).astype(np.float32)
    x = m.input(kind, m.shape(), None, integers(-4, 4) if kind != "f32" else None)
    m.output(m.op("BUCKETIZE", [x], [("i32",)], "BucketizeOptions", boundaries=bounds))
