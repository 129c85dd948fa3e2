"""Limits on the size and the work of a run, checked before memory is allocated.

A model beyond a limit does not fit in memory, or takes more than a day with any scheme; one below may still take long.
ARLEQUIN_LIMITS=off in the environment disables all limits.
"""

import contextlib
import math
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from arlequin.models.errors import UserError

SWITCH = "ARLEQUIN_LIMITS"
LIFT = f"{SWITCH}=off in the environment disables this limit"

MOST_CELLS = 10_000_000
# bytes per cell, by dimension, of the mesh and the matrices of a part of linear cells, without factors
CELL_BYTES = {1: 500, 2: 3_000, 3: 13_000}
# the same for each pair of functions of a cell of higher order (measured: 150 to 190 in 2D, 250 to 320 in 3D)
PAIR_BYTES = {1: 60, 2: 160, 3: 300}

LEAST_MEMORY_LIMIT = 4e9  # bytes

MOST_HOURS = 24.0
# lower bounds of the seconds per step, and per step and degree of freedom (central differences of linear bars)
STEP_SECONDS, DOF_SECONDS = 1e-7, 1e-9


def disabled() -> bool:
    """Whether ARLEQUIN_LIMITS disables the limits."""
    return os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "no", "false")


def memory() -> float:
    """Bytes of memory available to this process; infinite where it is unknown."""
    bounds = [math.inf]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        bounds.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    with contextlib.suppress(ValueError, OSError):  # no such group, or "max"
        bounds.append(float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    if sys.platform != "win32":
        import resource

        resource_limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        bounds += [float(limit) for limit in resource_limits if limit != resource.RLIM_INFINITY]
    return min(bounds)


def check_cells(name: str, value: Any, count: float, dimension: int) -> None:
    """Raise UserError for a parameter with more cells than fit in memory.

    >>> check_cells("cells", (4, 2), 8, 2)
    """
    cell_bytes = CELL_BYTES[dimension]
    max_cells = min(MOST_CELLS, memory() / cell_bytes)
    if count > max_cells and not disabled():
        fits = f"{float(f'{max_cells:.2g}'):g}"
        rule = f"gives {float(count):.3g} cells; at most {fits} are made"
        if max_cells < MOST_CELLS:
            rule += f" ({cell_bytes / 1e3:g} kB each and {memory() / 1e9:.3g} GB of memory; {LIFT})"
        raise UserError.parameter(name, value, rule)


def check_model(cells: Iterable[tuple[int, int, int]], machines: int = 1) -> None:
    """Raise UserError for meshes (cells, dimension, functions of a cell) whose matrices together do not fit in memory.

    machines: number of machines over which the matrices are distributed.

    >>> check_model([(8, 2, 4), (10, 3, 125)])
    """
    meshes = list(cells)
    needed = 0.0
    for count, dimension, functions in meshes:
        higher = functions > 2**dimension
        needed += float(count) * (PAIR_BYTES[dimension] * functions**2 if higher else CELL_BYTES[dimension])
    if needed > machines * memory() and not disabled():
        total, room = float(sum(count for count, _, _ in meshes)), machines * memory() / 1e9
        raise UserError(
            f"the meshes have {total:.3g} cells together, whose matrices take about {needed / 1e9:.3g} GB, and the "
            f"machine{'s have' if machines > 1 else ' has'} {room:.3g} GB: take fewer cells ({LIFT})"
        )


def check_work(steps: float, dofs: float) -> None:
    """Raise UserError for a run of more than `MOST_HOURS` on any machine.

    >>> check_work(1000, 1e6)
    """
    hours = steps * (STEP_SECONDS + DOF_SECONDS * dofs) / 3600.0
    if hours > MOST_HOURS and not disabled():
        fits = MOST_HOURS / hours * steps
        raise UserError(
            f"{steps:.3g} steps of {dofs:.3g} degrees of freedom take {hours:.3g} hours or more, at most "
            f"{MOST_HOURS:g} are begun: take fewer than {fits:.2g} steps, or fewer cells ({LIFT})"
        )


def limit_memory() -> None:
    """Limit the data segment of the process to the memory of the machine.

    Python then raises MemoryError instead of being killed by the system. The limit is at least LEAST_MEMORY_LIMIT, as
    threads and compilers reserve more than they use.
    """
    limit = max(memory(), LEAST_MEMORY_LIMIT)
    if sys.platform == "win32" or disabled() or not math.isfinite(limit):
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or limit <= hard:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), hard))
