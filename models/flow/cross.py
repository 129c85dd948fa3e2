"""Cross flow on tubes: Connors' criterion of fluid-elastic instability, and forces that lead to it.

Connors' criterion: a tube of diameter D, natural frequency f in the fluid, mass m per length with the added mass, and
logarithmic decrement δ = 2πζ is unstable beyond the gap velocity

    U/(f D) = K √(m δ/(ρ D²)).

**Displacement mechanism** (`TubeRow`). The force on tube j of a row depends on the displacements x (along the flow) and
y (along the row) of its neighbours, per length,

    F_x = ¼ρU² C_x (y_{j+1} − y_{j−1}),    F_y = ¼ρU² C_y (x_{j+1} − x_{j−1}).

For waves x_j = X e^{ijφ + λt} along equal tubes of one frequency ω with Q = λ² + 2ζωλ + ω²,

    m Q X = ½ i ρU² C_x sin φ Y,   m Q Y = ½ i ρU² C_y sin φ X   ⇒   m Q = ± ½ i ρU² √(C_x C_y) sin φ,

and λ = iω is reached at 2ζω² m = ½ρU² √(C_x C_y) |sin φ|: first at φ = π/2, with K⁴ = 64π²/(C_x C_y), which is Connors'
criterion. In a row of N tubes between rigid ones sin φ is cos(π/(N + 1)) at most.

**Stiffness and damping of one tube** (`QuasiSteadyTube`). Among rigid tubes the lift coefficient changes with the
displacement, κ = ∂C_L/∂(y/D), with the delay τ = μD/U of the flow, and drag C_D damps,

    F_y = ½ρU²D [κ (y − τẏ)/D − C_D ẏ/U],    F_x = −ρU D C_D ẋ,

y(t − τ) to first order in ωτ. The damping ½ρUD (C_D + μκ) is negative where κ < −C_D/μ, so that

    U/(f D) = 4/(−C_D − μκ) · m δ/(ρ D²)                                                    (Price & Païdoussis 1984)

Source: Connors, Flow-Induced Vibration in Heat Exchangers, ASME 1970, 42–56; Blevins, J. Pressure Vessel Technol. 96
(1974) 263–267, and Flow-Induced Vibration, 2nd ed. 1990, §5.2; Price & Païdoussis, J. Sound Vib. 97 (1984) 615–640.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.flow.force import Flow, FlowMatrices, check_velocity
from arlequin.models.flow.tube_fields import Profile, TubeFields, check_tube, part_of, unit
from arlequin.models.part import Part, Weighting
from arlequin.models.signatures import checked_call, takes


class ConnorsConstant(NamedTuple):
    """A constant K of Connors' criterion, and where it comes from."""

    value: float
    source: str


_CODE = "ASME BPVC III, Division 1, Appendix N, N-1331.3"
CONNORS: dict[str, ConnorsConstant] = {
    "row": ConnorsConstant(9.9, "Connors 1970: a single row in air, pitch 1.41 diameters"),
    "design": ConnorsConstant(3.0, "Pettigrew & Taylor, J. Pressure Vessel Technol. 113 (1991) 242–256: all bundles"),
    "mean": ConnorsConstant(4.0, f"{_CODE}: mean of all arrays"),
    "lower bound": ConnorsConstant(2.4, f"{_CODE}: suggested for design, all arrays"),
}


