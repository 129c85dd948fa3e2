"""Runs that are killed at any moment: what is left can be read, and goes on to the same bits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import arlequin as aq

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
import arlequin as aq
from arlequin import run

run.SAVE_SECONDS, run.SAVE_SHARE = 0.1, 0.5
unit = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
part = aq.Solid("strip", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.02), cells=(150, 2)), unit, plane="strain")
plane = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.03, 1.0))
touch = aq.Interface("plane", part.boundary("bottom"), plane, aq.Unilateral(), friction=aq.Coulomb(0.2))
system = aq.System([part], interfaces=[touch], velocity=(0.05, -0.2), gravity=(0.0, -0.1))
record = aq.Record(sys.argv[1], fields_every=2, resume=True)
aq.simulate(system, aq.Theta(0.5), duration=0.3, step=2e-4, record=record, progress=lambda *at: print(*at, flush=True))
"""


def started(path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.slow
def test_twenty_kills(tmp_path):
    whole, path = tmp_path / "whole.zarr", tmp_path / "killed.zarr"
    assert started(whole).wait() == 0
    random, begins = np.random.default_rng(7), []
    for kill in range(20):
        running = started(path)
        if kill % 5:  # else while it sets up, or goes on
            begins.append(int(running.stdout.readline().split()[0]))
            time.sleep(random.uniform(0.0, 0.35))
        else:
            time.sleep(random.uniform(0.5, 3.0))
        assert running.poll() is None, "done before it was killed"
        running.send_signal(signal.SIGKILL)
        running.wait()
        if path.exists():
            found = xarray.open_datatree(path, engine="zarr")
            assert not found.attrs.get("complete")
            read = aq.open(path)
            assert np.isfinite(read["part/strip/displacement"].values).all()
            assert np.isfinite(read["energy"].values).all()
    assert begins == sorted(begins) and begins[-1] > 0
    assert started(path).wait() == 0
    one, other = aq.open(whole), aq.open(path)
    assert other.attrs["complete"] == 1 and other.sizes["time"] == 1501
    for node in one.subtree:
        for name, values in node.variables.items():
            assert values.values.tobytes() == other[node.path].variables[name].values.tobytes(), (node.path, name)
