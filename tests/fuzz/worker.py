"""A process in which the fuzzer's calls run one after the other: a line of JSON in, a line of JSON out.

Ctrl-C reaches a call and nothing else. SIGUSR1 writes where the process is to the file named by its first argument.
"""

import contextlib
import faulthandler
import gc
import importlib
import io
import json
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray

MEMORY = 6 * 2**30  # bytes of addresses, above which the process gets no more
APART = ("gap", "gap_min")  # infinite where a point faces nothing


def command(words: list[str]) -> dict[str, Any]:
    """One command; of one that says that all is well, whether its result is finite."""
    from arlequin.cases.cli.command import main

    out = Path("fuzzed.zarr")
    shutil.rmtree(out, ignore_errors=True)
    says = io.StringIO()
    kept = [*words, "--out", str(out)] if words[0] in ("run", "check") else words
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(says):
        code = main(kept)
    lines = says.getvalue().splitlines()
    if any("internal error" in line or "to compute with" in line for line in lines):
        return {"code": None, "says": lines}  # the last resort
    if code == 0 and out.exists() and infinite(out):
        return {"code": -1, "says": infinite(out)}
    if code != 0 and words[0] == "run" and len(lines) != 1 and "interrupted" not in lines[-1]:
        return {"code": -2, "says": lines}
    return {"code": code, "says": lines}


def infinite(path: Path) -> list[str]:
    """The arrays of a result with infinite numbers, or energies that are none."""
    found = []
    for group in xarray.open_datatree(path, engine="zarr", consolidated=None).subtree:
        for name, array in group.data_vars.items():
            numbers = array.values
            if numbers.dtype.kind != "f" or not numbers.size or name in APART:
                continue
            if max(abs(np.nanmin(numbers)), abs(np.nanmax(numbers))) == np.inf or (
                name == "energy" and np.isnan(numbers.sum())
            ):
                found.append(f"{group.path}/{name} is not finite")
    return found


def call(names: list[str]) -> dict[str, Any]:
    """A function of a module of this folder, by name and with arguments."""
    module, function, *given = names
    return {"code": 0, "says": [str(getattr(importlib.import_module(module), function)(*given))]}


KINDS: dict[str, Callable[[list[str]], dict[str, Any]]] = {"command": command, "call": call}


def answer(kind: str, given: list[str]) -> dict[str, Any]:
    """What a call came to; code None where it raised what no user should see."""
    from arlequin.models.errors import UserError

    begin = time.perf_counter()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        found = KINDS[kind](given)
    except UserError as error:
        found = {"code": error.code, "says": [str(error)]}
    except KeyboardInterrupt:
        found = {"code": 1, "says": ["interrupted"]}
    except BaseException:
        found = {"code": None, "says": traceback.format_exc().splitlines()}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds = time.perf_counter() - begin
    gc.collect()
    return {**found, "seconds": seconds, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(sys.argv[1], "w") as places:
        faulthandler.register(signal.SIGUSR1, places, all_threads=False)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.path.insert(0, str(Path(__file__).parent))
        out = sys.stdout
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps(answer(request["kind"], request["given"])), file=out, flush=True)


if __name__ == "__main__":
    serve()
