"""The two sides: the real TFLite runtime, and this library through its C ABI (on a device and on its interpreter)."""
import ctypes
import os

import numpy as np


class Refused(Exception):
    """The runtime does not take the model, with its sentence."""


# ---- the real runtime ---------------------------------------------------------------------------------------------

class RealRuntime:
    """One model in ai-edge-litert: its reference kernels, or where they lack one, those without delegates, or else (some
    custom operators) XNNPACK's. `shapes`: of its inputs, where they are others than the file's."""

    def __init__(self, model, resolver="reference", shapes=()):
        from ai_edge_litert import interpreter as tflite
        kinds = tflite.OpResolverType
        order = {"reference": [kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES, kinds.AUTO],
                 "kernels": [kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES],
                 "optimized": [kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES], "xnnpack": [kinds.AUTO]}
        for kind in order[resolver]:
            try:
                self.interpreter = tflite.Interpreter(model_content=model, experimental_op_resolver_type=kind,
                                                      num_threads=1)
                for detail, shape in zip(self.interpreter.get_input_details(), shapes):
                    self.interpreter.resize_tensor_input(detail["index"], shape)
                self.interpreter.allocate_tensors()
                break
            except (RuntimeError, ValueError) as error:
                self.interpreter = None
                first = str(error)
                if "Didn't find op" not in first and "unresolved" not in first.lower():
                    break
        if self.interpreter is None:
            raise Refused(" ".join(first.split()))
        self.inputs = [d["index"] for d in self.interpreter.get_input_details()]
        self.outputs = [d["index"] for d in self.interpreter.get_output_details()]

    def run(self, inputs, steps=1):
        results = []
        try:
            self.interpreter.reset_all_variables()
            for step in range(steps):
                for index, array in zip(self.inputs, inputs):
                    self.interpreter.set_tensor(index, array if steps == 1 else array[step])
                self.interpreter.invoke()
                results.append([np.array(self.interpreter.get_tensor(index)) for index in self.outputs])
        except (RuntimeError, ValueError) as error:
            raise Refused(" ".join(str(error).split())) from error
        return results[0] if steps == 1 else [np.stack(of_output) for of_output in zip(*results)]

    def shapes(self):
        """By tensor; none of those that the runtime leaves out."""
        found = {}
        for detail in self.interpreter.get_tensor_details():
            found[detail["index"]] = tuple(detail["shape"])
        for index in self.outputs:
            found[index] = self.interpreter.get_tensor(index).shape
        return found


# ---- this library -------------------------------------------------------------------------------------------------

class Info(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("type", ctypes.c_int32),
                ("rank", ctypes.c_uint32), ("dims", ctypes.c_int64 * 8), ("size_bytes", ctypes.c_size_t),
                ("scale", ctypes.c_double), ("zero_point", ctypes.c_int64), ("declared_type", ctypes.c_int32),
                ("reserved", ctypes.c_uint32)]


