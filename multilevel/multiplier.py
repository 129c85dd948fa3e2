"""Multiplier functions ψ_k on a slave surface: piecewise constant, linear or quadratic."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.checks import one_of
from models.errors import UserError
from models.types import Array, Indices
from multilevel.pieces import Facets


@dataclass(frozen=True, eq=False)
class Multipliers:
    """ψ_k: "P0" one per facet, "P1" the hat of each corner node, "P2" the shape function of each node.

    On a facet they are the shape functions `code` of its parent coordinates; table (f, i): their numbers k.
    """

    facets: Facets
    space: str

    def __post_init__(self) -> None:
        one_of("space", self.space, ("P0", "P1", "P2"))
        if self.space != "P2":
            return
        if not self.facets.kind.quadratic:
            raise UserError.parameter("space", self.space, "needs quadratic elements: take P1 (or P0) on linear ones")
        if self.facets.kind.corners == 3:
            raise UserError.parameter(
                "space", self.space, "has no area at the corners of 6-node triangles (∫ψ = 0): take P1"
            )
        radius = self.facets.surface.positions[:, 0]
        if self.facets.axisymmetric and radius.min() <= 1e-12 * radius.max():
            raise UserError.parameter("space", self.space, "has no area at the axis (∫ψ 2πr dΓ = 0): take P1")

    @property
    def code(self) -> int:
        kind = self.facets.kind
        return {"P0": 0, "P1": kind.corner_code, "P2": kind.code}[self.space]

    @property
    def degree(self) -> int:
        kind = self.facets.kind
        return {"P0": 0, "P1": kind.corner_degree, "P2": kind.degree}[self.space]

    @cached_property
    def table(self) -> Indices:
        if self.space == "P0":
            return np.arange(len(self.facets.nodes))[:, None]
        if self.space == "P2":
            return self.facets.nodes
        return np.searchsorted(self.nodes, self.facets.nodes[:, : self.facets.kind.corners])

    @cached_property
    def nodes(self) -> Indices:
        """Node of each function (k,); none for P0."""
        if self.space == "P0":
            return np.empty(0, dtype=np.int64)
        corners = self.facets.kind.corners if self.space == "P1" else self.facets.nodes.shape[1]
        return np.unique(self.facets.nodes[:, :corners])

    @property
    def count(self) -> int:
        return len(self.table) if self.space == "P0" else len(self.nodes)

    def values(self, points: Array) -> Array:
        """ψ_i (q, i) at parent points (q, 2)."""
        return self.facets.shapes(self.code, self.table.shape[1], points)[0]

    @cached_property
    def areas(self) -> Array:
        """∫ψ_k dΓ (k,) in the reference configuration, m²."""
        points, weights = self.facets.rule
        parts = self.facets.measure(points, weights) @ self.values(points)
        return self.gathered(parts)

    def gathered(self, parts: Array) -> Array:
        """Sums (k,) of the facets' parts (f, i)."""
        return np.asarray(np.bincount(self.table.ravel(), parts.ravel(), self.count), dtype=float)

    def positions(self, slave: Array) -> Array:
        """Where the functions are (k, a) at node positions (n, a): their nodes, or their facets' corner means."""
        if self.space == "P0":
            return np.asarray(slave[self.facets.nodes[:, : self.facets.kind.corners]].mean(axis=1))
        return slave[self.nodes]
