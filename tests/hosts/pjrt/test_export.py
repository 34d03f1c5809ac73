"""Programs that jax.export makes for the device: written, read again and called, as on the CPU."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.scipy import special

from support import Case, computes_nothing, random

BOTH = ("tosavk", "cpu")
KEY = np.array([1, 2], np.uint32)
# What the plug-in makes composites of.
FUNCTIONS = {"lgamma": special.gammaln, "digamma": special.digamma, "erf_inv": lambda x: special.erfinv(x / 8)}


def noisy(x, key):
    return x + jax.random.normal(key, x.shape), *(function(x) for function in FUNCTIONS.values())


def walk(x):
    """The functions in bodies of control flow, and a number of turns that is a dimension."""
    start = lax.fori_loop(0, x.shape[0], lambda i, sum: special.gammaln(sum + x[i] + 1), jnp.ones(x.shape[1]))
    x = lax.cond(start.sum() > 0, special.gammaln, special.digamma, x)
    last, steps = lax.scan(lambda sum, row: (sum + row, special.erfinv(jnp.tanh(sum) / 2)), start, x)
    return last, steps, jnp.arange(x.shape[0])[::-1], jnp.concatenate([x, x.reshape(-1, x.shape[1])])


def batch(text="b, 4"):
    return export.symbolic_shape(text, constraints=("b >= 2",))


class Export(Case):
    def exported(self, function, platforms, *shapes):
        arguments = [shape if hasattr(shape, "dtype") else jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
        made = export.export(jax.jit(function), platforms=platforms)(*arguments)
        read = export.deserialize(made.serialize())
        self.assertEqual(read.platforms, tuple(platforms))
        return read

    def agrees(self, exported, function, *arguments):
        """As the function on the CPU, wherever the program may run."""
        with jax.default_device(jax.devices("cpu")[0]):
            wanted = jax.jit(function)(*arguments)
        for platform in exported.platforms:
            device = jax.devices(platform)[0]
            with self.subTest(platform), jax.default_device(device):
                ours = exported.call(*arguments)
                self.assertEqual({d for leaf in jax.tree.leaves(ours) for d in leaf.devices()}, {device})
                self.close(ours, wanted)

    def test_one_platform(self):
        x = random(6, 4, low=0.1)
        self.agrees(self.exported(noisy, ["tosavk"], x.shape, KEY), noisy, x, KEY)
        self.agrees(self.exported(walk, ["tosavk"], x.shape), walk, x)

    def test_composites(self):
        """They stay in programs for the device alone, where this JAX has them."""
        x = random(6, 4, low=0.1)
        for name, function in FUNCTIONS.items():
            with self.subTest(name):
                exported = self.exported(function, ["tosavk"], x.shape)
                self.assertEqual(f'"chlo.{name}"' in exported.mlir_module(), hasattr(lax, "composite"))
                self.agrees(exported, function, x)

    def test_several_platforms(self):
        x = random(6, 4, low=0.1)
        for platforms in (BOTH, BOTH[::-1]):
            self.agrees(self.exported(noisy, platforms, x.shape, KEY), noisy, x, KEY)
            self.agrees(self.exported(walk, platforms, x.shape), walk, x)

    def test_symbolic_batch(self):
        for platforms in (["tosavk"], BOTH):
            random_numbers = self.exported(noisy, platforms, batch(), KEY)
            flow = self.exported(walk, platforms, batch())
            for rows in (2, 7):
                with self.subTest(platforms=platforms, rows=rows):
                    x = random(rows, 4, low=0.1)
                    self.agrees(random_numbers, noisy, x, KEY)
                    self.agrees(flow, walk, x)

    def test_two_symbolic_sizes(self):
        def function(x, y):
            return special.gammaln(x @ y), jax.nn.softmax(y, 0), special.digamma(x).sum(0)

        scope = export.SymbolicScope()
        shapes = [export.symbolic_shape(text, scope=scope) for text in ("a, b", "b, a + 1")]
        exported = self.exported(function, BOTH, *shapes)
        for a, b in ((3, 5), (1, 1)):
            self.agrees(exported, function, random(a, b, low=0.1), random(b, a + 1, low=0.1))

    def test_around_it(self):
        """The functions in a program of known shapes that calls one of symbolic shapes."""
        exported = self.exported(special.gammaln, BOTH, batch())
        self.same_as_cpu(lambda x: (special.gammaln(exported.call(x + 1)), special.digamma(x),
                                    jax.random.normal(KEY, x.shape)), random(5, 4, low=0.1))

    def test_derivatives(self):
        x = random(5, 4, low=0.5)
        gradient = jax.grad(lambda x: (special.gammaln(x) * special.erfinv(x / 8)).sum())
        self.agrees(self.exported(gradient, BOTH, batch()), gradient, x)

    def test_matrices(self):
        """Decompositions that the plug-in has rules of its own for, of a symbolic number of matrices."""
        def function(a):
            symmetric = a + jnp.swapaxes(a, 1, 2)
            return jnp.linalg.eigh(symmetric)[0], jnp.linalg.svd(a, compute_uv=False)

        # Old versions leave the CPU's own calls in what they give to the device.
        for platforms in (["tosavk"], BOTH) if jax.__version_info__ >= (0, 7) else (["tosavk"],):
            self.agrees(self.exported(function, platforms, batch("b, 4, 4")), function, random(3, 4, 4))

    @computes_nothing
    def test_symbolic_matrices(self):
        for function in (jnp.linalg.eigh, jnp.linalg.svd):
            with self.assertRaisesRegex(NotImplementedError, "matrices of known sizes"):
                self.exported(function, ["tosavk"], batch("b, b"))
