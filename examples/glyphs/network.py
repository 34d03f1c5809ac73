# SPDX-License-Identifier: Apache-2.0
"""The network: training in numpy (forward, backward, Adam) and folding for export.

Activations are NHWC. A convolution is followed by batch normalisation while
training; fold() merges that into filter and bias, so that the exported graph
holds plain TFLite operators only.
"""

from dataclasses import dataclass, field

import numpy as np

EPSILON = 1e-3
MOMENTUM = 0.99


def same_padding(size, kernel, stride):
    """Output size and (before, after) padding of TFLite's SAME rule."""
    out = -(-size // stride)
    total = max((out - 1) * stride + kernel - size, 0)
    return out, (total // 2, total - total // 2)


def pad_same(x, kernel, stride, value=0):
    oh, ph = same_padding(x.shape[1], kernel, stride)
    ow, pw = same_padding(x.shape[2], kernel, stride)
    return np.pad(x, ((0, 0), ph, pw, (0, 0)), constant_values=value), oh, ow


def tap_slices(kernel, stride, oh, ow):
    """For each filter tap, the part of the padded input that it multiplies."""
    for dy in range(kernel):
        for dx in range(kernel):
            yield dy, dx, np.s_[:, dy:dy + stride * (oh - 1) + 1:stride,
                                dx:dx + stride * (ow - 1) + 1:stride, :]


def activate(x, act):
    if act == "RELU":
        return np.maximum(x, 0)
    if act == "RELU6":
        return np.clip(x, 0, 6)
    return x


def column_sums(x):
    # A product with ones is much faster than sum() over the leading axes.
    rows = x.reshape(-1, x.shape[-1])
    return np.ones(len(rows), x.dtype) @ rows


class Unit:
    """Convolution (full, depthwise or 1x1), batch normalisation, activation."""

    def __init__(self, name, kind, cin, cout, stride, act, rng):
        self.name, self.kind, self.stride, self.act = name, kind, stride, act
        shape = {"conv": (9 * cin, cout), "dw": (3, 3, cin), "pw": (cin, cout)}[kind]
        fan_in = {"conv": 9 * cin, "dw": 9, "pw": cin}[kind]
        self.params = {
            "w": (rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32),
            "gamma": np.ones(cout, np.float32),
            "beta": np.zeros(cout, np.float32),
        }
        self.grads = {}
        self.mean = np.zeros(cout, np.float32)
        self.var = np.ones(cout, np.float32)

    def _convolve(self, x):
        w = self.params["w"]
        if self.kind == "pw":
            self._saved = x
            return (x.reshape(-1, x.shape[-1]) @ w).reshape(*x.shape[:3], -1)
        xp, oh, ow = pad_same(x, 3, self.stride)
        self._in_shape, self._geometry = xp.shape, (x.shape, oh, ow)
        if self.kind == "conv":
            cols = np.concatenate([xp[s] for _, _, s in tap_slices(3, self.stride, oh, ow)], -1)
            self._saved = cols
            return (cols.reshape(-1, cols.shape[-1]) @ w).reshape(len(x), oh, ow, -1)
        self._saved = xp
        z = np.zeros((len(x), oh, ow, x.shape[3]), np.float32)
        product = np.empty_like(z)
        for dy, dx, s in tap_slices(3, self.stride, oh, ow):
            np.multiply(xp[s], w[dy, dx], out=product)
            z += product
        return z

    def forward(self, x):
        z = self._convolve(x)
        count = z.size // z.shape[-1]
        mean = column_sums(z) / count
        z -= mean
        var = column_sums(z * z) / count
        self.mean = MOMENTUM * self.mean + (1 - MOMENTUM) * mean
        self.var = MOMENTUM * self.var + (1 - MOMENTUM) * var
        self._inv = (1.0 / np.sqrt(var + EPSILON)).astype(np.float32)
        z *= self._inv
        self._norm = z
        self._out = activate(z * self.params["gamma"] + self.params["beta"], self.act)
        return self._out

    def backward(self, dy, need_dx=True):
        if self.act == "RELU":
            dy = dy * (self._out > 0)
        elif self.act == "RELU6":
            dy = dy * ((self._out > 0) & (self._out < 6))
        count = dy.size // dy.shape[-1]
        self.grads["beta"] = column_sums(dy)
        self.grads["gamma"] = column_sums(dy * self._norm)
        dz = dy - self._norm * (self.grads["gamma"] / count)
        dz -= self.grads["beta"] / count
        dz *= self.params["gamma"] * self._inv

        w, flat = self.params["w"], dz.reshape(-1, dz.shape[-1])
        if self.kind in ("conv", "pw"):
            self.grads["w"] = self._saved.reshape(-1, w.shape[0]).T @ flat
            if not need_dx:
                return None
            # Only the stem is a full convolution, and nothing lies below it.
            assert self.kind == "pw"
            return (flat @ w.T).reshape(self._saved.shape)
        in_shape, oh, ow = self._geometry
        self.grads["w"] = np.empty_like(w)
        dxp = np.zeros(self._in_shape, np.float32)
        product = np.empty_like(dz)
        for dy_, dx_, s in tap_slices(3, self.stride, oh, ow):
            np.multiply(self._saved[s], dz, out=product)
            self.grads["w"][dy_, dx_] = column_sums(product)
            np.multiply(dz, w[dy_, dx_], out=product)
            dxp[s] += product
        top = same_padding(in_shape[1], 3, self.stride)[1][0]
        left = same_padding(in_shape[2], 3, self.stride)[1][0]
        return dxp[:, top:top + in_shape[1], left:left + in_shape[2], :]

    def folded(self):
        """Filter in TFLite's layout, and bias, with the normalisation merged in."""
        factor = self.params["gamma"] / np.sqrt(self.var + EPSILON)
        w = self.params["w"] * factor
        bias = self.params["beta"] - self.mean * factor
        if self.kind == "dw":
            return w[None].astype(np.float32), bias.astype(np.float32)
        side = 3 if self.kind == "conv" else 1
        w = w.reshape(side, side, -1, w.shape[-1]).transpose(3, 0, 1, 2)
        return np.ascontiguousarray(w, np.float32), bias.astype(np.float32)


class Network:
    def __init__(self, classes, seed):
        rng = np.random.default_rng(seed)

        def unit(*args):
            return Unit(*args, rng)

        self.head = [
            unit("stem", "conv", 1, 16, 2, "RELU"),
            unit("dw1", "dw", 16, 16, 1, "RELU6"),
            unit("pw1", "pw", 16, 32, 1, "RELU"),
            unit("dw2", "dw", 32, 32, 2, "RELU6"),
            unit("pw2", "pw", 32, 64, 1, "RELU"),
        ]
        self.branch = [
            unit("dw3", "dw", 64, 64, 1, "RELU6"),
            unit("pw3", "pw", 64, 64, 1, "NONE"),
        ]
        self.tail = [
            unit("dw4", "dw", 64, 64, 2, "RELU6"),
            unit("pw4", "pw", 64, 96, 1, "RELU"),
        ]
        features = 2 * 2 * 96
        self.fc = {
            "w": (rng.standard_normal((features, classes)) / np.sqrt(features)).astype(np.float32),
            "b": np.zeros(classes, np.float32),
        }
        self.fc_grads = {}
        self.units = self.head + self.branch + self.tail

    def parameters(self):
        for unit in self.units:
            for key in unit.params:
                yield unit.params, unit.grads, key
        for key in self.fc:
            yield self.fc, self.fc_grads, key

    def step(self, x, labels, smoothing=0.05):
        """Forward and backward for one batch; returns loss and right answers."""
        for unit in self.head:
            x = unit.forward(x)
        skip = x
        for unit in self.branch:
            x = unit.forward(x)
        x = np.maximum(x + skip, 0)
        summed = x
        for unit in self.tail:
            x = unit.forward(x)
        n, _, _, channels = x.shape
        pooled = x.reshape(n, 2, 2, 2, 2, channels).mean((2, 4))
        features = pooled.reshape(n, -1)
        logits = features @ self.fc["w"] + self.fc["b"]
        logits -= logits.max(1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        target = np.full_like(logits, smoothing / logits.shape[1])
        target[np.arange(n), labels] += 1 - smoothing
        loss = -(target * log_p).sum() / n

        d = (np.exp(log_p) - target) / np.float32(n)
        self.fc_grads["w"], self.fc_grads["b"] = features.T @ d, d.sum(0)
        d = (d @ self.fc["w"].T).reshape(n, 2, 1, 2, 1, channels) / np.float32(4)
        d = np.broadcast_to(d, (n, 2, 2, 2, 2, channels)).reshape(x.shape)
        for unit in reversed(self.tail):
            d = unit.backward(d)
        d = d * (summed > 0)
        d_skip = d
        for unit in reversed(self.branch):
            d = unit.backward(d)
        d = d + d_skip
        for unit in reversed(self.head):
            d = unit.backward(d, need_dx=unit is not self.head[0])
        return loss, int((log_p.argmax(1) == labels).sum())


class Adam:
    def __init__(self, network, decay=1e-4):
        self.network, self.decay, self.t = network, decay, 0
        self.m = [np.zeros_like(p[k]) for p, _, k in network.parameters()]
        self.v = [np.zeros_like(p[k]) for p, _, k in network.parameters()]

    def update(self, rate):
        self.t += 1
        bias1, bias2 = 1 - 0.9 ** self.t, 1 - 0.999 ** self.t
        for (params, grads, key), m, v in zip(self.network.parameters(), self.m, self.v):
            g = grads[key]
            m += np.float32(0.1) * (g - m)
            v += np.float32(0.001) * (g * g - v)
            if key == "w":
                params[key] *= np.float32(1 - rate * self.decay)
            params[key] -= np.float32(rate / bias1) * m / (np.sqrt(v / np.float32(bias2)) + np.float32(1e-8))


@dataclass
class Op:
    """One TFLite operator of the exported graph; activations are known by name."""
    kind: str
    inputs: list
    output: str
    filter: np.ndarray = None
    bias: np.ndarray = None
    stride: int = 1
    act: str = "NONE"
    attrs: dict = field(default_factory=dict)


def fold(network):
    """The trained network as a list of TFLite operators."""
    ops, current = [], "image"

    def convolutions(units):
        nonlocal current
        for unit in units:
            kind = "DEPTHWISE_CONV_2D" if unit.kind == "dw" else "CONV_2D"
            w, b = unit.folded()
            ops.append(Op(kind, [current], unit.name, w, b, unit.stride, unit.act))
            current = unit.name

    convolutions(network.head)
    skip = current
    convolutions(network.branch)
    ops.append(Op("ADD", [current, skip], "residual", act="RELU"))
    current = "residual"
    convolutions(network.tail)
    ops.append(Op("AVERAGE_POOL_2D", [current], "pool", stride=2, attrs={"size": 2}))
    features = network.fc["w"].shape[0]
    ops.append(Op("RESHAPE", ["pool"], "features", attrs={"shape": [-1, features]}))
    ops.append(Op("FULLY_CONNECTED", ["features"], "logits",
                  np.ascontiguousarray(network.fc["w"].T), network.fc["b"].copy()))
    ops.append(Op("SOFTMAX", ["logits"], "scores"))
    return ops


def convolve(x, op, pad_value=0):
    """CONV_2D or DEPTHWISE_CONV_2D without bias, SAME padding, in x's number type."""
    kernel = op.filter.shape[1]
    xp, oh, ow = pad_same(x, kernel, op.stride, pad_value)
    w = op.filter.astype(x.dtype)
    total = 0
    for dy, dx, s in tap_slices(kernel, op.stride, oh, ow):
        if op.kind == "DEPTHWISE_CONV_2D":
            total = total + xp[s] * w[0, dy, dx]
        else:
            total = total + xp[s] @ w[:, dy, dx, :].T
    return total


def pool_sum(x, size):
    n, h, w, c = x.shape
    return x.reshape(n, h // size, size, w // size, size, c).sum((2, 4))


def run_float(ops, x):
    """All activations of the exported fp32 graph by name."""
    values = {"image": x.astype(np.float32)}
    for op in ops:
        args = [values[name] for name in op.inputs]
        if op.kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            y = convolve(args[0], op) + op.bias
        elif op.kind == "ADD":
            y = args[0] + args[1]
        elif op.kind == "AVERAGE_POOL_2D":
            y = pool_sum(args[0], op.attrs["size"]) / np.float32(op.attrs["size"] ** 2)
        elif op.kind == "RESHAPE":
            y = args[0].reshape(op.attrs["shape"])
        elif op.kind == "FULLY_CONNECTED":
            y = args[0] @ op.filter.T + op.bias
        elif op.kind == "SOFTMAX":
            e = np.exp(args[0] - args[0].max(-1, keepdims=True))
            y = e / e.sum(-1, keepdims=True)
        values[op.output] = activate(y, op.act)
    return values
