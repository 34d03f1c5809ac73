"""Random TFLite models of every operator and type, run in the real runtime and here. scripts/tflite-sweep starts it.

Every row of the list (rows/*.py) is a generator. Of each, --models models are made; each is run with --sets sets of
inputs in the real runtime, on the device and on the interpreter. A row is refused where this library says so in a
sentence; it has failed where a result differs, or where it was taken before (results.tsv) and now is refused."""
import argparse
import json
import os
import subprocess
import sys
import threading
import time
import traceback
import zlib
from pathlib import Path

import numpy as np

import corpus
import judge
import report
import runtimes
from model import Model, nudged
from rows import ROWS

HERE = Path(__file__).resolve().parent
SPAN_SETS = 20    # sets of inputs that say what range an output has
LONG = (20, 25)   # sets, seconds: after both a slow model's further sets are left out
NUDGES = 32       # runs of the real runtime with other last bits


def generator(seed, row, *more):
    return np.random.default_rng([seed, zlib.crc32(row.encode()), *more])


def make_model(row, seed, number):
    """(model, its bytes, the real runtime with it). Shapes of what operators make are those of the real runtime."""
    model = Model(generator(seed, row, number))
    ROWS[row](model)
    draft = model.write()
    real = runtimes.RealRuntime(draft, model.resolver)
    real.run(model.draw_inputs(generator(seed, row, number, 1)), model.steps)
    model.learn_shapes(real.shapes())
    data = model.write()
    return model, data, runtimes.RealRuntime(data, model.resolver)


