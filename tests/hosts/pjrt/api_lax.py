"""Cases of jax.lax: operators, what is sorted and scanned, what is moved, products."""

import functools

import jax.numpy as jnp
import numpy as np
from api_numpy import of
from api_tables import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMBERS,
    REAL,
    SIGNED,
    Table,
)
from jax import lax

ONE = ["T[]", "T[3,4]", "T[2,0]"]


TWO = ["T[] T[]", "T[3,4] T[3,4]", "T[2,0] T[2,0]"]


def operators(table):
    small, positive, default = "small", "positive", "default"
    for name, types, kind, bound in (
        ("neg", NUMBERS, small, 0),
        ("sign", NUMBERS, small, 0),
        ("floor", FLOATS, small, 0),
        ("ceil", FLOATS, small, 0),
        ("is_finite", FLOATS, small, 0),
        ("exp", INEXACT, small, 0),
        ("exp2", INEXACT, small, 0),
        ("expm1", INEXACT, small, 0),
        ("log", INEXACT, positive, 0),
        ("log1p", INEXACT, positive, 0),
        ("tanh", INEXACT, small, 0),
        ("logistic", INEXACT, default, 0),
        ("sin", INEXACT, default, 0),
        ("cos", INEXACT, default, 0),
        ("sqrt", INEXACT, positive, 0),
        ("rsqrt", INEXACT, positive, 0),
        ("cbrt", FLOATS, default, 0),
        ("square", NUMBERS, default, 0),
        ("reciprocal", INEXACT, positive, 0),
        ("tan", INEXACT, default, 3e-5),
        ("asin", INEXACT, small, 0),
        ("acos", INEXACT, small, 0),
        ("atan", INEXACT, small, 0),
        ("asinh", INEXACT, default, 0),
        ("acosh", INEXACT, positive, 0),
        ("atanh", INEXACT, "unit", 0),
        ("sinh", INEXACT, default, 0),
        ("cosh", INEXACT, default, 0),
        ("lgamma", FLOATS, positive, 1e-5),
        ("digamma", FLOATS, positive, 0),
        ("erf", FLOATS, small, 0),
        ("erfc", FLOATS, small, 0),
        ("erf_inv", FLOATS, "unit", 0),
        ("bessel_i0e", FLOATS, default, 0),
        ("bessel_i1e", FLOATS, default, 0),
        ("real", COMPLEX, default, 0),
        ("imag", COMPLEX, default, 0),
        ("conj", COMPLEX, default, 0),
        ("abs", (*SIGNED, *INEXACT), default, 0),
        ("bitwise_not", BOOL + INTEGERS, "full", 0),
        ("population_count", INTEGERS, "full", 0),
        ("clz", INTEGERS, "full", 0),
    ):
        table.add(f"lax.{name}", types, of(kind, ONE + ["T[200]"]), bound=bound, thin=2, modes="gv")
        floats = [t for t in types if t in FLOATS]
        if floats:
            table.add(f"lax.{name}", floats, of("special", ["T[60]"]) + of("large", ["T[200]"]), bound=bound)
        if "c64" in types and bound == 0:
            # Beyond exp's range a part of cosh and sinh that is within it is infinite.
            far = [] if name in ("cosh", "sinh") else ["T[60]/large"]
            table.add(f"lax.{name}", COMPLEX, ["T[100]/default", *far], thin=1)
    table.add(
        "lax.round",
        FLOATS,
        ["T[90]/equal", "T[60]/special", "T[9]"],
        [{"rounding_method": lax.RoundingMethod(m)} for m in (0, 1)],
        thin=1,
    )
    for name, types, kind, bound in (
        ("add", ALL, default, 0),
        ("sub", NUMBERS, default, 0),
        ("mul", ALL, default, 0),
        ("div", NUMBERS, "nonzero", 0),
        ("rem", REAL, "nonzero", 0),
        ("max", ALL, "equal", 0),
        ("min", ALL, "equal", 0),
        ("eq", ALL, "equal", 0),
        ("ne", ALL, "equal", 0),
        ("ge", BOOL + REAL, "equal", 0),
        ("lt", BOOL + REAL, "equal", 0),
        ("gt", BOOL + REAL, "equal", 0),
        ("le", BOOL + REAL, "equal", 0),
        ("atan2", FLOATS, default, 0),
        ("pow", INEXACT, positive, 1e-5),
        ("nextafter", ("f16", "f32"), default, 0),
        ("complex", ("f32",), default, 0),
        ("bitwise_and", BOOL + INTEGERS, "full", 0),
        ("bitwise_or", BOOL + INTEGERS, "full", 0),
        ("bitwise_xor", BOOL + INTEGERS, "full", 0),
        ("igamma", ("f32",), positive, 1e-5),
        ("igammac", ("f32",), positive, 1e-5),
        ("igamma_grad_a", ("f32",), positive, 1e-4),
        ("random_gamma_grad", ("f32",), positive, 1e-4),
        ("mulhi", INTEGERS, "full", 0),
        ("polygamma", ("f32",), "nonneg", 1e-4),
        ("zeta", ("f32",), positive, 1e-4),
    ):
        if not hasattr(lax, name):
            continue
        forms = ["T[9]/below4 T[9]/positive"] if kind == "nonneg" else of(kind, TWO + ["T[60] T[60]"])
        table.add(f"lax.{name}", types, forms, bound=bound, thin=2, modes="gv")
        if kind == "default" and bound == 0:
            table.add(f"lax.{name}", [t for t in types if t in FLOATS], of("special", ["T[80] T[80]"]))
        table.add(f"lax.{name}", [t for t in types if t in INTEGERS], of("full", ["T[80] T[80]"]))
    for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
        table.add(f"lax.{name}", INTEGERS, ["T[40]/full T[40]/below7", "T[40]/full T[40]/full"], thin=1)
    table.add("lax.betainc", ("f32", "bf16"), ["T[20]/probability T[20]/probability T[20]/probability"], bound=2e-5)
    table.add(
        "lax.integer_pow",
        ("i32", "u8", "f32", "bf16", "c64"),
        ["T[3,4]/nonzero"],
        [{"y": y} for y in (-2, 0, 1, 3, 7)],
        bound=1e-5,
    )
    table.add("lax.clamp", REAL, ["T[] T[3,4] T[]", "T[3,4] T[3,4] T[3,4]"], thin=2)
    table.add("lax.select", ALL, ["b1[3,4] T[3,4] T[3,4]", "b1[] T[3,4] T[3,4]"], thin=2, modes="gv")
    table.add("lax.select_n", ALL, ["i32[4]/below3 T[4] T[4] T[4]", "b1[] T[4] T[4]"])
    table.add(
        "lax.convert_element_type",
        ALL + ("e4m3", "e5m2", "i4", "u4"),
        ["T[40]/full"],
        [
            {"new_dtype": np.dtype(d)}
            for d in (
                bool,
                "int8",
                "int16",
                "int32",
                "uint8",
                "uint16",
                "uint32",
                jnp.bfloat16,
                "float16",
                "float32",
                "complex64",
                jnp.float8_e4m3fn,
                jnp.float8_e5m2,
                jnp.int4,
                jnp.uint4,
            )
        ],
        thin=2,
    )
    table.add(
        "lax.convert_element_type_large",
        FLOATS,
        ["T[60]/large"],
        [{"new_dtype": np.dtype(d)} for d in ("int8", "uint8", "int32", "uint32", "int16")],
        function=lax.convert_element_type,
    )
    table.add(
        "lax.bitcast_convert_type",
        ("i8", "u16", "i32", "f32", "f16", "bf16", "u32", "u8", "i16"),
        ["T[3,4]/full"],
        [{"new_dtype": np.dtype(d)} for d in ("int8", "uint16", "float32", "int32", jnp.bfloat16, "float16", "uint8")],
        thin=1,
    )
    table.add(
        "lax.reduce_precision",
        FLOATS,
        ["T[60]", "T[40]/special"],
        [{"exponent_bits": e, "mantissa_bits": m} for e, m in ((5, 10), (8, 7), (4, 3), (2, 1))],
        thin=1,
    )
    table.add(
        "lax.top_k",
        ("i8", "u16", "i32", "u32", "bf16", "f16", "f32", "b1"),
        of("equal", ["T[9]", "T[3,20]", "T[2,3,5]"]),
        [{"k": 1}, {"k": 4}],
        thin=1,
        modes="gv",
    )
    table.add("lax.top_k", FLOATS, ["T[40]/special"], [{"k": 25}])
    table.add("lax.top_k_axis", ("f32", "i32"), ["T[9,4]"], [{"k": 3, "axis": 0}], function=lax.top_k)
    for name in ("argmax", "argmin"):
        table.add(
            f"lax.{name}",
            REAL + BOOL,
            ["T[3,9]/equal", "T[9,2]/equal"],
            [{"axis": 0, "index_dtype": np.dtype(d)} for d in ("int32", "uint8", "int16")],
            thin=2,
        )
    table.add(
        "lax.sort",
        ALL,
        of("equal", ["T[9]", "T[4,5]", "T[4,5] T[4,5]", "T[7] T[7] T[7]"]),
        [{"dimension": 0}, {"is_stable": False}, {"num_keys": 2}],
        function=sorted_by,
        thin=3,
    )
    table.add(
        "lax.sort_large",
        ("f32", "i32", "u8", "bf16"),
        ["T[2,1500]/full T[2,1500]"],
        [{"dimension": 1}, {"dimension": 1, "num_keys": 2}],
        function=sorted_by,
    )
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        types = FLOATS if "log" in name else (NUMBERS if name in ("cumsum", "cumprod") else REAL)
        table.add(
            f"lax.{name}",
            types,
            of("small", ["T[9]", "T[4,5]", "T[3,70]", "T[0,3]"]),
            [{"axis": 0}, {"axis": 0, "reverse": True}],
            bound=1e-5,
            thin=3,
            modes="gv",
        )


