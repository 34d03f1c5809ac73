"""Networks of the tests, as bytes."""
from models import AddOptionsT, Graph, MulOptionsT, SequenceRNNOptionsT
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
