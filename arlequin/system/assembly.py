"""The matrices and operators of a whole system, in one dof numbering (parts one after the other).

Parts are assembled with the weights of their junctions and, if reduced, with shapes for the junction operators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.junctions.base import JunctionOperator, JunctionProtocol
from arlequin.linalg.products import applied
from arlequin.models.checks import finite_array
from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.fem.mass import CORRECTED
from arlequin.models.fem.piece import assemble_piece
from arlequin.models.limits import check_model
from arlequin.models.linalg.rows import row_products, rows_without
from arlequin.models.parallel.matrix import DistributedMatrix, block_diagonal, compressed, spread
from arlequin.models.parallel.memory import give_back
from arlequin.models.parallel.ranks import hosts, ranks
from arlequin.models.part import Assembled, MeshedPart, Nonlinear, Part, PathDependent, is_viscous
from arlequin.models.phases import phase
from arlequin.models.reduction.modal import Modal
from arlequin.models.types import Array
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.system.absorption import Absorption
from arlequin.system.contact import Contact, ContactSide
from arlequin.system.contact_start import ContactStart
from arlequin.system.dofs import DofLayout, bounds_of
from arlequin.system.flow import FlowTerms
from arlequin.system.interference import Interference
from arlequin.system.internal_forces import BulkResponse, Memory, response_of
from arlequin.system.one_sided import warn_of_one_sided_loads
from arlequin.system.rigid_constraints import RigidConstraints
from arlequin.system.shared_contact import warn_of_shared_contact
from arlequin.system.solid_tables import SolidTables
from arlequin.system.spring_rows import SpringRows
from arlequin.system.springs import SpringSet, relation_rows
from arlequin.system.strains import Strains
from arlequin.system.system import System, surfaces_of
from arlequin.system.unjoined import warn_of_unjoined
from arlequin.system.weights import weights_of

LEAST_DOFS = 3_000  # of a system whose matrices are spread over ranks: smaller ones gain nothing
LEAST_CELLS = 8  # of a part for each rank


def assembled_parts(
    system: System, operators: Sequence[JunctionOperator], time_errors: Mapping[str, float]
) -> tuple[tuple[Assembled, ...], dict[str, Array]]:
    """All parts, and the mean weights (c,) of the cells of those that share energy, by name.

    operators: of the junctions of the system, for which reduced parts have shapes.

    time_errors: see `assemble`. Under several ranks each assembles its share of the cells of continuum parts.
    """
    weights = weights_of(system.junctions)
    warn_of_shared_contact(system, weights)
    warn_of_one_sided_loads(system, weights)
    massless, pulls = _contact_nodes(system), _pulls(system.junctions, operators)
    among = ranks()
    spreads = among.count > 1 and sum(part.dof_count for part in system.parts) >= LEAST_DOFS

    def assembled(part: Part) -> Assembled:
        weighting = weights.get(part.name)
        if isinstance(part, Modal):
            return part.assemble(weighting, pulls=pulls.get(part.name, ()))
        if spreads and isinstance(part, Continuum) and part.mesh.nelements >= LEAST_CELLS * among.count:
            return assemble_piece(part, weighting, time_errors.get(part.name, 0.0), among)
        if isinstance(part, Continuum) and part.mass == CORRECTED:
            return part.assemble(weighting, time_error=time_errors.get(part.name, 0.0))
        return part.assemble(weighting, massless=massless.get(part.name))

    return tuple(assembled(part) for part in system.parts), {
        name: weighting.stiffness.mean(axis=1) for name, weighting in weights.items()
    }


def _contact_nodes(system: System) -> dict[str, NDArray[np.int64]]:
    """Nodes of each part that lie on a contact surface (massless with redistributed mass)."""
    nodes: dict[str, list[Any]] = {}
    for interface in system.interfaces:
        for surface in surfaces_of(interface):
            nodes.setdefault(surface.part.name, []).append(surface.nodes)
    return {name: np.unique(np.concatenate(lists)) for name, lists in nodes.items()}


def _pulls(
    junctions: Sequence[JunctionProtocol], operators: Sequence[JunctionOperator]
) -> dict[str, list[sp.csr_array]]:
    """Junction operators (m, nodal) on each part, by its name."""
    pulls: dict[str, list[sp.csr_array]] = {}
    for junction, operator in zip(junctions, operators, strict=True):
        for part, rows in ((junction.coarse, operator.coarse), (junction.fine, operator.fine)):
            pulls.setdefault(part.name, []).append(rows)
    return pulls


@dataclass(frozen=True)
class Assembly:
    """Block-diagonal mass, stiffness, damping (d, d); constraints C (m, d), Gram matrix (m, m); the contact.

    The semi-discrete problem is M v̇ + f_int(u) + D v = f_ext(t) + Cᵀφ + Hᵀr, C v = 0, with r the contact forces and H
    the contact's kinematics; K and D contain the springs and dashpots, `links`. f_int is K u unless parts are
    `Nonlinear`: K is then its tangent at u = 0, and D the part of the damping that is linear in v. The dofs d are the
    coordinates of the parts: nodal displacements, or those of a reduced part. `start` (parts + 1,) bounds those of each
    part, `junction_start` the rows of the junctions. Constraints on excluded dofs (`ghost`) are combined to constraints
    without these: C = T C₀ with T `combination` (m, m₀), None where there are none, and Tᵀφ are the multipliers of C₀;
    `mediated` names the junctions of such constraints. The absorbing terms of junctions (`absorbing`: their names) act
    as damping. `flow`: forces of the flows, whose matrices are not symmetric; they are not in K and D. `cell_weights`:
    mean weights (c,) of the cells of parts in junctions, by name.

    A scheme uses M `mass`, K `stiffness`, D `viscous`, C `constraints`, `load`, `respond`, `imposed` with
    `imposed_dofs` and `imposes_displacement`, `contact` (B is its `basis`, `basis_product` the product with a vector)
    and `laws`, as in docs/how-to/scheme.md.
    """

    system: System
    parts: tuple[Assembled, ...]
    start: NDArray[np.int64]
    mass: sp.csr_array
    stiffness: sp.csr_array
    damping: sp.csr_array | None
    absorption: Absorption | None
    absorbing: tuple[str, ...]
    operators: tuple[JunctionOperator, ...]
    constraints: sp.csr_array
    gram: sp.csr_array
    junction_start: NDArray[np.int64]
    contact: Contact
    links: SpringSet
    flow: FlowTerms | None = None
    combination: sp.csr_array | None = None
    mediated: tuple[str, ...] = ()
    cell_weights: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def linear(self) -> bool:
        """Whether all internal forces are K u."""
        return not any(isinstance(part, Nonlinear | PathDependent) for part in self.parts)

    @cached_property
    def contact_mobility(self) -> Array:
        """Largest inverse mass, 1/kg, of the rigid sides of the contact points (k,): the largest trace of A M⁻¹ Aᵀ, A
        the rows of the velocity of a node; 0 where no side is rigid."""
        mobility = np.zeros(self.contact.count)
        for (a, b), pair, kin in zip(
            pairwise(self.contact.start), self.contact.sides, self.contact.reference, strict=True
        ):
            mobility[a:b] = sum(self._mobility(side, kin.normals.shape[1]) for side in pair if side.rigid)
        return mobility

    def _mobility(self, side: ContactSide, axes: int) -> float:
        rows = sp.csr_array(side.nodes(np.zeros(side.count)) @ side.rows)
        dofs = np.unique(rows.indices)
        rates = rows[:, dofs].toarray()
        inverse = np.linalg.pinv(self.mass[dofs][:, dofs].toarray(), hermitian=True)
        entries = np.einsum("id,de,ie->i", rates, inverse, rates)
        return float(entries.reshape(-1, axes).sum(axis=1).max(initial=0.0))

    @cached_property
    def path_dependent(self) -> bool:
        """Whether some internal forces are path-dependent."""
        return any(self._path_dependent)

    @cached_property
    def nonlinear(self) -> tuple[tuple[str, Nonlinear, slice], ...]:
        """Nonlinear parts without memory: name, part and its dofs."""
        each = zip(self.system.names, self.parts, self.places, strict=True)
        return tuple((name, part, at) for name, part, at in each if isinstance(part, Nonlinear))

    @cached_property
    def _path_dependent(self) -> tuple[bool, ...]:
        return tuple(isinstance(part, PathDependent) for part in self.parts)

    def fresh(self) -> Memory:
        """Internal variables of the virgin material."""
        none = np.zeros((0, 0, 0))
        return tuple(part.fresh() if isinstance(part, PathDependent) else none for part in self.parts)

    def start_memory(self) -> Memory:
        """Internal variables at the start: of the virgin material, or of a former result."""
        frame, memory = self.system.from_result, list(self.fresh())
        if frame is None:
            return tuple(memory)
        for i, (part, assembled) in enumerate(zip(self.system.parts, self.parts, strict=True)):
            if part.name not in frame.parts:
                continue
            if isinstance(assembled, PathDependent):
                memory[i] = frame.memory(part, assembled)
            if frame.flowed(part.name) and not (isinstance(assembled, PathDependent) and assembled.dissipates):
                raise UserError(f"from_result: part '{part.name}' has flowed there: give it the same material")
        return tuple(memory)

    @cached_property
    def from_former_result(self) -> NDArray[np.bool_]:
        """Mask (d,) of the dofs of parts whose displacement at the start is that of a former result."""
        parts = zip(self.system.parts, np.diff(self.start), strict=True)
        return np.concatenate(
            [np.full(size, self.system.starts_from_result("displacement", part)) for part, size in parts]
        )

    def contact_start(self, u: Array) -> ContactStart:
        """The contact at the start of a run, at u (d,)."""
        return ContactStart.of(self.contact, u, self.system.from_result)

    @cached_property
    def rigidity(self) -> RigidConstraints:
        """Rigidity constraints of the rigid parts."""
        return RigidConstraints.of(self.parts, self.places)

    @cached_property
    def damped(self) -> bool:
        """Whether parts or dashpots dissipate energy."""
        return self.damping is not None or any(is_viscous(part) for part in self.parts)

    @property
    def absorber(self) -> sp.csr_array | None:
        """Damping of the absorbing terms of the junctions (d, d), assembled on first access."""
        return None if self.absorption is None else self.absorption.matrix

    @cached_property
    def viscous(self) -> sp.csr_array | None:
        """Damping of the parts and absorbing terms of the junctions together (d, d); None where there is neither."""
        if self.damping is None or self.absorber is None:
            return self.absorber if self.damping is None else self.damping
        return compressed(self.damping + self.absorber)

    @property
    def dof_count(self) -> int:
        return int(self.start[-1])

    @property
    def contact_count(self) -> int:
        return self.contact.count

    @property
    def laws(self) -> PointLaws:
        return self.contact.laws

    @cached_property
    def layout(self) -> DofLayout:
        """Numbering of the coordinates of the parts."""
        return DofLayout.of(self.system.parts, self.parts)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """The coordinates of each part among those of the system."""
        return tuple(slice(a, b) for a, b in pairwise(self.start.tolist()))

    def split(self, vector: Array) -> list[Array]:
        """The vector's (d,) pieces by part."""
        return [vector[at] for at in self.places]

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal forces (d,), N, and strain energy, J, from the strains of every part and of the springs."""
        if len(self.parts) == 1 and not self.links.any:
            return self.parts[0].internal(u)
        forces, energy = np.empty_like(u), 0.0
        for part, at in zip(self.parts, self.places, strict=True):
            forces[at], part_energy = part.internal(u[at])
            energy += part_energy
        if self.links.any:
            pull, stored = self.links.internal(u)
            return forces + pull, energy + stored
        return forces, energy

    def respond(self, u: Array, memory: Memory, step: float) -> BulkResponse:
        """Internal forces at u, after a step (s) from a state with these internal variables."""
        if not self.path_dependent:
            return BulkResponse(*self.internal(u), 0.0, memory)
        pieces = zip(self.parts, self._path_dependent, memory, self.split(u), strict=True)
        response = BulkResponse.gathered([response_of(*piece, step) for piece in pieces])
        if not self.links.any:
            return response
        spring_force, spring_energy = self.links.internal(u)
        return replace(response, force=response.force + spring_force, stored=response.stored + spring_energy)

    def load(self, t: float) -> Array:
        """External forces (d,), N, at the time t."""
        load = np.concatenate([part.load(t) for part in self.parts])
        return load if self.system.gravity is None else load + self._gravity_load @ self.system.acceleration(t)

    def loads(self, times: Array) -> Array:
        """External forces (t, d), N, at the times (t,)."""
        pieces = [
            np.broadcast_to(part.load(0.0), (times.size, part.mass.shape[0])) if part.steady else part.loads_at(times)
            for part in self.parts
        ]
        # in C order, also for one steady part: kernels are compiled for each memory order
        load, gravity = np.ascontiguousarray(np.concatenate(pieces, axis=1)), self.system.gravity
        if gravity is None:
            return load
        if not callable(gravity):
            return load + self._gravity_load @ self.system.acceleration(0.0)
        gravity_history, gravitational_mass = (
            np.array([gravity(t) for t in times.tolist()], float).reshape(times.size, -1),
            self._gravity_load,
        )
        return load + row_products(
            finite_array("gravity", gravity_history, (times.size, gravitational_mass.shape[1])), gravitational_mass.T
        )

    @cached_property
    def strain_forms(self) -> tuple[tuple[sp.csr_array, Array] | None, ...]:
        """Strains of each part in short form, if it has one (`Assembled.strain_form`)."""
        return tuple(part.strain_form() for part in self.parts)

    @cached_property
    def strains(self) -> Strains | None:
        """The strains of all parts and springs; None where a part has no short form of them."""
        return None if None in self.strain_forms else self.short_strains

    @cached_property
    def short_strains(self) -> Strains:
        """The strains of springs, of parts with a short form of them, and of other solids those that are not of their
        cells."""
        forms = []
        for part, form, size in zip(self.parts, self.strain_forms, np.diff(self.start).tolist(), strict=True):
            if form is None and isinstance(part, ElasticAssembled):
                form = part.strains_beyond_cells()
            forms.append(form or (sp.csr_array((0, size)), np.zeros(0)))
        return Strains.of(forms, self.system.parts, self.links)

    @cached_property
    def solids(self) -> SolidTables:
        """The linear cells of solids, for compiled loops."""
        return SolidTables.of(self.parts, self.start)

    @cached_property
    def _gravity_load(self) -> Array:
        """Sᵀ M 1 (d, axis) of the gravitational mass M, kg: forces of a uniform acceleration along each axis."""
        axes = self.system.acceleration(0.0).size
        forces = []
        for part, assembled in zip(self.system.parts, self.parts, strict=True):
            along = np.arange(part.dof_count)[:, None] % part.components == np.arange(axes)
            forces.append(assembled.uniform_weight(along.astype(float)))
        return np.concatenate(forces)

    def kinetic(self, v: Array) -> float:
        """Kinetic energy ½ vᵀMv, J."""
        return 0.5 * float(v @ (self.mass @ v))

    def generalised_force(self, constraint: Array, contact: Array) -> Array:
        """Cᵀφ + Bᵀr (d,) of multipliers φ (m,) and forces r (q,) on the contact's basis; impulses alike."""
        pushed = self.contact.basis_product.transposed(contact)
        return applied(self._pull, constraint) + pushed if constraint.size else pushed

    def pull_on_imposed(self, constraint: Array, contact: Array) -> Array:
        """`generalised_force` on the imposed dofs (…, p), of multipliers (…, m) and forces (…, q)."""
        return applied(self._pull_on_imposed, np.concatenate([constraint, contact], axis=-1))

    @cached_property
    def _pull_on_imposed(self) -> sp.csr_array:
        rows = [matrix[:, self.imposed_dofs] for matrix in (self.constraints, self.contact.basis)]
        return sp.csr_array(sp.vstack(rows, format="csr").T)

    @cached_property
    def _pull(self) -> sp.csr_array:
        return sp.csr_array(self.constraints.T)

    @cached_property
    def imposed_dofs(self) -> NDArray[np.int64]:
        """Dofs with imposed motion (p,)."""
        pieces = [a + item.dofs for part, a in zip(self.parts, self.start, strict=False) for item in part.imposed]
        return np.concatenate(pieces).astype(np.int64) if pieces else np.zeros(0, dtype=np.int64)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Mask (d,) of the dofs without imposed motion."""
        mask = ~self.ghost
        mask[self.imposed_dofs] = False
        return mask

    @cached_property
    def ghost(self) -> NDArray[np.bool_]:
        """Mask (d,) of the dofs whose cells have zero weight (no mass, no stiffness): they are excluded, at rest."""
        return self._without_mass & (self.stiffness.diagonal() == 0.0)

    @cached_property
    def massless(self) -> NDArray[np.bool_]:
        """Mask (d,) of the dofs without mass that have stiffness (redistributed mass)."""
        return self._without_mass & ~self.ghost

    @cached_property
    def _without_mass(self) -> NDArray[np.bool_]:
        return np.asarray(abs(self.mass).sum(axis=1)).ravel() == 0.0

    @cached_property
    def imposes_displacement(self) -> NDArray[np.bool_]:
        """Mask (p,): displacement imposed (else velocity)."""
        pieces = [np.full(len(item.dofs), item.kind == "displacement") for part in self.parts for item in part.imposed]
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype=bool)

    @cached_property
    def open_interference(self) -> Interference | None:
        """The interference that statics closes: of interfaces that the run does not take from a former result."""
        frame, interference = self.system.from_result, self.contact.interference
        if frame is None or interference is None:
            return interference
        return interference.without({item.name for item in self.system.interfaces if frame.takes(item)})

    @cached_property
    def _driven_parts(self) -> tuple[Assembled, ...]:
        """The parts; none if all imposed motions are rest."""
        return () if all(item.rest for part in self.parts for item in part.imposed) else self.parts

    def imposed(self, t: float) -> Array:
        """Imposed values (p,) at t: m where a displacement is imposed, m/s where a velocity is."""
        pieces = [
            np.broadcast_to(item.function(t), item.dofs.shape) for part in self._driven_parts for item in part.imposed
        ]
        return np.concatenate(pieces).astype(float) if pieces else np.zeros(self.imposed_dofs.size)


def assemble(system: System, time_errors: Mapping[str, float] = MappingProxyType({})) -> Assembly:
    """Assembles every part with the weights of its junctions, the constraints and the contact rows.

    time_errors: e Δt², s², of the time scheme by part (`arlequin.step.scheme.time_errors`), 0 by default; only
    parts with mass="dispersion" depend on it.
    UserError where the matrices of the parts do not fit into memory.
    """
    if system.levels:
        name = system.levels[0].name
        raise UserError(f"a system with levels is simulated alone: choose the levels, as system.at({{'{name}': 0}})")
    check_model((_size(part) for part in system.parts), hosts(ranks()))
    with phase("coupling operators of the junctions"):
        operators = tuple(junction.operator() for junction in system.junctions)
    with phase("matrices of the parts"):
        parts, cell_weights = assembled_parts(system, operators, time_errors)
    warn_of_unjoined(system)
    layout = DofLayout.of(system.parts, parts)

    # a single block is shared with its part: no matrix is ever changed
    mass = block_diagonal([part.mass for part in parts])
    stiffness = block_diagonal([part.stiffness for part in parts])
    damping = None
    if any(part.damping is not None for part in parts):
        blocks = [part.damping if part.damping is not None else sp.csr_array(part.mass.shape) for part in parts]
        damping = block_diagonal(blocks)
    links = SpringSet.of(system.springs, layout)
    if links.any:
        stiffness = compressed(stiffness + links.matrix(links.stiffness))
    if links.damping.any():
        dashpots = links.matrix(links.damping)
        damping = dashpots if damping is None else compressed(damping + dashpots)

    constraint_rows, grams = [], []
    for junction, operator in zip(system.junctions, operators, strict=True):
        wide = layout.widened(operator.coarse, junction.coarse) + layout.widened(operator.fine, junction.fine)
        constraint_rows.append(wide)
        grams.append(operator.gram)
    for relation in system.relations:
        constraint_rows.append(relation_rows(relation, layout))
        grams.append(sp.eye_array(relation.count, format="csr"))
    absorption, absorbing = _absorption(system.junctions, layout)
    if absorption is not None and isinstance(mass, DistributedMatrix):
        absorption = Absorption(spread(absorption.matrix))
    assembly = Assembly(
        system=system,
        parts=parts,
        start=layout.start,
        mass=mass,
        stiffness=stiffness,
        damping=damping,
        absorption=absorption,
        absorbing=absorbing,
        operators=operators,
        constraints=_stack(constraint_rows, layout.count),
        gram=sp.csr_array(sp.block_diag(grams, format="csr")) if grams else sp.csr_array((0, 0)),
        junction_start=bounds_of([rows.shape[0] for rows in constraint_rows]),
        contact=Contact.of([*system.interfaces, *SpringRows.of(system.springs)], layout, system.contact),
        links=links,
        flow=FlowTerms.of(system.flows, layout, weights_of(system.junctions) if system.flows else {}),
        cell_weights=cell_weights,
    )
    remaining_rows, combination = rows_without(assembly.constraints, assembly.ghost)
    if combination is not None:
        mediated = _through(assembly)
        both = [name for name in absorbing if name in mediated]
        if both:
            raise UserError(
                f"junction '{both[0]}': nothing is left of the coarse part where zones of several junctions coincide, "
                "so that its motion, against which waves are absorbed, is not known there: absorbing=None"
            )
        assembly = replace(
            assembly,
            constraints=sp.csr_array(combination @ assembly.constraints),
            gram=assembly.gram[remaining_rows][:, remaining_rows],
            junction_start=np.searchsorted(remaining_rows, assembly.junction_start),
            combination=combination,
            mediated=mediated,
        )
    if isinstance(mass, DistributedMatrix):
        _release(system)
    return assembly


def _through(assembly: Assembly) -> tuple[str, ...]:
    """Names of the junctions with constraints on excluded dofs."""
    columns = assembly.constraints[:, np.flatnonzero(assembly.ghost)]
    return tuple(
        junction.name
        for junction, (a, b) in zip(assembly.system.junctions, pairwise(assembly.junction_start), strict=False)
        if columns[a:b].nnz
    )


def _release(system: System) -> None:
    """Drop cached data of all cells in parts and junctions of a system spread over ranks; it is recomputed on
    access."""
    for part in system.parts:
        for name in ("basis", "cells"):
            vars(part).pop(name, None)
    for junction in system.junctions:
        for name in ("overlap", "glued"):
            vars(junction).pop(name, None)
    give_back()


def _size(part: Part) -> tuple[int, int, int]:
    """Cells of a part, their dimension and functions of a cell; masses and lines count as cells of a line."""
    cells, corners = part.connectivity.shape
    model = part.model if isinstance(part, MeshedPart) else None
    functions = int(model.basis.Nbfun) if isinstance(model, Continuum) else int(corners)
    return int(cells), int(part.positions.shape[1]) if corners > 2 else 1, functions


def _stack(blocks: Sequence[sp.csr_array], count: int) -> sp.csr_array:
    return sp.csr_array(sp.vstack(blocks, format="csr")) if blocks else sp.csr_array((0, count))


def _absorption(junctions: Sequence[Any], layout: DofLayout) -> tuple[Absorption | None, tuple[str, ...]]:
    """Absorbing terms of all junctions, None without any, and the names of the absorbing junctions."""
    forms = [(junction, junction.absorbing_form()) for junction in junctions]
    terms = [(form, junction.coarse, junction.fine) for junction, form in forms if form is not None]
    names = tuple(junction.name for junction, form in forms if form is not None)
    return (Absorption(None, layout, terms) if terms else None), names
