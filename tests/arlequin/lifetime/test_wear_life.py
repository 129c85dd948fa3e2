"""Wear lives against closed forms, and against one run in which the gap wears all along."""

from io import BytesIO

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError

MONTH = 365.25 / 12.0 * 86400.0  # s
SERVICE = {"coefficient": 2e-14, "area": 5e-6, "duration": 18 * MONTH}  # m³/J, m², s
POWER, DEPTH = 2e-3, 3e-4  # W, m
RATE = SERVICE["coefficient"] * POWER / SERVICE["area"]  # m/s


def falling(depth):
    """Work rate, W, that falls as the gap opens: h = h₀ ln(1 + r t/h₀)."""
    return POWER * np.exp(-depth / DEPTH)


def rising(depth):
    """Work rate, W, that grows with the gap: h = −h₀ ln(1 − r t/h₀)."""
    return POWER * np.exp(depth / DEPTH)


def test_constant_work_rates_wear_linearly():
    found = aq.wear_life({"a": POWER, "b": 2.0 * POWER}, **SERVICE, wall=1e-3, share=0.3)
    np.testing.assert_allclose(found["depth"].sel(support="a"), RATE * found["time"], rtol=1e-9)
    np.testing.assert_allclose(found["time_to_limit"], [3e-4 / RATE, 1.5e-4 / RATE], rtol=1e-9)
    np.testing.assert_allclose(found["wall_share"], found["depth"] / 1e-3, rtol=1e-12)
    assert found.attrs["runs"] == 1


@pytest.mark.parametrize(("study", "sign"), [(falling, 1.0), (rising, -1.0)])
def test_feedback_has_the_closed_form(study, sign):
    limit = 1.2e-4
    calls = []

    def counted(depth):
        calls.append(depth)
        return study(depth)

    service = {**SERVICE, "duration": 10 * MONTH}
    found = aq.wear_life(counted, **service, limit=limit)
    time = found["time"].values
    exact = sign * DEPTH * np.log1p(sign * RATE * time / DEPTH)
    np.testing.assert_allclose(found["depth"][0], exact, atol=0.003 * exact[-1])
    at = sign * DEPTH / RATE * np.expm1(sign * limit / DEPTH)
    assert float(found["time_to_limit"][0]) == pytest.approx(at, rel=0.003)
    assert found.attrs["runs"] == len(calls) < 15
    assert found.sizes["run"] <= len(calls)
    np.testing.assert_allclose(found["work_rate"], study(found["run_depth"].values), rtol=1e-12)


def test_a_tighter_tolerance_is_closer():
    errors = []
    for tolerance in (2e-2, 2e-4):
        found = aq.wear_life(falling, **SERVICE, jumps=aq.CycleJump(tolerance), windows=10_000)
        exact = DEPTH * np.log1p(RATE * SERVICE["duration"] / DEPTH)
        errors.append(abs(float(found["depth"][0, -1]) / exact - 1.0))
    assert errors[1] < 0.2 * errors[0] and errors[1] < 3e-4


def test_the_scar_of_a_tube():
    """V = c h^1.5 and V = k P t."""
    constant = 4.0 / 3.0 * 3e-3 * np.sqrt(2.0 * 4.75e-3)
    service = {**SERVICE, "area": None}
    found = aq.wear_life(POWER, **service, volume=lambda h: constant * h**1.5, limit=2e-4)
    exact = (SERVICE["coefficient"] * POWER * found["time"].values / constant) ** (2.0 / 3.0)
    np.testing.assert_allclose(found["depth"][0], exact, rtol=1e-8)
    np.testing.assert_allclose(found["time_to_limit"], constant * 2e-4**1.5 / (SERVICE["coefficient"] * POWER))


def test_supports_share_the_load():
    """Work rates P_a = P (1 − (a − b)/d), P_b = P (1 + (a − b)/d), a ahead by its coefficient: the sum of the depths
    over their coefficients grows linearly, the difference is that of a linear equation."""
    distance, k_a, k_b = 2e-4, 3e-14, 1e-14

    def shared(depth):
        lead = (depth["a"] - depth["b"]) / distance
        return {"a": POWER * (1.0 - lead), "b": POWER * (1.0 + lead)}

    service = {**SERVICE, "coefficient": {"a": k_a, "b": k_b}, "duration": 6 * MONTH}
    found = aq.wear_life(shared, **service, supports=["a", "b"])
    t, each = found["time"].values, POWER / SERVICE["area"]
    a, b = found["depth"].sel(support="a").values, found["depth"].sel(support="b").values
    lead = distance * (k_a - k_b) / (k_a + k_b) * -np.expm1(-each * (k_a + k_b) * t / distance)
    np.testing.assert_allclose(a / k_a + b / k_b, 2.0 * each * t, rtol=0.01)
    np.testing.assert_allclose(a - b, lead, atol=0.01 * a[-1])


