"""Bars: uniaxial stress, one displacement along the axis."""

from dataclasses import dataclass, field

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.stress import displacement_gradient, displacements
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class Bar(Continuum):
    """An elastic bar in uniaxial stress, σ = E u′, of constant section (m²), order 1 to 6.

    mesh: `mesh.interval(a, b, cells=n)`, with boundaries `left` and `right`. The other parameters: see
    `Continuum`.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> pull = {"right": lambda x, t: 1e8 * t}  # Pa
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel, imposed={"left": {"x": 0.0}}, tractions=pull)
    >>> result = aq.simulate(aq.System([bar]), aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["part/bar"]["displacement"][-1, -1, 0]), 12)  # σL/E, m
    5e-05
    """

    section: float = field(default=1.0, kw_only=True)

    def _check_geometry(self) -> None:
        if self.mesh.dim() != 1:
            raise UserError(f"{self.name}: a bar needs a mesh of lines (mesh.interval); use Solid in 2D and 3D")
        checks.positive("section", self.section)

    @property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """The one component, along the bar."""
        return (("x",),)

    @property
    def lame(self) -> tuple[float, float]:
        """(0, E/2): the modulus of the bar, λ + 2μ, is Young's."""
        return 0.0, self.material.linear.young / 2

    @property
    def depth(self) -> float:
        """Section, m²."""
        return self.section

    @property
    def stress_components(self) -> tuple[str, ...]:
        """The axial stress."""
        return ("xx",)

    def stress(self, u: Array) -> Array:
        """Axial stress (c, q, 1), Pa."""
        gradient = displacement_gradient(self.cells, displacements(u, self.dof_count), 1)
        return self.material.linear.young * gradient[..., 0]
