"""What programs cost, by counters."""
import tempfile

import jax
import jax.numpy as jnp
import numpy as np

from support import Case, computes_nothing, random, script, settled


class Cost(Case):
    def test_ten_operators(self):
        """One dispatch and one submit a call; nothing passes through the host."""
        @jax.jit
        def ten(x, y):
            x = jnp.tanh(x * y + 0.5) - y
            x = jnp.maximum(jnp.abs(x), 0.25) * jnp.exp(-y)
            return jnp.sqrt(x) / (1 + x * x)

        x, y = (jax.device_put(random(300, 7), self.device) for _ in range(2))
        wanted = np.asarray(ten(x, y))
        first = settled(self.before["submits"] + 1)
        for calls in range(1, 6):
            result = ten(x, y).block_until_ready()
            after = settled(first["submits"] + calls)
            did = {key: after[key] - first[key] for key in after if key != "allocations"}  # they come from a pool
            self.assertEqual(did, dict.fromkeys(did, 0) | dict.fromkeys(("executions", "dispatches", "submits"), calls))
        np.testing.assert_array_equal(np.asarray(result), wanted)

    @computes_nothing
    def test_second_program(self):
        """One of the same structure, with other weights and names, compiles no GLSL."""
        with tempfile.TemporaryDirectory() as folder:
            code, said = script("""
import jax, jax.numpy as jnp, numpy as np
from support import counters

def network(seed):
    random = np.random.default_rng(seed)
    first, second = (random.normal(size=s).astype(np.float32) for s in ((24, 40), (40, 3)))
    def called(x):
        return jax.nn.softmax(jnp.tanh(x @ first) @ second)
    called.__name__ = f"network_{seed}"
    return jax.jit(called)

x = np.ones((8, 24), np.float32)
results = [np.asarray(network(1)(x))]
before = counters()
assert before["shaders_compiled"] > 0, before
results.append(np.asarray(network(2)(x)))
after = counters()
assert after["lowerings"] == before["lowerings"] + 1, after
assert after["shaders_compiled"] == before["shaders_compiled"], after
assert abs(results[0] - results[1]).max() > 1e-3
""", TOSAVK_CACHE_DIR=folder, TOSAVK_SEED="")
        self.assertEqual(code, 0, said)
