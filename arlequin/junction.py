"""Junction: two parts superposed over a zone, their weights and the operator that glues them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron
from scipy.sparse.linalg import splu

from arlequin.coupling import L2, Coupling, Shapes
from arlequin.mediator import Mediator
from arlequin.overlap import Overlap, intersect
from arlequin.weights import Linear, Taper, Weight, cell_weights
from models import checks
from models.bar import Bar
from models.continuum import Continuum
from models.errors import UserError
from models.part import Part, Weighting
from models.solid import Solid

Array = NDArray[np.float64]

# ends nearer than this fraction of the parts' size are the same
SAME = 1e-9


@dataclass(frozen=True)
class JunctionOperator:
    """The constraint C v = coarse @ v_coarse + fine @ v_fine = 0 of a junction (the sign is in `fine`).

    coarse (m, d_coarse), fine (m, d_fine): c(ψ_m, φ_d); gram (m, m): c(ψ_m, ψ_m'), symmetric positive
    definite; components: m = mediator function × components, function-major; positions (function, axis):
    their nodes, m.
    """

    coarse: csr_array
    fine: csr_array
    gram: csr_array
    components: int
    positions: Array

    def mismatch(self, v_coarse: Array, v_fine: Array) -> float:
        """Norm of v_coarse − v_fine seen by the mediator: √(rᵀ G⁻¹ r) with r = C v."""
        r = self.coarse @ v_coarse + self.fine @ v_fine
        return float(np.sqrt(max(r @ splu(self.gram.tocsc()).solve(r), 0.0)))


def dual_condition(operator: JunctionOperator, mass_coarse: csr_array, mass_fine: csr_array) -> float:
    """Condition number of the dual operator G⁻¹ C M⁻¹ Cᵀ, M the weighted masses (dense: small junctions)."""
    from scipy.linalg import eigh

    schur = np.zeros(operator.gram.shape)
    for block, mass in ((operator.coarse, mass_coarse), (operator.fine, mass_fine)):
        schur += block @ splu(mass.tocsc()).solve(block.T.toarray())
    values = eigh(0.5 * (schur + schur.T), operator.gram.toarray(), eigvals_only=True)
    return float(values[-1] / values[0]) if values[0] > 0 else float("inf")


@dataclass(frozen=True, eq=False)
class Junction:
    """Glue of two parts over the whole overlap of their meshes, tapered along the axis on which they follow.

    coarse, fine: the parts; their names must differ. weights: `Linear()`, `Cubic()` or `Constant(value)`, the
    same on stiffness, mass and load. coupling: `L2()` or `H1(length)`. mediator: whose trace the multipliers
    are.
    Source: Ben Dhia 1998; Ben Dhia & Rateau, IJNME 62, 2005.
    """

    coarse: Part
    fine: Part
    weights: Weight = field(default_factory=Linear)
    coupling: Coupling = field(default_factory=L2)
    mediator: Literal["coarse", "fine"] = "coarse"
    name: str = "junction"

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        checks.one_of("mediator", self.mediator, ("coarse", "fine"))
        if self.coarse.name == self.fine.name:
            raise UserError(f"junction '{self.name}': two parts named '{self.fine.name}'")
        self._check_kinds()
        self._check_thickness()

    @cached_property
    def taper(self) -> Taper:
        """The zone: its axis, the fine part's inner end and the coarse part's inner end."""
        low_c, high_c = _extent(self.coarse)
        low_f, high_f = _extent(self.fine)
        near = SAME * max(np.max(high_c - low_c), np.max(high_f - low_f))
        if np.any(np.minimum(high_c, high_f) - np.maximum(low_c, low_f) <= near):
            raise UserError(f"junction '{self.name}': {self._extents()} do not overlap")
        after = (low_f - low_c > near) & (high_f - high_c > near)
        before = (low_c - low_f > near) & (high_c - high_f > near)
        axes = np.flatnonzero(after | before)
        if axes.size != 1:
            raise UserError(
                f"junction '{self.name}': {self._extents()}: the parts must follow each other along "
                "exactly one axis, each reaching beyond the other at one end"
            )
        axis = int(axes[0])
        if after[axis]:
            return Taper(axis, float(low_f[axis]), float(high_c[axis]))
        return Taper(axis, float(high_f[axis]), float(low_c[axis]))

    @cached_property
    def overlap(self) -> Overlap:
        """The pieces, with a quadrature exact for products of shape functions on affine cells."""
        degrees = {"coarse": self.coarse.basis.elem.maxdeg, "fine": self.fine.basis.elem.maxdeg}
        order = degrees[self.mediator] + max(degrees.values()) + (1 if _revolves(self.coarse) else 0)
        pieces = intersect(self.coarse.mesh, self.fine.mesh, order)
        if pieces.dx.size == 0:
            raise UserError(f"junction '{self.name}': {self._extents()} do not overlap")
        return pieces

    def weighting(self) -> dict[str, Weighting]:
        """Weights of both parts, by name, at their quadrature points: α and 1 − α in the overlap, 1 outside.

        Where an end of one part cuts a cell of the other the weights are exact in the mean over it
        (`cell_weights`), so that both parts together weigh as much as their union.
        """
        taper, weights, pieces = self.taper, self.weights, self.overlap
        dx = pieces.dx * _depth(self.coarse, pieces.points)
        alpha = taper.fine(weights, pieces.points)
        if not (np.isfinite(alpha).all() and alpha.min() >= 0 and alpha.max() <= 1):
            raise UserError(f"junction '{self.name}': weights must lie between 0 and 1")
        shared = {
            self.coarse.name: (self.coarse, pieces.coarse_cells, 1 - alpha),
            self.fine.name: (self.fine, pieces.fine_cells, alpha),
        }
        result, total, union = {}, 0.0, -dx.sum()
        for name, (part, cells, at_pieces) in shared.items():
            points = part.quadrature_points()
            at_points = taper.fine(weights, points)
            at_points = at_points if part is self.fine else 1 - at_points
            cell_dx = part.basis.dx * _depth(part, points)
            values = cell_weights(part.basis, cell_dx, cells, pieces.points, dx, at_pieces, at_points)
            result[name] = Weighting(stiffness=values, mass=values, load=values)
            total += float((values * cell_dx).sum())
            union += float(cell_dx.sum())
        # Gauss rules are exact for linear weights; smooth ones are integrated to a small fraction of the zone
        if abs(total - union) > 1e-2 * dx.sum():
            raise UserError(f"junction '{self.name}': the weights of both parts do not sum to one", code=1)
        return result

    def operator(self) -> JunctionOperator:
        """C of both parts and the Gram matrix of the mediator, exact on affine cells."""
        pieces, components = self.overlap, self.coarse.components
        shapes = {
            "coarse": Shapes.at(self.coarse.basis, pieces.coarse_cells, pieces.points),
            "fine": Shapes.at(self.fine.basis, pieces.fine_cells, pieces.points),
        }
        test = shapes[self.mediator]
        basis = self.coarse.basis if self.mediator == "coarse" else self.fine.basis
        mediator = Mediator.trace(basis, test, pieces.dx)
        select = kron(mediator.selection, eye_array(components), format="csr")
        dx = pieces.dx * _depth(self.coarse, pieces.points)
        radius = pieces.points[0] if _revolves(self.coarse) else None
        blocks = {
            side: csr_array(select @ self.coupling.matrix(test, trial, dx, components, radius))
            for side, trial in shapes.items()
        }
        gram = csr_array(blocks[self.mediator] @ select.T)
        return JunctionOperator(blocks["coarse"], csr_array(-blocks["fine"]), gram, components, mediator.positions)

    def _extents(self) -> str:
        """Both parts with their extents, for messages."""
        texts = []
        for part in (self.coarse, self.fine):
            ranges = " × ".join(f"[{low:.6g}, {high:.6g}]" for low, high in zip(*_extent(part), strict=True))
            texts.append(f"'{part.name}' {ranges}")
        return " and ".join(texts)

    def _check_thickness(self) -> None:
        """A zone thinner than one coarse cell would leave the mediator without a whole cell."""
        taper = self.taper
        along = self.coarse.mesh.p[taper.axis][self.coarse.mesh.t]
        low, high = sorted((taper.start, taper.end))
        inside = (along.max(axis=0) > low) & (along.min(axis=0) < high)
        cell = float(np.ptp(along[:, inside], axis=0).min())
        if taper.length < cell * (1 - SAME):
            raise UserError(
                f"junction '{self.name}': {self._extents()} overlap over {taper.length:.6g} m, "
                f"less than one cell of '{self.coarse.name}' ({cell:.6g} m)"
            )

    def _check_kinds(self) -> None:
        """Both parts must be of one dimension, one kind of problem and one depth."""
        first, second = _kind(self.coarse), _kind(self.fine)
        for what, given, other in zip(("kind", "thickness or section"), first, second, strict=True):
            if given != other:
                raise UserError(
                    f"junction '{self.name}': {what} of '{self.coarse.name}' is {given}, "
                    f"of '{self.fine.name}' {other}: both parts must agree"
                )
        if self.coarse.mesh.dim() > 2:
            raise UserError(f"junction '{self.name}': parts must be of dimension 1 or 2")


def _kind(part: Part) -> tuple[str, float]:
    """Kind of problem that a part solves, and its thickness (m) or section (m²)."""
    if isinstance(part, Bar):
        return "bar", part.depth
    if isinstance(part, Solid):
        return f"plane {part.plane}" if part.plane in ("strain", "stress") else str(part.plane or "solid"), part.depth
    raise UserError.parameter("part of a junction", part, "must be a Bar or a Solid")


def _revolves(part: Part) -> bool:
    """Whether the part is a body of revolution (x is the radius)."""
    return isinstance(part, Continuum) and part.axisymmetric


def _depth(part: Part, points: Array) -> Array | float:
    """What turns a length or an area into a volume at points (axis, …): section, thickness or 2πr."""
    return 2 * np.pi * points[0] if _revolves(part) else _kind(part)[1]


def _extent(part: Part) -> tuple[Array, Array]:
    """Lowest and highest coordinate (axis,) of a part, m."""
    return part.mesh.p.min(axis=1), part.mesh.p.max(axis=1)
