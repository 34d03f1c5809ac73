"""Operators over rows: softmax and the normalizations."""
from model import Quant
from rows import row


@row("SOFTMAX", "f32", "i8", "u8", "i16", "i8 i16", "u8 i16")
def softmax(m, kind):
    source, target = (*kind.split(), kind.split()[0])[:2]
    x = m.input(source, (*m.shape(ranks=(0, 3), high=4), m.size(1, 20)), m.quant(source, 1e-2, 0.3))
    if source == "i16":
        x.quant = Quant(m.scale(1e-4, 1e-3))
    out = {"i8": Quant(1 / 256, -128), "u8": Quant(1 / 256, 0), "i16": Quant(1 / 32768, 0)}.get(target)
    m.output(m.op("SOFTMAX", [x], [(target, out)], "SoftmaxOptions", beta=m.pick(1.0, 1.0, 0.5, 2.0)))


@row("LOG_SOFTMAX", "f32", "i8", "u8")
def log_softmax(m, kind):
    x = m.input(kind, (*m.shape(ranks=(0, 3), high=4), m.size(1, 20)), m.quant(kind, 1e-2, 0.3))
    out = {"i8": Quant(16 / 256, 127), "u8": Quant(16 / 256, 255)}.get(kind)
    m.output(m.op("LOG_SOFTMAX", [x], [(kind, out)], "LogSoftmaxOptions"))


@row("SOFTMAX", "i8 long", "u8 long", "i8 i16 long")
def long_softmax(m, kind):
    """Rows whose sums 32 bits hold, and in INT16 some that wrap."""
    source, target = (*kind.split()[:-1], kind.split()[0])[:2]
    low, high = (-128, 127) if target == "i16" else (-128, -60)

    def draw(rng, shape):
        x = rng.integers(low, high, shape, endpoint=True)
        x[..., 0] = 100
        return x + (128 if source == "u8" else 0)
    x = m.input(source, (2, m.pick(4096, 5000, 9000, 20000)), m.quant(source, 0.05, 0.3), draw)
    out = {"i8": Quant(1 / 256, -128), "u8": Quant(1 / 256, 0), "i16": Quant(1 / 32768, 0)}[target]
    m.output(m.op("SOFTMAX", [x], [(target, out)], "SoftmaxOptions", beta=1.0))


@row("SOFTMAX", "f32 no-beta")
def softmax_without_beta(m, kind):
    x = m.input("f32", m.shape(ranks=(1, 3)))
    m.output(m.op("SOFTMAX", [x], [("f32",)], m.pick("SoftmaxOptions", None)))


@row("LOG_SOFTMAX", "i8 long")
def long_log_softmax(m, kind):
    def draw(rng, shape):
        x = rng.integers(-128, -60, shape, endpoint=True)
        x[..., 0] = 100
        return x
    x = m.input("i8", (2, m.pick(4096, 9000)), m.quant("i8", 0.05, 0.3), draw)
    m.output(m.op("LOG_SOFTMAX", [x], [("i8", Quant(16 / 256, 127))], "LogSoftmaxOptions"))


@row("L2_NORMALIZATION", "f32", "i8", "u8")
def l2_normalization(m, kind):
    quant = m.quant(kind, 1e-2, 0.3)
    x = m.input(kind, m.shape(ranks=(2, 4)), quant)
    out = {"i8": Quant(1 / 128, 0), "u8": Quant(1 / 128, 128)}.get(kind)
    m.output(m.op("L2_NORMALIZATION", [x], [(kind, out)], "L2NormOptions"))


@row("LOCAL_RESPONSE_NORMALIZATION", "f32")
def local_response_normalization(m, kind):
    x = m.input(kind, m.image())
    m.output(m.op("LOCAL_RESPONSE_NORMALIZATION", [x], [(kind,)], "LocalResponseNormalizationOptions",
                  radius=m.size(0, 3), bias=m.pick(1.0, 2.0), alpha=m.pick(0.1, 1.0), beta=m.pick(0.5, 0.75, 1.0)))
