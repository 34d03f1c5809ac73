"""Buffers: memory of a device, in the shape of an array."""

from __future__ import annotations

import contextlib
import enum
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._device import Device, DeviceLike, find_device
from ._types import (
    Array,
    DType,
    as_array,
    checked_shape,
    converted,
    flat,
    integers,
    numpy_type,
    type_code,
    type_name,
)
from .errors import BadInputError, UsageError


class Memory(enum.Enum):
    """Where a buffer lies."""

    DEVICE = "device"  #: fastest for the device; the host sees it where that costs nothing
    SHARED = "shared"  #: the host sees it
    HOST = "host"  #: memory of the host, for copies


_MEMORY_NUMBERS = {Memory.DEVICE: 0, Memory.SHARED: 1, Memory.HOST: 2}
# DLPack's codes of element types, with their bits.
_DLPACK_TYPES = {
    (6, 8): "bool",
    (0, 8): "i8",
    (0, 16): "i16",
    (0, 32): "i32",
    (0, 64): "i48",
    (10, 8): "fp8e4m3",
    (12, 8): "fp8e5m2",
    (2, 16): "fp16",
    (4, 16): "bf16",
    (2, 32): "fp32",
}


class Buffer:
    """A dense array in the memory of a device, for inputs and outputs that stay there. Thread-safe. Ctrl-C ends what
    waits for the runs that use it (on devices with timeline semaphores).

    Its bytes are undefined until they are written. `numpy.from_dlpack(buffer)`, and any other consumer of DLPack on
    the host, sees the memory itself where the host can (`Memory.SHARED` always; `Memory.DEVICE` on integrated and
    software devices): write or read such an array only while no run that uses the buffer is under way.

    Args:
        shape: 0 to 8 dimensions, each of which may be 0.
        dtype: TOSA's name of the elements (``"fp32"``, ``"i8"``, ...) or numpy's type.
        device: as of `Device`, or a `Device`: that of the networks that will use the buffer.
        memory: a `Memory` or its name.

    Raises:
        UsageError: the shape or type is none.
        OutOfMemoryError: the device has not as much.
    """

    def __init__(
        self,
        shape: Sequence[int] | int,
        dtype: npt.DTypeLike = "fp32",
        device: DeviceLike = None,
        memory: Memory | str = Memory.DEVICE,
    ) -> None:
        self._is_borrowed = False
        self._shape = checked_shape(shape)
        self._code = type_code(dtype)
        self._device = find_device(device)
        try:
            kind = Memory(memory)
        except ValueError:
            raise UsageError(f"{memory!r} is no kind of memory: device, shared or host") from None
        size = self.nbytes
        if size >= 2**63:
            raise UsageError(f"a buffer of shape {self._shape} is too large")
        self._native = _native.Buffer.create(self._device._native, size, _MEMORY_NUMBERS[kind])

    @classmethod
    def _made(
        cls, native: _native.Buffer, shape: tuple[int, ...], code: int, device: Device, is_borrowed: bool = False
    ) -> Buffer:
        self = cls.__new__(cls)
        self._is_borrowed = is_borrowed  # memory of a tensor of the host, which this object keeps alive
        self._native, self._shape, self._code, self._device = native, shape, code, device
        return self

    @classmethod
    def from_array(
        cls,
        array: Any,
        dtype: DType = None,
        device: DeviceLike = None,
        memory: Memory | str = Memory.DEVICE,
    ) -> Buffer:
        """A buffer with a copy of an array's elements, in the type `dtype` (None: the array's).

        Raises:
            BadInputError: an element does not fit.
        """
        source = as_array(array, "the array")
        code = type_code(source.dtype if dtype is None else dtype)
        result = cls(source.shape, type_name(code), device, memory)
        result.upload(source)
        return result

    @classmethod
    def from_dlpack(cls, tensor: Any, device: DeviceLike = None, *, copy: bool | None = None) -> Buffer:
        """A buffer of a tensor of another library (an object with ``__dlpack__``, on the host).

        Args:
            copy: True copies; False uses the tensor's own memory, which must begin and end at a page, and which device
                and host then share; None copies where that is not possible, or where the tensor must not be written.

        Raises:
            BadInputError: the elements are of no TOSA type, or an int64 is no i48; with ``copy=False``, they lie apart
                or must not be written.
            UnsupportedError, UsageError: with ``copy=False``, the device cannot use this memory.
        """
        if not hasattr(tensor, "__dlpack__"):
            raise UsageError(f"{type(tensor).__name__} has no __dlpack__")
        try:
            kind, _ = integers(tensor.__dlpack_device__())
        except (AttributeError, TypeError, ValueError):
            raise UsageError(f"{type(tensor).__name__} does not tell by __dlpack_device__ where it lies") from None
        if kind != 1:
            raise BadInputError(f"the tensor lies on a device of DLPack's kind {kind}; only the host's can be taken")
        try:
            address, size, type_number, bits, shape, dense, writable, memory = _native.dlpack_info(tensor)
        except TypeError:
            raise BadInputError("the tensor cannot be read through DLPack") from None
        name = _DLPACK_TYPES.get((type_number, bits))
        if name is None:
            raise BadInputError(f"the tensor's elements (DLPack's type {type_number} of {bits} bits) are of no TOSA type")
        opened = find_device(device)
        code = type_code(name)
        if 0 in shape:  # there is no memory to share
            return cls(tuple(shape), name, opened)
        if copy is not True:
            try:
                if not dense:
                    raise BadInputError("the tensor's elements do not lie in order")
                if not writable:
                    raise BadInputError("the tensor must not be written, and a buffer could be: it can only be copied")
                if name == "i48":
                    converted(np.from_dlpack(tensor), numpy_type(code), "the tensor", name)
                native = _native.Buffer.import_host(opened._native, address, size, memory)
                return cls._made(native, tuple(shape), code, opened, is_borrowed=True)
            except (ValueError, NotImplementedError, RuntimeError):
                if copy is False:
                    raise
        try:
            source: Array = np.from_dlpack(tensor)
        except (TypeError, RuntimeError, BufferError, ValueError):  # numpy's lacks bf16 and fp8
            source = np.asarray(tensor)
        result = cls(tuple(shape), name, opened)
        result.upload(source)
        return result

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor that lies in it."""
        return self._shape

    @property
    def dtype(self) -> str:
        """TOSA's name of the elements."""
        return type_name(self._code)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """numpy's type of the elements, of ml_dtypes for bf16 and fp8."""
        return numpy_type(self._code)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        count = self.numpy_dtype.itemsize
        for dim in self._shape:
            count *= dim
        return count

    @property
    def device(self) -> Device:
        """In whose memory it is."""
        return self._device

    @property
    def is_visible(self) -> bool:
        """Whether the host sees the memory: `view`, `map` and DLPack are possible."""
        return self._native.mapped

    def upload(self, array: Any) -> None:
        """Copies an array of this shape into the buffer, after the runs that use it.

        Raises:
            BadInputError: the shape is another, or an element does not fit.
        """
        source = as_array(array, "the array")
        if source.shape != self._shape:
            raise BadInputError(f"the buffer has shape {self._shape}; the array's is {source.shape}")
        self._native.upload(flat(converted(source, self.numpy_dtype, "the array", self.dtype)), 0)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the runs that use the buffer, `timeout` seconds at most: whether none is under way."""
        return self._native.wait(timeout)

    def numpy(self) -> Array:
        """A copy of the buffer, after the runs that use it."""
        result = np.empty(self._shape, self.numpy_dtype)
        self._native.download(result.reshape(-1).view(np.uint8), 0)
        return result

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a buffer becomes an array by a copy; view() shares memory")
        result = self.numpy()
        return result if dtype is None else result.astype(dtype)

    def fill(self, byte: int) -> None:
        """Sets every byte to 0 to 255."""
        if isinstance(byte, bool) or not isinstance(byte, (int, np.integer)) or not 0 <= byte <= 255:
            raise UsageError(f"{byte!r} is no byte")
        self._native.fill(int(byte))

    def copy_from(self, other: Buffer) -> None:
        """Copies a buffer of the same shape and type, of the same device."""
        if not isinstance(other, Buffer):
            raise UsageError("copy_from takes a Buffer")
        if (other._shape, other._code) != (self._shape, self._code):
            raise BadInputError(f"{other!r} is of another shape or type than {self!r}")
        self._native.copy_from(other._native)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("a buffer of rank 0 has no length")
        return self._shape[0]

    def __getitem__(self, index: int | slice) -> Buffer:
        """A part along the first dimension, in the same memory: an index, or a slice of step 1."""
        length = len(self)
        if isinstance(index, slice):
            begin, end, step = index.indices(length)
            if step != 1:
                raise IndexError("a part of a buffer is a slice of step 1")
            end = max(begin, end)
            shape: tuple[int, ...] = (end - begin, *self._shape[1:])
        else:
            try:
                begin = operator.index(index)
            except TypeError:
                raise TypeError("a part of a buffer is an index of its first dimension, or a slice") from None
            begin += length if begin < 0 else 0
            if not 0 <= begin < length:
                raise IndexError(f"index {index} is outside of the buffer's {length}")
            shape = self._shape[1:]
        row = self.nbytes // max(length, 1)
        rows = shape[0] if isinstance(index, slice) else 1
        part = self._native.slice(begin * row, rows * row)
        return Buffer._made(part, shape, self._code, self._device, self._is_borrowed)

    def view(self) -> Array:
        """The buffer's own memory as an array, after the runs that use it. See the class about when to use it, and
        `map` for writing.

        Raises:
            UnsupportedError: the host does not see the memory.
        """
        shared: Array = np.asarray(self._native.view(_carrier(self._code), self._shape))
        return shared.view(self.numpy_dtype)

    @contextlib.contextmanager
    def map(self) -> Iterator[Array]:
        """``with buffer.map() as array:`` the same, and what was written is seen by the device at the end."""
        array = self.view()
        try:
            yield array
        finally:
            self._native.unmap()

    def __dlpack__(self, **options: Any) -> Any:
        """The memory itself, on the host; with ``copy=True`` a copy of it, for numpy's types.

        Raises:
            BufferError: the host does not see the memory.
        """
        if options.get("copy"):
            return self.numpy().__dlpack__(**{key: value for key, value in options.items() if key != "copy"})
        if not self.is_visible:
            raise BufferError("the host does not see this buffer's memory; numpy() copies it, memory='shared' shows it")
        return self._native.view(self._code, self._shape).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """kDLCPU where the host sees the memory, else kDLVulkan."""
        return (1, 0) if self.is_visible else (7, 0)

    def __repr__(self) -> str:
        return f"<tosavk.Buffer {self.dtype} {self._shape} on {self._device.name!r}>"


def _carrier(code: int) -> int:
    """A type of as many bytes that numpy takes from anywhere: it knows bf16 and fp8 from ml_dtypes alone."""
    return {6: 2, 7: 2, 9: 3}.get(code, code)
