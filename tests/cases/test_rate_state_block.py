"""Spring-slider with rate-and-state friction: growth rates on both sides of the critical stiffness, the motion."""

from typing import Any

import numpy as np
import pytest

from arlequin import cases
from arlequin.cases import rate_state_block
from arlequin.cases.rate_state_block import Parameters
from arlequin.models.errors import UserError

pytestmark = pytest.mark.kernels


@pytest.mark.kernels(slow=True)
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "given",
    [
        {}, {"stiffness_ratio": 1.1}, {"law": "slip"}, {"law": "slip", "stiffness_ratio": 1.2},
        {"stiffness_ratio": 0.5, "perturbation": 1e-2, "slides": 20.0},
        {"mass": 50.0, "force": 2e4, "distance": 1e-3, "velocity": 2e-2, "stiffness_ratio": 0.8},
    ],
)  # fmt: skip
def test_checks(given: dict[str, Any]) -> None:
    p = Parameters(**given)
    result = cases.run("rate_state_block", **given)
    found = rate_state_block.check(result, p)
    assert all(check.passed for check in found), [str(check) for check in found]
    sign = np.sign(1.0 - p.stiffness_ratio)
    assert np.sign(rate_state_block.growth(result, p).real) == sign or p.perturbation > 1e-3


def test_order_of_the_growth_rate() -> None:
    """The error falls with the square of the step."""
    errors = []
    for steps in (25, 50):
        p = Parameters(steps=steps, slides=10.0)
        errors.append(abs(rate_state_block.growth(cases.run("rate_state_block", steps=steps, slides=10.0), p)
                          - rate_state_block.reference(p).growth))  # fmt: skip
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_critical_stiffness() -> None:
    """λ is imaginary at k_c, whose value for a ≪ μ₀ is N(b − a)/D_c with inertia."""
    p = Parameters(stiffness_ratio=1.0)
    exact = rate_state_block.reference(p)
    assert abs(exact.growth.real) < 1e-9 * abs(exact.growth.imag)
    inertia = 1.0 + p.mass * p.velocity**2 / (p.force * p.direct * p.distance)
    assert exact.critical_stiffness == pytest.approx(p.force * 0.005 / p.distance * inertia, rel=1e-12)


def test_without_weakening_there_is_no_critical_stiffness() -> None:
    with pytest.raises(UserError, match=r"^evolution = 0.01: must be above the direct effect, 0.01$"):
        cases.run("rate_state_block", evolution=0.01)


def test_figures() -> None:
    p = Parameters(slides=5.0)
    figures = rate_state_block.figures(cases.run("rate_state_block", slides=5.0), p)
    assert set(figures) == {"energies", "slip"}
