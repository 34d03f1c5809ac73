"""Cases of jax.nn, jax.random, jax.image and jax.ops."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from api_numpy import of
from api_tables import (
    FLOATS,
    Table,
)


def networks(table):
    for name in (
        "relu",
        "relu6",
        "sigmoid",
        "softplus",
        "sparse_plus",
        "soft_sign",
        "silu",
        "swish",
        "mish",
        "log_sigmoid",
        "leaky_relu",
        "hard_sigmoid",
        "hard_silu",
        "hard_tanh",
        "elu",
        "celu",
        "selu",
        "gelu",
        "squareplus",
        "identity",
        "sparse_sigmoid",
        "tanh",
        "log1mexp",
    ):
        if hasattr(jax.nn, name):
            kind = "positive" if name == "log1mexp" else "default"
            table.add(
                f"nn.{name}", (*FLOATS, "i32"), of(kind, ["T[]", "T[3,4]", "T[200]"]), bound=1e-6, thin=2, modes="gv"
            )
            table.add(f"nn.{name}", FLOATS, ["T[60]/special"])
    table.add("nn.gelu", FLOATS, ["T[40]"], [{"approximate": False}], bound=2e-6)
    table.add(
        "nn.glu",
        FLOATS,
        ["T[3,6]"],
        [{}, {"axis": 0}],
        function=lambda x, axis=-1: jax.nn.glu(jnp.concatenate([x, x], axis), axis),
        modes="gv",
    )
    for name in ("softmax", "log_softmax", "logsumexp", "logmeanexp"):
        if hasattr(jax.nn, name):
            table.add(f"nn.{name}", FLOATS, ["T[3,4]", "T[2,3,70]", "T[4]"], [{}, {"axis": 0}], bound=1e-5, modes="gv")
            table.add(f"nn.{name}", FLOATS, ["T[3,4]/large", "T[9]/special"], bound=1e-5)
    table.add("nn.standardize", FLOATS, ["T[3,4]", "T[9,30]"], [{}, {"axis": 0}], bound=1e-5, modes="gv")
    table.add(
        "nn.softmax_where",
        FLOATS,
        ["T[3,4] b1[3,4]"],
        function=lambda x, m: jax.nn.softmax(x, where=m),
        bound=1e-5,
        modes="gv",
    )
    table.add(
        "nn.one_hot",
        ("i32", "u8", "f32"),
        ["T[5]/below6", "T[2,3]/around4", "T[]/below3"],
        [{"num_classes": 4}, {"num_classes": 5, "axis": 0}, {"num_classes": 3, "dtype": "bfloat16"}],
    )
    for shape in (
        "T[2,5,4,8]/small T[2,5,4,8]/small T[2,5,4,8]/small",
        "T[1,3,4,8]/small T[1,6,2,8]/small T[1,6,2,8]/small",
    ):
        table.add(
            "nn.dot_product_attention",
            ("f32", "bf16"),
            [shape],
            [{}, {"is_causal": True}, {"scale": 0.3}, {"local_window_size": 2}],
            bound=2e-5,
            modes="gv",
        )
    for name in (
        "glorot_uniform",
        "he_normal",
        "lecun_normal",
        "orthogonal",
        "truncated_normal",
        "uniform",
        "variance_scaling",
        "delta_orthogonal",
    ):
        initializer = getattr(jax.nn.initializers, name)
        table.add(
            f"nn.initializers.{name}",
            [""],
            [""],
            [{"shape": (6, 4) if "delta" not in name else (3, 3, 4)[:3], "dtype": d} for d in ("float32", "bfloat16")],
            bound=1e-4,
            function=functools.partial(
                initialized, initializer(1.0, "fan_in", "normal") if name == "variance_scaling" else initializer()
            ),
        )


def initialized(initializer, **options):
    return initializer(jax.random.key(3), **options)


def randoms(table):
    normal = {"shape": (3, 5)}
    for name, keywords in {
        "bits": [{**normal, "dtype": d} for d in ("uint8", "uint16", "uint32")],
        "uniform": [{**normal, "dtype": d, "minval": -1} for d in ("float32", "bfloat16", "float16")],
        "normal": [{**normal, "dtype": d} for d in ("float32", "bfloat16", "float16", "complex64")],
        "randint": [
            {**normal, "minval": -3, "maxval": 90, "dtype": d} for d in ("int8", "int32", "uint8", "uint32", "int16")
        ],
        "bernoulli": [{**normal, "p": 0.3}, {"mode": "high", "shape": (9,)}],
        "exponential": [normal],
        "gamma": [{"a": 0.7, **normal}, {"a": 3.0, **normal}],
        "beta": [{"a": 0.7, "b": 2.0, **normal}],
        "cauchy": [normal],
        "chisquare": [{"df": 3.0, **normal}],
        "dirichlet": [{"alpha": np.array([0.5, 1.0, 2.0], np.float32)}],
        "double_sided_maxwell": [{"loc": 1.0, "scale": 2.0, **normal}],
        "f": [{"dfnum": 3.0, "dfden": 5.0, **normal}],
        "generalized_normal": [{"p": 1.5, **normal}],
        "geometric": [{"p": 0.3, **normal}],
        "gumbel": [normal, {"mode": "high", **normal}],
        "laplace": [normal],
        "loggamma": [{"a": 0.7, **normal}],
        "logistic": [normal],
        "lognormal": [normal],
        "maxwell": [normal],
        "poisson": [{"lam": 3.0, **normal}, {"lam": 50.0, **normal}],
        "pareto": [{"b": 2.0, **normal}],
        "rademacher": [normal],
        "rayleigh": [{"scale": 2.0, **normal}],
        "t": [{"df": 3.0, **normal}],
        "triangular": [{"left": -1.0, "mode": 0.0, "right": 2.0, **normal}],
        "truncated_normal": [{"lower": -1.0, "upper": 2.0, **normal}],
        "wald": [{"mean": 1.5, **normal}],
        "weibull_min": [{"scale": 2.0, "concentration": 1.5, **normal}],
        "ball": [{"d": 3, "shape": (4,)}],
        "orthogonal": [{"n": 4}],
        "binomial": [{"n": 10.0, "p": 0.3, **normal}],
        "permutation": [{"x": 9}],
        "split": [{"num": 3}],
        "multinomial": [{"n": 8, "p": np.array([0.2, 0.3, 0.5], np.float32)}],
        "choice": [
            {"a": 9, "shape": (4,)},
            {"a": 9, "shape": (4,), "replace": False},
            {"a": 3, "shape": (2, 5), "p": np.array([0.2, 0.3, 0.5], np.float32)},
        ],
    }.items():
        if not hasattr(jax.random, name):
            continue
        for kind in ("threefry2x32", "rbg", "unsafe_rbg"):
            floats = name not in (
                "bits",
                "randint",
                "bernoulli",
                "permutation",
                "split",
                "rademacher",
                "poisson",
                "geometric",
                "choice",
                "binomial",
                "multinomial",
            )
            table.add(
                f"random.{name}.{kind}",
                ["i32"],
                ["T[]/below9"],
                keywords if kind != "unsafe_rbg" else keywords[:1],
                function=functools.partial(randomly, name, kind),
                bound=3e-5 if floats else 0,
                thin=1,
            )
    for name in (
        "categorical",
        "shuffled",
        "multivariate_normal",
        "fold_in",
        "key_data",
        "clone",
        "wrapped",
        "split_fold",
        "vmapped",
    ):
        table.add(
            f"random.{name}", ["i32"], ["T[]/below9"], function=functools.partial(more_randomly, name), bound=1e-5
        )


def randomly(name, kind, seed, **options):
    made = getattr(jax.random, name)(jax.random.key(seed, impl=kind), **options)
    return jax.random.key_data(made) if name == "split" else made


def more_randomly(name, seed):
    key = jax.random.key(seed)
    return {
        "categorical": lambda: jax.random.categorical(key, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(9,)),
        "shuffled": lambda: jax.random.permutation(key, jnp.arange(12).reshape(4, 3), axis=1, independent=True),
        "multivariate_normal": lambda: jax.random.multivariate_normal(
            key, jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]), (4,)
        ),
        "fold_in": lambda: jax.random.key_data(jax.random.fold_in(key, 7)),
        "key_data": lambda: jax.random.key_data(key),
        "clone": lambda: jax.random.key_data(jax.random.clone(key)),
        "wrapped": lambda: jax.random.normal(jax.random.wrap_key_data(jnp.array([1, 2], jnp.uint32)), (3,)),
        "split_fold": lambda: jax.random.uniform(jax.random.split(key)[1], (1000,)).sum() > 0,
        "vmapped": lambda: jax.vmap(lambda k: jax.random.normal(k, (2,)))(jax.random.split(key, 4)),
    }[name]()


def images(table):
    for method in ("nearest", "linear", "cubic", "lanczos3", "lanczos5"):
        table.add(
            "image.resize",
            ("f32", "bf16", "i32", "u8"),
            ["T[4,6]", "T[2,5,3]"],
            [{"size": (7, 4), "method": method, "antialias": a} for a in (True, False)],
            function=resized,
            bound=2e-4,
            thin=2,
            modes="gv",
        )
    table.add(
        "image.scale_and_translate",
        ["f32"],
        ["T[5,6]"],
        [{"method": m} for m in ("linear", "cubic")],
        function=lambda x, method: jax.image.scale_and_translate(
            x, (7, 4), (0, 1), jnp.array([1.5, 0.6]), jnp.array([0.3, -0.2]), method
        ),
        bound=1e-4,
        modes="gv",
    )
    for name in ("segment_sum", "segment_prod", "segment_max", "segment_min"):
        table.add(
            f"ops.{name}",
            ("f32", "i32", "bf16", "u8", "f16", "i8", "c64")
            if name in ("segment_sum", "segment_prod")
            else ("f32", "i32", "bf16", "u8"),
            ["T[9]/small i32[9]/below4", "T[6,3]/small i32[6]/around4"],
            [{"num_segments": 5}, {"num_segments": 3, "mode": "clip"}, {"num_segments": 5, "indices_are_sorted": True}],
            function=functools.partial(segmented, name),
            bound=1e-5,
            thin=2,
            modes="gv" if name == "segment_sum" else "",
        )


def resized(x, size, method, antialias):
    shape = size if x.ndim == 2 else (x.shape[0], *size)
    return jax.image.resize(x, shape, method, antialias=antialias)


def segmented(name, x, segments, **options):
    segments = jnp.sort(segments) if options.get("indices_are_sorted") else segments
    return getattr(jax.ops, name)(x, segments, **options)


def cases():
    table = Table()
    for add in (networks, randoms, images):
        add(table)
    return table.cases
