"""How files are read: what `load`, `open_model` and `probe` take in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._types import checked_shape
from .errors import UsageError

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
Shapes = Mapping[int, Sequence[int]] | Mapping[str, Sequence[int]] | Sequence[Sequence[int] | None]
"""By an input's number or name, or in the order of the inputs."""
ShapePairs = list[tuple[int, list[int]]]

_ROUNDINGS = {"tflite": 0, "double": 1, "single": 2}  # tosavk_rounding
_HYBRIDS = {"exact": 0, "dequantize": 1}  # tosavk_hybrid
_LEVELS = {"8k": 0, "none": 1}  # tosavk_level
_PRECISIONS = {None: 0, "declared": 0, "exact": 0, "fp16": 1, "fast": 2}  # tosavk_precision


def _number_of(word: str | None, numbers: Mapping[Any, int], what: str) -> int:
    if not isinstance(word, (str, type(None))) or word not in numbers:
        raise UsageError(f"{word!r} is no {what}: {' or '.join(map(repr, numbers))}")
    return numbers[word]


def level_code(word: str) -> int:
    """The number of a level."""
    return _number_of(word, _LEVELS, "level")


def precision_of(word: str | None) -> int:
    """The number of a precision."""
    return _number_of(word, _PRECISIONS, "precision")


def options(
    rounding: str = "tflite",
    hybrid: str = "exact",
    level: str = "8k",
    signature: str | None = None,
    precision: str | None = None,
    f64_as_f32: bool = False,
) -> _native.LoadOptions:
    """What the library takes, without shapes."""
    if signature is not None and not (isinstance(signature, str) and signature):
        raise UsageError(f"{signature!r} is no signature's key")
    return _native.LoadOptions(
        _number_of(rounding, _ROUNDINGS, "rounding"),
        _number_of(hybrid, _HYBRIDS, "hybrid"),
        _number_of(level, _LEVELS, "level"),
        precision_of(precision),
        signature or "",
        bool(f64_as_f32),
    )


def shape_pairs(shapes: Shapes | None, names: Any) -> ShapePairs:
    """Shapes by the inputs' numbers; `names()` tells the inputs' names, and is called only where one is used."""
    if shapes is None:
        return []
    items: Any = shapes.items() if isinstance(shapes, Mapping) else enumerate(shapes)
    pairs: ShapePairs = []
    for which, shape in items:
        if shape is None:
            continue
        if isinstance(which, str):
            known = names()
            if which not in known:
                raise UsageError(f"there is no input {which!r}; there are {', '.join(known) or 'none'}")
            which = known.index(which)
        if isinstance(which, bool) or not isinstance(which, int) or not 0 <= which < 2**32:
            raise UsageError(f"{which!r} is neither the number nor the name of an input")
        pairs.append((which, list(checked_shape(shape))))
    return pairs


def opened(source: Source, given: _native.LoadOptions, max_executables: int = 0) -> _native.Model:
    """The file with its sizes open."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _native.Model.of_bytes(bytes(source), given, max_executables)
    return _native.Model.of_file(path_of(source), given, max_executables)


def text_of(value: Any, what: str) -> str:
    """A text as the library takes it, which ends at its first zero."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is a text, not {value!r}")
    if "\0" in value:
        raise UsageError(f"{what} has a zero character: {value!r}")
    return value


def path_of(source: Any) -> bytes:
    """A path as the system has it, which need not be UTF-8."""
    if not isinstance(source, (str, os.PathLike)):
        raise UsageError(f"a model is a path or bytes, not {type(source).__name__}")
    path = os.fsencode(source)
    if b"\0" in path:
        raise UsageError(f"{os.fsdecode(path)!r} is no path")
    return path
