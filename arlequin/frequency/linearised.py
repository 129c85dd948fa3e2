"""The system linearised at its start: mass, damping, stiffness, structural damping, and the rows of its constraints."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.part import Nonlinear, PathDependent
from arlequin.models.signatures import meant
from arlequin.models.types import Array, Indices
from arlequin.multilevel.solvers.problem import ACTS
from arlequin.solvers.initial_state import start_fields
from arlequin.solvers.tangents import Tangents
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.contact_start import ContactStart
from arlequin.system.densities import check_densities
from arlequin.system.flow import FlowTerms
from arlequin.system.internal_forces import Memory
from arlequin.system.spring_rows import SpringRows
from arlequin.system.system import System

ContactState = Literal["open", "stuck", "sliding"]
CONTACT_STATES: tuple[ContactState, ...] = ("open", "stuck", "sliding")

_INSTANT = 1e-9  # s, over which imposed motions are derived at the start; velocities do not enter the matrices


@dataclass(frozen=True, eq=False)
class Linearised:
    """Small oscillations about the start of a system, u(t) = Re(u e^{iωt}):

        (K + iH + iωD − ω²M) u + Cᵀλ = f,   C u = 0

    mass M, damping D, stiffness K, structural (hysteretic) damping H, all (d, d), and constraints C (m, d): the rows
    of the junctions and relations, then those of closed contact points. contact: the rows of the contact and of the
    laws of springs; loss_factors η by the name of each part and spring. state (d,): the displacements at the start,
    memory: the internal variables. flow: the forces of flows, whose matrices are part of D and K, which are then not
    symmetric; None without any.
    """

    assembly: Assembly
    mass: sp.csr_array
    damping: sp.csr_array
    stiffness: sp.csr_array
    structural: sp.csr_array
    constraints: sp.csr_array
    contact: "LinearContact"
    loss_factors: Mapping[str, float]
    state: Array
    memory: Memory
    flow: FlowTerms | None = None
    _still: "Linearised | None" = None

    @property
    def still(self) -> "Linearised":
        """The system without the forces of flows, whose matrices are symmetric; itself where it has none."""
        return self if self._still is None else self._still

    def in_flow(self, terms: FlowTerms) -> "Linearised":
        """The system with the forces of flows added."""
        flow, still = terms if self.flow is None else self.flow + terms, self.still
        damping, stiffness = sp.csr_array(still.damping + flow.damping), sp.csr_array(still.stiffness + flow.stiffness)
        return replace(still, damping=damping, stiffness=stiffness, flow=flow, _still=still)

    @property
    def transposed(self) -> "Linearised":
        """The system with the transposed matrices, which differ by those of the flows."""
        return self if self.flow is None else self.still.in_flow(self.flow.transposed)

    @property
    def dof_count(self) -> int:
        """Number of coordinates d."""
        return self.assembly.dof_count

    @cached_property
    def free(self) -> Indices:
        """The coordinates (n,) without imposed motion."""
        return np.flatnonzero(self.assembly.free)

    @property
    def imposed(self) -> Indices:
        """The coordinates (p,) with imposed motion."""
        return self.assembly.imposed_dofs

    @property
    def damped(self) -> bool:
        """Whether the system has damping."""
        return bool(np.abs(self.damping.data).max(initial=0.0) + np.abs(self.structural.data).max(initial=0.0) > 0.0)

    def dynamic_stiffness(self, frequency: float) -> sp.csr_array:
        """K + iH + iωD − ω²M (d, d) at a frequency, Hz."""
        omega = 2.0 * np.pi * frequency
        return sp.csr_array(self.stiffness + 1j * self.structural + 1j * omega * self.damping - omega**2 * self.mass)

    def with_contact(self, contact: "LinearContact") -> "Linearised":
        """The system, so far without contact and laws of springs, with these; laws have the loss factor of their
        spring."""
        loss = np.zeros(contact.stiffness.size)
        for item, first, last in spring_points(self.assembly):
            loss[(contact.points >= first) & (contact.points < last)] = self.loss_factors[item.spring.name]
        still = self.still
        in_contact = replace(
            still,
            damping=sp.csr_array(still.damping + contact.matrix(contact.damping)),
            stiffness=sp.csr_array(still.stiffness + contact.matrix(contact.stiffness)),
            structural=sp.csr_array(still.structural + contact.matrix(contact.stiffness * loss)),
            constraints=sp.csr_array(sp.vstack([still.constraints, contact.rows[contact.tied]], format="csr")),
            contact=contact,
        )
        return in_contact if self.flow is None else in_contact.in_flow(self.flow)

    def multipliers_of(self, tied: NDArray[np.bool_]) -> Indices:
        """Numbers of the multipliers of rows of the contact (c,), all of them tied."""
        first = self.constraints.shape[0] - np.count_nonzero(self.contact.tied)
        return first + (np.cumsum(self.contact.tied) - 1)[tied]


@dataclass(frozen=True, eq=False)
class LinearContact:
    """Rows (c, d) of the relative displacements of contact points, with their stiffness, N/m, and damping, N·s/m (c,).

    tied (c,): rows without compliance, which are constraints; points (c,): their contact points; normal (c,): whether
    along the normal; directions (c, axis): unit vectors of the displacements.
    """

    rows: sp.csr_array
    stiffness: Array
    damping: Array
    tied: NDArray[np.bool_]
    points: Indices
    normal: NDArray[np.bool_]
    directions: Array

    @classmethod
    def none(cls, dof_count: int) -> "LinearContact":
        """No contact."""
        flags, numbers = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
        return cls(sp.csr_array((0, dof_count)), np.zeros(0), np.zeros(0), flags, numbers, flags, np.zeros((0, 1)))

    def matrix(self, values: Array) -> sp.csr_array:
        """Σ rowᵀ value row (d, d) over the rows that are not tied."""
        acting = ~self.tied & (values != 0.0)
        rows = self.rows[acting]
        return sp.csr_array(rows.T @ sp.diags_array(values[acting]) @ rows)


def linearised(
    system: System, contact: ContactState = "stuck", structural: float | Mapping[str, float] = 0.0
) -> Linearised:
    """The system linearised at its start, by default the initial configuration, with `from_result` the state there, in
    its flows.

    contact: "open", no contact acts; "stuck", points closed at the start stay closed and stick where they have
    friction; "sliding", they stay closed and slip without a change of the friction force. Layers act with the tangent
    stiffness and damping of their law, −∂p/∂g and −∂p/∂ġ at rest (half the damping that acts in loading alone, which
    loses as much in a cycle), other closed points as constraints; sticking points with the stiffness of friction, if it
    has one. Laws of springs act with their tangent in each of these states. The change of normals and areas with the
    displacements is left out; materials that have flowed oscillate elastically. structural: loss factor η of parts and
    springs, one for all or by name: H = Σ η K of each.
    """
    checks.one_of("contact", contact, CONTACT_STATES)
    without = without_contact(system, structural)
    return without.with_contact(_contact(without.assembly, without.state, contact))


def without_contact(system: System, structural: float | Mapping[str, float] = 0.0) -> Linearised:
    """The system linearised at its start without contact and laws of springs; structural as of `linearised`."""
    checks.instance("system", system, System, "must be a System")
    check_densities(system.parts, "in the frequency domain")
    assembly = assemble(system)
    if isinstance(assembly.mass, DistributedMatrix):
        refuse_ranks("the frequency domain")
    assembly.rigidity.refuse("the frequency domain: take the solid itself, of a stiffer material")
    u = start_fields(assembly, _INSTANT)[0]
    memory = assembly.start_memory()
    loss = _loss_factors(assembly, structural)
    stiffness, viscosity = _tangents(assembly, u, memory)
    still = Linearised(
        assembly=assembly,
        mass=sp.csr_array(assembly.mass),
        damping=viscosity,
        stiffness=stiffness,
        structural=_structural(assembly, stiffness, loss),
        constraints=sp.csr_array(assembly.constraints),
        contact=LinearContact.none(assembly.dof_count),
        loss_factors=loss,
        state=u,
        memory=memory,
    )
    return still if assembly.flow is None else still.in_flow(assembly.flow)


def _tangents(assembly: Assembly, u: Array, memory: Memory) -> tuple[sp.csr_array, sp.csr_array]:
    """K (d, d) of linear parts and springs and ∂f/∂u of the others at u, and their damping −∂f/∂v."""
    damping = assembly.viscous
    if damping is None:
        damping = sp.csr_array((assembly.dof_count,) * 2)
    if not assembly.nonlinear and not assembly.path_dependent:
        return sp.csr_array(assembly.stiffness), sp.csr_array(damping)
    blocks: list[Any] = []
    for part, at, internal in zip(assembly.parts, assembly.places, memory, strict=True):
        blocks.append(_viscosity(part, u[at], internal) if isinstance(part, Nonlinear | PathDependent) else None)
        blocks[-1] = sp.csr_array((at.stop - at.start,) * 2) if blocks[-1] is None else blocks[-1]

    def path_dependent(part: PathDependent, number: int, at: slice) -> sp.csr_array:
        return part.elastic_tangent(u[at], memory[number])

    stiffness = Tangents(assembly, None, 1.0).matrix(lambda part, at: part.tangent(u[at]), path_dependent)
    return stiffness, sp.csr_array(damping + sp.block_diag(blocks, format="csr"))


def _viscosity(part: Nonlinear | PathDependent, u: Array, memory: Array) -> sp.csr_array | None:
    """Damping (d, d), N·s/m, of `mean_viscous` at u: of steps of 1 and 2 s, whose tangents differ by half of it."""
    if not part.viscous:
        return None
    short, long = (
        part.mean_tangent(u, u, memory, step) if isinstance(part, PathDependent) else part.mean_tangent(u, u, step)
        for step in (1.0, 2.0)
    )
    return sp.csr_array(2.0 * (short - long))


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
    """H = Σ η K (d, d) of the parts and springs, without their laws."""
    if not any(loss.values()):
        return sp.csr_array(stiffness.shape)
    links, springs = assembly.links, assembly.system.springs
    eta = np.repeat([loss[name] for name in assembly.system.names], np.diff(assembly.start))
    if not links.any:
        return sp.csr_array(sp.diags_array(eta) @ stiffness)
    of_springs = np.array([loss[spring.name] for spring in springs])
    of_parts = sp.diags_array(eta) @ (stiffness - links.matrix(links.stiffness))
    of_links = links.matrix(links.stiffness * np.repeat(of_springs, np.diff(links.span)))
    return sp.csr_array(of_parts + of_links)


def spring_points(assembly: Assembly) -> list[tuple[SpringRows, int, int]]:
    """The springs with a law, and the first contact point of each and of the next item."""
    items, start = assembly.contact.items, assembly.contact.start.tolist()
    each = zip(items, start[:-1], start[1:], strict=True)
    return [(item, first, last) for item, first, last in each if isinstance(item, SpringRows)]


def _of_springs(assembly: Assembly) -> NDArray[np.bool_]:
    """Contact points (k,) that are laws of springs."""
    out = np.zeros(assembly.contact.count, dtype=bool)
    for _, first, last in spring_points(assembly):
        out[first:last] = True
    return out


def _contact(assembly: Assembly, u: Array, state: ContactState) -> LinearContact:
    """The contact at u (d,), and the laws of springs."""
    contact, laws = assembly.contact, assembly.laws
    if not contact.count:
        return LinearContact.none(assembly.dof_count)
    start = ContactStart.of(contact, u, assembly.system.from_result)
    kinematics, springs = start.kinematics, _of_springs(assembly)
    axes = kinematics.normals.shape[1]
    normals = laws.first[:-1]
    acts = springs | (kinematics.paired & (state != "open"))
    flags = np.where(start.forces[normals] > 0.0, ACTS, 0).astype(np.int8)
    closed = contact.closed(start.gaps, np.zeros(contact.basis.shape[0]), flags) & (laws.level > 0)
    width = contact.scale.touching
    # points that touch stay closed: just inside the kink of a law; springs with a play have a tangent on both sides
    slopes, rates = laws.tangents(start.history, np.where(springs, start.gaps, start.gaps - 2.0 * width), width)
    stiffness, damping = laws.area * slopes, laws.area * rates
    acting = acts & ((stiffness != 0.0) | (damping != 0.0) | closed)
    compliant = closed & (laws.compliance > 0.0)
    share = np.divide(laws.area, laws.compliance, out=np.zeros(contact.count), where=compliant)
    stiffness += np.where(laws.level == 1, share, 0.0)
    damping += np.where(laws.level == 2, share, 0.0)
    k = np.flatnonzero(acting)
    columns = [(k, normals[k], stiffness[k], damping[k], (closed & ~compliant)[k], kinematics.normals[k])]
    if state == "stuck":
        has_friction = (np.diff(laws.first) == axes) & (axes > 1) & (laws.friction > 0.0)
        columns.append(_sticking(assembly, kinematics, np.flatnonzero(acting & has_friction)))
    points, row, stiff, damp, tied, directions = (np.concatenate(pieces) for pieces in zip(*columns, strict=True))
    return LinearContact(contact_rows(kinematics, row), stiff, damp, tied, points, np.isin(row, normals), directions)


def _sticking(assembly: Assembly, kinematics: ContactKinematics, points: Indices) -> tuple[Any, ...]:
    """Tangential rows of sticking points (k,): their points, rows of H, stiffness, damping, whether tied, direction."""
    laws, tangents = assembly.laws, kinematics.tangents.shape[1]
    k = np.repeat(points, tangents)
    row = (laws.first[points][:, None] + np.arange(1, tangents + 1)).ravel()
    elastic, compliance = laws.elastic_stick[k], laws.tangential_compliance[k]
    viscous = ~elastic & (compliance > 0.0)
    springs = np.where(elastic, laws.tangential_stiffness[k], 0.0)
    dashpots = np.where(elastic, laws.tangential_damping[k], 0.0)
    dashpots += np.divide(1.0, compliance, out=np.zeros(k.size), where=viscous)
    directions = kinematics.tangents[points].reshape(k.size, kinematics.tangents.shape[2])
    return k, row, laws.area[k] * springs, laws.area[k] * dashpots, ~elastic & ~viscous, directions


def contact_rows(kinematics: ContactKinematics, rows: Indices) -> sp.csr_array:
    """Rows of H (c, d)."""
    if kinematics.local is None:
        return sp.csr_array(kinematics.basis[rows])
    return sp.csr_array(sp.csr_array(kinematics.local[rows]) @ kinematics.basis)
