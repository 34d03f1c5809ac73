"""Devices, arrays on them, and simple functions."""
import ctypes
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import serialize_executable

from support import Case, computes_nothing, counters, enable_x64, library, random, script


class Devices(Case):
    @computes_nothing
    def test_described(self):
        self.assertEqual(self.device.platform, "tosavk")
        self.assertTrue(self.device.device_kind)
        self.assertIn("tosa-vk", self.device.client.platform_version)
        self.assertEqual(self.device.default_memory().kind, "device")
        self.assertIn(self.device.device_kind, str(self.device))

    def test_is_the_default(self):
        self.assertEqual(jnp.ones(3).devices(), {self.device})

    @computes_nothing
    def test_memory(self):
        before = self.device.memory_stats()["bytes_in_use"]
        array = jax.device_put(np.zeros(1 << 20, np.float32), self.device)
        stats = self.device.memory_stats()
        self.assertGreaterEqual(stats["bytes_in_use"] - before, 4 << 20)
        self.assertGreaterEqual(stats["peak_bytes_in_use"], stats["bytes_in_use"])
        self.assertGreater(stats["bytes_limit"], 0)
        array.delete()
        self.assertLessEqual(self.device.memory_stats()["bytes_in_use"], before)

    @computes_nothing
    def test_alone(self):
        code, said = script("import jax.numpy as n; print(float(n.arange(5.0).sum()))", JAX_PLATFORMS="tosavk")
        self.assertEqual(code, 0, said)
        self.assertIn("10.0", said)

    @computes_nothing
    def test_leaving(self):
        """A program that ends while its runs are under way."""
        code, said = script("""
import jax, jax.numpy as jnp
loop = jax.jit(lambda x: jax.lax.fori_loop(0, 200, lambda k, x: x * 0.5 + 1, x))
results = [loop(jnp.ones(1000) + k) for k in range(6)]
results[0].copy_to_host_async()
del results[1]
print("leaving")
""")
        self.assertEqual(code, 0, said)
        self.assertIn("leaving", said)

    @computes_nothing
    def test_missing(self):
        code, said = script("import jax; jax.devices()", JAX_PLATFORMS="tosavk", VK_DRIVER_FILES="/nonexistent",
                            VK_ICD_FILENAMES="/nonexistent")
        self.assertNotEqual(code, 0)
        self.assertIn("NOT_FOUND", said)


