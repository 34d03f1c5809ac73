"""Eigenvalues of Hermitian matrices and singular values on tosa-vk's devices: what JAX has of LAPACK for the CPU.

Both stand on one-sided Jacobi rotations: vectors are rotated in pairs until all are orthogonal. All pairs (i, j) with
i + j = t (modulo n) are rotated in turn t at once, in n turns each pair meets; the loop ends when n turns in succession
found nothing to rotate. One round is a gather, two sums and an update, whatever the batch.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

jnp: Any = importlib.import_module("jax.numpy")  # the package does not need JAX, nor do those who check its types
lax: Any = importlib.import_module("jax.lax")

_EPS = 2.0**-23
_ROUNDS_A_TURN = 4  # a turn of a loop costs the device a wait
_MOST_SWEEPS = 30  # 6 to 12 are needed
_NO_LENGTH = 1e-24  # squared length of a vector, the longest being about 1, that is no direction any more

_dot = functools.partial(jnp.matmul, precision=lax.Precision.HIGHEST)


def _adjoint(x: Any) -> Any:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _squares(x: Any) -> Any:
    return x.real * x.real + x.imag * x.imag if jnp.iscomplexobj(x) else x * x


def _eye(rows: int, columns: int, like: Any) -> Any:
    return jnp.eye(rows, columns, dtype=like.dtype)


def _at(x: Any, index: Any) -> Any:
    """Vectors (second to last dimension) by number."""
    return x.at[..., index, :].get(mode="promise_in_bounds")


def _columns(x: Any, order: Any) -> Any:
    return jnp.take_along_axis(x, order[..., None, :], axis=-1, mode="promise_in_bounds")


def _scaled(a: Any) -> tuple[Any, Any, Any]:
    """The matrices divided by a power of two, so that the largest elements are about 1; that power, and which matrices
    are finite."""
    most = jnp.max(jnp.maximum(jnp.abs(a.real), jnp.abs(a.imag)) if jnp.iscomplexobj(a) else jnp.abs(a), (-2, -1))
    bits = lax.bitcast_convert_type(most, jnp.int32) & 0x7F800000
    power = lax.bitcast_convert_type(jnp.clip(bits, 1 << 23, 252 << 23), jnp.float32)
    return a * (1 / power)[..., None, None].astype(a.dtype), power, bits < 0x7F800000


def _orthogonalized(x: Any, counted: int) -> Any:
    """Vectors of length about 1, rotated until their first `counted` elements are orthogonal.

    Args:
        x: float32 or complex64 of shape [..., n, r]: n vectors.
    """
    n = x.shape[-2]
    own = jnp.arange(n, dtype=jnp.int32)
    enough = _EPS * 4 * max(n**0.5, 4.0)  # rounding hides less than this
    rounds = min(_ROUNDS_A_TURN, n)

    def rotate(x: Any, t: Any) -> tuple[Any, Any]:
        other = t - own
        other = jnp.where(other < 0, other + n, other)
        y = _at(x, other)
        lengths = jnp.sum(_squares(x[..., :counted]), -1)
        theirs = lengths.at[..., other].get(mode="promise_in_bounds")
        product = jnp.sum(jnp.conj(x[..., :counted]) * y[..., :counted], -1)
        size = jnp.abs(product)
        both = jnp.sqrt(jnp.maximum(lengths, _NO_LENGTH)) * jnp.sqrt(jnp.maximum(theirs, _NO_LENGTH))
        turns = (size > _EPS * both) & (other != own)
        # Of equal lengths one is turned forth and the other one back.
        is_less = (lengths < theirs) | ((lengths == theirs) & (own < other))
        size = jnp.where(turns, size, 1)
        tau = (theirs - lengths) / (2 * size)
        tangent = jnp.where(is_less, 1, -1) / (jnp.abs(tau) + jnp.sqrt(1 + tau * tau))
        tangent = jnp.where(turns, tangent, 0)
        cosine = lax.rsqrt(1 + tangent * tangent)
        sine = (cosine * tangent).astype(x.dtype) * jnp.conj(product) / size.astype(x.dtype)
        x = cosine[..., None].astype(x.dtype) * x - sine[..., None] * y
        return x, jnp.any(turns & (size > enough * both))

    def turn(state: Any) -> Any:
        x, t, left, quiet = state
        moved = []
        for _ in range(rounds):
            x, has_moved = rotate(x, t)
            moved.append(has_moved)
            t = jnp.where(t == n - 1, 0, t + 1)
        quiet = jnp.where(functools.reduce(jnp.logical_or, moved), 0, quiet + rounds)
        return x, t, left - rounds, quiet

    def goes_on(state: Any) -> Any:
        return (state[3] < n) & (state[2] > 0)

    if n < 2:
        return x
    start = (x, jnp.int32(0), jnp.int32(_MOST_SWEEPS * n), jnp.int32(0))
    return lax.while_loop(goes_on, turn, start)[0]


def _orthonormal(v: Any) -> Any:
    """Columns that are orthonormal but for small errors, of which the squares are left."""
    n = v.shape[-1]
    return v + _dot(v, (0.5 * (_eye(n, n, v) - _dot(_adjoint(v), v))).astype(v.dtype))


def _completed(u: Any, size: int) -> Any:
    """Orthonormal columns, `size` of them: first those of u, each made orthogonal to those before it; where nothing of
    one is left, and behind them, any."""
    u = jnp.swapaxes(u, -1, -2)  # vectors are rows
    count, rows = u.shape[-2:]
    place = jnp.arange(rows, dtype=jnp.int32)

    def reflect(k: Any, state: Any) -> Any:
        """Mirrors vector k, but for the elements before k, onto axis k."""
        u, mirrors, phases = state
        x = jnp.where(place >= k, lax.dynamic_index_in_dim(u, k, -2), 0)
        first = jnp.sum(jnp.where(place == k, x, 0), -1, keepdims=True)
        size, length = jnp.abs(first), jnp.sqrt(jnp.sum(_squares(x), -1, keepdims=True))
        phase = jnp.where(size > 0, first / jnp.where(size > 0, size, 1).astype(u.dtype), 1)
        squared = length * (length + size)  # half of the mirror's own length, squared
        mirror = x + jnp.where(place == k, phase * length.astype(u.dtype), 0)
        mirror = mirror * jnp.where(squared > 0, lax.rsqrt(jnp.where(squared > 0, squared, 1)), 0).astype(u.dtype)
        u = u - jnp.sum(u * jnp.conj(mirror), -1, keepdims=True) * mirror
        mirrors = lax.dynamic_update_slice_in_dim(mirrors, mirror, k, -2)
        return u, mirrors, lax.dynamic_update_slice_in_dim(phases, -phase, k, -2)

    phases = jnp.ones((*u.shape[:-1], 1), u.dtype)
    _, mirrors, phases = lax.fori_loop(0, count, reflect, (u, jnp.zeros_like(u), phases))

    def back(k: Any, q: Any) -> Any:
        """Mirrors all vectors by the last mirror that is left."""
        mirror = lax.dynamic_index_in_dim(mirrors, count - 1 - k, -2)
        return q - jnp.sum(q * jnp.conj(mirror), -1, keepdims=True) * mirror

    q = lax.fori_loop(0, count, back, jnp.broadcast_to(_eye(size, rows, u), (*u.shape[:-2], size, rows)))
    q = jnp.swapaxes(q, -1, -2)
    signs = jnp.swapaxes(phases, -1, -2)
    if size > count:
        signs = jnp.concatenate([signs, jnp.ones((*u.shape[:-2], 1, size - count), u.dtype)], -1)
    return q * signs[..., :size]


def _bound(a: Any) -> Any:
    """No less than the largest absolute eigenvalue, at most n**(1/16) times as much: by the 8th power's norm."""
    exponent, logarithm = 1, jnp.zeros(a.shape[:-2], jnp.float32)
    for _ in range(3):
        a = _dot(a, a)
        most = jnp.maximum(jnp.max(jnp.abs(a), (-2, -1)), 1e-30)
        a = a * (1 / most)[..., None, None].astype(a.dtype)
        exponent, logarithm = 2 * exponent, 2 * logarithm + jnp.log(most)
    return jnp.exp((logarithm + 0.5 * jnp.log(jnp.maximum(jnp.sum(_squares(a), (-2, -1)), 1e-30))) / exponent)


