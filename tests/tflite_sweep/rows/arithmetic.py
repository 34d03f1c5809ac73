"""Operators of two operands and more, with broadcasting."""
import numpy as np

from model import Quant, draw_floats
from rows import row
from rows.elementwise import integers, limited


def broadcast(m, rank=None, most=300):
    """Shapes of two operands and of their result."""
    out = m.shape(rank=rank, ranks=(1, 4) if m.chance(0.8) else (5, 6), most=most)

    def thin(shape):
        thinned = [1 if m.chance(0.3) else d for d in shape]
        return tuple(thinned[m.size(0, len(shape) - 1):]) if m.chance(0.25) else tuple(thinned)
    how = m.size(0, 3)
    if how == 0:
        return out, out
    if how == 1:
        return (out, thin(out)) if m.chance() else (thin(out), out)
    if how == 2:
        scalar = m.pick((), (1,))
        return (out, scalar) if m.chance() else (scalar, out)
    return thin(out), thin(out)


def values(kind, operator):
    if kind == "f32":
        return None
    if kind == "i32":
        reach = {"ADD": 1 << 30, "SUB": 1 << 30, "MUL": 30000, "SQUARED_DIFFERENCE": 20000}.get(operator, (1 << 31) - 1)
    else:
        reach = {"MUL": 1 << 30, "SQUARED_DIFFERENCE": 1 << 28}.get(operator, 1 << 45)
    return integers(-reach, reach)


def output_quant(m, operator, kind, a, b):
    if kind not in ("i8", "u8", "i16"):
        return None
    quant = m.quant(kind)
    ends = {"i8": 128, "u8": 128, "i16": 32768}[kind]
    sa, sb = float(a.scale[0]), float(b.scale[0])
    if operator in ("ADD", "SUB"):
        natural = max(sa, sb) * 1.5
    elif operator == "SQUARED_DIFFERENCE":
        natural = max(sa, sb) ** 2 * ends * 2
    elif operator == "DIV":
        natural = sa / sb / 4
    else:
        natural = sa * sb * ends
    return Quant(np.float32(natural * 2 ** m.rng.uniform(-3, 2)), quant.zero_point)


def binary(operator, table, kinds, activations=False, draw=None, second=None, rank=None, one_shape=False):
    def make(m, kind):
        kind, _, form = kind.partition(" ")
        first, other = broadcast(m, rank)
        other = first if one_shape else other
        low = 1e-2 if kind != "i16" else 1e-1
        qa, qb = (m.quant(kind, low, 1.0), m.quant(kind, low, 1.0)) if kind != "f32" else (None, None)
        if m.chance(0.2):  # scales far from each other
            qa = qa and qa.times(100)
        own = draw or (integers(-(1 << 20), 1 << 20) if form == "limited" else values(kind, operator))
        a = m.input(kind, first, qa, own)
        b = m.operand(kind, other, qb, second or own)
        if operator in ("MAXIMUM", "MINIMUM"):
            b.quant = a.quant
            out = a.quant
        else:
            out = output_quant(m, operator, kind, a.quant, b.quant) if qa else None
        if b.data is None and m.chance(0.2) and first == other:
            b = a
        elif m.chance(0.3):
            a, b = (b, a) if not second else (a, b)
        if form == "limited":
            most = 46340 if operator == "MUL" else (1 << 30) - 1
            a, b = limited(m, a, most), limited(m, b, most)
        more = {"fused_activation_function": m.activation()} if activations else {}
        if operator in ("ADD", "SUB"):
            more["pot_scale_int16"] = False
        m.output(m.op(operator, [a, b], [(kind, out)], table, **more))
    row(operator, *kinds)(make)


