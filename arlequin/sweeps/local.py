"""Points of a sweep in local worker processes.

A worker imports the package once and computes one point at a time until the sweep ends. If a worker dies (killed, out
of memory) its point is repeated once in a new worker.

The points are distributed by threads of `concurrent.futures`. Its ProcessPoolExecutor, and loky's, are not used: a
worker that dies takes the points of all others along and does not say which one it died of, workers that are busy
outlive a parent that is killed, Ctrl-C waits for them, scripts need `if __name__ == "__main__"` (not with loky), and
the processes import from the working folder.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection, Pipe
from typing import Any

from arlequin.models.errors import UserError
from arlequin.models.host.processes import child_environment, python_command
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
serve(int(sys.argv[1]))"""


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

    pickled_function: output of `pickled`. Each process is served by one thread, which waits for its outcomes.
    """

    def __init__(self, pickled_function: bytes, count: int) -> None:
        self._function, self._threads = pickled_function, ThreadPoolExecutor(count)
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._started = itertools.count()

    def compute(self, points: Sequence[Point]) -> Iterator[tuple[int, PointOutcome]]:
        """Index and outcome of each point, in the order of completion."""
        cancelled = threading.Event()
        futures = {self._threads.submit(self._evaluate, point, cancelled): n for n, point in enumerate(points)}
        try:
            for future in as_completed(list(futures)):
                yield futures.pop(future), future.result()
        finally:
            cancelled.set()
            for future in futures:
                future.cancel()
            for worker in list(self._busy):
                worker.kill()

    def close(self) -> None:
        """End the processes."""
        self._threads.shutdown()
        while self._idle:
            worker = self._idle.pop()
            worker.kill()
            worker.exit_code()

    def _evaluate(self, point: Point, cancelled: threading.Event) -> PointOutcome:
        """Outcome of a point, computed again in another process if the first one dies."""
        exit_code = tries = 0
        while tries < MAX_TRIES and not cancelled.is_set():
            try:
                worker = self._idle.pop()
            except IndexError:
                worker = _Worker("other" if next(self._started) else "first")
            if worker.killed:  # as it became idle
                worker.exit_code()
                continue
            tries += 1
            self._busy.add(worker)
            if cancelled.is_set():  # after `compute` has killed those that are busy
                worker.kill()
            try:
                outcome = worker.evaluate(self._function, point)
            except (EOFError, OSError):  # the process has exited
                exit_code = worker.exit_code()
                if not worker.loaded:
                    raise UserError(
                        f"a process of the sweep ended as it started (exit code {exit_code})", code=1
                    ) from None
                continue
            finally:
                self._busy.discard(worker)
            self._idle.append(worker)
            return outcome
        cause = f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
        hint = ", out of memory?" if exit_code == -signal.SIGKILL else ""
        return PointOutcome(message=f"its process died {MAX_TRIES} times ({cause}{hint})")


class _Worker:
    """A worker process; loaded: whether it has the function; killed: whether `kill` was called."""

    def __init__(self, role: str) -> None:
        """role: "first", or "other"; only the first process reports that kernels are compiled."""
        self._connection, remote = Pipe()
        with remote:
            self._process = subprocess.Popen(
                python_command(WORKER_SCRIPT, str(remote.fileno())),
                env=child_environment(**ONE_THREAD, **{WORKER: role}),
                stdin=subprocess.DEVNULL,  # reading input fails instead of blocking
                pass_fds=[remote.fileno()],
                process_group=0,  # Ctrl-C goes to this process only
            )
        self.loaded = self.killed = False

    def evaluate(self, function: bytes, point: Point) -> PointOutcome:
        """Outcome of a point; EOFError or OSError if the process exits, UserError if it cannot load the function."""
        if not self.loaded:
            self._connection.send_bytes(function)
            error = self._connection.recv()
            if error is not None:
                raise UserError(f"the function cannot be loaded in another process: {error}: {HINT}")
            self.loaded = True
        self._connection.send_bytes(pickle.dumps(point))
        outcome: PointOutcome = self._connection.recv()
        return outcome

    def kill(self) -> None:
        """Kill the process and those that it has started; `evaluate` then fails."""
        self.killed = True
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def exit_code(self) -> int:
        """Exit code of the process, once it has exited."""
        self._connection.close()
        return self._process.wait()


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


def serve(descriptor: int) -> None:
    """Main function of a worker: receive the function, send None or the error of loading it, then an outcome per point.

    It exits at once where the other end of the connection is closed: the sweep or its process has ended.
    """
    connection, received = Connection(descriptor), queue.SimpleQueue[bytes]()

    def receive() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                received.put(connection.recv_bytes())
        os._exit(1)

    threading.Thread(target=receive, daemon=True).start()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # repeated at each point
    try:
        function = pickle.loads(received.get())
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")
        return
    connection.send(None)
    while True:
        point = pickle.loads(received.get())
        try:
            outcome = evaluate(function, point)
        except KeyboardInterrupt as error:  # raised by the study: SIGINT is not delivered to workers
            outcome = PointOutcome(message=message_of(error))
        connection.send(outcome)
