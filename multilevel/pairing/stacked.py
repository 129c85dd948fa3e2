"""Several pairings of the same two surfaces: contact points that touch several patches of the master at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, vstack

from arlequin.models.types import Array, Indices
from arlequin.multilevel.pairing.kinematics import FixedPartnerPairing, Kinematics, Pairing, Partners, shared_weight


@dataclass(frozen=True, eq=False)
class StackedPairing:
    """The contact points of several pairings between the same surfaces, one after the other.

    Each has its own rows, and so its own status, impulse and history of the laws: the impact on one wall of a corner
    is an onset there, whatever the other wall does. layers: how many of them pair all points of the slave, each with a
    layer of the master's smooth patches; the others are of corners and edges.
    """

    pairings: tuple[Pairing, ...]
    layers: int

    @property
    def fixed(self) -> bool:
        return all(own.fixed for own in self.pairings)

    @cached_property
    def areas(self) -> Array:
        return np.concatenate([own.areas for own in self.pairings])

    @cached_property
    def faces(self) -> Indices:
        """Number (k,) of the pairing that a point belongs to; −1 of corners and edges."""
        numbers = np.arange(len(self.pairings))
        return np.repeat(np.where(numbers < self.layers, numbers, -1), np.diff(self._bounds))

    @property
    def shared_weight(self) -> float:
        """No more than the sum of those of the pairings."""
        return sum(shared_weight(own) for own in self.pairings)

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        return _joined([own.at(slave, master) for own in self.pairings])

    def with_partners(self, found: Kinematics, slave: Array, master: Array) -> Kinematics:
        """Kinematics with fixed partners, of the pairings that can fix them."""
        made = []
        for own, (a, b) in zip(self.pairings, pairwise(self._bounds), strict=True):
            if isinstance(own, FixedPartnerPairing):
                made.append(own.with_partners(_part(found, a, b), slave, master))
            else:
                made.append(own.at(slave, master))
        return _joined(made)

    @cached_property
    def _bounds(self) -> list[int]:
        return [0, *np.cumsum([own.areas.size for own in self.pairings]).tolist()]


def stacked(layers: Sequence[Pairing], others: Sequence[Pairing] = ()) -> Pairing:
    """One pairing of several; a single one is itself."""
    each = [own.pairings if isinstance(own, StackedPairing) else (own,) for own in layers]
    flat = tuple(own for some in each for own in some)
    return flat[0] if len(flat) == 1 and not others else StackedPairing((*flat, *others), len(flat))


def _joined(found: Sequence[Kinematics]) -> Kinematics:
    partners = None
    if any(kin.partners is not None for kin in found):
        each = [kin.partners or _none(kin.gap.size) for kin in found]
        partners = Partners(*(np.concatenate([getattr(own, name) for own in each]) for name in ("facet", "reference")))
    return Kinematics(
        csr_array(vstack([kin.rows for kin in found], format="csr")),
        np.concatenate([kin.gap for kin in found]),
        np.concatenate([kin.normals for kin in found]),
        np.concatenate([kin.tangents for kin in found]),
        np.concatenate([kin.positions for kin in found]),
        partners,
    )


def _part(found: Kinematics, a: int, b: int) -> Kinematics:
    """Points a to b."""
    axes, partners = found.normals.shape[1], found.partners
    return replace(
        found,
        rows=found.rows[axes * a : axes * b],
        gap=found.gap[a:b],
        normals=found.normals[a:b],
        tangents=found.tangents[a:b],
        positions=found.positions[a:b],
        partners=None if partners is None else Partners(partners.facet[a:b], partners.reference[a:b]),
    )


def _none(count: int) -> Partners:
    return Partners(np.full(count, -1, dtype=np.int64), np.zeros((count, 2)))
