"""What the sweep says of its results: lines; what it remembers of them (results.tsv), by which a row that was taken once
is not lost; and the table of docs/tflite.md, which is made of that."""
import json
import math
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.tsv"
DOCS = HERE.parents[1] / "docs/tflite.md"
BEGIN, END = "<!-- made by scripts/tflite-sweep --write -->", "<!-- end of what it makes -->"
HEAD = "# By row: all of its models are taken, or part, or it is refused; exact, or the worst error seen, or why not.\n"


def read_results():
    """By row: ("all", "part" or "refused", the rest)."""
    if not RESULTS.exists():
        return {}
    lines = [line.split("\t") for line in RESULTS.read_text().splitlines() if line and not line.startswith("#")]
    return {row: (how, rest) for row, how, rest in lines}


def round_up(error):
    """One digit, so that a further seed seldom changes it."""
    if error == 0:
        return "0"
    power = math.floor(math.log10(error))
    return f"{math.ceil(error / 10 ** power - 1e-9) * 10.0 ** power:.0e}"


def outcome(result):
    if result["taken"] == 0:
        return "refused", clean(next(iter(result["refused"]), ""))
    return "part" if result["refused"] else "all", "exact" if result["exact"] else round_up(result["worst"])


def clean(sentence):
    """Without the names of the model at hand."""
    if sentence.endswith("(node 0) is not supported"):
        return "the operator is not supported"
    return sentence.split("): ", 1)[-1].replace("\t", " ") if "): " in sentence else sentence.split(": ", 1)[-1]


def progress(result, wrong):
    how, rest = outcome(result)
    detail = f"{result['taken']}/{result['models']} models, {result['sets']} sets, {result.get('seconds', 0)} s"
    if result["refused"]:
        detail += f"; refused: {next(iter(result['refused']))}"
    if result["unrun"] and result["models"] < 3:
        detail += f"; TFLite says: {next(iter(result['unrun']))}"
    say = "refused" if how == "refused" else f"{rest}{' of the range' if rest != 'exact' else ''}"
    print(f"{'FAILED ' if wrong else ''}{result['row']}: {say} ({detail})", flush=True)
    for sentence in wrong:
        print(f"    {sentence}", flush=True)


def table(known, order):
    operators = {}
    for row in order:
        if row in known:
            operator, _, kind = row.partition(" ")
            how, rest = known[row]
            place = 2 if how == "refused" else 0 if rest == "exact" else 1
            text = kind + (f" {rest}" if place == 1 else "") + (" (part)" if how == "part" else "")
            operators.setdefault(operator, ([], [], []))[place].append(text)
    lines = ["| operator | exact | within, of the output's range | refused |", "|---|---|---|---|"]
    lines += [f"| {name} | " + " | ".join(", ".join(kinds) for kinds in places) + " |"
              for name, places in sorted(operators.items(), key=lambda o: o[0].lower())]
    sentences = {}
    for row in order:
        if row in known and known[row][0] == "refused":
            sentences.setdefault(known[row][1], []).append(row)
    if sentences:
        lines += ["", "| rows | refused, since |", "|---|---|"]
        lines += [f"| {', '.join(rows)} | {why.replace('|', '/')} |" for why, rows in sentences.items()]
    return "\n".join(lines)


def write(results, order, verdict):
    """Replaces what is known of these rows. What has failed is not written down."""
    known = read_results()
    for result in results:
        if result["failures"] or not result["models"]:
            known.pop(result["row"], None)
        else:
            known[result["row"]] = outcome(result)
    known = {row: known[row] for row in order if row in known}
    RESULTS.write_text(HEAD + "".join(f"{row}\t{how}\t{rest}\n" for row, (how, rest) in known.items()))
    text = DOCS.read_text()
    before, rest = text.split(BEGIN)
    DOCS.write_text(f"{before}{BEGIN}\n{table(known, order)}\n{END}{rest.split(END)[1]}")


def finish(options, results, out_of_time, verdict, order):
    known = read_results()
    failed = [r for r in results if verdict(r, known)]
    refused = [r for r in results if r["taken"] == 0 and r["models"] and r not in failed]
    lost = sorted(set(known) - set(order))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.write:
        write(results, order, verdict)
    print(f"seed {options.seed}: {len(results)} rows, {len(results) - len(failed) - len(refused)} right, "
          f"{len(refused)} refused, {len(failed)} failed; {sum(r['taken'] for r in results)} models, "
          f"{sum(r['sets'] for r in results)} sets of inputs")
    if out_of_time:
        print("out of time; the same command goes on")
        return 3
    if lost and not options.write:
        print(f"{RESULTS.name} names rows that are not there: {', '.join(lost)}")
        return 1
    return 1 if failed else 0
