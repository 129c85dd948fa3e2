"""Added mass, carried mass and drag of beams: frequencies, decay, weight, and what a modal part keeps of them."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.run.simulate import simulate
from arlequin.solvers.natural_frequencies import natural_frequencies

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
LENGTH = 1.3
ROD = aq.Section.tube(5e-3, 4.4e-3, 0.3)
OWN = STEEL.density * ROD.area
PINNED = {"left": dict.fromkeys(("x", "y", "z", "rx"), 0.0), "right": dict.fromkeys(("y", "z"), 0.0)}


def rod(cells=16, section=ROD, imposed=PINNED, **options):
    return aq.Beam("rod", aq.mesh.interval(0.0, LENGTH, cells=cells), STEEL, section, imposed=imposed, **options)


def timoshenko(mode, linear, section):
    """Lowest ω of a pinned beam of the mass m per length: (κGAk² − mω²)(EIk² + κGA − ρIω²) = (κGAk)²."""
    k, rotary = mode * np.pi / LENGTH, STEEL.density * section.inertia_z
    ga, ei = section.shear_y * STEEL.shear * section.area, STEEL.young * section.inertia_z
    last = ei * k**2 + ga
    roots = np.roots([linear * rotary, -(linear * last + rotary * ga * k**2), ga * ei * k**4])
    return np.sqrt(roots.min())


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize("which", ["added_mass", "carried_mass"])
def test_frequencies_fall_by_the_root_of_the_mass_ratio(which, mass):
    ratio = 2.7
    heavier = rod(**{which: (ratio - 1) * OWN}, mass=mass)
    bare, filled = (aq.Modal(part, 4).frequencies for part in (rod(mass=mass), heavier))
    np.testing.assert_allclose(filled, bare / np.sqrt(ratio), rtol=1e-3)  # rotary inertia stays as it is


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_a_thick_beam_converges_to_timoshenko_with_the_mass(mass):
    section, errors = aq.Section.circle(0.08, 0.3), []
    own = STEEL.density * section.area
    exact = np.array([timoshenko(n, 3.0 * own, section) for n in (1, 2)])
    for cells in (10, 20):
        part = rod(cells, section, added_mass=1.5 * own, carried_mass=0.5 * own, mass=mass)
        found = 2 * np.pi * natural_frequencies(aq.System([part]), 6).frequencies
        errors.append(np.abs(found[:, None] / exact - 1).min(axis=0))
    assert errors[1].max() < 0.01
    assert (np.log2(errors[0] / errors[1]) > 1.85).all()


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (2.0, 3.0, 6.0)])
def test_mass_of_rigid_translations(direction, mass):
    """Along the beam the carried mass counts, across it the added mass too; on rotations about the axis neither."""
    along = np.array(direction) / np.linalg.norm(direction)
    own, added, carried = OWN * LENGTH, 0.3, 0.7
    part = aq.Beam.between(
        "rod", (0.0, 0.0, 0.0), tuple(LENGTH * along), 5, STEEL, ROD, mass=mass, added_mass=added, carried_mass=carried,
        fluid_damping=4.0,
    )  # fmt: skip
    a = part.assemble()
    moves = np.stack([np.tile(np.eye(6)[i], part.node_count) for i in range(3)])
    across = np.eye(3) - np.outer(along, along)
    whole = (own + carried * LENGTH) * np.eye(3)
    np.testing.assert_allclose(moves @ a.mass @ moves.T, whole + added * LENGTH * across, atol=1e-12)
    np.testing.assert_allclose(moves @ a.gravitational_mass @ moves.T, whole, atol=1e-12)
    np.testing.assert_allclose(moves @ a.damping @ moves.T, 4.0 * LENGTH * across, atol=1e-12)
    spin = np.tile(np.concatenate([np.zeros(3), along]), part.node_count)
    assert spin @ a.mass @ spin == pytest.approx(STEEL.density * ROD.polar * LENGTH, rel=1e-12)
    assert abs(spin @ a.damping @ spin) < 1e-15


def test_stretching_feels_the_carried_mass_alone():
    held = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0), "right": {"y": 0.0, "z": 0.0}}
    part = rod(40, aq.Section.circle(0.2, 0.3), held, added_mass=900.0, carried_mass=300.0)
    own = STEEL.density * part.section.area
    exact = np.sqrt(STEEL.young * part.section.area / (own + 300.0)) / (4 * LENGTH)
    assert np.abs(aq.Modal(part, 12).frequencies / exact - 1).min() < 1e-3


SCHEMES = {
    "theta": (aq.Theta(0.5), "consistent", 1.0),
    "newmark": (aq.Newmark(), "lumped", 1.0),
    "central": (aq.CentralDifference(), "lumped", None),
}


@pytest.mark.parametrize(
    ("modal", "scheme", "mass", "share"),
    [
        pytest.param(modal, *one, id=f"{modal}-{name}", marks=() if i % 2 == j else pytest.mark.slow)
        for i, (name, one) in enumerate(SCHEMES.items())
        for j, modal in enumerate((False, True))
    ],
)
def test_decay_rate(modal, scheme, mass, share):
    """A pinned beam in its first mode decays as exp(−c t/2m), m the whole mass per length."""
    added, carried, drag = 0.08, 0.35, 0.3
    whole = OWN + added + carried
    part = rod(4, mass=mass, added_mass=added, carried_mass=carried, fluid_damping=drag)
    period = 1 / aq.Modal(part, 1).frequencies[0]
    step = period / 200 if share or modal else 0.9 * 2 / part.assemble().highest_frequency()
    start = np.zeros((part.node_count, 6))
    k = np.pi / LENGTH
    start[:, 1], start[:, 5] = np.sin(k * part.positions[:, 0]), k * np.cos(k * part.positions[:, 0])
    model = aq.Modal(part, 2) if modal else part
    count = round((10 if share or modal else 2) * period / step)
    result = simulate(
        aq.System([model], velocity={"rod": start}), scheme, duration=count * step, step=step, fields_every=count
    )
    kinds = result["energy"].sel(kind=["kinetic", "strain"]).sum("kind").values
    rate = -np.log(kinds[-1] / kinds[0]) / (2 * count * step)
    assert rate == pytest.approx(drag / (2 * whole), rel=2e-3)
    assert result["energy"].sel(kind="damping").values[-1] == pytest.approx(kinds[0] - kinds[-1], rel=0.01)
    assert np.abs(result["balance"]).max() < 1e-11


def test_modal_drag_comes_beside_ratios_and_resists_moved_supports():
    part = rod(fluid_damping=6.0)
    own, ratios = aq.Modal(part, 3).assemble(), aq.Modal(part, 3, damping=0.02).assemble()
    extra = (ratios.damping - own.damping).toarray()
    np.testing.assert_allclose(extra, np.diag(0.04 * np.sqrt(own.squares)), atol=1e-9)
    np.testing.assert_allclose(own.damping.diagonal(), 6.0 / OWN, rtol=1e-3)
    moved = rod(imposed={"left": {**PINNED["left"], "y": lambda t: t}, "right": PINNED["right"]}, fluid_damping=6.0)
    reduced = aq.Modal(moved, 3).assemble()
    shapes = reduced.shapes
    exact = shapes.T @ moved.assemble().damping @ shapes
    np.testing.assert_allclose(reduced.damping.toarray(), exact, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("modal", [False, True])
def test_the_fluid_has_no_weight(modal):
    """Sag at the middle of a pinned beam 5 q L⁴/(384 EI) + q L²/(8κGA), q = (ρA + carried) g."""
    part = rod(added_mass=5.0, carried_mass=0.4)
    system = aq.System([aq.Modal(part, 20) if modal else part], gravity=lambda t: (0.0, -9.81 * t, 0.0))
    result = simulate(system, aq.Static(), duration=1.0, step=0.5)
    q, ei = 9.81 * (OWN + 0.4), STEEL.young * ROD.inertia_z
    exact = 5 * q * LENGTH**4 / (384 * ei) + q * LENGTH**2 / (8 * ROD.shear_y * STEEL.shear * ROD.area)
    middle = np.argmin(np.abs(part.positions[:, 0] - LENGTH / 2))
    assert result["part/rod/displacement"].values[-1, middle, 1] == pytest.approx(-exact, rel=1e-4)


def test_weights_multiply_mass_and_drag():
    from arlequin.models.part import Weighting

    part = rod(4, added_mass=0.1, carried_mass=0.2, fluid_damping=3.0)
    shape = part.basis.dx.shape
    one, half = part.assemble(), part.assemble(Weighting(np.ones(shape), np.full(shape, 0.5), np.ones(shape)))
    for a, b in ((one.mass, half.mass), (one.damping, half.damping), (one.gravitational_mass, half.gravitational_mass)):
        assert abs(0.5 * a - b).max() < 1e-14 * abs(a).max()


@pytest.mark.parametrize("name", ["added_mass", "carried_mass", "fluid_damping"])
def test_messages(name):
    with pytest.raises(aq.UserError, match=rf"{name} = -1.0: must not be negative"):
        rod(**{name: -1.0})
    with pytest.raises(aq.UserError, match=rf"{name} = nan: must be finite"):
        rod(**{name: np.nan})
