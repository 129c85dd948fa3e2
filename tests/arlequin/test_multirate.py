"""Several time steps: energy kept for every ratio and pair of schemes, the single step as oracle, waves, contact."""

from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.schemes.multirate_loop import MultirateLoopStepper
from arlequin.schemes.multirate_steps import MultirateStepper
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=1.0, density=1.0)
SIZE, RATIO, WIDTH = 0.1, 3.7, 0.4
IMPLICIT, EXPLICIT = aq.Theta(0.5), aq.CentralDifference()
PAIRS = {
    "theta, theta": (IMPLICIT, IMPLICIT),
    "theta, central": (IMPLICIT, EXPLICIT),
    "central, theta": (EXPLICIT, IMPLICIT),
    "central, central": (EXPLICIT, EXPLICIT),
}


def bars(mass: str = "consistent", length: float = 1.0, contact: bool = False, **options: Any) -> aq.System:
    """Two glued bars, the coarse one clamped; with contact the fine end flies at a wall, else a pulse is released."""
    inner = length - WIDTH
    coarse_mesh = aq.mesh.interval(0.0, length, cells=round(length / SIZE))
    fine_mesh = aq.mesh.interval(inner, inner + length, cells=round(length / SIZE * RATIO))
    held = {} if contact else {"imposed": {"left": {"x": 0.0}}}
    coarse = aq.Bar("coarse", coarse_mesh, UNIT, mass=mass, **held)
    fine = aq.Bar("fine", fine_mesh, UNIT, mass=mass)
    junctions = [aq.Junction(coarse, fine, **options)]
    if contact:
        wall = aq.RigidPlane(inner + length + 0.05, -1.0)
        touch = aq.Interface("contact", fine.boundary("right"), wall, aq.Asperities(30.0, 2.0, 0.02))
        return aq.System([coarse, fine], junctions, interfaces=[touch], velocity=0.1)
    return aq.System([coarse, fine], junctions, displacement=lambda x: np.exp(-(((x[:, 0] - 0.7 * inner) / 0.3) ** 2)))


def steps(pair: str, ratio: int) -> float:
    """A large step that the explicit sides of the pair can take."""
    coarse, fine = PAIRS[pair]
    step = min(0.5 * SIZE, 0.02 * ratio) if coarse is EXPLICIT else 0.02 * ratio
    return min(step, 0.5 * SIZE / RATIO * ratio) if fine is EXPLICIT else step


