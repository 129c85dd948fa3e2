"""Dispersion-corrected linear elements: Bloch waves of their matrices against the speeds of P and S waves."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import skfem
from scipy.linalg import eigh, eigvals
from scipy.optimize import brentq
from scipy.special import jv, yv

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.models.part import Weighting

CORRECTED = "dispersion"
ANGLES = np.radians([0.0, 22.5, 45.0])
PLANE = [(np.cos(a), np.sin(a)) for a in ANGLES]


def law(nu):
    return aq.LinearElastic(young=1.0, poisson=nu, density=1.0)


def plate(nu, edges=(1.0, 1.0), mass=CORRECTED, cells=(6, 6)):
    spans = [(0.0, count * h) for count, h in zip(cells, edges, strict=True)]
    return aq.Solid("plate", aq.mesh.rectangle(*spans, cells=cells), law(nu), plane="strain", mass=mass)


def brick(nu, edges=(1.0, 1.0, 1.0), mass=CORRECTED):
    return aq.Solid("brick", aq.mesh.box(*((0.0, 4.0 * h) for h in edges), cells=(4, 4, 4)), law(nu), mass=mass)


def speeds(part):
    """S (once or twice) and P, m/s."""
    lam, mu = part.lame
    return np.sqrt(np.array([mu] * (part.components - 1) + [lam + 2 * mu]))


def bloch(part, direction, cells, time_error=0.0):
    """Squares of the frequencies (component,) of waves of `cells` m, from the rows of an interior node."""
    own, x, axes = part.assemble(time_error=time_error), part.positions, part.components
    node = np.argmin(np.linalg.norm(x - x.mean(axis=0), axis=1))
    k = 2 * np.pi / cells * np.array(direction) / np.linalg.norm(direction)
    phases = np.exp(1j * (x - x[node]) @ k)
    stiffness, mass = (
        np.einsum("inj,n->ij", matrix[node * axes : (node + 1) * axes].toarray().reshape(axes, -1, axes), phases)
        for matrix in (own.stiffness, own.mass)
    )
    found = eigvals(stiffness, mass)
    assert np.abs(found.imag).max() < 1e-12
    return np.sort(found.real)


def errors(part, direction, cells):
    """Relative errors of the wave speeds (component,)."""
    return np.sqrt(bloch(part, direction, cells)) * cells / (2 * np.pi) / speeds(part) - 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("nu", [0.0, 0.3, 0.45])
@pytest.mark.parametrize("edges", [(1.0, 1.0), (1.0, 0.5), (0.5, 1.0)])
def test_waves_of_all_directions_on_rectangles(nu, edges):
    part = plate(nu, edges)
    at8, at16, at32 = (np.abs([errors(part, way, n) for way in PLANE]) for n in (8, 16, 32))
    assert at8.max() < (1.15e-3 if nu == 0.45 else 8.5e-4)
    for coarse, fine in ((at8, at16), (at16, at32)):
        assert (np.log2(coarse.max(axis=0) / fine.max(axis=0)) > 3.8).all()
    if edges == (1.0, 1.0):
        assert (at8.max(axis=0) < 1.4 * at8[0]).all()  # no direction is much worse than that of the cells
        assert (at8[:, 1] > at8[0, 1] / 3).all() or nu == 0.0  # P: all directions alike


@pytest.mark.sampled(1)
@pytest.mark.parametrize("nu", [0.0, 0.3, 0.45])
@pytest.mark.parametrize("edges", [(1.0, 1.0, 1.0), (1.0, 0.5, 0.7)])
def test_waves_of_all_directions_in_boxes(nu, edges):
    part, ways = brick(nu, edges), [(1, 0, 0), (1, 1, 0), (1, 1, 1), (0.8, 0.3, 0.2)]
    at8, at16, at32 = (np.abs([errors(part, way, n) for way in ways]) for n in (8, 16, 32))
    assert at8.max() < (1.4e-3 if nu == 0.45 else 1.0e-3)
    for coarse, fine in ((at8, at16), (at16, at32)):
        assert (np.log2(coarse.max(axis=0) / fine.max(axis=0)) > 3.8).all()


@pytest.mark.parametrize("make", [plate, brick])
def test_usual_masses_are_of_second_order_with_errors_of_per_cents(make):
    """The comparison in docs/theory/dispersion.md."""
    for mass in ("consistent", "lumped"):
        part = make(0.3, mass=mass)
        ways = np.eye(part.components)[:1]
        at8, at16 = (np.abs([errors(part, way, n) for way in ways]).max() for n in (8, 16))
        assert 0.02 < at8 < 0.03
        assert 1.9 < np.log2(at8 / at16) < 2.1


@pytest.mark.parametrize("nu", [0.0, 0.3])
@pytest.mark.parametrize(("scheme", "courant"), [("trapezoidal", 0.3), ("trapezoidal", 0.7), ("central", 0.7)])
def test_waves_in_steps_of_time(nu, scheme, courant):
    """Frequencies of the steps, tan(ωΔt/2) = ΩΔt/2 or sin(ωΔt/2) = ΩΔt/2, of both waves in every direction."""
    part = plate(nu)
    step = courant / speeds(part)[-1]
    e, inverse = (1 / 6, np.arctan) if scheme == "trapezoidal" else (-1 / 12, np.arcsin)

    def error(way, cells):
        frequency = 2 / step * inverse(np.sqrt(bloch(part, way, cells, e * step**2)) * step / 2)
        return frequency * cells / (2 * np.pi) / speeds(part) - 1

    at8, at16 = (np.abs([error(way, n) for way in PLANE]).max(axis=0) for n in (8, 16))
    assert at8.max() < 1e-3
    assert (np.log2(at8 / at16) > 3.8).all()


def test_mass_of_a_bar():
    """ρH [[½ − a, a], [a, ½ − a]], a = 1/12 + e C²: lumped at C = 1 under central differences."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.5, cells=3), law(0.0), mass=CORRECTED)
    for e, courant in ((0.0, 0.0), (1 / 6, 0.6), (-1 / 12, 0.8), (-1 / 12, 1.0)):
        a = 1 / 12 + e * courant**2
        mass = bar.assemble(time_error=e * (0.5 * courant) ** 2).mass.toarray()
        np.testing.assert_allclose(mass[1, :3], 0.5 * np.array([a, 1 - 2 * a, a]), atol=1e-15)
    assert bar.assemble(time_error=-1 / 12 * 0.25).highest_frequency() * 0.5 == pytest.approx(2.0, rel=1e-8)


