"""Fuzzed calls of the command line and of Python: no traceback, no hang, no infinite result (`python tests/fuzz`)."""

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz"


def fuzz(*words):
    done = subprocess.run([sys.executable, str(FUZZ), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("kind", [(), ("--python",)], ids=["commands", "python"])
def test_some_calls(kind):
    fuzz("3", "--seed", "11", "--limit", "2", "--grace", "120", *kind)  # kernels may have to be compiled


@pytest.mark.slow
@pytest.mark.parametrize("kind", [(), ("--python",)], ids=["commands", "python"])
def test_two_hundred_calls(kind):
    fuzz("200", "--seed", "12", "--limit", "3", "--grace", "120", *kind)
