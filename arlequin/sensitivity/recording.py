"""What a run records of steps that are given: of solved ones, and of neighbouring ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.energy import BulkWork, Forces, WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.results.history import TimeSeries
from arlequin.results.recorder import Record
from arlequin.results.variables import Key
from arlequin.run.audit import Audit
from arlequin.schemes.theta_audit import SolvedSteps, StepEnergies, audited
from arlequin.sensitivity.models_at import StudyModel
from arlequin.sensitivity.step_equations import ThetaEquations
from arlequin.sensitivity.trajectory import Block
from arlequin.step.batch import StepBatch


class RecordedSteps:
    """The series that a run of a model records of given steps; blocks one after the other."""

    def __init__(self, model: StudyModel, record: Record, first: StepBatch | None = None) -> None:
        study = model.study
        self._model, self._equations = model, ThetaEquations(model)
        self._history = TimeSeries(model.assembly, study.step, study.steps, record, False, False, None)
        state = model.first
        self._asperity = state.asperity
        self._audit = Audit(state.kinetic, *state.stored, ())
        start = StepBatch.initial(model.assembly, state, self._audit.start)
        self._history.add(start, self._audit.start[None], np.zeros(start.works.shape[:-1]))

    @property
    def history(self) -> TimeSeries:
        """The series, for their variables."""
        return self._history

    def add(self, block: Block, springs: Array, normal: Array) -> None:
        """The steps of a block, in the coordinates of the assembly; springs (b + 1, r), Pa; normal (b, 3, k): normal
        impulses of the laws, stored, dissipated and of multipliers, N·s."""
        batch = recorded(self._equations, block, springs, normal, self._asperity)
        self._asperity = float(batch.works[-1, 2])
        table, _ = self._audit.add(batch.works)
        self._history.add(batch, table, np.zeros(len(batch)))

    def take(self) -> tuple[tuple[Array, dict[Key, Array]], tuple[Array, dict[Key, Array]]]:
        """See `TimeSeries.take`."""
        return self._history.take()


def recorded(equations: ThetaEquations, block: Block, springs: Array, normal: Array, asperity: float) -> StepBatch:
    """What a run records of the steps of a block, see `RecordedSteps.add`; asperity: energy of the laws before, J."""
    model, theta, step = equations.model, equations.theta, equations.step
    assembly, contact = model.assembly, model.assembly.contact
    u, v, y = block.u, block.v, equations.y(block)
    forces = applied(assembly.stiffness, u)
    strain = 0.5 * np.vecdot(u, forces)
    momentum = applied(assembly.mass, v)
    mean = (1.0 - theta) * forces[:-1] + theta * forces[1:]
    external = equations.mean_loads(model.loads(block.n, len(block)))
    damping = np.zeros_like(y) if assembly.viscous is None else applied(assembly.viscous, y)
    reaction, dofs = np.zeros_like(y), assembly.imposed_dofs
    if dofs.size:
        given = applied(sp.csr_array(assembly.constraints.T), block.multipliers)
        given += applied(sp.csr_array(contact.basis.T), block.impulse)
        missing = (np.diff(momentum, axis=0) - given) / step + mean + damping - external
        reaction[:, dofs] = missing[:, dofs]
    paths = WorkPaths.mean(step * y, 0.5 * step * (v[:-1] + v[1:]))
    bulk = BulkWork.of(assembly, step, Forces(mean, damping, external, reaction), block.multipliers, paths, y)
    kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
    if contact.wear_rate is not None:
        kinematics = kinematics.worn(WearState(block.depth, block.opening))
    none = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=u[1:], v=v[1:], gaps=kinematics.gaps(applied(contact.basis, u[1:])), multipliers=block.multipliers,
        impulse=block.impulse, normal=normal, status=block.status, iterations=none, residual=np.zeros(len(block)),
        newton=none, springs=(springs[:-1], springs[1:]) if assembly.laws.has_elastic_stick else None,
    )  # fmt: skip
    energies = StepEnergies(0.5 * np.vecdot(v[1:], momentum[1:]), strain, asperity)
    rows = applied(contact.basis, paths.du), applied(contact.basis, paths.path)
    scheme = block.n + 1, step, theta
    batch = audited(assembly, solved, bulk, energies, kinematics, rows, assembly.laws.gap_rows, scheme)
    if contact.wear_rate is not None:
        batch = replace(batch, worn=block.depth + contact.wear_rate * batch.contact.friction_work_per_mu)
    return batch if not dofs.size else replace(batch, reactions=step * reaction[:, dofs])


def difference(one: Any, other: Any, apart: float) -> Any:
    """(one − other)/apart of what two `RecordedSteps` give."""
    (time, rows), (frame_time, frames) = one
    (_, other_rows), (_, other_frames) = other
    each = (
        {key: (own[key] - against[key]) / apart for key in own}
        for own, against in ((rows, other_rows), (frames, other_frames))
    )
    return (time, next(each)), (frame_time, next(each))
