"""Graphs from calls."""

import numpy as np
import pytest

import tosavk


def test_a_network_from_calls():
    rng = np.random.default_rng(1)
    weights, bias = rng.standard_normal((4, 3, 3, 2)).astype(np.float32), rng.standard_normal(4).astype(np.float32)
    b = tosavk.Builder("small")
    x = b.input("x", (1, 8, 8, 2))
    zero = np.zeros(1, np.float32)
    y = b.conv2d(x, weights, bias, zero, zero, pad=[1, 1, 1, 1], stride=[1, 1], dilation=[1, 1], acc_type="FP32")
    assert y.shape == (1, 8, 8, 4) and y.dtype == "fp32"
    y = b.clamp(y, min_val=0.0, max_val=6.0)
    y = b.max_pool2d(y, kernel=[2, 2], stride=[2, 2], pad=[0, 0, 0, 0])
    y = b.reshape(y, [1, 64])
    y = b.concat(y, b.cast(b.constant([[1, 2]]), types="fp32"), axis=1)
    b.output(b.reduce_sum(y, axis=1))
    net = b.build()
    assert net.node_count > 5 and "CONV2D" in net.listing and net.dot.startswith("digraph")
    assert net.verify(seeds=2)
    x = net.random_inputs()[0]
    np.testing.assert_allclose(net(x), net.reference(x), rtol=1e-5)


def test_values_of_a_graph_that_is_built():
    b = tosavk.Builder()
    x = b.input("x", (2,))
    b.output(b.abs(x))
    b.build()
    other = b.input("other", (5,))
    for call in (lambda: b.abs(x), lambda: x.shape, lambda: b.output(x)):
        with pytest.raises(tosavk.UsageError, match="built already"):
            call()
    assert other.shape == (5,) and "built" in repr(x)
    for call in (lambda: b.output(3), lambda: b.shape([1.9]), lambda: b.shape("12")):
        with pytest.raises(tosavk.UsageError):
            call()


def test_operators_of_our_own():
    b = tosavk.Builder()
    assert "tosavk.SORT" in tosavk.operators() and "conv2d" in dir(b)
    x = b.input("x", (1, 5), "i32")
    b.output(b.node("tosavk.SORT", x, axis=1, types=["i32"]))
    assert b.build()([[3, 1, 2, 5, 4]]).tolist() == [[1, 2, 3, 4, 5]]


def test_branches():
    b = tosavk.Builder()
    condition, x = b.input("condition", (1,), "bool"), b.input("x", (2,))
    yes, no = b.region("yes"), b.region("no")
    yes.output(yes.abs(yes.input("x", (2,))))
    no.output(no.ceil(no.input("x", (2,))))
    b.output(b.cond_if(condition, x, regions=[yes, no]))
    net = b.build()
    assert net([True], [-1.5, 2.5]).tolist() == [1.5, 2.5]
    assert net([False], [-1.5, 2.5]).tolist() == [-1, 3]


def test_constants():
    b = tosavk.Builder()
    assert b.constant([1, 2]).dtype == "i32" and b.constant(1.5).dtype == "fp32" and b.constant(1.5).shape == ()
    assert b.constant(np.ones(2, np.int64)).dtype == "i48" and b.constant(np.ones(2, np.float16)).dtype == "fp16"
    assert b.constant([1, 2], "i8").dtype == "i8" and b.constant([[True]]).dtype == "bool"
    with pytest.raises(tosavk.BadInputError, match="300"):
        b.constant([1, 300], "i8")
    with pytest.raises(tosavk.BadInputError, match="inf|1e"):
        b.constant([1e300], "fp32")
    with pytest.raises(tosavk.UsageError):
        b.constant(np.zeros(2))  # no tensor has elements of float64
    with pytest.raises(tosavk.BadInputError):
        b.constant(["a"])


def test_wrong_calls_leave_the_builder_as_it_was():
    b, other = tosavk.Builder(), tosavk.Builder()
    x = b.input("x", (2, 2))
    for error, call in [
        (tosavk.UnsupportedError, lambda: b.node("NONSENSE", x)),
        (tosavk.UsageError, lambda: b.node(7, x)),
        (tosavk.Error, lambda: b.node("ADD", x)),
        (tosavk.UsageError, lambda: b.add(x, other.input("y", (2, 2)))),
        (tosavk.Error, lambda: b.reduce_sum(x)),
        (tosavk.Error, lambda: b.reduce_sum(x, axis=5)),
        (tosavk.UsageError, lambda: b.reduce_sum(x, axis=object())),
        (tosavk.UsageError, lambda: b.reduce_sum(x, axis=2**70)),
        (tosavk.Error, lambda: b.cast(x, types="fp64")),
        (tosavk.UsageError, lambda: b.reshape(x, [2**63, 1])),
        (tosavk.Error, lambda: b.cond_if(x, regions=[3])),
        (AttributeError, lambda: b.nonsense),
        (tosavk.Error, lambda: b.build()),
    ]:
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value)
    b.output(b.abs(x))
    assert b.build()([[1, -2], [3, -4]]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(tosavk.Error):
        b.build()  # it is empty now


def test_probing_while_building():
    b = tosavk.Builder(keep_refused=True)
    x = b.input("x", (2, 2))
    kept = b.node("NONSENSE", x, types=("fp32", (2, 2)), label="odd")
    b.output(b.abs(kept))
    probe = b.probe()
    assert not probe and probe.format == "builder"
    assert [(op.name, op.taken) for op in probe.operators] == [("NONSENSE", False), ("ABS", True)]
    assert "NONSENSE" in probe.operators[0].sentence and "NONSENSE" in str(probe)
    with pytest.raises(tosavk.Error):
        b.build()
    taken = tosavk.Builder()
    x = taken.input("x", (2,))
    taken.output(taken.abs(x))
    assert taken.probe()
    with pytest.raises(tosavk.UnsupportedError):
        taken.node("NONSENSE", x, types=("fp32", (2,)))
