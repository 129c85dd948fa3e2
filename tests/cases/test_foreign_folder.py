"""Commands in a folder of somebody else: links and pipes where they would write, modules where they would import."""

import os
import socket
import sys
from pathlib import Path

import pytest

from arlequin.cases.cli.command import main
from arlequin.results.writer_lock import writer_lock

pytestmark = pytest.mark.usefixtures("folder", "undrawn")
RUN = ["run", "two_bars", "duration=1e-5", "elements=4"]


def said(capfd):
    """Its error, which is one line."""
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "Traceback" not in err
    return err


@pytest.fixture
def victim(tmp_path_factory):
    """A folder of the user with a file, unchanged after the test."""
    place = tmp_path_factory.mktemp("mine")
    (place / "thesis.txt").write_text("mine")
    yield place
    assert [file.name for file in place.iterdir()] == ["thesis.txt"] and (place / "thesis.txt").read_text() == "mine"


@pytest.mark.slow
def test_commands_write_through_no_link_beside_a_result(victim, capfd):
    assert main([*RUN, "--out", "a.zarr"]) == 0
    commands = {
        "plot a.zarr": ("a-figures", "a-figures/energies.png"),
        "plot a.zarr --to pictures": ("pictures", "pictures/energies.png"),
        "report a.zarr": ("a.html",),
        "animate a.zarr --frames 1": ("a.gif",),
        "view a.zarr --html v.html": ("v.html",),
        "export a.zarr --netcdf a.nc": ("a.nc",),
        "export a.zarr --vtu vtu": ("vtu", "vtu/all.pvd"),
    }
    capfd.readouterr()
    for words, targets in commands.items():
        for target in map(Path, targets):
            target.parent.mkdir(exist_ok=True)
            for source in (victim / "thesis.txt" if target.suffix else victim, victim / "nothing", None):
                os.mkfifo(target) if source is None else target.symlink_to(source)
                assert main(words.split()) > 0
                line = said(capfd)
                assert f"{target}: is a link" in line or f"{target}: exists and is not a f" in line
                target.unlink()


def test_no_result_is_written_through_a_link(victim, capfd):
    """The folder `runs` and the path of a result or a sweep: a result of the user's is not replaced by way of them."""
    for name in ("runs", "a.zarr", "a.sweep", "runs/two_bars.zarr", "runs/two_bars.sweep"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).symlink_to(victim)
        out = [] if "runs" in name else ["--out", name]
        words = RUN if "sweep" not in name else ["sweep", *RUN[1:3], "elements=4,5", "--workers", "0"]
        assert main([*words, *out]) == 2
        assert "is a link, through which nothing is written" in said(capfd)
        if name == "runs":
            assert main(["sweep", *RUN[1:3], "elements=4,5", "--workers", "0"]) == 2
            assert "runs (without --out): is a link" in said(capfd)
        Path(name).unlink()


def test_a_refused_run_does_not_take_the_other_for_its_own(capfd):
    """Whose result is written at this moment by another process."""
    assert main([*RUN, "--out", "a.zarr"]) == 0
    capfd.readouterr()
    held = writer_lock(Path("a.zarr"), "a.zarr")
    other = f"process {os.getpid() + 1} on {socket.gethostname()}, since 2026-01-01 00:00:00+00:00"
    Path("a.zarr/.writer").write_text(other)
    text = Path("a.zarr/zarr.json").read_text()
    try:
        for words in ([*RUN, "--out", "a.zarr", "--force"], ["resume", "a.zarr"], ["compare", "a.zarr"]):
            Path("a.zarr/zarr.json").write_text(text.replace('"complete": 1', f'"complete": {int("compare" in words)}'))
            assert main(words) == 1
            assert said(capfd).endswith(f"a.zarr: another run is writing it ({other}): choose another path\n")
    finally:
        os.close(held)


@pytest.mark.slow
def test_commands_in_a_folder_of_modules_execute_none(folder, capfd):
    """Among them those that libraries try to import, beside a study that imports a module beside it."""
    names = (
        "json pathlib random copy types socket struct numpy scipy cloudpickle pyarrow numexpr bottleneck sitecustomize"
    )
    for name in names.split():
        Path(f"{name}.py").write_text(f"open({str(folder / 'executed')!r}, 'a').write('{name} ')\nraise ImportError\n")
    assert main(["new", "study_of_mine.py"]) == 0
    with Path("study_of_mine.py").open("a") as file:
        file.write("\nfrom helper_of_mine import NUMBER\nassert NUMBER == 3\n")
    Path("helper_of_mine.py").write_text("NUMBER = 3\n")
    path = list(sys.path)
    try:
        code = main(["sweep", "study_of_mine.py", "cells=10,11", "--out", "a.sweep", "--workers", "1"])
        assert code == 0, capfd.readouterr().err
    finally:
        sys.modules.pop("helper_of_mine", None)
    assert not Path("executed").exists() and sys.path == path