def test_long_steps_leave_the_mass_positive():
    """The limit keeps (K, M₀ − e Δt²K) stable: M stays positive definite, and the total mass does not change."""
    for part in (plate(0.3, (1.0, 0.4)), brick(0.45), aq.Bar("bar", aq.mesh.interval(0.0, 4.0, cells=4), law(0.0))):
        own = replace(part, mass=CORRECTED).assemble(time_error=10.0)
        assert eigh(own.mass.toarray(), np.diag(np.abs(own.mass).sum(axis=1)), eigvals_only=True)[0] > 0.01
        assert own.mass.sum() == pytest.approx(part.assemble().mass.sum(), rel=1e-14)


def bent(mesh, amplitude):
    """The mesh with its inner nodes moved by up to `amplitude` cells, at random."""
    p = mesh.p.copy()
    low, high = p.min(axis=1, keepdims=True), p.max(axis=1, keepdims=True)
    inner = ((p > low + 1e-9) & (p < high - 1e-9)).all(axis=0)
    p[:, inner] += amplitude * np.random.default_rng(0).uniform(-1, 1, (len(p), inner.sum()))
    return replace(mesh, doflocs=p)


DISTORTED = {
    "plane": (aq.mesh.rectangle((0.0, 6.0), (0.0, 6.0), cells=(6, 6)), {"plane": "strain"}),
    "stress": (aq.mesh.rectangle((0.0, 6.0), (0.0, 6.0), cells=(6, 6)), {"plane": "stress"}),
    "axisymmetric": (aq.mesh.rectangle((0.0, 6.0), (0.0, 6.0), cells=(6, 6)), {"plane": "axisymmetric"}),
    "hexahedra": (aq.mesh.box((0.0, 4.0), (0.0, 4.0), (0.0, 4.0), cells=(4, 4, 4)), {}),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", DISTORTED)
@pytest.mark.parametrize("nu", [0.3, 0.49])
@pytest.mark.parametrize("amplitude", [0.1, 0.35])
def test_distorted_cells(kind, nu, amplitude):
    """Linear fields have the forces and the energy of the exact integration, no mode has negative energy, rigid motions
    alone have none, the mass is positive and its total exact, also where the weights of a junction vary."""
    mesh, options = DISTORTED[kind]
    part = aq.Solid("part", bent(mesh, amplitude), law(nu), mass=CORRECTED, **options)
    shape, axes = part.cells.dx.shape, part.components
    ramp = np.clip(part.quadrature_points()[0] / 4.0, 1e-3, 1.0).reshape(shape)
    for weighting in (None, Weighting(stiffness=ramp, mass=ramp, load=ramp)):
        own = part.assemble(weighting, time_error=0.01)
        plain = replace(part, mass="consistent").assemble(weighting)
        u = (part.positions @ np.random.default_rng(1).normal(size=(axes, axes))).ravel()
        (force, energy), (exact, stored) = own.internal(u), plain.internal(u)
        np.testing.assert_allclose(force, exact, atol=1e-13 * np.abs(exact).max())
        assert energy == pytest.approx(stored, rel=1e-13)
        np.testing.assert_allclose(own.stiffness @ u, exact, atol=1e-12 * np.abs(exact).max())
        values = np.linalg.eigvalsh(own.stiffness.toarray())
        rigid = {"hexahedra": 6, "axisymmetric": 1}.get(kind, 3)
        # at weights of 1e-3 at the least
        assert values[0] > -1e-12 * values[-1]
        assert (values < 1e-9 * values[-1]).sum() == rigid
        assert eigh(own.mass.toarray(), plain.mass.toarray(), eigvals_only=True)[0] > 0.05
        for axis in np.eye(axes)[kind == "axisymmetric" :]:  # uniform radial fields are strained
            uniform = np.tile(axis, part.node_count)
            total = uniform @ plain.mass @ uniform
            assert uniform @ own.mass @ uniform == pytest.approx(total, rel=1e-13)
        u = np.random.default_rng(2).normal(size=part.dof_count)
        force, energy = own.internal(u)
        np.testing.assert_allclose(force, own.stiffness @ u, atol=1e-12 * np.abs(force).max())
        assert energy == pytest.approx(0.5 * u @ force, rel=1e-12)
        each = np.empty((2, u.size))
        np.testing.assert_allclose(own.internal_each(np.array([u, 2 * u]), each), [energy, 4 * energy], rtol=1e-12)
        np.testing.assert_allclose(each, [force, 2 * force], atol=1e-12 * np.abs(force).max())
        # of explicit steps: the bound of the cells, and the diagonal below the mass
        own = part.assemble(weighting, time_error=-0.01)
        largest = eigh(own.stiffness.toarray(), own.mass.toarray(), eigvals_only=True)[-1]
        assert np.sqrt(largest) <= own.highest_frequency() < 2.5 * np.sqrt(largest)
        assert np.linalg.eigvalsh(own.mass.toarray() - np.diag(own.least_mass))[0] > -1e-12
        assert (own.least_mass > 0).all()


@pytest.mark.parametrize("make", [plate, brick])
def test_a_translation_gives_nothing(make):
    part = make(0.3)
    own = replace(part, mesh=bent(part.mesh, 0.2)).assemble()
    force, energy = own.internal(np.tile([1e6, 2e6, 3e6][: part.components], part.node_count))
    assert energy == 0.0
    assert not force.any()


def roller_box(mesh, mass):
    held = {"left": {"x": 0.0}, "right": {"x": 0.0}, "bottom": {"y": 0.0}, "top": {"y": 0.0}}
    return aq.Solid("box", mesh, law(0.3), plane="strain", mass=mass, imposed=held)


def exact_box(count):
    """Frequencies, Hz, of the unit square between frictionless walls: c |(m, n)|/2, of P waves with m, n ≥ 0 (not both
    0), of S waves with m, n ≥ 1."""
    lam, mu = law(0.3).lame()
    m, n = (grid.ravel() for grid in np.meshgrid(np.arange(8), np.arange(8)))
    length = np.hypot(m, n) / 2
    found = np.concatenate([np.sqrt(lam + 2 * mu) * length[length > 0], np.sqrt(mu) * length[(m > 0) & (n > 0)]])
    return np.sort(found)[:count]


def worst(mass, mesh):
    found = aq.natural_frequencies(aq.System([roller_box(mesh, mass)]), 8).frequencies
    return np.abs(found / exact_box(8) - 1).max()


def warped(n, amplitude):
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(n, n))
    x, y = mesh.p
    bulge = amplitude * np.sin(2 * np.pi * x) * np.sin(np.pi * y)
    return replace(mesh, doflocs=np.array([x + bulge, y - bulge]))