def sorted_by(*arrays, num_keys=1, **options):
    if len(arrays) == 1:
        return lax.sort(arrays[0], **options)
    keys = min(num_keys, len(arrays))
    if not options.get("is_stable", True):  # the values of equal keys may stand in any order
        return lax.sort(arrays, num_keys=len(arrays), **options)
    return lax.sort(arrays, num_keys=keys, **options)


def moved(table):
    few = ("b1", "i8", "u32", "bf16", "f32", "c64", "i16", "e5m2", "i4")
    table.add("lax.broadcast", few, ["T[2,3]", "T[]"], [{"sizes": (4,)}, {"sizes": (0, 2)}])
    table.add(
        "lax.broadcast_in_dim",
        few,
        ["T[2,1]", "T[2,3]"],
        [{"shape": (3, 2, 3), "broadcast_dimensions": (1, 2)}],
        modes="v",
    )
    table.add(
        "lax.broadcasted_iota",
        [""],
        [""],
        [
            {"dtype": np.dtype(d), "shape": (3, 4), "dimension": n}
            for d in ("int8", "uint16", "float32", "bool", "complex64", jnp.bfloat16)
            for n in (0, 1)
        ],
    )
    table.add(
        "lax.pad",
        few,
        ["T[3,4] T[]"],
        [{"padding_config": c} for c in (((1, 2, 0), (0, 0, 0)), ((-1, 0, 1), (2, -2, 2)), ((0, 0, 3), (-5, 3, 0)))],
        thin=2,
        modes="gv",
    )
    table.add(
        "lax.slice",
        few,
        ["T[6,5]"],
        [{"start_indices": (1, 0), "limit_indices": (5, 3), "strides": s} for s in (None, (2, 1), (3, 2))],
        thin=2,
        modes="gv",
    )
    table.add("lax.rev", few, ["T[2,3,4]"], [{"dimensions": (0,)}, {"dimensions": (0, 2)}], modes="gv")
    table.add(
        "lax.transpose", few, ["T[2,3,4,2]"], [{"permutation": (3, 1, 0, 2)}, {"permutation": (0, 2, 1, 3)}], modes="gv"
    )
    table.add(
        "lax.reshape",
        few,
        ["T[4,6]"],
        [{"new_sizes": (2, 12)}, {"new_sizes": (3, 8), "dimensions": (1, 0)}],
        function=lax.reshape,
    )
    table.add(
        "lax.concatenate",
        few,
        ["T[2,3] T[2,3] T[2,3]"],
        [{"dimension": 0}, {"dimension": 1}],
        function=lambda *a, **o: lax.concatenate(a, **o),
        modes="gv",
    )
    table.add(
        "lax.dynamic_slice",
        few,
        ["T[5,6] i32[]/around5 i32[]/around6", "T[5,6] u8[]/below5 i16[]/around6"],
        function=lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
        modes="gv",
    )
    table.add(
        "lax.dynamic_update_slice",
        few,
        ["T[5,6] T[2,3] i32[]/around5 i32[]/around6"],
        function=lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        modes="gv",
    )
    for name in ("dynamic_slice_in_dim", "dynamic_index_in_dim"):
        table.add(
            f"lax.{name}",
            few,
            ["T[5,6] i32[]/around5"],
            function=(lambda x, i: lax.dynamic_slice_in_dim(x, i, 3, 1))
            if "slice" in name
            else (lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False)),
        )
    table.add("lax.split", few, ["T[6,5]"], [{"sizes": (1, 3, 2), "axis": 0}])
    table.add("lax.tile", ("f32", "i8"), ["T[2,3]"], [{"reps": (2, 3)}])
    table.add("lax.optimization_barrier", few, ["T[2,3]"])
    table.add("lax.dot", ALL, ["T[3,4] T[4,5]", "T[4] T[4]", "T[3,4] T[4]"], bound=1e-5, thin=2, modes="gv")
    table.add(
        "lax.dot",
        ("i8", "u8", "bf16", "f16", "f32", "i16"),
        ["T[3,4] T[4,5]"],
        [{"preferred_element_type": np.dtype("float32")}],
        bound=1e-5,
    )
    table.add(
        "lax.dot_mixed",
        ["f32"],
        ["bf16[3,4] f32[4,5]", "i8[3,4] u8[4,5]", "f16[3,4] bf16[4,5]", "e4m3[3,4] e5m2[4,5]"],
        function=lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
        bound=1e-5,
    )
    for precision in (lax.Precision.HIGHEST, lax.DotAlgorithmPreset.BF16_BF16_F32, lax.DotAlgorithmPreset.F32_F32_F32):
        table.add(
            f"lax.dot_{precision.name}",
            ("f32", "bf16"),
            ["T[9,40] T[40,5]"],
            function=functools.partial(lax.dot, precision=precision),
            bound=1e-2 if "BF16" in precision.name else 1e-5,
        )
    table.add(
        "lax.dot_general",
        ALL,
        ["T[2,3,4] T[2,4,3]"],
        [
            {"dimension_numbers": d}
            for d in (
                (((2,), (1,)), ((0,), (0,))),
                (((1, 2), (2, 1)), ((0,), (0,))),
                (((0,), (0,)), ((), ())),
                (((), ()), ((0,), (0,))),
                (((2, 1), (1, 2)), ((), ())),
            )
        ],
        bound=1e-5,
        thin=2,
        modes="gv",
    )
    table.add(
        "lax.ragged_dot",
        ("f32", "bf16"),
        ["T[6,4] T[3,4,5] i32[3]"],
        function=lambda a, b, s: lax.ragged_dot(a, b, jnp.array([2, 0, 3])),
        bound=1e-5,
        modes="gv",
    )
    table.add("lax.batch_matmul", ("f32", "i32", "c64"), ["T[2,3,4] T[2,4,2]"], bound=1e-5)
    table.add("lax.collapse", ("f32",), ["T[2,3,4]"], [{"start_dimension": 1}])
    table.add("lax.expand_dims", ("f32",), ["T[2,3]"], [{"dimensions": (0, 3)}])


def cases():
    table = Table()
    for add in (operators, moved):
        add(table)
    return table.cases
