"""The shaken slider: mean powers, regime and instants of change against the motion computed event by event."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin import cases
from arlequin.cases import sdnd104
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.models.errors import UserError

MEANS = {15.0: (15.26709959, 15.25752179), 1.5: (0.4090624510, 0.4091031329), 1.01: (2.2616412e-4, 2.2644718e-4)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("acceleration", [15.0, pytest.param(1.5, marks=pytest.mark.slow), 1.01])
def test_reference_means(acceleration: float) -> None:
    """The published intervals, and one that ends inside a step; located and plain."""
    located = cases.run("sdnd104", acceleration=acceleration)
    plain = cases.run("sdnd104", acceleration=acceleration, events="step")
    for end, mean in zip((12.0, 11.99), MEANS[acceleration], strict=True):
        assert aq.results.mean_power(located, "contact", 4.0, end) == pytest.approx(mean, rel=1e-6)
        assert aq.results.mean_power(plain, "contact", 4.0, end) == pytest.approx(mean, rel=4e-5)
        assert aq.results.mean_power(located, "contact", 4.0, end, "friction") == pytest.approx(0.1 * mean, rel=1e-6)
    exact = ShakenSlider(acceleration).mean_work_rate(4.0, 11.98765)
    assert aq.results.mean_power(located, "contact", 4.0, 11.98765) == pytest.approx(exact, rel=1e-9)
    events = [event.time for event in ShakenSlider(acceleration).events(12.0)]
    np.testing.assert_allclose(sdnd104.changes(located), events, rtol=1e-9)
    for result, events_ in ((located, "locate"), (plain, "step")):
        parameters = sdnd104.Parameters(acceleration=acceleration, events=events_)
        assert not [check for check in sdnd104.check(result, parameters) if not check.passed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("events", ["locate", "step"])
def test_below_the_threshold_nothing_slips(events: str) -> None:
    """Not a digit of wear, in either scheme."""
    result = cases.run("sdnd104", acceleration=0.99, events=events)
    contact = result["interface/contact"]
    assert aq.results.mean_power(result, "contact", 4.0, 12.0) == 0.0
    assert not contact["wear_power"].values.any() and not contact["friction_power"].values.any()
    assert sdnd104.changes(result).size == 0
    assert sdnd104.stuck_share(result, 4.0, 12.0) == 1.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {"acceleration": 5.0, "events": "step", "end": 8.0},
        {"acceleration": 1.85},
        {"acceleration": 30.0},
        {"acceleration": 0.0},
        {"step": 1e-2},
        {"events": "step", "theta": 0.5, "step": 5e-4},
        {"scheme": "newmark", "step": 5e-3, "start": 1.0, "end": 4.0},
        {"scheme": "central-difference", "step": 1e-2, "start": 1.0, "end": 4.0},
        {"acceleration": 1.5, "events": "step", "step": 1e-3, "end": 11.98765},
        {"acceleration": 7.0, "friction": 0.3, "mass": 2.5, "gravity": 9.8, "frequency": 3.3, "start": 0.1, "end": 3.1},
    ],
    ids=str,
)  # fmt: skip
def test_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("sdnd104", **options) if not check.passed]


SHORT: dict[str, Any] = {"model": "penalised", "start": 0.2, "end": 1.2}


ELEMENTS: list[dict[str, Any]] = [
    {},
    {"tangential_damping": 0.0},
    {"scheme": "de-vogelaere"},
    {"scheme": "theta", "spring": 0.0},
    {"scheme": "runge-kutta", "step": 2e-4},
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "acceleration"),
    [
        pytest.param(
            options, acceleration, id=f"{options}-{acceleration}", marks=() if i % 4 == j else pytest.mark.slow
        )
        for i, options in enumerate(ELEMENTS)
        for j, acceleration in enumerate((15.0, 1.5, 1.01, 0.99))
    ],
)
def test_penalised_checks_pass(acceleration: float, options: dict[str, Any]) -> None:
    assert not [c for c in cases.check("sdnd104", acceleration=acceleration, **SHORT, **options) if not c.passed]


def test_penalised_with_other_data() -> None:
    options = {"friction": 0.3, "mass": 2.5, "gravity": 9.8, "frequency": 3.3, "acceleration": 7.0}
    more = {"normal_stiffness": 100.0, "tangential_stiffness": 2e6}
    assert not [c for c in cases.check("sdnd104", **options, **more, **SHORT) if not c.passed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("damping", "acceleration", "rate", "friction"),
    [
        (None, 15.0, 0.0026, 0.0026),
        pytest.param(None, 1.5, 0.0267, 0.0204, marks=pytest.mark.slow),
        pytest.param(None, 1.01, 20.28, 0.838, marks=pytest.mark.slow),
        pytest.param(0.0, 15.0, 0.025, 0.025, marks=pytest.mark.slow),
        pytest.param(0.0, 1.5, 0.149, 0.045, marks=pytest.mark.slow),
        (0.0, 1.01, 78.5, 2.20),
    ],
)
def test_element_off_coulomb_as_the_table_says(
    damping: float | None, acceleration: float, rate: float, friction: float
) -> None:
    """% over [4, 12] s: work rate and friction, with the critical dashpot (None) and without."""
    element = sdnd104.shock_reference(sdnd104.Parameters(acceleration, tangential_damping=damping))
    exact = ShakenSlider(acceleration).mean_work_rate(4.0, 12.0)
    assert 100.0 * (element.rate / exact - 1.0) == pytest.approx(rate, rel=0.01, abs=5e-4)
    assert 100.0 * (10.0 * element.friction / exact - 1.0) == pytest.approx(friction, rel=0.01, abs=5e-4)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"scheme": "de-vogelaere"}, "must be theta, newmark or central-difference"),
        ({"model": "penalised", "scheme": "hht"}, "must be theta, newmark, symplectic-euler"),
        ({"model": "penalised", "events": "locate"}, "events = 'locate': must be step or none"),
        ({"scheme": "newmark", "events": "locate"}, "must be theta with events"),
        ({"model": "penalised", "step": 0.1}, "below the limit of symplectic Euler"),
        ({"model": "penalised", "spring": -1.0}, "spring = -1"),
        ({"model": "penalised", "tangential_damping": -1.0}, "tangential_damping = -1"),
    ],
    ids=str,
)
def test_bad_input(options: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        cases.run("sdnd104", **options)


@pytest.mark.parametrize(("acceleration", "share"), [(15.0, 0.0), (1.5, 0.1745), (1.01, 0.8654), (0.99, 1.0)])
def test_exact_share_of_stick(acceleration: float, share: float) -> None:
    """Against the zeros of the exact velocity on a fine grid."""
    exact = ShakenSlider(acceleration)
    grid = np.linspace(4.0, 12.0, 400_001)
    assert sdnd104.stuck_time(exact, 4.0, 12.0) == pytest.approx(share, abs=1e-4)
    assert np.mean(exact.relative_velocity(grid) == 0.0) == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize("acceleration", [pytest.param(3.0, marks=pytest.mark.slow), 5.0])
def test_plain_scheme_is_of_order_one(acceleration: float) -> None:
    """Off by at most what friction gives in a step, m g μ g Δt, wherever the reversals fall in theirs."""
    exact = ShakenSlider(acceleration).mean_work_rate(4.0, 12.0)
    for step in (4e-3, 2e-3, 1e-3, 5e-4):
        result = cases.run("sdnd104", acceleration=acceleration, events="step", step=step)
        assert aq.results.mean_power(result, "contact", 4.0, 12.0) == pytest.approx(exact, abs=10.0 * step)


def test_interval_is_checked() -> None:
    with pytest.raises(UserError, match="end = 3"):
        cases.run("sdnd104", end=3.0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("model", ["nonsmooth", "penalised"])
def test_figures(model: Any) -> None:
    options: dict[str, Any] = {"model": model, "acceleration": 1.5, "start": 1.0, "end": 2.0}
    shown = sdnd104.figures(cases.run("sdnd104", **options), sdnd104.Parameters(**options))
    assert set(shown) == {"energies", "slip", "floor"}
