"""Zones of a junction: where two superposed parts are coupled, and where the fine part has all the weight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.sparse.linalg import splu
from skfem import CellBasis
from skfem.models.poisson import laplace

from arlequin.junctions.base import extent, extents, warn
from arlequin.junctions.zone_coordinate import (
    SAME,
    CellZoneCoordinate,
    LevelZoneCoordinate,
    PlanarZoneCoordinate,
    ZoneCoordinate,
)
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.fem.elements import scalar_basis
from arlequin.models.part import MeshedPart
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array, Indices

AXES = {"x": 0, "y": 1, "z": 2}
SIDES = {"left": (0, 1), "right": (0, -1), "bottom": (1, 1), "top": (1, -1), "back": (2, 1), "front": (2, -1)}


@runtime_checkable
class Zone(Protocol):
    """Split of the overlap into the gluing zone S_g, the fine part's free zone S_f, and the rest (coarse part only)."""

    cuts_cells: ClassVar[bool] = False  # whether borders of the zone run through coarse cells

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> ZoneCoordinate:
        """The zone's coordinate for two parts; `name` of the junction, for messages."""
        ...


@dataclass(frozen=True)
class FullOverlap(Zone):
    """The whole overlap of two parts that follow each other along one axis, with s along this axis (the default)."""

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> PlanarZoneCoordinate:
        """From the fine part's inner end to the coarse part's inner end."""
        low_c, high_c = extent(coarse)
        low_f, high_f = extent(fine)
        near = check_overlap(coarse, fine, name)
        after = (low_f - low_c > near) & (high_f - high_c > near)
        before = (low_c - low_f > near) & (high_c - high_f > near)
        axes = np.flatnonzero(after | before)
        if axes.size != 1:
            raise UserError(
                f"junction '{name}': {extents(coarse, fine)}: without a zone the parts must follow each other along "
                "exactly one axis, each reaching beyond the other at one end (a fine part inside: zone=Box(width))"
            )
        axis = int(axes[0])
        if after[axis]:
            return PlanarZoneCoordinate.along(axis, low_c.size, float(low_f[axis]), float(high_c[axis]))
        return PlanarZoneCoordinate.along(axis, low_c.size, float(high_f[axis]), float(low_c[axis]))


@checked_call
@dataclass(frozen=True)
class Strip(Zone):
    """S_g between the planes `axis` = start, where the fine part's weight is 0, and = end (m), where it is 1.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=6), steel)
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.02, 0.1, cells=40), steel)
    >>> glue = aq.Junction(coarse, fine, zone=aq.zones.Strip(start=0.03, end=0.05))
    >>> result = aq.simulate(aq.System([coarse, fine], [glue], velocity=1.0), aq.Theta(0.5), duration=1e-6, step=1e-7)
    >>> [round(float(result[f"part/{name}"]["mass"]), 6) for name in ("coarse", "fine")]  # 0.04 m, 0.06 m
    [312.0, 468.0]
    >>> round(float(result["energy"].sel(kind="kinetic")[0]), 6)  # ½ ρ L v² of 0.1 m and 1 m², J
    390.0
    """

    start: float
    end: float
    axis: str = "x"

    def __post_init__(self) -> None:
        checks.one_of("axis", self.axis, tuple(AXES))
        if checks.finite("start", self.start) == checks.finite("end", self.end):
            raise UserError.parameter("end", self.end, "must differ from start")

    cuts_cells: ClassVar[bool] = True

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> PlanarZoneCoordinate:
        check_overlap(coarse, fine, name)
        axes, axis = coarse.mesh.dim(), AXES[self.axis]
        if axis >= axes:
            raise UserError(f"junction '{name}': a zone along {self.axis} needs parts of dimension {axis + 1}")
        return PlanarZoneCoordinate.along(axis, axes, float(self.start), float(self.end))


