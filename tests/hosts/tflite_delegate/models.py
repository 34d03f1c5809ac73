"""Small .tflite models, written with the code that flatc makes of src/frontends/tflite/tflite.fbs."""
import flatbuffers
import numpy as np
from tosavk.tflite.AddOptions import AddOptionsT  # noqa: F401, for networks.py
from tosavk.tflite.Buffer import BufferT
from tosavk.tflite.BuiltinOperator import BuiltinOperator
from tosavk.tflite.BuiltinOptions import BuiltinOptions
from tosavk.tflite.FullyConnectedOptions import FullyConnectedOptionsT  # noqa: F401
from tosavk.tflite.IfOptions import IfOptionsT  # noqa: F401
from tosavk.tflite.Model import ModelT
from tosavk.tflite.MulOptions import MulOptionsT  # noqa: F401
from tosavk.tflite.Operator import OperatorT
from tosavk.tflite.OperatorCode import OperatorCodeT
from tosavk.tflite.QuantizationParameters import QuantizationParametersT
from tosavk.tflite.SequenceRNNOptions import SequenceRNNOptionsT  # noqa: F401
from tosavk.tflite.SubGraph import SubGraphT
from tosavk.tflite.Tensor import TensorT
from tosavk.tflite.TensorType import TensorType
from tosavk.tflite.TransposeConvOptions import TransposeConvOptionsT  # noqa: F401

TYPES = {np.dtype(np.float32): TensorType.FLOAT32, np.dtype(np.int32): TensorType.INT32,
         np.dtype(np.int64): TensorType.INT64, np.dtype(np.uint8): TensorType.UINT8,
         np.dtype(np.int8): TensorType.INT8, np.dtype(bool): TensorType.BOOL}


class Graph:
    """Tensors are numbers; what is not given a shape is written with dimensions of 1, for the runtime to infer."""

    def __init__(self, within=None):
        self.graph = SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.buffers, self.codes = ([BufferT()], []) if within is None else (within.buffers, within.codes)
        self.graphs = [self.graph]

    def subgraph(self):
        inner = Graph(self)
        self.graphs.append(inner.graph)
        return inner

    def tensor(self, shape, dtype=np.float32, data=None, variable=False, signature=None, quantization=None):
        tensor = TensorT()
        tensor.shape, tensor.buffer = list(shape), 0
        tensor.type = TensorType.STRING if dtype == "string" else TYPES[np.dtype(dtype)]
        tensor.name = f"t{len(self.graph.tensors)}"
        tensor.isVariable = variable
        if signature is not None:
            tensor.shapeSignature = list(signature)
        if quantization is not None:
            tensor.quantization = QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [quantization[0]], [quantization[1]]
        if data is not None:
            buffer = BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data, dtype).tobytes(), np.uint8)
            self.buffers.append(buffer)
            tensor.buffer = len(self.buffers) - 1
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def input(self, shape, dtype=np.float32, **more):
        self.graph.inputs.append(self.tensor(shape, dtype, **more))
        return self.graph.inputs[-1]

    def constant(self, data, dtype=np.float32):
        data = np.asarray(data, dtype)
        return self.tensor(data.shape, dtype, data)

    def node(self, name, inputs, outputs, version=1, options=None, custom=None):
        """`custom`: the name of a custom operator, and its options as int32."""
        code = OperatorCodeT()
        code.builtinCode = getattr(BuiltinOperator, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        self.codes.append(code)
        operator = OperatorT()
        operator.opcodeIndex = len(self.codes) - 1
        operator.inputs, operator.outputs = list(inputs), list(outputs)
        if options is not None:
            operator.builtinOptionsType = getattr(BuiltinOptions, type(options).__name__[:-1])
            operator.builtinOptions = options
        if custom is not None:
            code.customCode = custom[0]
            operator.customOptions = np.frombuffer(np.asarray(custom[1], "<i4").tobytes(), np.uint8)
        self.graph.operators.append(operator)
        return outputs[0]

    def make(self, name, inputs, shape, dtype=np.float32, signature=None, **more):
        """A node with one output."""
        return self.node(name, inputs, [self.tensor(shape, dtype, signature=signature)], **more)

    def finish(self, outputs):
        self.graph.outputs = list(outputs)
        model = ModelT()
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, self.graphs, self.buffers, self.codes
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
