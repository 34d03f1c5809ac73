# SPDX-License-Identifier: Apache-2.0
"""Writes a graph as a .tflite file with the plain flatbuffers builder.

Field numbers and enumeration values are those of the TFLite schema, version 3.
"""

import flatbuffers
import numpy as np

FLOAT32, INT32, INT8 = 0, 2, 9
TYPES = {np.dtype(np.float32): FLOAT32, np.dtype(np.int32): INT32, np.dtype(np.int8): INT8}
PADDING = {"SAME": 0, "VALID": 1}
ACTIVATION = {"NONE": 0, "RELU": 1, "RELU6": 3}
# Kind: operator code, discriminator of its options, version for fp32 and for int8.
OPERATORS = {
    "ADD": (0, 11, 1, 2),
    "AVERAGE_POOL_2D": (1, 5, 1, 2),
    "CONV_2D": (3, 1, 1, 3),
    "DEPTHWISE_CONV_2D": (4, 2, 1, 3),
    "FULLY_CONNECTED": (9, 8, 1, 4),
    "RESHAPE": (22, 17, 1, 1),
    "SOFTMAX": (25, 9, 1, 2),
}


class Writer:
    def __init__(self):
        self.b = flatbuffers.Builder(1 << 16)

    def table(self, *fields):
        """A table from (field number, type, value); defaults are left out by the callers."""
        self.b.StartObject(1 + max((f[0] for f in fields), default=-1))
        for number, kind, value in fields:
            getattr(self.b, f"Prepend{kind}Slot")(number, value, 0)
        return self.b.EndObject()

    def offset(self, number, position):
        return (number, "UOffsetTRelative", position)

    def numbers(self, values, dtype):
        return self.b.CreateNumpyVector(np.ascontiguousarray(values, dtype).reshape(-1))

    def tables(self, positions):
        self.b.StartVector(4, len(positions), 4)
        for position in reversed(positions):
            self.b.PrependUOffsetTRelative(position)
        return self.b.EndVector()

    def buffer(self, array):
        if array is None:
            return self.table()
        data = np.ascontiguousarray(array).tobytes()
        # The schema demands 16-byte alignment of the data.
        self.b.Prep(16, len(data))
        return self.table(self.offset(0, self.b.CreateByteVector(data)))

    def quantization(self, quant):
        scale = self.numbers(quant.scale, np.float32)
        zero = self.numbers(quant.zero_point, np.int64)
        return self.table(self.offset(2, scale), self.offset(3, zero), (6, "Int32", quant.dimension))

    def tensor(self, name, shape, kind, buffer, quant, dynamic):
        fields = [self.offset(3, self.b.CreateString(name)),
                  self.offset(0, self.numbers(shape, np.int32))]
        if quant is not None:
            fields.append(self.offset(4, self.quantization(quant)))
        if dynamic:
            fields.append(self.offset(7, self.numbers([-1, *shape[1:]], np.int32)))
        fields += [(1, "Int8", kind), (2, "Uint32", buffer), (8, "Bool", True)]
        return self.table(*fields)

    def options(self, op):
        act = ACTIVATION[op.act]
        if op.kind == "CONV_2D":
            return self.table((0, "Int8", PADDING["SAME"]), (1, "Int32", op.stride),
                              (2, "Int32", op.stride), (3, "Int8", act))
        if op.kind == "DEPTHWISE_CONV_2D":
            return self.table((0, "Int8", PADDING["SAME"]), (1, "Int32", op.stride),
                              (2, "Int32", op.stride), (3, "Int32", 1), (4, "Int8", act))
        if op.kind == "AVERAGE_POOL_2D":
            size = op.attrs["size"]
            return self.table((0, "Int8", PADDING["VALID"]), (1, "Int32", op.stride),
                              (2, "Int32", op.stride), (3, "Int32", size), (4, "Int32", size),
                              (5, "Int8", act))
        if op.kind == "RESHAPE":
            return self.table(self.offset(0, self.numbers(op.attrs["shape"], np.int32)))
        if op.kind == "SOFTMAX":
            return self.table((0, "Float32", 1.0))
        return self.table((0, "Int8", act))

    def operator(self, opcode, op, inputs, outputs):
        options = self.options(op)
        return self.table(self.offset(1, self.numbers(inputs, np.int32)),
                          self.offset(2, self.numbers(outputs, np.int32)),
                          self.offset(4, options), (0, "Uint32", opcode),
                          (3, "Uint8", OPERATORS[op.kind][1]))

    def signature(self, names, index):
        def tensor_map(name):
            string = self.b.CreateString(name)
            return self.table(self.offset(0, string), (1, "Uint32", index[name]))

        inputs, outputs = (self.tables([tensor_map(name)]) for name in names)
        key = self.b.CreateString("serving_default")
        return self.table(self.offset(0, inputs), self.offset(1, outputs), self.offset(2, key))


