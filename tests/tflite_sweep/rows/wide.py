"""INT64 numbers that need all of their bits, and what is made of them."""
from rows import row
from rows.arithmetic import broadcast
from rows.control import attributes
from rows.elementwise import integers

NAMES = {"f32": "FLOAT32", "i32": "INT32", "i16": "INT16", "i8": "INT8", "u8": "UINT8", "bool": "BOOL", "f16": "FLOAT16"}


def whole(rng, shape):
    """All that 32 bits hold; products of those fill 64."""
    low, high = [(-3, 3), (-(1 << 31), (1 << 31) - 1), (-70000, 70000)][rng.integers(3)]
    return rng.integers(low, high, shape, endpoint=True)


def wide(m, shape):
    """A product, at times one less a number."""
    x = m.op("MUL", [m.input("i64", shape, None, whole), m.input("i64", shape, None, whole)], [("i64",)], "MulOptions")
    return m.op("SUB", [x, m.input("i64", shape, None, whole)], [("i64",)], "SubOptions") if m.chance() else x


@row("CAST", *(f"i64 {kind} wide" for kind in NAMES))
def cast(m, kind):
    target = kind.split()[1]
    m.output(m.op("CAST", [wide(m, m.shape())], [(target,)], "CastOptions", in_data_type="INT64",
                  out_data_type=NAMES[target]))


def comparison(operator, table):
    @row(operator, "i64 wide")
    def make(m, kind):
        first, other = broadcast(m)
        a = wide(m, first)
        b = a if m.chance(0.2) else wide(m, other) if m.chance() else m.const("i64", [(1 << 33) + m.size(-2, 2)])
        m.output(m.op(operator, [a, b], [("bool",)], table))


for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    comparison(name, name.title().replace("_", "") + "Options")


@row("SUM", "i64 wide")
def sum_(m, kind):
    shape = m.shape(ranks=(1, 4))
    m.output(m.op("SUM", [wide(m, shape), m.const("i32", m.axes(len(shape)))], [("i64",)], "ReducerOptions",
                  keep_dims=m.chance()))


@row("CONCATENATION", "i64 wide")
def concatenation(m, kind):
    """Beside numbers of 32 bits, and moved on."""
    shape = m.shape(ranks=(2, 3))
    x = m.op("CONCATENATION", [wide(m, shape), m.input("i64", shape, None, whole)], [("i64",)], "ConcatenationOptions",
             axis=m.size(0, len(shape) - 1))
    x = m.op("TRANSPOSE", [x, m.const("i32", m.rng.permutation(len(shape)))], [("i64",)], "TransposeOptions")
    m.output(m.op("PAD", [x, m.const("i64", m.rng.integers(0, 2, (len(shape), 2)))], [("i64",)], "PadOptions"))


@row("SELECT_V2", "i64 wide")
def select(m, kind):
    first, other = broadcast(m)
    condition = m.input("bool", m.pick(first, (1,)))
    m.output(m.op("SELECT_V2", [condition, wide(m, first), m.input("i64", other, None, whole)], [("i64",)],
                  "SelectV2Options"))


@row("GATHER", "f32 i64-sums")
def gather(m, kind):
    """Places that are computed, so that they might have any number of bits."""
    x = m.input("f32", m.shape(ranks=(1, 3), low=2))
    shape = m.shape(ranks=(1, 2))
    half = integers(0, (x.shape[0] - 1) // 2)
    places = m.op("ADD", [m.input("i64", shape, None, half), m.input("i64", shape, None, half)], [("i64",)],
                  "AddOptions")
    m.output(m.op("GATHER", [x, places], [("f32",)], "GatherOptions"))


def turn(m, name, count_type, make):
    """A subgraph of (count, x)."""
    number = m.subgraph(name)
    m.output(*make(m.input(count_type, (), None), m.input("i64", (2,), None)))
    m.main()
    return number


@row("WHILE", "i64 wide")
def while_(m, kind):
    """Counters of 64 bits, and numbers that grow beyond 32."""
    count = m.input("i64", (), None, integers(0, 6))
    x = m.input("i64", (2,), None, whole)
    condition = turn(m, "condition", "i64", lambda n, x: [
        m.op("GREATER", [n, m.const("i64", 0)], [m.between("bool", ())], "GreaterOptions")])
    factor = m.size(-70000, 70000)
    body = turn(m, "body", "i64", lambda n, x: [
        m.op("SUB", [n, m.const("i64", 1)], [m.between("i64", ())], "SubOptions"),
        m.op("MUL", [x, m.const("i64", [factor, 3])], [m.between("i64", (2,))], "MulOptions")])
    m.output(*m.op("WHILE", [count, x], [("i64",), ("i64",)], "WhileOptions", cond_subgraph_index=condition,
                   body_subgraph_index=body))


@row("IF", "i64 wide")
def if_(m, kind):
    """One branch makes numbers of 64 bits, and the other hands on what it is given."""
    condition = m.input("bool", ())
    x = wide(m, (2,)) if m.chance() else m.input("i64", (2,), None, whole)
    n = m.input("i64", (), None, integers(0, 6))
    product = turn(m, "product", "i64", lambda n, x: [m.op("MUL", [x, x], [m.between("i64", (2,))], "MulOptions")])
    same = turn(m, "same", "i64", lambda n, x: [m.op("RESHAPE", [x, m.const("i32", [2])], [m.between("i64", (2,))])])
    then, other = (product, same) if m.chance() else (same, product)
    m.output(m.op("IF", [condition, n, x], [("i64",)], "IfOptions", then_subgraph_index=then,
                  else_subgraph_index=other))


@row("STABLEHLO_COMPOSITE", "i64 wide")
def composite(m, kind):
    x = wide(m, (2,))
    n = m.input("i64", (), None, integers(0, 6))
    number = turn(m, "decomposition", "i64", lambda n, x: [
        m.op("SUB", [x, n], [m.between("i64", (2,))], "SubOptions"),
        m.op("ADD", [n, m.const("i64", 1)], [m.between("i64", ())], "AddOptions")])
    m.output(*m.op("STABLEHLO_COMPOSITE", [n, x], [("i64",), ("i64",)], "StableHLOCompositeOptions", name="test.composite",
                   composite_attributes=attributes(), decomposition_subgraph_index=number, version=1))


@row("SUB", "i64 activated")
def activated(m, kind):
    """What an activation makes of a small range, beside numbers that 32 bits just hold."""
    x = m.op("ARG_MAX", [m.input("f32", (m.size(1, 3), m.size(2, 9))), m.const("i32", [1])], [("i64",)],
             "ArgMaxOptions", output_type="INT64")
    x = m.op("SUB", [x, m.const("i64", [m.size(-20, 20)])], [("i64",)], "SubOptions",
             fused_activation_function=m.pick("RELU", "RELU6", "RELU_N1_TO_1"))
    x = m.op("ADD", [x, m.const("i64", [(1 << 31) - 1 - m.size(0, 8)])], [("i64",)], "AddOptions")
    m.output(m.op("ADD", [x, m.const("i64", [m.size(0, 20)])], [("i64",)], "AddOptions"))
