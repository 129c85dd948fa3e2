"""Spectral elements: polynomials, numbering, masses, orders of convergence, dispersion, bound of the frequency."""

import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
import skfem
from scipy.linalg import eigh
from scipy.sparse.linalg import spsolve
from skfem.refdom import RefHex, RefQuad

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.elements import FiniteElement, element_of
from arlequin.models.fem.solid import Solid
from arlequin.models.fem.spectral import lobatto_rule
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.part import Weighting

UNIT = LinearElastic(young=1.0, poisson=0.0, density=1.0)
ORDERS = (3, 4, 5, 6)


def turns(refdom):
    """All orders of the vertices of a reference square or cube that are symmetries of it."""
    corners, axes = refdom.p.T, len(refdom.p)
    found = []
    for order, flips in product(permutations(range(axes)), product((0, 1), repeat=axes)):
        moved = np.abs(corners[:, order] - np.array(flips))
        found.append([int(np.flatnonzero((corners == row).all(axis=1))[0]) for row in moved])
    return found


def pairs(refdom):
    """Two cells with a common side: the second one with its vertices in every order, of skewed affine shape."""
    grid = skfem.MeshQuad if refdom is RefQuad else skfem.MeshHex
    lines = [np.array([0.0, 0.7, 1.9]), np.array([0.0, 1.1]), np.array([0.0, 0.8])][: len(refdom.p)]
    straight = grid.init_tensor(*lines)
    skew = np.eye(len(lines)) + 0.3 * np.triu(np.ones((len(lines), len(lines))), 1)
    number = np.random.default_rng(1).permutation(straight.p.shape[1])
    p, t = (skew @ straight.p)[:, np.argsort(number)], number[straight.t]
    for turn in turns(refdom):
        turned = t.copy()
        turned[:, 1] = turned[turn, 1]
        yield grid(p, turned)


@pytest.mark.parametrize("order", [2, *ORDERS])
def test_rule_is_exact_to_degree_2p_minus_1(order):
    points, weights = lobatto_rule(order)
    for degree in range(2 * order):
        assert weights @ points**degree == pytest.approx((1 + (-1) ** degree) / (degree + 1), abs=1e-14)
    assert abs(weights @ points ** (2 * order) - 2 / (2 * order + 1)) > 1e-4


def test_rules_of_order_3_and_4_are_those_of_the_books():
    assert lobatto_rule(3)[0] == pytest.approx([-1, -1 / math.sqrt(5), 1 / math.sqrt(5), 1], abs=1e-15)
    assert lobatto_rule(3)[1] == pytest.approx([1 / 6, 5 / 6, 5 / 6, 1 / 6], abs=1e-15)
    assert lobatto_rule(4)[0] == pytest.approx([-1, -math.sqrt(3 / 7), 0, math.sqrt(3 / 7), 1], abs=1e-15)
    assert lobatto_rule(4)[1] == pytest.approx([1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10], abs=1e-15)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("refdom", [RefQuad, RefHex])
def test_adjacent_cells_agree_on_their_nodes_in_all_orientations(refdom, order):
    """Two cells share the nodes of one side: as many as there are places, at the places of both cells."""
    axes = len(refdom.p)
    for pair in list(pairs(refdom))[:: 1 if axes == 2 or order == 3 else 7]:
        basis = element_of(pair, order).cell_basis(pair)
        assert 2 * (order + 1) ** axes - (order + 1) ** (axes - 1) == basis.N
        places = pair.mapping().F(basis.elem.doflocs.T)
        assert np.abs(basis.doflocs[:, basis.element_dofs.T] - places).max() < 1e-14


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("refdom", [RefQuad, RefHex])
def test_polynomials_of_the_order_are_reproduced_on_affine_cells(refdom, order):
    """Σ φ_n = 1; values and gradients of (1 + a·x)^p from its nodal values, at all orientations of the second cell."""
    axes = len(refdom.p)
    a = np.array([0.3, -0.2, 0.4])[:axes]
    for pair in list(pairs(refdom))[:: 1 if axes == 2 else 12]:
        basis = element_of(pair, order).cell_basis(pair)
        x, total = np.asarray(basis.global_coordinates()), 0.0
        nodal = (1 + a @ basis.doflocs) ** order
        value, gradient = np.zeros(x.shape[1:]), np.zeros(x.shape)
        for n, (function,) in enumerate(basis.basis):
            total = total + np.asarray(function)
            value += nodal[basis.element_dofs[n]][:, None] * np.asarray(function)
            gradient += nodal[basis.element_dofs[n]][None, :, None] * function.grad
        line = 1 + np.einsum("i,icq->cq", a, x)
        assert np.abs(total - 1).max() < 1e-14
        assert np.abs(value - line**order).max() < 1e-12
        assert np.abs(gradient - order * line ** (order - 1) * a[:, None, None]).max() < 1e-11


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [3, 5])
def test_facets_have_their_nodes_in_order_seen_from_outside(order):
    """Nodes of each facet: corners, edges and inner ones of the bilinear map of its corners; normals outward."""
    places = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    inner = 0.5 * (1 + lobatto_rule(order)[0][1:-1])
    edges = [a + np.outer(inner, b - a) for a, b in zip(places, np.roll(places, -1, axis=0), strict=True)]
    face = np.stack(np.meshgrid(inner, inner), axis=-1).reshape(-1, 2)
    s, t = np.concatenate([places, *edges, face]).T
    shapes = np.stack([(1 - s) * (1 - t), s * (1 - t), s * t, (1 - s) * t])
    for pair in list(pairs(RefHex))[::7]:
        named = pair.with_boundaries({"all": lambda x: x[0] < np.inf})
        part = Solid("part", named, UNIT, order=order)
        surface = part.boundary("all")
        x = part.positions[surface.facets]
        assert surface.facets.shape == (10, (order + 1) ** 2)
        assert np.abs(np.einsum("cn,fca->fna", shapes, x[:, :4]) - x).max() < 1e-14
        normal = np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 0])
        away = x[:, :4].mean(axis=1) - part.positions.mean(axis=0)
        assert (np.einsum("fa,fa->f", normal, away) > 0).all()
        assert surface.areas.min() > 0
        assert surface.areas.sum() == pytest.approx(np.linalg.norm(normal, axis=1).sum(), rel=1e-13)


