"""Programs of more arrays than a few, and more programs than fit the memory at once."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from support import Case, computes_nothing, random, script


class Arrays(Case):
    def arrays(self, count):
        return [random(3) for _ in range(count)]

    def test_loop(self):
        def run(xs):
            return lax.fori_loop(0, 3, lambda k, c: [x * 0.5 + k for x in c[1:]] + [c[0]], xs)

        self.same_as_cpu(run, self.arrays(300))

    def test_cond(self):
        def run(n, xs, ys):
            return lax.cond(n > 0, lambda: [x + y for x, y in zip(xs, ys)], lambda: [x * y for x, y in zip(xs, ys)])

        for n in (0, 1):
            self.same_as_cpu(run, n, self.arrays(140), self.arrays(140))

    def test_scan(self):
        def run(c, xs):
            return lax.scan(lambda c, x: (c + x[0], [y * c for y in x]), c, xs)

        self.same_as_cpu(run, random(3), [random(4, 3) for _ in range(280)])

    def test_donated(self):
        """Each of them lies where another one lay."""
        step = jax.jit(lambda xs, gs: [x - 0.5 * g for x, g in zip(xs, gs)], donate_argnums=0)
        xs, gs = self.arrays(300), self.arrays(300)
        made = [jax.device_put(x, self.device) for x in xs]
        for _ in range(3):
            made = step(made, gs)
        self.close(made, [x - np.float32(1.5) * g for x, g in zip(xs, gs)], 1e-6)


class Programs(Case):
    @computes_nothing
    def test_memory_of_idle_programs(self):
        """What programs keep for their next run is given up where another one needs it."""
        code, said = script("""
import os, resource
import jax, jax.numpy as jnp
def program(k):
    # Sorted in about 0.5 GiB.
    return jax.jit(lambda x: jnp.sort(jnp.outer(x + k, x).reshape(-1)).sum())
x = jnp.ones(1 << 12)
print(float(program(0)(x)))
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
limit = pages * os.sysconf("SC_PAGE_SIZE") + (1000 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
programs = [program(k) for k in range(1, 4)]
print([float(p(x)) for p in programs])
print([float(p(x)) for p in programs])
""")
        self.assertEqual(code, 0, said)
        sums = [float(1 << 24) * (1 + k) for k in range(1, 4)]
        self.assertEqual(said.splitlines()[-2:], [str(sums)] * 2, said)
