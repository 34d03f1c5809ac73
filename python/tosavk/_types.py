"""Element types, and how arrays become a tensor's bytes and back."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .errors import BadInputError, UsageError

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

# The numbers of tosavk_type, with the elements that numpy has for them. i4 is unpacked and i48 sign-extended, as in
# the library itself.
_NAMES = ("bool", "i4", "i8", "i16", "i32", "i48", "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32")
_NUMPY: tuple[np.dtype[Any], ...] = tuple(
    np.dtype(t)
    for t in (
        np.bool_, np.int8, np.int8, np.int16, np.int32, np.int64,
        ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float16, ml_dtypes.bfloat16, np.float32,
    )
)  # fmt: skip
# What an array's elements are to the library: numbers of tosavk_type and tosavk_host_type.
_CODES: dict[np.dtype[Any], int] = {
    **{dtype: code for code, dtype in enumerate(_NUMPY) if _NAMES[code] not in ("i4", "i48")},
    np.dtype(np.uint8): 64,
    np.dtype(np.uint16): 65,
    np.dtype(np.uint32): 66,
    np.dtype(np.uint64): 67,
    np.dtype(np.int64): 68,
    np.dtype(np.float64): 69,
}
# What files declare beside TOSA's types.
_HOST_NAMES = {
    64: "u8", 65: "u16", 66: "u32", 67: "u64", 68: "i64", 69: "f64", 70: "u64_words", 71: "i64_words"
}  # fmt: skip
# Those that are kept as a narrower type of the same numbers.
_WIDER = {"i64": np.dtype(np.int64), "f64": np.dtype(np.float64)}
# Those that are kept as a signed type of the same bits.
_UNSIGNED: dict[str, np.dtype[Any]] = {"u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32)}
_WORDS = {"u64_words": np.dtype(np.uint64), "i64_words": np.dtype(np.int64)}
_I4 = np.dtype(ml_dtypes.int4)
# The integers that have fewer numbers than their elements in numpy: TOSA's i4 has no -8.
_NARROW = {"i4": (-7, 7), "i48": (-(2**47), 2**47 - 1)}
MAX_RANK = 8
DType = npt.DTypeLike | None  # TOSA's name, or numpy's type


def type_code(dtype: npt.DTypeLike) -> int:
    """The number of an element type given by TOSA's name (``"i8"``) or as numpy has it (``numpy.int8``)."""
    if isinstance(dtype, str) and dtype in _NAMES:
        return _NAMES.index(dtype)
    try:
        found = np.dtype(dtype)
    except Exception:  # numpy raises many kinds
        found = None
    if found is not None:
        if found == np.dtype(np.int64):
            return _NAMES.index("i48")
        if found == _I4:
            return _NAMES.index("i4")
        if found in _NUMPY:
            return _CODES[found]
    raise UsageError(f"{dtype!r} is no element type; there are {', '.join(_NAMES)}, and numpy's for them")


def type_name(code: int) -> str:
    return _HOST_NAMES.get(code) or _NAMES[code]


def declared_code(name: str) -> int:
    """The reverse of `type_name`."""
    return {host: code for code, host in (*enumerate(_NAMES), *_HOST_NAMES.items())}[name]


def numpy_type(code: int) -> np.dtype[Any]:
    return _NUMPY[code]


def integers(numbers: Sequence[Any]) -> tuple[int, ...]:
    """Whole numbers of any kind. TypeError: one is none, or a text is given for a list of them."""
    return tuple(operator.index(number) for number in numbers)


