"""Two like elastic balls collide obliquely: rebound, impulses, momenta, energy.

    python tests/ball_runs.py [psi=0.7,2,3,6] [friction=0.1] [size=0.1] [steps=60] [slave=first,second] [multiplier=P1]

ψ₁ = 2(1 − ν)/(μ (2 − ν)) v_t/v_n of the relative velocity of the surfaces before the impact, ψ₂ after it (like
materials: Maw, Barber & Fawcett, Wear 38 (1976) 101–114). From ψ₁ = 4χ − 1 = 4.76, χ = 7(1 − ν)/(2(2 − ν)), the balls
slide all the time: the tangential impulse is μ times the normal one, Jt/μJn = 1. Without friction Jt = 0. Half of their
way across lies before the middle of the impact, so that the line of the centres then is the normal.
"""

import sys
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import xarray
from energy_runs import Measures, measure

import arlequin as aq
from arlequin.cases.shared.meshes import BallBlocks, _doubled, _mirrored, mesh_of

RADIUS, NORMAL = 1.0, 1.0  # m, m/s of each ball
BALL = aq.LinearElastic(young=1e4, poisson=0.3, density=1.0)
GROWTH = 2.0  # of the cells
CAP = 0.85  # cos of the half-angle of the surface that may touch


def ball(name: str, size: float, at: Any, turn: Any) -> aq.Solid:
    """A ball about `at` (3,), with cells of `size` at both poles and the mesh turned; boundary `cap`: that pole which
    faces the origin."""
    blocks = BallBlocks(3, RADIUS, 0.3, size, GROWTH)
    mesh = mesh_of(_mirrored(_doubled(blocks), (0, 2)), "tet", 1)
    p = turn @ (mesh.p - np.array([[0.0], [RADIUS], [0.0]]))
    facets = mesh.boundary_facets()
    middle = p[:, mesh.facets[:, facets]].mean(axis=1)
    cap = facets[-np.sign(at[1]) * middle[1] > CAP * RADIUS]
    return aq.Solid(name, replace(mesh, doflocs=p + np.array(at)[:, None], _boundaries={"cap": cap}), BALL)


def rotation(angle: float) -> Any:
    """By the angle about y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def hertz() -> tuple[float, float]:
    """Depth, m, and duration, s, of the impact of the two balls: δ = (15 m* v²/(16 E* √R*))^(2/5), T = 2.943 δ/v."""
    mass = 4.0 / 3.0 * np.pi * RADIUS**3 * BALL.density
    modulus, speed = 0.5 * BALL.young / (1.0 - BALL.poisson**2), 2.0 * NORMAL
    depth = (15.0 * 0.5 * mass * speed**2 / (16.0 * modulus * np.sqrt(0.5 * RADIUS))) ** 0.4
    return depth, 2.943 * depth / speed


def slope(psi: float, friction: float) -> float:
    """v_t/v_n of ψ."""
    return psi * friction * (2.0 - BALL.poisson) / (2.0 * (1.0 - BALL.poisson))


def collision(
    psi: float = 3.0,
    friction: float = 0.1,
    *,
    slave: str = "first",
    size: float = 0.1,
    steps: int = 60,
    multiplier: str | None = None,
    scheme: Any = None,
    turned: float = 0.3,
    longer: float = 1.6,
) -> aq.Study:
    """The balls, `steps` in Hertz's duration, over `longer` times that. Without friction ψ counts with μ = 0.1."""
    duration, speed = hertz()[1], slope(psi, friction or 0.1) * NORMAL
    way = 0.5 * duration * speed
    high = (1.0 + 1e-6) * np.sqrt(RADIUS**2 - way**2)
    first = ball("first", size, (-way, high, 0.0), rotation(0.0))
    second = ball("second", size, (way, -high, 0.0), rotation(turned))
    sides = {"first": (first, second), "second": (second, first)}[slave]
    touch = aq.Interface(
        "touch",
        *(side.boundary("cap") for side in sides),
        aq.Unilateral(),
        aq.Coulomb(friction) if friction else None,
        multiplier=multiplier,
    )
    velocity = {"first": (speed, -NORMAL, 0.0), "second": (-speed, NORMAL, 0.0)}
    system = aq.System([first, second], interfaces=[touch], velocity=velocity)
    return aq.Study(system, scheme or aq.Theta(0.5), longer * duration, duration / steps)


