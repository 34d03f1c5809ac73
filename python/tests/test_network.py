"""Loading, running, compiling, checking, showing, keeping."""

import os
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from conftest import GLYPHS, ROOT

import tosavk


def test_the_sample_network_reads_a_letter(glyphs, letter):
    scores = glyphs(letter)
    labels = (GLYPHS / "labels.txt").read_text().split()
    assert labels[int(scores[0].argmax())] == "W"
    np.testing.assert_array_equal(scores, np.load(GLYPHS / "expected_int8.npy")[_sample("W")][None])
    np.testing.assert_array_equal(scores, glyphs.reference(letter))


def _sample(label):
    names = sorted(path.name for path in (GLYPHS / "samples").glob("*.int8.npy"))
    return names.index(f"sample_{label}.int8.npy")


def test_a_path_or_bytes_by_position_or_by_name(glyphs, letter):
    path = GLYPHS / "glyphs_int8.tflite"
    expected = glyphs(letter)
    for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes()), memoryview(path.read_bytes())):
        net = tosavk.load(source)
        assert net.inputs == glyphs.inputs
    np.testing.assert_array_equal(net(image=letter), expected)
    np.testing.assert_array_equal(net({"image": letter}), expected)
    assert net.inputs[0].name == "image" and net.inputs[0].dtype == "i8" and net.inputs[0].shape == (1, 28, 28, 1)
    assert net.inputs[0].scale > 0 and net.inputs[0].nbytes == 784


def test_several_outputs_have_names():
    b = tosavk.Builder()
    x, y = b.input("x", (4,)), b.input("y", (4,))
    b.output(b.node("ADD", x, y, label="sum"), b.node("SUB", x, y, label="difference"))
    net = b.build()
    both = net(np.arange(4), y=np.ones(4))
    assert isinstance(both, tuple) and len(both) == 2
    total, difference = both
    np.testing.assert_array_equal(total, [1, 2, 3, 4])
    np.testing.assert_array_equal(difference, both[both.names[1]])
    assert list(both.asdict()) == list(both.names)
    assert pickle.loads(pickle.dumps(both)).names == both.names
    with pytest.raises(KeyError):
        both["other"]


def test_inputs_may_have_the_names_of_parameters():
    names = ("self", "runs", "seeds", "inputs")
    b = tosavk.Builder()
    x = [b.input(name, (2,)) for name in names]
    b.output(b.sub(b.sub(x[0], x[1]), b.sub(x[2], x[3])))
    net = b.build()
    given = {name: np.full(2, 10.0**k, np.float32) for k, name in enumerate(names)}
    compiled, model = net.compile(), tosavk.open_model(bytes(net))
    calls = (net, net.reference, compiled, model, lambda **n: compiled.submit(**n).result(), lambda **n: net.submit(**n).result())
    for call in calls:
        np.testing.assert_array_equal(call(**given), [891, 891])
    assert net.verify(**given) and compiled.verify(**given)
    assert net.profile(**given).runs == compiled.profile(**given).runs == 10
    assert tosavk.problem("add f32 4").profile(runs=3).runs == 3


def test_names_of_files_need_not_be_utf_8(tmp_path):
    net = tosavk.problem("add f32 4")
    path = tmp_path / os.fsdecode(b"m\xff\xfe.tosa")
    net.save(path)
    assert [name for name in os.listdir(os.fsencode(tmp_path))] == [b"m\xff\xfe.tosa"]
    inputs = net.random_inputs(1)
    for given in (path, str(path)):
        assert str(tosavk.load(given).listing) and tosavk.probe(given) and tosavk.describe(given)["format"] == "tosa"
        for again in (tosavk.load(given), tosavk.open_model(given)):
            np.testing.assert_array_equal(again(*inputs), net(*inputs))
    packed = tmp_path / os.fsdecode(b"p\xff.tvk")
    net.compile(cache_dir=tmp_path / os.fsdecode(b"c\xff")).save(packed)
    np.testing.assert_array_equal(tosavk.load(packed)(*inputs), net(*inputs))
    assert os.listdir(os.fsencode(tmp_path / os.fsdecode(b"c\xff")))
    missing = tmp_path / os.fsdecode(b"no\xff")
    with pytest.raises(tosavk.FileError) as caught:
        tosavk.load(missing)
    assert str(missing) in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.uint64, np.float64, np.float32, ">i2", np.int8])
