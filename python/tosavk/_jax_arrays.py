"""Buffers of this package and arrays of JAX in the same memory."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import threading
from typing import Any

from . import _native
from ._buffer import _DLPACK_TYPES, Buffer
from ._device import Device
from ._jax_rules import PLATFORM
from ._types import type_code
from .errors import BadInputError, UnsupportedError, UsageError

_NAMES = {
    "bool": "bool",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "float8_e4m3fn": "fp8e4m3",
    "float8_e5m2": "fp8e5m2",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
}
_VULKAN = 7  # DLPack's kDLVulkan
_TENSOR = b"dltensor"  # the name of DLPack's capsules, of which a copy would not live as long

_lock = threading.Lock()
_devices: dict[int, tuple[Device, Any]] = {}  # by address: what a device of JAX's client is here, and to JAX
atexit.register(_devices.clear)


class _Loan:
    """Keeps an array's memory and its device."""

    def __init__(self, plugin: ctypes.CDLL, loan: int) -> None:
        self._end, self._loan = plugin.tosavk_pjrt_end_loan, loan

    def __del__(self) -> None:
        self._end(ctypes.c_void_p(self._loan))


def _plugin() -> ctypes.CDLL:
    """The plug-in that JAX has. Sharing is possible with that of this package alone."""
    if f"{PLATFORM}:" in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", ""):
        raise UnsupportedError("JAX's plug-in is not this package's own: memory cannot be shared")
    plugin = ctypes.CDLL(str(importlib.import_module(f"{__package__}.jax").library()))
    plugin.tosavk_pjrt_lend.restype = plugin.tosavk_pjrt_offer.restype = ctypes.c_void_p
    return plugin


def _on_device(array: Any) -> Any | None:
    """Its device, where that is one of the plug-in's."""
    (device,) = array.devices() if len(array.devices()) == 1 else (None,)
    return device if device is not None and device.platform == PLATFORM else None


def _shared(array: Any, code: int, where: Any) -> Buffer:
    plugin = _plugin()
    with _lock:
        is_known = any(theirs == where for _, theirs in _devices.values())
    if not is_known and array.size > 1:
        device(where)  # a loan of one number keeps JAX's device, so that this array's memory is not kept for that
    array.block_until_ready()
    buffer, owned_by = ctypes.c_void_p(), ctypes.c_void_p()
    pointer = ctypes.c_void_p(array.unsafe_buffer_pointer())
    loan = plugin.tosavk_pjrt_lend(pointer, ctypes.byref(buffer), ctypes.byref(owned_by))
    if not loan or not buffer.value or not owned_by.value:
        raise UnsupportedError("the array has no memory that could be shared")
    owner = _Loan(plugin, loan)
    with _lock:
        if owned_by.value not in _devices:
            opened = Device.__new__(Device)
            opened._native = _native.Device.lent(owned_by.value, owner)
            _devices[owned_by.value] = (opened, where)
        opened = _devices[owned_by.value][0]
    native = _native.Buffer.lent(buffer.value, array.nbytes, owner)
    return Buffer._made(native, tuple(array.shape), code, opened)


def from_jax(array: Any, *, copy: bool | None = None) -> Buffer:
    """A buffer of a `jax.Array`.

    An array on the platform tosavk and its buffer have the same memory, whatever becomes of the array: nothing is
    copied, and the buffer's `device` is JAX's, as of `tosavk.jax.device`. Such a buffer must not be written, since
    JAX's arrays never change. Other arrays are copied through the host.

    Args:
        copy: True copies in any case, on the device where it lies; False raises where a copy would be needed.

    Raises:
        BadInputError: the elements are of no TOSA type: complex, unsigned, of 64 bits.
        UnsupportedError: with ``copy=False``, the memory cannot be shared.
    """
    if not hasattr(array, "addressable_shards"):
        raise UsageError(f"{type(array).__name__} is no jax.Array")
    name = _NAMES.get(array.dtype.name)
    if name is None:
        raise BadInputError(f"the array's elements ({array.dtype.name}) are of no TOSA type")
    where = _on_device(array)
    if where is not None and array.size:
        try:
            shared = _shared(array, type_code(name), where)
        except UnsupportedError:
            if copy is False:
                raise
        else:
            if copy is not True:
                return shared
            result = Buffer(shared.shape, name, shared.device)
            result.copy_from(shared)
            return result
    if copy is False:
        raise UnsupportedError("the array is not in the memory of a device of the platform tosavk")
    numpy: Any = importlib.import_module("numpy")
    host = numpy.asarray(array)
    return Buffer.from_array(host.astype(numpy.int8) if name == "i4" else host, name)


