"""Quantities whose response is wanted: motions, forces of springs, supports and contact, stresses, section forces."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.excitation import (
    check_part,
    check_surface,
    component_names,
    imposed_coordinates,
    is_rotation,
    surface_rows,
)
from arlequin.frequency.linearised import Linearised, spring_points
from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.stress import SIX
from arlequin.models.lumped.bushings import Bushing
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import MeshedPart, Nonlinear, PathDependent, Surface
from arlequin.models.reduction.modal import Modal
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.results.history import AXES

_SHIFT = 1e-6  # s, relative to the mean ratio of stiffness and mass
_DIFFERENCE = 1e-7  # m, steps of the derivative of the stress of a nonlinear part, relative to its size


@dataclass(frozen=True, eq=False)
class OutputRows:
    """y = (r₀ + iω r₁ − ω² r₂) u + m λ + f F, of displacements u (d,), multipliers λ (m,) and forces F (d,).

    motion: r₀, r₁, r₂ (o, d); multiplier (o, m), load (o, d), of o outputs.
    """

    motion: tuple[Any, Any, Any]
    multiplier: Any
    load: Any

    @classmethod
    def of(cls, linear: Linearised, *motion: Any, multiplier: Any = None, load: Any = None) -> "OutputRows":
        """The rows r₀, r₁, … given, the others 0."""
        none = sp.csr_array((1, linear.dof_count))
        rows = [sp.csr_array(np.atleast_2d(row) if isinstance(row, np.ndarray) else row) for row in motion]
        r0, r1, r2 = [*rows, *[none] * (3 - len(rows))]
        if multiplier is None:
            multiplier = sp.csr_array((1, linear.constraints.shape[0]))
        return cls((r0, r1, r2), multiplier, none if load is None else load)

    @classmethod
    def stacked(cls, rows: Sequence["OutputRows"]) -> "OutputRows":
        """Several outputs, one below the other."""

        def stack(each: list[Any]) -> sp.csr_array:
            return sp.csr_array(sp.vstack([sp.csr_array(matrix) for matrix in each], format="csr"))

        r0, r1, r2 = (stack([row.motion[k] for row in rows]) for k in range(3))
        return cls((r0, r1, r2), stack([row.multiplier for row in rows]), stack([row.load for row in rows]))

    def at(self, frequency: float) -> Array:
        """r₀ + iω r₁ − ω² r₂ (o, d) at a frequency, Hz."""
        rate = 2j * np.pi * frequency
        return np.asarray(sum(rate**k * row for k, row in enumerate(self.motion) if row.nnz).toarray())

    @property
    def forces(self) -> Array:
        """r₀ᵀ, r₁ᵀ, r₂ᵀ (d, k) side by side, those that are not 0: forces under which the outputs are work."""
        columns = [row.T.toarray() for row in self.motion if row.nnz]
        return np.concatenate(columns, axis=1) if columns else np.zeros((self.motion[0].shape[1], 0))

    def without_multipliers(self, factors: Factors) -> "OutputRows":
        """The same outputs of the forces and displacements, as the reduced equations have no multipliers.

        With z of C z = mᵀ, mᵀλ = zᵀ Cᵀλ = zᵀ (F − A u): that of the least energy zᵀ(K + sM) z.
        """
        if not self.multiplier.nnz:
            return self
        linear = factors.linear
        none = np.zeros((linear.dof_count, self.multiplier.shape[0]))
        shifted = factors.still.shifted(_SHIFT * factors.still.mean_ratio)
        z = shifted.adjoint(none, self.multiplier.T.toarray())[0].T
        matrices = linear.stiffness + 1j * linear.structural, linear.damping, linear.mass
        r0, r1, r2 = (
            sp.csr_array(row - sp.csr_array(z @ matrix)) for row, matrix in zip(self.motion, matrices, strict=True)
        )
        return OutputRows((r0, r1, r2), sp.csr_array(self.multiplier.shape), sp.csr_array(self.load + sp.csr_array(z)))


@runtime_checkable
class Output(Protocol):
    """A linear quantity of the response."""

    @property
    def unit(self) -> str:
        """Its unit."""

    @property
    def label(self) -> str:
        """What it is, for axes of figures."""

    def rows(self, linear: Linearised) -> OutputRows:
        """Its rows over the coordinates of a linearised system."""


@dataclass(frozen=True, eq=False)
class _OfComponent(Output):
    """A quantity of a component of a boundary."""

    surface: Surface
    component: str

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_surface("surface", self.surface)
        checks.one_of("component", self.component, component_names(self.surface))

    @property
    def _place(self) -> str:
        return f"{self.component} of '{self.surface.name}' of {self.surface.part.name}"


class _Motion(_OfComponent):
    """The mean motion of a boundary along a component, weighted by the areas of its nodes."""

    _order = 0

    @property
    def unit(self) -> str:
        """m, m/s, m/s², or rad, … of a rotation."""
        return ("rad" if is_rotation(self.component) else "m") + ("", "/s", "/s^2")[self._order]

    @property
    def label(self) -> str:
        return f"{type(self).__name__.lower()} {self._place}"

    def rows(self, linear: Linearised) -> OutputRows:
        number = component_names(self.surface).index(self.component)
        none = sp.csr_array((1, linear.dof_count))
        return OutputRows.of(linear, *[none] * self._order, surface_rows(linear, self.surface, "of")[[number]])


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
class SpringForce(Output):
    """Force of a spring on its first end, −k(1 + iη) e − iωc e, summed over its nodes, N; with a law the tangent of the
    law adds to k.

    component: number of the axis of a spring along all axes; of a `Bushing` in the order of its stiffness, rotations in
    N·m.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> aq.frequency.SpringForce(aq.Spring("hook", mass.boundary("all"), stiffness=1000.0)).unit
    'N'
    """

    spring: Spring
    component: int = 0

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(self.spring, Spring):
            raise UserTypeError.parameter("spring", self.spring, "must be a Spring")
        checks.integer("component", self.component, 0, len(self.spring.frame) - 1)

    @property
    def unit(self) -> str:
        """N, or N·m of a rotation of a bushing."""
        rotates = isinstance(self.spring, Bushing) and is_rotation(self.spring.components[self.component])
        return "N m" if rotates else "N"

    @property
    def label(self) -> str:
        return f"force of the spring {self.spring.name}, component {self.component}"

    def rows(self, linear: Linearised) -> OutputRows:
        springs, links = linear.assembly.system.springs, linear.assembly.links
        at = [i for i, spring in enumerate(springs) if spring is self.spring]
        if not at:
            raise UserError(f"of: the spring '{self.spring.name}' is not in the system")
        count = len(self.spring.frame)
        each = slice(int(links.span[at[0]]) + self.component, int(links.span[at[0] + 1]), count)
        factor = 1.0 + 1j * linear.loss_factors[self.spring.name]
        static, rate = (
            -factor * (links.rows[each].T @ links.stiffness[each]),
            -(links.rows[each].T @ links.damping[each]),
        )
        contact = linear.contact
        for item, first, _ in spring_points(linear.assembly):
            if item.spring is self.spring:
                points = first + np.flatnonzero(item.chosen % count == self.component)
                acting = np.isin(contact.points, points)
                static = static - factor * (contact.rows[acting].T @ contact.stiffness[acting])
                rate = rate - contact.rows[acting].T @ contact.damping[acting]
        return OutputRows.of(linear, static, rate)


@checked_call
class SupportForce(_OfComponent):
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

    @property
    def unit(self) -> str:
        """N, or N·m of a rotation."""
        return "N m" if is_rotation(self.component) else "N"

    @property
    def label(self) -> str:
        return f"support force {self._place}"

    def rows(self, linear: Linearised) -> OutputRows:
        check_part(linear, self.surface, "of")
        at = imposed_coordinates(linear, self.surface, self.component)
        if at is None:
            raise UserError(f"of: {self.component!r} is not imposed on '{self.surface.name}' at all nodes")
        chosen = sp.csr_array((np.ones(at.size), (np.zeros(at.size, dtype=int), at)), shape=(1, linear.dof_count))
        matrices = linear.stiffness + 1j * linear.structural, linear.damping, linear.mass
        rows = [sp.csr_array(chosen @ matrix) for matrix in matrices]
        return OutputRows.of(linear, *rows, multiplier=sp.csr_array(chosen @ linear.constraints.T), load=-chosen)


@checked_call
@dataclass(frozen=True, eq=False)
class ContactForce(Output):
    """Force on the slave of an interface, N: the sum over its points in contact.

    component: "normal", the sum of the normal forces, > 0 in compression, or "x", "y", "z", a component of the
    resultant with friction.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> wall = aq.RigidPlane(point=0.0, normal=1.0)
    >>> stop = aq.Interface("stop", mass.boundary("all"), wall, aq.Penalty(1e6))
    >>> aq.frequency.ContactForce(stop).unit
    'N'
    """

    interface: Interface
    component: str = "normal"

    __repr__ = short_repr
    unit = "N"

    def __post_init__(self) -> None:
        if not isinstance(self.interface, Interface):
            raise UserTypeError.parameter("interface", self.interface, "must be an Interface")
        checks.one_of("component", self.component, ("normal", *AXES[: self.interface.slave.positions.shape[1]]))

    @property
    def label(self) -> str:
        return f"contact force {self.component} of {self.interface.name}"

    def rows(self, linear: Linearised) -> OutputRows:
        contact, items = linear.contact, linear.assembly.contact.items
        at = [i for i, item in enumerate(items) if item is self.interface]
        if not at:
            raise UserError(f"of: the interface '{self.interface.name}' is not in the system")
        first, last = linear.assembly.contact.start[at[0] : at[0] + 2]
        of_interface = (contact.points >= first) & (contact.points < last)
        along = contact.normal if self.component == "normal" else contact.directions[:, AXES.index(self.component)]
        shares = np.where(of_interface, along, 0.0)
        compliant = np.where(contact.tied, 0.0, shares)
        tied = contact.tied & (shares != 0.0)
        numbers = linear.multipliers_of(tied)
        multiplier = sp.csr_array(
            (-shares[tied], (np.zeros(numbers.size, dtype=int), numbers)), shape=(1, linear.constraints.shape[0])
        )
        rows = contact.rows.T
        static, rate = (-(rows @ (compliant * values)) for values in (contact.stiffness, contact.damping))
        return OutputRows.of(linear, static, rate, multiplier=multiplier)


@dataclass(frozen=True, eq=False)
class _OfCell(Output):
    """A quantity of a cell of a part."""

    part: Any
    cell: int
    component: str

    __repr__ = short_repr

    def _values(self, linear: Linearised, dofs: Array) -> Array:
        """Derivatives (k,) by the nodal displacements `dofs` (k,)."""
        raise NotImplementedError

    def _check_cell(self) -> None:
        checks.integer("cell", self.cell, 0, self.part.mesh.nelements - 1)

    def rows(self, linear: Linearised) -> OutputRows:
        """The rows over the displacements of the nodes of the cell."""
        if all(self.part is not part for part in linear.assembly.system.parts):
            raise UserError(f"of: the part '{self.part.name}' is not in the system")
        nodes = np.unique(self.part.model.basis.element_dofs[:, self.cell])
        dofs = (nodes[:, None] * self.part.components + np.arange(self.part.components)).ravel()
        values = sp.csr_array(self._values(linear, dofs)[None])
        return OutputRows.of(linear, sp.csr_array(values @ linear.assembly.layout.rows(self.part, dofs)))


@checked_call
@dataclass(frozen=True, eq=False)
class Stress(_OfCell):
    """Mean stress of a cell of a solid or a bar, Pa: a component of `part.stress_components`, as "xx".

    Of nonlinear materials and finite kinematics the derivative of Cauchy's stress at the start, at constant internal
    variables.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel)
    >>> aq.frequency.Stress(bar, 0, "xx").unit
    'Pa'
    """

    __repr__ = short_repr
    unit = "Pa"

    def __post_init__(self) -> None:
        model = self.part.model if isinstance(self.part, MeshedPart) else None
        if not isinstance(model, Continuum):
            raise UserTypeError.parameter("part", self.part, "must be a Solid or a Bar (of a beam take SectionForce)")
        self._check_cell()
        checks.one_of("component", self.component, model.stress_components)

    @property
    def label(self) -> str:
        return f"stress {self.component} in cell {self.cell} of {self.part.name}"

    def _values(self, linear: Linearised, dofs: Array) -> Array:
        number = linear.assembly.system.parts.index(self.part)
        assembled, model, memory = linear.assembly.parts[number], self.part.model, linear.memory[number]
        weights = np.asarray(model.basis.dx)[self.cell]
        weights = weights / weights.sum()
        at = model.stress_components.index(self.component)
        letters = {letter: "xyz"[i] for i, letter in enumerate("rzt" if model.axisymmetric else "xyz")}
        of_six = SIX.index("".join(sorted(letters[letter] for letter in self.component)))

        def mean(u: Array) -> float:
            if isinstance(assembled, PathDependent):
                return float(assembled.mean_stress(u, memory)[self.cell, of_six])
            return float(weights @ model.stress(u)[self.cell, :, at])

        state, step = np.zeros(model.dof_count), 1.0
        if isinstance(assembled, Nonlinear | PathDependent):
            state = linear.state[linear.assembly.places[number]]
            step = _DIFFERENCE * float(np.ptp(model.positions, axis=0).max())
        values = np.zeros(dofs.size)
        for i, dof in enumerate(dofs.tolist()):
            for sign in (1.0, -1.0):
                u = state.copy()
                u[dof] += sign * step
                values[i] += 0.5 * sign / step * mean(u)
        return values


@checked_call
@dataclass(frozen=True, eq=False)
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

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(self.part, Beam | Modal) or not isinstance(self.part.model, Beam):
            raise UserTypeError.parameter("part", self.part, "must be a Beam")
        self._check_cell()
        checks.one_of("component", self.component, self._names)
        checks.integer("end", self.end, 0, 1)

    @property
    def _names(self) -> tuple[str, ...]:
        return ("N", "V", "M") if self.part.model.dimension == 2 else ("N", "Vy", "Vz", "Mx", "My", "Mz")

    @property
    def unit(self) -> str:
        """N, or N·m of a moment."""
        return "N m" if self.component.startswith("M") else "N"

    @property
    def label(self) -> str:
        return f"section force {self.component} at end {self.end} of cell {self.cell} of {self.part.name}"

    def _values(self, linear: Linearised, dofs: Array) -> Array:
        model, at = self.part.model, self._names.index(self.component)
        unit, values = np.zeros(model.dof_count), np.zeros(dofs.size)
        for i, dof in enumerate(dofs.tolist()):
            unit[dof] = 1.0
            values[i] = model.end_resultants(unit)[self.cell, self.end, at]
            unit[dof] = 0.0
        return values
