"""Studies that sweeps call in other processes, which import this file by its name."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import xarray

import arlequin as aq
from arlequin.models.errors import UserError


def parabola(x, y, offset=0.0):
    """Not symmetric in x and y; `pid` tells the processes apart."""
    return {"height": aq.Scalar(x**2 + 10 * y + offset, "m", "height of the parabola"), "pid": os.getpid()}


def failing(x):
    if x == 2:
        raise UserError("x = 2: is\nrefused")
    if x == 3:
        return {"inverse": 1 / (x - 3)}
    if x == 4:
        return {"inverse": "a text"}
    return {"inverse": 1 / x}


def dying(x, folder, always=True):
    """The process that meets x = 2 is killed, as by a lack of memory."""
    mark = Path(folder) / "died"
    if x == 2 and (always or not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"double": 2 * x}


def waiting(x, folder):
    """Starts a process, whose number is noted, and waits for it."""
    child = subprocess.Popen(["sleep", "60"])
    (Path(folder) / str(child.pid)).touch()
    child.wait()
    return {"double": 2 * x}


def noted(x, folder, seconds=0.0):
    """Leaves a line of each call."""
    with (Path(folder) / "calls").open("a") as file:
        file.write(f"{x}\n")
    time.sleep(seconds)
    return {"double": 2 * x}


def ramps(x):
    """A series of x + 1 steps of its own length, and one on common instants."""
    own = np.arange(x + 1) / x
    about = {"units": "N", "long_name": "force"}
    return {
        "force": xarray.DataArray(x * own, {"time": own}, ("time",), attrs=about),
        "count": xarray.DataArray(np.arange(x), {"step": np.arange(x)}, ("step",)),
        "pair": xarray.DataArray([[x, -x]], {"axis": ["x", "y"]}, ("row", "axis")),
    }


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def odd(x):
    """What a study should not do, one thing at each point."""
    raised = {1: SystemExit(3), 2: KeyboardInterrupt(), 3: BaseException("base"), 4: Mute(), 5: UserError("")}
    if x in raised:
        raise raised[x]
    if x == 6:
        raise ValueError("huge " * 10_000)
    if x == 7:
        return {"y": input()}
    return {"y": aq.Scalar(x, type("Unit", (str,), {})("m"))}  # a text that cannot be pickled


def crowded(x):
    """Names that are also those of dimensions, coordinates and of one another."""
    own = xarray.DataArray([x, 2 * x], {"time": [0.0, x]}, ("time",))
    steps = xarray.DataArray([x, x], dims="step")
    numbers = {"force_time": 1.0, "time": 2.0, "x": 3.0, "x_result": 4.0, "both": 5.0} if x < 3 else {"both": own}
    return {"force": own, "step": steps, **numbers}


def unlucky(x):
    """Fails with the words that a sweep has for points that are missing."""
    if x == 2:
        raise UserError("not computed")
    return {"double": 2 * x}


def rotating(x):
    """A force along time that has components at some points, in one order or the other."""
    shapes = {1: {"time": 1}, 2: {"time": 3, "axis": 2}, 3: {"time": 2}, 4: {"axis": 2, "time": 5}}
    values = np.full(tuple(shapes[x].values()), float(x))
    return {
        "force": xarray.DataArray(values, dims=tuple(shapes[x]), attrs={"units": "N"}),
        "other": xarray.DataArray([1.0], dims=("time",)),
    }
