"""What moves elements and computes none."""
import numpy as np

from rows import row
from rows.elementwise import limited

PLAIN = ("f32", "i8", "u8", "i16", "i32", "i64", "bool")


def resized(m, shape):
    """Another shape of as many elements, and how it may be said: one size may be left open."""
    count, parts = int(np.prod(shape)), []
    for _ in range(m.size(0, 4)):
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        parts.append(int(m.pick(*divisors)))
        count //= parts[-1]
    parts.append(count)
    m.rng.shuffle(parts)
    parts = [int(p) for p in parts]
    said = list(parts)
    if m.chance(0.3):
        said[m.size(0, len(said) - 1)] = -1
    return parts, said


@row("RESHAPE", *PLAIN, "f16")
def reshape(m, kind):
    shape = m.shape(ranks=(1, 5))
    _, said = resized(m, shape)
    x = m.input(kind, shape)
    how = m.pick("operand", "option", "both")
    inputs = [x] if how == "option" else [x, m.const("i32", said)]
    table, options = ("ReshapeOptions", {"new_shape": said}) if how != "operand" else (None, {})
    m.output(m.op("RESHAPE", inputs, [(kind, x.quant)], table, **options))


@row("SQUEEZE", *PLAIN)
def squeeze(m, kind):
    shape = [1 if m.chance() else d for d in m.shape(ranks=(1, 5))]
    ones = [k - len(shape) * m.chance(0.3) for k, d in enumerate(shape) if d == 1 and m.chance()]
    x = m.input(kind, shape)
    m.output(m.op("SQUEEZE", [x], [(kind, x.quant)], "SqueezeOptions", squeeze_dims=ones))


@row("EXPAND_DIMS", *PLAIN)
def expand_dims(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 4)))
    axis = m.const("i32", m.pick(m.size(-x.rank - 1, x.rank), [m.size(-x.rank - 1, x.rank)]))
    m.output(m.op("EXPAND_DIMS", [x, axis], [(kind, x.quant)], "ExpandDimsOptions"))


@row("TRANSPOSE", *PLAIN)
def transpose(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 6)))
    m.output(m.op("TRANSPOSE", [x, m.const("i32", m.rng.permutation(x.rank))], [(kind, x.quant)], "TransposeOptions"))


@row("CONCATENATION", "f32 without-elements", "u8 without-elements", "i64 without-elements")
def concatenation_of_nothing(m, kind):
    """Inputs and outputs of the graph without elements, one of them what an addition makes."""
    kind = kind.split()[0]
    shape = list(m.shape(ranks=(2, 3)))
    axis = m.size(0, len(shape) - 1)
    none = [0 if d == axis else size for d, size in enumerate(shape)]
    quant = m.quant(kind)
    x, y = m.input(kind, shape, quant), m.input(kind, none, quant)
    if kind == "f32":
        y = m.op("ADD", [y, m.input(kind, none)], [(kind,)], "AddOptions")
    parts = [x, y] if m.chance() else [y, x]
    m.output(m.op("CONCATENATION", parts, [(kind, quant)], "ConcatenationOptions", axis=axis), y)


@row("CONCATENATION", *PLAIN)
def concatenation(m, kind):
    shape = list(m.shape(ranks=(1, 4)))
    axis = m.axis(len(shape))
    quant = m.quant(kind)
    parts = []
    for _ in range(m.size(1, 5)):
        shape[axis] = m.size(1, 5)
        own = m.quant(kind) if kind == "u8" and m.chance(0.3) else quant
        parts.append(m.operand(kind, tuple(shape), own))
    activation = "NONE"
    m.output(m.op("CONCATENATION", parts, [(kind, quant)], "ConcatenationOptions", axis=axis,
                  fused_activation_function=activation))


@row("PACK", "f32", "i8", "u8", "i16", "i32", "i64")
def pack(m, kind):
    shape = m.shape(ranks=(1, 4))
    quant = m.quant(kind)
    parts = [m.operand(kind, shape, quant) for _ in range(m.size(1, 4))]
    m.output(m.op("PACK", parts, [(kind, quant)], "PackOptions", values_count=len(parts), axis=m.axis(len(shape) + 1)))


@row("UNPACK", "f32", "i8", "u8", "i16", "i32", "bool")
def unpack(m, kind):
    shape = m.shape(ranks=(1, 4))
    axis = m.axis(len(shape))
    x = m.input(kind, shape)
    made = m.op("UNPACK", [x], [(kind, x.quant)] * shape[axis], "UnpackOptions", num=shape[axis], axis=axis)
    m.output(*(made if isinstance(made, list) else [made]))


