"""Ranks that fail, are stopped or killed: the others end within seconds, and the record goes on to the same bits."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

import arlequin as aq
from arlequin.results.checkpoint import Checkpoint

HERE = Path(__file__).parent
STUDIES = HERE / "rank_studies.py"


def ranks_of(process):
    """Process ids of the ranks that an mpiexec started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
            if int(words[1]) == process.pid and b"rank_studies" in stat.with_name("cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except (OSError, IndexError):
            continue
    return sorted(found)


def begun(process, step=60):
    """Waits until the run has made so many steps."""
    for line in process.stdout:
        if line.strip().isdigit() and int(line) >= step:
            return
    pytest.fail(process.stderr.read())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that nothing interrupts, on one rank."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("rank_studies", STUDIES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.slowed = lambda t: (0.0, -10.0)
    return module.simulate(aq.Record(fields_every=10), 1500)


def assert_goes_on(path, whole, mpiexec, count):
    """What is left has the bits of the whole run, and has them all once it was resumed on so many ranks."""
    left = aq.results.open(path)
    done = Checkpoint.read(path).state.n
    assert not left.attrs.get("complete") and 0 < done < 1500 and left.sizes["time"] > done
    energy = whole["energy"].values
    assert left["energy"].values.tobytes() == energy[: left.sizes["time"]].tobytes()
    run = mpiexec(count, [STUDIES, "long", path], ARLEQUIN_QUICK="1")
    assert run.returncode == 0, run.stderr
    steps = [int(word) for word in run.stdout.split() if word.isdigit() and int(word) <= 1500]
    assert min(steps) >= done  # not from the start
    end = aq.results.open(path)
    assert end.attrs["complete"] == 1 and end.attrs["ranks"] == count
    for node in whole.subtree:
        for name, values in node.variables.items():
            assert values.values.tobytes() == end[node.path].variables[name].values.tobytes(), (node.path, name)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the ranks in /proc")
@pytest.mark.parametrize("victim, count", [(0, 3), pytest.param(1, 1, marks=pytest.mark.slow)])
def test_a_rank_that_is_killed(victim, count, start, mpiexec, whole, tmp_path):
    process = start(2, [STUDIES, "long", tmp_path / "a.zarr"])
    begun(process, 150)
    time.sleep(0.5)
    begin = time.monotonic()
    os.kill(ranks_of(process)[victim], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0 and time.monotonic() - begin < 20.0
    assert_goes_on(tmp_path / "a.zarr", whole, mpiexec, count)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, to",
    [
        ("SIGTERM", "mpiexec"),
        pytest.param("SIGUSR1", "mpiexec", marks=pytest.mark.slow),
        pytest.param("SIGINT", "rank 1", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped(name, to, start, mpiexec, whole, tmp_path):
    """All ranks stop after the same step, the first one writes the checkpoint of that step and says how to go on."""
    process = start(2, [STUDIES, "long", tmp_path / "a.zarr"])
    begun(process)
    target = process.pid if to == "mpiexec" else ranks_of(process)[1]
    os.kill(target, getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    found, at = re.findall(r"step (\d+) of 1500; the partial result is in .*resume=True", errors), Checkpoint.read
    state = at(tmp_path / "a.zarr").state
    if name != "SIGTERM":  # Open MPI may drop the last words of ranks that it is ending
        assert found == [str(state.n)]
    assert aq.results.open(tmp_path / "a.zarr").sizes["time"] == state.n + 1
    assert_goes_on(tmp_path / "a.zarr", whole, mpiexec, 2)


@pytest.mark.slow
def test_an_error_of_all_ranks(mpiexec, tmp_path):
    """Is told of once, as on one process."""
    run = mpiexec(2, [STUDIES, "together", tmp_path / "a.zarr"])
    assert run.returncode == 1 and run.stderr.count("MemoryError: no room for it") == 1
    assert "MPI_ABORT" not in run.stderr
    assert aq.results.open(tmp_path / "a.zarr").sizes["time"] > 1


@pytest.mark.parametrize("index, kind", [(1, "memory"), pytest.param(0, "refused", marks=pytest.mark.slow)])
def test_an_error_of_one_rank(index, kind, mpiexec, tmp_path):
    """The others learn of it where they meet next: the run ends in order, the record stays readable."""
    run = mpiexec(2, [STUDIES, "alone", tmp_path / "a.zarr", index, kind])
    line = "rank 1: MemoryError: no room for it" if index else "UserError: the load is not defined here"
    assert run.returncode == 1 and run.stderr.count(line) == 1 and "MPI_ABORT" not in run.stderr
    assert Checkpoint.read(tmp_path / "a.zarr") is not None and aq.results.open(tmp_path / "a.zarr").sizes["time"] > 1


@pytest.mark.slow
def test_an_error_of_one_rank_while_the_others_never_come(mpiexec):
    begin = time.monotonic()
    run = mpiexec(2, [STUDIES, "absent", 1])
    assert run.returncode == 1 and time.monotonic() - begin < 50.0
    assert [line for line in run.stderr.splitlines() if line.startswith("arlequin: ")] == [
        "arlequin: rank 1: MemoryError: no room for it"
    ]


@pytest.mark.slow
def test_a_script_that_goes_on_after_an_error_of_one_rank(mpiexec):
    run = mpiexec(2, [STUDIES, "caught"])
    assert run.returncode == 0 and sorted(run.stdout.splitlines()) == [
        "rank 0 goes on: 201", "rank 0: rank 1: the load is not defined here",
        "rank 1 goes on: 201", "rank 1: the load is not defined here",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_rank_that_ends_early(mpiexec):
    run = mpiexec(2, [STUDIES, "ended"])
    assert run.returncode == 1 and "rank 1: its end" in run.stderr


@pytest.mark.slow
def test_a_rank_that_ends_while_another_waits_for_it(mpiexec):
    run = mpiexec(2, [STUDIES, "exits"])
    assert run.returncode == 1 and run.stderr.count("arlequin: rank 1: SystemExit: 3") == 1
