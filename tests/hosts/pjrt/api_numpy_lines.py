"""Cases of jax.numpy: reducers, scans, statistics, sorting, sets."""

import functools

import jax.numpy as jnp
from api_numpy import of
from api_tables import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REAL,
    SOME,
    Table,
    unjitted,
)

AXES = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}, {"axis": ()}]


def reducers(table):
    shapes = ["T[3,4]", "T[2,3,4,2]", "T[3,0]", "T[40,3]"]
    for name in (
        "sum",
        "prod",
        "mean",
        "var",
        "std",
        "any",
        "all",
        "count_nonzero",
        "nansum",
        "nanprod",
        "nanmean",
        "nanvar",
        "nanstd",
    ):
        kind = "nonzero" if "prod" in name else "default"
        bound = {"sum": 1e-5, "prod": 1e-4, "nanprod": 1e-4}.get(name, 2e-5)
        table.add(f"jnp.{name}", ALL, of("small" if "prod" in name else kind, shapes), AXES, bound=bound, thin=7)
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[9]", "T[30,2]"]), [{}, {"axis": 0}], bound=bound)
        table.add(f"jnp.{name}", ["f32"], ["T[3,4]"], [{}, {"axis": 1}], bound=bound, modes="gv")
    for name in ("max", "min", "amax", "amin", "nanmax", "nanmin", "ptp", "argmax", "argmin", "nanargmax", "nanargmin"):
        axes = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}]
        table.add(
            f"jnp.{name}",
            REAL if name in ("ptp",) or "nan" in name else ALL,
            of("equal", ["T[3,4]", "T[2,3,4,2]", "T[40,3]"]),
            axes,
            thin=4,
        )
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[9]", "T[30,2]"]), [{}, {"axis": 0}])
        table.add(f"jnp.{name}", ["f32"], ["T[3,4]"], [{}, {"axis": 1}], modes="gv")
    for name in ("sum", "prod", "max", "min", "mean", "any", "var"):
        options = [{"initial": 2}] if name in ("max", "min", "sum", "prod") else []
        table.add(
            f"jnp.{name}_where",
            REAL,
            ["T[3,4]/small b1[3,4]", "T[2,3,4]/small b1[4]"],
            [{**o, "axis": a} for o in options or [{}] for a in (0, None)],
            function=functools.partial(where_reduced, name),
            bound=1e-5,
            thin=3,
        )
    for name in ("sum", "prod", "mean", "cumsum", "cumprod"):
        table.add(
            f"jnp.{name}",
            ("i8", "u16", "bf16", "f16", "i32"),
            ["T[3,4]/small"],
            [{"dtype": "float32"}, {"dtype": "int32"}, {"dtype": "complex64"}, {"dtype": "int8"}],
            bound=1e-5,
        )
    for ddof in (1, 2):
        table.add("jnp.var", ("i32", "f32", "c64", "bf16"), ["T[3,4]"], [{"ddof": ddof, "axis": 0}], bound=1e-5)
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod"):
        options = [{"axis": 0}, {"axis": -1}] + (
            [{}] if "ulative" not in name else [{"axis": 1, "include_initial": True}]
        )
        table.add(
            f"jnp.{name}", ALL, of("small", ["T[3,4]", "T[20,2]", "T[2,3,5]"]), options, bound=1e-5, thin=5, modes="gv"
        )
    for name in ("median", "nanmedian"):
        table.add(f"jnp.{name}", REAL, ["T[3,4]", "T[5]"], AXES[:4], thin=5, bound=1e-5)
    for name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
        scale = 100 if "percent" in name else 1
        table.add(
            f"jnp.{name}",
            ("i32", "f32", "bf16", "u8"),
            ["T[3,4]", "T[9]"],
            [
                {"q": 0.3 * scale},
                {"q": (0.0 * scale, 0.75 * scale), "axis": 0},
                {"q": 0.5 * scale, "method": "nearest", "axis": -1, "keepdims": True},
                {"q": 0.4 * scale, "method": "lower"},
                {"q": 0.4 * scale, "method": "midpoint"},
            ],
            function=functools.partial(quantiles, name),
            thin=3,
            bound=1e-5,
        )
    table.add(
        "jnp.average",
        ("i32", "f32", "bf16", "c64"),
        ["T[3,4]", "T[3,4] T[3,4]/positive"],
        [{"axis": 0}, {}],
        bound=1e-5,
    )
    for name in ("cov", "corrcoef"):
        table.add(f"jnp.{name}", ("i32", "f32", "c64", "bf16"), ["T[3,8]", "T[7]"], [{}, {"rowvar": False}], bound=1e-4)
    table.add(
        "jnp.histogram",
        ("i32", "f32"),
        ["T[30]"],
        [{"bins": 5}, {"bins": 7, "range": (-2, 3)}, {"bins": 5, "density": True}],
        bound=1e-5,
    )
    table.add("jnp.histogram_bin_edges", ["f32"], ["T[30]"], [{"bins": 5}])
    table.add("jnp.histogram2d", ["f32"], ["T[30] T[30]"], [{"bins": 4}], bound=1e-5)
    table.add("jnp.histogramdd", ["f32"], ["T[20,3]"], [{"bins": 3}], bound=1e-5)
    table.add("jnp.digitize", ("i32", "f32", "u8"), ["T[9] T[5]"], [{}, {"right": True}], function=digitized)
    table.add(
        "jnp.bincount",
        ("i32", "u8", "i8"),
        ["T[20]/below7", "T[20]/below7 f32[20]", "T[0]/below7"],
        [{"length": 8}, {"length": 5}],
        bound=1e-5,
    )


