"""Recurrent operators, several steps in a row so that their state counts."""
import numpy as np

from model import Quant
from rows import row


def length(m, kind):
    """Steps of a sequence; a long one becomes a loop, a very long one a loop of loops."""
    return m.pick(m.size(65, 100), m.size(65, 300), m.size(65, 300), 2100) if "long" in kind else m.size(1, 5)


def activation(m, kind, *choices):
    """Long sequences are to stay in bounds. Hybrid ones have an exact function: where the last bit of a state decides
    how it is rounded, its error would be a step from then on."""
    return m.pick(*choices) if "long" not in kind else "RELU6" if "hybrid" in kind else m.pick("TANH", "RELU6")


def float_matrix(m, hybrid, spread=0.3):
    """Constant weights of either form. Large ones of a recurrence make more of small errors with every step."""
    def make(*shape):
        if hybrid:
            data = np.maximum(m.values("i8", shape), -127)
            return m.const("i8", data, Quant(m.scale(1e-3, 5e-3)))
        return m.const("f32", m.values("f32", shape, spread))
    return make


def vector(m, size, spread=0.3):
    return m.const("f32", m.values("f32", (size,), spread))


def lstm_operands(m, x, depth, units, out, hybrid, matrix, calm=False):
    """The 24 inputs of an LSTM; some of its forms leave some out. A calm one makes no more of errors in its state."""
    coupled, peephole, norm = m.chance(0.3), m.chance(0.4), m.chance(0.3) and not calm
    gates = [None if coupled else True, True, True, True]
    to_gates = [g and matrix(units, depth) for g in gates]
    recurrent = [g and matrix(units, out) for g in gates]

    def cell_weights():
        return m.const("i8", np.maximum(m.values("i8", (units,)), -127), Quant(m.scale(1e-3, 5e-3))) if hybrid else \
            vector(m, units)
    cell = [cell_weights() if peephole and (k > 0 or not coupled) else None for k in range(3)]
    bias = [g and vector(m, units) for g in gates]
    projects = out != units
    projection = matrix(out, units) if projects else None
    projection_bias = vector(m, out) if projects and m.chance() else None
    batch = x
    state = [m.variable("f32", (batch, out)), m.variable("f32", (batch, units))]
    operands = [*to_gates, *recurrent, *cell, *bias, projection, projection_bias, *state]
    if norm:
        operands += [g and vector(m, units, 1.0) for g in gates]
    return operands


def lstm_options(m):
    return {"fused_activation_function": m.pick("TANH", "TANH", "RELU", "NONE"), "cell_clip": m.pick(0.0, 0.0, 1.0),
            "proj_clip": m.pick(0.0, 0.0, 0.5)}


@row("LSTM", "f32", "hybrid")
def lstm(m, kind):
    batch, depth, units = m.size(1, 3), m.size(1, 6), m.size(1, 6)
    out = m.pick(units, m.size(1, 6))
    m.steps = 3
    x = m.input("f32", (batch, depth))
    operands = lstm_operands(m, batch, depth, units, out, kind == "hybrid", float_matrix(m, kind == "hybrid"))
    m.output(m.op("LSTM", [x, *operands], [("f32",)], "LSTMOptions", **lstm_options(m)))


@row("LSTM", "f32 basic")
def basic_lstm(m, kind):
    """The kernel of old converters: one matrix for all gates, and two outputs that are its own."""
    batch, depth, units = m.size(1, 3), m.size(1, 6), m.size(1, 6)
    m.steps = 3
    x = m.input("f32", (batch, depth))
    keeps = m.chance()

    def state():
        return m.variable("f32", (batch, units)) if keeps else m.input("f32", (batch, units))
    before = state()
    matrix = m.const("f32", m.values("f32", (4 * units, depth + units), 0.3))
    made = m.op("LSTM", [x, before, matrix, vector(m, 4 * units), state()], [("f32",)] * 4, "LSTMOptions",
                fused_activation_function="TANH", kernel_type="BASIC")
    m.output(*made[:2])


