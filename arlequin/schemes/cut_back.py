"""Load steps that are halved until each part of them finds its equilibrium."""

from dataclasses import replace

import numpy as np

from arlequin.energy import Work
from arlequin.schemes.scheme import State, StepReport
from arlequin.schemes.static import StaticStepper
from models.errors import FAILURE, UserError

_HALVES = 8  # times a load step is halved at most


class CutBackStepper:
    """Load steps of parts that remember: what the points go through in a part of a step is committed with it."""

    def __init__(self, stepper: StaticStepper) -> None:
        self.step = stepper.step
        self._stepper = stepper

    def start(self, u: np.ndarray, v: np.ndarray) -> State:
        """The state at t = 0."""
        return self._stepper.start(u, v)

    def advance(self, state: State) -> tuple[State, StepReport]:
        """One load step; places in it are counted in its smallest parts."""
        n, whole = state.n, 2**_HALVES
        done, size, reports = 0, whole, []
        while done < whole:
            ends = (n + done / whole) * self.step, (n + (done + size) / whole) * self.step
            try:
                state, report = self._stepper.load(state, *ends)
            except UserError as error:
                if error.code != FAILURE:
                    raise
                if size == 1:
                    raise UserError(f"{error} (the load step was cut to 1/{whole} of it)", code=FAILURE) from error
                size //= 2
                continue
            reports.append(report)
            done += size
            if size < whole and done % (2 * size) == 0:
                size *= 2
        return replace(state, n=n + 1), _merged(reports)


def _merged(reports: list[StepReport]) -> StepReport:
    """The parts of a step as one: forces at its end, works and paths of all."""
    last = reports[-1]
    if len(reports) == 1:
        return last
    work = Work(np.sum([report.work.values for report in reports], axis=0))
    work.values[:3] = last.work.values[:3]
    action = replace(
        last.action,
        slip=np.sum([report.action.slip for report in reports], axis=0),
        wear=np.sum([report.action.wear for report in reports], axis=0),
        rubbed=np.sum([report.action.rubbed for report in reports], axis=0),
    )
    return replace(
        last,
        iterations=sum(report.iterations for report in reports),
        residual=max(report.residual for report in reports),
        work=work,
        path=np.sum([report.path for report in reports], axis=0),
        action=action,
        newton=sum(report.newton for report in reports),
    )
