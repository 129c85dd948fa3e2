"""The rod of an Abaqus file against the library's own meshes and beam theory."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.imported_rod import Parameters, abaqus_file, build, check, contact_forces, first_frequency, tip

SMALL = Parameters(duration=2e-3, force=2e5, frequency=250.0, fields_every=5)


def test_checks_with_contact():
    result = build(SMALL).run()
    assert np.abs(np.nan_to_num(contact_forces(result))).max() > 0.0  # the rod met a dimple
    assert [item.name for item in check(result, SMALL) if not item.passed] == []


def test_file_and_meshes_give_the_same_motion():
    motions = [tip(build(replace(SMALL, source=source)).run())[1] for source in ("file", "generators")]
    assert motions[0] == pytest.approx(motions[1], abs=1e-12 * np.abs(motions[1]).max())


def test_frequency_converges_to_beam_theory():
    """Slender: the shear of Timoshenko's theory is 1e-3 of the frequency at a length of 60 widths."""
    p = Parameters(length=0.57, height=0.4)
    frequency = aq.natural_frequencies(build(p).system, count=1).frequencies[0]
    assert frequency == pytest.approx(first_frequency(p), rel=2e-3)


def test_the_file_is_described(tmp_path):
    path = tmp_path / "rod.inp"
    path.write_text(abaqus_file(Parameters()))
    found = aq.mesh.describe(path)
    assert found.element_sets["rod"] == 32 and found.element_sets["grid"] == 8
    assert found.surfaces["dimple_upper"] == 2 and found.surfaces["tip"] == 1
    assert found.box[1][0] == 300.0 and found.orphan_nodes == 0


def test_grid_beyond_the_rod():
    with pytest.raises(aq.UserError, match=r"height = 0\.4: must lie between 0\.004 and 0\.296 m"):
        Parameters(height=0.4)