class Arrays(Case):
    @computes_nothing
    def test_round_trip(self):
        for dtype in (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, jnp.bfloat16,
                      np.float32, np.complex64, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.int4, jnp.uint4):
            for shape in ((), (1,), (7,), (2, 3, 5), (0,), (3, 0)):
                array = (random(*shape) * 3).astype(dtype)
                with self.subTest(dtype=str(np.dtype(dtype)), shape=shape):
                    there = jax.device_put(array, self.device)
                    self.assertEqual(there.dtype, array.dtype)
                    np.testing.assert_array_equal(np.asarray(there), array)

    def test_narrow_floats(self):
        """Every number of a type, there and back, moved, and as f32."""
        for name in ("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float8_e4m3b11fnuz",
                     "float8_e4m3fnuz", "float8_e5m2fnuz"):
            dtype = getattr(jnp, name, None)
            if dtype is None:
                continue
            with self.subTest(dtype=name):
                codes = np.arange(16 if name.startswith("float4") else 256, dtype=np.uint8)
                array = codes.view(dtype)
                there = jax.device_put(array, self.device)
                np.testing.assert_array_equal(np.asarray(there).view(np.uint8), codes)
                wide, turned = jax.jit(lambda x: (x.astype(jnp.float32), jnp.flip(x)))(there)
                np.testing.assert_array_equal(np.asarray(wide), array.astype(np.float32))
                np.testing.assert_array_equal(np.asarray(turned).view(np.uint8), codes[::-1])

    @computes_nothing
    def test_strides(self):
        array = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
        for view in (array.T, array[:, ::-1], array[::2, 1:3, ::3], np.broadcast_to(array[:1], (6, 4, 5)),
                     np.broadcast_to(np.float32(2), (3, 3))):
            np.testing.assert_array_equal(np.asarray(jax.device_put(view, self.device)), view)

    def test_copies(self):
        array = jnp.arange(10.0)
        again = jnp.array(array, copy=True)
        on_cpu = jax.device_put(array, jax.devices("cpu")[0])
        back = jax.device_put(on_cpu, self.device)
        for one in (again, on_cpu, back):
            np.testing.assert_array_equal(np.asarray(one), np.arange(10, dtype=np.float32))

    def test_deleted(self):
        array = jnp.arange(4.0)
        array.delete()
        self.assertTrue(array.is_deleted())
        with self.assertRaises(RuntimeError):
            np.asarray(array)

    @computes_nothing
    def test_refused(self):
        with enable_x64(True), self.assertRaisesRegex(Exception, "not supported"):
            jax.block_until_ready(jax.device_put(np.zeros(2), self.device))

    def test_integers_of_64_bits(self):
        numbers = np.array([[-5, 7, 1 << 40], [-(1 << 63), (1 << 63) - 1, -(1 << 33) - 1]])
        with enable_x64(True):
            for array in (numbers, numbers.astype(np.uint64), numbers[:, :0]):
                there = jax.device_put(array, self.device)
                self.assertEqual(there.dtype, array.dtype)
                np.testing.assert_array_equal(np.asarray(there), array)
            self.same_as_cpu(lambda x, n: (x * 3 - n, x // 7, (x ^ n) >> 3, x.sum(), jnp.sort(x.ravel()), x > n, x.T,
                                           x.astype(jnp.float32)), numbers, np.int64(1 << 35))
            self.same_as_cpu(lambda x: (x * x, x >> 9, x.astype(jnp.int32), x.max(0)), numbers.astype(np.uint64))


