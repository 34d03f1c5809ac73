"""What the tests share: JAX with the plug-in, its counters, and comparisons with JAX on the CPU."""
import ctypes
import functools
import importlib
import json
import os
import subprocess
import sys
import time
import types
import unittest
from pathlib import Path

import jax
import numpy as np

# The package's own part in Python, as its initialize() has it; of the package alone what needs no native module.
package = types.ModuleType("tosavk")
package.__path__ = [str(Path(__file__).parents[3] / "python" / "tosavk")]
sys.modules.setdefault("tosavk", package)
from tosavk import _jax_rules  # noqa: E402

_jax_rules.register()

enable_x64 = (jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")).enable_x64
library = ctypes.CDLL(os.environ["TOSAVK_PJRT"])
library.tosavk_pjrt_get_counters.restype = ctypes.c_size_t
SEED = int(os.environ.get("TOSAVK_TEST_SEED") or 1)
print(f"seed {SEED}, jax {jax.__version__}", file=sys.stderr)


def counters():
    text = ctypes.create_string_buffer(4096)
    library.tosavk_pjrt_get_counters(text, ctypes.c_size_t(len(text)))
    return json.loads(text.value)


def random(*shape, low=None):
    if low is not None:
        return random.generator.uniform(low, 1, shape).astype(np.float32)
    return random.generator.standard_normal(shape).astype(np.float32)


def script(code, **variables):
    """Runs Python code in a process of its own: its exit code, and what it said."""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600)
    return done.returncode, done.stdout


def settled(submits=0):
    """The counters once so many submits are counted, and all of earlier tests: when a run is over, which is shortly
    after its result is there."""
    for _ in range(500):
        seen = counters()
        time.sleep(0.02)
        if seen["submits"] >= submits and counters() == seen:
            break
    return counters()


def computes_nothing(test):
    """A test of what is refused, moved or folded."""
    test.computes = False
    return test


def that_computes(test):
    """The test, which must submit something to the device."""
    @functools.wraps(test)
    def checked(self):
        test(self)
        self.submitted(self.before["submits"])
    return checked


class Case(unittest.TestCase):
    def __init_subclass__(cls):
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and getattr(test, "computes", True):
                setattr(cls, name, that_computes(test))

    def setUp(self):
        random.generator = np.random.default_rng(SEED)
        self.device = jax.devices("tosavk")[0]
        self.before = settled()

    def submitted(self, before):
        self.assertGreater(settled(before + 1)["submits"], before)

    def since(self, name):
        return counters()[name] - self.before[name]

    def close(self, ours, theirs, bound=1e-5):
        ours, theirs = jax.tree.leaves(ours), jax.tree.leaves(theirs)
        self.assertEqual(len(ours), len(theirs))
        for mine, wanted in zip(ours, theirs):
            mine, wanted = np.asarray(mine), np.asarray(wanted)
            self.assertEqual(mine.shape, wanted.shape)
            self.assertEqual(mine.dtype, wanted.dtype)
            if wanted.dtype.kind in "iub":
                np.testing.assert_array_equal(mine, wanted)
            else:
                mine, wanted = mine.astype(np.complex64), wanted.astype(np.complex64)
                numbers = ~np.isnan(wanted)
                np.testing.assert_array_equal(~np.isnan(mine), numbers)
                magnitude = max(np.abs(wanted[numbers]).max(initial=0), 1e-30)
                difference = np.abs(mine[numbers] - wanted[numbers])
                self.assertLessEqual(difference.max(initial=0), bound * magnitude)

    def same_as_cpu(self, function, *arguments, bound=1e-5):
        """On the device, which must do something, as on the CPU."""
        before = counters()["submits"]
        with jax.default_device(self.device):
            ours = jax.jit(function)(*arguments)
            jax.block_until_ready(ours)
        self.submitted(before)
        for leaf in jax.tree.leaves(ours):
            self.assertEqual(leaf.devices(), {self.device})
        with jax.default_device(jax.devices("cpu")[0]):
            theirs = jax.jit(function)(*arguments)
        self.close(ours, theirs, bound)
        return ours
