"""A selection of JAX's own cases of its primitives, see primitive_cases.py. $TOSAVK_JAX_CASES says how many (400)."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

COUNT = int(os.environ.get("TOSAVK_JAX_CASES") or 400)


class Primitives(unittest.TestCase):
    def test_as_on_the_cpu(self):
        program = Path(__file__).parent / "primitive_cases.py"
        done = subprocess.run([sys.executable, program, "--count", str(COUNT)], stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        same = int(re.search(r"(\d+) the same", done.stdout)[1])
        self.assertGreater(same, 0.9 * COUNT)
        self.assertGreater(int(re.search(r"(\d+) dispatches", done.stdout)[1]), same)
