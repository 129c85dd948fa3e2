"""All interfaces of a system in one dof numbering: surfaces, pairings, laws, and length scales of their gaps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.products import RowProduct
from arlequin.models.errors import UserError
from arlequin.models.part import Assembled, Surface
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws.wear import WearState
from arlequin.multilevel.pairing.kinematics import FixedPartnerPairing, Kinematics, Pairing, faces, shared_weight
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.multilevel.solvers.problem import ACTS
from arlequin.system.contact_item import ContactItem
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.dofs import DofLayout, bounds_of
from arlequin.system.interference import Interference
from arlequin.system.spring_rows import SpringRows
from arlequin.system.system import surfaces_of


@dataclass(frozen=True, eq=False)
class ContactSide:
    """One side of an interface: a surface, or None for a rigid obstacle, with rows (r, d) over the coordinates u.

    displacement (r,) = rows · u: of the nodes, or, on a rotating part, its coordinates, which determine them. nodal (n
    a, d): displacements of the nodes in the initial configuration. rigid: whether the part is rigid.
    """

    surface: Surface | None
    rows: sp.csr_array
    nodal: sp.csr_array
    rotating: Assembled | None
    rigid: bool

    @classmethod
    def of(cls, surface: Any, layout: DofLayout) -> "ContactSide":
        """The side of a surface of a part of the layout, or of an obstacle."""
        if not isinstance(surface, Surface):
            return cls(None, *2 * (sp.csr_array((0, layout.count)),), None, False)
        rotating = layout.rotating.get(surface.part.name)
        nodal = layout.widened(surface.motion, surface.part)
        rows = nodal if rotating is None else layout.coordinates(surface.part)
        return cls(surface, rows, nodal, rotating, surface.part.name in layout.rigid)

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    def positions(self, displacement: Array) -> Array:
        """Positions (n, a) of the nodes; none of an obstacle."""
        if self.surface is None:
            return np.zeros((0, 1))
        if self.rotating is not None:
            displacement = self.rotating.nodal_motion(displacement[None], displacement[None])[0][0, _dofs(self.surface)]
        return np.asarray(self.surface.positions + displacement.reshape(self.surface.positions.shape))

    def nodes(self, displacement: Array) -> sp.csr_array:
        """Matrix (n a, r) from velocities of the rows to velocities of the nodes."""
        if self.rotating is None or self.surface is None:
            return sp.csr_array(sp.eye_array(self.count))
        return sp.csr_array(self.rotating.rates(displacement)[_dofs(self.surface)])

    def sagitta(self, increment: Array) -> float:
        """Largest distance of the arc of a node of a rotating part from its tangent, m; increment (r,): rows · Δt v."""
        if self.rotating is None or self.surface is None:
            return 0.0
        angle = np.linalg.norm(increment[self.surface.positions.shape[1] :])
        arms = np.abs(self.rotating.rates(0.0 * increment)[:, self.surface.positions.shape[1] :])
        return float(angle**2 * arms.max())

    def resultant(self, axes: int) -> Array:
        """Matrix (a, r) from forces on the rows to their resultant."""
        along = np.arange(self.count) if self.rotating is not None else np.arange(self.count) % axes
        return np.asarray(along == np.arange(axes)[:, None], dtype=float)


def _dofs(surface: Surface) -> Any:
    """Nodal dofs (n a,) of the displacements; a beam's rotations come after them."""
    return surface.dofs[:, : surface.positions.shape[1]].ravel()


@dataclass(frozen=True, eq=False)
class ContactSubset:
    """Some of the points (p,) of a contact, with their laws, rows of H and rows of the history."""

    points: NDArray[np.int64]
    laws: PointLaws
    rows: NDArray[np.int64]
    histories: NDArray[np.int64]

    def expand(self, solution: ContactSolution, laws: PointLaws, history: Array) -> ContactSolution:
        """The solution on all points, zero at those outside the subset."""
        if self.points.size == laws.count:
            return solution

        def spread(values: NDArray[Any], size: int, at: NDArray[np.int64]) -> NDArray[Any]:
            out = np.zeros(size, dtype=values.dtype)
            out[at] = values
            return out

        all_history = history.copy()
        all_history[self.histories] = solution.history
        count, points = laws.count, self.points
        traction = solution.spring_traction
        return replace(
            solution,
            impulse=spread(solution.impulse, laws.row_count, self.rows),
            stored=spread(solution.stored, count, points),
            dissipated=spread(solution.dissipated, count, points),
            multiplier=spread(solution.multiplier, count, points),
            status=spread(solution.status, count, points),
            history=all_history,
            spring_traction=None if traction is None else spread(traction, laws.row_count, self.rows),
        )


