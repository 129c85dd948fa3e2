"""Every tool that reads a result on that of an ensemble: all members, or one line that asks for one of them."""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin import cases, plots
from arlequin.cases.cli.command import main
from arlequin.results.damage import ResultWarning
from arlequin.results.netcdf import flattened
from arlequin.results.reading import summary

MEMBERS, STEPS = 3, 40
STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def ensemble(record: Any = None) -> xarray.DataTree:
    """Bricks that slide on a wall at speeds of their own; `aq.simulate_ensemble` as a user calls it."""
    part = aq.Solid("brick", aq.mesh.box((0.0, 0.1), (0.0, 0.05), (0.0, 0.05), (3, 2, 2)), STEEL)
    wall = aq.RigidPlane(point=(0.1001, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    touch = aq.Interface("wall", part.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3))
    system = aq.System([part], interfaces=[touch])
    systems = [replace(system, velocity=(20.0, 5.0 * n, 0.0)) for n in range(MEMBERS)]
    return aq.simulate_ensemble(systems, aq.Theta(0.55), duration=STEPS * 5e-7, step=5e-7, record=record)


def beams() -> xarray.DataTree:
    """Worn stops are not run as ensembles, beams are: profiles along their axis."""
    beam = aq.Beam(
        "beam", aq.mesh.interval(0.0, 1.0, 4), STEEL, aq.Section.circle(0.01), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
    )  # fmt: skip
    systems = [aq.System([beam], velocity=(0.0, speed, 0.0)) for speed in (1.0, 2.0, 3.0)]
    return aq.simulate_ensemble(systems, aq.Theta(0.5), duration=1e-3, step=1e-5)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ensemble") / "bricks.zarr"
    ensemble(path)
    return path


@pytest.fixture(scope="module")
def result(stored: Path) -> xarray.DataTree:
    return aq.results.open(stored)


# tools that show all members, and tools of one member: (result, member, folder) -> anything
ALL: dict[str, Callable[[Any, int | None, Path], Any]] = {
    "summary": lambda r, m, d: summary(r, member=m),
    "energies": lambda r, m, d: plots.energies(r, member=m),
    "contact": lambda r, m, d: plots.contact(r, member=m),
    "overview": lambda r, m, d: plots.overview(r, member=m),
    "worn_depth": lambda r, m, d: aq.results.worn_depth(r, "wall", 1e-12, member=m),
    "netcdf": lambda r, m, d: aq.results.export_netcdf(r, d / "all.nc", member=m),
    "report": lambda r, m, d: cases.report(r, d / "report.html", member=m),
}
ONE: dict[str, Callable[[Any, int | None, Path], Any]] = {
    "shape": lambda r, m, d: plots.shape(r, member=m),
    "profile": lambda r, m, d: plots.profile(r, member=m),
    "contact_map": lambda r, m, d: plots.contact_map(r, member=m),
    "unrolled": lambda r, m, d: plots.unrolled(r, member=m),
    "contacts of several": lambda r, m, d: plots.contact({"a": r, "b": r}, member=m),
    "force_spectrum": lambda r, m, d: plots.force_spectrum(r, segments=2, member=m),
    "displacement_spectrum": lambda r, m, d: plots.displacement_spectrum(r, "brick", 0, segments=2, member=m),
    "force_histogram": lambda r, m, d: plots.force_histogram(r, member=m),
    "friction_heat": lambda r, m, d: plots.friction_heat(r, "wall", member=m),
    "orbit": lambda r, m, d: plots.orbit(r, "brick", 0, member=m),
    "animation": lambda r, m, d: plots.animation(r, d / "film.gif", frames=2, member=m),
    "vtu": lambda r, m, d: aq.results.export_vtu(r, d / "vtu", frames=2, member=m),
    "mean_power": lambda r, m, d: aq.results.mean_power(r, "wall", 0.0, 1e-5, member=m),
    "worn_volume": lambda r, m, d: aq.results.worn_volume(r, "wall", 1e-12, member=m),
}
TOOLS = ALL | ONE


def test_the_tables_have_every_figure_of_a_result() -> None:
    """`worn` needs wear, and `levels` levels, which ensembles do not take; the others do not read the result."""
    others = {"worn", "levels", "convergence", "fitted_order", "spectrum", "topography"}
    others |= {"frequency_response", "backbone", "periodic_orbits", "tornado", "level_convergence", "distribution"}
    others |= {"confidence_ellipse", "argand", "wear_life", "load_spectrum", "bode", "nyquist", "response_spectrum"}
    named = {name for name in plots.__all__ if name not in others and not name.startswith("sweep")}
    assert named <= TOOLS.keys()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "source"), [*((name, "disk") for name in TOOLS), *((name, "memory") for name in ALL)])
