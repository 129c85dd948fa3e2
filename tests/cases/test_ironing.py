"""The case ironing: forces of the pair in equilibrium at every step, smooth, on the cone; energies."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import ironing as case
from arlequin.models.errors import UserError
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

SMALL = {"steps": 60}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [{}, {"multiplier": "nodes"}, {"multiplier": "P0"}, {"slave": "slider"}, {"friction": 0.0}, {"order": 2}],
)
def test_the_case_is_within_its_tolerances(options):
    p = case.Parameters(**{**SMALL, **options})
    checks = case.check(case.build(p).run(), p)
    assert not [check for check in checks if not check.passed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("multiplier", ["P1", "P0", "nodes", "gauss"])
def test_each_contact_pair_is_in_equilibrium_in_every_step(multiplier):
    """Contact forces on the nodes: resultant and moment about the present positions vanish to round-off."""
    p = case.Parameters(multiplier=multiplier, steps=20, slider_size=4e-4, block_size=6e-4)
    assembly = assemble(case.system(p))
    stepper = aq.Static().prepare(assembly, 0.04)
    state = stepper.start(*start_fields(assembly, 0.04, True))
    places = np.concatenate([part.positions for part in assembly.system.parts])
    for _ in range(25):
        state, batch = stepper.advance(state)
        forces = (assembly.contact.basis.T @ batch.contact.spread[0]).reshape(-1, 2)
        x = places + state.u.reshape(-1, 2)
        scale = np.abs(forces).sum()
        assert scale > 0.0
        assert np.abs(forces.sum(axis=0)).max() < 1e-12 * scale
        moment = (x[:, 0] * forces[:, 1] - x[:, 1] * forces[:, 0]).sum()
        assert abs(moment) < 1e-12 * scale * p.length


@pytest.mark.slow
def test_the_mortar_keeps_the_ratio_of_the_forces_where_collocation_rattles():
    spread = {}
    for multiplier in ("P1", "nodes"):
        p = case.Parameters(steps=100, multiplier=multiplier)
        forces = case.SliderForces.of(case.build(p).run(), p)
        late = forces.slider[forces.sliding(p.distance)]
        spread[multiplier] = np.ptp(late[:, 0] / late[:, 1])
    assert spread["P1"] < 0.05 * spread["nodes"]


def test_without_friction_the_horizontal_force_has_no_mean():
    p = case.Parameters(**SMALL, friction=0.0)
    forces = case.SliderForces.of(case.build(p).run(), p)
    assert abs(forces.ratio(p.distance)) < 1e-4


@pytest.mark.slow
def test_ripple_falls_with_the_cells():
    ripples = []
    for scale in (2.0, 1.0):
        p = case.Parameters(steps=120, slider_size=1.7e-4 * scale, block_size=3e-4 * scale)
        ripples.append(case.SliderForces.of(case.build(p).run(), p).ripple(p.distance))
    assert (np.array(ripples[1]) < 0.6 * np.array(ripples[0])).all()


def test_a_way_off_the_block_is_refused():
    with pytest.raises(UserError, match="distance"):
        case.Parameters(distance=0.02)


def test_figures_are_drawn():
    p = case.Parameters(steps=8, slider_size=4e-4, block_size=6e-4)
    assert set(case.figures(case.build(p).run(), p)) == {"energies", "forces", "shape"}