@row("SPLIT", "f32", "i8", "u8", "i16", "i32")
def split(m, kind):
    shape = list(m.shape(ranks=(1, 4)))
    axis, count = m.axis(len(shape)), m.size(1, 4)
    shape[axis] = count * m.size(1, 3)
    x = m.input(kind, shape)
    made = m.op("SPLIT", [m.const("i32", axis), x], [(kind, x.quant)] * count, "SplitOptions", num_splits=count)
    m.output(*(made if isinstance(made, list) else [made]))


@row("SPLIT_V", "f32", "i8", "u8", "i16", "i32", "i64")
def split_v(m, kind):
    shape = list(m.shape(ranks=(1, 4)))
    axis, sizes = m.axis(len(shape)), [m.size(1, 4) for _ in range(m.size(1, 4))]
    shape[axis] = sum(sizes)
    if m.chance(0.3):
        sizes[m.size(0, len(sizes) - 1)] = -1
    x = m.input(kind, shape)
    made = m.op("SPLIT_V", [x, m.const(m.pick("i32", "i64"), sizes), m.const("i32", axis)],
                [(kind, x.quant)] * len(sizes), "SplitVOptions", num_splits=len(sizes))
    m.output(*(made if isinstance(made, list) else [made]))


@row("PAD", *PLAIN)
def pad(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 5), most=120))
    pads = m.const(m.pick("i32", "i32", "i64"), m.rng.integers(0, 3, (x.rank, 2)))
    m.output(m.op("PAD", [x, pads], [(kind, x.quant)], "PadOptions"))


@row("PADV2", "f32", "i8", "u8", "i16", "i32", "i64")
def padv2(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 5), most=120))
    pads = m.const(m.pick("i32", "i32", "i64"), m.rng.integers(0, 3, (x.rank, 2)))
    value = m.const(kind, m.values(kind, m.pick((), (1,))), x.quant)
    m.output(m.op("PADV2", [x, pads, value], [(kind, x.quant)], "PadV2Options"))


@row("PADV2", *(f"{kind} value-at-run-time" for kind in ("f32", "i8", "u8", "i16", "i32", "i64")))
def padv2_by_operand(m, kind):
    kind = kind.split()[0]
    x = m.input(kind, m.shape(ranks=(1, 5), most=120))
    pads = m.const("i32", m.rng.integers(0, 3, (x.rank, 2)))
    m.output(m.op("PADV2", [x, pads, m.input(kind, m.pick((), (1,)), x.quant)], [(kind, x.quant)], "PadV2Options"))


@row("MIRROR_PAD", "f32", "i8", "u8", "i16", "i32", "i64")
def mirror_pad(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 4), low=2, most=120))
    mode = m.pick("REFLECT", "SYMMETRIC")
    pads = [[m.size(0, d - (mode == "REFLECT")), m.size(0, d - (mode == "REFLECT"))] for d in x.shape]
    m.output(m.op("MIRROR_PAD", [x, m.const(m.pick("i32", "i64"), pads)], [(kind, x.quant)], "MirrorPadOptions",
                  mode=mode))


@row("SLICE", *PLAIN)
def slice_(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 5)))
    begin = [m.size(0, d - 1) for d in x.shape]
    size = [-1 if m.chance(0.3) else m.size(1, d - b) for d, b in zip(x.shape, begin)]
    index = m.pick("i32", "i64")
    shape = [d - b if s < 0 else s for d, b, s in zip(x.shape, begin, size)]
    out = m.between(kind, shape, x.quant)  # the runtime looks at its rank
    m.output(m.op("SLICE", [x, m.const(index, begin), m.const(index, size)], [out], "SliceOptions"))


