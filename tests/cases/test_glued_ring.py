"""A patch on a curved border: closed forms of Lamé and Kirsch, orders, patches that are turned, shifted and curved."""

import numpy as np
import pytest

from arlequin.cases.glued_ring import (
    RADIUS,
    Parameters,
    PatchErrors,
    build,
    check,
    errors,
    exact_displacement,
    exact_stress,
)


def run(**changes) -> tuple[PatchErrors, list[str]]:
    p = Parameters(**changes)
    result = build(p).run()
    return errors(result, p), [f"{item.name}: {item.value:.3g}" for item in check(result, p) if not item.passed]


@pytest.mark.parametrize("problem", ["ring", "plate"])
def test_the_closed_forms_are_a_solution(problem):
    """Hooke's law of the gradients of u, by differences, is the stress; no traction in the hole but the pressure."""
    p = Parameters(problem=problem)
    x = RADIUS * np.array([[1.1, 0.6, 0.2, 2.0], [0.3, 1.4, 1.7, 0.5]])
    step = 1e-5 * RADIUS
    columns = [
        (exact_displacement(p, x + d) - exact_displacement(p, x - d)) / (2 * step)
        for d in (np.array([[step], [0]]), np.array([[0], [step]]))
    ]
    shear = p.young / (2 * (1 + p.poisson))
    lame = 2 * shear * p.poisson / (1 - 2 * p.poisson)
    xx, yy, xy = columns[0][0], columns[1][1], 0.5 * (columns[0][1] + columns[1][0])
    found = np.stack([lame * (xx + yy) + 2 * shear * xx, lame * (xx + yy) + 2 * shear * yy, 2 * shear * xy])
    np.testing.assert_allclose(found, exact_stress(p, x), atol=1e-7 * p.stress)
    top = exact_stress(p, np.array([[0.0], [RADIUS]]))
    assert top[1, 0] == pytest.approx(-p.stress if problem == "ring" else 0.0, abs=1e-6 * p.stress)
    if problem == "plate":
        assert top[0, 0] == pytest.approx(3.0 * p.stress)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("start", [0.0, 1.7, 10.0, 21.7, 33.3])
@pytest.mark.parametrize(("cells", "patch_cells"), [("quad", "quad"), ("tri", "tri"), ("quad", "tri")])
def test_kirsch_whatever_the_angle_of_the_patch(cells, patch_cells, start):
    found, failed = run(cells=cells, patch_cells=patch_cells, start=start)
    assert not failed
    assert found.concentration == pytest.approx(3.0, rel=5e-3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("problem", ["ring", "plate"])
@pytest.mark.parametrize(("cells", "start"), [("quad", 0.0), ("tri", 21.7), ("quad", 21.7)])
@pytest.mark.parametrize("order", [1, 2])
def test_orders(problem, cells, start, order):
    options = {"problem": problem, "cells": cells, "patch_cells": cells, "order": order, "start": start}
    (coarse, first), (fine, second) = (run(elements=n, **options) for n in (8, 16))
    assert not first and not second
    displacement, stress = (np.log2(getattr(coarse, k) / getattr(fine, k)) for k in ("displacement", "stress"))
    assert displacement > (1.5 if order == 1 else 1.9)
    assert stress > (0.9 if order == 1 else 1.8)
