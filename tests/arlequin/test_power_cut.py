"""What a power failure leaves of files that were not on the disk yet: names without data, empty or cut, or no names.
With an intact checkpoint the result is read, and its run goes on to the same bits."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import xarray

import arlequin as aq
from arlequin import cases
from arlequin.cases.case.execution import execute, prepare
from arlequin.results import recorder
from arlequin.results.checkpoint import NAME
from arlequin.results.damage import DamageWarning

PARAMETERS = {"elements": 10}
Damage = Callable[[Path], object]
Files = Callable[[Path], Iterable[Path]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, blocks_of) -> tuple[Path, Path]:
    """A whole run, and one that was stopped after steps that do not fill a chunk, then killed with more on the disk."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_ROWS", 8)
        execute(*prepare("bar_wall", PARAMETERS), folder / "whole.zarr")

        def progress(done: int, total: int) -> None:
            if done >= 21:
                raise KeyboardInterrupt

        with blocks_of(5), pytest.raises(KeyboardInterrupt):
            execute(*prepare("bar_wall", PARAMETERS), folder / "stopped.zarr", progress)
    return folder / "whole.zarr", folder / "stopped.zarr"


def metadata(folder: Path) -> list[Path]:
    return sorted(folder.rglob("zarr.json"))


def last_chunks(folder: Path) -> Iterator[Path]:
    """The last chunk of each array."""
    for place in folder.rglob("c"):
        files = [file for file in place.rglob("*") if file.is_file()]
        if files:
            yield max(files, key=lambda file: [int(name) for name in file.relative_to(place).parts])


def emptied(files: Files) -> Damage:
    return lambda folder: [file.write_bytes(b"") for file in files(folder)]


def cut(files: Files) -> Damage:
    def apply(folder: Path) -> None:
        for file in files(folder):
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    return apply


def zeroed(files: Files) -> Damage:
    return lambda folder: [file.write_bytes(bytes(file.stat().st_size)) for file in files(folder)]


def gone(files: Files) -> Damage:
    return lambda folder: [file.unlink() for file in files(folder)]


def root(folder: Path) -> list[Path]:
    return [folder / "zarr.json"]


def half_a_checkpoint(folder: Path) -> None:
    """Of the next one, which was not renamed yet."""
    (folder / f".{NAME}.4711").write_bytes((folder / NAME).read_bytes()[:1000])


def later_rows(folder: Path) -> None:
    """The process went on after the checkpoint; what it wrote then is lost in part."""
    for place in (folder / "c" for folder in folder.rglob("*") if (folder / "zarr.json").exists()):
        if (place / "0").exists() and (place / "1").exists():
            target = place / "4"
            shutil.copytree(place / "1", target) if (place / "1").is_dir() else shutil.copy(place / "1", target)
    emptied(last_chunks)(folder)


def all_of_it(folder: Path) -> None:
    later_rows(folder)
    zeroed(root)(folder)
    half_a_checkpoint(folder)


DAMAGES: dict[str, Damage] = {
    "nothing": lambda folder: None,
    "root empty": emptied(root),
    "root cut": cut(root),
    "root zeroed": zeroed(root),
    "root gone": gone(root),
    "array metadata empty": emptied(lambda folder: set(metadata(folder)) - set(root(folder))),
    "chunks empty": emptied(last_chunks),
    "chunks cut": cut(last_chunks),
    "chunks zeroed": zeroed(last_chunks),
    "chunks gone": gone(last_chunks),
    "half a checkpoint": half_a_checkpoint,
    "later rows": later_rows,
    "all of it": all_of_it,
}
METADATA = {"root empty", "root cut", "root zeroed", "root gone", "all of it"}


def assert_equal(found: xarray.DataTree, whole: xarray.DataTree) -> None:
    assert [node.path for node in found.subtree] == [node.path for node in whole.subtree]
    for node in whole.subtree:
        for name, values in node.variables.items():
            assert found[node.path].variables[name].values.tobytes() == values.values.tobytes(), (node.path, name)


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore::arlequin.results.damage.DamageWarning")
@pytest.mark.parametrize("how", DAMAGES)
def test_runs_go_on_to_the_same_bits(how: str, runs: tuple[Path, Path], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(recorder, "CHUNK_ROWS", 8)
    path = tmp_path / "a.zarr"
    shutil.copytree(runs[1], path)
    DAMAGES[how](path)
    end = cases.resume(path)
    assert end.attrs["complete"] == 1
    whole = aq.results.open(runs[0]).load()
    assert_equal(end.load(), whole)
    with xarray.open_datatree(path, engine="zarr") as plain:  # as others read it
        assert_equal(plain.load(), whole)
    assert {name for name in os.listdir(path) if "checkpoint" in name} == set()
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", sorted(METADATA))
def test_results_without_the_metadata_of_their_root_are_read(how: str, runs: tuple[Path, Path], tmp_path: Path) -> None:
    """From the copy of its attributes and the metadata of each array, with a line; nothing is written."""
    path = tmp_path / "a.zarr"
    shutil.copytree(runs[1], path)
    before = aq.results.open(path).load()
    DAMAGES[how](path)
    files = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    with pytest.warns(DamageWarning, match=r"the copy in \.header\.json"):
        found = aq.results.open(path)
    assert found.attrs == before.attrs and found.sizes["time"] <= before.sizes["time"]
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == files
    if how != "all of it":
        assert_equal(found.load(), before)


def test_what_is_missing_before_the_checkpoint_is_told(runs: tuple[Path, Path], tmp_path: Path, monkeypatch) -> None:
    """Full chunks were on the disk: that they are gone is no power failure."""
    monkeypatch.setattr(recorder, "CHUNK_ROWS", 8)
    path = tmp_path / "a.zarr"
    shutil.copytree(runs[1], path)
    (path / "energy" / "c" / "0" / "0").unlink()
    with pytest.raises(aq.UserError, match="steps before its checkpoint are missing: run it anew"):
        cases.resume(path)


@pytest.mark.skipif(sys.platform != "linux", reason="names of descriptors")
def test_order_of_what_is_flushed(tmp_path: Path, monkeypatch, blocks_of) -> None:
    """Files that a checkpoint relies on are flushed, then their folders, then it gets its name."""
    path = tmp_path / "a.zarr"
    events: list[tuple[str, str]] = []
    fsync, rename = os.fsync, os.replace

    def flushed(descriptor: int) -> None:
        events.append(("fsync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        events.append(("rename", str(target)))
        rename(source, target)

    def progress(done: int, total: int) -> None:
        if done >= 21:
            raise KeyboardInterrupt

    monkeypatch.setattr(recorder, "CHUNK_ROWS", 8)
    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", replaced)
    with blocks_of(5), pytest.raises(KeyboardInterrupt):
        execute(*prepare("bar_wall", PARAMETERS), path, progress)
    named = events.index(("rename", str(path / NAME)))
    before = [place for kind, place in events[:named] if kind == "fsync"]
    kept = [file for file in path.rglob("*") if file.name not in (NAME, ".writer")]
    partial = {file for file in last_chunks(path) if int(file.relative_to(path).as_posix().split("/c/")[1][0]) == 2}
    for place in (*kept, path, tmp_path):
        assert str(place) in before or place in partial, place
    for folder in (place for place in kept if place.is_dir()):
        last = len(before) - 1 - before[::-1].index(str(folder))
        inside = [before.index(str(file)) for file in folder.iterdir() if file.is_file() and file not in partial]
        assert all(first < last for first in inside), folder
    assert ("fsync", str(path)) in events[named:]  # the name itself
