"""Open models: sizes that each call decides, networks for fixed ones; and what files say of themselves."""

import pickle
import threading

import numpy as np
import pytest
from conftest import GLYPHS

import tosavk

FLOATS, INTEGERS = GLYPHS / "glyphs_fp32.tflite", GLYPHS / "glyphs_int8.tflite"


@pytest.fixture
def model() -> tosavk.OpenModel:
    return tosavk.open_model(FLOATS)


def images(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 28, 28, 1)).astype(np.float32)


def test_inputs_and_symbols(model):
    assert model.symbols == ("image[0]",)
    (image,) = model.inputs
    assert (image.name, image.shape, image.dtype) == ("image", (None, 28, 28, 1), "fp32")
    assert image.symbols == ("image[0]", None, None, None)
    assert str(image) == "image: fp32 ?x28x28x1"
    assert "?x28x28x1" in repr(model)
    fixed = tosavk.open_model(FLOATS, shapes={"image": (2, 28, 28, 1)})
    assert fixed.symbols == () and fixed.inputs[0].shape == (2, 28, 28, 1)
    assert tosavk.open_model(FLOATS.read_bytes()).symbols == model.symbols


def test_each_call_decides_the_size(model, glyphs_float):
    for count in (1, 3, 2, 3, 7, 1):
        given = images(count, count)
        scores = model(given)
        assert scores.shape == (count, 36)
        for one, row in zip(given, scores, strict=True):
            np.testing.assert_allclose(row, glyphs_float(one[None])[0], atol=1e-5)
        np.testing.assert_array_equal(model(image=given.astype(np.float64)), scores)
    assert model.counters()["specialized"] == 4
    assert model.counters()["kept"] == 4


def test_weights_are_shared_and_executables_bounded():
    model = tosavk.open_model(FLOATS, max_executables=2)
    model(images(1))
    weights = model.counters()["weight_bytes_copied"]
    for count in range(2, 6):
        model(images(count))
    did = model.counters()
    assert did["weight_bytes_copied"] == weights > 0
    assert (did["specialized"], did["kept"]) == (5, 2)


def test_networks_for_fixed_sizes(model):
    by_size, by_shape = model.network(sizes={"image[0]": 4}), model.network([(4, 28, 28, 1)])
    assert by_size.inputs[0].shape == (4, 28, 28, 1) and by_size.outputs[0].shape == (4, 36)
    assert by_size.listing == by_shape.listing
    fast = model.specialize({"image": (4, 28, 28, 1)}, progress=False)
    np.testing.assert_array_equal(fast(images(4)), model(images(4)))
    np.testing.assert_allclose(fast(images(4)), by_size.reference(images(4)), atol=1e-5)
    assert model.counters()["specialized"] == 1  # the call found the one that was kept
    unfused = model.specialize(sizes={"image[0]": np.int64(4)}, fuse=False)
    np.testing.assert_array_equal(unfused(images(4)), fast(images(4)))
    assert fast.device is model.device
    assert fast.verify(seeds=1)


def test_what_does_not_fit_is_refused(model, doubled):
    for call in (model.network, model.specialize):
        with pytest.raises(tosavk.BadInputError, match=r"'image'.*dimension 0.*no size"):
            call()
        with pytest.raises(tosavk.BadInputError, match="dimension 0 was given 0"):
            call(sizes={"image[0]": 0})
        with pytest.raises(tosavk.BadInputError, match="dimension 1 was given 27"):
            call([(1, 27, 28, 1)])
        with pytest.raises(tosavk.BadInputError, match="was given 2, and 3 before"):
            call([(2, 28, 28, 1)], {"image[0]": 3})
        with pytest.raises(tosavk.UsageError, match="no symbol 'batch'; there are image"):
            call(sizes={"batch": 1})
        with pytest.raises(tosavk.UsageError, match="True is no size"):
            call(sizes={"image[0]": True})
        with pytest.raises(tosavk.UsageError, match="no input 'picture'; there are image"):
            call({"picture": (1, 28, 28, 1)})
    with pytest.raises(tosavk.BadInputError, match=r"\?x28x28x1; the array's shape is \(28, 28, 1\)"):
        model(images(1)[0])
    with pytest.raises(tosavk.BadInputError, match="dimension 0"):
        model(images(0))
    with pytest.raises(tosavk.UsageError, match="no value for input 'image'"):
        model()
    with pytest.raises(tosavk.UsageError, match="no number of executables"):
        tosavk.open_model(FLOATS, max_executables=0)
    with pytest.raises(tosavk.BadModelError):
        tosavk.open_model(b"nothing")
    with pytest.raises(tosavk.FileError):
        tosavk.open_model(GLYPHS / "missing.tflite")
    with pytest.raises(tosavk.NoDeviceError):
        tosavk.open_model(FLOATS, device="no such device")(images(1))
    with pytest.raises(tosavk.UnsupportedError):
        tosavk.open_model(doubled.compile().package())
    assert model(images(1)).shape == (1, 36)  # as before