class InputShape(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("index", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("dims", ctypes.c_int64 * 8)]


class LoadOptions(ctypes.Structure):
    """Its beginning; the library takes what is missing for 0."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("input_shapes", ctypes.POINTER(InputShape)),
                ("input_shape_count", ctypes.c_size_t)]


def load_options(shapes):
    """A shape for each input."""
    made = [InputShape(ctypes.sizeof(InputShape), k, len(shape), (ctypes.c_int64 * 8)(*shape))
            for k, shape in enumerate(shapes)]
    return LoadOptions(ctypes.sizeof(LoadOptions), (InputShape * len(made))(*made), len(made))


GRAPH_TYPES = {0: np.int8, 1: np.int8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 8: np.float16, 9: np.uint16,
               10: np.float32}
HOST_TYPES = {np.dtype(np.bool_): 0, np.dtype(np.int8): 2, np.dtype(np.int16): 3, np.dtype(np.int32): 4,
              np.dtype(np.float16): 8, np.dtype(np.float32): 10, np.dtype(np.uint8): 64, np.dtype(np.uint16): 65,
              np.dtype(np.uint32): 66, np.dtype(np.uint64): 67, np.dtype(np.int64): 68, np.dtype(np.float64): 69}
I64_WORDS = 71  # declared: two i32 for each number, in a last dimension
UNSUPPORTED = 3


class Library:
    def __init__(self, path, device="cpu"):
        self.c = ctypes.CDLL(path)
        self.c.tosavk_error_message.restype = ctypes.c_char_p
        for name in ("input_count", "output_count", "variable_count"):
            getattr(self.c, f"tosavk_graph_{name}").restype = ctypes.c_uint32
        self.device = ctypes.c_void_p()
        self.call("tosavk_device_open", device.encode(), ctypes.byref(self.device))

    def call(self, name, *arguments):
        error = ctypes.c_void_p()
        status = getattr(self.c, name)(*arguments, ctypes.byref(error))
        if status != 0:
            message = self.c.tosavk_error_message(error).decode()
            self.c.tosavk_error_release(error)
            raise (Refused if status == UNSUPPORTED else RuntimeError)(message)

    def close(self):
        self.c.tosavk_device_release(self.device)


class OurModel:
    """One model of ours, compiled and on the interpreter."""

    def __init__(self, library, model, shapes=None):
        self.library, c = library, library.c
        options = ctypes.byref(load_options(shapes)) if shapes else None
        self.graph, self.executable, self.context = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        library.call("tosavk_graph_load_memory", model, ctypes.c_size_t(len(model)), options, ctypes.byref(self.graph))
        try:
            library.call("tosavk_compile", library.device, self.graph, None, ctypes.byref(self.executable))
            library.call("tosavk_context_create", self.executable, None, ctypes.byref(self.context))
            self.inputs = [self._info("input", k) for k in range(c.tosavk_graph_input_count(self.graph))]
            self.outputs = [self._info("output", k) for k in range(c.tosavk_graph_output_count(self.graph))]
            self.variables = c.tosavk_graph_variable_count(self.graph)
        except Exception:
            self.close()
            raise

    def _info(self, which, k):
        info = Info(struct_size=ctypes.sizeof(Info))
        self.library.call(f"tosavk_graph_{which}", self.graph, ctypes.c_uint32(k), ctypes.byref(info))
        return info

    def on_device(self, inputs, types, steps=1):
        """`types` are numpy's of the outputs."""
        call = self.library.call
        if self.variables:
            call("tosavk_context_reset_variables", self.context)
        results = []
        for step in range(steps):
            for k, array in enumerate(inputs):
                one = np.asarray(array if steps == 1 else array[step], order="C")
                call("tosavk_context_set_input_as", self.context, ctypes.c_uint32(k),
                     ctypes.c_int32(HOST_TYPES[one.dtype]), one.ctypes.data_as(ctypes.c_void_p),
                     ctypes.c_size_t(one.nbytes))
            call("tosavk_context_run", self.context)
            outputs = []
            for k, info in enumerate(self.outputs):
                array = np.empty(tuple(info.dims[:info.rank - (info.declared_type == I64_WORDS)]), types[k])
                call("tosavk_context_get_output_as", self.context, ctypes.c_uint32(k),
                     ctypes.c_int32(HOST_TYPES[array.dtype]), array.ctypes.data_as(ctypes.c_void_p),
                     ctypes.c_size_t(array.nbytes))
                outputs.append(array)
            results.append(outputs)
        return results[0] if steps == 1 else [np.stack(of_output) for of_output in zip(*results)]

    def on_interpreter(self, inputs, types):
        """One step from the initial values of variables."""
        arrays = [np.asarray(a, GRAPH_TYPES[i.type], order="C") for a, i in zip(inputs, self.inputs)]
        outputs = [np.empty(tuple(i.dims[:i.rank]), GRAPH_TYPES[i.type]) for i in self.outputs]
        pointers = [(ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays]),
                    (ctypes.c_void_p * max(len(outputs), 1))(*[a.ctypes.data for a in outputs])]
        self.library.call("tosavk_reference_run", self.graph, *pointers)
        for k, info in enumerate(self.outputs):
            if info.declared_type == I64_WORDS:
                outputs[k] = outputs[k].view(np.int64).reshape(outputs[k].shape[:-1])
        return [a.astype(t) for a, t in zip(outputs, types)]

    def close(self):
        for name, handle in (("context", self.context), ("executable", self.executable), ("graph", self.graph)):
            if handle:
                getattr(self.library.c, f"tosavk_{name}_release")(handle)
        self.context = self.executable = self.graph = ctypes.c_void_p()


def library_path(build):
    return os.environ.get("TOSAVK_LIBRARY") or os.path.join(build, "lib", "libtosavk.so")
