"""JAX's public functions on the device as on the CPU: what the tables api_*.py name, over types, shapes and options.

Usage: api_cases.py [--count N] [--only REGEX] [--state FILE] [--minutes M] [--jobs J] [--list]

N cases, chosen by the hash of the name (all without it), each compiled as a whole or operation by operation, of some
also the derivative and vmap. Integers are identical, floats within the tolerance that JAX's own tests have for their
type unless the table says otherwise; against JAX on the CPU, or, where that is off itself, against the same in float64
or, of narrow floats, operation by operation. With a state file, those that have passed and stand there are not run
again. $TOSAVK_TEST_SEED draws other numbers. Exit code 0: all passed; 1: one did not; 3: out of time, the same command
goes on.
"""

import functools
import hashlib
import importlib
import os
import re
import sys
import warnings

import jax
import ml_dtypes
import numpy as np
import shares
from support import SEED

TYPES = {
    "b1": np.bool_,
    "i4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "c64": np.complex64,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
# Relative and absolute, by the size of the type; complex numbers by that of a part.
BOUNDS = {1: 1e-1, "float16": 1e-3, "bfloat16": 1e-2, 4: 1e-6, 8: 1e-6}
DERIVATIVE = 1e-4
REFUSED = re.compile(r"JAX's primitive '(eig|schur|hessenberg|tridiagonal|geqp3|\w*callback|debug_print)'|x64 mode off")
TABLES = ("numpy", "numpy_lines", "numpy_shapes", "linear", "lax", "lax_loops", "science", "scipy")


def drawn(spec, random):
    """An array of "f32[3,4]/kind", or what stands there itself."""
    if not isinstance(spec, str):
        return spec
    kind, shape = re.fullmatch(r"(\w+)\[([\d,]*)\]", spec.split("/")[0]).groups()
    how = spec.split("/")[1] if "/" in spec else "default"
    return numbers(how, TYPES[kind], tuple(int(n) for n in shape.split(",") if n), random)


def numbers(how, kind, shape, random):
    kind = np.dtype(kind)
    if how.startswith("below"):  # indices
        return np.asarray(random.integers(0, int(how[5:]), shape)).astype(kind)
    if how.startswith("around"):  # indices, some of them negative or out of bounds
        return np.asarray(random.integers(-int(how[6:]) - 2, int(how[6:]) + 2, shape)).astype(kind)
    if kind == np.bool_:
        return np.asarray(random.integers(0, 2, shape)).astype(kind)
    if kind.kind in "iu" or "int" in kind.name:
        info = ml_dtypes.iinfo(kind)
        if how == "full":
            return np.asarray(random.integers(int(info.min), int(info.max) + 1, shape)).astype(kind)
        low, high = {
            "positive": (1, 10),
            "nonzero": (1, 10),
            "small": (-3, 4),
            "unit": (0, 2),
            "equal": (-2, 3),
            "large": (-100, 100),
        }.get(how, (-9, 10))
        made = np.asarray(random.integers(max(low, int(info.min)), min(high, int(info.max) + 1), shape))
        if how == "nonzero" and info.min < 0:
            made = made * random.choice([-1, 1], shape)
        return np.asarray(np.clip(made, int(info.min), int(info.max))).astype(kind)
    if kind.kind == "c":
        real = np.asarray(numbers(how, np.float32, shape, random))
        return np.asarray(real + 1j * numbers(how, np.float32, shape, random)).astype(kind)
    made = np.asarray(random.standard_normal(shape))
    if how == "positive":
        made = np.abs(made) * 2 + 0.05
    elif how == "nonzero":
        made = np.where(made < 0, -1, 1) * (np.abs(made) * 3 + 0.1)
    elif how == "unit":
        made = random.uniform(-0.98, 0.98, shape)
    elif how == "probability":
        made = random.uniform(0.02, 0.98, shape)
    elif how == "equal":
        made = np.round(made * 1.5)
    elif how == "small":
        made = made * 0.5
    elif how == "large":
        made = made * 40
    elif how == "special":
        chosen = random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], shape)
        made = np.where(random.uniform(size=shape) < 0.4, chosen, made * 3)
    else:
        made = made * 3
    return np.asarray(made).astype(kind)


def seed_of(name):
    return [SEED, int(hashlib.sha1(name.encode()).hexdigest()[:8], 16)]


def is_inexact(array):
    return jax.dtypes.issubdtype(np.asarray(array).dtype, np.inexact)


def derivative(function):
    """The function's results and what a random cotangent makes of the arguments that are of floats."""

    def whole(*arguments):
        floats = [i for i, argument in enumerate(arguments) if is_inexact(argument)]

        def part(*given):
            full = list(arguments)
            for i, one in zip(floats, given):
                full[i] = one
            return [leaf for leaf in jax.tree.leaves(function(*full)) if jax.dtypes.issubdtype(leaf.dtype, np.inexact)]

        made, back = jax.vjp(part, *[arguments[i] for i in floats])
        cotangents = [
            jax.numpy.cos(jax.numpy.arange(leaf.size)).reshape(leaf.shape).astype(leaf.dtype) for leaf in made
        ]
        return back(cotangents)

    return whole


