"""The programs of examples/python make their pictures."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT


@pytest.mark.parametrize("name, says", [("julia", "0 tensors went through the host"), ("glyphs", "samples read right")])
def test_pictures(name, says, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / f"{name}.png"
    program = ROOT / "examples" / "python" / f"{name}.py"
    said = subprocess.run([sys.executable, str(program), str(path)], capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert says in said.stdout
    picture = np.asarray(image.open(path))
    assert picture.std() > 20, "there is something to see"
