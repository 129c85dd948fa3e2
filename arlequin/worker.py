"""A process that computes points of a sweep for `arlequin.workers`, one after another, until it is told no more."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import warnings
from multiprocessing.connection import Connection

from arlequin.sweep_point import Outcome, evaluate, line


def serve(descriptor: int, held: int) -> None:
    """Gets the function, says None or why it cannot be loaded, then answers each point with its outcome.

    held: the end of a pipe whose other end the sweep's process holds open.
    """
    threading.Thread(target=_end_with_the_parent, args=(held,), daemon=True).start()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # the same ones again at each point
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
            except KeyboardInterrupt as error:  # of the study: Ctrl-C does not come here
                outcome = Outcome(message=line(error))
            connection.send(outcome)


def _end_with_the_parent(held: int) -> None:
    """The pipe ends when the sweep's process does, however it is killed: nobody waits for the point any more."""
    while os.read(held, 1):
        pass
    os._exit(1)
