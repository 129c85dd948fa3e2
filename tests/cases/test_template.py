"""The template of a study: d'Alembert's force and duration, and the copy that `arlequin new` makes runs as a case."""

from pathlib import Path

import numpy as np
import pytest

import arlequin as aq
from arlequin import cases
from arlequin.cases.case import template
from arlequin.cases.cli.command import main

SMALL = ["cells=40"]


def test_force_and_duration_are_exact() -> None:
    """ρ c V b during 2 L / c, written out for steel."""
    p = template.Parameters(cells=40)
    result = template.build(p).run()
    c = np.sqrt(2e11 / 7800.0)
    force = np.abs(result["interface/contact/force"].sel(component="x").values)
    time = result["time"].values
    assert np.median(force[(time > 0) & (time < 2 * 0.1 / c)]) == pytest.approx(7800.0 * c * 10.0 * 0.02, rel=1e-3)
    contact = np.diff(time, prepend=0.0)[force > 0.5 * force.max()].sum()
    assert contact == pytest.approx(2 * 0.1 / c, rel=0.03)
    assert all(check.passed for check in template.check(result, p))


def test_restitution_is_of_momentum() -> None:
    """What the wall gave is m (1 + e) V."""
    p = template.Parameters(cells=40, speed=3.0)
    result = template.build(p).run()
    impulse = result["interface/contact/impulse"].values.sum()
    restitution = template.scalars(result, p)["restitution"].value
    assert impulse == pytest.approx(7800.0 * 0.1 * 0.02 * 3.0 * (1 + restitution), rel=1e-2)


def test_a_new_study_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "pad.py"]) == 0
    assert "arlequin run pad.py" in capsys.readouterr().out
    assert "my_study" not in Path("pad.py").read_text() and "runs/pad.zarr" in Path("pad.py").read_text()
    assert main(["check", "pad.py", *SMALL]) == 0
    assert main(["run", "pad.py", *SMALL]) == 0 and main(["plot", "runs/pad.zarr"]) == 0
    assert {file.name for file in Path("runs/pad-figures").iterdir()} == {"energies.png", "contact.png", "velocity.png"}
    assert aq.results.open("runs/pad.zarr").attrs["complete"]
    assert isinstance(cases.check("pad.py", cells=20), list)


def test_nothing_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    assert main(["new", str(path)]) == 2
    assert path.read_text() == "x = 1\n" and "exists" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["study.txt", "study", "two words.py", "1st.py"])
def test_names_that_are_no_module(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", str(tmp_path / name)]) == 2
    assert "must end in .py" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
