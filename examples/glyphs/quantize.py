# SPDX-License-Identifier: Apache-2.0
"""Full-integer post-training quantization, and the integer network in numpy.

run_int8() follows the arithmetic of TFLite's reference kernels bit for bit
(double rounding), so that the measured accuracy and the expected scores are
those of the exported file.
"""

from dataclasses import dataclass

import numpy as np

from network import Op, convolve, pool_sum, run_float


@dataclass
class Quant:
    """real = scale * (q - zero_point); several scales mean one per channel."""
    scale: np.ndarray
    zero_point: np.ndarray
    dimension: int = 0


@dataclass
class QuantizedOp:
    filter: np.ndarray
    filter_quant: Quant
    bias: np.ndarray
    bias_quant: Quant


def round_away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def activation_quant(low, high):
    # Zero must be representable: it is the padding value.
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = np.float32((high - low) / 255.0)
    zero = np.clip(round_away(-128.0 - low / scale), -128, 127)
    return Quant(np.array([scale], np.float32), np.array([zero], np.int64))


def symmetric_quant(w, axes, dimension):
    scale = (np.abs(w).max(axes) / 127.0).astype(np.float32).reshape(-1)
    return Quant(scale, np.zeros(len(scale), np.int64), dimension)


def quantize(x, quant):
    q = round_away(np.asarray(x, np.float64) / quant.scale[0]) + quant.zero_point[0]
    return np.clip(q, -128, 127).astype(np.int8)


def quantize_graph(ops, calibration):
    """Quantization of every activation, and the integer constants of every operator."""
    floats = run_float(ops, calibration)
    acts = {name: activation_quant(v.min(), v.max()) for name, v in floats.items()}
    # The input range is known, not estimated.
    acts["image"] = activation_quant(0.0, 1.0)
    constants = {}
    for op in ops:
        if op.kind in ("AVERAGE_POOL_2D", "RESHAPE"):
            acts[op.output] = acts[op.inputs[0]]
        elif op.kind == "SOFTMAX":
            acts[op.output] = Quant(np.array([1 / 256], np.float32), np.array([-128], np.int64))
        if op.filter is None:
            continue
        if op.kind == "CONV_2D":
            fq = symmetric_quant(op.filter, (1, 2, 3), 0)
            shape = (-1, 1, 1, 1)
        elif op.kind == "DEPTHWISE_CONV_2D":
            fq = symmetric_quant(op.filter, (0, 1, 2), 3)
            shape = (1, 1, 1, -1)
        else:
            fq = symmetric_quant(op.filter, None, 0)
            shape = (1, 1)
        w = round_away(op.filter.astype(np.float64) / fq.scale.reshape(shape))
        w = np.clip(w, -127, 127).astype(np.int8)
        bias_scale = acts[op.inputs[0]].scale[0] * fq.scale
        bias = round_away(op.bias.astype(np.float64) / bias_scale).astype(np.int32)
        bq = Quant(bias_scale, np.zeros(len(bias_scale), np.int64), 0)
        constants[op.output] = QuantizedOp(w, fq, bias, bq)
    return acts, constants


# ---- integer arithmetic of the reference kernels -------------------------------

