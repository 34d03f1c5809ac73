"""Pooling."""
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


pool("AVERAGE_POOL_2D", "f32", "i8", "u8", "i16")
pool("MAX_POOL_2D", "f32", "i8", "u8", "i16")
pool("L2_POOL_2D", "f32")