_TOUCHING = 1e-12  # gap, relative to the extent of the surfaces, that counts as zero
_LASTING = 1e-9  # gap, relative to it, up to which round-off of the rates may add in persistent contact
_FITTED = 1e-3  # the same, relative to the interference
_ROUND_OFF = 8.0 * float(np.finfo(float).eps)  # of the coordinates
_DISTANT = 0.1  # factor on large coordinates, so that their ε is 1e-14 of the scale of changes


@dataclass(frozen=True, eq=False)
class ContactScale:
    """Length scales of the surfaces of a contact, from its initial kinematics and its interference."""

    surfaces: Sequence[Surface]
    reference: Sequence[Kinematics]
    interference: Interference | None

    @cached_property
    def extent(self) -> float:
        """Largest extent of the slave surfaces and their masters, or of their parts, m; of points without any, their
        distance from their partners or the origin; 1 m where all of these are zero."""
        extent = max((float(np.ptp(side.positions, axis=0).max()) for side in self.surfaces), default=0.0)
        extent = extent or max((float(np.ptp(s.part.positions, axis=0).max()) for s in self.surfaces), default=0.0)
        apart = max((float(np.abs(kin.gap[kin.paired]).max(initial=0.0)) for kin in self.reference), default=0.0)
        return extent or max(apart, self._distance) or 1.0

    @property
    def touching(self) -> float:
        """Largest gap that counts as zero, m."""
        return _TOUCHING * self.extent + self.round_off

    @property
    def lasting(self) -> float:
        """Largest gap of persistent contact, m; in a press fit, whose release would be an impact, a share of the
        interference, as its slip lets the gaps drift at second order."""
        fitted = 0.0 if self.interference is None else _FITTED * float(self.interference.overlap.max())
        return max(_LASTING * self.extent, fitted) + self.round_off

    @property
    def round_off(self) -> float:
        """Round-off of gaps at the contact points, m."""
        return _ROUND_OFF * self._distance

    def sizes(self, sides: Sequence[tuple[ContactSide, ContactSide]]) -> Array:
        """Scale of the change of each coordinate (q,) of both sides: the extent, m, or 1 rad for rotations; larger far
        from the origin, where round-off of coordinates is larger."""
        factor = 1.0 + _DISTANT * self._distance / self.extent
        sizes = [np.full(side.count, self.extent * factor) for pair in sides for side in pair]
        for side_sizes, side in zip(sizes, (side for pair in sides for side in pair), strict=True):
            if side.rotating is not None and side.surface is not None:
                side_sizes[side.surface.positions.shape[1] :] = factor
        return np.concatenate(sizes)

    @cached_property
    def _distance(self) -> float:
        """Largest coordinate of the contact points, m, to which their round-off is proportional."""
        return max((float(np.abs(kin.positions).max(initial=0.0)) for kin in self.reference), default=0.0)


