"""Junction of a beam and a solid: the beam's displacement field glued to the solid over a volume."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import coo_array, csr_array

from arlequin.beam_zone import BeamZone
from arlequin.junction import JunctionOperator
from arlequin.slices import Slices
from arlequin.weights import Linear, Weight
from models import checks
from models.beam import Beam
from models.beam_element import BeamElements
from models.errors import UserError
from models.modal import Modal
from models.part import MeshedPart, Weighting
from models.solid import Solid
from models.types import Array, Indices

OFF = 1e-2  # relative differences of area and centroid above which a warning is given
_PIECES = 4_000_000  # entries of the beam's field at the quadrature points held at once


@dataclass(frozen=True, eq=False)
class BeamJunction:
    """Glue of a beam and a solid, plane or in space, over the range of the beam's axis that both take.

    The field U(s) + θ(s) × r of the beam equals the solid's displacement in the mean:

        ∫_zone (φ_U + φ_θ × r)·(U + θ × r − u_solid) dΩ = 0   for all φ_U, φ_θ of the mediator,

    with r the offset from the axis, over the solid's volume: section means of displacement and rotation agree,
    while the section is free to warp and to contract. mediator: "linear" (φ_U and φ_θ linear between the zone's
    beam nodes), or "beam" (the beam's interdependent functions, which tie forces φ_U to moments φ_θ). Rigid
    motions satisfy it exactly. Weights as in `Junction`, tapered along the axis from the solid's inner end to the
    beam's. The axis may have any direction. Either may be a `Modal` of such a part.

    The solid's section should be the beam's, with the axis through its centroid. In plane strain give the beam the
    modulus E/(1 − ν²).
    Source: Ben Dhia & Rateau, IJNME 62, 2005; mean rotations after Cowper, Journal of Applied Mechanics 33, 1966.
    """

    beam: Beam | Modal
    solid: Solid | Modal
    weights: Weight = field(default_factory=Linear)
    name: str = "junction"
    mediator: Literal["linear", "beam"] = "linear"

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        checks.one_of("mediator", self.mediator, ("linear", "beam"))
        if not isinstance(self.beam, Beam | Modal) or not isinstance(self.beam.model, Beam):
            raise UserError.parameter("beam", self.beam, f"of junction '{self.name}' must be a Beam, or a Modal of one")
        given = self.solid
        if not isinstance(given, Solid | Modal) or not isinstance(given.model, Solid) or given.model.axisymmetric:
            rule = f"of junction '{self.name}' must be a Solid, or a Modal of one, not of revolution"
            raise UserError.parameter("solid", given, rule)
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
        """Where both overlap."""
        return BeamZone(self._beam, self._solid, f"junction '{self.name}'")

    @property
    def _beam(self) -> Beam:
        """Its finite elements."""
        model = self.beam.model
        assert isinstance(model, Beam)
        return model

    @property
    def _solid(self) -> Solid:
        """Its finite elements."""
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
        return {self.beam.name: Weighting(beam, beam, beam), self.solid.name: Weighting(solid, solid, solid)}

    def jump(self) -> None:
        """No absorbing term: a beam's field is all that its mediator sees."""

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
        for chosen in np.array_split(np.arange(pieces.count), 1 + pieces.count * per_piece // _PIECES):
            some = pieces[chosen]
            s = beam.arc_length(some.points)
            dx = some.dx * solid.depth
            own = _cells_of(grid, s)
            test = self._field(self._mediator(own, s), some.points, s)
            rows = _dofs(np.stack((own, own + 1), axis=1), size)
            element = np.argsort(zone.starts)[_cells_of(zone.nodes, s)]
            xi = (s - zone.starts[element][:, None]) / beam.elements.lengths[element][:, None]
            trial = self._field(beam.elements.interpolation(element, xi), some.points, s)
            weighted = test * dx[:, :, None, None]
            m, d = grid.size * size, beam.dof_count
            blocks["gram"].append(_scatter(rows, rows, _product(weighted, test), (m, m)))
            columns = _dofs(beam.nodes[element], size)
            blocks["coarse"].append(_scatter(rows, columns, _product(weighted, trial), (m, d)))
            shapes = np.stack([np.broadcast_to(f, s.shape) for f in self._shapes(some)], axis=-1)
            local = np.einsum("pqim,pqn->pmni", weighted, shapes, optimize=True)
            columns = _dofs(solid.basis.element_dofs[:, some.cells].T.astype(np.int64), axes)
            local = local.reshape(*local.shape[:2], -1)
            blocks["fine"].append(_scatter(rows, columns, local, (m, solid.dof_count)))
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
        own = self._beam.elements
        phi = own.phi[:, :1] * (own.lengths[0] / lengths) ** 2
        return BeamElements(lengths, phi, own.rotation).interpolation(cells, xi)

    def _field(self, functions: Array, points: Array, s: Array) -> Array:
        """U + θ × r (p, q, axis, d) from displacements and rotations (p, q, component, d) at points."""
        axes = self._beam.dimension
        r = points - self._beam.place(s)
        total = functions[:, :, :axes].copy()
        if axes == 2:
            turn = functions[:, :, 2]
            total[:, :, 0] -= r[1][:, :, None] * turn
            total[:, :, 1] += r[0][:, :, None] * turn
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
        area = float(dx.sum()) / self.zone.taper.length
        text = f"junction '{self.name}': "
        if abs(area - self._beam.section.area) > OFF * self._beam.section.area:
            text += f"the solid's section is {area:.6g} m2, the beam's {self._beam.section.area:.6g} m2"
            warnings.warn(text, UserWarning, stacklevel=4)
        elif off > OFF * size:
            text += f"the beam's axis lies {off:.6g} m off the centroid of the solid's section"
            warnings.warn(text, UserWarning, stacklevel=4)


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


def _scatter(rows: Indices, columns: Indices, local: Array, shape: tuple[int, int]) -> csr_array:
    """Sparse sum of local matrices (p, m, d)."""
    i, j = np.broadcast_arrays(rows[:, :, None], columns[:, None, :])
    return csr_array(coo_array((local.ravel(), (i.ravel(), j.ravel())), shape=shape))
