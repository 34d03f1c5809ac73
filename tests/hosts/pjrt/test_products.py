"""Products of integers, and convolutions in groups and of four dimensions, on the device as on the CPU."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from support import Case, enable_x64, random


def bits(*shape):
    return random.generator.integers(0, 256, shape, dtype=np.uint8)


class Products(Case):
    def test_integers(self):
        for name in ("uint8", "int16", "uint32"):
            with self.subTest(dtype=name):
                size = np.dtype(name).itemsize
                a, b = bits(64, 96 * size).view(name), bits(96, 80 * size).view(name)
                self.same_as_cpu(jnp.matmul, a, b)
                self.same_as_cpu(jnp.matmul, a[:3], b[:, :5])
                self.same_as_cpu(lambda a, b: jnp.matmul(a, b, preferred_element_type="int32"), a, b)

    def test_integers_of_64_bits(self):
        with enable_x64(True):
            for name in ("int64", "uint64"):
                self.same_as_cpu(jnp.matmul, bits(5, 30 * 8).view(name), bits(30, 7 * 8).view(name))
            self.same_as_cpu(jnp.dot, bits(40000 * 8).view(np.uint64), bits(40000 * 8).view(np.uint64))

    def test_integers_convolved(self):
        for name in ("uint8", "int16", "int32"):
            size = np.dtype(name).itemsize
            x, y = bits(2, 3, 9, 8 * size).view(name), bits(4, 3, 3, 2 * size).view(name)
            self.same_as_cpu(lambda x, y: lax.conv(x, y, (2, 1), "SAME"), x, y)


class Convolutions(Case):
    def convolved(self, groups):
        return lambda x, y: lax.conv_general_dilated(x, y, (1,) * (x.ndim - 2), "SAME", feature_group_count=groups)

    def test_groups(self):
        for groups, channels, outputs, size in ((8, 1, 2, (9, 8)), (8, 1, 1, (4, 5, 3)), (16, 4, 2, (11,)),
                                                (2, 3, 4, (5, 6))):
            with self.subTest(groups=groups, channels=channels, size=size):
                x = random(2, groups * channels, *size)
                y = random(groups * outputs, channels, *[3] * len(size))
                function = self.convolved(groups)
                self.same_as_cpu(jax.grad(lambda x, y: (function(x, y) ** 2).sum(), (0, 1)), x, y, bound=1e-4)

    def test_a_layer_by_depth(self):
        """One operator for each of the 128 channels would be as many dispatches."""
        x, y = random(1, 128, 16, 16), random(128, 1, 3, 3)
        self.same_as_cpu(self.convolved(128), x, y)
        self.assertLess(self.since("dispatches"), 8)

    def test_four_dimensions(self):
        x, y = random(2, 2, 4, 5, 4, 3), random(3, 2, 2, 3, 2, 2)
        self.same_as_cpu(self.convolved(1), x, y)
