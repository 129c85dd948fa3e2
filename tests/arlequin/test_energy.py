"""The energy audit: balanced for every scheme, law and mass; conserving pairs conserve; the check can fail."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.run import audit
from arlequin.schemes import compiled_loop as small_theta
from arlequin.schemes.factored_loop import FactoredStepper
from arlequin.schemes.loop_pairing import ImpulseResponse
from arlequin.solvers.condensed import Condensed
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.strains import Strains

UNIT = aq.LinearElastic(young=1.0, density=1.0)
CELLS = 8
SPEED = 0.1  # ρcV = 0.1: laws of this stiffness crush by about the height
HEIGHT = 0.05

SCHEMES: dict[str, Any] = {
    "theta 0.5": aq.Theta(0.5),
    "theta 0.7": aq.Theta(0.7),
    "theta 1": aq.Theta(1.0),
    "midpoint": aq.Midpoint(),
    "newmark": aq.Newmark(0.25, 0.5),
    "newmark damped": aq.Newmark(0.3025, 0.6),
    "hht": aq.HHT(-0.1),
    "modified mean acceleration": aq.ModifiedMeanAcceleration(-0.1),
    "generalised alpha": aq.GeneralisedAlpha.with_radius(0.5),
    "central difference": aq.CentralDifference(),
}
CONSERVING = ("theta 0.5", "midpoint", "newmark")

LAWS: dict[str, tuple[Any, ...]] = {
    "unilateral": (aq.Unilateral("gap"),),
    "unilateral-velocity": (aq.Unilateral("velocity"),),
    "penalty": (aq.Penalty(5.0),),
    "penalty-velocity": (aq.VelocityPenalty(4.0),),
    "asperities": (aq.Asperities(4.0, 1.0, HEIGHT),),
    "asperities m = 2": (aq.Asperities(80.0, 2.0, HEIGHT),),
    "asperities damped": (aq.Asperities(80.0, 2.0, HEIGHT, damping=0.3),),
    "asperities damped both ways": (
        aq.Asperities(4.0, 1.0, HEIGHT, damping=20.0, damping_exponent=1.0, damping_acts="both"),
    ),
    "multilevel": (aq.Asperities(1.0, 1.0, HEIGHT, damping=0.1), aq.Unilateral("velocity")),
    "multilevel gap": (aq.Asperities(20.0, 2.0, HEIGHT), aq.Unilateral("gap")),
}
LOADS: dict[str, dict[str, Any]] = {
    "free": {},
    "loaded": {
        "damping": aq.Rayleigh(mass=0.1, stiffness=0.01),
        "body_force": (0.02,),
        "imposed": {"left": {"x": lambda t: SPEED * t + 0.01 * np.sin(3.0 * t) ** 2}},
    },
}


def step_of(scheme: str) -> float:
    return (0.4 if scheme == "central difference" else 0.9) / CELLS


def possible(scheme: str, law: str, mass: str) -> bool:
    if scheme == "central difference":
        return mass == "lumped"
    if scheme == "midpoint" and mass == "redistributed":
        return law == "unilateral"
    if scheme == "midpoint":
        return not any(isinstance(one, aq.Unilateral | aq.VelocityPenalty) for one in LAWS[law])
    return True


def bar_on_wall(scheme: str, law: str, mass: str, load: str) -> xarray.DataTree:
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=CELLS), UNIT, mass=mass, **LOADS[load])
    wall = aq.RigidPlane(1.0 + 1.2 * HEIGHT, -1.0)
    system = aq.System(
        [bar], interfaces=[aq.Interface("contact", bar.boundary("right"), wall, LAWS[law])], velocity=SPEED
    )
    return aq.Study(system, SCHEMES[scheme], duration=4.5, step=step_of(scheme)).run()


def two_bars(scheme: str, law: str, mass: str, **options: Any) -> xarray.DataTree:
    left = aq.Bar("left", aq.mesh.interval(0.0, 1.0, cells=CELLS), UNIT, mass=mass, **options)
    begin = 1.0 + 1.2 * HEIGHT
    other = aq.LinearElastic(young=2.0, density=0.7)
    right = aq.Bar("right", aq.mesh.interval(begin, begin + 0.6, cells=5), other, mass=mass, **options)
    contact = aq.Interface("contact", left.boundary("right"), right.boundary("left"), LAWS[law])
    system = aq.System([left, right], interfaces=[contact], velocity={"left": SPEED, "right": -SPEED})
    return aq.Study(system, SCHEMES[scheme], duration=3.0, step=0.6 * step_of(scheme)).run()


def worst_balance(result: xarray.DataTree) -> float:
    return float(np.abs(result["balance"]).max())


def column(result: xarray.DataTree, kind: str) -> Any:
    return result["energy"].sel(kind=kind).values


def largest(result: xarray.DataTree) -> float:
    return float(np.abs(result["energy"]).max())


def check_audit(result: xarray.DataTree, scheme: str) -> None:
    energy = result["energy"]
    kinds = list(energy["kind"].values)
    assert worst_balance(result) <= 1e-12
    # the balance column is what the table says, with the signs of its definition
    stored = sum(energy.sel(kind=k) for k in ("kinetic", "strain", "asperity") if k in kinds)
    given = sum(energy.sel(kind=k) for k in ("external_work", "junction") if k in kinds)
    lost = sum(energy.sel(kind=k) for k in kinds if k in ("damping", "asperity_damping", "impact", "scheme"))
    rest = (stored - stored[0] - given + lost).values / largest(result)
    assert np.abs(rest).max() <= 1e-12
    for kind in ("damping", "asperity_damping"):
        if kind in kinds:
            assert (np.diff(column(result, kind)) >= -1e-15 * largest(result)).all()
    if scheme in CONSERVING:
        assert np.abs(column(result, "scheme")).max() <= 1e-12 * largest(result)
    assert float(result["interface/contact/impulse"].min()) >= 0.0


WALL = [
    (scheme, law, mass, load)
    for scheme in SCHEMES
    for law in LAWS
    for mass in ("consistent", "lumped", "redistributed")
    for load in LOADS
    if possible(scheme, law, mass)
    # the other combinations repeat these paths of the code
    and (load == "loaded" or scheme in ("theta 0.5", "theta 1", "midpoint", "central difference"))
    # refused: a body force would load the massless node
    and (scheme, mass, load) != ("midpoint", "redistributed", "loaded")
]
TWO = [
    (scheme, law, mass, damped)
    for scheme in SCHEMES
    for law in LAWS
    for damped in (False, True)
    for mass in ("lumped" if scheme == "central difference" else "consistent", "redistributed")
    if possible(scheme, law, mass) and (mass != "redistributed" or scheme in ("midpoint", "theta 0.5"))
]


def in_turn(found: list[tuple[Any, ...]], turn: int) -> list[Any]:
    """Of every second pair of a scheme and a law one combination, in turn another one; the rest is in the slow set."""
    schemes, laws = list(SCHEMES), list(LAWS)
    pairs: dict[Any, list[tuple[Any, ...]]] = {}
    for one in found:
        pairs.setdefault(one[:2], []).append(one)
    quick = {
        group[i % len(group)]
        for i, ((scheme, law), group) in enumerate(pairs.items())
        if (schemes.index(scheme) + laws.index(law)) % 2 == turn
    }
    return [pytest.param(*one, marks=() if one in quick else pytest.mark.slow) for one in found]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("scheme", "law", "mass", "load"), in_turn(WALL, 0))
def test_bar_on_wall(scheme: str, law: str, mass: str, load: str) -> None:
    result = bar_on_wall(scheme, law, mass, load)
    assert float(result["interface/contact/impulse"].sum()) > 0.05
    check_audit(result, scheme)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("scheme", "law", "mass", "damped"), in_turn(TWO, 1))
def test_two_bars(scheme: str, law: str, mass: str, damped: bool) -> None:
    """Free bars: momentum is exchanged, never made, also with stiffness-proportional damping."""
    result = two_bars(scheme, law, mass, **({"damping": aq.Rayleigh(stiffness=0.01)} if damped else {}))
    assert float(result["interface/contact/impulse"].sum()) > 0.02
    check_audit(result, scheme)
    left, right = (result[f"part/{name}"]["momentum"].values[:, 0] for name in ("left", "right"))
    assert np.abs(left + right - left[0] - right[0]).max() <= 1e-12 * np.abs(left).max()
    # what the interface gives is what the bar on its right gains
    given = np.cumsum(result["interface/contact/impulse"].values)
    # the explicit scheme's velocities at t_n hold half of the next step's regular impulse: theirs agree once apart
    apart = slice(-1, None) if scheme == "central difference" else slice(None)
    assert np.abs(right - right[0] - given)[apart].max() <= 1e-12 * np.abs(left).max()


def bouncing(scheme: Any, law: Any, mass: str, step: float, duration: float = 12.0) -> xarray.DataTree:
    """A bar that flies to and fro between two walls."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=20), UNIT, mass=mass)
    walls = [
        aq.Interface("right", bar.boundary("right"), aq.RigidPlane(1.05, -1.0), law),
        aq.Interface("left", bar.boundary("left"), aq.RigidPlane(-0.05, 1.0), law),
    ]
    return aq.Study(aq.System([bar], interfaces=walls, velocity=0.1), scheme, duration=duration, step=step).run()


