"""Wrong types, shapes and bytes: an exception of ours with a sentence, never a crash, never a silent wrong answer.

The examples are the same every time, unless TOSAVK_TEST_SEED is set: then `--hypothesis-seed` says which."""

import os

import ml_dtypes
import numpy as np
from conftest import GLYPHS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tosavk

settings.register_profile(
    "fuzz",
    deadline=None,
    database=None,
    derandomize="TOSAVK_TEST_SEED" not in os.environ,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")

FILE = (GLYPHS / "glyphs_int8.tflite").read_bytes()
REFUSED = (tosavk.Error,)

element_types = st.one_of(
    hnp.scalar_dtypes(),
    hnp.unicode_string_dtypes(),
    st.sampled_from([np.dtype(object), np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.int4), np.dtype("V3")]),
)
shapes = st.one_of(st.just((2, 3)), hnp.array_shapes(min_dims=0, max_dims=9, min_side=0, max_side=4))
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=6,
)


@st.composite
def arrays(draw):
    dtype, shape = draw(element_types), draw(shapes)
    if dtype.kind in "biufcU":
        return draw(hnp.arrays(dtype, shape))
    return np.zeros(shape, dtype)


@given(st.one_of(arrays(), anything))
def test_inputs(value):
    net = _doubled()
    try:
        result = net(value)
    except REFUSED as error:
        assert str(error)
        return
    assert result.shape == (2, 3) and result.dtype == np.float32
    with np.errstate(all="ignore"):
        expected = np.asarray(value["x"] if isinstance(value, dict) else value).astype(np.float32) * np.float32(2)
    np.testing.assert_array_equal(result, expected)


_made = []


def _doubled():
    if not _made:
        b = tosavk.Builder()
        b.output(b.mul(b.input("x", (2, 3)), np.full((1, 1), 2, np.float32), np.zeros(1, np.int8)))
        _made.append(b.build())
    return _made[0]


@given(st.data())
def test_files(data):
    """Bytes changed, cut off, or put in."""
    file = bytearray(FILE)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(file) - 1))
        what = data.draw(st.sampled_from(["change", "cut", "insert"]))
        if what == "change":
            file[at] = data.draw(st.integers(0, 255))
        elif what == "cut" and len(file) > 64:
            del file[at : at + data.draw(st.integers(1, 1000))]
        else:
            file[at:at] = data.draw(st.binary(max_size=16))
        if not file:
            break
    try:
        net = tosavk.load(bytes(file))
    except REFUSED as error:
        assert str(error)
        return
    assert net.inputs is not None and repr(net)


@given(anything, anything)
def test_load_and_probe(source, option):
    for call in (lambda: tosavk.load(source), lambda: tosavk.probe(source), lambda: tosavk.load(FILE, shapes=option)):
        try:
            call()
        except REFUSED as error:
            assert str(error)
        except TypeError:
            pass


@settings(max_examples=200)
@given(st.data())
def test_builders(data):
    """Random operators on random operands with random attributes: refused, or a graph that passes the check."""
    b = tosavk.Builder()
    values = [b.input("x", (1, 4), "fp32"), b.input("y", (1, 4), "i32"), b.input("z", (4,), "i8")]
    names = sorted(tosavk.operators())
    made = []
    for _ in range(data.draw(st.integers(1, 5))):
        op = data.draw(st.sampled_from(names))
        operands = data.draw(
            st.lists(
                st.one_of(st.sampled_from(values), st.lists(st.integers(-2, 5), max_size=4), arrays(), anything),
                max_size=4,
            )
        )
        attributes = data.draw(
            st.dictionaries(
                st.sampled_from(["axis", "pad", "stride", "kernel", "min_val", "nan_mode", "acc_type", "name", "round"]),
                anything,
                max_size=3,
            )
        )
        types = data.draw(st.one_of(st.none(), st.sampled_from(["i8", "fp16", ("i32", (1, 4))]), anything))
        try:
            result = b.node(op, *operands, types=types, **attributes)
        except REFUSED as error:
            assert str(error)
            continue
        made += result if isinstance(result, tuple) else [result]
        values += made
    try:
        b.output(*made)
        net = b.build()
    except REFUSED as error:
        assert str(error)
        return
    if all(np.prod(info.shape) < 1e6 for info in net.outputs):
        try:
            assert net.verify(seeds=1)
        except tosavk.UnsupportedError:
            pass


@given(shapes, element_types, st.one_of(arrays(), anything))
def test_buffers(shape, dtype, value):
    try:
        buffer = tosavk.Buffer(shape, dtype)
        buffer.fill(0)
        buffer.upload(value)
    except REFUSED as error:
        assert str(error)
        return
    assert buffer.numpy().shape == shape


@given(st.one_of(arrays(), anything), st.one_of(st.none(), st.booleans()))
def test_dlpack(value, copy):
    try:
        buffer = tosavk.Buffer.from_dlpack(value, copy=copy)
    except REFUSED as error:
        assert str(error)
        return
    assert buffer.shape == value.shape
