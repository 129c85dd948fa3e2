"""The block impact of `impact.py` with Arlequin and other codes on one machine, in alternating runs.

    python tests/compared [--getfem PYTHON] [--akantu PYTHON] [--rounds N]

Each code runs in new processes of its own interpreter, in which its Python module is installed (`python3-getfem` of
Debian; `pip install akantu`), with one thread. Times are processor time, of each the shortest of the rounds; "start-up"
is the time from the start of the interpreter to the first step. The first run of Arlequin on a machine compiles its
kernels. Arlequin audits the energies at each step and stores fields, the scripts of the others the mean velocity only.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import impact
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parent
TIMES = ("whole", "start-up", "step")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def processor_time() -> float:
    """Processor time (s) of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(code: str, python: str) -> dict[str, Any]:
    """The results of one run of the script of `code`; RuntimeError with the reason where there are none."""
    environment = {**os.environ, **ONE_THREAD}
    if code == "arlequin":
        environment["PYTHONPATH"] = str(FOLDER.parent.parent)
    command = [python, str(FOLDER / f"block_impact_{code}.py")]
    begin = processor_time()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(str(error)) from error
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return {**json.loads(done.stdout.splitlines()[-1]), "whole": processor_time() - begin}


def tabulate(results: list[dict[str, Any]]) -> Table:
    """One line for each code and one for the exact solution."""
    table = Table(title="processor time (s, step in ms) and results", title_justify="left")
    headings = ("whole", "start-up", "step", "steps", "contact (µs)", "rebound (m/s)", "change of energy")
    for heading in ("code", "version", *headings):
        table.add_column(heading, justify="right" if heading in headings else "left")
    for result in results:
        table.add_row(
            result["code"],
            result["version"],
            f"{result['whole']:.2f}",
            f"{result['start-up']:.2f}",
            f"{1e3 * result['step']:.2f}",
            f"{result['steps']}",
            f"{1e6 * result['contact']:.2f}",
            f"{result['rebound']:.3f}",
            f"{100 * result['energy']:+.2f} %",
        )
    exact = (f"{1e6 * impact.CONTACT_DURATION:.2f}", f"{impact.VELOCITY:.3f}", "0")
    table.add_row("exact", "", "", "", "", "", *exact)
    return table


def load() -> str:
    """The load averages of the last 1, 5 and 15 minutes."""
    return "load averages " + " ".join(f"{value:.2f}" for value in os.getloadavg())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/compared", description="The same impact with several codes.")
    for code in ("getfem", "akantu"):
        parser.add_argument(f"--{code}", metavar="PYTHON", help=f"the interpreter in which {code} is installed")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each code, alternating; 3")
    arguments = parser.parse_args()
    pythons = {"arlequin": sys.executable, "getfem": arguments.getfem, "akantu": arguments.akantu}

    begin = load()
    best: dict[str, dict[str, Any]] = {}
    skipped = {code: f"no interpreter, --{code} PYTHON" for code, python in pythons.items() if python is None}
    for _ in range(arguments.rounds):
        for code in [code for code in pythons if code not in skipped]:
            try:
                result = run(code, pythons[code])
            except RuntimeError as error:
                skipped[code] = str(error)
                best.pop(code, None)
                continue
            shortest = {key: min(result[key], best.get(code, result)[key]) for key in TIMES}
            best[code] = {**result, **shortest}

    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(tabulate(list(best.values())))
    for result in best.values():
        console.print(f"{result['code']}: {result['method']}", highlight=False)
    for code, reason in skipped.items():
        console.print(f"{code} skipped: {reason}", highlight=False)
    console.print(f"{begin} at the start, {load().removeprefix('load averages ')} at the end", highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
