"""Weights of overlapping models: a partition of unity over any number of parts.

P(x): the parts that cover the point x. A junction J of a coarse and a fine part gives the share φ_J(x) of the fine one:
0 before its zone, α(s) in it, 1 behind it. The profile of a part is the minimum over the junctions in which it is the
fine one. Weights are assigned from the highest part down, a fine part being above its coarse ones: the profile less the
weights of the parts over it, bounded by what the parts above leave of the sum 1:

    π_i(x) = min {φ_J: fine_J = i, coarse_J ∈ P(x)},                  1 for a part that lies over none,
    w_i(x) = min(⟨π_i − Σ_{k over i} w_k⟩₊, 1 − Σ_{k above i} w_k),   k ∈ P(x),

so that w_i ≥ 0 and Σ_i w_i = 1, since the lowest part of P has π = 1. (k is over i if a chain of junctions leads from i
up to k; above i are all parts of higher rank, those of other chains included.) For one junction these are α and 1 − α.
Where zones overlap and no minimum is active, w_i is a sum of ± φ_J: linear weights remain linear, and the stress σ∇φ_J
that each junction transfers is the same as for two parts, which its mediator can represent. (Products of complements,
π_i Π (1 − π_k), would be quadratic there and fail the patch test: by up to 9e-2 on bars.)

Moments of w_i over a cell are integrated on the intersections of the cell with the cells of all other parts, cut where
a minimum changes. A function f(P) of the parts that cover a point is integrated on intersections alone
(Möbius inversion over subsets):

    ∫_cell f(P(x)) dx = Σ_{Q ∋ i} ∫_{cell ∩ Ω_Q} Σ_{R ⊆ Q, i ∈ R} (−1)^{|Q| − |R|} f(R) dx,      Ω_Q = ∩_{j ∈ Q} Ω_j.

A weight may vary only in the gluing zone of a junction of its part: elsewhere no multiplier transfers the stress, and a
uniform stress is not in equilibrium. `UserError` names parts and place where this fails, or where parts overlap without
a chain of junctions between them.

Source: Ben Dhia & Rateau, IJNME 62, 2005 (two models).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from arlequin.junctions.base import JunctionProtocol, depth, extent, revolves, warn, warn_of_slivers
from arlequin.junctions.curved_border import ROUND_OFF, at_curved_border
from arlequin.junctions.sharing import Cover, Sharing
from arlequin.junctions.weights import Weight, joint_weights, share
from arlequin.junctions.zone_coordinate import ZoneCoordinate
from arlequin.models.errors import UserError
from arlequin.models.loads.body import weight_at_facets
from arlequin.models.part import LoadPieces, MeshedPart, Weighting
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import candidate_pairs, distance_outside, to_reference
from arlequin.overlap.intersect import Overlap
from arlequin.overlap.joint import ON, JointBoxes, JointPieces, Shape, faces_on
from arlequin.overlap.quadrature import on_faces

Kind = Literal["stiffness", "mass"]
KINDS: tuple[Kind, Kind] = ("stiffness", "mass")
Mask = NDArray[np.bool_]
Shares = Mapping[str, Array]

# shares of a cell: round-off; the sagitta of a curved border
NEGLIGIBLE = 1e-6
UNCOUPLED = 5e-2
# largest weight of a part without energy
NO_WEIGHT = 1e-12
# difference of weights that is round-off
KINK = 1e-12
# change of a share by which slopes of weights are computed, and their tolerance
SHARE_STEP, SLOPE_TOLERANCE = 1e-6, 1e-3


class ZonedJunction(JunctionProtocol, Protocol):
    """A junction whose parts overlap and share their energies over a zone."""

    @property
    def floor(self) -> float:
        """Weight of the coarse part in the fine part's free zone."""
        ...

    @property
    def zone_coordinate(self) -> ZoneCoordinate: ...

    def sharing(self) -> Sharing:
        """The weights of the two parts as if there were no other junction."""
        ...

    def weights_of(self, kind: Kind) -> Weight:
        """α for one kind of energy."""
        ...


