"""Points of a sweep in local worker processes.

A worker imports the package once and computes one point at a time until the sweep ends. If a worker dies (killed, out
of memory) its point is repeated once in a new worker.
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
TRIES = 2
HINT = (
    "import it from a module (a .py file), pip install cloudpickle, or give workers=1, which computes in this process"
)
START = """from arlequin.sweeps.local import serve
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


class Workers:
    """Up to `count` processes that compute points of one function; they serve one list of points after another.

    sent: the function as `pickled` gives it.
    """

    def __init__(self, sent: bytes, count: int) -> None:
        self._sent, self._count = sent, count
        self._workers: dict[Connection, _Worker] = {}

    def compute(self, points: Sequence[Point]) -> Iterator[tuple[int, PointOutcome]]:
        """Index and outcome of each point, in the order of completion."""
        waiting, tried = deque(range(len(points))), [0] * len(points)
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
                    done, answer = worker.point, worker.answer()
                    if worker.dead:
                        del self._workers[ready]
                        if done is not None:
                            tried[done] += 1
                            if tried[done] < TRIES:
                                waiting.appendleft(done)
                        if waiting:
                            self._start()
                        if done is not None and answer is not None and tried[done] == TRIES:
                            yield done, answer
                        continue
                    worker.point = None
                    # send the next point before storing this outcome
                    if waiting:
                        worker.begin(waiting[0], points[waiting.popleft()])
                    if done is not None and answer is not None:
                        yield done, answer
        finally:
            busy = [connection for connection, worker in self._workers.items() if worker.point is not None]
            for connection in busy:  # given up with their points
                self._workers.pop(connection).kill()

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()

    def _start(self) -> None:
        worker = _Worker(self._sent, "other" if self._workers else "first")
        self._workers[worker.connection] = worker


class _Worker:
    """A worker process and the index of its point; None while it starts."""

    def __init__(self, function: bytes, place: str) -> None:
        """place: "first", or "other", which leaves it to the first one to say that kernels are compiled."""
        here, there = socket.socketpair()
        watched, held = os.pipe()
        self._held = os.fdopen(held, "wb")  # closed when this process ends
        with here, there:
            self.process = subprocess.Popen(
                python_command(START, str(there.fileno()), str(watched)),
                env=child_environment(**ONE_THREAD, **{WORKER: place}),
                stdin=subprocess.DEVNULL,  # reading input fails instead of blocking
                pass_fds=[there.fileno(), watched],
                process_group=0,  # Ctrl-C goes to this process only
            )
            os.close(watched)
            self.connection = Connection(here.detach())
        self.point: int | None = None
        self.started = self.dead = False
        self._send(function)

    def begin(self, place: int, point: Point) -> None:
        self.point = place
        self._send(pickle.dumps(point))

    def answer(self) -> PointOutcome | None:
        """Outcome of the point; None from a worker that is ready; `UserError` if the worker cannot start.

        Of a worker that has exited without an outcome (`dead`): the message for its point, should it exit again.
        """
        try:
            found = self.connection.recv()
        except (EOFError, ConnectionResetError):
            code = self.process.wait()
            self._close()
            if not self.started:
                raise UserError(f"a process of the sweep ended as it started (exit code {code})", code=1) from None
            self.dead = True
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            hint = ", out of memory?" if code == -9 else ""
            return PointOutcome(message=f"its process died {TRIES} times ({how}{hint})")
        if isinstance(found, str):
            raise UserError(f"the function cannot be loaded in another process: {found}: {HINT}")
        self.started = True
        assert found is None or isinstance(found, PointOutcome)
        return found

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self._close()
        self.process.wait()

    def _close(self) -> None:
        self.connection.close()
        self._held.close()

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the worker has exited: `answer` reports it
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
        sent = pickle.dumps(function)
    except Exception as error:
        raise UserError(f"the function cannot be sent to another process: {error}: {HINT}") from None
    if b"__main__" in sent:  # also arguments of a partial; in a worker `__main__` is another script
        where = "the script that runs" if hasattr(sys.modules["__main__"], "__file__") else "this notebook or session"
        raise UserError(f"the function cannot be sent to another process: it is defined in {where}: {HINT}")
    return sent


def serve(descriptor: int, held: int) -> None:
    """Main function of a worker: receive the function, send None or the error of loading it, then an outcome per point.

    held: read end of a pipe whose write end is open in the parent.
    """
    end_with_parent(held)
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
