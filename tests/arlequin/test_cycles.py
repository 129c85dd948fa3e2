"""Cycle jumping: extrapolated depths against exact ones and the full run, what is refused, what the result says."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.run.wear_cycles import CycleJump, step_cycles
from arlequin.schemes import State

PERIOD, STEP = 1.0, 0.05


class Points:
    """Stands for a run: points whose wear in a cycle, with the depth before it, is wear_at(cycle, depth)."""

    def __init__(self, wear_at, points):
        self.wear_at, self.stepped, self.extra = wear_at, 0, None
        self.assembly = SimpleNamespace(contact_count=points)
        none = np.zeros(points)
        self.state = State(0, none, none, none, none, 0.0, 0.0, 0.0, none)

    def tried(self, n):
        assert n == self.state.n + 1
        self.stepped += 1
        worn = self.state.worn
        return [(replace(self.state, n=n, worn=worn.add(self.wear_at(n, worn.depth))), None)]

    def commit(self, found):
        self.state = found[-1][0]

    def mark(self, extra):
        self.extra = extra


def covered(wear_at, cycles, jump, points=1):
    """Depth after all cycles, how many were stepped and the largest error estimate."""
    run = Points(wear_at, points)
    step_cycles(run, 0, 1, cycles, jump)
    assert run.state.n == cycles
    return run.state.worn.depth, run.stepped, run.attributes["jump_error"]


@pytest.mark.parametrize("jump", [CycleJump(), CycleJump(fixed=7), CycleJump(fixed=50)])
def test_wear_linear_in_the_cycles_is_exact(jump):
    depth, stepped, _ = covered(lambda c, h: np.array([3.0 + 0.01 * c]), 500, jump)
    assert depth[0] == pytest.approx(3.0 * 500 + 0.005 * 500 * 501, rel=1e-12)
    assert stepped < 500


def test_no_jumps_step_all_cycles():
    assert covered(lambda c, h: np.ones(1), 20, CycleJump(fixed=0))[1] == 20


@pytest.mark.parametrize(("rate", "stepped"), [(2e-3, 12), (5e-3, 18)])
def test_wear_that_decays_with_the_depth(rate, stepped):
    """w = r (1 − h): h = 1 − (1 − r)^n after n cycles."""
    depth, taken, worst = covered(lambda c, h: rate * (1.0 - h), 1000, CycleJump())
    assert depth[0] == pytest.approx(1.0 - (1.0 - rate) ** 1000, rel=0.01)
    assert taken <= stepped
    assert 0.0 < worst < 0.1


def test_fixed_jumps_are_of_order_two():
    errors = []
    for count in (39, 19, 9):
        depth = covered(lambda c, h: 2e-3 * (1.0 - h), 1200, CycleJump(fixed=count))[0]
        errors.append(abs(depth[0] - 1.0 + (1.0 - 2e-3) ** 1200))
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2]


@pytest.mark.parametrize("jump", [CycleJump(), CycleJump(fixed=30), CycleJump(fixed=97)])
@pytest.mark.parametrize("cycles", [100, 101, 400])
def test_depths_never_decrease(jump, cycles):
    """Wear of one point falls faster than a line: predictions are too large, corrections negative."""
    depths = {}

    def wear_at(n, depth):
        for later in [cycle for cycle in depths if cycle >= n]:  # of a rejected jump
            del depths[later]
        depths[n] = depth
        return np.array([1.0, 2.0 * (1.0 - (n / cycles) ** 3)])

    run = Points(wear_at, 2)
    step_cycles(run, 0, 1, cycles, jump)
    assert np.diff(list(depths.values()), axis=0).min() >= 0.0
    exact = 2.0 * np.sum(1.0 - (np.arange(1, cycles + 1) / cycles) ** 3)
    limit = 2.0 * run.attributes["jump_error"] * cycles  # errors of several jumps add
    np.testing.assert_allclose(run.state.worn.depth, [cycles, exact], rtol=0, atol=max(limit, 1e-9))


def test_stiff_wear_shortens_the_jumps():
    """A point that loses its wear within two cycles beside one that goes on: jumps stay short until it is settled."""
    rates, limits = np.array([0.5, 1e-4]), np.array([0.02, 1.0])
    depth, stepped, worst = covered(lambda c, h: rates * (limits - h), 1000, CycleJump(), 2)
    exact = limits * (1.0 - (1.0 - rates) ** 1000)
    np.testing.assert_allclose(depth, exact, atol=0.02 * exact.max())
    assert stepped > 10
    assert worst < 0.5


def test_bad_jumps_are_refused():
    with pytest.raises(UserError, match="jumps = -1"):
        CycleJump(fixed=-1)
    with pytest.raises(UserError, match="tolerance"):
        CycleJump(tolerance=0.0)


def pad(stiffness=1e11, wear=True, rate=1.0):
    """A block on asperities under a constant load, unevenly, rubbed to and fro."""
    material = aq.LinearElastic(young=2e11, poisson=0.0)

    def load(x, t):
        return np.stack([0.0 * x[0], -1e6 * (1.0 + 40.0 * x[0]) * min(t, 1.0)])

    motion = {"x": lambda t: 1e-4 * rate * np.sin(2.0 * np.pi * (t - 1.0)) * (t > 1.0)}
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(6, 3)), material, plane="strain",
                     tractions={"top": load}, imposed={"left": motion, "right": motion})  # fmt: skip
    contact = aq.Interface("contact", block.boundary("bottom"), aq.RigidPlane(point=(0.0, -1e-4), normal=(0.0, 1.0)),
                           aq.Asperities(stiffness, 1, 1e-4), friction=aq.Coulomb(0.1),
                           wear=aq.Archard(2e-11, density=7800.0) if wear else None)  # fmt: skip
    return aq.System([block], interfaces=[contact])


def cycled(cycles=40, system=None, **options):
    given = {"period": PERIOD, "step": STEP, "lead": 1.0, **options}
    return aq.simulate_cycles(pad() if system is None else system, aq.Static(), cycles=cycles, **given)


@pytest.mark.slow
def test_jumps_agree_with_all_cycles_stepped(tmp_path):
    full = cycled(20, jumps=0)["interface/contact"]
    result = cycled(20, record=tmp_path / "run.zarr")
    stepped = [int(word) for word in result.attrs["cycles_stepped"].split()]
    assert stepped[:3] == [1, 2, 7]
    assert stepped[-1] == 20
    assert len(stepped) < 8
    times = result["time"].values
    ends = 1.0 + PERIOD * np.array(stepped)
    assert np.isin(np.round(ends / STEP), np.round(times / STEP)).all()
    assert len(times) == 21 + 20 * len(stepped)
    jumped = aq.results.open(tmp_path / "run.zarr")["interface/contact"]
    np.testing.assert_allclose(jumped["worn_depth"][-1], full["worn_depth"][-1], rtol=0.01)
    assert float(jumped["worn_volume"][-1]) == pytest.approx(float(full["worn_volume"][-1]), rel=1e-3)
    assert float(jumped["worn_mass"][-1]) == pytest.approx(7800.0 * float(jumped["worn_volume"][-1]))
    assert np.abs(result["balance"]).max() < 1e-12


def test_what_is_no_cycle_is_refused():
    with pytest.raises(UserError, match=r"period = 0.99: must be a whole number of steps of 0.05 s"):
        cycled(period=0.99)
    with pytest.raises(UserError, match="lead"):
        cycled(lead=0.92)
    with pytest.raises(UserError, match=r"period = 0\.9: must be that of the imposed motions"):
        cycled(period=0.9)
    with pytest.raises(UserError, match="must be that of the loads"):
        cycled(lead=0.5, system=pad(rate=0.0))
    with pytest.raises(UserError, match="needs an interface that wears"):
        cycled(system=pad(wear=False))
    with pytest.raises(UserError, match="cycles"):
        cycled(cycles=0)


@pytest.mark.slow
def test_means_over_time_need_all_cycles():
    result = cycled(cycles=12)
    with pytest.raises(UserError, match="skipped"):
        aq.results.mean_power(result, "contact", 1.0, 5.0)


@pytest.mark.slow
def test_an_interrupted_run_stays_readable(tmp_path):
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done > 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cycled(record=tmp_path / "run.zarr", progress=stop)
    result = aq.results.open(tmp_path / "run.zarr")
    assert result.attrs["complete"] == 0
    assert result.attrs["cycles_stepped"].split()[:2] == ["1", "2"]
    assert np.isfinite(result["interface/contact"]["worn_volume"]).all()
    assert seen[-1][1] == 820
