"""Energy of a block that slides on a floor with friction over 10⁵ steps."""

import numpy as np
from page import Section

import arlequin as aq

STEPS, STEP = 100_000, 1e-4  # s
TEXT = """A block of 10 × 5 quadrilaterals (steel, 0.1 × 0.05 m, plane strain) is shaken along a rough floor, μ =
0.3, by a force of 1.5 times the friction limit at 20 Hz for 10⁵ steps of 0.1 ms. What is put in must be stored or
rubbed away in each step; friction must never make energy."""


def block() -> aq.System:
    """The block under its pressure of 1 MPa."""
    shake = lambda x, t: (4.5e5 * np.sin(2 * np.pi * 20.0 * t), -1e6)  # noqa: E731 — Pa
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.05), cells=(10, 5))
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    solid = aq.Solid("block", mesh, steel, plane="strain", tractions={"top": shake})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    rub = aq.Interface("rub", solid.boundary("bottom"), floor, aq.Unilateral(), friction=aq.Coulomb(0.3))
    return aq.System([solid], interfaces=[rub])


def section(steps: int = STEPS) -> Section:
    """θ = ½, Newmark and central differences where the step allows."""
    rows = []
    for name, scheme in {"Theta(0.5)": aq.Theta(0.5), "Newmark()": aq.Newmark()}.items():
        result = aq.simulate(block(), scheme, duration=steps * STEP, step=STEP, fields_every=steps)
        energy = result["energy"]
        friction = energy.sel(kind="friction").values
        rows.append(
            (
                name,
                f"{float(np.abs(result['balance']).max()):.1e}",
                f"{float(energy.sel(kind='external_work')[-1]):.1f}",
                f"{friction[-1]:.1f}",
                f"{np.diff(friction).min():.1e}",
            )
        )
    headings = ("scheme", "largest imbalance (relative)", "work put in (J/m)", "rubbed away (J/m)", "least step (J/m)")
    return Section("A slider over 10⁵ steps", TEXT, headings, rows)
