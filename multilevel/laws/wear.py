"""Archard's law of wear and the worn depth of contact points."""

from dataclasses import dataclass

from arlequin.models.checks import positive
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@checked_call
@dataclass(frozen=True)
class Archard:
    """Archard's law of the worn depth h of a point, ḣ = k p_n ‖v_t‖.

    coefficient k, m³/J (= 1/Pa), > 0: volume worn by the work of the normal force on the slip, without the
    coefficient of friction; with the dimensionless coefficient K and the hardness H, Pa, k = K/H. density, kg/m³, of
    the worn material: only the worn mass needs it. The gap opens by h, the sum over slave and master. v_t is the whole
    tangential rate of the contact: with friction that sticks elastically (`stiffness`) the motion of its springs counts
    too.

    Explicit, of order 1 in the step: the depth worn in a step opens the gap in the next one, at a constant rate. With
    the stiffness s, Pa/m, by which the pressure of a point falls as this point alone wears (that of the asperities, or
    about E/(size of a cell)), this needs k s ‖v_t‖ Δt < 1; beyond 2 the pressure alternates.

    >>> import arlequin as aq
    >>> pin = aq.PointMasses("pin", (0.0, 0.0), 2.0, imposed_velocity={"all": {"x": 0.5}})  # kg on 1 m², m/s
    >>> floor, wear = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)), aq.Archard(1e-13, density=7800)  # m³/J, kg/m³
    >>> rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.0), wear=wear)
    >>> system = aq.System([pin], interfaces=[rub], gravity=(0.0, -10.0))
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.01)
    >>> f"{float(result['interface/rub']['worn_volume'][-1]):.4g}"  # k F s, F = 20 N, s = 0.5 m; m³
    '1e-12'
    >>> f"{float(result['interface/rub']['worn_depth'][-1, 0]):.4g}"  # m
    '1e-12'

    Source: J. F. Archard, Contact and rubbing of flat surfaces, Journal of Applied Physics 24 (1953) 981–988.
    """

    coefficient: float
    density: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", positive("wear coefficient", self.coefficient))
        if self.density is not None:
            object.__setattr__(self, "density", positive("density of worn matter", self.density))


@dataclass(frozen=True)
class WearState:
    """Wear of k contact points: accumulated depth (k,), m, and increment (k,), m, that opens the gap in the next step.

    At the end of that step the gap is that of the unworn surfaces plus `depth`. Within a load step that closes an
    interference, both include it, and imposed (k,), m, is its part of the opening (< 0); the wear of a `State` never
    does.
    """

    depth: Array
    opening: Array
    imposed: Array | None = None

    def after(self, opening: Array) -> "WearState":
        """The state after a step with the worn depth (k,), m."""
        return WearState(self.depth + opening, opening)

    def at_start(self) -> "WearState":
        """The state before the opening of the next step."""
        return WearState(self.depth - self.opening, 0.0 * self.opening)

    def with_imposed(self, offset: Array, change: Array) -> "WearState":
        """The state with an imposed offset (k,), m, of the gap at the end of the step, and its change in the step."""
        return WearState(self.depth + offset, self.opening + change, change)

    def add(self, depth: Array) -> "WearState":
        """The state with an additional depth (k,), m, which also opens the gap in the next step."""
        return WearState(self.depth + depth, self.opening + depth)
