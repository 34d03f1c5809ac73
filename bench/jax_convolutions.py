"""What convolutions cost whose weights are arguments, as JAX's are. Milliseconds, best of several runs; scripts/jax-times
runs it. Run it with the plug-ins of two builds in turn (TOSAVK_BUILD) to compare these."""
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

ROUNDS = 15
# Images, side, channels, outputs, side of the kernel.
SIZES = ((1, 56, 64, 64, 3), (8, 28, 32, 64, 3), (32, 14, 16, 32, 3), (1, 28, 128, 128, 1), (1, 8, 8, 8, 3))


def main():
    random = np.random.default_rng(1)
    layout = ("NHWC", "HWIO", "NHWC")
    run = jax.jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout))
    for dtype in ("float32", "bfloat16"):
        for n, side, channels, outputs, kernel in SIZES:
            shapes = (n, side, side, channels), (kernel, kernel, channels, outputs)
            x, w = (jnp.asarray(random.normal(0, 1, s).astype(np.float32), dtype) for s in shapes)
            run(x, w).block_until_ready()
            times = []
            for _ in range(ROUNDS):
                begun = time.perf_counter()
                run(x, w).block_until_ready()
                times.append(time.perf_counter() - begun)
            print(f"convolution {dtype} {n}x{side}x{side}x{channels} {outputs}x{kernel}x{kernel}: {1e3 * min(times):.3f}")


if __name__ == "__main__":
    main()
