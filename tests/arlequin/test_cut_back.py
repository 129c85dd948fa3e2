"""Steps done in parts: which they are, what they add up to, and what stays where they fail too."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arlequin as aq
from arlequin.models.errors import FAILURE
from arlequin.schemes import cut_back
from arlequin.solvers.newton_step import NewtonStep
from arlequin.step.acceptance import Failed
from arlequin.step.state import State

RUBBER = aq.NeoHooke(2.0, 0.3, 1.5)
METAL = aq.J2(2.0, 0.3, 1.5, yield_stress=0.1, hardening=aq.LinearHardening(0.1))


def block(law: Any, high: Any = (1.0, 0.8), cells: Any = (3, 2), **options: Any) -> Any:
    """A solid of finite strain in the plane."""
    mesh = aq.mesh.rectangle((0.0, high[0]), (0.0, high[1]), cells=cells)
    return aq.Solid(mesh=mesh, material=law, **{"name": "block", "plane": "strain", "kinematics": "finite", **options})


class Spans(list[tuple[float, float]]):
    """A batch of spans (start, end), s."""

    def numbered(self, n: int) -> "Spans":
        return self


class Ticks:
    """Steps that add their length to u and fail where they are longer than allowed there."""

    restarts = False

    def __init__(self, step: float, allowed: Any, log: list[tuple[float, float]]) -> None:
        self.step, self._allowed, self._log = step, allowed, log

    def start(self, u: Any, v: Any) -> State:
        return State(0, u, v, u, u, 0.0, 0.0, 0.0, u)

    def with_step(self, step: float) -> "Ticks":
        return Ticks(step, self._allowed, self._log)

    def merge_substeps(self, batches: Any) -> Any:
        return Spans(span for batch in batches for span in batch)

    def advance(self, state: State) -> Any:
        t0, t1 = state.n * self.step, (state.n + 1) * self.step
        if self.step > self._allowed(t0, t1):
            raise Failed(f"not from {t0}")
        self._log.append((t0, t1))
        return replace(state, n=state.n + 1, u=state.u + self.step), Spans([(t0, t1)])


@given(st.floats(0.0, 2.9), st.floats(0.01, 2.0), st.integers(0, 8))
def test_parts_follow_one_another_and_are_no_smaller_than_they_have_to_be(first: float, length: float, k: int) -> None:
    """Within (first, first + length) parts of 2⁻ᵏ are allowed."""

    def allowed(t0: float, t1: float) -> float:
        return 0.5**k if t1 > first and t0 < first + length else 1.0

    log: list[tuple[float, float]] = []
    stepper = cut_back.CutBackStepper(Ticks(1.0, allowed, log))
    state, spans = stepper.start(np.zeros(1), np.zeros(1)), []
    for n in range(4):
        state, batch = stepper.advance(state)
        assert state.n == n + 1 and float(state.u[0]) == n + 1.0
        spans += batch
    assert spans == log
    starts, ends = np.array(log).T
    assert (starts[1:] == ends[:-1]).all() and starts[0] == 0.0 and ends[-1] == 4.0
    assert (ends - starts).min() >= 0.5**k
    for n in range(4):  # a step out of there is not cut
        if n + 1 <= first or n >= first + length:
            assert (n, n + 1) in log


def test_a_step_that_fails_to_the_last_says_so() -> None:
    stepper = cut_back.CutBackStepper(Ticks(1.0, lambda t0, t1: 1e-3 if t1 > 0.5 else 1.0, []))
    with pytest.raises(aq.UserError, match=r"^not from 0\.5, with the step cut to 1/256 of it: try a finer") as caught:
        stepper.advance(stepper.start(np.zeros(1), np.zeros(1)))
    assert caught.value.code == FAILURE


def test_wrong_usage_is_no_reason_to_cut() -> None:
    def wrong(t0: float, t1: float) -> float:
        raise aq.UserError("load: wrong")

    with pytest.raises(aq.UserError, match=r"^load: wrong$"):
        stepper = cut_back.CutBackStepper(Ticks(1.0, wrong, []))
        stepper.advance(stepper.start(np.zeros(1), np.zeros(1)))


def sliding(law: Any) -> aq.System:
    """A block that hits a floor and rubs."""
    part = block(law, imposed={"left": {"x": lambda t: 0.05 * t}})
    floor = aq.RigidPlane(point=(0.0, -0.02), normal=(0.0, 1.0))
    touch = aq.Interface("floor", part.boundary("bottom"), floor, aq.Unilateral(), friction=aq.Coulomb(0.4))
    return aq.System([part], interfaces=[touch], velocity=lambda x: np.stack([0.2 * x[:, 0], -0.4 - 0 * x[:, 0]], 1))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [RUBBER, METAL], ids=["neo-Hooke", "J2"])
def test_a_step_in_parts_is_the_steps_of_that_size(law: Any, monkeypatch: Any) -> None:
    """Motion, memory, all works, impulses and wear; and it balances as exactly."""
    whole = aq.simulate(sliding(law), aq.Theta(0.5), duration=0.8, step=0.05)
    solve = NewtonStep.solve

    def failing(self: Any, state: Any, drive: Any) -> Any:
        if self._step > 0.06:
            raise Failed("no")
        return solve(self, state, drive)

    monkeypatch.setattr(NewtonStep, "solve", failing)
    parts = aq.simulate(sliding(law), aq.Theta(0.5), duration=0.8, step=0.2)
    assert parts["time"].size == 5 and np.abs(parts["balance"]).max() <= 1e-13
    energy = whole["energy"].values[::4]
    assert np.abs(parts["energy"].values - energy).max() <= 1e-11 * np.abs(energy).max()
    for name in ("displacement", "velocity"):
        assert np.abs(parts["part/block"][name].values - whole["part/block"][name].values[::4]).max() <= 1e-10
    contact, fine = parts["interface/floor"], whole["interface/floor"]
    force = fine["force"].values[1:].reshape(4, 4, 2).mean(axis=1)
    assert np.abs(force).max() > 0.01
    assert np.abs(contact["force"].values[1:] - force).max() <= 1e-9
    wear = fine["wear_power"].values[1:].reshape(4, 4).mean(axis=1)
    assert wear.max() > 1e-4 and np.abs(contact["wear_power"].values[1:] - wear).max() <= 1e-9


def spinning(law: Any) -> aq.System:
    def velocity(x: Any) -> Any:
        return 2.0 * np.stack([-x[:, 1], x[:, 0]], axis=1)

    return aq.System([block(law)], displacement=lambda x: 0.3 * x * [0.5, 1.0], velocity=velocity)


def test_steps_too_long_to_converge_keep_energy(monkeypatch: Any) -> None:
    """Five radians a step: without parts of it the run stops."""
    result = aq.simulate(spinning(RUBBER), aq.Midpoint(), duration=20.0, step=2.5)
    energy = result["energy"].sel(kind=["kinetic", "strain"]).sum("kind").values
    assert np.abs(energy - energy[0]).max() <= 1e-12 * energy[0] and np.abs(result["balance"]).max() <= 1e-12
    monkeypatch.setattr(cut_back, "_MAX_HALVINGS", 0)
    with pytest.raises(aq.UserError, match=r"^the step to t = .* did not converge .*cut to 1/1 "):
        aq.simulate(spinning(RUBBER), aq.Midpoint(), duration=20.0, step=2.5)


def test_metal_that_flows_in_long_steps_balances() -> None:
    result = aq.simulate(spinning(METAL), aq.Midpoint(), duration=5.0, step=0.5)
    energy = result["energy"].sel(kind="plastic").values
    assert (np.diff(energy) >= 0.0).all() and energy[-1] > 0.1
    assert np.abs(result["balance"]).max() <= 1e-12
    assert result.attrs["newton_iterations_most"] > 40


def test_a_metal_crushed_half_way_keeps_its_record(tmp_path: Any) -> None:
    """Its ends meet at t = 1.6 s: no step leads there, and the ones before are kept."""
    part = block(
        METAL, cells=(2, 2), imposed={"bottom": {"x": 0.0, "y": 0.0}, "top": {"x": 0.0, "y": lambda t: -t / 2}}
    )
    path = str(tmp_path / "run.zarr")
    where = r"\(largest residual in part 'block', cell [0-3]\)"
    line = rf"^the step to t = 1\.\d* s .*{where}, .*cut to 1/256 of it: try a finer"
    with pytest.raises(aq.UserError, match=line) as caught:
        aq.simulate(aq.System([part]), aq.Theta(0.5), duration=2.0, step=0.1, record=path)
    kept = aq.results.open(path)
    failed = float(str(caught.value).split("t = ")[1].split(" ")[0])
    assert failed <= 1.6 + 1e-12 and kept.attrs["complete"] == 0
    assert kept["time"].values == pytest.approx(0.1 * np.arange(np.ceil(failed / 0.1)))
    again = aq.simulate(aq.System([part]), aq.Theta(0.5), duration=float(kept["time"][-1]), step=0.1)
    assert np.abs(kept["balance"]).max() <= 1e-12
    for name in ("displacement", "plastic_strain"):
        assert (kept["part/block"][name].values == again["part/block"][name].values).all()


def test_rigid_parts_have_another_remedy() -> None:
    stepper = cut_back.CutBackStepper(Ticks(1.0, lambda t0, t1: 1e-3, []), deforms=False)
    with pytest.raises(aq.UserError, match=r"1/256 of it: try another step, or fewer contact points on the rigid"):
        stepper.advance(stepper.start(np.zeros(1), np.zeros(1)))
