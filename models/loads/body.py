"""External forces: body forces and tractions, constant or functions of position and time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.nodal import ExternalLoads, Force, LoadFunction
from arlequin.models.signatures import takes
from arlequin.models.types import Array

Field = Callable[[Array, float], Any]
LoadValue = float | tuple[float, ...] | Field


@dataclass(frozen=True, eq=False)
class LoadRegion:
    """Quadrature of a load: points (axis, s, q), measure (s, q), shape functions (s, q, n), nodes (s, n)."""

    points: Array
    measure: Array
    values: Array
    nodes: np.ndarray

    def with_pieces(self, other: "LoadRegion") -> "LoadRegion":
        """The quadrature of both regions, in rows of as many points as this one has, padded with points of weight 0."""
        width, count = self.measure.shape[1], other.measure.shape[1]
        rows = -(-count // width)
        padding = rows * width - count

        def filled(values: Array, axis: int) -> Array:
            last = np.take(values, [-1], axis=axis)
            return np.concatenate((values, np.repeat(last, padding, axis=axis)), axis=axis)

        measure = np.pad(other.measure, ((0, 0), (0, padding))).reshape(-1, width)
        return LoadRegion(
            np.concatenate((self.points, filled(other.points, 2).reshape(len(self.points), -1, width)), axis=1),
            np.concatenate((self.measure, measure)),
            np.concatenate((self.values, filled(other.values, 1).reshape(-1, width, other.values.shape[2]))),
            np.concatenate((self.nodes, np.repeat(other.nodes, rows, axis=0))),
        )

    def operator(self, node_count: int) -> csr_array:
        """Sparse (n, s·q): nodal forces from the values at the points."""
        cells, points, size = self.values.shape
        data = (self.values * self.measure[:, :, None]).ravel()
        rows = np.broadcast_to(self.nodes[:, None, :], self.values.shape).ravel()
        columns = np.repeat(np.arange(cells * points), size)
        return csr_array(coo_array((data, (rows, columns)), shape=(node_count, cells * points)))

    def constant(self, vector: Array, node_count: int) -> Array:
        """Nodal forces (d,) of a uniform load."""
        shares = (self.values * self.measure[:, :, None]).sum(axis=1)
        nodal = np.bincount(self.nodes.ravel(), weights=shares.ravel(), minlength=node_count)
        return np.outer(nodal, vector).ravel()


def make_loads(loads: Mapping[str, tuple[LoadValue, LoadRegion]], components: int, node_count: int) -> ExternalLoads:
    """External loads from label → (vector or f(x, t), region)."""
    constant = np.zeros(node_count * components)
    varying: list[Force] = []
    for label, (value, region) in loads.items():
        if callable(value):
            varying.append(LoadFunction(_nodal(label, value, region, components, node_count)))
        else:
            constant += region.constant(point_values(label, value, components, 1)[:, 0], node_count)
    return ExternalLoads(constant, tuple(varying))


def _nodal(label: str, field: Field, region: LoadRegion, components: int, node_count: int) -> Callable[[float], Array]:
    """∫ φ_n f(x, t): nodal forces (d,) as a function of time."""
    takes(label, field, x="the points (axis, p)", t="the time, s")
    points = np.ascontiguousarray(region.points.reshape(region.points.shape[0], -1))
    operator = region.operator(node_count)

    def forces(t: float) -> Array:
        values = point_values(label, field(points, t), components, points.shape[1])
        return np.asarray((operator @ values.T).ravel())

    point_values(label, field(points, 0.0), components, points.shape[1])
    return forces


def point_values(label: str, value: Any, components: int, count: int) -> Array:
    """The components of a load at `count` points as (component, p): numbers stand for uniform components."""
    rule = f"must give {checks.components(components)}, finite numbers"
    try:
        rows = [value] if components == 1 and np.ndim(value) == 0 else value
        if components == 1 and np.shape(rows) == (count,) and count != 1:
            rows = [rows]
        values = np.array([np.broadcast_to(np.asarray(row, dtype=float), (count,)) for row in rows])
    except (TypeError, ValueError, OverflowError):
        raise checks.numbers_error(value).parameter(label, value, rule) from None
    if values.shape != (components, count) or not np.isfinite(values).all():
        raise UserError.parameter(label, value, rule)
    return values


def weight_at_facets(weight: Array, cell_points: Array, cells: np.ndarray, facet_points: Array) -> Array:
    """A weight (c, q) extrapolated from the cells to facet points (f, q′): linear fit per cell, clipped to its range.

    cell_points (axis, c, q), cells (f,) of the facets, facet_points (axis, f, q′). Exact for a weight that is
    linear in the cell.
    """
    cell_weights = weight[cells]
    if np.ptp(cell_weights) == 0:
        return np.full(facet_points.shape[1:], cell_weights.flat[0] if cell_weights.size else 1.0)
    origin = cell_points[:, cells].mean(axis=2, keepdims=True)
    scale = np.abs(cell_points[:, cells] - origin).max(axis=(0, 2), keepdims=True)

    def linear(points: Array) -> Array:
        offsets = np.moveaxis((points - origin) / scale, 0, 2)
        return np.concatenate([np.ones((*offsets.shape[:2], 1)), offsets], axis=2)

    coefficients = np.linalg.pinv(linear(cell_points[:, cells])) @ cell_weights[:, :, None]
    return np.clip((linear(facet_points) @ coefficients)[:, :, 0], weight.min(), weight.max())
