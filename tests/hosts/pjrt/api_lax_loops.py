"""Cases of jax.lax: windows and reductions by functions, loops and branches, gathers and scatters."""

import functools

import jax
import jax.numpy as jnp
from api_tables import (
    ALL,
    BOOL,
    INTEGERS,
    NUMBERS,
    REAL,
    SOME,
    Table,
)
from jax import lax


def windows(table):
    types = ("f32", "bf16", "f16", "i32", "i8", "c64")
    for dims, shape in (
        ("NCHW", "T[2,3,6,7] T[4,3,3,2]"),
        ("NHWC", "T[2,6,7,3] T[3,2,3,4]"),
        ("NCH", "T[2,3,9] T[4,3,3]"),
        ("NCDHW", "T[1,2,4,5,4] T[3,2,2,3,2]"),
        ("NC", "T[2,3] T[4,3]"),
    ):
        kernel = {"NHWC": "HWIO"}.get(dims, "OI" + dims[2:])
        n = len(dims) - 2
        for options in (
            {"padding": "SAME"},
            {"padding": "VALID", "window_strides": (2,) * n},
            {"padding": [(1, 2)] * n, "lhs_dilation": (2,) * n},
            {"padding": [(0, -1)] * n, "rhs_dilation": (2,) * n},
            {"padding": "SAME_LOWER"},
        ):
            table.add(
                "lax.conv_general_dilated",
                types,
                [shape],
                [{"window_strides": (1,) * n, **options, "dimension_numbers": (dims, kernel, dims)}],
                bound=2e-5,
                thin=2,
                modes="gv",
            )
    table.add(
        "lax.conv_grouped",
        types,
        ["T[2,4,6,7] T[6,2,3,2]"],
        [{"feature_group_count": 2}],
        function=grouped,
        bound=2e-5,
        modes="gv",
    )
    table.add(
        "lax.conv_depthwise",
        types,
        ["T[2,4,6,7] T[8,1,3,2]"],
        [{"feature_group_count": 4}],
        function=grouped,
        bound=2e-5,
        modes="gv",
    )
    table.add(
        "lax.conv_batched",
        types,
        ["T[4,3,6,7] T[6,3,3,2]"],
        [{"batch_group_count": 2}],
        function=grouped,
        bound=2e-5,
        modes="gv",
    )
    table.add(
        "lax.conv_transpose",
        ("f32", "bf16"),
        ["T[2,5,6,3] T[3,2,3,4]"],
        [
            {"strides": s, "padding": p, "transpose_kernel": t}
            for s in ((1, 1), (2, 3))
            for p in ("SAME", "VALID")
            for t in (False,)
        ],
        bound=2e-5,
        thin=1,
        modes="gv",
    )
    table.add(
        "lax.conv_general_dilated_patches",
        ("f32", "bf16"),
        ["T[2,3,6,7]"],
        [{"filter_shape": (2, 3), "window_strides": (1, 2), "padding": "SAME"}],
        bound=1e-5,
        modes="g",
    )
    table.add(
        "lax.conv_general_dilated_local",
        ["f32"],
        ["T[1,2,5] T[3,6,4]"],
        [{"window_strides": (1,), "padding": "VALID", "filter_shape": (3,)}],
        bound=1e-5,
        function=lambda x, w, **o: lax.conv_general_dilated_local(x, jnp.resize(w, (4, 6, 3)), **o),
    )
    for name, init, combine in (
        ("sum", 0, lax.add),
        ("max", -100, lax.max),
        ("min", 100, lax.min),
        ("prod", 1, lax.mul),
    ):
        for options in (
            {"window_dimensions": (2, 3), "padding": "VALID"},
            {"window_dimensions": (3, 3), "window_strides": (1, 2), "padding": "SAME"},
            {"window_dimensions": (2, 2), "padding": ((1, 0), (2, 1)), "window_dilation": (2, 1)},
            {"window_dimensions": (2, 1), "padding": ((0, 1), (1, 1)), "base_dilation": (2, 3)},
        ):
            table.add(
                f"lax.reduce_window_{name}",
                ("f32", "bf16", "i32", "u8", "f16", "i8"),
                ["T[6,8]/small"],
                [options],
                function=functools.partial(windowed, combine, init),
                bound=1e-5,
                thin=2,
                modes="gv",
            )
    for name, combine in (("sum", lax.add), ("prod", lax.mul)):  # what is padded does not count, the first value once
        table.add(
            f"lax.reduce_window_{name}_from_two",
            ("f32", "bf16", "i32", "u8", "c64"),
            ["T[5,7]/small"],
            [
                {"window_dimensions": (3, 3), "padding": "SAME"},
                {"window_dimensions": (1, 7), "padding": ((0, 0), (6, 0))},
                {"window_dimensions": (2, 1), "padding": ((0, 1), (1, 1)), "base_dilation": (2, 3)},
                {"window_dimensions": (4, 9), "padding": ((6, 2), (3, 9)), "window_strides": (2, 3)},
            ],
            function=functools.partial(windowed, combine, 2),
            bound=1e-5,
            thin=2,
        )
        table.add(
            f"lax.reduce_{name}_from_two",
            ("f32", "bf16", "i32", "u8", "c64"),
            ["T[3,5,7]/small"],
            [{"dimensions": (1,)}, {"dimensions": (0, 2)}],
            function=functools.partial(reduced, combine, 2),
            bound=1e-5,
        )
    table.add(
        "lax.reduce_pair_from_two",
        ("f32", "i32", "c64"),
        ["T[3,7]/small T[3,7]/small"],
        function=lambda x, y: lax.reduce(
            (x, y), (x[0, 0] * 0 + 2, y[0, 0] * 0 + 2), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)
        ),
        bound=1e-5,
    )
    for name, init, combine in (("max", -jnp.inf, lax.max), ("min", jnp.inf, lax.min)):  # the gradients of pools
        for shapes, padding in (  # of a NaN beside what is padded JAX has another gradient on each platform
            (["T[70,66]", "T[2,64,64]/equal", "T[66,70]/special"], "VALID"),
            (["T[70,66]", "T[2,64,64]/equal"], "SAME"),
        ):
            table.add(
                f"lax.pool_{name}",
                ("f32", "bf16"),
                shapes,
                [
                    {"window_dimensions": (33, 33), "window_strides": (33, 33), "padding": padding},
                    {"window_dimensions": (7, 5), "window_strides": (2, 1), "padding": padding},
                ],
                function=functools.partial(pooled, combine, init),
                bound=1e-2,
            )
    table.add(
        "lax.reduce_window_function",
        ("f32", "i32"),
        ["T[6,8]"],
        [{"window_dimensions": (2, 3), "padding": "VALID"}],
        function=functools.partial(windowed, lambda a, b: a + b - a * 0, 0),
        bound=1e-5,
    )
    table.add(
        "lax.reduce_window_pair",
        ("f32", "i32"),
        ["T[9] T[9]"],
        function=lambda x, y: lax.reduce_window(
            (x, y), (x[0] * 0 - 99, y[0] * 0), lambda a, b: (lax.max(a[0], b[0]), a[1] + b[1]), (3,), (1,), "SAME"
        ),
        bound=1e-5,
    )
    for name, init, combine in (
        ("sum", 0, lax.add),
        ("prod", 1, lax.mul),
        ("max", -100, lax.max),
        ("min", 100, lax.min),
        ("xor", 0, lax.bitwise_xor),
        ("and", -1, lax.bitwise_and),
        ("or", 0, lax.bitwise_or),
    ):
        types = REAL if name in ("sum", "prod", "max", "min") else INTEGERS
        table.add(
            f"lax.reduce_{name}",
            types,
            ["T[3,4,5]/small", "T[3,0,2]/small"],
            [{"dimensions": (1,)}, {"dimensions": (0, 2)}],
            function=functools.partial(reduced, combine, init),
            bound=1e-5,
            thin=2,
        )
    table.add(
        "lax.reduce_function",
        ("f32", "i32", "bf16"),
        ["T[3,7]/small"],
        [{"dimensions": (1,)}],
        function=functools.partial(reduced, lambda a, b: a + 2 * b - b, 0),
        bound=1e-5,
    )
    table.add(
        "lax.reduce_pair",
        ("f32", "i32"),
        ["T[3,7] i32[3,7]"],
        function=lambda x, i: lax.reduce(
            (x, i),
            (jnp.array(-99, x.dtype), jnp.int32(0)),
            lambda a, b: (jnp.where(a[0] > b[0], a[0], b[0]), jnp.where(a[0] > b[0], a[1], b[1])),
            (1,),
        ),
    )
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"):
        types = (
            BOOL + INTEGERS if name[7:] in ("and", "or", "xor") else (NUMBERS if name[7:] in ("sum", "prod") else ALL)
        )
        table.add(f"lax.{name}", types, ["T[3,4]/small"], [{"axes": (0,)}, {"axes": (0, 1)}], bound=1e-5)


