"""Points of a sweep in local worker processes.

A worker imports the package once and computes one point at a time until the sweep ends. If a worker dies (killed, out
of memory) its point is repeated once in a new worker. Why not a process pool: see CONTRIBUTING.md.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from arlequin.models.errors import UserError
from arlequin.models.host.processes import child_environment, end_with_parent, python_command
from arlequin.models.phases import WORKER
from arlequin.sweeps.plan import Point
from arlequin.sweeps.point import PointOutcome, evaluate, message_of

# one thread per library: the workers share the cores
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
MAX_TRIES = 2
HINT = (
    "import it from a module (a .py file), pip install cloudpickle, or give workers=1, which computes in this process"
)
WORKER_SCRIPT = """from arlequin.sweeps.local import serve
serve(int(sys.argv[1]), int(sys.argv[2]))"""


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def compute_here(function: Callable[..., Any], points: Sequence[Point]) -> Iterator[tuple[int, PointOutcome]]:
    """Each point in this process, sequentially."""
    for n, point in enumerate(points):
        yield n, evaluate(function, point)


def in_order(outcomes: Iterator[tuple[int, PointOutcome]]) -> Iterator[PointOutcome]:
    """Outcomes in the order of their points, which are computed in another one; UserError for one that failed."""
    computed: dict[int, PointOutcome] = {}
    next_index = 0
    for index, outcome in outcomes:
        computed[index] = outcome
        while next_index in computed:
            due = computed.pop(next_index)
            if due.message:
                raise UserError(due.message, code=1)
            yield due
            next_index += 1


class Workers:
    """Up to `count` processes that compute points of one function; they serve one list of points after another.

    pickled_function: output of `pickled`.
    """

    def __init__(self, pickled_function: bytes, count: int) -> None:
        self._pickled_function, self._count = pickled_function, count
        self._workers: dict[Connection, _Worker] = {}

    def compute(self, points: Sequence[Point]) -> Iterator[tuple[int, PointOutcome]]:
        """Index and outcome of each point, in the order of completion."""
        waiting, tries = deque(range(len(points))), [0] * len(points)
        try:
            for worker in self._workers.values():  # idle since the last list
                if waiting and worker.started:
                    worker.begin(waiting[0], points[waiting.popleft()])
            for _ in range(min(self._count - len(self._workers), len(waiting))):
                self._start()
            while waiting or any(worker.point is not None for worker in self._workers.values()):
                for ready in wait(list(self._workers)):
                    assert isinstance(ready, Connection)
                    worker = self._workers[ready]
                    index, outcome = worker.point, worker.outcome()
                    if worker.dead:
                        del self._workers[ready]
                        if index is not None:
                            tries[index] += 1
                            if tries[index] < MAX_TRIES:
                                waiting.appendleft(index)
                        if waiting:
                            self._start()
                        if index is not None and outcome is not None and tries[index] == MAX_TRIES:
                            yield index, outcome
                        continue
                    worker.point = None
                    # send the next point before storing this outcome
                    if waiting:
                        worker.begin(waiting[0], points[waiting.popleft()])
                    if index is not None and outcome is not None:
                        yield index, outcome
        finally:
            busy = [connection for connection, worker in self._workers.items() if worker.point is not None]
            for connection in busy:  # abandoned with their points
                self._workers.pop(connection).kill()

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()

    def _start(self) -> None:
        worker = _Worker(self._pickled_function, "other" if self._workers else "first")
        self._workers[worker.connection] = worker


class _Worker:
    """A worker process and the index of its point; None while it starts."""

    def __init__(self, function: bytes, role: str) -> None:
        """role: "first", or "other"; only the first process reports that kernels are compiled."""
        parent_end, worker_end = socket.socketpair()
        lifeline_read, lifeline_write = os.pipe()
        self._lifeline = os.fdopen(lifeline_write, "wb")  # closed when this process ends
        with parent_end, worker_end:
            self.process = subprocess.Popen(
                python_command(WORKER_SCRIPT, str(worker_end.fileno()), str(lifeline_read)),
                env=child_environment(**ONE_THREAD, **{WORKER: role}),
                stdin=subprocess.DEVNULL,  # reading input fails instead of blocking
                pass_fds=[worker_end.fileno(), lifeline_read],
                process_group=0,  # Ctrl-C goes to this process only
            )
            os.close(lifeline_read)
            self.connection = Connection(parent_end.detach())
        self.point: int | None = None
        self.started = self.dead = False
        self._send(function)

    def begin(self, index: int, point: Point) -> None:
        self.point = index
        self._send(pickle.dumps(point))

    def outcome(self) -> PointOutcome | None:
        """Outcome of the point; None from a worker that is ready; `UserError` if the worker cannot start.

        If the worker exited without an outcome (`dead`), the message for its point in case the next one exits, too.
        """
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            exit_code = self.process.wait()
            self._close()
            if not self.started:
                raise UserError(f"a process of the sweep ended as it started (exit code {exit_code})", code=1) from None
            self.dead = True
            cause = f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
            hint = ", out of memory?" if exit_code == -9 else ""
            return PointOutcome(message=f"its process died {MAX_TRIES} times ({cause}{hint})")
        if isinstance(message, str):
            raise UserError(f"the function cannot be loaded in another process: {message}: {HINT}")
        self.started = True
        assert message is None or isinstance(message, PointOutcome)
        return message

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self._close()
        self.process.wait()

    def _close(self) -> None:
        self.connection.close()
        self._lifeline.close()

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the worker has exited: `outcome` reports it
            self.connection.send_bytes(data)


def pickled(function: Any) -> bytes:
    """A function pickled by name, or by value where cloudpickle is installed."""
    try:
        import cloudpickle

        return bytes(cloudpickle.dumps(function))
    except ImportError:
        pass
    except Exception as error:
        raise UserError(f"the function cannot be sent to another process: {error}") from None
    try:
        data = pickle.dumps(function)
    except Exception as error:
        raise UserError(f"the function cannot be sent to another process: {error}: {HINT}") from None
    if b"__main__" in data:  # also arguments of a partial; in a worker `__main__` is another script
        where = "the script that runs" if hasattr(sys.modules["__main__"], "__file__") else "this notebook or session"
        raise UserError(f"the function cannot be sent to another process: it is defined in {where}: {HINT}")
    return data


def serve(descriptor: int, lifeline: int) -> None:
    """Main function of a worker: receive the function, send None or the error of loading it, then an outcome per point.

    lifeline: read end of a pipe whose write end is open in the parent.
    """
    end_with_parent(lifeline)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # repeated at each point
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the sweep has ended
        try:
            function = pickle.loads(connection.recv_bytes())
        except Exception as error:
            connection.send(f"{type(error).__name__}: {error}")
            return
        connection.send(None)
        while True:
            point = connection.recv()
            try:
                outcome = evaluate(function, point)
            except KeyboardInterrupt as error:  # raised by the study: SIGINT is not delivered to workers
                outcome = PointOutcome(message=message_of(error))
            connection.send(outcome)