def test_elements_of_other_types_are_converted(glyphs, letter, dtype):
    positive = np.abs(letter.astype(np.int16)).clip(0, 127)
    np.testing.assert_array_equal(glyphs(positive.astype(dtype)), glyphs(positive.astype(np.int8)))


def test_what_does_not_fit_is_refused(glyphs, letter):
    wide = letter.astype(np.int64)
    wide[0, 3, 4, 0] = 128
    with pytest.raises(tosavk.BadInputError, match="128.*i8 does not hold"):
        glyphs(wide)
    with pytest.raises(tosavk.BadInputError, match="128"):
        glyphs.reference(wide)
    with pytest.raises(tosavk.BadInputError, match="shape"):
        glyphs(letter[0])
    with pytest.raises(tosavk.UsageError, match="no value for input 'image'"):
        glyphs()
    with pytest.raises(tosavk.UsageError, match="twice"):
        glyphs(letter, image=letter)
    with pytest.raises(tosavk.UsageError, match="no input 'picture'"):
        glyphs(picture=letter)
    with pytest.raises(tosavk.UsageError, match="2 inputs"):
        glyphs(letter, letter)


@pytest.mark.parametrize(
    "name, numpy_type",
    [
        ("bool", np.bool_), ("i8", np.int8), ("i16", np.int16), ("i32", np.int32), ("i48", np.int64),
        ("fp8e4m3", ml_dtypes.float8_e4m3fn), ("fp8e5m2", ml_dtypes.float8_e5m2), ("fp16", np.float16),
        ("bf16", ml_dtypes.bfloat16), ("fp32", np.float32),
    ],
)  # fmt: skip
def test_every_type_goes_in_and_comes_out(name, numpy_type):
    b = tosavk.Builder()
    b.output(b.reshape(b.input("x", (2, 3), name), [3, 2]))
    net = b.build()
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(numpy_type)
    y = net(x)
    assert y.dtype == numpy_type and net.outputs[0].numpy_dtype == numpy_type
    np.testing.assert_array_equal(y.astype(np.float32), x.reshape(3, 2).astype(np.float32))
    np.testing.assert_array_equal(net(x.astype(np.float64)).astype(np.float32), y.astype(np.float32))


@pytest.mark.parametrize("rank", range(9))
def test_every_rank(rank):
    b = tosavk.Builder(level="8k" if rank <= 6 else "none")
    shape = (2, 1, 3, 1, 2, 2, 1, 2)[:rank]
    x = b.input("x", shape)
    b.output(b.abs(x))
    value = -np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    result = b.build()(value)
    assert result.shape == shape
    np.testing.assert_array_equal(result, -value)


def test_compiling_with_options(glyphs_float, tmp_path):
    x = glyphs_float.random_inputs(3)[0]
    exact = glyphs_float(x)
    half = glyphs_float.compile(device=0, precision="fp16", cache_dir=tmp_path / "cache")
    assert half.outputs == glyphs_float.outputs
    np.testing.assert_allclose(half(x), exact, atol=0.02)
    assert np.any(half(x) != exact), "it is another arithmetic"
    assert list((tmp_path / "cache").iterdir()), "the shaders went to the folder"
    unfused = glyphs_float.compile(fuse=False, cache_dir=False)
    assert unfused.context().counters()["dispatches"] > half.context().counters()["dispatches"]
    np.testing.assert_array_equal(unfused(x), exact)
    for wrong in (dict(precision="fp8"), dict(device=99), dict(device="no such GPU"), dict(device=1.5),
                  dict(cache_dir=True), dict(progress=3)):  # fmt: skip
        with pytest.raises((tosavk.UsageError, tosavk.NoDeviceError)):
            glyphs_float.compile(**wrong)


def test_devices_say_what_they_are():
    found = tosavk.devices()
    assert found and [info.index for info in found] == list(range(len(found)))
    opened = tosavk.Device(0)
    assert opened.name == found[0].name and len(found[0].uuid) == 32
    assert opened.memory()["peak"] >= opened.memory()["in_use"]
    assert found[0].name in str(found[0]) and opened.name in repr(opened)