def grouped(x, w, **options):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"), **options)


def pooled(combine, init, x, **options):
    ones = {k: o if k == "padding" or x.ndim == 2 else (1, *o) for k, o in options.items()}

    def pool(x):
        return lax.reduce_window(x, x.dtype.type(init), combine, **ones)

    made, back = jax.vjp(pool, x)
    return back(jnp.arange(made.size, dtype=x.dtype).reshape(made.shape) % 7)[0]


def windowed(combine, init, x, window_strides=(1, 1), **options):
    return lax.reduce_window(
        x,
        jnp.array(max(init, 0) if x.dtype == jnp.uint8 else init, x.dtype),
        combine,
        window_strides=window_strides,
        **options,
    )


def reduced(combine, init, x, dimensions):
    unsigned = jnp.issubdtype(x.dtype, jnp.unsignedinteger)
    return lax.reduce(
        x,
        jnp.array(jnp.iinfo(x.dtype).max if unsigned and init == -1 else max(init, 0) if unsigned else init).astype(
            x.dtype
        ),
        combine,
        dimensions,
    )


LOOPS = {
    "fori": lambda x: lax.fori_loop(0, 5, lambda i, c: c * 2 - i.astype(c.dtype), x),
    "fori_traced": lambda x: lax.fori_loop(0, jnp.sum(x > 0).astype(int), lambda i, c: c + 1, x),
    "fori_negative": lambda x: lax.fori_loop(-3, 2, lambda i, c: c + (i + 3).astype(c.dtype), x),
    "fori_empty": lambda x: lax.fori_loop(4, 2, lambda i, c: c + 1, x),
    "fori_index": lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c.at[i].set(c[i] + c[i - 1]), x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 7, lambda c: (c[0] + 2, c[1] + 1), (jnp.int32(0), x)),
    "while_data": lambda x: lax.while_loop(lambda c: (abs(c) < 50).all(), lambda c: c * 2 + 1, x),
    "while_pair": lambda x: (
        lax.while_loop(
            lambda c: (c[0] < 3) & (c[1] > -5), lambda c: (c[0] + 1, c[1] - 2), (jnp.int8(0), jnp.float32(4))
        )
        + (x,)
    ),
    "nested": lambda x: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, i, lambda j, d: d + j.astype(d.dtype), c), x),
    "scan": lambda x: lax.scan(lambda c, e: (c + e, c * 2), x[0], x),
    "scan_reverse": lambda x: lax.scan(lambda c, e: (c + e, c), x[0], x, reverse=True),
    "scan_unroll": lambda x: lax.scan(lambda c, e: (c + e, c), x[0], x, unroll=2),
    "scan_tree": lambda x: lax.scan(
        lambda c, e: ({"a": c["b"], "b": c["a"] + e[0]}, (e[1], c["a"])), {"a": x[0], "b": x[1]}, (x, x[::-1])
    ),
    "scan_none": lambda x: lax.scan(lambda c, _: (c * 2 + 1, None), x, None, length=4),
    "scan_empty": lambda x: lax.scan(lambda c, e: (c + e, c), x[0], x[:0]),
    "scan_of_scan": lambda x: lax.scan(lambda c, e: lax.scan(lambda d, f: (d + f, d), c, jnp.stack([e, e])), x[0], x),
    "map": lambda x: lax.map(lambda e: e * 2 + 1, x),
    "map_batched": lambda x: lax.map(lambda e: e * 2 + 1, x, batch_size=2),
    "associative": lambda x: lax.associative_scan(lambda a, b: a + b, x),
    "associative_reverse": lambda x: lax.associative_scan(
        lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])) if isinstance(a, tuple) else a, (x, x), reverse=True
    ),
    "cond": lambda x: lax.cond(x[0].sum() > 0, lambda c: c + 1, lambda c: c * 2, x),
    "cond_constant": lambda x: lax.cond(True, lambda c: c + 1, lambda c: c * 2, x),
    "cond_tree": lambda x: lax.cond(x[0].sum() > 0, lambda: (x, jnp.int8(1)), lambda: (x[::-1], jnp.int8(2))),
    "cond_loop": lambda x: lax.cond(
        x[0].sum() > 0, lambda c: lax.fori_loop(0, 3, lambda i, d: d + 1, c), lambda c: lax.sort(c), x
    ),
    "switch": lambda x: [lax.switch(i, [lambda c: c + 1, lambda c: c * 2, lambda c: c[::-1]], x) for i in (-1, 1, 5)],
    "switch_traced": lambda x: lax.switch(
        (x[0].sum() > 0).astype(int) + 1, [lambda c: c + 1, lambda c: c * 2, lambda c: c[::-1]], x
    ),
    "cond_in_scan": lambda x: lax.scan(
        lambda c, e: (lax.cond((e > 0).all(), lambda v: v + e, lambda v: v - e, c), c), x[0], x
    ),
    "while_in_cond": lambda x: lax.cond(
        (x > 0).any(),
        lambda c: lax.while_loop(lambda d: d[0] < 3, lambda d: (d[0] + 1, d[1] + 1), (0, c))[1],
        lambda c: c,
        x,
    ),
    "custom_root": lambda x: lax.custom_root(
        lambda y: y * y - abs(x) - 1,
        abs(x),
        lambda f, y: lax.fori_loop(0, 20, lambda i, z: 0.5 * (z + (abs(x) + 1) / jnp.maximum(z, 0.1)), y),
        lambda g, y: y / g(jnp.ones_like(y)),
    ),
    "reduce_scatter_free": lambda x: jnp.add.reduce(x),
    "reduceat": lambda x: jnp.add.reduceat(x, jnp.array([0, 2])),
    "accumulate": lambda x: jnp.multiply.accumulate(x),
    "ufunc_at": lambda x: jnp.add.at(x, jnp.array([1, 1]), 2, inplace=False),
    "outer": lambda x: jnp.add.outer(x, x),
}