class Functions(Case):
    def test_elementwise(self):
        self.same_as_cpu(lambda x, y: jnp.tanh(x * y + 1) - jnp.exp(-x * x), random(5, 7), random(7), bound=1e-5)

    def test_types(self):
        for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, jnp.bfloat16):
            with self.subTest(dtype=str(np.dtype(dtype))):
                a, b = np.arange(1, 9).astype(dtype), np.arange(3, 11).astype(dtype)
                self.same_as_cpu(lambda a, b: (a + b, a * b, a < b, jnp.maximum(a, b)), a, b, bound=1e-2)

    def test_complex(self):
        x = (random(6) + 1j * random(6)).astype(np.complex64)
        self.same_as_cpu(lambda x: (x * x, jnp.abs(x), jnp.conj(x) + 1), x)

    def test_several_results(self):
        ours = self.same_as_cpu(lambda x: {"sum": x.sum(), "row": (x.max(0), x), "n": jnp.int32(3)}, random(4, 5))
        self.assertEqual(int(ours["n"]), 3)

    def test_empty(self):
        """Arrays without elements, as arguments and results, beside others and alone."""
        self.same_as_cpu(lambda x, y: (x + 1, y * 2, x.sum(), jnp.concatenate([x, y])), random(0, 3), random(2, 3))
        empty = jax.jit(lambda x: x * 2)(jnp.zeros((0, 4)))
        self.assertEqual((np.asarray(empty).shape, empty.dtype), ((0, 4), np.float32))
        self.assertEqual(jax.jit(lambda x: ())(jnp.zeros(3)), ())

    def test_stays_on_device(self):
        step = jax.jit(lambda x: x * 0.5 + 1)
        x = step(jnp.zeros(1000))
        before = counters()
        for _ in range(20):
            x = step(x)
        jax.block_until_ready(x)
        after = counters()
        self.assertEqual(after["executions"] - before["executions"], 20)
        self.assertEqual(after["uploads"], before["uploads"])
        self.assertEqual(after["downloads"], before["downloads"])
        np.testing.assert_allclose(np.asarray(x), 2, rtol=1e-4)

    def test_donation(self):
        step = jax.jit(lambda x, y: x + y, donate_argnums=0)
        x, y = jnp.zeros(1000), jnp.ones(1000)
        jax.block_until_ready((x, y))
        before = counters()["donations"]
        for _ in range(5):
            given, x = x, step(x, y)
            self.assertTrue(given.is_deleted())
        np.testing.assert_array_equal(np.asarray(x), np.full(1000, 5, np.float32))
        self.assertGreater(counters()["donations"], before)

    def test_a_donated_arrays_address(self):
        """It stands for that array alone, not for the result that has its memory."""
        library.tosavk_pjrt_lend.restype = ctypes.c_void_p
        buffer, device = ctypes.c_void_p(), ctypes.c_void_p()

        def lend(address):
            loan = library.tosavk_pjrt_lend(ctypes.c_void_p(address), ctypes.byref(buffer), ctypes.byref(device))
            if loan:
                library.tosavk_pjrt_end_loan(ctypes.c_void_p(loan))
            return bool(loan)

        x = jax.block_until_ready(jnp.zeros(1000) + 1)
        step, before = jax.jit(lambda x: x + 1, donate_argnums=0), counters()["donations"]
        address = x.unsafe_buffer_pointer()
        y = jax.block_until_ready(step(x))
        self.assertEqual(counters()["donations"], before + 1)
        self.assertFalse(lend(address))
        self.assertTrue(lend(y.unsafe_buffer_pointer()))
        z = jax.block_until_ready(step(y))  # which others may have
        self.assertEqual(counters()["donations"], before + 1)
        np.testing.assert_array_equal(np.asarray(z), np.full(1000, 3, np.float32))

    def test_donation_beside_a_read(self):
        step = jax.jit(lambda x: x + 1, donate_argnums=0)
        for _ in range(20):
            x = jnp.zeros(100000) + 7
            x.copy_to_host_async()
            y = step(x)
            np.testing.assert_array_equal(np.asarray(y), np.full(100000, 8, np.float32))

    def test_analysis(self):
        compiled = jax.jit(lambda a, b: a @ b).lower(jnp.ones((8, 8)), jnp.ones((8, 8))).compile()
        costs = compiled.cost_analysis()
        self.assertGreater((costs[0] if isinstance(costs, list) else costs)["flops"], 0)  # a list before 0.5
        self.assertEqual(compiled.memory_analysis().argument_size_in_bytes, 2 * 256)

    def test_serialized(self):
        lowered = jax.jit(lambda x: jnp.sin(x) + 1).lower(jnp.ones(5))
        loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(lowered.compile()))
        np.testing.assert_allclose(np.asarray(loaded(jnp.ones(5))), np.sin(1) + 1, rtol=1e-5)
        self.assertTrue(pickle.dumps(lowered.in_tree))

    def test_threads(self):
        step, failed = jax.jit(lambda x, k: x * 2 + k), []

        def work(k):
            try:
                x = jnp.ones(100)
                for _ in range(20):
                    x = step(x, k) / 2
                np.testing.assert_allclose(np.asarray(x), 1 + 10 * k, rtol=1e-5)
            except Exception as e:  # noqa: BLE001
                failed.append(e)

        threads = [threading.Thread(target=work, args=(float(k),)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])


