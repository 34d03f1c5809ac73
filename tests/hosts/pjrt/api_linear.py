"""Cases of products, of jax.numpy.linalg, jax.scipy.linalg and of transforms of Fourier."""

import functools

import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from api_tables import (
    ALL,
    NUMBERS,
    Table,
)


def products(table):
    for name, forms in {
        "dot": ["T[3,4] T[4,5]", "T[4] T[4]", "T[] T[3]", "T[2,3,4] T[4]", "T[2,3,4] T[5,4,2]", "T[3,0] T[0,2]"],
        "matmul": [
            "T[3,4] T[4,5]",
            "T[4] T[4]",
            "T[2,3,4] T[4,5]",
            "T[2,1,3,4] T[5,4,2]",
            "T[4] T[2,4,3]",
            "T[3,0] T[0,2]",
        ],
        "vdot": ["T[3,4] T[3,4]"],
        "vecdot": ["T[3,4] T[4]"],
        "inner": ["T[3,4] T[5,4]", "T[4] T[4]"],
        "outer": ["T[3] T[2,2]"],
        "kron": ["T[2,3] T[2,2]", "T[3] T[2,2]"],
        "cross": ["T[3] T[3]", "T[4,3] T[4,3]"],
        "tensordot": ["T[3,4,5] T[4,5,2]"],
        "matvec": ["T[3,4] T[4]"],
        "vecmat": ["T[3] T[3,4]"],
    }.items():
        table.add(
            f"jnp.{name}",
            ALL if name != "cross" else NUMBERS,
            forms,
            bound=1e-5,
            thin=3 if len(forms) > 2 else 1,
            modes="gv",
        )
    table.add("jnp.matmul", ["f32", "bf16", "f16", "i8", "u8", "c64"], ["T[33,70] T[70,20]/unit"], bound=2e-5)
    table.add(
        "jnp.matmul",
        ("i8", "u8", "bf16", "f16", "f32"),
        ["T[3,4] T[4,5]"],
        [{"preferred_element_type": "float32"}],
        bound=1e-5,
    )
    table.add("jnp.matmul", ("i8", "u8", "i16"), ["T[3,4] T[4,5]"], [{"preferred_element_type": "int32"}])
    for text, forms in {
        "ij,jk": ["T[2,3] T[3,4]"],
        "ii": ["T[3,3]"],
        "ij->ji": ["T[2,3]"],
        "bij,bjk->bik": ["T[2,3,4] T[2,4,2]"],
        "i,j": ["T[2] T[3]"],
        "ijk,ilm,njm->knl": ["T[2,3,2] T[2,2,3] T[3,3,3]"],
        "...ij,...j": ["T[2,3,4] T[4]"],
        "ij->": ["T[2,3]"],
        "abc,cd->bd": ["T[2,3,4] T[4,2]"],
        "ijj->i": ["T[2,3,3]"],
        "ab,ab->ab": ["T[2,3] T[2,3]"],
    }.items():
        table.add(
            f"jnp.einsum.{text}".replace(" ", ""),
            ("i32", "f32", "bf16", "c64", "u8", "b1"),
            forms,
            function=functools.partial(jnp.einsum, text),
            bound=1e-5,
            modes="gv",
        )


