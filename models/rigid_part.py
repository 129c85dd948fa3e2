"""A solid that does not deform."""

from dataclasses import dataclass
from functools import cached_property

from scipy.sparse import csr_array

from models.errors import UserError
from models.part import Weighting
from models.rigid_assembled import RigidPartAssembled
from models.simplex import Simplex
from models.solid import Solid
from models.stand_in import StandIn
from models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class Rigid(StandIn):
    """The rigid motion of a solid, by any rotation, in 2D or 3D; takes the place of the part (and its name).

    Its mass, body force and tractions (of fixed direction, on the places they act on at the start) are those of the
    solid, and of its damping what is proportional to the mass. Its surfaces meet contacts, springs, relations and
    records as those of any part do; hold it by relations or springs, for it takes no imposed motions. All nodes keep
    their mass (`redistributed` counts as consistent). Initial fields are taken as far as they are rigid. Under
    `Theta(0.5)` and `Midpoint` energy and both momenta are kept; the velocities are rigid in the mean of a step only,
    so that after an impact forces on a point that the body turns on alternate by a few per cent. Other schemes refuse
    it.

    Source: P. Betsch and P. Steinmann, Int. J. Numer. Methods Eng. 51 (2001) 445–473.

    >>> from models.material import LinearElastic; from models.mesh import box
    >>> cube = Solid("cube", box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(1, 1, 1)), LinearElastic(young=1.0))
    >>> print(round(Rigid(cube).mass, 9), Rigid(cube).centre.round(9).tolist())
    1.0 [0.5, 0.5, 0.5]
    """

    part: Solid

    def __post_init__(self) -> None:
        if not isinstance(self.part, Solid):
            raise UserError.parameter("part", self.part, "must be a Solid")
        if self.part.axisymmetric:
            raise UserError(f"{self.name}: a rigid part must be plane or 3D, not axisymmetric")
        if self.part.motions:
            raise UserError(f"{self.name}: a rigid part takes no imposed motions: hold it by relations or springs")

    def __repr__(self) -> str:
        return f"Rigid({self.part!r})"

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return self._whole.simplex.mass

    @property
    def centre(self) -> Array:
        """Initial centre of mass (axis,), m."""
        return self._whole.simplex.centre

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> RigidPartAssembled:
        """The body; under weights it has the weighted mass and loads."""
        return self._whole if weighting is None else self._made(weighting)

    @cached_property
    def _whole(self) -> RigidPartAssembled:
        return self._made(None)

    def _made(self, weighting: Weighting | None) -> RigidPartAssembled:
        nodal, axes = self.part.assemble(weighting), self.components
        simplex = Simplex.of(self.name, self.positions, csr_array(nodal.mass[::axes, ::axes]))
        drag = 0.0 if self.part.damping is None else self.part.damping.mass
        return RigidPartAssembled(nodal, simplex, self.positions, drag)

    def stress(self, u: Array) -> Array:
        """A rigid body has none: a UserError."""
        raise UserError(f"{self.name}: the stress in a rigid part is not determined")
