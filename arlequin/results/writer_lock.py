"""Exclusive lock for writing a result or the store of a sweep.

The lock (flock) is on the file `.writer` in the folder and is released when its process ends, also when killed. On NFS
(since Linux 2.6.12) the server releases the lock of a lost client; on file systems without locks two writers are not
detected.
"""

import os
import re
import socket
import stat
from datetime import datetime
from pathlib import Path

from arlequin.models.errors import FAILURE, UserError

NAME = ".writer"
_LONGEST = 200  # bytes read from the file
_TEXT = "process {} on {}, since {}"
_OWN = re.compile(r"process (\d+) on (\S+), since [\d :+.-]+")


def writer_lock(folder: Path, label: str, tell: bool = True) -> int:
    """Acquire the lock of a store; returns a file descriptor, whose closing releases it.

    tell: write the process into the file, where it stays after the release.
    """
    options = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | options, 0o644)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise UserError(f"{label}: damaged: {NAME} is not a file: remove it", FAILURE)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = _who(descriptor)
        os.close(descriptor)
        raise UserError(f"{label}: another run is writing it{who}: choose another path", FAILURE) from None
    except (ImportError, OSError):
        pass  # no locks on this system
    if tell and about.st_nlink == 1:  # what has another name elsewhere stays as it is
        now = datetime.now().astimezone().isoformat(" ", "seconds")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, _TEXT.format(os.getpid(), socket.gethostname(), now).encode(), 0)
    return descriptor


def refuse_while_written(folder: Path, label: str) -> None:
    """Raise `UserError` while another run is writing the store."""
    os.close(writer_lock(folder, label, tell=False))


def last_writer(folder: Path) -> tuple[int, str] | None:
    """Number and machine of the process that writes a store, or was the last to do so; None if unknown."""
    options = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | options)
    except OSError:
        return None
    try:
        match = _OWN.fullmatch(_text(descriptor))
    finally:
        os.close(descriptor)
    return None if match is None else (int(match[1]), match[2])


def is_written_here(folder: Path) -> bool:
    """Whether this process writes the store, or was the last to do so."""
    return last_writer(folder) == (os.getpid(), socket.gethostname())


def _who(descriptor: int) -> str:
    """The owner of the lock, from the text of its file."""
    text = _text(descriptor)
    return f" ({text})" if _OWN.fullmatch(text) else ""


def _text(descriptor: int) -> str:
    try:
        return os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace")
    except OSError:
        return ""
