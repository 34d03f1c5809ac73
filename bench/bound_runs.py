#!/usr/bin/env python3
"""A run on device buffers from Python against the same in C++ (bench/bound_runs.cpp), in microseconds.

Usage: bound_runs.py PROGRAM [RUNS]     PROGRAM is bound_runs, built from the .cpp beside this file

The two take turns, round by round; the medians of the rounds' medians and the best times are compared.
"""

import subprocess
import sys
import time

import tosavk

LINES = ("clamp f32 16", "conv2d f32 1x28x28x16 16x3x3 s1 p1 clamp", "clamp f32 1048576")  # one input, one output
ROUNDS = 5


def python_times(line: str, runs: int) -> list[float]:
    net = tosavk.problem(line).compile()
    context = net.context()
    context.bind_input(0, tosavk.Buffer.from_array(net.random_inputs(1)[0], net.inputs[0].dtype, net.device))
    context.bind_output(0, tosavk.Buffer(net.outputs[0].shape, net.outputs[0].dtype, net.device))
    times = []
    for _ in range(runs + 10):
        begun = time.perf_counter_ns()
        context.run()
        times.append((time.perf_counter_ns() - begun) / 1000)
    return sorted(times[10:])


def main(program: str, runs: int) -> None:
    for line in LINES:
        rounds: dict[str, list[tuple[float, float]]] = {"run": [], "sum": [], "chain": [], "python": []}
        for _ in range(ROUNDS):
            said = subprocess.run([program, line, str(runs)], capture_output=True, text=True, check=True).stdout
            for row in map(str.split, said.splitlines()):
                rounds[row[0]].append((float(row[2]), float(row[4])))
            times = python_times(line, runs)
            rounds["python"].append((times[0], times[len(times) // 2]))
        best = {key: min(pair[0] for pair in pairs) for key, pairs in rounds.items()}
        median = {key: sorted(pair[1] for pair in pairs)[ROUNDS // 2] for key, pairs in rounds.items()}
        print(line)
        print(f"  C++: best {best['run']:.1f}, median {median['run']:.1f}; Python: best {best['python']:.1f}, "
              f"median {median['python']:.1f}; more by {best['python'] - best['run']:.1f} and "
              f"{median['python'] - median['run']:.1f}")  # fmt: skip
        print(f"  two, one after the other: best {best['sum']:.1f}, median {median['sum']:.1f}; chained: best "
              f"{best['chain']:.1f}, median {median['chain']:.1f}; ratio {median['chain'] / median['sum']:.2f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500)
