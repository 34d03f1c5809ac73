"""Programs over a mesh of one device."""
import importlib.util
import unittest

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify
from jax.sharding import Mesh, PartitionSpec

from support import Case, computes_nothing, random

ALONG = PartitionSpec("x")
DECOMPOSITIONS = (lax.linalg.lu, lax.linalg.eigh, lax.linalg.svd, jnp.linalg.inv, jnp.linalg.det)


def positive(count, n):
    x = random(count, n, n)
    return x @ x.swapaxes(1, 2) + np.eye(n, dtype=np.float32)


class OneDevice(Case):
    def on_both(self, function, *operands, bound):
        """function(device, *operands), of JAX's first device and of the CPU, is the same."""
        here, there = (jax.tree.map(np.asarray, function(device, *operands))
                       for device in (jax.devices()[0], jax.devices("cpu")[0]))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=bound, atol=bound), here, there)

    @unittest.skipUnless(hasattr(jax, "shard_map"), "this JAX has no jax.shard_map")
    def test_decompositions_in_shard_map(self):
        def factor(device, x):
            mesh = Mesh(np.array([device]), "x")
            with jax.default_device(device):
                return [jax.jit(jax.shard_map(jax.vmap(lambda y: jax.tree.map(jnp.abs, step(y))), mesh=mesh,
                                              in_specs=ALONG, out_specs=ALONG))(x) for step in DECOMPOSITIONS]

        self.on_both(factor, positive(2, 4), bound=1e-3)

    @unittest.skipUnless(hasattr(jax, "set_mesh") and jax.__version_info__ >= (0, 10),
                         "in this JAX explicit meshes are not what they became")
    def test_decompositions_of_explicit_meshes(self):
        def factor(device, x):
            mesh = Mesh(np.array([device]), "x", axis_types=(jax.sharding.AxisType.Explicit,))
            with jax.set_mesh(mesh):
                x = jax.device_put(x, ALONG)
                return [jax.jit(jax.vmap(lambda y: jax.tree.map(jnp.abs, step(y))))(x)
                        for step in DECOMPOSITIONS[:3]]

        self.on_both(factor, positive(2, 4), bound=1e-3)

    @unittest.skipUnless(hasattr(jax, "shard_map"), "this JAX has no jax.shard_map")
    def test_collectives(self):
        def gather(device, x):
            mesh = Mesh(np.array([device]), "x")

            def body(y):
                return (lax.psum(y, "x"), lax.pmax(y, "x"), lax.ppermute(y, "x", [(0, 0)]),
                        lax.all_gather(y, "x", tiled=True), lax.psum_scatter(y, "x", tiled=True),
                        lax.all_to_all(y, "x", 0, 1, tiled=True), y + lax.axis_index("x"))

            return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=ALONG, out_specs=ALONG, check_vma=False))(x)

        self.on_both(gather, random(4, 3), bound=0)

    @unittest.skipUnless(importlib.util.find_spec("jax.experimental.shard_alike"), "this JAX has no shard_alike")
    def test_values_that_are_to_be_sharded_alike(self):
        from jax.experimental.shard_alike import shard_alike
        self.same_as_cpu(lambda x, y: shard_alike(x * 2, y), random(3), random(3), bound=0)

    @computes_nothing
    def test_checks_outside_of_checkify(self):
        with self.assertRaisesRegex(ValueError, "checkify"):
            jax.jit(lambda x: checkify.check(x < 0, "not below"))(1.0)
