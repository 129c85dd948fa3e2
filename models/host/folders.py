"""Whether a folder and what is in it can have been written by this user, or the administrator, only."""

import os
import stat
from pathlib import Path

OWN = 0o700  # mode of folders that are made here


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, which nobody else may enter; take others' rights to it."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            try:
                place.mkdir(OWN)
            except FileExistsError:  # by another process, or a link that leads nowhere
                place.stat()
    about = folder.lstat()
    if hasattr(os, "getuid") and about.st_uid == os.getuid() and stat.S_ISDIR(about.st_mode):
        folder.chmod(OWN)


def open_to_others(folder: Path, within: bool = True) -> str | None:
    """Which path another user could have changed, and how, for an existing folder; None where there is none.

    All folders above it count, and those that links lead through, as an owner of one of them can replace what is below;
    in one with the sticky bit (`/tmp`) only owners can. within: also what is in the folder, to any depth.
    """
    if not hasattr(os, "getuid"):
        return None  # rights of Windows are not in the mode
    absolute, real = Path(os.path.abspath(folder)), Path(os.path.realpath(folder))
    for place in dict.fromkeys((*reversed(absolute.parents), absolute, *reversed(real.parents), real)):
        if found := _changed_by_others(place, place not in (absolute, real)):
            return found
    for where, folders, names in os.walk(real) if within else ():
        for name in (*folders, *names):
            if found := _changed_by_others(Path(where, name), False):
                return found
    return None


def _changed_by_others(path: Path, sticky: bool) -> str | None:
    about = path.lstat()
    if about.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to {_user(about.st_uid)}"
    if stat.S_ISLNK(about.st_mode):  # its mode says nothing
        return None
    if sticky and about.st_mode & stat.S_ISVTX:
        return None
    if about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and not _is_private(about.st_gid)):
        return f"{path} may be written by others"
    return None


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _is_private(group: int) -> bool:
    """Whether a group is this user's own: named as the user, of no other members."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
