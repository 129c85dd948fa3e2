"""Axial flow: around a slender cylinder, and inside a pipe.

A fluid of the added mass M per length follows the deflection y(x, t) of a slender body; x is the arc length along the
flow of velocity U. Its momentum across the axis changes by

    f = −M (∂/∂t + U ∂/∂x)² y = −M (ÿ + 2U ẏ′ + U² y″)                                              (Lighthill 1960)

per length. Tested with w on a body of length L, with one integration by parts of the last term,

    ∫ w M ÿ + 2MU ∫ w ẏ′ − MU² ∫ w′y′ + MU w [(1 − f) U y′ − f ẏ] at x = L − MU w [(1 − f₀) U y′ − f₀ ẏ] at x = 0.

M ÿ is part of the mass matrix: of a beam its `added_mass`. The Coriolis term 2MU ∫ w ẏ′ = MU ∫ (w ẏ′ − w′ẏ) + MU [w ẏ]
is skew for supported ends, where w = 0, and then does no work; so is the centrifugal stiffness −MU² ∫ w′y′ symmetric.
At a free downstream end the fluid leaves with the momentum M (ẏ + U y′) across. A tapered end returns the fraction f
of it, 0 ≤ f ≤ 1: it has the shear force EI y‴ + f MU (ẏ + U y′) = 0 (f = 1: slender, streamlined; f = 0: blunt, and the
jet of a pipe); f₀ the same for a free nose, which imparts it.

Friction and pressure on a cylinder of diameter D in a fluid of density ρ, with the coefficients C_N across, C_T along,

    F_N = ½ρDU² C_N (ẏ/U + y′),   F_T = ½ρDU² C_T,   pressure gradient in a channel: −A dp/dx = h F_T,  h = D/D_h,

and C_b of the drag ½ρD²U² C_b of a blunt end, which follows the axis of the body. The tension T of the drag is

    T(x) = ½ρD²U² C_b + q (L − x)  (downstream end slides),   T(x) = q (L/2 − x)  (both ends held),   q = (1 + h) F_T

Friction along the axis turns with it, the pressure gradient does not, so that the equation of motion is

    EI y⁗ + M (∂/∂t + U ∂/∂x)² y − T y″ + ½ρDU C_N ẏ + (½ρDU² C_N + h F_T) y′ + m ÿ = 0      (Païdoussis 1973, eq. 13)

Source: Païdoussis, J. Fluid Mech. 26 (1966) 717–736; J. Sound Vib. 29 (1973) 365–385; Fluid–Structure Interactions,
vol. 1 (2nd ed. 2014), ch. 3, and vol. 2 (2nd ed. 2016), ch. 8. Pipes: Gregory & Païdoussis, Proc. R. Soc. A 293 (1966)
512–527.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isinf, pi
from typing import Literal

from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.flow.beam_fields import BeamFields, beam_of
from arlequin.models.flow.force import Flow, FlowMatrices, check_velocity
from arlequin.models.part import Part, Weighting
from arlequin.models.reduction.modal import Modal
from arlequin.models.signatures import checked_call


@checked_call
def added_mass(density: float, diameter: float, channel: float = float("inf")) -> float:
    """Added mass per length, kg/m, of a cylinder of `diameter` D, m, across its axis, in a fluid of `density`, kg/m³.

        M = χ ρ π D²/4,    χ = (D_c² + D²)/(D_c² − D²)

    channel D_c, m: diameter of the coaxial channel around it, which confines the fluid; χ = 1 without.

    >>> import arlequin as aq
    >>> round(aq.flow.added_mass(1000.0, 0.01), 6), round(aq.flow.added_mass(1000.0, 0.01, channel=0.02), 6)
    (0.07854, 0.1309)

    Source: Chen, Wambsganss & Jendrzejczyk, J. Appl. Mech. 43 (1976) 325–329 (its limit of an ideal fluid).
    """
    checks.positive("density", density)
    checks.positive("diameter", diameter)
    if isinf(channel) and channel > 0.0:
        return density * pi * diameter**2 / 4.0
    if not checks.finite("channel", channel) > diameter:
        raise UserError.parameter("channel", channel, f"must be larger than the diameter {diameter:g} m")
    return density * pi * diameter**2 / 4.0 * (channel**2 + diameter**2) / (channel**2 - diameter**2)


def _beam(name: str, part: Part) -> Beam:
    """The beam of a part; UserError for other parts."""
    beam = beam_of(part)
    if beam is None:
        raise UserTypeError.parameter(f"flow '{name}': part", part, "must be a Beam, or a Modal of a Beam")
    return beam


def momentum_flux(
    fields: BeamFields, mass: float, velocity: float, forward: bool, tail: float = 0.0, nose: float = 0.0
) -> tuple[csr_array, csr_array]:
    """C and K of M (2U ẏ′ + U² y″), with fractions `tail` and `nose` of the momentum imparted at free ends.

    forward: whether the flow runs from left to right.
    """
    way, down, up = (1.0, "right", "left") if forward else (-1.0, "left", "right")
    v, slope, u = fields.deflections, fields.slopes, velocity
    damping = 2.0 * mass * u * way * fields.integral(v, slope)
    stiffness = -mass * u**2 * fields.integral(slope, slope)
    for end, factor, sign in ((down, tail, 1.0), (up, nose, -1.0)):
        stiffness = stiffness + sign * (1.0 - factor) * mass * u**2 * way * fields.at_end(end, slope=True)
        damping = damping - sign * factor * mass * u * fields.at_end(end, slope=False)
    return csr_array(damping), csr_array(stiffness)


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class PipeFlow(Flow):
    """Plug flow in a pipe: C = 2MU ∫ w v′, K = −MU² ∫ w′v′ + MU² [w v′] at a free end, from which it leaves as a jet.

    part: a `Beam`, or a `Modal` of it. velocity U, m/s; fluid_mass M, kg/m: of the fluid in the pipe, which the beam
    must have in its `added_mass` (across the axis only) or `carried_mass`. towards: the end to which it flows. Pressure
    and friction of the fluid cancel each other in the equation of motion (Benjamin 1961); a pressure at the outlet is a
    compression, `Beam(…, tension=−p A)`.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> steel, tube = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0), aq.Section.tube(0.01, 0.009, 0.3)
    >>> pins = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}}
    >>> pipe = aq.Beam("pipe", aq.mesh.interval(0.0, 2.0, cells=8), steel, tube, dimension=2, imposed=pins,
    ...                added_mass=0.254, shear=False, rotary_inertia=False)
    >>> flow = aq.flow.PipeFlow("water", pipe, velocity=10.0, fluid_mass=0.254)  # m/s, kg/m
    >>> unit = np.sqrt(2e11 * tube.inertia_z / 0.254) / 2.0  # √(EI/M)/L, m/s
    >>> scan = aq.critical_velocity(aq.System([pipe], flows=[flow]), unit * np.linspace(0.0, 4.0, 9))
    >>> round(float(scan.attrs["critical_velocity"] / unit), 3), scan["onset_kind"].values.tolist()  # π: it buckles
    (3.142, ['divergence'])

    Source: Gregory & Païdoussis, Proc. R. Soc. A 293 (1966) 512–527; see `arlequin.models.flow.axial`.
    """

    name: str
    part: Beam | Modal
    velocity: float
    fluid_mass: float = field(kw_only=True)
    towards: Literal["right", "left"] = field(default="right", kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a flow")
        beam = _beam(self.name, self.part)
        check_velocity(self.name, self.velocity)
        checks.positive("fluid_mass", self.fluid_mass)
        checks.one_of("towards", self.towards, ("right", "left"))
        contained = beam.added_mass + beam.carried_mass
        if self.fluid_mass > contained * (1.0 + 1e-9):
            raise UserError.parameter(
                "fluid_mass",
                self.fluid_mass,
                f"must be part of the mass of beam '{beam.name}', whose added_mass + carried_mass = {contained:g} kg/m",
            )

    def matrices(self, weights: Mapping[str, Weighting]) -> FlowMatrices:
        """C and K (nodal, nodal) of the pipe."""
        fields = BeamFields.of(_beam(self.name, self.part), weights.get(self.part.name))
        return FlowMatrices(*momentum_flux(fields, self.fluid_mass, self.velocity, self.towards == "right"))


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class AxialFlow(Flow):
    """Flow along the outside of a slender cylinder, by Païdoussis' equation (see `arlequin.models.flow.axial`).

    part: a `Beam`, or a `Modal` of it; M of the equations is the beam's `added_mass` (`aq.flow.added_mass`, which takes
    the confinement), which must not be 0. velocity U, m/s; density ρ, kg/m³; diameter D, m. towards: the end to which
    it flows. Coefficients, all 0 by default: normal_friction C_N, longitudinal_friction C_T, base_drag C_b; tail f,
    nose f₀: fraction of the momentum that a tapered free end imparts, 0 (blunt) to 1 (slender). hydraulic_diameter D_h
    of the channel, m, for its pressure gradient. axially_held: whether both ends are held along the axis; otherwise the
    downstream end slides, and the drag pulls on the upstream one.

    The damping of still fluid is the beam's `fluid_damping`. All coefficients are those of small angles to the flow.

    >>> import arlequin as aq
    >>> rubber = aq.LinearElastic(young=2e6, poisson=0.45, density=1100.0)
    >>> rod = aq.Beam("rod", aq.mesh.interval(0.0, 0.5, cells=8), rubber, aq.Section.circle(0.01), dimension=2,
    ...               imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, added_mass=aq.flow.added_mass(1000.0, 0.02))
    >>> water = aq.flow.AxialFlow("water", rod, 0.5, density=1000.0, diameter=0.02, normal_friction=0.02,
    ...                           longitudinal_friction=0.02, tail=0.8)
    >>> modes = aq.complex_modes(aq.System([rod], flows=[water]), count=2)
    >>> bool((modes.damping_ratios > 0.0).all())  # stable at 0.5 m/s
    True
    """

    name: str
    part: Beam | Modal
    velocity: float
    density: float = field(kw_only=True)
    diameter: float = field(kw_only=True)
    normal_friction: float = field(default=0.0, kw_only=True)
    longitudinal_friction: float = field(default=0.0, kw_only=True)
    base_drag: float = field(default=0.0, kw_only=True)
    tail: float = field(default=0.0, kw_only=True)
    nose: float = field(default=0.0, kw_only=True)
    hydraulic_diameter: float | None = field(default=None, kw_only=True)
    axially_held: bool = field(default=False, kw_only=True)
    towards: Literal["right", "left"] = field(default="right", kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a flow")
        beam = _beam(self.name, self.part)
        check_velocity(self.name, self.velocity)
        for name in ("density", "diameter"):
            checks.positive(name, getattr(self, name))
        for name in ("normal_friction", "longitudinal_friction", "base_drag"):
            checks.non_negative(name, getattr(self, name))
        for name in ("tail", "nose"):
            checks.within(name, getattr(self, name), 0.0, 1.0)
        if self.hydraulic_diameter is not None:
            checks.positive("hydraulic_diameter", self.hydraulic_diameter)
        checks.flag("axially_held", self.axially_held)
        checks.one_of("towards", self.towards, ("right", "left"))
        if self.axially_held and self.base_drag:
            raise UserError.parameter("base_drag", self.base_drag, "must be 0 where both ends are held along the axis")
        if not beam.added_mass:
            raise UserError(
                f"flow '{self.name}': beam '{beam.name}' has no added_mass: give it, as "
                "added_mass=aq.flow.added_mass(density, diameter)"
            )

    def matrices(self, weights: Mapping[str, Weighting]) -> FlowMatrices:
        """C and K (nodal, nodal) of the cylinder."""
        beam, u = _beam(self.name, self.part), self.velocity
        fields = BeamFields.of(beam, weights.get(self.part.name))
        forward = self.towards == "right"
        way, down, up = (1.0, "right", "left") if forward else (-1.0, "left", "right")
        damping, stiffness = momentum_flux(fields, beam.added_mass, u, forward, self.tail, self.nose)
        pressure = 0.5 * self.density * self.diameter * u**2
        confinement = 0.0 if self.hydraulic_diameter is None else self.diameter / self.hydraulic_diameter
        along = pressure * self.longitudinal_friction
        v, slope = fields.deflections, fields.slopes
        mixed = way * fields.integral(v, slope)
        normal = 0.5 * self.density * self.diameter * u * self.normal_friction
        damping = damping + normal * fields.integral(v, v)
        stiffness = stiffness + (normal * u + confinement * along) * mixed
        # −∫ w T y″ = ∫ T w′y′ + ∫ T′ w y′ − [w T y′], T′ = −q along the flow
        drag, length = (1.0 + confinement) * along, fields.length
        end = 0.0 if self.axially_held else pressure * self.diameter * self.base_drag
        downstream = -0.5 * drag * length if self.axially_held else end
        upstream = downstream + drag * length
        travelled = fields.arc_length if forward else length - fields.arc_length
        stiffness = stiffness + fields.integral(slope, slope, upstream - drag * travelled) - drag * mixed
        stiffness = stiffness - downstream * way * fields.at_end(down, slope=True)
        stiffness = stiffness + upstream * way * fields.at_end(up, slope=True)
        return FlowMatrices(csr_array(damping), csr_array(stiffness))
