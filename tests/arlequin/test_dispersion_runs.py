"""Runs with dispersion-corrected parts: frequencies of the steps, energy, stability, junctions, several steps."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh, null_space

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.schemes.stable_step import stable_step
from arlequin.step.scheme import time_errors
from arlequin.system.assembly import assemble

CORRECTED = "dispersion"
UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)

SCHEMES = [
    aq.Theta(0.5),
    aq.Theta(0.6),
    aq.Theta(1.0),
    aq.Midpoint(),
    aq.Newmark(),
    aq.Newmark(0.4, 0.6),
    aq.HHT(-0.2),
    aq.ModifiedMeanAcceleration(-0.1),
    aq.GeneralisedAlpha.with_radius(0.5),
    aq.GeneralisedAlpha(-0.3, 0.2, 0.5, 1.0),
    aq.CentralDifference(),
    aq.SymplecticEuler(),
    aq.RungeKutta(),
    aq.DeVogelaere(),
]


def balance(run):
    return np.abs(run["balance"].values).max()


@pytest.mark.sampled(7)
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_frequency_error_of_a_scheme(scheme):
    """u₂ − 2 r cos(ωΔt) u₁ + r² u₀ = 0 of an oscillator: Ω² = ω²(1 + e ω²Δt²)."""
    step = 0.05
    mass = aq.PointMasses("mass", 0.0, 1.0)
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0)
    system = aq.System([mass], springs=[spring], velocity=1.0)
    u = aq.simulate(system, scheme, duration=6.0, step=step)["part/mass"]["displacement"].values.ravel()[10:]
    trace, product = np.linalg.lstsq(np.stack([u[1:-1], -u[:-2]], axis=1), u[2:], rcond=None)[0]
    frequency = np.arccos(trace / (2 * np.sqrt(product))) / step
    found = (1.0 / frequency**2 - 1.0) / (frequency * step) ** 2
    assert found == pytest.approx(time_errors(scheme, system, step)["mass"] / step**2, abs=0.004)


def speed_error(scheme, courant, mass, cells=8):
    """Of a standing wave on a free bar, `cells` of them in a wavelength, with its energy balance."""
    count = 16
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=count), UNIT, mass=mass)
    k, step = 2 * np.pi * count / cells, courant / count
    shape = np.cos(k * bar.positions[:, 0])
    system = aq.System([bar], displacement={"bar": lambda x: np.cos(k * x)})
    run = aq.simulate(system, scheme, duration=40 * np.pi / k, step=step)
    u = run["part/bar"]["displacement"].values[:, :, 0] @ shape
    trace, product = np.linalg.lstsq(np.stack([u[1:-1], -u[:-2]], axis=1), u[2:], rcond=None)[0]
    return np.arccos(trace / (2 * np.sqrt(product))) / (step * k) - 1, balance(run)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(), aq.HHT(-0.05), aq.CentralDifference()], ids=repr)
@pytest.mark.parametrize("courant", [0.25, 0.6, 0.85])
def test_standing_waves_on_bars(scheme, courant):
    """Sixth-order errors alone at all Courant numbers; the balance of energy is that of the scheme."""
    error, rest = speed_error(scheme, courant, CORRECTED)
    assert abs(error) < 1e-3
    assert rest < 1e-12
    finer, _ = speed_error(scheme, courant, CORRECTED, cells=16)
    assert abs(finer) < abs(error) / 12 or abs(finer) < 2e-5
    usual = "lumped" if scheme == aq.CentralDifference() else "consistent"
    if courant != 0.6 and (usual, courant) != ("lumped", 0.85):
        assert abs(speed_error(scheme, courant, usual)[0]) > 10 * abs(error)


def glued(coarse_mass, ratio=3.7, axes=2, fine_mass="lumped", absorbing=None, **options):
    """A coarse part of cells of 1/4 m and a fine one that sticks out."""
    count = [round(1.0 * ratio / 0.25), round(0.5 * ratio / 0.25)]
    if axes == 1:
        coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 2.0, cells=8), UNIT, mass=coarse_mass)
        fine = aq.Bar("fine", aq.mesh.interval(1.1, 2.1, cells=count[0]), UNIT, mass=fine_mass)
    else:
        mesh = aq.mesh.rectangle((0.0, 2.0), (0.0, 0.5), cells=(8, 2))
        coarse = aq.Solid("coarse", mesh, UNIT, plane="strain", mass=coarse_mass)
        mesh = aq.mesh.rectangle((1.1, 2.1), (0.0, 0.5), cells=tuple(count))
        fine = aq.Solid("fine", mesh, UNIT, plane="strain", mass=fine_mass)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, absorbing=absorbing)], **options)


def pulse(x):
    wave = np.exp(-(((x[:, :1] - 0.5) / 0.2) ** 2))
    return np.hstack([wave, 0.3 * wave])[:, : x.shape[1]]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize(
    "scheme",
    [
        aq.Theta(0.5),
        aq.Newmark(),
        aq.CentralDifference(),
        aq.Multirate(3, aq.Theta(), aq.CentralDifference()),
        aq.Multirate(3, aq.CentralDifference(), aq.CentralDifference()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("absorbing", [None, aq.Absorber()], ids=["plain", "absorbing"])
def test_energy_of_glued_parts(scheme, axes, absorbing):
    """Kinetic and strain energy, and what an absorber has taken, are together that of the start."""
    run = aq.simulate(glued(CORRECTED, axes=axes, absorbing=absorbing, velocity=pulse), scheme, duration=3.0, step=0.03)
    assert balance(run) < 1e-12
    kinds = ["kinetic", "strain", *(["absorbed"] if absorbing else [])]
    energy = run["energy"].sel(kind=kinds).sum("kind").values
    assert np.ptp(energy) < 1e-12 * energy[0]


def test_several_steps_are_corrected_each():
    system, step = glued(CORRECTED), 0.03
    scheme = aq.Multirate(3, aq.Theta(), aq.CentralDifference())
    assert time_errors(scheme, system, step) == pytest.approx({"coarse": step**2 / 6, "fine": -(step**2) / 108})


@pytest.mark.parametrize("plane", ["strain", "stress"])
def test_patch_of_a_junction(plane):
    """Uniaxial stress through a junction of two corrected parts, with their hourglass stiffness, at rest."""
    lateral = -0.3 if plane == "stress" else -0.3 / 0.7
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}}
    mesh = aq.mesh.rectangle((0.0, 0.5), (0.0, 0.2), cells=(5, 2))
    coarse = aq.Solid("coarse", mesh, UNIT, plane=plane, mass=CORRECTED, imposed=held)
    mesh = aq.mesh.rectangle((0.27, 0.8), (0.0, 0.2), cells=(17, 7))
    pulled = {"right": {"x": lambda t: 0.8e-3 * t}, "bottom": {"y": 0.0}}
    fine = aq.Solid("fine", mesh, UNIT, plane=plane, mass=CORRECTED, imposed=pulled)
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)])
    run = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    for part in (coarse, fine):
        u = run[f"part/{part.name}"]["displacement"].values[-1]
        np.testing.assert_allclose(u, 1e-3 * part.positions * [1.0, lateral], atol=1e-15)


def test_stable_step_of_central_differences():
    """Below the lowest 2/ω of the assembled problem, by at most a fifth, at every step that is taken."""
    for axes, ratio in ((1, 1.0), (1, 3.7), (2, 1.0), (2, 3.7)):
        system = glued(CORRECTED, ratio, axes)
        for step in (0.02, 0.05, 0.1):
            own = assemble(system, time_errors(aq.CentralDifference(), system, step))
            kept = ~own.ghost
            allowed = null_space(own.constraints.toarray()[:, kept])
            stiffness, mass = (allowed.T @ a.toarray()[np.ix_(kept, kept)] @ allowed for a in (own.stiffness, own.mass))
            exact = 2 / np.sqrt(eigvalsh(stiffness, mass)[-1])
            assert 0.8 * exact < stable_step(own) <= exact


@pytest.mark.slow
def test_longest_step_of_central_differences():
    """On a bar it is H/c; the step that the error names is taken, and the motion at 0.995 of it is bounded."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 2.0, cells=8), UNIT, mass=CORRECTED)
    rng = np.random.default_rng(0)
    system = aq.System([bar], velocity={"bar": rng.normal(size=9)})
    with pytest.raises(UserError, match=r"must be below the central-difference limit of 0\.25 s"):
        aq.simulate(system, aq.CentralDifference(), duration=1.0, step=0.2501)
    run = aq.simulate(system, aq.CentralDifference(), duration=500.0, step=0.995 * 0.25)
    strain = run["energy"].sel(kind="strain").values
    assert strain[-200:].max() < 2 * strain[:200].max()
    assert balance(run) < 1e-12
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=(6, 3))
    plate = aq.Solid("plate", mesh, UNIT, plane="strain", mass=CORRECTED)
    system = aq.System([plate], velocity={"plate": rng.normal(size=(28, 2))})
    with pytest.raises(UserError, match="must be below the central-difference limit") as caught:
        aq.simulate(system, aq.CentralDifference(), duration=1.0, step=0.3)
    longest = float(str(caught.value).split(" of ")[1].split()[0])
    run = aq.simulate(system, aq.CentralDifference(), duration=100.0, step=0.999 * longest)
    strain = run["energy"].sel(kind="strain").values
    assert strain[-200:].max() < 2 * strain[:200].max()


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.CentralDifference(), aq.HHT()], ids=repr)
def test_contact_springs_and_damping(scheme):
    """A plate in gravity hits a wall; its momentum is that of forces on its true mass."""
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=(6, 3))
    damping = aq.Rayleigh(mass=0.1, stiffness=1e-3)
    plate = aq.Solid("plate", mesh, UNIT, plane="strain", mass=CORRECTED, damping=damping)
    wall = aq.Interface(
        "wall", plate.boundary("left"), aq.RigidPlane(point=(0.0, 0.0), normal=(1.0, 0.0)), aq.Unilateral()
    )
    spring = aq.Spring("spring", plate.boundary("right"), stiffness=0.5)
    system = aq.System([plate], interfaces=[wall], springs=[spring], velocity=(-0.1, 0.02), gravity=(0.0, -0.1))
    run = aq.simulate(system, scheme, duration=2.0, step=0.02)
    assert balance(run) < 1e-12
    assert run["interface/wall"]["impulse"].sum() > 0.0
    assert assemble(system).load(0.0)[1::2].sum() == pytest.approx(-0.05, rel=1e-12)


def test_members_of_an_ensemble_are_those_of_separate_runs():
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=(6, 3))
    parts = (
        aq.Solid("part", mesh, UNIT, plane="strain", mass=CORRECTED),
        aq.Bar("part", aq.mesh.interval(0.0, 1.0, cells=8), UNIT, mass=CORRECTED),
    )
    for part in parts:
        systems = [aq.System([part], velocity={"part": lambda x, k=k: np.sin(k * x)}) for k in (1.0, 2.0)]
        both = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=1.0, step=0.05)["part/part"]["displacement"]
        for one, system in zip(both.values, systems, strict=True):
            alone = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.05)["part/part"]["displacement"].values
            np.testing.assert_allclose(one, alone, atol=1e-14)


def test_step_does_not_change_other_parts():
    """The masses of usual parts are bitwise the same whatever the scheme and the step."""
    system = glued("consistent", fine_mass="lumped")
    plain, timed = assemble(system), assemble(system, time_errors(aq.Theta(), system, 0.1))
    for name in ("mass", "stiffness"):
        assert (getattr(plain, name) != getattr(timed, name)).nnz == 0
