"""Runs on several ranks: unsupported models, tasks of the first rank, and interruption of all ranks."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray

from arlequin.models.errors import UserError
from arlequin.models.fem.short_waves import ShortWaveDamping
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.parallel.launch import announced
from arlequin.models.parallel.ranks import ranks
from arlequin.models.reduction.modal import Modal
from arlequin.models.rigid.polygon import RigidBody
from arlequin.models.rigid.solid import Rigid
from arlequin.results.checkpoint import Checkpoint
from arlequin.results.reading import open as open_result
from arlequin.results.recorder import Record
from arlequin.run.interrupts import pending
from arlequin.run.resume import digest, find_resumable
from arlequin.schemes import GeneralisedAlpha, Static, Theta
from arlequin.system.system import System

SPREAD = (Theta, GeneralisedAlpha, Static)  # Newmark and its family are GeneralisedAlpha
_ONE_PROCESS = "or run it on one process, without mpiexec"
# signals that stop a rank: Ctrl-C, the signal that Open MPI then sends, and one that it forwards without killing ranks
_STOPS = ("SIGINT", "SIGTERM", "SIGUSR1")


def check_distributed(system: Any, scheme: Any) -> None:
    """UserError, before the assembly, for models and schemes that are not supported on several ranks.

    Supported are linear parts (bars, solids, beams, masses) with junctions, springs, relations and contact, stepped by
    θ or a scheme of Newmark's family, or in statics.
    """
    count = announced()
    if count == 1:
        return
    where = f"is not spread over {count} ranks"
    if not isinstance(system, System):
        raise UserError(f"an ensemble {where}: simulate its members one by one, {_ONE_PROCESS}")
    if system.levels:
        raise UserError(f"a system with levels {where}: simulate one choice of them, system.at(…), {_ONE_PROCESS}")
    if getattr(scheme, "events", "step") != "step":
        raise UserError(f'scheme with events="{scheme.events}": {where}: take events="step", {_ONE_PROCESS}')
    if not isinstance(scheme, SPREAD):
        raise UserError(f"the scheme {type(scheme).__name__} {where}: take Theta, Newmark or Static, {_ONE_PROCESS}")
    for part in system.parts:
        if why := _not_spread(part):
            what, cure = why
            raise UserError(f"part '{part.name}': {what} {where}: {cure}{_ONE_PROCESS}")


def _not_spread(part: Any) -> tuple[str, str] | None:
    """Why a part cannot be distributed, and the alternative; None if it can."""
    if isinstance(part, Modal):
        return "its reduction to modes", "take the part itself, "
    if isinstance(part, RigidBody | Rigid):
        return "a rigid part, whose rotations are finite,", ""
    if getattr(part, "kinematics", "small") != "small":
        return 'kinematics="finite"', 'take kinematics="small", '
    material = getattr(part, "material", None)
    if not isinstance(material, LinearElastic | None):
        return f"the material {type(material).__name__}", "take LinearElastic, "
    if getattr(part, "mass", None) == "redistributed":
        return 'mass="redistributed"', "take another mass, "
    if isinstance(getattr(part, "damping", None), ShortWaveDamping):
        return "ShortWaveDamping", "take Rayleigh or no damping, "
    return None


@contextmanager
def together() -> Iterator[None]:
    """Context of a collective call: ranks are synchronised first, an error on one raises on all, one rank warns."""
    if announced() == 1:
        yield
        return
    group = ranks()
    with warnings.catch_warnings():
        if not group.root:
            warnings.showwarning = lambda *_, **__: None
        try:
            group.goes_on("a run")  # before collective operations: a rank may have ended
            yield
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            group.fails(error)
            raise


def open_by_root(find: Callable[[], xarray.DataTree | None], path: str | Path | None) -> xarray.DataTree | None:
    """The result that `find` returns on the first rank; the others open it at its path."""
    results: list[xarray.DataTree | None] = []

    def look() -> bool:
        results.append(find())
        return results[0] is not None

    exists = ranks().by_root(look)
    if results:
        return results[0]
    return open_result(str(path)) if exists else None


def resumable(record: Record, study: dict[str, Any]) -> tuple[Record, Checkpoint | xarray.DataTree | None]:
    """`find_resumable` by the first rank, for all; UserError where the ranks' studies differ."""
    if ranks().count == 1:
        return find_resumable(record, study)
    differing = [i for i, other in enumerate(ranks().gathered(digest(study))) if other != digest(study)]
    if any(ranks().gathered(bool(differing))):
        raise UserError(
            "the ranks run different studies: each must get the same numbers; give random generators a seed, and take "
            "no times of the clock"
        )
    finished: list[xarray.DataTree] = []

    def find() -> tuple[Record, Checkpoint | None, bool]:
        record_used, former = find_resumable(record, study)
        if isinstance(former, xarray.DataTree):
            finished.append(former)
            return record_used, None, True
        return record_used, former, False

    record_used, former, complete = ranks().by_root(find)
    if complete:
        return record_used, finished[0] if finished else open_result(str(record.path))
    return record_used, former


@contextmanager
def stops() -> Iterator[Callable[[], bool]]:
    """Context in which Ctrl-C raises KeyboardInterrupt; yields a function: whether this rank received a stop signal.

    On several ranks signals are only recorded, so that all stop after the same step: SIGINT, SIGTERM (which Open MPI
    sends to all ranks a second after its own SIGINT or SIGTERM, before it kills them after another second), and SIGUSR1
    (which it only forwards).
    """
    if ranks().count == 1:
        with pending() as check:

            def raising() -> bool:
                check()
                return False

            yield raising
        return
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    numbers = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]
    previous = [signal.signal(number, lambda number, _: received.append(number)) for number in numbers]
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)
