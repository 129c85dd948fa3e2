"""The impact of a block with Arlequin and other codes on one machine, in alternating runs of one thread."""

import sys
from typing import Any

import block_impact_data as impact
import peers
from page import Section

TIMES = ("whole", "start-up", "step")
TEXT = f"""A steel block of 0.1 × 0.02 m (200 × 40 linear quadrilaterals, plane strain, ν = 0) hits a rigid wall at
10 m/s; 0.1 ms. Exact: contact of {1e6 * impact.CONTACT_DURATION:.2f} µs, rebound at {impact.VELOCITY:g} m/s, energy
conserved. Processor time of the shortest run of {{rounds}}."""
REMARK = """Start-up is the time from the start of the interpreter to the end of the first step, which loads what it
needs. Arlequin audits the energies at each step and stores fields, the others the mean velocity only (CalculiX also its
energies); what Arlequin loses is the kinetic energy of the nodes on the wall, which stop in one step (column
`impact`)."""


def section(programs: dict[str, str | None], rounds: int) -> Section:
    """programs: by code, the interpreter in which it is installed, or its own program."""
    best: dict[str, dict[str, Any]] = {}
    codes = {"arlequin": sys.executable} | {code: programs.get(code) for code in ("getfem", "akantu", "calculix")}
    skipped = {code: f"no program, --{code} PROGRAM" for code, program in codes.items() if program is None}
    for _ in range(rounds):
        for code, program in codes.items():
            if code in skipped or program is None:
                continue
            command = [sys.executable, program] if code == "calculix" else [program]
            try:
                result = peers.run(f"block_impact_{code}.py", *command, ours=code == "arlequin")
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
