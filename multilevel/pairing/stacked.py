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

    Each has separate rows, and so separate statuses, impulses and histories of the laws: an impact on one wall of a
    corner is an onset there, independent of the other wall. layers: number of pairings of all points of the slave, each
    with a layer of the master's smooth patches; the others are of corners and edges.
    """

    pairings: tuple[Pairing, ...]
    layers: int

    @property
    def fixed(self) -> bool:
        return all(pairing.fixed for pairing in self.pairings)

    @cached_property
    def areas(self) -> Array:
        return np.concatenate([pairing.areas for pairing in self.pairings])

    @cached_property
    def faces(self) -> Indices:
        """Number (k,) of the pairing that a point belongs to; −1 for corners and edges."""
        numbers = np.arange(len(self.pairings))
        return np.repeat(np.where(numbers < self.layers, numbers, -1), np.diff(self._bounds))

    @property
    def shared_weight(self) -> float:
        """Bound: the sum of those of the pairings."""
        return sum(shared_weight(pairing) for pairing in self.pairings)

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave, master (n, a), m."""
        return _joined([pairing.at(slave, master) for pairing in self.pairings])

    def with_partners(self, reference: Kinematics, slave: Array, master: Array) -> Kinematics:
        """Kinematics with fixed partners, for the pairings that support it."""
        kinematics = []
        for pairing, (a, b) in zip(self.pairings, pairwise(self._bounds), strict=True):
            if isinstance(pairing, FixedPartnerPairing):
                kinematics.append(pairing.with_partners(_slice(reference, a, b), slave, master))
            else:
                kinematics.append(pairing.at(slave, master))
        return _joined(kinematics)

    @cached_property
    def _bounds(self) -> list[int]:
        return [0, *np.cumsum([pairing.areas.size for pairing in self.pairings]).tolist()]


def stacked(layers: Sequence[Pairing], others: Sequence[Pairing] = ()) -> Pairing:
    """One pairing of several, nested ones flattened; a single one itself."""
    nested = [pairing.pairings if isinstance(pairing, StackedPairing) else (pairing,) for pairing in layers]
    flat = tuple(pairing for pairings in nested for pairing in pairings)
    return flat[0] if len(flat) == 1 and not others else StackedPairing((*flat, *others), len(flat))


def _joined(kinematics: Sequence[Kinematics]) -> Kinematics:
    partners = None
    if any(kin.partners is not None for kin in kinematics):
        each = [kin.partners or _unpaired(kin.gap.size) for kin in kinematics]
        partners = Partners(
            *(np.concatenate([getattr(part, name) for part in each]) for name in ("facet", "reference"))
        )
    return Kinematics(
        csr_array(vstack([kin.rows for kin in kinematics], format="csr")),
        np.concatenate([kin.gap for kin in kinematics]),
        np.concatenate([kin.normals for kin in kinematics]),
        np.concatenate([kin.tangents for kin in kinematics]),
        np.concatenate([kin.positions for kin in kinematics]),
        partners,
    )


def _slice(kinematics: Kinematics, a: int, b: int) -> Kinematics:
    """Kinematics of the points a to b."""
    axes, partners = kinematics.normals.shape[1], kinematics.partners
    return replace(
        kinematics,
        rows=kinematics.rows[axes * a : axes * b],
        gap=kinematics.gap[a:b],
        normals=kinematics.normals[a:b],
        tangents=kinematics.tangents[a:b],
        positions=kinematics.positions[a:b],
        partners=None if partners is None else Partners(partners.facet[a:b], partners.reference[a:b]),
    )


def _unpaired(count: int) -> Partners:
    return Partners(np.full(count, -1, dtype=np.int64), np.zeros((count, 2)))