def test_condensed_contact_keeps_energy_over_several_impacts() -> None:
    result = bouncing(aq.Midpoint(), aq.Unilateral("gap"), "redistributed", 0.04)
    hits = [result[f"interface/{side}/impulse"].values > 0.0 for side in ("left", "right")]
    assert sum(int((np.diff(hit.astype(int)) == 1).sum()) for hit in hits) >= 4
    energy = column(result, "kinetic") + column(result, "strain")
    assert np.abs(energy / energy[0] - 1.0).max() <= 1e-10
    assert worst_balance(result) <= 1e-12
    assert np.abs(column(result, "impact")).max() <= 1e-12 * energy[0]
    # the massless ends never pass the walls
    assert min(float(result[f"interface/{side}/gap_min"].min()) for side in ("left", "right")) >= -1e-12


@pytest.mark.parametrize("scheme", ["theta 0.5", "newmark", "midpoint"])
def test_asperities_keep_energy_over_several_impacts(scheme: str) -> None:
    law = aq.Asperities(300.0, 2.0, 0.04)
    result = bouncing(SCHEMES[scheme], law, "consistent", 0.04)
    energy = sum(column(result, kind) for kind in ("kinetic", "strain", "asperity"))
    assert column(result, "asperity").max() > 1e-2 * energy[0]
    assert np.abs(energy / energy[0] - 1.0).max() <= 1e-12