binary("ADD", "AddOptions", ["f32", "i8", "u8", "i16", "i32", "i64", "i64 limited"], True)
binary("SUB", "SubOptions", ["f32", "i8", "u8", "i16", "i32", "i64", "i64 limited"], True)
binary("MUL", "MulOptions", ["f32", "i8", "u8", "i16", "i32", "i64", "i64 limited"], True)
binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", ["f32", "i8", "i32"])
binary("MAXIMUM", "MaximumMinimumOptions", ["f32", "i8", "u8", "i16", "i32", "i64"])
binary("MINIMUM", "MaximumMinimumOptions", ["f32", "i8", "u8", "i16", "i32", "i64"])


def plain(operator, table):
    """INT16 without a scale, which are numbers that wrap."""
    @row(operator, "i16 plain")
    def make(m, kind):
        first, other = broadcast(m)
        low, high = m.pick((-300, 300), (-32768, 32767))
        draw = integers(low, high)
        m.output(m.op(operator, [m.input("i16", first, None, draw), m.operand("i16", other, None, draw)], [("i16",)],
                      table, fused_activation_function=m.activation()))


plain("ADD", "AddOptions")
plain("MUL", "MulOptions")


def nonzero(low, high):
    def draw(rng, shape):
        x = rng.integers(low, high, shape, endpoint=True)
        return np.where(x == 0, 3, x)
    return draw


def away_from_zero(rng, shape):
    x = draw_floats(rng, shape, 3)
    return np.where(np.abs(x) < 0.05, 1.5, x)


binary("DIV", "DivOptions", ["f32"], True, second=away_from_zero)
binary("DIV", "DivOptions", ["i32"], True, integers(-100000, 100000), nonzero(-300, 300))


@row("DIV", "u8", "i8", "i16")
def quantized_div(m, kind):
    shape = m.shape()
    a = m.input(kind, shape, m.quant(kind, 0.01, 1))
    zero, highest = {"u8": (0, 255), "i8": (-128, 127), "i16": (0, 32767)}[kind]
    b = m.input(kind, shape, Quant(m.scale(0.01, 1), zero), integers(zero + 1, highest))
    m.output(m.op("DIV", [a, b], [(kind, output_quant(m, "DIV", kind, a.quant, b.quant))], "DivOptions",
                  fused_activation_function=m.activation()))


for name, table in (("FLOOR_DIV", "FloorDivOptions"), ("FLOOR_MOD", "FloorModOptions")):
    binary(name, table, ["f32"], draw=lambda rng, s: np.round(draw_floats(rng, s, 20) * 4) / 4, second=away_from_zero)
    binary(name, table, ["i32"], draw=integers(-(1 << 31), (1 << 31) - 1), second=nonzero(-1000, 1000))
    binary(name, table, ["i8", "i16"], draw=integers(-120, 120), second=nonzero(-11, 11))
binary("FLOOR_MOD", "FloorModOptions", ["i64"], draw=integers(-(1 << 40), 1 << 40), second=nonzero(-1000, 1000))
binary("POW", "PowOptions", ["f32"], draw=lambda rng, s: np.abs(draw_floats(rng, s)) + 0.01,
       second=lambda rng, s: draw_floats(rng, s, 2))
binary("POW", "PowOptions", ["i32"], draw=integers(-9, 9), second=integers(0, 8))
binary("ATAN2", "ATan2Options", ["f32"], one_shape=True)
binary("BITWISE_XOR", "BitwiseXorOptions", ["i8", "u8", "i16", "i32"])
binary("RIGHT_SHIFT", "RightShiftOptions", ["i8"], draw=integers(-128, 127), second=integers(0, 7))
binary("RIGHT_SHIFT", "RightShiftOptions", ["u8"], draw=integers(0, 255), second=integers(0, 7))
binary("RIGHT_SHIFT", "RightShiftOptions", ["i16"], draw=integers(-32768, 32767), second=integers(0, 15))
binary("RIGHT_SHIFT", "RightShiftOptions", ["i32"], draw=integers(-(1 << 31), (1 << 31) - 1), second=integers(0, 31))
for name in ("LOGICAL_AND", "LOGICAL_OR"):
    binary(name, "LogicalAndOptions" if name == "LOGICAL_AND" else "LogicalOrOptions", ["bool"], rank=None)


