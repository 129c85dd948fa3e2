"""Results and sweeps of a few kilobytes that say to be anything: what commands make of them, in what time and memory.

    python tests/fuzz/stores.py [COUNT] [--seed N] [--seconds S] [--megabytes M] [-v]

Each is a copy of a small result, or sweep, of which one or several things are changed; every command that reads it must
end in lines, in S seconds and with M megabytes more than before. A trial is a fork of this process.
"""

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np

RUNS = (
    ["show", "a.zarr"],
    ["plot", "a.zarr", "--to", "out"],
    ["report", "a.zarr", "--out", "out.html"],
    ["animate", "a.zarr", "--frames", "2", "--out", "out.gif"],
    ["export", "a.zarr", "--vtu", "vtu", "--frames", "2", "--netcdf", "out.nc"],
    ["view", "a.zarr", "--html", "view.html"],
    ["compare", "a.zarr"],
    ["resume", "a.zarr"],
)
SWEEPS = (["show", "a.sweep"], ["plot", "a.sweep", "--to", "out"], ["report", "a.sweep", "--out", "out.html"])
SIZES = (10**12, 2**47, 10**9, 10**7, 10**6, 2**31, 0, -1, 1, 10**400, float("inf"), True, "5", None, [3], 1.5)
NAMES = ("\x1b[2J", "\u202egnp.exe", "a" * 10_000, "", ".", "..", "a/b", "\ud800", "\0", "time", "</script>", "é" * 300)
VALUES: tuple[Any, ...] = (
    None, True, -1, 1e308, float("nan"), float("inf"), 10**19, 10**400, "", "x" * 3_000_000, "\x1b[2J\u202e\0\ud800",
    [], {}, [[[]]], "9" * 5000, "1e400", 5e-324,
)  # fmt: skip
KINDS = (
    "float16", "complex128", "r8000000000", "r8", "string", "int8", "bool", "uint64", "", None, {"name": "struct"},
    "datetime64",
)  # fmt: skip


def edit(file: Path, change: Callable[[Any], None]) -> None:
    """Change the content of a JSON file; what cannot be edited is left."""
    told = json.loads(file.read_text(encoding="utf-8"))
    change(told)
    file.write_text(json.dumps(told), encoding="utf-8")


def arrays(told: Any) -> list[Any]:
    found = [e for e in told["consolidated_metadata"]["metadata"].values() if e.get("node_type") == "array"]
    for entry in found:
        entry.setdefault("dimension_names", [])  # of a number
    return found


def some(chance: random.Random, told: Any) -> Any:
    return chance.choice(arrays(told))


def metadata(change: Callable[[random.Random, Any], None]) -> Callable[[Path, random.Random], None]:
    def apply(folder: Path, chance: random.Random) -> None:
        edit(folder / "zarr.json", lambda told: change(chance, told))
        if chance.random() < 0.2:  # each array's own file serves
            told = json.loads((folder / "zarr.json").read_text())
            for path, entry in told["consolidated_metadata"]["metadata"].items():
                with contextlib.suppress(OSError, ValueError):
                    (folder / path / "zarr.json").write_text(json.dumps(entry))
            (folder / "zarr.json").write_text("{")

    apply.__name__ = change.__name__
    return apply


@metadata
def shape(chance: random.Random, told: Any) -> None:
    own = some(chance, told)
    if own["shape"]:
        own["shape"][chance.randrange(len(own["shape"]))] = chance.choice(SIZES)


@metadata
def lengths(chance: random.Random, told: Any) -> None:
    """One dimension of all arrays has another length, so that they do not contradict each other."""
    dims = sorted({dim for own in arrays(told) for dim in own["dimension_names"]})
    dim, size = chance.choice(dims), chance.choice(SIZES[:7])
    for own in arrays(told):
        for n, name in enumerate(own["dimension_names"]):
            if name == dim:
                own["shape"][n] = size
                if chance.random() < 0.2:
                    own["chunk_grid"]["configuration"]["chunk_shape"][n] = chance.choice((1, 2**20, 2**28, size))


@metadata
def empty(chance: random.Random, told: Any) -> None:
    """No instants, and a dimension of any length."""
    for own in arrays(told):
        own["shape"] = [
            0 if dim in ("time", "frame") else 10**12 if dim not in ("kind", "axis") else n
            for n, dim in zip(own["shape"], own["dimension_names"], strict=True)
        ]


