"""Contact kinematics in a configuration, and the protocols of the pairings that compute them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from arlequin.models.part import Surface
from arlequin.models.types import Array


@dataclass(frozen=True, eq=False)
class Partners:
    """Projections of k points onto a deformable master: facet (k,), −1 for none, and reference coordinates (k, 2)."""

    facet: NDArray[np.int64]
    reference: Array


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Contact points k in a configuration of axes a = 2 or 3 (in 1D the normal alone), linear in the velocities.

    rows (k a, d): row k a is the rate of the gap ġ = n·[[v]], rows k a + 1 … the slip rates along the tangents, of the
    velocities of the slave surface's nodes and then of the master's (node-major, d = a × nodes; a rigid master has
    none). [[v]] = v_slave − v_master in material rates: the rows vanish for every rigid motion of slave and master
    together, so that the forces rowsᵀ P have neither resultant nor moment at these positions.
    gap (k,), m, +inf where a point has no partner (its rows are 0); normals (k, a) out of the master; tangents
    (k, a − 1, a); positions (k, a) of the points on the slave, m. partners: for pairings with fixed partners.
    """

    rows: csr_array
    gap: Array
    normals: Array
    tangents: Array
    positions: Array
    partners: Partners | None = None

    @cached_property
    def paired(self) -> NDArray[np.bool_]:
        """Points that have a partner (k,)."""
        return np.isfinite(self.gap)


class Pairing(Protocol):
    """Pairing of the contact points of a slave surface with a master."""

    @property
    def fixed(self) -> bool:
        """Whether rows, normals and tangents are the same in all configurations (the gap then is linear)."""
        ...

    @property
    def areas(self) -> Array:
        """Areas of the points (k,), m²: ∫ψ_k dΓ in the reference configuration."""
        ...

    def at(self, slave: Array, master: Array) -> Kinematics:
        """The kinematics at node positions (n, a) of the slave and of the master surface (0, a where rigid)."""
        ...


@runtime_checkable
class PairingMaster(Protocol):
    """A master fixed in space with its own contact points, which it pairs with a slave."""

    @property
    def axes(self) -> int: ...

    def pairing(self, slave: Surface) -> Pairing: ...


@runtime_checkable
class FixedPartnerPairing(Protocol):
    """A pairing that can be evaluated with fixed partners, as those jump where two are equally close."""

    def with_partners(self, reference: Kinematics, slave: Array, master: Array) -> Kinematics:
        """The kinematics at these positions with the partners, reference coordinates and normals of `reference`."""
        ...


@runtime_checkable
class OverlappingPairing(Protocol):
    """A pairing in which several points may share nodes of the slave."""

    @property
    def shared_weight(self) -> float:
        """Bound of the largest eigenvalue of Σ_k N_k N_kᵀ in any configuration, N_k (n,) the points' weights."""
        ...


def shared_weight(pairing: Pairing) -> float:
    """`OverlappingPairing.shared_weight` of a pairing; 1 where no two points share a node."""
    return pairing.shared_weight if isinstance(pairing, OverlappingPairing) else 1.0


def faces(pairing: Pairing) -> NDArray[np.int64]:
    """Number (k,) of the smooth patch of the master that each contact point belongs to; 0 where there is one."""
    return np.asarray(getattr(pairing, "faces", np.zeros(pairing.areas.size, dtype=np.int64)))
