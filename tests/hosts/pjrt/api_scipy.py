"""Cases of jax.scipy: special functions, distributions, signals, what is solved and interpolated."""

import functools

import jax.numpy as jnp
import jax.scipy as jsp
from api_linear import of_matrix
from api_numpy import of
from api_tables import (
    FLOATS,
    Table,
)

F = ("f32", "bf16", "f16")


def special(table):
    for name, kind, bound in (
        ("gammaln", "positive", 1e-5),
        ("loggamma", "positive", 1e-5),
        ("gamma", "positive", 1e-5),
        ("digamma", "positive", 1e-5),
        ("erf", "default", 0),
        ("erfc", "small", 0),
        ("erfinv", "unit", 0),
        ("expit", "default", 0),
        ("logit", "probability", 1e-5),
        ("entr", "default", 1e-5),
        ("i0", "default", 1e-5),
        ("i0e", "default", 0),
        ("i1", "default", 1e-5),
        ("i1e", "default", 0),
        ("ndtr", "default", 0),
        ("ndtri", "probability", 1e-5),
        ("log_ndtr", "default", 1e-5),
        ("factorial", "positive", 1e-5),
        ("gammasgn", "default", 0),
        ("exp1", "positive", 1e-4),
        ("expi", "positive", 1e-4),
        ("spence", "positive", 1e-4),
        ("log_softmax", "default", 1e-5),
        ("softmax", "default", 1e-5),
        ("bernoulli", "", 0),
        ("fresnel", "default", 1e-4),
        ("sici", "default", 1e-4),
    ):
        if hasattr(jsp.special, name) and kind:
            table.add(
                f"jsp.special.{name}",
                (*FLOATS, "i32")
                if name not in ("factorial", "erfinv", "fresnel", "sici", "ndtri", "logit", "i0e", "i1e", "erf", "erfc")
                else F,
                of(kind, ["T[40]", "T[2,3]"]),
                bound=bound,
                thin=2,
                modes="gv",
            )
            table.add(f"jsp.special.{name}", ["f32"], ["T[60]/special", "T[60]"], bound=max(bound, 1e-5))
    for name, bound in (
        ("betaln", 1e-4),
        ("beta", 1e-4),
        ("xlogy", 1e-5),
        ("xlog1py", 1e-5),
        ("kl_div", 1e-5),
        ("rel_entr", 1e-5),
        ("gammainc", 1e-4),
        ("gammaincc", 1e-4),
        ("zeta", 1e-4),
        ("poch", 1e-4),
        ("comb", 1e-4),
        ("binom", 1e-4),
    ):
        if hasattr(jsp.special, name):
            table.add(
                f"jsp.special.{name}",
                ["f32"],
                ["T[30]/positive T[30]/positive", "T[2,3]/positive T[3]/positive"],
                bound=bound,
                modes="gv" if name not in ("zeta", "poch") else "v",
            )
    table.add("jsp.special.polygamma", ["f32"], ["i32[9]/below4 T[9]/positive"], bound=1e-4)
    table.add(
        "jsp.special.multigammaln",
        ["f32"],
        ["T[9]/positive"],
        [{"d": 2}],
        function=lambda x, d: jsp.special.multigammaln(x + d, d),
        bound=1e-4,
    )
    table.add("jsp.special.betainc", ["f32"], ["T[9]/positive T[9]/positive T[9]/probability"], bound=1e-4)
    table.add(
        "jsp.special.logsumexp",
        (*FLOATS, "c64", "i32"),
        ["T[3,4]"],
        [{}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"return_sign": True}],
        bound=1e-5,
    )
    table.add(
        "jsp.special.logsumexp_b",
        ["f32"],
        ["T[3,4] T[3,4]/positive"],
        function=lambda x, b: jsp.special.logsumexp(x, 0, b),
        bound=1e-5,
    )
    table.add(
        "jsp.special.sph_harm_y",
        ["f32"],
        ["i32[3]/below3 i32[3]/below2 T[3]/probability T[3]/probability"],
        [{"n_max": 4}],
        bound=1e-4,
    )
    table.add("jsp.special.hyp1f1", ["f32"], ["T[5]/positive T[5]/positive T[5]/unit"], bound=1e-3)
    table.add("jsp.special.hyp2f1", ["f32"], ["T[5]/probability T[5]/probability T[5]/positive T[5]/unit"], bound=1e-2)
    table.add(
        "jsp.special.lpmn_values",
        ["f32"],
        ["T[4]/unit"],
        function=lambda x: jsp.special.lpmn_values(3, 3, x, False),
        bound=1e-4,
    ) if hasattr(jsp.special, "lpmn_values") else None


