"""The contact problem of a step as a run records it: contact at rest, energies while partners change, labels."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.solvers.contact_step import undetermined
from arlequin.step.acceptance import accept

SOFT = aq.LinearElastic(young=1e9, poisson=0.3, density=1200.0)


def resting(scheme, mass):
    """A block squeezed between a guided top and a plane, at rest; plane strain, ends held: p = (λ + 2μ) ε."""
    strain = 1e-3 / 3.0
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.05), cells=(7, 5))
    held = {"left": {"x": 0.0}, "right": {"x": 0.0}}
    block = aq.Solid("block", mesh, SOFT, plane="strain", mass=mass, imposed=held, imposed_velocity={"top": {"y": 0.0}})
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("contact", block.boundary("bottom"), plane, aq.Unilateral(level="velocity"))
    system = aq.System(
        [block],
        interfaces=[contact],
        displacement={"block": lambda x: np.stack([0 * x[:, 1], -strain * x[:, 1]], axis=1)},
    )
    first, shear = SOFT.lame()
    return aq.simulate(system, scheme, duration=2e-4, step=1e-6), (first + 2 * shear) * strain * 0.1


@pytest.mark.parametrize(
    "mass, scheme",
    [
        ("consistent", aq.Theta(0.5)),
        ("consistent", aq.HHT(-0.1)),
        ("consistent", aq.GeneralisedAlpha.with_radius(0.7)),
        ("lumped", aq.CentralDifference()),
    ],
)
def test_a_point_at_rest_on_its_partner_stays_in_contact_at_velocity_level(mass, scheme):
    """The gap of such a point is zero but for round-off, of either sign: it must not open for a step."""
    result, force = resting(scheme, mass)
    contact = result["interface/contact"].dataset
    # the explicit scheme starts with half a step
    np.testing.assert_allclose(contact["force"].sel(component="y").values[2:], force, rtol=1e-9)
    assert (contact["active"].values[1:] == 8).all()


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Theta(1.0), aq.Newmark()])
def test_a_lone_mass_stays_on_the_slope_that_it_slides_down(scheme):
    """It has no extent by which to tell round-off from a gap: N = m g cos α all the way, x = g sin α t²/2."""
    normal = np.array([0.28, 0.96]) / np.hypot(0.28, 0.96)
    one = aq.PointMasses("mass", (0.3, 0.7), 2.0)
    contact = aq.Interface("slope", one.boundary("all"), aq.RigidPlane((0.3, 0.7), normal), aq.Unilateral())
    result = aq.simulate(aq.System([one], interfaces=[contact], gravity=(0.0, -10.0)), scheme, duration=0.3, step=1e-3)
    force = result["interface/slope/pressure"].values[2:, 0]
    np.testing.assert_allclose(force, 20.0 * normal[1], rtol=1e-9)
    fallen = result["part/mass/displacement"].values[-1, 0, 1]
    assert fallen == pytest.approx(-5.0 * 0.3**2 * normal[0] ** 2, rel=5e-3)


@pytest.mark.parametrize("multiplier", ["P1", "nodes"])
def test_static_energies_add_up_while_a_block_slides_over_many_cells(multiplier):
    lower = aq.Solid(
        "lower", aq.mesh.rectangle((0.0, 1.0), (-0.3, 0.0), cells=(9, 3)), SOFT, plane="strain",
        imposed={"bottom": {"x": 0.0, "y": 0.0}},
    )  # fmt: skip
    way = {"x": lambda t: 0.4 * max(t - 0.2, 0.0), "y": lambda t: -0.01 * min(t / 0.2, 1.0)}
    upper = aq.Solid(
        "upper", aq.mesh.rectangle((0.2, 0.4), (0.0, 0.15), cells=(4, 3)), SOFT, plane="strain", imposed={"top": way}
    )
    contact = aq.Interface(
        "contact", upper.boundary("bottom"), lower.boundary("top"), aq.Unilateral(level="gap"),
        friction=aq.Coulomb(0.2), multiplier=multiplier,
    )  # fmt: skip
    result = aq.simulate(aq.System([lower, upper], interfaces=[contact]), aq.Static(), duration=1.0, step=0.05)
    assert np.abs(result["balance"]).max() < 1e-12
    energy = result["energy"]
    assert (np.diff(energy.sel(kind="friction")) >= 0.0).all()
    # what the trapezoidal rule leaves is small beside what friction takes
    assert np.abs(energy.sel(kind="scheme")).max() < 0.05 * float(energy.sel(kind="friction")[-1])


def test_multipliers_that_are_not_determined_are_refused_whatever_the_number_of_pairings():
    """Gauss points of the finer surface: 14 of them on 13 free nodes of both, so that their rows depend on each other.

    The last pairing of a step starts from the impulses of the one before, which satisfy it.
    """
    pressed = {"top": {"y": lambda t: -0.01 * t}, "left": {"x": 0.0}}
    lower = aq.Solid(
        "lower", aq.mesh.rectangle((0.0, 1.0), (-0.5, 0.0), cells=(7, 3)), SOFT, plane="strain",
        imposed={"bottom": {"y": 0.0}, "left": {"x": 0.0}},
    )  # fmt: skip
    upper = aq.Solid(
        "upper", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=(4, 2)), SOFT, plane="strain", imposed=pressed
    )
    law = aq.Unilateral(level="gap")
    contact = aq.Interface("contact", lower.boundary("top"), upper.boundary("bottom"), law, multiplier="gauss")
    with pytest.raises(aq.UserError, match="do not determine all multipliers"):
        aq.simulate(aq.System([lower, upper], interfaces=[contact]), aq.Static(), duration=1.0, step=1.0)
    stabilised = aq.System([lower, upper], interfaces=[contact], contact=aq.ContactMethod(stabilised=True))
    aq.simulate(stabilised, aq.Static(), duration=1.0, step=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Multirate(4)])
def test_what_is_recorded_adds_up_over_small_steps_and_moving_partners(scheme):
    """A glued block slides on a round obstacle: forces give its momentum, μ × wear power what friction takes."""
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.2), (0.04, 0.1), cells=(8, 3)), SOFT, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.0, 0.2), (0.0, 0.06), cells=(16, 5)), SOFT, plane="strain")
    ball = aq.RigidSphere((0.1, -0.5002), 0.5)
    contact = aq.Interface("contact", fine.boundary("bottom"), ball, aq.Unilateral(), aq.Coulomb(0.3))
    junction = aq.Junction(coarse, fine)
    system = aq.System([coarse, fine], junctions=[junction], interfaces=[contact], velocity=(2.0, -2.0))
    result = aq.simulate(system, scheme, duration=3e-4, step=2e-6)
    energy, interface = result["energy"], result["interface/contact"].dataset
    worn = 0.3 * float(interface["wear_power"][1:].sum()) * 2e-6
    assert worn == pytest.approx(float(energy.sel(kind="friction")[-1]), rel=1e-9)
    momentum = sum(result[f"part/{name}/momentum"].values for name in ("coarse", "fine"))
    impulse = np.cumsum(interface["force"].values[1:], axis=0) * 2e-6
    np.testing.assert_allclose(momentum[1:] - momentum[0], impulse, atol=1e-10 * np.abs(momentum).max())
    assert np.abs(impulse).max() > 0.1 * np.abs(momentum[0]).max()


def test_multipliers_that_round_off_hides_are_undetermined():
    """cond [[1, c], [c, 1]] = (1 + c)/(1 − c), whatever the units of the rows; ε cond ≥ 1e-10 from 4.5e5 on."""
    for short, expected in ((1e-3, False), (1e-5, False), (2e-6, True), (0.0, True)):
        matrix, units = np.array([[1.0, 1.0 - short], [1.0 - short, 1.0]]), np.array([1e-3, 1e4])
        assert undetermined(matrix * units[:, None] * units, np.ones(2)) is expected
        assert not undetermined(matrix, np.array([1.0, 0.0]))  # the one that acts is determined
    assert not undetermined(np.eye(2), np.array([np.nan, 1.0]))


@pytest.mark.parametrize(
    ("singular", "options", "hint"),
    [
        (True, {}, "take fewer of them"),
        (False, {}, "try a smaller step or softer asperities"),
        (False, {"remedy": "more load steps (a smaller step)"}, r"try more load steps \(a smaller step\)"),
    ],
)
def test_what_to_try_where_contact_does_not_converge(singular, options, hint):
    none = np.zeros(1)
    solution = ContactSolution(none, none, none, none, none, 9, 1e-3, np.zeros(1, dtype=np.int8), singular)
    with pytest.raises(aq.UserError, match=hint):
        accept(solution, none, 0.5, **options)
