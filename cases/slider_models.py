"""Models of the sliders of SDND100 and SDND104: a mass on a rough floor, exact or on a shock element.

The shock element (K_N, K_T, C_T, μ) carries the weight from the start, K_N δ = m g: its normal force is constant.

    nonsmooth   one mass, contact and friction exact
    modal       one mass as a stiff block that does not turn, in its modal coordinates √m u: rigid translations
    two-body    two masses, each with its own coordinates, that meet along the normal; the second is held
    direct      one mass
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

import arlequin as aq
from cases.choices import ExplicitName

Model = Literal["nonsmooth", "modal", "two-body", "direct"]
Scheme = Literal["theta", "newmark", "hht", "central-difference", ExplicitName]

# central differences take no springs of friction, the explicit schemes of modes no multipliers; HHT, whose forces are
# of two instants, would let a mass that exact friction holds settle over some steps
EXACT = ("theta", "newmark", "central-difference")
PENALISED = ("theta", "newmark", "hht", *get_args(ExplicitName))
RINGING = ("theta", "newmark", *get_args(ExplicitName))  # of those, what does not damp a stuck mass


@dataclass(frozen=True)
class Floor:
    """What the mass rubs on: μ and, for a shock element, K_N and K_T, N/m, and C_T, N s/m."""

    friction: float
    normal: float | None = None
    tangential: float | None = None
    damping: float = 0.0

    @property
    def laws(self) -> tuple[Any, aq.Coulomb]:
        if self.normal is None or self.tangential is None:
            return aq.Unilateral(level="velocity"), aq.Coulomb(self.friction)
        return aq.Shock(self.normal), aq.Coulomb(self.friction, stiffness=self.tangential, damping=self.damping)


def critical_damping(mass: float, stiffness: float) -> float:
    """2 √(m K), N s/m: what Code_Aster's element takes beside K_T where none is given, with K = k + K_T."""
    return 2.0 * float(np.sqrt(mass * stiffness))


def check_scheme(scheme: str, fitting: tuple[str, ...], model: str) -> None:
    """Refuses a scheme that does not fit the model."""
    if scheme not in fitting:
        rule = f'must be {", ".join(fitting[:-1])} or {fitting[-1]} with model="{model}"'
        raise aq.UserError.parameter("scheme", scheme, rule)


def slider(
    model: Model, mass: float, floor: Floor, stiffness: float, start: tuple[float, ...], gravity: Any
) -> aq.System:
    """The mass at `start` (axes,), m, the last axis up, on a spring, N/m, alike in all directions of the floor."""
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
    held = [aq.Relation(f"table {axis}", [(top, axis, 1.0)]) for axis in "xyz"[:axes]]
    return aq.System(
        [body, table], springs=springs, interfaces=[contact], relations=held, gravity=gravity,
        displacement={"slider": start},
    )  # fmt: skip


def _block(mass: float, axes: int) -> aq.Modal:
    """A beam of 1 m³ whose ends do not turn, in its rigid translations; a foot of 1 m², as a point mass has."""
    turns = ("rz",) if axes == 2 else ("rx", "ry", "rz")
    beam = aq.Beam(
        "slider", aq.mesh.interval(-0.5, 0.5, cells=1), aq.LinearElastic(young=1e12, poisson=0.3, density=mass),
        aq.Section.rectangle(1.0, 1.0), dimension=axes,
        imposed={end: dict.fromkeys(turns, 0.0) for end in ("left", "right")},
    )  # fmt: skip
    return aq.Modal(beam, axes)