def stored(result: xarray.DataTree) -> Any:
    energy = result.dataset["energy"]
    return sum(energy.sel(kind=kind).values for kind in ("kinetic", "strain", "asperity") if kind in energy["kind"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ratio", [1, 4, *(pytest.param(ratio, marks=pytest.mark.slow) for ratio in (2, 10, 20))])
@pytest.mark.parametrize("pair", PAIRS)
def test_energy_is_kept(pair: str, ratio: int) -> None:
    step = steps(pair, ratio)
    system = bars("lumped" if "central" in pair else "consistent")
    result = aq.simulate(system, aq.Multirate(ratio, *PAIRS[pair]), duration=200 * step, step=step, fields_every=200)
    energy = stored(result)
    assert np.abs(energy / energy[0] - 1.0).max() <= 5e-13
    assert np.abs(result.dataset["balance"]).max() <= 5e-13
    assert np.abs(result.dataset["energy"].sel(kind="junction")).max() <= 1e-12 * energy[0]


def test_one_step_each_is_the_theta_scheme() -> None:
    results = [
        aq.simulate(bars(), scheme, duration=4.0, step=0.02, fields_every=200)
        for scheme in (aq.Theta(0.5), aq.Multirate(1))
    ]
    for part in ("coarse", "fine"):
        for name in ("displacement", "velocity"):
            one, other = (result[f"part/{part}/{name}"].values[-1] for result in results)
            assert np.abs(one - other).max() <= 1e-12 * np.abs(one).max()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("pair", PAIRS)
def test_it_converges_to_the_single_step_solution(pair: str) -> None:
    """Order 2 of the displacements against a run with one much smaller step."""
    mass = "lumped" if "central" in pair else "consistent"
    exact = aq.simulate(bars(mass), aq.Theta(0.5), duration=0.8, step=0.8 / 6400, fields_every=6400)
    errors, counts = [], [20, 40, 80, 160]
    for count in counts:
        result = aq.simulate(
            bars(mass), aq.Multirate(3, *PAIRS[pair]), duration=0.8, step=0.8 / count, fields_every=count
        )
        errors.append(
            max(
                np.abs(result[f"part/{p}/displacement"].values[-1] - exact[f"part/{p}/displacement"].values[-1]).max()
                for p in ("coarse", "fine")
            )
        )
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert 1.85 <= order <= 2.3, errors
    assert errors[-1] <= 1e-3


@pytest.mark.slow
def test_long_waves_pass_with_ten_small_steps() -> None:
    """A packet of wavelength 12 H from the fine bar: 2e-4 of its energy comes back at most."""
    wave, width, length = 1.2, 2.4, 26.0
    fine = aq.Bar("fine", aq.mesh.interval(0.0, length + WIDTH, cells=2640), UNIT)
    coarse = aq.Bar("coarse", aq.mesh.interval(length, 2 * length, cells=260), UNIT)
    k, centre = 2.0 * np.pi / wave, length - 4.5 * width

    def pulse(x: Any) -> Any:
        s = x[:, 0] - centre
        return np.exp(-0.5 * (s / width) ** 2) * np.sin(k * s)

    def rate(x: Any) -> Any:
        s = x[:, 0] - centre
        return np.exp(-0.5 * (s / width) ** 2) * (s / width**2 * np.sin(k * s) - k * np.cos(k * s))

    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)], displacement=pulse, velocity=rate)
    result = aq.simulate(system, aq.Multirate(10), duration=8.5 * width, step=0.035, fields_every=10**6)
    group = result["part/fine"].dataset
    x = group["position"].values[:, 0]
    u, v = (group[name].values[-1, :, 0] for name in ("displacement", "velocity"))
    inside = x < length - 1e-9
    back = 0.5 * np.trapezoid(np.gradient(u, x)[inside] ** 2 + v[inside] ** 2, x[inside])
    assert back <= 2e-4 * stored(result)[0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("pair", ["theta, theta", "theta, central"])
def test_contact_at_small_steps(pair: str) -> None:
    """The impact of a free bar on rough asperities: audited, and the same as with the small step everywhere."""
    mass = "lumped" if "central" in pair else "consistent"
    options: dict[str, Any] = {"duration": 4.5, "fields_every": 10**6}
    result = aq.simulate(bars(mass, contact=True), aq.Multirate(5, *PAIRS[pair]), step=0.02, **options)
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    assert np.abs(stored(result) / stored(result)[0] - 1.0).max() <= (1e-11 if mass == "consistent" else 2e-2)
    one = aq.simulate(bars(mass, contact=True), PAIRS[pair][1], step=0.004, **options)
    impulse, expected = (float(r["interface/contact/impulse"].sum()) for r in (result, one))
    assert expected > 0.2
    assert impulse == pytest.approx(expected, rel=2e-3)
    assert result.attrs["contact_iterations"] >= result.attrs["steps"]


def test_one_pass_of_both_sides_is_enough(side_advances: list[int]) -> None:
    """Without loads and contact the multipliers are known before a single step is taken."""
    assembly = assemble(bars())
    stepper = aq.Multirate(4).prepare(assembly, 0.08)
    state = stepper.start(*start_fields(assembly, 0.08, False))
    for _ in range(50):
        state, _ = MultirateStepper.advance(stepper, state)
    assert len(side_advances) <= 2 * 55


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pair", PAIRS)
def test_steps_of_the_loop_are_those_taken_one_by_one(pair: str) -> None:
    """Under loads and moving supports, with dashpots: state, works, multipliers and reactions."""
    mass, step = "lumped" if "central" in pair else "consistent", 0.4 * steps(pair, 3)
    system = bars(mass)
    coarse = aq.Bar(
        "coarse", system.parts[0].mesh, UNIT, mass=mass, imposed={"left": {"x": lambda t: 0.1 * np.sin(9.0 * t)}}
    )
    fine = aq.Bar("fine", system.parts[1].mesh, UNIT, mass=mass, tractions={"right": lambda x, t: np.cos(7.0 * t)})
    dashpot = aq.Spring("dashpot", fine.boundary("right"), stiffness=0.1, damping=0.2)
    glued = aq.System([coarse, fine], [aq.Junction(coarse, fine)], springs=[dashpot], displacement=system.displacement)
    assembly = assemble(glued)
    stepper = aq.Multirate(3, *PAIRS[pair]).prepare(assembly, step)
    assert isinstance(stepper, MultirateLoopStepper)
    state = start = stepper.start(*start_fields(assembly, step, False))
    end, batch = stepper.advance(start, 30)
    each = []
    for _ in range(len(batch)):
        state, one = MultirateStepper.advance(stepper, state)
        each.append(one)
    for name in ("u", "v", "works", "multipliers", "reactions"):
        expected = np.concatenate([getattr(one, name) for one in each])
        assert np.abs(getattr(batch, name) - expected).max() <= 1e-11 * np.abs(expected).max(), name
    for name in ("u", "v", "internal"):
        expected = getattr(state, name)
        assert np.abs(getattr(end, name) - expected).max() <= 1e-11 * np.abs(expected).max(), name
    assert np.abs(batch.work["damping"]).max() > 0.0 and np.abs(batch.reactions).max() > 0.0


def test_statistics_and_description() -> None:
    result = aq.simulate(bars(), aq.Multirate(4), duration=0.8, step=0.08)
    assert result.attrs["scheme"] == "Multirate(ratio=4, coarse=Theta(theta=0.5), fine=Theta(theta=0.5))"
    assert result.dataset["time"].values == pytest.approx(0.08 * np.arange(11))
    assert result.attrs["complete"] == 1


@pytest.mark.parametrize("ratio", [2.5, 0, -1, "2", None])
def test_a_ratio_is_a_positive_integer(ratio: Any) -> None:
    with pytest.raises(aq.UserError, match="ratio"):
        aq.Multirate(ratio)


@pytest.mark.parametrize("scheme", [aq.Theta(1.0), aq.Newmark(0.25, 0.5), aq.Multirate(2)])
def test_schemes_that_do_not_conserve_are_refused(scheme: Any) -> None:
    with pytest.raises(aq.UserError, match=r"coarse = .*Theta\(0.5\) or CentralDifference"):
        aq.Multirate(2, coarse=scheme)
    with pytest.raises(aq.UserError, match="fine = "):
        aq.Multirate(2, fine=scheme)


def test_systems_that_cannot_take_several_steps() -> None:
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=10), UNIT)
    with pytest.raises(aq.UserError, match="need a junction"):
        aq.simulate(aq.System([bar], velocity=1.0), aq.Multirate(2), duration=1.0, step=0.1)
    ends = [(0.0, 1.0, 10), (0.6, 1.6, 20), (1.2, 2.2, 40)]
    parts = [aq.Bar(name, aq.mesh.interval(a, b, cells=n), UNIT) for name, (a, b, n) in zip("abc", ends, strict=True)]
    junctions = [aq.Junction(parts[0], parts[1], name="one"), aq.Junction(parts[1], parts[2], name="two")]
    with pytest.raises(aq.UserError, match="part 'b' is fine in one junction and coarse in another"):
        aq.simulate(aq.System(parts, junctions, velocity=1.0), aq.Multirate(2), duration=1.0, step=0.1)
    with pytest.raises(aq.UserError, match="central-difference limit"):
        aq.simulate(bars("lumped"), aq.Multirate(2, EXPLICIT, EXPLICIT), duration=1.0, step=0.2)


