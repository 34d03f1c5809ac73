"""What JAX is told about the platform "tosavk" in Python: donation, decompositions of matrices, what is refused.

JAX's own modules differ between its versions; what one of them lacks is left out.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

PLATFORM = "tosavk"

_HOST = (
    "programs on tosavk run on the device as a whole and cannot call the host in their middle; return the value from "
    "the program and use it there, or run this program on the CPU (jax.default_device(jax.devices('cpu')[0]))"
)
_LAPACK = "tosavk has no kernel for it; run this program on the CPU (jax.default_device(jax.devices('cpu')[0]))"
_SYMBOLIC = "tosavk decomposes matrices of known sizes; only the number of them may be symbolic"
# By module and name of the primitive; what is said of it.
_REFUSED = {
    ("jax._src.debugging", "debug_callback_p"): _HOST,
    ("jax._src.debugging", "debug_print_p"): _HOST,
    ("jax._src.callback", "pure_callback_p"): _HOST,
    ("jax._src.callback", "io_callback_p"): _HOST,
    ("jax._src.lax.linalg", "eig_p"): _LAPACK + "; eigh, of Hermitian matrices, is there",
    ("jax._src.lax.linalg", "schur_p"): _LAPACK,
    ("jax._src.lax.linalg", "hessenberg_p"): _LAPACK,
    ("jax._src.lax.linalg", "tridiagonal_p"): _LAPACK,
    ("jax._src.lax.linalg", "geqp3_p"): _LAPACK + "; qr without pivoting is there",
}

# Primitives of one operand that are one operator of tosa-vk; JAX's own rule for them is a long chain of simple ones.
_FUNCTIONS = {
    ("jax._src.lax.special", "digamma_p"): "chlo.digamma",
    ("jax._src.lax.special", "erf_inv_p"): "chlo.erf_inv",
    ("jax._src.lax.special", "lgamma_p"): "chlo.lgamma",
}


def _primitive(module: str, name: str) -> Any:
    """What JAX has there by that name, a primitive or a rule; else None."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _refusal(sentence: str) -> Callable[..., Any]:
    def rule(context: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(sentence)

    return rule


def _of_one_device(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule, traced by shapes and types alone: loops of decompositions do not know on which axes of a mesh, of one
    device here, their operands vary or are sharded, which JAX asks inside `shard_map` and of meshes that are explicit.
    """
    core: Any = importlib.import_module("jax.core")
    mesh: Any = importlib.import_module("jax._src.mesh")
    no_mesh = getattr(mesh, "empty_abstract_mesh", None)
    if no_mesh is None or not hasattr(mesh, "use_abstract_mesh"):
        return rule  # a JAX whose types have neither

    def plain(avals: Any) -> list[Any]:
        return [core.ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in avals]

    def lowering(context: Any, *operands: Any, **options: Any) -> Any:
        with mesh.use_abstract_mesh(no_mesh):
            context = context.replace(avals_in=plain(context.avals_in), avals_out=plain(context.avals_out))
            return rule(context, *operands, **options)

    return lowering


def _computed(name: str, matrices: Any, **options: Any) -> Any:
    """A rule of `_jax_linalg`, which is imported, and JAX's numpy with it, when a program first needs it."""
    if not all(isinstance(size, int) for size in matrices.shape[-2:]):
        raise NotImplementedError(f"JAX's primitive '{name}': {_SYMBOLIC}")
    jax: Any = importlib.import_module("jax")
    rule = getattr(importlib.import_module(f"{__package__}._jax_linalg"), f"{name}_rule")
    # What the program's author forbids in his own lines is no rule for ours.
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        return rule(matrices, **options)


def _register_function(mlir: Any, primitive: Any, name: str) -> None:
    """Makes of the primitive a composite of that name, whose decomposition is JAX's own rule, so that an exported
    program is one for whoever does not know the name. In programs for several platforms or for symbolic shapes it is
    JAX's own rule alone."""
    core: Any = importlib.import_module("jax.extend.core")
    lax: Any = importlib.import_module("jax.lax")
    rule = getattr(mlir, "_lowerings", {}).get(primitive)
    if rule is None or not hasattr(lax, "composite"):
        return
    steps = core.Primitive(f"{primitive.name}_steps")
    steps.def_abstract_eval(lambda *arguments, **options: primitive.abstract_eval(*arguments, **options)[0])
    own = getattr(rule, "rule", rule)
    mlir.register_lowering(steps, own)

    def function(x: Any, **options: Any) -> Any:
        return lax.composite(lambda y: steps.bind(y, **options), name)(x)

    composite = mlir.lower_fun(function, multiple_results=False)

    def lowering(context: Any, x: Any, **options: Any) -> Any:
        # Such a decomposition also takes the platform's index and the dimensions, which are no operands.
        return (own if context.dim_var_values else composite)(context, x, **options)

    mlir.register_lowering(primitive, lowering, platform=PLATFORM)


def _register_lowerings() -> None:
    mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
    for (module, name), composite in _FUNCTIONS.items():
        primitive = _primitive(module, name)
        if primitive is not None:
            _register_function(mlir, primitive, composite)
    for name in ("eigh", "svd"):
        primitive = _primitive("jax._src.lax.linalg", f"{name}_p")
        if primitive is not None:
            rule = mlir.lower_fun(functools.partial(_computed, name), multiple_results=True)
            mlir.register_lowering(primitive, _of_one_device(rule), platform=PLATFORM)
    lu = _primitive("jax._src.lax.linalg", "lu_p")
    rule = getattr(mlir, "_lowerings", {}).get(lu)
    if rule is not None:  # JAX's own, by its loops
        mlir.register_lowering(lu, _of_one_device(getattr(rule, "rule", rule)), platform=PLATFORM)
    check = _primitive("jax._src.checkify", "check_p")
    rule = _primitive("jax._src.checkify", "check_lowering_rule_unsupported")
    if check is not None and rule is not None:
        mlir.register_lowering(check, rule, platform=PLATFORM)
    for (module, name), why in _REFUSED.items():
        primitive = _primitive(module, name)
        if primitive is not None:
            sentence = f"JAX's primitive '{primitive.name}': {why}"
            mlir.register_lowering(primitive, _refusal(sentence), platform=PLATFORM)


_is_registered = False


def register() -> None:
    """Tells JAX all that, once. Rules are taken for platforms that JAX knows: where this one is not known yet, they
    follow when JAX has looked for its plug-ins."""
    mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
    # Donated arguments reach only platforms of this list.
    platforms = getattr(mlir, "_platforms_with_donation", None)
    if isinstance(platforms, list) and PLATFORM not in platforms:
        platforms.append(PLATFORM)

    def when_known(**_: Any) -> None:
        global _is_registered
        if not _is_registered and bridge.is_known_platform(PLATFORM):
            _is_registered = True
            _register_lowerings()

    bridge: Any = importlib.import_module("jax._src.xla_bridge")
    when_known()
    if not _is_registered and hasattr(bridge, "register_plugin_callbacks"):
        bridge.register_plugin_callbacks(when_known)
