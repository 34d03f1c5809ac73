"""Contexts: inputs, outputs and buffers of one run."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from . import _native
from ._buffer import Buffer
from ._future import Future
from ._types import Array, TensorInfo, as_declared, encode
from .errors import BadInputError, UsageError


class Outputs(tuple[Any, ...]):
    """Several outputs: a tuple that also knows their names, ``outputs["name"]``."""

    names: tuple[str, ...]

    def __new__(cls, values: Sequence[Any], names: Sequence[str]) -> Outputs:
        self = super().__new__(cls, values)
        self.names = tuple(names)
        return self

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"there is no output {key!r}; there are {', '.join(self.names)}")
            return super().__getitem__(self.names.index(key))
        return super().__getitem__(key)

    def __reduce__(self) -> Any:
        return Outputs, (list(self), self.names)

    def asdict(self) -> dict[str, Any]:
        """By name."""
        return dict(zip(self.names, self, strict=True))


class Named(Protocol):
    """An input, of whatever kind."""

    @property
    def name(self) -> str: ...


def arranged(infos: Sequence[Named], given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The inputs in the graph's order: by position, then by name; one dict is as good as names."""
    if len(given) == 1 and not named and isinstance(given[0], Mapping):
        named = given[0]
        given = ()
    if len(given) > len(infos):
        raise UsageError(f"{len(given)} inputs were given, but the graph has {len(infos)}")
    values: list[Any] = list(given) + [None] * (len(infos) - len(given))
    places = {info.name: k for k, info in enumerate(infos)}
    for name, value in named.items():
        if name not in places:
            raise UsageError(f"there is no input {name!r}; there are {', '.join(places) or 'none'}")
        if places[name] < len(given):
            raise UsageError(f"input {name!r} was given twice")
        values[places[name]] = value
    missing = [info.name for info, value in zip(infos, values, strict=True) if value is None]
    if missing:
        raise UsageError(f"there is no value for input {', '.join(map(repr, missing))}")
    return values


class Context:
    """What one run needs: inputs, outputs and memory. One thread at a time. Made by `CompiledNetwork.context`.

    Inputs keep their values from run to run. A bound buffer is read or written in place; runs of several contexts on
    one device are in the order of their submits, so that one may read what another writes without waiting between.
    """

    def __init__(
        self,
        executable: _native.Executable,
        inputs: tuple[TensorInfo, ...],
        outputs: tuple[TensorInfo, ...],
        profile: bool = False,
    ) -> None:
        self._infos = inputs, outputs
        self._native = _native.Context(executable, profile)
        self._run = self._native.run
        # What is bound stays alive, with the memory of others that it may stand for: inputs, outputs.
        self._bound: tuple[dict[int, Buffer], dict[int, Buffer]] = {}, {}
        self._under_way: weakref.ref[Future] | None = None

    def set_input(self, which: int | str, value: Any) -> None:
        """Copies an array of the input's shape; elements of other types are converted, each checked.

        Raises:
            BadInputError: the shape is another, or an element does not fit.
        """
        index = _index_of(self._infos[0], which, "input")
        self._idle()
        code, same, data = encode(self._infos[0][index], value, f"input {index}")
        self._native.set_input(index, code, data, same)
        self._bound[0].pop(index, None)

    def bind_input(self, which: int | str, buffer: Buffer | None) -> None:
        """Reads the input from a buffer of its type and shape from now on; None undoes it."""
        self._bind(0, _index_of(self._infos[0], which, "input"), buffer, self._native.bind_input)

    def bind_output(self, which: int | str, buffer: Buffer | None) -> None:
        """Writes the output to a buffer of its type and shape from now on; None undoes it."""
        self._bind(1, _index_of(self._infos[1], which, "output"), buffer, self._native.bind_output)

    def _bind(self, side: int, index: int, buffer: Buffer | None, bind: Any) -> None:
        self._idle()
        bind(index, _native_of(buffer, self._infos[side][index]), 0)
        if buffer is None:
            self._bound[side].pop(index, None)
        else:
            self._bound[side][index] = buffer

    def run(self) -> None:
        """Runs and waits. Ctrl-C ends the wait; the run then goes on, and the next call waits for it first.

        Raises:
            UsageError: an input was neither set nor bound.
        """
        self._idle()
        self._run()

    def submit(self) -> Future:
        """Starts a run. The future's result is the context's `outputs` of this run: whatever the context does next
        waits for it first."""
        self._idle()
        self._native.submit()
        future = Future(self._native, self._collected, lambda: None)
        self._under_way = weakref.ref(future)
        return future

    def output(self, which: int | str) -> Array:
        """A copy of an output of the last run."""
        index = _index_of(self._infos[1], which, "output")
        self._idle()
        return self._read(index)

    def _read(self, index: int) -> Array:
        info = self._infos[1][index]
        result = np.empty(info.shape, info.stored_dtype)
        if index in self._bound[1]:  # which other runs may use: Ctrl-C ends this wait, and not that of get_output
            self._bound[1][index].wait()
        self._native.get_output(index, result.reshape(-1).view(np.uint8))
        return as_declared(info, result)

    def outputs(self) -> Any:
        """All outputs of the last run: an array where there is one, else `Outputs`."""
        self._idle()
        return self._collected()

    def _collected(self) -> Any:
        """`outputs` of a run that is known to be over."""
        results = [self._read(k) for k in range(len(self._infos[1]))]
        return results[0] if len(results) == 1 else Outputs(results, [info.name for info in self._infos[1]])

    def reset_variables(self) -> None:
        """Gives the graph's variables their initial values again."""
        self._idle()
        self._native.reset_variables()

    def counters(self) -> dict[str, int]:
        """What was done since the context was made: ``runs``, ``submits``, ``host_copies`` (inputs and outputs that
        went through the host), ``buffer_copies`` (that the device copied because a buffer did not suit), ..."""
        return self._native.counters()

    def _idle(self) -> None:
        future = self._under_way and self._under_way()
        if future:  # before its outputs are another run's
            future.wait()
        self._under_way = None
        if self._native.running:
            self._native.wait(None)

    def _set(self, values: Sequence[Any]) -> None:
        for k, value in enumerate(values):
            if isinstance(value, Buffer):
                self.bind_input(k, value)
            else:
                self.set_input(k, value)

    def _unbind(self) -> None:
        for k in tuple(self._bound[0]):
            self.bind_input(k, None)


def _index_of(infos: Sequence[TensorInfo], which: int | str, what: str) -> int:
    if isinstance(which, str):
        for k, info in enumerate(infos):
            if info.name == which:
                return k
        raise UsageError(f"there is no {what} {which!r}; there are {', '.join(info.name for info in infos)}")
    if isinstance(which, bool) or not isinstance(which, int):
        raise UsageError(f"{which!r} is neither the number nor the name of an {what}")
    if not 0 <= which < len(infos):
        raise UsageError(f"there is no {what} {which}; there are {len(infos)}")
    return which


def _native_of(buffer: Buffer | None, info: TensorInfo) -> _native.Buffer | None:
    if buffer is None:
        return None
    if not isinstance(buffer, Buffer):
        raise UsageError(f"{type(buffer).__name__} is no tosavk.Buffer")
    if buffer.shape != info.shape or buffer.dtype != info.dtype:
        raise BadInputError(f"'{info.name}' is {info.dtype} {info.shape}; the buffer is {buffer.dtype} {buffer.shape}")
    return buffer._native
