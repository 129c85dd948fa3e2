"""External forces on beams: distributed along the axis, and at the ends."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from models.errors import UserError
from models.loads import point_values, weight_at_facets
from models.part import Array
from models.turbulence import Harmonics

if TYPE_CHECKING:
    from models.beam import Beam


@dataclass(frozen=True, eq=False)
class BeamLoads:
    """constant (d,); varying: functions of time that give forces (d,); turbulence: harmonics of forces (d,)."""

    constant: Array
    varying: tuple[Callable[[float], Array], ...]
    turbulence: Harmonics | None = None

    def __call__(self, t: float) -> Array:
        """External force (d,) at the time t, N and N·m; a fresh array."""
        total = self.constant.copy()
        for load in self.varying:
            total += load(t)
        return total if self.turbulence is None else total + self.turbulence(t)

    def at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,), N and N·m; a fresh array."""
        total = np.tile(self.constant, (times.size, 1))
        for load in self.varying:
            total += np.array([load(t) for t in times.tolist()])
        return total if self.turbulence is None else total + self.turbulence.at(times)

    def projected(self, shapes: Array) -> "BeamLoads":
        """Forces Sᵀ f (r,) on the coordinates of shapes S (d, r); those of turbulence are projected once."""
        turbulence = self.turbulence
        if turbulence is not None:
            turbulence = replace(turbulence, coefficients=turbulence.coefficients @ shapes)
        varying = tuple(lambda t, load=load: shapes.T @ load(t) for load in self.varying)
        return BeamLoads(shapes.T @ self.constant, varying, turbulence)

    @property
    def steady(self) -> bool:
        """Whether the force is the same at all times."""
        return not self.varying and self.turbulence is None


def make_beam_loads(beam: "Beam", weight: Array) -> BeamLoads:
    """Loads of a beam under the load weight (c, q): work-equivalent, so that nodal statics stay exact."""
    constant, varying = np.zeros(beam.dof_count), []
    if beam.distributed is not None:
        label, given, axes = f"{beam.name}: distributed", beam.distributed, beam.dimension
        points = beam.quadrature_points().reshape(axes, -1)
        operator = _operator(beam, weight)
        if callable(given):
            field = given
            point_values(label, field(points, 0.0), axes, points.shape[1])
            varying.append(lambda t: operator @ point_values(label, field(points, t), axes, points.shape[1]).T.ravel())
        else:
            constant += operator @ point_values(label, given, axes, points.shape[1]).T.ravel()
    for boundary, value in beam.end_loads.items():
        node = int(beam.end(boundary)[0])
        end = _EndLoad(beam, boundary, node, _weight_at(beam, node, weight))
        if callable(value):
            end.forces(value(0.0))
            varying.append(lambda t, end=end, value=value: end.forces(value(t)))  # type: ignore[misc]
        else:
            constant += end.forces(value)
    return BeamLoads(constant, tuple(varying), _turbulence(beam, weight))


def _turbulence(beam: "Beam", weight: Array) -> Harmonics | None:
    """Harmonics of the nodal forces (d,) of the beam's turbulence: its modes in space are work-equivalent forces.

    The four points of a cell of length h make the variance of the mean force on it too large by 1.8 % × h/λ.
    """
    given = beam.turbulence
    if given is None:
        return None
    longest = float(beam.elements.lengths.max())
    if longest > given.correlation * (1 + 1e-9):
        rule = f"must be at least the length of the cells of '{beam.name}', {longest:.6g} m: take more cells"
        raise UserError.parameter("correlation", given.correlation, rule)
    axes, operator = beam.dimension, _operator(beam, weight)
    stations = beam.arc_length(beam.quadrature_points().reshape(axes, -1))
    series = given.harmonics(stations, axes - 1)
    nodal = np.zeros((beam.dof_count, len(series)))
    for k, axis in enumerate(beam.frame[1:axes, :axes]):
        across = csr_array(kron(eye_array(stations.size), axis[:, None]))
        nodal += csr_array(operator @ across) @ series[:, k].T
    return Harmonics(given.duration, np.ascontiguousarray(nodal.T))


@dataclass(frozen=True, eq=False)
class _EndLoad:
    """Forces and moments at an end, times the weight there."""

    beam: "Beam"
    boundary: str
    node: int
    weight: float

    def forces(self, value: Any) -> Array:
        """The load vector (d,) of forces (axes) or of forces and moments (components)."""
        beam = self.beam
        label, rule = f"{beam.name}: load at {self.boundary!r}", "must be finite numbers: "
        rule += f"{beam.dimension} forces, or these and {beam.components - beam.dimension} moment(s)"
        try:
            given = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise UserError.parameter(label, value, rule) from None
        if given.shape not in ((beam.dimension,), (beam.components,)) or not np.isfinite(given).all():
            raise UserError.parameter(label, value, rule)
        total = np.zeros(beam.dof_count)
        first = self.node * beam.components
        total[first : first + given.size] = self.weight * given
        return total


def _operator(beam: "Beam", weight: Array) -> csr_array:
    """Sparse (d, points × axes): nodal forces from forces per unit length at the quadrature points."""
    cells, points = weight.shape
    size, axes = beam.components, beam.dimension
    xi = np.broadcast_to(beam.xi, weight.shape)
    shapes = beam.elements.interpolation(np.arange(cells), xi)[:, :, :axes, :]
    data = shapes * (weight * beam.basis.dx)[:, :, None, None]
    dofs = (beam.nodes[:, :, None] * size + np.arange(size)).reshape(cells, -1)
    rows = np.broadcast_to(dofs[:, None, None, :], data.shape)
    columns = np.broadcast_to(np.arange(cells * points * axes).reshape(cells, points, axes, 1), data.shape)
    shape = (beam.dof_count, cells * points * axes)
    return csr_array((data.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


def _weight_at(beam: "Beam", node: int, weight: Array) -> float:
    """The load weight at an end node."""
    cell = np.flatnonzero((beam.nodes == node).any(axis=1))
    s = np.asarray(beam.basis.global_coordinates())
    return float(weight_at_facets(weight, s, cell, beam.basis.doflocs[:, [node]][:, :, None])[0, 0])
