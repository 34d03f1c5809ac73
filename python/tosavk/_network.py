"""Networks: graphs from files, bytes, problem lines and builders."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from typing import Any

from . import _native
from ._compiled import CompiledNetwork, Profile, Verification
from ._context import Outputs, arranged
from ._device import Device, DeviceLike, find_device
from ._future import Future
from ._graph import Graph
from ._options import Shapes, Source, opened, options, path_of, precision_of, shape_pairs, text_of
from ._progress import Progress, reporter
from ._show import Text, html_table, text_table
from ._types import Array, TensorInfo, array_of, exact, flat
from .errors import UnsupportedError, UsageError


class Network:
    """A graph: immutable, thread-safe. Made by `load`, `problem` or `Builder.build`. It runs as it is, on the best
    device, for which it is compiled at the first call; `compile` says more. It can be pickled
    (which needs a device where an input or output has no elements)."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._lock = threading.Lock()
        self._compiled: CompiledNetwork | None = None
        self._process = os.getpid()

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """A `TensorInfo` for each input."""
        return self._graph.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """A `TensorInfo` for each output."""
        return self._graph.outputs

    def compile(
        self,
        device: DeviceLike = None,
        precision: str | None = None,
        cache_dir: str | os.PathLike[str] | bool | None = None,
        *,
        fuse: bool = True,
        progress: Progress = None,
    ) -> CompiledNetwork:
        """Compiles the network for a device, which may take seconds the first time a device sees it. Ctrl-C ends it.

        Args:
            device: a `Device`, or what `Device` takes.
            precision: ``"fp16"`` runs operators on fp32 in fp16 wherever TOSA has such a row: inputs and outputs keep
                their types, results differ by what fp16 loses. ``"fast"`` does so by the device's own fp16 arithmetic
                as it is, its functions and short sums included. None or ``"exact"``: as the graph says.
            cache_dir: as of `Device`.
            fuse: False makes one dispatch per operator.
            progress: None shows a bar of tqdm after a second where that is installed and somebody looks; True always;
                False never; a function is called with (done, total), counts of shaders, and may raise to end it.

        Raises:
            NoDeviceError: there is no such device.
            UnsupportedError: the device cannot run the graph.
        """
        number = precision_of(precision)
        target = find_device(device, cache_dir)
        with reporter(progress, "compiling") as report:
            return CompiledNetwork(self._graph.with_precision(number), target, bool(fuse), report)

    def _default(self) -> CompiledNetwork:
        if self._process != os.getpid():  # forked off: the parent's device cannot be used, and may be locked
            self._process, self._lock, self._compiled = os.getpid(), threading.Lock(), None
        with self._lock:
            if self._compiled is None:
                self._compiled = self.compile()
            return self._compiled

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Runs on the best device: see `CompiledNetwork.__call__`."""
        arranged(self.inputs, inputs, named)  # what is wrong is said before anything is compiled
        return self._default()(*inputs, **named)

    def submit(self, /, *inputs: Any, **named: Any) -> Future:
        """See `CompiledNetwork.submit`."""
        arranged(self.inputs, inputs, named)
        return self._default().submit(*inputs, **named)

    def profile(self, /, *inputs: Any, runs: Any = None, **named: Any) -> Profile:
        """See `CompiledNetwork.profile`."""
        return self._default().profile(*inputs, runs=runs, **named)

    def verify(self, /, *inputs: Any, seeds: Any = None, **named: Any) -> Verification:
        """See `CompiledNetwork.verify`."""
        return self._default().verify(*inputs, seeds=seeds, **named)

    @property
    def plan(self) -> Text:
        """See `CompiledNetwork.plan`."""
        return self._default().plan

    def reference(self, /, *inputs: Any, **named: Any) -> Any:
        """The reference interpreter's outputs for inputs as in a call. Needs no device; slow. Ctrl-C ends it."""
        values = arranged(self.inputs, inputs, named)
        arrays = [flat(exact(info, v, f"input {k}")) for k, (info, v) in enumerate(zip(self.inputs, values))]
        results = [
            array_of(info, data)
            for data, info in zip(_native.reference_run(self._graph.native, arrays), self.outputs, strict=True)
        ]
        return results[0] if len(results) == 1 else Outputs(results, [info.name for info in self.outputs])

    def random_inputs(self, seed: int = 0) -> list[Array]:
        """An array for each input, the same for the same seed everywhere."""
        return self._graph.random_inputs(seed)

    @property
    def listing(self) -> Text:
        """The graph, a line a node."""
        return Text(self._graph.native.listing())

    @property
    def dot(self) -> str:
        """The graph for Graphviz."""
        return self._graph.native.dot()

    @property
    def node_count(self) -> int:
        """How many operators the graph has."""
        return self._graph.native.node_count

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph as a TOSA 1.0 file, whole or not at all; scales of quantized tensors are left out."""
        self._graph.native.save(path_of(path))

    def __bytes__(self) -> bytes:
        """The bytes of such a file."""
        return self._graph.native.to_bytes()

    def __reduce__(self) -> Any:
        # A package can say that there are no elements, and what a file called them; a .tosa file cannot.
        packed = any(0 in end.shape or end.declared != end.dtype for end in (*self.inputs, *self.outputs))
        try:
            file = b"" if packed else bytes(self)
        except UnsupportedError:  # what precision fast has made of a graph
            packed = True
        if packed:
            file = _native.package(find_device(None)._native, self._graph.native, True)
        return _unpickled, (file, self._graph.ends)

    def __repr__(self) -> str:
        return f"<tosavk.Network of {self._graph}>"


def _unpickled(file: bytes, ends: Any) -> Network:
    return Network(Graph(_native.load_bytes(file, options(level="none")), ends))


def load(
    source: Source,
    *,
    shapes: Shapes | None = None,
    rounding: str = "tflite",
    hybrid: str = "exact",
    level: str = "8k",
    signature: str | None = None,
    f64_as_f32: bool = False,
) -> Network:
    """Loads a network: a TensorFlow Lite file, a TOSA file (1.0, 0.80 or 0.30), a StableHLO program (text, bytecode or
    of ``jax.export``) or a package of ours; its content says which.

    Args:
        source: a path, or the file's bytes.
        shapes: for inputs with dynamic dimensions, by their number or name, or one for each; a dimension that nobody
            names is 1. `open_model` takes one size after another.
        rounding: how TensorFlow Lite's quantized operators scale their sums: ``"tflite"`` as its reference kernels
            (ai-edge-litert 2.3.0), or all with ``"double"`` rounding (those of 2.14) or all with ``"single"``.
        hybrid: what becomes of float activations that meet int8 weights: ``"exact"`` quantizes them at run time as
            TensorFlow Lite does, ``"dequantize"`` makes the weights floats.
        level: ``"8k"`` refuses graphs beyond TOSA's level 8K, ``"none"`` does not.
        signature: the key of one of a TensorFlow Lite file's signatures (`describe` tells them), whose subgraph and
            names count. None: the main subgraph.
        f64_as_f32: whether f64 and complex<f64> of a StableHLO program are computed as f32, instead of refused.

    Raises:
        FileError: the file cannot be read.
        BadModelError: it is no such file, or breaks its format or the specification.
        UnsupportedError: an operator is not implemented (`probe` tells of all).
    """
    given = options(rounding, hybrid, level, signature, f64_as_f32=f64_as_f32)
    if shapes is not None:
        given.set_shapes(shape_pairs(shapes, lambda: [raw[0] for raw in opened(source, given).inputs]))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Network(Graph(_native.load_bytes(bytes(source), given)))
    return Network(Graph(_native.load_file(path_of(source), given)))


def problem(line: str, *, level: str = "8k") -> Network:
    """A graph said in one line, such as ``"conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale clamp"``, with random weights
    that follow from the line alone.

    Raises:
        UsageError: what is wrong in the line.
    """
    return Network(Graph(_native.load_problem(text_of(line, "a problem"), options(level=level))))


@dataclasses.dataclass(frozen=True)
class ProbedOperator:
    """An operator of a probed file: where it stands, its number there, its name, and why it is refused (``""``: it is
    taken)."""

    region: str
    index: int
    name: str
    taken: bool
    sentence: str


class Probe:
    """What becomes of a file's operators; true if and only if the file loads. Printed, a table of what is refused."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.format: str = said["format"]
        """``"tflite"``, ``"tosa"``, ``"stablehlo"`` or, of `Builder.probe`, ``"builder"``."""
        self.taken: bool = said["taken"]
        self.operators = [
            ProbedOperator(op["region"], op["index"], op["name"], op["taken"], op.get("sentence", op.get("needs", "")))
            for op in said["operators"]
        ]
        """A `ProbedOperator` each, in the order of the file."""
        self.graph: list[str] = said.get("graph", [])
        """Sentences about what else is refused, such as an input."""

    def __bool__(self) -> bool:
        return self.taken

    _HEAD = ("operator", "number", "why it is not taken")

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [(op.name, str(op.index), op.sentence) for op in self.operators if not op.taken]
        return rows + [("", "", sentence) for sentence in self.graph]

    def _line(self) -> str:
        taken = sum(op.taken for op in self.operators)
        return f"{taken} of {len(self.operators)} operators are taken ({self.format})"

    def __str__(self) -> str:
        rows = self._rows()
        return self._line() if not rows else text_table(self._HEAD, rows, (False, True, False)) + "\n" + self._line()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._HEAD, self._rows(), (False, True, False)) + f"<p>{self._line()}</p>"


