"""Other codes: their scripts run in interpreters of their own, with one thread, and print one line of JSON."""

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def processor_time() -> float:
    """Processor time (s) of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(script: str, python: str, *arguments: str, ours: bool = False) -> dict[str, Any]:
    """The results of one run of a script of this folder, with the processor time of its process, s, as "whole";
    RuntimeError with the reason where there are none. arguments: of the script; ours: with this checkout's Arlequin."""
    environment = {**os.environ, **ONE_THREAD}
    if ours:
        environment["PYTHONPATH"] = str(FOLDER.parent.parent)
    begin = processor_time()
    try:
        command = [python, str(FOLDER / script), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(str(error)) from error
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return {**json.loads(done.stdout.splitlines()[-1]), "whole": processor_time() - begin}
