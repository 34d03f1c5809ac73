"""Quantized weights with float activations, which TFLite quantizes at run time; fp16 and sparse weights."""
import numpy as np

from model import Quant
from rows import row
from rows.conv import window


def hybrid_weights(m, kind, shape, channels, axis, per_channel):
    base = {"i8": "i8", "u8": "u8", "int4": "i4", "channel": "i8", "asymmetric": "i8"}[kind]
    count = channels if per_channel else 1
    scales = np.array([m.scale(1e-3, 2e-2) for _ in range(count)], np.float32)
    data = m.values(base, shape)
    if base == "i8":
        data = np.maximum(data, -127)
    if base == "i4":
        data = np.maximum(data, -7)
    # The runtime reads the bytes of UINT8 weights as int8, and no zero point.
    zero_point = m.pick(0, 128, 77) if base == "u8" else 0
    if base == "u8":
        data = np.where(data == 128, 129, data)
    return m.const(base, data, Quant(scales, zero_point, axis))


@row("FULLY_CONNECTED", "hybrid i8", "hybrid channel", "hybrid int4", "hybrid u8", "hybrid asymmetric")
def fully_connected(m, kind):
    kind = kind.split()[1]
    depth, units, rows_ = m.pick(1, 3, 8, 17, 32), m.pick(1, 2, 5, 8), m.size(1, 4)
    x = m.input("f32", (rows_, depth))
    w = hybrid_weights(m, kind, (units, depth), units, 0, kind in ("channel", "int4") and m.chance(0.7) or kind == "channel")
    bias = m.const("f32", m.values("f32", (units,))) if m.chance(0.7) else None
    m.output(m.op("FULLY_CONNECTED", [x, w, bias], [("f32",)], "FullyConnectedOptions",
                  asymmetric_quantize_inputs=kind == "asymmetric", fused_activation_function=m.activation()))


def computed_weights(m, kind, shape, channels, axis):
    """Weights of a run. The runtime keeps their sums from one to the next, so that each begins anew."""
    m.resources = True
    count = channels if kind == "channel" else 1
    scales = np.array([m.scale(1e-3, 2e-2) for _ in range(count)], np.float32)
    if kind == "int4":
        floats = m.input("f32", shape)
        return m.op("QUANTIZE", [floats], [m.between("i4", shape, Quant(0.3))], "QuantizeOptions")
    base = "u8" if kind == "u8" else "i8"

    def draw(rng, s):
        return rng.integers(-127, 127, s, endpoint=True).astype(np.int8).view(np.uint8 if base == "u8" else np.int8)
    return m.input(base, shape, Quant(scales, 0, axis), draw)


FORMS = ("i8", "channel", "u8", "int4", "asymmetric")


@row("FULLY_CONNECTED", *(f"hybrid {form} weights-at-run-time" for form in FORMS))
def fully_connected_computed(m, kind):
    kind = kind.split()[1]
    depth, units = m.pick(2, 4, 8, 18, 32), m.pick(1, 2, 5, 8)
    x = m.input("f32", (m.size(1, 4), depth))
    w = computed_weights(m, kind, (units, depth), units, 0)
    bias = m.const("f32", m.values("f32", (units,))) if m.chance(0.7) else None
    m.output(m.op("FULLY_CONNECTED", [x, w, bias], [("f32",)], "FullyConnectedOptions",
                  asymmetric_quantize_inputs=kind == "asymmetric", fused_activation_function=m.activation()))


@row("BATCH_MATMUL", "hybrid i8 weights-at-run-time")
def batch_matmul_computed(m, kind):
    h, c, w, batch = m.size(1, 5), m.pick(1, 3, 8, 17), m.size(1, 5), (m.size(1, 3),)
    x = m.input("f32", (*batch, h, c))
    y = computed_weights(m, "i8", (*batch, c, w), 1, 0)
    m.output(m.op("BATCH_MATMUL", [x, y], [("f32",)], "BatchMatMulOptions"))


@row("CONV_2D", "hybrid i8 weights-at-run-time", "hybrid channel weights-at-run-time")
def conv_2d_computed(m, kind):
    shape, out = m.image(high=6), m.pick(1, 2, 5)
    x = m.input("f32", shape)
    w = computed_weights(m, kind.split()[1], (out, 2, 2, shape[3]), out, 0)
    bias = m.const("f32", m.values("f32", (out,)))
    m.output(m.op("CONV_2D", [x, w, bias], [("f32",)], "Conv2DOptions", padding=m.pick("SAME", "VALID"), stride_h=1,
                  stride_w=m.pick(1, 2), fused_activation_function=m.activation()))


