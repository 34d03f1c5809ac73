"""Whole programs, as their authors write them: networks that are trained, loops, random numbers."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from support import Case, enable_x64, random


def rings(count):
    """Points in the plane, in the inner ring or in the outer one."""
    generator = np.random.default_rng(7)
    labels = generator.integers(0, 2, count)
    angle, radius = generator.uniform(0, 2 * np.pi, count), 1 + labels + generator.normal(0, 0.1, count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32), labels.astype(np.int32)


def stripes(count):
    """Pictures of 8 by 8 with stripes: upright, flat or none."""
    generator = np.random.default_rng(8)
    labels, pictures = generator.integers(0, 3, count), generator.normal(0, 0.3, (count, 8, 8, 1))
    pictures[labels == 0, :, ::2] += 1
    pictures[labels == 1, ::2, :] += 1
    return pictures.astype(np.float32), labels.astype(np.int32)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, logits.shape[-1]), -1))


def train(loss, parameters, rate, steps):
    """Gradient descent with momentum; parameters and momentum are donated, and never leave the device."""
    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(parameters, momentum):
        value, gradient = jax.value_and_grad(loss)(parameters)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        return jax.tree.map(lambda p, m: p - rate * m, parameters, momentum), momentum, value

    parameters = jax.tree.map(jnp.array, parameters)
    momentum = jax.tree.map(jnp.zeros_like, parameters)
    for _ in range(steps):
        parameters, momentum, value = step(parameters, momentum)
    return parameters, value


class Training(Case):
    def test_mlp(self):
        x, labels = rings(512)

        def network(p, x):
            hidden = jax.nn.relu(x @ p["w1"] + p["b1"])
            return hidden @ p["w2"] + p["b2"]

        start = {"w1": random(2, 32), "b1": np.zeros(32, np.float32), "w2": 0.2 * random(32, 2),
                 "b2": np.zeros(2, np.float32)}
        trained, loss = train(lambda p: cross_entropy(network(p, x), labels), start, 0.1, 100)
        self.assertLess(float(loss), 0.1)
        x, labels = rings(700)
        self.assertGreater(np.mean(np.argmax(np.asarray(jax.jit(network)(trained, x)), 1) == labels), 0.97)
        self.assertGreater(self.since("donations"), 100)

    def test_convolutional(self):
        x, labels = stripes(256)

        def network(p, x):
            x = lax.conv_general_dilated(x, p["c"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            return x.reshape(x.shape[0], -1) @ p["w"]

        start = {"c": 0.3 * random(3, 3, 1, 4), "w": 0.1 * random(64, 3)}
        trained, loss = train(lambda p: cross_entropy(network(p, x), labels), start, 0.05, 40)
        self.assertLess(float(loss), 0.2)
        x, labels = stripes(200)
        self.assertGreater(np.mean(np.argmax(np.asarray(jax.jit(network)(trained, x)), 1) == labels), 0.9)

    def test_transformer(self):
        """A block, forward and backward."""
        heads, size = 2, 8

        def norm(x, scale):
            centred = x - x.mean(-1, keepdims=True)
            return centred * lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale

        def block(p, x):
            b, t, c = x.shape
            q, k, v = jnp.split(norm(x, p["n1"]) @ p["qkv"], 3, -1)
            q, k, v = (y.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3) for y in (q, k, v))
            scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(c // heads)
            scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
            y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, t, c)
            x = x + y @ p["out"]
            return x + jax.nn.gelu(norm(x, p["n2"]) @ p["up"]) @ p["down"]

        p = {"n1": 1 + 0.1 * random(size), "n2": 1 + 0.1 * random(size), "qkv": 0.3 * random(size, 3 * size),
             "out": 0.3 * random(size, size), "up": 0.3 * random(size, 4 * size), "down": 0.3 * random(4 * size, size)}
        x = random(2, 5, size)
        self.same_as_cpu(block, p, x, bound=1e-4)
        self.same_as_cpu(jax.grad(lambda p, x: (block(p, x) ** 2).mean()), p, x, bound=1e-3)


class Loops(Case):
    def test_lstm(self):
        def run(w, u, xs):
            def cell(carry, x):
                h, c = carry
                i, f, g, o = jnp.split(x @ w + h @ u, 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            return lax.scan(cell, (jnp.zeros((2, 6)), jnp.zeros((2, 6))), xs)

        w, u, xs = 0.3 * random(4, 24), 0.3 * random(6, 24), random(9, 2, 4)
        self.same_as_cpu(run, w, u, xs, bound=1e-4)
        self.same_as_cpu(jax.grad(lambda w, u, xs: run(w, u, xs)[1].sum(), (0, 1)), w, u, xs, bound=1e-3)

    def test_while(self):
        self.same_as_cpu(lambda x: lax.while_loop(lambda s: s[1] < 100, lambda s: (s[0] + 1, s[1] * 2), (0, x)),
                         np.float32(1.5))

    def test_cond(self):
        choose = jax.jit(lambda n, x: lax.switch(n, [lambda x: x, lambda x: x * 2, jnp.sin], x))
        x = random(5)
        for n, wanted in enumerate((x, x * 2, np.sin(x))):
            np.testing.assert_allclose(np.asarray(choose(n, x)), wanted, rtol=1e-5, atol=1e-6)

    def test_fori(self):
        self.same_as_cpu(lambda x: lax.fori_loop(0, 10, lambda k, x: x * 0.5 + k, x), random(3))
        # Numbers that move from one place to the next, as long as the loop goes round.
        for dtype in (np.int32, np.uint32, np.float32):
            self.same_as_cpu(lambda x: lax.fori_loop(0, 20, lambda k, c: c[1:] + (c[0] + 1,), tuple(x)),
                             np.arange(9).astype(dtype))
        with enable_x64(True):
            self.same_as_cpu(lambda x: lax.fori_loop(0, 20, lambda k, c: c[1:] + (c[0] * 5,), tuple(x)),
                             np.arange(1 << 40, (1 << 40) + 9))

    def test_a_loops_result_goes_on(self):
        """What a loop makes is read by the next program before the loop is over."""
        loop = jax.jit(lambda x: lax.fori_loop(0, 50, lambda k, x: x + 1, x))
        x = jnp.zeros(10)
        for _ in range(10):
            x = loop(x) * 1.0
        np.testing.assert_array_equal(np.asarray(x), np.full(10, 500, np.float32))


class RandomNumbers(Case):
    def test_bits(self):
        self.same_as_cpu(lambda key: jax.random.bits(key, (5, 7)), jax.random.key_data(jax.random.key(3)))

    def test_split(self):
        self.same_as_cpu(lambda seed: jax.random.key_data(jax.random.split(jax.random.key(seed), 5)), 42)

    def test_uniform(self):
        self.same_as_cpu(lambda seed: jax.random.uniform(jax.random.key(seed), (100,)), 1, bound=0)

    def test_normal(self):
        self.same_as_cpu(lambda seed: jax.random.normal(jax.random.key(seed), (100,)), 1, bound=1e-5)

    def test_integers(self):
        self.same_as_cpu(lambda seed: jax.random.randint(jax.random.key(seed), (50,), -10, 100), 5)

    def test_permutation(self):
        self.same_as_cpu(lambda seed: jax.random.permutation(jax.random.key(seed), 30), 5)

    def test_categorical(self):
        self.same_as_cpu(lambda seed: jax.random.categorical(jax.random.key(seed), jnp.zeros((4, 6)), axis=-1), 5)


class Transformations(Case):
    def test_vmap(self):
        self.same_as_cpu(jax.vmap(lambda a, b: a @ b + 1, (0, None)), random(3, 4, 5), random(5))
        self.same_as_cpu(jax.vmap(lambda x, k: x[k]), random(6, 9), np.arange(6))

    def test_derivatives(self):
        self.same_as_cpu(jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), random(5), bound=1e-4)
        self.same_as_cpu(jax.hessian(lambda x: (x ** 3).sum() + x[0] * x[1]), random(4), bound=1e-4)

    def test_checkpoint(self):
        self.same_as_cpu(jax.grad(jax.checkpoint(lambda x: jnp.tanh(jnp.sin(x)).sum())), random(8), bound=1e-4)


class Functions(Case):
    def test_solve(self):
        a = random(6, 6)
        a = a @ a.T + 6 * np.eye(6, dtype=np.float32)
        self.same_as_cpu(lambda a, b: jax.scipy.linalg.solve(a, b, assume_a="pos"), a, random(6), bound=1e-4)

    def test_sort(self):
        x = random(5, 40)
        self.same_as_cpu(lambda x: (jnp.sort(x), jnp.argsort(x, axis=0), lax.top_k(x, 3), jnp.argmax(x, 1)), x)

    def test_index(self):
        x, k = random(6, 5), np.array([0, 3, 3, -1], np.int32)
        self.same_as_cpu(lambda x, k: (x[k], x.at[k].add(1), x.at[k[0], 1:3].set(7), x[1:5:2, ::-1]), x, k)

    def test_eight_dimensions(self):
        x, row, k = random(2, 3, 2, 2, 3, 2, 2, 3), random(3), np.int32(1)
        axes = (5, 2, 7, 0, 3, 6, 1, 4)

        def moved(x, row, k):
            corner = lax.dynamic_slice(x, [k] * 8, [1, 2, 1, 1, 2, 1, 1, 2])
            return (jnp.transpose(x * row, axes), x[::2, 1:, ::-1], corner,
                    lax.dynamic_update_slice(x, -corner, [0 * k] * 8), jnp.pad(x[:1, :1], [(1, 0)] * 8))

        self.same_as_cpu(moved, x, row, k)
        self.same_as_cpu(lambda x: (x.sum((0, 2, 4, 6)), jnp.sort(x, 1), x[k], x @ jnp.swapaxes(x, -1, -2)), x)

    def test_more_dimensions(self):
        """Ends beyond the 8 dimensions of the C ABI; 64-bit integers have one more there."""
        x, k = random(2, 1, 2, 3, 1, 2, 2, 1, 2, 3), np.ones((2, 1, 1, 2, 3, 1, 1, 2), np.int32)
        self.same_as_cpu(lambda x, k: (x + 1, jnp.transpose(x), x * 1j, x[..., 0], jnp.tensordot(k, k, ([0], [0]))), x, k)
        self.same_as_cpu(lambda x: (x, x[:, :0]), x)
        with enable_x64(True):
            self.same_as_cpu(lambda k: (k * k.sum(), k[..., None] - 1), k.astype(np.int64) * 2**40)

    def test_accumulate(self):
        self.same_as_cpu(lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x)), random(4, 9), bound=1e-4)