def test_integers_and_precision(letter, glyphs):
    model = tosavk.open_model(INTEGERS)  # every size is in the file
    assert model.symbols == ()
    np.testing.assert_array_equal(model(letter), glyphs(letter))
    np.testing.assert_array_equal(model.specialize()(letter), glyphs(letter))
    half = tosavk.open_model(FLOATS, precision="fp16")(images(2))
    exact = tosavk.open_model(FLOATS)(images(2))
    assert half.dtype == np.float32 and 0 < np.abs(half - exact).max() < 0.1 * np.abs(exact).max()


def test_threads(model):
    wanted = {count: model(images(count, count)) for count in range(1, 6)}
    failed = []

    def work(count: int) -> None:
        for _ in range(5):
            if not np.array_equal(model(images(count, count)), wanted[count]):
                failed.append(count)

    threads = [threading.Thread(target=work, args=(count,)) for count in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_model_can_be_pickled():
    made = tosavk.open_model(FLOATS, device="cpu", precision="fp16", max_executables=1)
    again = pickle.loads(pickle.dumps(made))
    assert again.symbols == made.symbols and again.inputs == made.inputs
    for count in (1, 2):
        np.testing.assert_array_equal(again(images(count)), made(images(count)))
    assert again.counters()["kept"] == 1
    fixed = tosavk.open_model(FLOATS.read_bytes(), shapes={"image": (2, 28, 28, 1)}, device=tosavk.Device("cpu"))
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(fixed))))
    assert again.symbols == () and again.inputs[0].shape == (2, 28, 28, 1)
    assert again.device.name == fixed.device.name
    np.testing.assert_array_equal(again(images(2)), fixed(images(2)))


def test_descriptions_and_signatures():
    for source in (FLOATS, FLOATS.read_bytes()):
        said = tosavk.describe(source)
        assert said["format"] == "tflite"
        (signature,) = said["signatures"]
        assert [one["name"] for one in signature["inputs"]] == ["image"]
    key = signature["key"]
    np.testing.assert_array_equal(tosavk.load(FLOATS, signature=key)(images(1)), tosavk.load(FLOATS)(images(1)))
    assert tosavk.probe(FLOATS, signature=key)
    assert tosavk.open_model(FLOATS, signature=key).symbols == ("image[0]",)
    for wrong in (tosavk.load, tosavk.open_model, tosavk.probe):
        with pytest.raises(tosavk.Error, match="no signature.*train"):
            wrong(FLOATS, signature="train")
        with pytest.raises(tosavk.UsageError, match="'' is no signature"):
            wrong(FLOATS, signature="")
        with pytest.raises(tosavk.UsageError, match="'up' is no rounding"):
            wrong(FLOATS, rounding="up")
    with pytest.raises(tosavk.BadModelError):
        tosavk.describe(b"nothing")


def test_shapes_by_name():
    assert tosavk.load(FLOATS, shapes={"image": (3, 28, 28, 1)}).outputs[0].shape == (3, 36)
    assert tosavk.load(FLOATS, shapes=[None]).outputs[0].shape == (1, 36)
    with pytest.raises(tosavk.UsageError, match="no input 'picture'"):
        tosavk.load(FLOATS, shapes={"picture": (3, 28, 28, 1)})
