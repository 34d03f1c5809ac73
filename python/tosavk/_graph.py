"""A graph with what is known of its inputs and outputs: what networks, compiled or not, stand on."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._types import Array, TensorInfo, array_of, declared_code, to_info
from .errors import UsageError


class Graph:
    """`ends`: inputs and outputs with their scales, where the native graph does not know them."""

    def __init__(self, native: _native.Graph, ends: Any = None) -> None:
        self.native = native
        self.inputs: tuple[TensorInfo, ...] = tuple(to_info(raw) for raw in (ends[0] if ends else native.inputs))
        self.outputs: tuple[TensorInfo, ...] = tuple(to_info(raw) for raw in (ends[1] if ends else native.outputs))

    @property
    def ends(self) -> Any:
        """Inputs and outputs, with scales, which graphs in TOSA's own files do not have."""
        return [
            [
                (i.name, raw[1], i.shape, raw[3], i.scale, i.zero_point, declared_code(i.declared))
                for i, raw in zip(infos, raws, strict=True)
            ]
            for infos, raws in ((self.inputs, self.native.inputs), (self.outputs, self.native.outputs))
        ]

    def with_precision(self, precision: int) -> Graph:
        return Graph(self.native.with_precision(precision), self.ends) if precision else self

    def random_inputs(self, seed: int) -> list[Array]:
        if not 0 <= seed < 2**64:
            raise UsageError(f"the seed {seed} is outside of 0 to 2^64 - 1")
        return [array_of(info, self.native.random_input(k, seed)) for k, info in enumerate(self.inputs)]

    def __str__(self) -> str:
        inputs, outputs = (", ".join(map(str, infos)) for infos in (self.inputs, self.outputs))
        return f"{self.native.node_count} nodes: {inputs} -> {outputs}"