def _quotients(a: Any, v: Any) -> Any:
    """The eigenvalues of which the columns are the eigenvectors."""
    return jnp.sum((jnp.conj(v) * _dot(a, v)).real, -2)


def _refined(a: Any, v: Any) -> Any:
    """Eigenvectors, nearly: better to the first order where their eigenvalues are apart."""
    v = _orthonormal(v)
    rest = _dot(_adjoint(v), _dot(a, v))
    values = jnp.diagonal(rest, axis1=-2, axis2=-1).real
    gaps = values[..., None, :] - values[..., :, None]
    is_apart = jnp.abs(rest) < 1e-3 * jnp.abs(gaps)
    turned = jnp.where(is_apart, rest / jnp.where(is_apart, gaps, 1).astype(a.dtype), 0)
    return _orthonormal(v + _dot(v, turned))


def hermitian_eigen(x: Any, *, lower: bool = True, subset: tuple[int, int] | None = None) -> tuple[Any, Any]:
    """Eigenvectors (as columns) and eigenvalues, ascending.

    Args:
        x: [..., n, n], of which one triangle is read.
        subset: first and last + 1 of the eigenvalues wanted, in order.
    """
    n = x.shape[-1]
    first, last = subset or (0, n)
    if x.size == 0:
        return jnp.zeros((*x.shape[:-1], last - first), x.dtype), jnp.zeros((*x.shape[:-2], last - first), x.real.dtype)
    half = jnp.tril(x, -1) if lower else jnp.triu(x, 1)
    diagonal = jnp.where(jnp.eye(n, dtype=bool), x.real, 0).astype(x.dtype)
    a, power, is_finite = _scaled(half + _adjoint(half) + diagonal)
    # Shifted, all eigenvalues are positive and of one magnitude: what rotations leave are the eigenvectors themselves.
    shift = 1.25 * _bound(a) + 2.0**-20
    shifted = a + shift[..., None, None].astype(a.dtype) * _eye(n, n, a)
    rotated = _orthogonalized(jnp.swapaxes(shifted, -1, -2), n)
    rotated = rotated * lax.rsqrt(jnp.sum(_squares(rotated), -1, keepdims=True)).astype(a.dtype)
    v = _refined(a, jnp.swapaxes(rotated, -1, -2))
    w, order = lax.sort((_quotients(a, v), lax.broadcasted_iota(jnp.int32, v.shape[:-1], v.ndim - 2)), num_keys=1)
    v = _columns(v, order)[..., first:last]
    w = (w * power[..., None])[..., first:last]
    bad = jnp.float32(jnp.nan)
    return jnp.where(is_finite[..., None, None], v, bad.astype(v.dtype)), jnp.where(is_finite[..., None], w, bad)


