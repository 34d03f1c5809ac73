"""Compiled networks and their contexts: what runs."""

from __future__ import annotations

import dataclasses
import os
import queue
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._buffer import Buffer
from ._device import Device
from ._future import Future
from ._show import Text, html_table, text_table
from ._types import Array, TensorInfo, encode, exact, flat
from .errors import BadInputError, UsageError

if TYPE_CHECKING:
    from ._network import Network


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


def arranged(infos: Sequence[TensorInfo], given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
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
        if self._native.running:
            self._native.wait(None)
        self._run()

    def submit(self) -> Future:
        """Starts a run. The future's result is the context's `outputs`."""
        self._idle()
        self._native.submit()
        return Future(self, self.outputs, lambda: None)

    def output(self, which: int | str) -> Array:
        """A copy of an output of the last run."""
        index = _index_of(self._infos[1], which, "output")
        self._idle()
        info = self._infos[1][index]
        result = np.empty(info.shape, info.numpy_dtype)
        self._native.get_output(index, result.reshape(-1).view(np.uint8))
        return result

    def outputs(self) -> Any:
        """All outputs of the last run: an array where there is one, else `Outputs`."""
        results = [self.output(k) for k in range(len(self._infos[1]))]
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


@dataclasses.dataclass(frozen=True)
class DispatchTime:
    """One dispatch of a profile: operators, kernel, microseconds on the GPU (the best of the runs; 0 where the device
    has no timestamps), arithmetic operations (a multiply-add is two), and bytes read and written at least."""

    label: str
    kernel: str
    gpu_us: float
    work: float
    bytes: float


class Profile:
    """Times of a network's dispatches; printed, a table.

    Attributes:
        dispatches: a `DispatchTime` each, in order.
        wall_ms: milliseconds of a whole run as the host sees it (the best).
        gpu_ms: milliseconds of all dispatches together.
        device: the device's name.
    """

    def __init__(self, dispatches: list[DispatchTime], wall_ms: float, runs: int, device: str) -> None:
        self.dispatches = dispatches
        self.wall_ms = wall_ms
        self.gpu_ms = sum(d.gpu_us for d in dispatches) / 1000
        self.runs = runs
        self.device = device

    _HEAD = ("dispatch", "kernel", "us", "share", "Gop/s", "GB/s")
    _NUMERIC = (False, False, True, True, True, True)

    def _rows(self) -> list[tuple[str, ...]]:
        whole = sum(d.gpu_us for d in self.dispatches) or 1
        return [
            (
                d.label if len(d.label) <= 48 else d.label[:45] + "...",
                d.kernel,
                f"{d.gpu_us:.1f}",
                f"{100 * d.gpu_us / whole:.1f} %",
                f"{d.work / d.gpu_us / 1e3:.2f}" if d.gpu_us else "",
                f"{d.bytes / d.gpu_us / 1e3:.2f}" if d.gpu_us else "",
            )
            for d in self.dispatches
        ]

    def _foot(self) -> str:
        return (
            f"{len(self.dispatches)} dispatches, {self.gpu_ms:.3f} ms on the GPU, {self.wall_ms:.3f} ms in all, "
            f"the best of {self.runs} runs on {self.device}"
        )

    def __str__(self) -> str:
        return text_table(self._HEAD, self._rows(), self._NUMERIC) + "\n" + self._foot()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._HEAD, self._rows(), self._NUMERIC) + f"<p>{self._foot()}</p>"


@dataclasses.dataclass(frozen=True)
class Verification:
    """The outcome of `verify`; true if and only if it passed.

    Attributes:
        passed: every node was within its operator's bound (integers: equal), and fused runs had the unfused bits.
        values: tensors compared.
        worst: the largest error as a share of its bound.
        detail: a line about the worst element; where it failed, the first node that diverges.
    """

    passed: bool
    values: int
    worst: float
    detail: str

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return f"{verdict}: {self.values} tensors compared, largest error {self.worst:.3g} of its bound; {self.detail}"


