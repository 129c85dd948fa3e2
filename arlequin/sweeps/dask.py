"""Points of a sweep on a Dask cluster; Dask is imported on first use."""

from __future__ import annotations

import contextlib
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from arlequin.models.errors import UserError
from arlequin.sweeps.plan import Point
from arlequin.sweeps.point import PointOutcome, evaluate

ANSWER_SECONDS = 3.0  # for a scheduler to answer
_WITHIN_THIS_PROCESS = "inproc://"
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):(?P<port>\d{1,5})/?")


def check_address(address: str) -> None:
    """UserError where a text is not of the form of an address; whether anybody is there is not asked.

    >>> check_address("tcp://host:8786")
    >>> check_address("host")
    Traceback (most recent call last):
    arlequin.models.errors.UserError: scheduler = 'host': must be host:port or tcp://host:port (or tls, ws, wss, ucx)
    """
    if address.startswith(_WITHIN_THIS_PROCESS):
        return
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 2**16:
        raise UserError.parameter("scheduler", address, "must be host:port or tcp://host:port (or tls, ws, wss, ucx)")


@contextlib.contextmanager
def client_of(scheduler: Any) -> Iterator[Any]:
    """A client of the scheduler, or one line where nobody answers.

    scheduler: the address of a Dask scheduler, a `distributed.Client`, which stays open, or a cluster that a client can
    be made of.
    """
    if isinstance(scheduler, str):  # before Dask is loaded, which takes seconds
        check_address(scheduler)
    try:
        from distributed import Client
    except ImportError:
        raise UserError('scheduler: needs Dask: pip install "arlequin[cluster]"') from None

    if isinstance(scheduler, Client):
        yield scheduler
        return
    try:
        client = Client(scheduler, timeout=ANSWER_SECONDS)
    # an address can lead to anything that is no scheduler, whose answer then makes no sense
    except Exception as error:
        raise UserError(
            f"scheduler = {scheduler!r}: no Dask scheduler answers there within {ANSWER_SECONDS:g} s", code=1
        ) from error
    with client:
        yield client


def compute_on_cluster(client: Any, sent: bytes, points: Sequence[Point]) -> Iterator[tuple[int, PointOutcome]]:
    """Each point, with its place among the points, as the cluster finishes it; sent: as `workers.pickled` gives it.

    The cluster gives a point whose worker died to another one, and gives it up where
    `distributed.scheduler.allowed-failures` (of the scheduler, 3 by default) more have died of it. It blames all points
    that waited on those workers too: each that is given up has failed only where it is so again by itself.
    """
    blamed = []
    for n, found in _finished(client, sent, dict(enumerate(points))):
        if isinstance(found, PointOutcome):
            yield n, found
        else:
            blamed.append(n)
    for n in blamed:
        for _, found in _finished(client, sent, {n: points[n]}):
            if not isinstance(found, PointOutcome):
                found = PointOutcome(message=f"its worker died again and again (the last at {found})")
            yield n, found


def _finished(client: Any, sent: bytes, points: Mapping[int, Point]) -> Iterator[tuple[int, PointOutcome | str]]:
    """The outcome of each point, or the address of the last worker that died as it was there."""
    from distributed import CancelledError, KilledWorker, as_completed

    with contextlib.ExitStack() as stack:
        places = {client.submit(pickle.loads, _call(sent, point), pure=False): n for n, point in points.items()}
        stack.callback(lambda: client.cancel(list(places)))
        for future in as_completed(list(places)):
            n = places.pop(future)
            found: PointOutcome | str
            try:
                found = future.result()
            except KilledWorker as error:
                found = str(getattr(error.last_worker, "address", error.last_worker))
            except CancelledError:
                raise UserError("the cluster is gone, or the points were cancelled there", code=1) from None
            except Exception as error:  # of the cluster: what fails in a point is in its outcome
                raise UserError(f"the cluster cannot compute: {type(error).__name__}: {error}", code=1) from error
            future.release()  # the cluster would compute it again where a worker that holds it dies
            yield n, found


class _Call:
    """What is the outcome of a point once it is loaded."""

    def __init__(self, sent: bytes, point: Point) -> None:
        self._of = sent, point

    def __reduce__(self) -> tuple[Callable[..., PointOutcome], tuple[bytes, Point]]:
        return _evaluated, self._of


def _call(sent: bytes, point: Point) -> bytes:
    """A point as a task that any worker can take: one that cannot import the function, or this package, says so.

    Dask loads what it is given by itself, and a worker that fails at that tries for ever.
    """
    return pickle.dumps(_Call(sent, point))


def _evaluated(sent: bytes, point: Point) -> PointOutcome:
    return evaluate(pickle.loads(sent), point)
