"""What the command line makes of a result: files of other programs."""

from pathlib import Path

import meshio
import numpy as np
import pytest
import xarray
from PIL import Image

from arlequin.cases.cli.command import main
from arlequin.results.reading import open as open_result

CASE = str(Path(__file__).parent / "data" / "oscillator.py")
RESULT = "runs/oscillator.zarr"
pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def result(capsys) -> xarray.DataTree:
    main(["run", CASE, "steps=5"])
    capsys.readouterr()
    return open_result(RESULT)


def test_export(result, capsys):
    assert main(["export", RESULT, "--vtu", "vtu", "--netcdf", "run.nc"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "vtu/all.pvd" and out[1].startswith("run.nc")
    mesh = meshio.read("vtu/part-mass/5.vtu")
    assert mesh.cells[0].type == "vertex"
    assert mesh.point_data["displacement"].tolist() == [
        [float(result["part/mass"]["displacement"][-1, 0, 0]), 0.0, 0.0]
    ]
    assert Path("run.nc").stat().st_size > 0


def test_animate(result, capsys):
    assert main(["animate", RESULT, "--frames", "3"]) == 0
    assert capsys.readouterr().out == "runs/oscillator.gif\n"
    with Image.open("runs/oscillator.gif") as image:
        assert image.n_frames == 3
    assert main(["animate", RESULT, "--out", "here/b.gif", "--magnify", "2"]) == 0
    assert Path("here/b.gif").exists()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["export", RESULT], 2, "give --vtu DIR"),
        (["export", RESULT, "--vtu"], 2, "--vtu"),
        (["export", "missing.zarr", "--vtu", "a"], 2, "missing.zarr: no such result"),
        (["animate", RESULT, "--out", "a.txt"], 2, "a.txt: must end in .gif or .mp4"),
        (["animate", RESULT, "--frames", "few"], 2, "--frames = 'few': must be a whole number"),
        (["animate", RESULT, "--field", "heat"], 2, "no part of the result has a field `heat`"),
        (["export", RESULT, "--vtu", "file/vtu"], 1, "file"),
    ],
)
def test_wrong_usage(result, words, code, says, one_line):
    Path("file").write_text("in the way")
    assert main(words) == code
    assert says in one_line()


def test_stresses_of_a_case(capsys):
    """σ = E u′ of the bars of a case, in a run and an animation."""
    assert main(["run", "two_bars", "elements=20", "--stress"]) == 0
    assert main(["run", "two_bars", "elements=20", "--out", "plain.zarr"]) == 0
    bar = open_result("runs/two_bars.zarr")["part/left"].dataset
    ends = bar["position"].values[bar["connectivity"].values, 0]
    u = bar["displacement"].values[:, bar["connectivity"].values, 0]
    expected = 2e11 * np.diff(u, axis=2)[..., 0] / np.diff(ends, axis=1)[:, 0]
    np.testing.assert_allclose(bar["stress"].values[..., 0], expected, atol=1e-9 * np.abs(expected).max())
    assert "stress" not in open_result("plain.zarr")["part/left"].dataset
    capsys.readouterr()
    assert main(["animate", "runs/two_bars.zarr", "--frames", "2", "--field", "stress", "--component", "xx"]) == 0
    assert main(["animate", "runs/two_bars.zarr", "--frames", "2", "--field", "stress", "--component", "yy"]) == 2
    assert "component = 'yy'" in capsys.readouterr().err
