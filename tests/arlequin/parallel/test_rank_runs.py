"""Runs on several ranks that compute the same: one record, with the bits of one rank; refusals; the command line."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import arlequin as aq

STUDIES = Path(__file__).with_name("rank_studies.py")
COMMAND = ["-m", "arlequin.cases.cli.command"]
OF_THE_CLOCK = {"commit", "history", "setup_time", "wall_time", "wall_time_per_step", "compile_time", "ranks"}


def studies():
    spec = importlib.util.spec_from_file_location("rank_studies", STUDIES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same_bits(one, other):
    assert {node.path for node in one.subtree} == {node.path for node in other.subtree}
    for node in one.subtree:
        assert set(node.variables) == set(other[node.path].variables)
        for name, values in node.variables.items():
            assert values.values.tobytes() == other[node.path].variables[name].values.tobytes(), (node.path, name)
    here, there = ({k: v for k, v in result.attrs.items() if k not in OF_THE_CLOCK} for result in (one, other))
    assert here == there


def own_lines(run):
    """What the program itself printed on stderr, without mpiexec's notes."""
    return [line for line in run.stderr.splitlines() if line.startswith("arlequin: ")]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_one_record_with_the_bits_of_one_rank(count, mpiexec, tmp_path):
    """Each rank has the same result, opened from the record that the first one wrote."""
    run = mpiexec(count, [STUDIES, "plain", tmp_path / "a.zarr"])
    assert run.returncode == 0, run.stderr
    last = dict(re.findall(r"(rank \d of \d) (\w+)", run.stdout))
    assert len(last) == count and len(set(last.values())) == 1
    found, alone = aq.results.open(tmp_path / "a.zarr"), studies().simulate(aq.Record(fields_every=10))
    assert found.attrs["ranks"] == count and "ranks" not in alone.attrs
    assert_same_bits(found, alone)
    assert {path.name for path in tmp_path.iterdir()} == {"a.zarr"} and not (
        tmp_path / "a.zarr/checkpoint.npz"
    ).exists()


@pytest.mark.slow
def test_results_in_memory_and_cycles_of_wear(mpiexec):
    """Every rank has them: the wear of a force F over 2 mm in each of 100 cycles is k F · 0.2 m = 1e-12 m³."""
    run = mpiexec(2, [STUDIES, "cycles"])
    last = dict(re.findall(r"(rank \d) (\w+)", run.stdout))
    assert len(last) == 2 and len(set(last.values())) == 1, run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["newmark", "theta", "alpha"])
def test_schemes_that_are_taken(name, mpiexec):
    run = mpiexec(2, [STUDIES, "spread", name])
    assert run.returncode == 0 and len(set(run.stdout.split())) == 1, run.stderr


REFUSED = {
    "central": "CentralDifference", "midpoint": "Midpoint", "multirate": "Multirate", "runge": "RungeKutta",
    "events": 'events="locate"', "ensemble": "an ensemble", "modal": "modes", "finite": 'kinematics="finite"',
    "redistributed": 'mass="redistributed"', "short waves": "ShortWaveDamping",
}  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_spread_is_refused(name, monkeypatch):
    """In one line that says what to do; the environment is what mpiexec gives."""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    from arlequin.run import parallel

    module, own = studies(), {}

    def stop(system, scheme):
        own["system"], own["scheme"] = system, scheme
        raise InterruptedError

    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE")
    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr("arlequin.run.run.check_distributed", stop)
        module.refused(name)
    parallel.check_distributed(own["system"], own["scheme"])  # on one rank
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(aq.UserError) as error:
        parallel.check_distributed(own["system"], own["scheme"])
    text = str(error.value)
    assert REFUSED[name] in text and "not spread over 3 ranks: " in text and "without mpiexec" in text


@pytest.mark.slow
def test_a_refusal_is_printed_once(mpiexec):
    run = mpiexec(2, [STUDIES, "refused", "central"])
    assert run.returncode == 1
    assert run.stderr.count("UserError: the scheme CentralDifference is not spread over 2 ranks") == 1
    assert "MPI_ABORT" not in run.stderr


@pytest.mark.slow
def test_studies_that_differ_between_ranks(mpiexec):
    run = mpiexec(2, [STUDIES, "random"])
    assert run.returncode == 1 and run.stderr.count("UserError: the ranks run different studies") == 1


@pytest.mark.slow
def test_the_command_line(mpiexec, tmp_path, monkeypatch):
    """One rank prints; the result is that of one rank; a usage error is one line, with code 2."""
    monkeypatch.chdir(tmp_path)
    run = mpiexec(2, [*COMMAND, "run", "bar_wall", "elements=20", "--out", "a.zarr"])
    assert run.returncode == 0 and run.stdout.count("written to a.zarr") == 1, run.stderr
    assert "\x1b" not in run.stdout and not own_lines(run)
    assert_same_bits(aq.results.open("a.zarr"), one_rank(tmp_path))
    again = mpiexec(2, [*COMMAND, "run", "bar_wall", "elements=20", "--out", "a.zarr"])
    assert again.returncode == 2 and len(own_lines(again)) == 1 and "exists" in again.stderr
    swept = mpiexec(2, [*COMMAND, "sweep", "bar_wall", "elements=20,40"])
    assert swept.returncode == 2 and len(own_lines(swept)) == 1 and "without mpiexec" in swept.stderr
    shown = mpiexec(2, [*COMMAND, "show", "a.zarr"])
    assert shown.returncode == 0 and shown.stdout.count("bar_wall") == 1


def one_rank(folder):
    from arlequin import cases

    return cases.run("bar_wall", aq.Record(folder / "one.zarr"), elements=20)


@pytest.mark.slow
def test_check_on_the_command_line(mpiexec):
    run = mpiexec(2, [*COMMAND, "check", "bar_wall"])
    assert run.returncode == 0 and len(re.findall(r"\d+ of \d+ within tolerance", run.stdout)) == 1, run.stderr


@pytest.mark.slow
def test_several_runs_in_one_result(mpiexec, tmp_path):
    """`collect_runs`: the first rank writes what all compute."""
    script = f"""
import numpy as np, arlequin as aq
from arlequin.run.multi_run import Measure, collect_runs
def once():
    return collect_runs(lambda i: {{("", "a"): i + 0.5}}, [Measure("", "a", "m", "a")], ("run", ["x", "y"]), of=1,
                        record=aq.Record({str(tmp_path / "a.zarr")!r}, resume=True))
print(aq.ranks().index, once()["a"].values.tolist(), once().attrs["complete"], flush=True)
"""
    run = mpiexec(2, script)
    assert sorted(run.stdout.splitlines()) == ["0 [0.5, 1.5] 1", "1 [0.5, 1.5] 1"], run.stderr


def test_one_process_loads_no_mpi():
    import subprocess

    code = "import sys, arlequin as aq; print(aq.ranks().count, aq.ranks().root, 'mpi4py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "True", "False"]