def statistics(table):
    """Distributions: how many arguments behind x, and the kind of x."""
    for room, kind, count in (
        ("norm", "default", 2),
        ("expon", "positive", 0),
        ("gamma", "positive", 1),
        ("beta", "probability", 2),
        ("cauchy", "default", 2),
        ("laplace", "default", 2),
        ("logistic", "default", 0),
        ("pareto", "positive", 1),
        ("t", "default", 1),
        ("uniform", "probability", 0),
        ("chi2", "positive", 1),
        ("truncnorm", "unit", 0),
        ("gennorm", "default", 1),
        ("vonmises", "default", 1),
        ("wrapcauchy", "positive", 0),
        ("gumbel_r", "default", 0),
        ("gumbel_l", "default", 0),
    ):
        module = getattr(jsp.stats, room, None)
        for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
            if not hasattr(module, name):
                continue
            x = "T[3,4]/probability" if name in ("ppf", "isf") else f"T[3,4]/{kind}"
            function = getattr(module, name)
            if room == "truncnorm":
                function = functools.partial(within, function)
            if room == "wrapcauchy":
                function = functools.partial(wrapped, function)
            table.add(
                f"jsp.stats.{room}.{name}",
                ("f32", "bf16"),
                [f"{x} {'T[4]/positive ' * count}".strip()],
                function=function,
                bound=2e-4 if name in ("ppf", "isf", "cdf", "sf", "logsf", "logcdf") else 5e-5,
                modes="gv" if room in ("norm", "gamma", "beta", "t") else "",
            )
    for room, rest in (
        ("poisson", "T[3]/positive"),
        ("geom", "T[3]/probability"),
        ("bernoulli", "T[3]/probability"),
        ("nbinom", "T[3]/positive T[3]/probability"),
        ("binom", "T[3]/positive T[3]/probability"),
        ("betabinom", "T[3]/positive T[3]/positive T[3]/positive"),
    ):
        for name in ("pmf", "logpmf", "cdf"):
            if hasattr(getattr(jsp.stats, room, None), name):
                table.add(f"jsp.stats.{room}.{name}", ["f32"], [f"i32[2,3]/below6 {rest}"], bound=1e-4)
    table.add(
        "jsp.stats.dirichlet.logpdf",
        ["f32"],
        ["T[3]/positive T[3]/positive"],
        function=lambda x, a: jsp.stats.dirichlet.logpdf(x / x.sum(), a),
        bound=1e-4,
    )
    table.add(
        "jsp.stats.multivariate_normal.logpdf",
        ["f32"],
        ["T[5,3] T[3]"],
        function=lambda x, m: jsp.stats.multivariate_normal.logpdf(x, m, jnp.eye(3) * 2),
        bound=1e-4,
    )
    table.add(
        "jsp.stats.multinomial.pmf",
        ["f32"],
        ["T[3]/positive"],
        function=lambda p: jsp.stats.multinomial.pmf(jnp.array([1, 2, 0]), 3, p / p.sum()),
        bound=1e-4,
    )
    table.add(
        "jsp.stats.gaussian_kde",
        ["f32"],
        ["T[2,20] T[2,5]"],
        function=lambda d, x: jsp.stats.gaussian_kde(d)(x),
        bound=1e-3,
    )
    table.add(
        "jsp.stats.rankdata",
        ("f32", "i32"),
        ["T[9]/equal", "T[3,4]/equal"],
        [{"method": m} for m in ("average", "min", "max", "dense", "ordinal")],
        thin=1,
    )
    table.add("jsp.stats.mode", ("f32", "i32", "u8"), ["T[9]/equal", "T[4,5]/equal"], [{}, {"keepdims": True}])
    table.add("jsp.stats.sem", ("f32", "i32"), ["T[9]", "T[4,5]"], bound=1e-5)


