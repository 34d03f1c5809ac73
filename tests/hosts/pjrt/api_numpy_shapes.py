"""Cases of jax.numpy: forms and places of arrays, what is read and written by indices, arrays that are made."""

import functools

import jax.numpy as jnp
import numpy as np
from api_tables import (
    ALL,
    COMPLEX,
    FLOATS,
    SOME,
    Table,
    unjitted,
)


def shapes(table):
    few = ("b1", "i8", "u16", "i32", "bf16", "f32", "c64")
    one = {
        "reshape": ["T[2,3,4]"],
        "ravel": ["T[2,3]", "T[]"],
        "transpose": ["T[2,3,4]", "T[2,0,3]"],
        "squeeze": ["T[1,3,1]"],
    }
    options = {
        "reshape": [{"shape": (4, -1)}, {"shape": (3, 2, 2, 2)}, {"shape": (6, 4), "order": "F"}],
        "ravel": [{}, {"order": "F"}],
        "transpose": [{}, {"axes": (1, 2, 0)}],
        "squeeze": [{}, {"axis": 0}, {"axis": (0, 2)}],
    }
    for name, forms in one.items():
        table.add(f"jnp.{name}", few, forms, options[name], thin=2, modes="gv")
    table.add("jnp.flip", few, ["T[2,3,4]", "T[0,2]"], [{}, {"axis": 0}, {"axis": (0, -1)}], thin=2)
    for name in ("fliplr", "flipud"):
        table.add(f"jnp.{name}", few, ["T[2,3]", "T[3,4]"])
    for name, (given, forms) in KEYWORDS.items():
        table.add(f"jnp.{name}", FLOATS + COMPLEX if name == "gradient" else few, forms, given, bound=1e-5, thin=2)
    modes = [
        {"mode": m, "pad_width": ((1, 2), (3, 0))}
        for m in (
            "edge",
            "reflect",
            "symmetric",
            "wrap",
            "mean",
            "maximum",
            "minimum",
            "median",
            "linear_ramp",
            "empty",
        )
    ] + [
        {"mode": "constant", "constant_values": 3, "pad_width": 2},
        {"mode": "reflect", "reflect_type": "odd", "pad_width": 3},
        {"pad_width": ((5, 7), (6, 5)), "mode": "wrap"},
    ]
    table.add("jnp.pad", ("i32", "f32", "u8", "bf16", "b1", "c64"), ["T[3,4]"], modes, thin=2, bound=1e-5)
    for name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "block"):
        keywords = [{"axis": 0}, {"axis": -1}] if name in ("concatenate", "stack") else [{}]
        table.add(
            f"jnp.{name}",
            few,
            ["T[2,3] T[2,3]", "T[2,3] T[2,3] T[2,3]", "T[2,3] f32[2,3]"],
            keywords,
            thin=2,
            function=functools.partial(together, name),
        )
    table.add(
        "jnp.concatenate_many",
        few,
        ["T[0,2] T[3,2] T[1,2] T[0,2]"],
        function=functools.partial(together, "concatenate"),
    )
    table.add("jnp.append", few, ["T[2,3] T[4]"], [{}])
    for name in ("split", "array_split", "hsplit", "vsplit"):
        table.add(f"jnp.{name}", few, ["T[4,6]"], [{"indices_or_sections": 2}, {"indices_or_sections": (1, 3)}], thin=2)
    table.add(
        "jnp.insert",
        few,
        ["T[4,3]"],
        [{"obj": 1, "values": 5}, {"obj": (1, 3), "values": 2, "axis": 1}],
        function=lambda x, obj, **o: jnp.insert(x, np.array(obj), **o),
    )
    table.add(
        "jnp.delete",
        few,
        ["T[4,3]"],
        [{"obj": 1, "axis": 0}, {"obj": (1, 3)}, {"obj": (0, 2), "axis": 1}],
        function=lambda x, obj, **o: jnp.delete(x, np.array(obj), **o),
    )
    table.add("jnp.resize", few, ["T[2,3]"], [{"new_shape": (5, 2)}, {"new_shape": (2,)}])
    table.add(
        "jnp.astype",
        ALL + ("e4m3", "e5m2", "i4", "u4"),
        ["T[3,4]", "T[]"],
        [
            {"dtype": d}
            for d in (
                "bool",
                "int8",
                "int16",
                "int32",
                "uint8",
                "uint16",
                "uint32",
                "bfloat16",
                "float16",
                "float32",
                "complex64",
                "int4",
                "uint4",
                "float8_e4m3fn",
                "float8_e5m2",
            )
        ],
        function=converted,
        thin=2,
    )
    table.add(
        "jnp.astype",
        FLOATS,
        ["T[90]/special", "T[90]/large"],
        [{"dtype": d} for d in ("bool", "bfloat16", "float16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2")],
        function=converted,
    )
    table.add(
        "jnp.view",
        ("i8", "u32", "f32", "i16", "f16", "bf16", "c64"),
        ["T[3,8]/full"],
        [{"dtype": d} for d in ("int8", "uint16", "float32", "int32", "bfloat16", "uint8", "bool")],
        function=viewed,
        thin=1,
    )
    for name in ("packbits", "unpackbits"):
        table.add(
            f"jnp.{name}",
            ("u8", "b1", "i32") if name == "packbits" else ("u8",),
            ["T[11]/full", "T[3,9]/full"],
            [{}, {"bitorder": "little"}, {"axis": 0}],
        )
    table.add("jnp.meshgrid", few, ["T[3] T[4]"], [{}, {"indexing": "ij"}, {"sparse": True}])
    table.add("jnp.ix_", few[:4], ["i32[3] i32[2]"])
    table.add("jnp.atleast_3d", few, ["T[3]", "T[]", "T[2,3]"])
    table.add("jnp.broadcast_arrays", few, ["T[3,1] T[4] T[]"])
    table.add(
        "jnp.apply_along_axis",
        ("f32", "i32"),
        ["T[3,4]"],
        function=lambda x: jnp.apply_along_axis(lambda v: v[::-1].cumsum(), 1, x),
        bound=1e-5,
    )
    table.add(
        "jnp.vectorize",
        ("f32", "i32"),
        ["T[3,4] T[4]"],
        function=jnp.vectorize(lambda a, b: a * b.sum(), signature="(),(n)->()"),
        bound=1e-5,
    )
    table.add(
        "jnp.fill_diagonal", few, ["T[3,4]", "T[3,3,3]"], function=lambda x: jnp.fill_diagonal(x, 2, inplace=False)
    )
    table.add("jnp.unravel_index", ("i32", "u8"), ["T[7]/around20"], function=lambda i: jnp.unravel_index(i, (4, 5)))
    table.add(
        "jnp.ravel_multi_index",
        ("i32",),
        ["T[7]/below4 T[7]/below3"],
        [{"mode": "clip"}, {"mode": "wrap"}],
        function=lambda i, j, **o: jnp.ravel_multi_index((i, j), (4, 3), **o),
    )
    table.add("jnp.nan_to_num", ("f32", "bf16"), ["T[40]/special"], [{"nan": 1.0, "posinf": 5.0}])
    table.add("jnp.unstack", few, ["T[3,4]"], [{"axis": 0}, {"axis": 1}])
    table.add("jnp.copy", few, ["T[3,4]", "T[0]"])


