"""Junction of a beam and a solid that overlap along the beam's axis: zone, weights and constraint operator."""

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from arlequin.junctions.base import JunctionOperator, warn
from arlequin.junctions.coupling import scatter
from arlequin.junctions.weights import Linear, Weight
from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.element import BeamElements
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.fem.solid import Solid
from arlequin.models.part import LoadPieces, MeshedPart, Weighting
from arlequin.models.reduction.modal import Modal
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.overlap.clipping import Region
from arlequin.overlap.geometry import to_reference
from arlequin.overlap.joint import JointPieces, Shape, faces_on
from arlequin.overlap.quadrature import on_faces
from arlequin.overlap.slices import Slices, fit_weights, monomials, slice_cells

SAME = 1e-9  # ends nearer than this fraction of the parts' size are the same
SHORTEST = 0.3  # a mediator cell shorter than this fraction of its neighbour is merged with it


@dataclass(frozen=True)
class AxisZoneCoordinate:
    """Zone along the beam's axis from `start`, the solid's inner end, to `end`, the beam's end (arc lengths, m)."""

    start: float
    end: float

    @property
    def length(self) -> float:
        """Length of the zone, m."""
        return abs(self.end - self.start)

    def coordinate(self, arc: Array) -> Array:
        """s at arc lengths (…), unbounded: 0 at `start`, 1 at `end`."""
        return (arc - self.start) / (self.end - self.start)

    def fine(self, weight: Weight, arc: Array) -> Array:
        """Weight (…) of the solid at arc lengths (…): 0 before the zone, 1 behind it."""
        s = self.coordinate(arc)
        return np.where(s < 0, 0.0, np.where(s > 1, 1.0, weight.fine(np.clip(s, 0.0, 1.0))))


