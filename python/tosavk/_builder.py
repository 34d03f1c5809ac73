"""Graphs from calls."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._graph import Graph
from ._network import Network, Probe
from ._options import level_code, text_of
from ._types import (
    DType,
    TensorInfo,
    as_array,
    checked_shape,
    converted,
    flat,
    integers,
    numpy_type,
    to_info,
    type_code,
    type_name,
)
from .errors import UsageError


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """A value of a graph under construction: an input, a constant, or what a node makes."""

    builder: Builder = dataclasses.field(repr=False)
    number: int
    graph: int = dataclasses.field(repr=False)  # which of those that the builder made

    @property
    def info(self) -> TensorInfo:
        """Name, type and shape."""
        return to_info(self.builder._native.value(self.builder._operand(self)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor; empty for a single number."""
        return self.info.shape

    @property
    def dtype(self) -> str:
        """TOSA's name of the elements."""
        return self.info.dtype

    def __repr__(self) -> str:
        is_known = self.graph == self.builder._built
        return f"<tosavk.Value {self.info}>" if is_known else f"<tosavk.Value {self.number} of a graph that is built>"


Operand = Union[Value, npt.ArrayLike]
Type = Union[npt.DTypeLike, "tuple[npt.DTypeLike, Sequence[int]]"]


@functools.cache
def operators() -> frozenset[str]:
    """Names of all operators, those of our own domain as ``tosavk.SORT``."""
    rows = json.loads(_native.operators())
    return frozenset(row["op"] for row in rows) | frozenset(f"tosavk.{r['op']}" for r in rows if r["spec"] == ["tosavk"])


