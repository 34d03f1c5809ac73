"""Cases of jax.numpy: functions of elements, polynomials."""

import functools

import jax.numpy as jnp
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
    SOME,
    UNSIGNED,
    Table,
)

ONE = ["T[]", "T[4]", "T[3,4]", "T[2,1,4]", "T[0]", "T[3,0]", "T[1,2,1,3,2,2]"]


ONE_FEW = ["T[]", "T[3,4]"]


TWO = ["T[] T[]", "T[4] T[4]", "T[3,4] T[4]", "T[3,1] T[1,4]", "T[2,3,4] T[2,1,4]", "T[] T[3,4]", "T[0,4] T[1,4]"]


def of(kind, shapes):
    """The same shapes with numbers of another kind."""
    return [" ".join(f"{part}/{kind}" for part in shape.split()) for shape in shapes]


def unary(table):
    for name in (
        "abs",
        "absolute",
        "fabs",
        "positive",
        "negative",
        "sign",
        "square",
        "conjugate",
        "real",
        "imag",
        "angle",
        "isfinite",
        "isinf",
        "isnan",
        "isreal",
        "iscomplex",
        "logical_not",
        "invert",
        "signbit",
        "nan_to_num",
    ):
        types = {
            "fabs": REAL,
            "signbit": REAL,
            "invert": BOOL + INTEGERS,
            "negative": NUMBERS,
            "positive": NUMBERS,
            "sign": NUMBERS,
        }.get(name, ALL)
        table.add(f"jnp.{name}", types, ONE, thin=4)
        if name not in ("invert", "angle"):
            table.add(f"jnp.{name}", [t for t in types if t in FLOATS], of("special", ["T[7]", "T[3,9]"]))
    for name in ("ceil", "floor", "trunc", "rint", "fix"):
        if hasattr(jnp, name):
            table.add(f"jnp.{name}", REAL if name != "rint" else NUMBERS, ONE, thin=4)
            table.add(f"jnp.{name}", FLOATS, of("special", ["T[40]"]))
    table.add("jnp.round", NUMBERS, ONE_FEW, [{}, {"decimals": 1}, {"decimals": -2}, {"decimals": 3}], thin=2)
    for name in (
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arctan",
        "arcsin",
        "arccos",
        "arctanh",
        "arccosh",
        "sqrt",
        "cbrt",
        "reciprocal",
        "sinc",
        "i0",
        "deg2rad",
        "rad2deg",
        "degrees",
        "radians",
    ):
        kind = {
            "log": "positive",
            "log2": "positive",
            "log10": "positive",
            "log1p": "positive",
            "arcsin": "unit",
            "arccos": "unit",
            "arctanh": "unit",
            "arccosh": "positive",
            "sqrt": "positive",
            "exp": "small",
            "reciprocal": "nonzero",
            "exp2": "small",
            "expm1": "small",
        }.get(name, "default")
        types = REAL if name in ("cbrt", "i0", "deg2rad", "rad2deg", "degrees", "radians") else NUMBERS
        bound = {"tan": 3e-5, "i0": 1e-5, "sinc": 1e-5}.get(name, 0)
        if name == "reciprocal":
            types = INEXACT
        table.add(f"jnp.{name}", types, of(kind, ONE), bound=bound, thin=5)
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[60]"]), bound=bound)
        table.add(
            f"jnp.{name}", ["f32"] + [t for t in types if t == "c64"], of(kind, ["T[50]"]), bound=bound, modes="gv"
        )
    for name, kind in (("frexp", "default"), ("modf", "default"), ("spacing", "default")):
        table.add(f"jnp.{name}", FLOATS, of(kind, ["T[3,4]", "T[]"]))
    table.add("jnp.bitwise_count", INTEGERS, ["T[3,4]/full"])


