"""The impact of a block with Arlequin and other codes on one machine, in alternating runs of one thread."""

import sys
from typing import Any

import block_impact_data as impact
import peers
from page import Section

TIMES = ("whole", "start-up", "step")
TEXT = f"""A steel block of 0.1 × 0.02 m (200 × 40 linear quadrilaterals, plane strain, ν = 0) hits a rigid wall at
10 m/s; 0.1 ms. Exact: contact of {1e6 * impact.CONTACT_DURATION:.2f} µs, rebound at {impact.VELOCITY:g} m/s, energy
conserved. Processor time, the shortest of {{rounds}} rounds."""
REMARK = """Start-up is the time from the start of the interpreter to the first step. Arlequin audits the energies at
each step and stores fields, the scripts of the others the mean velocity only; what it loses is the kinetic energy of
the nodes on the wall, which stop in one step (column `impact`)."""


def section(pythons: dict[str, str | None], rounds: int) -> Section:
    """pythons: by code, the interpreter in which it is installed."""
    best: dict[str, dict[str, Any]] = {}
    codes = {"arlequin": sys.executable} | {code: pythons.get(code) for code in ("getfem", "akantu")}
    skipped = {code: f"no interpreter, --{code} PYTHON" for code, python in codes.items() if python is None}
    for _ in range(rounds):
        for code, python in codes.items():
            if code in skipped or python is None:
                continue
            try:
                result = peers.run(f"block_impact_{code}.py", python, ours=code == "arlequin")
            except RuntimeError as error:
                skipped[code] = str(error)
                best.pop(code, None)
                continue
            shortest = {key: min(result[key], best.get(code, result)[key]) for key in TIMES}
            best[code] = {**result, **shortest}
    rows = [
        (
            f"{result['code']} {result['version']}: {result['method']}",
            f"{result['whole']:.1f}",
            f"{result['start-up']:.1f}",
            f"{1e3 * result['step']:.2f}",
            f"{result['steps']}",
            f"{1e6 * result['contact']:.2f}",
            f"{result['rebound']:.3f}",
            f"{100 * result['energy']:+.2f} %",
        )
        for result in best.values()
    ]
    headings = ("code", "whole (s)", "start-up (s)", "step (ms)", "steps", "contact (µs)", "rebound (m/s)", "energy")
    remarks = [REMARK] + [f"{code} was skipped: {reason}." for code, reason in skipped.items()]
    return Section("Impact of a block", TEXT.format(rounds=rounds), headings, rows, remarks)
