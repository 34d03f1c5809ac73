"""Buffers, futures, threads, signals, variables."""

import asyncio
import gc
import os
import signal
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from conftest import counting

import tosavk


def test_a_future_has_the_outputs_of_its_own_run(doubled):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    context, buffer = doubled.compile().context(), tosavk.Buffer((2, 3))
    context.set_input(0, x)
    first = context.submit()
    context.set_input(0, 10 * x)
    second = context.submit()
    context.bind_output(0, buffer)
    context.run()
    for future, wanted in ((first, 2 * x), (second, 20 * x), (first, 2 * x)):
        np.testing.assert_array_equal(future.result(), wanted)


def test_a_device_is_the_same_however_it_is_named(doubled):
    x = np.ones((2, 3), np.float32)
    info = tosavk.devices()[0]
    for one in (None, 0, info, info.name):
        for other in (None, 0, info, info.name):
            buffer = tosavk.Buffer.from_array(x, device=one)
            np.testing.assert_array_equal(doubled.compile(device=other)(buffer), 2 * x)


def test_buffers_go_in_and_out_without_the_host(doubled):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    source, middle, target = tosavk.Buffer.from_array(x), tosavk.Buffer((2, 3)), tosavk.Buffer((2, 3))
    fast = doubled.compile()
    first, second = fast.context(), fast.context()
    first.bind_input("x", source)
    first.bind_output(0, middle)
    second.bind_input(0, middle)
    second.bind_output(0, target)
    for _ in range(3):
        pair = first.submit(), second.submit()
        for future in pair:
            future.wait()
    np.testing.assert_array_equal(target.numpy(), 4 * x)
    for context in (first, second):
        counters = context.counters()
        assert counters["runs"] == 3 and counters["host_copies"] == 0
    np.testing.assert_array_equal(doubled(source), 2 * x)
    np.testing.assert_array_equal(doubled(x + 1), 2 * (x + 1)), "the binding is gone"
    second.bind_output(0, middle)  # donated
    second.run()
    np.testing.assert_array_equal(middle.numpy(), 4 * x)


def test_buffers_that_do_not_suit(doubled):
    context = doubled.compile().context()
    with pytest.raises(tosavk.BadInputError):
        context.bind_input(0, tosavk.Buffer((3, 2)))
    with pytest.raises(tosavk.BadInputError):
        context.bind_input(0, tosavk.Buffer((2, 3), "i32"))
    with pytest.raises(tosavk.UsageError):
        context.bind_input(0, np.zeros((2, 3)))
    with pytest.raises(tosavk.UsageError):
        context.bind_input("y", None)
    with pytest.raises(tosavk.UsageError):
        context.run()
    other = tosavk.Buffer((2, 3), device=tosavk.Device(0))
    with pytest.raises(tosavk.UsageError, match="device"):
        context.bind_input(0, other)
    for shape, dtype in [((1,) * 9, "fp32"), ((-1,), "i8"), ("x", "i8"), ((2,), "fp64"), ((2,), "U3")]:
        with pytest.raises(tosavk.UsageError):
            tosavk.Buffer(shape, dtype)
    with pytest.raises(tosavk.UsageError):
        tosavk.Buffer((2,), memory="tape")
    with pytest.raises((tosavk.OutOfMemoryError, tosavk.UnsupportedError, tosavk.UsageError, tosavk.DeviceError)):
        tosavk.Buffer((2**40,), "fp32")


@pytest.mark.parametrize("memory", list(tosavk.Memory))
def test_buffers_hold_arrays(memory):
    x = np.arange(24, dtype=np.int16).reshape(4, 6)
    buffer = tosavk.Buffer.from_array(x, memory=memory)
    assert buffer.shape == (4, 6) and buffer.dtype == "i16" and buffer.nbytes == 48 and len(buffer) == 4
    np.testing.assert_array_equal(np.asarray(buffer), x)
    np.testing.assert_array_equal(buffer[1].numpy(), x[1])
    np.testing.assert_array_equal(buffer[-2:].numpy(), x[-2:])
    buffer[2].upload(np.full(6, 7))
    assert buffer.numpy()[2].tolist() == [7] * 6 and buffer.numpy()[1].tolist() == x[1].tolist()
    other = tosavk.Buffer((4, 6), np.int16, memory=memory)
    other.copy_from(buffer)
    np.testing.assert_array_equal(other.numpy(), buffer.numpy())
    other.fill(0)
    assert not other.numpy().any()
    for wrong in (lambda: buffer[4], lambda: buffer[::2], lambda: buffer.fill(256)):
        with pytest.raises((IndexError, tosavk.UsageError)):
            wrong()
    with pytest.raises(tosavk.BadInputError, match="40000"):
        buffer.upload(np.full((4, 6), 40000))


