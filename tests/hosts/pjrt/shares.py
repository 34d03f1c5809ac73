"""Many cases, dealt out to processes: what has passed is kept in a file, time is limited, the end is a report.

A case is a pair of its name and whatever the program's `run(case)` takes. That returns what came of it ("the same", or
why it is not looked at), or raises what the device did otherwise.
"""

import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
from support import counters

SLOW_SECONDS = 60  # what takes longer is named, not failed


def parser_of(program_help):
    parser = argparse.ArgumentParser(description=program_help, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--state")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--skip", default="", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)  # seconds of the clock, one for all shares
    return parser


def run_share(options, cases, run):
    """Every J-th case, in this process. The exit code: 0, 1 where one failed, 3 where time ran out."""
    job, jobs = map(int, options.share.split("/"))
    passed = set(Path(options.skip).read_text().split("\n")) if options.skip else set()
    if options.state and os.path.exists(options.state):
        passed |= {line.split("\t")[0] for line in open(options.state)}
    failed, done, code = 0, 0, 0
    for name, case in cases[job::jobs]:
        if name in passed:
            continue
        if time.time() > options.until:
            code = 3
            break
        print(f"begin: {name}", flush=True)
        started = time.time()
        try:
            outcome = run(case)
        except Exception as e:  # noqa: BLE001
            failed += 1
            print(f"FAILED {name}: {type(e).__name__}: {' '.join(str(e).split())[:700]}", flush=True)
            continue
        print(f"{outcome}: {name}", flush=True)
        if time.time() - started > SLOW_SECONDS:
            print(f"SLOW {name}: {time.time() - started:.0f} seconds with the CPU's", flush=True)
        if options.state:
            with open(options.state, "a") as state:
                state.write(f"{name}\t{outcome}\n")
        done += 1
        if done % 100 == 0:
            jax.clear_caches()
    print(f"dispatches: {counters()['dispatches']}", flush=True)
    return 1 if failed else code


def run_job(command, environment, lines):
    """One share, again behind the case at which its process died. The exit code."""
    begun = []
    skip = tempfile.NamedTemporaryFile("w")
    while True:
        Path(skip.name).write_text("\n".join(begun))
        process = subprocess.Popen(
            [*command, "--skip", skip.name], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )
        before = len(begun)
        for line in map(str.rstrip, process.stdout):
            if line.startswith("begin: "):
                begun.append(line.removeprefix("begin: "))
                continue
            lines.append(line)
            if line.startswith(("FAILED", "SLOW")):
                print(line, flush=True)
        code = process.wait()
        if code in (0, 1, 3) or len(begun) == before:  # it died behind the last case
            return code
        lines.append(f"FAILED {begun[-1]}: the process ended with {code}")
        print(lines[-1], flush=True)


def run_all(options, variants, room=None):
    """The program's cases, once for each of `variants` (arguments and environment), in shares. The exit code.

    `room(name)`: what the report counts by, beside the whole.
    """
    until = str(time.time() + 60 * options.minutes)
    lines, codes = [], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for arguments, environment in variants:
            for job in range(options.jobs):
                command = [sys.executable, *sys.argv, *arguments, "--until", until, "--share", f"{job}/{options.jobs}"]
                codes.append(pool.submit(run_job, command, environment, lines))
        codes = [code.result() for code in codes]
    report(lines, room)
    if any(code not in (0, 3) for code in codes) or any(line.startswith("FAILED") for line in lines):
        return 1
    return max(codes)


def report(lines, room):
    dispatches = sum(int(line.split()[1]) for line in lines if line.startswith("dispatches: "))
    rooms, outcomes = collections.Counter(), collections.Counter()
    for line in lines:
        if line.startswith(("dispatches: ", "SLOW")):
            continue
        outcome, name = ("failed", line.split(" ")[1]) if line.startswith("FAILED") else line.split(": ", 1)
        outcomes[outcome] += 1
        if room:
            rooms[room(name), outcome] += 1
    for (place, outcome), count in sorted(rooms.items()):
        print(f"{place}: {count} {outcome}")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common() if outcome != "failed")
    print(f"{outcomes['failed']} failed; {counts}; {dispatches} dispatches")
