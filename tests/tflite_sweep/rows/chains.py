"""Several operators after one another, as networks have them: fusion and memory between them count."""
import numpy as np

from model import Quant
from rows import row
from rows.conv import bias_of, product_quant, weights


def link(m, x, shape, kind):
    """One more operator on an image; (its result, its shape)."""
    weight, bias_kind = {"f32": ("f32", "f32"), "i8": ("i8", "i32"), "u8": ("u8", "i32"), "i16": ("i8", "i64")}[kind]
    choice = m.pick("conv", "conv", "depthwise", "pool", "average", "add", "mul", "pad", "relu", "logistic", "concat",
                    "transpose", "leaky")
    n, h, w, c = shape
    if choice in ("conv", "depthwise"):
        k, stride, padding = m.size(1, min(3, h, w)), m.pick(1, 1, 2), m.pick("SAME", "VALID")
        deep = choice == "depthwise"
        out = c if deep else m.size(1, 6)
        form = (1, k, k, c) if deep else (out, k, k, c)
        wt, scales = weights(m, weight, form, out, 3 if deep else 0, kind in ("i8", "i16"))
        b = bias_of(m, bias_kind, out, scales, x)
        quant = product_quant(m, x, scales, k * k * (1 if deep else c))
        options = {"depth_multiplier": 1} if deep else {}
        y = m.op("DEPTHWISE_CONV_2D" if deep else "CONV_2D", [x, wt, b], [(kind, quant)],
                 "DepthwiseConv2DOptions" if deep else "Conv2DOptions", padding=padding, stride_h=stride,
                 stride_w=stride, fused_activation_function=m.activation(), **options)
        size = [-(-s // stride) if padding == "SAME" else -(-(s - k + 1) // stride) for s in (h, w)]
        return y, (n, *size, out)
    if choice in ("pool", "average"):
        k = m.size(1, min(2, h, w))
        y = m.op("MAX_POOL_2D" if choice == "pool" else "AVERAGE_POOL_2D", [x], [(kind, x.quant)], "Pool2DOptions",
                 padding="VALID", stride_h=k, stride_w=k, filter_height=k, filter_width=k)
        return y, (n, -(-(h - k + 1) // k), -(-(w - k + 1) // k), c)
    if choice in ("add", "mul"):
        other = m.const(kind, m.values(kind, (1, 1, 1, c)), m.quant(kind, 1e-2, 0.1))
        quant = x.quant and Quant(x.quant.scale * np.float32(m.pick(1, 1.5)), m.quant(kind).zero_point)
        name = "ADD" if choice == "add" else "MUL"
        more = {"pot_scale_int16": False} if name == "ADD" else {}
        return m.op(name, [x, other], [(kind, quant)], f"{name.title()}Options",
                    fused_activation_function=m.activation(), **more), shape
    if choice == "pad":
        pads = m.const("i32", [[0, 0], [1, 0], [m.size(0, 1), 1], [0, 0]])
        y = m.op("PAD", [x, pads], [(kind, x.quant)], "PadOptions")
        return y, (n, h + 1, w + 1 + int(pads.data[2][0]), c)
    if choice == "relu":
        return m.op("RELU", [x], [(kind, x.quant)]), shape
    if choice == "leaky":
        return m.op("LEAKY_RELU", [x], [(kind, x.quant)], "LeakyReluOptions", alpha=0.25), shape
    if choice == "logistic" and kind != "i16":
        out = {"i8": Quant(1 / 256, -128), "u8": Quant(1 / 256, 0)}.get(kind)
        return m.op("LOGISTIC", [x], [(kind, out)]), shape
    if choice == "concat" and c < 6:
        y = m.op("CONCATENATION", [x, x], [(kind, x.quant)], "ConcatenationOptions", axis=3)
        return y, (n, h, w, 2 * c)
    y = m.op("TRANSPOSE", [x, m.const("i32", [0, 2, 1, 3])], [(kind, x.quant)], "TransposeOptions")
    return y, (n, w, h, c)


@row("chain", "f32", "i8", "u8", "i16")
def chain(m, kind):
    shape = m.image(low=4)
    x = m.input(kind, shape, m.quant(kind, 1e-2, 0.1))
    y = x
    made = []
    for _ in range(m.size(2, 8)):
        y, shape = link(m, y, shape, kind)
        made.append(y)
    if m.chance(0.3) and len(made) > 1:
        m.output(made[m.size(0, len(made) - 2)])
    if m.chance(0.3):
        y = m.op("MEAN", [y, m.const("i32", [1, 2])], [(kind, y.quant)], "ReducerOptions", keep_dims=m.chance())
    m.output(y)