def weightings(junctions: Sequence[ZonedJunction]) -> dict[str, Weighting]:
    """Weights of all parts of the junctions, by name, at their quadrature points."""
    partition = Partition(tuple(junctions))
    partition.check()
    weights = {name: partition.weighting(name) for name in partition.parts}
    for name, weighting in weights.items():
        if max(weighting.stiffness.max(initial=0.0), weighting.mass.max(initial=0.0)) <= NO_WEIGHT:
            others = " and ".join(f"'{other}'" for other in partition.beside(name))
            cure = f"leave it out with its junctions, or glue it over {others}"
            raise UserError(f"part '{name}' has no weight anywhere beside {others}: {cure}")
    return weights


@dataclass(frozen=True, eq=False)
class Sample:
    """Sample points covered by a given set of parts and no other part.

    names: the parts, that of the cells first; points (axis, n), m; size (n,): measure represented by each, as a share
    of its cell (n,); shares, states: φ_J (n,) and the state (n,) of the zone, by junction between the parts.
    """

    names: tuple[str, ...]
    points: Array
    size: Array
    cells: Indices
    shares: Shares
    states: Mapping[str, Indices]

    def largest(self, wrong: Mask, allowed: float = NEGLIGIBLE) -> str | None:
        """Centre of the largest piece that is `wrong` (n,), as text; None if these are at most the allowed share of
        each cell."""
        if np.bincount(self.cells, self.size * wrong).max(initial=0.0) <= allowed:
            return None
        worst = int(np.argmax(self.size * wrong))
        return "(" + ", ".join(f"{x:.6g}" for x in self.points[:, worst]) + ")"


