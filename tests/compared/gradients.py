"""Derivatives through an impact and through the end of sliding: Arlequin, exact, and published of other codes."""

import numpy as np
from page import Section

import arlequin as aq

STEP = 1 / 480  # s
TEXT = """Derivatives of where a body is after an event, by its start. *Two balls*: both 1 kg, radius 0.1 m, at 0 and
0.52 m, the left one at 1 m/s, elastic; place x of the right one after 1 s, by (x₁, x₂, v₁, v₂); exact 1, 0, 1, 0.
Published: (0.75, 0.25, 0.91, 0.08) by Nimble 0.8.38 (LCP), github.com/keenon/nimblephysics, issue "Confusing
Gradient Output". *One bounce*: a ball at 1 m with −2 m/s, elastic floor, its height after 1 s by height and velocity
at the start; exact −1, −1 (task 1 of Zhong, Han & Brikis, arXiv 2207.05060, which finds that simulators disagree).
*Thrown slider*: 1 kg thrown with 1 m/s against 3 N with a friction of 1 N stops and comes back; its velocity after 1
s by that of the start; exact ½, while at the statuses of the steps it is 0 or 1."""


def two_balls(left: float = 0.0, right: float = 0.52, pushed: float = 1.0, still: float = 0.0) -> aq.Study:
    """Places of the centres, m, and velocities, m/s."""
    one, two = aq.PointMasses("one", 0.0, 1.0), aq.PointMasses("two", 0.0, 1.0)
    law = aq.Unilateral(restitution=1.0)
    hit = aq.Interface("hit", one.boundary("all"), two.boundary("all"), law, direction=1.0)
    # the masses are at the points that touch
    return _study([one, two], hit, {"one": left + 0.1, "two": right - 0.1}, {"one": pushed, "two": still})


def one_bounce(height: float = 1.0, speed: float = -2.0) -> aq.Study:
    """Height of the centre of the ball, m, and vertical velocity, m/s."""
    ball = aq.PointMasses("ball", (0.0, 0.0), 1.0)
    floor = aq.RigidPlane(point=(0.0, 0.1), normal=(0.0, 1.0))
    hit = aq.Interface("hit", ball.boundary("all"), floor, aq.Unilateral(restitution=1.0))
    return _study([ball], hit, (0.0, height), (2.0, speed))


def thrown_slider(speed: float = 1.0) -> aq.Study:
    """Velocity at the start, m/s."""
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0, forces={"all": (-3.0, -10.0)})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.1))
    return _study([mass], rub, (0.0, 0.0), (speed, 0.0))


def _study(parts, contact, place, velocity):
    system = aq.System(parts, interfaces=[contact], displacement=place, velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), duration=1.0, step=STEP)


def section() -> Section:
    """One run of each study."""
    last = lambda part, name, axis: aq.Response(f"part/{part}/{name}", "final", node=0, component=axis)  # noqa: E731
    studies = {
        "two balls": (
            two_balls,
            last("two", "displacement", "x"),
            {"left": 0.0, "right": 0.52, "pushed": 1.0, "still": 0.0},
        ),
        "one bounce": (one_bounce, last("ball", "displacement", "y"), {"height": 1.0, "speed": -2.0}),
        "thrown slider": (thrown_slider, last("mass", "velocity", "x"), {"speed": 1.0}),
    }
    exact = {"two balls": "1, 0, 1, 0", "one bounce": "−1, −1", "thrown slider": "0.5"}
    published = {"two balls": "0.75, 0.25, 0.91, 0.08 (Nimble 0.8.38)"}
    rows = []
    for name, (study, of, at) in studies.items():
        found = aq.gradient(study, {"end": of}, at, scales=dict.fromkeys(at, 1.0))["gradient"].values[0]
        values = ", ".join(f"{value:.4g}".replace("-", "−") for value in np.round(found, 12) + 0.0)
        rows.append((name, values, exact[name], published.get(name, "")))
    return Section("Gradients through events", TEXT, ("study", "Arlequin", "exact", "published"), rows)
