"""tosa-vk inside TensorFlow Lite: the external delegate of this package, for whichever runtime is installed.

>>> from ai_edge_litert.interpreter import Interpreter     # or tflite_runtime, or tf.lite
>>> delegate = tosavk.tflite.delegate(rounding="tflite")
>>> interpreter = Interpreter("network.tflite", experimental_delegates=[delegate])
>>> tosavk.tflite.counters(delegate)["claimed_nodes"]
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from ._device import DeviceInfo
from .errors import UsageError

_RUNTIMES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "tensorflow.lite.python.interpreter")


def library() -> Path:
    """The delegate's file, for runtimes that are not Python's."""
    return Path(__file__).parent / "lib" / "libtosavk_tflite_delegate.so"


def _runtime() -> Any:
    """The module that has load_delegate: one that is imported already, else the first that is installed."""
    for name in sorted(_RUNTIMES, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UsageError("no TensorFlow Lite runtime is installed: ai-edge-litert, tflite-runtime or tensorflow is wanted")


def delegate(
    *,
    device: DeviceInfo | int | str | None = None,
    rounding: str | None = None,
    precision: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    profile: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    min_nodes: int | None = None,
    max_partitions: int | None = None,
    runtime: Any = None,
) -> Any:
    """A delegate for ``Interpreter(..., experimental_delegates=[...])``.

    Args:
        device: number, ``"cpu"``, part of a name, or a `DeviceInfo`; the best device where it is None.
        rounding: ``"tflite"`` (as ai-edge-litert 2.3.0), ``"double"`` (as tflite-runtime 2.14) or ``"single"``.
        precision: ``"exact"``, ``"fp16"`` or ``"fast"``, as of `tosavk.Network.compile`.
        cache_dir: folder of compiled shaders.
        profile: a file that takes the counters as JSON when an interpreter goes; ``"-"``: stderr.
        verbose: what is left to the runtime, and why, goes to stderr.
        min_nodes: partitions of fewer nodes are left to the runtime; without it, those that compute too little.
        max_partitions: the largest are taken; without it, all.
        runtime: a module with ``load_delegate``; else the runtime that is imported or installed.
    """
    given = {
        "device": device.index if isinstance(device, DeviceInfo) else device,
        "rounding": rounding,
        "precision": precision,
        "cache_dir": None if cache_dir is None else os.fspath(cache_dir),
        "profile": None if profile is None else os.fspath(profile),
        "verbose": 1 if verbose else None,
        "min_nodes": min_nodes,
        "max_partitions": max_partitions,
    }
    options = {key: str(value) for key, value in given.items() if value is not None}
    return (runtime or _runtime()).load_delegate(str(library()), options)


def counters(delegate: Any) -> dict[str, Any]:
    """What the delegate has done: partitions, claimed nodes, dispatches, reference runs, host copies, and why nodes were
    left to the runtime (see ``tosavk_tflite_get_report``)."""
    report = ctypes.CDLL(str(library())).tosavk_tflite_get_report
    report.restype = ctypes.c_size_t
    pointer = ctypes.cast(delegate._get_native_delegate_pointer(), ctypes.c_void_p)
    size = report(pointer, None, ctypes.c_size_t(0))
    if size == 0:
        raise UsageError("this delegate is not tosa-vk's")
    text = ctypes.create_string_buffer(size)
    report(pointer, text, ctypes.c_size_t(size))
    result: dict[str, Any] = json.loads(text.value)
    return result