@dataclass(eq=False)
class Partition:
    """Partition of unity over the parts of several junctions; `check` determines the order of the parts."""

    junctions: tuple[ZonedJunction, ...]

    @cached_property
    def parts(self) -> dict[str, MeshedPart]:
        """The parts by name."""
        return {part.name: part for junction in self.junctions for part in (junction.coarse, junction.fine)}

    def weighting(self, name: str) -> Weighting:
        """The weights of one part."""
        part, joint = self.parts[name], self.joint(name)
        stiffness, mass = (self._product(name, kind) for kind in KINDS)
        error = np.sum([self._pairs[junction.name]["stiffness"][name][1] for junction in self.of(name)], axis=0)
        if joint.any():
            cells, dx = np.flatnonzero(joint), part.basis.dx * depth(part, part.quadrature_points())
            pieces = self.joint_pieces(name, "stiffness")
            stiffness[cells], error[cells] = joint_weights(part.basis, dx, cells, *pieces, moments=True)
            pieces = self.joint_pieces(name, "mass") if len(self._kinds) > 1 else pieces
            mass[cells], _ = joint_weights(part.basis, dx, cells, *pieces, moments=False)
        warn_of_slivers([junction.name for junction in self.of(name)], part, error)
        shared = PartLoads(self, name, stiffness)
        load = np.where(shared.cut[:, None], 1.0, stiffness)
        return Weighting(stiffness, mass, load, facets=(shared.smooth,), shared=(shared,))

    def check(self) -> None:
        """Raise `UserError` where parts overlap without a junction or a weight varies where its part is not glued."""
        for sample in self._samples:
            lowest = [
                name
                for name in sample.names
                if not any(junction.coarse.name in sample.names for junction in self._over[name])
            ]
            place = sample.largest(np.ones(sample.size.size, dtype=bool), UNCOUPLED) if len(lowest) > 1 else None
            if place is not None:
                raise UserError(
                    f"parts '{lowest[0]}' and '{lowest[1]}' overlap at {place}, where no junction couples them: glue "
                    "them by a Junction, or let one end where the other begins"
                )
        self._find_order()
        self._warn_of_kinks()

    # the relations of the parts

    @cached_property
    def _kinds(self) -> tuple[Kind, ...]:
        """The kinds of energy whose weights differ."""
        same = all(junction.weights_of("mass") is junction.weights_of("stiffness") for junction in self.junctions)
        return KINDS[:1] if same else KINDS

    def of(self, name: str) -> list[ZonedJunction]:
        """The junctions of a part."""
        return [junction for junction in self.junctions if name in (junction.coarse.name, junction.fine.name)]

    def active(self, names: Collection[str]) -> list[ZonedJunction]:
        """The junctions between some parts."""
        return [
            junction for junction in self.junctions if junction.coarse.name in names and junction.fine.name in names
        ]

    @cached_property
    def _over(self) -> dict[str, list[ZonedJunction]]:
        """By part: the junctions in which it is the fine one."""
        return {name: [junction for junction in self.junctions if junction.fine.name == name] for name in self.parts}

    @cached_property
    def _below(self) -> dict[str, set[str]]:
        """By part: its coarser parts, through chains of junctions; UserError if they form a cycle."""
        below: dict[str, set[str]] = {
            name: {junction.coarse.name for junction in self._over[name]} for name in self.parts
        }
        for _ in self.parts:
            below = {name: coarser.union(*(below[other] for other in coarser)) for name, coarser in below.items()}
        for name, lower in below.items():
            if name in lower:
                circle = " and ".join(f"'{junction.name}'" for junction in self.of(name))
                raise UserError(f"junctions {circle}: '{name}' is the fine part of a part that is finer than itself")
        return below

    @cached_property
    def sharings(self) -> dict[str, Sharing]:
        """By junction: weights of its parts on the pieces of their overlap."""
        return {junction.name: junction.sharing() for junction in self.junctions}

    @cached_property
    def _pairs(self) -> dict[str, dict[str, dict[str, tuple[Array, Array]]]]:
        """By junction and kind of energy: `Sharing.weights` of the junction alone."""
        return {
            junction.name: {
                kind: self.sharings[junction.name].weights(
                    junction.weights_of(kind), junction.floor, moments=kind == "stiffness"
                )
                for kind in KINDS
            }
            for junction in self.junctions
        }

    def _product(self, name: str, kind: Kind) -> Array:
        """Weights (c, q) of a part as products of those of its junctions."""
        return np.prod([self._pairs[junction.name][kind][name][0] for junction in self.of(name)], axis=0)

    @cached_property
    def covers(self) -> dict[tuple[str, str], Cover]:
        """By pair of parts with a junction: coverage of the cells of the first part by the overlap."""
        covers: dict[tuple[str, str], Cover] = {}
        for junction in self.junctions:
            for part, other in ((junction.coarse, junction.fine), (junction.fine, junction.coarse)):
                cover, former = self.sharings[junction.name].cover(part), covers.get((part.name, other.name))
                plain = cover.plain if former is None else cover.plain & former.plain
                covers[part.name, other.name] = replace(cover, plain=plain)
        return covers

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        return {name: Shape(part.mesh) for name, part in self.parts.items()}

    @cached_property
    def _components(self) -> dict[str, set[str]]:
        """By part: the parts connected to it by chains of junctions."""
        groups: dict[str, set[str]] = {name: {name} for name in self.parts}
        for junction in self.junctions:
            merged = groups[junction.coarse.name] | groups[junction.fine.name]
            groups.update(dict.fromkeys(merged, merged))
        return groups

    # where several parts meet in a cell

    @cached_property
    def _overlapped(self) -> dict[str, dict[str, Mask]]:
        """By part and other part: cells (c,) of the first that the other one covers at least in part.

        Parts without a common junction are included only where they affect weights: where the first part has weight and
        the other, or a finer part over it, may reduce it.
        """
        overlapped: dict[str, dict[str, Mask]] = {name: {} for name in self.parts}
        for (name, other), cover in self.covers.items():
            overlapped[name][other] = cover.overlapped
        for name, by_other in overlapped.items():
            unconnected = self._components[name] - {name} - set(by_other)
            if not unconnected:
                continue
            live = self.live(name)
            for other in sorted(unconnected - self._below[name]):
                cells = self._overlapped_cells_of(name, other, live)
                if cells.any():
                    by_other[other] = cells
            takers = [other for other in by_other if other not in self._below[name]]
            for other in takers:
                for junction in self._over[other]:
                    partner = junction.coarse.name
                    if partner not in by_other and partner != name:
                        cells = self._overlapped_cells_of(name, partner, live & by_other[other])
                        if cells.any():
                            by_other[partner] = cells
        return overlapped

    def live(self, name: str) -> Mask:
        """Cells (c,) in which the part may have weight."""
        largest = []
        for kind in KINDS:
            products = np.ones((self.parts[name].mesh.nelements, 1))
            for junction in self.of(name):
                if self._bounds_weight(name, junction):
                    products = products * self._pairs[junction.name][kind][name][0]
            largest.append(products.max(axis=1))
        return np.asarray(np.maximum(*largest) > NO_WEIGHT)

    def _bounds_weight(self, name: str, junction: ZonedJunction) -> bool:
        """Whether the junction alone bounds the part's weight: not if other junctions lower the fine part's profile."""
        return junction.fine.name == name or len(self._over[junction.fine.name]) == 1

    def _overlapped_cells_of(self, name: str, other: str, among: Mask) -> Mask:
        """Cells (c,) `among` those of a part that the other part overlaps by more than round-off."""
        overlapped = np.zeros(among.size, dtype=bool)
        low, high = extent(self.parts[other])
        corners = self._shapes[name].corners
        near = (corners.max(axis=1) > low[:, None]).all(axis=0) & (corners.min(axis=1) < high[:, None]).all(axis=0)
        cells = np.flatnonzero(among & near)
        if cells.size:
            pieces = self._cell_pieces((name, other), cells).within(other, self._shapes[other]).in_simplices()
            measure = np.bincount(pieces.cells[name], pieces.measures(), among.size)
            overlapped = measure > NEGLIGIBLE * self.parts[name].basis.dx.sum(axis=1)
        return overlapped

    def beside(self, name: str) -> list[str]:
        """The parts that cover cells of a part, except its coarser ones."""
        overlapped, below = self._overlapped[name], self._below[name]
        return [other for other, cells in overlapped.items() if cells.any() and other not in below]

    def joint(self, name: str) -> Mask:
        """Cells (c,) of a part whose weights are not products of those of its junctions."""
        return self._joint[name]

    def shape(self, name: str) -> Shape:
        """The mesh of a part for clipping."""
        return self._shapes[name]

    @cached_property
    def _joint(self) -> dict[str, Mask]:
        """By part: cells (c,) whose weights are not products of those of its junctions."""
        joint = {}
        for name, by_other in self._overlapped.items():
            cell_count = self.parts[name].mesh.nelements
            count, rough = np.zeros(cell_count, dtype=int), np.zeros(cell_count, dtype=int)
            unpaired = np.zeros(cell_count, dtype=bool)
            for other, cells in by_other.items():
                count += cells
                if (name, other) in self.covers:
                    rough += cells & ~self.covers[name, other].plain
                if (name, other) not in self.covers or (other not in self._below[name] and len(self._over[other]) > 1):
                    unpaired |= cells
                if len(self.active((name, other))) > 1:
                    count += cells
                    unpaired |= cells
            floored = any(junction.floor > 0 for junction in self.of(name))
            joint[name] = (count > 1) & ((rough > (0 if floored else 1)) | unpaired)
            if joint[name].any():
                joint[name] &= self.live(name)
        return joint

    def _cell_pieces(self, names: Sequence[str], cells: Indices) -> JointBoxes | JointPieces:
        """Cells of the first named part as pieces; as boxes if all cells of the named parts are boxes."""
        shapes = [self._shapes[name] for name in names]
        kind = JointBoxes if all(shape.boxes is not None for shape in shapes) else JointPieces
        return kind.of(names[0], shapes[0], cells)

    def sets(self, name: str, cells: Indices) -> Iterator[tuple[tuple[str, ...], JointPieces]]:
        """All sets of parts, the named one first, that intersect in its cells, with their common pieces, cut by the
        regions of their junctions."""
        others = [other for other, overlapped in self._overlapped[name].items() if overlapped[cells].any()]

        def extended(
            names: tuple[str, ...], pieces: JointBoxes | JointPieces, candidates: list[str]
        ) -> Iterator[tuple[tuple[str, ...], JointPieces]]:
            for n, other in enumerate(candidates):
                common = pieces.within(other, self._shapes[other])
                simplices = common.in_simplices()
                if simplices.count:
                    grown = (*names, other)
                    yield grown, self._cut_pieces(grown, simplices)
                    yield from extended(grown, common, candidates[n + 1 :])

        yield from extended((name,), self._cell_pieces((name, *others), cells), others)

    def _cut_pieces(self, names: Sequence[str], pieces: JointPieces) -> JointPieces:
        """Pieces cut by the regions of the junctions between these parts, and where a minimum changes in a weight."""
        for junction in self.active(names):
            pieces = pieces.divided(junction.name, junction.zone_coordinate.regions)
        for kind in self._kinds:
            done = 0
            while True:
                kinks: list[Array] = []
                shares, _ = self.shares(names, pieces, pieces.simplices.transpose(0, 2, 1), kind)
                for subset in _subsets(names):
                    self._weights(subset, shares, kinks)
                shape = pieces.count, pieces.simplices.shape[1]
                heights = [np.broadcast_to(kink, shape) for kink in kinks]
                bent = [
                    n
                    for n, h in enumerate(heights)
                    if n >= done and ((h.min(axis=1) < -KINK) & (h.max(axis=1) > KINK)).any()
                ]
                if not bent:
                    break
                pieces, done = pieces.cut(heights[bent[0]], KINK), bent[0] + 1
        return pieces

    # the weights of a set of parts

    def shares(
        self, names: Sequence[str], pieces: JointPieces, points: Array, kind: Kind
    ) -> tuple[dict[str, Array], dict[str, Indices]]:
        """φ_J (n, q) at points (axis, n, q) of the pieces, and the state (n, q), by junction of the set of parts."""
        values, states = {}, {}
        for junction in self.active(names):
            cells = pieces.cells[junction.coarse.name], pieces.cells[junction.fine.name]
            overlap = Overlap(
                *cells, points, np.ones(points.shape[1:]), pieces.regions[junction.name], np.full(cells[0].size, -1)
            )
            s, states[junction.name] = junction.zone_coordinate.on_pieces(overlap)
            values[junction.name] = share(junction.weights_of(kind), s, points, junction.floor, states[junction.name])
        return values, states

    def _weights(self, among: Sequence[str], shares: Shares, kinks: list[Array] | None = None) -> dict[str, Array]:
        """w by name where the parts `among` cover the point; functions with zeros at kinks are appended to `kinks`."""
        result: dict[str, Array] = {}
        remainder: Array = np.ones(())
        for name in sorted(among, key=self._rank.__getitem__, reverse=True):
            claim: Array = np.ones(())
            for junction in self._over[name]:
                if junction.coarse.name in among:
                    if kinks is not None and claim.ndim:
                        kinks.append(claim - shares[junction.name])
                    claim = np.minimum(claim, shares[junction.name])
            for other, weight in result.items():
                if name in self._below[other]:
                    claim = claim - weight
            if kinks is not None:
                kinks += [claim, claim - remainder]
            result[name] = np.minimum(np.maximum(claim, 0.0), remainder)
            remainder = remainder - result[name]
        return result

    def change(self, names: tuple[str, ...], pieces: JointPieces, points: Array, kind: Kind) -> Array:
        """Change of the weight of the first part by the set of parts (n, q): Σ_{R ⊆ Q} (−1)^{|Q| − |R|} w(R)."""
        shares, _ = self.shares(names, pieces, points, kind)
        result = np.zeros(points.shape[1:])
        for subset in _subsets(names):
            result += (-1) ** (len(names) - len(subset)) * self._weights(subset, shares)[names[0]]
        return result

    def order(self, names: Sequence[str], kind: Kind) -> int:
        """Degree up to which the products of weights and shape functions on the pieces are integrated exactly."""
        degree = sum(junction.weights_of(kind).degree for junction in self.active(names))
        return int(self.parts[names[0]].basis.elem.maxdeg) + degree + (1 if revolves(self.parts[names[0]]) else 0)

    def _joint_sets(self, name: str) -> list[tuple[tuple[str, ...], JointPieces]]:
        """`sets` of the joint cells of a part, computed once for each order of the parts."""
        order = tuple(sorted(self._rank, key=self._rank.__getitem__))
        if self._joint_sets_cache.get(name, (None, []))[0] != order:
            self._joint_sets_cache[name] = order, list(self.sets(name, np.flatnonzero(self.joint(name))))
        return self._joint_sets_cache[name][1]

    @cached_property
    def _joint_sets_cache(self) -> dict[str, tuple[tuple[str, ...] | None, list[tuple[tuple[str, ...], JointPieces]]]]:
        return {}

    def joint_pieces(self, name: str, kind: Kind) -> tuple[Indices, Array, Array]:
        """Pieces of all sets of parts in the joint cells of one: cells, points and (1 − w) dx, to be summed."""
        part, quadratures = self.parts[name], []
        for names, pieces in self._joint_sets(name):
            points, dx = pieces.quadrature(self.order(names, kind))
            dx = dx * depth(part, points) * self._enlarged(names, pieces)[:, None]
            quadratures.append((pieces.cells[name], points, -self.change(names, pieces, points, kind) * dx))
        return concatenated(quadratures, part.mesh.dim())

    def _enlarged(self, names: Sequence[str], pieces: JointPieces) -> Array:
        """Factor (n,) that scales pieces at a curved border to the measure of the cell."""
        factor = np.ones(pieces.count)
        for other in names[1:]:
            cover = self.covers.get((names[0], other))
            if cover is not None:
                cells = pieces.cells[names[0]]
                share = np.where(cover.overlapped, cover.share, 1.0)
                factor *= np.where(cover.filled & cover.overlapped, 1 / share, 1.0)[cells]
        return factor

    # the order of the parts

    @cached_property
    def _rank(self) -> dict[str, int]:
        """Rank of each part, above its coarse parts; among others the fine part of a later junction is higher, unless
        it would reduce a weight where the lower part is not glued (`_find_order`)."""
        return self._numbered({name: set(lower) for name, lower in self._below.items()})

    def _numbered(self, below: Mapping[str, set[str]]) -> dict[str, int]:
        last = {junction.fine.name: n for n, junction in enumerate(self.junctions)}
        order: list[str] = []
        while len(order) < len(below):
            lowest = [name for name in below if name not in order and below[name] <= set(order)]
            if not lowest:
                names = ", ".join(f"'{name}'" for name in below if name not in order)
                raise UserError(
                    f"parts {names}: in no order does each take weight from the others only where they are glued"
                )
            order.append(min(lowest, key=lambda name: last.get(name, -1)))
        return {name: n for n, name in enumerate(order)}

    def _find_order(self) -> None:
        """Find an order in which each weight varies only where its part is glued; UserError if there is none."""
        below = {name: set(lower) for name, lower in self._below.items()}
        while True:
            violation = next((wrong for wrong in map(self._violation, self._samples) if wrong is not None), None)
            if violation is None:
                return
            low, high, place = violation
            fixed = high in self._below[low] or low in self._below[high]
            if fixed or high in below[low] or low in below[high] or self._rank[low] > self._rank[high]:
                raise UserError(
                    f"parts '{low}' and '{high}' overlap at {place}, where '{high}' takes over from '{low}' although "
                    f"no junction glues '{low}' there: add a Junction of both, or let their zones coincide where they "
                    "overlap"
                )
            below[low].add(high)
            self._rank = self._numbered(below)

    def _violation(self, sample: Sample) -> tuple[str, str, str] | None:
        """A part whose weight decreases where it is not glued, the part that replaces it, and a place; or None."""
        glued = self._glued(sample)
        for junction, changes in self._slopes(sample):
            for name, change in changes.items():
                zones = [glued[other.name] for other in self._at(name, sample)]
                coupled = np.any([np.zeros(sample.size.size, bool), *zones], axis=0)
                place = sample.largest(glued[junction.name] & (np.abs(change) > SLOPE_TOLERANCE) & ~coupled)
                if place is not None:
                    return name, junction.fine.name, place
        return None

    def _warn_of_kinks(self) -> None:
        """Warn once for each zone in which weights of other parts than the two that it couples vary."""
        warned: set[str] = set()
        for sample in self._samples:
            glued = self._glued(sample)
            for junction, changes in self._slopes(sample):
                expected = {junction.coarse.name: -1.0, junction.fine.name: 1.0}
                wrong = [np.abs(change - expected.get(name, 0.0)) > SLOPE_TOLERANCE for name, change in changes.items()]
                place = sample.largest(glued[junction.name] & np.any(wrong, axis=0))
                if place is None or junction.name in warned:
                    continue
                warned.add(junction.name)
                others = " and ".join(f"'{name}'" for name in sample.names if name not in expected)
                warn(
                    f"junction '{junction.name}': at {place} its zone overlaps that of {others} so that the weights "
                    "have kinks: a uniform stress is not exact there (patch test); let the zones coincide (two patches "
                    "with one common band need no junction of their own), follow or enclose each other"
                )

    def _at(self, name: str, sample: Sample) -> list[ZonedJunction]:
        return [junction for junction in self.of(name) if junction.name in sample.shares]

    def _glued(self, sample: Sample) -> dict[str, Mask]:
        return {name: state == 1 for name, state in sample.states.items()}

    def _slopes(self, sample: Sample) -> Iterator[tuple[ZonedJunction, dict[str, Array]]]:
        """By junction between the parts of a sample: ∂w/∂φ (n,) of each part."""
        before = self._weights(sample.names, sample.shares)
        for junction in self.active(sample.names):
            shifted = {**sample.shares, junction.name: sample.shares[junction.name] - SHARE_STEP}
            after = self._weights(sample.names, shifted)
            yield junction, {name: (before[name] - after[name]) / SHARE_STEP for name in sample.names}

    @cached_property
    def _samples(self) -> list[Sample]:
        """Centres of all pieces in joint cells, each with the set of parts that covers it."""
        samples = []
        for name, joint in self._joint.items():
            if not joint.any():
                continue
            measure = self.parts[name].basis.dx.sum(axis=1)
            for names, pieces in self._joint_sets(name):
                covered = np.zeros(pieces.count, dtype=bool)
                for other in self._components[name] - set(names):
                    covered |= _covered(self.parts[other], pieces.simplices.mean(axis=1))
                pieces = pieces.take(np.flatnonzero(~covered))
                if pieces.count:
                    middle, cells = pieces.simplices.mean(axis=1), pieces.cells[name]
                    shares, states = self.shares(names, pieces, middle[:, :, None], "stiffness")
                    size = pieces.measures() / measure[cells]
                    at_middle = {key: value[:, 0] for key, value in shares.items()}
                    where = {key: value[:, 0] for key, value in states.items()}
                    samples.append(Sample(names, middle, size, cells, at_middle, where))
        return samples


