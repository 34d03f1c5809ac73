"""Operators whose operands hold places, and those that choose by value."""
import numpy as np
from flatbuffers import flexbuffers

from model import Quant, draw_floats
from rows import row
from rows.elementwise import integers, limited


def below(count):
    return integers(0, count - 1)


@row("GATHER", "f32", "i8", "u8", "i16", "i32", "i64", "bool", "f32 i64")
def gather(m, kind):
    kind, index = (*kind.split(), "i32")[:2]
    x = m.input(kind, m.shape(ranks=(1, 4)))
    axis = m.size(0, x.rank - 1)
    batch = m.size(0, axis) if m.chance(0.3) else 0
    shape = (*x.shape[:batch], *m.shape(ranks=(0, 2), high=4))
    places = m.operand(index, shape, None, below(x.shape[axis]))
    m.output(m.op("GATHER", [x, places], [(kind, x.quant)], "GatherOptions", axis=axis - x.rank * m.chance(0.3),
                  batch_dims=batch))


@row("GATHER", "i4")
def gather_int4(m, kind):
    """Rows of whole bytes."""
    shape = (*m.shape(ranks=(1, 2)), 2 * m.size(1, 4))
    table = m.const("i4", m.values("i4", shape), Quant(m.scale()))
    places = m.input("i32", m.shape(ranks=(0, 2), high=4), None, below(shape[0]))
    rows = m.op("GATHER", [table, places], [("i4", table.quant)], "GatherOptions")
    m.output(m.op("DEQUANTIZE", [rows], [("f32",)], "DequantizeOptions"))


@row("GATHER_ND", "f32", "i8", "u8", "i16", "i32", "i64", "bool", "f32 i64")
def gather_nd(m, kind):
    kind, index = (*kind.split(), "i32")[:2]
    x = m.input(kind, m.shape(ranks=(1, 4)))
    deep = m.size(1, x.rank)
    shape = (*m.shape(ranks=(0, 2), high=4), deep)

    def draw(rng, s):
        return np.stack([rng.integers(0, x.shape[k], s[:-1]) for k in range(deep)], axis=-1)
    m.output(m.op("GATHER_ND", [x, m.operand(index, shape, None, draw)], [(kind, x.quant)], "GatherNdOptions"))


@row("SCATTER_ND", "f32", "i8", "u8", "i32", "i64", "i64 limited")
def scatter_nd(m, kind):
    kind, _, form = kind.partition(" ")
    shape = m.shape(ranks=(1, 4))
    deep = m.size(1, len(shape))
    places = (*m.shape(ranks=(1, 2), high=4), deep)
    apart = np.prod(shape[:deep]) >= np.prod(places[:-1]) and m.chance()

    def draw(rng, s):
        if apart:
            flat = rng.permutation(int(np.prod(shape[:deep])))[:int(np.prod(s[:-1]))]
            return np.stack(np.unravel_index(flat, shape[:deep]), axis=-1).reshape(s)
        return np.stack([rng.integers(0, shape[k], s[:-1]) for k in range(deep)], axis=-1)
    indices = m.operand("i32", places, None, draw) if m.graph.inputs else m.input("i32", places, None, draw)
    updates = m.input(kind, (*places[:-1], *shape[deep:]), draw=integers(-9, 9) if kind in ("i8",) else
                      integers(0, 20) if kind == "u8" else integers(-10**6, 10**6) if kind in ("i32", "i64") else None)
    if form == "limited":
        updates = limited(m, updates, 1 << 20)
    m.output(m.op("SCATTER_ND", [indices, updates, m.const("i32", shape)], [(kind, updates.quant)],
                  "ScatterNdOptions"))