def control(table):
    for name, function in LOOPS.items():
        types = ("f32",) if name in ("custom_root",) else ("f32", "i32", "bf16", "u8", "c64", "i16")
        if name in (
            "fori_traced",
            "while_data",
            "cond",
            "cond_tree",
            "switch_traced",
            "cond_loop",
            "associative_reverse",
            "cond_in_scan",
            "while_in_cond",
        ):
            types = tuple(t for t in types if t != "c64")
        table.add(f"lax.control.{name}", types, ["T[4,3]", "T[5]"], function=function, bound=1e-5, thin=2)
        table.add(f"lax.control.{name}", ["f32"], ["T[3,2]"], function=function, bound=1e-5, modes="gv")
    table.add(
        "lax.linear_solve",
        ["f32"],
        ["T[4]"],
        function=lambda b: lax.custom_linear_solve(lambda v: 3 * v, b, lambda f, y: y / 3, symmetric=True),
        modes="gv",
    )
    table.add(
        "lax.scan_long",
        ["f32", "i32"],
        ["T[300,4]/small"],
        function=lambda x: lax.scan(lambda c, e: (c * 1 + e, c), x[0], x),
        bound=1e-5,
    )
    table.add(
        "lax.checkpoint",
        ["f32"],
        ["T[4,4]"],
        function=jax.checkpoint(lambda x: jnp.sin(jnp.sin(x) @ x)),
        bound=1e-5,
        modes="gv",
    )
    table.add(
        "lax.hessian",
        ["f32"],
        ["T[3]"],
        function=jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x[::-1] ** 2)),
        bound=1e-5,
        modes="v",
    )
    table.add(
        "lax.jacobians",
        ["f32"],
        ["T[3]"],
        function=lambda x: (jax.jacfwd(jnp.tanh)(x), jax.jacrev(jnp.cumsum)(x)),
        bound=1e-5,
    )
    table.add(
        "lax.linearize",
        ["f32"],
        ["T[3] T[3]"],
        function=lambda x, t: jax.linearize(lambda v: jnp.exp(jnp.sin(v)), x)[1](t),
        bound=1e-5,
    )
    table.add(
        "lax.vmap_axes",
        SOME,
        ["T[3,4] T[4,3]"],
        function=jax.vmap(lambda a, b: (a + b, a), in_axes=(0, 1), out_axes=(1, 0)),
    )
    table.add(
        "lax.vmap_collectives",
        ["f32", "i32"],
        ["T[3,4]"],
        function=jax.vmap(
            lambda a: (lax.psum(a, "i"), lax.pmax(a, "i"), lax.axis_index("i"), lax.all_gather(a, "i")), axis_name="i"
        ),
        bound=1e-5,
    )