def test_tensors_without_elements():
    b = tosavk.Builder()
    x = b.input("x", (0, 4))
    b.output(b.concat(b.abs(x), b.constant([[1.0, 2, 3, 4]]), axis=0), b.abs(x), b.reduce_sum(x, axis=0))
    net = b.build()
    joined, nothing, total = net(np.zeros((0, 4)))
    assert joined.tolist() == [[1, 2, 3, 4]] and nothing.shape == (0, 4) and total.tolist() == [[0] * 4]
    empty = tosavk.Buffer((0, 4))
    assert empty.numpy().shape == (0, 4) and empty.nbytes == 0 and len(empty[:]) == 0
    empty.upload(np.zeros((0, 4)))
    empty.fill(1)
    empty.copy_from(tosavk.Buffer((0, 4)))
    context = net.compile().context()
    context.bind_input("x", empty)
    context.bind_output(1, empty)
    context.run()
    assert context.output(0).tolist() == [[1, 2, 3, 4]] and context.output(1).shape == (0, 4)
    assert tosavk.Buffer((4, 2))[2:2].shape == (0, 2)
    assert np.from_dlpack(tosavk.Buffer((0, 4), memory="shared")).shape == (0, 4)
    assert tosavk.Buffer.from_dlpack(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_dlpack_both_ways():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    buffer = tosavk.Buffer((3, 4), memory="shared")
    buffer.upload(x)
    assert buffer.is_visible and buffer.__dlpack_device__() == (1, 0)
    seen = np.from_dlpack(buffer)
    np.testing.assert_array_equal(seen, x)
    with buffer.map() as array:
        array[1, 1] = 99
    assert seen[1, 1] == 99 and buffer.numpy()[1, 1] == 99, "one memory"
    del buffer, array
    assert seen[1, 1] == 99, "which the array keeps"

    copied = tosavk.Buffer.from_dlpack(x)
    np.testing.assert_array_equal(copied.numpy(), x)
    reversed_rows = tosavk.Buffer.from_dlpack(x[::-1])
    np.testing.assert_array_equal(reversed_rows.numpy(), x[::-1])
    with pytest.raises(tosavk.Error):
        tosavk.Buffer.from_dlpack(x[::-1], copy=False)
    for wrong in (3, "text", [1, 2]):
        with pytest.raises(tosavk.UsageError):
            tosavk.Buffer.from_dlpack(wrong)
    with pytest.raises(tosavk.BadInputError):
        tosavk.Buffer.from_dlpack(np.zeros(3, np.complex64))


def test_dlpack_of_whole_pages_is_one_memory(doubled):
    pages = np.zeros(1 << 14, np.uint8)
    begin = -pages.ctypes.data % 4096
    x = pages[begin : begin + 4096].view(np.float32)
    try:
        buffer = tosavk.Buffer.from_dlpack(x, copy=False)
    except tosavk.UnsupportedError as error:
        pytest.skip(str(error))
    x[:] = 5
    assert (buffer.numpy() == 5).all()
    owner = weakref.ref(pages)
    b = tosavk.Builder()
    b.output(b.negate(b.input("x", (1024,)), np.zeros(1, np.float32), np.zeros(1, np.float32)))
    context = b.build().compile().context()
    context.bind_input(0, buffer)
    context.run()
    assert (context.output(0) == -5).all()
    part = buffer[1000:]
    del pages, x, buffer
    assert owner() is not None and (context.outputs() == -5).all() and (part.numpy() == 5).all()
    del context
    gc.collect()
    assert (part.view() == 5).all(), "parts keep it too"
    del part
    gc.collect()
    assert owner() is None, "and then it is let go"


class Producer:
    """A tensor of another library, which lets go of its memory once the last DLPack tensor of it is gone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)


def whole_page(dtype=np.float32):
    pages = np.zeros(1 << 14, np.uint8)
    begin = -pages.ctypes.data % 4096
    return pages[begin : begin + 4096].view(dtype), weakref.ref(pages)


def test_dlpack_memory_lives_as_long_as_the_tensor():
    x, memory = whole_page()
    producer = Producer(x)
    try:
        buffer = tosavk.Buffer.from_dlpack(producer, copy=False)
    except tosavk.UnsupportedError as error:
        pytest.skip(str(error))
    producer.array = None  # as a list that is resized
    del x
    gc.collect()
    assert memory() is not None, "the DLPack tensor keeps it"
    buffer.fill(0)
    assert (buffer.numpy() == 0).all()
    part = buffer[:4]
    del buffer
    gc.collect()
    assert memory() is not None, "parts keep it too"
    del part, producer
    gc.collect()
    assert memory() is None, "and then it is let go"


def test_dlpack_of_what_must_not_be_written(tmp_path):
    x, _ = whole_page()
    x[:] = 3
    x.flags.writeable = False
    file = tmp_path / "page.bin"
    file.write_bytes(x.tobytes())
    for constant in (x, np.memmap(file, np.float32, "r")):
        try:
            buffer = tosavk.Buffer.from_dlpack(constant)
        except BufferError:
            pytest.skip("this numpy has no DLPack of read-only arrays")
        assert (buffer.numpy() == 3).all()
        buffer.fill(0)
        assert (buffer.numpy() == 0).all() and (constant == 3).all(), "a copy"
        with pytest.raises(tosavk.BadInputError, match="must not be written"):
            tosavk.Buffer.from_dlpack(constant, copy=False)


def test_elements_that_have_fewer_bits_than_numpys():
    i4 = tosavk.Buffer((4,), "i4")
    i4.upload(np.array([-7, 7, 0, 1], np.int8))
    assert i4.numpy().tolist() == [-7, 7, 0, 1]
    for array in (np.full(4, 100, np.int8), np.full(4, -8, np.int32), np.full(4, 8.0, np.float32)):
        with pytest.raises(tosavk.BadInputError, match="which i4 does not hold"):
            i4.upload(array)
    assert i4.numpy().tolist() == [-7, 7, 0, 1]
    ends = np.array([-(2**47), 2**47 - 1])
    assert (tosavk.Buffer.from_array(ends).numpy() == ends).all()
    assert (tosavk.Buffer.from_dlpack(ends).numpy() == ends).all()
    for wrong in (2**60, 2**47, -(2**47) - 1):
        page, _ = whole_page(np.int64)
        page[5] = wrong
        for make in (
            tosavk.Buffer.from_array,
            tosavk.Buffer.from_dlpack,
            lambda array: tosavk.Buffer.from_dlpack(array, copy=True),
            lambda array: tosavk.Buffer.from_dlpack(array, copy=False),
            tosavk.Builder().constant,
        ):
            with pytest.raises(tosavk.BadInputError, match=r"element \(5,\) is -?\d+, which i48 does not hold"):
                make(page)

    b = tosavk.Builder()
    b.output(b.identity(b.input("x", (2,), "i4")))
    network = b.build()
    assert network.reference(np.array([-7, 7], np.int8)).tolist() == [-7, 7]
    for call in (network, network.reference, network.verify):
        with pytest.raises(tosavk.BadInputError):
            call(np.array([0, 100], np.int8))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float16, np.bool_, np.int64])
def test_views_of_every_type(dtype):
    x = np.array([0, 1, 1, 0]).astype(dtype)
    buffer = tosavk.Buffer.from_array(x, memory="shared")
    assert buffer.view().dtype == dtype
    np.testing.assert_array_equal(buffer.view().astype(np.float32), x.astype(np.float32))


def test_futures(doubled):
    x = np.ones((2, 3), np.float32)
    futures = [doubled.submit(x * k) for k in range(6)]
    x[:] = 77  # the inputs were copied
    for k, future in reversed(list(enumerate(futures))):
        np.testing.assert_array_equal(future.result(60), np.full((2, 3), 2 * k))
        assert future.done() and future.exception() is None
        np.testing.assert_array_equal(future.result(), future.result())


def test_a_future_may_take_too_long():
    future = counting(400).submit([0])
    with pytest.raises(TimeoutError):
        future.result(0)
    assert future.result() == [400]


def test_several_threads_wait_for_one_future():
    future = counting(20000).submit([0])
    results = []
    threads = [threading.Thread(target=lambda: results.append(future.result().tolist())) for _ in range(3)]
    for thread in threads:
        thread.start()
    looks = 0
    while not future.done():  # which does not wait for those that do
        looks += 1
    for thread in threads:
        thread.join()
    assert results == [[20000]] * 3 and looks > 0


def test_asyncio(doubled):
    async def one(k):
        return await doubled.submit(np.full((2, 3), k))

    async def many():
        loop = counting(200).submit([0])
        results = await asyncio.gather(*(one(k) for k in range(20)))
        assert await loop == [200]
        assert await loop == [200], "a second time too"
        return results

    for k, result in enumerate(asyncio.run(many())):
        assert (result == 2 * k).all()


def test_the_loop_turns_while_a_run_is_under_way():
    async def main():
        future = counting(300).submit([0])
        turns = 0
        while not future.done():
            await asyncio.sleep(0)
            turns += 1
        return turns, await future

    turns, result = asyncio.run(main())
    assert turns > 0 and result == [300]


def test_threads_share_a_network(doubled):
    fast = doubled.compile()
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            x = rng.standard_normal((2, 3)).astype(np.float32)
            if not np.array_equal(fast(x), 2 * x):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_released():
    net = counting(300)
    net([0])
    turns, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            turns[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        context = net.compile().context()
        context.set_input(0, [0])
        before = turns[0]
        context.run()
        assert turns[0] > before
    finally:
        stop.set()
        thread.join()


def test_a_context_is_for_one_thread():
    context = counting(20000).compile().context()
    context.set_input(0, [0])
    thread = threading.Thread(target=context.run)
    thread.start()
    while not context._native.running:
        pass
    with pytest.raises(tosavk.UsageError, match="another thread"):
        context.run()
    thread.join()
    assert context.output(0) == [20000]


def interrupted_by_a_signal(call):
    timer = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        timer.join()


def test_ctrl_c_ends_a_wait():
    net = counting(20000)
    context = net.compile().context()
    context.set_input(0, [0])
    interrupted_by_a_signal(context.run)
    assert context._native.running, "the run goes on"
    future = net.submit([0])
    interrupted_by_a_signal(future.result)
    assert future.result() == [20000], "and gives its result later"
    context.run()
    assert context.output(0) == [20000]


@pytest.mark.parametrize("call", ["numpy", "view", "fill", "upload", "copy"])
def test_ctrl_c_ends_a_wait_for_a_buffer(call):
    context = counting(20000).compile().context()
    buffer = tosavk.Buffer((1,), "i32", memory="shared")
    context.set_input(0, [0])
    context.bind_output(0, buffer)
    future = context.submit()
    other = tosavk.Buffer((1,), "i32")
    calls = {
        "numpy": buffer.numpy,
        "view": buffer.view,
        "fill": lambda: buffer.fill(1),
        "upload": lambda: buffer.upload([1]),
        "copy": lambda: other.copy_from(buffer),
    }
    interrupted_by_a_signal(calls[call])
    assert not future.done(), "the run goes on"
    assert not buffer.wait(0) and not buffer.wait(0.001)
    future.wait()
    assert buffer.wait(0) and buffer.wait()
    assert buffer.numpy() == [20000], "nothing was written over"


def test_ctrl_c_ends_a_compile():
    net = tosavk.problem("network transformer f32")
    state = []

    def report(done, total):
        if not state:
            state.append(done)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        net.compile(cache_dir=False, progress=report)


def test_variables_keep_their_values():
    b = tosavk.Builder()
    b.variable("sum", (2,), "fp32", [10, 20])
    x = b.input("x", (2,))
    total = b.add(b.variable_read(name="sum", types=[("fp32", (2,))]), x)
    b.variable_write(total, name="sum")
    b.output(total)
    fast = b.build().compile()
    assert fast([1, 2]).tolist() == [11, 22]
    assert fast.submit([1, 2]).result().tolist() == [12, 24]
    first, second = fast.submit([1, 0]), fast.submit([1, 0])
    assert second.result().tolist() == [14, 24] and first.result().tolist() == [13, 24]
    fast.submit([0, 2])  # nobody asks
    assert fast([0, 0]).tolist() == [14, 26]
    context = fast.context()
    context.set_input("x", [1, 1])
    context.run()
    assert context.outputs().tolist() == [11, 21]
    context.reset_variables()
    context.run()
    assert context.outputs().tolist() == [11, 21]
