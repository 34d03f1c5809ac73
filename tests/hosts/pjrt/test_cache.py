"""Programs that one process compiled, in another one: from the cache folder, and as bytes."""
import json
import os
import tempfile
import unittest
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable

from support import Case, counters, random, script

PROGRAM = """
import json, sys
import jax, jax.numpy as jnp
from jax import lax
import numpy as np
from support import counters

@jax.jit
def f(x, key):
    x = jnp.tanh(x @ x.T) + jax.random.normal(key, (6, 6))
    return {"loop": lax.fori_loop(0, 5, lambda k, y: y * 0.5 + k, x), "n": (x > 0).sum(), "empty": x[:0],
            "z": jnp.fft.fft(x[0]), "sorted": jnp.sort(x.ravel())[:3]}

step = jax.jit(lambda x: x + 1, donate_argnums=0)
given = jax.device_put(np.zeros(9, np.float32))
results = dict(f(np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3), jax.random.key(3)), step=step(given))
assert given.is_deleted()
said = {name: np.asarray(value).tobytes().hex() for name, value in results.items()}
print("said", json.dumps([said, counters()]))
"""


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def run_once(self, **variables):
        """What came out, and the counters."""
        code, said = script(PROGRAM, TOSAVK_CACHE_DIR=str(self.folder), TOSAVK_SEED="", **variables)
        self.assertEqual(code, 0, said)
        return json.loads(next(line for line in said.splitlines() if line.startswith("said "))[5:])

    def programs(self):
        return sorted(self.folder.glob("programs/*.program"))

    def test_second_process(self):
        """It compiles nothing: neither is a program lowered, nor GLSL compiled."""
        first, before = self.run_once()
        self.assertGreater(before["shaders_compiled"], 0)
        self.assertEqual(before["restored"], 0)
        self.assertEqual(len(self.programs()), before["lowerings"])
        second, after = self.run_once()
        self.assertEqual(second, first)
        self.assertEqual((after["lowerings"], after["shaders_compiled"]), (0, 0))
        self.assertEqual(after["restored"], before["lowerings"])
        self.assertEqual((after["dispatches"], after["donations"]), (before["dispatches"], before["donations"]))
        for shaders in self.folder.glob("*.cache"):  # the programs have what they need themselves
            shaders.unlink()
        third, after = self.run_once()
        self.assertEqual(third, first)
        self.assertEqual((after["lowerings"], after["shaders_compiled"]), (0, 0))

    def test_another_build(self):
        """The same version of the library, built anew, may lower programs otherwise."""
        first, before = self.run_once()
        library = next(Path(os.environ["TOSAVK_PJRT"]).parent.glob("libtosavk.so.1.*"))
        os.utime(library)
        second, after = self.run_once()
        self.assertEqual(second, first)
        self.assertEqual((after["lowerings"], after["restored"]), (before["lowerings"], 0))

    def test_damaged(self):
        """As if it were not there, and mended."""
        first, before = self.run_once()
        whole = [path.read_bytes() for path in self.programs()]
        for k, (path, data) in enumerate(zip(self.programs(), whole)):
            at = len(data) // 2
            path.write_bytes((data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], b"", data + b"x")[k % 4])
        second, after = self.run_once()
        self.assertEqual(second, first)
        self.assertEqual((after["restored"], after["lowerings"]), (0, before["lowerings"]))
        self.assertEqual([len(path.read_bytes()) for path in self.programs()], [len(data) for data in whole])

    def test_another_precision(self):
        """Other options, another program."""
        _, before = self.run_once()
        code, said = script("""
import jax, numpy as np
from support import counters
compiled = jax.jit(lambda x: x + 1, donate_argnums=0, compiler_options={"precision": "fp16"})
np.asarray(compiled(jax.device_put(np.zeros(9, np.float32))))
assert counters()["restored"] == 0, counters()
""", TOSAVK_CACHE_DIR=str(self.folder))
        self.assertEqual(code, 0, said)
        self.assertEqual(len(self.programs()), before["lowerings"] + 1)

    def test_limit(self):
        self.run_once(TOSAVK_CACHE_LIMIT_MIB="0")
        self.assertEqual(self.programs(), [])
        _, counted = self.run_once(TOSAVK_NO_CACHE="1")
        self.assertEqual((self.programs(), counted["restored"]), ([], 0))

    def test_oldest_go(self):
        """Above the limit what was used longest ago is removed."""
        programs = self.folder / "programs"
        programs.mkdir()
        for name in ("a" * 64, "b" * 64):
            (programs / f"{name}.program").write_bytes(bytes(1 << 20))
        self.run_once(TOSAVK_CACHE_LIMIT_MIB="1")
        self.assertLess(sum(path.stat().st_size for path in self.programs()), 1 << 20)
        self.assertNotIn("a" * 64, [path.stem for path in self.programs()])
        self.assertTrue(self.programs())


class Bytes(Case):
    def serialized(self):
        weights = random(8, 8)
        compiled = jax.jit(lambda x: (jnp.sin(x) @ weights, x.sum()), donate_argnums=0).lower(jnp.ones((8, 8)))
        return serialize_executable.serialize(compiled.compile()), weights

    def test_loaded(self):
        """Without the front end, with its types and donation."""
        (data, *trees), weights = self.serialized()
        before = counters()
        loaded = serialize_executable.deserialize_and_load(data, *trees)
        self.assertEqual(counters()["lowerings"], before["lowerings"])
        self.assertEqual(counters()["shaders_compiled"], before["shaders_compiled"])
        x = jnp.ones((8, 8))
        product, total = loaded(x)
        self.assertTrue(x.is_deleted())
        self.close(product, np.sin(np.ones((8, 8), np.float32)) @ weights)
        self.assertEqual(float(total), 64)

    def test_refused(self):
        """Bytes that are cut off, altered, or of another version."""
        (data, *trees), _ = self.serialized()
        start = data.index(b"tosavk-pjrt-executable-2")

        def refused(altered, about):
            with self.assertRaisesRegex(Exception, about):
                serialize_executable.deserialize_and_load(altered, *trees)

        at = data.index(b"fingerprint")
        refused(data[: start + 10] + b"X" + data[start + 11 :], "no executable of this version")
        refused(data[:at] + b"X" + data[at + 1 :], "damaged")
        middle = data.index(b"TOSA", at)
        refused(data[:middle] + b"\0" + data[middle + 1 :], "damaged")