def transformed(case):
    if case.mode == "grad":
        return derivative(case.function)
    if case.mode == "vmap":
        return jax.vmap(case.function)
    return case.function


def on(device, case, arguments):
    function = transformed(case)
    if case.mode == "grad":  # what is drawn is known when it is traced
        function = functools.partial(lambda whole, *given: whole(*given), function)
    apart = getattr(case.function, "eager", False) or case.mode == "eager" and device.platform != "cpu"
    jitted = function if apart else jax.jit(function)  # which jax.disable_jit undoes
    with jax.default_device(device):
        placed = [jax.device_put(one, device) if isinstance(one, np.ndarray) else one for one in arguments]
        made = jitted(*placed)
        return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.block_until_ready(made))]


def wide(array):
    if not is_inexact(array):
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def close(mine, wanted, bound, scaled=False):
    """Raises AssertionError where one is off."""
    if not is_inexact(wanted):
        return np.testing.assert_array_equal(mine, wanted)
    size = wanted.dtype.itemsize // (2 if wanted.dtype.kind == "c" else 1)
    allowed = max(BOUNDS.get(wanted.dtype.name) or BOUNDS[size], bound * (1 if size >= 4 else 0))
    finite = np.abs(wide(wanted)[np.isfinite(wide(wanted))]) if scaled else np.zeros(())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(wide(mine), wide(wanted), allowed, allowed * max(1, finite.max(initial=0)))


def in_float64(case, arguments):
    """The results on the CPU of the same numbers as float64, in the types of float32's."""
    with jax.enable_x64(True):
        return on(jax.devices("cpu")[0], case, [wide(one) if isinstance(one, np.ndarray) else one for one in arguments])


def step_by_step(case, arguments):
    """On the CPU with every operation rounded to its type, where narrow floats show that."""
    assert any(np.asarray(one).dtype.name in ("float16", "bfloat16") for one in arguments)
    with jax.disable_jit():
        return on(jax.devices("cpu")[0], case, arguments)


def run(case, device):
    """What came of it: "the same", or why it is not looked at. Raises what the device did otherwise."""
    name = case.name if case.mode in ("jit", "eager") else case.name.rsplit(" ", 1)[0]
    random = np.random.default_rng(seed_of(name))
    specs = case.specs
    if case.mode == "vmap":
        specs = [re.sub(r"\[", "[3,", spec).replace(",]", "]") if isinstance(spec, str) else spec for spec in specs]
    arguments = [drawn(spec, random) for spec in specs]
    try:
        wanted = on(jax.devices("cpu")[0], case, arguments)
    except Exception as e:  # noqa: BLE001
        if case.mode in ("jit", "eager") and not os.environ.get("TOSAVK_QUIET"):
            print(f"not on the CPU: {case.name}: {' '.join(str(e).split())[:150]}", file=sys.stderr)
        return "not on the CPU"
    try:
        mine = on(device, case, arguments)
    except Exception as e:
        if found := REFUSED.search(str(e)):
            return f"refused {found[1] or 'f64'}"
        raise
    shapes = [[(leaf.shape, leaf.dtype.name) for leaf in leaves] for leaves in (mine, wanted)]
    assert shapes[0] == shapes[1], shapes
    if case.check:
        case.check(arguments, mine, wanted)
        return "the same"
    bound, scaled = max(case.bound, DERIVATIVE if case.mode == "grad" else 0), case.mode == "grad"
    reasons = []
    for other in (lambda: wanted, lambda: in_float64(case, arguments), lambda: step_by_step(case, arguments)):
        try:
            for one, two, kind in zip(mine, other(), wanted, strict=True):
                close(one, two.astype(kind.dtype), bound, scaled)
            return "the same"
        except Exception as e:  # noqa: BLE001
            reasons.append(e)
            if not any(is_inexact(leaf) for leaf in wanted):
                break
    raise reasons[0]


def all_cases():
    """Each once, by the hash of its name."""
    found = {}
    for table in TABLES:
        for case in importlib.import_module(f"api_{table}").cases():
            found.setdefault(case.name, case)
    return sorted(found.values(), key=lambda case: hashlib.sha1(case.name.encode()).hexdigest())


def chosen(options):
    cases = [case for case in all_cases() if re.search(options.only, case.name)]
    return cases[: options.count or None]


def room(name):
    """The part of JAX that the case is of: "jnp", "jnp.linalg", "jsp.special"."""
    parts = name.split("(")[0].split(".")
    return ".".join(parts[:2] if len(parts) > 2 and parts[0] not in ("random", "nn") else parts[:1])


def main():
    parser = shares.parser_of(__doc__)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for case in chosen(options):
            print(case.name)
        return
    warnings.simplefilter("ignore")
    if options.share:
        device = jax.devices("tosavk")[0]
        cases = [(case.name, case) for case in chosen(options)]
        sys.exit(shares.run_share(options, cases, lambda case: run(case, device)))
    print(f"seed {SEED}", flush=True)
    sys.exit(shares.run_all(options, [((), {"JAX_ENABLE_X64": "0"})], room))


if __name__ == "__main__":
    main()
