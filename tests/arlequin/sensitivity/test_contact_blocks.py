"""The compiled linearisation of contact against complex steps of its equations: f'(x) = Im f(x + iε)/ε."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.sensitivity.contact_equations import EPS, varied
from arlequin.sensitivity.linear_steps import LinearSteps, start_springs
from arlequin.sensitivity.models_at import StudyModel
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.step_equations import BulkEquations
from arlequin.sensitivity.trajectory import blocks
from tests.arlequin.sensitivity.test_gradients import bar, fretting, glued, rod, sliding, worn

STUDIES = {
    "multiplier, layer, friction": glued,
    "wear in space": worn,
    "a damped layer, springs": rod,
    "springs": fretting,
    "restitution": lambda: bar(restitution=0.4),
    "slip rate": sliding,
    "pressure, HHT": lambda: replace(sliding(law=aq.PressureFriction([0.0, 40.0], [0.5, 0.3])), scheme=aq.HHT()),
    "Newmark": lambda: replace(rod(), scheme=aq.Newmark()),
    "HHT": lambda: glued(scheme=aq.HHT()),
    "worn, generalised α": lambda: replace(worn(), scheme=aq.GeneralisedAlpha.with_radius(0.5)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STUDIES)
def test_blocks_are_complex_steps(name):
    """To 1e-12 of the largest derivative by each input."""
    model = StudyModel.of(STUDIES[name]())
    equations = BulkEquations(model)
    block = next(iter(blocks(model, None, None, min(model.study.steps, 300))))
    linear = LinearSteps.of(equations, block, start_springs(model), StepOperators(equations).diagonal)
    contact, motion, now = linear.contact, linear.motion, linear.statuses
    found, steps = contact.blocks(motion, now), {}
    for field, at, moved in varied(motion):
        values = contact.evaluate(moved, now)
        steps[field, at[-1]] = [np.imag(own) / EPS for own in values]
    there = (contact.rows >= 0)[:, :, None] & (contact.rows >= 0)[:, None]  # rows (k, 3, 3) of lines and planes
    for i, field in enumerate(("impulse", "u1", "v1", "u0", "v0", "spring")):
        for kind, own in enumerate((found.residual, found.spring)):
            exact = np.stack([steps[field, a][kind] for a in range(3)], axis=-1) * there
            np.testing.assert_allclose(own[:, :, i] * there, exact, atol=1e-12 * np.abs(exact).max(initial=0.0), rtol=0)
    for i, (field, way) in enumerate((("impulse", 1.0), ("v0", 0.5 * contact.step))):
        exact = np.stack([steps[field, a][2] for a in range(3)], axis=-1) / way
        np.testing.assert_allclose(found.worn[:, :, i], exact, atol=1e-12 * np.abs(exact).max(initial=0.0), rtol=0)
    for i, field in enumerate(("depth", "opening")):
        exact = steps[field, ...][0][..., 0]
        np.testing.assert_allclose(found.by_wear[..., i], exact, atol=1e-12 * np.abs(exact).max(initial=0.0), rtol=0)
    assert np.abs(found.residual).max() > 0.0


def test_a_spring_without_traction_is_within_its_limit():
    """Also where its point counts as one that is put back to the limit: the traction has no direction there. A spring
    s₁ = s₀ + κ (P_t/(hA) − s₀) has ∂s₁/∂s₀ = 1 − κ."""
    model = StudyModel.of(fretting())
    equations = BulkEquations(model)
    block = next(iter(blocks(model, None, None, 20)))
    linear = LinearSteps.of(equations, block, start_springs(model), StepOperators(equations).diagonal)
    contact, now, impulse = linear.contact, linear.statuses, linear.motion.impulse.copy()
    assert (impulse[..., 0] > 0.0).all()
    impulse[..., 1:] = 0.0
    motion = linear.motion._replace(impulse=impulse, spring=np.zeros_like(linear.motion.spring))
    found = contact.blocks(motion, now._replace(limited=np.ones_like(now.limited), outside=np.ones_like(now.outside)))
    assert np.isfinite(found.residual).all()
    assert (found.spring[:, :, 5, 1, 1] == 1.0 - contact.gains).all()
