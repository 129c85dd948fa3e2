"""Runs one case for the gallery: `python run_case.py CASE FOLDER [name=value …]`.

Writes FOLDER/case.json (parameters, checks, figures, time, the project files used with their hashes) and the figures
of `arlequin plot` as PNG files.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

PACKAGES = ("arlequin",)
DPI = 110
FACTS = ("scheme", "step", "steps", "time", "largest energy imbalance")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def files_used() -> dict[str, str]:
    """Hashes of the project modules that were loaded, by file."""
    used = {}
    for name, module in sorted(sys.modules.items()):
        source = getattr(module, "__file__", None)
        if name.split(".")[0] in PACKAGES and source:
            used[source] = digest(Path(source))
    return used


def main(name: str, folder: Path, words: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from arlequin.cases.case.execution import execute, prepare
    from arlequin.cases.case.parameters import fields
    from arlequin.cases.case.results import figures_of
    from arlequin.cases.cli import tables
    from arlequin.cases.reports.parts import caption
    from arlequin.results.reading import summary

    case, parameters = prepare(name, dict(word.split("=", 1) for word in words))
    result = execute(case, parameters)
    checks = list(case.function("check")(result, parameters)) if case.has("check") else []
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    for title, figure in figures_of(result, (case, parameters)).items():
        target = f"{name}-{title}.png".replace(" ", "-")
        figure.savefig(folder / target, dpi=DPI)
        figures.append((target, caption(title, figure)))
    rows = [
        (f.name, tables.value(getattr(parameters, f.name)), f.quantity.unit, tables.default(f), f.quantity.text)
        for f in fields(case.parameters)
    ]
    about: dict[str, Any] = {
        "parameters": rows,
        "checks": tables.rows_of_checks(checks),
        "figures": figures,
        "facts": {k: v for k, v in summary(result).facts.items() if k in FACTS and v},
        "seconds": time.process_time(),
        "files": files_used(),
    }
    (folder / "case.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
