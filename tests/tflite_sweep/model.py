"""What a row's generator makes: a small TFLite model, and how inputs for it are drawn. Everything follows from the
generator's random numbers, so that a seed says the whole case."""
import numpy as np

from schema import Schema

SCHEMA = Schema()
# What rows call a type: TFLite's name for it and numpy's.
TYPES = {
    "f32": ("FLOAT32", np.float32), "f16": ("FLOAT16", np.float16), "i8": ("INT8", np.int8),
    "u8": ("UINT8", np.uint8), "i16": ("INT16", np.int16), "i32": ("INT32", np.int32), "i64": ("INT64", np.int64),
    "bool": ("BOOL", np.bool_), "u32": ("UINT32", np.uint32), "u16": ("UINT16", np.uint16),
    "c64": ("COMPLEX64", np.complex64), "i4": ("INT4", np.int8), "i2": ("INT2", np.int8), "f64": ("FLOAT64", np.float64),
    "resource": ("RESOURCE", np.int32), "bf16": ("BFLOAT16", np.uint16), "u64": ("UINT64", np.uint64),
}
LIMITS = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767), "i4": (-8, 7), "i2": (-2, 1)}
VERSIONS = {"BROADCAST_TO": 2}  # where the runtime has no version 1
UNKNOWN = (3, 7, 11)  # until the runtime computes it: one of as many elements would be kept as it is
ACTIVATIONS = ["NONE", "RELU", "RELU_N1_TO_1", "RELU6"]


class Quant:
    def __init__(self, scale, zero_point=0, axis=0):
        self.scale = np.atleast_1d(np.asarray(scale, np.float32))
        self.zero_point = np.broadcast_to(np.asarray(zero_point, np.int64), self.scale.shape)
        self.axis = axis

    def times(self, ratio):
        return Quant(self.scale * np.float32(ratio), self.zero_point, self.axis)


class Tensor:
    def __init__(self, kind, shape, quant=None, data=None, draw=None, variable=False, more=None):
        self.kind, self.shape, self.quant, self.data, self.draw = kind, tuple(shape), quant, data, draw
        self.variable, self.more = variable, more or {}
        self.index = None

    @property
    def rank(self):
        return len(self.shape)


def draw_floats(rng, shape, spread=1.0, specials=False):
    """Mostly numbers of ordinary size, some whole, a few large or tiny."""
    x = rng.standard_normal(shape) * spread * 10 ** rng.uniform(-0.5, 0.5)
    x = np.where(rng.random(shape) < 0.1, np.round(x), x)
    if specials:
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-30])
        x = np.where(rng.random(shape) < 0.1, rng.choice(odd, shape), x)
    return x.astype(np.float32)


def draw_integers(rng, shape, low, high):
    """Any of the type, its ends more often, and at times only few different ones."""
    kind = rng.integers(5)
    middle, width = (low + high) // 2, max((high - low) // 16, 1)
    if kind == 0:
        low, high = max(low, middle - width), min(high, middle + width)
    x = rng.integers(low, high, shape, dtype=np.int64, endpoint=True)
    if kind == 1:
        x = np.where(rng.random(shape) < 0.5, rng.choice(np.array([low, high]), shape), x)
    return x


class Subgraph:
    def __init__(self, name):
        self.name, self.tensors, self.operators, self.inputs, self.outputs = name, [], [], [], []


