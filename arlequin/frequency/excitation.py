"""Harmonic loads: forces on surfaces, motions of supports, and accelerations of the frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from arlequin.frequency.linearised import Linearised
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.fem.continuum import Continuum
from arlequin.models.part import MeshedPart, Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.results.history import AXES, TURNS


@runtime_checkable
class Excitation(Protocol):
    """Complex amplitudes of a harmonic load, Re(a e^{iωt})."""

    @property
    def unit(self) -> str:
        """Unit of the amplitude."""

    def amplitudes(self, linear: Linearised) -> tuple[Array, Array]:
        """Forces (d,), N (N·m on rotations), and the amplitudes (p,) prescribed on the imposed coordinates, m."""


def as_excitation(name: str, value: Any) -> Excitation:
    """A harmonic load, or several in a list that act together."""
    if isinstance(value, list | tuple) and value:
        return Together(tuple(as_excitation(f"{name}[{i}]", item) for i, item in enumerate(value)))
    if isinstance(value, type) or not isinstance(value, Excitation):
        rule = (
            'must be of aq.frequency, as Force(part.boundary("right"), (0.0, 1.0)), or a list of such that act together'
        )
        raise UserTypeError.parameter(name, value, rule)
    return value


@dataclass(frozen=True, eq=False)
class Together:
    """Loads that act together, with their phases."""

    loads: Sequence[Excitation]

    @property
    def unit(self) -> str:
        """Their units."""
        return ", ".join(dict.fromkeys(load.unit for load in self.loads))

    def amplitudes(self, linear: Linearised) -> tuple[Array, Array]:
        """Sums of their forces (d,) and prescribed amplitudes (p,)."""
        forces, moved = zip(*(load.amplitudes(linear) for load in self.loads), strict=True)
        return np.sum(forces, axis=0), np.sum(moved, axis=0)


def component_names(surface: Surface) -> tuple[str, ...]:
    """Names of the components of the nodes of a surface: displacements, then rotations."""
    axes = surface.positions.shape[1]
    turns = surface.part.components - axes
    return AXES[:axes] + (TURNS[3 - turns :] if turns > 0 else ())


def shares(surface: Surface) -> Array:
    """Share (k,) of each node of a surface, in proportion to its area; they sum to 1."""
    areas = np.maximum(surface.areas, 0.0)
    total = float(areas.sum())
    return areas / total if total > 0.0 else np.full(areas.size, 1.0 / areas.size)


def surface_rows(linear: Linearised, surface: Surface, name: str) -> sp.csr_array:
    """Mean displacement of each component of a surface as rows (component, d).

    UserError, which begins with the name of the parameter, for a surface of a part outside the system, or where
    another part has taken over.
    """
    if all(surface.part is not part for part in linear.assembly.system.parts):
        raise UserError(outside(name, surface))
    layout, weights = linear.assembly.layout, sp.csr_array(shares(surface)[None])
    rows = [weights @ layout.rows(surface.part, surface.dofs[:, i]) for i in range(surface.part.components)]
    out = sp.csr_array(sp.vstack(rows, format="csr"))
    if linear.assembly.ghost[out.indices[out.data != 0.0]].any():
        raise UserError(
            f"{name}: '{surface.name}' of '{surface.part.name}' has nodes without weight, where a part that is glued "
            "to it has taken over: take its boundary"
        )
    return out


def imposed_coordinates(linear: Linearised, surface: Surface, component: str) -> Indices | None:
    """Coordinates of a component of a surface, None where it is not imposed at all nodes."""
    dofs = surface.dofs[:, component_names(surface).index(component)]
    rows = linear.assembly.layout.rows(surface.part, dofs)
    at = np.unique(rows.indices[rows.data != 0.0])
    return at if np.isin(at, linear.imposed).all() else None


def is_rotation(component: str) -> bool:
    """Whether a component is a rotation."""
    return component in TURNS


def check_part(linear: Linearised, surface: Surface, name: str) -> None:
    """UserError where a surface is of a part outside the system."""
    if all(surface.part is not part for part in linear.assembly.system.parts):
        raise UserError(outside(name, surface))


def outside(name: str, surface: Surface) -> str:
    """Message on a surface of a part outside the system."""
    return f"{name}: '{surface.name}' is a boundary of '{surface.part.name}', which is not in the system"


def check_surface(name: str, value: Any) -> None:
    """UserError where a value is no boundary of a part."""
    if not isinstance(value, Surface):
        raise UserTypeError.parameter(name, value, 'must be a part.boundary("name")')


@checked_call
@dataclass(frozen=True, eq=False)
class Force:
    """A harmonic force on a boundary, Re(F e^{iωt}), distributed over its nodes in proportion to their areas.

    amplitude: resultant, N: one number for each axis; on beams the moments about the axes, N·m, may follow. Complex
    numbers have phases.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> aq.frequency.Force(mass.boundary("all"), 1.0).unit
    'N'
    """

    surface: Surface
    amplitude: Any

    __repr__ = short_repr
    unit = "N"

    def __post_init__(self) -> None:
        check_surface("surface", self.surface)
        components, axes = self.surface.part.components, self.surface.positions.shape[1]
        values = np.atleast_1d(np.asarray(self.amplitude))
        if values.dtype.kind not in "iufc" or values.ndim != 1 or not np.isfinite(values).all():
            raise UserTypeError.parameter("amplitude", self.amplitude, "must be finite numbers")
        if values.size not in {axes, components}:
            rule = f"must have {' or '.join(str(n) for n in sorted({axes, components}))} components"
            raise UserError.parameter("amplitude", self.amplitude, rule)

    def amplitudes(self, linear: Linearised) -> tuple[Array, Array]:
        """Forces (d,), and nothing prescribed."""
        values = np.atleast_1d(np.asarray(self.amplitude)).astype(complex)
        rows = surface_rows(linear, self.surface, "load")[: values.size]
        return np.asarray(rows.T @ values), np.zeros(linear.imposed.size)


@checked_call
@dataclass(frozen=True, eq=False)
class BaseAcceleration:
    """The frame of all supports shaken by a uniform acceleration, m/s², one number for each axis; complex with phase.

    Displacements, velocities and accelerations are those relative to the frame, as under `System(…, gravity=)`: the
    load is −M a. The absolute acceleration of a point is its relative one plus a.

    >>> import arlequin as aq
    >>> aq.frequency.BaseAcceleration((0.0, 9.81)).unit
    'm/s^2'
    """

    amplitude: Any

    __repr__ = short_repr
    unit = "m/s^2"

    def __post_init__(self) -> None:
        values = np.atleast_1d(np.asarray(self.amplitude))
        if values.dtype.kind not in "iufc" or values.ndim != 1 or not np.isfinite(values).all():
            raise UserTypeError.parameter("amplitude", self.amplitude, "must be finite numbers, m/s²")

    def amplitudes(self, linear: Linearised) -> tuple[Array, Array]:
        """Forces −M a (d,), and nothing prescribed."""
        assembly = linear.assembly
        values = np.atleast_1d(np.asarray(self.amplitude)).astype(complex)
        axes = assembly.system.parts[0].positions.shape[1]
        if values.size != axes:
            raise UserError.parameter("amplitude", self.amplitude, f"must have {checks.components(axes)}")
        forces = []
        for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
            model = part.model if isinstance(part, MeshedPart) else None
            if isinstance(model, Continuum) and model.axisymmetric and values[0] != 0.0:
                rule = f"must be 0 along x, the radius of the axisymmetric part '{part.name}'"
                raise UserError.parameter("amplitude", self.amplitude, rule)
            along = (np.arange(part.dof_count)[:, None] % part.components == np.arange(axes)).astype(float)
            forces.append(-(assembled.uniform_inertia(along) @ values))
        return np.concatenate(forces), np.zeros(linear.imposed.size)


@checked_call
@dataclass(frozen=True, eq=False)
class SupportMotion:
    """A support that moves harmonically, Re(U e^{iωt}): a component imposed on a boundary, by `imposed` of its part.

    component: "x", "y", …, or a rotation of beams, "rx", …; amplitude U, m, rad for rotations.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> held = {"left": {"x": 0.0}}
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel, imposed=held)
    >>> aq.frequency.SupportMotion(bar.boundary("left"), "x").unit
    'm'
    """

    surface: Surface
    component: str
    amplitude: complex = 1.0

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_surface("surface", self.surface)
        checks.one_of("component", self.component, component_names(self.surface))
        if not np.isfinite(complex(self.amplitude)):
            raise UserError.parameter("amplitude", self.amplitude, "must be a finite number")

    @property
    def unit(self) -> str:
        """m, or rad of a rotation."""
        return "rad" if is_rotation(self.component) else "m"

    def amplitudes(self, linear: Linearised) -> tuple[Array, Array]:
        """No forces, and U on the imposed coordinates of the support."""
        check_part(linear, self.surface, "load")
        at = imposed_coordinates(linear, self.surface, self.component)
        if at is None:
            raise UserError(
                f"load: {self.component!r} of '{self.surface.name}' is not imposed on '{self.surface.part.name}' at "
                f"all nodes: give the part imposed={{{self.surface.name!r}: {{{self.component!r}: 0.0}}}}"
            )
        moved = np.isin(linear.imposed, at)
        return np.zeros(linear.dof_count), np.where(moved, complex(self.amplitude), 0.0)
