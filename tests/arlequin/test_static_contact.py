"""Statics of parts that contact alone holds: loads press them, no motion is imposed."""

import numpy as np
import pytest
from scipy.optimize import brentq

import arlequin as aq
from arlequin.cases.shared.meshes import half_disc

MATERIAL = aq.LinearElastic(young=1e3, poisson=0.3, density=7.0)
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))


def block(name, y, load, **options):
    mesh = aq.mesh.rectangle((-1.0, 1.0), y, cells=(6, 3))
    return aq.Solid(name, mesh, MATERIAL, plane="strain", tractions={"top": load} if load else {}, **options)


def run(parts, interfaces, steps=3):
    return aq.simulate(aq.System(parts, interfaces=interfaces), aq.Static(), duration=1.0, step=1.0 / steps)


def stress(result, part):
    return part.stress(result[f"part/{part.name}/displacement"].values[-1].ravel())


def test_a_block_that_rests_on_a_plane_is_pressed_uniformly():
    own = block("block", (0.0, 1.0), lambda x, t: (0.0, -3.0 * t))
    contact = aq.Interface("floor", own.boundary("bottom"), FLOOR, aq.Unilateral(level="gap"))
    result = run([own], [contact])
    np.testing.assert_allclose(result["interface/floor/force"].sel(component="y"), [0.0, 2.0, 4.0, 6.0], atol=1e-10)
    found = stress(result, own)
    np.testing.assert_allclose(found[..., 1], -3.0, rtol=1e-10)
    np.testing.assert_allclose(found[..., [0, 3]], 0.0, atol=1e-9)
    assert np.abs(result["balance"].values).max() < 1e-12


def test_friction_holds_a_pressed_block_against_a_push_and_a_second_block_on_it():
    """The push T acts at height 2 and has the moment 2T; a traction linear in x of the moment −2T balances it."""
    push = 0.5

    def load(x, t):
        first, second = min(t, 0.5) * 2, max(t - 0.5, 0.0) * 2
        return np.stack([np.full(x.shape[1], 0.5 * push * second), -3.0 * first + 3.0 * push * second * x[0]])

    lower, upper = block("lower", (0.0, 1.0), None), block("upper", (1.0, 2.0), load)
    laws = {"normal": aq.Unilateral(level="gap"), "friction": aq.Coulomb(0.4)}
    result = run(
        [lower, upper],
        [
            aq.Interface("floor", lower.boundary("bottom"), FLOOR, **laws),
            aq.Interface("between", upper.boundary("bottom"), lower.boundary("top"), **laws),
        ],
        steps=4,
    )
    for name in ("floor", "between"):
        np.testing.assert_allclose(result[f"interface/{name}/force"].values[-1], [-push, 6.0], atol=1e-9)
    assert np.abs(result["balance"].values).max() < 1e-12


def test_a_load_that_lifts_off_finds_no_equilibrium():
    own = block("block", (0.0, 1.0), lambda x, t: (0.0, t))
    contact = aq.Interface("floor", own.boundary("bottom"), FLOOR, aq.Unilateral(level="gap"))
    with pytest.raises(aq.UserError, match="finds no equilibrium"):
        run([own], [contact], steps=1)


@pytest.mark.parametrize("law", [aq.Penalty, aq.PerturbedLagrangian])
def test_a_penalty_so_stiff_that_it_feels_the_round_off_of_the_gaps(law):
    """A disc, R = 1, under F' = 2: b = 0.048; κ = 2000 E*/b presses in by 1/2000 of the b²/2R that Hertz presses in."""
    mesh = half_disc(1.0, 0.07, 0.005)
    disc = aq.Solid("disc", mesh, MATERIAL, plane="strain", tractions={"top": lambda x, t: (0.0, -t)})
    penalty = 2000 * 1.1e3 / 0.048
    found = []
    for normal in (law(penalty), aq.Unilateral(level="gap")):
        result = run([disc], [aq.Interface("floor", disc.boundary("contact"), FLOOR, normal)], steps=2)
        assert result["interface/floor/force"].values[-1, 1] == pytest.approx(2.0, rel=1e-9)
        assert result.attrs["contact_iterations_most"] < 200
        found.append(result["interface/floor/pressure"].values[-1])
    assert np.abs(found[0] - found[1]).max() < 0.01 * found[1].max()


@pytest.mark.parametrize("spring", [0.0, 1e-6, 1e-3, 0.1, 1.0, 1e3])
@pytest.mark.parametrize("exponent", [2.0, 3.0])
def test_asperities_under_a_block_on_soft_springs(exponent, spring):
    """2 κ (−v₀)^m = F + k_s v₁ with v₁ = v₀ − (F + k_s v₁)/2E, for any stiffness and load."""
    mesh = aq.mesh.rectangle((-1.0, 1.0), (0.0, 1.0), cells=(4, 2))
    for stiffness in (1.0, 1e2, 1e4, 1e6, 1e9):
        for load in (1e-3, 3.0):
            own = aq.Solid(
                "block",
                mesh,
                aq.LinearElastic(young=1e3, poisson=0.0, density=7.0),
                plane="strain",
                tractions={"top": lambda x, t, load=load: (0.0, -load * t)},
            )
            floor = aq.Interface("floor", own.boundary("bottom"), FLOOR, aq.Asperities(stiffness, exponent))
            springs = [aq.Spring("ground", own.boundary("top"), stiffness=spring)] if spring else []
            system = aq.System([own], interfaces=[floor], springs=springs)
            result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
            u, y = result["part/block/displacement"].values[-1, :, 1], own.positions[:, 1]

            def force(v, stiffness=stiffness):
                return 2.0 * stiffness * np.maximum(-v, 0.0) ** exponent

            def missing(v, load=load, force=force):
                return 2.0 * load + spring * (v - force(v) / 2e3) - force(v)

            exact = brentq(missing, -1.001 * (load / stiffness) ** (1 / exponent), 0.0, xtol=1e-300, rtol=1e-14)
            np.testing.assert_allclose(u[y == 0.0], exact, rtol=1e-8)
