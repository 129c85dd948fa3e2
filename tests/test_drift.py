"""Drift of the energy of glued parts with fixed ends: every mesh ratio, weight, coupling and mediator.

`python tests/test_drift.py` gives the figures of long runs (1e5 steps in 1D, 1e4 in 2D); minutes.
"""

import itertools
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import Assembly, assemble

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
SIZE, WIDTH, LENGTH = 0.1, 0.4, 1.2
RATIOS = (1.0, 2.0, 3.7, 7.3, 10.0)
WEIGHTS = {"linear": aq.weights.Linear, "constant": aq.weights.Constant, "cubic": aq.weights.Cubic}
COUPLINGS = {"L2": aq.L2, "H1": aq.H1}
MEDIATORS = ("coarse", "fine", "own")
WELL = 1e3  # dual condition number up to which the junction must not drift at all
CONSERVING = {
    "theta": aq.Theta(0.5),
    "newmark": aq.Newmark(0.25, 0.5),
    "generalised alpha": aq.GeneralisedAlpha.with_radius(1.0),
}
COMBINATIONS = list(itertools.product(WEIGHTS, COUPLINGS, MEDIATORS))


def line(ratio: float, weights: str = "linear", coupling: str = "L2", mediator: str = "coarse") -> aq.System:
    """Two glued bars, clamped at their outer ends, with noise in every node at the start."""
    inner = LENGTH - WIDTH
    fine_mesh = aq.mesh.interval(0.0, LENGTH, cells=round(LENGTH / SIZE * ratio))
    coarse_mesh = aq.mesh.interval(inner, inner + LENGTH, cells=round(LENGTH / SIZE))
    fine = aq.Bar("fine", fine_mesh, UNIT, imposed={"left": {"x": 0.0}})
    coarse = aq.Bar("coarse", coarse_mesh, UNIT, imposed={"right": {"x": 0.0}})
    own: Any = aq.mesh.interval(inner, LENGTH, cells=2) if mediator == "own" else mediator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", aq.JunctionWarning)  # bad pairs are meant
        junction = aq.Junction(coarse, fine, weights=WEIGHTS[weights](), coupling=COUPLINGS[coupling](), mediator=own)
    noise = np.random.default_rng(1)
    return aq.System(
        [coarse, fine],
        [junction],
        displacement=lambda x: np.exp(-(((x[:, 0] - 0.5 * inner) / SIZE) ** 2)),
        velocity=lambda x: noise.uniform(-1.0, 1.0, len(x)),
    )


def plane(ratio: float) -> aq.System:
    """Two glued plates of quadrilaterals and triangles, clamped at their outer ends."""
    high, inner = 0.2, LENGTH - WIDTH
    cells = round(LENGTH / SIZE * ratio), round(high / SIZE * ratio)
    fine_mesh = aq.mesh.rectangle((0.0, LENGTH), (0.0, high), cells=cells, kind="tri")
    coarse_mesh = aq.mesh.rectangle((inner, inner + LENGTH), (0.0, high), cells=(round(LENGTH / SIZE), 2))
    still = {"x": 0.0, "y": 0.0}
    fine = aq.Solid("fine", fine_mesh, UNIT, plane="strain", imposed={"left": still})
    coarse = aq.Solid("coarse", coarse_mesh, UNIT, plane="strain", imposed={"right": still})
    noise = np.random.default_rng(1)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=lambda x: noise.uniform(-1, 1, (len(x), 2)))


def condition(assembly: Assembly) -> float:
    """Condition number of G⁻¹ C M⁻¹ Cᵀ over the free dofs, from the dense matrices."""
    free = assembly.free
    c = assembly.constraints[:, free].toarray()
    dual = c @ np.linalg.solve(assembly.mass[free][:, free].toarray(), c.T)
    values = np.abs(np.linalg.eigvals(np.linalg.solve(assembly.gram.toarray(), dual)))
    return float(values.max() / max(values.min(), 1e-300))


def drift(system: aq.System, steps: int, step: float, scheme: Any = None) -> tuple[float, float]:
    """Largest relative change of kinetic and strain energy over the steps; the dual condition number."""
    assembly = assemble(system)
    stepper = (scheme or aq.Theta(0.5)).prepare(assembly, step)
    state = stepper.start(*start_fields(assembly, step))
    start, worst = state.kinetic + state.strain, 0.0
    for _ in range(steps):
        state, _ = stepper.advance(state)
        worst = max(worst, abs(state.kinetic + state.strain - start))
    return worst / start, condition(assembly)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize(("weights", "coupling", "mediator"), COMBINATIONS)
def test_energy_stays_in_every_junction(ratio: float, weights: str, coupling: str, mediator: str) -> None:
    change, dual = drift(line(ratio, weights, coupling, mediator), 300, 0.5 * SIZE / ratio)
    assert change <= (1e-13 if dual < WELL else 1e-11)
    if (weights, coupling, mediator) == ("linear", "L2", "coarse"):
        assert dual < 25.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("steps", [700, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("scheme", CONSERVING)
def test_energy_does_not_drift_with_the_steps(scheme: str, ratio: float, steps: int) -> None:
    """Round-off must not add up step by step: as much after many steps of a stiff system as after one."""
    change, _ = drift(line(ratio), steps, 0.5 * SIZE / ratio, CONSERVING[scheme])
    assert change <= 3e-14


@pytest.mark.sampled(1)
@pytest.mark.parametrize("steps", [700, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scheme", CONSERVING)
def test_the_parts_stay_together(scheme: str, steps: int) -> None:
    """Neither velocities nor displacements of the parts come apart, for speeds of 4 and displacements of 0.3."""
    step = 0.5 * SIZE / 3.7
    assembly = assemble(line(3.7))
    stepper = CONSERVING[scheme].prepare(assembly, step)
    state = stepper.start(*start_fields(assembly, step))
    start = assembly.constraints @ state.u
    for _ in range(steps):
        state, _ = stepper.advance(state)
    assert np.abs(assembly.constraints @ state.v).max() <= 1e-13
    assert np.abs(assembly.constraints @ state.u - start).max() <= 1e-15


def test_energy_stays_in_the_plane() -> None:
    change, _ = drift(plane(3.7), 200, 0.5 * SIZE / 3.7)
    assert change <= 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("scheme", CONSERVING)
def test_energy_over_many_steps(scheme: str, ratio: float) -> None:
    change, _ = drift(line(ratio), 100_000, 0.5 * SIZE / ratio, CONSERVING[scheme])
    assert change <= 1e-12


def figures(seconds: float) -> None:
    """Prints the drift of long runs, the default first, the others at the ratio 3.7 while time is left."""
    end = time.monotonic() + seconds
    default = ("linear", "L2", "coarse")
    runs = [(ratio, default) for ratio in RATIOS]
    runs += [(3.7, other) for other in COMBINATIONS if other != default]
    runs += [(10.0, other) for other in COMBINATIONS if other != default]
    print("plane, ratio 3.7, 1e4 steps: drift {:.1e}, dual condition {:.1f}".format(*drift(plane(3.7), 10_000, 0.0135)))
    for ratio, combination in runs:
        if time.monotonic() > end:
            break
        change, dual = drift(line(ratio, *combination), 100_000, 0.5 * SIZE / ratio)
        passed = change <= (1e-12 if dual < WELL else 1e-9)
        print(f"{ratio:5g} {' '.join(combination):24} drift {change:.1e}  condition {dual:9.3g}  {passed}", flush=True)


if __name__ == "__main__":
    figures(float(sys.argv[1]) if len(sys.argv) > 1 else 480.0)