def test_modes_between_frictionless_walls():
    """Standing P and S waves, which the walls reflect without conversion: order 4."""
    coarse, fine = (worst(CORRECTED, warped(n, 0.0)) for n in (8, 16))
    assert np.log2(coarse / fine) > 3.8
    assert fine < 0.02 * worst("consistent", warped(16, 0.0))


def test_modes_of_distorted_cells():
    """Order 2 at the least, and more accurate than both usual masses."""
    found = {mass: [worst(mass, warped(n, 0.06)) for n in (8, 16, 32)] for mass in (CORRECTED, "consistent", "lumped")}
    for coarse, fine in zip(found[CORRECTED], found[CORRECTED][1:], strict=False):
        assert np.log2(coarse / fine) > 1.9
    assert found[CORRECTED][1] < 0.5 * min(found["consistent"][1], found["lumped"][1])


def radial_roots(count):
    """Angular frequencies of radial plane-strain waves of a free ring, 1 m < r < 2 m: u = A J₁(kr) + B Y₁(kr)."""
    lam, mu = law(0.3).lame()

    def stress(bessel, k, r):
        return (lam + 2 * mu) * (k * bessel(0, k * r) - bessel(1, k * r) / r) + lam * bessel(1, k * r) / r

    def determinant(k):
        return np.linalg.det([[stress(f, k, r) for f in (jv, yv)] for r in (1.0, 2.0)])

    grid = np.linspace(0.2, 14.0, 400)
    signs = np.sign([determinant(k) for k in grid])
    roots = [brentq(determinant, *grid[i : i + 2]) for i in np.flatnonzero(signs[1:] != signs[:-1])]
    return np.array(roots[:count]) * np.sqrt(lam + 2 * mu)


