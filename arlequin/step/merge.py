"""Parts of a step as one step."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arlequin.energy import Work
from arlequin.step.impulses import ContactImpulses
from arlequin.step.state import StepReport


def merge_load_steps(reports: Sequence[StepReport]) -> StepReport:
    """Load steps: forces at the end, works and paths of all."""
    last = reports[-1].action
    names = "slip", "friction_work_per_mu", "friction_loss"
    lengths = {name: sum(getattr(report.action, name) for report in reports) for name in names}
    return _joined(reports, replace(last, **lengths))


def merge_time_steps(reports: Sequence[StepReport]) -> StepReport:
    """Steps in time: impulses, works and paths of all."""
    action = ContactImpulses.none(reports[-1].kinematics)
    points, rows = np.ones_like(action.normal, dtype=bool), np.ones_like(action.spread, dtype=bool)
    for report in reports:
        action.add(report.action, points, rows)
    return replace(
        _joined(reports, action),
        impulse=np.sum([report.impulse for report in reports], axis=0),
        multipliers=np.sum([report.multipliers for report in reports], axis=0),
    )


def _joined(reports: Sequence[StepReport], action: ContactImpulses) -> StepReport:
    last = reports[-1]
    work = Work(np.sum([report.work.values for report in reports], axis=0))
    work.values[:3] = last.work.values[:3]
    return replace(
        last,
        iterations=sum(report.iterations for report in reports),
        residual=max(report.residual for report in reports),
        work=work,
        path=np.sum([report.path for report in reports], axis=0),
        action=action,
        newton=sum(report.newton for report in reports),
    )