@dataclass(frozen=True, eq=False)
class BeamZone:
    """Overlap of a beam and a solid along the beam's axis, by arc length s, m; label: of the junction, for messages."""

    beam: Beam
    solid: Solid
    label: str

    @cached_property
    def zone_coordinate(self) -> AxisZoneCoordinate:
        """The zone on the arc length s: from the solid's inner end to the beam's."""
        low_b, high_b = float(self.nodes[0]), float(self.nodes[-1])
        low_s, high_s = float(self.corners.min()), float(self.corners.max())
        near = SAME * max(high_b - low_b, high_s - low_s)
        ranges = (
            f"'{self.beam.name}' takes [{low_b:.6g}, {high_b:.6g}] and '{self.solid.name}' [{low_s:.6g}, {high_s:.6g}]"
            " of the beam's axis"
        )
        if min(high_b, high_s) - max(low_b, low_s) <= near:
            raise UserError(f"{self.label}: {ranges}: they do not overlap")
        after, before = low_s - low_b > near and high_s - high_b > near, low_b - low_s > near and high_b - high_s > near
        if not (after or before):
            raise UserError(f"{self.label}: {ranges}: each must reach beyond the other at one end")
        zone_coordinate = AxisZoneCoordinate(low_s, high_b) if after else AxisZoneCoordinate(high_s, low_b)
        cell = float(np.diff(self.nodes)[-1 if after else 0])
        if zone_coordinate.length < cell * (1 - SAME):
            raise UserError(
                f"{self.label}: {ranges}: they overlap over {zone_coordinate.length:.6g} m, "
                f"less than one cell of '{self.beam.name}' ({cell:.6g} m)"
            )
        return zone_coordinate

    @cached_property
    def slices(self) -> Slices:
        """Pieces of the solid's cells that touch the zone, cut at the beam's nodes and at the ends of the zone."""
        low, high = self.range
        overlapping = np.flatnonzero((self.corners.max(axis=0) > low) & (self.corners.min(axis=0) < high))
        inside = self.nodes[(self.nodes >= low) & (self.nodes <= high)]
        planes = np.unique(np.concatenate((inside, self.grid)))
        tangent, shift = self.axis
        degree = max(6, 3 + self.solid.basis.elem.maxdeg)  # cubic beam functions on both sides, or on one
        return slice_cells(self.solid.basis, overlapping.astype(np.int64), tangent, planes + shift, degree)

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest arc length."""
        low, high = sorted((self.zone_coordinate.start, self.zone_coordinate.end))
        return low, high

    @cached_property
    def axis(self) -> tuple[Array, float]:
        """Tangent t and the offset of x·t from the arc length, m."""
        tangent = self.beam.frame[0, : self.beam.dimension]
        return tangent, float(tangent @ self.beam.place(np.zeros(())))

    @cached_property
    def nodes(self) -> Array:
        """Arc lengths of the beam's nodes in increasing order, m."""
        return np.sort(self.beam.basis.doflocs[0])

    @cached_property
    def starts(self) -> Array:
        """Arc length at which each of the beam's cells begins, m."""
        return self.beam.basis.doflocs[0][self.beam.nodes[:, 0]]

    @cached_property
    def corners(self) -> Array:
        """Arc lengths (vertex, c) of the corners of the solid's cells."""
        return self.beam.arc_length(self.solid.mesh.p)[self.solid.mesh.t]

    @cached_property
    def grid(self) -> Array:
        """Nodes of the mediator: the zone's ends and the beam's nodes between, without a short first cell."""
        low, high = self.range
        near = SAME * (high - low)
        inner = self.nodes[(self.nodes > low + near) & (self.nodes < high - near)]
        grid = np.concatenate(([low], inner, [high]))
        cells = np.diff(grid)
        at_low = self.zone_coordinate.start < self.zone_coordinate.end  # the end that may cut a cell of the beam
        if cells.size > 1 and (cells[0] < SHORTEST * cells[1] if at_low else cells[-1] < SHORTEST * cells[-2]):
            grid = np.delete(grid, 1 if at_low else -2)
        return grid

    @cached_property
    def inside(self) -> Slices:
        """The pieces in the zone."""
        s = self.beam.arc_length(self.slices.points).mean(axis=1)
        low, high = self.range
        return self.slices[(s > low) & (s < high)]

    @cached_property
    def cut(self) -> Indices:
        """Cells of the solid cut by the end of the zone."""
        low, high, end = self.corners.min(axis=0), self.corners.max(axis=0), self.zone_coordinate.end
        near = SAME * (high - low)
        return np.flatnonzero((low < end - near) & (high > end + near))

    def alpha(self, weights: Weight, s: Array) -> Array:
        """The solid's weight α at arc lengths s."""
        alpha = self.zone_coordinate.fine(weights, s)
        if not (np.isfinite(alpha).all() and alpha.min() >= 0 and alpha.max() <= 1):
            raise UserError(f"{self.label}: weights must lie between 0 and 1")
        return alpha

    def beam_weights(self, weights: Weight) -> Array:
        """1 − α (c, q) on the beam."""
        beam, start = self.beam, self.zone_coordinate.start
        s = np.asarray(beam.basis.global_coordinates())[0]
        values = 1 - self.alpha(weights, s)
        lengths, first = beam.elements.lengths, self.starts
        cut = np.flatnonzero((start > first + SAME * lengths) & (start < first + (1 - SAME) * lengths))
        if cut.size == 0:
            return values
        xi, rule = beam.basis.X, beam.basis.W
        share = (start - first[cut[0]]) / lengths[cut[0]]
        reference = np.concatenate((share * xi[0], share + (1 - share) * xi[0]))
        w = np.concatenate((share * rule, (1 - share) * rule))
        alpha = self.alpha(weights, first[cut[0]] + lengths[cut[0]] * reference)
        moments = monomials(reference[None], 2) @ (w * lengths[cut[0]] * (1 - alpha))
        at_points = (s[cut] - first[cut][:, None]) / lengths[cut][:, None]
        polynomials = monomials(at_points, 2)
        values[cut] = fit_weights(values[cut], beam.basis.dx[cut], polynomials, moments[None])
        return values

    def solid_weights(self, weights: Weight) -> Array:
        """α (c, q) on the solid."""
        solid = self.solid
        order = 1 if solid.order is None else solid.order
        values = self.alpha(weights, self.beam.arc_length(solid.quadrature_points()))
        cut = self.cut
        if cut.size == 0:
            return values
        rank = np.full(solid.mesh.nelements, -1)
        rank[cut] = np.arange(cut.size)
        pieces = self.slices[rank[self.slices.cells] >= 0]
        # quadrature points may lie on faces: the side of a jump is decided per piece
        t = self.zone_coordinate.coordinate(self.beam.arc_length(pieces.points))
        behind_zone = t.mean(axis=1, keepdims=True) > 1
        alpha = np.where(behind_zone, 1.0, weights.fine(np.clip(t, 0.0, 1.0)))
        polynomials = monomials(solid.basis.X, order)
        moments = np.zeros((cut.size, polynomials.shape[0]))
        local = np.einsum("mpq,pq->pm", monomials(pieces.X, order), alpha * pieces.dx)
        np.add.at(moments, rank[pieces.cells], local)
        values[cut] = fit_weights(values[cut], solid.basis.dx[cut], polynomials, moments)
        return values


