"""A cantilever of Euler and Bernoulli that strikes an elastic stop: Code_Aster's test SDNL104."""

import numpy as np
import pytest

import arlequin as aq


@pytest.mark.parametrize("per_area", [False, True])
@pytest.mark.parametrize("dimension", [2, 3])
def test_sdnl104(dimension: int, per_area: bool) -> None:
    """1 m of a circle of 0.1 m, ten cells, 1 kN at the end from t = 0, a stop of 1e8 N/m behind 0.1 mm, Newmark with
    0.1 ms.

    The published values are those of Code_Aster with the same elements and steps; its stop acts by the end of a step,
    ours by the mean over it. At 0.1315 s the end is in its highest position after the first rebounds.
    Source: Code_Aster V5.02.104, model A (sdnl104a.comm).
    """
    across = np.eye(dimension)[1]
    material = aq.LinearElastic(young=1e10, poisson=0.3, density=1e6)
    names = ("x", "y", "rz") if dimension == 2 else ("x", "y", "z", "rx", "ry", "rz")
    beam = aq.Beam.between(
        "beam", (1.0,) * dimension, tuple(1.0 + np.eye(dimension)[0]), 10, material, aq.Section.circle(0.1),
        shear=False, rotary_inertia=False, imposed={"left": dict.fromkeys(names, 0.0)},
        end_loads={"right": tuple(-1000.0 * across)},
    )  # fmt: skip
    below = 1.0 - 1e-4
    wall = aq.RigidPlane(point=tuple(np.where(across, below, 1.0)), normal=tuple(across))
    law, options = aq.Penalty(1e8), {"area": 1.0}
    if per_area:
        law, options = aq.Penalty(1e8 / beam.section.area), {"area": beam.section.area}
    stop = aq.Interface("stop", beam.boundary("right"), wall, law, **options)
    result = aq.simulate(aq.System([beam], interfaces=[stop]), aq.Newmark(), duration=0.16, step=1e-4)
    end = {name: result["part/beam"][name].values[:, -1, 1] for name in ("displacement", "velocity")}
    np.testing.assert_allclose(end["displacement"][1315], -1.85356696663e-06, rtol=1e-4)
    np.testing.assert_allclose(end["velocity"][1566], -0.00463289359505, rtol=1e-4)
    np.testing.assert_allclose(result["energy"].sel(kind="kinetic")[-1], 0.0514081404196, rtol=1e-5)
    assert np.abs(result["balance"]).max() < 1e-10
