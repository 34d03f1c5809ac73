"""The service of examples/ray, on two actors of this machine."""

import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import GLYPHS, ROOT

EXAMPLE = ROOT / "examples" / "ray"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None and "python" not in os.environ.get("TOSAVK_REQUIRE", "").split(","),
    reason="ray is missing",
)


def run(*arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(EXAMPLE), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=600, env=environment, cwd=EXAMPLE
    )


def test_a_killed_actor_loses_no_request():
    said = run("glyphs.py", "--actors", "2", "--requests", "300", "--kill")
    assert said.returncode == 0, said.stderr
    assert "300 of 300 requests answered" in said.stdout
    assert said.stdout.count("requests, was killed") == 1


def test_what_is_wrong_with_a_request_is_told_to_its_caller_alone():
    program = """if True:
        import asyncio, logging, os, sys
        import numpy as np, ray, tosavk
        from service import Service, all_devices

        class Poison:
            def __reduce__(self):
                return os._exit, (1,)

        async def outcome(call):
            try:
                return (await call).shape
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        async def main():
            service = Service(sys.argv[1], all_devices()[:1])
            good = np.load(sys.argv[2])
            calls = [service(good), service(np.zeros((3, 3), np.int8)), service(), service(good)]
            for said in await asyncio.gather(*map(outcome, calls)):
                print(said)
            calls = [service(good), service(Poison()), service(good)]
            for said in await asyncio.gather(*map(outcome, calls)):
                print(said)
            print(service.deaths)
            await service.close()
            print(await outcome(service(good)))

        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        asyncio.run(main())
    """
    said = run("-c", program, str(GLYPHS / "glyphs_int8.tflite"), str(GLYPHS / "samples" / "sample_W.int8.npy"))
    assert said.returncode == 0, said.stderr
    lines = [line for line in said.stdout.splitlines() if "(raylet)" not in line]  # which speaks of deaths
    assert lines[0] == lines[3] == lines[4] == lines[6] == "(1, 36)"
    assert lines[1].startswith("BadInputError: ") and lines[2].startswith("UsageError: ")
    assert lines[5] == "RuntimeError: 3 actors died with the request"
    assert lines[7:] == ["[3]", "RuntimeError: the service has no actor"]