@pytest.mark.parametrize("order", [2, *ORDERS])
def test_lumped_mass_is_the_lobatto_rule(order):
    """Diagonal mass of a bar, ρ A h w_n/2, and of a solid, the product along both axes."""
    points, weights = lobatto_rule(order)
    bar = Bar(
        "bar", mesh.interval(0.0, 3.0, cells=1), replace(UNIT, density=2.0), order=order, mass="lumped", section=0.7
    )
    along = np.argsort(bar.positions[:, 0])
    assert bar.positions[along, 0] == pytest.approx(1.5 * (1 + points), abs=1e-14)
    assert bar.assemble().mass.diagonal()[along] == pytest.approx(2.0 * 0.7 * 1.5 * weights, rel=1e-12)

    cell = mesh.rectangle((0.0, 2.0), (0.0, 2.0), cells=(1, 1))
    solid = Solid("solid", cell, UNIT, "strain", order=order, mass="lumped")
    place = np.searchsorted(0.5 * (points[1:] + points[:-1]), solid.positions - 1.0)
    masses = solid.assemble().mass.diagonal()[::2]
    assert masses == pytest.approx(weights[place].prod(axis=1), rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_lumped_mass_under_a_linear_weight(order):
    """m_n = w_n [(1 − 1/(2p)) α(x_n) + ᾱ/(2p)]: positive where α = 0, of the exact total."""
    bar = Bar("bar", mesh.interval(0.0, 1.0, cells=1), UNIT, order=order, mass="lumped")
    alpha = bar.quadrature_points()[0]
    masses = bar.assemble(Weighting(alpha, alpha, alpha)).mass.diagonal()
    at_nodes = bar.positions[:, 0]
    weights = bar.assemble().mass.diagonal()
    assert masses == pytest.approx(weights * ((1 - 0.5 / order) * at_nodes + 0.25 / order), rel=1e-12)
    assert masses.min() > 0
    assert masses.sum() == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("order", [2, *ORDERS])
def test_static_solutions_converge_with_order_p_plus_1(order):
    """L2 error of u = A sin(k·x + 0.3) on distorted quadrilaterals with the border moved, 3 × 3 and 6 × 6 cells."""
    material = LinearElastic(young=3.0, poisson=0.3, density=1.0)
    amplitude, wave = np.array([1.0, 0.6]), np.array([2.1, 1.4])

    def exact(x, t=1.0):
        return np.multiply.outer(amplitude, np.sin(np.tensordot(wave, x, 1) + 0.3))

    def force(x, t):
        lam, mu = material.lame()
        vector = (lam + mu) * wave * (amplitude @ wave) + mu * (wave @ wave) * amplitude
        return np.multiply.outer(vector, np.sin(np.tensordot(wave, x, 1) + 0.3))

    def error(cells):
        square = mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(cells, cells))
        x, y = square.p
        bent = np.stack([x + 0.08 * np.sin(np.pi * x) * np.sin(np.pi * y), y - 0.06 * np.sin(np.pi * x) * y * (1 - y)])
        part = Solid("part", skfem.MeshQuad(bent, square.t), material, "strain", order=order, body_force=force)
        assembled = part.assemble()
        held = np.unique(part.basis.get_dofs(part.mesh.boundary_facets()).all())
        fixed = (2 * held[:, None] + np.arange(2)).ravel()
        free = np.setdiff1d(np.arange(part.dof_count), fixed)
        u = exact(part.positions.T).T.ravel()
        load = assembled.load(0.0) - assembled.stiffness @ np.where(np.isin(np.arange(u.size), free), 0.0, u)
        u[free] = spsolve(assembled.stiffness.tocsc()[free][:, free], load[free])
        basis = replace(part.finite_element, cell_degree=2 * order + 7).cell_basis(part.mesh)
        nodal, found = u.reshape(-1, 2), 0.0
        for n, (function,) in enumerate(basis.basis):
            found = found + nodal[basis.element_dofs[n]].T[:, :, None] * np.asarray(function)
        off = found - exact(np.asarray(basis.global_coordinates()))
        return math.sqrt((off**2 * basis.dx).sum())

    found = math.log2(error(3) / error(6))
    assert order + 0.7 < found < order + 1.8