def test_wear_may_end():
    """A preload that the wear consumes, h = h_0 (1 − exp(−r t/h_0)): the limit beyond is not reached."""
    found = aq.wear_life(lambda h: POWER * max(1.0 - h / 1e-4, 0.0), **SERVICE, limit=1.1e-4)
    exact = 1e-4 * -np.expm1(-RATE * SERVICE["duration"] / 1e-4)
    assert float(found["depth"][0, -1]) == pytest.approx(exact, rel=1e-3)
    assert float(found["time_to_limit"][0]) == np.inf


# a pin that is shaken on its floor while it is rubbed to and fro, and whose spring loses its preload by the wear
LOAD, SWING, SPRING, OMEGA = 10.0, 14.0, 1e3, 2.0 * np.pi * 50.0  # N, N, N/m, 1/s
WEAR, LIFE, STEP = 2.5e-4, 10.0, 2e-4  # m³/J, s, s: on 1 m²


def study(depth, duration, wear=None):
    """The pin lifts off in each period. Its floor is lower by the worn depth, by which the spring has relaxed."""
    forces = {"all": lambda t: (0.0, -LOAD - SWING * np.sin(OMEGA * t) + SPRING * depth)}
    pin = aq.PointMasses("pin", (0.0, -depth), 1.0, forces=forces,
                         imposed_velocity={"all": {"x": lambda t: 0.5 * np.sin(OMEGA * t + 0.7)}})  # fmt: skip
    floor = aq.RigidPlane(point=(0.0, -depth), normal=(0.0, 1.0))
    rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.0),
                       wear=None if wear is None else aq.Archard(wear))  # fmt: skip
    spring = aq.Spring("preload", pin.boundary("all"), stiffness=SPRING, direction=(0.0, 1.0))
    system = aq.System([pin], interfaces=[rub], springs=[spring])
    return aq.Study(system, aq.Theta(0.5), duration=duration, step=STEP, fields_every=500)


@pytest.mark.slow
def test_intermittent_contact_wears_as_in_one_run_with_the_wear_in_the_gap():
    """500 periods in which each step's wear opens the gap, against few runs of 20 periods: within 2 %.

    In the first period the floor recedes by a 500th of the depth: with 100 periods in all, 10 % in the time to the
    limit are of the reference, whose wear is then not slow beside the motion.
    """
    whole = study(0.0, LIFE, WEAR).run(progress=False)["interface/rub"]
    frames, depths = whole["frame_time"].values, whole["worn_depth"].values[:, 0]
    limit = 0.7 * depths[-1]
    found = aq.wear_life(
        lambda depth: study(depth, 0.4), coefficient=WEAR, area=1.0, duration=LIFE, limit=limit, start=0.1
    )
    active = whole["active"].values
    assert 0.1 < (active > 0).mean() < 0.6  # contact is intermittent
    assert depths[-1] > 0.3 * LOAD / SPRING  # the feedback is large: without it, the depth would be much more
    assert float(found["work_rate"][0, -1]) < 0.75 * float(found["work_rate"][0, 0])
    np.testing.assert_allclose(np.interp(frames, found["time"], found["depth"][0]), depths, atol=0.02 * depths[-1])
    assert float(found["depth"][0, -1]) == pytest.approx(depths[-1], rel=0.02)
    exact = np.interp(limit, depths, frames)
    assert float(found["time_to_limit"][0]) == pytest.approx(exact, rel=0.02)
    assert found.attrs["runs"] < 12


