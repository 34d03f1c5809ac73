"""Convolutions and products of matrices."""
import numpy as np

from model import LIMITS, Quant
from rows import row

# By kind: activations, weights, bias; a scale for each channel or one.
FORMS = {
    "f32": ("f32", "f32", "f32", False), "f32 f16-weights": ("f32", "f16", "f32", False),
    "i8": ("i8", "i8", "i32", False), "i8 channel": ("i8", "i8", "i32", True),
    "i16x8": ("i16", "i8", "i64", True), "i16x8 bias32": ("i16", "i8", "i32", True), "u8": ("u8", "u8", "i32", False),
    "i8 int4": ("i8", "i4", "i32", True), "i16x8 int4": ("i16", "i4", "i64", True),
}
INT16_WEIGHTS = {"i16 i16-weights": ("i16", "i16", "i32", False), "i16 i16-weights channel": ("i16", "i16", "i32", True)}


def weights(m, kind, shape, channels, axis, per_channel):
    """Constant weights of a product, and their scales."""
    if kind in ("f32", "f16"):
        return m.const(kind, m.values(kind, shape, 0.5)), None
    count = channels if per_channel else 1
    scales = np.array([m.scale(1e-3, 2e-2) for _ in range(count)], np.float32)
    if m.chance(0.2):
        scales[m.size(0, count - 1)] *= np.float32(1e-3)  # a channel that hardly counts
    zero = m.size(0, 255) if kind == "u8" else 0
    data = m.values(kind, shape)
    if kind == "i8":
        data = np.maximum(data, -127) if m.chance(0.8) else data
    return m.const(kind, data, Quant(scales, zero, axis)), scales


def bias_of(m, kind, channels, scales, x):
    if kind == "f32":
        return m.const("f32", m.values("f32", (channels,), 0.5))
    if x.kind == "f32":
        return m.const("f32", m.values("f32", (channels,), 0.5))
    data = m.rng.integers(-2000, 2000, (channels,))
    return m.const(kind, data, Quant(scales * x.quant.scale[0] if len(scales) == 1 else
                                     scales * x.quant.scale[0], 0))


def product_quant(m, x, scales, terms):
    """About as large as the sums get, or far from it."""
    if x.kind not in LIMITS:
        return None
    ends = 128 if x.kind != "i16" else 32768
    natural = float(x.quant.scale[0]) * float(np.max(scales)) * np.sqrt(terms) * 60
    return Quant(np.float32(natural * ends / 128 * 2 ** m.rng.uniform(-3, 2) / (ends / 128)), m.quant(x.kind).zero_point)


def with_weights_as_floats(m, w, kind):
    """fp16 weights are dequantized in the model."""
    return m.op("DEQUANTIZE", [w], [("f32",)], "DequantizeOptions") if kind == "f16" else w


def window(m, size, rank=2):
    kernel = [m.size(1, min(4, s)) for s in size]
    stride = [m.pick(1, 1, 2, 3) for _ in range(rank)]
    dilation = [m.pick(1, 1, 1, 2) if s == 1 else 1 for s in stride] if all(s == 1 for s in stride) else [1] * rank
    dilation = [d if (k - 1) * d + 1 <= s else 1 for d, k, s in zip(dilation, kernel, size)]
    return kernel, stride, dilation, m.pick("SAME", "VALID")


def bias_type(types):
    """Of int16, where it is not as wide as the sums."""
    return {"quantized_bias_type": "INT32"} if types[0] == "i16" and types[2] == "i32" else {}


