"""What a turn of a scan costs, against its own dispatches in a program without a loop, and against the same turns written
out row by row, which needs fewer of them: nothing counts, and no row is looked up. Microseconds a turn, best of several
runs in alternation. scripts/jax-times runs it."""
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

        def looked_up(turns, body=body):
            def program(carry, xs, i):
                for _ in range(turns):
                    x = lax.dynamic_index_in_dim(xs, i, keepdims=False, allow_negative_indices=False)
                    carry, y = body(carry, x)
                    i = i + 1
                return carry, i
            return jax.jit(program)

        def written_out(turns, body=body):
            def program(carry, xs, i):
                for x in xs[:turns]:
                    carry, y = body(carry, x)
                return carry
            return jax.jit(program)

        scan = jax.jit(lambda carry, xs, i, body=body: lax.scan(body, carry, xs)[0])
        half = WRITTEN_OUT // 2
        programs = [scan] + [make(turns) for make in (looked_up, written_out) for turns in (WRITTEN_OUT, half)]
        times = [[seconds(program, carry, xs, jnp.int32(0)) for program in programs] for _ in range(ROUNDS)]
        turn, *straight = (min(column) for column in zip(*times))
        turn /= TURNS
        # Differences of two lengths, without what a call costs.
        dispatches, rows = ((straight[k] - straight[k + 1]) / (WRITTEN_OUT - half) for k in (0, 2))
        print(f"scan, {name}: {1e6 * turn:.1f} a turn, its dispatches {1e6 * dispatches:.1f}, ratio {turn / dispatches:.2f}; "
              f"row by row {1e6 * rows:.1f}, ratio {turn / rows:.2f}")


if __name__ == "__main__":
    main()