@checked_call
@dataclass(frozen=True)
class HalfSpace(Zone):
    """S_g from the plane through `point` over `width` (m) along `normal`, which points into S_f.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=6), steel)
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.02, 0.1, cells=40), steel)
    >>> glue = aq.Junction(coarse, fine, zone=aq.zones.HalfSpace(point=0.03, normal=1.0, width=0.02))
    >>> system = aq.System([coarse, fine], [glue])
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-7)
    >>> [round(float(result[f"part/{name}"]["mass"]), 6) for name in ("coarse", "fine")]  # kg
    [312.0, 468.0]
    """

    point: Sequence[float]
    normal: Sequence[float]
    width: float

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.positive("width", self.width)
        checks.finite_array("point", np.atleast_1d(self.point), (None,))
        if not np.linalg.norm(checks.finite_array("normal", np.atleast_1d(self.normal), (None,))) > 0:
            raise UserError.parameter("normal", self.normal, "must not be zero")

    cuts_cells: ClassVar[bool] = True

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> PlanarZoneCoordinate:
        check_overlap(coarse, fine, name)
        axes = coarse.mesh.dim()
        point = checks.finite_array("point", np.atleast_1d(self.point), (axes,))
        normal = checks.finite_array("normal", np.atleast_1d(self.normal), (axes,))
        normal = normal / np.linalg.norm(normal)
        return PlanarZoneCoordinate(normal[None], np.array([normal @ point]), np.array([float(self.width)]))


@checked_call
@dataclass(frozen=True)
class Box(Zone):
    """S_g a band of `width` (m) inside the faces of a box, S_f the rest of the box: a fine patch in a coarse part.

    low, high: corners of the box, m, by default the fine part's extents; sides: the faces that have a band ("left",
    "right", "bottom", "top", "back", "front"), by default those where the fine part ends inside the coarse one; the
    box is unbounded on its other sides. At edges and corners of the box the slope of the weights jumps, which no
    continuous mediator can represent: the constant-strain patch test is exact with faces along one axis only.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> plate = aq.Solid("plate", aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(10, 10)), steel, plane="strain")
    >>> patch = aq.Solid("patch", aq.mesh.rectangle((0.3, 0.7), (0.3, 0.7), cells=(20, 20)), steel, plane="strain")
    >>> glue = aq.Junction(plate, patch, zone=aq.zones.Box(width=0.1))
    >>> system = aq.System([plate, patch], [glue], velocity=(1.0, 0.0))
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-6)
    >>> round(float(result["energy"].sel(kind="kinetic")[0]), 6)  # ½ ρ v² of 1 m² and 1 m, J
    3900.0
    """

    width: float
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    sides: Sequence[str] | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.positive("width", self.width)
        for side in self.sides or ():
            checks.one_of("sides", side, tuple(SIDES))

    cuts_cells: ClassVar[bool] = True

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> PlanarZoneCoordinate:
        near, axes = check_overlap(coarse, fine, name), coarse.mesh.dim()
        low_c, high_c = extent(coarse)
        low, high = (
            default if corner is None else checks.finite_array(what, np.atleast_1d(corner), (axes,))
            for what, corner, default in zip(("low", "high"), (self.low, self.high), extent(fine), strict=True)
        )
        if self.sides is None:
            ends = {"low": low - low_c > near, "high": high_c - high > near}
            sides = [side for side, (axis, sign) in SIDES.items() if axis < axes]
            sides = [s for s in sides if ends["low" if SIDES[s][1] > 0 else "high"][SIDES[s][0]]]
        else:
            sides = list(self.sides)
        if not sides or any(SIDES[side][0] >= axes for side in sides):
            raise UserError(
                f"junction '{name}': {extents(coarse, fine)}: the box has no face inside '{coarse.name}'"
                if not sides
                else f"junction '{name}': sides of a box in dimension {axes}: {', '.join(sides)}"
            )
        if self.low is None and self.high is None:
            self._warn_of_width(sides, high - low, near, fine.name, name)
        planes = [(axis, sign, (low if sign > 0 else high)[axis]) for axis, sign in (SIDES[s] for s in sides)]
        normals = np.array([sign * np.eye(axes)[axis] for axis, sign, _ in planes])
        starts = np.array([sign * value for _, sign, value in planes])
        return PlanarZoneCoordinate(normals, starts, np.full(len(planes), float(self.width)))

    def _warn_of_width(self, sides: Sequence[str], extents: Array, near: float, fine: str, name: str) -> None:
        """Warn of bands that leave no S_f: the weight of the fine part reaches 1 nowhere."""
        for axis, room in enumerate(extents):
            bands = sum(SIDES[side][0] == axis for side in sides)
            if bands * self.width > room + near:
                covered = "the bands on both sides cover" if bands > 1 else "the band covers"
                warn(
                    f"junction '{name}': width = {self.width:g} m: along {'xyz'[axis]} {covered} all of '{fine}' "
                    f"({room:.4g} m), whose weight stays below 1: take a narrower band"
                )


