"""What a call costs an array: a program of many small arrays, microseconds of a call and of each of its arguments.

JAX has the plug-in as platform "tosavk". Usage: jax_arguments.py [COUNT...]
"""
import sys
import time

import jax
import jax.numpy as jnp


def best_of(turns, call):
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    print(f"{'arrays':>8}{'us':>12}{'us an array':>14}")
    for count in [int(word) for word in sys.argv[1:]] or [10, 100, 1000]:
        step = jax.jit(lambda xs: [x * 0.5 + 1 for x in xs])
        xs = [jnp.ones(16) for _ in range(count)]
        jax.block_until_ready(step(xs))
        seconds = best_of(10, lambda: jax.block_until_ready(step(xs)))
        print(f"{count:>8}{seconds * 1e6:>12.1f}{seconds * 1e6 / count:>14.2f}", flush=True)


main()
