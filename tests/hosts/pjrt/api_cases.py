"""JAX's public functions on the device as on the CPU: what the tables api_*.py name, over types, shapes and options.

Usage: api_cases.py [--count N] [--only REGEX] [--state FILE] [--minutes M] [--jobs J] [--list]

N cases, chosen by the hash of the name (all without it), each compiled as a whole or operation by operation, of some
also the derivative and vmap. Integers are identical, floats within the tolerance that JAX's own tests have for their
type unless the table says otherwise; against JAX on the CPU, or, where that is off itself, against the same in float64
or, of narrow floats, operation by operation. With a state file, those that have passed and stand there are not run
again. $TOSAVK_TEST_SEED draws other numbers. Exit code 0: all passed; 1: one did not; 3: out of time, the same command
goes on.
"""

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import importlib
import os
import re
import subprocess
import sys
import time
import warnings

import jax
import ml_dtypes
import numpy as np
from support import SEED, counters

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
SLOW_SECONDS = 60  # what takes longer is named, not failed


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


def run_share(options):
    """Every J-th case, in this process."""
    job, jobs = map(int, options.share.split("/"))
    passed = set(options.skip.split("\n"))
    if options.state and os.path.exists(options.state):
        passed |= {line.split("\t")[0] for line in open(options.state)}
    device = jax.devices("tosavk")[0]
    failed, done = 0, 0
    code = 0
    for case in chosen(options)[job::jobs]:
        if case.name in passed:
            continue
        if time.time() > options.until:
            code = 3
            break
        print(f"begin: {case.name}", flush=True)
        started = time.time()
        try:
            outcome = run(case, device)
        except Exception as e:  # noqa: BLE001
            failed += 1
            print(f"FAILED {case.name}: {type(e).__name__}: {' '.join(str(e).split())[:700]}", flush=True)
            continue
        print(f"{outcome}: {case.name}", flush=True)
        if time.time() - started > SLOW_SECONDS:
            print(f"SLOW {case.name}: {time.time() - started:.0f} seconds with the CPU's", flush=True)
        if options.state:
            with open(options.state, "a") as state:
                state.write(f"{case.name}\t{outcome}\n")
        done += 1
        if done % 100 == 0:
            jax.clear_caches()
    print(f"dispatches: {counters()['dispatches']}", flush=True)
    return 1 if failed else code


def run_job(command, lines):
    """One share, again behind the case at which its process died. The exit code."""
    begun = []
    while True:
        process = subprocess.Popen(
            [*command, "--skip", "\n".join(begun)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "JAX_ENABLE_X64": "0"},
        )
        for line in map(str.rstrip, process.stdout):
            if line.startswith("begin: "):
                begun.append(line.removeprefix("begin: "))
                continue
            lines.append(line)
            if line.startswith(("FAILED", "SLOW")):
                print(line, flush=True)
        code = process.wait()
        if code in (0, 1, 3) or not begun:
            return code
        lines.append(f"FAILED {begun[-1]}: the process ended with {code}")
        print(lines[-1], flush=True)


def run_all(arguments, options):
    """The shares in processes of their own; the exit code."""
    until = str(time.time() + 60 * options.minutes)
    lines = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        command = [sys.executable, __file__, *arguments, "--until", until]
        codes = [
            pool.submit(run_job, [*command, "--share", f"{job}/{options.jobs}"], lines) for job in range(options.jobs)
        ]
        codes = [code.result() for code in codes]
    report(lines)
    if any(code not in (0, 3) for code in codes) or any(line.startswith("FAILED") for line in lines):
        return 1
    return max(codes)


def room(name):
    """The part of JAX that the case is of: "jnp", "jnp.linalg", "jsp.special"."""
    parts = name.split("(")[0].split(".")
    return ".".join(parts[:2] if len(parts) > 2 and parts[0] not in ("random", "nn") else parts[:1])


def report(lines):
    dispatches = sum(int(line.split()[1]) for line in lines if line.startswith("dispatches: "))
    ended = [line for line in lines if not line.startswith(("dispatches: ", "SLOW"))]
    rooms = collections.Counter()
    outcomes = collections.Counter()
    for line in ended:
        outcome, name = ("failed", line.split(" ")[1]) if line.startswith("FAILED") else line.split(": ", 1)
        outcomes[outcome] += 1
        rooms[room(name), outcome] += 1
    for (place, outcome), count in sorted(rooms.items()):
        print(f"{place}: {count} {outcome}")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common() if outcome != "failed")
    print(f"{outcomes['failed']} failed; {counts}; {dispatches} dispatches; seed {SEED}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--state")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--skip", default="", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)  # seconds of the clock, one for all shares
    options = parser.parse_args()
    if options.list:
        for case in chosen(options):
            print(case.name)
        return
    warnings.simplefilter("ignore")
    sys.exit(run_share(options) if options.share else run_all(sys.argv[1:], options))


if __name__ == "__main__":
    main()
