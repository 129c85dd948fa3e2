"""Recorder and result: what is appended is what is read; in memory, on disk, after a kill, on a full disk."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.results.reading import open as open_result
from arlequin.results.reading import summary
from arlequin.results.recorder import Record, Recorder, Variable, as_record
from arlequin.results.zarr_layout import HEADER

KINDS = ("kinetic", "strain")
NODES = 5
ROOT = Path(__file__).parents[2]


def variables() -> list[Variable]:
    position = np.linspace(0, 1, NODES)[:, None]
    cells = np.stack([np.arange(NODES - 1), np.arange(1, NODES)], axis=1)
    xy = {"component": ("x", "y")}
    return [
        Variable("", "energy", ("time", "kind"), (2,), "J", "energy", coords={"kind": KINDS}),
        Variable("", "balance", ("time",), (), "1", "relative energy balance"),
        Variable("part/bar", "position", ("node", "axis"), (), "m", "position", position, {"axis": ("x",)}),
        Variable("part/bar", "connectivity", ("cell", "corner"), (), "1", "nodes of the cells", cells),
        Variable(
            "part/bar",
            "displacement",
            ("frame", "node", "component"),
            (NODES, 2),
            "m",
            "displacement",
            None,
            xy,
        ),
        Variable("interface/tip", "force", ("time", "component"), (2,), "N", "contact force", None, xy),
        Variable("interface/tip", "gap", ("frame", "point"), (1,), "m", "gap"),
    ]


def values(n: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """What is recorded at steps n: every number tells its step and its place."""
    n = np.asarray(n, dtype=float)
    return {
        ("", "energy"): n[:, None] + np.array([0.1, 0.2]),
        ("", "balance"): n / 1e3,
        ("interface/tip", "force"): -n[:, None] * np.array([1.0, 2.0]),
    }


def frames(n: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    n = np.asarray(n, dtype=float)
    return {
        ("part/bar", "displacement"): n[:, None, None] + np.arange(NODES * 2).reshape(NODES, 2) / 100,
        ("interface/tip", "gap"): n[:, None] * 1e-3,
    }


def start(record: Record, steps: int) -> Recorder:
    return Recorder(record, variables(), steps=steps, frames=steps // 2 + 1, attributes={"case": "x"})


def fill(recorder: Recorder, first: int, last: int, block: int = 7) -> None:
    """Steps first … last − 1 at t = n·0.5 s, a frame each second step."""
    for a in range(first, last, block):
        n = np.arange(a, min(a + block, last))
        recorder.append(0.5 * n, values(n))
        even = n[n % 2 == 0]
        recorder.append_frames(0.5 * even, frames(even))


def check_prefix(tree: xarray.DataTree) -> int:
    """Every recorded number is the one of its step; returns the number of steps."""
    n = np.arange(tree.sizes["time"])
    np.testing.assert_array_equal(tree["time"], 0.5 * n)
    for (group, name), expected in values(n).items():
        np.testing.assert_array_equal(tree[f"{group}/{name}".strip("/")], expected)
    m = 2 * np.arange(tree.sizes["frame"])
    np.testing.assert_array_equal(tree["frame_time"], 0.5 * m)
    for (group, name), expected in frames(m).items():
        np.testing.assert_array_equal(tree[f"{group}/{name}"], expected)
        np.testing.assert_array_equal(tree[f"{group}/frame_time"], 0.5 * m)
    return len(n)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("chunk", [1, 3, 4096])
def test_memory_and_disk_give_the_same_tree(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr("arlequin.results.recorder.CHUNK_ROWS", chunk)
    trees = []
    for record in (Record(), Record(tmp_path / "a.zarr")):
        recorder = start(record, 40)
        fill(recorder, 0, 41)
        trees.append(recorder.close({"wall_time": np.float64(1.5), "steps_failed": np.int64(0)}))
    xarray.testing.assert_identical(trees[0], trees[1])
    xarray.testing.assert_identical(trees[0], open_result(tmp_path / "a.zarr"))
    assert check_prefix(trees[1]) == 41
    assert trees[0].attrs == {"case": "x", "steps_planned": 40, "wall_time": 1.5, "steps_failed": 0}


def test_plain_xarray_reads_it_without_a_warning(tmp_path):
    recorder = start(Record(tmp_path / "a.zarr"), 10)
    fill(recorder, 0, 6)
    recorder.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        during = xarray.open_datatree(tmp_path / "a.zarr")
        recorder.close()
        after = xarray.open_datatree(tmp_path / "a.zarr")
        alone = xarray.open_zarr(tmp_path / "a.zarr", group="interface/tip")
    for tree in (during, after):
        assert np.isfinite(tree["time"]).sum() == 6 and tree.sizes["time"] == 11
        assert tree["interface/tip"].coords["time"].identical(tree["time"])
        assert "position" in tree["part/bar"].coords and "frame_time" in tree["part/bar"].coords
    assert alone["force"].sel(component="y").values[3] == -6
    for node in after.subtree:
        for variable in node.variables.values():
            assert variable.attrs["long_name"] and ("units" in variable.attrs) == (variable.dtype.kind in "iuf")


def test_a_run_cut_short_is_cropped(tmp_path):
    recorder = start(Record(tmp_path / "a.zarr"), 100)
    fill(recorder, 0, 31)
    tree = recorder.close()
    assert check_prefix(tree) == 31 and tree.sizes["frame"] == 16
    assert summary(tree).facts["steps"] == "30 of 100 (stopped early)"
    assert summary(recorder.close()).facts["case"] == "x"
    nothing = start(Record(tmp_path / "b.zarr"), 100).close()
    assert nothing.sizes["time"] == 0 and summary(nothing).energies == []


def test_flush_each_second(tmp_path, monkeypatch):
    monkeypatch.setattr("arlequin.results.recorder.FLUSH_SECONDS", 0.0)
    recorder = start(Record(tmp_path / "a.zarr"), 100)
    for n in range(20):
        fill(recorder, n, n + 1)
        recorder._next_flush = 0.0
    assert check_prefix(open_result(tmp_path / "a.zarr")) >= 19


def test_a_full_disk_during_fields_keeps_frames_and_time_together(tmp_path, monkeypatch):
    monkeypatch.setattr("arlequin.results.recorder.CHUNK_ROWS", 8)
    monkeypatch.setattr("arlequin.results.recorder.FLUSH_SECONDS", 1e9)
    recorder = start(Record(tmp_path / "a.zarr"), 100)
    recorder._times.chunk = 101  # time alone would wait for the end
    for buffer in recorder._times.buffers:
        recorder._times.buffers[buffer] = np.full((101, *recorder._times.buffers[buffer].shape[1:]), np.nan)
    fill(recorder, 0, 41)
    tree = open_result(tmp_path / "a.zarr")
    assert check_prefix(tree) >= 29 and tree.sizes["frame"] >= 15


def test_an_interrupt_during_a_flush_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("arlequin.results.recorder.CHUNK_ROWS", 7)
    recorder = start(Record(tmp_path / "a.zarr"), 40)
    fill(recorder, 0, 14)
    write, calls = recorder._store.write, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        write(*arguments)

    monkeypatch.setattr(recorder._store, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorder.append(0.5 * np.arange(14, 21), values(np.arange(14, 21)))
    recorder.append_frames(0.5 * np.arange(14, 21, 2), frames(np.arange(14, 21, 2)))
    fill(recorder, 21, 41)
    assert check_prefix(recorder.close()) == 41


WRITER = """
import sys
sys.path.insert(0, {here!r})
import arlequin.results.recorder as record
from test_record import Record, fill, start
record.CHUNK_ROWS, record.FLUSH_SECONDS, record.FLUSH_SHARE = 16, 0.002, 1.0
print("go", flush=True)
recorder = start(Record({path!r}, overwrite=True), 6_000)
for n in range(0, 6_000, 5):
    fill(recorder, n, n + 5)
