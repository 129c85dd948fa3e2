"""Transfer of the motion between two levels: prolongation of least strain energy, mass-orthogonal restriction.

With L the kinematics of the coarse level at the nodes of the fine one (`arlequin.transfer.fields`), split into dofs
that the levels share (k, copied) and dofs of the coarse level only (l), and M, K, C of the fine level on its new dofs
n:

    down:  u_l = R (u_n − L_k u_k),    R = (L_lᵀ M L_l)⁻¹ L_lᵀ M
    up:    u_n = argmin ½ uᵀ K u − fᵀu   with   L_lᵀ M u = L_lᵀ M (L_l u_l + L_k u_k),   C_n u = −C_k u_k

so that going up and down again is the identity; f are the external forces at the switch, or 0 where the levels have
reference displacements, which include their effect. Velocities go up by the same operator without f (the additional
fine modes follow the coarse motion quasi-statically), and down by R. Both are then projected, M-orthogonally, on the
constraints, velocities also on the linear and angular momenta (about a point of the undeformed body) of the source.
Where fine parts are nonlinear, uᵀK u is the energy about the coarse motion, to second order, velocities go up by L,
and arms of the angular momenta are those of the deformed body.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import SuperLU, splu

from arlequin.levels.consistency import Consistency, centre, inertia_rows
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError
from arlequin.models.part import Nonlinear, Part, PathDependent
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly
from arlequin.system.system import System
from arlequin.transfer.fields import field_at, has_field, model_of, on_columns, section_rotations

_REGULARISATION = 1e-9  # of the multipliers, relative to the compliances of their rows, which may be linearly dependent
_INDEPENDENT = 1e-10  # smallest pivot of linearly independent motions
_MAX_REFINEMENTS = 40
# shares of a part's nodes in the other level: of a part that is covered, of a part that extends beyond it
_FULL_COVERAGE, _PARTIAL_COVERAGE = 0.99, 0.6


@dataclass(frozen=True)
class _LeastEnergy:
    """min ½ xᵀK x − fᵀx with G x = g, by a factor of [K Gᵀ; G −ε] and iterative refinement on the equations without ε.

    K is scaled by its largest diagonal term and each row of G by its largest, so that units do not change the solution.
    """

    stiffness: sp.csr_array
    rows: sp.csr_array
    largest: float
    sizes: Array
    factor: SuperLU

    @classmethod
    def of(cls, stiffness: sp.csr_array, rows: sp.csr_array) -> "_LeastEnergy":
        """Factorise the scaled matrix."""
        largest = float(stiffness.diagonal().max(initial=0.0)) or 1.0
        sizes = np.asarray(abs(rows).max(axis=1).toarray()).ravel()
        sizes[sizes == 0.0] = 1.0
        stiffness = sp.csr_array(stiffness / largest)
        rows = sp.csr_array(sp.diags_array(1.0 / sizes) @ rows)
        regularisation = sp.diags_array(np.full(rows.shape[0], -_REGULARISATION))
        bordered = sp.block_array([[stiffness, rows.T], [rows, regularisation]], format="csc")
        return cls(stiffness, rows, largest, sizes, splu(bordered))

    def solve(self, load: Array, rhs: Array) -> Array:
        """x (n,) under the forces f (n,) with G x = g (m,)."""
        n, load, rhs = load.size, load / self.largest, rhs / self.sizes
        first = self.factor.solve(np.concatenate([load, rhs]))
        x, multipliers, previous = first[:n], first[n:], np.inf
        for _ in range(_MAX_REFINEMENTS):
            residual = np.concatenate([load - self.stiffness @ x - self.rows.T @ multipliers, rhs - self.rows @ x])
            size = float(np.abs(residual[n:]).max(initial=0.0))
            if size >= 0.5 * previous:
                break
            correction = self.factor.solve(residual)
            x, multipliers, previous = x + correction[:n], multipliers + correction[n:], size
        return x


class LevelTransfer:
    """Transfer between the assemblies of two systems that differ in the level of one `Levels`.

    references: displacements of both, (d,); the difference to them is transferred. UserError where a part coupled by a
    junction has no counterpart in the other level, or a part is path-dependent.
    """

    def __init__(self, coarse: Assembly, fine: Assembly, name: str, references: tuple[Array, Array]) -> None:
        self._name = name
        self._sides = coarse, fine
        self._references = references
        self._shared_dofs = _shared_dofs(coarse, fine)
        self._sort()
        # computed before the first step: errors are raised early, and switches cost products only
        _ = self._restriction, self._prolongation, self._projections, self._inertia

    def _sort(self) -> None:
        """Find the dofs of the coarse level only and of the fine level only, and the kinematics L between them."""
        coarse, fine = self._sides
        shared_coarse, shared_fine = self._shared_dofs
        coarse_only, fine_only = ~coarse.ghost, ~fine.ghost
        coarse_only[shared_coarse] = False
        fine_only[shared_fine] = False
        shared_parts = {id(part) for part in fine.system.parts} & {id(part) for part in coarse.system.parts}
        lifts = []
        self._nonlinear = False
        new_lifted = np.zeros(fine.dof_count, dtype=bool)
        for index, part in enumerate(fine.system.parts):
            at = fine.places[index]
            if id(part) in shared_parts or not fine_only[at].any():
                continue
            if isinstance(fine.parts[index], PathDependent):
                raise UserError(
                    f"levels '{self._name}': part '{part.name}' remembers its strains, which levels do not switch"
                )
            part_lift = self._lift(index, part)
            if part_lift is None:
                continue
            lifts.append((at, part_lift))
            self._nonlinear |= isinstance(fine.parts[index], Nonlinear)
            new_lifted[at] = fine_only[at]
        if not lifts:
            raise UserError(f"levels '{self._name}': no part of one level covers a part of the other")
        rows = [sp.csr_array((at.stop - at.start, coarse.dof_count)) for at in fine.places]
        for at, part_lift in lifts:
            rows[fine.places.index(at)] = part_lift
        self._new = np.flatnonzero(new_lifted & fine.free)
        lift = sp.csr_array(sp.csr_array(sp.vstack(rows, format="csr"))[self._new])
        lifted = np.asarray(abs(lift).sum(axis=0)).ravel() > 0.0
        self._lost = np.flatnonzero(coarse_only & lifted & coarse.free)
        self._lift_lost = sp.csr_array(lift[:, self._lost])
        retained = lifted.copy()
        retained[self._lost] = False
        self._rest = np.flatnonzero(retained)
        self._lift_rest = sp.csr_array(lift[:, self._rest])
        for index, part in enumerate(coarse.system.parts):
            at = coarse.places[index]
            covered = lifted[at][coarse_only[at] & coarse.free[at]]
            if covered.any() and not covered.all():
                raise UserError(
                    f"levels '{self._name}': part '{part.name}' is not covered as a whole by the parts of the finer "
                    "level: levels must cover the same body, and only the finest may be glued of parts that overlap"
                )
        # momenta of parts without a counterpart are not transferred
        unmatched = coarse_only & ~lifted
        self._bodies = ~unmatched, ~(fine_only & ~new_lifted)

    def _lift(self, index: int, part: Part) -> sp.csr_array | None:
        """Coordinates of a fine part (its d, coarse d) by the field of the coarse level; None without a counterpart."""
        coarse, fine = self._sides
        assembled, model = fine.parts[index], model_of(part)
        same = self._same(part)
        if same is not None:
            return on_columns(sp.eye_array(assembled.mass.shape[0], format="csr"), same, coarse.dof_count)
        count, axes = part.positions.shape
        uncovered = np.ones(count, dtype=bool)
        nodal = sp.csr_array((part.dof_count, coarse.dof_count))
        shared, joined = {id(other) for other in coarse.system.parts}, joined_to(fine.system, part.name)
        new_names = {other.name for other in fine.system.parts if id(other) not in shared}
        if not joined and any(joined_to(fine.system, name) for name in new_names):
            return None  # a support of a body glued of several parts
        shared &= {id(other) for other in fine.system.parts}
        # parts of the coarse level only before shared ones
        order = sorted(range(len(coarse.parts)), key=lambda i: id(coarse.system.parts[i]) in shared)
        for i in order:
            other = coarse.system.parts[i]
            if other.positions.shape[1] != axes or not uncovered.any() or not has_field(other):
                continue
            if id(other) in shared and other.name not in joined:
                continue
            rows, covered = field_at(other, part.positions[uncovered])
            if not covered.any():
                continue
            nodes = np.flatnonzero(uncovered)[covered]
            blocks = [sp.csr_array(rows[np.flatnonzero(np.repeat(covered, axes))])]
            dofs = [(nodes[:, None] * part.components + np.arange(axes)).ravel()]
            if part.components > axes:
                other_model = model_of(other)
                if not isinstance(other_model, Beam):
                    continue
                blocks.append(section_rotations(other_model, part.positions[nodes]))
                dofs.append((nodes[:, None] * part.components + np.arange(axes, part.components)).ravel())
            block, at = sp.csr_array(sp.vstack(blocks)), np.concatenate(dofs)
            spread = sp.csr_array((np.ones(at.size), (at, np.arange(at.size))), shape=(part.dof_count, at.size))
            place = coarse.places[i]
            inside = sp.csr_array(sp.csr_array(spread @ block) @ coarse.parts[i].shapes)
            nodal = sp.csr_array(nodal + on_columns(inside, place, coarse.dof_count))
            uncovered[nodes] = False
        share = 1.0 - uncovered.mean()
        if share < _FULL_COVERAGE:
            if joined or share > _PARTIAL_COVERAGE:
                raise UserError(
                    f"levels '{self._name}': part '{part.name}' reaches beyond the other level, which covers "
                    f"{100 * share:.0f} % of its nodes: levels must cover the same body"
                )
            return None
        if isinstance(part, Superelement):
            raise UserError(
                f"levels '{self._name}': superelement '{part.name}' switches to a superelement of the same nodes and "
                "coordinates alone"
            )
        if model is part:
            return nodal
        inertia = sp.csr_array(sp.csr_array(assembled.inertia) @ nodal)
        rhs = sp.csr_array(inertia.T @ assembled.shapes).toarray().T  # shapes of a reduced part are full
        return sp.csr_array(np.linalg.solve(sp.csr_array(assembled.mass).toarray(), rhs))

    def _same(self, part: Part) -> slice | None:
        """Coordinates of the coarse part equal to a part without a field (masses, rigid bodies); None without one."""
        coarse, fine = self._sides
        if has_field(part):
            return None
        fine_parts = {id(other) for other in fine.system.parts}
        for other, place in zip(coarse.system.parts, coarse.places, strict=True):
            equal = type(other) is type(part) and np.array_equal(other.positions, part.positions)
            if isinstance(other, Superelement) and isinstance(part, Superelement):
                equal &= other.retained == part.retained and other.generalised.size == part.generalised.size
            if equal and id(other) not in fine_parts:
                return place
        return None

    @cached_property
    def _rows(self) -> tuple[sp.csr_array, sp.csr_array]:
        """G = L_lᵀM (l, n) of the restriction, and the constraints that act on new dofs (m, d)."""
        fine = self._sides[1]
        mass = sp.csr_array(sp.csr_array(fine.mass)[self._new][:, self._new])
        constraints = sp.csr_array(fine.constraints)
        acting = np.flatnonzero(np.asarray(abs(constraints[:, self._new]).sum(axis=1)).ravel() > 0.0)
        return sp.csr_array(self._lift_lost.T @ mass), sp.csr_array(constraints[acting])

    @cached_property
    def _restriction(self) -> tuple[SuperLU, Array]:
        """Factor of S L_lᵀ M L_l S, and S, for which its diagonal is 1. UserError where the fine level cannot represent
        motions of the coarse one."""
        gram = sp.csc_array(self._rows[0] @ self._lift_lost)
        scale = 1.0 / np.sqrt(gram.diagonal())
        try:
            factor = splu(sp.csc_array(sp.diags_array(scale) @ gram @ sp.diags_array(scale)))
            independent = np.abs(factor.U.diagonal()).min(initial=1.0) > _INDEPENDENT
        except RuntimeError:  # singular
            independent = False
        if not independent:
            raise UserError(
                f"levels '{self._name}': a level has motions that the next one, which must be finer, cannot follow: "
                "give the levels coarse first"
            )
        return factor, scale

    @cached_property
    def _stiffness(self) -> sp.csr_array:
        """Rows (n, d) of the stiffness of the fine level on its new dofs."""
        return sp.csr_array(sp.csr_array(self._sides[1].stiffness)[self._new])

    @cached_property
    def _prolongation_rows(self) -> sp.csr_array:
        """The restriction's rows and the constraints on the new dofs (l + m, n)."""
        weights, constraints = self._rows
        return sp.csr_array(sp.vstack([weights, constraints[:, self._new]], format="csr"))

    @cached_property
    def _prolongation(self) -> _LeastEnergy:
        return _LeastEnergy.of(sp.csr_array(self._stiffness[:, self._new]), self._prolongation_rows)

    def _up(self, field: Array, force: Array | None, reference: Array | None = None) -> Array:
        """Prolongation of a field (coarse d,) to the fine level (d,) under forces (d,), N; 0 without a counterpart.

        reference (d,): a field of the fine level; the sum of both obeys the constraints.
        """
        coarse_shared, fine_shared = self._shared_dofs
        out, new = np.zeros(self._sides[1].dof_count), self._new
        out[fine_shared] = field[coarse_shared]
        weights, constraints = self._rows
        lifted = self._lift_lost @ field[self._lost] + self._lift_rest @ field[self._rest]
        total = out if reference is None else out + reference
        rhs = np.concatenate([weights @ lifted, -(constraints @ total)])
        # solve for the difference to the lifted field: its right-hand sides are small
        out[new] = lifted
        load = -self._restoring_force(out, reference)
        if force is not None:
            load += force[new]
        out[new] += self._prolongation.solve(load, rhs - self._prolongation_rows @ lifted)
        return out

    def _restoring_force(self, field: Array, reference: Array | None) -> Array:
        """Internal forces (n,), N, of a field (d,) about a reference, on the new dofs; 0 for velocities where parts are
        nonlinear: these follow the coarse motion."""
        if not self._nonlinear:
            return np.asarray(self._stiffness @ field)
        if reference is None:
            return np.zeros(self._new.size)
        fine = self._sides[1]  # its path-dependent parts have no new dofs
        forces = [fine.respond(u, fine.fresh(), 0.0).force for u in (field + reference, reference)]
        return np.asarray((forces[0] - forces[1])[self._new])

    def _down(self, field: Array) -> Array:
        """Restriction of a field (fine d,) to the coarse level (d,)."""
        coarse_shared, fine_shared = self._shared_dofs
        out = np.zeros(self._sides[0].dof_count)
        out[coarse_shared] = field[fine_shared]
        relative = field[self._new] - self._lift_rest @ out[self._rest]
        factor, scale = self._restriction
        out[self._lost] = scale * factor.solve(scale * (self._rows[0] @ relative))
        return out

    def move(self, u: Array, v: Array, t: float, upwards: bool) -> tuple[Array, Array]:
        """Displacements and velocities (d,) at t in the other level, with its constraints and imposed motions."""
        target = self._sides[1 if upwards else 0]
        before, after = self._references if upwards else self._references[::-1]
        if upwards:
            force = None if before.any() or after.any() else target.load(t)
            displacement, velocity = after + self._up(u - before, force, after), self._up(v, None)
        else:
            displacement, velocity = after + self._down(u - before), self._down(v)
        displacement[target.ghost] = velocity[target.ghost] = 0.0
        dofs, displaced = target.imposed_dofs, target.imposes_displacement
        if dofs.size:
            shared = self._shared_dofs[1] if upwards else self._shared_dofs[0]
            new = ~np.isin(dofs, shared)
            values = target.imposed(t)
            displacement[dofs[new & displaced]] = values[new & displaced]
            velocity[dofs[new & ~displaced]] = values[new & ~displaced]
        side = 1 if upwards else 0
        projection = self._projections[side]
        displacement = projection.project(displacement)
        inertia = (
            self._inertia
            if not self._nonlinear
            else self._rigid_motions(*((u, displacement) if upwards else (displacement, u)))
        )
        return displacement, projection.project(velocity, inertia[side], inertia[1 - side] @ v)

    @cached_property
    def _projections(self) -> tuple[Consistency, Consistency]:
        return Consistency(self._sides[0]), Consistency(self._sides[1])

    @cached_property
    def _inertia(self) -> tuple[Array, Array]:
        """rᵀM (r, d) in both levels for the rigid motions r of their common bodies, undeformed."""
        return self._rigid_motions(None, None)

    def _rigid_motions(self, coarse: Array | None, fine: Array | None) -> tuple[Array, Array]:
        """rᵀM (r, d) in both levels at displacements (d,), by default 0."""
        origin = centre(*(side.system.parts for side in self._sides))
        each = zip(self._sides, (coarse, fine), self._bodies, strict=True)
        coarse_rows, fine_rows = (inertia_rows(side, origin, u) * bodies for side, u, bodies in each)
        return coarse_rows, fine_rows


def _shared_dofs(coarse: Assembly, fine: Assembly) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Dofs of the parts in both levels, active in both: indices in each (k,)."""
    number = {id(part): i for i, part in enumerate(fine.system.parts)}
    pairs = [(i, number[id(part)]) for i, part in enumerate(coarse.system.parts) if id(part) in number]
    empty = np.zeros(0, dtype=np.int64)
    first = np.concatenate([empty, *(np.arange(coarse.start[i], coarse.start[i + 1]) for i, _ in pairs)])
    second = np.concatenate([empty, *(np.arange(fine.start[j], fine.start[j + 1]) for _, j in pairs)])
    active = ~coarse.ghost[first] & ~fine.ghost[second]
    return first[active], second[active]


def joined_to(system: System, name: str) -> set[str]:
    """Names of the parts that junctions couple with a part."""
    pairs = [{junction.coarse.name, junction.fine.name} for junction in system.junctions]
    return {other for pair in pairs if name in pair for other in pair} - {name}