class Builder:
    """Makes a graph step by step. One thread at a time.

    Nodes are named as in the specification, and are methods too: ``b.node("ADD", x, y)`` is ``b.add(x, y)``. Operands
    are values; an array becomes a constant; a list or tuple of int becomes a constant of TOSA's type shape_t, as
    the operands ``shape``, ``start``, ``size`` and ``padding`` are. Attributes go by name, in lower case: bools and
    names may be left out (False, and the first of the names), everything else must be there. Every call is checked when
    it is made; one that fails leaves the builder as it was.

    >>> b = Builder("scaled")
    >>> x = b.input("x", (2, 3), "fp32")
    >>> b.output(b.mul(x, np.full((1, 3), 2, np.float32), np.zeros(1, np.int8)))
    >>> net = b.build()
    """

    def __init__(self, name: str = "", level: str = "8k", *, keep_refused: bool = False) -> None:
        """
        Args:
            name: the graph's.
            level: limits of the TOSA level to apply, "8k" or "none"; without them tensors have up to 8 dimensions.
            keep_refused: whether a node that is refused is kept for `probe`, where its `types` say type and shape of
                all its outputs, instead of an error. Such a graph cannot be built.

        Raises:
            UsageError: there is no such level.
        """
        self._native = _native.Builder(text_of(name, "the graph's name"), level_code(level), bool(keep_refused))
        self._built = 0

    def input(self, name: str, shape: Sequence[int] | int, dtype: npt.DTypeLike = "fp32") -> Value:
        """The next input of the graph (in a region: of the node's tensor list)."""
        return self._value(self._native.input(text_of(name, "a name"), type_code(dtype), checked_shape(shape)))

    def constant(self, array: Any, dtype: DType = None, name: str = "") -> Value:
        """A constant with a copy of an array's elements, in the type `dtype` (None: the array's; lists of int become
        i32 and of float fp32).

        Raises:
            BadInputError: an element does not fit.
        """
        source = as_array(array, "the constant")
        if dtype is None and not isinstance(array, (np.ndarray, np.generic)):
            plain = {"i": "i32", "f": "fp32"}.get(source.dtype.kind)
            dtype = plain if source.dtype.itemsize == 8 else None
        code = type_code(source.dtype if dtype is None else dtype)
        data = converted(source, numpy_type(code), "the constant", type_name(code))
        return self._value(self._native.constant(text_of(name, "a name"), code, source.shape, flat(data)))

    def shape(self, numbers: Sequence[int]) -> Value:
        """A constant of TOSA's type shape_t."""
        try:
            listed = list(integers(numbers))
        except TypeError:
            raise UsageError(f"{numbers!r} is no list of whole numbers") from None
        if any(not -(2**63) <= n < 2**63 for n in listed):
            raise UsageError("a shape has a number beyond 64 bits")
        return self._value(self._native.shape(listed))

    def variable(
        self, name: str, shape: Sequence[int] | int, dtype: npt.DTypeLike = "fp32", initial: Any = None
    ) -> None:
        """A tensor that keeps its value from run to run, for VARIABLE_READ and VARIABLE_WRITE (attribute ``name``).
        Its initial value is zero unless it is given."""
        code, dims = type_code(dtype), checked_shape(shape)
        source = as_array(np.zeros(dims, numpy_type(code)) if initial is None else initial, f"variable '{name}'")
        if source.shape != dims:
            raise UsageError(f"variable '{name}' has shape {dims}; its initial value's is {source.shape}")
        data = converted(source, numpy_type(code), f"variable '{name}'", type_name(code))
        self._native.variable(text_of(name, "a name"), code, dims, flat(data))

    def node(
        self,
        op: str,
        *operands: Operand | Sequence[int],
        types: Sequence[Type] | Type | None = None,
        label: str = "",
        regions: Sequence[Builder] = (),
        **attributes: Any,
    ) -> Any:
        """Appends a node.

        Args:
            op: ``"CONV2D"``, ``"tosavk.SORT"``; upper or lower case.
            operands: see the class.
            types: of the outputs, where the inputs leave a choice (CAST): a type, or a list of one for each output; a
                pair of type and shape where the shape is to be said too.
            label: name of the node, for messages and profiles.
            regions: of COND_IF (then, else) and WHILE_LOOP (condition, body), from `region`.
            attributes: numbers, lists of numbers, or the names of values.

        Returns:
            The output's `Value`; a tuple where there are several, or none.

        Raises:
            UsageError: the call is wrong.
            BadModelError: the specification forbids it.
            UnsupportedError: there is no such operator.
        """
        if not isinstance(op, str):
            raise UsageError(f"{op!r} is no operator's name")
        inputs = [self._operand(operand) for operand in operands]
        listed = [] if types is None else types if isinstance(types, list) else [types]
        outputs = [_type_and_shape(entry) for entry in listed]
        if not all(isinstance(region, Builder) for region in regions):
            raise UsageError("regions are builders")
        values = self._native.node(
            op,
            inputs,
            [(name, _attribute(name, value)) for name, value in attributes.items()],
            outputs,
            text_of(label, "a label"),
            [region._native for region in regions],
        )
        made = tuple(self._value(value) for value in values)
        return made[0] if len(made) == 1 else made

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if op.startswith("_") or op.upper() not in operators():
            raise AttributeError(f"a builder has no operator {op!r}")
        return functools.partial(self.node, op)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(op.lower() for op in operators() if "." not in op)]

    def region(self, name: str = "") -> Builder:
        """A builder for a region of COND_IF or WHILE_LOOP: its inputs are the node's tensor list, in order; it knows
        the variables, and no other value of the enclosing graph."""
        made = Builder.__new__(Builder)
        made._native = self._native.region(text_of(name, "a name"))
        made._built = 0
        return made

    def output(self, *values: Value) -> None:
        """The next outputs of the graph."""
        for value in values:
            if not isinstance(value, Value):
                raise UsageError(f"{value!r} is no value of this builder")
        for value in values:
            self._native.output(self._operand(value))

    def probe(self) -> Probe:
        """What becomes of the nodes so far; those of a region are in its own builder's."""
        return Probe(json.loads(self._native.probe()))

    def build(self) -> Network:
        """Checks the graph as a whole. The builder is then empty and may be used again."""
        network = Network(Graph(self._native.finish()))
        self._built += 1
        return network

    def _value(self, number: int) -> Value:
        return Value(self, number, self._built)

    def _operand(self, operand: Any) -> int:
        if isinstance(operand, Value):
            if operand.builder is not self:
                raise UsageError(f"value {operand.number} belongs to another builder")
            if operand.graph != self._built:
                raise UsageError(f"value {operand.number} belongs to a graph that this builder has built already")
            return operand.number
        if isinstance(operand, (list, tuple)) and all(isinstance(n, (int, np.integer)) for n in operand):
            return self.shape(operand).number
        return self.constant(operand).number


def _type_and_shape(entry: Any) -> tuple[int, tuple[int, ...]]:
    if isinstance(entry, tuple) and len(entry) == 2:
        return type_code(entry[0]), checked_shape(entry[1])
    return type_code(entry), ()


def _attribute(name: str, value: Any) -> list[int] | float | str:
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        raise UsageError(f"the attribute {name} is no path")
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        value = [value]
    if isinstance(value, (float, np.floating)):
        return float(value)
    try:
        numbers = [int(n) for n in value]
        if any(n != int(n) for n in value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"the attribute {name} is a number, a list of integers or text, not {value!r}") from None
    if any(not -(2**63) <= n < 2**63 for n in numbers):
        raise UsageError(f"the attribute {name} has a number beyond 64 bits")
    return numbers
