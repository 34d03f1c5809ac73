"""Shapes that a network computes of other shapes, by way of floats and truth values too."""
from rows import row


def shape_of(m, x, kind="i32"):
    return m.op("SHAPE", [x], [(kind,)], "ShapeOptions", out_type={"i32": "INT32", "i64": "INT64"}[kind])


def cast(m, x, source, target):
    names = {"i32": "INT32", "i64": "INT64", "f32": "FLOAT32", "bool": "BOOL"}
    return m.op("CAST", [x], [(target,)], "CastOptions", in_data_type=names[source], out_data_type=names[target])


def part(m, x, first, last, kind="i32"):
    ends = [m.const("i32", [first]), m.const("i32", [last]), m.const("i32", [1])]
    return m.op("STRIDED_SLICE", [x, *ends], [(kind,)], "StridedSliceOptions")


@row("RESIZE_NEAREST_NEIGHBOR", "f32 scaled-size", "f32 scaled-size-i64")
def scaled_size(m, kind):
    """Height and width times a factor."""
    kind = "i64" if kind.endswith("i64") else "i32"
    x = m.input("f32", m.image())
    size = cast(m, part(m, shape_of(m, x, kind), 1, 3, kind), kind, "f32")
    size = m.op("MUL", [size, m.const("f32", m.pick(1.5, 2.0, [0.75, 2.25]))], [("f32",)], "MulOptions")
    rounding = m.pick("FLOOR", "CEIL", None)
    size = m.op(rounding, [size], [("f32",)]) if rounding else size
    size = cast(m, cast(m, size, "f32", kind), kind, "i32") if kind == "i64" else cast(m, size, "f32", "i32")
    m.output(m.op("RESIZE_NEAREST_NEIGHBOR", [x, size], [("f32",)], "ResizeNearestNeighborOptions"))


@row("TILE", "f32 chosen-multiples")
def chosen_multiples(m, kind):
    """Multiples that hang on how large the input is."""
    x = m.input("f32", m.shape(rank=3))
    shape = shape_of(m, x)
    small = m.op("LESS", [shape, m.const("i32", [m.size(2, 5) for _ in range(3)])], [("bool",)], "LessOptions")
    if m.chance():
        times = m.op("SELECT_V2", [small, m.const("i32", [3, 2, 2]), m.const("i32", [1])], [("i32",)],
                     "SelectV2Options")
    else:
        some = m.op("LOGICAL_NOT", [small], [("bool",)], "LogicalNotOptions")
        times = m.op("ADD", [cast(m, some, "bool", "i32"), m.const("i32", [1])], [("i32",)], "AddOptions")
    m.output(m.op("TILE", [x, times], [("f32",)], "TileOptions"))


@row("RESHAPE", "f32 product-of-sizes")
def product_of_sizes(m, kind):
    """All dimensions but the first as one; at times there are none to multiply."""
    x = m.input("f32", m.shape(rank=m.size(1, 4)))
    wide = m.pick("i32", "i64")
    rest = part(m, shape_of(m, x, wide), 1, x.rank, wide)
    count = m.op("REDUCE_PROD", [rest, m.const("i32", [0])], [(wide,)], "ReducerOptions", keep_dims=True)
    to = m.op("CONCATENATION", [m.const(wide, [-1]), count], [(wide,)], "ConcatenationOptions", axis=0)
    to = cast(m, to, "i64", "i32") if wide == "i64" else to
    m.output(m.op("RESHAPE", [x, to], [("f32",)]))
