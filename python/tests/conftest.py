"""What the tests share. They run against the installed package: `pytest` from the project's root."""

import os
from pathlib import Path

import numpy as np
import pytest

import tosavk

ROOT = Path(__file__).resolve().parents[2]
GLYPHS = ROOT / "examples" / "glyphs"


def pytest_report_header() -> str:
    return f"tosavk {tosavk.__version__} from {Path(tosavk.__file__).parent}"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ.setdefault("TOSAVK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def glyphs() -> tosavk.Network:
    return tosavk.load(GLYPHS / "glyphs_int8.tflite")


@pytest.fixture(scope="session")
def glyphs_float() -> tosavk.Network:
    return tosavk.load(GLYPHS / "glyphs_fp32.tflite")


@pytest.fixture
def letter() -> np.ndarray:
    return np.load(GLYPHS / "samples" / "sample_W.int8.npy")


@pytest.fixture(scope="session")
def doubled() -> tosavk.Network:
    b = tosavk.Builder("doubled")
    x = b.input("x", (2, 3))
    b.output(b.mul(x, np.full((1, 3), 2, np.float32), np.zeros(1, np.int8)))
    return b.build()


def counting(turns: int) -> tosavk.Network:
    """A loop that counts to `turns`, each turn decided by the host."""
    b = tosavk.Builder("counting")
    start = b.input("start", (1,), "i32")
    condition, body = b.region("condition"), b.region("body")
    k = condition.input("k", (1,), "i32")
    condition.output(condition.greater(condition.constant([turns]), k))
    k = body.input("k", (1,), "i32")
    body.output(body.add(k, body.constant([1])))
    b.output(b.while_loop(start, regions=[condition, body]))
    return b.build()
