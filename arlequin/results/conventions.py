"""Conventions of result datasets: notation of units, and the attributes `Conventions` and `history`.

`Conventions` is "Arlequin-1": each variable has `long_name` and, unless it is a text or a truth value or its unit has a
symbolic exponent, `units` in a notation that both UDUNITS and pint read ("N s", "kg m/s", "J/m^2", "1"). It is not CF:
names of parts are the users', `time` has no reference date, and meshes are not described by CF's grids.
"""

from __future__ import annotations

import re
import shlex
import sys
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path

CONVENTIONS = "Arlequin-1"
_LONGEST = 300  # letters of a command
_POWER = re.compile(r"(?<![\w.])([^\W\d_]+)([-+]?\d+)(?![\w.])")  # m2, s-1; not 1e3
_SYMBOLIC = re.compile(r"\^\(?-?[^\W\d_]|\^\([^)]*[^\W\d_]")  # m^m, m^(1+m')
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@lru_cache(maxsize=1)
def version() -> str:
    """Version of the installed package."""
    try:
        return metadata.version("arlequin")
    except metadata.PackageNotFoundError:
        return "not installed"


def readable_unit(unit: str) -> str:
    """A unit in the notation that UDUNITS and pint read; "1" of a dimensionless number.

    >>> [readable_unit(unit) for unit in ("kg/m3", "N s/m2", "-", "", "J/m^2", "m²")]
    ['kg/m^3', 'N s/m^2', '1', '1', 'J/m^2', 'm²']
    """
    return _POWER.sub(r"\1^\2", unit.strip()) if unit.strip() not in ("", "-") else "1"


def described(unit: str, text: str, kind: str = "f") -> dict[str, str]:
    """Attributes `units` and `long_name` of a variable with a dtype of this kind; texts and truth values have no unit.

    A unit with a symbolic exponent is part of the name.

    >>> described("kg/m3", "density"), described("Pa/m^m", "stiffness")
    ({'units': 'kg/m^3', 'long_name': 'density'}, {'long_name': 'stiffness (Pa/m^m)'})
    """
    if kind not in "iufc":
        return {"long_name": text}
    if _SYMBOLIC.search(unit):
        return {"long_name": f"{text} ({unit})"}
    return {"units": readable_unit(unit), "long_name": text}


def typeset_unit(unit: str) -> str:
    """A unit as labels show it.

    >>> typeset_unit("kg/m^3"), typeset_unit("m^-1")
    ('kg/m³', 'm⁻¹')
    """
    return re.sub(r"\^(-?\d+)(?![\w.])", lambda match: match[1].translate(_RAISED), unit)


def run_history(*earlier: str) -> str:
    """`history` of a run: the given lines, then one with the time (UTC), the version and the command."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return "\n".join([*filter(None, earlier), f"{stamp} arlequin {version()}: {_command()}"])


def of_run() -> dict[str, str]:
    """`Conventions` and `history` of the result of a run."""
    return {"Conventions": CONVENTIONS, "history": run_history()}


def of_evaluation(call: str, *versions: str) -> dict[str, str]:
    """`Conventions` and `history` of datasets that are equal for equal input: without the time.

    versions: of the package, that of this one by default.

    >>> of_evaluation("sweep(study)", "0.1.0", "0.2.0")["history"].splitlines()
    ['arlequin 0.1.0: sweep(study)', 'arlequin 0.2.0: sweep(study)']
    """
    lines = [f"arlequin {one}: {call}" for one in dict.fromkeys(versions or (version(),))]
    return {"Conventions": CONVENTIONS, "history": "\n".join(lines)}


def _command() -> str:
    """The command of this process, in one line, without the folder of the program."""
    arguments = sys.argv or [""]
    words = [Path(arguments[0]).name or "python", *arguments[1:]]
    text = " ".join(shlex.join(words).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