def vibration(scheme: str, step: float, **options: Any) -> xarray.DataTree:
    """A free bar vibrating in its first mode, or with other parts of it imposed, for 1.5 s."""
    mass = "lumped" if scheme == "central difference" else "consistent"
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=4), UNIT, mass=mass, **options)
    system = aq.System([bar], displacement=lambda x: 0.1 * np.cos(np.pi * x))
    return aq.Study(system, SCHEMES[scheme], duration=1.5, step=step).run()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("counts", [(120, 360), pytest.param((120, 240, 480, 960), marks=pytest.mark.slow)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_scheme_column_of_free_vibration(scheme: str, counts: tuple[int, ...]) -> None:
    """Zero for conserving pairs, else it falls at the order of the scheme at least; first-order schemes only lose."""
    losses = []
    for count in counts:
        result = vibration(scheme, 1.5 / count)
        assert worst_balance(result) <= 1e-12
        losses.append(column(result, "scheme")[-1] / largest(result))
    if scheme in CONSERVING or scheme == "central difference":
        assert np.abs(losses).max() <= 1e-12
        return
    order = -np.polyfit(np.log(counts), np.log(np.abs(losses)), 1)[0]
    stated = SCHEMES[scheme].order
    assert order >= stated - 0.1, losses
    if stated == 1:
        assert order <= 1.1
        assert min(losses) > 0.0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_columns_against_integrated_energies(scheme: str) -> None:
    """Works and energies of a driven, damped bar converge to ∫ F·v, ∫ v·Dv, … of its integrated motion."""
    options: dict[str, Any] = {
        "damping": aq.Rayleigh(mass=0.3, stiffness=0.02),
        "tractions": {"right": lambda x, t: (0.4 * np.sin(4.0 * t),)},
        "imposed": {"left": {"x": lambda t: 0.1 + 0.2 * t - 0.2 * np.sin(t)}},
    }
    mass = "lumped" if scheme == "central difference" else "consistent"
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=4), UNIT, mass=mass, **options)
    system = aq.System([bar], displacement=lambda x: 0.1 * np.cos(np.pi * x))
    own = assemble(system)
    m, k, d = own.mass.toarray(), own.stiffness.toarray(), own.damping.toarray()

    def whole(y: Any, t: float) -> tuple[Any, Any, Any]:
        u = np.concatenate([[0.1 + 0.2 * t - 0.2 * np.sin(t)], y[:4]])
        v = np.concatenate([[0.2 - 0.2 * np.cos(t)], y[4:8]])
        force = np.array([0.0, 0.0, 0.0, 0.0, 0.4 * np.sin(4.0 * t)])
        a = np.concatenate([[0.2 * np.sin(t)], np.zeros(4)])
        a[1:] = np.linalg.solve(m[1:, 1:], (force - k @ u - d @ v - m @ a)[1:])
        reaction = (m @ a + k @ u + d @ v - force) * np.eye(5)[0]
        return v, a, np.array([(force + reaction) @ v, v @ d @ v])

    def rate(t: float, y: Any) -> Any:
        v, a, powers = whole(y, t)
        return np.concatenate([v[1:], a[1:], powers])

    start = np.concatenate([0.1 * np.cos(np.pi * bar.positions[1:, 0]), np.zeros(6)])
    end = solve_ivp(rate, (0.0, 1.5), start, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    u = np.concatenate([[0.1 + 0.3 - 0.2 * np.sin(1.5)], end[:4]])
    v = np.concatenate([[0.2 - 0.2 * np.cos(1.5)], end[4:8]])
    exact = {"external_work": end[8], "damping": end[9], "strain": 0.5 * u @ k @ u, "kinetic": 0.5 * v @ m @ v}
    result = aq.Study(system, SCHEMES[scheme], duration=1.5, step=1.5 / 500).run()
    assert worst_balance(result) <= 1e-12
    # the damping of central differences lags: order 1
    tolerance = 1e-4 if SCHEMES[scheme].order == 2 and scheme != "central difference" else 2e-2
    for kind, value in exact.items():
        assert column(result, kind)[-1] == pytest.approx(value, abs=tolerance * largest(result)), kind


def glued_impact(scheme: str, mass: str) -> xarray.DataTree:
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.7, cells=7), UNIT, mass=mass)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=18), UNIT, mass=mass)
    wall = aq.Interface("contact", fine.boundary("right"), aq.RigidPlane(1.05, -1.0), aq.Unilateral())
    glue = aq.Junction(coarse, fine)
    system = aq.System([coarse, fine], junctions=[glue], interfaces=[wall], velocity=SPEED)
    return aq.Study(system, SCHEMES[scheme], duration=3.2, step=0.01 if mass == "lumped" else 0.04).run()