def singular(a: Any, *, full: bool, vectors: bool) -> tuple[Any, ...]:
    """Singular values, descending; with vectors also U and the adjoint of V, with all columns where `full`."""
    m, n = a.shape[-2:]
    if m < n:
        values, *others = singular(_adjoint(a), full=full, vectors=vectors)
        return (values, *(_adjoint(other) for other in reversed(others)))
    if a.size == 0:
        values = jnp.zeros((*a.shape[:-2], n), a.real.dtype)
        size = m if full else n
        u = jnp.broadcast_to(_eye(m, size, a), (*a.shape[:-2], m, size))
        return (values, u, jnp.zeros((*a.shape[:-2], n, n), a.dtype)) if vectors else (values,)
    a, power, is_finite = _scaled(a)
    rotated = jnp.swapaxes(a, -1, -2)
    if vectors:
        rotated = jnp.concatenate([rotated, jnp.broadcast_to(_eye(n, n, a), (*a.shape[:-2], n, n))], -1)
    rotated = _orthogonalized(rotated, m)
    squared = jnp.sum(_squares(rotated[..., :m]), -1)
    negated, order = lax.sort((-squared, lax.broadcasted_iota(jnp.int32, squared.shape, squared.ndim - 1)), num_keys=1)
    bad = jnp.float32(jnp.nan)
    values = jnp.where(is_finite[..., None], jnp.sqrt(-negated) * power[..., None], bad)
    if not vectors:
        return (values,)
    rotated = _columns(jnp.swapaxes(rotated, -1, -2), order)
    is_long = negated < -_NO_LENGTH
    scale = jnp.where(is_long, lax.rsqrt(jnp.where(is_long, -negated, 1)), 0)
    u = _completed(rotated[..., :m, :] * scale[..., None, :].astype(a.dtype), m if full else n)
    v = _orthonormal(rotated[..., m:, :])
    where = is_finite[..., None, None]
    return values, jnp.where(where, u, bad.astype(a.dtype)), jnp.where(where, _adjoint(v), bad.astype(a.dtype))


# ---- as JAX's primitives have them ----------------------------------------------------------------------------------


def _computed(x: Any) -> Any:
    """In the type that is computed with."""
    return x.astype(jnp.complex64 if jnp.iscomplexobj(x) else jnp.float32)


def eigh_rule(x: Any, *, lower: bool = True, subset_by_index: Any = None, **_: Any) -> tuple[Any, Any]:
    v, w = hermitian_eigen(_computed(x), lower=lower, subset=subset_by_index)
    return v.astype(x.dtype), w.astype(x.real.dtype)


def svd_rule(
    x: Any, *, full_matrices: bool = True, compute_uv: bool = True, subset_by_index: Any = None, **_: Any
) -> tuple[Any, ...]:
    values, *others = singular(_computed(x), full=full_matrices and compute_uv, vectors=compute_uv)
    if subset_by_index is not None:
        first, last = subset_by_index
        values = values[..., first:last]
        if others and not full_matrices:
            others = [others[0][..., first:last], others[1][..., first:last, :]]
    return (values.astype(x.real.dtype), *(other.astype(x.dtype) for other in others))
