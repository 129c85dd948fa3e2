"""Results of anybody: whatever is wrong with one, each command ends in time, in lines, and runs nothing of it."""

import contextlib
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arlequin.cases.case.execution import execute, prepare
from arlequin.cases.cli import outputs
from arlequin.cases.cli.command import main
from arlequin.cases.reports import parts as report_parts

SECONDS = 60  # for one command: most take less than one
EVIL = "from pathlib import Path\nPath({mark!r}).touch()\n"
COMMANDS = (
    ["show", "a.zarr"],
    ["plot", "a.zarr", "--to", "out"],
    ["report", "a.zarr", "--out", "out.html"],
    ["animate", "a.zarr", "--frames", "2", "--out", "out.gif"],
    ["export", "a.zarr", "--vtu", "vtu", "--frames", "2", "--netcdf", "out.nc"],
    ["resume", "a.zarr"],
)


class Hang(BaseException):
    """A command took too long."""


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise Hang

    usual = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, blocks_of: Any) -> list[Path]:
    """A result of plane parts that is complete, and one of bars that was stopped."""
    folder = tmp_path_factory.mktemp("whole")
    small = {"dimension": 2, "elements": 6, "cells_left": 1, "cells_right": 1, "duration": 2e-5}
    execute(*prepare("two_bars", small), folder / "complete.zarr")

    def progress(done: int, total: int) -> None:
        if done >= 12:
            raise KeyboardInterrupt

    with blocks_of(5), pytest.raises(KeyboardInterrupt):
        execute(*prepare("bar_wall", {"elements": 10}), folder / "stopped.zarr", progress)
    return [folder / "complete.zarr", folder / "stopped.zarr"]


def cut(file: Path, chance: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: chance.randrange(file.stat().st_size)])


def flipped(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 5, 50])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def noise(file: Path, chance: random.Random) -> None:
    file.write_bytes(chance.randbytes(chance.choice([0, 1, 16, 1000])))


def folder(file: Path, chance: random.Random) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path, chance: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def endless(file: Path, chance: random.Random) -> None:
    file.unlink()
    file.symlink_to(chance.choice(["/dev/zero", "/nowhere", file.parent, __file__]))


def other(file: Path, chance: random.Random) -> None:
    shutil.copyfile(chance.choice(sorted(p for p in file.parents[1].rglob("*") if p.is_file() and p != file)), file)


def gone(file: Path, chance: random.Random) -> None:
    file.unlink()


def unreadable(file: Path, chance: random.Random) -> None:
    file.chmod(0)  # root reads it all the same


def deep(file: Path, chance: random.Random) -> None:
    file.write_text(chance.choice(["[", '{"attributes":']) * 100_000)


def gone_folder(file: Path, chance: random.Random) -> None:
    shutil.rmtree(file.parent)


TO_FILES: tuple[Callable[[Path, random.Random], None], ...] = (
    cut, cut, flipped, flipped, flipped, noise, folder, pipe, endless, other, gone, unreadable, deep, gone_folder
)  # fmt: skip
ODD = (
    None, True, -1, 0, 1e308, float("nan"), float("inf"), 10**30, "", "x", "\x1b[2J\n\0", "../../../etc", [], [[]], {},
    [10**15], [-1, 2], ["time", "time"], {"name": "numcodecs.pickle"}, {"name": "regular"}, "9" * 5000, "$\\frac{",
)  # fmt: skip


def edited(folder: Path, chance: random.Random) -> None:
    """One or a few values of the metadata are others."""
    file = folder / "zarr.json"
    told = json.loads(file.read_text())
    if chance.random() < 0.1:
        del told["consolidated_metadata"]
        file.write_text(json.dumps(told))
        return
    entries = told["consolidated_metadata"]["metadata"]
    for _ in range(chance.choice([1, 1, 2, 4])):
        node: Any = chance.choice([told["attributes"], entries, *entries.values(), *entries.values()])
        while isinstance(node, dict | list) and node:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = chance.choice(keys)
            if not isinstance(node[key], dict | list) or not node[key] or chance.random() < 0.4:
                if isinstance(node, dict) and chance.random() < 0.2:
                    del node[key]
                elif isinstance(node[key], int) and chance.random() < 0.5:
                    node[key] += chance.choice([-1, 1, 7, 10**6, 10**12])
                else:
                    node[key] = chance.choice(ODD)
                break
            node = node[key]
    file.write_text(json.dumps(told))


def told_parameters(folder: Path, chance: random.Random) -> None:
    """What the case is to be called with."""
    file = folder / "zarr.json"
    told = json.loads(file.read_text())
    parameters = json.loads(told["attributes"]["parameters"])
    parameters[chance.choice([*parameters, "new"])] = chance.choice(ODD)
    bomb = chance.choice(["[" * 100_000, '{"a":' * 100_000, "null", "[]", "{"])
    told["attributes"]["parameters"] = bomb if chance.random() < 0.3 else json.dumps(parameters)
    file.write_text(json.dumps(told))


