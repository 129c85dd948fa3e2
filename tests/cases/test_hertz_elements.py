"""Meshes, closed forms and the fit of p² together: a disc and a ball on a rigid plane by a plain active set.

Nothing of the contact code takes part: nodal forces from one sparse solve for each guess of the nodes in contact.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import arlequin as aq
from arlequin.cases.reference.hertz import LineContact, SphereContact, effective_modulus, fit_pressure
from arlequin.cases.shared.meshes import quarter_disc

MATERIAL = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
HALF_WIDTH = 0.03  # of the radius, 1


def pressed(solid, load, guess):
    """Distances from the axis and pressures of the contact nodes; the top moves as one under the load."""
    stiffness = solid.assemble().stiffness
    contact, top = solid.boundary("contact"), solid.boundary("top").dofs[:, 1]
    free = np.setdiff1d(np.arange(solid.dof_count), np.concatenate([solid.boundary("left").dofs[:, 0], top]))
    columns = np.concatenate([np.arange(free.size), np.full(top.size, free.size)])
    tied = sp.csc_array((np.ones(columns.size), (np.concatenate([free, top]), columns)))
    reduced = (tied.T @ stiffness @ tied).tocsr()
    force = np.zeros(reduced.shape[0])
    force[-1] = -load
    down, gap = np.searchsorted(free, contact.dofs[:, 1]), contact.positions[:, 1]
    active = contact.positions[:, 0] <= guess
    for _ in range(20):
        held = down[active]
        rest = np.setdiff1d(np.arange(force.size), held)
        u = np.zeros(force.size)
        u[held] = -gap[active]
        rows = reduced[rest]
        u[rest] = spsolve(rows[:, rest].tocsc(), force[rest] - rows[:, held] @ u[held])
        reaction = (reduced @ u - force)[down]
        following = np.where(active, reaction >= 0, u[down] < -gap - 1e-14)
        if (following == active).all():
            assert reaction[active].sum() == pytest.approx(load, rel=1e-9)
            return contact.positions[:, 0], reaction / contact.areas
        active = following
    raise AssertionError("the active set does not settle")


@pytest.mark.parametrize(("order", "cells", "limit"), [(1, 10, 5e-3), (1, 20, 2e-3), (2, 10, 1e-3)])
def test_half_width_and_peak_of_a_disc(order, cells, limit):
    modulus = effective_modulus(MATERIAL)
    exact = LineContact.of_half_width(1.0, modulus, HALF_WIDTH)
    mesh = quarter_disc(1.0, 1.5 * HALF_WIDTH, HALF_WIDTH / cells, order=order)
    solid = aq.Solid("disc", mesh, MATERIAL, plane="strain")
    fit = fit_pressure(*pressed(solid, 0.5 * exact.load, HALF_WIDTH))
    assert fit.half_width == pytest.approx(HALF_WIDTH, rel=limit)
    assert fit.peak == pytest.approx(exact.peak, rel=limit)


@pytest.mark.parametrize(("order", "limit"), [(1, 5e-3), (2, 2e-3)])
def test_radius_and_peak_of_a_ball(order, limit):
    modulus = effective_modulus(MATERIAL)
    exact = SphereContact.of_approach(1.0, modulus, HALF_WIDTH**2)
    mesh = quarter_disc(1.0, 1.5 * HALF_WIDTH, HALF_WIDTH / 10, order=order)
    solid = aq.Solid("ball", mesh, MATERIAL, plane="axisymmetric")
    fit = fit_pressure(*pressed(solid, exact.load, HALF_WIDTH))
    assert fit.half_width == pytest.approx(HALF_WIDTH, rel=limit)
    assert fit.peak == pytest.approx(exact.peak, rel=limit)
