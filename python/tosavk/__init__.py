"""TOSA graphs and TensorFlow Lite networks on any Vulkan GPU.

>>> net = tosavk.load("network.tflite")      # or .tosa, or a package; a path or bytes
>>> out = net(image)                         # numpy in, numpy out
>>> fast = net.compile(device=0, precision="fp16")
>>> print(fast.plan); print(fast.profile(image))
>>> net.verify(image)                        # the GPU against the reference
>>> model = tosavk.open_model("speech.tflite")   # sizes known late: each call's inputs decide
"""

from . import jax, tflite
from ._buffer import Buffer, Memory
from ._builder import Builder, Value, operators
from ._compiled import CompiledNetwork, DispatchTime, Profile, Verification
from ._context import Context, Outputs
from ._device import Device, DeviceInfo, DeviceLike, devices
from ._future import Future
from ._model import OpenModel, OpenTensorInfo, open_model
from ._jax_arrays import from_jax, to_jax
from ._network import Network, Probe, ProbedOperator, describe, load, probe, problem
from ._types import TensorInfo
from .errors import (
    BadInputError,
    BadModelError,
    CancelledError,
    DeviceError,
    DeviceLostError,
    Error,
    FileError,
    InternalError,
    NoDeviceError,
    OutOfMemoryError,
    UnsupportedError,
    UsageError,
)
from ._native import version as _version

__version__: str = _version()

__all__ = [
    "BadInputError", "BadModelError", "Buffer", "Builder", "CancelledError", "CompiledNetwork", "Context", "Device",
    "DeviceError", "DeviceInfo", "DeviceLike", "DeviceLostError", "DispatchTime", "Error", "FileError", "Future", "InternalError",
    "Memory", "Network", "NoDeviceError", "OpenModel", "OpenTensorInfo", "OutOfMemoryError", "Outputs", "Probe",
    "ProbedOperator", "Profile", "TensorInfo", "UnsupportedError", "UsageError", "Value", "Verification", "describe",
    "devices", "from_jax", "jax", "load", "open_model", "operators", "probe", "problem", "tflite",
    "to_jax",
]  # fmt: skip