def held(where: str) -> aq.System:
    """The glued bars, a mass on a spring and dashpot at the end of one of them, and a mass that contact alone ties."""
    system = bars()
    part = next(part for part in system.parts if part.name == where)
    end = part.boundary("right")
    mass = aq.PointMasses("mass", end.positions[0] + 0.1, 0.3)
    spring = aq.Spring("spring", end, mass.boundary("all"), stiffness=2.0, damping=0.1)
    ball = aq.PointMasses("ball", end.positions[0] + 0.2, 0.2)
    knock = aq.Interface(
        "knock", mass.boundary("all"), ball.boundary("all"), aq.Asperities(50.0, 1.0, 0.05), direction=1.0
    )
    return aq.System(
        [*system.parts, mass, ball], system.junctions, [knock], springs=[spring], displacement=system.displacement
    )


@pytest.mark.slow
@pytest.mark.parametrize("where", ["fine", "coarse"])
def test_springs_and_contact_within_one_side(where: str) -> None:
    """Parts that no junction names step with those that they are tied to: the single step is the oracle."""
    step = 0.01
    one = aq.simulate(held(where), aq.Theta(0.5), duration=3.0, step=step)
    for ratio in (1, 2):
        result = aq.simulate(held(where), aq.Multirate(ratio), duration=3.0, step=step)
        assert np.abs(result.dataset["balance"]).max() <= 1e-12
        for name in ("mass", "ball"):
            found, expected = (r[f"part/{name}/displacement"].values for r in (result, one))
            assert np.abs(expected).max() > 1e-3 and np.abs(found - expected).max() < 5e-3 * np.abs(expected).max()


def test_springs_between_the_sides_are_refused() -> None:
    system = bars()
    coarse, fine = system.parts
    spring = aq.Spring("both", coarse.boundary("right"), fine.boundary("right"), stiffness=1.0)
    with pytest.raises(aq.UserError, match="Multirate: spring 'both' connects a coarse and a fine part"):
        aq.simulate(
            aq.System(system.parts, system.junctions, springs=[spring]), aq.Multirate(2), duration=1.0, step=0.1
        )
