"""Selections of cases on the device as on the CPU: JAX's own of its primitives, see primitive_cases.py, and of its public
functions, see api_cases.py. $TOSAVK_JAX_CASES (240) and $TOSAVK_JAX_API_CASES (100) say how many.
"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path


class Cases(unittest.TestCase):
    def expect_as_on_the_cpu(self, program, count):
        path = Path(__file__).parent / program
        done = subprocess.run([sys.executable, path, "--count", str(count)], stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        same = int(re.search(r"failed;.* (\d+) the same", done.stdout)[1])
        self.assertGreater(same, 0.9 * count)
        self.assertGreater(int(re.search(r"(\d+) dispatches", done.stdout)[1]), same)

    def test_primitives(self):
        self.expect_as_on_the_cpu("primitive_cases.py", int(os.environ.get("TOSAVK_JAX_CASES") or 240))

    def test_public_functions(self):
        self.expect_as_on_the_cpu("api_cases.py", int(os.environ.get("TOSAVK_JAX_API_CASES") or 100))