def places(table):
    numbers = lax.GatherDimensionNumbers
    for name, given, sizes, shape in (
        ("rows", numbers((1,), (0,), (0,)), (1, 3), "i32[4,1]/around6"),
        ("blocks", numbers((1, 2), (), (0, 1)), (2, 2), "i32[4,2]/around4"),
        ("points", numbers((), (0, 1), (0, 1)), (1, 1), "i32[5,2]/around4"),
        ("moved", numbers((0,), (1,), (1,)), (6, 1), "i32[2,3,1]/around4"),
        ("u8", numbers((1,), (0,), (0,)), (1, 3), "u8[4,1]/below9"),
    ):
        for mode in ("clip", "fill", "promise_in_bounds"):
            table.add(
                f"lax.gather.{name}.{mode}",
                SOME,
                [f"T[6,5] {shape.replace('around', 'below') if 'promise' in mode else shape}"],
                [{"dimension_numbers": given, "slice_sizes": sizes, "mode": mode}],
                function=functools.partial(lax.gather),
                thin=2,
            ) if not ("promise" in mode and name in ("rows", "blocks", "u8")) else None
            if mode == "fill" and name != "u8":
                table.add(
                    f"lax.gather.{name}.{mode}.one",
                    ["f32"],
                    [f"T[6,5] {shape}"],
                    [{"dimension_numbers": given, "slice_sizes": sizes, "mode": mode}],
                    function=functools.partial(lax.gather),
                    modes="gv",
                )
    numbers = lax.ScatterDimensionNumbers
    for how in ("scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter", "scatter_sub"):
        if not hasattr(lax, how):
            continue
        for name, given, update, shape in (
            ("rows", numbers((1,), (0,), (0,)), "T[4,5]", "i32[4,1]/around6"),
            ("blocks", numbers((1, 2), (), (0, 1)), "T[4,2,2]", "i32[4,2]/around4"),
            ("points", numbers((), (0, 1), (0, 1)), "T[5]", "i32[5,2]/around4"),
            ("narrow", numbers((1,), (0,), (0,)), "T[4,5]", "u8[4,1]/below9"),
        ):
            types = [
                t
                for t in (*SOME, "f16", "u8", "i16")
                if not (t in ("b1", "c64") and how in ("scatter_min", "scatter_max", "scatter_sub"))
                and not (t == "b1" and how == "scatter_mul")
            ]
            for mode in ("clip", "fill"):
                table.add(
                    f"lax.{how}.{name}.{mode}",
                    types,
                    [f"T[6,5] {shape} {update}/small"],
                    [{"dimension_numbers": given, "mode": mode}],
                    function=functools.partial(scattered, how),
                    bound=1e-5,
                    thin=3,
                )
            table.add(
                f"lax.{how}.{name}.one",
                ["f32"],
                [f"T[6,5] {shape} {update}/small"],
                [{"dimension_numbers": given, "mode": "clip"}],
                function=functools.partial(scattered, how),
                bound=1e-5,
                modes="v" if how in ("scatter_mul", "scatter_min", "scatter_max") else "gv",
            )
    table.add(
        "lax.scatter_apply",
        ["f32"],
        ["T[6,5] i32[3,1]/below6"],
        function=lambda x, i: lax.scatter_apply(x, i[:1], jnp.sin, numbers((1,), (0,), (0,)), update_shape=(1, 5)),
    )


def scattered(how, x, i, u, **options):
    if how == "scatter":  # places that are named twice may keep either
        u = u * 0 + 1
    return getattr(lax, how)(x, i, u.astype(x.dtype), **options)


def cases():
    table = Table()
    for add in (windows, control, places):
        add(table)
    return table.cases
