"""Models of the sliders of SDND100 and SDND104: a mass on a rough floor, in rigid contact or on a shock element.

The shock element (K_N, K_T, C_T, μ) carries the weight in the initial state, K_N δ = m g: its normal force is constant.

    nonsmooth   one mass, unilateral contact and Coulomb friction without compliance
    modal       one mass as a stiff block without rotation, in modal coordinates √m u: its rigid translations
    two-body    two masses with separate coordinates, in contact along the normal; the second is fixed
    direct      one mass
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

import arlequin as aq
from arlequin.cases.shared.vocabulary import ExplicitName

Model = Literal["nonsmooth", "modal", "two-body", "direct"]
Scheme = Literal["theta", "newmark", "hht", "central-difference", ExplicitName]

# central differences do not support elastic friction, the explicit modal schemes no multipliers; with HHT, whose forces
# are of two instants, a mass stuck by rigid friction creeps for some steps
EXACT = ("theta", "newmark", "central-difference")
PENALISED = ("theta", "newmark", "hht", *get_args(ExplicitName))
RINGING = ("theta", "newmark", *get_args(ExplicitName))  # schemes without damping of a stuck mass


class SliderParameters:
    """Base class, without fields, of the parameters of both sliders: contact model, scheme and events.

    penalised_schemes: schemes admitted with a shock element.
    """

    penalised_schemes: tuple[str, ...]
    model: Any
    scheme: Any
    events: Any

    def __post_init__(self) -> None:
        check_scheme(self.time_scheme, self.penalised_schemes if self.penalised else EXACT, self.model)
        if self.penalised and self.located:
            raise aq.UserError.parameter("events", self.events, f'must be step or none with model="{self.model}"')

    @property
    def penalised(self) -> bool:
        """Whether contact is a shock element."""
        return bool(self.model != "nonsmooth")

    @property
    def time_scheme(self) -> Scheme:
        """Name of the time scheme."""
        default_scheme: dict[str, Scheme] = {"nonsmooth": "theta", "direct": "hht"}
        return self.scheme if self.scheme is not None else default_scheme.get(self.model, "symplectic-euler")

    @property
    def located(self) -> bool:
        """Whether events are located inside the step."""
        if self.events is None:
            return not self.penalised and self.time_scheme == "theta"
        return bool(self.events == "locate")


@dataclass(frozen=True)
class Floor:
    """Friction coefficient μ of the floor and, for a shock element, K_N and K_T, N/m, and C_T, N s/m."""

    friction: float
    normal: float | None = None
    tangential: float | None = None
    damping: float = 0.0

    @property
    def laws(self) -> tuple[Any, aq.Coulomb]:
        if self.normal is None or self.tangential is None:
            return aq.Unilateral(level="velocity"), aq.Coulomb(self.friction)
        return aq.ImpactElement(self.normal), aq.Coulomb(self.friction, stiffness=self.tangential, damping=self.damping)


def critical_damping(mass: float, stiffness: float) -> float:
    """Critical damping 2 √(m K), N s/m: the default C_T of Code_Aster's element, with K = k + K_T."""
    return 2.0 * float(np.sqrt(mass * stiffness))


def check_scheme(scheme: str, fitting: tuple[str, ...], model: str) -> None:
    """UserError if the model does not support the scheme."""
    if scheme not in fitting:
        rule = f'must be {", ".join(fitting[:-1])} or {fitting[-1]} with model="{model}"'
        raise aq.UserError.parameter("scheme", scheme, rule)


def slider(
    model: Model, mass: float, floor: Floor, stiffness: float, start: tuple[float, ...], gravity: Any
) -> aq.System:
    """System of a mass on an isotropic spring in the plane of the floor.

    start (axes,), m: initial position, the last axis vertical; stiffness: of the spring, N/m.
    """
    axes = len(start)
    up = np.eye(axes)[-1]
    if model == "modal":
        body: Any = _block(mass, axes)
        foot = body.boundary("left")
        start = (*start, *(0.0,) * (body.components - axes))
    else:
        body = aq.PointMasses("slider", np.zeros(axes), mass)
        foot = body.boundary("all")
    springs = [aq.Spring("spring", foot, stiffness=tuple(stiffness * (1.0 - up)))] if stiffness > 0.0 else []
    law, friction = floor.laws
    if model != "two-body":
        plane = aq.RigidPlane(point=np.zeros(axes), normal=up)
        contact = aq.Interface("contact", foot, plane, law, friction=friction)
        return aq.System([body], springs=springs, interfaces=[contact], gravity=gravity, displacement=start)
    table = aq.PointMasses("table", np.zeros(axes), mass)
    top = table.boundary("all")
    contact = aq.Interface("contact", foot, top, law, friction=friction, direction=tuple(-up))
    table_relations = [aq.Relation(f"table {axis}", [(top, axis, 1.0)]) for axis in "xyz"[:axes]]
    return aq.System(
        [body, table], springs=springs, interfaces=[contact], relations=table_relations, gravity=gravity,
        displacement={"slider": start},
    )  # fmt: skip


def _block(mass: float, axes: int) -> aq.Modal:
    """Beam of 1 m³ without rotation of its ends, reduced to its rigid translations; contact area 1 m²."""
    rotations = ("rz",) if axes == 2 else ("rx", "ry", "rz")
    beam = aq.Beam(
        "slider", aq.mesh.interval(-0.5, 0.5, cells=1), aq.LinearElastic(young=1e12, poisson=0.3, density=mass),
        aq.Section.rectangle(1.0, 1.0), dimension=axes,
        imposed={end: dict.fromkeys(rotations, 0.0) for end in ("left", "right")},
    )  # fmt: skip
    return aq.Modal(beam, axes)
