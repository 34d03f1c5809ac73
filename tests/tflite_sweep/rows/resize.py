"""Images of another size, and spectra."""
import numpy as np

from model import draw_floats
from rows import row


def resize(operator, table, *kinds):
    @row(operator, *kinds)
    def make(m, kind):
        shape = m.image(low=1, high=8)
        to = [m.pick(m.size(1, 12), d, 2 * d, 3 * d) for d in shape[1:3]]
        x = m.input(kind, shape)
        align = m.chance(0.3)
        half = m.chance(0.4) and not align
        m.output(m.op(operator, [x, m.const("i32", to)], [(kind, x.quant)], table, align_corners=align,
                      half_pixel_centers=half))


resize("RESIZE_BILINEAR", "ResizeBilinearOptions", "f32", "i8", "u8", "i16")
resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", "f32", "i8", "u8", "i16")


def spectrum(m, kind):
    """COMPLEX64, moved about at times."""
    size = [m.pick(1, 2, 4, 8), m.pick(2, 4, 8, 16)]
    shape = [max(1, s + m.pick(0, 0, 1, -1)) for s in size]
    batch = m.shape(ranks=(0, 2), high=3)
    x = m.input(kind, (*batch, *shape))
    y = m.op("RFFT2D", [x, m.const("i32", size)], [("c64",)], "Rfft2dOptions")
    if m.chance(0.4):
        flat = [int(np.prod(batch)) * size[0], size[1] // 2 + 1]
        y = m.op("RESHAPE", [y, m.const("i32", flat)], [("c64",)], "ReshapeOptions")
    return y


@row("RFFT2D", "f32")
def rfft2d(m, kind):
    y = spectrum(m, kind)
    m.output(m.op("REAL", [y], [("f32",)]), m.op("IMAG", [y], [("f32",)]))


def of_complex(operator):
    @row(operator, "c64")
    def make(m, kind):
        m.output(m.op(operator, [spectrum(m, "f32")], [("f32",)]))


of_complex("REAL")
of_complex("IMAG")
of_complex("COMPLEX_ABS")


@row("MUL", "c64")
def complex_product(m, kind):
    """A spectrum times a constant, or times floats that become one."""
    y = spectrum(m, "f32")
    if m.chance():
        factor = m.const("c64", draw_floats(m.rng, (1, 2)).view(np.complex64).reshape(1))
    else:
        factor = m.op("CAST", [m.input("f32", (1,))], [("c64",)], "CastOptions", in_data_type="FLOAT32",
                      out_data_type="COMPLEX64")
    y = m.op("MUL", [y, factor], [("c64",)], "MulOptions")
    m.output(m.op("REAL", [y], [("f32",)]), m.op("IMAG", [y], [("f32",)]))