def binary(table):
    for name in (
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
    ):
        types = NUMBERS if name == "subtract" else ALL
        table.add(f"jnp.{name}", types, of("equal", TWO), thin=5)
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[60] T[60]"]))
        table.add(f"jnp.{name}", ["f32"], ["T[3,4] T[4]"], modes="gv")
    for name in (
        "fmax",
        "fmin",
        "copysign",
        "hypot",
        "heaviside",
        "nextafter",
        "logaddexp",
        "logaddexp2",
        "arctan2",
        "float_power",
    ):
        types = FLOATS if name in ("nextafter", "heaviside") else (REAL if name != "float_power" else NUMBERS)
        types = (*types, "c64") if name == "logaddexp" else types
        kind = "positive" if name == "float_power" else "default"
        bound = {"float_power": 1e-5, "logaddexp2": 1e-5, "logaddexp": 1e-5}.get(name, 0)
        table.add(f"jnp.{name}", types, of(kind, TWO), bound=bound, thin=5)
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[60] T[60]"]), bound=bound)
        table.add(f"jnp.{name}", ["f32"], ["T[3,4]/nonzero T[4]/nonzero"], bound=bound, modes="gv")
    for name in ("divide", "true_divide", "floor_divide", "remainder", "mod", "fmod", "divmod"):
        types = NUMBERS if "true" in name or name == "divide" else REAL
        shapes = [f"{shape.split()[0]} {shape.split()[1]}/nonzero" for shape in TWO]
        table.add(f"jnp.{name}", types, shapes, thin=4)
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[60] T[60]"]))
        table.add(f"jnp.{name}", INTEGERS, ["T[60]/full T[60]/full", "T[30] T[30]/small"])
    table.add("jnp.power", REAL, of("positive", TWO), bound=1e-5, thin=4)
    table.add("jnp.power", SIGNED + UNSIGNED, ["T[50] T[50]/positive", "T[50]/full T[50]/positive"])
    table.add("jnp.power", ["f32", "bf16", "f16"], ["T[60]/special T[60]/special", "T[60] T[60]/equal"], bound=1e-5)
    table.add("jnp.power", COMPLEX, ["T[9] T[9]", "T[3,4]/positive T[4]"], bound=2e-5)
    for exponent in (-3, 0, 1, 2, 5, 0.5, -0.5):
        types = REAL if isinstance(exponent, int) and exponent >= 0 else FLOATS
        table.add(
            f"jnp.x**{exponent}", types, ["T[3,4]/positive"], function=functools.partial(raised, exponent), modes="gv"
        )
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"):
        types = INTEGERS if name in ("gcd", "lcm") else BOOL + INTEGERS
        table.add(f"jnp.{name}", types, of("large" if name in ("gcd", "lcm") else "full", TWO), thin=3)
    for name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift"):
        table.add(
            f"jnp.{name}", INTEGERS, ["T[20]/full T[20]/below8", "T[3,4]/full T[4]/below40", "T[]/full T[]/below5"]
        )
    table.add("jnp.ldexp", ["f32", "bf16", "f16"], ["T[3,4] i32[4]/small", "T[40] i32[40]/large"])
    for name in ("isclose", "array_equal", "array_equiv", "allclose"):
        table.add(f"jnp.{name}", SOME, of("equal", ["T[3,4] T[4]", "T[3,4] T[3,4]", "T[0] T[0]"]))
    table.add("jnp.isclose", FLOATS, of("special", ["T[60] T[60]"]), [{}, {"equal_nan": True}])
    mixed = [
        "i8[3,4] f16[4]",
        "u8[3] i8[3]",
        "i32[3] bf16[3]",
        "u32[3] i32[3]",
        "bf16[3] f16[3]",
        "b1[3] i16[3]",
        "i32[3] c64[3]",
        "f32[3] c64[]",
        "u16[2,1] i16[3]",
        "f16[3] u32[]",
    ]
    for name in ("add", "subtract", "multiply", "true_divide", "floor_divide", "maximum", "less", "logaddexp"):
        table.add(f"jnp.{name}", ["f32"], mixed, thin=1)
    for scalar in (2, 2.5, True, 1j, -3):
        for name in ("add", "multiply", "subtract", "true_divide"):
            table.add(
                f"jnp.{name}_{scalar}", SOME, ["T[3]"], function=functools.partial(scalar_second, name, scalar), thin=1
            )
    table.add("jnp.clip", REAL, ["T[3,4]", "T[]"], [{"min": -1, "max": 3}, {"max": 2}, {"min": 1}])
    table.add("jnp.clip", REAL, ["T[3,4] T[4] T[]"])
    table.add(
        "jnp.where",
        ALL,
        ["b1[3,4] T[3,4] T[4]", "b1[3,1] T[] T[4]", "b1[] T[0,4] T[]", "b1[4] T[4] f16[4]"],
        thin=2,
        modes="g",
    )
    for name in ("select", "piecewise", "choose"):
        table.add(f"jnp.{name}", ["i32", "f32", "bf16"], ["T[3,4]"], function=functools.partial(chosen_by, name))
    table.add(
        "jnp.interp",
        ["f32"],
        ["T[9] T[5] T[5]"],
        [{}, {"left": -1, "right": 2}, {"period": 5.0}],
        function=interpolated,
        bound=1e-5,
    )
    for name in ("unwrap", "trapezoid", "ediff1d"):
        table.add(f"jnp.{name}", ["f32", "bf16", "i32"], ["T[9]", "T[3,5]"], bound=1e-5)
    table.add(
        "jnp.convolve",
        ("i32", "f32", "bf16", "c64", "u8"),
        ["T[9] T[4]", "T[3] T[7]", "T[1] T[1]"],
        [{"mode": m} for m in ("full", "same", "valid")],
        bound=1e-5,
    )
    table.add(
        "jnp.correlate",
        ("i32", "f32", "c64"),
        ["T[9] T[4]", "T[3] T[7]"],
        [{"mode": m} for m in ("full", "same", "valid")],
        bound=1e-5,
    )
    for name in ("polyval", "polyadd", "polysub", "polymul"):
        table.add(f"jnp.{name}", ("i32", "f32", "c64"), ["T[4]/small T[3]/small"], bound=1e-5)
    for name in ("polyder", "polyint"):
        table.add(f"jnp.{name}", ("i32", "f32", "c64"), ["T[5]"], [{"m": 1}, {"m": 2}])
    table.add("jnp.polydiv", ["f32"], ["T[5] T[3]/nonzero"], bound=1e-4)
    table.add("jnp.polyfit", ["f32"], ["T[12] T[12]"], [{"deg": 2}, {"deg": 3, "full": False}], bound=1e-3)
    table.add("jnp.vander", ("i32", "f32", "u8"), ["T[4]/small"], [{}, {"N": 3}, {"increasing": True}])


def raised(exponent, x):
    return x**exponent


def scalar_second(name, scalar, x):
    return getattr(jnp, name)(x, scalar)


def chosen_by(name, x):
    if name == "select":
        return jnp.select([x > 2, x > 0], [x * 2, x + 1], 7)
    if name == "choose":
        return jnp.choose(jnp.clip(x.astype(int), 0, 2), [x, x * 2, x * 3], mode="clip")
    return jnp.piecewise(x, [x < 0, x >= 2], [lambda v: -v, lambda v: v * 3, 1])


def interpolated(x, xp, fp, **options):
    return jnp.interp(x, jnp.sort(xp), fp, **options)


def cases():
    table = Table()
    for add in (unary, binary):
        add(table)
    return table.cases