def write_tflite(path, ops, shapes, acts=None, constants=None, dynamic_batch=False):
    """shapes: activation shapes by name. Without acts and constants the file is fp32."""
    w = Writer()
    integer = acts is not None
    source, result = ops[0].inputs[0], ops[-1].output
    tensors, buffers, index = [], [None], {}

    def add_activation(name):
        index[name] = len(tensors)
        tensors.append((name, shapes[name], INT8 if integer else FLOAT32, 0,
                        acts[name] if integer else None, dynamic_batch))

    def add_constant(name, array, quant=None):
        buffers.append(array)
        tensors.append((name, array.shape, TYPES[array.dtype], len(buffers) - 1, quant, False))
        return len(tensors) - 1

    add_activation(source)
    nodes = []
    for op in ops:
        inputs = [index[name] for name in op.inputs]
        if op.kind == "RESHAPE":
            inputs.append(add_constant(op.output + "/shape", np.array(op.attrs["shape"], np.int32)))
        elif op.filter is not None and integer:
            c = constants[op.output]
            inputs.append(add_constant(op.output + "/weights", c.filter, c.filter_quant))
            inputs.append(add_constant(op.output + "/bias", c.bias, c.bias_quant))
        elif op.filter is not None:
            inputs.append(add_constant(op.output + "/weights", op.filter))
            inputs.append(add_constant(op.output + "/bias", op.bias))
        add_activation(op.output)
        nodes.append((op, inputs, [index[op.output]]))

    kinds = sorted({op.kind for op in ops}, key=lambda kind: OPERATORS[kind][0])
    buffer_vector = w.tables([w.buffer(data) for data in buffers])
    signatures = w.tables([w.signature((source, result), index)])
    subgraph_fields = [
        w.offset(0, w.tables([w.tensor(*t) for t in tensors])),
        w.offset(1, w.numbers([index[source]], np.int32)),
        w.offset(2, w.numbers([index[result]], np.int32)),
        w.offset(3, w.tables([w.operator(kinds.index(n[0].kind), *n) for n in nodes])),
        w.offset(4, w.b.CreateString("main")),
    ]
    subgraphs = w.tables([w.table(*subgraph_fields)])
    codes = []
    for kind in kinds:
        code, _, float_version, int_version = OPERATORS[kind]
        # Old readers know the byte field only, new ones both.
        codes.append(w.table((0, "Int8", code), (3, "Int32", code),
                             (2, "Int32", int_version if integer else float_version)))
    operator_codes = w.tables(codes)
    description = w.b.CreateString("glyphs: digits and capital letters")
    model = w.table((0, "Uint32", 3), w.offset(1, operator_codes), w.offset(2, subgraphs),
                    w.offset(3, description), w.offset(4, buffer_vector), w.offset(7, signatures))
    w.b.Finish(model, file_identifier=b"TFL3")
    with open(path, "wb") as file:
        file.write(w.b.Output())