@row("ONE_HOT", "f32", "i8", "u8", "i32", "i64", "bool", "i64 indices")
def one_hot(m, kind):
    index, kind = ("i64", "f32") if "indices" in kind else ("i32", kind)
    depth = m.size(1, 6)
    indices = m.input(index, m.shape(ranks=(1, 3), most=60), None, integers(-1, depth))
    axis = m.pick(-1, -1, m.size(0, indices.rank))
    on, off = (m.const(kind, m.values(kind, ())) for _ in range(2))
    m.output(m.op("ONE_HOT", [indices, m.const("i32", depth), on, off], [(kind,)], "OneHotOptions", axis=axis))


@row("EMBEDDING_LOOKUP", "f32", "i8", "u8", "f32 i8-table", "f32 u8-table")
def embedding_lookup(m, kind):
    rows_, shape = m.size(1, 9), m.shape(ranks=(1, 2))
    ids = m.input("i32", (m.size(1, 6),), None, below(rows_))
    base = kind[4:6] if "table" in kind else kind
    quant = Quant(m.scale()) if "table" in kind else m.quant(base)
    table = m.const(base, m.values(base, (rows_, *shape)), quant)
    m.output(m.op("EMBEDDING_LOOKUP", [ids, table], [("f32", None) if "table" in kind else (kind, quant)]))


@row("SPARSE_TO_DENSE", "f32", "i8", "u8", "i32", "i64")
def sparse_to_dense(m, kind):
    shape = m.shape(ranks=(1, 4))
    count = m.size(1, min(6, int(np.prod(shape))))

    def draw(rng, s):
        flat = np.sort(rng.permutation(int(np.prod(shape)))[:count])
        return np.stack(np.unravel_index(flat, shape), axis=-1).reshape(s)
    indices = m.input("i32", (count, len(shape)) if len(shape) > 1 or m.chance() else (count,), None, draw)
    values = m.operand(kind, m.pick((count,), ()), None)
    m.output(m.op("SPARSE_TO_DENSE", [indices, m.const("i32", shape), values, m.const(kind, m.values(kind, ()))],
                  [(kind,)], "SparseToDenseOptions"))


@row("SEGMENT_SUM", "f32", "i32")
def segment_sum(m, kind):
    x = m.input(kind, m.shape(ranks=(1, 3)), draw=integers(-10**6, 10**6) if kind == "i32" else None)
    ids = np.sort(m.rng.integers(0, 4, x.shape[0]))
    ids = np.unique(ids, return_inverse=True)[1]
    m.output(m.op("SEGMENT_SUM", [x, m.const("i32", ids)], [(kind,)], "SegmentSumOptions"))


for name in ("SUM", "PROD", "MAX", "MIN"):
    @row(f"UNSORTED_SEGMENT_{name}", "f32", "i32")
    def unsorted_segment(m, kind, name=name):
        draw = integers(-5, 5) if name == "PROD" else integers(-10**6, 10**6)
        x = m.input(kind, m.shape(ranks=(1, 3)), draw=draw if kind == "i32" else None)
        count = m.size(1, 5)
        ids = m.operand("i32", (x.shape[0],), None, integers(-1 if m.chance(0.3) else 0, count - 1))
        m.output(m.op(f"UNSORTED_SEGMENT_{name}", [x, ids, m.const("i32", count)], [(kind,)],
                      f"UnsortedSegment{name.title()}Options"))


@row("WHERE", "bool constant", "f32 constant")
def where(m, kind):
    base = kind.split()[0]
    shape = m.shape(ranks=(1, 3), most=40)
    data = m.rng.random(shape) < 0.5
    data.reshape(-1)[0] = True
    found = m.op("WHERE", [m.const(base, data)], [("i64",)], "WhereOptions")
    more = limited(m, m.input("i64", (1,), None, integers(-5, 5)), 5)
    m.output(m.op("ADD", [found, more], [("i64",)], "AddOptions"))


def boxes(rng, shape):
    """Corners in any order; at times such that many boxes are alike, or have no area."""
    at, size = rng.uniform(0, 1, (*shape[:-1], 2)), rng.uniform(0.05, 0.6, (*shape[:-1], 2))
    if rng.random() < 0.3:
        at, size = np.round(at * 4) / 4, np.round(size * 4) / 4
    corners = np.stack([at, at + size], axis=-2)
    return np.where(rng.random((*shape[:-1], 1, 2)) < 0.2, corners[..., ::-1, :], corners).reshape(shape)


