"""A scan's turn, recorded on the device, against the same turns written out one after another, whose time is that of
their dispatches. Microseconds a turn, best of several runs in alternation. scripts/jax-times runs it."""
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TURNS, WRITTEN_OUT, ROUNDS = 1000, 100, 15


def decay(carry, x):
    carry = carry * 0.5 + x
    return carry, ()


def recurrent(weights, carry, x):
    carry = jnp.tanh(carry @ weights + x)
    return carry, carry


def lstm(weights, carry, x):
    hidden, cell = carry
    i, f, g, o = jnp.split(jnp.concatenate([x, hidden], -1) @ weights, 4, -1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
    return (hidden, cell), hidden


def seconds(function, *arguments):
    begun = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return time.perf_counter() - begun


def main():
    random = np.random.default_rng(1)
    square, wide = (jnp.asarray(random.normal(0, 0.1, s).astype(np.float32)) for s in ((64, 64), (128, 256)))
    row = jnp.zeros((1, 64))
    bodies = {"decay of 64 numbers": (decay, row), "recurrent layer of 64": (functools.partial(recurrent, square), row),
              "LSTM of 64": (functools.partial(lstm, wide), (row, row))}
    for name, (body, carry) in bodies.items():
        xs = jnp.asarray(random.normal(0, 1, (TURNS, 1, 64)).astype(np.float32))

        def unrolled(carry, xs, body=body):
            for x in xs:
                carry, y = lax.optimization_barrier(body(carry, x))
            return carry

        scan = jax.jit(lambda carry, xs, body=body: lax.scan(body, carry, xs)[0])
        runs = [(scan, xs, TURNS), (jax.jit(unrolled), xs[:WRITTEN_OUT], WRITTEN_OUT),
                (jax.jit(unrolled), xs[: WRITTEN_OUT // 2], WRITTEN_OUT // 2)]
        best = [min(column) for column in zip(*[[seconds(f, carry, x) for f, x, _ in runs] for _ in range(ROUNDS)])]
        turn = best[0] / TURNS
        straight = (best[1] - best[2]) / (WRITTEN_OUT - WRITTEN_OUT // 2)  # without what a call costs
        print(f"scan, {name}: {1e6 * turn:.1f} a turn, written out {1e6 * straight:.1f}, ratio {turn / straight:.2f}")


if __name__ == "__main__":
    main()