@dataclass(frozen=True, eq=False)
class PartLoads:
    """Share γ of a part in its loads, a `SharedLoad`: integrated on pieces where its weight is not smooth.

    ∫ γ f φ_n = ∫ f φ_n + Σ_pieces ∫ (γ − 1) f φ_n, exactly for a polynomial f, so that resultant and moment are those
    of the load on the body, and a uniform stress is in equilibrium with its tractions wherever the weights of the
    stiffness have exact moments (`weights.cell_weights`).
    """

    partition: Partition
    name: str
    stiffness: Array  # weights (c, q), extrapolated to a border where neither pieces nor γ(x) are available

    @property
    def _part(self) -> MeshedPart:
        return self.partition.parts[self.name]

    @cached_property
    def _rough(self) -> dict[str, Mask]:
        """By junction: cells (c,) that this junction alone cuts or weights."""
        partition, joint = self.partition, self.partition.joint(self.name)
        live, rough = partition.live(self.name), {}
        for junction in partition.of(self.name):
            other = junction.fine.name if junction.coarse.name == self.name else junction.coarse.name
            cover = partition.covers[self.name, other]
            rough[junction.name] = cover.overlapped & ~cover.plain & ~cover.filled & live & ~joint
        return rough

    @cached_property
    def cut(self) -> Mask:
        """Cells (c,) whose loads are integrated on pieces."""
        return np.any([self.partition.joint(self.name), *self._rough.values()], axis=0)

    @cached_property
    def _filled(self) -> Mask:
        """Cells (c,) that another part covers, up to the curvature of a border."""
        covers = [cover for (name, _), cover in self.partition.covers.items() if name == self.name]
        return np.any([cover.filled | (np.abs(1 - cover.share) <= ROUND_OFF) for cover in covers], axis=0)

    @cached_property
    def _on_border(self) -> Mask:
        """Cells (c,) whose facets are integrated on pieces; pieces do not reach a curved border."""
        filled = [cover.filled for (name, _), cover in self.partition.covers.items() if name == self.name]
        return np.asarray(self.cut & ~np.any(filled, axis=0) & ~at_curved_border(self._part.mesh))

    def in_cells(self) -> LoadPieces:
        """Pieces of cells for the body force, with (γ − 1) dx."""
        part, partition = self._part, self.partition
        cells, points, reduction = partition.joint_pieces(self.name, "stiffness")
        quadratures = [(cells, points, -reduction)]
        for junction in partition.of(self.name):
            quadratures.append(
                partition.sharings[junction.name].reduction(
                    part, self._rough[junction.name], junction.weights_of("stiffness"), junction.floor
                )
            )
        cells, points, change = concatenated(quadratures, part.mesh.dim())
        return LoadPieces(cells, to_reference(part.mesh, cells, points)[0], points, change)

    def on_facets(self, facets: Indices) -> LoadPieces:
        """Pieces of facets (f,) on the border for tractions, with (γ − 1) dx."""
        part, partition, name = self._part, self.partition, self.name
        facets = np.asarray(facets)[self._on_border[part.mesh.f2t[0, facets]]]
        quadratures = []
        if facets.size:
            for names, pieces in partition.sets(name, np.unique(part.mesh.f2t[0, facets])):
                place, facet_pieces, faces = faces_on(pieces, name, partition.shape(name), facets)
                points, dx = on_faces(faces, partition.order(names, "stiffness"))
                change = partition.change(names, facet_pieces, points, "stiffness") * dx * depth(part, points)
                quadratures.append((part.mesh.f2t[0, facets[place]], points, change))
        cells, points, change = concatenated(quadratures, part.mesh.dim())
        return LoadPieces(cells, to_reference(part.mesh, cells, points)[0], points, change)

    def smooth(self, points: Array, cells: Indices) -> Array:
        """γ (f, q) at points (axis, f, q) on facets of the cells (f,) where it is smooth; 1 on facets with pieces.

        In cells at a curved border that another part covers in part, the weights of the cell are extrapolated.
        """
        part, result = self._part, np.ones(points.shape[1:])
        extrapolated = (self.cut & ~self._on_border & ~self._filled)[cells]
        if extrapolated.any():
            quadrature_points = part.quadrature_points()
            result[extrapolated] = weight_at_facets(
                self.stiffness, quadrature_points, cells[extrapolated], points[:, extrapolated]
            )
        for junction in self.partition.of(self.name):
            other = junction.fine.name if junction.coarse.name == self.name else junction.coarse.name
            overlapped = self.partition.covers[self.name, other].overlapped & ~self._on_border
            facets = np.flatnonzero(overlapped[cells] & ~extrapolated)
            if facets.size:
                weights, sharing = junction.weights_of("stiffness"), self.partition.sharings[junction.name]
                result[facets] *= sharing.at(part, points[:, facets], cells[facets], weights, junction.floor)
        return result


