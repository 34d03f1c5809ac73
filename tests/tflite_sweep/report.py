"""What the sweep says of its results: lines, a table for docs/tflite.md, the list of rows that must be taken."""
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin of the sweep's table -->", "<!-- end of the sweep's table -->"


def outcome(result):
    if result["taken"] == 0:
        return "refused"
    kind = "exact" if result["exact"] else f"within {result['worst']:.1e} of the range"
    return kind if not result["refused"] else f"{kind}; in part refused"


def progress(result, wrong):
    detail = f"{result['taken']}/{result['models']} models, {result['sets']} sets, {result.get('seconds', 0)} s"
    if result["refused"]:
        detail += f"; refused: {next(iter(result['refused']))}"
    if result["unrun"] and result["models"] < 3:
        detail += f"; TFLite says: {next(iter(result['unrun']))}"
    print(f"{'FAILED ' if wrong else ''}{result['row']}: {outcome(result)} ({detail})", flush=True)
    for sentence in wrong:
        print(f"    {sentence}", flush=True)


def table(results):
    lines = ["| operator | types | results |", "|---|---|---|"]
    for result in results:
        operator, _, kind = result["row"].partition(" ")
        text = outcome(result)
        if result["refused"]:
            sentence = next(iter(result["refused"])).split("): ", 1)[-1]
            text += f": {sentence}" if result["taken"] == 0 else f" ({sentence})"
        lines.append(f"| {operator} | {kind} | {text.replace('|', '&#124;')} |")
    return "\n".join(lines)


def write_docs(path, results):
    text = Path(path).read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    Path(path).write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")


def write_taken(results):
    lines = ["# Rows of the sweep that the library takes: all of their models, or a part. Written by --write-taken."]
    lines += [f"{r['row']} {'all' if not r['refused'] else 'part'}" for r in results if r["taken"] and not r["failures"]]
    (HERE / "taken.txt").write_text("\n".join(lines) + "\n")


def finish(options, results, out_of_time, taken, verdict):
    failed = [r for r in results if verdict(r, taken)]
    refused = [r for r in results if r["taken"] == 0 and r["models"]]
    lost = sorted(set(taken) - {r["row"] for r in results}) if not options.row and not options.slice and not options.taken else []
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.docs and not failed:
        write_docs(options.docs, results)
    if options.write_taken:
        write_taken(results)
    print(f"seed {options.seed}: {len(results)} rows, {len(results) - len(failed) - len(refused)} right, "
          f"{len(refused)} refused, {len(failed)} failed; {sum(r['taken'] for r in results)} models, "
          f"{sum(r['sets'] for r in results)} sets of inputs")
    if out_of_time:
        print("out of time; the same command goes on")
        return 3
    if lost and not options.write_taken:
        print(f"taken.txt names rows that are not there: {', '.join(lost)}")
        return 1
    return 1 if failed else 0
