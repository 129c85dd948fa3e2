"""What tests of runs that go on share."""

import shutil
from collections.abc import Callable

import numpy as np
import pytest

import arlequin as aq
from arlequin.run import run

OF_THE_CLOCK = {"history", "setup_time", "wall_time", "wall_time_per_step", "compile_time"}


def assert_equal_bits(one, other):
    """All variables, coordinates and attributes of two results, but for times of the clock."""
    assert {node.path for node in one.subtree} == {node.path for node in other.subtree}
    for node in one.subtree:
        twin = other[node.path]
        assert list(node.variables) == list(twin.variables) or set(node.variables) == set(twin.variables)
        for name, values in node.variables.items():
            here, there = values.values, twin.variables[name].values
            assert here.shape == there.shape, (node.path, name)
            if here.dtype.kind == "f":
                different = here.view(np.uint64) != there.view(np.uint64)
                assert not different.any(), (node.path, name, np.argwhere(different)[0])
            else:
                assert (here == there).all(), (node.path, name)
    assert {k: v for k, v in one.attrs.items() if k not in OF_THE_CLOCK} == {
        k: v for k, v in other.attrs.items() if k not in OF_THE_CLOCK
    }


class Stop(Exception):
    """What ends a run as if it was killed."""


@pytest.fixture
def goes_on(tmp_path, monkeypatch, blocks_of) -> Callable:
    """goes_on(simulate, stops): a run stopped at some steps, each time with a checkpoint of some steps before, has the
    bits of one that was not. simulate(record, progress) runs it."""

    def check(simulate, stops, size=3):
        # a checkpoint after each block
        monkeypatch.setattr(run, "SAVE_SHARE", 1e9)
        with blocks_of(size):
            whole = simulate(aq.Record(fields_every=3), None)
        monkeypatch.setattr(run, "SAVE_SECONDS", 0.0)
        path, aside = tmp_path / "run.zarr", tmp_path / "aside.npz"
        for stop in stops:
            seen = []

            def progress(done, total, stop=stop, seen=seen):
                seen.append(done)
                if done <= max(stop - 2 * size, seen[0]) and (path / "checkpoint.npz").exists():
                    shutil.copy(path / "checkpoint.npz", aside)
                if done >= stop:
                    raise Stop

            with blocks_of(size), pytest.raises(Stop):
                simulate(aq.Record(path, fields_every=3, resume=True), progress)
            shutil.copy(aside, path / "checkpoint.npz")
            assert not aq.results.open(path).attrs["complete"]
        # now as it is without the test
        monkeypatch.undo()
        began = []
        resumed = simulate(aq.Record(path, fields_every=3, resume=True), lambda done, total: began.append(done))
        assert 0 < began[0] <= stops[-1]
        assert_equal_bits(whole, resumed)
        assert not (path / "checkpoint.npz").exists()
        assert_equal_bits(whole, simulate(aq.Record(path, fields_every=3, resume=True), None))
        return whole

    return check
