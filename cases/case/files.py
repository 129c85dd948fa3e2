"""Record of the case files that this user has run, so that opening a result never executes an unknown file.

The list is `arlequin/case_files` in $XDG_STATE_HOME (default ~/.local/state), in the format of `sha256sum`: digest, two
spaces, absolute path. A file is trusted if both its path and its digest are listed: a copy in another folder could
import other modules from there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from arlequin.models.errors import UserError

MAX_BYTES = 2**24  # largest case file


def read(path: Path) -> bytes:
    """Bytes of a Python file, read once, so that the executed code is the hashed code."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if path.suffix != ".py":
        raise UserError(f"{path}: not a Python file (its name must end in .py)")
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise UserError(f"{path}: larger than {MAX_BYTES:,} bytes: not a case file")
    return text


def remember(path: str, text: bytes) -> None:
    """Add a file named by the user to the list; without write access its results later get generic figures only."""
    folder = _folder()
    if folder is None or "\n" in path or _digest(text) in _digests(path):
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = os.fsencode(f"{_digest(text)}  {path}\n")
        file = os.open(
            folder / "case_files", os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600
        )
        try:
            os.write(file, line)  # one write: lines of concurrent processes do not mix
        finally:
            os.close(file)


def known(path: str) -> bytes:
    """Bytes of a file named in a result; UserError, before it is opened, unless this user has run it."""
    digests = _digests(path)
    if not digests:
        raise UserError(f"the case file {path} has not been run here")
    text = read(Path(path))
    if _digest(text) not in digests:
        raise UserError(f"the case file {path} has changed since it was run here")
    return text


def _digests(path: str) -> set[str]:
    """Digests listed for a path; none if the list could have been written by another user."""
    folder, line_end = _folder(), b"  " + os.fsencode(path)
    digests: set[str] = set()
    if folder is None:
        return digests
    with contextlib.suppress(OSError):
        file = os.open(folder / "case_files", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(file, "rb") as lines:
            file_status = os.fstat(file)
            is_own = not hasattr(os, "getuid") or file_status.st_uid == os.getuid()
            if is_own and stat.S_ISREG(file_status.st_mode) and not file_status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                digests = {
                    line[:64].decode("ascii", "replace") for line in lines if line[64:].rstrip(b"\n") == line_end
                }
    return digests


def _folder() -> Path | None:
    """Folder of the list (an absolute path); None if the user has no home."""
    state_home = os.environ.get("XDG_STATE_HOME", "")
    with contextlib.suppress(RuntimeError):
        return (Path(state_home) if os.path.isabs(state_home) else Path.home() / ".local" / "state") / "arlequin"
    return None


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
