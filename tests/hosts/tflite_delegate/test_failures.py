"""Failures on purpose: of options, of the driver, and of the device at any time."""
import os
import sys
import unittest

import networks
from support import LIBRARY, Case, delegate, interpreter, invoke, random, script

RUN = """
import networks
model = networks.{network}()
ours = delegate({options})
mine, theirs = interpreter(model, ours), interpreter(model)
for _ in range(4):
    feed = [random({shape})]
    one, other = invoke(mine, feed), invoke(theirs, feed)
    for a, b in zip(one, other):
        assert np.abs(a - b).max() <= 1e-5 * np.abs(b).max(), (a, b)
print(counters(ours))
"""


class Failures(Case):
    def runs(self, status="8", call="context_run:3", network="handed_on", shape="1, 3, 8", **variables):
        code = RUN.format(network=network, shape=shape, options="min_nodes=1")
        return script(code, LD_PRELOAD=os.environ["TOSAVK_FAILING"], TOSAVK_FAIL=f"{call}:{status}", **variables)

    def test_wrong_options_refuse_the_interpreter(self):
        for options, word in (({"speed": 9}, "speed"), ({"rounding": "up"}, "rounding"), ({"min_nodes": -1}, "min_nodes"),
                              ({"precision": ""}, "precision"), ({"verbose": "perhaps"}, "verbose")):
            with self.subTest(word), self.assertRaisesRegex((RuntimeError, ValueError), word):
                interpreter(networks.chain(), delegate(**options))

    def test_a_device_that_is_not_there_refuses_the_interpreter(self):
        with self.assertRaisesRegex(RuntimeError, "no such device"):
            interpreter(networks.chain(), delegate(device="no such device"))

    def test_without_any_driver_the_runtime_computes(self):
        code, said = script(RUN.format(network="chain", shape="2, 8", options=""), VK_DRIVER_FILES="/nonexistent",
                            VK_ICD_FILENAMES="/nonexistent")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("every node is left to the runtime"), 1, said)
        self.assertNotIn("reference interpreter", said)
        self.assertIn("'claimed_nodes': 0", said)

    def test_a_lost_device_is_replaced_by_the_reference(self):
        for call in ("context_run:1", "context_run:2", "context_run:3", "context_run:4", "buffer_download:1"):
            for status in ("7", "8", "9"):  # failure, lost, out of memory
                with self.subTest(call=call, status=status):
                    network = "in_partitions" if call.startswith("buffer") else "handed_on"
                    code, said = self.runs(status, call, network)
                    self.assertEqual(code, 0, said)
                    self.assertEqual(said.count("the device has failed"), 1, said)
                    self.assertNotIn("'reference_runs': 0", said)

    def test_a_device_that_fails_when_partitions_are_made(self):
        # Left to the runtime, or computed by the reference; never wrong.
        for call in ("compile:1", "compile:2", "context_create:1", "context_create:3"):
            with self.subTest(call=call):
                code, said = self.runs("9", call)
                self.assertEqual(code, 0, said)

    def test_other_failures_are_the_runtime_s_errors(self):
        code, said = self.runs("10")
        self.assertNotEqual(code, 0)
        self.assertIn("failed on purpose", said)

    def test_a_thousand_interpreters_leak_nothing(self):
        model = networks.chain()

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        keep = interpreter(model, delegate())  # the device stays open
        invoke(keep, [random(2, 8)])
        after = {}
        for turn in range(1000):
            invoke(interpreter(model, delegate()), [random(2, 8)])
            if turn in (199, 999):
                after[turn] = resident()
        self.assertLess(after[999] - after[199], 16 << 20)
        self.assertLess(len(os.listdir("/proc/self/fd")), 200)

    @unittest.skipIf("tensorflow" in sys.modules, "tensorflow's own threads do not survive a fork")
    def test_a_forked_process(self):
        """What it inherits is computed by the reference, what it makes is on a device of its own."""
        code, said = script("""
import networks
model = networks.handed_on()
mine, theirs = interpreter(model, delegate(min_nodes=1)), interpreter(model)

def both(mine, theirs, length):
    feed = [random(1, length, 8)]
    for a, b in zip(invoke(mine, feed, resize=True), invoke(theirs, feed, resize=True)):
        assert np.abs(a - b).max() <= 1e-5 * np.abs(b).max(), (a, b)

both(mine, theirs, 3)
sys.stdout.flush()
if os.fork() == 0:
    for length in 3, 3, 5:
        both(mine, theirs, length)
    ours = delegate(min_nodes=1)
    both(interpreter(model, ours), interpreter(model), 3)
    did = counters(ours)
    print("child", did["claimed_nodes"], did["reference_runs"], flush=True)
    os._exit(0)
print("status", os.wait()[1])
both(mine, theirs, 3)
print("parent")
""")
        self.assertEqual(code, 0, said)
        for word in "child 4 0", "status 0", "parent", "was opened before this process was forked":
            self.assertIn(word, said)

    def test_destroying_null(self):
        code, said = script(f"import ctypes\nctypes.CDLL({LIBRARY!r}).tflite_plugin_destroy_delegate(None)\nprint('done')")
        self.assertEqual((code, said.endswith("done\n")), (0, True), said)


if __name__ == "__main__":
    unittest.main()
