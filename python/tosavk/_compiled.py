"""Networks compiled for a device: what runs, is timed and is checked."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import queue
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._context import Context, arranged
from ._device import Device, find_device
from ._future import Future
from ._graph import Graph
from ._options import options
from ._show import Text, html_table, text_table
from ._types import Array, TensorInfo, exact, flat
from .errors import FileError, NoDeviceError, UsageError


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
    variables has one, so that each run goes on from the one before. Made by `Network.compile` or
    `OpenModel.specialize`; it can be pickled (as a
    package, which another process opens on a device of the same kind without the compiler)."""

    def __init__(
        self,
        graph: Graph,
        device: Device,
        fuse: bool,
        progress: Any,
        executable: _native.Executable | None = None,
    ) -> None:
        self._graph = graph
        self._device = device
        self._fuse = fuse
        self._executable = executable or _native.compile(device._native, graph.native, fuse, progress)
        self._is_stateful = graph.native.variable_count > 0
        # Reentrant, so that a future may give its context back from wherever it is collected.
        self._contexts: queue.SimpleQueue[Context] = queue.SimpleQueue()
        if self._is_stateful:
            self._contexts.put(self.context())
        self._under_way: weakref.ref[Future] | None = None  # of a network with variables

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, type and shape of each input, in order."""
        return self._graph.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, type and shape of each output, in order."""
        return self._graph.outputs

    @property
    def device(self) -> Device:
        """Where it runs."""
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

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
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

    def submit(self, /, *inputs: Any, **named: Any) -> Future:
        """Starts a run with copies of the inputs and returns at once: a future whose `result` is what the call gives.
        Any number may be under way; of a network with variables one, for whose end the next call waits."""
        context = self._started(inputs, named, True)
        future = Future(context._native, context._collected, lambda: self._give_back(context))
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

    def profile(self, /, *inputs: Any, runs: Any = None, **named: Any) -> Profile:
        """Times every dispatch by the GPU's clock.

        Args:
            inputs, named: as in a call; without any they are random.
            runs: of how many the best counts; None: 10. It is the input of this name where the network has one.
        """
        runs = _number_or_input("runs", runs, 10, self.inputs, named)
        if runs < 1:
            raise UsageError(f"{runs} runs cannot be timed")
        values = arranged(self.inputs, inputs, named) if inputs or named else self.random_inputs(0)
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

    def verify(self, /, *inputs: Any, seeds: Any = None, **named: Any) -> Verification:
        """Compares the device with the reference, node by node: every operator within its bound of the specification,
        integers equal, fused runs with the bits of unfused ones. Ctrl-C ends it.

        Args:
            inputs, named: as in a call; without any they are random.
            seeds: how many random inputs; None: 5. It is the input of this name where the network has one.
        """
        seeds = _number_or_input("seeds", seeds, 5, self.inputs, named)
        checker = _native.Checker(self._device._native, self._graph.native)
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

    def random_inputs(self, seed: int = 0) -> list[Array]:
        """See `Network.random_inputs`."""
        return self._graph.random_inputs(seed)

    def package(self) -> bytes:
        """The network with its plan, shaders and weights as one file's bytes, which `tosavk.load` reads: to be trusted
        like a program."""
        return _native.package(self._device._native, self._graph.native, self._fuse)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `package` to a file, whole or not at all.

        Raises:
            FileError: it cannot be written.
        """
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        package = self.package()
        try:
            temporary.write_bytes(package)
            temporary.replace(target)
        except OSError as error:
            raise FileError(f"cannot write '{target}': {error.strerror}") from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def __reduce__(self) -> Any:
        return _unpickled, (self.package(), self._graph.ends, self._device.name, self._fuse)

    def __repr__(self) -> str:
        return f"<tosavk.CompiledNetwork of {self._graph} on {self._device.name!r}>"


def _number_or_input(name: str, given: Any, usual: int, inputs: Sequence[TensorInfo], named: dict[str, Any]) -> int:
    """A keyword's number, unless an input has its name, which then goes to `named`."""
    if given is not None and any(info.name == name for info in inputs):
        named[name] = given
        given = None
    return usual if given is None else given


def reopened(device: str) -> Device:
    """The device of that name, or on another machine the best there is."""
    try:
        return find_device(device)
    except NoDeviceError:
        return find_device(None)


def _unpickled(package: bytes, ends: Any, device: str, fuse: bool) -> CompiledNetwork:
    graph = Graph(_native.load_bytes(package, options(level="none")), ends)
    return CompiledNetwork(graph, reopened(device), fuse, None)
