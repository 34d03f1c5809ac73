"""What stands on QR and LU, and the approximate top k: as on the CPU, and what the factors make is the matrix."""
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jax import lax

from support import Case, computes_nothing, random

SHAPES = [(5, 5), (9, 4), (4, 9), (1, 1), (2, 3, 6, 4)]


def matrix(*shape, kind=np.float32):
    return (random(*shape) + 1j * random(*shape)).astype(kind) if kind == np.complex64 else random(*shape)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


class Factors(Case):
    def both_kinds(self, check, shapes=SHAPES):
        for kind in (np.float32, np.complex64):
            for shape in shapes:
                with self.subTest(kind=kind.__name__, shape=shape):
                    check(matrix(*shape, kind=kind))


class Qr(Factors):
    def test_modes(self):
        def check(a):
            (q, r), (whole, tall), _ = jax.tree.map(np.asarray, self.same_as_cpu(
                lambda a: (tuple(jnp.linalg.qr(a)), tuple(jnp.linalg.qr(a, mode="complete")),
                           jnp.linalg.qr(a, mode="r")), a, bound=5e-5))
            np.testing.assert_allclose(q @ r, a, atol=2e-5)
            np.testing.assert_allclose(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + 2 *
                                                                       q.shape[-1:]), atol=1e-5)
            self.assertEqual(whole.shape[-2:], 2 * a.shape[-2:-1])
            np.testing.assert_allclose(whole @ tall, a, atol=2e-5)
            np.testing.assert_allclose(adjoint(whole) @ whole, np.broadcast_to(np.eye(whole.shape[-1]), whole.shape),
                                       atol=1e-5)

        self.both_kinds(check)

    def test_packed(self):
        def check(a):
            h, tau = map(np.asarray, self.same_as_cpu(lambda a: tuple(jnp.linalg.qr(a, mode="raw")), a, bound=5e-5))
            if a.ndim == 2 and a.shape[0] >= a.shape[1]:
                self.same_as_cpu(lax.linalg.householder_product, h.T, tau, bound=1e-5)
                self.same_as_cpu(lax.linalg.householder_product, h.T, tau[:-1] if len(tau) > 1 else tau, bound=1e-5)

        self.both_kinds(check, [(5, 5), (1, 6), (6, 1), (3, 200)])
        check(matrix(70, 67))

    def test_panels(self):
        """More columns than one panel has, also beside and below it."""
        for shape in [(150, 150), (300, 130), (130, 400), (600, 20)]:
            with self.subTest(shape=shape):
                a = matrix(*shape)
                q, r = map(np.asarray, jax.jit(jnp.linalg.qr)(a))
                np.testing.assert_allclose(q @ r, a, atol=1e-4)
                np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=2e-5)

    def test_ends(self):
        """Zero columns, ranks below the size, and magnitudes whose squares are beyond the range."""
        a = random(6, 4)
        rank_one = np.outer(a[:, 0], a[0]).astype(np.float32)
        zero_column = a.copy()
        zero_column[:, 1] = 0
        triangular = np.triu(a)
        for name, case in {"zero": np.zeros((4, 3), np.float32), "zero column": zero_column, "identity": np.eye(5, 4),
                           "triangular": triangular, "large": a * 1e30, "small": a * 1e-30,
                           "imaginary": 1j * np.triu(a)}.items():
            with self.subTest(name):
                case = case.astype(np.complex64 if np.iscomplexobj(case) else np.float32)
                self.same_as_cpu(lambda a: tuple(jnp.linalg.qr(a, mode="raw")), case, bound=3e-5)
        q, r = map(np.asarray, jax.jit(jnp.linalg.qr)(rank_one))
        np.testing.assert_allclose(q @ r, rank_one, atol=1e-5)
        np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-5)
        not_a_number = a.copy()
        not_a_number[2, 0] = np.nan
        self.assertTrue(np.isnan(np.asarray(jax.jit(jnp.linalg.qr)(not_a_number)[1])).any())

    @computes_nothing
    def test_no_elements(self):
        for shape in [(0, 3), (3, 0), (0, 4, 3)]:
            q, r = jax.jit(jnp.linalg.qr)(np.zeros(shape, np.float32))
            self.assertEqual((q.shape[-2], r.shape[-1]), shape[-2:])

    def test_derivatives(self):
        w = random(6, 4)

        def loss(a):
            q, r = jnp.linalg.qr(a)
            return (q * w).sum() + (r ** 3).sum()

        self.same_as_cpu(jax.grad(loss), random(6, 4) + 2 * np.eye(6, 4, dtype=np.float32), bound=1e-3)
        self.same_as_cpu(jax.vmap(jax.grad(loss)), random(3, 6, 4) + 2 * np.eye(6, 4, dtype=np.float32), bound=1e-3)
        self.same_as_cpu(lambda a, t: jax.jvp(jnp.linalg.qr, (a,), (t,)), random(3, 5), random(3, 5), bound=1e-3)

    def test_in_a_loop(self):
        """Eigenvalues of a symmetric matrix by iteration: QR inside of a loop's body."""
        a = random(5, 5)
        a = a @ a.T + np.diag(np.arange(5, dtype=np.float32) * 4)

        def turn(_, x):
            q, r = jnp.linalg.qr(x)
            return r @ q

        values = np.asarray(jax.jit(lambda a: jnp.diag(lax.fori_loop(0, 60, turn, a)))(a))
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(a.astype(np.float64)), rtol=1e-3)


