"""Statics of parts that contact alone holds: loads press them, no motion is imposed."""

from dataclasses import replace

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


@pytest.mark.sampled(1)
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


# ------------------------------------------------------------------------------------------- hardly held, or not at all


def slab(axes, pull, *, name="block", x=(-1.0, 1.0), friction=None, gap=0.0, **options):
    """A flat block (height 0.2, area 2 or 4) on a floor under the pressure 3, drawn along x by the traction `pull`."""
    sides = (x, (0.0, 0.2), (-1.0, 1.0))[:axes]
    make = aq.mesh.rectangle if axes == 2 else aq.mesh.box
    traction = np.array([pull, -3.0, 0.0])[:axes, None]
    own = aq.Solid(
        name,
        make(*sides, cells=(3, 1, 2)[:axes]),
        MATERIAL,
        plane="strain" if axes == 2 else None,
        tractions={"top": lambda x, t: traction * t * np.ones((1, x.shape[1]))},
        **options,
    )
    floor = aq.RigidPlane(point=(0.0, -gap, 0.0)[:axes], normal=(0.0, 1.0, 0.0)[:axes])
    rubbing = None if friction is None else aq.Coulomb(friction)
    return own, aq.Interface(f"under {name}", own.boundary("bottom"), floor, aq.Unilateral(level="gap"), rubbing)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("axes", "kinematics", "stiffness"),
    [(2, "small", 1e-3), (2, "small", 1e-6), (2, "small", 1e-9), (3, "small", 1e-6), (2, "finite", 1e-3)],
)
def test_a_weak_spring_holds_a_block_that_slides_freely(axes, kinematics, stiffness):
    """u_x = T/k to 1e-12 of the pressing force over k, down to springs of 1e-12 E; at large strain of 1e-6 E."""
    force, pressing = 0.2 * stiffness, 3.0 * 2.0 ** (axes - 1)
    own, floor = slab(axes, force / 2.0 ** (axes - 1), kinematics=kinematics)
    spring = aq.Spring("weak", own.boundary("top"), stiffness=(stiffness, 0.0, stiffness)[:axes])
    system = aq.System([own], interfaces=[floor], springs=[spring])
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.5)
    along = result["part/block/displacement"].values[-1, :, 0]
    assert along.mean() == pytest.approx(0.2, rel=1e-9, abs=1e-12 * pressing / stiffness)
    assert result["interface/under block/force"].values[-1, 1] == pytest.approx(pressing, rel=1e-9)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("gap", [0.05, 100.0])
def test_a_block_is_pressed_on_a_floor_that_is_far(axes, gap):
    own, floor = slab(axes, 0.0, gap=gap)
    result = run([own], [floor], steps=2)
    assert result["interface/under block/force"].values[-1, 1] == pytest.approx(3.0 * 2.0 ** (axes - 1), rel=1e-9)
    np.testing.assert_allclose(result["part/block/displacement"].values[-1].mean(axis=0)[1], -gap, atol=1e-3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shift", [0.0, 0.025, -0.025])
def test_a_round_slider_between_the_nodes_of_its_base(shift):
    """Half a cell from where the nodes of slider and base meet, equilibrium on turning normals is unstable under the
    weak spring: with ever smaller proximal terms the slider left its base, for −3·10¹⁰ m."""
    soft = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
    high = aq.mesh.rectangle((0.8 + shift, 1.3 + shift), (0.0, 0.5), cells=(11, 11))
    p = high.p.copy()
    p[1] += 0.4 * (p[0] - 1.05 - shift) ** 2 * (0.5 - p[1]) / 0.5
    high = replace(high, doflocs=p)
    low = aq.mesh.rectangle((0.0, 3.0), (-0.6, 0.0), cells=(60, 12))
    base = aq.Solid("base", low, soft, plane="strain", imposed={"bottom": {"x": 0.0, "y": 0.0}})
    slider = aq.Solid("slider", high, soft, plane="strain", tractions={"top": lambda x, t: (0.0, -0.02 * t)})
    touch = aq.Interface("touch", slider.boundary("bottom"), base.boundary("top"), aq.Unilateral(level="gap"))
    spring = aq.Spring("hold", slider.boundary("top"), stiffness=(1e-3, 0.0))
    system = aq.System([base, slider], interfaces=[touch], springs=[spring])
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.25)
    force, u = result["interface/touch/force"].values[-1], result["part/slider/displacement"].values[-1]
    top = slider.boundary("top")
    held = 1e-3 * float(top.areas @ u[top.nodes, 0]) / float(top.areas.sum())
    np.testing.assert_allclose(force, [held, 0.01], atol=1e-11)
    assert float(result["interface/touch/gap_min"].values[-1]) >= -1e-12
    assert np.abs(u).max() < 0.05


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("kinematics", ["small", pytest.param("finite", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("pull", "friction", "motion"),
    [(0.1, None, r"moves along \+x"), (-1.3, 0.4, "moves along −x"), (1e-9, None, r"moves along \+x")],
)
def test_the_part_that_nothing_holds_and_its_motion_are_named(axes, kinematics, pull, friction, motion):
    """Beside a block that friction holds; µ N = 1.2 a unit of area."""
    held, floor = slab(axes, 1.19, name="held", friction=0.4, kinematics=kinematics)
    loose, under = slab(axes, pull, name="loose", x=(2.0, 4.0), friction=friction, kinematics=kinematics)
    with pytest.raises(aq.UserError, match=f"part 'loose' {motion} and finds no equilibrium") as caught:
        run([held, loose], [floor, under], steps=1)
    assert "cut to" not in str(caught.value)  # parts of the step end alike


def test_a_block_that_tips_turns():
    own = block("block", (0.0, 4.0), lambda x, t: (1.5 * t, -3.0 * t))
    contact = aq.Interface("floor", own.boundary("bottom"), FLOOR, aq.Unilateral(level="gap"), aq.Coulomb(0.9))
    with pytest.raises(aq.UserError, match="part 'block' turns about z"):
        run([own], [contact], steps=1)
