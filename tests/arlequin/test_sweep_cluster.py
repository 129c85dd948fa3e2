"""Sweeps on a Dask cluster of this machine."""

import functools
import os
import re
import signal
import sys
import types
from pathlib import Path

import pytest

import arlequin as aq

DATA = Path(__file__).parent / "data"


@pytest.fixture
def studies(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # its workers find the studies
    import sweep_studies

    return sweep_studies


@pytest.fixture
def cluster(studies):
    distributed = pytest.importorskip("distributed")
    import dask

    # workers that die are given up after the second: each takes some seconds to start
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        yield cluster


@pytest.mark.slow
def test_a_cluster_whose_workers_are_killed(studies, cluster, tmp_path):
    """By its address: a worker is killed half way, every point is there; a client that is given is left open."""
    study = functools.partial(studies.noted, folder=str(tmp_path), seconds=0.05)
    victims = [worker.pid for worker in cluster.workers.values()]

    def progress(done, failed, total):
        if done == total // 2 and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    over = {"x": list(range(40))}
    found = aq.sweep(study, over, store=tmp_path / "a", scheduler=cluster.scheduler_address, progress=progress)
    assert len(victims) == 1
    again = [x for x in range(40) if (tmp_path / "calls").read_text().split().count(str(x)) > 1]
    assert len(again) <= 6  # those on the worker that died, and not what it had computed before
    assert found["double"].values.tolist() == [2.0 * x for x in range(40)] and (found["message"] == "").all()

    from distributed import Client

    with Client(cluster) as client:
        inverse = aq.sweep(studies.failing, {"x": [1, 2, 5]}, scheduler=client)
        assert inverse["message"].values.tolist() == ["", "x = 2: is refused", ""]
        dying = functools.partial(studies.dying, folder=str(tmp_path))
        died = aq.sweep(dying, {"x": [1, 2, 3]}, scheduler=client)
        assert died["message"].values[1].startswith("its worker died again and again")
        assert died["double"].values[[0, 2]].tolist() == [2.0, 6.0]
        assert client.status == "running"
        ghost = types.ModuleType("ghost_module")
        sys.modules["ghost_module"] = ghost
        exec("def study(x):\n    return {'y': x}\n", ghost.__dict__)
        try:
            with pytest.raises(aq.UserError, match=r"the cluster cannot compute: ModuleNotFoundError: .*ghost_module"):
                aq.sweep(ghost.study, {"x": [1, 2]}, scheduler=client)
        finally:
            del sys.modules["ghost_module"]


def test_no_scheduler_answers(studies, monkeypatch, tmp_path):
    monkeypatch.setattr("arlequin.sweeps.dask.ANSWER_SECONDS", 0.5)
    pytest.importorskip("distributed")
    with pytest.raises(aq.UserError, match=r"scheduler = 'tcp://127\.0\.0\.1:9': no Dask scheduler answers there"):
        aq.sweep(studies.failing, {"x": [1]}, store=tmp_path / "a", scheduler="tcp://127.0.0.1:9")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "address", ["nonsense", "tcp://host", "host:0", "host:65536", "tcp:/host:1", "ftp://host:1", ""]
)
def test_an_address_of_another_form_is_refused_before_dask_is_loaded(address, studies, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        aq.UserError, match=f"^scheduler = '{re.escape(address)}': must be host:port or tcp://host:port"
    ):
        aq.sweep(studies.failing, {"x": [1]}, scheduler=address)


@pytest.mark.parametrize(
    "address",
    ["host:8786", "tcp://10.0.0.1:8786", "tls://node-1.site.org:1", "tcp://[::1]:8786", "inproc://10.0.0.1/7/1"],
)
def test_an_address_of_any_form_that_dask_has_goes_on_to_it(address, studies, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(aq.UserError, match="needs Dask"):
        aq.sweep(studies.failing, {"x": [1]}, scheduler=address)


def test_without_dask(studies, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(aq.UserError, match=r'needs Dask: pip install "arlequin\[cluster\]"'):
        aq.sweep(studies.failing, {"x": [1]}, scheduler="tcp://127.0.0.1:9")