@dataclass(frozen=True)
class Collision:
    """What came out: rebound of the relative normal velocity (2 before); ψ₂ of the surfaces as rigid balls; the
    tangential impulse over μ m v_n and over μ times the normal one; the normal impulse over Hertz's m v_n 2; duration
    over Hertz's; drift of the linear momentum over Σ m|v| and of the angular one over Σ m|v| R (parts of small strains
    keep it only about the places of the start); spins of both about z, rad/s."""

    rebound: float
    psi: float
    across: float
    ratio: float
    impulse: float
    duration: float
    linear: float
    angular: float
    spins: tuple[float, float]
    measures: Measures

    HEAD = (
        f"{'rebound':>9}{'psi2':>9}{'Jt/μmVn':>9}{'Jt/μJn':>9}{'Jn/Hertz':>9}{'T/Hertz':>9}{'linear':>9}{'angular':>9}"
        f"{'spin 1':>9}{'spin 2':>9} | {Measures.HEAD}"
    )

    def row(self) -> str:
        return (
            f"{self.rebound:>9.5f}{self.psi:>9.4f}{self.across:>9.4f}{self.ratio:>9.4f}{self.impulse:>9.5f}"
            f"{self.duration:>9.4f}{self.linear:>9.1e}{self.angular:>9.1e}{self.spins[0]:>9.4f}{self.spins[1]:>9.4f} | "
            f"{self.measures.row()}"
        )


def run(study: aq.Study) -> tuple[xarray.DataTree, Collision]:
    """The result of a collision, with its fields at every step, and what came out."""
    result = replace(study, fields_every=1).run()
    linear, angular, spins, velocities = [], [], [], []
    for part in study.system.parts:
        group = result[f"part/{part.name}"].dataset
        u, v = group["displacement"].values, group["velocity"].values
        mass = part.assemble().mass[::3, ::3]
        momentum = np.einsum("tni,n->ti", v, mass.sum(axis=0))
        moved = np.array([mass @ each for each in v])
        linear.append(momentum)
        angular.append(np.cross(part.positions + u, moved).sum(axis=1))
        centre = np.einsum("tni,n->ti", part.positions + u, mass.sum(axis=0)) / mass.sum()
        about = angular[-1] - np.cross(centre, momentum)
        inertia = 0.4 * mass.sum() * RADIUS**2
        spins.append(about[-1, 2] / inertia)
        velocities.append(momentum / mass.sum())
    size = sum(np.abs(p[0]).sum() for p in linear)
    relative = velocities[0] - velocities[1]
    group = result["interface/touch"].dataset
    force = group["force"].values[1:]
    mass = float(result["part/first"]["mass"])
    closed = np.flatnonzero(force[:, 1])
    friction = study.system.interfaces[0].friction
    mu = friction.coefficient if friction is not None and friction.coefficient else 0.1
    jump = linear[0][-1] - linear[0][0]
    # the lowest point of the first ball moves by v + ω R e_x less the uppermost of the second by v − ω R e_x
    end = relative[-1, 0] + RADIUS * sum(spins)
    before = 2.0 * NORMAL
    return result, Collision(
        rebound=float(relative[-1, 1]),
        psi=float(end / before / slope(1.0, mu)),
        across=float(-jump[0] / (mu * 0.5 * mass * before)),
        ratio=float(-jump[0] / (mu * jump[1])),
        impulse=float(jump[1] / (mass * before)),
        duration=float((closed[-1] - closed[0] + 1) * study.step / hertz()[1]) if closed.size else 0.0,
        linear=float(np.abs(linear[0] + linear[1] - linear[0][0] - linear[1][0]).max() / size),
        angular=float(np.abs(angular[0] + angular[1] - angular[0][0] - angular[1][0]).max() / (size * RADIUS)),
        spins=(float(spins[0]), float(spins[1])),
        measures=measure(result),
    )


def main(given: list[str]) -> None:
    """A row for each collision of the lists given."""
    options: dict[str, Any] = {
        "psi": [0.7, 2.0, 3.0, 6.0], "friction": [0.1], "slave": ["first"], "size": [0.1], "steps": [60],
        "multiplier": [None], "turned": [0.3],
    }  # fmt: skip
    for word in given:
        name, values = word.split("=")
        known = type(options[name][0]) if name != "multiplier" else str
        options[name] = [known(value) for value in values.split(",")]
    print(f"{'case':<44}{Collision.HEAD}")
    for values in product(*options.values()):
        chosen = dict(zip(options, values, strict=True))
        name = " ".join(str(value) for value in values)
        try:
            print(f"{name:<44}{run(collision(**chosen))[1].row()}", flush=True)
        except aq.UserError as error:
            print(f"{name:<44} refused: {error}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
