"""Graphs that are claimed in parts, sizes that change, and options."""
import json
import os
import tempfile
import threading
import unittest

import numpy as np

import networks
from support import REFERENCE, Case, counters, delegate, interpreter, invoke, random, runtime


class Graphs(Case):
    def both(self, model, feeds, bound=1e-5, **options):
        """Our results are the runtime's; the counters."""
        ours = delegate(**options)
        mine, theirs = interpreter(model, ours), interpreter(model)
        for feed in feeds:
            self.close(invoke(mine, feed, resize=True), invoke(theirs, feed, resize=True), bound)
        return counters(ours)

    def test_an_operator_of_the_runtime_in_the_middle(self):
        did = self.both(networks.in_partitions(), [[random(1, 3, 8)] for _ in range(3)], min_nodes=1)
        self.assertEqual((did["nodes"], did["claimed_nodes"], did["partitions"]), (4, 3, 2))
        self.assertEqual(did["left"][0]["operator"], "UNIDIRECTIONAL_SEQUENCE_RNN")
        self.assertIn("variables", did["left"][0]["sentence"])
        # The first result is an output, and the runtime's operator reads it: a copy at each run. The second partition
        # has it on the device.
        self.assertEqual(did["device_tensors"], 1)
        self.assertEqual(did["runs"], 6)

    def test_tensors_between_partitions_stay_on_the_device(self):
        did = self.both(networks.handed_on(), [[random(1, 3, 8)] for _ in range(3)], min_nodes=1)
        self.assertEqual((did["claimed_nodes"], did["partitions"], did["device_tensors"]), (4, 2, 1))
        # To the device: the input, and what the runtime's operator made; from it: what that reads, and the output.
        self.assertEqual(did["host_copies"], 3 * 4)

    def test_partitions_that_compute_little_are_left(self):
        did = self.both(networks.in_partitions(), [[random(1, 3, 8)]])
        self.assertEqual(did["claimed_nodes"], 0)
        self.assertIn("too little", did["left"][0]["sentence"])
        did = self.both(networks.in_partitions(), [[random(1, 3, 8)]], min_nodes=2)
        self.assertEqual((did["claimed_nodes"], did["partitions"]), (2, 1))
        did = self.both(networks.in_partitions(), [[random(1, 3, 8)]], min_nodes=1, max_partitions=1)
        self.assertEqual(did["partitions"], 1)

    def test_a_graph_as_a_whole_is_never_too_little(self):
        did = self.both(networks.chain(1), [[random(2, 8)]])
        self.assertEqual((did["nodes"], did["claimed_nodes"]), (1, 1))

    def test_resizing(self):
        lengths = [1, 10, 3, 10, 1, 7]
        did = self.both(networks.of_any_length(), [[random(length, 4)] for length in lengths])
        self.assertEqual((did["claimed_nodes"], did["runs"]), (3, len(lengths)))
        self.assertEqual(did["compilations"], len(set(lengths)), "a length that was there before is ready")

    def test_sizes_share_constants_and_pipelines(self):
        ours, model = delegate(), networks.layer_of_any_length()
        mine, theirs = interpreter(model, ours), interpreter(model)
        before = counters(ours)
        for length in range(9, 29):
            feed = [random(length, 8)]
            self.close(invoke(mine, feed, resize=True), invoke(theirs, feed, resize=True))
            did = counters(ours)
            counted = ("shaders_compiled", "pipelines_created", "weight_bytes_copied")
            made = {key: did[key] - before[key] for key in counted}
            before = did
            # The first size has a file of its own, the second opens the one of all that follow. 12 and 16 are the
            # first of whole quads and of whole eights.
            if length > 10:
                self.assertEqual(made["weight_bytes_copied"], 0, length)
            if length > 16:
                self.assertEqual((made["shaders_compiled"], made["pipelines_created"]), (0, 0), length)
        self.assertEqual((did["compilations"], did["claimed_nodes"]), (20, 3))

    def test_sizes_that_are_known_when_the_graph_runs(self):
        for masks in ([1, 0, 1, 0, 0, 1], [1, 1, 1, 1, 0, 1]), ([0, 0, 1, 0, 0, 0],):
            feeds = [[np.array(mask, np.bool_), random(6)] for mask in masks]
            did = self.both(networks.of_late_sizes(), feeds, min_nodes=1)
            self.assertGreater(did["claimed_nodes"], 0)

    def test_int64_and_uint8(self):
        feed = [np.array([1, -5, 7, 1 << 29, -(1 << 29)], np.int64), np.array([[0, 1, 127], [128, 254, 255]], np.uint8)]
        did = self.both(networks.of_wide_integers(), [feed], min_nodes=1)
        self.assertEqual(did["claimed_nodes"], did["nodes"], did["left"])
        beyond = interpreter(networks.of_wide_integers(), delegate(min_nodes=1))
        with self.assertRaises(RuntimeError):
            invoke(beyond, [feed[0] + (1 << 40), feed[1]])

    def test_strings_and_control_flow_are_left(self):
        did = self.both(networks.of_strings(), [[np.array([b"a", b"tensor"], dtype=object), random(2, 8)]], min_nodes=1)
        self.assertEqual([node["operator"] for node in did["left"]], ["RESHAPE"])
        for flag in (True, False):
            feed = [np.array([flag]), random(2, 3), random(2, 3)]
            did = self.both(networks.of_a_condition(), [feed, feed], min_nodes=1)
            self.assertIn("IF", [node["operator"] for node in did["left"]])

    def test_options_above_their_version(self):
        did = self.both(networks.options_above_their_version(2), [[random(1, 3, 3, 2)]], min_nodes=1)
        self.assertEqual(did["claimed_nodes"], 2)
        # How old the runtime is, one node alone does not tell.
        did = self.both(networks.options_above_their_version(1), [[random(1, 3, 3, 2)]], min_nodes=1)
        self.assertEqual(did["claimed_nodes"], 0)
        self.assertIn("version", did["left"][0]["sentence"])

    def test_operators_that_the_runtime_has_no_kernel_of(self):
        for resolver in runtime.OpResolverType.AUTO, REFERENCE:
            ours = delegate(min_nodes=1)
            network = runtime.Interpreter(model_content=networks.without_a_kernel(), experimental_delegates=[ours],
                                          experimental_op_resolver_type=resolver)
            x = random(1, 4, 6, 3)
            values, places = invoke(network, [x])
            wanted = -np.exp(x.reshape(1, 2, 2, 3, 2, 3).max(axis=(2, 4)))
            self.close([values], [wanted])
            self.assertEqual(places.shape, wanted.shape)
            self.assertEqual(counters(ours)["claimed_nodes"], 3)

    def test_rounding_and_precision(self):
        for options in ({"rounding": "double"}, {"rounding": "single"}, {"precision": "fp16"}):
            did = self.both(networks.chain(), [[random(2, 8)]], bound=1e-2, **options)
            self.assertEqual(did["claimed_nodes"], 3)

    def test_the_profile_is_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            self.both(networks.chain(), [[random(2, 8)]], profile=path)
            with open(path) as file:
                did = json.load(file)
            self.assertEqual((did["claimed_nodes"], did["runs"], did["left"]), (3, 1, []))

    def test_one_delegate_for_several_interpreters(self):
        ours, models = delegate(min_nodes=1), [networks.chain(), networks.handed_on(), networks.chain(5)]
        mine, theirs = [interpreter(model, ours) for model in models], [interpreter(model) for model in models]
        for _ in range(2):
            for one, other, shape in zip(mine, theirs, ((2, 8), (1, 3, 8), (2, 8))):
                feed = [random(*shape)]
                self.close(invoke(one, feed), invoke(other, feed))
        self.assertEqual(counters(ours)["graphs"], 3)

    def test_threads(self):
        model, feeds = networks.handed_on(), [[random(1, 3, 8)] for _ in range(20)]
        theirs = interpreter(model)
        wanted = [invoke(theirs, feed) for feed in feeds]
        shared, results = delegate(min_nodes=1), {}

        def work(name):
            mine = interpreter(model, shared if name % 2 else delegate(min_nodes=1))
            results[name] = []
            for feed in feeds:  # the state of the runtime's operator goes on, as in the other interpreter
                results[name].append(invoke(mine, feed))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in range(4):
            self.assertEqual(len(results[name]), len(feeds))
            for mine, other in zip(results[name], wanted):
                self.close(mine, other)


if __name__ == "__main__":
    unittest.main()