def named(folder: Path, case: Path) -> None:
    """The result says that a file made it."""
    file = folder / "zarr.json"
    told = json.loads(file.read_text())
    told["attributes"]["case"] = str(case)
    file.write_text(json.dumps(told))


def another_checkpoint(folder: Path, chance: random.Random) -> None:
    """Of things that are none of a checkpoint."""
    file = folder / "checkpoint.npz"
    if not file.exists():
        return
    with np.load(file) as arrays:
        kept = dict(arrays)
    told = json.loads(str(kept["data"]))
    state = told["run"]["fields"]["state"]["fields"]
    match chance.randrange(5):
        case 0:
            told["run"]["fields"]["extra"] = {"class": "os:system", "fields": {"command": "touch mark"}}
        case 1:
            told["run"]["fields"]["extra"] = {"class": "arlequin.run.simulate:Study", "fields": {}}
        case 2:
            state["n"] = chance.choice([-(10**9), 10**9, 1.5, None, "x"])
        case 3:
            state[chance.choice(sorted(state))] = chance.choice([None, {"array": 10**6}, {"array": 0}, {"list": []}])
        case 4:
            kept["a0"] = np.array(chance.choice([[np.nan], ["x"], [1 + 2j]]))
    np.savez(file, **{**kept, "data": np.array(json.dumps(told))})


def damage(folder: Path, chance: random.Random, evil: Path) -> str:
    """Does something to a result; says what."""
    did = []
    if chance.random() < 0.3:
        named(folder, chance.choice([evil, evil.with_name("link.py"), Path(os.path.relpath(evil))]))
        did.append("named")
    for _ in range(chance.choice([1, 1, 1, 3])):
        kind = chance.random()
        # what was damaged before cannot be edited
        with contextlib.suppress(ValueError, LookupError, TypeError, OSError):
            if kind < 0.3:
                edited(folder, chance)
                did.append("edited")
            elif kind < 0.4:
                told_parameters(folder, chance)
                did.append("parameters")
            elif kind < 0.5:
                another_checkpoint(folder, chance)
                did.append("checkpoint")
            else:
                file = chance.choice(sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size))
                change = chance.choice(TO_FILES)
                if change is not gone_folder or file.parent != folder:
                    did.append(f"{change.__name__} {file.relative_to(folder)}")
                    change(file, chance)
    return ", ".join(did)


def check(seeds: range, whole: list[Path], capfd: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
    patch.setattr(outputs, "DPI", 40)
    patch.setattr(report_parts, "DPI", 40)
    mark = Path("mark").absolute()
    evil = Path("evil.py").absolute()
    evil.write_text(EVIL.format(mark=str(mark)))
    evil.with_name("link.py").symlink_to(evil)
    for seed in seeds:
        chance = random.Random(seed)
        shutil.copytree(whole[seed % len(whole)], "a.zarr")
        did = damage(Path("a.zarr"), chance, evil)
        for words in COMMANDS:
            with in_time():
                code = main(words)
            out, err = capfd.readouterr()
            said = f"seed {seed} ({did}), {words}: {code}\n{out}\n{err}"
            assert code in (0, 1, 2), said
            assert "Traceback" not in out + err and "\x1b" not in out + err, said
            assert all(line.startswith("arlequin: ") for line in err.splitlines()), said
            assert code == 0 or err, said
            assert not mark.exists(), said
        shutil.rmtree("a.zarr")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_damaged_results(whole, capfd, monkeypatch):
    check(range(4), whole, capfd, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_many_damaged_results(whole, capfd, monkeypatch):
    check(range(4, 212), whole, capfd, monkeypatch)


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("field", ["u", "v", "history", "internal", "impulse"])
def test_arrays_of_a_checkpoint_that_do_not_fit(
    field: str, whole: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Compiled steps would read and write beyond them."""
    shutil.copytree(whole[1], "a.zarr")
    file = Path("a.zarr/checkpoint.npz")
    with np.load(file) as arrays:
        kept = dict(arrays)
    told = json.loads(str(kept["data"]))
    state = told["run"]["fields"]["state"]["fields"]
    assert "array" in state[field]
    state[field] = {"array": len(kept) - 1}
    np.savez(file, **{**kept, f"a{len(kept) - 1}": np.zeros(7), "data": np.array(json.dumps(told))})
    assert main(["resume", "a.zarr"]) == 1
    assert capsys.readouterr().err.endswith(f"its checkpoint cannot be read (state: {field}): run it anew\n")
