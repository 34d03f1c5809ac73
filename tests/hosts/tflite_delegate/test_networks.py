"""The recorded networks: every node claimed, one partition, the runtime's own results."""
import json
import os
import unittest

import numpy as np

from support import CORPUS, OLD, Case, counters, delegate, interpreter, invoke


def corpus(case, name):
    """The folders of the corpus with that name."""
    if not (CORPUS / name).is_dir():
        if "corpus" in os.environ.get("TOSAVK_REQUIRE", "").split(","):
            case.fail("the corpus is not there, and TOSAVK_REQUIRE names it")
        case.skipTest("the corpus is not there (TOSAVK_CORPUS)")
    return sorted(path.parent for path in (CORPUS / name).glob("*/cases.json"))


def arrays(folder, names):
    return [np.load(folder / name) for name in names]


class Networks(Case):
    def test_seven_networks(self):
        kinds = ("double_round" if OLD else "tflite", "reference")
        folders = corpus(self, "models")
        self.assertEqual(len(folders), 7)
        for folder in folders:
            with self.subTest(folder.name):
                recorded = json.loads((folder / "cases.json").read_text())
                ours = delegate(**({"rounding": "double"} if OLD else {}))
                network = interpreter(folder / "model.tflite", ours)
                for case in recorded["cases"]:
                    expected = next(case["expected"][kind] for kind in kinds if kind in case["expected"])
                    results = invoke(network, arrays(folder, case["inputs"]))
                    self.close(results, arrays(folder, expected), recorded.get("rtol", 1e-5))
                did = counters(ours)
                self.assertGreater(did["nodes"], 0)
                self.assertEqual(did["claimed_nodes"], did["nodes"], did["left"])
                self.assertEqual(did["partitions"], 1)
                self.assertEqual(did["runs"], len(recorded["cases"]))
                self.assertGreater(did["dispatches"], 0)
                self.assertEqual(did["reference_runs"], 0)

    def test_real_networks(self):
        """Variables, control flow, hybrid weights, uint8: whatever of them is claimed, the results are the recorded."""
        for folder in corpus(self, "networks"):
            with self.subTest(folder.name):
                recorded = json.loads((folder / "cases.json").read_text())
                ours = delegate(min_nodes=1)
                bound = recorded.get("rtol", 1e-5)
                for case in recorded["cases"][:2]:
                    network = interpreter(folder / "model.tflite", ours)
                    results = invoke(network, arrays(folder, case["inputs"]))
                    self.close(results, arrays(folder, case["expected"]["reference"]), bound)
                for sequence in recorded.get("sequences", [])[:1]:
                    network = interpreter(folder / "model.tflite", ours)
                    inputs = arrays(folder, sequence["inputs"])
                    expected = arrays(folder, sequence["expected"])
                    for step in range(min(5, sequence["steps"])):
                        results = invoke(network, [one[step] for one in inputs])
                        self.close(results, [one[step] for one in expected], bound)
                self.assertEqual(counters(ours)["reference_runs"], 0)

    def test_operators(self):
        """One operator each: that the runtime's parameters become the right options."""
        for folder in corpus(self, "tflite-ops"):
            with self.subTest(folder.name):
                recorded = json.loads((folder / "cases.json").read_text())
                ours, case = delegate(), recorded["cases"][0]
                network = interpreter(folder / "model.tflite", ours)
                expected = next(case["expected"][kind] for kind in ("tflite", "reference", "double_round")
                                if kind in case["expected"])
                results = invoke(network, arrays(folder, case["inputs"]))
                self.close(results, arrays(folder, expected), recorded.get("rtol", 1e-5))
                self.assertEqual(counters(ours)["claimed_nodes"], counters(ours)["nodes"])


if __name__ == "__main__":
    unittest.main()
