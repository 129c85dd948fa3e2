"""The comparisons with other codes, `tests/compared`: short sections, whose values have exact ones beside them."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "compared"


@pytest.fixture
def section(monkeypatch):
    """The module of a section by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_gradients_are_exact(section):
    """Three events with derivatives in closed form."""
    rows = section("gradients").section().rows
    assert [row[0] for row in rows] == ["two balls", "one bounce", "thrown slider"]
    for _, computed, exact, _ in rows:
        assert [float(value.replace("−", "-")) for value in computed.split(", ")] == pytest.approx(
            [float(value.replace("−", "-")) for value in exact.split(", ")], abs=1e-9
        )


def test_located_rocking_is_exact(section):
    """Instants of five impacts against the exact motion, to the six digits that are printed."""
    for _, located, at_steps, _, exact in section("rocking_block").section().rows:
        assert located == exact and at_steps != exact


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:junction 'junction'")
def test_cantilever_keeps_its_energy(section):
    """Two ratios over 20 steps, all pairs and numbers of steps."""
    rows = section("cantilever").section(duration=2e-5, ratios=(0.8, 0.2)).rows
    assert [row[0] for row in rows] == 3 * ["II", "IE", "EI", "EE"]
    assert all(float(row[2]) < 1e-12 for row in rows)
    assert rows[0][3] == "-79.1 … +173.7 %"


@pytest.mark.slow
def test_torsion_as_published(section):
    """The largest stress to the digits that are published: 150.0 MPa, lumped 155.1."""
    consistent, lumped, *_ = section("torsion").section().rows
    assert float(consistent[2]) == pytest.approx(150.0, abs=0.06) and float(lumped[2]) == pytest.approx(155.1, abs=0.06)


@pytest.mark.slow
def test_slider_makes_no_energy(section):
    """2,000 steps: what is put in is stored or rubbed away."""
    for _, imbalance, *_, least in section("slider").section(steps=2000).rows:
        assert float(imbalance) < 1e-10 and float(least) >= 0.0


def test_unknown_study_is_refused():
    """One line with the names."""
    done = subprocess.run([sys.executable, str(FOLDER), "rocking"], capture_output=True, text=True)
    assert done.returncode == 2 and "the studies are block_impact, rocking_block" in done.stderr
