"""Absorbing junctions in explicit steps and in several time steps: energy, order, supports, contact, other steps."""

from typing import Any

import numpy as np
import pytest
import xarray
from scipy.linalg import expm, null_space

import arlequin as aq
from arlequin.schemes.central_bulk import BulkCentralStepper
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.stable_step import stable_step
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=1.0, density=1.0)
IMPLICIT, EXPLICIT = aq.Theta(0.5), aq.CentralDifference()
PAIRS = {
    "theta, theta": (IMPLICIT, IMPLICIT),
    "theta, central": (IMPLICIT, EXPLICIT),
    "central, theta": (EXPLICIT, IMPLICIT),
    "central, central": (EXPLICIT, EXPLICIT),
}
COARSE = 0.1  # m, cells


def bars(mass: str = "lumped", **given: Any) -> aq.System:
    """Coarse cells of 0.1 in [0, 1], fine ones of a fourth in [0.6, 1.6]; absorbing."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 1.0, cells=10), UNIT, mass=mass, **given.pop("held", {}))
    fine = aq.Bar("fine", aq.mesh.interval(0.6, 1.6, cells=40), UNIT, mass=mass)
    fields = given or {"displacement": lambda x: np.exp(-(((x[:, 0] - 1.2) / 0.15) ** 2))}
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, absorbing=aq.Absorber())], **fields)


def noise(x: Any) -> Any:
    return np.sin(2.0 * np.pi / 0.13 * x[:, 0]) * np.exp(-(((x[:, 0] - 1.2) / 0.2) ** 2))


def column(result: xarray.DataTree, kind: str) -> Any:
    return result.dataset["energy"].sel(kind=kind).values


def stored(result: xarray.DataTree) -> Any:
    return column(result, "kinetic") + column(result, "strain")


def exact(system: aq.System, duration: float) -> Any:
    """u (d,) of M u″ + D_a u′ + K u = 0 on C u = 0, by the exponential of its matrix."""
    assembly = assemble(system)
    allowed = null_space(assembly.constraints.toarray())
    assert assembly.absorber is not None
    mass, damping, stiffness = (
        allowed.T @ matrix.toarray() @ allowed for matrix in (assembly.mass, assembly.absorber, assembly.stiffness)
    )
    n = len(mass)
    matrix = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)]]
    )
    u, v = start_fields(assembly, 1.0, False)
    start = np.concatenate([allowed.T @ u, allowed.T @ v])
    return allowed @ (expm(duration * matrix) @ start)[:n]


def order_of(scheme: Any, mass: str, counts: list[int], duration: float) -> tuple[float, float]:
    """Order of the error of u at the end, and the smallest error."""
    expected, errors = exact(bars(mass), duration), []
    for count in counts:
        result = aq.simulate(bars(mass), scheme, duration=duration, step=duration / count, fields_every=count)
        found = np.concatenate([result[f"part/{p}/displacement"].values[-1, :, 0] for p in ("coarse", "fine")])
        errors.append(np.abs(found - expected).max())
    return float(-np.polyfit(np.log(counts), np.log(errors), 1)[0]), errors[-1]


def test_central_differences_are_of_order_2_with_an_absorber() -> None:
    order, error = order_of(EXPLICIT, "lumped", [40, 80, 160, 320], 0.8)
    assert 1.95 <= order <= 2.1
    assert error <= 2e-4


@pytest.mark.slow
def test_energy_never_grows_close_to_the_limit() -> None:
    """20,000 steps at 0.99 of the limit of the undamped model: E_{n+1} = E_n − Δt v̄·D_a v̄."""
    assembly = assemble(bars(velocity=noise))
    step = 0.99 * stable_step(assembly)
    stepper = EXPLICIT.prepare(assembly, step)
    assert isinstance(stepper, BulkCentralStepper)
    state = stepper.start(*start_fields(assembly, step, False))
    start = energy = state.kinetic + state.strain
    for _ in range(40):
        state, batch = stepper.advance(state, 500)
        works = aq_columns(batch.works)
        energies = np.append(energy, works["kinetic"] + works["strain"])
        assert (np.diff(energies) <= 1e-15 * start).all()
        np.testing.assert_allclose(np.diff(energies), -works["absorbed"], rtol=0.0, atol=2e-15 * start)
        energy = float(energies[-1])
    assert 0.0 < energy < 0.2 * start
    assert np.abs(state.u).max() < 1.0 and np.isfinite(state.v).all()


def aq_columns(works: Any) -> dict[str, Any]:
    from arlequin.energy import KINDS

    return dict(zip(KINDS, works.T, strict=True))


def test_a_support_that_moves_in_the_zone_is_audited() -> None:
    """The coarse bar's end, in the zone, is shaken; its force is that of the two parts and of the absorber on it."""

    held = {"imposed": {"right": {"x": lambda t: 0.01 * (1.0 - np.cos(30.0 * t))}}}
    system = bars(held=held, velocity=noise)
    step = 0.9 * stable_step(assemble(system))
    result = aq.simulate(system, EXPLICIT, duration=2.0, step=step)
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    assert np.diff(column(result, "absorbed")).min() >= 0.0 and column(result, "absorbed")[-1] > 0.0
    assert np.abs(column(result, "external_work")).max() > 0.0