def few(kind):
    """Equal ones among them."""
    return integers(-3, 3) if kind != "f32" else lambda rng, s: np.round(draw_floats(rng, s, 2))


def comparison(operator, table, kinds):
    def make(m, kind):
        first, other = broadcast(m)
        low = m.pick(1e-2, 1e-4)
        qa = m.quant(kind, low, 1)
        qb = m.pick(qa, m.quant(kind, low, 1)) if qa else None
        own = few(kind) if kind in ("f32", "i32", "i64", "i16") and qa is None or kind == "f32" else None
        if kind == "i64":
            own = lambda rng, s: rng.choice(np.array([0, 1, -1, 1 << 33, (1 << 33) + 1, -(1 << 33)]), s)
        m.specials = kind == "f32"
        a = m.input(kind, first, qa, own if not m.specials or m.chance() else None)
        b = m.operand(kind, other, qb, own)
        m.output(m.op(operator, [a, b], [("bool",)], table))
    row(operator, *kinds)(make)


for name, table in (("EQUAL", "EqualOptions"), ("NOT_EQUAL", "NotEqualOptions")):
    comparison(name, table, ["f32", "i8", "u8", "i16", "i32", "i64", "bool"])
for name, table in (("GREATER", "GreaterOptions"), ("GREATER_EQUAL", "GreaterEqualOptions"), ("LESS", "LessOptions"),
                    ("LESS_EQUAL", "LessEqualOptions")):
    comparison(name, table, ["f32", "i8", "u8", "i16", "i32", "i64"])


@row("ADD_N", "f32", "i32")
def add_n(m, kind):
    shape = m.shape()
    draw = integers(-(1 << 28), 1 << 28) if kind == "i32" else None
    terms = [m.input(kind, shape, None, draw)] + [m.operand(kind, shape, None, draw) for _ in range(m.size(1, 4))]
    m.output(m.op("ADD_N", terms, [(kind,)], "AddNOptions"))


@row("PRELU", "f32", "i8", "u8", "i16x8", "i16")
def prelu(m, kind):
    slopes, kind = ("i8", "i16") if kind == "i16x8" else (kind, kind)
    shape = m.shape(ranks=(2, 4))
    alpha = [1 if m.chance(0.4) else d for d in shape[1:]]
    qx, qa = m.quant(kind, 1e-2, 1), m.quant(slopes, 1e-3, 0.1)
    x = m.input(kind, shape, qx)
    a = m.const(slopes, m.values(slopes, alpha, 0.3), qa)
    out = Quant(qx.scale * np.float32(2 ** m.rng.uniform(-2, 2)), m.quant(kind).zero_point) if qx else None
    m.output(m.op("PRELU", [x, a], [(kind, out)]))


@row("SELECT", "f32", "i8", "u8", "i16", "i32", "i64", "bool")
def select(m, kind):
    shape = m.shape(ranks=(1, 4))
    condition = m.input("bool", m.pick(shape, shape, shape[:1]))
    quant = m.quant(kind)
    a, b = m.input(kind, shape, quant), m.operand(kind, shape, quant)
    m.output(m.op("SELECT", [condition, a, b], [(kind, quant)], "SelectOptions"))


@row("SELECT_V2", "f32", "i8", "u8", "i16", "i32", "i64", "bool")
def select_v2(m, kind):
    out = m.shape(ranks=(1, 5), most=300)
    thin = lambda: tuple(1 if m.chance(0.3) else d for d in out)[m.pick(0, 0, 0, m.size(0, len(out) - 1)):]
    quant = m.quant(kind)
    condition = m.input("bool", thin())
    a, b = m.input(kind, thin(), quant), m.operand(kind, thin(), quant)
    m.output(m.op("SELECT_V2", [condition, a, b], [(kind, quant)], "SelectV2Options"))
