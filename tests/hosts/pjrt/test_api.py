"""A selection of the cases of JAX's public functions, see api_cases.py. $TOSAVK_JAX_API_CASES says how many (150)."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

COUNT = int(os.environ.get("TOSAVK_JAX_API_CASES") or 150)


class PublicFunctions(unittest.TestCase):
    def test_as_on_the_cpu(self):
        program = Path(__file__).parent / "api_cases.py"
        done = subprocess.run([sys.executable, program, "--count", str(COUNT)], stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        same = int(re.search(r"failed; (\d+) the same", done.stdout)[1])
        self.assertGreater(same, 0.9 * COUNT)
        self.assertGreater(int(re.search(r"(\d+) dispatches", done.stdout)[1]), same)
