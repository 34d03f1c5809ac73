"""The delegate as an accelerator of LiteRT's CompiledModel."""
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import networks
from support import LIBRARY, Case, script

CODE = """
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator

environment = Environment.create(runtime_path={folder!r})
model = CompiledModel.from_file({model!r}, hardware_accel=HardwareAccelerator.GPU, environment=environment)
assert model.is_fully_accelerated()
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
theirs = interpreter(Path({model!r}))
detail = theirs.get_input_details()[0]
for _ in range(3):
    feed = random(*detail["shape"])
    if detail["dtype"] is not np.float32:
        feed = (feed * 60).clip(-128, 127).astype(detail["dtype"])
    inputs[0].write(feed)
    model.run_by_index(0, inputs, outputs)
    wanted = invoke(theirs, [feed])[0]
    ours = outputs[0].read(wanted.size, wanted.dtype.type).reshape(wanted.shape)
    if wanted.dtype == np.float32:
        assert np.abs(ours - wanted).max() <= 1e-5 * np.abs(wanted).max()
    else:
        np.testing.assert_array_equal(ours, wanted)
model.close()
"""


@unittest.skipUnless("ai_edge_litert" in sys.modules, "CompiledModel is LiteRT's")
class Accelerator(Case):
    def test_compiled_model(self):
        corpus = os.environ.get("TOSAVK_CORPUS", "")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # By the name that the runtime looks for; the library beside it, which is looked for there.
            (folder / "libLiteRtGpuAccelerator.so").symlink_to(LIBRARY)
            (folder / "libtosavk.so.1").symlink_to(Path(LIBRARY).parent / "libtosavk.so.1")
            small = folder / "chain.tflite"
            small.write_bytes(networks.chain())
            models = [small]
            if (Path(corpus) / "models/resnet8_int8").is_dir():
                models.append(Path(corpus) / "models/resnet8_int8/model.tflite")
            for model in models:
                profile = folder / "profile.json"
                code, said = script(CODE.format(folder=name, model=str(model)),
                                    TOSAVK_TFLITE_OPTIONS=f"profile={profile},verbose=1")
                self.assertEqual(code, 0, said)
                did = json.loads(profile.read_text())
                self.assertEqual((did["runs"], did["partitions"], did["reference_runs"]), (3, 1, 0))
                self.assertEqual(did["claimed_nodes"], did["nodes"])

    def test_wrong_options_of_the_environment(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "libLiteRtGpuAccelerator.so").symlink_to(LIBRARY)
            (folder / "libtosavk.so.1").symlink_to(Path(LIBRARY).parent / "libtosavk.so.1")
            small = folder / "chain.tflite"
            small.write_bytes(networks.chain())
            code, said = script(CODE.format(folder=name, model=str(small)), TOSAVK_TFLITE_OPTIONS="speed=9")
            self.assertNotEqual(code, 0)
            self.assertGreater(code, 0, "no crash: " + said)


if __name__ == "__main__":
    unittest.main()
