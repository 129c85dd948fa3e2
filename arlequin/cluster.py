"""Points of a sweep on a Dask cluster, of one machine or many; Dask is loaded when a sweep asks for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from arlequin.sweep_plan import Point
from arlequin.sweep_point import Outcome, evaluate
from models.errors import UserError

ANSWER_SECONDS = 10.0  # for a scheduler to answer


def compute_on_cluster(
    function: Callable[..., Any], points: Sequence[Point], scheduler: Any
) -> Iterator[tuple[int, Outcome]]:
    """Each point, with its place among the points, as the cluster finishes it.

    scheduler: the address of a Dask scheduler, a `distributed.Client`, or a cluster that a client can be made of. It
    gives a point whose worker died to another one, and gives it up as failed where
    `distributed.scheduler.allowed-failures` (of the scheduler, 3 by default) more have died of it.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError:
        raise UserError('scheduler: needs Dask: pip install "arlequin[cluster]"') from None

    with contextlib.ExitStack() as stack:
        client = scheduler if isinstance(scheduler, Client) else stack.enter_context(_client(Client, scheduler))
        places = {client.submit(evaluate, function, point, pure=False): n for n, point in enumerate(points)}
        stack.callback(lambda: client.cancel(list(places)))
        for future in as_completed(list(places)):
            n = places.pop(future)
            try:
                outcome = future.result()
            except KilledWorker as error:
                where = getattr(error.last_worker, "address", error.last_worker)
                outcome = Outcome(message=f"its worker died again and again (the last at {where})")
            except CancelledError:
                raise UserError("the cluster is gone, or the points were cancelled there", code=1) from None
            except Exception as error:  # of the cluster: what fails in a point is in its outcome
                raise UserError(f"the cluster cannot compute: {type(error).__name__}: {error}", code=1) from error
            future.release()  # the cluster would compute it again where a worker that holds it dies
            yield n, outcome


def _client(make: Callable[..., Any], scheduler: Any) -> Any:
    """A client of the scheduler, or one line where nobody answers."""
    try:
        return make(scheduler, timeout=ANSWER_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"scheduler = {scheduler!r}: no Dask scheduler answers there", code=1) from error