def test_devices_are_chosen_by_what_they_are(glyphs, letter):
    info = tosavk.devices()[0]
    same = [other for other in tosavk.devices() if other.uuid == info.uuid]
    vendor = info.details["caps"]["vendor_id"]
    for chosen in (
        tosavk.Device(info),
        tosavk.Device(uuid=info.uuid),
        tosavk.Device(uuid=bytes.fromhex(info.uuid), vendor_id=vendor, type=info.type, ordinal=len(same) - 1),
        tosavk.Device(type=info.type, vendor_id=vendor),
    ):
        assert chosen.name == info.name
    np.testing.assert_array_equal(glyphs.compile(info)(letter), glyphs(letter))
    for wrong in ({"uuid": "f" * 32}, {"uuid": info.uuid, "ordinal": len(same)}, {"vendor_id": 0xFFFFFFFE},
                  {"luid": "fe" * 8}, {"type": "virtual"}):  # fmt: skip
        with pytest.raises(tosavk.NoDeviceError):
            tosavk.Device(**wrong)
    for wrong in (
        {"uuid": "12"}, {"uuid": "x" * 32}, {"uuid": 3}, {"luid": b"1"}, {"type": "gpu"}, {"type": "other"},
        {"type": []}, {"ordinal": -1}, {"vendor_id": True},
    ):  # fmt: skip
        with pytest.raises(tosavk.UsageError):
            tosavk.Device(**wrong)


def test_verify(glyphs, letter):
    given = glyphs.verify(letter)
    assert given and given.passed and given.values > 50 and str(given).startswith("passed")
    drawn = glyphs.compile(fuse=False).verify(seeds=2)
    assert drawn and drawn.values == 2 * given.values
    with pytest.raises(tosavk.BadInputError):
        glyphs.verify(letter[..., 0])


def test_plan_and_profile_read_well(glyphs, letter):
    fast = glyphs.compile()
    assert "CONV2D" in str(fast.plan) and "\n" in repr(fast.plan) and fast.plan._repr_html_().startswith("<pre>")
    assert "void main" in fast.glsl
    profile = fast.profile(letter, runs=2)
    assert len(profile.dispatches) == fast.context().counters()["dispatches"]
    assert profile.wall_ms > 0 and profile.gpu_ms >= 0
    text = str(profile)
    assert len(text.splitlines()) == len(profile.dispatches) + 2 and max(map(len, text.splitlines())) < 120
    assert "<table>" in profile._repr_html_() and "&lt;" not in text
    assert len(fast.profile(runs=1).dispatches) == len(profile.dispatches)


def test_progress_of_a_compile(glyphs, tmp_path):
    seen = []
    glyphs.compile(cache_dir=False, progress=lambda done, total: seen.append((done, total)))
    assert seen and all(0 <= done <= total for done, total in seen) and seen[-1][0] == seen[-1][1]

    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    slow = tosavk.problem("network mobilenet_v2 i8")
    with pytest.raises(Enough):
        slow.compile(cache_dir=False, progress=stop)


def test_a_bar_of_tqdm(glyphs, capsys):
    pytest.importorskip("tqdm")
    glyphs.compile(cache_dir=False, progress=True)
    assert "compiling" in capsys.readouterr().err
    glyphs.compile(cache_dir=False, progress=False)
    assert capsys.readouterr().err == ""


def test_pickling(glyphs, letter):
    again = pickle.loads(pickle.dumps(glyphs))
    assert again.inputs == glyphs.inputs and again.outputs == glyphs.outputs, "with scales and names"
    np.testing.assert_array_equal(again(letter), glyphs(letter))
    fast = pickle.loads(pickle.dumps(glyphs.compile()))
    np.testing.assert_array_equal(fast(letter), glyphs(letter))
    assert fast.inputs == glyphs.inputs
    assert fast.context().counters()["package"] == 1, "nothing is compiled again"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64, np.uint64, np.float64])
def test_declared_types_are_those_of_arrays(dtype):
    name = {"u": "ui", "i": "i", "f": "f"}[np.dtype(dtype).kind] + str(8 * np.dtype(dtype).itemsize)
    program = f"""module {{ func.func @main(%a: tensor<2x{name}>) -> tensor<2x{name}> {{
        %0 = stablehlo.add %a, %a : tensor<2x{name}>
        return %0 : tensor<2x{name}> }} }}"""
    net = tosavk.load(program.encode(), f64_as_f32=True)
    x = np.array([3, 127 if name == "ui8" else 20000], dtype)
    for one in (net, pickle.loads(pickle.dumps(net))):
        for result in (one(x), one.reference(x), one(x.tolist())):
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, x + x)
        assert one.verify()
        one(*one.random_inputs())