def checked_shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    """A shape as a tuple of int: 0 to 8 dimensions, none negative."""
    try:
        dims = (int(shape),) if isinstance(shape, (int, np.integer)) else integers(shape)
    except TypeError:
        raise UsageError(f"{shape!r} is no shape") from None
    if len(dims) > MAX_RANK:
        raise UsageError(f"the shape {dims} has {len(dims)} dimensions, more than {MAX_RANK}")
    if any(dim < 0 or dim >= 2**63 for dim in dims):
        raise UsageError(f"the shape {dims} has a dimension that is no size")
    return dims


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """An input or output of a graph.

    Attributes:
        name: its name in the file or builder.
        dtype: TOSA's name of its elements: ``bool``, ``i4``, ``i8``, ``i16``, ``i32``, ``i48``, ``fp8e4m3``,
            ``fp8e5m2``, ``fp16``, ``bf16`` or ``fp32``.
        shape: 0 to 8 dimensions.
        scale, zero_point: ``real = scale * (element - zero_point)`` where the file says so; a scale of 0 means that
            the tensor is not quantized, or that nobody says how.
        declared: what the file calls the elements; `dtype` itself, but for ``u8``, ``u16`` and ``u32``, which are kept
            as an i8, i16 or i32 of the same bits, ``i64``, which is kept as an i32 of the same number, and ``f64``, as
            an fp32; and of StableHLO's 64-bit integers ``i64_words`` and ``u64_words``, whose words are a last dimension of 2 in buffers and one
            element in arrays. Arrays have this type, buffers `dtype`.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0
    declared: str = ""

    def __post_init__(self) -> None:
        if not self.declared:
            object.__setattr__(self, "declared", self.dtype)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The elements of arrays that hold such a tensor: ``int8`` for i4, ``int64`` for i48 and i64, ``float64`` for
        f64, unsigned ones for u8, u16 and u32, those of ml_dtypes for bf16 and fp8."""
        if self.declared in _WIDER:
            return _WIDER[self.declared]
        if self.declared in _WORDS:
            return _WORDS[self.declared]
        return self.stored_dtype

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of arrays that hold such a tensor: without the dimension of its words."""
        return self.shape[: len(self.shape) - len(word_dimensions(self.declared))]

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        """What its bytes in the graph are: ``int32`` for i64."""
        return _UNSIGNED[self.declared] if self.declared in _UNSIGNED else numpy_type(_NAMES.index(self.dtype))

    @property
    def nbytes(self) -> int:
        """Size in bytes, in the graph and in buffers."""
        count = 1
        for dim in self.shape:
            count *= dim
        return count * self.stored_dtype.itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.declared} {'x'.join(map(str, self.shape)) or 'scalar'}"


def to_info(raw: tuple[str, int, Sequence[int], int, float, int, int]) -> TensorInfo:
    name, code, shape, _, scale, zero_point, declared = raw
    return TensorInfo(name, type_name(code), tuple(shape), scale, zero_point, type_name(declared))


def word_dimensions(declared: str) -> tuple[int, ...]:
    """What a tensor's shape has behind that of its arrays."""
    return (2,) if declared in _WORDS else ()


def as_declared(info: TensorInfo, stored: Array) -> Array:
    """A tensor's elements in the graph as arrays hold them."""
    if info.array_shape != info.shape:
        return stored.view(info.numpy_dtype).reshape(info.array_shape)
    return stored.astype(info.numpy_dtype, copy=False)


def array_of(info: TensorInfo, data: bytes) -> Array:
    """An array of its own, of what a tensor's bytes in the graph are."""
    return as_declared(info, np.frombuffer(data, info.stored_dtype).reshape(info.shape)).copy()


def flat(array: Array) -> Bytes:
    """The bytes of an array, copied only where they do not lie in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def as_array(value: Any, what: str) -> Array:
    """Any array-like of numbers in host byte order. `what` names it in messages."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInputError(f"{what} is no array: {error}") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype == _I4:
        array = array.astype(np.int8)
    if array.dtype not in _CODES:
        raise BadInputError(f"{what} has elements of type {array.dtype}, which no tensor has")
    return array


def encode(info: TensorInfo, value: Any, what: str) -> tuple[int, bool, Bytes]:
    """What the library takes for an input: the type's number, whether it is the tensor's own, and the bytes."""
    array = as_array(value, what)
    if array.shape != info.array_shape:
        raise BadInputError(f"{what} '{info.name}' has shape {info.array_shape}; the array's is {array.shape}")
    code = _CODES[array.dtype]
    return code, type_name(code) == info.declared and info.declared not in _WIDER, flat(array)


def exact(info: TensorInfo, value: Any, what: str) -> Array:
    """The array in the tensor's own elements, for calls that take nothing else: each element must fit."""
    array = as_array(value, what)
    if array.shape != info.array_shape:
        raise BadInputError(f"{what} '{info.name}' has shape {info.array_shape}; the array's is {array.shape}")
    if info.array_shape != info.shape:
        numbers = converted(array, info.numpy_dtype, f"{what} '{info.name}'", info.declared)
        return np.ascontiguousarray(numbers).reshape(-1).view(np.int32).reshape(info.shape)
    return converted(array, info.stored_dtype, f"{what} '{info.name}'", info.dtype)


def converted(array: Array, dtype: np.dtype[Any], what: str, element: str) -> Array:
    """The array with other elements: integers must be equal, floats become the nearest, but no infinity of a number.
    `element` is TOSA's name of them, since i4 and i48 hold less than numpy's type for them."""
    result = array if array.dtype == dtype else _cast(array, dtype, what)
    if element in _NARROW:
        least, greatest = _NARROW[element]
        _refuse(array, (result >= least) & (result <= greatest), what, element)
    return result


def _cast(array: Array, dtype: np.dtype[Any], what: str) -> Array:
    with np.errstate(all="ignore"):
        result = array.astype(dtype)
    if _is_float(dtype):
        fits = np.isfinite(result.astype(np.float64)) | ~np.isfinite(array.astype(np.float64))
    else:
        fits = (result.astype(object) == array.astype(object)) if array.size else np.ones(array.shape, bool)
    _refuse(array, np.asarray(fits, bool), what, str(dtype))
    return result


def _refuse(array: Array, fits: npt.NDArray[np.bool_], what: str, name: str) -> None:
    if not np.all(fits):
        at = tuple(int(k) for k in np.argwhere(~fits)[0])
        raise BadInputError(f"{what}: element {at} is {array[at]}, which {name} does not hold")


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype in (_NUMPY[6], _NUMPY[7], _NUMPY[9])
