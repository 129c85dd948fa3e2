"""Quantities whose response is wanted: motions, forces of springs, supports and contact, stresses, section forces."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from arlequin.frequency.excitation import check_part, check_surface, component_names, surface_rows
from arlequin.frequency.linearised import Linearised
from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import MeshedPart, Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface


class Output(Protocol):
    """A linear quantity of the response."""

    @property
    def unit(self) -> str:
        """Its unit."""

    @property
    def label(self) -> str:
        """What it is, for axes of figures."""

    def rows(self, linear: Linearised) -> "OutputRows":
        """Its rows over the coordinates of a linearised system."""


@dataclass(frozen=True, eq=False)
class OutputRows:
    """y = (r₀ + iω r₁ − ω² r₂) u + m λ + f F, of displacements u (d,), multipliers λ (m,) and forces F (d,).

    motion (3, d): r₀, r₁, r₂; multiplier (m,), load (d,).
    """

    motion: Array
    multiplier: Array
    load: Array

    @classmethod
    def of(cls, linear: Linearised, *motion: Any, multiplier: Array | None = None, load: Array | None = None) -> Any:
        """The rows r₀, r₁, … given, the others 0."""
        rows = [np.asarray(row).ravel() for row in motion]
        rows += [np.zeros(linear.dof_count)] * (3 - len(rows))
        return cls(
            np.stack(rows),
            np.zeros(linear.constraints.shape[0]) if multiplier is None else multiplier,
            np.zeros(linear.dof_count) if load is None else load,
        )

    def displacement(self, frequency: float) -> Array:
        """r₀ + iω r₁ − ω² r₂ (d,) at a frequency, Hz."""
        rate = 2j * np.pi * frequency
        return self.motion[0] + rate * self.motion[1] + rate**2 * self.motion[2]


@dataclass(frozen=True, eq=False)
class _Motion:
    """The mean motion of a boundary along a component, weighted by the areas of its nodes."""

    surface: Surface
    component: str

    __repr__ = short_repr
    _order = 0

    def __post_init__(self) -> None:
        check_surface("surface", self.surface)
        checks.one_of("component", self.component, component_names(self.surface))

    @property
    def unit(self) -> str:
        base = "rad" if self.component.startswith("r") and len(self.component) == 2 else "m"
        return base + ("", "/s", "/s^2")[self._order]

    @property
    def label(self) -> str:
        return f"{type(self).__name__.lower()} {self.component} of '{self.surface.name}' of {self.surface.part.name}"

    def rows(self, linear: Linearised) -> OutputRows:
        check_part(linear, self.surface, "of")
        row = surface_rows(linear, self.surface)[component_names(self.surface).index(self.component)]
        none = np.zeros(linear.dof_count)
        return OutputRows.of(linear, *[none] * self._order, row)


@checked_call
class Displacement(_Motion):
    """Mean displacement of a boundary along a component, "x", "y", …, m, or of a beam about an axis, "rx", …, rad.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> aq.frequency.Displacement(mass.boundary("all"), "x").unit
    'm'
    """


@checked_call
class Velocity(_Motion):
    """Mean velocity of a boundary along a component, m/s; see `Displacement`.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> aq.frequency.Velocity(mass.boundary("all"), "x").unit
    'm/s'
    """

    _order = 1


@checked_call
class Acceleration(_Motion):
    """Mean acceleration of a boundary along a component, m/s²; see `Displacement`.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> aq.frequency.Acceleration(mass.boundary("all"), "x").unit
    'm/s^2'
    """

    _order = 2


@checked_call
@dataclass(frozen=True, eq=False)
class SpringForce:
    """Force of a spring on its first end, N, −k(1 + iη) e − iωc e, summed over its nodes; of vector springs the
    component, by number.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> aq.frequency.SpringForce(aq.Spring("hook", mass.boundary("all"), stiffness=1000.0)).unit
    'N'
    """

    spring: Spring
    component: int = 0

    __repr__ = short_repr
    unit = "N"

    def __post_init__(self) -> None:
        if not isinstance(self.spring, Spring):
            raise UserTypeError.parameter("spring", self.spring, "must be a Spring")
        checks.integer("component", self.component, 0, len(self.spring.frame) - 1)

    @property
    def label(self) -> str:
        """What it is."""
        return f"force of the spring {self.spring.name}"

    def rows(self, linear: Linearised) -> OutputRows:
        """The rows."""
        springs, links = linear.assembly.system.springs, linear.assembly.links
        at = [i for i, spring in enumerate(springs) if spring is self.spring]
        if not at:
            raise UserError(f"of: the spring '{self.spring.name}' is not in the system")
        each = slice(int(links.span[at[0]]) + self.component, int(links.span[at[0] + 1]), len(self.spring.frame))
        loss = linear.loss_factors[self.spring.name]
        rows = links.rows[each]
        stiffness = links.stiffness[each] * (1.0 + 1j * loss)
        return OutputRows.of(linear, -(rows.T @ stiffness), -(rows.T @ links.damping[each]))


@checked_call
@dataclass(frozen=True, eq=False)
class SupportForce:
    """Force of a support on the part, N (N·m about an axis): of a boundary on which the component is imposed.

    It is the residual of the dynamic equations there, with the inertia of the supported nodes and less the loads on
    them.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> held = {"left": {"x": 0.0}}
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel, imposed=held)
    >>> aq.frequency.SupportForce(bar.boundary("left"), "x").unit
    'N'
    """

    surface: Surface
    component: str

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_surface("surface", self.surface)
        checks.one_of("component", self.component, component_names(self.surface))

    @property
    def unit(self) -> str:
        """N, or N·m of a rotation."""
        return "N m" if self.component.startswith("r") and len(self.component) == 2 else "N"

    @property
    def label(self) -> str:
        """What it is."""
        return f"support force {self.component} on '{self.surface.name}' of {self.surface.part.name}"

    def rows(self, linear: Linearised) -> OutputRows:
        """The rows."""
        check_part(linear, self.surface, "of")
        assembly = linear.assembly
        dofs = self.surface.dofs[:, component_names(self.surface).index(self.component)]
        rows = assembly.layout.rows(self.surface.part, dofs)
        at = np.unique(rows.indices[rows.data != 0.0])
        if not np.isin(at, assembly.imposed_dofs).all():
            raise UserError(f"of: {self.component!r} is not imposed on '{self.surface.name}' at all nodes")
        chosen = np.zeros(linear.dof_count)
        chosen[at] = 1.0
        matrices = linear.stiffness + 1j * linear.structural, linear.damping, linear.mass
        rows = [matrix.T @ chosen for matrix in matrices]
        return OutputRows.of(linear, *rows, multiplier=linear.constraints @ chosen, load=-chosen)


@checked_call
@dataclass(frozen=True, eq=False)
class ContactForce:
    """Normal force on the slave of an interface, N: the sum over its points in contact.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> wall = aq.RigidPlane(point=0.0, normal=1.0)
    >>> stop = aq.Interface("stop", mass.boundary("all"), wall, aq.Penalty(1e6))
    >>> aq.frequency.ContactForce(stop).unit
    'N'
    """

    interface: Interface

    __repr__ = short_repr
    unit = "N"

    def __post_init__(self) -> None:
        if not isinstance(self.interface, Interface):
            raise UserTypeError.parameter("interface", self.interface, "must be an Interface")

    @property
    def label(self) -> str:
        """What it is."""
        return f"contact force of {self.interface.name}"

    def rows(self, linear: Linearised) -> OutputRows:
        """The rows."""
        contact, items = linear.contact, linear.assembly.contact.items
        at = [i for i, item in enumerate(items) if item is self.interface]
        if not at:
            raise UserError(f"of: the interface '{self.interface.name}' is not in the system")
        first, last = linear.assembly.contact.start[at[0] : at[0] + 2]
        chosen = contact.normal & (contact.points >= first) & (contact.points < last)
        stiffness, damping = (
            np.where(chosen & ~contact.tied, each, 0.0) for each in (contact.stiffness, contact.damping)
        )
        multiplier = np.zeros(linear.constraints.shape[0])
        multiplier[linear.junction_rows :] = -chosen[contact.tied].astype(float)
        rows = contact.rows.T
        return OutputRows.of(linear, -(rows @ stiffness), -(rows @ damping), multiplier=multiplier)


@dataclass(frozen=True, eq=False)
class _OfCell:
    """A quantity of a cell of a part, linear in its nodal displacements."""

    part: Any
    cell: int
    component: str

    __repr__ = short_repr

    def _values(self, u: Array) -> float:
        raise NotImplementedError

    def _checked_cell(self) -> None:
        checks.integer("cell", self.cell, 0, self.part.mesh.nelements - 1)

    def rows(self, linear: Linearised) -> OutputRows:
        """The rows: the quantity of unit displacements of the nodes of the cell."""
        if all(self.part is not part for part in linear.assembly.system.parts):
            raise UserError(f"of: the part '{self.part.name}' is not in the system")
        nodes = np.unique(self.part.model.basis.element_dofs[:, self.cell])
        dofs = (nodes[:, None] * self.part.components + np.arange(self.part.components)).ravel()
        unit, values = np.zeros(self.part.model.dof_count), np.zeros(dofs.size)
        for i, dof in enumerate(dofs):
            unit[dof] = 1.0
            values[i] = self._values(unit)
            unit[dof] = 0.0
        return OutputRows.of(linear, values @ linear.assembly.layout.rows(self.part, dofs))


@checked_call
class Stress(_OfCell):
    """Mean stress of a cell of a solid or a bar, Pa: a component of `part.stress_components`, as "xx".

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel)
    >>> aq.frequency.Stress(bar, 0, "xx").unit
    'Pa'
    """

    unit = "Pa"

    def __post_init__(self) -> None:
        if not isinstance(self.part, MeshedPart) or isinstance(self.part.model, Beam):
            raise UserTypeError.parameter("part", self.part, "must be a Solid or a Bar (of a beam take SectionForce)")
        self._checked_cell()
        checks.one_of("component", self.component, self.part.model.stress_components)

    @property
    def label(self) -> str:
        """What it is."""
        return f"stress {self.component} in cell {self.cell} of {self.part.name}"

    def _values(self, u: Array) -> float:
        at = self.part.model.stress_components.index(self.component)
        return float(self.part.model.stress(u)[self.cell, :, at].mean())


@checked_call
class SectionForce(_OfCell):
    """Section force of a beam at an end of a cell, N or N·m: "N", "V", "M" in the plane; "N", "Vy", "Vz", "Mx", "My",
    "Mz" in space, in local axes (`Beam.end_resultants`). end: 0 or 1.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> section = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)  # m
    >>> beam = aq.Beam.between("beam", (0.0, 0.0), (0.5, 0.0), 4, steel, section)
    >>> aq.frequency.SectionForce(beam, 0, "M").unit
    'N m'
    """

    end: int = 0

    def __init__(self, part: Any, cell: int, component: str, end: int = 0) -> None:
        super().__init__(part, cell, component)
        object.__setattr__(self, "end", end)
        if not isinstance(getattr(part, "model", None), Beam):
            raise UserTypeError.parameter("part", part, "must be a Beam")
        self._checked_cell()
        checks.one_of("component", component, self._names)
        checks.integer("end", end, 0, 1)

    @property
    def _names(self) -> tuple[str, ...]:
        return ("N", "V", "M") if self.part.model.dimension == 2 else ("N", "Vy", "Vz", "Mx", "My", "Mz")

    @property
    def unit(self) -> str:
        """N, or N·m of a moment."""
        return "N m" if self.component.startswith("M") else "N"

    @property
    def label(self) -> str:
        """What it is."""
        return f"section force {self.component} at end {self.end} of cell {self.cell} of {self.part.name}"

    def _values(self, u: Array) -> float:
        return float(self.part.model.end_resultants(u)[self.cell, self.end, self._names.index(self.component)])
