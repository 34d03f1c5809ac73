"""Exceptions of the package. Each carries the library's own sentence, and with it where the graph is at fault."""

from __future__ import annotations


class Error(Exception):
    """A call of the library failed: ``str(error)`` is one sentence.

    Attributes:
        node: name of the node at fault, or ``""``.
        operand: name of its operand, or ``""``.
    """

    def __init__(self, message: str, node: str = "", operand: str = "") -> None:
        super().__init__(message)
        self.node = node
        self.operand = operand


class UsageError(Error, ValueError):
    """A call or an option is wrong."""


class BadModelError(Error, ValueError):
    """The file or graph breaks its format or the specification."""


class UnsupportedError(Error, NotImplementedError):
    """Legal, but not implemented."""


class BadInputError(Error, ValueError):
    """A tensor has the wrong type, shape, size or values."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class DeviceError(Error, RuntimeError):
    """The driver reported a failure."""


class NoDeviceError(DeviceError):
    """There is no Vulkan driver, or no device of that name."""


class DeviceLostError(DeviceError):
    """The device was lost; open it anew."""


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is used up."""


class InternalError(Error, RuntimeError):
    """A defect of tosa-vk."""


class CancelledError(Error):
    """A callback ended the call."""


_CLASSES: dict[int, type[Error]] = {
    1: UsageError,
    2: BadModelError,
    3: UnsupportedError,
    4: BadInputError,
    5: FileError,
    6: NoDeviceError,
    7: DeviceError,
    8: DeviceLostError,
    9: OutOfMemoryError,
    10: InternalError,
    11: CancelledError,
}


def _of(status: int, message: str, node: str, operand: str) -> Error:
    """The exception for a ``tosavk_status``; the module of C++ asks for it."""
    return _CLASSES.get(status, InternalError)(message, node, operand)
