"""Several devices: one driver twice, by two manifests."""
import json
import os
import tempfile
import unittest
from pathlib import Path

from support import script

ICD = Path(os.environ.get("TOSAVK_TEST_ICD") or "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")

TWO = """
import jax, jax.numpy as jnp, numpy as np
first, second = jax.devices()
assert first.id == 0 and second.id == 1
x = jax.device_put(np.arange(6, dtype=np.complex64), second)
y = jax.jit(lambda x: x * 2)(x)
assert y.devices() == {second}
z = jax.device_put(y, first)
assert z.devices() == {first}
np.testing.assert_array_equal(np.asarray(z + 1), np.arange(6) * 2 + 1)
try:
    jax.jit(lambda x, y: x + y)(z, y)
except ValueError as e:
    assert "incompatible devices" in str(e), e
mesh = jax.sharding.Mesh(np.array(jax.devices()), "x")
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
try:
    jax.jit(lambda x: x + 1)(jax.device_put(np.zeros(4, np.float32), sharding)).block_until_ready()
    print("sharded")
except Exception as e:
    print(e)
"""


@unittest.skipUnless(ICD.is_file(), "lavapipe is not there")
class TwoDevices(unittest.TestCase):
    def test_two(self):
        with tempfile.TemporaryDirectory() as folder:
            manifest = json.loads(ICD.read_text())
            paths = [str(Path(folder) / name) for name in ("a.json", "b.json")]
            library = manifest["ICD"]["library_path"]
            for k, path in enumerate(paths):
                # The loader takes the same file only once.
                if k == 1:
                    found = next(p for p in (Path(library), *(Path(d) / library for d in (
                        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"))) if p.is_file())
                    copy = Path(folder) / "driver.so"
                    copy.write_bytes(found.read_bytes())
                    manifest["ICD"]["library_path"] = str(copy)
                Path(path).write_text(json.dumps(manifest))
            code, said = script(TWO, VK_DRIVER_FILES=":".join(paths), VK_ICD_FILENAMES=":".join(paths))
        self.assertEqual(code, 0, said)
        self.assertRegex(said, "UNIMPLEMENTED.*shared by 2 devices")
