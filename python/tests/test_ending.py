"""Calls that are ended: by Ctrl-C, and by the end of the interpreter."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tosavk


def interrupted(call, at=3, every=0.1):
    """Ctrl-C comes several times, and ends the call at the last: it must look for signals that often."""
    seen = []

    def handler(number, frame):
        seen.append(number)
        if len(seen) == at:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, every, every)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def product():
    return tosavk.problem("matmul f32 1x2048x4096x2048")  # seconds on any interpreter, if nothing ends it


def test_ctrl_c_ends_the_reference(product):
    inputs = product.random_inputs(1)
    interrupted(lambda: product.reference(*inputs))


def test_ctrl_c_ends_a_verification(product):
    compiled = product.compile("cpu")
    interrupted(compiled.verify)
    interrupted(lambda: compiled.verify(*compiled.random_inputs(1)))


def test_ctrl_c_ends_what_a_call_at_new_sizes_compiles():
    b = tosavk.Builder()
    x = y = b.input("x", (3, 5))
    for axis in (0, 1):
        for op in ("SIN", "COS", "TANH", "EXP", "ERF", "SIGMOID"):
            y = b.reverse(b.reduce_max(b.node(op, b.add(x, y)), axis=axis), axis=axis)
    b.output(y)
    model = tosavk.open_model(bytes(b.build()), device=tosavk.Device("cpu", cache_dir=False))
    given = np.ones((3, 5), np.float32)
    interrupted(lambda: model(given), at=1, every=0.02)
    assert model.counters()["specialized"] == 0, "it was ended on the way"
    assert model(given).shape == (3, 1)
    assert model.counters()["specialized"] == 1


def test_a_first_call_that_is_ended_anywhere_leaves_the_model_usable(product):
    data, inputs = bytes(product), product.random_inputs(1)

    def opened():
        return tosavk.open_model(data, device="cpu")

    begun = time.monotonic()
    wanted = opened()(*inputs)
    taken = time.monotonic() - begun

    def handler(number, frame):
        raise KeyboardInterrupt

    before, ended = signal.signal(signal.SIGALRM, handler), 0
    try:
        for part in range(6):
            model = opened()
            try:
                signal.setitimer(signal.ITIMER_REAL, taken * (part + 0.5) / 6)
                model(*inputs)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                ended += 1
            np.testing.assert_array_equal(model(*inputs), wanted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ended, "no signal came before the end"


THREADS = """
import threading, time, tosavk
net = tosavk.problem("matmul f32 1x64x64x256")
compiled, inputs = net.compile("cpu"), net.random_inputs(1)
def refused():
    try:
        tosavk.load(b"no model")
    except tosavk.Error:
        pass
calls = {
    "runs": lambda: compiled(*inputs),
    "futures": lambda: compiled.submit(*inputs).result(),
    "errors": refused,
    "references": lambda: net.reference(*inputs),
    "compiles": lambda: net.compile("cpu", progress=lambda done, total: None),
}
call, begun = calls[%r], threading.Event()
def work():
    while True:
        call()
        begun.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.05)
"""


@pytest.mark.parametrize("kind", ["runs", "futures", "errors", "references", "compiles"])
def test_the_interpreter_ends_while_threads_are_inside(kind):
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", THREADS % kind], capture_output=True, text=True, timeout=300)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_a_signal_while_an_error_is_made_lets_the_interpreter_end():
    code = """
import tosavk, tosavk.errors
made = tosavk.errors._of
def signalled(*parts):
    raise KeyboardInterrupt
tosavk.errors._of = signalled
try:
    tosavk.load(b"no model")
except KeyboardInterrupt:
    print("ended")
tosavk.errors._of = made
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ended\n", "")


def test_calls_after_the_end_are_refused():
    code = """
import atexit, tosavk
import tosavk._native
def late():
    tosavk._native.close(False)
    try:
        compiled(*inputs)
    except tosavk.UsageError as error:
        print(error)
net = tosavk.problem("add f32 4")
compiled, inputs = net.compile("cpu"), net.random_inputs(1)
atexit.register(late)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "the interpreter is about to end\n"
