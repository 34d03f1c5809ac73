"""tosavk.tflite: the options that it hands on, and the delegate in a real runtime, in an environment of its own."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import GLYPHS

import tosavk

IN_A_RUNTIME = """
import sys
import numpy as np
import tosavk
from ai_edge_litert.interpreter import Interpreter

delegate = tosavk.tflite.delegate(device=0, min_nodes=1)
interpreter = Interpreter(sys.argv[1], experimental_delegates=[delegate])
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.load(sys.argv[2]))
interpreter.invoke()
np.save(sys.argv[3], interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
did = tosavk.tflite.counters(delegate)
assert did["claimed_nodes"] == did["nodes"] > 0, did
assert did["dispatches"] > 0 and did["reference_runs"] == 0, did
"""


def test_the_library_is_in_the_package():
    assert tosavk.tflite.library().is_file()


def test_options_are_strings():
    seen = {}
    runtime = types.SimpleNamespace(load_delegate=lambda path, options: seen.update(path=path, options=options))
    tosavk.tflite.delegate(device=1, rounding="double", verbose=True, max_partitions=2, runtime=runtime)
    assert seen["path"] == str(tosavk.tflite.library())
    assert seen["options"] == {"device": "1", "rounding": "double", "verbose": "1", "max_partitions": "2"}
    tosavk.tflite.delegate(runtime=runtime)
    assert seen["options"] == {}


def test_without_a_runtime(monkeypatch: pytest.MonkeyPatch):
    for name in tosavk.tflite._RUNTIMES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(tosavk.UsageError, match="no TensorFlow Lite runtime is installed"):
        tosavk.tflite.delegate()


def test_in_a_runtime(tmp_path, glyphs: tosavk.Network, letter: np.ndarray):
    python = os.environ.get("TOSAVK_TFLITE_PYTHON")
    if not python:
        assert "tflite" not in os.environ.get("TOSAVK_REQUIRE", "").split(",")
        pytest.skip("TFLite's runtimes are not there (scripts/tflite-runtimes)")
    sample, result = tmp_path / "sample.npy", tmp_path / "result.npy"
    np.save(sample, letter)
    folder = os.path.dirname(os.path.dirname(tosavk.__file__))
    subprocess.run([python, "-c", IN_A_RUNTIME, GLYPHS / "glyphs_int8.tflite", sample, result],
                   env={**os.environ, "PYTHONPATH": folder}, check=True)
    assert np.array_equal(np.load(result), glyphs(letter))
