"""Coordinates of a superelement: retained components of its nodes, and generalised ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array

from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array, Indices

AXES = ("x", "y", "z")
ROTATIONS = {1: (), 2: ("rz",), 3: ("rx", "ry", "rz")}
_SOFT = 1e-9  # stiffness of a generalised coordinate, relative, below which it is free


class ComponentCount(int):
    """Number of components of a node, with the names of those that are retained: `dataclasses.replace` keeps them."""

    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, count: int, names: tuple[tuple[str, ...], ...]) -> "ComponentCount":
        """The count with its names."""
        out = cls(count)
        out.names = names
        return out


def component_names(positions: Array, components: Any) -> tuple[tuple[str, ...], ...]:
    """Names of the components of each node at positions (n, axis), of `components` as given."""
    count, axes = positions.shape if positions.ndim == 2 else (positions.size, 1)
    known = AXES[:axes] + ROTATIONS[axes]
    if isinstance(components, ComponentCount):
        components = components.names
    given: Any = AXES[:axes] if components is None else components
    rule = f'must be names of {", ".join(known)}, as ("x", "y"), for all nodes, or one tuple for each of them'
    if isinstance(given, str):
        given = (given,)
    if not isinstance(given, Sequence) or not len(given):
        raise UserTypeError.parameter("components", given, rule)
    each = [tuple(given)] * count if all(isinstance(name, str) for name in given) else list(given)
    if len(each) != count:
        raise UserError(f"components: {len(each)} tuples are given for {count} nodes: {rule}")
    names = tuple((entry,) if isinstance(entry, str) else tuple(entry) for entry in each)
    for entry in names:
        if any(name not in known for name in entry) or len(set(entry)) < len(entry):
            raise UserError.parameter("components", entry, rule)
    return names


@dataclass(frozen=True, eq=False)
class SuperelementCoordinates:
    """u (d,): the retained components of the nodes at positions (n, axis), node by node, then generalised coordinates.

    components: of a node, retained or not; retained: names of those that are, for each node; stiffness (d, d): of which
    generalised coordinates take the values of least energy.
    """

    positions: Array
    components: int
    retained: tuple[tuple[str, ...], ...]
    stiffness: csr_array

    @property
    def dof_count(self) -> int:
        """Nodal displacements and rotations: nodes × components, retained or not."""
        return len(self.positions) * int(self.components)

    @property
    def count(self) -> int:
        """d."""
        return int(self.stiffness.shape[0])

    @cached_property
    def generalised(self) -> Indices:
        """Numbers (g,) of the generalised coordinates."""
        return np.arange(sum(map(len, self.retained)), self.stiffness.shape[0])

    @cached_property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components of a node."""
        axes = self.positions.shape[1]
        return tuple((name,) for name in (AXES[:axes] + ROTATIONS[axes])[: self.components])

    @cached_property
    def numbers(self) -> Indices:
        """Coordinate (nodal,) of each nodal dof; −1 where it is not retained."""
        names = [name for (name,) in self.axes]
        numbers, first = np.full((len(self.positions), self.components), -1), 0
        for node, entry in enumerate(self.retained):
            for name in entry:
                numbers[node, names.index(name)] = first
                first += 1
        return numbers.ravel()

    @cached_property
    def unit_translations(self) -> Array:
        """Unit translations (nodal, axis) of all nodes."""
        axes = self.positions.shape[1]
        return (np.arange(self.dof_count)[:, None] % self.components == np.arange(axes)).astype(float)

    @cached_property
    def translations(self) -> Array:
        """Unit translations (d, axis) of the part in its coordinates."""
        return self.static(self.unit_translations)

    def of_nodes(self, fields: Array) -> Array:
        """The retained components (d, k) of nodal fields (nodal, k), with generalised coordinates 0."""
        chosen = self.numbers >= 0
        out = np.zeros((self.stiffness.shape[0], fields.shape[1]))
        out[self.numbers[chosen]] = fields[chosen]
        return out

    def static(self, fields: Array) -> Array:
        """Coordinates (d, k) of nodal fields (nodal, k): of the nodes, and K_qq q = −K_qb u_b, of least energy."""
        out = self.of_nodes(fields)
        if self.generalised.size:
            out[self.generalised] = -self._extension @ (self.stiffness @ out)[self.generalised]
        return out

    @cached_property
    def _extension(self) -> Array:
        """K_qq⁻¹ (g, g), of coordinates without stiffness 0."""
        block = self.stiffness[self.generalised][:, self.generalised].toarray()
        return np.asarray(scipy.linalg.pinvh(block, rtol=_SOFT))

    @cached_property
    def shapes(self) -> csr_array:
        """S (nodal, d): 1 at the coordinate of a retained component."""
        rows = np.flatnonzero(self.numbers >= 0)
        entries = np.ones(rows.size), (rows, self.numbers[rows])
        return csr_array(entries, shape=(self.numbers.size, self.count))
