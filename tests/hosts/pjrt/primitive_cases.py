"""JAX's own cases of its primitives, which its package carries, on the device as on the CPU.

Usage: primitive_cases.py [--count N] [--only REGEX] [--state FILE] [--minutes M] [--jobs J] [--f64-as-f32]

N of them, chosen by the hash of the name (all without it), those of 64-bit integers with jax_enable_x64. With
--f64-as-f32 those of float64 and complex128 instead, by the plug-in's option of that name and to fp32's bounds. With a
state file, those that have passed and stand there are not run again. Exit code 0: all passed; 1: one did not; 3: out
of time, the same command goes on.
"""
import argparse
import hashlib
import importlib
import os
import re
import sys

import jax
import numpy as np
import shares

# What has no meaning on the device: JAX has these for the CPU and some GPUs alone.
MISSING = ("eig", "schur", "hessenberg", "tridiagonal")
# Relative and absolute, by the name of the type or its size; complex numbers by that of a part. Those of 8 bytes are
# computed in fp32.
BOUNDS = {1: (1e-1, 1e-1), "float16": (2e-3, 1e-3), "bfloat16": (1e-2, 1e-3), 4: (1e-5, 5e-5), 8: (1e-4, 2e-5)}


def all_cases():
    """Each once, by the hash of its name. JAX makes those of 64-bit integers where jax_enable_x64 is set at import."""
    from jax._src.internal_test_util import test_harnesses

    found = {}
    for case in test_harnesses.all_harnesses:
        found.setdefault(case.fullname, case)
    return sorted(found.values(), key=lambda case: hashlib.sha1(case.fullname.encode()).hexdigest())


def is_wide(case):
    return np.dtype(case.dtype).name in ("int64", "uint64")


def is_double(case):
    return np.dtype(case.dtype).name in ("float64", "complex128")


def on(device, function, arguments):
    with jax.default_device(device):
        return jax.tree.map(np.asarray, jax.block_until_ready(jax.jit(function)(*arguments)))


def widened(array):
    return array.astype(np.complex64 if array.dtype.kind == "c" else np.float32)


def close(mine, wanted):
    if wanted.dtype.kind in "iub" or wanted.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return np.testing.assert_array_equal(mine, wanted)
    size = wanted.dtype.itemsize // (2 if wanted.dtype.kind == "c" else 1)
    np.testing.assert_allclose(widened(mine), widened(wanted), *(BOUNDS.get(wanted.dtype.name) or BOUNDS[size]))


def close_in_fp32(case, arguments, mine):
    """The CPU rounds bfloat16, and where it computes with float16 that too, at every step of a sum or of a solution,
    the device at the end: as the CPU has it in float32."""
    narrow = (jax.numpy.bfloat16, np.float16)
    wide = [np.float32(x) if getattr(x, "dtype", None) in narrow else x for x in arguments]
    wanted = jax.tree.leaves(on(jax.devices("cpu")[0], case.dyn_fun, wide))
    for one, other in zip(mine, wanted):
        close(one, other.astype(one.dtype))


def adjoint(matrix):
    return np.conj(np.swapaxes(matrix, -1, -2))


def check_basis(basis):
    """Columns, or rows where there are fewer, that are orthonormal."""
    tall = basis if basis.shape[-2] >= basis.shape[-1] else adjoint(basis)
    product = adjoint(tall) @ tall
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), 0, 2e-5)


def check_factors(case, arguments, mine, wanted):
    """Eigenvectors and singular vectors are known up to a factor, and together with their values; Cholesky's factor
    as well as the matrix allows, and above the diagonal it is anything."""
    matrix = np.asarray(arguments[0])
    if case.group_name == "cholesky":
        factor = np.tril(widened(mine[0]))
        made = factor @ adjoint(factor)
    elif case.group_name == "eigh":
        vectors, values = mine
        close(values, wanted[1])
        lower = np.tril(matrix) if case.params.get("lower", True) else adjoint(np.triu(matrix))
        matrix = lower + adjoint(np.tril(lower, -1))
        made = vectors * values[..., None, :] @ adjoint(vectors)
        check_basis(vectors)
    else:
        close(mine[0], wanted[0])
        if len(mine) == 1:
            return
        values, left, right = mine
        rank = values.shape[-1]
        made = left[..., :rank] * values[..., None, :] @ right[..., :rank, :]
        check_basis(left)
        check_basis(right)
    if case.params.get("subset_by_index") is None and matrix.size:
        matrix, precision = widened(matrix), 2e-5 if matrix.dtype.itemsize > 2 else 1e-2
        np.testing.assert_allclose(made, matrix, 0, precision * max(1, np.abs(matrix).max()) * max(matrix.shape[-2:]))


