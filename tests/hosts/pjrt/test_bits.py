"""Bits as elements of another type, and narrow floats as each other, on the device as on the CPU."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from support import Case, random


def bits(*shape):
    return random.generator.integers(0, 256, shape, dtype=np.uint8)


class Bits(Case):
    def same_bits(self, x, dtype):
        def cast(x):
            made = lax.bitcast_convert_type(x, dtype)
            return made.astype(np.int8) if dtype in ("int4", "uint4") else made

        with jax.default_device(jax.devices("cpu")[0]):
            theirs = np.asarray(jax.jit(cast)(x))
        ours = np.asarray(jax.jit(cast)(jax.device_put(x, self.device)))
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
        self.assertEqual(ours.tobytes(), theirs.tobytes())

    def test_narrow_floats(self):
        codes = np.arange(256, dtype=np.uint8)
        for name in ("float8_e4m3fn", "float8_e5m2"):
            dtype = getattr(jnp, name)
            for other in ("int8", "uint8"):
                self.same_bits(codes.view(dtype), other)
                self.same_bits(codes.view(other), dtype)
            for other, size in (("int16", 2), ("float32", 4)):
                self.same_bits(codes.reshape(-1, size).view(dtype), other)
                self.same_bits(bits(6 * size).view(other), dtype)

    def test_below_8_bits(self):
        if jax.__version_info__ < (0, 5):
            self.skipTest("this version cannot state such a cast")
        codes = np.arange(256, dtype=np.uint8)
        for name in ("int4", "uint4"):
            self.same_bits(codes, name)
            self.same_bits(bits(24).view(np.int32), name)
            self.same_bits((bits(6, 8) % 8).astype(name), "uint32")

    def test_narrow_floats_as_each_other(self):
        """As NumPy has them, and as the CPU has halves: that of JAX 0.4 rounds to float8_e5m2 by way of them."""
        some = random(500)
        for x, first, second in (
            (some * 100, jnp.float8_e4m3fn, jnp.float8_e5m2),
            (some, jnp.float8_e5m2, jnp.float8_e4m3fn),
        ):
            cast = lambda x: x.astype(first).astype(second).astype(np.float32)  # noqa: E731
            self.same_as_cpu(cast, x.astype(np.float16).astype(np.float32))
            ours = jax.jit(cast)(jax.device_put(x, self.device))
            np.testing.assert_array_equal(np.asarray(ours), cast(x))
