"""A run on several ranks: what is refused, what the first rank does for all, and how all stop together."""

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
_ALONE = "or run it on one process, without mpiexec"
# what asks a rank to stop: Ctrl-C, what Open MPI sends its ranks then, and what it passes on and leaves them time for
_STOPS = ("SIGINT", "SIGTERM", "SIGUSR1")


def check_distributed(system: Any, scheme: Any) -> None:
    """UserError, before anything is assembled, for what is not spread over several ranks.

    Spread are linear parts (bars, solids, beams, masses) with junctions, springs, relations and contact, stepped by θ
    or a scheme of Newmark's family, or in statics.
    """
    count = announced()
    if count == 1:
        return
    where = f"is not spread over {count} ranks"
    if not isinstance(system, System):
        raise UserError(f"an ensemble {where}: simulate its members one by one, {_ALONE}")
    if system.levels:
        raise UserError(f"a system with levels {where}: simulate one choice of them, system.at(…), {_ALONE}")
    if getattr(scheme, "events", "step") != "step":
        raise UserError(f'scheme with events="{scheme.events}": {where}: take events="step", {_ALONE}')
    if not isinstance(scheme, SPREAD):
        raise UserError(f"the scheme {type(scheme).__name__} {where}: take Theta, Newmark or Static, {_ALONE}")
    for part in system.parts:
        if why := _not_spread(part):
            what, cure = why
            raise UserError(f"part '{part.name}': {what} {where}: {cure}{_ALONE}")


def _not_spread(part: Any) -> tuple[str, str] | None:
    """Why a part is not spread, and what to take instead; None where it is."""
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
    """Context of a call that all ranks make: they meet first; where one fails, all do; only the first one warns."""
    if announced() == 1:
        yield
        return
    own = ranks()
    with warnings.catch_warnings():
        if not own.root:
            warnings.showwarning = lambda *_, **__: None
        try:
            own.goes_on("a run")  # before anything is summed over the ranks: a rank may have ended
            yield
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            own.fails(error)
            raise


def found_by_root(find: Callable[[], xarray.DataTree | None], path: str | Path | None) -> xarray.DataTree | None:
    """A result that the first rank finds at a path: the others open it."""
    kept: list[xarray.DataTree | None] = []

    def look() -> bool:
        kept.append(find())
        return kept[0] is not None

    there = ranks().by_root(look)
    if kept:
        return kept[0]
    return open_result(str(path)) if there else None


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
    kept: list[xarray.DataTree] = []

    def find() -> tuple[Record, Checkpoint | None, bool]:
        own, found = find_resumable(record, study)
        if isinstance(found, xarray.DataTree):
            kept.append(found)
            return own, None, True
        return own, found, False

    own, found, complete = ranks().by_root(find)
    if complete:
        return own, kept[0] if kept else open_result(str(record.path))
    return own, found


@contextmanager
def stops() -> Iterator[Callable[[], bool]]:
    """Context in which Ctrl-C raises KeyboardInterrupt; it yields a function: whether this rank was asked to stop.

    On several ranks signals are noted only, so that all stop after the same step: SIGINT, SIGTERM (which Open MPI sends
    all ranks a second after its own SIGINT or SIGTERM, and kills them after another one), and SIGUSR1 (which it passes
    on, and no more).
    """
    if ranks().count == 1:
        with pending() as check:

            def raising() -> bool:
                check()
                return False

            yield raising
        return
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    numbers = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]
    previous = [signal.signal(number, lambda given, _: asked.append(given)) for number in numbers]
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)
