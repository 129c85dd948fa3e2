"""What a result names is not run: a case file runs where the user names it, or has run it there as it is."""

import json
import os
import shutil
from pathlib import Path

import pytest

from arlequin import cases
from arlequin.cases.case import files as case_files
from arlequin.cases.case import registry
from arlequin.cases.cli.command import main
from arlequin.models.errors import UserError
from arlequin.results.damage import ResultWarning

MARKED = "\nfrom pathlib import Path as _Path\n_Path({mark!r}).touch()\n"
pytestmark = pytest.mark.usefixtures("folder", "state", "undrawn")


@pytest.fixture
def state(tmp_path, monkeypatch):
    """The state of a user who has run nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def mark(folder):
    return folder / "mark"


def study(path, mark):
    """A case file that leaves a mark when it is run."""
    main(["new", str(path)])
    path.write_text(path.read_text() + MARKED.format(mark=str(mark)))
    return path


@pytest.fixture
def result(folder, mark, capfd):
    """Of `mine/pad.py`, which this user has run."""
    file = study(folder / "mine" / "pad.py", mark)
    assert main(["run", str(file), "cells=10", "--out", "a.zarr"]) == 0
    mark.unlink()
    capfd.readouterr()
    return file


def names(path, case):
    told = json.loads((path / "zarr.json").read_text())
    told["attributes"]["case"] = str(case)
    (path / "zarr.json").write_text(json.dumps(told))


def test_what_was_run_here_runs_again(result, mark, capfd):
    assert main(["plot", "a.zarr"]) == 0
    out, err = capfd.readouterr()
    assert mark.exists() and "velocity.png" in out and not err
    assert case_files.known(str(result)) == result.read_bytes()


WAYS = ["changed", "elsewhere", "link", "relative", "through the parent", "gone", "no state"]


def no_longer_known(how, result, folder, state):
    """Changes the case file of `a.zarr`, where the result says it is, or what is known of it."""
    if how == "changed":
        result.write_text(result.read_text() + "# another\n")
    elif how == "elsewhere":  # its helpers would be those that are beside it
        (folder / "theirs").mkdir()
        shutil.copy(result, folder / "theirs")
        names(folder / "a.zarr", folder / "theirs" / "pad.py")
    elif how == "link":
        (folder / "link.py").symlink_to(result)
        names(folder / "a.zarr", folder / "link.py")
    elif how == "relative":
        names(folder / "a.zarr", "mine/pad.py")
    elif how == "through the parent":
        names(folder / "a.zarr", folder / "mine" / ".." / "mine" / "pad.py")
    elif how == "gone":
        names(folder / "a.zarr", folder / "gone.py")
    else:
        shutil.rmtree(state)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", WAYS)
def test_the_case_of_a_result_that_was_not_run_is_refused(how, result, mark, folder, state):
    no_longer_known(how, result, folder, state)
    named = json.loads((folder / "a.zarr" / "zarr.json").read_text())["attributes"]["case"]
    with pytest.raises(UserError, match=r"run here$|no such file$"):
        registry.named_by_a_result(named)
    assert not mark.exists()


@pytest.mark.parametrize("how", ["changed", *(pytest.param(how, marks=pytest.mark.slow) for how in WAYS[1:])])
def test_what_was_not_is_not_run(how, result, mark, capfd, folder, state):
    """General figures, and one line; `--case` runs it."""
    no_longer_known(how, result, folder, state)
    for words in (["plot", "a.zarr"], ["report", "a.zarr"]):
        assert main(words) == 0
        out, err = capfd.readouterr()
        assert not mark.exists() and "velocity.png" not in out and err.count("\n") == 1
        assert "figures and checks of its case are omitted: the case file" in err and "--case FILE" in err
    with pytest.warns(ResultWarning, match="--case FILE"):
        cases.report("a.zarr", "b.html")
    assert not mark.exists()
    assert main(["plot", "a.zarr", "--case", str(result)]) == 0
    assert mark.exists() and "velocity.png" in capfd.readouterr().out


def test_a_run_goes_on_only_with_a_case_that_is_named(result, mark, capfd, folder, state):
    names(folder / "a.zarr", result)
    told = json.loads((folder / "a.zarr" / "zarr.json").read_text())
    told["attributes"]["complete"] = 0
    (folder / "a.zarr" / "zarr.json").write_text(json.dumps(told))
    shutil.rmtree(state)
    assert main(["resume", "a.zarr"]) == 2
    assert "has not been run here: name it with --case FILE" in capfd.readouterr().err and not mark.exists()
    with pytest.raises(UserError, match="has not been run here"):
        cases.resume("a.zarr")
    assert not mark.exists()
    assert cases.resume("a.zarr", case=str(result)).attrs["complete"] == 1 and mark.exists()


def test_a_sweep_of_a_file_that_was_not_run_has_its_report(result, mark, capfd, state):
    words = ["sweep", str(result), "speed=1,2", "cells=10", "--workers", "0", "--out", "a.sweep"]
    assert main(words) == 0
    shutil.rmtree(state)
    mark.unlink()
    capfd.readouterr()
    for command in ("report", "plot", "show"):
        assert main([command, "a.sweep"]) == 0
    assert not mark.exists() and "documentation of its case is omitted" in capfd.readouterr().err


def test_bytecode_beside_a_file_is_not_run(result, mark, folder):
    """What is hashed is what is run: a `__pycache__` that says to be of the same file is not looked at."""
    import importlib.util
    import py_compile

    other = folder / "other.py"
    other.write_text("raise SystemExit\n")
    about = result.stat()
    cached = Path(importlib.util.cache_from_source(str(result)))
    py_compile.compile(str(other), cfile=str(cached))
    data = bytearray(cached.read_bytes())
    data[8:16] = int(about.st_mtime).to_bytes(4, "little") + about.st_size.to_bytes(4, "little")
    cached.write_bytes(data)
    assert registry.named_by_a_result(str(result)).has("build")


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_list_that_others_can_write_is_not_believed(result, state):
    (state / "arlequin" / "case_files").chmod(0o666)
    with pytest.raises(UserError, match="has not been run here"):
        case_files.known(str(result))


def test_the_state_must_be_absolute(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    case_files.remember("/a.py", b"")
    assert (tmp_path / ".local/state/arlequin/case_files").read_text().endswith("  /a.py\n")


def test_nothing_is_remembered_where_nothing_can_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    case_files.remember("/a.py", b"")
    with pytest.raises(UserError, match="has not been run here"):
        case_files.known("/a.py")