def test_pickling_of_fast_packages(glyphs_float, letter):
    packed = tosavk.load(glyphs_float.compile(precision="fast").package())
    again = pickle.loads(pickle.dumps(packed))
    x = packed.random_inputs()[0]
    np.testing.assert_array_equal(again(x), packed(x))


@pytest.mark.parametrize("given", [(2.9, 3), "23", (1, "2"), {"a": 1}, 1.5])
def test_shapes_are_whole_numbers(given, glyphs):
    with pytest.raises(tosavk.UsageError):
        tosavk.Buffer(given)
    with pytest.raises(tosavk.UsageError):
        tosavk.Builder().input("x", given)


def test_texts_with_zeros(glyphs):
    for call in (
        lambda: tosavk.problem("abs f32 4\0junk"),
        lambda: glyphs.compile(device="cpu\0x"),
        lambda: tosavk.Builder("a\0b"),
        lambda: tosavk.Builder().input("a\0b", (1,)),
    ):
        with pytest.raises(tosavk.UsageError):
            call()


def test_pickling_of_ends_without_elements():
    b = tosavk.Builder()
    x, y = b.input("x", (0, 4)), b.input("y", (1, 4))
    b.output(b.add(y, y), b.concat(x, y, axis=0), b.add(x, x))
    net = b.build()
    again = pickle.loads(pickle.dumps(net))
    assert (again.inputs, again.outputs) == (net.inputs, net.outputs)
    inputs = np.zeros((0, 4)), np.ones((1, 4))
    for got, expected in zip(again(*inputs), net(*inputs), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_packages_and_tosa_files(glyphs, letter, tmp_path):
    glyphs.compile().save(tmp_path / "glyphs.tvk")
    np.testing.assert_array_equal(tosavk.load(tmp_path / "glyphs.tvk")(letter), glyphs(letter))
    glyphs.save(tmp_path / "glyphs.tosa")
    np.testing.assert_array_equal(tosavk.load(tmp_path / "glyphs.tosa")(letter), glyphs(letter))
    assert tosavk.load(bytes(glyphs)).node_count == glyphs.node_count
    with pytest.raises(tosavk.FileError):
        glyphs.save(tmp_path / "missing" / "file")
    with pytest.raises(OSError):
        glyphs.compile().save(tmp_path / "missing" / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["glyphs.tosa", "glyphs.tvk"]


def test_files_that_cannot_be_read(tmp_path):
    for error, source in [
        (tosavk.FileError, tmp_path / "missing.tflite"),
        (tosavk.BadModelError, b""),
        (tosavk.BadModelError, b"\x1c\0\0\0TFL3 and then nothing that makes sense"),
        (tosavk.UsageError, 7),
        (tosavk.UsageError, "a\0b"),
    ]:
        with pytest.raises(error) as caught:
            tosavk.load(source)
        assert isinstance(caught.value, tosavk.Error) and str(caught.value)
    for options in (
        dict(shapes={0: (1, -1)}),
        dict(shapes={"x": (1,)}),
        dict(rounding="up"),
        dict(hybrid="no"),
        dict(level="9k"),
    ):
        with pytest.raises(tosavk.UsageError):
            tosavk.load(GLYPHS / "glyphs_int8.tflite", **options)
    with pytest.raises(tosavk.BadInputError):
        tosavk.load(GLYPHS / "glyphs_int8.tflite", shapes={0: (2, 28, 28, 1)})


def test_errors_are_also_pythons_own(glyphs):
    for error, base in [
        (tosavk.BadInputError, ValueError), (tosavk.FileError, OSError), (tosavk.OutOfMemoryError, MemoryError),
        (tosavk.UnsupportedError, NotImplementedError), (tosavk.NoDeviceError, RuntimeError),
    ]:  # fmt: skip
        assert issubclass(error, base) and issubclass(error, tosavk.Error)
    b = tosavk.Builder()
    with pytest.raises(tosavk.BadModelError) as caught:
        b.node("ADD", b.input("x", (2,)), b.input("y", (3,)), label="here")
    assert caught.value.node == "here" and "ADD" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_probe(glyphs):
    probe = tosavk.probe(GLYPHS / "glyphs_int8.tflite")
    assert probe and probe.format == "tflite" and all(op.taken for op in probe.operators)
    assert "are taken" in str(probe) and "<table>" in probe._repr_html_()
    assert tosavk.probe(bytes(glyphs)).format == "tosa"
    with pytest.raises(tosavk.BadModelError):
        tosavk.probe(b"nothing")


def test_problems_and_random_inputs():
    net = tosavk.problem("matmul f32 1x8x8x8")
    first, second = net.random_inputs(1), net.random_inputs(1)
    np.testing.assert_array_equal(first[0], second[0])
    assert net.verify(*first)
    with pytest.raises(tosavk.UsageError):
        tosavk.problem("matmul nonsense")


def test_a_process_ends_with_runs_under_way():
    """Neither a future that nobody asked, nor a loop that was closed, holds up the interpreter's end or speaks."""
    program = """if True:
        import sys, asyncio
        sys.path.insert(0, sys.argv[1])
        from conftest import counting
        net = counting(300)
        futures = [net.submit([0]) for _ in range(3)]
        async def wait():
            try:
                await asyncio.wait_for(futures[0], 0.01)
            except asyncio.TimeoutError:
                pass
        asyncio.run(wait())
        print("over")
    """
    ended = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / "python" / "tests")], capture_output=True, text=True, timeout=300
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "over\n", "")


