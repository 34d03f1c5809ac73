"""Flatbuffers of the schema that the library's own importer reads (src/frontends/tflite/tflite.fbs), written from plain
dictionaries: what the schema says is read from its text, so that a new table there can be written here at once."""
import re
from pathlib import Path

import flatbuffers
import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
SCALARS = {
    "bool": np.bool_, "byte": np.int8, "ubyte": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
    "uint": np.uint32, "long": np.int64, "ulong": np.uint64, "float": np.float32, "double": np.float64,
    "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32,
    "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "float32": np.float32, "float64": np.float64,
}


class Field:
    def __init__(self, name, kind, default, attributes):
        self.name, self.kind, self.default, self.attributes = name, kind, default, attributes
        self.slot = None


class Schema:
    def __init__(self, path=SOURCE / "src/frontends/tflite/tflite.fbs"):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        self.enums, self.unions, self.tables = {}, {}, {}
        for name, base, body in re.findall(r"enum\s+(\w+)\s*:\s*(\w+)[^{]*\{([^}]*)\}", text):
            self.enums[name] = (SCALARS[base], dict(self._members(body)))
        for name, body in re.findall(r"union\s+(\w+)[^{]*\{([^}]*)\}", text):
            self.unions[name] = dict(self._members(body, first=1))
        for name, body in re.findall(r"table\s+(\w+)[^{]*\{([^}]*)\}", text):
            fields = [self._field(part) for part in body.split(";") if part.strip()]
            slot = 0
            for field in fields:
                explicit = re.search(r"\bid\s*:\s*(\d+)", field.attributes)
                wide = field.kind in self.unions
                field.slot = int(explicit.group(1)) if explicit else slot + (1 if wide else 0)
                slot = field.slot + 1
            self.tables[name] = {field.name: field for field in fields}

    @staticmethod
    def _members(body, first=0):
        number = first
        for part in body.split(","):
            words = part.split("(")[0].split("=")
            name = words[0].strip()
            if not name:
                continue
            number = int(words[1], 0) if len(words) > 1 else number
            yield name, number
            number += 1

    @staticmethod
    def _field(part):
        match = re.match(r"\s*(\w+)\s*:\s*(\[?\s*[\w.]+\s*\]?)\s*(?:=\s*([-\w.+]+))?\s*(?:\((.*)\))?\s*$", part, re.S)
        name, kind, default, attributes = match.groups()
        return Field(name, re.sub(r"\s", "", kind), default, attributes or "")

    def enum(self, name, value):
        return self.enums[name][1][value] if isinstance(value, str) else int(value)

    def write(self, root, table):
        """The bytes of a file whose root table `root` is the dictionary `table`."""
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self._table(builder, root, table), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def _scalar(self, kind, value):
        if kind in self.enums:
            return self.enums[kind][0], self.enum(kind, value)
        return SCALARS[kind], value

    def _vector(self, builder, kind, values, attributes):
        if kind in self.tables or kind == "string":
            offsets = [builder.CreateString(v) if kind == "string" else self._table(builder, kind, v) for v in values]
            builder.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                builder.PrependUOffsetTRelative(offset)
            return builder.EndVector()
        array = np.ascontiguousarray(np.asarray([self._scalar(kind, v)[1] for v in values] if not isinstance(
            values, (bytes, np.ndarray)) else np.frombuffer(values, np.uint8) if isinstance(values, bytes) else values,
            self._scalar(kind, 0)[0]))
        align = re.search(r"force_align\s*:\s*(\d+)", attributes)
        raw = array.tobytes()
        builder.StartVector(array.itemsize, array.size, int(align.group(1)) if align else array.itemsize)
        builder.head -= len(raw)
        builder.Bytes[builder.head:builder.head + len(raw)] = raw
        return builder.EndVector()

    def _table(self, builder, name, table):
        fields = self.tables[name]
        written = []
        for key, value in table.items():
            if value is None:
                continue
            if key not in fields:
                raise KeyError(f"{name} has no field {key}")
            field = fields[key]
            kind = field.kind
            if kind in self.unions:  # value: (member, dictionary)
                offset = self._table(builder, value[0], value[1])
                written.append((field.slot - 1, np.uint8, self.unions[kind][value[0]]))
                written.append((field.slot, None, offset))
            elif kind.startswith("["):
                written.append((field.slot, None, self._vector(builder, kind[1:-1], value, field.attributes)))
            elif kind == "string":
                written.append((field.slot, None, builder.CreateString(value)))
            elif kind in self.tables:
                written.append((field.slot, None, self._table(builder, kind, value)))
            else:
                written.append((field.slot, *self._scalar(kind, value)))
        slots = [field.slot for field in fields.values()]
        builder.StartObject(max(slots, default=-1) + 1)
        for slot, kind, value in sorted(written, key=lambda w: 0 if w[1] is None else np.dtype(w[1]).itemsize):
            if kind is None:
                builder.PrependUOffsetTRelative(value)
            else:
                put = {np.bool_: builder.PrependBool, np.int8: builder.PrependInt8, np.uint8: builder.PrependUint8,
                       np.int16: builder.PrependInt16, np.uint16: builder.PrependUint16, np.int32: builder.PrependInt32,
                       np.uint32: builder.PrependUint32, np.int64: builder.PrependInt64,
                       np.uint64: builder.PrependUint64, np.float32: builder.PrependFloat32,
                       np.float64: builder.PrependFloat64}[kind]
                put(kind(value).item())
            builder.Slot(slot)
        return builder.EndObject()
