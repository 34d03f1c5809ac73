"""tosavk.jax: what it registers, and the plug-in in the real JAX, in an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tosavk

IN_JAX = """
import jax, jax.numpy as jnp, numpy as np
device = jax.devices("tosavk")[0]
assert device.platform == "tosavk"
step = jax.jit(lambda x: jnp.tanh(x) + 1, donate_argnums=0)
x = jax.device_put(np.ones(8, np.float32), device)
y = step(x)
assert x.is_deleted(), "donation is not registered"
np.testing.assert_allclose(np.asarray(y), np.tanh(1) + 1, rtol=1e-5)
import tosavk
did = tosavk.jax.counters()
assert did["dispatches"] > 0, did
try:
    tosavk.jax.configure(precision="fp16")
except tosavk.UsageError:
    print("passed", jax.default_backend())
"""


def test_the_library_is_in_the_package():
    assert tosavk.jax.library().is_file()


def test_without_jax():
    """The package does not need it."""
    code = "import sys; sys.modules['jax'] = None; import tosavk; tosavk.jax.configure(device='cpu')"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("platforms", ["tosavk,cpu", None])
def test_in_jax(platforms, tmp_path):
    python = os.environ.get("TOSAVK_JAX_PYTHON")
    if not python:
        pytest.skip("JAX is not there (scripts/jax-runtime)")
    site = Path(tosavk.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(site), "TOSAVK_CACHE_DIR": str(tmp_path)}
    environment.pop("JAX_PLATFORMS", None)
    if platforms:
        environment["JAX_PLATFORMS"] = platforms
    done = subprocess.run([python, "-c", IN_JAX], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    # lavapipe alone is no reason to leave JAX's own CPU.
    wanted = {"tosavk"} if platforms else {"cpu", "tosavk"}
    assert done.stdout.split()[0] == "passed" and done.stdout.split()[1] in wanted, done.stdout