@metadata
def chunks(chance: random.Random, told: Any) -> None:
    for own in arrays(told) if chance.random() < 0.3 else [some(chance, told)]:
        place = own["chunk_grid"]["configuration"]["chunk_shape"]
        if place:
            place[chance.randrange(len(place))] = chance.choice(SIZES)


@metadata
def dimensions(chance: random.Random, told: Any) -> None:
    own, count = some(chance, told), chance.choice((33, 32, 1000, 100_000))
    own["shape"] = [chance.choice((1, 2, 10))] * count
    own["chunk_grid"]["configuration"]["chunk_shape"] = [1] * count
    own["dimension_names"] = [f"d{n}" for n in range(count)]


@metadata
def names(chance: random.Random, told: Any) -> None:
    own = some(chance, told)
    if own["dimension_names"]:
        own["dimension_names"][chance.randrange(len(own["dimension_names"]))] = chance.choice(NAMES)
    entries = told["consolidated_metadata"]["metadata"]
    path = chance.choice(sorted(entries))
    entries[chance.choice(NAMES) + chance.choice(("", "/x"))] = entries[path]


@metadata
def kind(chance: random.Random, told: Any) -> None:
    some(chance, told)["data_type"] = chance.choice(KINDS)


@metadata
def fill(chance: random.Random, told: Any) -> None:
    some(chance, told)["fill_value"] = chance.choice(VALUES)


@metadata
def codecs(chance: random.Random, told: Any) -> None:
    own = some(chance, told)
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep}
    own["codecs"] = chance.choice(
        [
            own["codecs"] * 1000, [{"name": "gzip"}], [{"name": "numcodecs.pickle"}], [], None, [None], [deep],
            [{"name": "bytes", "configuration": deep}], [*own["codecs"], {"name": "zstd", "configuration": {}}],
            [{"name": "transpose", "configuration": {"order": [0] * 1000}}, *own["codecs"]],
            [{"name": "sharding_indexed", "configuration": {"chunk_shape": [10**9]}}],
        ]
    )  # fmt: skip


@metadata
def many(chance: random.Random, told: Any) -> None:
    """Tens of thousands of arrays or groups, next to or in each other."""
    entries = told["consolidated_metadata"]["metadata"]
    own, count = some(chance, told), chance.choice((2000, 30_000))
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    way = chance.randrange(3)
    for n in range(count if way < 2 else 3000):
        entries["g/" * (n + 1) + "x" if way == 2 else f"{n}"] = own if way == 0 else group


@metadata
def attributes(chance: random.Random, told: Any) -> None:
    place = chance.choice([told["attributes"], told["attributes"], some(chance, told)["attributes"]])
    match chance.randrange(4):
        case 0:
            place[chance.choice([*place, *NAMES])] = chance.choice(VALUES)
        case 1:
            place.update({f"name {n}": n for n in range(50_000)})
        case 2:
            for name in place:
                place[name] = chance.choice(VALUES)
        case 3:
            lists, groups = "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900
            place["parameters"] = chance.choice([lists, groups, '{"velocity": 1e400}', '{"a": ' + "9" * 4000 + "}"])


def deep(folder: Path, chance: random.Random) -> None:
    count = chance.choice((40, 500, 900, 100_000))
    file = folder / "zarr.json"
    text = file.read_text()
    inside = '{"a": ' * count + "1" + "}" * count
    file.write_text(text.replace('"attributes":', f'"attributes": {inside}, "b":', 1))


def twice(folder: Path, chance: random.Random) -> None:
    """Names of JSON that stand twice: the second one counts."""
    file = folder / "zarr.json"
    text = file.read_text().rstrip()
    file.write_text(text[:-1] + ', "attributes": {"steps_planned": 1e400, "complete": "yes"}, "zarr_format": 3}')


