"""A network of flax, trained by optax: on the device as on JAX's CPU."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx
from flax.training import train_state

from support import SEED, Case

STEPS, SHARE = 48, 64


def bars(count):
    """Pictures of 12 by 12 with one bar: upright, flat, falling or rising."""
    generator = np.random.default_rng(SEED)
    labels, pictures = generator.integers(0, 4, count), generator.normal(0, 0.4, (count, 12, 12, 1))
    for picture, label in zip(pictures, labels):
        along, place = np.arange(12), generator.integers(3, 9)
        rows = (along, np.full(12, place), along, 11 - along)[label]
        columns = (np.full(12, place), along, along, along)[label]
        picture[rows, columns] += 1.5
    return pictures.astype(np.float32), labels.astype(np.int32)


class Network(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.relu(linen.GroupNorm(4)(linen.Conv(8, (3, 3))(x)))
        x = linen.max_pool(x, (2, 2), (2, 2))
        x = linen.relu(linen.LayerNorm()(linen.Dense(32)(x.reshape(len(x), -1))))
        return linen.Dense(4)(x)


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        self.inner, self.outer = nnx.Linear(144, 16, rngs=rngs), nnx.Linear(16, 4, rngs=rngs)

    def __call__(self, x):
        return self.outer(nnx.gelu(self.inner(x.reshape(len(x), -1))))


def rate():
    return optax.warmup_cosine_decay_schedule(1e-3, 2e-2, 10, STEPS, 1e-4)


def loss_of(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_linen(device, pictures, labels):
    """The losses, and the trained state."""
    @jax.jit
    def step(state, x, y):
        loss, gradient = jax.value_and_grad(lambda p: loss_of(state.apply_fn(p, x), y))(state.params)
        return state.apply_gradients(grads=gradient), loss

    with jax.default_device(device):
        network = Network()
        parameters = network.init(jax.random.key(SEED), jnp.zeros((1, 12, 12, 1)))
        transform = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate()))
        state = train_state.TrainState.create(apply_fn=network.apply, params=parameters, tx=transform)
        losses = []
        for k in range(STEPS):
            at = k * SHARE % len(labels)
            state, loss = step(state, pictures[at : at + SHARE], labels[at : at + SHARE])
            losses.append(loss)
        return np.asarray(jax.block_until_ready(losses)), state


def train_nnx(device, pictures, labels):
    @nnx.jit
    def step(model, optimizer, x, y):
        loss, gradient = nnx.value_and_grad(lambda model: loss_of(model(x), y))(model)
        optimizer.update(model, gradient)
        return loss

    with jax.default_device(device):
        model = Perceptron(nnx.Rngs(SEED))
        optimizer = nnx.Optimizer(model, optax.adamw(rate(), weight_decay=1e-3), wrt=nnx.Param)
        losses = [step(model, optimizer, pictures, labels) for _ in range(15)]
        return np.asarray(jax.block_until_ready(losses)), model


class Flax(Case):
    def same_curve(self, train, *data):
        """Losses fall alike; rounding errors grow from step to step, as they do between any two machines."""
        losses, trained = train(self.device, *data)
        wanted, _ = train(jax.devices("cpu")[0], *data)
        np.testing.assert_allclose(losses[:10], wanted[:10], 1e-4)
        np.testing.assert_allclose(losses, wanted, 0.02, 5e-3)
        self.assertLess(losses[-1], 0.5 * losses[0])
        return trained

    def test_linen_and_adam(self):
        """Convolution, normalizations, pooling; a schedule and clipped gradients."""
        pictures, labels = bars(512 + 200)
        state = self.same_curve(train_linen, pictures[:512], labels[:512])
        with jax.default_device(self.device):
            guessed = np.asarray(jax.jit(state.apply_fn)(state.params, pictures[512:])).argmax(1)
        self.assertGreater((guessed == labels[512:]).mean(), 0.95)
        self.assertGreater(self.since("dispatches"), 10 * STEPS)

    def test_nnx_and_adamw(self):
        """A module that keeps its own parameters."""
        model = self.same_curve(train_nnx, *bars(256))
        self.assertEqual(model.inner.kernel.devices(), {self.device})
        self.assertGreater(self.since("dispatches"), 15)
