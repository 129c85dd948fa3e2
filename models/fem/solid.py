"""Solids: plane strain, plane stress, axisymmetric and three-dimensional elasticity, of small or finite rotations."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.fem.finite_strain import FiniteAssembled
from arlequin.models.fem.inelastic import InelasticAssembled, SmallInelasticAssembled
from arlequin.models.fem.mass import CORRECTED
from arlequin.models.fem.mean_dilatation import assemble_mean_dilatation
from arlequin.models.fem.pointwise import PointwiseAssembled, pointwise_stress
from arlequin.models.fem.short_waves import ShortWaveDamping
from arlequin.models.fem.stress import (
    cauchy_stress,
    displacement_gradient,
    displacements,
    part_cells,
    part_components,
    part_memory,
)  # fmt: skip
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.materials.hyperelastic import NEO_HOOKE, NeoHooke
from arlequin.models.materials.plastic import J2
from arlequin.models.materials.point import CompiledLaw, PointMaterial
from arlequin.models.part import Assembled, Weighting
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices


class AssumedThickness(float):
    """The default thickness of 1 m, where none is given."""


PLANES = ("strain", "stress", "axisymmetric")
KINEMATICS = ("small", "finite")


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class Solid(Continuum):
    """A solid on triangles, quadrilaterals, tetrahedra or hexahedra, of the orders of `Continuum` or a `FiniteElement`.

    plane: "strain", "stress" or "axisymmetric" for 2D meshes (axisymmetric: x is r ≥ 0, y is z, the whole
    circle), None in 3D; thickness (m) multiplies everything in plane problems. The other parameters: see
    `Continuum`.

    kinematics: "small", linear elasticity, or "finite", the St. Venant–Kirchhoff law S = λ tr(E) 1 + 2μ E of
    E = ½(FᵀF − 1), for large rotations with moderate strains (see `FiniteAssembled`), under `Theta`, `Midpoint` and
    `Static`. Plane stress has σ_zz = 0 by the λ* of `lame`; in finite kinematics it is S_zz = 0, exact, and loads are
    per reference area and volume. `NeoHooke` needs "finite", `J2` takes both, a `PointMaterial` those that it declares.

    damping=Rayleigh(mass=a, stiffness=b) is a M + b K for small strains. In finite kinematics b is the viscosity of a
    stress beside that of the material, which resists no rotation: b C:Ė with the St. Venant–Kirchhoff law, b C:d with
    the rate of deformation d in others (`arlequin.models.fem.viscous`); `Theta` and `Midpoint` step it.

    volumetric: whether the pressure is the "mean" of the cell (B̄, F̄) or that of the "points"; by default with
    `NeoHooke` and `J2` the one without locking, with `LinearElastic`, of small strains, that of the points.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(10, 2))
    >>> held, pulled = {"left": {"x": 0.0}, "bottom": {"y": 0.0}}, {"right": lambda x, t: (1e8 * t, 0.0)}  # m, Pa
    >>> plate = aq.Solid("plate", mesh, steel, plane="stress", imposed=held, tractions=pulled)
    >>> result = aq.simulate(aq.System([plate]), aq.Static(), duration=1.0, step=1.0)
    >>> u = result["part/plate"]["displacement"][-1]  # m
    >>> round(float(u[:, 0].max()), 12), round(float(u[:, 1].min()), 12)  # σL/E, −νσH/E
    (5e-05, -3e-06)
    """

    laws: ClassVar[tuple[type, ...]] = (LinearElastic, NeoHooke, J2, PointMaterial)

    plane: str | None = None
    thickness: float = field(default=AssumedThickness(1.0), kw_only=True)
    kinematics: Literal["small", "finite"] = field(default="small", kw_only=True)
    volumetric: Literal["mean", "points"] | None = field(default=None, kw_only=True)

    def _check_geometry(self) -> None:
        dimension = self.mesh.dim()
        if dimension == 1:
            raise UserError(f"{self.name}: a solid needs a 2D or 3D mesh; use Bar on a mesh of lines")
        if dimension == 2:
            checks.one_of("plane", self.plane, PLANES)
        elif self.plane is not None:
            raise UserError.parameter("plane", self.plane, "must be None for a 3D mesh")
        checks.one_of("kinematics", self.kinematics, KINEMATICS)
        checks.positive("thickness", self.thickness)
        if self.thickness != 1.0 and self.plane not in ("strain", "stress"):
            raise UserError.parameter("thickness", self.thickness, "is for plane strain and plane stress only")
        self._check_law()
        if isinstance(self.damping, ShortWaveDamping) and self.kinematics == "finite":
            raise UserError.parameter("damping", self.damping, "must be a Rayleigh or None in finite kinematics")
        if self.axisymmetric and self.mesh.p[0].min() < -1e-12 * np.ptp(self.mesh.p):
            raise UserError(f"{self.name}: axisymmetric: x is the radius, and some nodes have x < 0")

    def _check_law(self) -> None:
        law, compiled = type(self.material).__name__, isinstance(self.material, CompiledLaw)
        if self.mass == CORRECTED and (self.kinematics == "finite" or not isinstance(self.material, LinearElastic)):
            rule = 'is for LinearElastic with kinematics="small": take another mass'
            raise UserError.parameter("mass", self.mass, rule)
        if self.kinematics not in self.material.kinematics:
            allowed = " or ".join(f'"{kind}"' for kind in self.material.kinematics)
            raise UserError.parameter("kinematics", self.kinematics, f"must be {allowed} with {law}")
        linear = isinstance(self.material, LinearElastic) and self.kinematics == "small"
        if self.volumetric is not None and not (compiled or linear):
            rule = "is for NeoHooke, J2 and LinearElastic of small strains: leave it out"
            raise UserError.parameter("volumetric", self.volumetric, rule)
        if self.volumetric is not None:
            checks.one_of("volumetric", self.volumetric, ("mean", "points"))
        if linear and self.volumetric == "mean":
            self._check_mean()
        if not (compiled or isinstance(self.material, PointMaterial)):
            return
        if self.plane == "stress":
            raise UserError.parameter("plane", self.plane, f"must be strain or axisymmetric with {law}")

    def _check_mean(self) -> None:
        """Check that linear elasticity with the mean dilatation suits the plane and the mass."""
        if self.plane == "stress":
            raise UserError.parameter("volumetric", self.volumetric, "must be points in plane stress")
        if self.mass == CORRECTED:
            raise UserError.parameter("volumetric", self.volumetric, f'must be points with mass="{CORRECTED}"')

    @property
    def axisymmetric(self) -> bool:
        """Whether x is the radius r and y the axis z."""
        return self.plane == "axisymmetric"

    @property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components."""
        if self.axisymmetric:
            return ("r", "x"), ("z", "y")
        return (("x",), ("y",), ("z",))[: self.mesh.dim()]

    @property
    def lame(self) -> tuple[float, float]:
        """(λ, μ), with λ* of plane stress where it applies, Pa."""
        law = self.material.linear
        return law.lame_plane_stress() if self.plane == "stress" else law.lame()

    @property
    def mean_dilatation(self) -> bool:
        """Whether the pressure is the mean of the cell: `volumetric`, or the default."""
        if self.volumetric is None:
            return self.finite_element.mean_dilatation and isinstance(self.material, CompiledLaw)
        return self.volumetric == "mean"

    @property
    def depth(self) -> float:
        """Thickness, m."""
        return self.thickness

    @property
    def stress_components(self) -> tuple[str, ...]:
        """Names of the stress components; "tt" is the hoop stress."""
        if self.plane is None:
            return "xx", "yy", "zz", "yz", "xz", "xy"
        named = {"strain": ("xx", "yy", "zz", "xy"), "stress": ("xx", "yy", "xy")}
        return named.get(self.plane, ("rr", "zz", "tt", "rz"))

    def assemble(
        self, weighting: Weighting | None = None, massless: Indices | None = None, time_error: float = 0.0
    ) -> Assembled:
        """Matrices, forces and motions under the weights (1 by default); a `Nonlinear` part where finite.

        massless, time_error: see `Continuum.assemble`.
        """
        linear = self._elastic(weighting, massless, time_error)
        if isinstance(self.material, PointMaterial):
            return PointwiseAssembled(linear, self.material, self._rayleigh)
        if isinstance(self.material, CompiledLaw):
            small = self.kinematics == "small"
            make = SmallInelasticAssembled if small else InelasticAssembled
            return make(linear, self.material, self.mean_dilatation, self._rayleigh)
        return linear if self.kinematics == "small" else FiniteAssembled(linear, self._rayleigh)

    def _assembled(self, weighting: Weighting, massless: Indices | None) -> ElasticAssembled:
        if self.mean_dilatation and isinstance(self.material, LinearElastic):
            return assemble_mean_dilatation(self, weighting, massless)
        return super()._assembled(weighting, massless)

    def kernels(self, theta: float | None) -> list[tuple[str, str]]:
        """Modules and calls for `kernel_cache.compile_ahead` in a run of this part with finite kinematics; theta: of
        the θ-scheme, None for others."""
        if self.kinematics == "small" or isinstance(self.material, PointMaterial):
            return []
        axes = self.mesh.dim()
        if not isinstance(self.material, CompiledLaw):
            return [("arlequin.models.fem._finite_kernels", call) for call in ("mean_tangent()", f"mean_force({axes})")]
        law = f"{self.material.kind}, {axes}"
        modules = [("arlequin.models.fem._cell_kernels", f"compile_response({law})")]
        if theta is not None:
            law += f", {self.material.kind == NEO_HOOKE and theta == 0.5}"
            calls = f"compile_tangent({law})", f"compile_force({law})"
            modules = [*(("arlequin.models.fem._mean_kernels", call) for call in calls), *modules]
        return modules

    def stress(self, u: Array, memory: Array | None = None) -> Array:
        """Stress (c, q, component) in Pa at the quadrature points: σ = λ tr(ε) I + 2μ ε.

        In finite kinematics the Cauchy stress, on the axes of space (not turned with the part). memory (c, q, m): the
        internal variables at u, needed by materials that have them.
        """
        if self.kinematics == "finite" or isinstance(self.material, CompiledLaw | PointMaterial):
            u = displacements(u, self.dof_count)
            if isinstance(self.material, PointMaterial):
                memory = part_memory(self, memory, len(self.material.variables), self.material.dissipates)
                return part_components(self, *pointwise_stress(part_cells(self), self.material, u, memory))
            return cauchy_stress(self, u, memory)
        u = displacements(u, self.dof_count)
        lam, mu = self.lame
        gradient = displacement_gradient(self.cells, u, self.components)
        size = self.mesh.dim()
        normal = [gradient[..., k, k] for k in range(size)]
        if self.cells.hoop is not None:
            radial = u.reshape(-1, 2)[self.cells.nodes, 0]
            normal.append(np.einsum("cqn,cn->cq", self.cells.hoop, radial))
        elif self.plane == "strain":
            normal.append(np.zeros_like(normal[0]))
        trace = sum(normal)
        pressure = lam * trace
        if self.mean_dilatation:
            mean = (trace * self.cells.dx).sum(axis=1, keepdims=True) / self.cells.dx.sum(axis=1, keepdims=True)
            pressure = (lam + 2 * mu / 3) * mean - 2 * mu / 3 * trace
        shears = [(1, 2), (0, 2), (0, 1)] if size == 3 else [(0, 1)]
        return np.stack(
            [pressure + 2 * mu * e for e in normal]
            + [mu * (gradient[..., i, j] + gradient[..., j, i]) for i, j in shears],
            axis=-1,
        )
