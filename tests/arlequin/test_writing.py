"""What is written where a foreign folder has links, pipes and files of other names changes nothing that is not ours."""

import contextlib
import json
import os
import shutil
import socket
import stat
import warnings
from pathlib import Path

import pytest
import xarray
import zarr

import arlequin as aq
from arlequin.results import stores
from arlequin.results.checkpoint import NAME, Checkpoint
from arlequin.results.damage import DamageWarning
from arlequin.results.stores import DRAFT_MARK, foreign, is_result, remove_drafts
from arlequin.results.writer_lock import is_written_here, last_writer, writer_lock
from arlequin.results.writing import make_folder, replacing, write_text


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def run(record=None):
    stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)
    system = aq.System([stone], gravity=(0.0, -10.0), velocity=(3.0, 0.0))
    return aq.simulate(system, aq.Theta(0.5), duration=0.2, step=0.1, record=record)


@pytest.fixture(scope="module")
def result():
    return run()


@pytest.fixture
def victim(tmp_path):
    """A file of the user, unchanged after the test."""
    file = tmp_path / "victim"
    file.write_text("mine")
    yield file
    assert file.read_text() == "mine" and file.is_file()


ODD = ["link", "link to nothing", "link to a link", "hard link", "pipe", "socket", "folder"]


def put(kind, path, victim):
    """Something at a path, through which a file of the user, or nothing, could be written."""
    path = Path(path)
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "link to nothing":
        path.symlink_to(victim.with_name("nothing"))
    elif kind == "link to a link":
        path.with_name("between").symlink_to(victim)
        path.symlink_to("between")
    elif kind == "hard link":
        os.link(victim, path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path.name))
    elif kind == "folder":
        path.mkdir()


