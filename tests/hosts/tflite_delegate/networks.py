"""Networks of the tests, as bytes."""
from models import (AddOptionsT, FullyConnectedOptionsT, Graph, IfOptionsT, MulOptionsT, SequenceRNNOptionsT,
                    TransposeConvOptionsT)
import numpy as np
from support import random

RNN_UNITS = 8


def rnn(graph, source, steps):
    """An operator with a variable, which is never claimed."""
    state = graph.tensor([1, RNN_UNITS], variable=True)
    options = SequenceRNNOptionsT()
    options.fusedActivationFunction = 4  # TANH
    weights = [graph.constant(random(RNN_UNITS, RNN_UNITS) * 0.1) for _ in range(2)]
    bias = graph.constant(random(RNN_UNITS))
    return graph.make("UNIDIRECTIONAL_SEQUENCE_RNN", [source, *weights, bias, state], [1, steps, RNN_UNITS],
                      options=options)


def in_partitions(steps=3):
    """Two partitions with an operator of the runtime between them; what the first makes is read by the operator, by the
    second partition, and is an output."""
    graph = Graph()
    shape = [1, steps, RNN_UNITS]
    first = graph.make("EXP", [graph.input(shape)], shape)
    middle = rnn(graph, first, steps)
    last = graph.make("ADD", [middle, first], shape, options=AddOptionsT())
    return graph.finish([graph.make("NEG", [last], shape), first])


def handed_on(steps=3):
    """As before, but the first partition's second result goes to the second partition alone."""
    graph = Graph()
    shape = [1, steps, RNN_UNITS]
    source = graph.input(shape)
    first = graph.make("EXP", [source], shape)
    aside = graph.make("ADD", [first, source], shape, options=AddOptionsT())
    middle = rnn(graph, first, steps)
    last = graph.make("MUL", [middle, aside], shape, options=MulOptionsT())
    return graph.finish([graph.make("NEG", [last], shape)])


def of_any_length():
    """(x + c) * exp(x + c), whose first dimension is unknown."""
    graph = Graph()
    shape, signature = [1, 4], [-1, 4]
    source = graph.input(shape, signature=signature)
    total = graph.make("ADD", [source, graph.constant(random(4))], shape, options=AddOptionsT())
    power = graph.make("EXP", [total], shape)
    return graph.finish([graph.make("MUL", [total, power], shape, options=MulOptionsT())])


def layer_of_any_length():
    """A fully connected layer on an unknown number of rows, and x * exp(x) of it."""
    graph = Graph()
    source = graph.input([1, 8], signature=[-1, 8])
    given = [source, graph.constant(random(12, 8)), graph.constant(random(12))]
    wide = graph.make("FULLY_CONNECTED", given, [1, 12], options=FullyConnectedOptionsT(), signature=[-1, 12])
    power = graph.make("EXP", [wide], [1, 12], signature=[-1, 12])
    return graph.finish([graph.make("MUL", [power, wide], [1, 12], options=MulOptionsT(), signature=[-1, 12])])


def of_late_sizes():
    """Where a mask is true, twice; and the exponent of a tensor beside it."""
    graph = Graph()
    mask, source = graph.input([6], np.bool_), graph.input([6])
    where = graph.make("WHERE", [mask], [1, 1], np.int64)
    small = graph.make("CAST", [where], [1, 1], np.int32)
    twice = graph.make("ADD", [small, small], [1, 1], np.int32, options=AddOptionsT())
    return graph.finish([twice, graph.make("EXP", [source], [6])])


def chain(length=3):
    graph = Graph()
    value = graph.input([2, 8])
    for _ in range(length):
        value = graph.make("ADD", [value, graph.constant(random(8))], [2, 8], options=AddOptionsT())
    return graph.finish([value])


def of_wide_integers():
    """int64 in and out, through a cast to int32 and back; and uint8 in and out."""
    graph = Graph()
    wide, small = graph.input([5], np.int64), graph.input([2, 3], np.uint8)
    narrow = graph.make("CAST", [wide], [5], np.int32)
    twice = graph.make("ADD", [narrow, narrow], [5], np.int32, options=AddOptionsT())
    back = graph.make("CAST", [twice], [5], np.int64)
    shape = graph.constant([3, 2], np.int32)
    return graph.finish([back, graph.make("RESHAPE", [small, shape], [3, 2], np.uint8)])


def of_strings():
    """A string that is only moved, beside what is claimed."""
    graph = Graph()
    words, source = graph.input([2], "string"), graph.input([2, 8])
    moved = graph.make("RESHAPE", [words, graph.constant([1, 2], np.int32)], [1, 2], "string")
    return graph.finish([moved, graph.make("EXP", [source], [2, 8])])


def of_a_condition():
    """IF: adds, or multiplies, by a flag."""
    graph = Graph()
    flag, a, b = graph.input([1], bool), graph.input([2, 3]), graph.input([2, 3])
    branches = []
    for name, options in (("ADD", AddOptionsT()), ("MUL", MulOptionsT())):
        branch = graph.subgraph()
        given = [branch.input([2, 3]), branch.input([2, 3])]
        branch.graph.outputs = [branch.make(name, given, [2, 3], options=options)]
        branches.append(branch)
    options = IfOptionsT()
    options.thenSubgraphIndex, options.elseSubgraphIndex = 1, 2
    chosen = graph.make("IF", [flag, a, b], [2, 3], options=options)
    return graph.finish([graph.make("NEG", [chosen], [2, 3])])


def options_above_their_version(nodes):
    """TRANSPOSE_CONV of version 1 with an activation, which came with version 4 and counts in every runtime since."""
    graph = Graph()
    last = graph.input([1, 3, 3, 2])
    for _ in range(nodes):
        options = TransposeConvOptionsT()
        options.padding, options.strideH, options.strideW, options.fusedActivationFunction = 0, 1, 1, 1  # SAME, RELU
        shape = graph.constant([1, 3, 3, 2], np.int32)
        last = graph.make("TRANSPOSE_CONV", [shape, graph.constant(random(2, 3, 3, 2)), last], [1, 3, 3, 2],
                          options=options)
    return graph.finish([last])


def without_a_kernel():
    """exp(x), its maxima in windows of 2 by 2 and their places, by an operator that the runtime has no kernel of."""
    graph = Graph()
    shape, pooled = [1, 4, 6, 3], [1, 2, 3, 3]
    source = graph.make("EXP", [graph.input(shape)], shape)
    outputs = [graph.tensor(pooled), graph.tensor(pooled)]
    graph.node("CUSTOM", [source], outputs, custom=("MaxPoolingWithArgmax2D", [2, 2, 2, 2, 2, 0]))
    return graph.finish([graph.make("NEG", outputs[:1], pooled), outputs[1]])
