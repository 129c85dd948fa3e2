"""The impact that every code of this folder computes, and the results that its script prints.

A steel block of 0.1 × 0.02 m, plane strain, hits a rigid wall at 10 m/s. With ν = 0 it moves like a bar: the force on
the wall is ρ c v₀ per area for the time 2L/c, c = √(E/ρ), and the block rebounds at 10 m/s without vibrations. The
scripts run in the interpreters of their codes, so that this file needs NumPy only.
"""

import json
from collections.abc import Sequence

import numpy as np

LENGTH, HEIGHT, CELLS = 0.1, 0.02, (200, 40)  # m, linear quadrilaterals
YOUNG, DENSITY = 2e11, 7800.0  # Pa, kg/m³; Poisson's ratio is 0
VELOCITY = 10.0  # m/s, towards the wall at x = LENGTH
END, STEP = 1e-4, 5e-7  # s: simulated time, step of the implicit schemes

WAVE_SPEED = (YOUNG / DENSITY) ** 0.5
CONTACT_DURATION = 2 * LENGTH / WAVE_SPEED
ENERGY = 0.5 * DENSITY * LENGTH * HEIGHT * VELOCITY**2  # J per metre of thickness


def contact_duration(time: np.ndarray, velocity: np.ndarray) -> float:
    """The time that 99 % of the change of the mean velocity (m/s) take, over 0.99: 2L/c with a constant force."""
    share = (velocity - velocity[0]) / (velocity[-1] - velocity[0])
    n = int(np.argmax(share >= 0.99))
    return float(np.interp(0.99, share[n - 1 : n + 1], time[n - 1 : n + 1])) / 0.99


def report(
    code: str, version: str, method: str, *, start_up: float, stepping: float, velocity: Sequence[float], energy: float
) -> None:
    """Print the results of a run as one line of JSON.

    start_up, stepping: processor time (s) up to the end of the first step, which loads what it needs, start of the
    interpreter included, and of the other steps.
    velocity: that of the centre of mass (m/s) at the start and after each of the equal steps.
    energy: kinetic and elastic energy at the end (J).
    """
    v = np.asarray(velocity, float)
    results = {
        "code": code,
        "version": version,
        "method": method,
        "steps": v.size - 1,
        "start-up": start_up,
        "step": stepping / (v.size - 2),
        "contact": contact_duration(np.linspace(0.0, END, v.size), v),
        "rebound": -float(v[-1]),
        "energy": energy / ENERGY - 1.0,
    }
    print(json.dumps(results))