class Ends(Case):
    """Numbers at which formulas have no value of their own."""

    def parts_are_equal(self, function, *arguments):
        ours = np.asarray(jax.jit(function)(*(jax.device_put(x, self.device) for x in arguments)))
        with jax.default_device(jax.devices("cpu")[0]):
            theirs = np.asarray(jax.jit(function)(*arguments))
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(ours), part(theirs))

    def test_quotients(self):
        parts = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
        numbers = np.empty(len(parts) ** 2, np.complex64)
        numbers.real, numbers.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
        a, b = np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)
        with np.errstate(all="ignore"):
            self.parts_are_equal(lax.div, a, b)
            self.parts_are_equal(lax.mul, a, b)

    def test_functions(self):
        z = np.array([89 + 1j, -89.1 + 2j, -3 + 0.5j, 1e-4 + 2e-4j, -50 + 1j, 3e18 + 3e19j, 1e-4 + 60j], np.complex64)
        for function in (lax.cosh, lax.sinh, lax.log1p, lax.logistic, lax.tan, lax.rsqrt):
            ours = np.asarray(jax.jit(function)(jax.device_put(z, self.device)))
            with jax.default_device(jax.devices("cpu")[0]):
                np.testing.assert_allclose(ours, np.asarray(jax.jit(function)(z)), 2e-5, err_msg=str(function))
        self.parts_are_equal(lax.rsqrt, np.array([complex(7, np.inf), complex(-np.inf, 1)], np.complex64))

    def test_fewer_bits(self):
        numbers = np.array([6e-8, 3e-5, 1.1, 5e-6, 60000, -2.5e-7, np.nan, np.inf, -np.inf], np.float16)
        if jax.__version_info__ < (0, 8):  # there the CPU makes infinity of NaN
            numbers = numbers[~np.isnan(numbers)]
        for exponent, mantissa in ((5, 7), (5, 10), (4, 5), (8, 3), (5, 0), (3, 2)):
            for x in (numbers, numbers.astype(np.float32)):
                self.parts_are_equal(lambda x: lax.reduce_precision(x, exponent, mantissa), x)


class Refused(Case):
    def test_double(self):
        """The sentence says what, and where its author wrote it."""
        with enable_x64(True), self.assertRaisesRegex(Exception, "(?s)UNIMPLEMENTED.*f64.*test_basics.py"):
            jax.jit(lambda x: jnp.sin(x.astype(jnp.float64)).astype(jnp.float32))(jnp.ones(3, jnp.float32))

    def test_option(self):
        with self.assertRaisesRegex(Exception, "INVALID_ARGUMENT.*No such compile option: 'speed'"):
            jax.jit(lambda x: x + 1, compiler_options={"speed": "1"})(jnp.ones(2))
        options = {"precision": "fp16", "xla_embed_ir_in_executable": True, "memory_fitting_effort": 0.5}
        np.testing.assert_allclose(np.asarray(jax.jit(lambda x: x + 1, compiler_options=options)(jnp.ones(2))), 2)

    @computes_nothing
    def test_double_as_single(self):
        """With the option f64_as_f32 arrays of float64 and complex128 are rounded and come back as what they were."""
        code, said = script(
            """
import os, jax, numpy as np, jax.numpy as jnp
from jax._src import xla_bridge
xla_bridge.register_plugin("tosavk", priority=400, library_path=os.environ["TOSAVK_PJRT"],
                           options={"f64_as_f32": True})
jax.config.update("jax_enable_x64", True)
assert jax.devices()[0].platform == "tosavk"
numbers = np.linspace(-3, 3, 77)
back = jax.device_put(numbers)
assert back.dtype == np.float64 and (np.asarray(back) == numbers.astype(np.float32)).all()
assert (np.asarray(jax.device_put(numbers[::-2])) == numbers[::-2].astype(np.float32)).all()
out = jax.jit(lambda x: jnp.sin(x) @ jnp.outer(x, x) + 1e-3)(numbers)
assert out.dtype == np.float64
np.testing.assert_allclose(np.asarray(out), np.sin(numbers) @ np.outer(numbers, numbers) + 1e-3, 1e-5, 1e-4)
turned = jax.jit(lambda x: jnp.fft.ifft(jnp.fft.fft(x)) * 1j)(numbers[:64])
assert turned.dtype == np.complex128
np.testing.assert_allclose(np.asarray(turned), numbers[:64] * 1j, 0, 1e-5)
gradient = jax.grad(lambda x: jax.nn.logsumexp(x).sum())(jnp.asarray(numbers))
np.testing.assert_allclose(np.asarray(gradient).sum(), 1, 1e-5)
print("as single")
""",
            PJRT_NAMES_AND_LIBRARY_PATHS="",
        )
        self.assertEqual((code, said.splitlines()[-1]), (0, "as single"), said)

    def test_after_it(self):
        """A refused program leaves the client as it was."""
        self.test_double()
        np.testing.assert_array_equal(np.asarray(jnp.ones(3) + 1), [2, 2, 2])