"""


@pytest.mark.slow
def test_readable_after_kill(tmp_path):
    path = tmp_path / "a.zarr"
    code = WRITER.format(here=str(Path(__file__).parent), path=str(path))
    recorded = []
    for delay in [*np.random.default_rng(0).uniform(0.0, 0.6, 3), None]:
        writer = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        if delay is None:  # on a busy machine: until two chunks are there
            while not (path / "time" / "c" / "2").exists() and writer.poll() is None:
                time.sleep(0.01)
        else:
            time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if path.exists():
            recorded.append(check_prefix(open_result(path)))
            xarray.open_datatree(path).load()
    assert max(recorded) > 16
    start(Record(path, overwrite=True), 4).close()
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_full_disk_leaves_what_was_recorded(tmp_path, monkeypatch):
    from zarr.storage import LocalStore

    recorder = start(Record(tmp_path / "a.zarr"), 100)
    fill(recorder, 0, 21)
    recorder.flush()
    fill(recorder, 21, 40)

    async def full(self, key, value, *rest):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(LocalStore, "set", full)
    with pytest.raises(UserError, match=r"a\.zarr: cannot be written: No space left on device") as caught:
        recorder.flush()
    assert caught.value.code == 1
    fill(recorder, 40, 45)  # after the error: ignored
    assert check_prefix(recorder.close()) == 21
    assert check_prefix(open_result(tmp_path / "a.zarr")) == 21
    with pytest.raises(UserError, match="No space left"):
        start(Record(tmp_path / "b.zarr"), 100)
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_an_existing_path_is_kept(tmp_path):
    path = tmp_path / "a.zarr"
    start(Record(path), 4).close()
    with pytest.raises(UserError, match=r"exists: .*--force") as caught:
        start(Record(path), 4)
    assert caught.value.code == 2
    start(Record(path, overwrite=True), 6).close()
    assert open_result(path).attrs["steps_planned"] == 6
    for other in ("folder", "file", "array"):
        precious = tmp_path / other
        if other == "file":
            precious.write_text("data")
        else:
            precious.mkdir()
            (precious / "data").write_text("data")
        if other == "array":
            (precious / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "array"}))
        with pytest.raises(UserError, match="not a result") as caught:
            start(Record(precious, overwrite=True), 4)
        assert caught.value.code == 2 and precious.exists() and (precious.is_file() or (precious / "data").exists())


def test_a_path_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "a.zarr", Path("/proc/a.zarr"), tmp_path / ("x" * 300)):
        with pytest.raises(UserError, match="cannot be written") as caught:
            start(Record(path), 4)
        assert caught.value.code == 1 and "\n" not in str(caught.value)


def test_two_writers_do_not_share_a_path(tmp_path):
    first = start(Record(tmp_path / "a.zarr"), 4)
    with pytest.raises(UserError, match=r"another run is writing it \(process \d+ on .+, since 2"):
        start(Record(tmp_path / "a.zarr", overwrite=True), 4)
    fill(first, 0, 5)
    assert check_prefix(first.close()) == 5
    start(Record(tmp_path / "a.zarr", overwrite=True), 4).close()


def test_what_is_not_a_result(tmp_path):
    cut = tmp_path / "cut.zarr"
    start(Record(cut), 4).close()
    text = (cut / "zarr.json").read_text()
    (cut / "zarr.json").write_text(text[: len(text) // 2])
    (cut / HEADER).unlink()  # of which the attributes would be read
    (tmp_path / "empty").mkdir()
    for path in (cut, tmp_path / "empty", tmp_path / "missing", Path(__file__)):
        with pytest.raises(UserError, match=path.name):
            open_result(path)


def test_misuse_is_refused():
    with pytest.raises(UserError, match="fields_every = 0"):
        Record(fields_every=0)
    with pytest.raises(TypeError, match="only text and numbers"):
        Recorder(Record(), variables(), steps=1, frames=1, attributes={"list": [1]})
    recorder = start(Record(), 4)
    with pytest.raises(ValueError, match="more rows than planned"):
        fill(recorder, 0, 6)
    with pytest.raises(ValueError, match="unknown"):
        recorder.append([0.0], {("", "nothing"): [0.0]})
    with pytest.raises(ValueError, match="labels"):
        bad = Variable("", "energy", ("time", "kind"), (3,), "J", "energy", coords={"kind": KINDS})
        Recorder(Record(), [bad], steps=1, frames=0, attributes={})
    with pytest.raises(ValueError, match="neither"):
        Variable("", "a", ("node",), (3,), "m", "a")


def test_the_record_carries_attributes(tmp_path):
    record = Record(attributes={"parameters": '{"velocity": 3.0}'})
    assert as_record(record) is record and as_record("a", 3) == Record("a", 3)
    recorder = start(record, 4)
    fill(recorder, 0, 5)
    about = summary(recorder.close())
    assert about.parameters == {"velocity": 3.0} and about.facts["case"] == "x" and about.facts["steps"] == "4"
    assert about.energies[0] == ("kinetic", 0.1, 4.1, 4.1)


def test_gravity_that_changes_is_asked_as_the_run_gets_there():
    """Its mean is recorded; a function that raises half way leaves what was computed until then."""
    asked = []

    def gravity(t):
        asked.append(t)
        if t > limit:
            raise MemoryError("no room for it")
        return 0.0, -10.0 * (1.0 + t)

    def run():
        stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)
        return aq.simulate(aq.System([stone], gravity=gravity), aq.Theta(0.5), duration=1.0, step=0.1)

    limit = 1.0
    assert run().attrs["gravity"] == "0, -15 m/s²"
    limit, asked[:] = 0.5, []
    with pytest.raises(MemoryError):
        run()
    assert max(asked) == pytest.approx(0.6)