@row("DEPTHWISE_CONV_2D", "hybrid channel weights-at-run-time")
def depthwise_computed(m, kind):
    shape = m.image(high=6)
    x = m.input("f32", shape)
    w = computed_weights(m, "channel", (1, 2, 2, shape[3]), shape[3], 3)
    bias = m.const("f32", m.values("f32", (shape[3],)))
    m.output(m.op("DEPTHWISE_CONV_2D", [x, w, bias], [("f32",)], "DepthwiseConv2DOptions", padding="SAME", stride_h=1,
                  stride_w=1, depth_multiplier=1, fused_activation_function=m.activation()))


@row("CONV_2D", "hybrid i8", "hybrid channel", "hybrid u8")
def conv_2d(m, kind):
    kind = kind.split()[1]
    shape = m.image()
    kernel, stride, dilation, padding = window(m, shape[1:3])
    out = m.pick(1, 2, 3, 5, 8)
    x = m.input("f32", shape)
    w = hybrid_weights(m, kind, (out, *kernel, shape[3]), out, 0, kind == "channel")
    bias = m.const("f32", m.values("f32", (out,))) if m.chance(0.7) else None
    m.output(m.op("CONV_2D", [x, w, bias], [("f32",)], "Conv2DOptions", padding=padding, stride_h=stride[0],
                  stride_w=stride[1], dilation_h_factor=dilation[0], dilation_w_factor=dilation[1],
                  fused_activation_function=m.activation()))


@row("DEPTHWISE_CONV_2D", "hybrid channel")
def depthwise(m, kind):
    shape = m.image()
    kernel, stride, dilation, padding = window(m, shape[1:3])
    multiplier = m.pick(1, 1, 2)
    out = shape[3] * multiplier
    x = m.input("f32", shape)
    w = hybrid_weights(m, "channel", (1, *kernel, out), out, 3, True)
    bias = m.const("f32", m.values("f32", (out,)))
    m.output(m.op("DEPTHWISE_CONV_2D", [x, w, bias], [("f32",)], "DepthwiseConv2DOptions", padding=padding,
                  stride_h=stride[0], stride_w=stride[1], depth_multiplier=multiplier,
                  dilation_h_factor=dilation[0], dilation_w_factor=dilation[1],
                  fused_activation_function=m.activation()))


@row("TRANSPOSE_CONV", "hybrid i8", "hybrid channel")
def transpose_conv(m, kind):
    shape = m.image(high=5)
    kernel, stride, out = m.size(1, 3), m.pick(1, 2), m.pick(1, 2, 5)
    padding = m.pick("SAME", "VALID")
    sizes = [s * stride if padding == "SAME" else (s - 1) * stride + kernel for s in shape[1:3]]
    to = m.const("i32", [shape[0], *sizes, out])
    w = hybrid_weights(m, kind.split()[1], (out, kernel, kernel, shape[3]), out, 0, "channel" in kind)
    x = m.input("f32", shape)
    bias = [m.const("f32", m.values("f32", (out,)))] if m.chance() else []
    m.output(m.op("TRANSPOSE_CONV", [to, w, x, *bias], [("f32",)], "TransposeConvOptions", padding=padding,
                  stride_h=stride, stride_w=stride, fused_activation_function=m.pick("NONE", "RELU", "RELU6")))


@row("BATCH_MATMUL", "hybrid i8", "hybrid asymmetric", "hybrid i8 broadcast", "hybrid asymmetric broadcast")
def batch_matmul(m, kind):
    broadcast, kind = "broadcast" in kind, kind.split()[1]
    h, c, w = m.size(1, 5), m.pick(1, 3, 8, 17), m.size(1, 5)
    left = right = (m.size(1, 3),)
    if broadcast:
        # Of weights of rank 5 the runtime does not compute all sums that zero points need.
        batch = [m.size(1, 3) for _ in range(m.size(1, 2 if kind == "asymmetric" else 3))]
        left, right = (tuple(1 if m.chance(0.3) else d for d in batch[m.pick(0, 0, m.size(0, len(batch))):])
                       for _ in range(2))
    x = m.input("f32", (*left, h, c))
    y = hybrid_weights(m, kind, (*right, w, c), 1, 0, False)
    m.output(m.op("BATCH_MATMUL", [x, y], [("f32",)], "BatchMatMulOptions", adj_y=True,
                  asymmetric_quantize_inputs=kind == "asymmetric"))