class RowRun:
    def __init__(self, library, row, options, say):
        self.library, self.row, self.options, self.say = library, row, options, say
        self.result = {"row": row, "models": 0, "taken": 0, "sets": 0, "refused": {}, "unrun": {}, "failures": [],
                       "worst": 0.0, "exact": True, "types": ""}

    def run(self):
        options, result = self.options, self.result
        numbers = [options.model] if options.model is not None else range(3 * options.models)
        for number in numbers:
            if result["models"] >= options.models or len(result["failures"]) >= 3:
                break
            self.say({"stage": "tflite", "model": number})
            try:
                model, data, real = make_model(self.row, options.seed, number)
            except runtimes.Refused as error:
                sentence = str(error)[:300]
                result["unrun"][sentence] = result["unrun"].get(sentence, 0) + 1
                continue
            except Exception:
                self.fail(number, None, f"the row's generator: {traceback.format_exc(limit=-1)}")
                break
            if options.keep:
                (Path(options.keep) / f"{self.row.replace(' ', '-')}-{number}.tflite").write_bytes(data)
            result["models"] += 1
            self.say({"stage": "ours", "model": number})
            self.one_model(number, model, data, real)
        return result

    def fail(self, number, chosen, sentence):
        command = (f"scripts/tflite-sweep --row '{self.row}' --seed {self.options.seed} --model {number}"
                   + ("" if chosen is None else f" --set {chosen}"))
        self.result["failures"].append({"sentence": sentence, "command": command})

    def one_model(self, number, model, data, real):
        result = self.result
        try:
            ours = runtimes.OurModel(self.library, data)
        except runtimes.Refused as error:
            result["refused"][str(error)] = result["refused"].get(str(error), 0) + 1
            return
        except RuntimeError as error:
            self.fail(number, None, f"loading says: {error}")
            return
        result["taken"] += 1
        cache, begun = {}, time.monotonic()
        try:
            chosen = range(self.options.sets) if self.options.set is None else [self.options.set]
            for k in chosen:
                if k >= LONG[0] and len(chosen) > 1 and time.monotonic() - begun > LONG[1]:
                    break
                inputs = model.draw_inputs(generator(self.options.seed, self.row, number, 1, k))
                sentence = self.one_set(number, model, data, real, ours, inputs, cache)
                result["sets"] += 1
                if sentence:
                    self.fail(number, k, sentence)
                    break
        except runtimes.Refused as error:
            self.fail(number, k, f"ended with: {error}")
        except RuntimeError as error:
            self.fail(number, k, f"ended with: {error}")
        finally:
            ours.close()

    def spans(self, model, data, real, number):
        """The largest `measure` of each output over the first sets of inputs."""
        largest = None
        for k in range(SPAN_SETS):
            inputs = model.draw_inputs(generator(self.options.seed, self.row, number, 1, k))
            try:
                outputs = (runtimes.RealRuntime(data) if model.resources else real).run(inputs, model.steps)
            except runtimes.Refused:
                continue  # values that the runtime does not want
            found = [judge.measure(judge.parts(a)) if a.dtype.kind in "fc" else 0.0 for a in outputs]
            largest = found if largest is None else [max(pair) for pair in zip(largest, found)]
        return largest

    def one_set(self, number, model, data, real, ours, inputs, cache):
        """What is wrong, or "". `cache` keeps what is made once for a model."""
        result = self.result
        try:
            theirs = (runtimes.RealRuntime(data) if model.resources else real).run(inputs, model.steps)
        except runtimes.Refused:
            return ""  # values that the runtime does not want
        if model.settle:
            theirs = model.settle(theirs)
        types = [a.dtype for a in theirs]

        def others():
            """Hybrid operators round their activations, and XNNPACK does not: there the same kernels are asked again
            with other last bits of inputs and constants, which round the other way where a value is between two."""
            if "hybrid" in self.row:
                for k in range(NUDGES):
                    rng = np.random.default_rng([7, k])
                    near = runtimes.RealRuntime(model.write(rng), model.resolver)
                    yield near.run([nudged(rng, a) for a in inputs], model.steps)
                return
            if "xnnpack" not in cache:
                try:
                    cache["xnnpack"] = runtimes.RealRuntime(data, "xnnpack")
                except runtimes.Refused:
                    cache["xnnpack"] = None
            try:
                if cache["xnnpack"]:
                    yield cache["xnnpack"].run(inputs, model.steps)
            except runtimes.Refused:
                pass

        def spans():
            if "spans" not in cache:
                cache["spans"] = self.spans(model, data, real, number)
            return cache["spans"]

        try:
            got = {"the device": ours.on_device(inputs, types, model.steps)}
        except RuntimeError as error:
            if "does not hold" in str(error) and any(a.dtype == np.int64 for a in inputs):
                return ""  # an INT64 beyond 32 bits is refused at the boundary
            raise
        if model.steps == 1:
            got["the interpreter"] = ours.on_interpreter(inputs, types)
        for who, outputs in got.items():
            sentence, worst, same = judge.compare(outputs, theirs, spans, others)
            if sentence:
                return f"{who}: {sentence}"
            result["worst"] = max(result["worst"], worst)
            result["exact"] = result["exact"] and same
        result["types"] = " ".join(str(t) for t in types)
        return ""


# ---- one process of several ---------------------------------------------------------------------------------------