def probe(
    source: Source,
    *,
    rounding: str = "tflite",
    hybrid: str = "exact",
    level: str = "8k",
    signature: str | None = None,
    f64_as_f32: bool = False,
) -> Probe:
    """What becomes of each operator of a TensorFlow Lite or TOSA file, without compiling, and without stopping at the
    first that is refused. The options are those of `load`.

    Raises:
        BadModelError: the file's structure is wrong.
    """
    given = options(rounding, hybrid, level, signature, f64_as_f32=f64_as_f32)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Probe(json.loads(_native.probe_bytes(bytes(source), given)))
    return Probe(json.loads(_native.probe_file(path_of(source), given)))


def describe(source: Source) -> dict[str, Any]:
    """What a TensorFlow Lite or TOSA file says of itself beside its operators.

    Returns:
        A dict: ``format`` (``"tflite"`` or ``"tosa"``), ``description``, ``subgraphs`` (their names), ``signatures``
        (dicts of ``key``, ``subgraph``, a number, ``inputs`` and ``outputs``, each with ``name`` and ``tensor``, its
        name in the subgraph), ``metadata`` (dicts of ``name``, ``size_bytes`` and, where it can be read, ``text``) and
        ``external_files`` (of constants).

    Raises:
        FileError: the file cannot be read.
        BadModelError: it is no such file.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        said = json.loads(_native.describe_bytes(bytes(source)))
    else:
        said = json.loads(_native.describe_file(path_of(source)))
    return dict(said)
