"""Programs under `mpiexec`, for tests of runs on several ranks."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

# one thread a rank, more ranks than cores, and as root, as in containers (Open MPI)
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def missing() -> str:
    """What this machine lacks for runs on several ranks; empty where it has all."""
    if shutil.which("mpiexec") is None:
        return "mpiexec is not installed"
    return "" if importlib.util.find_spec("mpi4py") else "mpi4py is not installed"


def command(count: int, program: str | Path | Sequence[Any]) -> list[str]:
    """`mpiexec -n count` of a script (its text, or its path) or of the words after `python`."""
    if isinstance(program, Path):
        words = [str(program)]
    elif isinstance(program, str):
        words = ["-c", program]
    else:
        words = list(map(str, program))
    return ["mpiexec", "-n", str(count), sys.executable, *words]


@pytest.fixture
def start() -> Callable[..., "subprocess.Popen[str]"]:
    """start(count, program): the process of `mpiexec`; it is killed with its ranks where the test leaves it running."""
    if why := missing():
        pytest.skip(why)
    begun = []

    def begin(count: int, program: Any, **environment: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command(count, program),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **SETTINGS, **environment},
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)  # ends its ranks, which have groups of their own
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


@pytest.fixture
def mpiexec(start: Callable[..., "subprocess.Popen[str]"]) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """mpiexec(count, program, timeout=240): `mpiexec -n count python …` to its end: returncode, stdout, stderr.

    program: the text of a script, its path, or the words after `python`, such as ["-m", "arlequin.cases.cli.command",
    "run", "bar_wall"]. Skips the test where mpi4py or mpiexec is missing, fails it after so many seconds.
    """

    def run(count: int, program: Any, timeout: float = 240.0, **environment: str) -> "subprocess.CompletedProcess[str]":
        process = start(count, program, **environment)
        try:
            out, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, errors = process.communicate()
            pytest.fail(f"{count} ranks ran for more than {timeout:g} s:\n{out}\n{errors}")
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

    return run