@row("CONV_2D", *FORMS)
def conv_2d(m, kind):
    types = FORMS[kind]
    shape = m.image()
    kernel, stride, dilation, padding = window(m, shape[1:3])
    out = m.pick(1, 2, 3, 5, 8)
    groups = 1
    if kind in ("f32", "i8", "i8 channel", "i16x8") and m.chance(0.2) and shape[3] % 2 == 0:
        groups = m.pick(2, shape[3])
        out = groups * m.size(1, 3)
    x = m.input(types[0], shape, m.quant(types[0], 1e-2, 0.1))
    w, scales = weights(m, types[1], (out, *kernel, shape[3] // groups), out, 0, types[3])
    w = with_weights_as_floats(m, w, types[1])
    bias = bias_of(m, types[2], out, scales, x) if m.chance(0.8) or kind == "u8" else None
    m.output(m.op("CONV_2D", [x, w, bias], [(types[0], product_quant(m, x, scales, np.prod(kernel) * shape[3]))],
                  "Conv2DOptions", padding=padding, stride_h=stride[0], stride_w=stride[1],
                  dilation_h_factor=dilation[0], dilation_w_factor=dilation[1],
                  fused_activation_function=m.activation(), **bias_type(types)))


@row("DEPTHWISE_CONV_2D", *[f for f in FORMS if f not in ("i16x8 bias32", "i16x8 int4")])
def depthwise_conv_2d(m, kind):
    types = FORMS[kind]
    shape = m.image()
    kernel, stride, dilation, padding = window(m, shape[1:3])
    multiplier = m.pick(1, 1, 2, 3)
    out = shape[3] * multiplier
    x = m.input(types[0], shape, m.quant(types[0], 1e-2, 0.1))
    w, scales = weights(m, types[1], (1, *kernel, out), out, 3, types[3])
    w = with_weights_as_floats(m, w, types[1])
    bias = bias_of(m, types[2], out, scales, x) if m.chance(0.8) else None
    m.output(m.op("DEPTHWISE_CONV_2D", [x, w, bias], [(types[0], product_quant(m, x, scales, np.prod(kernel)))],
                  "DepthwiseConv2DOptions", padding=padding, stride_h=stride[0], stride_w=stride[1],
                  depth_multiplier=multiplier, dilation_h_factor=dilation[0], dilation_w_factor=dilation[1],
                  fused_activation_function=m.activation()))


@row("TRANSPOSE_CONV", "f32", "f32 f16-weights", "i8", "i8 channel", "u8", "i16x8", "i16x8 bias32")
def transpose_conv(m, kind):
    types = FORMS[kind]
    shape = m.image(high=5)
    kernel = [m.size(1, 4), m.size(1, 4)]
    stride = [m.pick(1, 2, 3), m.pick(1, 2, 2)]
    padding = m.pick("SAME", "VALID")
    out = m.pick(1, 2, 3, 5)
    size = [s * t if padding == "SAME" else (s - 1) * t + k for s, t, k in zip(shape[1:3], stride, kernel)]
    if padding == "VALID":
        size = [s + m.pick(0, 0, t - 1) for s, t in zip(size, stride)]
    x = m.input(types[0], shape, m.quant(types[0], 1e-2, 0.1))
    w, scales = weights(m, types[1], (out, *kernel, shape[3]), out, 0, types[3])
    w = with_weights_as_floats(m, w, types[1])
    bias = bias_of(m, types[2], out, scales, x) if m.chance() else None
    to = m.const("i32", [shape[0], *size, out])
    activation = m.activation()
    m.output(m.op("TRANSPOSE_CONV", [to, w, x] + ([bias] if bias else []),
                  [(types[0], product_quant(m, x, scales, np.prod(kernel) * shape[3] / np.prod(stride)))],
                  "TransposeConvOptions", padding=padding, stride_h=stride[0], stride_w=stride[1],
                  fused_activation_function=activation, **bias_type(types)))


@row("FULLY_CONNECTED", *FORMS, *INT16_WEIGHTS, "i8 weights-at-run-time")
def fully_connected(m, kind):
    types = {**FORMS, **INT16_WEIGHTS}[kind.replace(" weights-at-run-time", "")]
    rank = m.pick(1, 2, 2, 3, 4)
    depth, units = m.pick(1, 3, 4, 7, 16, 33), m.pick(1, 2, 5, 8)
    keep = m.chance() if rank > 1 else False
    shape = (*(m.size(1, 3) for _ in range(rank - 1)), depth)
    x = m.input(types[0], shape, m.quant(types[0], 1e-2, 0.1))
    if kind.endswith("run-time"):
        scales = np.array([m.scale(1e-3, 2e-2)], np.float32)
        w = m.input("i8", (units, depth), Quant(scales, m.pick(0, 0, m.size(-9, 9))))
    else:
        w, scales = weights(m, types[1], (units, depth), units, 0, types[3])
        w = with_weights_as_floats(m, w, types[1])
    bias = bias_of(m, types[2], units, scales, x) if m.chance(0.7) else None
    m.output(m.op("FULLY_CONNECTED", [x, w, bias], [(types[0], product_quant(m, x, scales, depth))],
                  "FullyConnectedOptions", keep_num_dims=keep, fused_activation_function=m.activation(), **bias_type(types)))


@row("FULLY_CONNECTED", "u8 i16")
def fully_connected_to_int16(m, kind):
    depth, units = m.pick(1, 3, 8, 33), m.pick(1, 2, 5)
    x = m.input("u8", (m.size(1, 3), depth), m.quant("u8", 1e-2, 0.1))
    w, scales = weights(m, "u8", (units, depth), units, 0, False)
    bias = bias_of(m, "i32", units, scales, x) if m.chance(0.7) else None
    out = Quant(product_quant(m, x, scales, depth).scale / np.float32(256))
    m.output(m.op("FULLY_CONNECTED", [x, w, bias], [("i16", out)], "FullyConnectedOptions",
                  fused_activation_function=m.activation()))


@row("BATCH_MATMUL", "f32", "i8", "i16", "i8 constant", "f32 constant", "i8 i32")
def batch_matmul(m, kind):
    base = kind.split()[0]
    rank = m.pick(2, 3, 3, 4, 5)
    batch = [m.size(1, 3) for _ in range(rank - 2)]
    h, c, w = m.size(1, 6), m.pick(1, 3, 4, 9, 17), m.size(1, 6)
    left = [1 if m.chance(0.2) else b for b in batch]
    right = [1 if m.chance(0.2) else b for b in batch]
    if m.chance(0.2) and rank > 2:
        right = right[m.size(0, rank - 2):]
    adj_x, adj_y = m.chance(0.4), m.chance(0.4)
    a_shape = (*left, c, h) if adj_x else (*left, h, c)
    b_shape = (*right, w, c) if adj_y else (*right, c, w)
    qa, qb = m.quant(base, 1e-2, 0.1), m.quant(base, 1e-2, 0.1)
    a = m.input(base, a_shape, qa)
    b = m.const(base, m.values(base, b_shape), qb) if "constant" in kind else m.input(base, b_shape, qb)
    out = product_quant(m, a, qb.scale, c) if qb else None
    to = base
    if kind == "i8 i32":
        to, out = "i32", Quant(qa.scale * qb.scale)
    m.output(m.op("BATCH_MATMUL", [a, b], [(to, out)], "BatchMatMulOptions", adj_x=adj_x, adj_y=adj_y))


@row("CONV_3D", "f32")
def conv_3d(m, kind):
    shape = (m.size(1, 2), m.size(2, 5), m.size(2, 5), m.size(2, 5), m.pick(1, 2, 3))
    kernel = [m.size(1, min(3, s)) for s in shape[1:4]]
    stride = [m.pick(1, 1, 2) for _ in range(3)]
    dilation = [m.pick(1, 1, 2) if (k - 1) * 2 + 1 <= s and all(t == 1 for t in stride) else 1
                for k, s in zip(kernel, shape[1:4])]
    out = m.pick(1, 2, 4)
    x = m.input(kind, shape)
    w = m.const(kind, m.values(kind, (*kernel, shape[4], out), 0.5))
    bias = [m.const(kind, m.values(kind, (out,)))] if m.chance() else []
    m.output(m.op("CONV_3D", [x, w, *bias], [(kind,)], "Conv3DOptions", padding=m.pick("SAME", "VALID"),
                  stride_d=stride[0], stride_h=stride[1], stride_w=stride[2], dilation_d_factor=dilation[0],
                  dilation_h_factor=dilation[1], dilation_w_factor=dilation[2],
                  fused_activation_function=m.activation()))


@row("CONV_3D_TRANSPOSE", "f32")
def conv_3d_transpose(m, kind):
    shape = (m.size(1, 2), m.size(1, 3), m.size(1, 4), m.size(1, 4), m.pick(1, 2, 3))
    kernel = [m.size(1, 3) for _ in range(3)]
    stride = [m.pick(1, 2) for _ in range(3)]
    padding = m.pick("SAME", "VALID")
    out = m.pick(1, 2, 3)
    size = [s * t if padding == "SAME" else (s - 1) * t + k for s, t, k in zip(shape[1:4], stride, kernel)]
    to = m.const("i32", [shape[0], *size, out])
    w = m.const(kind, m.values(kind, (*kernel, out, shape[4]), 0.5))
    x = m.input(kind, shape)
    bias = [m.const(kind, m.values(kind, (out,)))] if m.chance() else []
    m.output(m.op("CONV_3D_TRANSPOSE", [to, w, x, *bias], [(kind,)], "Conv3DOptions", padding=padding,
                  stride_d=stride[0], stride_h=stride[1], stride_w=stride[2],
                  fused_activation_function=m.activation()))
