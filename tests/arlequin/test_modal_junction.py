"""A tube between two beams, reduced to its modes and to what its nodes of contact and its junctions pull."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import arlequin as aq
from arlequin.linalg.products import RowProduct
from arlequin.system.assembly import assemble

ALLOY = aq.LinearElastic(young=9e10, poisson=0.3, density=6500.0)
INNER, OUTER = 4.1e-3, 4.75e-3
CLAMP = dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)


def parts(**more):
    """A rod along z: beam, tube of hexahedra on [0.05, 0.11] with a pad, beam; loads at the free end."""
    angles, heights = np.linspace(0, 2 * np.pi, 9), np.linspace(0.05, 0.11, 13)
    pads = {"pad": ((-0.1, 0.9), (0.07, 0.09))}
    tube = aq.Solid("tube", aq.mesh.tube(INNER, OUTER, angles, heights, patches=pads), ALLOY)
    area, inertia = np.pi * (OUTER**2 - INNER**2), np.pi / 4 * (OUTER**4 - INNER**4)
    section = aq.Section(area, inertia, inertia, 2 * inertia, 0.5, 0.5)
    axes = {"dimension": 3, "direction": (0, 0, 1), "up": (1, 0, 0)}
    low = aq.Beam("low", aq.mesh.interval(0, 0.07, cells=7), ALLOY, section, imposed={"left": CLAMP}, **axes)
    high = aq.Beam("high", aq.mesh.interval(0.09, 0.16, cells=7), ALLOY, section, **axes, **more)
    return low, tube, high


def reduced(tube, modes=12):
    return aq.Modal(tube, modes, detailed=[tube.boundary("pad")])


def system(low, tube, high, interfaces=(), **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the section of a polygon is not that of the circle
        glue = [aq.BeamJunction(low, tube, name="a"), aq.BeamJunction(high, tube, name="b")]
    return aq.System([low, tube, high], glue, interfaces, **more)


def pressed(tube, gap, law):
    plane = aq.RigidPlane(point=(OUTER + gap, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    return aq.Interface("pad", tube.boundary("pad"), plane, law, friction=aq.Coulomb(0.3))


def field(result, name, part="tube"):
    return result[f"part/{part}"].dataset[name].values


def assert_near(first, second, tolerance):
    assert np.abs(first - second).max() <= tolerance * np.abs(first).max()


def test_both_junctions_weigh_the_tube_and_all_weigh_as_their_union():
    low, tube, high = parts()
    own = assemble(system(low, tube, high)).parts
    masses = [part.mass[:: p.components, :: p.components].sum() for part, p in zip(own, (low, tube, high), strict=True)]
    metre = ALLOY.density * np.pi * (OUTER**2 - INNER**2)
    polygon = ALLOY.density * tube.cells.dx.sum() / 0.06
    # zones of 0.02 m with linear weights: half of each to either
    np.testing.assert_allclose(masses, [0.06 * metre, 0.04 * polygon, 0.06 * metre], rtol=1e-9)


def test_statics_with_friction_is_exact():
    """Under loads on the beams and contact on the pad, which sticks and slips: every displacement and force."""
    low, tube, high = parts(end_loads={"right": lambda t: (40.0 * t, 7.0 * t, 3.0 * t)})
    results = [
        aq.simulate(
            system(low, part, high, [pressed(part, 1e-6, aq.Unilateral(level="gap"))]), aq.Static(),
            duration=1.0, step=0.5,
        )
        for part in (tube, reduced(tube))
    ]  # fmt: skip
    forces = [result["interface/pad"].dataset["force"].values for result in results]
    assert np.abs(forces[0][-1]).min() > 1.0
    assert_near(*forces, 1e-9)
    for name in ("low", "tube", "high"):
        assert_near(*(field(result, "displacement", name) for result in results), 1e-9)
    for name in ("a", "b"):
        assert_near(*(result[f"junction/{name}"].dataset["force"].values for result in results), 1e-9)


def test_frequencies():
    """With few modes of the tube the lowest of the rod are there; with more they tend to the full model's."""
    low, tube, high = parts()
    exact, few, more = (
        aq.natural_frequencies(system(low, part, high), 10).frequencies
        for part in (tube, reduced(tube, 8), reduced(tube, 40))
    )
    np.testing.assert_allclose(few[:8], exact[:8], rtol=1e-5)
    np.testing.assert_allclose(more, exact, rtol=1e-8)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("which", ["tube", "all"])