@dataclass(frozen=True, eq=False)
class Contact:
    """The items, first the interfaces, then the springs with a law, with their pairings and laws.

    start (items + 1,) bounds the points of the items. basis (q, d): the rows of the items that are steady, whose
    pairing is fixed and whose nodes move linearly, and those of both sides of the others (`span` (items + 1,) bounds
    the rows). method: solution method of a step.
    """

    items: tuple[ContactItem, ...]
    pairings: tuple[Pairing, ...]
    laws: PointLaws
    start: NDArray[np.int64]
    basis: sp.csr_array
    span: NDArray[np.int64]
    reference: tuple[Kinematics, ...]
    sides: tuple[tuple[ContactSide, ContactSide], ...]
    steady: tuple[bool, ...]
    method: ContactMethod
    _last_subset: list["ContactSubset"] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, items: Sequence[ContactItem], layout: DofLayout, method: ContactMethod) -> "Contact":
        """The interfaces and then the springs between parts of the layout."""
        pairings = tuple(item.pairing() for item in items)
        reference = tuple(
            pairing.at(*(_positions(side) for side in (item.slave, item.master)))
            for item, pairing in zip(items, pairings, strict=True)
        )
        laws = PointLaws.gather(
            [laws for item, kin in zip(items, reference, strict=True) for laws in item.point_laws(kin.gap.size)],
            np.concatenate([pairing.areas for pairing in pairings]) if pairings else np.zeros(0),
            [item.friction for item, kin in zip(items, reference, strict=True) for _ in kin.gap],
            axes=reference[0].normals.shape[1] if reference else 1,
        )
        sides = tuple(_sides(item, layout) for item in items)
        steady, blocks = [], []
        for item, pairing, kin, pair in zip(items, pairings, reference, sides, strict=True):
            both = sp.csr_array(sp.vstack([side.rows for side in pair], format="csr"))
            steady.append(pairing.fixed and all(side.rotating is None for side in pair))
            blocks.append(sp.csr_array(used_rows(item, kin) @ both) if steady[-1] else both)
        return cls(
            items=tuple(items),
            pairings=pairings,
            laws=laws,
            start=bounds_of([kin.gap.size for kin in reference]),
            basis=sp.csr_array(sp.vstack(blocks, format="csr")) if blocks else sp.csr_array((0, layout.count)),
            span=bounds_of([block.shape[0] for block in blocks]),
            reference=reference,
            sides=sides,
            steady=tuple(steady),
            method=method,
        )

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces; their points come first."""
        return tuple(item for item in self.items if isinstance(item, Interface))

    @cached_property
    def springs(self) -> tuple[SpringRows, ...]:
        """The springs with a law, after the interfaces."""
        return tuple(item for item in self.items if isinstance(item, SpringRows))

    def refuse_memory(self, text: str) -> None:
        """UserError where a spring has a law with a memory."""
        for item in self.springs:
            if item.hysteretic:
                raise UserError(f"spring '{item.spring.name}' has a law with a memory, {text}")

    @property
    def count(self) -> int:
        """Number of contact points."""
        return self.laws.count

    @cached_property
    def fixed(self) -> bool:
        """Whether all items are steady: gaps are linear in the coordinates then."""
        return all(self.steady)

    @cached_property
    def rotating(self) -> NDArray[np.bool_]:
        """Mask (k,) of points whose normals or partners may change."""
        return np.repeat(~np.array(self.steady, dtype=bool), np.diff(self.start))

    @cached_property
    def _drifting(self) -> NDArray[np.bool_]:
        """Mask (k,) of points whose gaps accumulate round-off of the rates."""
        each = [
            not steady or any(side.rigid for side in pair) for steady, pair in zip(self.steady, self.sides, strict=True)
        ]
        return np.repeat(np.array(each, dtype=bool), np.diff(self.start))

    @cached_property
    def rigid(self) -> bool:
        """Whether a side is rigid."""
        return any(side.rigid for pair in self.sides for side in pair)

    @cached_property
    def _repeated(self) -> NDArray[np.bool_]:
        """Mask (k,) of points that may be redundant: corners and edges, and nodes in contact with several surfaces."""
        names = [item.slave.part.name for item in self.items]
        number = [
            np.full(len(kin.positions), names.index(name)) for name, kin in zip(names, self.reference, strict=True)
        ]
        places = [np.column_stack([each, kin.positions]) for each, kin in zip(number, self.reference, strict=True)]
        _, at, times = np.unique(np.concatenate(places), axis=0, return_inverse=True, return_counts=True)
        extra = np.concatenate([faces(pairing) < 0 for pairing in self.pairings])
        return np.asarray(extra | (times[at.ravel()] > 1))

    def indeterminate(self, points: NDArray[np.int64]) -> bool:
        """Whether the forces at points may be statically indeterminate: on the few coordinates of a rigid part, or at
        nodes in contact with several surfaces or edges."""
        return self.rigid or bool(self._repeated[points].any())

    def subset(self, points: NDArray[np.int64]) -> "ContactSubset":
        """Laws and rows of some of the points; the last subset is cached."""
        if self._last_subset and np.array_equal(self._last_subset[0].points, points):
            return self._last_subset[0]
        laws = self.laws
        self._last_subset[:] = [
            ContactSubset(points, laws.chosen(points), laws.rows_of(points), laws.histories_of(points))
        ]
        return self._last_subset[0]

    @cached_property
    def scale(self) -> ContactScale:
        """Length scales of the gaps."""
        surfaces = [side for item in self.interfaces or self.items for side in surfaces_of(item)]
        return ContactScale(surfaces, self.reference, self.interference)

    @cached_property
    def sizes(self) -> Array:
        """Scale of the change of each row of the basis (q,), m or rad."""
        sizes, extent = np.empty(self.basis.shape[0]), self.scale.extent
        for i, (a, b) in enumerate(pairwise(self.span)):
            sizes[a:b] = extent if self.steady[i] else self.scale.sizes([self.sides[i]])
        return sizes

    def closed(self, gaps: Array, increment: Array, persistence: NDArray[np.int8] | None = None) -> NDArray[np.bool_]:
        """Mask (…, k) of closed points; gaps within round-off count as closed.

        A gap within the arcs of a step, increment (q,) = basis · Δt v, is closed too: a corner on which a rigid part
        rotates rises by as much. On rotating normals and under rigid parts, round-off of the rates of heavy bodies on
        light ones accumulates: persistent contact, by the flags persistence (k,) of `State`, stays closed within a
        larger tolerance, as it opens by its rate alone.
        """
        limit = np.full(gaps.shape, self.scale.touching)
        if persistence is not None:
            limit[self._drifting & ((persistence & ACTS) > 0)] = self.scale.lasting
        if self.rigid:
            for i, (a, b) in enumerate(pairwise(self.start)):
                slave, master = self.sides[i]
                interface_increment = increment[self.span[i] : self.span[i + 1]]
                if not self.steady[i]:
                    limit[a:b] += slave.sagitta(interface_increment[: slave.count]) + master.sagitta(
                        interface_increment[slave.count :]
                    )
        return np.asarray(gaps <= limit)

    @cached_property
    def basis_product(self) -> RowProduct:
        """x ↦ basis · x and its transpose."""
        return RowProduct(self.basis)

    @cached_property
    def _at_rest(self) -> ContactKinematics:
        return self._join(self.reference, np.zeros(self.basis.shape[0]))

    @cached_property
    def interference(self) -> Interference | None:
        """The press fits, None without."""
        return Interference.of(self.interfaces, self.reference)

    @cached_property
    def wear_rate(self) -> Array | None:
        """Worn depth per work (k,), k/A by Archard's law, m/J; None without wear."""
        if all(item.wear is None for item in self.items):
            return None
        each = [0.0 if item.wear is None else item.wear.coefficient for item in self.items]
        return np.repeat(each, np.diff(self.start)) / self.laws.area

    def worn(self, before: WearState | None, wear: Array) -> WearState | None:
        """The wear after a step in which the work of the normal forces on the slip is `wear` (k,), J."""
        if self.wear_rate is None:
            return None
        opening = self.wear_rate * wear
        return WearState(opening, opening) if before is None else before.after(opening)

    def kinematics(
        self, basis_displacement: Array, partners_of: ContactKinematics | None = None, worn: WearState | None = None
    ) -> ContactKinematics:
        """The kinematics at basis_displacement = basis · u (q,), with the partners of `partners_of`, if any."""
        return self._unworn(basis_displacement, partners_of).worn(worn)

    def _unworn(self, basis_displacement: Array, partners_of: ContactKinematics | None) -> ContactKinematics:
        if self.fixed:
            return self._at_rest
        by_interface = []
        for i, (item, pairing) in enumerate(zip(self.items, self.pairings, strict=True)):
            displacement = basis_displacement[self.span[i] : self.span[i + 1]]
            if self.steady[i]:
                kin = self.reference[i]
                by_interface.append(replace(kin, gap=kin.gap + displacement[_normal_rows(item, kin)]))
                continue
            slave, master = self.sides[i]
            positions = slave.positions(displacement[: slave.count]), master.positions(displacement[slave.count :])
            if partners_of is not None and isinstance(pairing, FixedPartnerPairing):
                by_interface.append(pairing.with_partners(partners_of.by_interface[i], *positions))
            else:
                by_interface.append(pairing.at(*positions))
        return self._join(by_interface, basis_displacement)

    def resultant(self, index: int) -> Array:
        """Matrix (a, rows) from forces on the rows of an interface's basis to the resultant on the slave."""
        interface, (slave, master) = self.interfaces[index], self.sides[index]
        axes, size = interface.slave.positions.shape[1], interface.slave.positions.size
        if not self.steady[index]:
            return np.hstack([slave.resultant(axes), np.zeros((axes, master.count))])
        rows = used_rows(interface, self.reference[index])  # on the nodes of both surfaces
        return np.stack([np.asarray(rows[:, i:size:axes].sum(axis=1)).ravel() for i in range(axes)])

    def frequency_bound(self, inverse: Array) -> float:
        """Bound of the largest angular frequency of the laws' stiffness on the diagonal M⁻¹ `inverse` (d,), rad/s.

        Of Σ k N M⁻¹ Nᵀ, in any configuration: where the pairing moves, n is a unit vector, the values on each surface
        are means, and no node counts twice, or Σ N Nᵀ has a separate bound (`OverlappingPairing`).
        """
        stiffness, slaves, masters = np.sqrt(self.laws.stiffness_bound()), [], []
        for i, (item, pairing) in enumerate(zip(self.items, self.pairings, strict=True)):
            rows, roots = self.basis[self.span[i] : self.span[i + 1]], stiffness[self.start[i] : self.start[i + 1]]
            if self.steady[i]:
                normal = rows[_normal_rows(item, self.reference[i])]
                slaves.append(normal.multiply(roots[:, None]))
            else:
                slave, master = self.sides[i]
                slaves.append(roots.max() * np.sqrt(shared_weight(pairing)) * slave.nodal)
                if master.surface is not None:
                    masters.append(roots.max() * master.nodal)
        return float(np.sqrt(sum(_largest_eigenvalue(blocks, inverse) for blocks in (slaves, masters) if blocks)))

    def gaps(self, u: Array) -> Array:
        """Gaps (k,), m, of the displacement u (d,)."""
        basis_displacement = self.basis_product(u)
        return self.kinematics(basis_displacement).gaps(basis_displacement)

    def _join(self, by_interface: Sequence[Kinematics], basis_displacement: Array) -> ContactKinematics:
        local = None
        if not self.fixed:
            blocks = []
            for i, (kin, (a, b)) in enumerate(zip(by_interface, pairwise(self.span), strict=True)):
                if self.steady[i]:
                    blocks.append(sp.eye_array(b - a, format="csr"))
                    continue
                rows, (slave, master) = used_rows(self.items[i], kin), self.sides[i]
                if slave.rotating is not None or master.rotating is not None:
                    displacement = basis_displacement[a:b]
                    nodes = [slave.nodes(displacement[: slave.count]), master.nodes(displacement[slave.count :])]
                    rows = sp.csr_array(rows @ sp.block_diag(nodes, format="csr"))
                blocks.append(rows)
            local = blocks[0] if len(blocks) == 1 else sp.csr_array(sp.block_diag(blocks, format="csr"))
        axes = by_interface[0].normals.shape[1] if by_interface else 1
        return ContactKinematics(
            basis_product=self.basis_product,
            local=local,
            first=self.laws.first[:-1],
            gap=np.concatenate([kin.gap for kin in by_interface]) if by_interface else np.zeros(0),
            basis_displacement=basis_displacement,
            normals=np.concatenate([kin.normals for kin in by_interface]) if by_interface else np.zeros((0, axes)),
            tangents=np.concatenate([kin.tangents for kin in by_interface])
            if by_interface
            else np.zeros((0, axes - 1, axes)),
            positions=np.concatenate([kin.positions for kin in by_interface]) if by_interface else np.zeros((0, axes)),
            by_interface=tuple(by_interface),
        )


