"""Small systems with one capability each, as functions of a stiffness, for all that runs are used for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import arlequin as aq

PERIOD = 1.0  # s, of the loads
Ingredients = dict[str, Any]


@dataclass(frozen=True)
class Loads:
    """Loads of the period from a time on, s, or such as grow from zero, for statics; steady: the last
    of these, constant."""

    grow: bool = False
    start: float = 0.0
    steady: bool = False

    def at(self, mean: float, amplitude: float, sine: bool = False) -> Callable[[float], float]:
        """F(t), N: about a mean."""
        if self.steady:
            return lambda t: mean + amplitude
        if self.grow:
            return lambda t: (mean + amplitude) * (t + self.start) / PERIOD
        wave = np.sin if sine else np.cos
        return lambda t: mean + amplitude * wave(2.0 * np.pi * (t + self.start) / PERIOD)

    def vector(self, *components: Callable[[float], float]) -> Any:
        """A load of components F(t), as a function of time, or a tuple of numbers where it does not vary."""
        if self.steady:
            return tuple(component(0.0) for component in components)
        return lambda t: tuple(component(t) for component in components)

    def traction(self, *components: Callable[[float], float]) -> Any:
        """The same as a traction of places and time."""
        vector = self.vector(*components)
        if not callable(vector):
            return vector
        return lambda at, t: np.broadcast_to(np.reshape(vector(t), (-1, 1)), np.shape(at))


def masses(
    normal: Any = None,
    friction: Any = None,
    wear: Any = None,
    floor: Any = None,
    statics: Any = None,
    spring: Any = None,
) -> Callable[..., Ingredients]:
    """Two masses in the plane, on damped springs; with a law they are pressed on a floor. statics: its law there;
    spring: law of the springs to the ground."""

    def make(stiffness: float = 30.0, loads: Loads = Loads(), suffix: str = "", mass: str = "") -> Ingredients:
        x, y = loads.at(0.0, 2.0), loads.at(-4.0, 0.5, sine=True)
        along, down = loads.at(0.0, 1.0, sine=True), loads.at(-2.0, 0.0)
        two = aq.PointMasses(
            f"masses{suffix}", [(0.0, 0.0), (1.0, 0.0)], [1.0, 2.0], names={"a": 0, "b": 1},
            forces={"a": loads.vector(x, y), "b": loads.vector(along, down)},
        )  # fmt: skip
        a, b = two.boundary("a"), two.boundary("b")
        springs = [
            aq.Spring(f"wall{suffix}", a, stiffness=(stiffness, 20.0), damping=(4.0, 6.0), law=spring),
            aq.Spring(f"between{suffix}", a, b, stiffness=(20.0, 10.0), damping=(2.0, 3.0)),
            aq.Spring(f"other{suffix}", b, stiffness=(10.0, 20.0), damping=(4.0, 6.0), law=spring),
        ]
        law = statics if loads.grow and statics is not None else normal
        if law is None:
            return {"parts": [two], "springs": springs, "interfaces": []}
        touches = two.boundary("all") if floor is None else a
        plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)) if floor is None else floor
        touch = aq.Interface(f"floor{suffix}", touches, plane, law, friction=friction, wear=wear)
        return {"parts": [two], "springs": springs, "interfaces": [touch]}

    return make


def glued(stiffness: float = 2e4, loads: Loads = Loads(), suffix: str = "", mass: str = "consistent") -> Ingredients:
    """A coarse and a fine bar, on a spring at one end, that press on a layer at the other."""
    material = aq.LinearElastic(young=stiffness, poisson=0.0, density=1000.0)
    damping, force = aq.Rayleigh(20.0), loads.at(0.0, 20.0, sine=True)
    coarse = aq.Bar(f"coarse{suffix}", aq.mesh.interval(0.0, 0.6, cells=3), material, mass=mass, damping=damping)
    fine = aq.Bar(
        f"fine{suffix}", aq.mesh.interval(0.4, 1.0, cells=6), material, mass=mass, damping=damping,
        tractions={"right": loads.traction(force)},
    )  # fmt: skip
    held = aq.Spring(f"held{suffix}", coarse.boundary("left"), stiffness=1e5, damping=100.0)
    wall, layer = aq.RigidPlane(point=1.0, normal=-1.0), aq.Asperities(stiffness=1e5)
    touch = aq.Interface(f"wall{suffix}", fine.boundary("right"), wall, layer)
    joined = [aq.Junction(coarse, fine, name=f"junction{suffix}")]
    return {"parts": [coarse, fine], "junctions": joined, "interfaces": [touch], "springs": [held]}


def flowed(stiffness: float = 30.0, loads: Loads = Loads(), suffix: str = "", mass: str = "") -> Ingredients:
    """The two masses in a flow, whose matrices are not symmetric."""
    own = masses()(stiffness, loads, suffix, mass)
    damping = np.array([[0.5, 1.0, 0.0, 0.3], [-1.0, 0.4, 0.2, 0.0], [0.0, 0.0, 0.5, 1.0], [0.1, 0.0, -1.0, 0.4]])
    coupling = np.array([[0.0, 3.0, 0.0, 2.0], [-3.0, -2.0, 1.0, 0.0], [0.0, 2.0, 0.0, 3.0], [-2.0, 0.0, -3.0, -2.0]])
    flow = aq.flow.MatrixFlow(f"flow{suffix}", own["parts"][0], 1.0, damping=damping, stiffness=coupling)
    return own | {"flows": [flow]}


def solid(
    normal: Any = None, kinematics: str = "small", material: Any = None, statics: Any = None, **touching: Any
) -> Callable[..., Ingredients]:
    """A block of four cells on springs, sheared; with a law it stands on a floor, or on `floor`."""

    def make(stiffness: float = 2e4, loads: Loads = Loads(), suffix: str = "", mass: str = "consistent") -> Ingredients:
        elastic = material or aq.LinearElastic(young=stiffness, poisson=0.3, density=1000.0)
        x, y = loads.at(0.0, 300.0, sine=True), loads.at(-200.0, 0.0)
        block = aq.Solid(
            f"block{suffix}", aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), (2, 2)), elastic, plane="strain",
            kinematics=kinematics, mass=mass,
            tractions={"top": loads.traction(x, y)},
        )  # fmt: skip
        held = aq.Spring(f"held{suffix}", block.boundary("left"), stiffness=(2e4, 2e3), damping=(200.0, 200.0))
        law, more = statics if loads.grow and statics is not None else normal, dict(touching)
        if law is None:
            return {"parts": [block], "interfaces": [], "springs": [held]}
        floor = more.pop("floor", aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)))
        touch = aq.Interface(f"floor{suffix}", block.boundary("bottom"), floor, law, **more)
        return {"parts": [block], "interfaces": [touch], "springs": [held]}

    return make


def rigid(stiffness: float = 1e3, loads: Loads = Loads(), suffix: str = "", mass: str = "") -> Ingredients:
    """A rigid block that rocks on a layer."""
    x, y = loads.at(0.0, 1.0), loads.at(-10.0, 0.0)
    corners = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 0.5)])
    body = aq.RigidBody(
        f"body{suffix}", corners, density=4.0, names={"base": [0, 1]}, force=loads.vector(x, y, lambda t: 0.5 * x(t))
    )
    base = body.boundary("base")
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    touch = aq.Interface(f"floor{suffix}", base, floor, aq.Asperities(stiffness=stiffness))
    held = aq.Spring(f"held{suffix}", base, stiffness=(20.0, 10.0), damping=(5.0, 5.0))
    return {"parts": [body], "springs": [held], "interfaces": [touch]}


def superelement(
    stiffness: float = 2e4, loads: Loads = Loads(), suffix: str = "", mass: str = "consistent"
) -> Ingredients:
    """The damped block of `solid`, reduced to its left and lower side and some modes, on a layer."""
    elastic = aq.LinearElastic(young=stiffness, poisson=0.3, density=1000.0)
    x, y = loads.at(0.0, 300.0, sine=True), loads.at(-200.0, 0.0)
    block = aq.Solid(
        f"block{suffix}", aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), (2, 2)), elastic, plane="strain",
        mass=mass, damping=aq.Rayleigh(2.0),
        tractions={"top": loads.traction(x, y)},
    )  # fmt: skip
    sides = [block.boundary("left"), block.boundary("bottom")]
    part = aq.craig_bampton(block, sides, modes=4, boundary="fixed")
    held = [
        aq.Spring(f"held{suffix}", part.boundary("left"), stiffness=(2e4, 2e4), damping=(500.0, 500.0)),
        aq.Spring(f"foot{suffix}", part.boundary("bottom"), stiffness=(2e4, 2e4), damping=(500.0, 500.0)),
    ]
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    touch = aq.Interface(f"floor{suffix}", part.boundary("bottom"), floor, STIFF)
    return {"parts": [part], "interfaces": [touch], "springs": held}


RIGID, GAP, BOUNCES = aq.Unilateral(), aq.Unilateral(level="gap"), aq.Unilateral(restitution=0.5)
LAYER, UNDAMPED = aq.Asperities(stiffness=400.0, damping=20.0), aq.Asperities(stiffness=400.0)
STIFF = aq.Asperities(stiffness=1e5)
BALL = aq.RigidSphere(centre=(0.0, -2.0), radius=2.0)
METAL = aq.J2(2e4, 0.3, 1000.0, yield_stress=150.0, hardening=aq.LinearHardening(2e3))
RUBS, SPRUNG = aq.Coulomb(0.3), aq.Coulomb(0.3, stiffness=100.0)
SLOWS, WEARS = aq.Stribeck(static=0.4, dynamic=0.2, velocity=0.5), aq.Archard(1e-4)
SPECIAL: dict[str, Callable[..., Ingredients]] = {
    "junction, layer": glued,
    "rigid body that turns": rigid,
    "finite strain": solid(STIFF, "finite"),
    "plasticity": solid(STIFF, material=METAL),
    "superelement": superelement,
}
LAWS: dict[str, dict[str, Any]] = {
    "linear parts and springs": {},
    "unilateral contact": {"normal": RIGID, "statics": GAP},
    "unilateral contact, friction": {"normal": RIGID, "friction": RUBS, "statics": GAP},
    "unilateral contact on the gap": {"normal": GAP},
    "restitution": {"normal": BOUNCES},
    "layer of asperities": {"normal": LAYER, "statics": UNDAMPED},
    "friction": {"normal": LAYER, "friction": RUBS, "statics": UNDAMPED},
    "friction with a stiffness": {"normal": LAYER, "friction": SPRUNG, "statics": UNDAMPED},
    "friction of the slip rate": {"normal": LAYER, "friction": SLOWS, "statics": UNDAMPED},
    "wear": {"normal": LAYER, "friction": RUBS, "wear": WEARS, "statics": UNDAMPED},
    "curved partner": {"normal": LAYER, "floor": BALL, "statics": UNDAMPED},
}
SPECIAL |= {
    "flow": flowed,
    "spring with an elastic law": masses(spring=aq.springs.Bilinear(20.0, 60.0, 0.02)),
    "spring with a memory": masses(spring=aq.springs.BoucWen(40.0, ratio=0.2, beta=20.0, gamma=10.0)),
}
FEATURES = {name: masses(**own) for name, own in LAWS.items()} | SPECIAL
# of bodies that have several models
SOLIDS = {
    name: solid(**{**own, **({"normal": STIFF} if own.get("normal") is LAYER else {})}) for name, own in LAWS.items()
}
SOLIDS |= SPECIAL
SCHEMES: dict[str, Any] = {
    "Theta": aq.Theta(0.5),
    "Theta, located events": aq.Theta(0.5, events="locate"),
    "Newmark": aq.Newmark(),
    "HHT": aq.HHT(-0.1),
    "GeneralisedAlpha": aq.GeneralisedAlpha.with_radius(0.8),
    "Midpoint": aq.Midpoint(),
    "CentralDifference": aq.CentralDifference(),
    "SymplecticEuler": aq.SymplecticEuler(),
    "DeVogelaere": aq.DeVogelaere(),
    "RungeKutta": aq.RungeKutta(),
    "Static": aq.Static(),
}
