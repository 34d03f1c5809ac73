"""What the tests share: the runtime, the delegate in it, and its counters."""
import ctypes
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

try:
    from ai_edge_litert import interpreter as runtime
except ImportError:
    try:
        from tflite_runtime import interpreter as runtime
    except ImportError:
        from tensorflow.lite.python import interpreter as runtime

LIBRARY = os.environ["TOSAVK_DELEGATE"]
CORPUS = Path(os.environ.get("TOSAVK_CORPUS") or "/nonexistent")
OLD = "tflite_runtime" in runtime.__name__  # rounds twice everywhere
REFERENCE = runtime.OpResolverType.BUILTIN_REF
plugin = ctypes.CDLL(LIBRARY)
plugin.tosavk_tflite_get_report.restype = ctypes.c_size_t
SEED = int(os.environ.get("TOSAVK_TEST_SEED") or 1)
print(f"seed {SEED}, {runtime.__name__}", file=sys.stderr)


def random(*shape):
    random.generator = getattr(random, "generator", None) or np.random.default_rng(SEED)
    return random.generator.standard_normal(shape).astype(np.float32)


def delegate(**options):
    return runtime.load_delegate(LIBRARY, {key: str(value) for key, value in options.items()})


def counters(of):
    pointer = ctypes.cast(of._get_native_delegate_pointer(), ctypes.c_void_p)
    text = ctypes.create_string_buffer(plugin.tosavk_tflite_get_report(pointer, None, ctypes.c_size_t(0)))
    plugin.tosavk_tflite_get_report(pointer, text, ctypes.c_size_t(len(text)))
    return json.loads(text.value)


def interpreter(model, *delegates):
    given = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    return runtime.Interpreter(experimental_delegates=list(delegates) or None,
                               experimental_op_resolver_type=REFERENCE, **given)


def invoke(of, feed, resize=False):
    """The outputs for these inputs."""
    inputs = of.get_input_details()
    if resize:
        for detail, value in zip(inputs, feed):
            of.resize_tensor_input(detail["index"], value.shape)
    of.allocate_tensors()
    for detail, value in zip(inputs, feed):
        of.set_tensor(detail["index"], value)
    of.invoke()
    return [of.get_tensor(detail["index"]) for detail in of.get_output_details()]


def script(code, **variables):
    """Runs Python code in a process of its own: its exit code, and what it said."""
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", "from support import *\nfrom models import *\n" + code],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    return done.returncode, done.stdout


class Case(unittest.TestCase):
    def close(self, ours, theirs, bound=1e-5):
        self.assertEqual(len(ours), len(theirs))
        for mine, wanted in zip(ours, theirs):
            self.assertEqual(mine.shape, wanted.shape)
            self.assertEqual(mine.dtype, wanted.dtype)
            if wanted.dtype.kind != "f":
                np.testing.assert_array_equal(mine, wanted)
            elif wanted.size:
                magnitude = max(np.ptp(wanted), np.abs(wanted).max())
                self.assertLessEqual(np.abs(mine - wanted).max(), bound * magnitude)
