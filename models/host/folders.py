"""Whether a folder and its contents can have been written by this user, or the administrator, only."""

import os
import stat
from pathlib import Path

PRIVATE_MODE = 0o700  # of folders that are created


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to this user only; restrict the mode of an existing one."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            try:
                place.mkdir(PRIVATE_MODE)
            except FileExistsError:  # created by another process, or a broken link
                place.stat()
    about = folder.lstat()
    if hasattr(os, "getuid") and about.st_uid == os.getuid() and stat.S_ISDIR(about.st_mode):
        folder.chmod(PRIVATE_MODE)


def open_to_others(folder: Path, within: bool = True) -> str | None:
    """The path of an existing folder that another user could have changed, and how; None where there is none.

    All its parents count, and those of links on the way, as an owner of one of them can replace what is below; in one
    with the sticky bit (`/tmp`) only owners can. within: check the contents of the folder, too, to any depth.
    """
    if not hasattr(os, "getuid"):
        return None  # the mode has no access rights on Windows
    absolute, real = Path(os.path.abspath(folder)), Path(os.path.realpath(folder))
    for place in dict.fromkeys((*reversed(absolute.parents), absolute, *reversed(real.parents), real)):
        if reason := _changed_by_others(place, place not in (absolute, real)):
            return reason
    for where, folders, names in os.walk(real) if within else ():
        for name in (*folders, *names):
            if reason := _changed_by_others(Path(where, name), False):
                return reason
    return None


def _changed_by_others(path: Path, sticky: bool) -> str | None:
    about = path.lstat()
    if about.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to {_user(about.st_uid)}"
    if stat.S_ISLNK(about.st_mode):  # the mode of a link is meaningless
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
    """Whether a group is private to this user: of the user's name, without other members."""
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return members.gr_name == user and set(members.gr_mem) <= {user}
