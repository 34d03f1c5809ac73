"""Makes the programs of this folder: operations.mlir's portable artifacts, and what JAX and jax.export write of small
functions. Usage: python make_programs.py [--texts FOLDER PROGRAMS], with jax installed; with --texts it writes the text
of every PROGRAMS/NAME/main.mlirbc to FOLDER/NAME.mlir instead, for TOSAVK_STABLEHLO_TEXTS of stablehlo_corpus_test."""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = pathlib.Path(__file__).parent / "programs"


def write_texts(folder, programs):
    folder.mkdir(parents=True, exist_ok=True)
    context = jax_mlir.make_ir_context()
    with context:
        for path in sorted(programs.glob("*/main.mlirbc")):
            module = stablehlo.deserialize_portable_artifact(context, path.read_bytes())
            (folder / (path.parent.name + ".mlir")).write_text(module.operation.get_asm())
            generic = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
            (folder / (path.parent.name + ".generic.mlir")).write_text(generic)


def network(x, w):
    def body(carry, _):
        return jnp.tanh(carry @ w), carry.sum()

    y, sums = jax.lax.scan(body, x, None, length=3)
    mask = jnp.asarray(np.arange(150) % 3 == 0)
    masked = jnp.where(mask, jnp.asarray(np.arange(150, dtype=np.float32)), 0).sum()
    picked = jax.lax.cond(x.sum() > 0, lambda a: a, lambda a: a * 2, x)
    return y, sums, masked, picked, jnp.sort(x), jnp.argmax(x, axis=1), x.at[0].set(1.0), w[:, 1], x[::-1, 1:3]


def convolution(image, kernel):
    kernel = kernel.astype(jnp.bfloat16)
    made = jax.lax.conv_general_dilated(image.astype(jnp.bfloat16), kernel, (2, 1), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    pooled = jax.lax.reduce_window(made, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.fft.rfft(pooled.astype(jnp.float32).sum(axis=(1, 2))), jnp.cumsum(pooled, axis=1)


def random_numbers(key):
    key = jax.random.wrap_key_data(key)
    return jax.random.uniform(key, (3, 5)), jax.random.randint(key, (4,), 0, 9)


def write_function(name, function, *shapes):
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    exported = export.export(jax.jit(function))(*arguments)
    (HERE / f"{name}.jaxexport").write_bytes(bytes(exported.serialize()))
    context = jax_mlir.make_ir_context()
    with context:
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        (HERE / f"{name}.mlir").write_text(module.operation.get_asm(enable_debug_info=True))


def write_operations():
    newest = stablehlo.get_current_version()
    context = jax_mlir.make_ir_context()
    for name, versions in {"operations": ("1.9.0", newest), "old_operations": ("0.9.0", "0.14.0", "1.0.0")}.items():
        text = (HERE / f"{name}.mlir").read_text()
        with context:
            for version in versions:
                artifact = stablehlo.serialize_portable_artifact(ir.Module.parse(text), version)
                (HERE / f"{name}.{version}.mlirbc").write_bytes(artifact)
            module = ir.Module.parse(text)
            (HERE / f"{name}.generic.mlir").write_text(module.operation.get_asm(print_generic_op_form=True))


def main():
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no folders of this machine
    if len(sys.argv) == 4 and sys.argv[1] == "--texts":
        return write_texts(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    write_operations()
    write_function("network", network, ((2, 4), jnp.float32), ((4, 4), jnp.float32))
    write_function("convolution", convolution, ((1, 8, 8, 3), jnp.float32), ((3, 3, 3, 4), jnp.float32))
    write_function("random_numbers", random_numbers, ((2,), jnp.uint32))


if __name__ == "__main__":
    main()