@checked_call
@dataclass(frozen=True)
class LevelSet(Zone):
    """S_g where 0 < level(x) < width (m), S_f behind; level: function of points (axis, n) that returns metres (n,).

    Cells are not cut at the level lines: volumes and linear weights are exact to the quadrature only.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=6), steel)
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.02, 0.1, cells=40), steel)
    >>> glue = aq.Junction(coarse, fine, zone=aq.zones.LevelSet(lambda x: x[0] - 0.03, width=0.02))
    >>> system = aq.System([coarse, fine], [glue])
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-7)
    >>> [round(float(result[f"part/{name}"]["mass"]), 6) for name in ("coarse", "fine")]  # kg
    [312.0, 468.0]
    """

    level: Callable[[Array], Any]
    width: float

    def __post_init__(self) -> None:
        checks.positive("width", self.width)
        if isinstance(self.level, type) or not callable(self.level):
            raise UserTypeError.parameter("level", self.level, "must be a function of points (axis, n)")
        takes("level", self.level, x="the points (axis, n)")

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> LevelZoneCoordinate:
        check_overlap(coarse, fine, name)
        zone_coordinate = LevelZoneCoordinate(self.level, float(self.width))
        values = zone_coordinate.coordinate(np.asarray(fine.mesh.p))
        if not np.isfinite(values).all():
            raise UserError(f"junction '{name}': the level set of the zone has values that are not finite")
        return zone_coordinate


@checked_call
@dataclass(frozen=True)
class Cells(Zone):
    """S_g the coarse cells `glue`, S_f the coarse cells `free`; elsewhere only the coarse part has weight.

    glue, free: cell numbers, or the name of a set of cells (`mesh.subdomains`) of the coarse mesh; without `free`,
    `inner` is the name of the coarse boundary where α = 1. s is harmonic in S_g, first order in each cell, 0 next to
    the rest of the coarse part and 1 next to S_f or on `inner`: proportional to the distance in a plane band.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.06, cells=6), steel)
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.02, 0.1, cells=40), steel)
    >>> glue = aq.Junction(coarse, fine, zone=aq.zones.Cells(glue=[3, 4], free=[5]))
    >>> system = aq.System([coarse, fine], [glue])
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-7)
    >>> [round(float(result[f"part/{name}"]["mass"]), 6) for name in ("coarse", "fine")]  # kg
    [312.0, 468.0]
    """

    glue: str | Sequence[int]
    free: str | Sequence[int] = ()
    inner: str | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.instance("inner", self.inner, str | None, "must be the name of a boundary of the coarse mesh")

    def zone_coordinate(self, coarse: MeshedPart, fine: MeshedPart, name: str) -> CellZoneCoordinate:
        check_overlap(coarse, fine, name)
        mesh = coarse.mesh
        kinds = np.full(mesh.nelements, -1)
        for value, cells in ((2, self.free), (0, self.glue)):
            kinds[_cells(mesh, cells, coarse.name)] = value
        if not (kinds == 0).any():
            raise UserError(f"junction '{name}': the zone has no cells")
        facets = mesh.f2t
        side_kinds = kinds[facets[0]], np.where(facets[1] >= 0, kinds[facets[1]], 0)
        borders = [mesh.facets[:, (np.minimum(*side_kinds) == -1) & (np.maximum(*side_kinds) == 0)]]
        inner = mesh.facets[:, (np.maximum(*side_kinds) == 2) & (np.minimum(*side_kinds) == 0) & (facets[1] >= 0)]
        if self.inner is not None:
            inner = np.concatenate((inner, mesh.facets[:, _boundary(mesh, self.inner, coarse.name)]), axis=1)
        borders.append(inner)
        for what, facet in zip(
            ("the rest of the coarse part", "the free zone (give free or inner)"), borders, strict=True
        ):
            if facet.size == 0:
                raise UserError(f"junction '{name}': the cells of the zone do not touch {what}")
        values = np.where(kinds < 0, -1.0, 2.0)[:, None] * np.ones((1, mesh.t.shape[0]))
        values[kinds == 0] = _harmonic(mesh, np.flatnonzero(kinds == 0), *map(np.unique, borders))
        return CellZoneCoordinate(scalar_basis(mesh, 1), values)