def quantize_multiplier(real):
    """real as (31-bit multiplier, exponent), elementwise."""
    fraction, exponent = np.frexp(np.asarray(real, np.float64))
    m = round_away(fraction * 2.0 ** 31).astype(np.int64)
    carry = m == 1 << 31
    return np.where(carry, m // 2, m), np.where(carry, exponent + 1, exponent).astype(np.int64)


def high_mul(a, b):
    """Rounding high half of 2*a*b; the pair of two minima does not occur here."""
    product = np.asarray(a, np.int64) * b
    up = (product + (1 << 30)) >> 31
    # The kernels divide, and division truncates toward zero.
    down = -((-(product + 1 - (1 << 30))) >> 31)
    return np.where(product >= 0, up, down)


def shift_right_rounded(x, exponent):
    """Division by a power of two, half away from zero."""
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + ((x & mask) > threshold)


def rescale(x, m, exponent):
    left, right = np.maximum(exponent, 0), np.maximum(-exponent, 0)
    return shift_right_rounded(high_mul(x << left, m), right)


def activation_limits(act, quant):
    low, high = -128, 127
    zero, scale = int(quant.zero_point[0]), float(quant.scale[0])
    if act in ("RELU", "RELU6"):
        low = max(low, zero)
    if act == "RELU6":
        high = min(high, zero + int(round_away(np.float32(6.0) / np.float32(scale))))
    return low, high


def finish(x, op, quant):
    return np.clip(x + quant.zero_point[0], *activation_limits(op.act, quant)).astype(np.int8)


def integer_add(a, b, qa, qb, out, op):
    sa, sb, so = (float(q.scale[0]) for q in (qa, qb, out))
    twice = 2.0 * max(sa, sb)
    total = 0
    for x, q, s in ((a, qa, sa), (b, qb, sb)):
        m, e = quantize_multiplier(s / twice)
        total = total + rescale((x.astype(np.int64) - q.zero_point[0]) << 20, m, e)
    m, e = quantize_multiplier(twice / ((1 << 20) * so))
    return finish(rescale(total, m, e), op, out)


def exp_negative(a):
    """exp(a) for a <= 0: input with 26 fraction bits, result with 31."""
    quarter = 1 << 24
    part = (a & (quarter - 1)) - quarter
    # Taylor series around -1/8.
    x = (part << 5) + (1 << 28)
    x2 = high_mul(x, x)
    series = high_mul(shift_right_rounded(high_mul(x2, x2), 2) + high_mul(x2, x),
                      round(2 ** 31 / 3)) + x2
    at_eighth = round(2 ** 31 * np.exp(-0.125))
    result = at_eighth + high_mul(at_eighth, x + shift_right_rounded(series, 1))
    rest = part - a
    for power in range(-2, 5):
        factor = round(2 ** 31 * np.exp(-2.0 ** power))
        result = np.where(rest & (1 << (26 + power)), high_mul(result, factor), result)
    return np.where(a == 0, 2 ** 31 - 1, result)


def integer_softmax(q, quant):
    m, e = quantize_multiplier(min(float(quant.scale[0]) * 2.0 ** 26, 2.0 ** 31 - 1))
    lowest = -int(np.floor(31 * 2.0 ** 26 / 2.0 ** int(e)))
    diff = q.astype(np.int64) - q.max(-1, keepdims=True)
    used = diff >= lowest
    exps = np.where(used, exp_negative(rescale(np.where(used, diff, 0), m, e)), 0)
    total = np.where(used, shift_right_rounded(exps, 12), 0).sum(-1, keepdims=True)
    zeros = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    half = (((total << zeros) - (1 << 31)) >> 1) + (1 << 30)
    # Newton's division, with 29 fraction bits, from the usual start 48/17 - 32/17 d.
    x = 1515870810 + high_mul(half, -1010580540)
    for _ in range(3):
        x = x + (high_mul(x, (1 << 29) - high_mul(half, x)) << 2)
    reciprocal = np.minimum(x << 1, 2 ** 31 - 1)
    scores = shift_right_rounded(high_mul(reciprocal, exps), 35 - zeros)
    return np.clip(np.where(used, scores, 0) - 128, -128, 127).astype(np.int8)


def run_int8(ops, acts, constants, image):
    """All activations of the exported int8 graph by name."""
    values = {"image": image}
    for op in ops:
        args = [values[name] for name in op.inputs]
        q_in, q_out = acts[op.inputs[0]], acts[op.output]
        c = constants.get(op.output)
        if c is not None:
            # float64 holds these integer sums exactly and multiplies faster.
            x = args[0].astype(np.float64) - q_in.zero_point[0]
            if op.kind == "FULLY_CONNECTED":
                acc = x @ c.filter.astype(np.float64).T
                # Per-tensor kernels round the product of the scales to float.
                product = (q_in.scale * c.filter_quant.scale).astype(np.float64)
            else:
                acc = convolve(x, Op(op.kind, op.inputs, op.output, c.filter, stride=op.stride))
                product = q_in.scale.astype(np.float64) * c.filter_quant.scale.astype(np.float64)
            m, e = quantize_multiplier(product / np.float64(q_out.scale[0]))
            acc = acc.astype(np.int64) + c.bias
            assert np.abs(acc).max() < 1 << 31
            y = finish(rescale(acc, m, e), op, q_out)
        elif op.kind == "ADD":
            y = integer_add(args[0], args[1], q_in, acts[op.inputs[1]], q_out, op)
        elif op.kind == "AVERAGE_POOL_2D":
            count = op.attrs["size"] ** 2
            total = pool_sum(args[0].astype(np.int64), op.attrs["size"])
            y = (np.sign(total) * ((np.abs(total) + count // 2) // count)).astype(np.int8)
        elif op.kind == "RESHAPE":
            y = args[0].reshape(op.attrs["shape"])
        elif op.kind == "SOFTMAX":
            y = integer_softmax(args[0], q_in)
        values[op.output] = y
    return values