class Lu(Factors):
    def test_lu(self):
        def check(a):
            lu, pivots, permutation = map(np.asarray, self.same_as_cpu(lax.linalg.lu, a, bound=3e-5))
            k = min(a.shape[-2:])
            lower = np.tril(lu[..., :k], -1) + np.eye(a.shape[-2], k)
            made = lower @ np.triu(lu[..., :k, :])
            np.testing.assert_allclose(made, np.take_along_axis(a, permutation[..., None], -2), atol=2e-5)

        self.both_kinds(check, [(5, 5), (6, 3), (3, 6), (1, 1), (1, 4), (2, 3, 4, 4)])

    def test_large(self):
        a = random(150, 150)
        p, lower, upper = map(np.asarray, jax.jit(jax.scipy.linalg.lu)(a))
        np.testing.assert_allclose(p @ lower @ upper, a, atol=1e-3)

    def test_functions(self):
        def check(a):
            a = a + 2 * np.eye(a.shape[-1], dtype=a.dtype)
            b = matrix(*a.shape[:-1], 2, kind=a.dtype.type)
            self.same_as_cpu(lambda a, b: (jnp.linalg.det(a), jnp.linalg.slogdet(a)), a, b, bound=5e-5)
            self.same_as_cpu(lambda a, b: (jnp.linalg.inv(a), jnp.linalg.solve(a, b), jnp.linalg.solve(a, b[..., :1])),
                             a, b, bound=1e-4)
            if a.ndim == 2:
                self.same_as_cpu(lambda a, b: (jax.scipy.linalg.lu(a), jax.scipy.linalg.lu(a, permute_l=True),
                                               jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(a), b)), a, b,
                                 bound=1e-4)

        self.both_kinds(check, [(5, 5), (2, 3, 3)])

    def test_derivatives(self):
        a, b = random(5, 5) + 3 * np.eye(5, dtype=np.float32), random(5)
        self.same_as_cpu(jax.grad(lambda a, b: jnp.linalg.solve(a, b).sum(), (0, 1)), a, b, bound=1e-4)
        self.same_as_cpu(jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), a, bound=1e-4)
        self.same_as_cpu(jax.grad(jnp.linalg.det), a, bound=1e-4)

    def test_exponential(self):
        a = random(5, 5)
        for scale in (0.01, 0.5, 3):
            self.same_as_cpu(jax.scipy.linalg.expm, scale * a, bound=2e-4)