def test_a_forked_process():
    """A network runs there too, on a device of its own; what was opened before says so, and nothing waits."""
    program = """if True:
        import os, sys
        sys.path.insert(0, sys.argv[1])
        import numpy as np, tosavk
        from conftest import counting
        net = counting(30)
        before, fast = net([0]), net.compile()
        context, buffer = fast.context(), tosavk.Buffer.from_array(np.zeros(1, np.int32))
        under_way = [net.submit([0]) for _ in range(3)]
        if os.fork() == 0:
            assert np.array_equal(net([0]), before)
            for old in lambda: fast([0]), lambda: context.set_input(0, [0]), buffer.numpy, under_way[0].result:
                try:
                    old()
                except tosavk.DeviceError as error:
                    assert "before this process was forked" in str(error), error
                else:
                    raise AssertionError("the parent's device was used")
            del old, context, buffer, fast, under_way
            print("child", flush=True)
            sys.exit(0)
        assert os.wait()[1] == 0
        assert all(np.array_equal(future.result(), before) for future in under_way)
        assert np.array_equal(fast([0]), before)
        print("parent")
    """
    ended = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / "python" / "tests")], capture_output=True, text=True, timeout=300
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "child\nparent\n", "")


def test_calls_that_make_no_sense(glyphs, tmp_path):
    for call in (
        lambda: glyphs.compile(precision=["fp16"]),
        lambda: tosavk.problem("abs f32 4", level=["8k"]),
        lambda: tosavk.Buffer((2,)).fill(1.5),
        lambda: tosavk.Buffer.from_dlpack(type("T", (), {"__dlpack__": None})()),
    ):
        with pytest.raises(tosavk.UsageError):
            call()
    for index in (1.0, (0, 1), ...):
        with pytest.raises(TypeError, match="index of its first dimension"):
            tosavk.Buffer((2, 2))[index]
    for place in (tmp_path / "none" / "x.tvk", tmp_path):
        with pytest.raises(tosavk.FileError, match="cannot write"):
            glyphs.compile().save(place)
    assert not list(tmp_path.iterdir())


def test_dlpack_copies_and_nothing():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    buffer = tosavk.Buffer.from_array(x)
    copied = np.from_dlpack(buffer, copy=True) if np.__version__ >= "2.1" else np.from_dlpack(buffer)
    np.testing.assert_array_equal(copied, x)
    for copy in (True, False, None):
        assert tosavk.Buffer.from_dlpack(np.zeros((0, 2), np.float32), copy=copy).shape == (0, 2)


def test_programs_of_jax_in_every_form():
    programs = ROOT / "tests" / "frontends" / "stablehlo" / "programs"
    nets = [tosavk.load(programs / name) for name in ("convolution.mlir", "convolution.jaxexport")]
    inputs = nets[0].random_inputs(1)
    for net in nets:
        assert net.verify(*inputs)
    for one, other in zip(nets[0](*inputs), nets[1](*inputs), strict=True):
        np.testing.assert_array_equal(one, other)
    doubled = b"""func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
        %0 = stablehlo.add %a, %a : tensor<3xf64>
        return %0 : tensor<3xf64>
    }"""
    with pytest.raises(tosavk.UnsupportedError, match="f64 is not supported"):
        tosavk.load(doubled)
    made = tosavk.load(doubled, f64_as_f32=True)(np.array([1.0, 2.5, -3.0]))
    assert made.tolist() == [2, 5, -6]
