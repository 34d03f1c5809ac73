# SPDX-License-Identifier: Apache-2.0
"""Makes everything in this folder that is not source: models, samples, accuracy.

Usage: /usr/bin/python3 train.py   (see README.md for the packages)
"""

import argparse
import json
import os
import time

# Before numpy is loaded: with a fixed thread count, sums have a fixed order.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np
from PIL import Image

import dataset
from network import Adam, Network, fold, run_float
from quantize import quantize, quantize_graph, run_int8
from tflite_writer import write_tflite

NETWORK_SEED, TRAIN_SEED, SEEN_SEED, UNSEEN_SEED = 1, 101, 202, 303
TRAIN_PER_CLASS, TEST_PER_CLASS = 1600, 100
BATCH, EPOCHS, RATE = 64, 9, 3e-3
CALIBRATION = 1000
# One ordinary picture each, the least certain right answer, and the worst mistake.
EASY_SAMPLES, DOUBTFUL_SAMPLE, MISREAD_SAMPLE = "27AKRW", "O", "I"


def train(network, pictures, labels):
    rng = np.random.default_rng(NETWORK_SEED)
    adam = Adam(network)
    steps = len(pictures) // BATCH
    for epoch in range(EPOCHS):
        start, order = time.time(), rng.permutation(len(pictures))
        loss = right = 0
        for i in range(steps):
            pick = order[i * BATCH:(i + 1) * BATCH]
            # One warm-up ramp, then half a cosine down to zero.
            done = (epoch * steps + i) / (EPOCHS * steps)
            rate = RATE * min(1.0, done * 50 + 0.01) * 0.5 * (1 + np.cos(np.pi * done))
            part_loss, part_right = network.step(dataset.to_float(pictures[pick]), labels[pick])
            adam.update(rate)
            loss, right = loss + part_loss, right + part_right
        print(f"epoch {epoch + 1}/{EPOCHS}: loss {loss / steps:.4f}, "
              f"training accuracy {right / (steps * BATCH):.4f}, {time.time() - start:.0f} s", flush=True)


def in_parts(run, x, names, size=200):
    """Runs a network over many pictures and keeps only the named activations."""
    parts = [run(x[i:i + size]) for i in range(0, len(x), size)]
    return [np.concatenate([p[name] for p in parts]) for name in names]


def confusions(answers, labels, top=6):
    wrong = answers != labels
    pairs, counts = np.unique(np.stack([labels[wrong], answers[wrong]]), axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:top]
    return [f"{dataset.LABELS[pairs[0, i]]} read as {dataset.LABELS[pairs[1, i]]}: {counts[i]}"
            for i in order]


def choose_samples(labels, scores):
    """Name and index of each sample picture."""
    truth = scores[np.arange(len(labels)), labels]
    right = scores.argmax(1) == labels
    chosen = []
    for char in EASY_SAMPLES + DOUBTFUL_SAMPLE + MISREAD_SAMPLE:
        candidates = labels == dataset.LABELS.index(char)
        pick = np.flatnonzero(candidates)[0]
        if char == DOUBTFUL_SAMPLE:
            pick = np.argmin(np.where(candidates & right, truth, 2.0))
        elif char == MISREAD_SAMPLE:
            pick = np.argmin(np.where(candidates, truth, 2.0))
        chosen.append((f"sample_{char}", int(pick)))
    return sorted(chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fonts", default="/usr/share/fonts/truetype", help="root of the fonts")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--weights", help="keep the folded graph here; reuse it when present")
    args = parser.parse_args()

    seen_fonts = dataset.Renderer(args.fonts, dataset.TRAIN_FONTS)
    unseen_fonts = dataset.Renderer(args.fonts, dataset.UNSEEN_FONTS)
    pictures, labels, _ = seen_fonts.make_set(TRAIN_SEED, TRAIN_PER_CLASS)
    tests = {"seen_fonts": seen_fonts.make_set(SEEN_SEED, TEST_PER_CLASS),
             "unseen_fonts": unseen_fonts.make_set(UNSEEN_SEED, TEST_PER_CLASS)}
    print(f"{len(pictures)} training pictures", flush=True)

    if args.weights and os.path.exists(args.weights):
        ops = np.load(args.weights, allow_pickle=True)["ops"].tolist()
    else:
        network = Network(len(dataset.LABELS), NETWORK_SEED)
        train(network, pictures, labels)
        ops = fold(network)
        if args.weights:
            np.savez(args.weights, ops=np.array(ops, object))

    acts, constants = quantize_graph(ops, dataset.to_float(pictures[:CALIBRATION]))
    first = run_float(ops, dataset.to_float(pictures[:1]))
    shapes = {name: value.shape for name, value in first.items()}
    write_tflite(os.path.join(args.out, "glyphs_fp32.tflite"), ops, shapes, dynamic_batch=True)
    write_tflite(os.path.join(args.out, "glyphs_int8.tflite"), ops, shapes, acts, constants)

    def float_network(x):
        return run_float(ops, x)

    def int8_network(x):
        return run_int8(ops, acts, constants, x)

    report = {"classes": len(dataset.LABELS), "training_pictures": len(pictures)}
    scores = {}
    for name, (x, y, _) in tests.items():
        x = dataset.to_float(x)
        scores[name], = in_parts(float_network, x, ["scores"])
        q, = in_parts(int8_network, quantize(x, acts["image"]), ["scores"])
        # Equal int8 scores: the first class wins, as in any runtime's argmax.
        fp32, int8 = scores[name].argmax(1), q.argmax(1)
        report[name] = {
            "pictures": len(y),
            "fp32_accuracy": round(float((fp32 == y).mean()), 4),
            "int8_accuracy": round(float((int8 == y).mean()), 4),
            "fp32_and_int8_agree": round(float((fp32 == int8).mean()), 4),
            "int8_confusions": confusions(int8, y),
        }

    x, y, fonts = tests["unseen_fonts"]
    samples = choose_samples(y, scores["unseen_fonts"])
    folder = os.path.join(args.out, "samples")
    os.makedirs(folder, exist_ok=True)
    picked = [i for _, i in samples]
    as_float = dataset.to_float(x[picked])
    as_int8 = quantize(as_float, acts["image"])
    expected = float_network(as_float)["scores"], int8_network(as_int8)["scores"]
    np.save(os.path.join(args.out, "expected_fp32.npy"), expected[0])
    np.save(os.path.join(args.out, "expected_int8.npy"), expected[1])
    report["samples"] = {}
    for row, (name, i) in enumerate(samples):
        Image.fromarray(x[i, :, :, 0]).save(os.path.join(folder, name + ".png"))
        np.save(os.path.join(folder, name + ".fp32.npy"), as_float[row:row + 1])
        np.save(os.path.join(folder, name + ".int8.npy"), as_int8[row:row + 1])
        report["samples"][name] = {
            "font": os.path.basename(unseen_fonts.fonts[fonts[i]]),
            "fp32_answer": dataset.LABELS[expected[0][row].argmax()],
            "fp32_score": round(float(expected[0][row].max()), 3),
            "int8_answer": dataset.LABELS[expected[1][row].argmax()],
            "int8_score": round((int(expected[1][row].max()) + 128) / 256, 3),
        }
    with open(os.path.join(args.out, "labels.txt"), "w") as file:
        file.write("".join(c + "\n" for c in dataset.LABELS))
    text = json.dumps(report, indent=2)
    with open(os.path.join(args.out, "accuracy.json"), "w") as file:
        file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
