"""Frequencies of bars and solids against closed forms, and the bound from the cells."""

import numpy as np
import pytest
from scipy.linalg import eigh

from arlequin.models import mesh
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.part import Weighting

MATERIAL = LinearElastic(young=2.0, poisson=0.25, density=3.0)
C = np.sqrt(2.0 / 3.0)


def frequencies(part, free=None, weighting=None):
    assembled = part.assemble(weighting)
    free = np.arange(part.dof_count) if free is None else free
    K, M = (A.toarray()[np.ix_(free, free)] for A in (assembled.stiffness, assembled.mass))
    return np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0))


@pytest.mark.parametrize(("order", "mass", "rate"), [(1, "consistent", 2), (1, "lumped", 2), (2, "consistent", 4)])
def test_clamped_bar(order, mass, rate):
    """First frequency πc/2L of a clamped–free bar, at the element's order."""
    errors = []
    for n in (8, 16):
        part = Bar("bar", mesh.interval(0, 1.5, cells=n), MATERIAL, order=order, mass=mass)
        free = np.setdiff1d(np.arange(part.dof_count), part.boundary("left").nodes)
        errors.append(abs(frequencies(part, free)[0] / (np.pi * C / 3.0) - 1))
    assert np.log2(errors[0] / errors[1]) >= rate - 0.1


def test_discrete_spectrum_of_a_linear_bar():
    """Free bar of n cells: ω = 2c/h sin(θ/2) lumped, c/h √(6(1 − cos θ)/(2 + cos θ)) consistent, θ = kπ/n."""
    n, h = 7, 0.2
    theta = np.arange(n + 1) * np.pi / n
    plain = mesh.interval(0, n * h, cells=n)
    lumped = frequencies(Bar("bar", plain, MATERIAL, mass="lumped"))
    assert lumped[1:] == pytest.approx((2 * C / h * np.sin(theta / 2))[1:], rel=1e-12)
    consistent = frequencies(Bar("bar", plain, MATERIAL))
    expected = C / h * np.sqrt(6 * (1 - np.cos(theta)) / (2 + np.cos(theta)))
    assert consistent[1:] == pytest.approx(expected[1:], rel=1e-12)


def test_bound_of_a_linear_bar():
    """Uniform cells: 2c/h with lumped mass, √12 c/h with consistent mass."""
    plain = mesh.interval(0, 1, cells=10)
    assert Bar("b", plain, MATERIAL, mass="lumped").assemble().highest_frequency() == pytest.approx(20 * C, rel=1e-8)
    assert Bar("b", plain, MATERIAL).assemble().highest_frequency() == pytest.approx(np.sqrt(12) * 10 * C, rel=1e-8)


def parts(mass):
    rng = np.random.default_rng(0)
    for order in (1, 2):
        for kind in ("tri", "quad"):
            plain = mesh.rectangle((0, 1), (0, 1), cells=(3, 2), kind=kind)
            plain.doflocs[:, plain.interior_nodes()] += rng.uniform(-0.1, 0.1, (2, plain.interior_nodes().size))
            for plane in ("strain", "stress", "axisymmetric"):
                yield Solid(plane, plain, MATERIAL, plane=plane, order=order, mass=mass)
        for kind in ("tet", "hex"):
            yield Solid(
                kind,
                mesh.box((0, 1), (0, 1), (0, 1), cells=(2, 1, 1), kind=kind),
                MATERIAL,
                order=order,
                mass=mass,
            )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_bound(mass):
    """Above the largest frequency of the part, and at most 80 % above; the weights do not break it."""
    for part in parts(mass):
        largest = frequencies(part)[-1]
        assert largest <= part.assemble().highest_frequency() <= 1.8 * largest
    for part in parts(mass):
        weight = np.random.default_rng(1).uniform(0.2, 1, part.cells.dx.shape)
        weighting = Weighting(stiffness=weight, mass=weight, load=weight)
        assert frequencies(part, weighting=weighting)[-1] <= part.assemble(weighting).highest_frequency()


def test_cells_without_weight_are_skipped():
    part = Bar("bar", mesh.interval(0, 1, cells=4), MATERIAL, mass="lumped")
    weight = np.ones(part.cells.dx.shape)
    weight[:2] = 0.0
    weighting = Weighting(stiffness=weight, mass=weight, load=weight)
    assert part.assemble(weighting).highest_frequency() == pytest.approx(8 * C, rel=1e-8)


def test_no_bound_with_massless_nodes():
    part = Bar("bar", mesh.interval(0, 1, cells=4), MATERIAL, mass="redistributed")
    assert part.assemble(massless=[4]).highest_frequency() == np.inf
    assert np.isfinite(part.assemble().highest_frequency())
