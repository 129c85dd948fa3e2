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

ANSWER_SECONDS = 3.0  # timeout of the connection to a scheduler
_WITHIN_THIS_PROCESS = "inproc://"
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):(?P<port>\d{1,5})/?")


def check_address(address: str) -> None:
    """UserError where a text is not an address; no connection is tried.

    >>> check_address("tcp://host:8786")
    >>> check_address("host")
    Traceback (most recent call last):
    arlequin.models.errors.UserError: scheduler = 'host': must be host:port or tcp://host:port (or tls, ws, wss, ucx)
    """
    if address.startswith(_WITHIN_THIS_PROCESS):
        return
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 2**16:
        raise UserError.parameter("scheduler", address, "must be host:port or tcp://host:port (or tls, ws, wss, ucx)")


@contextlib.contextmanager
def client_of(scheduler: Any) -> Iterator[Any]:
    """A client of the scheduler; UserError where no scheduler answers.

    scheduler: the address of a Dask scheduler, a `distributed.Client`, which stays open, or a cluster object.
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
    # another kind of server at the address may raise any error
    except Exception as error:
        raise UserError(
            f"scheduler = {scheduler!r}: no Dask scheduler answers there within {ANSWER_SECONDS:g} s", code=1
        ) from error
    with client:
        yield client


def compute_on_cluster(
    client: Any, pickled_function: bytes, points: Sequence[Point]
) -> Iterator[tuple[int, PointOutcome]]:
    """Index and outcome of each point, in the order of completion; pickled_function: output of `local.pickled`.

    If a worker dies, the cluster repeats its point on another worker, and abandons it after
    `distributed.scheduler.allowed-failures` (of the scheduler, 3 by default) further deaths, together with all points
    queued on those workers: each abandoned point is repeated alone, and fails if its worker dies again.
    """
    suspects = []
    for n, outcome in _finished(client, pickled_function, dict(enumerate(points))):
        if isinstance(outcome, PointOutcome):
            yield n, outcome
        else:
            suspects.append(n)
    for n in suspects:
        for _, outcome in _finished(client, pickled_function, {n: points[n]}):
            if not isinstance(outcome, PointOutcome):
                outcome = PointOutcome(message=f"its worker died again and again (the last at {outcome})")
            yield n, outcome


def _finished(
    client: Any, pickled_function: bytes, points: Mapping[int, Point]
) -> Iterator[tuple[int, PointOutcome | str]]:
    """Index and outcome of each point, or the address of the last worker that died with it."""
    from distributed import CancelledError, KilledWorker, as_completed

    with contextlib.ExitStack() as stack:
        indices = {
            client.submit(pickle.loads, _call(pickled_function, point), pure=False): n for n, point in points.items()
        }
        stack.callback(lambda: client.cancel(list(indices)))
        for future in as_completed(list(indices)):
            n = indices.pop(future)
            outcome: PointOutcome | str
            try:
                outcome = future.result()
            except KilledWorker as error:
                outcome = str(getattr(error.last_worker, "address", error.last_worker))
            except CancelledError:
                raise UserError("the cluster is gone, or the points were cancelled there", code=1) from None
            except Exception as error:  # of the cluster: errors of a point are in its outcome
                raise UserError(f"the cluster cannot compute: {type(error).__name__}: {error}", code=1) from error
            future.release()  # else the cluster repeats it if the worker that stores it dies
            yield n, outcome


class _Call:
    """A task whose unpickling evaluates a point."""

    def __init__(self, pickled_function: bytes, point: Point) -> None:
        self._arguments = pickled_function, point

    def __reduce__(self) -> tuple[Callable[..., PointOutcome], tuple[bytes, Point]]:
        return _evaluate_pickled, self._arguments


def _call(function: bytes, point: Point) -> bytes:
    """A point as a pickled task, unpickled by the task itself: import errors of a worker are then reported.

    Dask unpickles tasks itself otherwise, and a worker that fails to do so retries for ever.
    """
    return pickle.dumps(_Call(function, point))


def _evaluate_pickled(function: bytes, point: Point) -> PointOutcome:
    return evaluate(pickle.loads(function), point)