class Model:
    """Tensors and operators in the order in which they are asked for."""

    def __init__(self, rng):
        self.rng = rng
        self.codes, self.buffers = [], [b""]
        self.graphs = [Subgraph("main")]
        self.graph = self.graphs[0]
        self.steps = 1        # runs in a row that one input set stands for: state stays between them
        self.resolver = "reference"  # which of the real runtime's kernels say what is right
        self.resources = False  # there are variables that only a new interpreter of the runtime forgets
        self.settle = None    # takes out of the real runtime's outputs what it leaves undefined
        self.specials = False  # float inputs hold NaN and infinities too

    # ---- random choices -------------------------------------------------------------------------------------------
    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def chance(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def size(self, low=1, high=6):
        return int(self.rng.integers(low, high, endpoint=True))

    def shape(self, rank=None, low=1, high=6, most=400, ranks=(1, 5)):
        rank = self.size(*ranks) if rank is None else rank
        while True:
            shape = tuple(self.size(low, high) for _ in range(rank))
            if np.prod(shape) <= most:
                return shape
            high = max(low, high - 1)

    def image(self, channels=None, low=3, high=9):
        return (self.pick(1, 1, 2, 3), self.size(low, high), self.size(low, high), channels or self.pick(1, 2, 3, 4, 5, 8))

    def axes(self, rank):
        """Some axes, counted from either end, at times in another order or twice."""
        count = self.size(1, rank)
        chosen = self.rng.permutation(rank)[:count]
        signed = [int(a) - rank if self.chance(0.3) else int(a) for a in chosen]
        return signed

    def axis(self, rank):
        return self.size(-rank, rank - 1)

    def activation(self):
        return self.pick(*ACTIVATIONS)

    def scale(self, low=1e-3, high=1.0):
        return np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def quant(self, kind, low=1e-3, high=1.0):
        """Scale and zero point of a tensor of its own; those of int16 are about zero."""
        if kind not in LIMITS:
            return None
        if kind == "i16":
            return Quant(self.scale(low / 100, high / 100), 0)
        lowest, highest = LIMITS[kind]
        return Quant(self.scale(low, high), self.pick(lowest, highest, (lowest + highest + 1) // 2,
                                                      self.size(lowest, highest), self.size(lowest, highest)))

    # ---- tensors --------------------------------------------------------------------------------------------------
    def _add(self, tensor):
        tensor.index = len(self.graph.tensors)
        self.graph.tensors.append(tensor)
        return tensor

    def input(self, kind, shape, quant="own", draw=None):
        quant = self.quant(kind) if quant == "own" else quant
        tensor = self._add(Tensor(kind, shape, quant, draw=draw))
        self.graph.inputs.append(tensor)
        return tensor

    def const(self, kind, data, quant=None, more=None):
        data = np.asarray(data, TYPES[kind][1])
        return self._add(Tensor(kind, data.shape, quant, data=data, more=more))

    def values(self, kind, shape, spread=1.0):
        """Random contents for a constant."""
        if kind in ("f32", "f16"):
            return draw_floats(self.rng, shape, spread).astype(TYPES[kind][1])
        if kind == "bool":
            return self.rng.random(shape) < 0.5
        low, high = LIMITS.get(kind, (-(1 << 10), 1 << 10))
        return self.rng.integers(low, high, shape, endpoint=True)

    def operand(self, kind, shape, quant="own", draw=None, constant=0.3):
        """An input of the model, or at times a constant."""
        if len(self.graph.inputs) > 0 and self.chance(constant):
            data = draw(self.rng, shape) if draw else self.values(kind, shape)
            return self.const(kind, data, self.quant(kind) if quant == "own" else quant)
        return self.input(kind, shape, quant, draw)

    def variable(self, kind, shape, quant=None):
        return self._add(Tensor(kind, shape, quant, variable=True))

    def between(self, kind, shape=(), quant=None):
        return self._add(Tensor(kind, shape, quant))

    # ---- operators ------------------------------------------------------------------------------------------------
    def op(self, operator_name, inputs, outputs, table=None, custom=None, intermediates=None, **options):
        """`outputs` is a list of (type, quantization) or of tensors; answers the tensors. `table` names the options."""
        made = [o if isinstance(o, Tensor) else self.between(o[0], UNKNOWN, o[1] if len(o) > 1 else None) for o in outputs]
        version = VERSIONS.get(operator_name, 1)
        code = ("CUSTOM", operator_name, 1) if custom is not None else (operator_name, None, version)
        if code not in self.codes:
            self.codes.append(code)
        operator = {"opcode_index": self.codes.index(code), "inputs": [-1 if t is None else t.index for t in inputs],
                    "outputs": [t.index for t in made]}
        if table:
            union = "builtin_options" if table in SCHEMA.unions["BuiltinOptions"] else "builtin_options_2"
            operator[union] = (table, options)
        if custom is not None:
            operator["custom_options"] = custom
        if intermediates is not None:
            operator["intermediates"] = [t.index for t in intermediates]
        self.graph.operators.append(operator)
        return made[0] if len(made) == 1 else made

    def output(self, *tensors):
        self.graph.outputs.extend(tensors)

    def subgraph(self, name):
        """A further graph, in which tensors and operators are made until main() is called; its number."""
        self.graphs.append(Subgraph(name))
        self.graph = self.graphs[-1]
        return len(self.graphs) - 1

    def main(self):
        self.graph = self.graphs[0]

    # ---- the file -------------------------------------------------------------------------------------------------
    def _tensor(self, tensor, buffers, rng):
        number, spec = TYPES[tensor.kind][0], {"name": f"t{tensor.index}", "has_rank": True}
        buffer = 0
        if tensor.data is not None:
            data = tensor.data if rng is None else nudged(rng, tensor.data)
            buffers.append({"data": pack(tensor.kind, data)})
            buffer = len(buffers) - 1
        quant = None
        if tensor.quant is not None:
            scale = tensor.quant.scale if rng is None or tensor.data is None else nudged(rng, tensor.quant.scale)
            quant = {"scale": scale, "zero_point": tensor.quant.zero_point,
                     "quantized_dimension": tensor.quant.axis}
        spec.update({"shape": np.asarray(tensor.shape, np.int32), "type": number, "buffer": buffer,
                     "quantization": quant})
        if tensor.variable:
            spec["is_variable"] = True
        spec.update(tensor.more)
        return spec

    def write(self, rng=None):
        """The bytes of the file; with `rng` its floats have other last bits."""
        buffers = [{}]
        graphs = []
        for graph in self.graphs:
            graphs.append({
                "tensors": [self._tensor(t, buffers, rng) for t in graph.tensors],
                "inputs": [t.index for t in graph.inputs], "outputs": [t.index for t in graph.outputs],
                "operators": graph.operators, "name": graph.name,
            })
        codes = []
        for name, custom, version in self.codes:
            number = SCHEMA.enum("BuiltinOperator", name)
            codes.append({"deprecated_builtin_code": min(number, 127), "builtin_code": number, "version": version,
                          "custom_code": custom})
        return SCHEMA.write("Model", {"version": 3, "operator_codes": codes, "subgraphs": graphs, "buffers": buffers})

    def learn_shapes(self, shapes):
        """Shapes of the main graph's tensors, by index, as the real runtime computes them."""
        for tensor in self.graphs[0].tensors:
            if tensor.index in shapes and tensor.data is None and tensor not in self.graphs[0].inputs:
                tensor.shape = tuple(int(d) for d in shapes[tensor.index])

    def draw_inputs(self, rng):
        """One set of arrays for the inputs; each has the further first axis of steps where there are several."""
        return [self._draw(rng, t) if self.steps == 1 else np.stack([self._draw(rng, t) for _ in range(self.steps)])
                for t in self.graphs[0].inputs]

    def _draw(self, rng, tensor):
        kind, numpy_type = tensor.kind, TYPES[tensor.kind][1]
        if tensor.draw:
            drawn = np.asarray(tensor.draw(rng, tensor.shape), numpy_type, order="C")
            return narrowed(rng, drawn) if kind == "i64" else drawn
        if kind in ("f32", "f16", "f64"):
            return draw_floats(rng, tensor.shape, specials=self.specials and rng.random() < 0.3).astype(numpy_type)
        if kind == "c64":
            return (draw_floats(rng, tensor.shape) + 1j * draw_floats(rng, tensor.shape)).astype(numpy_type)
        if kind == "bool":
            return rng.random(tensor.shape) < 0.5
        low, high = LIMITS.get(kind, (-(1 << 31), (1 << 31) - 1))
        if kind in ("u32", "u64", "u16"):
            low, high = 0, (1 << 16) - 1
        return draw_integers(rng, tensor.shape, low, high).astype(numpy_type)


def nudged(rng, array):
    """Floats of 32 bits up to 16 units in the last place away; other arrays as they are."""
    if array.dtype != np.float32:
        return array
    return array + np.spacing(array) * rng.integers(-16, 17, array.shape).astype(np.float32)


def narrowed(rng, array):
    """Numbers of 64 bits, which most often have no more than 32."""
    if np.abs(array).max(initial=0) < 1 << 31 or rng.random() < 0.2:
        return array
    return array % (1 << 32) - (1 << 31) if rng.random() < 0.5 else array % 2000 - 1000


def pack(kind, data):
    """The bytes of a constant: int4 two to a byte, int2 four."""
    if kind in ("i4", "i2"):
        bits, each = (4, 2) if kind == "i4" else (2, 4)
        flat = data.reshape(-1).astype(np.int64) & ((1 << bits) - 1)
        flat = np.concatenate([flat, np.zeros(-len(flat) % each, np.int64)]).reshape(-1, each)
        return (flat << (np.arange(each) * bits)).sum(axis=1).astype(np.uint8).tobytes()
    return np.ascontiguousarray(data).tobytes()
