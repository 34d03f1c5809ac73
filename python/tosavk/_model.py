"""Open models: files whose sizes are known late."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _native
from ._compiled import CompiledNetwork, reopened
from ._context import Outputs, arranged
from ._device import Device, DeviceInfo, DeviceLike, find_device
from ._graph import Graph
from ._network import Network
from ._options import ShapePairs, Shapes, Source, opened, options, shape_pairs
from ._progress import Progress, reporter
from ._types import TensorInfo, as_array, as_declared, encode, to_info, type_name, word_dimensions
from .errors import BadInputError, UsageError

_Given = tuple[tuple[Any, ...], ShapePairs, int]  # arguments of `options`, shapes, executables to keep

Sizes = Mapping[str, int]
"""By symbol."""


@dataclasses.dataclass(frozen=True)
class OpenTensorInfo:
    """An input of an open model.

    Attributes:
        name, dtype, scale, zero_point, declared: as of `TensorInfo`.
        shape: its dimensions, None where a size is known late.
        symbols: the symbol of each dimension that is None, such as ``"tokens[1]"``; None elsewhere.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    symbols: tuple[str | None, ...]
    scale: float
    zero_point: int
    declared: str

    def of_shape(self, shape: tuple[int, ...]) -> TensorInfo:
        """The input once it has that shape."""
        return TensorInfo(self.name, self.dtype, shape, self.scale, self.zero_point, self.declared)

    def __str__(self) -> str:
        dims = ("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.name}: {self.declared} {'x'.join(dims) or 'scalar'}"


class OpenModel:
    """A file that stays open for one set of sizes after another. Thread-safe. Made by `open_model`.

    A call takes inputs of any shape that fits: the first of each set of sizes compiles (shaders and weights are shared
    by all), those that were used last are kept. Calls run one after another, on one context; `specialize` gives
    networks for fixed sizes, which run side by side. It can be pickled: as the file, which another process opens.
    """

    def __init__(self, native: _native.Model, device: DeviceLike, given: _Given) -> None:
        self._native = native
        self._wanted = device
        self._given = given
        self._device: Device | None = None
        self._context: _native.Context | None = None
        self._lock = threading.Lock()
        self._symbols = tuple(native.symbols)
        self._inputs = tuple(self._info(*raw) for raw in native.inputs)

    def _info(
        self, name: str, code: int, shape: list[int], symbols: list[int], scale: float, zero: int, declared: int
    ) -> OpenTensorInfo:
        dims = tuple(None if symbol >= 0 else dim for dim, symbol in zip(shape, symbols, strict=True))
        names = tuple(self._symbols[symbol] if symbol >= 0 else None for symbol in symbols)
        return OpenTensorInfo(name, type_name(code), dims, names, scale, zero, type_name(declared))

    @property
    def inputs(self) -> tuple[OpenTensorInfo, ...]:
        """An `OpenTensorInfo` for each input."""
        return self._inputs

    @property
    def symbols(self) -> tuple[str, ...]:
        """The sizes that are known late, each the input's name and the dimension: ``"tokens[1]"``. None at all where
        the file has every size."""
        return self._symbols

    @property
    def device(self) -> Device:
        """What it runs on; opened when it is first asked for.

        Raises:
            NoDeviceError: there is no such device.
        """
        with self._lock:
            return self._opened()

    def _opened(self) -> Device:
        if self._device is None:
            self._device = find_device(self._wanted)
        return self._device

    def network(self, shapes: Shapes | None = None, sizes: Sizes | None = None) -> Network:
        """The graph for fixed sizes: to look at, to verify, to run on another device.

        Args:
            shapes: of inputs, by name or number, or one for each.
            sizes: of symbols; where shapes say the same, they must agree.

        Raises:
            UsageError: there is no such input or symbol.
            BadInputError: a size is missing, or does not fit; the sentence names the dimension.
            BadModelError, UnsupportedError: the model cannot have these sizes.
        """
        return Network(Graph(self._native.graph(*self._bindings(shapes, sizes))))

    def specialize(
        self,
        shapes: Shapes | None = None,
        sizes: Sizes | None = None,
        *,
        device: DeviceLike = None,
        fuse: bool = True,
        progress: Progress = None,
    ) -> CompiledNetwork:
        """The network compiled for fixed sizes: one that is kept, or a new one.

        Args:
            shapes, sizes: as of `network`.
            device: another one than the model's.
            fuse, progress: as of `Network.compile`.

        Raises:
            As `network`, and NoDeviceError.
        """
        bindings = self._bindings(shapes, sizes)
        target = self.device if device is None else find_device(device)
        with reporter(progress, "compiling") as report:
            graph = Graph(self._native.graph(*bindings))
            executable = _native.specialize(self._native, target._native, *bindings, bool(fuse), report)
        return CompiledNetwork(graph, target, bool(fuse), None, executable)

    def _bindings(self, shapes: Shapes | None, sizes: Sizes | None) -> tuple[list[tuple[int, int]], ShapePairs]:
        if not isinstance(sizes, (Mapping, type(None))):
            raise UsageError(f"sizes are a dict of symbols and their numbers, not {sizes!r}")
        bound = []
        for symbol, value in (sizes or {}).items():
            if symbol not in self._symbols:
                raise UsageError(f"there is no symbol {symbol!r}; there are {', '.join(self._symbols) or 'none'}")
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not -(2**63) <= value < 2**63:
                raise UsageError(f"{value!r} is no size")
            bound.append((self._symbols.index(symbol), int(value)))
        return bound, shape_pairs(shapes, lambda: [info.name for info in self._inputs])

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Runs the network for the sizes that the inputs have. Ctrl-C ends it, and what is compiled for new ones.

        Args:
            inputs, named: an array-like for each input, as of `CompiledNetwork.__call__`.

        Returns:
            The output as an array, or several as `Outputs`. Variables go on from call to call, unless their shapes
            change.

        Raises:
            UsageError: an input is missing, or there are too many.
            BadInputError: an input has a shape or type that does not fit, or an element does not.
        """
        values = arranged(self._inputs, inputs, named)
        given = []
        for k, (info, value) in enumerate(zip(self._inputs, values, strict=True)):
            array = as_array(value, f"input {k}")
            shape = array.shape + word_dimensions(info.declared)
            if len(shape) != len(info.shape) or any(d not in (None, n) for d, n in zip(info.shape, shape)):
                raise BadInputError(f"input {k} is {info}; the array's shape is {array.shape}")
            given.append((shape, *encode(info.of_shape(shape), array, f"input {k}")))
        with self._lock:
            context = self._started(given)
            context.run()
            outputs = [to_info(raw) for raw in context.outputs]
            results = []
            for k, output in enumerate(outputs):
                result = np.empty(output.shape, output.stored_dtype)
                context.get_output(k, result.reshape(-1).view(np.uint8))
                results.append(as_declared(output, result))
        return results[0] if len(results) == 1 else Outputs(results, [output.name for output in outputs])

    def _started(self, given: Any) -> _native.Context:
        if self._context is None:
            self._context = _native.Context(self._native, self._opened()._native)
        if self._context.running:  # left by a Ctrl-C
            self._context.wait(None)
        for k, (shape, *_) in enumerate(given):
            self._context.set_input_shape(k, list(shape))
        for k, (_, code, same, data) in enumerate(given):
            self._context.set_input(k, code, data, same)
        return self._context

    def reset_variables(self) -> None:
        """Gives the variables that calls go on with their initial values again."""
        with self._lock:
            if self._context is not None:
                self._context.reset_variables()

    def counters(self) -> dict[str, int]:
        """What all sizes so far have cost: ``specialized`` (executables made), ``reused``, ``kept``,
        ``shaders_compiled``, ``pipelines_created`` and ``weight_bytes_copied``."""
        return self._native.counters()

    def __reduce__(self) -> Any:
        wanted = self._wanted
        is_found = isinstance(wanted, (Device, DeviceInfo))  # which another process knows by name
        device = wanted.name if isinstance(wanted, (Device, DeviceInfo)) else wanted
        return _unpickled, (self._native.file(), self._given, device, is_found)

    def __repr__(self) -> str:
        return f"<tosavk.OpenModel: {', '.join(map(str, self._inputs))}>"


def open_model(
    source: Source,
    *,
    shapes: Shapes | None = None,
    device: DeviceLike = None,
    rounding: str = "tflite",
    hybrid: str = "exact",
    level: str = "8k",
    signature: str | None = None,
    f64_as_f32: bool = False,
    precision: str | None = None,
    max_executables: int = 16,
) -> OpenModel:
    """Opens a network whose sizes are known late: a TensorFlow Lite or TOSA file, as a path or its bytes.

    Args:
        shapes: inputs that have one shape for good, as of `load`.
        device: what calls run on: a `Device`, or what `Device` takes.
        rounding, hybrid, level, signature, f64_as_f32: as of `load`.
        precision: as of `Network.compile`.
        max_executables: how many of the compiled networks that were used last are kept.

    Raises:
        FileError: the file cannot be read.
        BadModelError: it is no such file, or its structure is wrong. (Operators are looked at when sizes are known.)
        UnsupportedError: it is a package, which has its sizes.
    """
    if isinstance(max_executables, bool) or not isinstance(max_executables, int) or not 0 < max_executables < 2**32:
        raise UsageError(f"{max_executables!r} is no number of executables to keep")
    words = rounding, hybrid, level, signature, precision, f64_as_f32
    pairs = shape_pairs(shapes, lambda: [raw[0] for raw in opened(source, options(*words)).inputs])
    return _opened(source, device, (words, pairs, max_executables))


def _opened(source: Source, device: DeviceLike, given: _Given) -> OpenModel:
    words, pairs, max_executables = given
    how = options(*words)
    if pairs:
        how.set_shapes(pairs)
    return OpenModel(opened(source, how, max_executables), device, given)


def _unpickled(file: bytes, given: _Given, device: DeviceLike, is_name: bool) -> OpenModel:
    return _opened(file, reopened(str(device)) if is_name else device, given)