@row("STRIDED_SLICE", *PLAIN)
def strided_slice(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 4)))
    begin, end, stride, masks, ellipsis = [], [], [], dict.fromkeys(("begin", "end", "new_axis", "shrink_axis"), 0), 0
    skip = m.size(0, x.rank - 1) if m.chance(0.2) and x.rank > 1 else None
    for k, d in enumerate(x.shape):
        place = len(begin)
        if skip == k:
            ellipsis = 1 << place
            begin.append(0), end.append(0), stride.append(1)
            continue
        if m.chance(0.15) and len(begin) < 4 and x.rank < 4:
            masks["new_axis"] |= 1 << place
            begin.append(0), end.append(0), stride.append(1)
            place += 1
        step = m.pick(1, 1, 2, 3, -1, -2)
        first = m.size(0, d - 1)
        last = m.size(first + 1, d) if step > 0 else m.size(-1, first - 1)
        if m.chance(0.2) and step == 1:
            masks["shrink_axis"] |= 1 << place
            last = first + 1
        if m.chance(0.2):
            masks["begin"] |= 1 << place if not masks["shrink_axis"] >> place & 1 else 0
        if m.chance(0.3) or last < 0:
            masks["end"] |= 1 << place if not masks["shrink_axis"] >> place & 1 else 0
            last = max(last, 0)
        if m.chance(0.3):
            first -= d
        begin.append(first), end.append(last + (m.pick(0, 9) if last == d else 0)), stride.append(step)
    options = {f"{name}_mask": value for name, value in masks.items()}
    m.output(m.op("STRIDED_SLICE", [x, *(m.const("i32", v) for v in (begin, end, stride))], [(kind, x.quant)],
                  "StridedSliceOptions", ellipsis_mask=ellipsis, **options))


@row("TILE", "f32", "i8", "u8", "i16", "i32", "i64", "bool")
def tile(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 4), most=60))
    m.output(m.op("TILE", [x, m.const(m.pick("i32", "i64"), [m.size(1, 3) for _ in x.shape])], [(kind, x.quant)],
                  "TileOptions"))


@row("BROADCAST_TO", *PLAIN)
def broadcast_to(m, kind):
    to = m.shape(ranks=(1, 5))
    shape = tuple(1 if m.chance(0.4) else d for d in to)[m.size(0, len(to) - 1) * m.chance(0.4):]
    x = m.input(kind, shape)
    m.output(m.op("BROADCAST_TO", [x, m.const(m.pick("i32", "i64"), to)], [(kind, x.quant)], "BroadcastToOptions"))


@row("REVERSE_V2", "f32", "i8", "u8", "i16", "i32", "i64", "bool")
def reverse(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 5)))
    axis = m.axis(x.rank)
    axes = [axis] if m.chance(0.5) else list(range(m.size(0, x.rank - 1), x.rank))[:2]
    m.output(m.op("REVERSE_V2", [x, m.const("i32", axes)], [(kind, x.quant)], "ReverseV2Options"))


@row("REVERSE_SEQUENCE", "f32", "u8", "i16", "i32", "i64")
def reverse_sequence(m, kind):
    x = m.input(kind, m.shape(ranks=(2, 4)))
    batch, seq = m.rng.permutation(x.rank)[:2]
    lengths = m.operand("i32", (x.shape[batch],), None, lambda rng, s: rng.integers(1, x.shape[seq], s, endpoint=True))
    m.output(m.op("REVERSE_SEQUENCE", [x, lengths], [(kind, x.quant)], "ReverseSequenceOptions", seq_dim=int(seq),
                  batch_dim=int(batch)))


def blocks(operator, table, kinds, to_depth):
    def make(m, kind):
        block = m.pick(2, 2, 3)
        n, h, w, c = m.size(1, 2), m.size(1, 4), m.size(1, 4), m.size(1, 4)
        shape = (n, h * block, w * block, c) if to_depth else (n, h, w, c * block * block)
        x = m.input(kind, shape)
        m.output(m.op(operator, [x], [(kind, x.quant)], table, block_size=block))
    row(operator, *kinds)(make)


blocks("SPACE_TO_DEPTH", "SpaceToDepthOptions", ["f32", "i8", "u8", "i32", "i64"], True)
blocks("DEPTH_TO_SPACE", "DepthToSpaceOptions", ["f32", "i8", "u8", "i32", "i64"], False)


@row("SPACE_TO_BATCH_ND", "f32", "i8", "u8", "i16", "i32", "i64")
def space_to_batch(m, kind):
    rank = m.pick(3, 4, 4)
    spatial = rank - 2
    block = [m.size(1, 3) for _ in range(spatial)]
    pads = [[m.size(0, 2), 0] for _ in range(spatial)]
    shape = [m.size(1, 2)]
    for k in range(spatial):
        size = block[k] * m.size(1, 3) + (block[k] if pads[k][0] else 0)
        extra = m.size(0, 2)
        size = max(size, pads[k][0] + extra + 1)
        size += -size % block[k]
        shape.append(size - pads[k][0] - extra)
        pads[k][1] = extra
    shape.append(m.size(1, 4))
    x = m.input(kind, shape)
    m.output(m.op("SPACE_TO_BATCH_ND", [x, m.const("i32", block), m.const("i32", pads)], [(kind, x.quant)],
                  "SpaceToBatchNDOptions"))


