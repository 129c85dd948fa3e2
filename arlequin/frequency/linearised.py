"""The system linearised at its start: mass, damping, stiffness, structural damping, and the rows of its constraints."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.part import PathDependent
from arlequin.models.signatures import meant
from arlequin.models.types import Array
from arlequin.multilevel.solvers.problem import ACTS
from arlequin.solvers.initial_state import start_fields
from arlequin.solvers.tangents import Tangents
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.contact_start import ContactStart
from arlequin.system.densities import check_densities
from arlequin.system.system import System

ContactState = Literal["open", "stuck", "sliding"]
CONTACT_STATES: tuple[ContactState, ...] = ("open", "stuck", "sliding")

_INSTANT = 1e-9  # s, over which imposed motions are derived at the start; velocities do not enter the matrices


@dataclass(frozen=True, eq=False)
class Linearised:
    """Small oscillations about the start of a system, u(t) = Re(u e^{iωt}):

        (K + iH + iωD − ω²M) u + Cᵀλ = f,   C u = 0

    mass M, damping D, stiffness K, structural (hysteretic) damping H, all (d, d), and constraints C (m, d): the rows
    of the junctions, `junction_rows` of them, then those of closed contact points. contact: row (c, d), stiffness
    (c,), N/m, and damping (c,), N·s/m, of the rows of the contact, of which `tied` (c,) have no compliance and are
    constraints.
    """

    assembly: Assembly
    mass: sp.csr_array
    damping: sp.csr_array
    stiffness: sp.csr_array
    structural: sp.csr_array
    constraints: sp.csr_array
    junction_rows: int
    contact: "LinearContact"
    loss_factors: Mapping[str, float]

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """The coordinates (n,) without imposed motion."""
        return np.flatnonzero(self.assembly.free)

    @property
    def dof_count(self) -> int:
        """Number of coordinates d."""
        return self.assembly.dof_count

    def dynamic_stiffness(self, frequency: float) -> sp.csr_array:
        """K + iH + iωD − ω²M (d, d) at a frequency, Hz."""
        omega = 2.0 * np.pi * frequency
        return sp.csr_array(self.stiffness + 1j * self.structural + 1j * omega * self.damping - omega**2 * self.mass)


@dataclass(frozen=True, eq=False)
class LinearContact:
    """Rows (c, d) of the relative displacements of contact points in contact, with their stiffness and damping (c,).

    tied (c,): rows without compliance; points (c,): their contact points; normal (c,): whether along the normal.
    """

    rows: sp.csr_array
    stiffness: Array
    damping: Array
    tied: NDArray[np.bool_]
    points: NDArray[np.int64]
    normal: NDArray[np.bool_]

    @classmethod
    def none(cls, dof_count: int) -> "LinearContact":
        """No contact."""
        flags, numbers = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
        return cls(sp.csr_array((0, dof_count)), np.zeros(0), np.zeros(0), flags, numbers, flags)

    def matrix(self, values: Array) -> sp.csr_array:
        """Σ rowᵀ value row (d, d) over the rows that are not tied."""
        rows = self.rows[~self.tied]
        return sp.csr_array(rows.T @ sp.diags_array(values[~self.tied]) @ rows)


def linearised(
    system: System, contact: ContactState = "stuck", structural: float | Mapping[str, float] = 0.0
) -> Linearised:
    """The system linearised at its start, by default the initial configuration, with `from_result` the state there.

    contact: "open", no contact acts; "stuck", points closed at the start stay closed and stick where they have
    friction; "sliding", they stay closed and slip without a change of the friction force. Layers act with the tangent
    stiffness and damping of their law, p′ = −∂p/∂g and ∂p/∂ġ at rest, other closed points as constraints; sticking
    points with the stiffness of friction, if it has one. structural: loss factor η of parts and springs, one for all or
    by name: H = Σ η K of each.
    """
    checks.instance("system", system, System, "must be a System")
    checks.one_of("contact", contact, CONTACT_STATES)
    check_densities(system.parts, "in the frequency domain")
    assembly = assemble(system)
    if isinstance(assembly.mass, DistributedMatrix):
        refuse_ranks("the frequency domain")
    assembly.rigidity.refuse("the frequency domain: take the solid itself, of a stiffer material")
    u = start_fields(assembly, _INSTANT)[0]
    loss = _loss_factors(assembly, structural)
    stiffness = _tangent(assembly, u)
    acting = LinearContact.none(assembly.dof_count) if contact == "open" else _contact(assembly, u, contact)
    damping = assembly.viscous
    none = sp.csr_array((assembly.dof_count, assembly.dof_count))
    constraints = [assembly.constraints, acting.rows[acting.tied]]
    return Linearised(
        assembly=assembly,
        mass=sp.csr_array(assembly.mass),
        damping=sp.csr_array((none if damping is None else damping) + acting.matrix(acting.damping)),
        stiffness=sp.csr_array(stiffness + acting.matrix(acting.stiffness)),
        structural=_structural(assembly, stiffness, loss),
        constraints=sp.csr_array(sp.vstack(constraints, format="csr")),
        junction_rows=assembly.constraints.shape[0],
        contact=acting,
        loss_factors=loss,
    )


def _tangent(assembly: Assembly, u: Array) -> sp.csr_array:
    """K (d, d) of linear parts and springs, and ∂f/∂u of nonlinear parts at u."""
    if not assembly.nonlinear and not assembly.path_dependent:
        return sp.csr_array(assembly.stiffness)
    memory = assembly.start_memory()

    def path_dependent(part: PathDependent, number: int, at: slice) -> sp.csr_array:
        return part.tangent(u[at], memory[number], 1.0)

    return Tangents(assembly, None, 1.0).matrix(lambda part, at: part.tangent(u[at]), path_dependent)


def _loss_factors(assembly: Assembly, structural: float | Mapping[str, float]) -> dict[str, float]:
    """η by the name of each part and spring."""
    names = [*assembly.system.names, *(spring.name for spring in assembly.system.springs)]
    if not isinstance(structural, Mapping):
        return dict.fromkeys(names, checks.non_negative("structural", structural))
    for name, value in structural.items():
        if name not in names:
            raise UserError(f"structural: no part or spring is named {name!r}{meant(str(name), names)}")
        checks.non_negative(f"structural['{name}']", value)
    return {name: float(structural.get(name, 0.0)) for name in names}


def _structural(assembly: Assembly, stiffness: sp.csr_array, loss: Mapping[str, float]) -> sp.csr_array:
    """H = Σ η K (d, d) of the parts and springs."""
    if not any(loss.values()):
        return sp.csr_array(stiffness.shape)
    links = assembly.links
    sizes = np.diff(assembly.start)
    eta = np.repeat([loss[name] for name in assembly.system.names], sizes)
    of_springs = links.matrix(links.stiffness) if links.any else sp.csr_array(stiffness.shape)
    out = sp.diags_array(eta) @ (stiffness - of_springs)
    if links.any:
        each = [loss[spring.name] for spring in assembly.system.springs]
        out = out + links.matrix(links.stiffness * np.repeat(each, np.diff(links.span)))
    return sp.csr_array(out)


def _contact(assembly: Assembly, u: Array, state: ContactState) -> LinearContact:
    """The contact at u (d,)."""
    contact, laws = assembly.contact, assembly.laws
    if not contact.count:
        return LinearContact.none(assembly.dof_count)
    start = ContactStart.of(contact, u, assembly.system.from_result)
    kinematics = start.kinematics
    count, axes = contact.count, kinematics.normals.shape[1]
    pressed = np.zeros(laws.row_count)
    pressed[:] = start.forces
    closed_flags = np.where(pressed[laws.first[:-1]] > 0.0, ACTS, 0).astype(np.int8)
    closed = kinematics.paired & contact.closed(start.gaps, np.zeros(contact.basis.shape[0]), closed_flags)
    multiplier = closed & (laws.level > 0)
    slopes, rates = laws.tangents(start.history, start.gaps, contact.scale.touching)
    stiffness, damping = laws.area * slopes, laws.area * rates
    acting = (kinematics.paired & ((stiffness > 0.0) | (damping > 0.0))) | multiplier
    compliant = multiplier & (laws.compliance > 0.0)
    share = np.divide(laws.area, laws.compliance, out=np.zeros(count), where=compliant)
    stiffness = stiffness + np.where(laws.level == 1, share, 0.0)
    damping = damping + np.where(laws.level == 2, share, 0.0)
    rows, stiff, damp, tied, points, normal = [], [], [], [], [], []

    def add(k: NDArray[np.int64], row: NDArray[np.int64], values: tuple[Array, Array, NDArray[np.bool_]]) -> None:
        rows.append(row), points.append(k), normal.append(np.isin(row, laws.first[k]))
        for out, value in zip((stiff, damp, tied), values, strict=True):
            out.append(value)

    k = np.flatnonzero(acting)
    add(k, laws.first[k], (stiffness[k], damping[k], (multiplier & ~compliant)[k]))
    in_stick = state == "stuck"
    sticking = np.flatnonzero(acting & (np.diff(laws.first) == axes) & (axes > 1) & in_stick & (laws.friction > 0.0))
    if sticking.size:
        k = np.repeat(sticking, axes - 1)
        row = (laws.first[sticking][:, None] + np.arange(1, axes)).ravel()
        elastic, viscous = laws.elastic_stick[k], laws.tangential_compliance[k] > 0.0
        with np.errstate(divide="ignore"):
            damper = np.where(
                elastic,
                laws.tangential_damping[k],
                np.where(viscous, 1.0, 0.0) / np.maximum(laws.tangential_compliance[k], np.finfo(float).tiny),
            )
        springs = np.where(elastic, laws.tangential_stiffness[k], 0.0)
        add(k, row, (laws.area[k] * springs, laws.area[k] * damper, ~elastic & ~viscous))
    row = np.concatenate(rows)
    return LinearContact(
        _rows(kinematics, row),
        np.concatenate(stiff),
        np.concatenate(damp),
        np.concatenate(tied),
        np.concatenate(points),
        np.concatenate(normal),
    )


def _rows(kinematics: ContactKinematics, rows: NDArray[np.int64]) -> sp.csr_array:
    """Rows of H (c, d)."""
    if kinematics.local is None:
        return sp.csr_array(kinematics.basis[rows])
    return sp.csr_array(sp.csr_array(kinematics.local[rows]) @ kinematics.basis)