def standing_wave(order, cells, mass):
    """Relative error of the first frequency of a free bar of length 1, ω = π c."""
    bar = Bar("bar", mesh.interval(0.0, 1.0, cells=cells), UNIT, order=order, mass=mass).assemble()
    squares = eigh(bar.stiffness.toarray(), bar.mass.toarray(), eigvals_only=True, subset_by_index=[1, 1])
    return math.sqrt(squares[0]) / math.pi - 1


@pytest.mark.parametrize(("order", "cells"), [(2, 16), (3, 8), (4, 4)])
def test_dispersion_is_that_of_the_theory(order, cells):
    """Relative error of ω: ½ (p!/(2p)!)² (kH)^(2p)/(2p + 1) with the consistent mass, −1/p of it with the diagonal one.

    Source: Ainsworth & Wajid, SIAM Journal on Numerical Analysis 47, 2009.
    """
    size = math.pi / cells
    consistent = 0.5 * (math.factorial(order) / math.factorial(2 * order)) ** 2 * size ** (2 * order) / (2 * order + 1)
    assert standing_wave(order, cells, "consistent") == pytest.approx(consistent, rel=0.1)
    assert standing_wave(order, cells, "lumped") == pytest.approx(-consistent / order, rel=0.1)
    fall = standing_wave(order, cells // 2, "lumped") / standing_wave(order, cells, "lumped")
    assert math.log2(fall) == pytest.approx(2 * order, abs=0.2)


@pytest.mark.parametrize(("order", "near"), [(2, 3e-3), (4, 3e-7), (6, 1e-11)])
def test_free_square_has_the_lame_mode(order, near):
    """ω = √2 π c_s/L of the equivoluminal mode of a free square of side L, whatever ν; diagonal mass, 2 × 2 cells."""
    material = LinearElastic(young=2.6, poisson=0.3, density=1.0)  # μ = 1
    square = mesh.rectangle((-0.5, 0.5), (-0.5, 0.5), cells=(2, 2))
    part = Solid("part", square, material, "strain", order=order, mass="lumped")
    assembled = part.assemble()
    frequencies = np.sqrt(np.abs(eigh(assembled.stiffness.toarray(), assembled.mass.toarray(), eigvals_only=True)[:20]))
    assert np.abs(frequencies / (math.sqrt(2) * math.pi) - 1).min() < near


@pytest.mark.parametrize("order", ORDERS)
def test_bound_of_the_largest_frequency_is_sharp(order):
    """Equal to the largest frequency of a bar of equal cells, at most 15 % above it on distorted quadrilaterals."""

    def ratio(part):
        assembled = part.assemble()
        root = 1 / np.sqrt(assembled.mass.diagonal())
        scaled = assembled.stiffness.toarray() * root[:, None] * root
        return assembled.highest_frequency() / math.sqrt(np.linalg.eigvalsh(scaled)[-1])

    bar = Bar("bar", mesh.interval(0.0, 1.0, cells=4), UNIT, order=order, mass="lumped")
    assert ratio(bar) == pytest.approx(1.0, abs=2e-9)
    square = mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(3, 3))
    moved = square.p + 0.05 * np.random.default_rng(0).uniform(-1, 1, square.p.shape)
    solid = Solid("part", skfem.MeshQuad(moved, square.t), UNIT, "strain", order=order, mass="lumped")
    assert 1.0 <= ratio(solid) < 1.15


def test_orders_that_a_shape_has_not_are_refused():
    with pytest.raises(UserError, match="order = 3: must be one of 1, 2"):
        Solid("part", mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1), kind="tri"), UNIT, "strain", order=3)
    with pytest.raises(UserError, match="order = 3: must be one of 1, 2"):
        FiniteElement("triangle10", skfem.ElementTriP3, 3, 7)
    with pytest.raises(UserError, match="order = 7: must be one of 1, 2, 3, 4, 5, 6"):
        Bar("bar", mesh.interval(0.0, 1.0, cells=1), UNIT, order=7)