def sparse_rows(dense, block):
    """The values and the description of a matrix of which whole blocks of a row are left out."""
    segments, indices, values = [0], [], []
    for line in dense:
        for k in range(len(line) // block):
            part = line[k * block:(k + 1) * block]
            if np.any(part):
                indices.append(k)
                values += part.tolist()
        segments.append(len(indices))
    levels = [{"format": "DENSE", "dense_size": len(dense)},
              {"format": "SPARSE_CSR", "array_segments": ("Int32Vector", {"values": segments}),
               "array_indices": ("Int32Vector", {"values": indices})}]
    if block > 1:
        levels.append({"format": "DENSE", "dense_size": block})
    return values, {"traversal_order": [0, 1, 2][:len(levels)], "block_map": [1] if block > 1 else [],
                    "dim_metadata": levels}


@row("FULLY_CONNECTED", "f32 sparse", "i8 sparse", "i8 channel sparse")
def fully_connected_sparse(m, kind):
    base = kind.split()[0]
    block = 16 if base == "i8" else m.pick(1, 4)  # what the runtime has kernels for
    units, depth = m.pick(4, 8, 16), 16 * m.size(1, 3)
    dense = m.values(base, (units, depth)) * np.repeat(m.rng.random((units, depth // block)) < 0.6, block, 1)
    if base == "i8":
        dense = np.maximum(dense, -127)
    dense[0, 0] = 1
    values, sparsity = sparse_rows(dense, block)
    scales = [m.scale(1e-3, 2e-2) for _ in range(units if "channel" in kind else 1)]
    w = m.const(base, values, Quant(scales) if base == "i8" else None, {"sparsity": sparsity})
    w.shape = (units, depth)
    quant = m.quant(base)
    x = m.input(base, (m.size(1, 4), depth), quant)
    if base == "f32":
        bias, out = m.const("f32", m.values("f32", (units,))), None
    else:
        bias = m.const("i32", m.rng.integers(-1000, 1000, units), Quant(quant.scale * np.float32(scales)))
        out = Quant(np.float32(quant.scale * max(scales) * 127 * depth / 4), m.size(-128, 127))
    m.output(m.op("FULLY_CONNECTED", [x, w, bias], [(base, out)], "FullyConnectedOptions",
                  fused_activation_function=m.activation()))


@row("DENSIFY", "f32", "i8")
def densify(m, kind):
    rows_, columns = m.size(2, 5), m.size(2, 8)
    dense = m.values(kind, (rows_, columns)) * (m.rng.random((rows_, columns)) < 0.4)
    segments, indices, values = [0], [], []
    for r in range(rows_):
        at = np.flatnonzero(dense[r])
        indices += at.tolist()
        values += dense[r, at].tolist()
        segments.append(len(indices))
    if not values:
        dense[0, 0], values, indices = 1, [1], [0]
        segments = [0] + [1] * rows_
    member = m.pick(("Int32Vector", "Int32Vector"), ("Uint8Vector", "Uint8Vector"), ("Uint16Vector", "Uint16Vector"))
    sparsity = {"traversal_order": [0, 1], "block_map": [], "dim_metadata": [
        {"format": "DENSE", "dense_size": rows_},
        {"format": "SPARSE_CSR", "array_segments": (member[0], {"values": segments}),
         "array_indices": (member[1], {"values": indices})}]}
    quant = m.quant(kind)
    w = m.const(kind, values, quant, {"sparsity": sparsity})
    w.shape = (rows_, columns)
    y = m.op("DENSIFY", [w], [(kind, quant)], "DensifyOptions")
    x = m.input(kind, (rows_, columns), quant)
    if kind == "f32":
        m.output(m.op("ADD", [x, y], [(kind,)], "AddOptions"))
    else:
        m.output(m.op("MAXIMUM", [x, y], [(kind, quant)], "MaximumMinimumOptions"))


@row("SVDF", "f32", "hybrid i8", "hybrid u8", "i8")
def svdf(m, kind):
    batch, depth, units, rank, memory = m.size(1, 3), m.pick(1, 3, 8), m.size(1, 4), m.size(1, 2), m.size(1, 6)
    filters = units * rank
    m.steps = m.size(2, 6)
    if kind == "i8":
        qx, qf, qt = m.quant("i8", 1e-2, 0.1), Quant(m.scale(1e-3, 2e-2)), Quant(m.scale(1e-5, 1e-4))
        qs = Quant(m.scale(1e-4, 1e-3))
        out = Quant(np.float32(qs.scale * qt.scale * 32768 * 60), m.size(-128, 127))
        x = m.input("i8", (batch, depth), qx)
        f = m.const("i8", m.values("i8", (filters, depth)), qf)
        t = m.const("i16", m.values("i16", (filters, memory)), qt)
        bias = m.const("i32", m.rng.integers(-1000, 1000, units), Quant(qs.scale * qt.scale))
        state = m.variable("i16", (batch, memory * filters), qs)
        made = ("i8", out)
    else:
        x = m.input("f32", (batch, depth))
        f, t = (m.const("f32", m.values("f32", (filters, size), 0.4)) if kind == "f32" else
                hybrid_weights(m, kind.split()[1], (filters, size), filters, 0, False) for size in (depth, memory))
        bias = m.const("f32", m.values("f32", (units,))) if m.chance() else None
        state = m.variable("f32", (batch, memory * filters))
        made = ("f32",)
    m.output(m.op("SVDF", [x, f, t, bias, state], [made], "SVDFOptions", rank=rank,
                  fused_activation_function="RELU" if kind == "i8" else m.pick("NONE", "RELU")))
