"""What a partition costs before it computes anything, and what the runtime computes in that time (run RUNTIME --cost)."""
import time

import numpy as np

from models import Graph
from support import delegate, random, runtime
from tosavk.tflite.FullyConnectedOptions import FullyConnectedOptionsT

ROUNDS, RUNS = 15, 20


def microseconds(model, *delegates):
    """Best and median of the rounds. The runtime has its own kernels, XNNPACK's included, on one thread."""
    network = runtime.Interpreter(model_content=model, experimental_delegates=list(delegates) or None)
    network.allocate_tensors()
    for detail in network.get_input_details():
        network.set_tensor(detail["index"], random(*detail["shape"]))
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(RUNS):
            network.invoke()
        times.append((time.perf_counter() - begun) / RUNS * 1e6)
    return f"{min(times):.1f}, {np.median(times):.1f}"


def fully_connected(size):
    graph = Graph()
    given = [graph.input([16, size]), graph.constant(random(size, size)), graph.constant(random(size))]
    return graph.finish([graph.make("FULLY_CONNECTED", given, [16, size], options=FullyConnectedOptionsT())])


def exponents(size):
    graph = Graph()
    value = graph.input([size])
    for _ in range(4):
        value = graph.make("EXP", [value], [size])
    return graph.finish([value])


print("| graph | operations | runtime, us | delegate, us |\n|---|---|---|---|")
for size in (16, 64, 128, 256, 512):
    model = fully_connected(size)
    print(f"| FULLY_CONNECTED 16x{size} by {size}x{size} | {2 * 16 * size * size:.2g} | {microseconds(model)} | "
          f"{microseconds(model, delegate())} |", flush=True)
for size in (1000, 10000, 100000):
    model = exponents(size)
    print(f"| four EXP of {size} | | {microseconds(model)} | {microseconds(model, delegate())} |", flush=True)