def test_step_response(which):
    """A sudden load at the free end: the path of the full rod, all energies, no work of the junctions."""
    low, tube, high = parts(end_loads={"right": (20.0, 0.0, 5.0)})
    others = [reduced(tube, 30)] if which == "tube" else [reduced(tube, 30), aq.Modal(low, 24), aq.Modal(high, 24)]
    modal = {part.name: part for part in others}
    rods = [low, tube, high], [modal.get(part.name, part) for part in (low, tube, high)]
    results = [aq.simulate(system(*rod), aq.Theta(0.5), duration=4e-3, step=2e-5) for rod in rods]
    for result in results:
        assert np.abs(result["balance"]).max() <= 1e-12
        energy = result["energy"]
        assert np.abs(energy.sel(kind="junction")).max() <= 1e-12 * energy.max()
    for name in ("low", "tube", "high"):
        assert_near(*(field(result, "displacement", name) for result in results), 1e-4)
    assert_near(*(result["energy"].values for result in results), 1e-3)


def test_impacts_with_friction_keep_the_balance_and_the_bits():
    """So many dofs are stepped one by one."""
    low, tube, high = parts(end_loads={"right": lambda t: (20.0, 30.0 * np.sin(3e3 * t), 0.0)})
    law = [aq.Asperities(stiffness=1e14, exponent=1, height=1e-6), aq.Unilateral(level="velocity")]

    def run():
        part = reduced(tube, 50)
        glued = system(low, part, high, [pressed(part, 3e-6, law)])
        return aq.simulate(glued, aq.Theta(0.5), duration=2e-3, step=1e-5)

    first, second = run(), run()
    energy = first["energy"]
    assert (first["interface/pad"].dataset["active"] > 0).sum() > 20
    assert energy.sel(kind="friction")[-1] > 0.0
    assert np.abs(first["balance"]).max() <= 1e-12
    assert np.abs(energy.sel(kind="junction")).max() <= 1e-12 * energy.max()
    assert (energy.values == second["energy"].values).all()
    assert (field(first, "displacement") == field(second, "displacement")).all()


def test_messages():
    low, tube, high = parts()
    with pytest.raises(aq.UserError, match="must be a Solid, or a Modal of one"):
        aq.BeamJunction(low, aq.Modal(high, 8))
    with pytest.raises(aq.UserError, match="must be a Beam, or a Modal of one"):
        aq.BeamJunction(reduced(tube), tube)


@pytest.mark.parametrize("share", [0.02, 0.9])
def test_products_with_sparse_and_with_full_rows(share):
    """Both ways are the products with the matrix, also where only some columns are in use."""
    random = np.random.default_rng(3)
    dense = random.normal(size=(30, 60)) * (random.random((30, 60)) < share)
    dense[:, [0, 7, 59]] = 0.0
    rows, x, many = RowProduct(csr_array(dense)), random.normal(size=60), random.normal(size=(4, 60))
    np.testing.assert_allclose(rows(x), dense @ x, atol=1e-13)
    np.testing.assert_allclose(rows(many), many @ dense.T, atol=1e-13)
    for acting in (0, 3, 30):
        forces = np.where(np.arange(30) < acting, random.normal(size=30), 0.0)
        np.testing.assert_allclose(rows.transposed(forces), forces @ dense, atol=1e-13)
    empty = RowProduct(csr_array((0, 60)))
    assert empty(x).shape == (0,) and (empty.transposed(np.zeros(0)) == np.zeros(60)).all()


@pytest.mark.parametrize("kept", [31, 32])
def test_products_of_members_do_not_depend_on_their_number(kept):
    """Few vectors are multiplied by columns, many by rows: to the same bits."""
    random = np.random.default_rng(4)
    dense = random.normal(size=(35, 60)) * (random.random((35, 60)) < 0.6)
    dense[:, kept:50] = 0.0
    rows, many = RowProduct(csr_array(dense)), random.normal(size=(6, 60))
    together = rows(many)
    for count in (1, 3):
        assert (rows(many[:count]) == together[:count]).all()


def test_kept_products_are_those_of_the_values():
    """Whatever is done to a field or to a product afterwards."""
    dense = np.random.default_rng(5).normal(size=(6, 9))
    rows, x = RowProduct(csr_array(dense)), np.arange(9.0)
    rows(x)[:] = 0.0
    np.testing.assert_allclose(rows(x), dense @ x, rtol=1e-12)
    x[3] = -1.0
    np.testing.assert_allclose(rows(x), dense @ x, rtol=1e-12)