class CompiledNetwork:
    """A network compiled for a device. Thread-safe: each call under way has a context of its own, but a network with
    variables has one, so that each run goes on from the one before. Made by `Network.compile`; it can be pickled (as a
    package, which another process opens on a device of the same kind without the compiler)."""

    def __init__(self, network: Network, device: Device, fuse: bool, progress: Any) -> None:
        self._network = network
        self._device = device
        self._fuse = fuse
        self._executable = _native.compile(device._native, network._graph, fuse, progress)
        self._is_stateful = network._graph.variable_count > 0
        # Reentrant, so that a future may give its context back from wherever it is collected.
        self._contexts: queue.SimpleQueue[Context] = queue.SimpleQueue()
        if self._is_stateful:
            self._contexts.put(self.context())
        self._under_way: weakref.ref[Future] | None = None  # of a network with variables

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return self._network.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return self._network.outputs

    @property
    def network(self) -> Network:
        """The network that was compiled, in the precision that it was compiled in."""
        return self._network

    @property
    def device(self) -> Device:
        return self._device

    @property
    def plan(self) -> Text:
        """What became of the graph: dispatches, fusion, memory. Reads well in a terminal and in a notebook."""
        return Text(self._executable.plan())

    @property
    def glsl(self) -> Text:
        """The shaders."""
        return Text(self._executable.glsl())

    def context(self) -> Context:
        """A context of its own: to bind buffers, or to keep inputs, from run to run."""
        return Context(self._executable, self.inputs, self.outputs)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs the network.

        Args:
            inputs, named: an array-like of its shape for each input, by position or by name (also one dict): elements
                of other types are converted where each fits. A `Buffer` is read in place.

        Returns:
            The output as an array, or several as `Outputs`.

        Raises:
            UsageError: an input is missing, or there are too many.
            BadInputError: an input has the wrong shape or type, or an element does not fit.
        """
        context = self._started(inputs, named, False)
        try:
            context._run()
            return context.outputs()
        finally:
            self._give_back(context)

    def submit(self, *inputs: Any, **named: Any) -> Future:
        """Starts a run with copies of the inputs and returns at once: a future whose `result` is what the call gives.
        Any number may be under way; of a network with variables one, for whose end the next call waits."""
        context = self._started(inputs, named, True)
        future = Future(context, context.outputs, lambda: self._give_back(context))
        if self._is_stateful:
            self._under_way = weakref.ref(future)
        return future

    def _started(self, given: Sequence[Any], named: Mapping[str, Any], submit: bool) -> Context:
        values = arranged(self.inputs, given, named)
        context = self._take()
        try:
            context._set(values)
            if submit:
                context._native.submit()
        except BaseException:
            self._give_back(context)
            raise
        return context

    def _take(self) -> Context:
        try:
            context = self._contexts.get_nowait()
        except queue.Empty:
            if not self._is_stateful:
                return self.context()
            context = self._take_the_only_one()
        try:
            context._idle()
        except Exception:  # a run that was left to itself has failed, which its own caller was told or did not ask
            pass
        except BaseException:
            self._contexts.put(context)
            raise
        return context

    def _take_the_only_one(self) -> Context:
        while True:
            future = self._under_way() if self._under_way else None
            if future is not None:
                future.wait()  # which gives the context back
            try:
                return self._contexts.get(timeout=0.02)
            except queue.Empty:
                continue

    def _give_back(self, context: Context) -> None:
        if context._bound[0] and not context._native.running:
            context._unbind()
        self._contexts.put(context)

    def profile(self, *inputs: Any, runs: int = 10, **named: Any) -> Profile:
        """Times every dispatch by the GPU's clock, the best of some runs. The inputs are as in a call; without any
        they are random."""
        if runs < 1:
            raise UsageError(f"{runs} runs cannot be timed")
        values = arranged(self.inputs, inputs, named) if inputs or named else self._network.random_inputs(0)
        context = Context(self._executable, self.inputs, self.outputs, profile=True)
        context._set(values)
        context.run()
        best: list[float] = []
        wall = float("inf")
        for _ in range(runs):
            begun = time.perf_counter()
            context.run()
            wall = min(wall, time.perf_counter() - begun)
            times = [row[2] for row in context._native.dispatches()]
            best = [min(pair) for pair in zip(best, times, strict=True)] if best else times
        rows = [
            DispatchTime(label, kernel, ns / 1000, work, size)
            for (label, kernel, _, work, size), ns in zip(context._native.dispatches(), best, strict=True)
        ]
        return Profile(rows, wall * 1000, runs, self._device.name)

    def verify(self, *inputs: Any, seeds: int = 5, **named: Any) -> Verification:
        """Compares the device with the reference, node by node: every operator within its bound of the specification,
        integers equal, fused runs with the bits of unfused ones.

        Args:
            inputs, named: as in a call; without any, `seeds` random inputs.
        """
        checker = _native.Checker(self._device._native, self._network._graph)
        if inputs or named:
            values = arranged(self.inputs, inputs, named)
            arrays = [exact(info, value, f"input {k}") for k, (info, value) in enumerate(zip(self.inputs, values))]
            return Verification(*checker.run_with([flat(array) for array in arrays]))
        if seeds < 1:
            raise UsageError(f"{seeds} inputs cannot be compared")
        passed, values_compared, worst, detail = True, 0, -1.0, ""
        for seed in range(seeds):
            ok, count, error, line = checker.run(seed)
            values_compared += count
            if error > worst or not ok:
                worst, detail = max(worst, error), line
            if not ok:
                passed = False
                break
        return Verification(passed, values_compared, worst, detail)

    def package(self) -> bytes:
        """The network with its plan, shaders and weights as one file's bytes, which `tosavk.load` reads: to be trusted
        like a program."""
        return _native.package(self._device._native, self._network._graph, self._fuse)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `package` to a file, whole or not at all."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            temporary.write_bytes(self.package())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def __reduce__(self) -> Any:
        return _unpickled, (self.package(), self._network._ends(), self._device.name, self._fuse)

    def __repr__(self) -> str:
        return f"<tosavk.CompiledNetwork of {self._network!r} on {self._device.name!r}>"


def _unpickled(package: bytes, ends: Any, device: str, fuse: bool) -> CompiledNetwork:
    from ._device import find_device
    from ._network import Network
    from .errors import NoDeviceError

    network = Network(_native.load_bytes(package, [], False, True), ends)
    try:
        opened = find_device(device)
    except NoDeviceError:  # another machine's: the best there is
        opened = find_device(None)
    return CompiledNetwork(network, opened, fuse, None)