class Triangles(Factors):
    def test_solve(self):
        def check(a):
            a = a + 3 * np.eye(a.shape[-1], dtype=a.dtype)
            b = matrix(*a.shape, kind=a.dtype.type)
            ways = [dict(options, left_side=left, lower=lower) for left in (False, True) for lower in (False, True)
                    for options in ({}, {"transpose_a": True}, {"transpose_a": True, "conjugate_a": True},
                                    {"unit_diagonal": True})]
            self.same_as_cpu(lambda a, b: [lax.linalg.triangular_solve(0.3 * a, b, **way) for way in ways], a, b,
                             bound=1e-4)

        self.both_kinds(check, [(2, 11, 11)])

    def test_blocks(self):
        """More rows than one block has."""
        a = np.eye(300, dtype=np.float32) * 3 + random(300, 300) / 300
        self.same_as_cpu(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True), a, random(300, 4), bound=1e-4)
        positive = a @ a.T
        factor = np.asarray(self.same_as_cpu(jnp.linalg.cholesky, positive, bound=1e-5))
        np.testing.assert_allclose(factor @ factor.T, positive, atol=1e-4)

    def test_not_positive(self):
        """No factor at all, wherever the pivot is that is not positive."""
        for kind in (np.float32, np.complex64):
            many = np.tile(np.eye(5, dtype=kind), (6, 1, 1))
            for k in range(5):
                many[k, k, k] = -k  # once 0
            many[:5, 3, 1] = many[:5, 1, 3] = 0.25
            factors = np.asarray(self.same_as_cpu(jnp.linalg.cholesky, many, bound=1e-5))
            self.assertEqual(np.isnan(factors[:, 0, 0]).tolist(), [True] * 5 + [False])

    def test_scipy(self):
        def check(a):
            a = a + 3 * np.eye(a.shape[-1], dtype=a.dtype)
            b = matrix(a.shape[0], 3, kind=a.dtype.type)
            self.same_as_cpu(lambda a, b: [jax.scipy.linalg.solve_triangular(a, b, trans=trans) for trans in (0, 1, 2)],
                             a, b, bound=1e-4)
            positive = (a @ adjoint(a)).astype(a.dtype)
            self.same_as_cpu(lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b), positive, b,
                             bound=1e-4)
            self.same_as_cpu(lambda a: (lax.linalg.cholesky(a), jax.scipy.linalg.cholesky(a)), positive, bound=3e-5)

        self.both_kinds(check, [(5, 5), (1, 1)])


class ApproxTopK(Case):
    def test_values_and_places(self):
        x = random(3, 300, 4)
        for function in (lax.approx_max_k, lax.approx_min_k):
            for dimension in (0, 1, -1):
                values, places = map(np.asarray, jax.jit(
                    lambda x: function(x, 3, reduction_dimension=dimension))(x))
                order = np.argsort(-x if function is lax.approx_max_k else x, dimension, kind="stable")
                wanted = np.take(order, np.arange(3), dimension)
                np.testing.assert_array_equal(places, wanted)
                np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, dimension))

    def test_not_aggregated(self):
        """More candidates than k; the k best are among them."""
        x = random(4, 5000)
        values, places = map(np.asarray, jax.jit(
            lambda x: lax.approx_max_k(x, 5, aggregate_to_topk=False, reduction_input_size_override=9000))(x))
        self.assertGreaterEqual(values.shape[1], 5)
        np.testing.assert_array_equal(values[:, :5], -np.sort(-x, 1)[:, :5])
        np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)

    def test_types(self):
        for kind in (np.float16, jnp.bfloat16, np.float32):
            x = np.asarray(random.generator.permutation(60).reshape(2, 30)).astype(kind)
            self.same_as_cpu(lambda x: lax.approx_max_k(x, 4), x, bound=0)

    def test_derivatives(self):
        self.same_as_cpu(jax.grad(lambda x: (lax.approx_max_k(x, 3)[0] ** 2).sum()), random(4, 20), bound=1e-5)


class Annotations(Case):
    def test_layout(self):
        from jax.experimental.layout import Layout, with_layout_constraint
        self.same_as_cpu(lambda x: with_layout_constraint(jnp.sin(x), Layout((1, 0))) * 2, random(3, 4))
