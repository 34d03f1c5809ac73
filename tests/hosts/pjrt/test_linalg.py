"""Eigenvalues, singular values and what stands on them, by the Python package's own rules; what is refused there."""
import unittest

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import debugging
from jax.experimental import io_callback

from support import Case, computes_nothing, random

EPS = 2.0**-23


def matrix(*shape, kind=np.float32):
    x = random(*shape)
    return (x + 1j * random(*shape)).astype(kind) if np.dtype(kind).kind == "c" else x.astype(kind)


def orthonormal(n, kind):
    return np.linalg.qr(matrix(n, n, kind=kind).astype(np.complex128 if np.dtype(kind).kind == "c" else np.float64))[0]


def wide(x):
    return np.asarray(x).astype(np.complex128)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def largest(x):
    """Of each matrix."""
    return np.abs(x).max((-2, -1), initial=0)


class Decomposition(Case):
    """Bounds are multiples of n * eps * norm, LAPACK's own are about 1."""

    def small(self, errors, size, scale=1):
        self.assertLess((largest(errors) / np.maximum(scale, 1e-37)).max(initial=0), 8 * EPS * max(size, 4))

    def orthonormal(self, q, size):
        self.small(adjoint(q) @ q - np.eye(q.shape[-1]), size)

    def hermitian(self, a, **options):
        with jax.default_device(self.device):
            v, w = (np.asarray(x) for x in jax.jit(lambda a: lax.linalg.eigh(a, **options))(a))
        self.assertEqual((v.dtype, w.dtype), (a.dtype, a.real.dtype))
        wanted, n = np.linalg.eigvalsh(wide(a)), a.shape[-1]
        norm = np.abs(wanted).max(-1)
        first, last = options.get("subset_by_index") or (0, n)
        self.small((w - wanted[..., first:last])[..., None], n, norm)
        self.small(wide(a) @ wide(v) - wide(v) * w[..., None, :], n, norm)
        self.orthonormal(wide(v), n)
        return v, w

    def singular(self, a, full=False, subset=None):
        m, n = a.shape[-2:]
        rank, size = min(m, n), max(m, n)
        first, last = subset or (0, rank)
        with jax.default_device(self.device):
            u, s, v = (np.asarray(x) for x in jax.jit(
                lambda a: lax.linalg.svd(a, full_matrices=full, subset_by_index=subset))(a))
            alone = np.asarray(jax.jit(
                lambda a: lax.linalg.svd(a, full_matrices=False, compute_uv=False, subset_by_index=subset))(a))
        self.assertEqual((u.dtype, s.dtype, v.dtype), (a.dtype, a.real.dtype, a.dtype))
        self.assertEqual((u.shape[-1], v.shape[-2]), (m, n) if full else (last - first, last - first))
        wanted = np.linalg.svd(wide(a), compute_uv=False)
        norm = wanted.max(-1)
        self.small((s - wanted[..., first:last])[..., None], size, norm)
        self.small((alone - wanted[..., first:last])[..., None], size, norm)
        self.orthonormal(wide(u), size)
        self.orthonormal(adjoint(wide(v)), size)
        if subset is None:
            self.small((wide(u)[..., :rank] * s[..., None, :]) @ wide(v)[..., :rank, :] - wide(a), size, norm)

    def kinds(self, m, n, kind):
        """Full and low rank, equal and graded singular values, zero, large and small."""
        x, k = matrix(m, n, kind=kind), min(m, n)
        u, v = orthonormal(m, kind)[:, :k], orthonormal(n, kind)[:k]
        return np.stack([
            x,
            x[:, :1] @ x[:1],
            (u * np.repeat([1, 2], [k // 2, k - k // 2])) @ v,
            (u * np.logspace(0, -10, k)) @ v,
            np.zeros_like(x),
            np.ones_like(x),
            x * 2.0**110,
            x * 2.0**-100,
        ]).astype(kind)

    def test_eigh(self):
        for n, kind in ((1, np.float32), (2, np.complex64), (6, np.float32), (5, np.complex64), (33, np.float32)):
            with self.subTest(n=n, kind=kind):
                x = self.kinds(n, n, kind)
                self.hermitian(x / 2 + adjoint(x) / 2)
        self.assertGreater(self.since("dispatches"), 100)

    def test_eigh_of_signs(self):
        """Eigenvalues of one magnitude and both signs."""
        q = orthonormal(12, np.float32)
        self.hermitian(((q * np.tile([1, -1], 6)) @ q.T).astype(np.float32))

    def test_eigh_is_sorted(self):
        _, w = self.hermitian(np.diag(np.float32([3, -1, 2, 0, 2])))
        np.testing.assert_array_equal(w, np.float32([-1, 0, 2, 2, 3]))

    def test_eigh_options(self):
        x = matrix(5, 5)
        lower, upper = np.tril(x) + np.tril(x, -1).T, np.triu(x) + np.triu(x, 1).T
        with jax.default_device(self.device):
            for is_lower, a in ((True, lower), (False, upper)):
                half = jax.jit(lambda x, lower=is_lower: lax.linalg.eigh(x, lower=lower, symmetrize_input=False))
                w = half(x)[1]
                np.testing.assert_allclose(np.asarray(w), np.linalg.eigvalsh(a), 1e-5, 1e-5)
        self.hermitian(lower, subset_by_index=(1, 3))
        self.hermitian(lower, sort_eigenvalues=False)

    def test_eigh_of_many(self):
        x = matrix(2, 3, 4, 4)
        self.hermitian(x + adjoint(x))
        x = matrix(5, 3, 3, kind=np.complex64)
        self.hermitian(x + adjoint(x))

    @computes_nothing
    def test_strict_promotion(self):
        """The author's strictness is about his own lines; it shows while a program is traced."""
        with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
            for kind in (np.float32, np.complex64):
                with jax.default_device(self.device):
                    jax.jit(lax.linalg.eigh).lower(matrix(3, 4, 4, kind=kind))
                    jax.jit(lax.linalg.svd).lower(matrix(2, 3, 5, kind=kind))

    def test_eigh_larger(self):
        x = matrix(128, 128)
        self.hermitian(x + x.T)

    def test_svd(self):
        for m, n, kind in ((1, 1, np.float32), (4, 4, np.complex64), (9, 4, np.float32), (3, 7, np.complex64),
                           (20, 33, np.float32)):
            for full in (False, True):
                with self.subTest(m=m, n=n, kind=kind, full=full):
                    self.singular(self.kinds(m, n, kind), full)
        self.assertGreater(self.since("dispatches"), 100)

    def test_svd_of_many(self):
        self.singular(matrix(2, 3, 5, 4))
        self.singular(matrix(4, 3, 5), full=True)

    def test_svd_larger(self):
        self.singular(matrix(150, 70), full=True)

    def test_svd_of_a_part(self):
        self.singular(matrix(6, 5), subset=(1, 3))

    def test_without_elements(self):
        with jax.default_device(self.device):
            for shape in ((0, 0), (2, 0, 0)):
                w, v = jnp.linalg.eigh(jnp.zeros(shape))
                self.assertEqual((w.shape, v.shape), (shape[:-1], shape))
            for shape in ((0, 3), (3, 0), (0, 2, 3)):
                for full in (False, True):
                    ours = jnp.linalg.svd(jnp.zeros(shape), full_matrices=full)
                    theirs = np.linalg.svd(np.zeros(shape, np.float32), full_matrices=full)
                    self.assertEqual([x.shape for x in ours], [x.shape for x in theirs])
                    if full and shape[0] != 0:
                        np.testing.assert_array_equal(np.asarray(ours[0]), np.eye(3))

    def test_nan(self):
        x = matrix(3, 4, 4)
        x = x + adjoint(x)
        x[1, 2, 2] = np.nan
        with jax.default_device(self.device):
            for outputs in (jax.jit(lax.linalg.eigh)(x), jax.jit(lax.linalg.svd)(x)):
                for y in outputs:
                    self.assertTrue(np.isnan(np.asarray(y)[1]).all())
                    self.assertTrue(np.isfinite(np.asarray(y)[[0, 2]]).all())
        x[1, 2, 2] = np.inf
        with jax.default_device(self.device):
            self.assertTrue(np.isnan(np.asarray(jax.jit(lax.linalg.eigh)(x)[1])[1]).all())

    def test_half(self):
        x = matrix(5, 5)
        for kind in (np.float16, jnp.bfloat16):
            a = jnp.asarray(x + x.T, kind)
            try:
                v, w = jax.jit(lax.linalg.eigh)(a)
            except TypeError as e:  # JAX 0.11.2 and later: for every platform
                self.assertIn("eigh does not accept dtype", str(e))
                continue
            u, s, _ = jax.jit(lax.linalg.svd)(a)
            self.assertEqual({v.dtype, w.dtype, u.dtype, s.dtype}, {a.dtype})
            wanted = np.linalg.eigvalsh(np.asarray(a, np.float64))
            np.testing.assert_allclose(np.asarray(w, np.float64), wanted, 2e-2, 2e-2)
            np.testing.assert_allclose(np.asarray(s, np.float64), np.sort(np.abs(wanted))[::-1], 2e-2, 2e-2)


class OnTop(Case):
    def test_numpy(self):
        x, y = matrix(6, 4), matrix(4, 4)
        self.same_as_cpu(lambda x: (jnp.linalg.svdvals(x), jnp.linalg.pinv(x), jnp.linalg.matrix_rank(x),
                                    jnp.linalg.norm(x, ord=2), jnp.linalg.norm(x, ord="nuc"), jnp.linalg.cond(x)),
                         x, bound=1e-4)
        self.same_as_cpu(lambda x: (jnp.linalg.eigvalsh(x + x.T), jnp.linalg.slogdet(x), jnp.linalg.matrix_rank(
            jnp.outer(x[0], x[1]))), y, bound=1e-4)

    def test_least_squares(self):
        a, b = matrix(9, 4), matrix(9, 2)
        x, residuals, rank, s = self.same_as_cpu(jnp.linalg.lstsq, a, b, bound=1e-4)
        self.assertEqual(int(rank), 4)
        low = np.concatenate([a[:, :2], a[:, :2]], 1)
        self.same_as_cpu(lambda a, b: jnp.linalg.lstsq(a, b, rcond=1e-4)[0], low, b, bound=1e-3)

    def test_scipy(self):
        x = matrix(5, 5)
        self.same_as_cpu(lambda x: jax.scipy.linalg.eigh(x + x.T, eigvals_only=True), x, bound=1e-4)
        self.same_as_cpu(lambda x: jax.scipy.linalg.svd(x, compute_uv=False), x, bound=1e-4)
        self.same_as_cpu(lambda x: jax.scipy.linalg.polar(x, method="svd"), x, bound=1e-4)

    def test_map(self):
        x = matrix(3, 4, 4)
        x = x @ adjoint(x)
        self.same_as_cpu(jax.vmap(jnp.linalg.eigvalsh), x, bound=1e-4)
        self.same_as_cpu(jax.vmap(lambda x: jnp.linalg.svd(x, compute_uv=False)), x, bound=1e-4)

    def test_gradients(self):
        """Of what does not depend on the vectors' signs."""
        x = matrix(5, 5) + np.diag(np.float32(range(0, 20, 4)))

        def spectral(x):
            w, v = jnp.linalg.eigh(x)
            return jnp.sum((v * jnp.tanh(w)) @ v.T * jnp.arange(25.0).reshape(5, 5))

        def values(x):
            return jnp.sum(jnp.linalg.svd(x, compute_uv=False) ** 3)

        def polar(x):
            u, _, v = jnp.linalg.svd(x, full_matrices=False)
            return jnp.sum((u @ v) * jnp.arange(1.0, 1 + x.size).reshape(x.shape))

        self.same_as_cpu(jax.grad(spectral), x, bound=1e-3)
        self.same_as_cpu(jax.grad(values), x, bound=1e-3)
        self.same_as_cpu(jax.grad(polar), x[:, :3], bound=1e-3)


class Refused(Case):
    def refused(self, name, function, *arguments):
        """By a sentence that names the primitive and says what to do instead."""
        with jax.default_device(self.device), self.assertRaises(NotImplementedError) as caught:
            jax.block_until_ready(jax.jit(function)(*arguments))
        self.assertRegex(str(caught.exception), f"'{name}'.*CPU")

    @computes_nothing
    def test_callbacks(self):
        x = random(3)
        name = "debug_print" if hasattr(debugging, "debug_print_p") else "debug_callback"
        for ordered in (False, True):
            self.refused(name, lambda x, ordered=ordered: jax.debug.print("{}", x, ordered=ordered), x)
            self.refused("debug_callback",
                         lambda x, ordered=ordered: jax.debug.callback(lambda y: None, x, ordered=ordered), x)
            self.refused("io_callback",
                         lambda x, ordered=ordered: io_callback(lambda y: y, x, x, ordered=ordered), x)
        self.refused("pure_callback", lambda x: jax.pure_callback(np.sin, x, x), x)

    @computes_nothing
    def test_decompositions(self):
        x = random(3, 3)
        self.refused("eig", jnp.linalg.eigvals, x)
        self.refused("schur", jax.scipy.linalg.schur, x)
        self.refused("schur", jax.scipy.linalg.sqrtm, x)
        self.refused("hessenberg", jax.scipy.linalg.hessenberg, x)
        self.refused("geqp3", lambda x: jax.scipy.linalg.qr(x, pivoting=True), x)


if __name__ == "__main__":
    unittest.main()