@row("UNIDIRECTIONAL_SEQUENCE_LSTM", "f32", "hybrid", "f32 long")
def sequence_lstm(m, kind):
    batch, steps, depth, units = m.size(1, 3), length(m, kind), m.size(1, 6), m.size(1, 6)
    out = m.pick(units, m.size(1, 6))
    time_major = m.chance()
    m.steps = 2
    x = m.input("f32", (steps, batch, depth) if time_major else (batch, steps, depth))
    calm, hybrid = "long" in kind, "hybrid" in kind
    operands = lstm_operands(m, batch, depth, units, out, hybrid, float_matrix(m, hybrid, 0.1 if calm else 0.3), calm)
    m.output(m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *operands], [("f32",)], "UnidirectionalSequenceLSTMOptions",
                  time_major=time_major, asymmetric_quantize_inputs="hybrid" in kind and m.chance(0.3),
                  **lstm_options(m)))


@row("UNIDIRECTIONAL_SEQUENCE_LSTM", "i8", "i8 long")
def integer_lstm(m, kind):
    batch, steps, depth, units = m.size(1, 3), length(m, kind), m.pick(1, 3, 6), m.pick(1, 2, 5, 24, 33)
    out = m.pick(units, units, m.size(1, 6))
    coupled, peephole, norm = m.chance(0.3), m.chance(0.3), m.chance(0.3)
    m.steps = 2
    time_major = m.chance()
    x = m.input("i8", (steps, batch, depth) if time_major else (batch, steps, depth), m.quant("i8", 1e-2, 5e-2))
    gates = [None if coupled else True, True, True, True]

    def matrix(*shape):
        return m.const("i8", np.maximum(m.values("i8", shape), -127), Quant(m.scale(2e-3, 1e-2)))
    to_gates = [g and matrix(units, depth) for g in gates]
    recurrent = [g and matrix(units, out) for g in gates]
    cell = [m.const("i16", m.values("i16", (units,)), Quant(m.scale(1e-5, 1e-4)))
            if peephole and (k > 0 or not coupled) else None for k in range(3)]
    bias = [g and m.const("i32", m.rng.integers(-5000, 5000, (units,)), Quant(w.quant.scale * x.quant.scale))
            for g, w in zip(gates, to_gates)]
    projects = out != units or m.chance(0.2)
    hidden = Quant(m.scale(4e-3, 1.5e-2), m.size(-20, 20))
    state_quant = m.quant("i8", 5e-3, 2e-2) if projects else hidden
    projection = matrix(out, units) if projects else None
    projection_bias = None
    if projects and m.chance():
        projection_bias = m.const("i32", m.rng.integers(-2000, 2000, (out,)),
                                  Quant(projection.quant.scale * hidden.scale))
    state = [m.variable("i8", (batch, out), state_quant), m.variable("i16", (batch, units), Quant(2.0 ** -m.size(9, 13)))]
    operands = [*to_gates, *recurrent, *cell, *bias, projection, projection_bias, *state]
    if norm:
        operands += [g and m.const("i16", m.values("i16", (units,)), Quant(m.scale(3e-5, m.pick(1e-4, 1e-3)))) for g in gates]
    between = [m.between("i16", (), Quant(m.scale(1e-4, 1e-3))) for _ in range(4)] + [m.between("i8", (), hidden)]
    m.output(m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, *operands], [("i8", state_quant)],
                  "UnidirectionalSequenceLSTMOptions", intermediates=between, time_major=time_major,
                  fused_activation_function="TANH", cell_clip=m.pick(0.0, 1.0), proj_clip=m.pick(0.0, 0.5)))


@row("RNN", "f32", "hybrid")
def rnn(m, kind):
    batch, depth, units = m.size(1, 3), m.size(1, 6), m.size(1, 6)
    m.steps = 3
    matrix = float_matrix(m, "hybrid" in kind)
    x = m.input("f32", (batch, depth))
    operands = [matrix(units, depth), matrix(units, units), vector(m, units), m.variable("f32", (batch, units))]
    m.output(m.op("RNN", [x, *operands], [("f32",)], "RNNOptions", fused_activation_function=m.pick(
        "NONE", "RELU", "TANH", "RELU6")))


