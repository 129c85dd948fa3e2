"""Levels of `wear_confidence`: the models that they are, and what their corrections are worth."""

from dataclasses import replace

import pytest

import arlequin as aq
from arlequin.cases.wear_confidence import Parameters, check, figures, rod_study, run, sample
from arlequin.results.recorder import Record

MODELS = Parameters(hierarchy="models", levels=3, modes=20, cells=4, duration=0.05, start=0.01)
INPUTS = {"gap": 2e-5, "preload": 12.0, "misalignment": 2e-6, "friction": 0.4, "turbulence": 5}


def test_levels_are_models_of_rising_fidelity():
    found = []
    for level in range(3):
        study = rod_study(MODELS, **INPUTS, level=level)
        (rod,), laws = study.system.parts, {type(own.normal[0]) for own in study.system.interfaces}
        found.append((round(MODELS.step / study.step), rod.modes, len(rod.part.positions), laws))
    assert [own[:2] for own in found] == [(1, 20), (4, 20), (16, 40)]
    assert found[0][2] == found[1][2] < found[2][2]
    assert [own[3] for own in found] == [{type(aq.ImpactElement(1.0))}, {aq.AsperityTable}, {aq.AsperityTable}]
    steps = rod_study(replace(MODELS, hierarchy="steps"), **INPUTS, level=2)
    assert steps.step == MODELS.step / 16 and steps.system.parts[0].modes == 20


def test_asperities_of_no_height_are_springs():
    """Of level 1, whose layer is then closed from 1 N on, against the springs with its time step, undamped."""
    bare = replace(MODELS, shock_damping=0.0)
    flat = sample(replace(bare, asperity_height=1e-9, asperity_stiffness=1e18), **INPUTS, level=1)
    springs = sample(replace(bare, step=MODELS.step / MODELS.ratio), **INPUTS, level=0)
    rough = sample(bare, **INPUTS, level=1)
    for name in ("work_rate", "depth"):
        assert flat[name].value == pytest.approx(springs[name].value, rel=2e-3)
        assert abs(rough[name].value / springs[name].value - 1.0) > 1e-2


@pytest.mark.slow
def test_corrections_of_models_are_small():
    """The estimate agrees with other samples of the finest model, at a fraction of their cost."""
    parameters = Parameters(hierarchy="models", levels=3, duration=0.3, samples=24, indices=4, accuracy=0.06)
    result = run(parameters, Record(), None)
    assert not [own for own in check(result, parameters) if not own.passed]
    levels = result["levels"].dataset
    variances = [float(levels[f"variance_{n}"][0]) for n in range(3)]
    assert max(variances[1:]) < 0.1 * variances[0]
    assert "levels" in figures(result, parameters)