@dataclass(frozen=True, eq=False)
class SolidLoads:
    """Tractions on the solid in cells cut by the end of the zone, a `SharedLoad`: integrated on pieces of the facets.

    Body forces need no pieces: the weights in these cells have the moments of α (`BeamZone.solid_weights`).
    """

    zone: BeamZone
    weights: Weight

    def in_cells(self) -> LoadPieces:
        """No pieces."""
        return LoadPieces.none(self.zone.solid.mesh.dim())

    def on_facets(self, facets: Indices) -> LoadPieces:
        """(α − 1) dx on the facets (f,) of cells cut by the end of the zone."""
        zone, solid = self.zone, self.zone.solid
        facets = np.asarray(facets)[np.isin(solid.mesh.f2t[0, facets], zone.cut)]
        if not facets.size:
            return self.in_cells()
        tangent, shift = zone.axis
        end = zone.zone_coordinate.end + shift
        halves = Region(tangent[None], np.array([end])), Region(-tangent[None], np.array([-end]))
        shape = Shape(solid.mesh)
        pieces = JointPieces.of("solid", shape, np.unique(solid.mesh.f2t[0, facets])).divided("zone", halves)
        place, facet_pieces, faces = faces_on(pieces, "solid", shape, facets)
        points, dx = on_faces(faces, 2 + self.weights.degree)
        s = zone.beam.arc_length(points)
        behind_zone = (facet_pieces.regions["zone"] == 0) == (zone.zone_coordinate.end > zone.zone_coordinate.start)
        alpha = np.where(behind_zone[:, None], 1.0, zone.alpha(self.weights, s))
        cells = solid.mesh.f2t[0, facets[place]]
        X = to_reference(solid.mesh, cells, points)[0]
        return LoadPieces(cells, X, points, (alpha - 1) * dx * solid.depth)

    def smooth(self, points: Array, cells: Indices) -> Array:
        """α (f, q) at points (axis, f, q) on facets of the cells (f,) where it is smooth; 1 on facets with pieces."""
        alpha = self.zone.alpha(self.weights, self.zone.beam.arc_length(points))
        return np.where(np.isin(cells, self.zone.cut)[:, None], 1.0, alpha)


SECTION_TOLERANCE = 1e-2  # relative differences of area and centroid above which a warning is given
_PIECES = 4_000_000  # entries of the beam's field at quadrature points per chunk