WRITERS = {
    "page.html": lambda result, path: aq.view(result).save(path),
    "all.nc": lambda result, path: aq.results.export_netcdf(result, path),
    "film.gif": lambda result, path: aq.plots.animation(result, path, frames=1),
    "vtu/all.pvd": lambda result, path: aq.results.export_vtu(result, path.parent, frames=1),
    "vtu/part-stone/0.vtu": lambda result, path: aq.results.export_vtu(result, path.parents[1], frames=1),
    "text": lambda result, path: write_text(path, "new"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WRITERS)
def test_files_are_written_through_nothing(name, result, victim, folder):
    """A link, a pipe, a socket and a folder are refused in one line; of a hard link this name alone changes."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for kind in ODD if name == "text" else ["link", "hard link", "pipe"]:
        put(kind, path, victim)
        before = path.lstat()
        if kind == "hard link":
            WRITERS[name](result, path)
            assert path.stat().st_ino != victim.stat().st_ino and path.stat().st_size > 0
            path.unlink()
            continue
        with pytest.raises(
            aq.UserError, match="is a link, through which nothing" if "link" in kind else "is not a file"
        ):
            WRITERS[name](result, path)
        assert path.lstat() == before and not path.with_name("nothing").exists()
        path.rmdir() if kind == "folder" else path.unlink()
    assert not [file for file in folder.rglob("*") if file.name.startswith(".")]
    assert not victim.with_name("nothing").exists()


def test_folders_are_written_through_nothing(result, victim, tmp_path, folder):
    (tmp_path / "pictures").mkdir()
    for name in ("vtu", "vtu/part-stone"):
        shutil.rmtree("vtu", ignore_errors=True)
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).symlink_to(tmp_path / "pictures")
        with pytest.raises(aq.UserError, match=f"{name}: is a link"):
            aq.results.export_vtu(result, "vtu")
        Path(name).unlink()
    put("hard link", "vtu/file", victim)
    with pytest.raises(aq.UserError, match="vtu/file: exists and is not a folder"):
        make_folder("vtu/file")
    assert not list((tmp_path / "pictures").iterdir())


def test_a_write_that_fails_leaves_the_earlier_file(folder, monkeypatch):
    old = os.umask(0o027)
    try:
        write_text("a/text.html", "old")
        for error in (ValueError, KeyboardInterrupt):
            with pytest.raises(error), replacing("a/text.html") as draft:
                assert draft.suffix == ".html" and draft.parent == Path("a")
                draft.write_text("new")
                raise error
    finally:
        os.umask(old)
    assert [file.name for file in Path("a").iterdir()] == ["text.html"]
    assert Path("a/text.html").read_text() == "old" and Path("a/text.html").stat().st_mode & 0o777 == 0o640
    Path("a/text.html").chmod(0o600)
    write_text("a/text.html", "new")
    assert Path("a/text.html").read_text() == "new" and Path("a/text.html").stat().st_mode & 0o777 == 0o600
    long = "x" * 250 + ".html"
    assert Path(write_text(long, "new")).read_text() == "new"


def names(path):
    return sorted(file.name for file in Path(path).iterdir())


MARKS = {
    "no mark": None,
    "of another result": ["s.zarr", "NAME"],
    "of another draft": ["r.zarr", ".arlequin-ffffffffffff"],
    "damaged": "",
    "of numbers": [1, 2],
    "link": ["r.zarr", "NAME"],
}
USERS = [".r.zarr.2024-backup", ".r.zarr.2024", ".r.zarr.123.old", f".r.zarr.{os.getpid()}", ".arlequin-0123456789ab"]


def test_only_what_bears_our_mark_is_removed(tmp_path, folder):
    """Folders of the user with names like those of drafts, some with marks that are not exactly right."""
    for n, (name, mark) in enumerate((name, mark) for name in USERS for mark in MARKS):
        place = Path(f"{n}", name)
        place.mkdir(parents=True)
        (place / "zarr.json").write_text("{}")
        told = MARKS[mark] and [name if text == "NAME" else text for text in MARKS[mark]]
        if told is not None:
            (place / DRAFT_MARK).write_text(json.dumps(told))
        if mark == "link":
            (place / DRAFT_MARK).rename(tmp_path / "mark")
            (place / DRAFT_MARK).symlink_to(tmp_path / "mark")
        remove_drafts(Path(f"{n}", "r.zarr"))
        assert (place / "zarr.json").exists(), (name, mark)


def test_drafts_of_killed_runs_are_removed(folder, tmp_path):
    def draft(name, place=folder):
        (place / name / "part").mkdir(parents=True)
        (place / name / "zarr.json").write_text("{}")
        (place / name / "part" / "zarr.json").write_text("{}")
        stores._mark(place / name, folder / "r.zarr", place / name)
        return place / name

    left, used, busy = (draft(f".arlequin-{n}") for n in ("left", "used", "busy"))
    (used / "part" / "thesis.txt").write_text("mine")
    elsewhere = draft(".arlequin-else", tmp_path)
    (folder / elsewhere.name).symlink_to(elsewhere)
    held = writer_lock(busy, "r.zarr")
    run("r.zarr")
    os.close(held)
    assert not left.exists() and used.exists() and busy.exists() and (elsewhere / "part" / "zarr.json").exists()
    remove_drafts(folder / "r.zarr")
    assert names(folder) == sorted([used.name, elsewhere.name, "r.zarr"]) and DRAFT_MARK not in names("r.zarr")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("swaps", [True, False])
def test_a_result_is_replaced_and_nothing_is_left(swaps, folder, monkeypatch):
    if not swaps:
        monkeypatch.setattr(stores, "_exchange", lambda *_: False)
    run("r.zarr")
    before = Path("r.zarr").stat().st_ino
    (Path("r.zarr") / ".DS_Store").write_bytes(b"")
    run(aq.Record("r.zarr", overwrite=True))
    assert names(folder) == ["r.zarr"] and Path("r.zarr").stat().st_ino != before
    assert DRAFT_MARK not in names("r.zarr") and ".DS_Store" not in names("r.zarr")


def test_what_is_not_of_a_result_is_not_removed_with_it(folder, victim):
    """Files of the user in it, at any depth; pipes, sockets and links; a Zarr group of another program."""
    run("r.zarr")
    anew = aq.Record("r.zarr", overwrite=True)
    assert foreign(Path("r.zarr")) is None
    for kind in ("file", "pipe", "socket", "link", "folder"):
        for name in ("notes.txt", "part/stone/notes.txt", "part/stone/displacement/c/0/notes", "zarr.json"):
            if name == "zarr.json":
                shutil.copytree("r.zarr", "kept", dirs_exist_ok=True)
                Path("r.zarr/zarr.json").unlink()
            elif kind == "folder":
                continue
            place = Path("r.zarr", name)
            with contextlib.chdir(place.parent):
                put(kind, Path(place.name), victim) if kind != "file" else Path(place.name).write_text("mine")
            if (kind, name) == ("file", "zarr.json"):  # as after a power failure
                assert is_result(Path("r.zarr"))
            else:
                with pytest.raises(aq.UserError, match=r"which is not of a result: move it|is not a result") as caught:
                    run(anew)
                assert "\n" not in str(caught.value) and os.path.lexists(place)
            place.rmdir() if kind == "folder" and name == "zarr.json" else place.unlink()
            if name == "zarr.json":
                shutil.rmtree("r.zarr")
                os.rename("kept", "r.zarr")
    zarr.open_group("other.zarr", mode="w", zarr_format=3).create_array("mine", shape=(2,), dtype="float64")
    with pytest.raises(aq.UserError, match=r"other\.zarr: exists and is not a result"):
        run(aq.Record("other.zarr", overwrite=True))
    run(anew)


def test_a_result_is_not_written_through_a_link(folder, tmp_path):
    run(tmp_path / "theirs.zarr")
    before = (tmp_path / "theirs.zarr" / "zarr.json").read_bytes()
    for target in ("theirs.zarr", "nothing.zarr"):
        Path("r.zarr").symlink_to(tmp_path / target)
        for options in ({}, {"overwrite": True}, {"resume": True}):
            if (target, options) == ("theirs.zarr", {"resume": True}):  # which is complete: nothing is written
                continue
            with pytest.raises(aq.UserError, match=r"r\.zarr: is a link"):
                run(aq.Record("r.zarr", **options))
        Path("r.zarr").unlink()
    assert names(tmp_path) == ["here", "theirs.zarr"] and not names(folder)
    assert (tmp_path / "theirs.zarr" / "zarr.json").read_bytes() == before


def test_a_lock_changes_no_file_of_another_name(folder, victim):
    os.link(victim, ".writer")
    held = writer_lock(folder, "r.zarr")
    with pytest.raises(aq.UserError, match=r"r\.zarr: another run is writing it: choose"):
        writer_lock(folder, "r.zarr")
    os.close(held)
    Path(".writer").unlink()
    for kind, says in (("link", "Too many levels"), ("link to nothing", "Too many levels"), ("pipe", "is not a file")):
        put(kind, ".writer", victim)
        with pytest.raises((aq.UserError, OSError), match=says):
            writer_lock(folder, "r.zarr")
        Path(".writer").unlink()
    os.close(writer_lock(folder, "r.zarr", tell=False))
    assert last_writer(folder) is None
    os.close(writer_lock(folder, "r.zarr"))
    assert is_written_here(folder)
    Path(".writer").write_text(f"process {os.getpid() + 1} on {socket.gethostname()}, since 2026-01-01 00:00:00+00:00")
    assert last_writer(folder) is not None and not is_written_here(folder)


def test_a_checkpoint_is_written_through_nothing(folder, victim):
    run("r.zarr")
    os.symlink(victim, f"r.zarr/.{NAME}.{os.getpid()}")  # a name that it had once
    os.link(victim, f"r.zarr/{NAME}")
    empty = Checkpoint({}, None, None, None, None, {}, None)
    empty.write(Path("r.zarr"))
    assert stat.S_ISREG(Path("r.zarr", NAME).lstat().st_mode) and Path("r.zarr", NAME).stat().st_nlink == 1
    Path("r.zarr", NAME).unlink()
    os.symlink(victim, f"r.zarr/{NAME}")
    with contextlib.suppress(aq.UserError):  # refused, or in its place
        empty.write(Path("r.zarr"))


def square(x):
    return {"y": x * x, "line": xarray.DataArray([x, x], dims="n")}


def swept(**options):
    return aq.sweep(square, {"x": [1.0, 2.0]}, store="a.sweep", workers=0, **options)


@pytest.mark.parametrize("kind", ["link", "link to nothing", "hard link", "pipe", "socket"])
def test_a_sweep_is_continued_through_nothing(kind, folder, victim, tmp_path):
    swept()
    points = sorted(Path("a.sweep/points").iterdir())
    assert [file.suffix for file in points] == [".json", ".npz"] * 2
    for name in ("sweep.json", *(f"points/{file.name}" for file in points)):
        shutil.copytree("a.sweep", "kept")
        for file in points if name.startswith("points") else ():
            file.unlink()
        place = Path("a.sweep", name)
        place.unlink(missing_ok=True)
        with contextlib.chdir(place.parent):
            put(kind, Path(place.name), victim)
            put("link", Path(f".{place.name}.tmp"), victim)  # a name that drafts had once
        if kind == "hard link" and name != "sweep.json":
            with pytest.warns(DamageWarning) if place.suffix == ".json" else contextlib.nullcontext():
                assert swept()["y"].values.tolist() == [1.0, 4.0]
        else:
            with pytest.raises(aq.UserError) as caught, warnings.catch_warnings(action="ignore"):
                swept()
            assert "\n" not in str(caught.value)
        shutil.rmtree("a.sweep")
        os.rename("kept", "a.sweep")
    assert not (tmp_path / "nothing").exists()


def test_a_sweep_is_not_written_through_links_of_folders(folder, tmp_path, victim):
    swept()
    shutil.copytree("a.sweep", tmp_path / "theirs")
    there = sorted(file.stat().st_mtime_ns for file in (tmp_path / "theirs").rglob("*"))
    for name in ("a.sweep/points", "a.sweep"):
        shutil.rmtree(name)
        os.symlink(tmp_path / "theirs" / name.partition("/")[2], name)
        for options in ({}, {"overwrite": True}, {"retry": True}):
            with pytest.raises(aq.UserError, match="is a link"):
                swept(**options)
        os.unlink(name)
        Path(name).mkdir() if "/" in name else None
    assert sorted(file.stat().st_mtime_ns for file in (tmp_path / "theirs").rglob("*")) == there


def test_a_sweep_that_is_replaced_keeps_files_of_the_user(folder):
    swept()
    for name in ("points/thesis.txt", "points/0123456789abcdef.json.bak", "notes"):
        Path("a.sweep", name).write_text("mine")
    Path("a.sweep/points/0123456789abcdef.json").mkdir()
    assert swept(overwrite=True)["y"].values.tolist() == [1.0, 4.0]
    assert {"thesis.txt", "0123456789abcdef.json.bak", "0123456789abcdef.json"} <= set(names("a.sweep/points"))
    Path("a.sweep/sweep.json").write_text('{"program": "another"}')
    for options in ({}, {"overwrite": True}):
        with pytest.raises(aq.UserError, match=r"a\.sweep: exists and is not a sweep"):
            swept(**options)
    assert Path("a.sweep/sweep.json").read_text() == '{"program": "another"}'
