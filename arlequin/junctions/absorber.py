"""The absorbing term of a junction: damps waves that the coarse mesh cannot resolve."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import bsr_array, csr_array

from arlequin.junctions.base import AbsorbingForm, depth, wave_impedances, without_zeros
from arlequin.junctions.coupling import L2, Shapes
from arlequin.junctions.mediator import chunks
from arlequin.junctions.zone_coordinate import SAME, ZoneCoordinate
from arlequin.models.checks import positive
from arlequin.models.errors import UserError
from arlequin.models.fem.cells import CellArrays
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.local_fit import NodeCloud, interpolation_moment, projection_moment
from arlequin.models.fem.mass import element_lumped
from arlequin.models.part import MeshedPart
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.overlap.intersect import Overlap

# The design (see `Absorber`): e over the depth 1 − s, and z over the distance from the fine part's end in node spacings
# of the coarse part, negative inside the zone. Found by minimising the largest reflection of waves from half a coarse
# cell on, at the ratios 3.3 and 7.3 in a zone of six coarse cells, with at most 1e-4 of the energy lost above 8 H.
_DEPTH = np.array([0.0, 0.15, 0.3, 0.5, 0.75, 1.0])
_MATCHED = np.array([2.66, 1.0, 2.44, 4.12, 6.71, 0.22])
_DISTANCE = np.array([-6.0, -3.0, -1.5, 0.0, 2.0, 4.0, 6.0])
_HIGH_PASS = np.array([0.0, 0.1, 0.54, 0.9, 0.007, 0.004, 0.0])
_TAIL = 2.0  # distance from which on z is left out in three dimensions: each row joins the nodes of three cells around


@dataclass(frozen=True, eq=False)
class ZoneNodes:
    """Nodes of a part in the gluing zone: numbers (n,), points (n, axis) m, depth 1 − s (n,): 0 on the fine part's side
    and 1 at its end, slopes ∇s (n, axis) 1/m, distance beyond the zone (n,) m, volumes (n,) m³."""

    numbers: Indices
    points: Array
    depth: Array
    slopes: Array
    distance: Array
    volumes: Array


@dataclass(frozen=True, eq=False)
class AbsorbingZone:
    """Geometry of a gluing zone for the absorbing term.

    fine_nodes: nodes with functions that are nonzero in the zone; coarse_nodes: nodes in the zone and in all coarse
    cells beyond it, also the nodes of `cloud`; pieces, depth (p, q): the overlap in the zone, with dx = 0 outside, m³,
    and 1 − s at its points; centres (c, axis) of the coarse cells, m, and moment (axis, axis), m²: see
    `NodeCloud.interpolation`.
    """

    coarse: MeshedPart
    fine: MeshedPart
    fine_nodes: ZoneNodes
    coarse_nodes: ZoneNodes
    pieces: Overlap
    depth: Array
    cloud: NodeCloud
    centres: Array
    moment: Array

    @classmethod
    def of(cls, coarse: MeshedPart, fine: MeshedPart, coordinate: ZoneCoordinate, pieces: Overlap) -> "AbsorbingZone":
        """The zone with the coordinate s on the pieces of the overlap."""
        near = np.unique(pieces.fine_cells)
        continuum = _continuum(fine)
        s = coordinate.on_fine(fine.basis.doflocs[:, continuum.cells.nodes[near]], near, pieces)
        fine_nodes = _nodes_in_zone(fine, near, s)
        cells = _continuum(coarse).cells
        at = coarse.basis.doflocs[:, cells.nodes]
        s = coordinate.on_coarse(at, np.arange(cells.count))
        glued = np.flatnonzero((s.min(axis=1) < 1.0 - SAME) & (s.max(axis=1) > SAME))
        inside = _nodes_in_zone(coarse, glued, s[glued])
        # cells without weight of the coarse part are left out: their nodes are at rest
        live = np.flatnonzero(s.min(axis=1) < 1.0 - SAME)
        volumes = np.zeros(int(coarse.basis.N))
        np.add.at(volumes, cells.nodes[live].ravel(), _shares(coarse, live).ravel())
        numbers = np.flatnonzero(volumes > 0.0)
        points = coarse.basis.doflocs.T[numbers]
        from scipy.spatial import cKDTree

        distance, nearest = cKDTree(inside.points).query(points)
        coarse_nodes = ZoneNodes(
            numbers, points, inside.depth[nearest], inside.slopes[nearest], distance, volumes[numbers]
        )
        extents = np.ptp(at[:, glued], axis=2).mean(axis=1) / _continuum(coarse).finite_element.order
        # v_c is the projection of the interpolant of the fine nodes' velocities
        moment = _moment(coarse, glued, projection_moment) + _moment(fine, near, interpolation_moment)
        centres = coarse.mesh.p[:, coarse.mesh.t[:, live]].mean(axis=1).T
        cloud = NodeCloud(points, numbers, int(coarse.basis.N), extents)
        s, state = coordinate.on_pieces(pieces)
        pieces = replace(pieces, dx=pieces.dx * (state == 1) * depth(coarse, pieces.points))
        return cls(coarse, fine, fine_nodes, coarse_nodes, pieces, 1.0 - s, cloud, centres, moment)

    @property
    def spacing(self) -> float:
        """Mean distance of neighbouring coarse nodes, m."""
        return float(np.mean(self.cloud.scale))

    def fine_gram(self, density: Array) -> csr_array:
        """∫ density φφ over the zone (n, n), for the fine nodes; density (p, q) at the points of the pieces.

        In 3D, where rules have negative weights, its mean over each piece is taken: the matrix stays semidefinite.
        """
        basis, pieces = self.fine.basis, self.pieces
        if (pieces.dx < 0.0).any():
            sizes = pieces.dx.sum(axis=1)
            mean = np.divide((density * pieces.dx).sum(axis=1), sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
            density = np.broadcast_to(np.clip(mean, 0.0, density.max())[:, None], density.shape)
        total, form = csr_array((int(basis.N), int(basis.N))), L2()
        indices = np.flatnonzero((pieces.dx != 0.0).any(axis=1))
        pieces, density = pieces.take(indices), density[indices]
        for chunk in chunks(basis.Nbfun, pieces):
            shapes = Shapes.at(basis, pieces.fine_cells[chunk], pieces.points[:, chunk])
            total += form.matrix(shapes, shapes, density[chunk] * pieces.dx[chunk], 1, None)
        numbers = self.fine_nodes.numbers
        return csr_array(total[numbers][:, numbers])


def _continuum(part: MeshedPart) -> Continuum:
    if not isinstance(part.model, Continuum):
        raise UserError.parameter("part of an absorbing junction", part, "must be a Bar or a Solid")
    return part.model


def _moment(part: MeshedPart, chosen: Indices, of: Callable[[CellArrays, Array], Array]) -> Array:
    """Moment (axis, axis) of the chosen cells of a first-order part; 0 for others, whose error is of higher order."""
    continuum = _continuum(part)
    cells, axes = continuum.cells, continuum.mesh.dim()
    if continuum.finite_element.order > 1:
        return np.zeros((axes, axes))
    selected = cells.take(chosen)
    return of(selected, continuum.positions[selected.nodes])


def _shares(part: MeshedPart, indices: Indices) -> Array:
    """Lumped volumes (c, n) of the nodes of the chosen cells, m³."""
    cells = _continuum(part).cells.take(indices)
    return element_lumped(cells, cells.dx, _continuum(part).finite_element.order)


def _nodes_in_zone(part: MeshedPart, near: Indices, s: Array) -> ZoneNodes:
    """Nodes of those cells `near` (c,) that extend into the zone, with s (c, n) at the nodes of the cells.

    Nodal values are means over these cells, ∇s that of the interpolation of s by the part's functions.
    """
    inside = (s.min(axis=1) < 1.0 - SAME) & (s.max(axis=1) > SAME)
    near, s = near[inside], s[inside]
    cells, count = _continuum(part).cells, int(part.basis.N)
    slope = np.einsum("cqin,cn->ci", cells.gradients[near], s) / cells.gradients.shape[1]
    shares, nodes = _shares(part, near), cells.nodes[near].ravel()

    def gathered(values: Array) -> Array:
        return np.asarray(np.bincount(nodes, weights=values.ravel(), minlength=count), dtype=float)

    volume = gathered(shares)
    numbers = np.flatnonzero(volume > 0.0)
    volume = volume[numbers]
    mean = gathered(shares * s)[numbers] / volume
    slopes = np.stack([gathered(shares * g[:, None])[numbers] / volume for g in slope.T], axis=1)
    points = part.basis.doflocs.T[numbers]
    return ZoneNodes(numbers, points, 1.0 - mean, slopes, np.zeros(numbers.size), volume)


@checked_call
@dataclass(frozen=True)
class Absorber:
    """Absorption of waves that the coarse mesh cannot resolve, by damping with the loss

        ∫ e(s) |∇s| r·Z r dx  over the gluing zone,   r = v_f − E v_c,   Z = ρ (c_p n⊗n + c_s (1 − n⊗n)),   n = ∇s/|∇s|,
        + Σ_n z(x_n) V_n (F v_c)_n·(Z/H) (F v_c)_n  over the coarse nodes in the zone and in six cells beyond it.

    Matched damping: let α be the fine part's weight. A fine wave that the coarse part does not follow obeys
    (αE u′)′ + ω²αρ u = iωη u. With η = ρc |α′| the undisturbed wave e^{−ikx} is a solution at every frequency, with an
    energy that decreases to zero at the end of the fine part: it is absorbed without reflection. With linear weights
    this is e = 1. E v_c is the cubic interpolation of the coarse nodal velocities (`NodeCloud`); the difference r of a
    wave of length Λ is of the order (H/Λ)⁴, so that resolved waves pass. F is a high-pass filter on the coarse nodes,
    the residual of a fit of degree 5: waves of 2 to 3 H, between those of the fine part alone and those that pass.

    e(s) and z(x) are a design: they minimise the largest reflection with a loss of at most 1e-4 above 8 H. In zones of
    six coarse cells, with a coarse part of mass="dispersion" and mediator="grid", at most 1e-3 of the energy of waves
    of 2.9 fine cells and more is reflected along the axis, 7e-6 above 10 H, and 1e-2 (P waves of 2 H: 0.03) at 30° and
    60°; see the case `reflection_spectrum`. In zones of four coarse cells 0.01 is reflected between 2 and 3 H. For a
    coarse part of consistent mass use multipliers on its mesh: 0.02 (zone of four cells: 0.03; with the grid 0.07).
    With reduced dispersion these multipliers reflect 0.15.

    strength: factor of the damping; 1 is the design. The damping is implicit in all schemes that support it by default,
    and does not change their stable step.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 1.0, cells=20), steel)
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.7, 1.2, cells=100), steel)
    >>> glue = aq.Junction(coarse, fine, absorbing=aq.Absorber(strength=1.0))
    >>> pulse = aq.System([coarse, fine], [glue], velocity=lambda x: abs(x[:, 0] - 1.15) < 0.02)  # m/s
    >>> result = aq.simulate(pulse, aq.Theta(0.5), duration=2e-4, step=5e-7)
    >>> float(result["energy"].sel(kind="absorbed")[-1]) > 0.0  # J
    True
    """

    strength: float = 1.0

    def __post_init__(self) -> None:
        positive("strength", self.strength)

    def form(self, zone: AbsorbingZone) -> AbsorbingForm:
        """D of both terms on the nodal velocities of the parts."""
        fine, nodes = zone.fine, zone.fine_nodes
        density = self.strength * np.interp(zone.depth, _DEPTH, _MATCHED)
        high_pass, filtered = self._high_pass(zone)
        return AbsorbingForm(
            interpolation=zone.cloud.interpolation(nodes.points, zone.centres, zone.moment),
            gram=zone.fine_gram(density),
            root=_impedance_roots(fine, nodes.slopes, np.linalg.norm(nodes.slopes, axis=1)),
            nodes=nodes.numbers,
            high_pass=high_pass,
            filtered=filtered,
            components=fine.components,
            fine_count=int(fine.basis.N),
        )

    def _high_pass(self, zone: AbsorbingZone) -> tuple[csr_array, csr_array]:
        """F and √(ζ V_n) at the nodes n of the coarse part in the zone and in the next six cells."""
        coarse, nodes, size = zone.coarse, zone.coarse_nodes, zone.spacing
        inside = (nodes.depth - 1.0) / np.linalg.norm(nodes.slopes, axis=1)
        distance = np.where(nodes.distance > SAME * size, nodes.distance, inside) / size
        z = np.interp(distance, _DISTANCE, _HIGH_PASS)
        if nodes.points.shape[1] == 3:
            z[distance > _TAIL - SAME] = 0.0
        chosen = np.flatnonzero(z * nodes.volumes > 0.0)
        zeta = self.strength * z[chosen] / size * nodes.volumes[chosen]
        return zone.cloud.high_pass(chosen), _impedance_roots(coarse, nodes.slopes[chosen], zeta)


def _impedance_roots(part: MeshedPart, along: Array, factor: Array) -> csr_array:
    """√factor √(ρ(c_p n⊗n + c_s (1 − n⊗n))) on the diagonal (r d, r d), of points with vectors along n (r, axis)."""
    pressure, shear = (np.sqrt(z) for z in wave_impedances(part))
    size, count = part.components, len(factor)
    n = along / np.linalg.norm(along, axis=1, keepdims=True)
    blocks = shear * np.eye(size) + (pressure - shear) * n[:, :size, None] * n[:, None, :size]
    blocks = blocks * np.sqrt(factor)[:, None, None]
    # without the zeros of vectors along an axis, which would make all products denser
    return without_zeros(bsr_array((blocks, np.arange(count), np.arange(count + 1)), shape=(count * size,) * 2))
