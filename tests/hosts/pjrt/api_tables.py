"""How the tables api_*.py say their cases."""

import collections
import functools
import hashlib
import importlib

import jax

Case = collections.namedtuple("Case", "name function specs mode bound check")
BOOL = ("b1",)
SIGNED = ("i8", "i16", "i32")
UNSIGNED = ("u8", "u16", "u32")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("bf16", "f16", "f32")
COMPLEX = ("c64",)
INEXACT = FLOATS + COMPLEX
REAL = INTEGERS + FLOATS
NUMBERS = REAL + COMPLEX
ALL = BOOL + NUMBERS
SOME = ("b1", "i8", "u32", "i32", "bf16", "f32", "c64")
ROOMS = {
    "jnp": "jax.numpy",
    "lax": "jax.lax",
    "nn": "jax.nn",
    "jsp": "jax.scipy",
    "random": "jax.random",
    "image": "jax.image",
    "ops": "jax.ops",
}


def named(path):
    """The function "jnp.linalg.inv"."""
    parts = path.split(".")
    room = importlib.import_module(ROOMS[parts[0]])
    for part in parts[1:]:
        try:
            room = getattr(room, part)
        except AttributeError:
            room = importlib.import_module(f"{room.__name__}.{part}")
    return room


def unjitted(function):
    """Sizes that depend on numbers: outside of jit alone, which the case's name says."""

    def whole(*arguments):
        return function(*arguments)

    whole.eager = True
    return whole


def said(options):
    return ",".join(f"{key}={getattr(value, '__name__', value)}" for key, value in options.items()).replace(" ", "")


class Table:
    def __init__(self):
        self.cases = []

    def add(self, name, types, shapes, options=({},), function=None, bound=0, thin=0, modes="", check=None):
        """name: of a function of JAX, or of one given here. Each type stands for T in each of the shapes, "T[3] i32[2]"
        for two arguments. options: keywords, or names of given functions that take them. thin N: every N-th case alone;
        unsaid, a third of more than 16. modes: of g (derivative) and v (vmap), which half of the cases have, too."""
        types = types.split() if isinstance(types, str) else types
        shapes = [shapes] if isinstance(shapes, str) else shapes
        every = thin or (1 if len(types) * len(shapes) * len(options) <= 16 else 3)
        for i, kind in enumerate(types):
            for j, shape in enumerate(shapes):
                for k, keywords in enumerate(options):
                    if (i + 2 * j + k) % every == 0:
                        self.one(name, kind, shape, keywords, function, bound, modes, check)
        return self

    def one(self, name, kind, shape, keywords, function, bound, modes, check):
        specs = [part.replace("T[", f"{kind}[") for part in shape.split()]
        full = f"{name}({' '.join([*specs, said(keywords)]).strip()})"
        try:
            function = function or named(name)
        except ModuleNotFoundError:
            if jax.__version_info__ < (0, 10):  # has fewer functions
                return
            raise
        whole = functools.partial(function, **keywords) if keywords else function
        hashed = int(hashlib.sha1(full.encode()).hexdigest()[:4], 16)
        self.cases.append(
            Case(
                full,
                whole,
                specs,
                "eager" if getattr(function, "eager", False) or hashed % 4 == 0 else "jit",
                bound,
                check,
            )
        )
        if "g" in modes and any(spec.split("[")[0] in ("f32", "c64") for spec in specs) and hashed % 2:
            self.cases.append(Case(f"{full} grad", whole, specs, "grad", bound, None))
        if "v" in modes and hashed % 3 == 0:
            self.cases.append(Case(f"{full} vmap", whole, specs, "vmap", bound, check))