def check_overlap(coarse: MeshedPart, fine: MeshedPart, name: str) -> float:
    """Raise `UserError` unless the boxes around both parts overlap; returns the tolerance of their ends, m."""
    low_c, high_c = extent(coarse)
    low_f, high_f = extent(fine)
    near = SAME * max(float(np.max(high_c - low_c)), float(np.max(high_f - low_f)))
    if np.any(np.minimum(high_c, high_f) - np.maximum(low_c, low_f) <= near):
        raise UserError(f"junction '{name}': {extents(coarse, fine)} do not overlap")
    return near


def _cells(mesh: Any, cell_set: str | Sequence[int], part: str) -> Indices:
    """Cell numbers of a set of cells of the mesh."""
    if not isinstance(cell_set, str):
        numbers = checks.finite_array("cells of the zone", cell_set).ravel()
        cells = numbers.astype(np.int64)
        if (cells != numbers).any():
            raise UserError.parameter("cells of the zone", cell_set, "must be whole numbers, or the name of a set")
        if cells.size and not (cells.min() >= 0 and cells.max() < mesh.nelements):
            raise UserError.parameter("cells of the zone", cell_set, f"must lie in [0, {mesh.nelements})")
        return cells
    cell_sets = mesh.subdomains or {}
    if cell_set not in cell_sets:
        raise UserError(
            f"{part}: no set of cells is named {cell_set!r} (sets: {', '.join(sorted(cell_sets)) or 'none'})"
        )
    return np.asarray(cell_sets[cell_set], dtype=np.int64)


def _boundary(mesh: Any, name: str, part: str) -> Indices:
    boundaries = mesh.boundaries or {}
    if name not in boundaries:
        raise UserError(
            f"{part}: no boundary is named {name!r} (boundaries: {', '.join(sorted(boundaries)) or 'none'})"
        )
    return np.asarray(boundaries[name], dtype=np.int64)


def _harmonic(mesh: Any, cells: Indices, zeros: Indices, unity: Indices) -> Array:
    """s (cells, vertex): 0 at the vertices `zeros`, 1 at `unity`, harmonic between."""
    basis = CellBasis(mesh, scalar_basis(mesh, 1).elem, elements=cells)
    matrix = laplace.assemble(basis)
    s = np.zeros(basis.N)
    s[unity] = 1.0
    free = np.setdiff1d(np.unique(mesh.t[:, cells]), np.concatenate((zeros, unity)))
    if free.size:
        s[free] = splu(matrix[free][:, free].tocsc()).solve(-(matrix @ s)[free])
    return s[mesh.t[:, cells].T]