KEYWORDS = {
    "rot90": ([{}, {"k": 2}, {"k": -1, "axes": (0, 2)}], ["T[2,3,4]"]),
    "swapaxes": ([{"axis1": 0, "axis2": 2}], ["T[2,3,4]"]),
    "moveaxis": ([{"source": 0, "destination": -1}, {"source": (0, 1), "destination": (2, 0)}], ["T[2,3,4]"]),
    "rollaxis": ([{"axis": 2}, {"axis": 1, "start": 3}], ["T[2,3,4]"]),
    "expand_dims": ([{"axis": 0}, {"axis": (1, -1)}], ["T[2,3]", "T[]"]),
    "broadcast_to": ([{"shape": (2, 3, 4)}, {"shape": (0, 3, 4)}], ["T[3,1]", "T[]", "T[4]"]),
    "tile": ([{"reps": 2}, {"reps": (2, 1, 3)}, {"reps": (0, 2)}], ["T[2,3]", "T[]"]),
    "repeat": ([{"repeats": 3}, {"repeats": 2, "axis": 0}, {"repeats": np.array([1, 0, 2]), "axis": 1}], ["T[2,3]"]),
    "roll": ([{"shift": 2}, {"shift": -1, "axis": 0}, {"shift": (1, 2), "axis": (0, 1)}], ["T[3,4]", "T[0,2]"]),
    "diff": ([{}, {"n": 2, "axis": 0}, {"append": 1, "prepend": 0}], ["T[3,4]"]),
    "gradient": ([{}, {"axis": 0}], ["T[3,4]"]),
    "tril": ([{}, {"k": 1}, {"k": -2}], ["T[3,4]", "T[2,4,3]"]),
    "triu": ([{}, {"k": 1}, {"k": -2}], ["T[3,4]", "T[2,4,3]"]),
    "diag": ([{}, {"k": 1}, {"k": -1}], ["T[3,4]", "T[3]"]),
    "diagonal": ([{}, {"offset": 1}, {"axis1": 1, "axis2": 2}], ["T[2,4,3]"]),
    "trace": ([{}, {"offset": -1}, {"axis1": 1, "axis2": 2}], ["T[2,4,3]"]),
    "diagflat": ([{}, {"k": 1}], ["T[2,2]"]),
}


