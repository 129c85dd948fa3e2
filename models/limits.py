"""What a model may ask of a machine, checked before it is made: cells and bytes by the memory, work by the time.

The limits are such that what is beyond cannot be done, or not in a day, whatever the model: what is below may still
take long. ARLEQUIN_LIMITS=off in the environment lifts them all.
"""

import contextlib
import math
import os
import sys
from pathlib import Path
from typing import Any

from arlequin.models.errors import UserError

SWITCH = "ARLEQUIN_LIMITS"
LIFT = f"{SWITCH}=off in the environment lifts this limit"

MOST_CELLS = 10_000_000
# bytes a cell, by dimension, that the mesh and the matrices of a part of linear cells take, without a factor of them
CELL_BYTES = {1: 500, 2: 3_000, 3: 13_000}

LEAST_HELD = 4e9  # bytes

MOST_HOURS = 24.0
# seconds a step, and for each degree of freedom, below which no scheme gets: central differences of linear bars
STEP_SECONDS, DOF_SECONDS = 1e-7, 1e-9


def lifted() -> bool:
    """Whether the user has lifted the limits."""
    return os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "no", "false")


def memory() -> float:
    """Bytes of memory that this process may take; infinite where the system does not say."""
    found = [math.inf]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    with contextlib.suppress(ValueError, OSError):  # no such group, or "max"
        found.append(float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    if sys.platform != "win32":
        import resource

        limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        found += [float(limit) for limit in limits if limit != resource.RLIM_INFINITY]
    return min(found)


def check_cells(name: str, given: Any, count: float, dimension: int) -> None:
    """Refuses a parameter that gives more cells than the memory holds.

    >>> check_cells("cells", (4, 2), 8, 2)
    """
    each = CELL_BYTES[dimension]
    most = min(MOST_CELLS, memory() / each)
    if count > most and not lifted():
        fits = f"{float(f'{most:.2g}'):g}"
        rule = f"gives {float(count):.3g} cells; at most {fits} are made"
        if most < MOST_CELLS:
            rule += f" ({each / 1e3:g} kB each and {memory() / 1e9:.3g} GB of memory; {LIFT})"
        raise UserError.parameter(name, given, rule)


def check_work(steps: float, dofs: float) -> None:
    """Refuses a run that takes more than `MOST_HOURS` on any machine.

    >>> check_work(1000, 1e6)
    """
    hours = steps * (STEP_SECONDS + DOF_SECONDS * dofs) / 3600.0
    if hours > MOST_HOURS and not lifted():
        fits = MOST_HOURS / hours * steps
        raise UserError(
            f"{steps:.3g} steps of {dofs:.3g} degrees of freedom take {hours:.3g} hours or more, at most "
            f"{MOST_HOURS:g} are begun: take fewer than {fits:.2g} steps, or fewer cells ({LIFT})"
        )


def hold_memory() -> None:
    """From here on the process is refused memory that the machine has not: Python says so, and nothing is killed.

    Threads and compilers reserve more than they use: `LEAST_HELD` is never refused.
    """
    most = max(memory(), LEAST_HELD)
    if sys.platform == "win32" or lifted() or not math.isfinite(most):
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most <= hard:
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), hard))