@checked_call
def connors_velocity(
    frequency: float,
    *,
    diameter: float,
    mass: float,
    damping_ratio: float,
    density: float,
    constant: float | Literal["row", "design", "mean", "lower bound"] = "design",
) -> float:
    """Critical gap velocity of a tube by Connors' criterion, U = K f D √(m δ/(ρ D²)), m/s, δ = 2πζ.

    frequency f, Hz, and mass m, kg/m, with the added mass of the fluid; damping_ratio ζ; diameter D, m; density ρ of
    the fluid, kg/m³. constant K: a number, or a name in `aq.flow.CONNORS`, which has its source: "row" 9.9, "design"
    3.0, "mean" 4.0, "lower bound" 2.4.

    >>> import arlequin as aq
    >>> tube = dict(diameter=0.019, mass=0.6, damping_ratio=0.01, density=800.0)
    >>> round(aq.flow.connors_velocity(50.0, **tube, constant="lower bound"), 4)
    0.8238
    >>> aq.flow.CONNORS["row"].source
    'Connors 1970: a single row in air, pitch 1.41 diameters'
    """
    values = {"frequency": frequency, "diameter": diameter, "mass": mass, "density": density}
    for name, value in values.items():
        checks.positive(name, value)
    checks.non_negative("damping_ratio", damping_ratio)
    if isinstance(constant, str):
        checks.one_of("constant", constant, CONNORS)
        k = CONNORS[constant].value
    else:
        k = checks.positive("constant", constant)
    return k * frequency * diameter * sqrt(mass * 2.0 * pi * damping_ratio / (density * diameter**2))


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class TubeRow(Flow):
    """Forces of a cross flow on the tubes of a row by the displacements of their neighbours (Connors, Blevins).

        F_x = ¼ρU² C_x (y_{j+1} − y_{j−1}),    F_y = ¼ρU² C_y (x_{j+1} − x_{j−1})    per length of tube j

    tubes: in their order along the row, with points at the same places: beams of equal meshes (or `Modal` of them), or
    boundaries of other parts, which share `length`, m, exposed to the flow. velocity U, m/s, in the gaps; density ρ,
    kg/m³. flow_direction, row_direction (axis,): of x and y, perpendicular to the tubes and to each other. constant K
    of Connors' criterion (a number, or a name of `aq.flow.CONNORS`): C_x = C_y = 8π/K²; or coefficients=(C_x, C_y).
    ends: the tubes beyond the ends are "rigid", or the row is "periodic". profile: f(x) of points (axis, p) → velocity
    over U, (p,).

    The drag of the flow, a stable damping, is not among these forces: `fluid_damping` of beams, `QuasiSteadyTube`.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> tubes = [aq.PointMasses(f"tube{j}", (0.0, 0.03 * j), 0.5) for j in range(4)]  # m, kg
    >>> k = 0.5 * (2.0 * np.pi * 50.0) ** 2  # N/m: 50 Hz
    >>> held = [aq.Spring(t.name, t.boundary("all"), stiffness=k, damping=2.0 * 0.01 * np.sqrt(0.5 * k)) for t in tubes]
    >>> row = aq.flow.TubeRow("row", [t.boundary("all") for t in tubes], 1.0, density=1000.0, length=1.0,
    ...                       flow_direction=(1.0, 0.0), row_direction=(0.0, 1.0), constant=4.0, ends="periodic")
    >>> scan = aq.critical_velocity(aq.System(tubes, springs=held, flows=[row]), np.linspace(0.0, 4.0, 9))
    >>> u = aq.flow.connors_velocity(50.0, diameter=0.02, mass=0.5, damping_ratio=0.01, density=1000.0, constant=4.0)
    >>> bool(abs(scan.attrs["critical_velocity"] / u - 1.0) < 1e-3), scan["onset_kind"].values.tolist()[:1]
    (True, ['flutter'])

    Source: Blevins, J. Pressure Vessel Technol. 96 (1974) 263–267; see `arlequin.models.flow.cross`.
    """

    name: str
    tubes: Sequence[Any]
    velocity: float
    density: float = field(kw_only=True)
    flow_direction: Any = field(kw_only=True)
    row_direction: Any = field(kw_only=True)
    constant: float | str | None = field(default=None, kw_only=True)
    coefficients: tuple[float, float] | None = field(default=None, kw_only=True)
    length: float | None = field(default=None, kw_only=True)
    ends: Literal["rigid", "periodic"] = field(default="rigid", kw_only=True)
    profile: Profile | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a flow")
        tubes = checks.items("tubes", self.tubes, object, "must be a list of tubes")
        if len(tubes) < 2:
            raise UserError.parameter("tubes", f"{len(tubes)} tube", "must be at least 2, in their order along the row")
        for tube in tubes:
            check_tube(self.name, tube, self.length)
        if len({part_of(tube).name for tube in tubes}) < len(tubes):
            raise UserError(f"flow '{self.name}': tubes: the same part is named twice")
        check_velocity(self.name, self.velocity)
        checks.positive("density", self.density)
        for tube in tubes:
            flow, row = (unit(n, getattr(self, n), tube) for n in ("flow_direction", "row_direction"))
            if abs(flow @ row) > 1e-9:
                raise UserError.parameter("row_direction", self.row_direction, "must be perpendicular to the flow")
        if (self.constant is None) == (self.coefficients is None):
            raise UserError(f"flow '{self.name}': give constant=, of Connors' criterion, or coefficients=(C_x, C_y)")
        _ = self.both
        checks.one_of("ends", self.ends, ("rigid", "periodic"))
        if self.ends == "periodic" and len(tubes) < 3:
            raise UserError.parameter("ends", self.ends, "needs at least 3 tubes")
        if self.profile is not None:
            takes("profile", self.profile, x="the points (axis, p)")

    @property
    def both(self) -> tuple[float, float]:
        """C_x and C_y."""
        if self.coefficients is not None:
            first, second = checks.finite_array("coefficients", self.coefficients, (2,)).tolist()
            return first, second
        if isinstance(self.constant, str):
            checks.one_of("constant", self.constant, CONNORS)
            k = CONNORS[self.constant].value
        else:
            k = checks.positive("constant", self.constant)
        return 8.0 * pi / k**2, 8.0 * pi / k**2

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the tubes."""
        return tuple(part_of(tube) for tube in self.tubes)

    def matrices(self, weights: Mapping[str, Weighting]) -> FlowMatrices:
        """K (nodal, nodal) of the parts of all tubes; C = 0."""
        fields = [TubeFields.of(tube, self.length, weights.get(part_of(tube).name)) for tube in self.tubes]
        count, first = len(fields), fields[0]
        for tube, each in zip(self.tubes, fields, strict=True):
            if each.lengths.shape != first.lengths.shape or not np.allclose(each.lengths, first.lengths):
                raise UserError(
                    f"flow '{self.name}': '{part_of(tube).name}' has other points than '{self.parts[0].name}': "
                    "give all tubes of the row the same mesh"
                )
        flow, row = (unit(n, getattr(self, n), self.tubes[0]) for n in ("flow_direction", "row_direction"))
        pressure = 0.25 * self.density * self.velocity**2
        by_y, by_x = (pressure * c for c in self.both)
        blocks: list[list[csr_array | None]] = [[None] * count for _ in range(count)]
        for j, own in enumerate(fields):
            weight = sp.diags_array(own.weighted(self.profile, 2))
            x, y = own.along(flow), own.along(row)
            blocks[j][j] = csr_array((x.shape[1], x.shape[1]))
            for side in (1, -1):
                k = j + side
                if not 0 <= k < count:
                    if self.ends == "rigid":
                        continue
                    k %= count
                other = fields[k]
                force = by_y * (x.T @ weight @ other.along(row)) + by_x * (y.T @ weight @ other.along(flow))
                block = blocks[j][k]
                blocks[j][k] = csr_array(-side * force if block is None else block - side * force)
        stiffness = csr_array(sp.block_array(blocks, format="csr"))
        return FlowMatrices(csr_array(stiffness.shape), stiffness)


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class QuasiSteadyTube(Flow):
    """Force of a cross flow on one flexible tube among rigid ones, by its own displacement and velocity, per length,

        F_y = ½ρU²D [κ (y − τẏ)/D − C_D ẏ/U],   τ = μD/U,    F_x = −ρU D C_D ẋ

    tube: a `Beam` (or `Modal` of it), or a boundary of another part, of the `length` exposed to the flow, m. velocity
    U, m/s, in the gaps; density ρ, kg/m³; diameter D, m. drag C_D; lift_slope κ = ∂C_L/∂(y/D) of the array at rest;
    delay μ ≥ 0, about 1: U/(f D) must be large beside 2πμ, of which the force is the first order. flow_direction,
    lift_direction (axis,): of x and y. profile: f(x) of points (axis, p) → velocity over U, (p,).

    Without delay it is the quasi-steady force; with κ < −C_D/μ it is a negative damping (Price & Païdoussis 1984).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> tube = aq.PointMasses("tube", (0.0, 0.0), 0.5)  # m, kg
    >>> k, c = 0.5 * (2.0 * np.pi * 50.0) ** 2, 2.0  # N/m: 50 Hz, N·s/m
    >>> held = aq.Spring("held", tube.boundary("all"), stiffness=k, damping=c)
    >>> flow = aq.flow.QuasiSteadyTube("flow", tube.boundary("all"), 1.0, density=1000.0, diameter=0.02, length=1.0,
    ...             drag=1.0, lift_slope=-3.0, flow_direction=(1.0, 0.0), lift_direction=(0.0, 1.0))
    >>> scan = aq.critical_velocity(aq.System([tube], springs=[held], flows=[flow]), [0.0, 1.0], count=2)
    >>> round(scan.attrs["critical_velocity"] / (2.0 * c / (1000.0 * 0.02 * (3.0 - 1.0))), 3)  # 2c/(ρD (−C_D − μκ))
    1.0

    Source: Price & Païdoussis, J. Sound Vib. 97 (1984) 615–640; see `arlequin.models.flow.cross`.
    """

    name: str
    tube: Any
    velocity: float
    density: float = field(kw_only=True)
    diameter: float = field(kw_only=True)
    drag: float = field(kw_only=True)
    lift_slope: float = field(default=0.0, kw_only=True)
    delay: float = field(default=1.0, kw_only=True)
    flow_direction: Any = field(kw_only=True)
    lift_direction: Any = field(kw_only=True)
    length: float | None = field(default=None, kw_only=True)
    profile: Profile | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a flow")
        check_tube(self.name, self.tube, self.length)
        check_velocity(self.name, self.velocity)
        for name in ("density", "diameter"):
            checks.positive(name, getattr(self, name))
        for name in ("drag", "delay"):
            checks.non_negative(name, getattr(self, name))
        checks.finite("lift_slope", self.lift_slope)
        flow, lift = (unit(n, getattr(self, n), self.tube) for n in ("flow_direction", "lift_direction"))
        if abs(flow @ lift) > 1e-9:
            raise UserError.parameter("lift_direction", self.lift_direction, "must be perpendicular to the flow")
        if self.profile is not None:
            takes("profile", self.profile, x="the points (axis, p)")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The part of the tube."""
        return (part_of(self.tube),)

    def matrices(self, weights: Mapping[str, Weighting]) -> FlowMatrices:
        """C and K (nodal, nodal) of the tube."""
        fields = TubeFields.of(self.tube, self.length, weights.get(part_of(self.tube).name))
        flow, lift = (unit(n, getattr(self, n), self.tube) for n in ("flow_direction", "lift_direction"))
        x, y = fields.along(flow), fields.along(lift)
        once, twice = (sp.diags_array(fields.weighted(self.profile, power)) for power in (1, 2))
        rate = 0.5 * self.density * self.velocity * self.diameter
        damping = 2.0 * rate * self.drag * (x.T @ once @ x)
        damping = damping + rate * (self.drag + self.delay * self.lift_slope) * (y.T @ once @ y)
        stiffness = -0.5 * self.density * self.velocity**2 * self.lift_slope * (y.T @ twice @ y)
        return FlowMatrices(csr_array(damping), csr_array(stiffness))
