"""Rods that slide through guides: an independent modal model, ballistics, rigid motion, momentum and energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

import arlequin as aq
from arlequin.schemes.stable_step import stable_step
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7900.0)
TUBE = aq.Section.tube(4.85e-3, 4.35e-3, 0.3)
CARRIED = 0.6
MASS = 7900.0 * TUBE.area + CARRIED  # kg/m
DOWN, WEIGHT = (0.0, 0.0, -1.0), (0.0, 0.0, -9.81)
FALL = 10.0


def fallen(rings, law, friction=None, *, cells=20, scheme=None, duration=0.04, step=1e-4, motion=None, **given):
    """A rod of 1 m, from z = 1 to 0 at the start, that falls at 10 m/s (motion: another start)."""
    gravity, material, held = given.get("gravity"), given.get("material", STEEL), given.get("imposed", {})
    ends = (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    rod = aq.Beam.between("rod", *ends, cells, material, TUBE, carried_mass=CARRIED, imposed=held)
    cards = aq.Interface("cards", rod.boundary("axis"), rings, law, friction=friction)
    start = (0.0, 0.0, -FALL, 0.0, 0.0, 0.0) if motion is None else motion
    where = given.get("displacement")
    system = aq.System([rod], interfaces=[cards], gravity=gravity, velocity=start, displacement=where)
    return aq.simulate(system, scheme or aq.Theta(0.5), duration=duration, step=step)


def crooked(size):
    """Cards 0.1 m apart, aside by so much in turn from the third below the start on."""
    heights = 0.95 - 0.1 * np.arange(16)
    aside = np.where(heights < -0.1, size * (-1.0) ** np.arange(16), 0.0)
    return aq.Guides(np.column_stack([aside, -0.5 * aside, heights]), 5e-4, DOWN, nose=(0.04, 4e-3))


def test_moving_contact_against_modes():
    """A rod pinned at both ends moves sideways and slides through one ring: modes and a spring at s(t) (SciPy)."""
    sideways, clearance, stiffness, ring, duration = 0.3, 1e-3, 1e5, 0.3, 0.03
    modes = np.arange(1, 26)
    squares = (modes * np.pi) ** 4 * STEEL.young * TUBE.inertia_z / MASS

    def rate(t, state):
        q, p = np.split(state, 2)
        shapes = np.sin(modes * np.pi * (ring + FALL * t))
        w = shapes @ q
        force = -stiffness * np.sign(w) * max(abs(w) - clearance, 0.0)
        return np.concatenate([p, -squares * q + shapes * force * 2.0 / MASS])

    start = np.zeros(2 * modes.size)
    start[modes.size] = sideways
    times = np.linspace(0.0, duration, 31)
    exact = solve_ivp(rate, (0.0, duration), start, "DOP853", times, rtol=1e-7, atol=1e-11, max_step=5e-5)
    expected = np.sin(0.5 * modes * np.pi) @ exact.y[: modes.size]

    def pushed(x):
        out = np.zeros((len(x), 6))
        out[:, 0], out[:, 2] = sideways * np.sin(np.pi * x[:, 2]), -FALL
        out[:, 4] = sideways * np.pi * np.cos(np.pi * x[:, 2])
        return out

    rings = aq.Guides([(0.0, 0.0, ring)], clearance, DOWN)
    ends = {end: {"x": 0.0, "y": 0.0} for end in ("left", "right")}
    result = fallen(
        rings, aq.ImpactElement(stiffness), cells=40, step=2.5e-5, duration=duration, imposed=ends, motion=pushed
    )
    assert np.count_nonzero(result["interface/cards/active"]) > 50
    middle = result["part/rod/displacement"].values[::40, 20, 0]
    assert middle == pytest.approx(expected, abs=0.01 * np.abs(expected).max())


def test_straight_fall_is_ballistic():
    result = fallen(crooked(0.0), aq.Unilateral(), aq.Coulomb(0.3), gravity=WEIGHT, duration=0.02)
    time = result["time"].values
    tip = result["part/rod/displacement"].values[:, -1]
    assert tip[:, 2] == pytest.approx(-FALL * time - 0.5 * 9.81 * time**2, abs=1e-13)
    assert not tip[:, :2].any() and not result["interface/cards/force"].values.any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(0.4, 0.7)])
def test_rigid_rod_on_rings_slides_as_on_a_slope(scheme):
    """Pressed sideways by gravity: the cards carry M g_x and brake by μ times that, whichever of them the rod is in."""
    gravity, friction, clearance = (6.0, 0.0, -9.81), 0.25, 5e-4
    heights = 0.93 - 0.1 * np.arange(20)
    rings = aq.Guides(np.column_stack([0.0 * heights, 0.0 * heights, heights]), clearance, DOWN)
    stiff = aq.LinearElastic(young=2e16, poisson=0.3, density=7900.0)
    result = fallen(
        rings, aq.Unilateral(), aq.Coulomb(friction), gravity=gravity, material=stiff, scheme=scheme,
        displacement=(clearance, 0.0, 0.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    time, force = result["time"].values, result["interface/cards/force"].values
    mass = float(result["part/rod/mass"])
    momentum = result["part/rod/momentum"].values
    assert force[1:, 0].mean() == pytest.approx(-mass * gravity[0], rel=1e-3)
    expected = mass * (-FALL + (gravity[2] + friction * gravity[0]) * time)
    assert momentum[:, 2] == pytest.approx(expected, abs=1e-4 * mass * FALL)


LAWS = {
    "velocity": (aq.Unilateral(), aq.Coulomb(0.3), aq.Theta(0.5)),
    "gap": (aq.Unilateral(level="gap"), aq.Coulomb(0.3), aq.Newmark(0.4, 0.7)),
    "shock": (aq.ImpactElement(1e6, 50.0), aq.Coulomb(0.3, stiffness=1e5, damping=100.0), aq.Theta(0.5)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", LAWS)
def test_crooked_guides_keep_momentum_and_energy(law):
    normal, friction, scheme = LAWS[law]
    result = fallen(crooked(8e-4), normal, friction, gravity=WEIGHT, scheme=scheme, duration=0.05)
    force, mass = result["interface/cards/force"].values, float(result["part/rod/mass"])
    assert np.count_nonzero(force[:, 0]) > 20
    momentum = result["part/rod/momentum"].values
    given = 1e-4 * np.cumsum(force, axis=0) + mass * np.multiply.outer(result["time"].values, WEIGHT)
    assert np.abs(momentum - momentum[0] - given).max() <= 1e-12 * mass * FALL
    assert np.abs(result["balance"].values).max() <= 1e-12
    # the cards on the frames add up to the force on all
    group = result["interface/cards"].dataset
    assert (group["pressure"].values.sum(axis=1) * 1e-4) == pytest.approx(group["impulse"].values, abs=1e-15)
    # each card's force is kept on all steps; its place on the rod is none of the nodes
    assert group["point_force"].values == pytest.approx(group["pressure"].values, rel=1e-15)
    assert group["point_wear_power"].values.sum(axis=1) == pytest.approx(group["wear_power"].values, rel=1e-12)
    assert "point_displacement" not in group
    energy = result["energy"]
    assert float(energy.sel(kind="friction")[-1]) > 0.0
    # what has no partner carries nothing
    assert not group["pressure"].values[~np.isfinite(group["gap"].values)].any()
    if law == "gap":  # what the rod's turning within a step makes is kept
        assert float(group["gap_min"].min()) >= -1e-6


@pytest.mark.parametrize("step", [2e-4, 5e-5])
def test_depth_is_that_of_a_step(step):
    """The velocity law closes a gap up to a step late: no deeper than the steepest place of the nose moves in that."""
    result = fallen(crooked(8e-4), aq.Unilateral(), duration=0.02, step=step)
    assert -float(result["interface/cards/gap_min"].min()) <= step * FALL * 2.0 * 4e-3 / 0.04


def test_start_in_the_metal_is_refused():
    with pytest.raises(aq.UserError, match=r"interface 'cards': starts interpenetrated by 0\.0001 m"):
        fallen(aq.Guides([(6e-4, 0.0, 0.5)], 5e-4, DOWN), aq.Unilateral())


def test_crowded_rings_count_for_the_explicit_limit():
    """Ten rings in a cell: the limit is below 2/ω of the rod on all their springs, found from matrices."""
    rod = aq.Beam.between("rod", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 10, STEEL, TUBE, mass="lumped")
    stiffness, heights = 1e8, 0.85 - 0.01 * np.arange(70)
    rings = aq.Guides(np.column_stack([0.0 * heights, 0.0 * heights, heights]), 5e-4, DOWN)
    cards = aq.Interface("cards", rod.boundary("axis"), rings, aq.ImpactElement(stiffness))
    assembly = assemble(aq.System([rod], interfaces=[cards]))
    touch = assembly.contact.kinematics(np.full(33, 3e-4))
    normal = touch.local @ touch.basis
    full = assembly.stiffness + stiffness * (normal.T @ normal)
    square = eigh(full.toarray(), assembly.mass.toarray(), eigvals_only=True)[-1]
    limit = stable_step(assembly)
    assert 0.3 * 2.0 / np.sqrt(square) <= limit <= 2.0 / np.sqrt(square)