def together(name, *arrays, **options):
    return getattr(jnp, name)(list(arrays), **options)


def converted(x, dtype):
    return x.astype(dtype)


def viewed(x, dtype):
    return x.view(dtype)


PLACES = {  # of arrays of 5 by 6 by 4; i and j are arrays of indices
    "x[2]": lambda x, i, j: x[2],
    "x[-1,::2]": lambda x, i, j: x[-1, ::2],
    "x[::-1,1:5:2]": lambda x, i, j: x[::-1, 1:5:2],
    "x[...,None,0]": lambda x, i, j: x[..., None, 0],
    "x[i]": lambda x, i, j: x[i],
    "x[:,j]": lambda x, i, j: x[:, j],
    "x[i,j]": lambda x, i, j: x[i, j],
    "x[i,:,j]": lambda x, i, j: x[i, :, j],
    "x[1:3,i,None]": lambda x, i, j: x[1:3, i, None],
    "x[i[:,None],j]": lambda x, i, j: x[i[:, None], j],
    "x[i[0]]": lambda x, i, j: x[i[0]],
    "x[i[0],j[1]]": lambda x, i, j: x[i[0], j[1]],
    "x[...,i]": lambda x, i, j: x[..., i],
    "x[()]": lambda x, i, j: x[()],
    "x[5:2]": lambda x, i, j: x[5:2],
    "x[i,1:4,j]": lambda x, i, j: x[i, 1:4, j],
    "x[mask]": lambda x, i, j: x[np.array([True, False, True, True, False])],
    "x[i[0],::-2]": lambda x, i, j: x[i[0], ::-2],
    "take": lambda x, i, j: jnp.take(x, i),
    "take0": lambda x, i, j: jnp.take(x, i, axis=0),
    "takefill": lambda x, i, j: jnp.take(x, i, axis=1, mode="fill", fill_value=3),
    "takeclip": lambda x, i, j: jnp.take(x, i, axis=1, mode="clip"),
    "takewrap": lambda x, i, j: jnp.take(x, i, axis=1, mode="wrap"),
    "get": lambda x, i, j: x.at[i, j].get(mode="fill", fill_value=2),
    "getclip": lambda x, i, j: x.at[:, i].get(mode="clip"),
    "getpromised": lambda x, i, j: x.at[jnp.sort(abs(i) % 5)].get(indices_are_sorted=True, mode="promise_in_bounds"),
    "along": lambda x, i, j: jnp.take_along_axis(x, jnp.broadcast_to(i[:, None, None], (3, 6, 4)), axis=0),
    "along1": lambda x, i, j: jnp.take_along_axis(x, i.reshape(1, 3, 1), axis=1, mode="clip"),
}


UPDATES = {
    "[i]": lambda x, i, j: x.at[i],
    "[i,j]": lambda x, i, j: x.at[i, j],
    "[:,j]": lambda x, i, j: x.at[:, j],
    "[1]": lambda x, i, j: x.at[1],
    "[::2]": lambda x, i, j: x.at[::2],
    "[i,:,j]": lambda x, i, j: x.at[i, :, j],
    "[i[0],j[0]]": lambda x, i, j: x.at[i[0], j[0]],
    "[...,-1]": lambda x, i, j: x.at[..., -1],
    "[i[:,None],j]": lambda x, i, j: x.at[i[:, None], j],
    "[i[0]]": lambda x, i, j: x.at[i[0]],
}


def updated(how, place, mode, x, i, j):
    at = UPDATES[place](x, i, j)
    keywords = {"mode": mode} if mode else {}
    kept = at.get(mode=mode or "fill") if mode != "drop" else at.get(mode="fill", fill_value=0)
    values = (jnp.cos(jnp.arange(kept.size, dtype="float32")) * 5).reshape(kept.shape)
    values = (abs(values) + 1 if how in ("divide", "power") else values).astype(x.dtype)
    if how == "apply":
        return at.apply(jnp.sin)
    if how == "scalar":
        return at.set(3, **keywords)
    if how == "set":  # places that are named twice may keep either
        return at.set(values[:1] * 0 + 7 if values.ndim else values, **keywords)
    return getattr(at, how)(values, **keywords)


