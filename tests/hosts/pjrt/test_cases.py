"""JAX's own cases of its primitives, which its package carries, on the device as on the CPU: a selection by the hash of
the name. $TOSAVK_JAX_CASES says how many (40); what is refused is counted by category."""
import hashlib
import os

import jax
import numpy as np
from jax._src.internal_test_util import test_harnesses

from support import Case

COUNT = int(os.environ.get("TOSAVK_JAX_CASES") or 40)
WIDE = (np.float64, np.complex128, np.int64, np.uint64)


def refused(sentence):
    """Which category of what is not there a case belongs to."""
    for category in ("MLIR translation rule for primitive", "the custom call", "f64"):
        if category in sentence:
            return category
    return None


class Primitives(Case):
    def compare(self, ours, theirs):
        for mine, wanted in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
            mine, wanted = np.asarray(mine), np.asarray(wanted)
            self.assertEqual((mine.shape, mine.dtype), (wanted.shape, wanted.dtype))
            if wanted.dtype.kind in "iub":
                np.testing.assert_array_equal(mine, wanted)
                continue
            kind = np.complex64 if wanted.dtype.kind == "c" else np.float32
            relative, absolute = (1e-2, 1e-3) if wanted.dtype.itemsize <= 2 else (1e-4, 2e-5)
            np.testing.assert_allclose(mine.astype(kind), wanted.astype(kind), relative, absolute)

    def test_as_on_the_cpu(self):
        cases = [case for case in test_harnesses.all_harnesses if case.dtype not in WIDE]
        cases.sort(key=lambda case: hashlib.sha1(case.fullname.encode()).hexdigest())
        done = {}
        for case in cases[:COUNT]:
            with self.subTest(case.fullname):
                arguments = case.dyn_args_maker(np.random.RandomState(42))
                try:
                    with jax.default_device(jax.devices("cpu")[0]):
                        wanted = jax.jit(case.dyn_fun)(*arguments)
                except Exception:  # noqa: BLE001, a case that is not for this platform
                    done["not on the CPU"] = done.get("not on the CPU", 0) + 1
                    continue
                try:
                    with jax.default_device(self.device):
                        got = jax.jit(case.dyn_fun)(*arguments)
                except Exception as e:  # noqa: BLE001
                    category = refused(str(e))
                    if category is None:
                        raise
                    done[category] = done.get(category, 0) + 1
                    continue
                self.compare(got, wanted)
                done["the same"] = done.get("the same", 0) + 1
        print(done)
        self.assertGreater(done["the same"], 0.9 * COUNT)
        self.assertGreater(self.since("dispatches"), COUNT)
