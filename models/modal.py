"""Modal reduction: a part that moves in its lowest modes and static shapes only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, hstack

from models import checks
from models.beam import Beam
from models.beam_assembled import BeamAssembled
from models.continuum import Continuum
from models.errors import UserError
from models.modal_assembled import ModalAssembled
from models.modal_basis import modal_basis
from models.nodal import Loaded
from models.part import Assembled, Imposed, Surface, Weighting
from models.rigid_motion import Flexibility
from models.stand_in import StandIn
from models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class Modal(StandIn):
    """A bar, beam or solid reduced to its lowest modes; takes the place of the part (and its name) in a system.

    modes: how many (rigid motions of a floating part count); frequency: the highest kept, Hz, if not all. static:
    boundaries of the part: the displacement under a unit force along each axis, shared among a boundary's nodes as its
    area is (of a floating part under forces of inertia too), is added to the shapes, so that statics under such forces
    is exact. detailed: boundaries of which each node has its own such forces: statics under any forces on them is
    exact. Name the boundaries that are touched, held or pulled. What junctions pull joins too (`assemble`). Shapes that
    the others hold are left out. The shapes are one full array, 8 B × dofs × shapes. damping: viscous ratio ζ of all
    modes, or one for each with the last one for all that follow; by default the Rayleigh damping of the part. A beam's
    `fluid_damping` comes beside both. Moved supports (motions imposed other than 0) carry the part along their static
    shapes. All nodes keep their mass (`redistributed` counts as consistent). Initial fields are taken as far as the
    shapes hold them (M-orthogonal projection).

    >>> from models.bar import Bar
    >>> from models.material import LinearElastic
    >>> from models.mesh import interval
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
    _last: list["_Reduction"] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.part, Continuum | Beam):
            raise UserError.parameter("part", self.part, "must be a Bar, a Beam or a Solid")
        checks.positive_integer("modes", self.modes)
        for name, surfaces in (("static", self.static), ("detailed", self.detailed)):
            rule = f"must be boundaries of the part: '{self.name}'.boundary(\"name\")"
            for surface in checks.items(name, surfaces, Surface, rule):
                if surface.part is not self.part:
                    raise UserError.parameter(name, surface, rule)
        if self.frequency is not None:
            checks.positive("frequency", self.frequency)
        if self.damping is not None:
            ratios = checks.finite_array("damping", self.damping)
            if ratios.ndim > 1 or not ratios.size or (ratios < 0.0).any():
                raise UserError.parameter("damping", self.damping, "must be a ratio not below 0, or one for each mode")

    def __repr__(self) -> str:
        return f"Modal({self.part!r}, {self.modes})"

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies (r,), Hz, those of the static shapes among them."""
        return np.sqrt(self._whole.squares) / (2 * np.pi)

    def assemble(
        self, weighting: Weighting | None = None, massless: Indices | None = None, pulls: Sequence[csr_array] = ()
    ) -> ModalAssembled:
        """The reduced part; under weights its shapes are those of the weighted part. The last one is kept.

        pulls: operators (m, nodal) of junctions, whose multipliers pull at the part: statics under them is exact.
        """
        if weighting is None and not pulls:
            return self._whole
        for last in self._last:
            if last.serves(weighting, pulls):
                return last.assembled
        own = self._reduced(weighting, pulls)
        self._last[:] = [_Reduction(weighting, tuple(pulls), own)]
        return own

    def carrying(self, part: Continuum | Beam) -> "Modal":
        """The same reduction of a part that differs from this one's in its loads alone: no shape is sought again."""
        if part.mesh is not self.part.mesh or part.material is not self.part.material:
            raise UserError(f"'{part.name}': carries other loads on another mesh or material: reduce it anew")

        def on(surfaces: Sequence[Surface]) -> list[Surface]:
            return [replace(surface, part=part) for surface in surfaces]

        other = replace(self, part=part, static=on(self.static), detailed=on(self.detailed))
        for last in self._last:
            loaded = last.assembled.carrying(part.assemble(last.weighting))
            other._last.append(replace(last, assembled=loaded))
        return other

    @cached_property
    def _whole(self) -> ModalAssembled:
        return self._reduced(None, ())

    def _reduced(self, weighting: Weighting | None, pulls: Sequence[csr_array]) -> ModalAssembled:
        nodal = self.part.assemble(weighting)
        assert isinstance(nodal, Loaded)
        flexibility = Flexibility.of(self.part, nodal)
        highest = math.inf if self.frequency is None else 2 * np.pi * self.frequency
        free = np.zeros(self.dof_count)
        free[flexibility.free] = 1.0
        forces = csc_array(diags_array(free) @ self._forces(pulls))
        basis, squares = modal_basis(flexibility, self.modes, forces, highest)
        supports = tuple(item for item in nodal.imposed if not item.rest)
        moved = _support_shapes(flexibility, supports)
        coupling = basis.T @ (nodal.mass @ moved)
        carried = moved - basis @ coupling
        shapes = np.column_stack([basis, carried]) if supports else basis
        own = self.part.damping
        return ModalAssembled(
            nodal=nodal,
            basis=basis,
            squares=squares,
            supports=supports,
            carried=carried,
            support_strains=_support_strains(nodal, moved),
            coupling=coupling,
            rayleigh=(0.0, 0.0) if own is None else (own.mass, own.stiffness),
            ratios=self._ratios(squares.size),
            drag=nodal.drag if isinstance(nodal, BeamAssembled) else None,
            force=nodal.loads.projected(shapes),
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
        given = np.atleast_1d(np.asarray(self.damping, dtype=float))[:count]
        return np.concatenate([given, np.full(count - given.size, given[-1])])


@dataclass(frozen=True, eq=False)
class _Reduction:
    """A reduced part, and the weights and pulls that it was reduced with."""

    weighting: Weighting | None
    pulls: tuple[csr_array, ...]
    assembled: ModalAssembled

    def serves(self, weighting: Weighting | None, pulls: Sequence[csr_array]) -> bool:
        """Whether these are the same."""
        if (self.weighting is None) != (weighting is None) or len(self.pulls) != len(pulls):
            return False
        if self.weighting is not None and weighting is not None:
            kinds = ("stiffness", "mass", "load")
            if not all(np.array_equal(getattr(self.weighting, kind), getattr(weighting, kind)) for kind in kinds):
                return False
        return all(a.shape == b.shape and (a != b).nnz == 0 for a, b in zip(self.pulls, pulls, strict=True))


def _support_shapes(flexibility: Flexibility, supports: Sequence[Imposed]) -> Array:
    """Static displacements Ψ (nodal, g) under a unit motion of each support, the others at rest."""
    own, free = flexibility.own, flexibility.free
    moved = np.zeros((own.mass.shape[0], len(supports)))
    for i, item in enumerate(supports):
        moved[item.dofs, i] = 1.0
    pull = np.zeros_like(moved)
    pull[free] = (own.stiffness @ moved)[free]
    return moved - flexibility.solve(pull) if supports else moved


def _support_strains(nodal: Assembled, moved: Array) -> Array:
    """G (g, g), GᵀG = ΨᵀKΨ: a common motion, which stretches nothing, has G s = 0 to round-off."""
    stiffness = moved.T @ (nodal.stiffness @ moved)
    _, vectors = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
    energies = [nodal.internal(np.ascontiguousarray(shape))[1] for shape in (moved @ vectors).T]
    return np.sqrt(2.0 * np.array(energies))[:, None] * vectors.T