def check_order(case, mine, wanted):
    """A sort that is not stable: the keys, and what came along with them, in any order where keys are equal."""
    for one, other in zip(mine[: case.params["num_keys"]], wanted):
        close(one, other)
    rows = [sorted(zip(*(np.asarray(leaf).tolist() for leaf in leaves))) for leaves in (mine, wanted)]
    assert rows[0] == rows[1], rows


def run(case, device, rounds):
    """What came of it: "the same", or why it is not looked at. Raises what the device did otherwise."""
    arguments = case.dyn_args_maker(np.random.RandomState(42))
    try:
        wanted = on(jax.devices("cpu")[0], case.dyn_fun, arguments)
    except Exception:  # noqa: BLE001
        return "not on the CPU"
    try:
        mine = on(device, case.dyn_fun, arguments)
    except Exception as e:
        ends = [np.asarray(leaf).dtype.name for leaf in jax.tree.leaves((arguments, wanted))]
        doubles = is_double(case) or "float64" in ends or "complex128" in ends
        if doubles and not rounds and re.search("x64 mode off|arrays of float64 are not", str(e)):
            return "f64"
        if case.group_name in MISSING and f"'{case.group_name}'" in str(e):
            return case.group_name
        raise
    mine, wanted = jax.tree.leaves(mine), jax.tree.leaves(wanted)
    shapes = [[(leaf.shape, leaf.dtype) for leaf in leaves] for leaves in (mine, wanted)]
    assert shapes[0] == shapes[1], shapes
    if case.group_name == "bitcast_convert_type" and rounds:
        return "the bits of f64"
    if case.group_name in ("cholesky", "eigh", "svd"):
        check_factors(case, arguments, mine, wanted)
        return "the same"
    if case.group_name == "sort" and not case.params["is_stable"] and case.params["num_keys"] < len(mine):
        check_order(case, mine, wanted)
        return "the same"
    try:
        for one, other in zip(mine, wanted):
            close(one, other)
    except AssertionError:
        if not {"bfloat16", "float16"} & {leaf.dtype.name for leaf in wanted}:
            raise
        close_in_fp32(case, arguments, mine)
    return "the same"


def chosen(options):
    cases = all_cases()
    wide = options.wide
    cases = [case for case in cases if re.search(options.only, case.fullname)]
    if options.f64_as_f32:
        return [case for case in cases if is_double(case)][: options.count or None]
    cases = [case for case in cases if is_wide(case) == wide]
    share = options.count and (options.count // 8 if wide else options.count - options.count // 8)
    return cases[:share] if options.count else cases


def open_device(options):
    if options.f64_as_f32:
        os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = ""
        bridge = importlib.import_module("jax._src.xla_bridge")
        library = os.environ["TOSAVK_PJRT"]
        bridge.register_plugin("tosavk", priority=400, library_path=library, options={"f64_as_f32": True})
    return jax.devices("tosavk")[0]


def main():
    parser = shares.parser_of(__doc__)
    parser.add_argument("--f64-as-f32", action="store_true")
    parser.add_argument("--wide", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share:
        device = open_device(options)
        cases = [(f"{case.fullname}{' x64' if options.wide else ''}", case) for case in chosen(options)]
        sys.exit(shares.run_share(options, cases, lambda case: run(case, device, options.f64_as_f32)))
    narrow, wide = ((), {"JAX_ENABLE_X64": "0"}), (("--wide",), {"JAX_ENABLE_X64": "1"})
    sys.exit(shares.run_all(options, [wide] if options.f64_as_f32 else [narrow, wide]))


if __name__ == "__main__":
    main()