def test_a_tool_gives_all_members_or_asks_for_one(
    name: str, source: str, result: xarray.DataTree, tmp_path: Path
) -> None:
    if source == "memory":  # the members first, as simulate_ensemble returns them
        result = result.map_over_datasets(lambda d: d.transpose("member", ..., missing_dims="ignore"))
    tool = TOOLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResultWarning)
        if name in ALL:
            assert tool(result, None, tmp_path) is not None
        else:
            with pytest.raises(aq.UserError, match=r"one member of an ensemble: choose member= .*--member N.*0 to 2"):
                tool(result, None, tmp_path)
        assert tool(result, 1, tmp_path) is not None
        assert tool(result.isel(member=2), None, tmp_path) is not None
        for wrong in (MEMBERS, -1):
            with pytest.raises(aq.UserError, match=rf"member = {wrong}: must be .*2"):
                tool(result, wrong, tmp_path)
        with pytest.raises(aq.UserError, match=r"member = 0: the result is of one run"):
            tool(result.isel(member=2), 0, tmp_path)


COMMANDS = {
    "show": ([], True),
    "plot": ([], True),
    "report": ([], True),
    "animate": (["--frames", "2"], False),
    "export --netcdf": (["--netcdf", "all.nc"], True),
    "export --vtu": (["--vtu", "fields", "--frames", "2"], False),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_gives_all_members_or_asks_for_one(
    name: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options, every = COMMANDS[name]
    command = [name.split()[0], str(stored), *options]
    code = main(command)
    error = capsys.readouterr().err
    assert code == (0 if every else 2) and "internal error" not in error
    if not every or name == "plot":
        assert re.search(r"show.? one member.*choose member= \(command line: --member N\), 0 to 2", error)
    assert main([*command, "--member", "1"]) == 0
    capsys.readouterr()
    for wrong, rule in (("3", "must be"), ("-1", "must be"), ("x", "must be a whole number")):
        assert main([*command, f"--member={wrong}"]) == 2
        error = capsys.readouterr().err
        assert rule in error and len([line for line in error.splitlines() if "member = " in line]) <= 1


def test_the_summary_has_the_range_of_the_members(
    result: xarray.DataTree, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(result)
    assert found.facts["members"] == str(MEMBERS) and found.energies == []
    alone = [summary(result, member=n) for n in range(MEMBERS)]
    assert [one.facts["member"] for one in alone] == ["0", "1", "2"]
    for k, kind in enumerate(found.ranges):
        for value in ("first", "last", "largest"):
            members = [getattr(one.energies[k], value) for one in alone]
            assert getattr(kind, value) == (min(members), max(members))
    mass = 7800.0 * 0.1 * 0.05**2
    kinetic = next(kind for kind in found.ranges if kind.kind == "kinetic")
    assert kinetic.first == pytest.approx((0.5 * mass * 400.0, 0.5 * mass * 500.0), rel=1e-12)
    main(["show", str(stored)])
    assert "390 to 487.5" in capsys.readouterr().out


def test_figures_of_all_members_have_a_curve_of_each(result: xarray.DataTree) -> None:
    energies, contact = plots.energies(result), plots.contact(result)
    kinds = [kind for kind in result["kind"].values if np.abs(result["energy"].sel(kind=kind)).max() > 0.0]
    lines = energies.axes[0].get_lines()
    assert len(lines) == MEMBERS * len(kinds)
    expected = result["energy"].sel(kind=kinds[0]).transpose("member", "time").values
    for line, values in zip(lines[:MEMBERS], expected, strict=True):
        shown = line.get_ydata() / line.get_ydata()[0]
        np.testing.assert_allclose(shown, values / values[0], rtol=1e-12)
    curves = [line for line in contact.axes[0].get_lines() if line.get_label().startswith("member ")]
    assert [line.get_label() for line in curves] == ["member 0", "member 1", "member 2"]
    forces = np.linalg.norm(result["interface/wall/force"].transpose("member", "time", "component").values, axis=2)
    ratio = np.array([line.get_ydata().max() for line in curves]) / forces.max(axis=1)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


def test_files_of_a_member_are_those_of_its_run(result: xarray.DataTree, tmp_path: Path) -> None:
    aq.results.export_vtu(result, tmp_path / "vtu", member=2)
    last = sorted((tmp_path / "vtu" / "part-brick").glob("*.vtu"))[-1]
    own = result["part/brick"].dataset.isel(member=2, frame=-1)
    np.testing.assert_array_equal(meshio.read(last).point_data["velocity"], own["velocity"].values)
    aq.results.export_netcdf(result, tmp_path / "all.nc")
    flat = flattened(result)
    assert flat["energy"].sizes["member"] == flat["part.brick.momentum"].sizes["member"] == MEMBERS


def test_profiles_of_beams_of_an_ensemble() -> None:
    result = beams()
    with pytest.raises(aq.UserError, match="a profile shows one member"):
        plots.profile(result)
    assert plots.overview(result, member=2).keys() == {"energies", "profile"}