GLUED = [(s, m) for s in SCHEMES for m in ("consistent", "lumped") if m == "lumped" or s != "central difference"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("scheme", "mass"),
    [
        pytest.param(
            scheme, mass, marks=() if list(SCHEMES).index(scheme) % 2 == (mass == "lumped") else pytest.mark.slow
        )
        for scheme, mass in GLUED
        if scheme != "midpoint"
    ],
)
def test_a_glued_bar_hits_a_wall(scheme: str, mass: str) -> None:
    """The junction does no work, the parts stay together, and the bar comes back as a bar would."""
    result = glued_impact(scheme, mass)
    check_audit(result, scheme)
    assert np.abs(column(result, "junction")).max() <= 1e-12 * largest(result)
    assert float(np.abs(result["junction/junction/mismatch"]).max()) <= 1e-11 * SPEED
    momentum = sum(result[f"part/{name}"]["momentum"].values[-1, 0] for name in ("coarse", "fine"))
    assert -momentum >= (0.93 if scheme in CONSERVING else 0.75) * SPEED  # of mass 1; exact: SPEED


@pytest.fixture
def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiled blocks: they have their own forces."""
    monkeypatch.setattr(small_theta, "LARGEST", -1)
    monkeypatch.setattr("arlequin.schemes.one_step.suits_loop", lambda assembly: False)


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of conserving schemes are not refused for what is in `scheme`."""
    monkeypatch.setattr(audit, "_SCHEME", np.inf)


def test_steps_of_a_wrong_energy_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    energy = Strains.energy
    monkeypatch.setattr(Strains, "energy", lambda self, strains: energy(self, strains) * (1.0 + 1e-6))
    for scheme in ("theta 0.5", "newmark"):
        with pytest.raises(aq.UserError, match=r"^the step changes the energy by .* which its forces conserve: try"):
            bar_on_wall(scheme, "unilateral-velocity", "consistent", "free")