def work(options):
    """Rows from standard input, results to standard output, a line each."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no result

    def say(thing):
        out.write(json.dumps(thing) + "\n")
        out.flush()

    library = runtimes.Library(runtimes.library_path(options.build), options.device)
    for line in sys.stdin:
        begun = time.monotonic()
        result = RowRun(library, line.strip(), options, say).run()
        result["seconds"] = round(time.monotonic() - begun, 2)
        say({"result": result})
    library.close()


class Worker:
    def __init__(self, arguments):
        self.arguments, self.process = arguments, None

    def run(self, row, timeout):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, "--work", *self.arguments], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                                            if not os.environ.get("TOSAVK_VERBOSE") else None)
        self.process.stdin.write(row + "\n")
        self.process.stdin.flush()
        timer = threading.Timer(timeout, self.process.kill)
        timer.start()
        stage = {}
        try:
            for line in self.process.stdout:
                message = json.loads(line)
                if "result" in message:
                    return message["result"]
                stage = message
        finally:
            timer.cancel()
        code = self.process.wait()
        self.process = None
        sentence = f"the process ended with {code} (in {stage.get('stage')})"
        return {"row": row, "models": 0, "taken": 0, "sets": 0, "refused": {}, "unrun": {}, "worst": 0, "exact": False,
                "types": "", "seconds": 0, "failures": [{"sentence": sentence, "command":
                f"scripts/tflite-sweep --row '{row}' --seed {arguments_seed(self.arguments)} "
                f"--model {stage.get('model')}"}]}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def arguments_seed(arguments):
    return arguments[arguments.index("--seed") + 1]


# ---- the whole ----------------------------------------------------------------------------------------------------

def verdict(result, known):
    """What is wrong with a row, in sentences."""
    wrong = [f"{f['sentence']}\n    {f['command']}" for f in result["failures"]]
    if result["models"] == 0 and not wrong:
        wrong.append(f"the real runtime takes none of its models: {next(iter(result['unrun']), '')}")
    was = known.get(result["row"], ("refused", ""))[0]
    # Few models of a row of which a part is taken may all be among the others.
    if result["taken"] == 0 and (was == "all" or was == "part" and result["models"] >= 10) or was == "all" and result["refused"]:
        wrong.append(f"was taken and is refused: {next(iter(result['refused']), '')}")
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="scripts/tflite-sweep", description=__doc__)
    parser.add_argument("--row", action="append", help="rows whose name begins with this; repeatable")
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--sets", type=int, default=20, help="sets of inputs for each model; slow ones end after 20")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=int, help="only this one of a row's models")
    parser.add_argument("--set", type=int, help="only this set of inputs")
    parser.add_argument("--taken", action="store_true", help="only rows that were taken before")
    parser.add_argument("--slice", help="K/N: every N-th row, from the K-th on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, help="ends in time, with exit code 3")
    parser.add_argument("--state", help="a file that keeps what has passed; the same command goes on")
    parser.add_argument("--keep", help="a folder for the models")
    parser.add_argument("--build", default=str(HERE.parents[1] / "build-ci"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--write", action="store_true", help="writes what came out into results.tsv and docs/tflite.md")
    parser.add_argument("--corpus", help="writes small models for tflite_fuzz_test into this folder, and nothing else")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options)
    if options.corpus:
        return corpus.write(options.corpus, make_model)
    rows = [r for r in ROWS if not options.row or any(r == w or r.startswith(w) and not (w in ROWS) for w in options.row)]
    if options.taken:
        rows = [r for r, known in report.read_results().items() if known[0] != "refused" and r in rows]
    if options.slice:
        first, step = map(int, options.slice.split("/"))
        rows = rows[first::step]
    if options.list or not rows:
        print("\n".join(rows))
        return 0 if rows else 2
    return report.finish(options, *sweep(options, rows), verdict, list(ROWS))


def sweep(options, rows):
    results, known, lock = {}, report.read_results(), threading.Lock()
    state = Path(options.state) if options.state else None
    if state and state.exists():
        for line in state.read_text().splitlines():
            result = json.loads(line)
            results[result["row"]] = result
    todo = [r for r in rows if r not in results]
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    arguments = ["--models", str(options.models), "--sets", str(options.sets), "--seed", str(options.seed), "--build",
                 options.build, "--device", options.device]
    for name in ("model", "set", "keep"):
        if getattr(options, name) is not None:
            arguments += [f"--{name}", str(getattr(options, name))]
    out_of_time = False

    def serve():
        nonlocal out_of_time
        worker = Worker(arguments)
        while True:
            with lock:
                if end and time.monotonic() > end:
                    out_of_time = out_of_time or bool(todo)
                    break
                if not todo:
                    break
                row = todo.pop(0)
            result = worker.run(row, 600)
            wrong = verdict(result, known)
            with lock:
                results[row] = result
                report.progress(result, wrong)
                if state and not wrong:
                    with state.open("a") as file:
                        file.write(json.dumps(result) + "\n")
        worker.close()

    threads = [threading.Thread(target=serve) for _ in range(max(1, min(options.jobs, len(todo))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[r] for r in rows if r in results], out_of_time


if __name__ == "__main__":
    sys.exit(main())
