"""tosa-vk inside JAX: the PJRT plug-in of this package, which JAX finds by itself.

>>> import jax                                    # after pip install tosavk[jax]
>>> jax.devices()                                 # every Vulkan device
>>> jax.jit(lambda x: x * 2)(jax.numpy.ones(3))   # runs there

``JAX_PLATFORMS=tosavk,cpu`` asks for it. Without that it is JAX's default where there is a GPU, and can be chosen
(``jax.devices("tosavk")``) where there are software drivers alone.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
from pathlib import Path
from typing import Any

from . import _jax_rules
from ._device import devices
from ._jax_arrays import device as device  # noqa: PLC0414, of this module, too
from .errors import Error, UsageError

_PLATFORM = _jax_rules.PLATFORM
_options: dict[str, str | bool] = {}
_is_registered = False


def library() -> Path:
    """The plug-in's file, for what takes PJRT plug-ins and is not JAX."""
    return Path(__file__).parent / "lib" / "libtosavk_pjrt.so"


def configure(
    *,
    device: str | None = None,
    precision: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    f64_as_f32: bool = False,
) -> None:
    """Options of the plug-in; to be called before JAX is first asked for its devices.

    Args:
        device: ``"cpu"``, or part of a name: the devices that JAX sees; all where it is None.
        precision: ``"exact"``, ``"fp16"`` or ``"fast"``, as of `tosavk.Network.compile`, of all programs. One program:
            ``jax.jit(f, compiler_options={"precision": "fp16"})``.
        cache_dir: folder of compiled shaders and programs.
        f64_as_f32: float64 and complex128 are rounded and computed as float32, and results are widened again; without
            it programs with such types are refused.
    """
    if _is_registered and importlib.import_module("jax._src.xla_bridge").backends_are_initialized():
        raise UsageError("JAX has its devices already; configure() is to be called before")
    given = {"device": device, "precision": precision, "cache_dir": cache_dir}
    _options.clear()
    _options.update({key: os.fspath(value) for key, value in given.items() if value is not None})
    if f64_as_f32:
        _options["f64_as_f32"] = True


def _priority() -> int | None:
    """Among JAX's platforms, of which the CPU has 0; None where there is no device."""
    try:
        found = devices()
    except Error:
        return None
    if not found:
        return None
    return 400 if any(one.type != "cpu" for one in found) else -100


def initialize() -> None:
    """Registers the plug-in; JAX calls this by itself."""
    global _is_registered
    bridge: Any = importlib.import_module("jax._src.xla_bridge")
    if any(one.startswith(f"{_PLATFORM}:") for one in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(",")):
        _jax_rules.register()
        return  # the platform is registered by that
    priority = _priority()
    if priority is None:
        # A client that cannot be made would break all of JAX, unless it was asked for by name.
        if _PLATFORM not in os.environ.get("JAX_PLATFORMS", "").split(","):
            return
        priority = 400
    bridge.register_plugin(_PLATFORM, priority=priority, library_path=str(library()), options=lambda: dict(_options))
    _jax_rules.register()
    _is_registered = True


def counters() -> dict[str, int]:
    """What the plug-in has done in this process: ``compilations``, of those ``lowerings`` of programs and ``restored``
    from the cache folder, ``shaders_compiled`` from GLSL, ``executions``, ``dispatches``, ``submits``, ``uploads``,
    ``downloads``, ``allocations`` and ``donations``."""
    plugin = ctypes.CDLL(str(library()))
    plugin.tosavk_pjrt_get_counters.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(4096)
    plugin.tosavk_pjrt_get_counters(text, ctypes.c_size_t(len(text)))
    result: dict[str, int] = json.loads(text.value)
    return result