def where_reduced(name, x, where, **options):
    return getattr(jnp, name)(x, where=where, **options)


def quantiles(name, x, q=None, **options):
    return getattr(jnp, name)(x, jnp.array(q, jnp.float32), **options)


def digitized(x, bins, **options):
    return jnp.digitize(x, jnp.sort(bins), **options)


def sorting(table):
    shapes = ["T[5]", "T[3,4]", "T[2,7,3]", "T[0]", "T[40]", "T[3,0]"]
    for name in ("sort", "argsort"):  # equal ones may stand in any order where stable is not asked for
        keywords = [{}, {"axis": 0}, {"descending": True}, *([{"stable": False}] if name == "sort" else [])]
        table.add(f"jnp.{name}", ALL, of("equal", shapes), keywords, thin=5)
        table.add(f"jnp.{name}", FLOATS, of("special", ["T[30]"]), [{}, {"descending": True}, {"axis": None}])
        table.add(f"jnp.{name}", INTEGERS, of("full", ["T[50]"]))
    table.add("jnp.sort", ["f32"], ["T[3,5]"], [{}, {"axis": 0}], modes="gv")
    table.add("jnp.sort", ["f32", "i32", "u32"], ["T[3000]/full", "T[5,1100]"])
    table.add("jnp.sort_complex", NUMBERS, ["T[6]", "T[2,4]"], thin=2)
    table.add("jnp.sort", ["c64"], ["T[2000]/equal", "T[2,1100]/special"], [{}, {"descending": True}])
    for name in ("partition", "argpartition"):
        table.add(
            f"jnp.{name}",
            ("i32", "f32", "u8", "bf16"),
            ["T[9]", "T[3,6]"],
            [{"kth": 2}, {"kth": -2, "axis": 0}],
            function=functools.partial(partitioned, name),
        )
    table.add(
        "jnp.lexsort",
        ("i32", "f32", "u8"),
        [
            "T[9]/equal T[9]/equal",
            "T[2,6]/equal T[2,6]/equal",
            "T[2000]/equal i32[2000]/equal T[2000]/equal",
            "T[300]/special f32[300]/special",
        ],
        function=lambda *keys: jnp.lexsort(keys),
    )
    table.add(
        "jnp.searchsorted",
        ("i32", "f32", "u8", "bf16", "i16"),
        ["T[9]/equal T[5]/equal", "T[9]/equal T[2,3]", "T[9] T[]", "T[0] T[3]"],
        [{"side": s, "method": m} for s in ("left", "right") for m in ("scan", "scan_unrolled", "sort", "compare_all")],
        function=searched,
        thin=2,
    )
    sized = [{}, {"size": 12, "fill_value": 1}, {"size": 3}]
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        table.add(
            f"jnp.{name}",
            ("i32", "f32", "u8", "bf16", "c64", "b1"),
            of("equal", ["T[9] T[6]", "T[2,3] T[4]"]),
            sized[1:],
            function=functools.partial(of_sets, name),
        )
    table.add(
        "jnp.isin",
        ("i32", "f32", "u8", "b1", "c64"),
        of("equal", ["T[9] T[6]", "T[2,3] T[4]"]),
        [{}, {"invert": True}, {"method": "sort"}, {"method": "compare_all"}, {"method": "binary_search"}],
        thin=2,
    )
    table.add(
        "jnp.unique",
        ("i32", "f32", "u8", "b1", "c64", "bf16"),
        of("equal", ["T[9]", "T[3,4]"]),
        [
            {"size": 6},
            {"size": 20, "return_index": True, "return_inverse": True, "return_counts": True},
            {"size": 3, "fill_value": 5},
            {"size": 4, "axis": 0},
        ],
        thin=1,
    )
    table.add(
        "jnp.unique_eager",
        ("i32", "f32", "u8", "b1", "c64"),
        of("equal", ["T[9]", "T[3,4]", "T[0]"]),
        function=unjitted(jnp.unique),
    )
    for name in ("nonzero", "flatnonzero", "argwhere"):
        table.add(
            f"jnp.{name}", ALL, of("equal", ["T[9]", "T[3,4]"]), [{"size": 5}, {"size": 14, "fill_value": -1}], thin=2
        )
        table.add(
            f"jnp.{name}_eager", ALL, of("equal", ["T[9]", "T[3,4]", "T[0]"]), function=unjitted(getattr(jnp, name))
        )
    table.add(
        "jnp.where_sized", SOME, ["T[9]/equal"], [{"size": 4}, {"size": 12}], function=lambda x, **o: jnp.where(x, **o)
    )
    table.add("jnp.extract", SOME, ["b1[9] T[9]"], [{"size": 6}])
    table.add("jnp.compress", SOME, ["b1[3] T[4,3]"], [{"axis": 1, "size": 2}])
    table.add("jnp.trim_zeros", ("i32", "f32"), ["T[9]/small"], function=unjitted(jnp.trim_zeros))


def partitioned(name, x, kth, axis=-1):
    """What is known of it: the one in its place, and the others in order."""
    made = getattr(jnp, name)(x, kth, axis=axis)
    if name == "argpartition":
        made = jnp.take_along_axis(x, made, axis)
    first = kth % x.shape[axis]
    low, high = jnp.split(made, [first], axis)
    return jnp.sort(low, axis), jnp.sort(high, axis)


def searched(a, v, **options):
    return jnp.searchsorted(jnp.sort(a), v, **options)


def of_sets(name, a, b, **options):
    return getattr(jnp, name)(a, b, **options)


def cases():
    table = Table()
    for add in (reducers, sorting):
        add(table)
    return table.cases
