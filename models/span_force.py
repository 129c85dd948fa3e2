"""The turbulent force of a slender body on the piece of it that a solid stands for."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack, kron

from models import checks
from models.beam_frame import local_axes
from models.errors import UserError
from models.harmonics import Harmonics, SharedHarmonics
from models.loads import Region
from models.stations import Stations
from models.turbulence import Turbulence
from models.types import Array


@dataclass(frozen=True)
class SpanForce:
    """A turbulent force per unit length f(s, t) as a body force f/A, uniform over the sections of a solid.

    s is the arc length of a beam of that origin, direction and up (see `Beam`), m; area A of the section, m² (thickness
    included in the plane). Give those of the beam whose place the solid takes and its turbulence: both then carry the
    same force at the same s, and share it where a junction glues them.

    A cell takes the linear or quadratic polynomial of s next to f, as its order is, over the range of its nodes: the
    resultant and the nodal forces are exact on affine cells extruded along the axis, and of second order elsewhere.
    """

    turbulence: Turbulence
    area: float
    origin: tuple[float, ...] | None = None
    direction: tuple[float, ...] | None = None
    up: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.turbulence, Turbulence):
            raise UserError.parameter("turbulence", self.turbulence, "must be a Turbulence")
        checks.positive("area", self.area)

    def on(self, region: Region, positions: Array, degree: int) -> SharedHarmonics:
        """On the cells of a solid with nodes at positions (n, axis); degree: of their shape functions."""
        nodes, axes = positions.shape
        frame = local_axes(axes, self.origin, self.direction, self.up)[:, :axes]
        start = np.zeros(axes) if self.origin is None else np.asarray(self.origin, dtype=float)
        corners = ((positions - start) @ frame[0])[region.nodes]
        points = np.tensordot(frame[0], region.points - start[:, None, None], 1)
        low, high = corners.min(axis=1), corners.max(axis=1)
        stations = Stations.in_cells(self.turbulence.spacing, low, high, points, degree)
        shares = csr_array(region.operator(nodes) @ stations.operator / self.area)
        series = self.turbulence.at_stations(stations.numbers)[:, : axes - 1]
        operator = csr_array(hstack([kron(shares, axis[:, None]) for axis in frame[1:axes]]))
        return SharedHarmonics(operator, Harmonics(self.turbulence.duration, series.reshape(len(series), -1)))
