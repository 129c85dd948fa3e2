"""A junction in dynamics: order in time, multiplier included."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq


def glued(scheme: Any, mass: str, step: float) -> tuple[Any, Any]:
    """Fine displacement at 0.2 s and mean forces of the junction over the steps (t,): a pulse crosses the zone."""
    unit = aq.LinearElastic(young=1.0, density=1.0)
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 3.0, cells=30), unit, imposed={"left": {"x": 0.0}}, mass=mass)
    fine = aq.Bar("fine", aq.mesh.interval(2.0, 5.0, cells=110), unit, imposed={"right": {"x": 0.0}}, mass=mass)
    system = aq.System(
        [coarse, fine], [aq.Junction(coarse, fine)], displacement=lambda x: np.exp(-(((x - 1.8) / 0.5) ** 2))
    )
    result = aq.simulate(system, scheme, duration=0.2, step=step, fields_every=10**6)
    return result["part/fine/displacement"].values[-1], result["junction/junction/force"].values[1:, 0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("scheme", "mass"),
    [(aq.Theta(0.5), "consistent"), (aq.Newmark(), "consistent"), (aq.CentralDifference(), "lumped")],
)
def test_order_in_time(scheme: Any, mass: str) -> None:
    """Differences between Δt, Δt/2, Δt/4 fall fourfold, in the displacement and in the multiplier.

    A mean force belongs to the middle of its step (θ, Newmark: two half steps average to it), or to its start
    (central difference: the kick at t_n).
    """
    runs = [glued(scheme, mass, 1e-3 / 2**k) for k in range(3)]
    u = [np.abs(runs[k][0] - runs[k + 1][0]).max() for k in range(2)]
    forces = [run[1] for run in runs]
    if isinstance(scheme, aq.CentralDifference):
        common = [forces[0], forces[1][::2], forces[2][::4]]
    else:
        common = [force.reshape(200, -1).mean(axis=1) for force in forces]
    multiplier = [np.abs(common[k] - common[k + 1]).max() for k in range(2)]
    assert np.log2(u[0] / u[1]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(multiplier[0] / multiplier[1]) == pytest.approx(2.0, abs=0.1)