def chunk_file(folder: Path, chance: random.Random) -> None:
    """A chunk that unpacks to more than it should, or says so."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and "c" in file.relative_to(folder).parts[:-1])
    file = chance.choice(files)
    data = bytearray(file.read_bytes())
    match chance.randrange(5):
        case 0:  # as long as a disk, and nothing in it
            os.truncate(file, chance.choice((10**9, 10**12)))
            return
        case 1:
            data[4:8] = chance.choice((2**31 - 1, 2**32 - 1, 0)).to_bytes(4, "little")
        case 2:
            data = bytearray(numcodecs.Zstd().encode(np.zeros(2**25, np.uint8)))
        case 3:  # a number of texts
            data = bytearray(numcodecs.Zstd().encode((2**32 - 1).to_bytes(4, "little") + bytes(16)))
        case 4:
            data = bytearray(numcodecs.Blosc("lz4").encode(np.zeros(2**25, np.uint8)))
    if chance.random() < 0.7:  # with a checksum that is right
        body = bytes(data) if data[:4] == b"\x28\xb5\x2f\xfd" or chance.random() < 0.5 else bytes(data[:-4])
        data = bytearray(numcodecs.CRC32C(location="end").encode(body))
    file.write_bytes(data)


def checkpoint(folder: Path, chance: random.Random) -> None:
    """Arrays of any declared shape, things that are none of a state, archives whose members share their bytes."""
    file = folder / "checkpoint.npz"
    if not file.exists():
        return
    with np.load(file) as found:
        kept = dict(found)
    told = json.loads(str(kept["data"]))
    fields = told["run"]["fields"]
    heads = [f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}" for descr, shape in (
        ("<f8", (10**12,)), ("<U1000000000", (1,)), ("|V0", (10**12,)), ("<U0", (10**12,)), ("<f8", (0, 10**15)),
        ("<f8", (10**400,)), ("|O", (3,)), ("<f8", (-1,)),
    )]  # fmt: skip
    way = chance.randrange(5)
    if way == 0:
        del fields["study"]
    elif way == 1:
        study = fields["study"]["dict"]
        chance.choice(study)[1] = chance.choice([10**400, None, {"list": []}, 1e308, -1, "x"])
    elif way == 2:
        study = fields["study"]["dict"]
        study.pop(chance.randrange(len(study)))
    elif way == 3:
        fields["state"]["fields"]["n"] = chance.choice([10**400, -1, 2**70, True, 1.5])
        if chance.random() < 0.5:
            numbers = [{"tuple": [10**12, 10**12]}, {"tuple": []}, {"tuple": [-3, -3]}]
            fields["history"] = chance.choice([*numbers, None, 5])
    elif chance.random() < 0.5:
        first = chance.choice([0, 10**12, -8])
        fields["rows"] = {"dict": [[{"tuple": ["", "time"]}, {"tuple": [first, {"array": 0}]}]]}
    np.savez(file, **{**kept, "data": np.array(json.dumps(told))})
    if way == 4:
        head = chance.choice(heads).encode().ljust(245) + b"\n"
        with zipfile.ZipFile(file, "a") as more:
            more.writestr("a0.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(8))


OF_RUNS = (
    shape, shape, lengths, lengths, empty, chunks, chunks, dimensions, names, kind, fill, codecs, many, attributes,
    attributes, deep, twice, chunk_file, chunk_file, checkpoint, checkpoint,
)  # fmt: skip


def plan(folder: Path, chance: random.Random) -> None:
    def change(told: Any) -> None:
        axes = told["axes"]
        match chance.randrange(7):
            case 0:
                axes[:] = [{"name": f"p{n}", "values": list(range(1000)), "unit": "", "text": ""} for n in range(2)]
            case 1:
                axes[0]["values"] = [chance.choice(VALUES) for _ in axes[0]["values"][:100]]
            case 2:
                axes[0]["values"] = list(range(chance.choice((1, 10**5, 999_999))))
            case 3:
                axes[0][chance.choice(["name", "unit", "text"])] = chance.choice([*NAMES, *VALUES])
            case 4:
                told[chance.choice(sorted(told))] = chance.choice(VALUES)
            case 5:
                count = chance.choice((40, 3000))
                axes[:] = [{"name": f"p{n}", "values": [1.0], "unit": "", "text": ""} for n in range(count)]
            case 6:
                axes[0]["values"] = ["x" * 1_000_000, *range(5000)]

    edit(folder / "sweep.json", change)


def point(folder: Path, chance: random.Random) -> None:
    def change(told: Any) -> None:
        match chance.randrange(6):
            case 0:
                told["scalars"] = {f"s{n}": [1.0, "", ""] for n in range(50_000)}
            case 1:
                told["message"] = "x" * 5_000_000
            case 2:
                told["scalars"][chance.choice(NAMES)] = [chance.choice(VALUES), chance.choice(VALUES), "x"]
            case 3:
                told["seconds"] = chance.choice(VALUES)
            case 4:
                dims = ["a"] * chance.choice((1, 2, 40))
                told["series"] = {chance.choice(NAMES): {"dims": dims, "attributes": {}, "coords": {}}}
            case 5:
                told["series"] = {"y": {"dims": ["a", "b"], "attributes": {}, "coords": {}}}

    file = chance.choice(sorted((folder / "points").glob("*.json")))
    edit(file, change)
    if "series" in file.read_text():
        values = [np.zeros((0, 10**9)), np.zeros((1, 10**6)), np.zeros(3)][chance.randrange(3)]
        more: dict[str, Any] = {"values/y": values}
        np.savez(file.with_suffix(".npz"), **more)


def deep_plan(folder: Path, chance: random.Random) -> None:
    (folder / "sweep.json").write_text("[" * 100_000)


OF_SWEEPS = (plan, plan, plan, point, point, deep_plan)


def mutate(folder: Path, seed: int) -> str:
    """Change a result or a sweep; says what."""
    chance = random.Random(seed)
    swept = (folder / "sweep.json").exists()
    did = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change = chance.choice(OF_SWEEPS if swept else OF_RUNS)
        # of what was changed before
        with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError):
            change(folder, chance)
            did.append(change.__name__)
    return ", ".join(did)


def samples(folder: Path) -> list[Path]:
    """A complete result, one that was stopped, and a sweep."""
    from arlequin import sweep
    from arlequin.cases.case.execution import execute, prepare
    from arlequin.run import run

    small = {"dimension": 2, "elements": 6, "cells_left": 1, "cells_right": 1, "duration": 2e-5}
    execute(*prepare("two_bars", small), folder / "complete.zarr")

    def progress(done: int, total: int) -> None:
        if done >= 12:
            raise KeyboardInterrupt

    kept = run._UPDATE_STEPS, run._next_batch_size
    run._UPDATE_STEPS, run._next_batch_size = 5, lambda *_: 5
    try:
        with contextlib.suppress(KeyboardInterrupt):
            execute(*prepare("bar_wall", {"elements": 10}), folder / "stopped.zarr", progress)
    finally:
        run._UPDATE_STEPS, run._next_batch_size = kept
    sweep(squares, {"x": [1.0, 2.0, 3.0]}, store=folder / "small.sweep", workers=0, progress=False)
    return [folder / "complete.zarr", folder / "stopped.zarr", folder / "small.sweep"]


def squares(x: float) -> dict[str, float]:
    return {"square": x * x}


def trial(whole: Path, seed: int) -> Iterator[tuple[str, list[str], int, str]]:
    """A changed copy in the working folder and what each command makes of it: what was done, words, code, output."""
    from arlequin.cases.cli.command import main

    name = "a.sweep" if whole.suffix == ".sweep" else "a.zarr"
    shutil.copytree(whole, name)
    did = mutate(Path(name), seed)
    for words in SWEEPS if name == "a.sweep" else RUNS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main(words)
        yield did, words, code, out.getvalue()


def verdict(words: list[str], code: int, said: str) -> str:
    """What is wrong with the output of a command; empty where nothing is."""
    if code not in (0, 1, 2):
        return f"the code is {code}"
    if "Traceback" in said or "internal error" in said or "\x1b" in said or "\u202e" in said:
        return "a traceback, or signs of control"
    return "" if code == 0 or "arlequin: " in said else "no line"


def most() -> int:
    """Largest memory of this process so far, kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forked(whole: Path, seed: int, seconds: float, megabytes: float) -> list[str]:
    """The faults of a trial, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        faults = []
        try:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                base = most()
                begin = time.process_time()
                signal.alarm(int(100 * seconds))  # of the clock, where others compute as well
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                try:
                    for did, words, code, said in trial(whole, seed):
                        took, more = time.process_time() - begin, (most() - base) / 1024
                        slow = f"{took:.1f} s" if took > seconds else f"{more:.0f} MB" if more > megabytes else ""
                        wrong = verdict(words, code, said) or slow
                        if wrong:
                            faults.append(f"{seed} ({did}) {' '.join(words)}: {wrong}\n{said[-1500:]}")
                        base = most()
                        begin = time.process_time()
                except BaseException as error:
                    import traceback

                    faults.append(f"{seed} ({whole.name}): {type(error).__name__}\n{traceback.format_exc()[-2500:]}")
                os.chdir("/")
        finally:
            with os.fdopen(write, "w", errors="replace") as out:
                json.dump(faults, out)
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else [f"{seed} ({whole.name}): the process died"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--megabytes", type=float, default=400.0)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        whole = samples(Path(folder))
        for sample in whole:  # imports
            forked(sample, -1, 100.0, 1e6)
        for seed in range(given.seed * 1_000_000, given.seed * 1_000_000 + given.count):
            faults = forked(whole[seed % len(whole)], seed, given.seconds, given.megabytes)
            counts["faults" if faults else "well"] += 1
            for fault in faults:
                print(fault, flush=True)
    print(dict(counts))
    return 1 if counts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