@row("BATCH_TO_SPACE_ND", "f32", "i8", "u8", "i16", "i32", "i64")
def batch_to_space(m, kind):
    rank = m.pick(3, 4, 4)
    block = [m.size(1, 3) for _ in range(rank - 2)]
    shape = [m.size(1, 2) * int(np.prod(block)), *(m.size(1, 4) for _ in block), m.size(1, 4)]
    crops = []
    for d, b in zip(shape[1:], block):
        before = m.size(0, d * b - 1)
        crops.append([before, m.size(0, d * b - 1 - before)])
    x = m.input(kind, shape)
    m.output(m.op("BATCH_TO_SPACE_ND", [x, m.const("i32", block), m.const("i32", crops)], [(kind, x.quant)],
                  "BatchToSpaceNDOptions"))


@row("MATRIX_DIAG", "f32", "i8", "u8", "i16", "i32", "i64")
def matrix_diag(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 3)))
    m.output(m.op("MATRIX_DIAG", [x], [(kind, x.quant)], "MatrixDiagOptions"))


@row("MATRIX_SET_DIAG", "f32", "i8", "u8", "i16", "i32", "i64")
def matrix_set_diag(m, kind):
    x = m.input(kind, m.shape(ranks=(2, 4)))
    diagonal = m.input(kind, (*x.shape[:-2], min(x.shape[-2:])), x.quant)
    m.output(m.op("MATRIX_SET_DIAG", [x, diagonal], [(kind, x.quant)], "MatrixSetDiagOptions"))


@row("DILATE", "f32", "i8", "u8", "i16", "i32", "i64")
def dilate(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 4), most=60))
    by = m.const("i32", [m.size(1, 3) for _ in x.shape])
    m.output(m.op("DILATE", [x, by, m.const(kind, m.values(kind, ()), x.quant)], [(kind, x.quant)], "DilateOptions"))


@row("DYNAMIC_UPDATE_SLICE", "f32", "i8", "i16", "i32", "i64", "bool")
def dynamic_update_slice(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 4)))
    update = m.input(kind, tuple(m.size(1, d) for d in x.shape), x.quant)
    index = m.pick("i32", "i32", "i64")
    start = m.operand(index, (x.rank,), None, lambda rng, s: rng.integers(-2, 7, s))
    m.output(m.op("DYNAMIC_UPDATE_SLICE", [x, update, start], [(kind, x.quant)], "DynamicUpdateSliceOptions"))


@row("SHAPE", "f32", "i8 i64")
def shape_(m, kind):
    x = m.input(kind.split()[0], m.shape(ranks=(1, 5)))
    wide = "i64" in kind
    m.output(m.op("SHAPE", [x], [("i64" if wide else "i32",)], "ShapeOptions", out_type="INT64" if wide else "INT32"))


@row("RANK", "f32")
def rank_(m, kind):
    m.output(m.op("RANK", [m.input(kind, m.shape(ranks=(1, 5)))], [("i32",)], "RankOptions"))


@row("FILL", "f32", "i8", "i16", "i32", "i64", "bool")
def fill(m, kind):
    dims = m.const(m.pick("i32", "i64"), m.shape(ranks=(1, 4)))
    value = m.input(kind, ())
    m.output(m.op("FILL", [dims, value], [(kind, value.quant)], "FillOptions"))


@row("BROADCAST_ARGS", "i32", "i64")
def broadcast_args(m, kind):
    to = m.shape(ranks=(1, 4))
    a = tuple(1 if m.chance() else d for d in to)[m.size(0, len(to) - 1):]
    out = m.op("BROADCAST_ARGS", [m.const(kind, a), m.const(kind, to)], [(kind,)])
    m.output(m.op("BROADCAST_TO", [m.input("f32", (1,)), out], [("f32",)], "BroadcastToOptions"))


@row("RANGE", "i32", "f32", "i64")
def range_(m, kind):
    start, count = m.size(-5, 5), m.size(1, 9)
    step = m.pick(1, 2, -1, -3)
    if kind == "f32":
        step = m.pick(0.5, 1.25, -0.3)
    made = m.op("RANGE", [m.const(kind, start), m.const(kind, start + count * step), m.const(kind, step)], [(kind,)],
                "RangeOptions")
    x = m.input(kind, (1,), None, lambda rng, s: rng.integers(-9, 9, s))
    m.output(m.op("ADD", [limited(m, x, 9) if kind == "i64" else x, made], [(kind,)], "AddOptions"))