@checked_call
@dataclass(frozen=True, eq=False)
class BeamJunction:
    """Junction of a beam and a solid, plane or in space, over their common range of the beam's axis.

    The field U(s) + θ(s) × r of the beam equals the solid's displacement in the mean:

        ∫_zone (φ_U + φ_θ × r)·(U + θ × r − u_solid) dΩ = 0   for all φ_U, φ_θ of the mediator,

    with r the offset from the axis, over the solid's volume: section means of displacement and rotation agree,
    while the section is free to warp and to contract. mediator: "linear" (φ_U and φ_θ linear between the zone's
    beam nodes), or "beam" (the beam's interdependent functions, which tie forces φ_U to moments φ_θ). Rigid
    motions satisfy it exactly. Weights as in `Junction`, with s along the axis from the solid's inner end to the
    beam's. The axis may have any direction. Either may be a `Modal` of such a part.

    The solid's section should be the beam's, with the axis through its centroid. In plane strain give the beam the
    modulus E/(1 − ν²).

    >>> import arlequin as aq
    >>> steel, section = aq.LinearElastic(young=2e11, density=7800), aq.Section.rectangle(height=0.02, width=1.0)
    >>> clamped, pull = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, {"right": lambda x, t: (1e8 * t, 0.0)}  # m, Pa
    >>> beam = aq.Beam("beam", aq.mesh.interval(0.0, 0.06, cells=6), steel, section, dimension=2, imposed=clamped)
    >>> mesh = aq.mesh.rectangle((0.04, 0.1), (-0.01, 0.01), cells=(12, 4))
    >>> solid = aq.Solid("solid", mesh, steel, plane="stress", tractions=pull)
    >>> result = aq.simulate(aq.System([beam, solid], [aq.BeamJunction(beam, solid)]), aq.Static(), duration=1, step=1)
    >>> round(float(result["part/solid"]["displacement"][-1, :, 0].max()), 12)  # σL/E of 0.1 m, m
    5e-05

    Source: Ben Dhia & Rateau, IJNME 62, 2005; mean rotations after Cowper, Journal of Applied Mechanics 33, 1966.
    """

    beam: Beam | Modal
    solid: Solid | Modal
    weights: Weight = field(default_factory=Linear)
    name: str = "junction"
    mediator: Literal["linear", "beam"] = "linear"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        checks.one_of("mediator", self.mediator, ("linear", "beam"))
        if not isinstance(self.beam, Beam | Modal) or not isinstance(self.beam.model, Beam):
            raise UserTypeError.parameter(
                "beam", self.beam, f"of junction '{self.name}' must be a Beam, or a Modal of one"
            )
        solid = self.solid
        if not isinstance(solid, Solid | Modal) or not isinstance(solid.model, Solid) or solid.model.axisymmetric:
            rule = f"of junction '{self.name}' must be a Solid, or a Modal of one, not of revolution"
            raise UserError.parameter("solid", solid, rule)
        if self.beam.name == self.solid.name:
            raise UserError(f"junction '{self.name}': two parts named '{self.solid.name}'")
        if self._beam.dimension != self.solid.mesh.dim():
            raise UserError(
                f"junction '{self.name}': '{self.beam.name}' is a beam in {self._beam.dimension}D, "
                f"'{self.solid.name}' a solid in {self.solid.mesh.dim()}D: both must have the same dimension"
            )
        self._check_section()

    @cached_property
    def zone(self) -> BeamZone:
        """The zone of the overlap."""
        return BeamZone(self._beam, self._solid, f"junction '{self.name}'")

    @property
    def _beam(self) -> Beam:
        """The beam model behind the part."""
        model = self.beam.model
        assert isinstance(model, Beam)
        return model

    @property
    def _solid(self) -> Solid:
        """The solid model behind the part."""
        model = self.solid.model
        assert isinstance(model, Solid)
        return model

    @property
    def coarse(self) -> MeshedPart:
        """The beam."""
        return self.beam

    @property
    def fine(self) -> MeshedPart:
        """The solid."""
        return self.solid

    def weighting(self) -> dict[str, Weighting]:
        """Weights of both parts, by name, at their quadrature points: α and 1 − α in the zone, 1 outside.

        Exact in the mean over cells that an end of the zone cuts (`fit_weights`).
        """
        beam, solid = self.zone.beam_weights(self.weights), self.zone.solid_weights(self.weights)
        loads = SolidLoads(self.zone, self.weights)
        shared = Weighting(solid, solid, solid, facets=(loads.smooth,), shared=(loads,))
        return {self.beam.name: Weighting(beam, beam, beam), self.solid.name: shared}

    def carrying(self, beam: Beam | Modal, solid: Solid | Modal) -> "BeamJunction":
        """Copy of the junction, operator included, for parts that differ in their loads only; UserError otherwise."""
        self.operator()  # cached before the copy
        other = copy(self)
        object.__setattr__(other, "beam", beam)
        object.__setattr__(other, "solid", solid)
        new, old = other._beam, self._beam
        same = beam.name == self.beam.name and solid.name == self.solid.name and other._solid.mesh is self._solid.mesh
        same = (
            same and other._solid.thickness == self._solid.thickness and other._solid.dof_count == self._solid.dof_count
        )
        same = same and new.components == old.components
        fields = ("lengths", "phi", "rotation")
        same = same and all(np.array_equal(getattr(new.elements, key), getattr(old.elements, key)) for key in fields)
        if not (same and np.array_equal(new.positions, old.positions) and np.array_equal(new.nodes, old.nodes)):
            raise UserError(f"junction '{self.name}': the parts differ in more than their loads: make another junction")
        return other

    def absorbing_form(self) -> None:
        """None: no absorbing term."""

    def operator(self) -> JunctionOperator:
        """C of both parts and the Gram matrix of the mediator."""
        return self._operator

    @cached_property
    def _operator(self) -> JunctionOperator:
        zone, beam, solid = self.zone, self._beam, self._solid
        grid = zone.grid
        size, axes = beam.components, beam.dimension
        pieces = zone.inside
        per_piece = pieces.dx.shape[1] * 2 * size * axes
        blocks: dict[str, list[csr_array]] = {"gram": [], "coarse": [], "fine": []}
        for indices in np.array_split(np.arange(pieces.count), 1 + pieces.count * per_piece // _PIECES):
            chunk = pieces[indices]
            s = beam.arc_length(chunk.points)
            dx = chunk.dx * solid.depth
            cells = _cells_of(grid, s)
            test = self._field(self._mediator(cells, s), chunk.points, s)
            rows = _dofs(np.stack((cells, cells + 1), axis=1), size)
            element = np.argsort(zone.starts)[_cells_of(zone.nodes, s)]
            xi = (s - zone.starts[element][:, None]) / beam.elements.lengths[element][:, None]
            trial = self._field(beam.elements.interpolation(element, xi), chunk.points, s)
            weighted = test * dx[:, :, None, None]
            m, d = grid.size * size, beam.dof_count
            blocks["gram"].append(scatter(rows[:, :, None], rows[:, None, :], _product(weighted, test), (m, m)))
            columns = _dofs(beam.nodes[element], size)
            blocks["coarse"].append(scatter(rows[:, :, None], columns[:, None, :], _product(weighted, trial), (m, d)))
            shapes = np.stack([np.broadcast_to(f, s.shape) for f in self._shapes(chunk)], axis=-1)
            local = np.einsum("pqim,pqn->pmni", weighted, shapes, optimize=True)
            columns = _dofs(solid.basis.element_dofs[:, chunk.cells].T.astype(np.int64), axes)
            local = local.reshape(*local.shape[:2], -1)
            blocks["fine"].append(scatter(rows[:, :, None], columns[:, None, :], local, (m, solid.dof_count)))
        gram, coarse, fine = (csr_array(sum(blocks[key])) for key in blocks)
        gram = csr_array(0.5 * (gram + gram.T))
        return JunctionOperator(coarse, csr_array(-fine), gram, size, np.ascontiguousarray(beam.place(grid).T))

    # fields

    def _mediator(self, cells: Indices, s: Array) -> Array:
        """Mediator functions (p, q, component, d) at the arc lengths s (p, q) in its cells (p,)."""
        lengths = np.diff(self.zone.grid)
        xi = (s - self.zone.grid[cells][:, None]) / lengths[cells][:, None]
        size = self._beam.components
        if self.mediator == "linear":
            return np.concatenate([shape[:, :, None, None] * np.eye(size) for shape in (1 - xi, xi)], axis=-1)
        elements = self._beam.elements
        phi = elements.phi[:, :1] * (elements.lengths[0] / lengths) ** 2
        return BeamElements(lengths, phi, elements.rotation).interpolation(cells, xi)

    def _field(self, functions: Array, points: Array, s: Array) -> Array:
        """U + θ × r (p, q, axis, d) from displacements and rotations (p, q, component, d) at points."""
        axes = self._beam.dimension
        r = points - self._beam.place(s)
        total = functions[:, :, :axes].copy()
        if axes == 2:
            rotation = functions[:, :, 2]
            total[:, :, 0] -= r[1][:, :, None] * rotation
            total[:, :, 1] += r[0][:, :, None] * rotation
            return total
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            total[:, :, i] += functions[:, :, 3 + j] * r[k][:, :, None] - functions[:, :, 3 + k] * r[j][:, :, None]
        return total

    def _shapes(self, pieces: Slices) -> list[Array]:
        """Scalar shape functions of the solid (p, q) at the pieces' points."""
        element = self.solid.basis.elem
        return [element.lbasis(pieces.X, n)[0] for n in range(self.solid.basis.Nbfun)]

    def _check_section(self) -> None:
        """The axis must run inside the solid; area and centroid of the solid's section should be the beam's."""
        pieces = self.zone.inside
        s = self._beam.arc_length(pieces.points)
        r = pieces.points - self._beam.place(s)
        size = float(np.sqrt((r**2).sum(axis=0)).max())
        dx = pieces.dx * self._solid.depth
        centroid = np.einsum("ipq,pq->i", r, dx) / dx.sum()
        off = float(np.linalg.norm(centroid))
        if off > size / 2:
            raise UserError(
                f"junction '{self.name}': the axis of '{self.beam.name}' runs {off:.6g} m off the centroid of "
                f"'{self.solid.name}', beside it"
            )
        area = float(dx.sum()) / self.zone.zone_coordinate.length
        text = f"junction '{self.name}': "
        if abs(area - self._beam.section.area) > SECTION_TOLERANCE * self._beam.section.area:
            text += f"the solid's section is {area:.6g} m2, the beam's {self._beam.section.area:.6g} m2"
            warn(text)
        elif off > SECTION_TOLERANCE * size:
            text += f"the beam's axis lies {off:.6g} m off the centroid of the solid's section"
            warn(text)


def _cells_of(grid: Array, s: Array) -> Indices:
    """Cell (p,) of an increasing grid in which each piece lies, from its points s (p, q)."""
    return np.clip(np.searchsorted(grid, s.mean(axis=1)) - 1, 0, grid.size - 2)


def _dofs(nodes: Indices, components: int) -> Indices:
    """Dofs (p, node × component) of nodes (p, node)."""
    return (nodes[:, :, None] * components + np.arange(components)).reshape(nodes.shape[0], -1)


def _product(test: Array, trial: Array) -> Array:
    """Local integrals (p, m, d) of weighted test (p, q, axis, m) · trial (p, q, axis, d)."""
    first, second = (a.reshape(a.shape[0], -1, a.shape[3]) for a in (test, trial))
    return np.swapaxes(first, 1, 2) @ second