def device(which: Any = None) -> Device:
    """JAX's device as one of this package: networks that are compiled for it, and buffers on it, share memory with
    JAX's arrays there.

    Args:
        which: of ``jax.devices("tosavk")``; None: the first one.
    """
    jax: Any = importlib.import_module("jax")
    wanted = jax.devices(PLATFORM)[0] if which is None else which
    if getattr(wanted, "platform", None) != PLATFORM:
        raise UsageError(f"{which!r} is no device of JAX's platform tosavk")
    with _lock:
        for known, theirs in _devices.values():
            if theirs == wanted:
                return known
    numpy: Any = importlib.import_module("numpy")
    return from_jax(jax.device_put(numpy.zeros(1, numpy.float32), wanted), copy=False).device


def to_jax(buffer: Buffer, device: Any = None, *, copy: bool | None = None) -> Any:
    """A `jax.Array` of a buffer, on the platform tosavk.

    A buffer on JAX's own device (as of `tosavk.jax.device`, or of `from_jax`) and its array have the same memory:
    nothing is copied, and the buffer must not be written any more. Buffers of other devices or of a host tensor's memory
    (`Buffer.from_dlpack`), and elements that JAX does not take so (i4 becomes int8, i48 int64), are copied through the
    host, as is everything with ``copy=True``. Runs that still write the buffer come first.

    Args:
        device: of ``jax.devices("tosavk")``; None: the one on which the buffer is, else the first one.
        copy: True copies in any case, False raises where a copy would be needed.

    Raises:
        UnsupportedError: with ``copy=False``, the memory cannot be shared.
    """
    if not isinstance(buffer, Buffer):
        raise UsageError("to_jax takes a Buffer")
    jax: Any = importlib.import_module("jax")
    with _lock:
        ours = next((theirs for known, theirs in _devices.values() if known is buffer.device), None)
    wanted = device if device is not None else ours if ours is not None else jax.devices(PLATFORM)[0]
    if wanted == ours and copy is not True:
        array = _offered(buffer, wanted)
        if array is not None:
            return array
    if copy is False:
        raise UnsupportedError("the buffer is not in the memory of JAX's device, or JAX does not take its elements")
    return jax.device_put(buffer.numpy(), wanted)


def _offered(buffer: Buffer, where: Any) -> Any | None:
    """An array in the buffer's memory; None where JAX does not take it."""
    elements = next((key for key, name in _DLPACK_TYPES.items() if name == buffer.dtype != "i48"), None)
    library = _jaxlib()
    if elements is None or library is None or not buffer.nbytes or buffer._is_borrowed:
        return None
    plugin = _plugin()
    rank = len(buffer.shape)
    offer = plugin.tosavk_pjrt_offer(
        ctypes.c_void_p(buffer._native.address), ctypes.c_uint64(buffer.nbytes), rank,
        (ctypes.c_int64 * max(rank, 1))(*buffer.shape), *elements, _VULKAN,
    )  # fmt: skip
    if not offer:
        return None
    make_capsule = ctypes.pythonapi.PyCapsule_New
    make_capsule.restype, make_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    try:
        return library.dlpack_managed_tensor_to_buffer(make_capsule(offer, _TENSOR, None), where, None)
    except Exception:  # noqa: BLE001, whatever this jaxlib says of it: then it is copied
        plugin.tosavk_pjrt_end_offer(ctypes.c_void_p(offer))
        return None


def _jaxlib() -> Any | None:
    """Where jaxlib has its way in for tensors of others."""
    lib: Any = importlib.import_module("jax._src.lib")
    for found in (getattr(lib, "_jax", None), getattr(lib.xla_client, "_xla", None)):
        if hasattr(found, "dlpack_managed_tensor_to_buffer"):
            return found
    return None