def linalg(table):
    square = ["T[3,3]", "T[2,4,4]", "T[1,1]", "T[0,0]"]
    for name, forms, bound in (
        ("inv", square, 1e-3),
        ("det", square, 1e-3),
        ("slogdet", square, 1e-3),
        ("pinv", ["T[4,3]", "T[3,4]"], 1e-3),
        ("matrix_rank", ["T[3,4]"], 0),
        ("svdvals", ["T[4,3]", "T[2,3,3]"], 1e-4),
        ("cond", ["T[3,3]"], 1e-3),
        ("matrix_transpose", ["T[2,3,4]"], 0),
        ("trace", ["T[3,4]"], 1e-5),
        ("diagonal", ["T[3,4]"], 0),
    ):
        table.add(
            f"jnp.linalg.{name}", ("f32", "c64"), forms, bound=bound, modes="g" if name in ("inv", "det") else "v"
        )
    table.add(
        "jnp.linalg.cholesky",
        ("f32", "c64"),
        square[:3],
        [{}, {"upper": True}],
        function=lambda x, **o: jnp.linalg.cholesky(
            x @ jnp.conj(jnp.swapaxes(x, -1, -2)) + 3 * jnp.eye(x.shape[-1]), **o
        ),
        bound=1e-4,
        modes="gv",
    )
    for name in ("eigvalsh", "qr_r", "qr_product", "svd_product", "eigh_product"):
        table.add(
            f"jnp.linalg.{name}",
            ("f32", "c64"),
            ["T[4,4]", "T[2,5,5]"] if "eig" in name else ["T[4,4]", "T[5,3]", "T[2,3,5]"],
            function=functools.partial(factored, name),
            bound=1e-3,
        )
    for name in ("eig", "eigvals"):
        table.add(f"jnp.linalg.{name}", ("f32", "c64"), ["T[3,3]"], bound=1e-2)
    for name, forms in (
        ("solve", ["T[3,3] T[3]", "T[3,3] T[3,2]", "T[2,4,4] T[2,4,3]", "T[2,3,3] T[3,2]"]),
        ("lstsq", ["T[5,3] T[5]", "T[3,3] T[3,2]"]),
    ):
        table.add(f"jnp.linalg.{name}", ("f32", "c64"), forms, bound=2e-3, modes="g" if name == "solve" else "")
    table.add(
        "jnp.linalg.norm",
        NUMBERS,
        ["T[3,4]"],
        [{"ord": o, **a} for o in (None, 1, np.inf, -1, "fro") for a in ({}, {"axis": (0, 1), "keepdims": True})],
        bound=1e-5,
    )
    table.add("jnp.linalg.norm", ("f32", "c64"), ["T[3,4]"], [{"ord": o} for o in (2, -2, "nuc")], bound=1e-4, thin=1)
    table.add(
        "jnp.linalg.norm",
        NUMBERS,
        ["T[3,4]"],
        [{"ord": o, "axis": 1} for o in (None, 0, 1, 2, 3, np.inf, -np.inf)],
        bound=1e-5,
    )
    table.add(
        "jnp.linalg.matrix_power", ("f32", "i32", "c64"), ["T[3,3]/small"], [{"n": n} for n in (0, 1, 3)], bound=1e-4
    )
    table.add("jnp.linalg.matrix_power", ["f32"], ["T[3,3]"], [{"n": -2}], bound=1e-2)
    table.add(
        "jnp.linalg.multi_dot",
        ("f32", "i32", "c64"),
        ["T[3,4] T[4,2] T[2,5]"],
        function=lambda *a: jnp.linalg.multi_dot(a),
        bound=1e-5,
    )
    for name in ("vector_norm", "matrix_norm"):
        table.add(f"jnp.linalg.{name}", ("f32", "c64", "bf16"), ["T[3,4]"], bound=1e-5)
    table.add("jnp.linalg.tensorsolve", ["f32"], ["T[2,3,6] T[2,3]"], bound=1e-2)
    table.add("jnp.linalg.tensorinv", ["f32"], ["T[2,3,6]"], [{"ind": 2}], bound=1e-2)
    for name in ("fft", "ifft", "hfft", "ihfft", "rfft", "irfft"):
        types = ("f32", "i32", "b1") if name in ("rfft", "ihfft") else ("f32", "c64", "i32", "u8")
        table.add(
            f"jnp.fft.{name}",
            types,
            ["T[8]", "T[3,5]", "T[12,2]"],
            [{}, {"n": 6}, {"axis": 0, "norm": "ortho"}, {"n": 9, "norm": "forward"}],
            bound=2e-5,
            thin=2,
            modes="gv",
        )
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        types = ("f32", "i32") if name.startswith("r") else ("f32", "c64")
        table.add(
            f"jnp.fft.{name}",
            types,
            ["T[4,6]", "T[3,5,4]"],
            [{}, {"axes": (0, 1)}, {"s": (4, 8), "axes": (0, 1)}, {"norm": "ortho"}],
            bound=5e-5,
            thin=2,
            modes="gv",
        )
    for name in ("fftshift", "ifftshift"):
        table.add(f"jnp.fft.{name}", ("f32", "c64", "i32"), ["T[5]", "T[4,3]"], [{}, {"axes": 0}])
    for name in ("fftfreq", "rfftfreq"):
        table.add(f"jnp.fft.{name}", [""], [""], [{"n": 8}, {"n": 7, "d": 0.5}])


