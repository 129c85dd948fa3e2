"""Transfer of the motion between two levels: prolongation of least strain energy, mass-orthogonal restriction.

With L the kinematics of the coarse level at the nodes of the fine one (`arlequin.levels.fields`), split in what the
levels share (kept, k: copied) and what the coarse one loses (l), and M, K, C those of the fine level on its new dofs n:

    down:  u_l = R (u_n − L_k u_k),    R = (L_lᵀ M L_l)⁻¹ L_lᵀ M
    up:    u_n = argmin ½ uᵀ K u − fᵀu   with   L_lᵀ M u = L_lᵀ M (L_l u_l + L_k u_k),   C_n u = −C_k u_k

so that going up and down again changes nothing; f are the external forces at the switch, or 0 where the levels have
reference displacements, which hold their effect. Velocities go up by the same operator without f (what the fine level
adds follows the coarse motion quasi-statically), and down by R. Both are then projected, M-orthogonally, on the
constraints and velocities on the momenta of the other level, linear and angular about a point of the undeformed body.
Where fine parts are nonlinear, uᵀK u is the energy about the coarse motion, to second order, velocities go up as the
coarse ones, and arms of the angular momenta are those of the deformed body.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import SuperLU, splu

from arlequin.levels.consistency import Consistency, centre, inertia_rows
from arlequin.levels.fields import field_at, has_field, joined_to, model_of, on_columns, section_rotations
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError
from arlequin.models.part import Nonlinear, Part, PathDependent
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_SOFT = 1e-9  # of the multipliers, in units of their rows' compliances: rows may depend on each other
_INDEPENDENT = 1e-10  # smallest pivot of motions that are independent
_REFINED = 40  # iterations at most
_COVERED, _MOSTLY = (
    0.99,
    0.6,
)  # shares of a part's nodes that have a counterpart: of a whole part, of one that is too long


@dataclass(frozen=True)
class _LeastEnergy:
    """x of least ½ xᵀK x − fᵀx with G x = g, by a factor of [K Gᵀ; G −ε] and refinement on the equations without ε.

    K is scaled by its largest diagonal term and each row of G by its own largest, so that units change no bit.
    """

    stiffness: sp.csr_array
    rows: sp.csr_array
    largest: float
    sizes: Array
    factor: SuperLU

    @classmethod
    def of(cls, stiffness: sp.csr_array, rows: sp.csr_array) -> "_LeastEnergy":
        """Factored."""
        largest = float(stiffness.diagonal().max(initial=0.0)) or 1.0
        sizes = np.asarray(abs(rows).max(axis=1).toarray()).ravel()
        sizes[sizes == 0.0] = 1.0
        stiffness = sp.csr_array(stiffness / largest)
        rows = sp.csr_array(sp.diags_array(1.0 / sizes) @ rows)
        soft = sp.diags_array(np.full(rows.shape[0], -_SOFT))
        whole = sp.block_array([[stiffness, rows.T], [rows, soft]], format="csc")
        return cls(stiffness, rows, largest, sizes, splu(whole))

    def solve(self, load: Array, right: Array) -> Array:
        """x (n,) under the forces f (n,) with G x = g (m,)."""
        n, load, right = load.size, load / self.largest, right / self.sizes
        first = self.factor.solve(np.concatenate([load, right]))
        x, multipliers, last = first[:n], first[n:], np.inf
        for _ in range(_REFINED):
            missing = np.concatenate([load - self.stiffness @ x - self.rows.T @ multipliers, right - self.rows @ x])
            size = float(np.abs(missing[n:]).max(initial=0.0))
            if size >= 0.5 * last:
                break
            change = self.factor.solve(missing)
            x, multipliers, last = x + change[:n], multipliers + change[n:], size
        return x


class LevelTransfer:
    """Between the assemblies of two systems that differ in the level of one `Levels`.

    references: displacements of both, (d,), the difference to which is transferred. UserError where a part that a
    junction joins to the rest has no counterpart in the other level, or a part remembers its strains.
    """

    def __init__(self, coarse: Assembly, fine: Assembly, name: str, references: tuple[Array, Array]) -> None:
        self._name = name
        self._sides = coarse, fine
        self._references = references
        self._kept = _shared(coarse, fine)
        self._sort()
        # before the first step, which tells of what is wrong, and leaves the switches the products
        _ = self._restriction, self._prolongation, self._projections, self._inertia

    def _sort(self) -> None:
        """Dofs that are lost, new, and their kinematics L."""
        coarse, fine = self._sides
        kept_coarse, kept_fine = self._kept
        lost, new = ~coarse.ghost, ~fine.ghost
        lost[kept_coarse] = False
        new[kept_fine] = False
        shared = {id(part) for part in fine.system.parts} & {id(part) for part in coarse.system.parts}
        lifts = []
        self._nonlinear = False
        chosen = np.zeros(fine.dof_count, dtype=bool)
        for index, part in enumerate(fine.system.parts):
            at = fine.places[index]
            if id(part) in shared or not new[at].any():
                continue
            if isinstance(fine.parts[index], PathDependent):
                raise UserError(
                    f"levels '{self._name}': part '{part.name}' remembers its strains, which levels do not switch"
                )
            found = self._lift(index, part)
            if found is None:
                continue
            lifts.append((at, found))
            self._nonlinear |= isinstance(fine.parts[index], Nonlinear)
            chosen[at] = new[at]
        if not lifts:
            raise UserError(f"levels '{self._name}': no part of one level covers a part of the other")
        rows = [sp.csr_array((at.stop - at.start, coarse.dof_count)) for at in fine.places]
        for at, found in lifts:
            rows[fine.places.index(at)] = found
        self._new = np.flatnonzero(chosen & fine.free)
        lift = sp.csr_array(sp.csr_array(sp.vstack(rows, format="csr"))[self._new])
        moved = np.asarray(abs(lift).sum(axis=0)).ravel() > 0.0
        self._lost = np.flatnonzero(lost & moved & coarse.free)
        self._lift_lost = sp.csr_array(lift[:, self._lost])
        rest = moved.copy()
        rest[self._lost] = False
        self._rest = np.flatnonzero(rest)
        self._lift_rest = sp.csr_array(lift[:, self._rest])
        for index, part in enumerate(coarse.system.parts):
            at = coarse.places[index]
            carried = moved[at][lost[at] & coarse.free[at]]
            if carried.any() and not carried.all():
                raise UserError(
                    f"levels '{self._name}': part '{part.name}' is not covered as a whole by the parts of the finer "
                    "level: levels must cover the same body, and only the finest may be glued of parts that overlap"
                )
        # parts that come and go without a counterpart keep their momentum to themselves
        gone = lost & ~moved
        self._bodies = ~gone, ~(new & ~chosen)

    def _lift(self, index: int, part: Part) -> sp.csr_array | None:
        """Coordinates (own d, coarse d) of a fine part by the field of the coarse level; None without a counterpart."""
        coarse, fine = self._sides
        own, model = fine.parts[index], model_of(part)
        same = self._same(part)
        if same is not None:
            return on_columns(sp.eye_array(own.mass.shape[0], format="csr"), same, coarse.dof_count)
        count, axes = part.positions.shape
        missing = np.ones(count, dtype=bool)
        nodal = sp.csr_array((part.dof_count, coarse.dof_count))
        shared, joined = {id(other) for other in coarse.system.parts}, joined_to(fine.system, part.name)
        fresh = {other.name for other in fine.system.parts if id(other) not in shared}
        if not joined and any(joined_to(fine.system, name) for name in fresh):
            return None  # beside a glued body: its supports
        shared &= {id(other) for other in fine.system.parts}
        # first what goes, then what stays beside it
        order = sorted(range(len(coarse.parts)), key=lambda i: id(coarse.system.parts[i]) in shared)
        for i in order:
            other = coarse.system.parts[i]
            if other.positions.shape[1] != axes or not missing.any() or not has_field(other):
                continue
            if id(other) in shared and other.name not in joined:
                continue
            rows, covered = field_at(other, part.positions[missing])
            if not covered.any():
                continue
            nodes = np.flatnonzero(missing)[covered]
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
            missing[nodes] = False
        share = 1.0 - missing.mean()
        if share < _COVERED:
            if joined or share > _MOSTLY:
                raise UserError(
                    f"levels '{self._name}': part '{part.name}' reaches beyond the other level, which covers "
                    f"{100 * share:.0f} % of its nodes: levels must cover the same body"
                )
            return None
        if model is part:
            return nodal
        heavy = sp.csr_array(sp.csr_array(own.inertia) @ nodal)
        right = sp.csr_array(heavy.T @ own.shapes).toarray().T  # shapes of a reduced part are full
        return sp.csr_array(np.linalg.solve(sp.csr_array(own.mass).toarray(), right))

    def _same(self, part: Part) -> slice | None:
        """Coordinates of a coarse part that is the same body as one without a field: masses, rigid bodies."""
        coarse, fine = self._sides
        if has_field(part):
            return None
        kept = {id(other) for other in fine.system.parts}
        for other, place in zip(coarse.system.parts, coarse.places, strict=True):
            alike = type(other) is type(part) and np.array_equal(other.positions, part.positions)
            if alike and id(other) not in kept:
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
        """S L_lᵀ M L_l S factored, and S with which its diagonal is 1. UserError where motions of the coarse level are
        none of the fine one."""
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
    def _held(self) -> sp.csr_array:
        """The restriction's rows and the constraints on the new dofs (l + m, n)."""
        weights, constraints = self._rows
        return sp.csr_array(sp.vstack([weights, constraints[:, self._new]], format="csr"))

    @cached_property
    def _prolongation(self) -> _LeastEnergy:
        return _LeastEnergy.of(sp.csr_array(self._stiffness[:, self._new]), self._held)

    def _up(self, field: Array, force: Array | None, reference: Array | None = None) -> Array:
        """A field (coarse d,) in the fine level (d,), 0 where it has no counterpart, under forces (d,), N.

        reference (d,): to which it is added; their sum keeps the constraints.
        """
        coarse_kept, fine_kept = self._kept
        out, new = np.zeros(self._sides[1].dof_count), self._new
        out[fine_kept] = field[coarse_kept]
        weights, constraints = self._rows
        lifted = self._lift_lost @ field[self._lost] + self._lift_rest @ field[self._rest]
        whole = out if reference is None else out + reference
        right = np.concatenate([weights @ lifted, -(constraints @ whole)])
        # of the difference to the lifted field, whose right-hand sides are small
        out[new] = lifted
        load = -self._resisting(out, reference)
        if force is not None:
            load += force[new]
        out[new] += self._prolongation.solve(load, right - self._held @ lifted)
        return out

    def _resisting(self, field: Array, reference: Array | None) -> Array:
        """Forces (n,), N, of a field (d,) about a reference on the new dofs; 0 of velocities where parts are nonlinear,
        which then follow the coarse motion as it is."""
        if not self._nonlinear:
            return np.asarray(self._stiffness @ field)
        if reference is None:
            return np.zeros(self._new.size)
        fine = self._sides[1]  # whose parts that remember their strains stay: they have no new coordinates
        both = [fine.respond(own, fine.fresh(), 0.0).force for own in (field + reference, reference)]
        return np.asarray((both[0] - both[1])[self._new])

    def _down(self, field: Array) -> Array:
        """A field (fine d,) in the coarse level (d,)."""
        coarse_kept, fine_kept = self._kept
        out = np.zeros(self._sides[0].dof_count)
        out[coarse_kept] = field[fine_kept]
        own = field[self._new] - self._lift_rest @ out[self._rest]
        factor, scale = self._restriction
        out[self._lost] = scale * factor.solve(scale * (self._rows[0] @ own))
        return out

    def move(self, u: Array, v: Array, t: float, upwards: bool) -> tuple[Array, Array]:
        """Displacements and velocities (d,) at t in the other level, with its constraints and imposed motions."""
        there = self._sides[1 if upwards else 0]
        before, after = self._references if upwards else self._references[::-1]
        if upwards:
            loaded = None if before.any() or after.any() else there.load(t)
            moved, velocity = after + self._up(u - before, loaded, after), self._up(v, None)
        else:
            moved, velocity = after + self._down(u - before), self._down(v)
        moved[there.ghost] = velocity[there.ghost] = 0.0
        dofs, displaced = there.imposed_dofs, there.imposes_displacement
        if dofs.size:
            kept = self._kept[1] if upwards else self._kept[0]
            fresh = ~np.isin(dofs, kept)
            values = there.imposed(t)
            moved[dofs[fresh & displaced]] = values[fresh & displaced]
            velocity[dofs[fresh & ~displaced]] = values[fresh & ~displaced]
        side = 1 if upwards else 0
        projection = self._projections[side]
        moved = projection.of(moved)
        inertia = (
            self._inertia if not self._nonlinear else self._rigid_motions(*((u, moved) if upwards else (moved, u)))
        )
        return moved, projection.of(velocity, inertia[side], inertia[1 - side] @ v)

    @cached_property
    def _projections(self) -> tuple[Consistency, Consistency]:
        return Consistency(self._sides[0]), Consistency(self._sides[1])

    @cached_property
    def _inertia(self) -> tuple[Array, Array]:
        """rᵀM (r, d) of the rigid motions r of the bodies that both levels have, in each, as they are undeformed."""
        return self._rigid_motions(None, None)

    def _rigid_motions(self, coarse: Array | None, fine: Array | None) -> tuple[Array, Array]:
        """rᵀM (r, d) in both levels at displacements (d,), by default 0."""
        origin = centre(*(side.system.parts for side in self._sides))
        each = zip(self._sides, (coarse, fine), self._bodies, strict=True)
        one, other = (inertia_rows(side, origin, u) * bodies for side, u, bodies in each)
        return one, other


def _shared(coarse: Assembly, fine: Assembly) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Dofs of the parts that both have, and that rest in neither: numbers in both (k,)."""
    number = {id(part): i for i, part in enumerate(fine.system.parts)}
    pairs = [(i, number[id(part)]) for i, part in enumerate(coarse.system.parts) if id(part) in number]
    none = np.zeros(0, dtype=np.int64)
    first = np.concatenate([none, *(np.arange(coarse.start[i], coarse.start[i + 1]) for i, _ in pairs)])
    second = np.concatenate([none, *(np.arange(fine.start[j], fine.start[j + 1]) for _, j in pairs)])
    there = ~coarse.ghost[first] & ~fine.ghost[second]
    return first[there], second[there]
