"""Pretension of a bolt: a section whose sides are pulled over each other by a force or by a given shortening."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.lumped.masses import AXES, PointMasses
from arlequin.models.lumped.relations import Relation
from arlequin.models.part import Surface
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array

_SAME = 1e-6  # distance of matching nodes, relative to the extent of the section or its part
_FLAT = 1e-6  # relative difference between the area of a section and its projection, below which it is flat
_MASS = 1e-3  # kg

Course = Callable[[float], float] | float | None


@checked_call
@dataclass(frozen=True, eq=False)
class Pretension:
    """A section of a bolt with the shortening s along its axis n, from the first side to the second:

        (u₁ − u₂)·n = s   and   (u₁ − u₂)·t = 0,   s unknown under the given axial force N, or given.

    section: both sides, `(bolt.boundary("cut first"), bolt.boundary("cut second"))` of one part whose mesh is cut by
    `aq.mesh.cut`, or boundaries of two parts, whose nodes match; rotations are equal, too. force N, N, > 0 in tension,
    or shortening s, m: a number or a function of t. axis (axis,): by default the outward normal of the first boundary,
    which must be flat. The unknown s is the x-displacement of the part `point`, a point of the given mass, kg, on which
    N acts, so that N ds is external work; a given s is its imposed motion, whose force on the bolt is its `reaction`.
    mass matters in dynamics with a force alone.

    A system takes `point` among its parts and `relations` among its relations. A bolt is locked by the shortening
    that a result ends with, `shortening_of(result)`, in a system that starts from this result.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> mesh = aq.mesh.cut(aq.mesh.interval(0.0, 0.3, cells=6), plane=(0.1, 1.0))  # m
    >>> rod = aq.Bar("rod", mesh, steel, section=1e-4, imposed={"left": {"x": 0.0}, "right": {"x": 0.0}})  # m²
    >>> sides = rod.boundary("cut first"), rod.boundary("cut second")
    >>> bolt = aq.Pretension("bolt", sides, force=lambda t: 1e4 * t)  # N
    >>> system = aq.System([rod, bolt.point], relations=bolt.relations)
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> f"{bolt.shortening_of(result):.6g}"  # N L/(E A), m
    '0.00015'
    """

    name: str
    section: Sequence[Surface]
    force: Course = field(default=None, kw_only=True)
    shortening: Course = field(default=None, kw_only=True)
    axis: Any = field(default=None, kw_only=True)
    mass: float = field(default=_MASS, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a pretension")
        rule = 'must be the two sides (bolt.boundary("cut first"), bolt.boundary("cut second"))'
        sides = checks.items(f"pretension '{self.name}': section", self.section, Surface, rule)
        if len(sides) != 2:
            raise UserError.parameter(f"pretension '{self.name}': section", self.section, rule)
        if sides[0].part is sides[1].part and np.intersect1d(sides[0].nodes, sides[1].nodes).size:
            raise UserError(
                f"pretension '{self.name}': '{sides[0].name}' and '{sides[1].name}' of part '{sides[0].part.name}' "
                "share nodes: aq.mesh.cut gives a section whose sides have nodes of their own"
            )
        object.__setattr__(self, "section", sides)
        if (self.force is None) == (self.shortening is None):
            raise UserError(f"pretension '{self.name}': give a force or a shortening, one of them")
        for what in ("force", "shortening"):
            value = getattr(self, what)
            if callable(value):
                takes(what, value, t="the time, s")
            elif value is not None:
                checks.finite(what, value)
        object.__setattr__(self, "mass", checks.positive("mass", self.mass))
        _ = self._pairs, self.frame

    @cached_property
    def frame(self) -> Array:
        """Unit vectors (axes, axis): the axis n, then the tangents."""
        first = self.section[0]
        axes = first.positions.shape[1]
        if self.axis is None:
            axis = first.areas @ first.normals if first.normals.any() else np.zeros(axes)
            if not np.linalg.norm(axis) > (1.0 - _FLAT) * first.areas.sum():
                what = "is not flat" if first.normals.any() else "has no normal"
                raise UserError(f"pretension '{self.name}': '{first.name}' {what}: give axis, from first to second")
        else:
            axis = checks.finite_array("axis", np.atleast_1d(self.axis), (axes,))
            if not np.linalg.norm(axis) > 0.0:
                raise UserError.parameter("axis", self.axis, "must not be zero")
        axis = np.asarray(axis / np.linalg.norm(axis))
        axis[np.abs(axis) < 1e-14] = 0.0  # round-off of normals
        tangents = np.linalg.svd(axis[None])[2][1:]
        return np.vstack([axis, tangents])

    @cached_property
    def _pairs(self) -> tuple[Surface, Surface]:
        """Both sides with their nodes in the same order; UserError where they do not match."""
        first, second = self.section
        if first.positions.shape[1] != second.positions.shape[1]:
            raise UserError(f"pretension '{self.name}': its sides have different numbers of axes")
        from scipy.spatial import cKDTree

        distances, near = cKDTree(second.positions).query(first.positions)
        size = float(np.ptp(first.positions, axis=0).max()) or float(np.ptp(first.part.positions, axis=0).max())
        apart = float(distances.max())
        if len(first.nodes) != len(second.nodes) or np.unique(near).size != near.size or apart > _SAME * size:
            raise UserError(
                f"pretension '{self.name}': the {len(first.nodes)} nodes of '{first.name}' and the {len(second.nodes)} "
                f"of '{second.name}' do not match, the farthest are {apart:.3g} m apart: give both sides the same nodes"
            )
        return first, replace(second, nodes=second.nodes[near])

    @cached_property
    def point(self) -> PointMasses:
        """The part whose x-displacement is the shortening; its other displacements are 0."""
        axes = len(self.frame)
        imposed: dict[str, Any] = dict.fromkeys(AXES[1:axes], 0.0)
        forces: Mapping[str, Any] = {}
        if self.shortening is not None:
            imposed["x"] = self.shortening
        else:
            force, rest = self.force, (0.0,) * (axes - 1)
            forces = {"all": (lambda t: (force(t), *rest)) if callable(force) else (force, *rest)}
        motions = {"all": imposed} if imposed else {}
        centre = self.section[0].positions.mean(axis=0)
        return PointMasses(self.name, centre, self.mass, forces=forces, imposed=motions)

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The relations of both sides and the point."""
        first, second = self._pairs
        axes = AXES[: len(self.frame)]
        out = []
        for number, vector in enumerate(self.frame):
            terms: list[Any] = [
                (side, axis, sign * float(weight))
                for side, sign in ((first, 1.0), (second, -1.0))
                for axis, weight in zip(axes, vector, strict=True)
                if weight
            ]
            if number == 0:
                terms.append((self.point.boundary("all"), "x", -1.0))
            out.append(Relation(f"{self.name} {'axis' if number == 0 else f'shear {number}'}", terms))
        rotations = min(side.part.components for side in (first, second)) - len(axes)
        for name in ("rx", "ry", "rz")[3 - rotations :] if rotations > 0 else ():
            out.append(Relation(f"{self.name} {name}", [(first, name, 1.0), (second, name, -1.0)]))
        return tuple(out)

    def shortening_of(self, result: Any) -> float:
        """The shortening, m, with which a result of a system with this pretension ends."""
        try:
            return float(result[f"part/{self.name}"]["displacement"].values[-1, 0, 0])
        except (KeyError, TypeError, AttributeError):
            raise UserTypeError.parameter(
                "result", result, f"must be a result of a system with part '{self.name}'"
            ) from None