def _positions(surface: Surface | object) -> Array:
    """Reference positions (n, a) of the nodes of a surface; none of a rigid obstacle."""
    return surface.positions if isinstance(surface, Surface) else np.zeros((0, 1))


def _sides(item: ContactItem, layout: DofLayout) -> tuple[ContactSide, ContactSide]:
    """Slave and master; of a spring its elongations, and nothing."""
    if isinstance(item, SpringRows):
        rows = item.elongations(layout)
        return ContactSide(None, rows, rows, None, False), ContactSide.of(None, layout)
    return ContactSide.of(item.slave, layout), ContactSide.of(item.master, layout)


def used_rows(item: ContactItem, kin: Kinematics) -> sp.csr_array:
    """The rows of the kinematics, without tangents if there is no friction."""
    axes = kin.normals.shape[1]
    return kin.rows if item.friction is not None or axes == 1 else sp.csr_array(kin.rows[::axes])


def _normal_rows(item: ContactItem, kin: Kinematics) -> slice:
    return slice(None, None, kin.normals.shape[1] if item.friction is not None else 1)


def _largest_eigenvalue(blocks: Sequence[sp.csr_array], inverse: Array) -> float:
    """Gershgorin's bound of the largest eigenvalue of B M⁻¹ Bᵀ, B the blocks, M⁻¹ `inverse` (d,)."""
    rows = sp.csr_array(sp.vstack(blocks, format="csr").multiply(np.sqrt(inverse)))
    rows = rows[:, np.unique(rows.indices)]
    gram = rows @ rows.T if rows.shape[0] <= rows.shape[1] else rows.T @ rows  # the smaller: the same eigenvalues
    return float(abs(gram).sum(axis=1).max(initial=0.0))