def test_radial_waves():
    def error(mass, n):
        held = {"top": {"z": 0.0}, "bottom": {"z": 0.0}}
        mesh = aq.mesh.rectangle((1.0, 2.0), (0.0, 1.0 / n), cells=(n, 1))
        ring = aq.Solid("ring", mesh, law(0.3), plane="axisymmetric", mass=mass, imposed=held)
        found = 2 * np.pi * aq.natural_frequencies(aq.System([ring]), 4).frequencies
        return np.abs(found / radial_roots(4) - 1)[1:]  # the first one is breathing, not a wave

    own, usual = error(CORRECTED, 16), np.minimum(error("consistent", 16), error("lumped", 16))
    assert (own < 0.2 * usual).all()


def equilateral():
    mesh = skfem.MeshTri.init_tensor(np.arange(9.0), np.arange(9.0))
    for tilt in (0.5, -0.5):
        p = np.array([[1.0, tilt], [0.0, np.sqrt(0.75)]]) @ mesh.p
        sides = [np.linalg.norm(np.diff(p[:, mesh.t[pair, 0]])) for pair in ([0, 1], [1, 2], [2, 0])]
        if np.ptp(sides) < 1e-12:
            return replace(mesh, doflocs=p)
    raise AssertionError


def test_triangles_and_tetrahedra():
    """P waves are four times as accurate as with both usual masses; elastic waves remain of order 2."""
    equal, nu = equilateral(), 0.3

    def largest(mesh, mass, ways, n=8, **options):
        part = aq.Solid("part", mesh, law(nu), mass=mass, **options)
        return np.abs([errors(part, way, n) for way in ways]).max(axis=0)[-1]

    right = skfem.MeshTri.init_tensor(np.arange(9.0), np.arange(9.0))
    tets = skfem.MeshTet.init_tensor(*[np.arange(7.0)] * 3)
    cases = (
        (equal, PLANE, 2.5, {"plane": "strain"}),
        (right, PLANE, 7, {"plane": "strain"}),
        (tets, [(1, 0, 0), (1, 1, 0), (1, 1, 1)], 5, {}),
    )
    for mesh, ways, gain, options in cases:
        find = partial(largest, mesh, ways=ways, **options)
        assert gain * find(mass=CORRECTED) < min(find(mass="consistent"), find(mass="lumped"))
        assert find(mass=CORRECTED, n=16) < find(mass=CORRECTED) / 3.5


def test_only_linear_elasticity_on_linear_elements():
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(2, 2))
    make = partial(aq.Solid, "part", mesh, plane="strain", mass=CORRECTED)
    with pytest.raises(UserError, match="linear elements with straight edges"):
        make(law(0.3), order=2)
    with pytest.raises(UserError, match="linear elements with straight edges"):
        aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=2), law(0.0), order=2, mass=CORRECTED)
    with pytest.raises(UserError, match='LinearElastic with kinematics="small"'):
        make(law(0.3), kinematics="finite")
    with pytest.raises(UserError, match='LinearElastic with kinematics="small"'):
        make(aq.NeoHooke(young=1.0, poisson=0.3, density=1.0), kinematics="finite")
    with pytest.raises(UserError, match="take another mass in a rigid part"):
        aq.Rigid(make(law(0.3)))