@pytest.mark.filterwarnings("ignore:interface 'contact'")
@pytest.mark.parametrize("inside", [False, True])
def test_contact_beside_the_zone_and_in_it(inside: bool) -> None:
    """A wall stops the free end of the fine bar, or that of the coarse one in the zone: balance, and no tension."""
    system = bars()
    coarse, fine = system.parts
    side, end = (coarse.boundary("right"), 1.0) if inside else (fine.boundary("right"), 1.6)
    wall = aq.RigidPlane(end + 0.02, -1.0)
    touch = aq.Interface("contact", side, wall, aq.Unilateral(level="velocity"))
    whole = aq.System(system.parts, system.junctions, interfaces=[touch], velocity=0.1)
    step = 0.9 * stable_step(assemble(whole))
    result = aq.simulate(whole, EXPLICIT, duration=3.0, step=step)
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    assert result["interface/contact/impulse"].values.min() >= 0.0
    assert result["interface/contact/impulse"].values.sum() > 0.1
    assert np.diff(column(result, "absorbed")).min() >= 0.0


def test_sub_steps_of_parts_of_finite_strain() -> None:
    """Their number changes as the cells are compressed, and with it the matrix: the loss stays audited."""
    rubber = aq.NeoHooke(young=1.0, poisson=0.3, density=1.0)
    coarse, fine = (
        aq.Solid(
            name,
            aq.mesh.rectangle(x, (0.0, 0.3), cells=cells),
            rubber,
            plane="strain",
            kinematics="finite",
            mass="lumped",
        )
        for name, x, cells in (("coarse", (0.0, 0.6), (6, 3)), ("fine", (0.3, 0.9), (24, 12)))
    )

    def thrown(x: Any) -> Any:
        return np.stack([-0.8 * x[:, 0] + 0.1 * np.sin(60.0 * x[:, 0]), 0.0 * x[:, 0]], axis=1)

    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, absorbing=aq.Absorber())], velocity=thrown)
    result = aq.simulate(system, EXPLICIT, duration=1.0, step=0.05)
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    absorbed = column(result, "absorbed")
    assert np.diff(absorbed).min() > 0.0
    assert absorbed[-1] > 1e-4 * column(result, "kinetic")[0]
    # order 2 alone loses energy to the scheme
    assert np.abs(column(result, "scheme")).max() <= 1e-2 * column(result, "kinetic")[0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ratio", [1, 4, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("pair", PAIRS)
def test_several_steps_lose_what_is_absorbed(pair: str, ratio: int) -> None:
    coarse, fine = PAIRS[pair]
    step = 0.8 * COARSE if coarse is EXPLICIT else 0.02 * ratio
    step = min(step, 0.8 * COARSE / 4 * ratio)
    mass = "lumped" if EXPLICIT in (coarse, fine) else "consistent"
    system = bars(mass, velocity=noise)
    result = aq.simulate(system, aq.Multirate(ratio, coarse, fine), duration=100 * step, step=step, fields_every=100)
    absorbed, energy = column(result, "absorbed"), stored(result)
    assert np.diff(absorbed).min() >= 0.0
    assert absorbed[-1] > 0.05 * energy[0]
    assert np.abs(energy + absorbed - energy[0]).max() <= 1e-12 * energy[0]
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    assert np.abs(column(result, "junction")).max() <= 1e-12 * energy[0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("contact", [False, True])
@pytest.mark.parametrize(
    "pair", [*list(PAIRS)[1:3], *(pytest.param(pair, marks=pytest.mark.slow) for pair in list(PAIRS)[::3])]
)
def test_several_steps_with_loads_damping_and_moving_supports_are_audited(pair: str, contact: bool) -> None:
    """Supports at the coarse end and, in the zone, at the fine one; with contact a wall at the other fine end."""
    mass = "lumped" if EXPLICIT in PAIRS[pair] else "consistent"

    def shaken(rate: float) -> Any:
        return {"left": {"x": lambda t: 0.01 * (1.0 - np.cos(rate * t))}}

    lossy = aq.Rayleigh(0.1, 1e-3)
    coarse = aq.Bar(
        "coarse", aq.mesh.interval(0.0, 1.0, cells=10), UNIT, mass=mass, imposed=shaken(20.0), damping=lossy
    )
    fine = aq.Bar(
        "fine", aq.mesh.interval(0.6, 1.6, cells=40), UNIT, mass=mass, imposed={} if contact else shaken(15.0)
    )
    wall = aq.Interface("contact", fine.boundary("right"), aq.RigidPlane(1.605, -1.0), aq.Asperities(30.0, 2.0, 0.02))
    system = aq.System(
        [coarse, fine],
        [aq.Junction(coarse, fine, absorbing=aq.Absorber())],
        interfaces=[wall] if contact else [],
        gravity=lambda t: (0.3 * np.sin(9.0 * t),),
    )
    result = aq.simulate(system, aq.Multirate(4, *PAIRS[pair]), duration=3.0, step=0.03)
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    absorbed = column(result, "absorbed")
    assert np.diff(absorbed).min() >= 0.0 and absorbed[-1] > 0.0
    assert not contact or result["interface/contact/impulse"].values.sum() > 0.0


def test_one_step_each_is_the_theta_scheme() -> None:
    one, other = (
        aq.simulate(bars("consistent", velocity=noise), scheme, duration=2.0, step=0.02, fields_every=100)
        for scheme in (IMPLICIT, aq.Multirate(1))
    )
    for part in ("coarse", "fine"):
        for name in ("displacement", "velocity"):
            expected, found = (result[f"part/{part}/{name}"].values[-1] for result in (one, other))
            assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
    np.testing.assert_allclose(column(other, "absorbed"), column(one, "absorbed"), rtol=1e-10, atol=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_several_steps_are_of_order_2(pair: str) -> None:
    mass = "lumped" if EXPLICIT in PAIRS[pair] else "consistent"
    order, error = order_of(aq.Multirate(3, *PAIRS[pair]), mass, [40, 80, 160, 320], 0.8)
    assert 1.85 <= order <= 2.3
    assert error <= 1e-3


def test_linear_motion_takes_two_passes(side_advances: list[int]) -> None:
    result = aq.simulate(bars("consistent"), aq.Multirate(4), duration=4.0, step=0.08)
    assert result.attrs["steps"] == 50
    assert len(side_advances) <= 2 * 2 * 55


def returned(wave: float, scheme: Any, step: float, mass: str) -> tuple[float, float]:
    """Shares of a packet in the fine bar that come back from the zone, and that are lost; coarse cells of 0.4."""
    size, h, width, spread = 0.4, 0.1, 2.4, 1.6
    inner = round(11.0 * spread / size) * size
    fine = aq.Bar("fine", aq.mesh.interval(0.0, inner + width, cells=round((inner + width) / h)), UNIT, mass=mass)
    end = inner + width + 20.0 * size
    coarse = aq.Bar("coarse", aq.mesh.interval(inner, end, cells=round((end - inner) / size)), UNIT, mass=mass)
    k, centre = 2.0 * np.pi / wave, inner - 5.0 * spread

    def wavy(x: Any) -> Any:
        s = x[:, 0] - centre
        return np.exp(-0.5 * (s / spread) ** 2) * np.sin(k * s)

    def rate(x: Any) -> Any:
        s = x[:, 0] - centre
        return -np.exp(-0.5 * (s / spread) ** 2) * (k * np.cos(k * s) - s / spread**2 * np.sin(k * s))

    junction = aq.Junction(coarse, fine, absorbing=aq.Absorber())
    system = aq.System([coarse, fine], [junction], displacement=wavy, velocity=rate)
    result = aq.simulate(system, scheme, duration=9.0 * spread + width, step=step, fields_every=10**6)
    group = result["part/fine"].dataset
    x = group["position"].values[:, 0]
    u, v = (group[name].values[-1, :, 0] for name in ("displacement", "velocity"))
    d = np.diff(x)
    cells = 0.5 * np.diff(u) ** 2 / d + d / 6.0 * (v[1:] ** 2 + v[1:] * v[:-1] + v[:-1] ** 2)
    energy = stored(result)[0]
    return float(cells[x[1:] <= inner + 1e-9].sum() / energy), float(column(result, "absorbed")[-1] / energy)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("pair", "wave"), [("theta, theta", 0.5), ("central, central", 0.6), ("theta, central", 0.6)])
def test_short_waves_are_absorbed_as_with_the_small_step_everywhere(pair: str, wave: float) -> None:
    """Of waves of 1.25 and 1.5 coarse cells as much comes back, within 20 %, at Δt = H/4c."""
    mass = "lumped" if EXPLICIT in PAIRS[pair] else "consistent"
    one, _ = returned(wave, PAIRS[pair][1], 0.025, mass)
    back, lost = returned(wave, aq.Multirate(4, *PAIRS[pair]), 0.1, mass)
    assert back == pytest.approx(one, rel=0.2)
    assert back < 0.03 and lost > 0.95


@pytest.mark.slow
def test_resolved_waves_are_not_damped_by_the_large_step() -> None:
    """A wave of 10 coarse cells: that the velocity changes within the large step is no difference of the models."""
    _, one = returned(4.0, IMPLICIT, 0.025, "consistent")
    _, lost = returned(4.0, aq.Multirate(4), 0.1, "consistent")
    assert lost <= 1.2 * one < 1e-3


def test_steps_do_not_depend_on_how_they_are_batched_or_begun_again() -> None:
    """The general stepper from a state of the one of many steps, and back: the same motion."""
    assembly = assemble(bars(velocity=noise))
    step = 0.9 * stable_step(assembly)
    many, general = BulkCentralStepper(assembly, step), CentralStepper(assembly, step)
    start = many.start(*start_fields(assembly, step, False))
    whole, _ = many.advance(start, 30)
    mixed, _ = many.advance(start, 10)
    for _ in range(10):
        mixed, _ = general.advance(mixed)
    mixed, _ = many.advance(mixed, 10)
    np.testing.assert_allclose(mixed.u, whole.u, rtol=0.0, atol=1e-13 * np.abs(whole.u).max())


def test_another_step_from_a_state_keeps_its_velocity() -> None:
    """`restarted`: v_n and the acceleration M⁻¹(F − D_a v_n) are those of the state."""
    assembly = assemble(bars(velocity=noise))
    step = 0.9 * stable_step(assembly)
    stepper = CentralStepper(assembly, step)
    state, _ = stepper.advance(stepper.start(*start_fields(assembly, step, False)))
    other = stepper.with_step(0.5 * step)
    again = other.restarted(state, 2)
    np.testing.assert_allclose(
        again.scheme_state.half + 0.25 * step * again.scheme_state.a, state.v, rtol=0.0, atol=1e-13
    )
    np.testing.assert_allclose(
        again.scheme_state.a, state.scheme_state.a, rtol=0.0, atol=1e-11 * np.abs(state.scheme_state.a).max()
    )
