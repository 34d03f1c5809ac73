"""Outputs with another scale and zero point than the input that they are copied from: the runtime copies the bits."""
from rows import row

KINDS = [f"{kind} unlike" for kind in ("i8", "u8", "i16")]


def moved(operator):
    def decorate(make):
        def both(m, kind):
            kind, _, _ = kind.partition(" ")
            make(m, kind, m.quant(kind))
        row(operator, *KINDS)(both)
        return make
    return decorate


@moved("RESHAPE")
def reshape(m, kind, out):
    x = m.input(kind, m.shape(ranks=(1, 4)))
    m.output(m.op("RESHAPE", [x, m.const("i32", [-1])], [(kind, out)]))


@moved("TRANSPOSE")
def transpose(m, kind, out):
    x = m.input(kind, m.shape(ranks=(1, 4)))
    m.output(m.op("TRANSPOSE", [x, m.const("i32", m.rng.permutation(x.rank))], [(kind, out)], "TransposeOptions"))


@moved("PAD")
def pad(m, kind, out):
    x = m.input(kind, m.shape(ranks=(1, 4)))
    pads = m.const("i32", [[m.size(0, 2), m.size(0, 2)] for _ in x.shape])
    m.output(m.op("PAD", [x, pads], [(kind, out)], "PadOptions"))


@moved("SPLIT")
def split(m, kind, out):
    x = m.input(kind, (m.size(1, 4), 2 * m.size(1, 3)))
    m.output(*m.op("SPLIT", [m.const("i32", 1), x], [(kind, out), (kind, m.quant(kind))], "SplitOptions", num_splits=2))


@moved("GATHER")
def gather(m, kind, out):
    x = m.input(kind, m.shape(ranks=(1, 3)))
    axis = m.axis(x.rank)
    places = m.const("i32", m.rng.integers(0, x.shape[axis], (m.size(1, 5),)))
    m.output(m.op("GATHER", [x, places], [(kind, out)], "GatherOptions", axis=axis))


@moved("CONCATENATION")
def concatenation(m, kind, out):
    shape = m.shape(ranks=(1, 3))
    # INT8 has to be alike.
    quants = [out] * 2 if kind == "i8" else [m.quant(kind), m.quant(kind)]
    m.output(m.op("CONCATENATION", [m.input(kind, shape, q) for q in quants], [(kind, out)], "ConcatenationOptions",
                  axis=0))


@moved("SELECT_V2")
def select(m, kind, out):
    shape = m.shape(ranks=(1, 4))
    a, b = m.input(kind, shape), m.input(kind, shape)
    m.output(m.op("SELECT_V2", [m.input("bool", shape), a, b], [(kind, out)], "SelectV2Options"))


@moved("MAX_POOL_2D")
def pool(m, kind, out):
    x = m.input(kind, (1, m.size(4, 8), m.size(4, 8), m.size(1, 5)))
    m.output(m.op("MAX_POOL_2D", [x], [(kind, out)], "Pool2DOptions", filter_width=2, filter_height=2, stride_w=2,
                  stride_h=2, padding="VALID"))
