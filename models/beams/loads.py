"""External forces on beams: distributed along the axis, and at the ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, kron

from arlequin.models import checks
from arlequin.models.beams.beam_model import BeamModel
from arlequin.models.errors import UserError
from arlequin.models.loads.body import point_values, weight_at_facets
from arlequin.models.loads.harmonics import Harmonics
from arlequin.models.loads.turbulence import Stations, Turbulence, TurbulentForce
from arlequin.models.nodal import ExternalLoads, Force, LoadFunction
from arlequin.models.signatures import takes
from arlequin.models.types import Array


def make_beam_loads(beam: BeamModel, weight: Array) -> ExternalLoads:
    """Loads of a beam under the load weight (c, q): work-equivalent, so that nodal statics stay exact."""
    constant = np.zeros(beam.dof_count)
    varying: list[Force] = []
    if beam.distributed is not None:
        label, distributed, axes = f"{beam.name}: distributed", beam.distributed, beam.dimension
        points = beam.quadrature_points().reshape(axes, -1)
        operator = force_operator(beam, weight)
        if callable(distributed):
            takes(label, distributed, x="the points (axis, p)", t="the time, s")
            field = distributed
            point_values(label, field(points, 0.0), axes, points.shape[1])
            varying.append(
                LoadFunction(
                    lambda t: operator @ point_values(label, field(points, t), axes, points.shape[1]).T.ravel()
                )
            )
        else:
            constant += operator @ point_values(label, distributed, axes, points.shape[1]).T.ravel()
    for boundary, value in checks.mapping("end_loads", beam.end_loads, "must map ends to forces").items():
        node = int(beam.end(boundary)[0])
        end = _EndLoad(beam, boundary, node, weight_at(beam, node, weight))
        if callable(value):
            takes(f"{beam.name}: load at {boundary!r}", value, t="the time, s")
            end.forces(value(0.0))
            varying.append(LoadFunction(lambda t, end=end, value=value: end.forces(value(t))))  # type: ignore[misc]
        else:
            constant += end.forces(value)
    if beam.turbulence is not None:
        varying.append(_turbulence(beam, beam.turbulence, weight))
    return ExternalLoads(constant, tuple(varying))


def _turbulence(beam: BeamModel, turbulence: Turbulence, weight: Array) -> TurbulentForce:
    """The nodal forces (d,): work-equivalent, exact in cells of uniform weight.

    The quadrature is exact for the product of a cubic shape function and the cubic projection of the force. Under a
    weight linear in the cell the resultant is exact still, moments and nodal forces up to the error of the projection.
    """
    axes, operator = beam.dimension, force_operator(beam, weight)
    points = np.asarray(beam.basis.global_coordinates())[0]
    low = beam.basis.doflocs[0][beam.nodes[:, 0]]
    stations = Stations.in_cells(turbulence.spacing, low, low + beam.elements.lengths, points, degree=3)
    series = turbulence.at_stations(stations.numbers)
    nodal, operators = np.zeros((beam.dof_count, len(series))), []
    for k, axis in enumerate(beam.frame[1:axes, :axes]):
        across = csr_array(kron(stations.operator, axis[:, None]))
        operators.append(csr_array(operator @ across))
        nodal += operators[-1] @ series[:, k].T
    force = Harmonics(turbulence.duration, np.ascontiguousarray(nodal.T))
    return TurbulentForce(turbulence, stations.numbers, tuple(operators), force)


@dataclass(frozen=True, eq=False)
class _EndLoad:
    """Forces and moments at an end, times the load weight there."""

    beam: BeamModel
    boundary: str
    node: int
    weight: float

    def forces(self, value: Any) -> Array:
        """The load vector (d,) of forces (axes) or of forces and moments (components)."""
        beam = self.beam
        label, rule = f"{beam.name}: load at {self.boundary!r}", "must be finite numbers: "
        rule += f"{beam.dimension} forces, or these and {beam.components - beam.dimension} moment(s)"
        try:
            components = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise UserError.parameter(label, value, rule) from None
        if components.shape not in ((beam.dimension,), (beam.components,)) or not np.isfinite(components).all():
            raise UserError.parameter(label, value, rule)
        total = np.zeros(beam.dof_count)
        first = self.node * beam.components
        total[first : first + components.size] = self.weight * components
        return total


def force_operator(beam: BeamModel, weight: Array) -> csr_array:
    """Sparse (d, points × axes): nodal forces from forces per unit length at the quadrature points."""
    lengths = np.repeat((weight * beam.basis.dx).ravel(), beam.dimension)
    return csr_array((diags_array(lengths) @ displacement_operator(beam)).T)


def displacement_operator(beam: BeamModel) -> csr_array:
    """Sparse (points × axes, d): displacements at the quadrature points from those of the nodes."""
    cells, points = np.asarray(beam.basis.dx).shape
    size, axes = beam.components, beam.dimension
    xi = np.broadcast_to(beam.xi, (cells, points))
    shapes = beam.elements.interpolation(np.arange(cells), xi)[:, :, :axes, :]
    dofs = (beam.nodes[:, :, None] * size + np.arange(size)).reshape(cells, -1)
    rows = np.broadcast_to(np.arange(cells * points * axes).reshape(cells, points, axes, 1), shapes.shape)
    columns = np.broadcast_to(dofs[:, None, None, :], shapes.shape)
    shape = (cells * points * axes, beam.dof_count)
    return csr_array((shapes.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


def weight_at(beam: BeamModel, node: int, weight: Array) -> float:
    """A weight (c, q) at an end node."""
    cell = np.flatnonzero((beam.nodes == node).any(axis=1))
    s = np.asarray(beam.basis.global_coordinates())
    return float(weight_at_facets(weight, s, cell, beam.basis.doflocs[:, [node]][:, :, None])[0, 0])
