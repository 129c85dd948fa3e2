"""Modal reduction: a part in the coordinates of its lowest vibration modes and of static shapes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csc_array, csr_array, diags_array, hstack

from arlequin.models import checks
from arlequin.models.beams.assembled import BeamAssembled
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.short_waves import ShortWaveDamping
from arlequin.models.linalg.lowest import lowest_modes
from arlequin.models.materials.elastic import Rayleigh, check_density
from arlequin.models.nodal import DelegatingPart, ExternalLoads, LinearCoordinates, Loaded, LoadedCoordinates
from arlequin.models.part import Assembled, Imposed, Surface, Weighting
from arlequin.models.reduction.rigid_modes import Flexibility
from arlequin.models.reduction.static_shapes import diagonalised, enriched
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class ModalAssembled(Loaded, LinearCoordinates):
    """M, K, D, loads and imposed motions in the coordinates (q, s): u = Φ q + Ψ' s, s the displacements of supports.

    Φ (nodal, r) are M-orthonormal shapes at rest on the supports, of squares ω² (r,). Ψ (nodal, g) are the static
    displacements under a unit motion of each support, and Ψ' = Ψ − Φ C, C = ΦᵀMΨ, their M-orthogonal complement to Φ,
    so that q are the modal coordinates of the absolute motion. With e = q − C s, the motion relative to Ψ s,

        E = ½ Σ ω² e² + ½ |G s|²,   GᵀG = ΨᵀKΨ,    M = diag(1, Ψ'ᵀMΨ'),    viscous force of ratios ζ: 2 ζ ω ė.

    A fluid's drag D (nodal, nodal) resists the absolute motion: SᵀDS. basis: Φ; support_shapes: Ψ'; loads: Sᵀ f.

    Source: Craig & Bampton, AIAA J. 6, 1968; Clough & Penzien, Dynamics of Structures, 1993, §26 (multiple supports).
    """

    nodal: Assembled
    basis: Array
    squares: Array
    supports: tuple[Imposed, ...]
    support_shapes: Array
    support_strains: Array
    coupling: Array
    rayleigh: tuple[float, float]
    ratios: Array | None
    drag: csr_array | None
    loads: ExternalLoads

    def carrying(self, nodal: Any) -> "ModalAssembled":
        """The same shapes with the loads of the part as assembled now."""
        return replace(self, nodal=nodal, loads=nodal.loads.projected(self.shapes))

    @cached_property
    def shapes(self) -> Array:
        """S = (Φ, Ψ') (nodal, d), full."""
        return np.column_stack([self.basis, self.support_shapes]) if self.supports else self.basis

    def nodal_motion(self, u: Array, v: Array) -> tuple[Array, Array]:
        """S u and S v (f, nodal), bitwise independent of the number f of fields."""
        return tuple(np.array([self.shapes @ x for x in field]) for field in (u, v))  # type: ignore[return-value]

    @property
    def inertia(self) -> csr_array:
        """Mass matrix (nodal, nodal) of the finite elements, kg."""
        return self.nodal.mass

    @property
    def gravitational_mass(self) -> csr_array:
        """Mass matrix (nodal, nodal) on which gravity acts, kg."""
        return self.nodal.gravitational_mass

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """q = ΦᵀM u of the nodal field with the supports at the values s (g,); nan: the mean of the field there."""
        field = field.copy()
        for motion in self.nodal.imposed:
            if motion.rest:
                field[motion.dofs] = 0.0
        means = np.array([field[support.dofs].mean() for support in self.supports])
        values = np.where(np.isnan(imposed), means, imposed)
        for support, value in zip(self.supports, values, strict=True):
            field[support.dofs] = value
        return np.concatenate([self.basis.T @ (self.nodal.mass @ field), values])

    @cached_property
    def mass(self) -> csr_array:
        """diag(1, Ψ'ᵀMΨ') (d, d): kg in the columns of the supports."""
        support_mass = self.support_shapes.T @ (self.nodal.mass @ self.support_shapes)
        blocks = [sp.eye_array(self.squares.size), sp.csr_array(0.5 * (support_mass + support_mass.T))]
        return csr_array(sp.block_diag(blocks, format="csr"))

    @cached_property
    def stiffness(self) -> csr_array:
        """SᵀKS (d, d)."""
        supports = sp.block_diag(
            [sp.csr_array((self.squares.size,) * 2), sp.csr_array(self.support_strains.T @ self.support_strains)]
        )
        return csr_array(self._relative(self.squares) + supports)

    @cached_property
    def damping(self) -> csr_array | None:
        """Modal damping of the ratios, or a M + b K of the part, plus the drag SᵀDS; None where there is neither."""
        a, b = self.rayleigh
        structural = None
        if self.ratios is not None:
            structural = self._relative(2.0 * self.ratios * np.sqrt(self.squares))
        elif a or b:
            structural = csr_array(a * self.mass + b * self.stiffness)
        if self.drag is None:
            return structural
        fluid = self.shapes.T @ (self.drag @ self.shapes)
        drag = csr_array(0.5 * (fluid + fluid.T))
        return drag if structural is None else csr_array(structural + drag)

    @cached_property
    def _to_relative(self) -> csr_array:
        """T (r, d), e = T (q, s)."""
        return csr_array(sp.hstack([sp.eye_array(self.squares.size), csr_array(-self.coupling)], format="csr"))

    def _relative(self, values: Array) -> csr_array:
        """Tᵀ diag(values) T (d, d)."""
        product = csr_array(self._to_relative.T @ sp.diags_array(values) @ self._to_relative)
        product.eliminate_zeros()
        return product

    @cached_property
    def imposed(self) -> tuple[Imposed, ...]:
        """The motions of the supports, each on its coordinate."""
        first = self.squares.size
        return tuple(
            replace(support, dofs=np.array([first + i]), function=_value(support.function))
            for i, support in enumerate(self.supports)
        )

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N (kg½ m/s² on modes) and stored energy in J."""
        if u.shape != (self.shapes.shape[1],):
            raise UserError(f"coordinates of shape {u.shape}, expected ({self.shapes.shape[1]},)")
        q, s = u[: self.squares.size], u[self.squares.size :]
        relative = q - self.coupling @ s
        modal_forces, strain = self.squares * relative, self.support_strains @ s
        energy = 0.5 * float(modal_forces @ relative) + 0.5 * float(strain @ strain)
        return np.concatenate([modal_forces, self.support_strains.T @ strain - self.coupling.T @ modal_forces]), energy

    def strain_form(self) -> tuple[csr_array, Array]:
        """e = q − C s of the modes that are strained, with ω², and G s with 1."""
        elastic = self.squares > 0.0
        relative = self._to_relative[np.flatnonzero(elastic)]
        support_rows = sp.hstack([csr_array((len(self.supports), self.squares.size)), csr_array(self.support_strains)])
        rows = csr_array(sp.vstack([relative, support_rows], format="csr"))
        return rows, np.concatenate([self.squares[elastic], np.ones(len(self.supports))])

    def highest_frequency(self) -> float:
        """Highest angular frequency of the shapes, rad/s."""
        return math.sqrt(float(self.squares.max(initial=0.0)))


def _value(function: Callable[[float], Array]) -> Callable[[float], Array]:
    """The value of a uniform motion at its first dof."""
    return lambda t: function(t)[:1]


_DENSE = 300  # free dofs up to which all modes are computed
_UNSTABLE = 1e-12  # negative square of a frequency, relative to the largest, beyond round-off


class Basis(NamedTuple):
    """Shapes Φ (nodal, r), ΦᵀMΦ = 1, ΦᵀKΦ = diag(ω²), and squares ω² (r,), rad²/s², increasing."""

    shapes: Array
    squares: Array


def modal_basis(flexibility: Flexibility, modes: int, forces: csc_array, highest: float) -> Basis:
    """The lowest modes, up to the angular frequency `highest`, and the static shapes G f of forces (nodal, k).

    (K − ω² M) φ = 0, imposed dofs at rest; rigid motions count as modes, with ω = 0 exactly. The static shapes are
    M-orthogonalised against the modes, and the reduced eigenproblem is solved again: they become further, higher modes
    (`enriched`).
    Source: Craig & Kurdila, Fundamentals of Structural Dynamics, 2006, §17.5; MacNeal, Comput. Struct. 1, 1971.
    """
    assembled, rigid = flexibility.assembled, flexibility.rigid
    count, free_dofs = rigid.shape[1], flexibility.free.size
    if not count <= modes <= free_dofs:
        rule = f"must be in [{count}, {free_dofs}], from the rigid motions to the free degrees of freedom"
        raise UserError.parameter("modes", modes, rule)
    elastic = _vibrations(flexibility, modes - count)
    forces_of = _internal(assembled, elastic)
    squares = np.einsum("dr,dr->r", elastic, forces_of)
    if squares.min(initial=0.0) < -_UNSTABLE * np.abs(squares).max(initial=0.0):
        raise UserError("the part is not stable at rest: it is compressed beyond its buckling load")
    selected = squares <= highest**2
    stiffness = np.zeros((count + selected.sum(),) * 2)
    stiffness[count:, count:] = elastic[:, selected].T @ forces_of[:, selected]
    basis = np.concatenate([rigid, elastic[:, selected]], axis=1)
    return Basis(*diagonalised(assembled, count, enriched(flexibility, basis, stiffness, forces)))


def _vibrations(flexibility: Flexibility, count: int) -> Array:
    """The lowest elastic modes (nodal, count), by shift-invert Lanczos; for a small part by a dense eigensolver.

    The flexibility G of the pencil has the eigenvalues 1/ω², and 0 for the rigid motions.
    Source: Ericsson & Ruhe, Mathematics of Computation 35, 1980.
    """
    assembled, free = flexibility.assembled, flexibility.free
    size, rigid = free.size, flexibility.rigid.shape[1]
    out = np.zeros((assembled.mass.shape[0], count))
    if not count:
        return out
    mass, stiffness = (matrix[free][:, free] for matrix in (assembled.mass, assembled.stiffness))
    if size <= _DENSE or 2 * count > size:
        _, vectors = scipy.linalg.eigh(stiffness.toarray(), mass.toarray())
        out[free] = vectors[:, rigid : rigid + count]
    else:

        def flexible(b: Array) -> Array:
            forces = np.zeros(out.shape[0])
            forces[free] = b
            return flexibility.solve(forces)[free]

        unit = float((stiffness.diagonal() / mass.diagonal()).mean())
        _, out[free] = lowest_modes(stiffness, mass, count, flexible, unit=unit)
    return _orthonormal(assembled, flexibility.elastic(out))


def _orthonormal(assembled: Assembled, fields: Array) -> Array:
    """Fields (nodal, k) made M-orthonormal, to round-off."""
    gram = fields.T @ (assembled.mass @ fields)
    return np.asarray(scipy.linalg.solve_triangular(np.linalg.cholesky(gram), fields.T, lower=True).T)


def _internal(assembled: Assembled, fields: Array) -> Array:
    """Internal forces (nodal, k) of fields, from strains."""
    forces = [assembled.internal(np.ascontiguousarray(field))[0] for field in fields.T]
    return np.stack(forces, axis=1) if forces else np.zeros_like(fields)


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class Modal(DelegatingPart):
    """A bar, beam or solid reduced to its lowest vibration modes, under the part's name.

    modes: how many (rigid motions of a floating part count); frequency: the highest kept, Hz, if not all. static:
    boundaries of the part: the displacement under a unit force along each axis, shared among a boundary's nodes as its
    area is (of a floating part under forces of inertia too), is added to the shapes, so that statics under such forces
    is exact. detailed: boundaries of which each node has its own such forces: statics under any forces on them is
    exact. Name the boundaries with contact, supports or loads; those of junctions are added (`assemble`). Linearly
    dependent shapes are left out. The shapes are one dense array, 8 B × dofs × shapes. damping: viscous ratio ζ of all
    modes, or one for each with the last one for all that follow; by default the Rayleigh damping of the part. A beam's
    `fluid_damping` is added to both. Supports with imposed motions other than 0 move the part by their static shapes.
    All nodes have mass ("redistributed" counts as "consistent"). Initial fields are projected M-orthogonally on the
    shapes.

    >>> from arlequin.models.fem.bar import Bar
    >>> from arlequin.models.materials.elastic import LinearElastic
    >>> from arlequin.models.mesh import interval
    >>> bar = Bar("bar", interval(0.0, 1.0, cells=50), LinearElastic(young=1.0, density=1.0))
    >>> free = Modal(bar, 3).frequencies
    >>> print([round(float(f), 3) for f in free])
    [0.0, 0.5, 1.001]
    """

    part: Continuum | Beam
    modes: int = 10
    static: Sequence[Surface] = field(default=(), kw_only=True)
    detailed: Sequence[Surface] = field(default=(), kw_only=True)
    damping: float | Sequence[float] | None = field(default=None, kw_only=True)
    frequency: float | None = field(default=None, kw_only=True)
    _cached: list["_Reduction"] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.part, Continuum | Beam):
            raise UserTypeError.parameter("part", self.part, "must be a Bar, a Beam or a Solid")
        if isinstance(self.part.damping, ShortWaveDamping):
            raise UserError(f"part '{self.part.name}': a modal part takes no ShortWaveDamping: it has no short waves")
        checks.positive_integer("modes", self.modes)
        for name, surfaces in (("static", self.static), ("detailed", self.detailed)):
            rule = f"must be boundaries of the part: '{self.name}'.boundary(\"name\")"
            for surface in checks.items(name, surfaces, Surface, rule):
                if surface.part is not self.part:
                    raise UserError.parameter(name, surface, rule)
        if self.frequency is not None:
            checks.positive("frequency", self.frequency)
            check_density(self.name, self.part.material, "to choose modes by their frequency")
        if self.damping is not None:
            ratios = checks.finite_array("damping", self.damping)
            if ratios.ndim > 1 or not ratios.size or (ratios < 0.0).any():
                raise UserError.parameter("damping", self.damping, "must be a ratio not below 0, or one for each mode")

    def __repr__(self) -> str:
        return f"Modal({self.part!r}, {self.modes})"

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies (r,), Hz, those of the static shapes among them."""
        check_density(self.name, self.part.material, "for natural frequencies")
        return np.sqrt(self._unweighted.squares) / (2 * np.pi)

    def assemble(
        self, weighting: Weighting | None = None, massless: Indices | None = None, pulls: Sequence[csr_array] = ()
    ) -> ModalAssembled:
        """The reduced part; under weights its shapes are those of the weighted part. The last result is cached.

        pulls: operators (m, nodal) of junctions, whose multipliers load the part: statics under them is exact.
        """
        if weighting is None and not pulls:
            return self._unweighted
        for cached in self._cached:
            if cached.matches(weighting, pulls):
                return cached.assembled
        reduced = self._reduced(weighting, pulls)
        self._cached[:] = [_Reduction(weighting, tuple(pulls), reduced)]
        return reduced

    def carrying(self, part: Continuum | Beam) -> "Modal":
        """The same shapes for a part that differs in its loads only; UserError where it differs otherwise."""
        if part.mesh is not self.part.mesh or part.material is not self.part.material:
            raise UserError(f"'{part.name}': has another mesh or material, not only other loads: reduce it anew")

        def on(surfaces: Sequence[Surface]) -> list[Surface]:
            return [replace(surface, part=part) for surface in surfaces]

        other = replace(self, part=part, static=on(self.static), detailed=on(self.detailed))
        for cached in self._cached:
            loaded = cached.assembled.carrying(part.assemble(cached.weighting))
            other._cached.append(replace(cached, assembled=loaded))
        return other

    def take_over(self, other: "Modal") -> None:
        """Copy the cached reductions of `other`, whose parameters must be the same."""
        self._cached[:] = other._cached
        if "_unweighted" in vars(other):
            vars(self)["_unweighted"] = other._unweighted

    @cached_property
    def _unweighted(self) -> ModalAssembled:
        return self._reduced(None, ())

    def _reduced(self, weighting: Weighting | None, pulls: Sequence[csr_array]) -> ModalAssembled:
        nodal = self.part.assemble(weighting)
        assert isinstance(nodal, LoadedCoordinates)
        flexibility = Flexibility.of(self.part, nodal)
        highest = math.inf if self.frequency is None else 2 * np.pi * self.frequency
        free = np.zeros(self.dof_count)
        free[flexibility.free] = 1.0
        forces = csc_array(diags_array(free) @ self._forces(pulls))
        basis, squares = modal_basis(flexibility, self.modes, forces, highest)
        supports = tuple(item for item in nodal.imposed if not item.rest)
        support_displacements = _support_shapes(flexibility, supports)
        coupling = basis.T @ (nodal.mass @ support_displacements)
        support_shapes = support_displacements - basis @ coupling
        shapes = np.column_stack([basis, support_shapes]) if supports else basis
        damping = self.part.damping
        return ModalAssembled(
            nodal=nodal,
            basis=basis,
            squares=squares,
            supports=supports,
            support_shapes=support_shapes,
            support_strains=_support_strains(nodal, support_displacements),
            coupling=coupling,
            rayleigh=(damping.mass, damping.stiffness) if isinstance(damping, Rayleigh) else (0.0, 0.0),
            ratios=self._ratios(squares.size),
            drag=nodal.drag if isinstance(nodal, BeamAssembled) else None,
            loads=nodal.loads.projected(shapes),
        )

    def _forces(self, pulls: Sequence[csr_array]) -> csc_array:
        """Forces (nodal, k): 1 N along each axis on each static boundary, on each node of the detailed ones; pulls."""
        columns = [csc_array((self.dof_count, 0))]
        for surface in self.static:
            areas = np.maximum(surface.areas, 0.0)
            shares = np.kron((areas / areas.sum())[:, None], np.eye(surface.positions.shape[1]))
            columns.append(csc_array(surface.motion.T @ shares))
        columns.extend(csc_array(surface.motion.T) for surface in self.detailed)
        columns.extend(csc_array(operator.T) for operator in pulls)
        return csc_array(hstack(columns, format="csc"))

    def _ratios(self, count: int) -> Array | None:
        if self.damping is None:
            return None
        ratios = np.atleast_1d(np.asarray(self.damping, dtype=float))[:count]
        return np.concatenate([ratios, np.full(count - ratios.size, ratios[-1])])


@dataclass(frozen=True, eq=False)
class _Reduction:
    """A reduced part with the weights and pulls of its reduction."""

    weighting: Weighting | None
    pulls: tuple[csr_array, ...]
    assembled: ModalAssembled

    def matches(self, weighting: Weighting | None, pulls: Sequence[csr_array]) -> bool:
        """Whether the weights and pulls are the same."""
        if (self.weighting is None) != (weighting is None) or len(self.pulls) != len(pulls):
            return False
        if self.weighting is not None and weighting is not None:
            kinds = ("stiffness", "mass", "load")
            if not all(np.array_equal(getattr(self.weighting, kind), getattr(weighting, kind)) for kind in kinds):
                return False
        return all(a.shape == b.shape and (a != b).nnz == 0 for a, b in zip(self.pulls, pulls, strict=True))


def _support_shapes(flexibility: Flexibility, supports: Sequence[Imposed]) -> Array:
    """Static displacements Ψ (nodal, g) under a unit motion of each support, the others at rest."""
    assembled, free = flexibility.assembled, flexibility.free
    displacements = np.zeros((assembled.mass.shape[0], len(supports)))
    for i, support in enumerate(supports):
        displacements[support.dofs, i] = 1.0
    reactions = np.zeros_like(displacements)
    reactions[free] = (assembled.stiffness @ displacements)[free]
    return displacements - flexibility.solve(reactions) if supports else displacements


def _support_strains(nodal: Assembled, displacements: Array) -> Array:
    """G (g, g), GᵀG = ΨᵀKΨ; for a common rigid motion of all supports G s = 0 to round-off."""
    stiffness = displacements.T @ (nodal.stiffness @ displacements)
    _, vectors = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
    energies = [nodal.internal(np.ascontiguousarray(shape))[1] for shape in (displacements @ vectors).T]
    return np.sqrt(2.0 * np.array(energies))[:, None] * vectors.T