@pytest.mark.usefixtures("step_by_step", "unguarded")
def test_the_balance_fails_for_a_wrong_internal_force(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ElasticAssembled.internal

    def wrong(self: Any, u: Any) -> Any:
        force, energy = right(self, u)
        return force * (1.0 + 1e-6), energy

    monkeypatch.setattr(ElasticAssembled, "internal", wrong)
    for scheme in ("theta 0.5", "newmark", "hht"):
        assert worst_balance(bar_on_wall(scheme, "unilateral-velocity", "consistent", "free")) > 1e-9


@pytest.mark.usefixtures("step_by_step", "unguarded")
def test_the_balance_fails_for_a_contact_impulse_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Condensed, "correct", lambda self, free, impulse: (free.y, free.multipliers))
    for scheme in ("theta 0.5", "newmark"):
        assert worst_balance(bar_on_wall(scheme, "asperities", "consistent", "free")) > 1e-3


@pytest.mark.usefixtures("step_by_step", "unguarded")
def test_the_scheme_column_shows_a_wrong_strain_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strain energy is not the work of the forces by construction: 1 part in a million shows in `scheme`."""
    right = ElasticAssembled.internal

    def wrong(self: Any, u: Any) -> Any:
        force, energy = right(self, u)
        return force, energy * (1.0 + 1e-6)

    monkeypatch.setattr(ElasticAssembled, "internal", wrong)
    result = bar_on_wall("theta 0.5", "unilateral-velocity", "consistent", "free")
    assert np.abs(column(result, "scheme")).max() > 1e-8 * largest(result)


@pytest.mark.usefixtures("unguarded")
def test_the_audit_of_steps_on_a_factor_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong strain energy shows in `scheme`, wrong forces in the balance."""
    monkeypatch.setattr(small_theta, "LARGEST", -1)
    right, steps = Assembly.short_strains.func, FactoredStepper._run_loop

    def tried(self: Any, state: Any, count: int) -> Any:
        found = steps(self, state, count)
        found.works.strain[:] *= 1.0 + 1e-6
        return found

    with monkeypatch.context() as patch:
        patch.setattr(FactoredStepper, "_run_loop", tried)
        result = bar_on_wall("theta 0.5", "unilateral-velocity", "consistent", "free")
    assert np.abs(column(result, "scheme")).max() > 1e-8 * largest(result)

    def strains(self: Any) -> Any:
        found = right(self)
        return replace(found, weights=found.weights * (1.0 + 1e-6))

    monkeypatch.setattr(Assembly, "short_strains", property(strains))
    for scheme in ("theta 0.5", "newmark", "hht"):
        assert worst_balance(bar_on_wall(scheme, "unilateral-velocity", "consistent", "free")) > 1e-9


@pytest.mark.usefixtures("unguarded")
def test_the_audit_of_blocks_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong forces, impulses not applied and a wrong strain energy show in compiled steps too."""

    def run(laws: str = "unilateral-velocity") -> Any:
        return bar_on_wall("theta 0.5", laws, "consistent", "free")

    def without_velocities(found: ImpulseResponse) -> ImpulseResponse:
        return found._replace(velocity_by_impulse=0.0 * found.velocity_by_impulse)

    form, response, energy = ElasticAssembled.strain_form, ImpulseResponse.of, Strains.energy
    with monkeypatch.context() as patch:
        patch.setattr(ElasticAssembled, "strain_form", lambda self: (form(self)[0], form(self)[1] * (1.0 + 1e-6)))
        assert worst_balance(run()) > 1e-9
    with monkeypatch.context() as patch:
        patch.setattr(ImpulseResponse, "of", lambda *a: without_velocities(response(*a)))
        assert worst_balance(run("asperities")) > 1e-3
    with monkeypatch.context() as patch:
        patch.setattr(Strains, "energy", lambda self, strains: energy(self, strains) * (1.0 + 1e-6))
        result = run()
        assert np.abs(column(result, "scheme")).max() > 1e-8 * largest(result)


def test_velocity_contact_loses_the_contact_node_s_energy() -> None:
    """Lumped mass, one hit on a wall: the end node (h/2) stops dead, and ½ (h/2) V² is lost."""
    result = bar_on_wall("central difference", "unilateral-velocity", "lumped", "free")
    step = int(np.argmax(column(result, "impact") > 0.0))
    assert column(result, "impact")[step] == pytest.approx(0.25 / CELLS * SPEED**2, rel=1e-12)