@row("UNIDIRECTIONAL_SEQUENCE_RNN", "f32", "hybrid", "f32 long", "hybrid long")
def sequence_rnn(m, kind):
    batch, steps, depth, units = m.size(1, 3), length(m, kind), m.size(1, 6), m.size(1, 6)
    m.steps = 2
    matrix, time_major = float_matrix(m, "hybrid" in kind, 0.1 if "long" in kind else 0.3), m.chance()
    x = m.input("f32", (steps, batch, depth) if time_major else (batch, steps, depth))
    operands = [matrix(units, depth), matrix(units, units), vector(m, units), m.variable("f32", (batch, units))]
    m.output(m.op("UNIDIRECTIONAL_SEQUENCE_RNN", [x, *operands], [("f32",)], "SequenceRNNOptions",
                  time_major=time_major,
                  fused_activation_function=activation(m, kind, "NONE", "RELU", "TANH", "RELU6"),
                  asymmetric_quantize_inputs="hybrid" in kind and m.chance(0.3)))


@row("BIDIRECTIONAL_SEQUENCE_RNN", "f32", "f32 long")  # the runtime's hybrid kernel crashes on some
def bidirectional_rnn(m, kind):
    batch, steps, depth = m.size(1, 3), length(m, kind), m.size(1, 6)
    m.steps = 2
    matrix = float_matrix(m, False, 0.1 if "long" in kind else 0.3)
    time_major, merge = m.chance(), m.chance()
    x = m.input("f32", (steps, batch, depth) if time_major else (batch, steps, depth))
    operands = []
    for _ in range(2):
        units = m.size(1, 5)
        operands += [matrix(units, depth), matrix(units, units), vector(m, units), m.variable("f32", (batch, units))]
    made = m.op("BIDIRECTIONAL_SEQUENCE_RNN", [x, *operands, None, None, None], [("f32",)] * (1 if merge else 2),
                "BidirectionalSequenceRNNOptions", time_major=time_major, merge_outputs=merge,
                fused_activation_function=activation(m, kind, "NONE", "RELU", "TANH"))
    m.output(*([made] if merge else made))


@row("BIDIRECTIONAL_SEQUENCE_LSTM", "f32", "hybrid", "f32 long", "f32 whole")  # with all that a cell may have
def bidirectional_lstm(m, kind):
    batch, steps, depth = m.size(1, 3), length(m, kind), m.size(1, 6)
    m.steps = 2
    hybrid = "hybrid" in kind
    matrix = float_matrix(m, hybrid, 0.1 if "long" in kind else 0.3)
    time_major, merge = m.chance(), m.chance()
    x = m.input("f32", (steps, batch, depth) if time_major else (batch, steps, depth))
    whole = kind == "f32 whole"
    weights, states, second = [], [], [None] * 9
    units = m.size(1, 5)
    if whole and m.chance():
        second[0] = m.input("f32", (*x.shape[:2], m.size(1, 4)))
    for direction in range(2):
        gates = [None if m.chance(0.2) else True, True, True, True]
        out = m.pick(units, m.size(1, 5)) if whole else units
        peephole = whole and m.chance()
        weights += [g and matrix(units, depth) for g in gates] + [g and matrix(units, out) for g in gates]
        weights += [vector(m, units) if peephole and (k > 0 or gates[0]) else None for k in range(3)]
        weights += [g and vector(m, units) for g in gates]
        weights += [matrix(out, units), vector(m, out) if m.chance() else None] if out != units else [None, None]
        states += [m.variable("f32", (batch, out)), m.variable("f32", (batch, units))]
        if second[0]:
            second[1 + 4 * direction:5 + 4 * direction] = [g and matrix(units, second[0].shape[2]) for g in gates]
    made = m.op("BIDIRECTIONAL_SEQUENCE_LSTM", [x, *weights, *states, *second], [("f32",)] * (1 if merge else 2),
                "BidirectionalSequenceLSTMOptions", time_major=time_major, merge_outputs=merge,
                fused_activation_function="TANH", cell_clip=m.pick(0.0, 1.0))
    m.output(*([made] if merge else made))
