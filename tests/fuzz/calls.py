"""Calls in a process of their own, under a limit of time: Ctrl-C at the limit, and what does not hear it is killed."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START = 120.0  # s, for a new process to answer its first call


@dataclass(frozen=True)
class Outcome:
    """code: 0, 1 or 2; None for a traceback, -1 for an infinite result, -2 for several lines, -9 for a hang."""

    kind: str
    given: list[str]
    code: int | None
    says: list[str]
    seconds: float

    @property
    def good(self) -> bool:
        return self.code in (0, 1, 2)


class Caller:
    """Makes calls. limit: seconds until Ctrl-C; grace: seconds in which it must be heard."""

    def __init__(self, limit: float = 3.0, grace: float = 5.0) -> None:
        self.limit, self.grace = limit, grace
        self._process: subprocess.Popen[str] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz")
        self._places = Path(self._folder.name) / "places"

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._folder.cleanup()

    def __call__(self, kind: str, given: list[str]) -> Outcome:
        """One call."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"kind": kind, "given": given}) + "\n")
        process.stdin.flush()
        found = self._read(process, self.limit)
        interrupted = found is None
        if found is None:
            process.send_signal(signal.SIGINT)
            found = self._read(process, self.grace)
        if found is None:
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            self._end()
            found = {"code": -9, "says": self._places.read_text().splitlines()[:12], "seconds": self.limit + self.grace}
        if interrupted:  # as in life: an import or a compilation that was cut short is not gone on with
            self._end()
        return Outcome(kind, given, found["code"], found["says"], found["seconds"])

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("worker.py")), str(self._places)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                cwd=self._folder.name, env={**os.environ, "PYTHONPATH": str(ROOT), "ARLEQUIN_DEBUG": "1"},
            )  # fmt: skip
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"kind": "command", "given": ["cases"]}) + "\n")
            self._process.stdin.flush()
            if self._read(self._process, START) is None:
                raise RuntimeError("the process for the calls does not start")
        return self._process

    def _read(self, process: "subprocess.Popen[str]", seconds: float) -> dict[str, Any] | None:
        """The answer; None where there is none in time."""
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], seconds)[0]:
            return None
        line = process.stdout.readline()
        if not line:
            return {"code": None, "says": [f"the process died with {process.wait()}"], "seconds": seconds}
        found: dict[str, Any] = json.loads(line)
        return found

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
