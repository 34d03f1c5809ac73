"""Pooling."""
import numpy as np

from rows import row
from rows.conv import window


def pool(operator, *kinds):
    def make(m, kind):
        shape = m.image()
        kernel, stride, _, padding = window(m, shape[1:3])
        x = m.input(kind, shape, m.quant(kind, 1e-2, 0.1))
        out = x.quant
        m.output(m.op(operator, [x], [(kind, out)], "Pool2DOptions", padding=padding, stride_h=stride[0],
                      stride_w=stride[1], filter_height=kernel[0], filter_width=kernel[1],
                      fused_activation_function=m.activation()))
    row(operator, *kinds)(make)


def raw_options(padding, stride, kernel):
    """The custom operators' options: the numbers of the runtime's own struct."""
    return np.array([1 if padding == "SAME" else 2, stride[1], stride[0], kernel[1], kernel[0], 0, 0, 0, 0, 0],
                    np.int32).tobytes()


@row("MaxUnpooling2D", "f32 of-MaxPoolingWithArgmax2D")
def max_unpooling(m, kind):
    """Only both together: what the places between them look like is between the two. No two numbers are equal: only
    XNNPACK has the operators here, and it goes over a window column by column, unlike those who brought them."""
    k, n, h, w, c = m.size(2, 3), m.size(1, 2), m.size(1, 4), m.size(1, 4), m.size(1, 5)
    x = m.input("f32", (n, h * k, w * k, c), None, lambda rng, s: rng.permutation(int(np.prod(s))).reshape(s) / 64 - 2)
    pooled, places = m.between("f32", (n, h, w, c)), m.between("f32", (n, h, w, c))
    options = raw_options("VALID", (k, k), (k, k))
    m.op("MaxPoolingWithArgmax2D", [x], [pooled, places], custom=options)
    gated = m.op("MUL", [pooled, m.const("f32", 2.0)], [m.between("f32", (n, h, w, c))], "MulOptions")
    m.output(pooled, m.op("MaxUnpooling2D", [gated, places], [m.between("f32", (n, h * k, w * k, c))], custom=options))


pool("AVERAGE_POOL_2D", "f32", "i8", "u8", "i16")
pool("MAX_POOL_2D", "f32", "i8", "u8", "i16")
pool("L2_POOL_2D", "f32")