def test_a_result_has_the_work_rates_of_its_interfaces():
    result = study(0.0, 0.4).run(progress=False)
    rate = aq.results.mean_power(result, "rub", 0.2, 0.4)
    found = aq.wear_life(result, **SERVICE, start=0.2)
    assert found["support"].values.tolist() == ["rub"]
    assert float(found["work_rate"][0, 0]) == pytest.approx(rate)
    depth = SERVICE["coefficient"] * rate * SERVICE["duration"] / SERVICE["area"]
    assert float(found["depth"][0, -1]) == pytest.approx(depth)


def test_the_table_and_the_figure_have_units():
    found = aq.wear_life(falling, **SERVICE, wall=1e-3, share=0.4)
    table = aq.wear_table(found, rows=4)
    assert list(table.columns) == ["time (months)", "depth (µm)", "share of the wall (%)"]
    assert table["time (months)"].tolist() == [0.0, 6.0, 12.0, 18.0]
    assert table["depth (µm)"].iloc[-1] == pytest.approx(1e6 * float(found["depth"][0, -1]), abs=0.01)
    figure = aq.plots.wear_life(found)
    (axes,) = figure.axes
    figure.savefig(BytesIO())  # sets the limits of the right axis
    (right,) = axes.child_axes
    assert axes.get_xlabel() == "Time in service (months)" and axes.get_ylabel() == "Worn depth (µm)"
    assert right.get_ylabel() == "Share of the wall (%)"
    low, high = axes.get_ylim()
    np.testing.assert_allclose(right.get_ylim(), [low / 10.0, high / 10.0])  # 100 % of 1000 µm
    depth, marks, limit = axes.get_lines()
    np.testing.assert_allclose(depth.get_ydata(), 1e6 * found["depth"][0])
    assert len(marks.get_xdata()) == found.sizes["run"] and limit.get_ydata()[0] == pytest.approx(400.0)


@pytest.mark.parametrize(
    ("work_rate", "changes", "line"),
    [
        (-1.0, {}, r"^work_rate = -1.0: must not be negative, W$"),
        ("high", {}, r"^work_rate = 'high': must be a number$"),
        (np.nan, {}, r"^work_rate = nan: must be finite$"),
        (lambda h: -1.0, {}, r"^work_rate at the depth 0 m = -1.0: must not be negative, W$"),
        (lambda h: {"a": 1.0}, {}, r"^work_rate at the depth 0 m: must be of support, not a$"),
        (lambda: 1.0, {}, r"^work_rate = .*: must be a function f\(depth\) of the worn depth, m$"),
        (1.0, {"area": None}, r"^area: give area, m², or volume"),
        (1.0, {"area": 0.0}, r"^area = 0.0: must be positive$"),
        (1.0, {"coefficient": {"b": 1e-14}}, r"^coefficient: must have support, not b$"),
        (1.0, {"share": 0.4}, r"^wall: must be given, m, of which share is the limit$"),
        (1.0, {"share": 0.4, "wall": 1e-3, "limit": 1e-4}, r"^limit: give limit, m, or share of the wall"),
        (1.0, {"share": 1.4, "wall": 1e-3}, r"^share = 1.4: must lie in \]0, 1\]$"),
        (1.0, {"area": None, "volume": 3.0}, r"^volume = 3.0: must be a function of the depth"),
        (1.0, {"area": None, "volume": lambda h: 1e-9}, r"^volume: reaches no .* must increase with the depth$"),
        (1.0, {"duration": -1.0}, r"^duration = -1.0: must be positive$"),
        (1.0, {"windows": 3}, r"^windows = 3: must be a whole number of at least 10$"),
        (1.0, {"supports": ["a", "b"]}, r"^work_rate = 1.0: must be {support: W} of a, b$"),
        (1.0, {"supports": "a"}, r"^supports = 'a': must be a list of names$"),
    ],
)  # fmt: skip
def test_misuses(work_rate, changes, line):
    with pytest.raises(UserError, match=line):
        aq.wear_life(work_rate, **{**SERVICE, **changes})


def test_a_result_without_friction_is_refused():
    mass = aq.PointMasses("mass", 0.0, 1.0)
    result = aq.simulate(aq.System([mass], velocity=1.0), aq.Theta(0.5), duration=0.1, step=0.1)
    with pytest.raises(UserError, match="the result has no interface with friction"):
        aq.wear_life(result, **SERVICE)
    for call in (aq.wear_table, aq.plots.wear_life):
        with pytest.raises(UserError, match="must be the Dataset of wear_life or wear_life_distribution"):
            call(result["energy"].to_dataset())
