"""A mass on a spring, recorded without a solver: a user's case file.

Made by hand from the closed form, so that the command line is tested alone.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.models.checks import positive, positive_integer, within
from arlequin.models.errors import UserError
from arlequin.results.recorder import Recorder, Variable


@dataclass(frozen=True)
class Parameters:
    mass: Annotated[float, Quantity("kg", "mass", positive)] = 2.0
    stiffness: Annotated[float, Quantity("N/m", "stiffness of the spring", positive)] = 8.0
    theta: Annotated[float, Quantity("1", "share of the end of the step", within, 0.5, 1.0)] = 0.5
    steps: Annotated[int, Quantity("1", "number of steps", positive_integer)] = 100
    shape: Annotated[Literal["cosine", "sine"], Quantity("", "start")] = "cosine"
    damped: Annotated[bool, Quantity("", "unused")] = False
    limit: Annotated[float | None, Quantity("m", "largest displacement", positive)] = None
    note: Annotated[str, Quantity("", "free text")] = "none"
    fault: Annotated[Literal["", "interrupt", "disk", "diverge", "memory", "bug"], Quantity("", "what fails")] = ""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1.0:
            raise UserError.parameter("limit", self.limit, "must be at least the amplitude, 1 m")


FAULTS = {
    "interrupt": KeyboardInterrupt(),
    "disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere"),
    "diverge": UserError("step 50 did not converge: take a smaller step", code=1),
    "memory": MemoryError("Unable to allocate 1 PiB"),
    "bug": AssertionError("a bug"),
}


def run(parameters, record, progress):
    kinds = {"kind": ("kinetic", "strain")}
    variables = [
        Variable("", "energy", ("time", "kind"), (2,), "J", "energy", coords=kinds),
        Variable("", "balance", ("time",), (), "1", "relative energy balance"),
        Variable("part/mass", "displacement", ("frame", "node", "component"), (1, 1), "m", "displacement"),
        Variable("part/mass", "position", ("node", "axis"), (), "m", "position", np.zeros((1, 1))),
    ]
    n = parameters.steps
    about = {"scheme": "closed form", "step": 0.01}
    recorder = Recorder(record, variables, steps=n, frames=n + 1, attributes=about)
    omega = np.sqrt(parameters.stiffness / parameters.mass)
    for k in range(n + 1):
        t = 0.01 * k
        u, v = np.cos(omega * t), -omega * np.sin(omega * t)
        energy = [[parameters.mass * v**2 / 2, parameters.stiffness * u**2 / 2]]
        recorder.append([t], {("", "energy"): energy, ("", "balance"): [0.0]})
        recorder.append_frames([t], {("part/mass", "displacement"): [[[u]]]})
        if progress is not None:
            progress(k, n)
        if parameters.fault and k == n // 2:
            recorder.close()
            raise FAULTS[parameters.fault]
    return recorder.close({"wall_time_per_step": 1e-6})


def reference(parameters):
    return parameters.stiffness / 2


def check(result, parameters):
    total = float(result["energy"].isel(time=-1).sum())
    return [
        Check("energy", total, reference(parameters), 1e-12 if parameters.shape == "cosine" else -1.0, "J"),
        Check("balance", float(abs(result["balance"]).max()), 0.0, 1e-12, "1", "at most"),
    ]


def figures(result, parameters):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot(result["time"], result["energy"])
    return {"the motion": figure}
