"""Junctions of parts that share a surface, without zone and weights: tied nodes and mortar."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron

from arlequin.junctions.base import JunctionOperator, check_parts, depth, kind, revolves
from arlequin.junctions.coupling import L2, Shapes
from arlequin.junctions.mediator import trace_on_pieces
from arlequin.junctions.surface_trace import ON, SurfaceTrace
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.fem.elements import scalar_basis
from arlequin.models.part import MeshedPart, Surface, Weighting
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.overlap.intersect import intersect


@dataclass(frozen=True, eq=False)
class SurfaceJunction:
    """Base class of junctions on a common surface of two parts."""

    coarse_surface: Surface
    fine_surface: Surface
    name: str = "junction"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        for which in ("coarse_surface", "fine_surface"):
            if not isinstance(getattr(self, which), Surface):
                raise UserTypeError.parameter(which, getattr(self, which), 'must be a surface: part.boundary("name")')
        self._check_parts()

    def _check_parts(self) -> None:
        """Check that the parts agree in dimension and, of finite elements, in kind of problem and depth."""
        if not self._superelements:
            return check_parts(self.name, self.coarse, self.fine)
        first, second = self.coarse, self.fine
        if first.name == second.name:
            raise UserError(f"junction '{self.name}': two parts named '{second.name}'")
        axes = [part.positions.shape[1] for part in (first, second)]
        if axes[0] != axes[1]:
            raise UserError(
                f"junction '{self.name}': nodes of '{first.name}' have {axes[0]} coordinates, those of '{second.name}' "
                f"{axes[1]}"
            )
        for trace in self._traces:
            if isinstance(trace.surface.part, Superelement):
                trace.check_retained()
            else:
                kind(trace.surface.meshed)

    @property
    def _superelements(self) -> bool:
        """Whether a part is a superelement, which has facets or nodes instead of cells."""
        return any(isinstance(each.part, Superelement) for each in (self.coarse_surface, self.fine_surface))

    @cached_property
    def _traces(self) -> tuple[SurfaceTrace, SurfaceTrace]:
        """The displacement fields of both parts on their surfaces."""
        return SurfaceTrace(self.coarse_surface, self.name), SurfaceTrace(self.fine_surface, self.name)

    def absorbing_form(self) -> None:
        """None: without a zone there is no absorbing term."""

    @property
    def coarse(self) -> MeshedPart:
        """The part of the first surface; a superelement has no mesh."""
        return _part_of(self.coarse_surface)

    @property
    def fine(self) -> MeshedPart:
        """The part of the second surface; a superelement has no mesh."""
        return _part_of(self.fine_surface)

    def weighting(self) -> dict[str, Weighting]:
        """Empty: the parts do not overlap."""
        return {}

    def _separation_error(self) -> UserError:
        return UserError(
            f"junction '{self.name}': '{self.fine_surface.name}' of '{self.fine.name}' does not lie on "
            f"'{self.coarse_surface.name}' of '{self.coarse.name}'"
        )


@checked_call
@dataclass(frozen=True, eq=False)
class Tie(SurfaceJunction):
    """Nodes of the fine surface tied to the coarse displacement field: v_fine(x_k) = Σ_n φ_n(x_k) v_coarse,n.

    Coincident nodes, or interpolated ones; nodes that do not lie on the coarse surface stay free. Each row is
    scaled by an equal share of the tied area, so that multipliers are tractions, Pa. The patch test fails where the
    nodes do not coincide, and where facets of other shapes share them (triangles on quadrilaterals: a uniform traction
    has other nodal forces on either side); `Mortar` passes it. Either surface may be one of a `Superelement`, whose
    displacements are tied, not its rotations: the coarse one is interpolated on its facets; without facets only nodes
    that coincide are tied.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> held, pull = {"left": {"x": 0.0}}, {"right": lambda x, t: 1e8 * t}  # m, Pa
    >>> first = aq.Bar("first", aq.mesh.interval(0.0, 0.06, cells=6), steel, imposed=held)
    >>> second = aq.Bar("second", aq.mesh.interval(0.06, 0.1, cells=20), steel, tractions=pull)
    >>> system = aq.System([first, second], junctions=[aq.Tie(first.boundary("right"), second.boundary("left"))])
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["part/second"]["displacement"][-1, -1, 0]), 12)  # σL/E of 0.1 m, m
    5e-05
    """

    __repr__ = short_repr

    def operator(self) -> JunctionOperator:
        """C of both parts; the Gram matrix holds the areas of the nodes."""
        coarse, fine = self._traces
        nodes, points, n = fine.surface.nodes, fine.surface.positions, fine.axes
        rows, tied = coarse.interpolation(points)
        if tied.size == 0:
            raise self._separation_error()
        area = float(fine.surface.areas.sum()) / nodes.size
        selected = csr_array(
            (np.ones(tied.size), (np.arange(tied.size), nodes[tied])), shape=(tied.size, fine.surface.part.node_count)
        )
        blocks = (
            csr_array(kron(area * each, eye_array(n), format="csr") @ trace.displacements)
            for each, trace in zip((rows, selected), self._traces, strict=True)
        )
        on_coarse, on_fine = blocks
        gram = csr_array(diags_array(np.full(tied.size * n, area)))
        return JunctionOperator(on_coarse, csr_array(-on_fine), gram, n, points[tied])


@checked_call
@dataclass(frozen=True, eq=False)
class Mortar(SurfaceJunction):
    """∫_Γ φ*·(v_coarse − v_fine) dΓ = 0 on the common part Γ of two flat surfaces, φ* first order on one of them.

    mediator: whose surface mesh carries the multipliers. Exact on the clipped pieces, so that the patch test holds.
    Either surface may be one of a `Superelement` that has facets, whose nodes carry the shape functions of the facets.
    A superelement has no density of its own to be weighted: both parts keep all of their energy, and the multipliers
    do no work.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> left, right = (aq.mesh.rectangle(x, (0.0, 0.02), cells=(6, n)) for x, n in (((0.0, 0.06), 2), ((0.06, 0.1), 3)))
    >>> first = aq.Solid("first", left, steel, plane="stress", imposed={"left": {"x": 0.0}, "bottom": {"y": 0.0}})
    >>> second = aq.Solid("second", right, steel, plane="stress", tractions={"right": lambda x, t: (1e8 * t, 0.0)})
    >>> system = aq.System([first, second], [aq.Mortar(first.boundary("right"), second.boundary("left"))])
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["part/second"]["displacement"][-1, :, 0].max()), 12)  # σL/E of 0.1 m, m
    5e-05

    Source: Bernardi, Maday & Patera, 1994; Puso, IJNME 59, 2004.
    """

    mediator: Literal["coarse", "fine"] = "coarse"

    __repr__ = short_repr

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("mediator", self.mediator, ("coarse", "fine"))
        if self.coarse_surface.positions.shape[1] == 1:
            raise UserError(f"junction '{self.name}': the end of a bar is a point: use Tie")
        for trace in self._traces:
            _ = trace.order

    def operator(self) -> JunctionOperator:
        """C of both parts and the Gram matrix of the multipliers."""
        origin, frame = self._frame()
        traces = dict(zip(("coarse", "fine"), self._traces, strict=True))
        meshes = {side: trace.flat_mesh(origin, frame) for side, trace in traces.items()}
        n = self._traces[0].axes
        degree = (1 + max(trace.order for trace in self._traces)) * (2 if n == 3 else 1) + self._revolves
        pieces = intersect(meshes["coarse"], meshes["fine"], degree)
        if pieces.dx.size == 0:
            raise self._separation_error()
        cells = {"coarse": pieces.coarse_cells, "fine": pieces.fine_cells}
        points = origin[:, None, None] + np.einsum("ji,jpq->ipq", frame, pieces.points)
        dx = pieces.dx * self._depth(points)
        basis = scalar_basis(meshes[self.mediator], 1)
        group = np.zeros(len(dx), dtype=np.int64)
        space = trace_on_pieces(basis, cells[self.mediator], pieces, group, 1)
        test = Shapes.at(basis, cells[self.mediator], pieces.points)
        select = kron(space.selection, eye_array(n), format="csr")
        blocks = {}
        for side, trace in traces.items():
            functions = trace.flat_basis(meshes[side])
            shapes = Shapes.at(functions, cells[side], pieces.points)
            spread = kron(trace.nodes_of(functions, origin, frame), eye_array(n), format="csr") @ trace.displacements
            blocks[side] = csr_array(select @ L2().matrix(test, shapes, dx, n, None) @ spread)
        gram = csr_array(select @ L2().matrix(test, test, dx, n, None) @ select.T)
        positions = origin + space.positions @ frame
        return JunctionOperator(blocks["coarse"], csr_array(-blocks["fine"]), gram, n, positions)

    @cached_property
    def _finite_elements(self) -> MeshedPart | None:
        """The part that tells thickness and symmetry: the first one that is no superelement; None where both are."""
        parts = (surface.part for surface in (self.coarse_surface, self.fine_surface))
        return next((part for part in parts if isinstance(part, MeshedPart)), None)

    @property
    def _revolves(self) -> int:
        return int(self._finite_elements is not None and revolves(self._finite_elements))

    def _depth(self, points: Array) -> Array | float:
        """Thickness (m) or 2πr (m) at points (axis, …); 1 between superelements, where it only scales multipliers."""
        return 1.0 if self._finite_elements is None else depth(self._finite_elements, points)

    def _frame(self) -> tuple[Array, Array]:
        """A point of the common line or plane and its directions (axis − 1, axis); both surfaces must lie on it."""
        positions = self.coarse_surface.positions
        origin = positions.mean(axis=0)
        frame = np.linalg.svd(positions - origin, full_matrices=True)[2]
        size = float(np.ptp(positions, axis=0).max())
        for surface in (self.coarse_surface, self.fine_surface):
            off = np.abs((surface.positions - origin) @ frame[-1]).max()
            if off > ON * size:
                raise UserError(
                    f"junction '{self.name}': '{surface.name}' of '{surface.part.name}' is {off:.3g} m off the flat "
                    f"surface '{self.coarse_surface.name}' of '{self.coarse.name}': a mortar needs one plane"
                )
        return origin, frame[:-1]


def _part_of(surface: Surface) -> MeshedPart:
    """The part of a surface; UserError where it has no mesh and is no superelement."""
    part: Any = surface.part
    return part if isinstance(part, Superelement) else surface.meshed  # type: ignore[return-value]