def concatenated(quadratures: Sequence[tuple[Indices, Array, Array]], axes: int) -> tuple[Indices, Array, Array]:
    """Cells (p,), points (axis, p, q) and values (p, q) of all quadratures, in rows of the shortest rule, padded with
    zeros."""
    quadratures = [quadrature for quadrature in quadratures if quadrature[0].size]
    if not quadratures:
        return np.zeros(0, dtype=np.int64), np.zeros((axes, 0, 1)), np.zeros((0, 1))
    width = min(values.shape[1] for _, _, values in quadratures)
    rows = []
    for cells, points, values in quadratures:
        count = -(-values.shape[1] // width)
        padding = count * width - values.shape[1]
        points = np.concatenate((points, np.repeat(points[:, :, -1:], padding, axis=2)), axis=2)
        values = np.pad(values, ((0, 0), (0, padding)))
        rows.append((np.repeat(cells, count), points.reshape(axes, -1, width), values.reshape(-1, width)))
    all_cells, all_points, all_values = zip(*rows, strict=True)
    return np.concatenate(all_cells), np.concatenate(all_points, axis=1), np.concatenate(all_values)


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The subsets that contain the first name, in ascending size."""
    for count in range(len(names)):
        for others in combinations(names[1:], count):
            yield (names[0], *others)


def _covered(part: MeshedPart, points: Array) -> Mask:
    """Mask (n,) of the points (axis, n) in the cells of a part."""
    covered = np.zeros(points.shape[1], dtype=bool)
    around = ON * float(np.ptp(part.mesh.p))  # points may lie on a common side of two cells
    cells, point = candidate_pairs(part.mesh.p[:, part.mesh.t], np.stack((points - around, points + around), axis=1))
    if cells.size:
        X = to_reference(part.mesh, cells, points[:, point, None])[0]
        covered[point[distance_outside(part.mesh, X)[:, 0] <= ON]] = True
    return covered
