"""Weights of overlapping models: a partition of unity over any number of parts.

P(x): the parts that cover the point x. A junction J of a coarse and a fine part gives the share φ_J(x) of the fine one:
0 before its zone, α(s) in it, 1 behind it. The profile of a part is the least of those of the junctions in which it is
the fine one. From the highest part down, where a fine part stands above its coarse ones, each takes what its profile
claims beyond what the parts over it have, as far as the parts above have left it:

    π_i(x) = min {φ_J: fine_J = i, coarse_J ∈ P(x)},                  1 for a part that lies over none,
    w_i(x) = min(⟨π_i − Σ_{k over i} w_k⟩₊, 1 − Σ_{k above i} w_k),   k ∈ P(x),

so that w_i ≥ 0 and Σ_i w_i = 1, since the lowest part of P has π = 1 and takes the rest. (k is over i where a chain of
junctions leads from i up to k; above i stand all that come before it, those of other chains too.) For one junction
these are α and 1 − α. Where zones overlap, as long as no minimum is reached, w_i is a sum of ± φ_J: linear weights stay
linear, and the stress σ∇φ_J that each junction hands over is the same as for two parts, which its mediator holds.
(Products of complements, π_i Π (1 − π_k), would be quadratic there, and lose the patch test: by up to 9e-2 on bars.)

Moments of w_i over a cell are integrated on the pieces that the cell has in common with the cells of all other parts,
cut where a minimum changes. A function f(P) of the parts that cover a point is integrated on intersections alone
(Möbius inversion over subsets):

    ∫_cell f(P(x)) dx = Σ_{Q ∋ i} ∫_{cell ∩ Ω_Q} Σ_{R ⊆ Q, i ∈ R} (−1)^{|Q| − |R|} f(R) dx,      Ω_Q = ∩_{j ∈ Q} Ω_j.

A weight may vary only where a junction of its part is glued: elsewhere the stress that the part loses is handed to no
other one, and a uniform stress is not in equilibrium. Where this fails, or where two parts overlap that no chain of
junctions connects, `UserError` names the parts and the place.

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
from arlequin.junctions.curved_border import WHOLE, at_curved_border
from arlequin.junctions.sharing import Cover, Sharing
from arlequin.junctions.weights import Weight, joint_weights, share
from arlequin.junctions.zone_coordinate import ZoneCoordinate
from arlequin.models.errors import UserError
from arlequin.models.loads.body import weight_at_facets
from arlequin.models.part import LoadPieces, MeshedPart, Weighting
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import beyond_cell, candidate_pairs, to_reference
from arlequin.overlap.intersect import Overlap
from arlequin.overlap.joint import ON, JointBoxes, JointPieces, Shape, faces_on
from arlequin.overlap.quadrature import on_faces

Kind = Literal["stiffness", "mass"]
KINDS: tuple[Kind, Kind] = ("stiffness", "mass")
Mask = NDArray[np.bool_]
Shares = Mapping[str, Array]

# share of a cell below which a piece in which parts do not agree is round-off or the sagitta of a curved border
NEGLIGIBLE = 1e-6
APART = 5e-2
# weight below which a part has handed everything over
NOTHING = 1e-12
# difference of weights that is round-off
BENT = 1e-12
# change of a share by which slopes of weights are told, and the accuracy of these
SLOPE, EVEN = 1e-6, 1e-3


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
    found = {name: partition.weighting(name) for name in partition.parts}
    for name, own in found.items():
        if max(own.stiffness.max(initial=0.0), own.mass.max(initial=0.0)) <= NOTHING:
            others = " and ".join(f"'{other}'" for other in partition.beside(name))
            cure = f"leave it out with its junctions, or glue it over {others}"
            raise UserError(f"part '{name}' has no weight anywhere beside {others}: {cure}")
    return found


@dataclass(frozen=True, eq=False)
class Sample:
    """Points at which a set of parts, and no other part, covers the body.

    names: the parts, that of the cells first; points (axis, n), m; size (n,): measure that each stands for, as a share
    of its cell (n,); shares, states: φ_J (n,) and the state (n,) of the zone, by junction between the parts.
    """

    names: tuple[str, ...]
    points: Array
    size: Array
    cells: Indices
    shares: Shares
    states: Mapping[str, Indices]

    def largest(self, wrong: Mask, allowed: float = NEGLIGIBLE) -> str | None:
        """The middle of the largest piece that is `wrong` (n,), as text; None where they are at most the allowed share
        of every cell."""
        if np.bincount(self.cells, self.size * wrong).max(initial=0.0) <= allowed:
            return None
        worst = int(np.argmax(self.size * wrong))
        return "(" + ", ".join(f"{x:.6g}" for x in self.points[:, worst]) + ")"


@dataclass(eq=False)
class Partition:
    """The parts of some junctions and how they share the body; `check` settles the order of the parts."""

    junctions: tuple[ZonedJunction, ...]

    @cached_property
    def parts(self) -> dict[str, MeshedPart]:
        """The parts by name."""
        return {part.name: part for each in self.junctions for part in (each.coarse, each.fine)}

    def weighting(self, name: str) -> Weighting:
        """The weights of one part."""
        part, joint = self.parts[name], self.joint(name)
        stiffness, mass = (self._product(name, kind) for kind in KINDS)
        error = np.sum([self._pairs[each.name]["stiffness"][name][1] for each in self.of(name)], axis=0)
        if joint.any():
            chosen, dx = np.flatnonzero(joint), part.basis.dx * depth(part, part.quadrature_points())
            pieces = self.joint_pieces(name, "stiffness")
            stiffness[chosen], error[chosen] = joint_weights(part.basis, dx, chosen, *pieces, moments=True)
            pieces = self.joint_pieces(name, "mass") if len(self._kinds) > 1 else pieces
            mass[chosen], _ = joint_weights(part.basis, dx, chosen, *pieces, moments=False)
        warn_of_slivers([each.name for each in self.of(name)], part, error)
        shared = PartLoads(self, name, stiffness)
        load = np.where(shared.cut[:, None], 1.0, stiffness)
        return Weighting(stiffness, mass, load, facets=(shared.smooth,), shared=(shared,))

    def check(self) -> None:
        """Raise `UserError` where parts overlap without junction, or take weight from one that is not glued there."""
        for sample in self._samples:
            lowest = [
                name for name in sample.names if not any(each.coarse.name in sample.names for each in self._over[name])
            ]
            place = sample.largest(np.ones(sample.size.size, dtype=bool), APART) if len(lowest) > 1 else None
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
        same = all(each.weights_of("mass") is each.weights_of("stiffness") for each in self.junctions)
        return KINDS[:1] if same else KINDS

    def of(self, name: str) -> list[ZonedJunction]:
        """The junctions of a part."""
        return [each for each in self.junctions if name in (each.coarse.name, each.fine.name)]

    def active(self, names: Collection[str]) -> list[ZonedJunction]:
        """The junctions between some parts."""
        return [each for each in self.junctions if each.coarse.name in names and each.fine.name in names]

    @cached_property
    def _over(self) -> dict[str, list[ZonedJunction]]:
        """By part: the junctions in which it is the fine one."""
        return {name: [each for each in self.junctions if each.fine.name == name] for name in self.parts}

    @cached_property
    def _below(self) -> dict[str, set[str]]:
        """By part: those that it lies over, directly or through others; UserError where they form a circle."""
        below: dict[str, set[str]] = {name: {each.coarse.name for each in self._over[name]} for name in self.parts}
        for _ in self.parts:
            below = {name: own.union(*(below[other] for other in own)) for name, own in below.items()}
        for name, own in below.items():
            if name in own:
                circle = " and ".join(f"'{each.name}'" for each in self.of(name))
                raise UserError(f"junctions {circle}: '{name}' is the fine part of a part that is finer than itself")
        return below

    @cached_property
    def sharings(self) -> dict[str, Sharing]:
        """By junction: the weights of its parts on the pieces of their overlap."""
        return {each.name: each.sharing() for each in self.junctions}

    @cached_property
    def _pairs(self) -> dict[str, dict[str, dict[str, tuple[Array, Array]]]]:
        """By junction and kind of energy: see `Sharing.weights`; as if there were no other junction."""
        return {
            each.name: {
                kind: self.sharings[each.name].weights(each.weights_of(kind), each.floor, moments=kind == "stiffness")
                for kind in KINDS
            }
            for each in self.junctions
        }

    def _product(self, name: str, kind: Kind) -> Array:
        """Weights (c, q) of a part as products of those of its pairs."""
        return np.prod([self._pairs[each.name][kind][name][0] for each in self.of(name)], axis=0)

    @cached_property
    def covers(self) -> dict[tuple[str, str], Cover]:
        """By part and another one with which it has a junction: what the overlap covers of the first one's cells."""
        covers: dict[tuple[str, str], Cover] = {}
        for each in self.junctions:
            for part, other in ((each.coarse, each.fine), (each.fine, each.coarse)):
                cover, former = self.sharings[each.name].cover(part), covers.get((part.name, other.name))
                plain = cover.plain if former is None else cover.plain & former.plain
                covers[part.name, other.name] = replace(cover, plain=plain)
        return covers

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        return {name: Shape(part.mesh) for name, part in self.parts.items()}

    @cached_property
    def _components(self) -> dict[str, set[str]]:
        """By part: those that chains of junctions connect it with."""
        groups: dict[str, set[str]] = {name: {name} for name in self.parts}
        for each in self.junctions:
            merged = groups[each.coarse.name] | groups[each.fine.name]
            groups.update(dict.fromkeys(merged, merged))
        return groups

    # where several parts meet in a cell

    @cached_property
    def _met(self) -> dict[str, dict[str, Mask]]:
        """By part and other part: the cells (c,) of the first that the other one covers at least in part.

        Of parts without a common junction, only where it matters: where the first part has weight, and the other may
        take some of it, or is one over which such a part lies.
        """
        met: dict[str, dict[str, Mask]] = {name: {} for name in self.parts}
        for (name, other), cover in self.covers.items():
            met[name][other] = cover.met
        for name, own in met.items():
            strangers = self._components[name] - {name} - set(own)
            if not strangers:
                continue
            live = self.live(name)
            for other in sorted(strangers - self._below[name]):
                found = self._meets(name, other, live)
                if found.any():
                    own[other] = found
            takers = [other for other in own if other not in self._below[name]]
            for other in takers:
                for each in self._over[other]:
                    partner = each.coarse.name
                    if partner not in own and partner != name:
                        found = self._meets(name, partner, live & own[other])
                        if found.any():
                            own[partner] = found
        return met

    def live(self, name: str) -> Mask:
        """Cells (c,) in which the part may have weight."""
        largest = []
        for kind in KINDS:
            products = np.ones((self.parts[name].mesh.nelements, 1))
            for each in self.of(name):
                if self._alone(name, each):
                    products = products * self._pairs[each.name][kind][name][0]
            largest.append(products.max(axis=1))
        return np.asarray(np.maximum(*largest) > NOTHING)

    def _alone(self, name: str, junction: ZonedJunction) -> bool:
        """Whether the junction by itself bounds the part's weight: the profile of a fine part of several is less."""
        return junction.fine.name == name or len(self._over[junction.fine.name]) == 1

    def _meets(self, name: str, other: str, among: Mask) -> Mask:
        """Cells (c,) of the first part, some `among` them, that have more than round-off in common with the other."""
        found = np.zeros(among.size, dtype=bool)
        low, high = extent(self.parts[other])
        corners = self._shapes[name].corners
        near = (corners.max(axis=1) > low[:, None]).all(axis=0) & (corners.min(axis=1) < high[:, None]).all(axis=0)
        cells = np.flatnonzero(among & near)
        if cells.size:
            pieces = self._start((name, other), cells).within(other, self._shapes[other]).in_simplices()
            measure = np.bincount(pieces.cells[name], pieces.measures(), among.size)
            found = measure > NEGLIGIBLE * self.parts[name].basis.dx.sum(axis=1)
        return found

    def beside(self, name: str) -> list[str]:
        """The parts that cover cells of a part, but for those that it lies over."""
        return [other for other, found in self._met[name].items() if found.any() and other not in self._below[name]]

    def joint(self, name: str) -> Mask:
        """The cells (c,) of a part whose weights those of the pairs do not give."""
        return self._joint[name]

    def shape(self, name: str) -> Shape:
        """The mesh of a part for clipping."""
        return self._shapes[name]

    @cached_property
    def _joint(self) -> dict[str, Mask]:
        """By part: the cells (c,) whose weight the pairs of parts by themselves do not give."""
        joint = {}
        for name, met in self._met.items():
            cells = self.parts[name].mesh.nelements
            count, rough, strange = np.zeros(cells, dtype=int), np.zeros(cells, dtype=int), np.zeros(cells, dtype=bool)
            for other, found in met.items():
                count += found
                if (name, other) in self.covers:
                    rough += found & ~self.covers[name, other].plain
                if (name, other) not in self.covers or (other not in self._below[name] and len(self._over[other]) > 1):
                    strange |= found
                if len(self.active((name, other))) > 1:
                    count += found
                    strange |= found
            floored = any(each.floor > 0 for each in self.of(name))
            joint[name] = (count > 1) & ((rough > (0 if floored else 1)) | strange)
            if joint[name].any():
                joint[name] &= self.live(name)
        return joint

    def _start(self, names: Sequence[str], cells: Indices) -> JointBoxes | JointPieces:
        """Cells of the first of the named parts; as boxes where all of them have boxes only."""
        shapes = [self._shapes[name] for name in names]
        kind = JointBoxes if all(shape.boxes is not None for shape in shapes) else JointPieces
        return kind.of(names[0], shapes[0], cells)

    def sets(self, name: str, cells: Indices) -> Iterator[tuple[tuple[str, ...], JointPieces]]:
        """All sets of parts, the named one first, that have pieces in common in its cells, with the pieces, cut by the
        regions of their junctions."""
        others = [other for other, found in self._met[name].items() if found[cells].any()]

        def more(
            chosen: tuple[str, ...], pieces: JointBoxes | JointPieces, rest: list[str]
        ) -> Iterator[tuple[tuple[str, ...], JointPieces]]:
            for n, other in enumerate(rest):
                found = pieces.within(other, self._shapes[other])
                simplices = found.in_simplices()
                if simplices.count:
                    grown = (*chosen, other)
                    yield grown, self._divided(grown, simplices)
                    yield from more(grown, found, rest[n + 1 :])

        yield from more((name,), self._start((name, *others), cells), others)

    def _divided(self, names: Sequence[str], pieces: JointPieces) -> JointPieces:
        """Cut by the regions of the junctions between these parts, and where a minimum changes in a weight."""
        for each in self.active(names):
            pieces = pieces.divided(each.name, each.zone_coordinate.regions)
        for kind in self._kinds:
            done = 0
            while True:
                kinks: list[Array] = []
                shares, _ = self.shares(names, pieces, pieces.simplices.transpose(0, 2, 1), kind)
                for some in _subsets(names):
                    self._weights(some, shares, kinks)
                shape = pieces.count, pieces.simplices.shape[1]
                heights = [np.broadcast_to(kink, shape) for kink in kinks]
                bent = [
                    n
                    for n, h in enumerate(heights)
                    if n >= done and ((h.min(axis=1) < -BENT) & (h.max(axis=1) > BENT)).any()
                ]
                if not bent:
                    break
                pieces, done = pieces.cut(heights[bent[0]], BENT), bent[0] + 1
        return pieces

    # the weights of a set of parts

    def shares(
        self, names: Sequence[str], pieces: JointPieces, points: Array, kind: Kind
    ) -> tuple[dict[str, Array], dict[str, Indices]]:
        """φ_J (n, q) at points (axis, n, q) of the pieces, and the state (n, q), by junction of the set of parts."""
        values, states = {}, {}
        for each in self.active(names):
            cells = pieces.cells[each.coarse.name], pieces.cells[each.fine.name]
            own = Overlap(
                *cells, points, np.ones(points.shape[1:]), pieces.regions[each.name], np.full(cells[0].size, -1)
            )
            s, states[each.name] = each.zone_coordinate.on_pieces(own)
            values[each.name] = share(each.weights_of(kind), s, points, each.floor, states[each.name])
        return values, states

    def _weights(self, among: Sequence[str], shares: Shares, kinks: list[Array] | None = None) -> dict[str, Array]:
        """w by name where the parts `among` cover the point; kinks: takes functions whose zeros are kinks of w."""
        result: dict[str, Array] = {}
        rest: Array = np.ones(())
        for name in sorted(among, key=self._rank.__getitem__, reverse=True):
            claim: Array = np.ones(())
            for each in self._over[name]:
                if each.coarse.name in among:
                    if kinks is not None and claim.ndim:
                        kinks.append(claim - shares[each.name])
                    claim = np.minimum(claim, shares[each.name])
            for other, taken in result.items():
                if name in self._below[other]:
                    claim = claim - taken
            if kinks is not None:
                kinks += [claim, claim - rest]
            result[name] = np.minimum(np.maximum(claim, 0.0), rest)
            rest = rest - result[name]
        return result

    def change(self, names: tuple[str, ...], pieces: JointPieces, points: Array, kind: Kind) -> Array:
        """What the set of parts changes in the weight of its first one (n, q): Σ_{R ⊆ Q} (−1)^{|Q| − |R|} w(R)."""
        shares, _ = self.shares(names, pieces, points, kind)
        result = np.zeros(points.shape[1:])
        for some in _subsets(names):
            result += (-1) ** (len(names) - len(some)) * self._weights(some, shares)[names[0]]
        return result

    def order(self, names: Sequence[str], kind: Kind) -> int:
        """Degree up to which the products of weights and shape functions on the pieces are integrated exactly."""
        degree = sum(each.weights_of(kind).degree for each in self.active(names))
        return int(self.parts[names[0]].basis.elem.maxdeg) + degree + (1 if revolves(self.parts[names[0]]) else 0)

    def _joint_sets(self, name: str) -> list[tuple[tuple[str, ...], JointPieces]]:
        """`sets` of the joint cells of a part, made once for an order of the parts."""
        order = tuple(sorted(self._rank, key=self._rank.__getitem__))
        if self._made.get(name, (None, []))[0] != order:
            self._made[name] = order, list(self.sets(name, np.flatnonzero(self.joint(name))))
        return self._made[name][1]

    @cached_property
    def _made(self) -> dict[str, tuple[tuple[str, ...] | None, list[tuple[tuple[str, ...], JointPieces]]]]:
        return {}

    def joint_pieces(self, name: str, kind: Kind) -> tuple[Indices, Array, Array]:
        """Pieces of all sets of parts in the joint cells of one: cells, points and (1 − w) dx, to be summed."""
        part, found = self.parts[name], []
        for names, pieces in self._joint_sets(name):
            points, dx = pieces.quadrature(self.order(names, kind))
            dx = dx * depth(part, points) * self._enlarged(names, pieces)[:, None]
            found.append((pieces.cells[name], points, -self.change(names, pieces, points, kind) * dx))
        return joined(found, part.mesh.dim())

    def _enlarged(self, names: Sequence[str], pieces: JointPieces) -> Array:
        """Factor (n,) by which pieces at a curved border stand for the whole of the cell."""
        factor = np.ones(pieces.count)
        for other in names[1:]:
            cover = self.covers.get((names[0], other))
            if cover is not None:
                cells = pieces.cells[names[0]]
                factor *= np.where(cover.filled & cover.met, 1 / np.where(cover.met, cover.share, 1.0), 1.0)[cells]
        return factor

    # the order of the parts, and what has none

    @cached_property
    def _rank(self) -> dict[str, int]:
        """Number of each part from below: its coarse parts have lower ones, and of others the fine part of a later
        junction stands higher, unless it would take weight where the lower one is not glued (`_find_order`)."""
        return self._numbered({name: set(own) for name, own in self._below.items()})

    def _numbered(self, below: Mapping[str, set[str]]) -> dict[str, int]:
        last = {each.fine.name: n for n, each in enumerate(self.junctions)}
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
        """Find an order in which each weight varies only where its part is glued; UserError without one."""
        below = {name: set(own) for name, own in self._below.items()}
        while True:
            found = next((wrong for wrong in map(self._wrong, self._samples) if wrong is not None), None)
            if found is None:
                return
            low, high, place = found
            fixed = high in self._below[low] or low in self._below[high]
            if fixed or high in below[low] or low in below[high] or self._rank[low] > self._rank[high]:
                raise UserError(
                    f"parts '{low}' and '{high}' overlap at {place}, where '{high}' takes over from '{low}' although "
                    f"no junction glues '{low}' there: add a Junction of both, or let their zones coincide where they "
                    "overlap"
                )
            below[low].add(high)
            self._rank = self._numbered(below)

    def _wrong(self, sample: Sample) -> tuple[str, str, str] | None:
        """A part that loses weight where it is not glued, the one that takes it, and a place; None without one."""
        glued = self._glued(sample)
        for each, changes in self._slopes(sample):
            for name, change in changes.items():
                held = np.any(
                    [np.zeros(sample.size.size, bool), *(glued[own.name] for own in self._at(name, sample))], axis=0
                )
                place = sample.largest(glued[each.name] & (np.abs(change) > EVEN) & ~held)
                if place is not None:
                    return name, each.fine.name, place
        return None

    def _warn_of_kinks(self) -> None:
        """One warning for each zone in which the weights change otherwise than between the two parts that it glues."""
        told: set[str] = set()
        for sample in self._samples:
            glued = self._glued(sample)
            for each, changes in self._slopes(sample):
                wanted = {each.coarse.name: -1.0, each.fine.name: 1.0}
                wrong = [np.abs(change - wanted.get(name, 0.0)) > EVEN for name, change in changes.items()]
                place = sample.largest(glued[each.name] & np.any(wrong, axis=0))
                if place is None or each.name in told:
                    continue
                told.add(each.name)
                others = " and ".join(f"'{name}'" for name in sample.names if name not in wanted)
                warn(
                    f"junction '{each.name}': at {place} its zone overlaps that of {others} so that the weights have "
                    "kinks: a uniform stress is not exact there (patch test); let the zones coincide (two patches with "
                    "one common band need no junction of their own), follow or enclose each other"
                )

    def _at(self, name: str, sample: Sample) -> list[ZonedJunction]:
        return [each for each in self.of(name) if each.name in sample.shares]

    def _glued(self, sample: Sample) -> dict[str, Mask]:
        return {name: state == 1 for name, state in sample.states.items()}

    def _slopes(self, sample: Sample) -> Iterator[tuple[ZonedJunction, dict[str, Array]]]:
        """By junction between the parts of a sample: ∂w/∂φ (n,) of each part."""
        before = self._weights(sample.names, sample.shares)
        for each in self.active(sample.names):
            moved = {**sample.shares, each.name: sample.shares[each.name] - SLOPE}
            after = self._weights(sample.names, moved)
            yield each, {name: (before[name] - after[name]) / SLOPE for name in sample.names}

    @cached_property
    def _samples(self) -> list[Sample]:
        """The middles of all pieces in joint cells, each with the set of parts that covers it."""
        samples = []
        for name, joint in self._joint.items():
            if not joint.any():
                continue
            measure = self.parts[name].basis.dx.sum(axis=1)
            for names, pieces in self._joint_sets(name):
                more = np.zeros(pieces.count, dtype=bool)
                for other in self._components[name] - set(names):
                    more |= _covered(self.parts[other], pieces.simplices.mean(axis=1))
                pieces = pieces.take(np.flatnonzero(~more))
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
    """What the other parts take of the loads of one, a `SharedLoad`: on the pieces, where its weight is not smooth.

    ∫ γ f φ_n = ∫ f φ_n + Σ_pieces ∫ (γ − 1) f φ_n, exactly for a polynomial f, so that resultant and moment are those
    of the load on the body, and a uniform stress is in equilibrium with its tractions wherever the weights of the
    stiffness hold their moments (`weights.cell_weights`).
    """

    partition: Partition
    name: str
    stiffness: Array  # weights (c, q), carried to the border where neither serves

    @property
    def _part(self) -> MeshedPart:
        return self.partition.parts[self.name]

    @cached_property
    def _rough(self) -> dict[str, Mask]:
        """By junction: cells (c,) in which it alone cuts or shares the part."""
        partition, joint = self.partition, self.partition.joint(self.name)
        live, rough = partition.live(self.name), {}
        for each in partition.of(self.name):
            other = each.fine.name if each.coarse.name == self.name else each.coarse.name
            cover = partition.covers[self.name, other]
            rough[each.name] = cover.met & ~cover.plain & ~cover.filled & live & ~joint
        return rough

    @cached_property
    def cut(self) -> Mask:
        """Cells (c,) whose loads are integrated on pieces."""
        return np.any([self.partition.joint(self.name), *self._rough.values()], axis=0)

    @cached_property
    def _filled(self) -> Mask:
        """Cells (c,) that another part covers wholly, at least up to the curvature of a border."""
        covers = [own for (name, _), own in self.partition.covers.items() if name == self.name]
        return np.any([own.filled | (np.abs(1 - own.share) <= WHOLE) for own in covers], axis=0)

    @cached_property
    def _on_border(self) -> Mask:
        """Cells (c,) whose facets are integrated on pieces: not those at a curved border, which the pieces do not
        reach."""
        filled = [own.filled for (name, _), own in self.partition.covers.items() if name == self.name]
        return np.asarray(self.cut & ~np.any(filled, axis=0) & ~at_curved_border(self._part.mesh))

    def in_cells(self) -> LoadPieces:
        """Of the body force."""
        part, partition = self._part, self.partition
        cells, points, taken = partition.joint_pieces(self.name, "stiffness")
        found = [(cells, points, -taken)]
        for each in partition.of(self.name):
            found.append(
                partition.sharings[each.name].taken(
                    part, self._rough[each.name], each.weights_of("stiffness"), each.floor
                )
            )
        cells, points, taken = joined(found, part.mesh.dim())
        return LoadPieces(cells, to_reference(part.mesh, cells, points)[0], points, taken)

    def on_facets(self, facets: Indices) -> LoadPieces:
        """Of the tractions on facets (f,) on the border."""
        part, partition, name = self._part, self.partition, self.name
        facets = np.asarray(facets)[self._on_border[part.mesh.f2t[0, facets]]]
        found = []
        if facets.size:
            for names, pieces in partition.sets(name, np.unique(part.mesh.f2t[0, facets])):
                place, own, faces = faces_on(pieces, name, partition.shape(name), facets)
                points, dx = on_faces(faces, partition.order(names, "stiffness"))
                taken = partition.change(names, own, points, "stiffness") * dx * depth(part, points)
                found.append((part.mesh.f2t[0, facets[place]], points, taken))
        cells, points, taken = joined(found, part.mesh.dim())
        return LoadPieces(cells, to_reference(part.mesh, cells, points)[0], points, taken)

    def smooth(self, points: Array, cells: Indices) -> Array:
        """γ (f, q) at points (axis, f, q) on facets of the cells (f,) where it is smooth; one where pieces serve.

        In cells at a curved border that another part covers in part, the weights of the cell are carried to the facet.
        """
        part, result = self._part, np.ones(points.shape[1:])
        carried = (self.cut & ~self._on_border & ~self._filled)[cells]
        if carried.any():
            known = part.quadrature_points()
            result[carried] = weight_at_facets(self.stiffness, known, cells[carried], points[:, carried])
        for each in self.partition.of(self.name):
            other = each.fine.name if each.coarse.name == self.name else each.coarse.name
            met = self.partition.covers[self.name, other].met & ~self._on_border
            chosen = np.flatnonzero(met[cells] & ~carried)
            if chosen.size:
                weights, sharing = each.weights_of("stiffness"), self.partition.sharings[each.name]
                result[chosen] *= sharing.at(part, points[:, chosen], cells[chosen], weights, each.floor)
        return result


