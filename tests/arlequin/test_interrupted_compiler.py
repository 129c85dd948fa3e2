"""Ctrl-C while a kernel is compiled, wherever it comes: one line, and the exit code of an interrupted run."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arlequin.run.interrupts import pending

ROOT = Path(__file__).parents[2]
RUN = ("run", "bar_wall", "elements=4", "--out", "a.zarr")


def test_ctrl_c_that_a_callback_lost_comes_again():
    """As where LLVM hands over an object: what is raised in a function that C has called goes nowhere."""
    import ctypes

    @ctypes.CFUNCTYPE(None)
    def callback():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), pending():
        callback()  # returns as if nothing had been
        time.sleep(10.0)


def test_an_error_of_what_was_half_made_is_the_interrupt():
    with pytest.raises(KeyboardInterrupt) as caught, pending():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        except KeyboardInterrupt:
            raise KeyError("a library that is half made") from None
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_without_ctrl_c_stays_one():
    with pytest.raises(KeyError), pending():
        raise KeyError


def test_an_interrupted_exec_does_not_end_the_process_by_a_signal(tmp_path):
    """As in a library that makes its functions by exec, while it is imported."""
    lines = (
        "import os, signal, sys, time",
        "from arlequin.run.interrupts import pending",
        "pressed = 'os.kill(os.getpid(), signal.SIGINT); time.sleep(1.0)'",
        "try:",
        "    with pending():",
        "        exec(pressed)",
        "except KeyboardInterrupt:",
        "    sys.exit(1)",
    )
    (tmp_path / "interrupted.py").write_text("\n".join(lines))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    ended = subprocess.run([sys.executable, "-m", "interrupted"], env=environment, cwd=tmp_path)
    assert ended.returncode == 1


@pytest.mark.slow
def test_while_kernels_are_compiled(tmp_path):
    chance = random.Random(0)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(8):
        words = [sys.executable, "-m", "arlequin.cases.cli.command", *RUN, "--force"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        running = subprocess.Popen(words, env=environment, cwd=tmp_path, **pipes)
        time.sleep(chance.uniform(2.0, 12.0))
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        err = err.removeprefix("arlequin: compiling kernels, once on this machine\n")
        ended = running.returncode == 0 and not err  # it was faster
        assert ended or (
            running.returncode == 1 and err.startswith("arlequin: interrupted") and err.count("\n") == 1
        ), err
