"""The Arlequin junction of two parts superposed over a zone: weights and constraint operator.

Effects of the choices, measured on meshes that are not nested (bars at mesh ratio 7.3, plane stress at 3.7, zone of
four coarse cells): error of the constant-strain patch test (1D, 2D), condition number κ of the dual operator (1D),
and orders of the L2 and H1 errors of a manufactured solution at fixed ratio (P1 or Q1; P2 or Q2):

    weights   coupling  mediator  patch 1D  patch 2D  κ        L2, H1 (order 1)  L2, H1 (order 2)
    Linear    L2        coarse    2e-16     1e-15     11       2.0, 1.0          3.0, 2.0          the default
    Linear    L2        fine      2e-16     9e-16     157                                          warns
    Linear    H1        coarse    6e-17     1e-15     372      2.1, 1.0          3.2, 2.0
    Linear    H1        fine      3e-15     1e-15     5,740
    Cubic     L2        coarse    2e-3      8e-4      272      2.0, 1.0          3.4, 2.3
    Cubic     L2        fine      4e-8      8e-7      5,020                                        warns
    Cubic     H1        coarse    4e-2      3e-2      4,863    2.0, 1.0          3.0, 1.9          warns
    Constant  L2        coarse    5e-3      6e-3      2        1.1, 0.3          1.2, 0.5          warns
    Constant  H1        coarse    3e-3      3e-3      20       1.2, 0.3          1.5, 0.6          warns

A mediator on a mesh of its own with cells of the coarse size has the properties of the coarse trace. With the default κ
is 7–18 for ratios 2–50 at a zone of four coarse cells, the same at every refinement, and proportional to the zone: 2.2
times its length in coarse cells. With L2 the coarse mediator of second-order parts is of first order in the cells that
touch an end of the zone, where 1/α is unbounded: κ is 9–21 on bars and quadrilaterals and 11–26 on triangles, for
ratios 2–50, instead of 14–41 and 16–48 with second order there too; the orders are the same. Waves below 2H are
reflected more: 2 % of the energy of 1.4 H instead of 0.3 %, 40 % instead of 5 % from the coarse side. In a `Box`, whose
mediator is split at its edges, κ is 40–95 (plane, ratios 2–7); on coarse and fine cells of equal size it is unbounded:
the space is too large.
Orders in space (ratio 1.5): L2 2.1, H1 1.2 on Q1, 1.9 and 1.0 on P1, 3.0 and 2.0 on Q2, 3.1 and 2.0 on P2.
A fine mediator over-constrains parts whose displacement is imposed along the zone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, eye_array, kron
from skfem import Mesh

from arlequin.junctions.absorber import Absorber, AbsorbingZone
from arlequin.junctions.base import (
    AbsorbingForm,
    JunctionOperator,
    check_kinds,
    check_parts,
    depth,
    extent,
    extents,
    revolves,
    warn,
)
from arlequin.junctions.conditioning import dual_condition
from arlequin.junctions.coupling import L2, Coupling, Shapes
from arlequin.junctions.mediator import GluingZone, Mediator, basis_degrees, chunks, mediator_of
from arlequin.junctions.partition import weightings
from arlequin.junctions.sharing import Sharing
from arlequin.junctions.weights import Function, Linear, Weight
from arlequin.junctions.zone import FullOverlap, Zone
from arlequin.junctions.zone_coordinate import ZoneCoordinate
from arlequin.models import checks
from arlequin.models.errors import UserError, short_repr
from arlequin.models.part import MeshedPart, Weighting
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.overlap.intersect import Overlap, intersect

__all__ = ["Junction", "JunctionOperator", "dual_condition"]


# largest weight of the coarse part in the free zone whose resonances are negligible
GHOST = 1e-6


@checked_call
@dataclass(frozen=True, eq=False)
class Junction:
    """Arlequin junction of two parts superposed over a zone: ∫_{S_g} φ*·(v_coarse − v_fine) = 0 for all φ* of the
    mediator.

    coarse, fine: the parts; their names must differ. weights: α of the fine part in the gluing zone, for stiffness,
    loads and mass: `Linear()`, `Cubic()`, `Constant(value)`, another `Weight`, or a function of points; mass_weights:
    others for the mass. coupling: `L2()`, `H1(length)` or another `Coupling`. mediator: the space of the multipliers:
    the trace of a part's functions ("coarse", "fine"), first-order functions of a grid a little wider than the coarse
    cells ("grid", with coarse parts of mass="dispersion") or of a mesh, or another `Mediator`. zone: by default the
    whole overlap of parts that follow each other along one axis; `Box`, `Strip`, `HalfSpace`, `LevelSet`, `Cells`.
    floor: weight of the coarse part in the fine part's free zone; 0 leaves the coarse dofs there without mass and
    stiffness. absorbing: an `Absorber` of waves that the coarse mesh cannot resolve, between Bars or Solids; True takes
    `Absorber()`. Without one, the default, the junction conserves energy and reflects them.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=6), steel, imposed={"left": {"x": 0.0}})
    >>> pull = {"right": lambda x, t: 1e8 * t}  # Pa
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.04, 0.1, cells=30), steel, tractions=pull)
    >>> system = aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)])
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["part/fine"]["displacement"][-1, -1, 0]), 12)  # σL/E of 0.1 m, m
    5e-05

    Source: Ben Dhia 1998; Ben Dhia & Rateau, IJNME 62, 2005.
    """

    coarse: MeshedPart
    fine: MeshedPart
    weights: Weight | Callable[[Array], Any] = field(default_factory=Linear)
    coupling: Coupling = field(default_factory=L2)
    mediator: Literal["coarse", "fine", "grid"] | Mesh | Mediator = "coarse"
    name: str = "junction"
    zone: Zone = field(default_factory=FullOverlap)
    mass_weights: Weight | Callable[[Array], Any] | None = None
    floor: float = 0.0
    absorbing: Absorber | bool | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        mediator = mediator_of(self.mediator)
        checks.within("floor", self.floor, 0, 1, open_high=True)
        for which in ("weights", "mass_weights"):
            weights = getattr(self, which)
            if callable(weights) and not isinstance(weights, type | Weight):
                object.__setattr__(self, which, Function(weights))
            elif weights is not None or which == "weights":
                rule = "must be weights, as Linear(), or a function of points (axis, n)"
                checks.instance(which, weights, Weight, rule)
        check_kinds(self, coarse=MeshedPart, fine=MeshedPart, coupling=Coupling, zone=Zone)
        checks.instance("absorbing", self.absorbing, Absorber | bool | None, "must be True, an Absorber, or None")
        check_parts(self.name, self.coarse, self.fine)
        mediator.check(self.name, self.coarse, self.fine, self.coupling)
        self.zone_coordinate.check_thickness(self.name, self.coarse, self.fine)
        self._warn_of_inaccurate_choices()

    @cached_property
    def _mediator(self) -> Mediator:
        return mediator_of(self.mediator).on(*self._box, _extents(self.coarse, *self._box))

    @cached_property
    def _box(self) -> tuple[Array, Array]:
        """Lowest and highest coordinate (axis,) of the box that both parts have in common, m."""
        (low, high), (first, last) = extent(self.coarse), extent(self.fine)
        return np.maximum(low, first), np.minimum(high, last)

    @cached_property
    def zone_coordinate(self) -> ZoneCoordinate:
        """The coordinate s of the zone."""
        return self.zone.zone_coordinate(self.coarse, self.fine, self.name)

    @cached_property
    def overlap(self) -> Overlap:
        """Pieces of the overlap, with a quadrature exact for products of shape functions on affine cells."""
        return self._pieces(None)

    @cached_property
    def glued(self) -> Overlap:
        """Pieces of the overlap in the gluing zone S_g."""
        pieces = self.overlap if self._mediator.mesh is None else self._pieces(self._mediator.mesh)
        _, state = self.zone_coordinate.on_pieces(pieces)
        indices = np.flatnonzero((state == 1).any(axis=1))
        if indices.size == 0:
            raise UserError(
                f"junction '{self.name}': the mediator has no degrees of freedom: no part of the zone is in its mesh"
            )
        pieces = pieces.take(indices)
        return replace(pieces, dx=pieces.dx * (state[indices] == 1))

    def weighting(self) -> dict[str, Weighting]:
        """Weights of both parts alone, by name, at their quadrature points: α and 1 − α in the overlap, else 1
        (`Sharing`).

        Where an end of one part or a border of the zone cuts a cell of the other the weights are exact in the mean
        over it (`cell_weights`), so that both parts together weigh as much as their union.
        """
        return weightings([self])

    def sharing(self) -> Sharing:
        """Weights of both parts by this junction alone."""
        return Sharing(self.name, self.coarse, self.fine, self.zone_coordinate, self.overlap)

    def weights_of(self, kind: Literal["stiffness", "mass"]) -> Weight:
        """α for one kind of energy."""
        weights = self.weights if kind == "stiffness" or self.mass_weights is None else self.mass_weights
        assert not callable(weights)
        return weights

    def operator(self) -> JunctionOperator:
        """C of both parts and the Gram matrix of the mediator, exact on affine cells."""
        pieces, components = self.glued, self.coarse.components
        coupling = self.coupling.with_length(self.coarse_size)
        zone = GluingZone(self.name, self.coarse, self.fine, self.zone_coordinate, pieces, coupling)
        space = self._mediator.space(zone)
        dx = pieces.dx * depth(self.coarse, pieces.points)
        parts = (self.coarse, pieces.coarse_cells), (self.fine, pieces.fine_cells)
        blocks: list[Any] = [0, 0]
        gram: Any = 0
        for chunk in chunks(max(self.coarse.basis.Nbfun, self.fine.basis.Nbfun), pieces):
            radius = pieces.points[0, chunk] if revolves(self.coarse) else None
            test = space.shapes(chunk)
            gram += coupling.matrix(test, test, dx[chunk], components, radius)
            for i, (part, cells) in enumerate(parts):
                trial = Shapes.at(part.basis, cells[chunk], pieces.points[:, chunk])
                blocks[i] += coupling.matrix(test, trial, dx[chunk], components, radius)
        select = kron(space.selection, eye_array(components), format="csr")
        coarse, fine = (csr_array(select @ block) for block in blocks)
        gram = csr_array(select @ gram @ select.T)
        return JunctionOperator(coarse, csr_array(-fine), gram, components, space.positions)

    def absorbing_form(self) -> AbsorbingForm | None:
        """Damping of the absorbing term; None without one."""
        if not self.absorbing:
            return None
        absorber = Absorber() if self.absorbing is True else self.absorbing
        return absorber.form(AbsorbingZone.of(self.coarse, self.fine, self.zone_coordinate, self.overlap))

    def condition(self, operator: JunctionOperator, mass_coarse: csr_array, mass_fine: csr_array) -> float:
        """Estimated condition number of the dual operator G⁻¹ C M⁻¹ Cᵀ (`dual_condition`)."""
        return dual_condition(operator, mass_coarse, mass_fine)

    @cached_property
    def coarse_size(self) -> float:
        """Mean size H of the coarse cells in the gluing zone, m."""
        cells = np.unique(self.glued.coarse_cells)
        return float(np.mean(np.ptp(self.coarse.mesh.p[:, self.coarse.mesh.t[:, cells]], axis=1)))

    def _pieces(self, third: Mesh | None) -> Overlap:
        """The overlap, cut by the regions of the zone and the cells of a third mesh."""
        spaces = (
            basis_degrees(self.coarse.basis),
            basis_degrees(self.fine.basis),
            mediator_of(self.mediator).degrees(self.coarse, self.fine),
        )
        radial_degree = 1 if revolves(self.coarse) else 0
        order, along_axis = (max(degrees) + degrees[2] + radial_degree for degrees in zip(*spaces, strict=True))
        meshes = self.coarse.mesh, self.fine.mesh
        pieces = intersect(*meshes, order, self.zone_coordinate.regions, third, along_axis)
        if pieces.dx.size == 0 and third is None:
            raise UserError(f"junction '{self.name}': {extents(self.coarse, self.fine)} do not overlap")
        return pieces

    def _warn_of_inaccurate_choices(self) -> None:
        """Warn of each choice that reduces accuracy, with a better choice."""
        who = f"junction '{self.name}'"
        assert not callable(self.weights)
        continuity = self.weights.continuity
        if continuity < 0:
            warn(f"{who}: weights that jump lose the patch test, and the L2 order falls to 1; take Linear()")
        if continuity > 0 and self.coupling.order > 0:
            warn(
                f"{who}: weights of zero slope at the zone's ends with H1 lose the patch test and their dual condition "
                "grows; take Linear(), L2()"
            )
        axes, mesh = self.coarse.mesh.dim(), self.coarse.mesh
        tensor = mesh.t.shape[0] > axes + 1 and self.coarse.basis.elem.maxdeg > axes
        if tensor and self.zone.cuts_cells:
            order = int(self.coarse.basis.elem.maxdeg) // axes
            cells = (
                f"{'second-order' if order == 2 else f'order-{order}'} {'quadrilaterals' if axes == 2 else 'hexahedra'}"
            )
            warn(f"{who}: {cells} cut by a border of the zone lose the patch test; take zone=Cells()")
        if self.floor > GHOST:
            warn(f"{who}: floor {self.floor:g} > {GHOST:g}: the coarse part's ghost reflects in narrow bands; take 0")
        if self.mass_weights is not None and self.mass_weights != self.weights:
            warn(f"{who}: different weights on mass and stiffness lower the stable explicit step; take the same")


def _extents(part: MeshedPart, low: Array, high: Array) -> Array:
    """Mean extents (axis,) of the cells of a part in a box low … high (axis,), m."""
    corners = part.mesh.p[:, part.mesh.t]
    first, last = corners.min(axis=1), corners.max(axis=1)
    inside = ((last > low[:, None]) & (first < high[:, None])).all(axis=0)
    return np.asarray((last - first)[:, inside].mean(axis=1) if inside.any() else high - low)
