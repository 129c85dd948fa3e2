"""Audit of batches of steps of linear parts: energies, works and contact for the record."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import BulkWork, Forces, NormalImpulseSplit, WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import ElasticStick, FrictionLoss, gain
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.imposed import reaction
from arlequin.step.impulses import ContactImpulses
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics


class SolvedSteps(NamedTuple):
    """Solution of steps (b, …), of a run or of members: u (…, d), m, and v (…, d), m/s, at their ends; gaps
    (…, k) there, m; impulses of the constraints (…, m) and of contact (…, r), N·s, the normal ones by law (…, 3, k);
    status (…, k); figures of the solvers. springs: tractions of elastic stick (…, r) at both ends, Pa."""

    u: Array
    v: Array
    gaps: Array
    multipliers: Array
    impulse: Array
    normal: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array
    newton: NDArray[np.int64]
    springs: tuple[Array, Array] | None = None


class StepEnergies(NamedTuple):
    """Kinetic energy at the ends (b, …), strain energy at the start and the ends (b + 1, …), energy of the laws at the
    start, J; layer_gap (b, …, k), m: gaps of the layers, where they differ from the gaps; plastic: dissipation, J;
    history (…, l, h): of the laws at the start, None where histories (b, …, l, h), those at the ends, are given, or no
    law has a memory."""

    kinetic: Array
    strain: Array
    asperity: Any
    layer_gap: Array | None = None
    plastic: float = 0.0
    history: Array | None = None
    histories: Array | None = None


class EndImpulses(NamedTuple):
    """Impulses of the velocity projection at the ends of the steps, and their works (b, …, kind), J."""

    contact: ContactImpulses
    works: Array


class BulkEnds(NamedTuple):
    """M v, N·s, K u and D v, N, all (b + 1, d), at the ends of steps."""

    momentum: Array
    internal: Array
    damping: Array

    @classmethod
    def of(cls, assembly: Assembly, u: Array, v: Array) -> Self:
        """From displacements and velocities (b + 1, d)."""
        damping = np.zeros_like(v) if assembly.viscous is None else applied(assembly.viscous, v)
        return cls(applied(assembly.mass, v), applied(assembly.stiffness, u), damping)


def bulk_of(
    assembly: Assembly,
    row: StepCoefficients,
    ends: BulkEnds,
    before: tuple[Array, Array],
    external: Array,
    paths: WorkPaths,
    pulls: tuple[Array, Array],
    projected: Any = 0.0,
) -> tuple[BulkWork, Array, tuple[Array, Array]]:
    """Works of the bulk forces in steps of a scheme, the forces (b, d) of imposed motions, N, and the averages of the
    internal and the damping forces at the end, N (see `StepCoefficients.averaged`).

    before: these averages at the start; external (b, d): means, N; paths: of the steps (b, d); pulls: impulses of the
    constraints (b, m) and on the contact's basis (b, q), N·s; projected (b, d): momenta given by the velocity
    projection at the ends, N·s.
    """
    step, flow = row.step, paths.du / row.step
    internal, damping = row.averaged(ends.internal, before[0]), ends.damping
    mean, drag, drag_of_flow = row.mean(internal), np.zeros_like(flow), None
    if assembly.viscous is not None and row.carries:
        damping = row.averaged(ends.damping, before[1])
        drag = row.mean(damping)
    elif assembly.viscous is not None:
        drag = drag_of_flow = applied(assembly.viscous, flow)

    def balance() -> Array:
        return (np.diff(ends.momentum, axis=0) - projected) / step + mean + drag - external

    imposed_forces = reaction(assembly, balance, (pulls[0] / step, pulls[1] / step))
    bulk = BulkWork.of(
        assembly, step, Forces(mean, drag, external, imposed_forces), pulls[0], paths, flow, drag=drag_of_flow
    )
    return bulk, imposed_forces, (internal[-1], damping[-1])


def constraint_power(assembly: Assembly, multipliers: Array, v: Array) -> Any:
    """`BulkWork.pulled`: φ·C(v₀ + v₁)/2 (b, …) of constraint impulses (b, …, m), N·s, and velocities (b + 1, …, d)."""
    if not multipliers.size:
        return 0.0
    rates = applied(assembly.constraints, v)
    return np.vecdot(multipliers, 0.5 * (rates[:-1] + rates[1:]))


def audited(
    assembly: Assembly,
    steps: SolvedSteps,
    bulk: BulkWork,
    energies: StepEnergies,
    kinematics: ContactKinematics,
    rows: WorkPaths,
    persistent: NDArray[np.bool_],
    scheme: tuple[int, float, float],
    end: EndImpulses | None = None,
    still: Any = False,
    acting: tuple[NormalImpulseSplit, FrictionLoss | None] | None = None,
) -> StepBatch:
    """The batch of the steps, with energies and works; see `BulkWork.works`.

    kinematics: of all steps, or one per step; rows: paths (b, …, r) on the rows of the contact; persistent: rows of
    persistent contact; scheme: number of the first step, Δt, θ; end: impulses of the velocity projection, if any; still
    (b, k): points that stick, whose slip is round-off; acting: impulses for the works and loss of elastic stick, where
    they differ from those of the steps.
    """
    laws, (first, step, theta) = assembly.laws, scheme
    gaps = steps.gaps if energies.layer_gap is None else energies.layer_gap
    tractions = None if steps.springs is None else steps.springs[1]
    histories = energies.histories
    if energies.history is not None:
        histories = laws.histories(energies.history, gaps, step, theta)
    asperity = laws.stored_energy(gaps, tractions, histories) + np.zeros(energies.kinetic.shape)
    if acting is None:
        loss = None
        if steps.springs is not None:
            loss = ElasticStick(laws, *steps.springs, gain(laws, theta, step)).loss(steps.impulse, rows.du, step, theta)
        acting = NormalImpulseSplit(steps.impulse, *np.moveaxis(steps.normal, -2, 0)), loss
    impulses, loss = acting
    before = np.concatenate([np.broadcast_to(energies.asperity, asperity.shape[1:])[None], asperity[:-1]])
    work = bulk.works(
        step=step,
        rates=rows,
        kinematics=kinematics,
        contact=impulses,
        stored_before=(energies.strain[:-1], before),
        stored_after=(energies.strain[1:], asperity),
        loss=loss,
        plastic=energies.plastic,
        persistent=persistent,
        films=laws.films,
    )
    slip = np.where(persistent, rows.du, rows.slip)
    contact = ContactImpulses.of(kinematics, steps.impulse, steps.status, slip, step, still, loss)
    if end is not None:
        work.values += end.works
        contact = contact.with_end_impulses(end.contact)
    work["kinetic"] = energies.kinetic
    springs = None if tractions is None else laws.along_tangents(tractions, kinematics.tangents)
    return StepBatch(
        n=first + np.arange(len(steps.u)),
        u=steps.u,
        v=steps.v,
        works=work.values,
        multipliers=steps.multipliers,
        gaps=steps.gaps,
        contact=contact,
        iterations=steps.iterations,
        residual=steps.residual,
        newton=steps.newton,
        spring_traction=springs,
        hysteretic=None if histories is None else laws.memory_forces(histories),
    )
