#!/usr/bin/env python3
"""Derives the constants of shaders/lib/functions.glsl and src/base/numerics/shader_functions.cpp.

Run: python3 scripts/derive_functions.py   (needs mpmath from PyPI)

Polynomials have the least squares of relative errors at Chebyshev's nodes; from the lowest power on each coefficient is
rounded to fp32 and the rest fitted again, so that the later ones make up for it. Both files write the coefficients with
nine digits, which is exact. "error" is the logarithm to base 2 of the largest relative error on the interval.
"""

import struct

import mpmath as mp

mp.mp.prec = 200


def fp32(x):
    """The fp32 nearest to x, as an mpf."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit(f, weight, low, high, degree, fixed):
    """Coefficients of a polynomial near f on [low, high], the first ones `fixed`, all fp32."""
    count = 6 * (degree + 1)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values, weights = [f(t) for t in nodes], [weight(t) for t in nodes]
    coefficients = [fp32(c) for c in fixed]
    while len(coefficients) <= degree:
        known, unknown = len(coefficients), degree + 1 - len(coefficients)
        matrix, right = mp.matrix(count, unknown), mp.matrix(count, 1)
        for row, (t, w) in enumerate(zip(nodes, weights)):
            for column in range(unknown):
                matrix[row, column] = w * t ** (known + column)
            right[row] = w * (values[row] - sum(c * t**k for k, c in enumerate(coefficients)))
        coefficients.append(fp32(mp.lu_solve(matrix.T * matrix, matrix.T * right)[0]))
    return coefficients


def show(name, f, low, high, degree, fixed=(), weight=None):
    """Fits and prints; an error counts `weight` times, else as part of f."""
    low, high = mp.mpf(low), mp.mpf(high)
    weight = weight or (lambda t: 1 / f(t))
    coefficients = fit(f, weight, low, high, degree, fixed)
    worst = mp.mpf(0)
    for k in range(801):
        t = low + (high - low) * (k + mp.mpf("0.37")) / 801
        worst = max(worst, abs((sum(c * t**n for n, c in enumerate(coefficients)) - f(t)) * weight(t)))
    print(f"{name}: error {float(mp.log(worst, 2)):.1f}")
    for n, c in enumerate(coefficients):
        print(f"  ^{n}: {float(c):.9g}")


def parts(name, x, bits):
    """x as a number of so few bits that its multiples are exact, and the rest."""
    high = mp.nint(mp.ldexp(x, bits)) / mp.mpf(2) ** bits
    print(f"{name}: {float(high):.9g} + {float(fp32(x - high)):.9g}")


def main():
    """Prints all."""
    print("== atan: t + t z P(z), z = t^2, abs(t) <= tan(pi / 8)")
    edge = mp.tan(mp.pi / 8) + mp.mpf(2) ** -20
    show("P", lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 1e-12, edge**2, 4, weight=lambda z: z)
    parts("pi / 4", mp.pi / 4, 21)

    print("== cbrt: m in [1, 8), y0 = bits(magic - bits(m) / 3) is near 1 / cbrt(m); y0 (c0 + c1 e + c2 e^2)")
    magic_spread()

    print("== erf_inv(x) = x P(w), w = -log(1 - x^2)")

    def ratio(w):
        x = mp.sqrt(-mp.expm1(-w))
        return mp.erfinv(x) / x

    show("w <= 5, in w - 2.5", lambda t: ratio(t + mp.mpf(2.5)), "-2.4999999", 2.5, 10)
    show("above, in sqrt(w) - 3.125", lambda t: ratio((t + mp.mpf(3.125)) ** 2), "-0.9", "0.9", 10)

    print("== lgamma")
    show("lgamma(1 + t) / t, abs(t) <= 1/2", lambda t: mp.loggamma(1 + t) / t, -0.5, 0.5, 12)
    show("lgamma(2 + t) / t, abs(t) <= 1/2", lambda t: mp.loggamma(2 + t) / t, -0.5, 0.5, 9)
    half_log = mp.log(2 * mp.pi) / 2 - mp.mpf(1) / 2
    print(f"log(2 pi) / 2 - 1 / 2: {float(fp32(half_log)):.9g}")

    def stirling(v):
        x = 1 / v
        return (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x

    far = mp.mpf(1) / 64  # 1 / x^2 of x = 8
    show("what Stirling's formula lacks, times x, in 1 / x^2", lambda z: stirling(mp.sqrt(z)), "1e-6", far, 2)

    def sinc(z):
        return mp.sin(mp.pi * mp.sqrt(z)) / (mp.pi * mp.sqrt(z))

    show("sin(pi f) / (pi f), in f^2", sinc, 1e-12, 0.25, 5, (1,))

    print("== digamma")
    root = mp.findroot(mp.digamma, 1.46)
    high = fp32(root)
    print(f"root: {float(high):.9g} + {float(fp32(root - high)):.9g}")
    show("digamma(x) / (x - root), in x - 1.5", lambda t: mp.digamma(t + 1.5) / (t + mp.mpf(1.5) - root), -0.5, 0.5, 10)

    def tail(z):
        x = 1 / mp.sqrt(z)
        return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z

    show("(log x - 1 / (2 x) - digamma(x)) x^2, in 1 / x^2", tail, "1e-6", far, 2)
    print(f"pi: {float(fp32(mp.pi)):.9g}")


def guess(m, magic):
    """bits(magic - bits(m) / 3) as a number."""
    bits = struct.unpack("i", struct.pack("f", m))[0]
    return struct.unpack("f", struct.pack("i", magic - bits // 3))[0]


def magic_spread():
    """The magic number whose guesses have the smallest spread of m y^3, and the step that makes most of them."""

    def spread(magic):
        cubes = [m * guess(m, magic) ** 3 for m in (1 + 7 * k / 4096 for k in range(4096))]
        return max(cubes) / min(cubes), min(cubes), max(cubes)

    middle = 0x54A20000
    magic = min(range(middle - 0x80000, middle + 0x80000, 0x4000), key=spread)
    magic = min(range(magic - 0x4000, magic + 0x4000, 0x200), key=spread)
    _, low, high = spread(magic)
    print(f"magic {magic}, e = 1 - m y0^3 from {1 - high:.6f} to {1 - low:.6f}")
    show("(1 - e)^(-1/3)", lambda e: mp.power(1 - e, mp.mpf(-1) / 3), 1 - high, 1 - low, 2)


if __name__ == "__main__":
    main()