def factored(name, x):
    adjoint = lambda m: jnp.conj(jnp.swapaxes(m, -1, -2))  # noqa: E731
    if name == "eigvalsh":
        return jnp.linalg.eigvalsh(x)
    if name == "eigh_product":
        values, vectors = jnp.linalg.eigh(x + adjoint(x))
        return values, vectors * values[..., None, :] @ adjoint(vectors)
    if name == "qr_r":
        return jnp.linalg.qr(x, mode="r")
    if name == "qr_product":
        q, r = jnp.linalg.qr(x)
        return q @ r, adjoint(q) @ q
    u, s, vh = jnp.linalg.svd(x, full_matrices=False)
    return s, u * s[..., None, :] @ vh, adjoint(u) @ u


def of_matrix(name, x):
    adjoint = jnp.conj(x.T)
    positive = x @ adjoint + 3 * jnp.eye(4)
    well = x + 6 * jnp.eye(4)
    small = x * 0.1
    return {
        "det": lambda: jsp.linalg.det(x),
        "inv": lambda: jsp.linalg.inv(well),
        "expm": lambda: jsp.linalg.expm(small),
        "lu_factor": lambda: jsp.linalg.lu_factor(x),
        "lu_product": lambda: functools.reduce(jnp.matmul, jsp.linalg.lu(x)),
        "cho_solve": lambda: jsp.linalg.cho_solve(jsp.linalg.cho_factor(positive), x[:, :2]),
        "block_diag": lambda: jsp.linalg.block_diag(x, x[:2]),
        "toeplitz": lambda: jsp.linalg.toeplitz(x[0], x[1]),
        "hilbert": lambda: jsp.linalg.hilbert(4),
        "polar": lambda: jsp.linalg.polar(well),
        "funm": lambda: jsp.linalg.funm(small, jnp.sin),
        "sqrtm": lambda: jsp.linalg.sqrtm(positive),
        "schur": lambda: jsp.linalg.schur(x),
        "solve_triangular": lambda: jsp.linalg.solve_triangular(well, x[:, 0], lower=True),
        "solve_triangular_t": lambda: jsp.linalg.solve_triangular(well, x, trans=2, unit_diagonal=True),
        "solve": lambda: jsp.linalg.solve(well, x[:, :3]),
        "solve_pos": lambda: jsp.linalg.solve(positive, x[:, 0], assume_a="pos"),
        "cholesky": lambda: jsp.linalg.cholesky(positive),
        "eigh": lambda: jsp.linalg.eigh(positive, eigvals_only=True),
        "svd": lambda: jsp.linalg.svd(x, compute_uv=False),
        "qr": lambda: jsp.linalg.qr(x, mode="r"),
        "rsf2csf": lambda: jsp.linalg.rsf2csf(x, x),
        "hessenberg": lambda: jsp.linalg.hessenberg(x),
        "expm_frechet": lambda: jsp.linalg.expm_frechet(small, small),
        "solve_sylvester": lambda: jsp.linalg.solve_sylvester(x, x, x),
        "eigh_tridiagonal": lambda: jsp.linalg.eigh_tridiagonal(x.real[0], x.real[1, :3], eigvals_only=True),
        "pascal": lambda: jsp.linalg.pascal(4),
        "hadamard": lambda: jsp.linalg.hadamard(4),
    }[name]()


def cases():
    table = Table()
    for add in (products, linalg):
        add(table)
    return table.cases