def ties(rng, shape):
    """Scores of which, at times, many are equal."""
    levels = rng.choice([2, 3, 8, 1000])
    return rng.integers(0, levels, shape) / levels


def suppression(version, *kinds):
    @row(f"NON_MAX_SUPPRESSION_{version}", *kinds)
    def make(m, kind):
        count = m.size(1, 40)
        inputs = [m.input("f32", (count, 4), None, boxes), m.input("f32", (count,), None, ties),
                  m.const("i32", m.size(1, count + 3)), m.operand("f32", (), None, None) if m.chance(0.1) else
                  m.const("f32", m.pick(0.2, 0.5, 0.8)), m.const("f32", m.pick(-1.0, 0.0, 0.3))]
        outputs = [("i32",), ("i32",)]
        if version == "V5":
            inputs.append(m.const("f32", m.pick(0.0, 0.0, 0.5, 0.1)))
            outputs = [("i32",), ("f32",), ("i32",)]
        m.output(*m.op(f"NON_MAX_SUPPRESSION_{version}", inputs, outputs, f"NonMaxSuppression{version}Options"))


suppression("V4", "f32")
suppression("V5", "f32")


@row("TFLite_Detection_PostProcess", "f32", "u8", "f32 by class", "u8 by class", "f32 several classes")
def detection_post_process(m, kind):
    kind, _, form = kind.partition(" ")
    anchors, classes = m.size(1, 60), m.size(2 if form.startswith("several") else 1, 8)
    most, each = m.size(1, 20), m.size(2, classes + 1) if form.startswith("several") else 1
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("max_detections"), builder.Int(most)
        builder.Key("max_classes_per_detection"), builder.Int(each)
        builder.Key("num_classes"), builder.Int(classes)
        builder.Key("nms_score_threshold"), builder.Float(m.pick(1e-8, 0.2, 0.5))
        builder.Key("nms_iou_threshold"), builder.Float(m.pick(0.3, 0.6, 1.0))
        for name, value in (("y_scale", 10.0), ("x_scale", 10.0), ("h_scale", 5.0), ("w_scale", 5.0)):
            builder.Key(name), builder.Float(value)
        if form == "by class" or m.chance():
            builder.Key("use_regular_nms"), builder.Bool(form == "by class")
        if m.chance():
            builder.Key("detections_per_class"), builder.Int(m.size(1, 30))
    quants = (m.quant(kind, 0.01, 0.1), Quant(1 / 256, 0), Quant(1 / 256, 0)) if kind == "u8" else (None,) * 3
    encoded = m.input(kind, (1, anchors, 4), quants[0])
    scores = m.input(kind, (1, anchors, classes + m.size(0, 1)), quants[1],
                     ties if kind == "f32" else lambda rng, s: np.round(ties(rng, s) * 255))
    place = np.concatenate([m.rng.uniform(0.2, 0.8, (anchors, 2)), m.rng.uniform(0.1, 0.5, (anchors, 2))], axis=1)
    table = m.const(kind, place if kind == "f32" else np.round(place * 256), quants[2])
    m.output(*m.op("TFLite_Detection_PostProcess", [encoded, scores, table], [("f32",)] * 4,
                   custom=bytes(builder.Finish())))

    def settle(outputs):
        """The runtime leaves memory as it was behind what it finds; here are zeros."""
        used = np.zeros((most, each), bool)
        used[:int(outputs[3][0]), :min(each, classes)] = True
        if form == "by class":
            used[:] = True
        return [np.where(used.reshape(1, -1, *[1] * (a.ndim - 2)), a, np.float32(0)) for a in outputs[:3]] + outputs[3:]

    m.settle = settle