def indexing(table):
    for name, function in PLACES.items():
        table.add(
            f"jnp.indexing.{name}",
            SOME,
            ["T[5,6,4] i32[3]/around4 i32[3]/around4", "T[5,6,4] u8[3]/below4 i8[3]/around4"],
            function=function,
            thin=3,
        )
        table.add(
            f"jnp.indexing.{name}",
            ["f32"],
            ["T[5,6,4] i32[3]/around4 i32[3]/around4"],
            [{}],
            function=named_as(function),
            modes="gv",
        )
    for how in ("set", "scalar", "add", "subtract", "multiply", "divide", "min", "max", "power", "apply"):
        types = {"apply": FLOATS, "divide": FLOATS, "power": ("f32", "i32")}.get(how, (*SOME, "f16", "u8", "i16"))
        if how in ("add", "subtract", "multiply"):
            types = [kind for kind in types if kind != "b1"]
        for place in UPDATES:
            for mode in ("", "drop", "clip"):
                table.add(
                    f"jnp.at.{how}{place}{mode}",
                    types,
                    ["T[5,6,4] i32[3]/around4 i32[3]/around4"],
                    function=functools.partial(updated, how, place, mode),
                    bound=1e-5,
                    thin=5,
                )
        table.add(
            f"jnp.at.{how}.derivative",
            ["f32"],
            ["T[5,6,4] i32[3]/below4 i32[3]/below4"],
            function=functools.partial(updated, how, "[i,j]", ""),
            bound=1e-5,
            modes="gv",
            thin=1,
        )
    table.add("jnp.put", SOME, ["T[5,6] i32[4]/below20"], function=lambda x, i: jnp.put(x, i, 3, inplace=False))
    table.add(
        "jnp.put_along_axis",
        SOME,
        ["T[5,6] i32[5,1]/below6"],
        function=lambda x, i: jnp.put_along_axis(x, i, 3, axis=1, inplace=False),
    )
    table.add(
        "jnp.place",
        SOME,
        ["T[5,6] b1[5,6]"],
        function=lambda x, m: jnp.place(x, m, jnp.arange(3).astype(x.dtype), inplace=False),
    )
    table.add("jnp.indexing.booleans", SOME, ["T[4,3] b1[4]"], function=unjitted(lambda x, m: x[m]))
    table.add("jnp.at.booleans", SOME, ["T[4,3] b1[4,3]"], function=lambda x, m: x.at[m].set(2))


def named_as(function):
    return lambda x, i, j: function(x, i, j)


def made(table):
    for name, options in {
        "arange": [
            {"start": 5},
            {"start": 2, "stop": 9, "step": 2},
            {"start": 9, "stop": 1, "step": -3},
            {"start": 0.0, "stop": 1.0, "step": 0.1},
        ],
        "linspace": [{"start": 0, "stop": 5, "num": n, "endpoint": e} for n in (1, 7, 11) for e in (True, False)]
        + [{"start": 3.0, "stop": -1.5, "retstep": True}],
        "logspace": [{"start": 0, "stop": 2, "num": 9}],
        "geomspace": [{"start": 1, "stop": 1000, "num": 9}],
        "eye": [{"N": 4}, {"N": 3, "M": 5, "k": 1}],
        "identity": [{"n": 3}],
        "tri": [{"N": 3, "M": 5, "k": 1}],
        "zeros": [{"shape": (3, 0)}, {"shape": ()}],
        "full": [{"shape": (2, 3), "fill_value": 3}],
        "hanning": [{"M": 9}],
        "hamming": [{"M": 8}],
        "blackman": [{"M": 9}],
        "bartlett": [{"M": 9}],
        "kaiser": [{"M": 9, "beta": 5.0}],
        "indices": [{"dimensions": (2, 3)}],
    }.items():
        for kind in (
            ("float32", "int32", "bfloat16", "uint8", "complex64")
            if name in ("arange", "linspace", "eye", "zeros", "full", "tri", "identity", "indices")
            else ("",)
        ):
            given = [{**one, "dtype": kind} if kind else one for one in options]
            if kind == "complex64" and name == "arange":
                continue
            table.add(f"jnp.{name}", [""], [""], given, bound=1e-5, thin=1) if given else None
    for name in ("zeros_like", "ones_like", "empty_like"):
        table.add(f"jnp.{name}", ALL, ["T[3,4]", "T[0]", "T[]"], [{}, {"dtype": "int16"}], thin=3)
    for name in ("tril_indices", "triu_indices"):
        table.add(f"jnp.{name}", [""], [""], [{"n": 4}, {"n": 3, "m": 5, "k": 1}])
    table.add("jnp.triu_indices_from", ["f32"], ["T[3,4]"])
    table.add(
        "jnp.linspace_of",
        ("f32", "i32"),
        ["T[3] T[3]", "T[] T[2,3]"],
        [{"num": 5}, {"num": 4, "axis": -1}],
        function=lambda a, b, **o: jnp.linspace(a, b, **o),
        bound=1e-5,
    )
    table.add(
        "jnp.fromfunction", [""], [""], function=lambda: jnp.fromfunction(lambda i, j: i * 2 + j, (3, 4), dtype=int)
    )


def cases():
    table = Table()
    for add in (shapes, indexing, made):
        add(table)
    return table.cases
