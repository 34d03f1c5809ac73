"""The package as a whole: its types, its documents, and that it is the installed one."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import tosavk


def test_it_is_the_installed_package():
    assert Path(tosavk.__file__).parent != ROOT / "python" / "tosavk", "the tests are for what was installed"
    files = {path.name for path in Path(tosavk.__file__).parent.iterdir()}
    assert {"py.typed", "_native.pyi", "licences", "lib", "share"} <= files


def test_the_version_is_the_librarys():
    import importlib.metadata

    assert tosavk.__version__ == importlib.metadata.version("tosavk")


def test_everything_has_a_docstring():
    for name in tosavk.__all__:
        thing = getattr(tosavk, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for key, member in vars(thing).items():
                if not key.startswith("_") and callable(member):
                    assert inspect.getdoc(member), f"{name}.{key}"


@pytest.mark.parametrize("source", ["", "net: int = tosavk.load('x')", "tosavk.load(7)", "tosavk.Buffer((2,)).numpi()"])
def test_types_are_checked(source, tmp_path):
    """mypy is content with right uses of the package, and sees wrong ones."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nimport tosavk\n"
        "net: tosavk.Network = tosavk.load('x', shapes={0: (1, 2)})\n"
        "fast: tosavk.CompiledNetwork = net.compile(device=0, precision='fp16', cache_dir=None)\n"
        "out = fast(np.zeros(3)); text: str = fast.plan; ok: bool = net.verify().passed\n"
        f"buffer: tosavk.Buffer = tosavk.Buffer((2, 3), np.float32)\n{source}\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (checked.returncode == 0) == (source == ""), checked.stdout + checked.stderr


def test_the_package_is_typed(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "-p", "tosavk"]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