def signals(table):
    for name in ("convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"):
        forms = ["T[4,5] T[3,2]"] if "2d" in name else ["T[9] T[4]", "T[4,5] T[3,2]"]
        table.add(
            f"jsp.signal.{name}",
            ("f32", "c64") if "fft" in name else ("f32", "i32", "c64", "bf16"),
            forms,
            [{"mode": m} for m in ("full", "same", "valid")],
            bound=5e-5,
            thin=2,
            modes="gv",
        )
    table.add("jsp.signal.detrend", ["f32"], ["T[9]", "T[3,8]"], [{}, {"type": "constant"}, {"bp": 4}], bound=1e-4)
    table.add(
        "jsp.signal.stft", ("f32", "c64"), ["T[64]"], [{"nperseg": 16}, {"nperseg": 12, "noverlap": 3}], bound=1e-4
    )
    table.add("jsp.signal.istft", ["c64"], ["T[9,8]"], [{"nperseg": 16}], bound=1e-4)
    for name in ("welch", "csd"):
        table.add(
            f"jsp.signal.{name}",
            ["f32"],
            ["T[64]" if name == "welch" else "T[64] T[64]"],
            [{"nperseg": 16}],
            bound=1e-4,
        )
    for name in ("dct", "idct", "dctn", "idctn"):
        table.add(f"jsp.fft.{name}", ["f32"], ["T[8]", "T[3,5]"], [{}, {"norm": "ortho"}], bound=5e-5, modes="gv")
    forms = ["T[4,4]"]
    for name in (
        "det",
        "inv",
        "expm",
        "lu_product",
        "lu_factor",
        "cho_solve",
        "block_diag",
        "toeplitz",
        "hilbert",
        "polar",
        "funm",
        "sqrtm",
        "schur",
        "solve_triangular",
        "solve_triangular_t",
        "solve",
        "solve_pos",
        "cholesky",
        "eigh",
        "svd",
        "qr",
        "rsf2csf",
        "hessenberg",
        "expm_frechet",
        "solve_sylvester",
        "eigh_tridiagonal",
        "pascal",
        "hadamard",
    ):
        table.add(
            f"jsp.linalg.{name}",
            ("f32", "c64"),
            forms,
            function=functools.partial(of_matrix, name),
            bound=2e-3,
            modes="g" if name in ("solve_triangular", "lu_product", "solve") else "",
        )
    for method in ("linear", "nearest"):
        table.add(
            "jsp.interpolate",
            ["f32"],
            ["T[6] T[5] T[6,5] T[4,2]/unit"],
            [{"method": method}],
            function=regular_grid,
            bound=1e-4,
        )
    table.add(
        "jsp.ndimage.map_coordinates",
        ("f32", "i32", "u8"),
        ["T[5,6] f32[2,7]/below5", "T[5,6] f32[2,9]/large"],
        [{"order": o, "mode": m} for o in (0, 1) for m in ("constant", "nearest", "wrap", "mirror", "reflect")],
        thin=3,
        bound=1e-4,
        function=lambda x, c, **o: jsp.ndimage.map_coordinates(x, [c[0] + 0.25, c[1] + 0.25], **o),
    )
    table.add(
        "jsp.optimize",
        ["f32"],
        ["T[3]/small"],
        function=lambda x: (
            jsp.optimize.minimize(lambda v: jnp.sum((v - 1) ** 2) + jnp.sum(v[1:] * v[:-1]) * 0.5, x, method="BFGS").x
        ),
        bound=1e-3,
    )
    table.add(
        "jsp.sparse.cg",
        ["f32"],
        ["T[4]"],
        function=lambda b: jsp.sparse.linalg.cg(lambda v: 3 * v + jnp.roll(v, 1) * 0, b)[0],
        bound=1e-4,
    )
    for name in ("gmres", "bicgstab"):
        table.add(f"jsp.sparse.{name}", ["f32"], ["T[4]"], function=functools.partial(solved, name), bound=1e-3)
    table.add("jsp.cluster.vq", ["f32"], ["T[9,2] T[3,2]"], function=lambda x, c: jsp.cluster.vq.vq(x, c), bound=1e-5)
    table.add(
        "jsp.spatial.rotation",
        ["f32"],
        ["T[4] T[3]"],
        function=lambda q, v: jsp.spatial.transform.Rotation.from_quat(q).apply(v),
        bound=1e-4,
    )
    table.add("jsp.integrate.trapezoid", ("f32", "i32"), ["T[9]"], bound=1e-5)


def solved(name, b):
    return getattr(jsp.sparse.linalg, name)(lambda v: 3 * v + 0.5 * jnp.roll(v, 1), b)[0]


def within(function, x):
    return function(x, -1.5, 2.0)


def wrapped(function, x):
    return function(x, 0.4)


def regular_grid(a, b, values, at, method):
    points = (jnp.linspace(-2, 2, 6), jnp.linspace(-1, 1, 5))
    return jsp.interpolate.RegularGridInterpolator(points, values, method=method, bounds_error=False, fill_value=0)(at)


def cases():
    table = Table()
    for add in (special, statistics, signals):
        add(table)
    return table.cases