def joined(found: Sequence[tuple[Indices, Array, Array]], axes: int) -> tuple[Indices, Array, Array]:
    """Cells (p,), points (axis, p, q) and values (p, q) of all, in rows of the shortest rule; the last may be
    padded."""
    found = [each for each in found if each[0].size]
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros((axes, 0, 1)), np.zeros((0, 1))
    width = min(values.shape[1] for _, _, values in found)
    rows = []
    for cells, points, values in found:
        count = -(-values.shape[1] // width)
        missing = count * width - values.shape[1]
        points = np.concatenate((points, np.repeat(points[:, :, -1:], missing, axis=2)), axis=2)
        values = np.pad(values, ((0, 0), (0, missing)))
        rows.append((np.repeat(cells, count), points.reshape(axes, -1, width), values.reshape(-1, width)))
    every, places, measures = zip(*rows, strict=True)
    return np.concatenate(every), np.concatenate(places, axis=1), np.concatenate(measures)


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The subsets that hold the first of the names, small ones first."""
    for count in range(len(names)):
        for some in combinations(names[1:], count):
            yield (names[0], *some)


def _covered(part: MeshedPart, points: Array) -> Mask:
    """Points (axis, n) in the cells of a part."""
    found = np.zeros(points.shape[1], dtype=bool)
    around = ON * float(np.ptp(part.mesh.p))  # points may lie on a common side of two cells
    cells, chosen = candidate_pairs(part.mesh.p[:, part.mesh.t], np.stack((points - around, points + around), axis=1))
    if cells.size:
        X = to_reference(part.mesh, cells, points[:, chosen, None])[0]
        found[chosen[beyond_cell(part.mesh, X)[:, 0] <= ON]] = True
    return found
