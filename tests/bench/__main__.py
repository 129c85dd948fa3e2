"""The benchmark of `make bench`: what things cost, as ratios that hold from machine to machine.

    python tests/bench [NAME …]        all entries, or some; `make bench ONLY="explicit memory"`

Prints tables and writes runs/bench.json: each entry with its figures, its date and the load of the machine; entries
that are not run keep what they had.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from registry import ENTRIES, function
from rich.console import Console
from rich.table import Table

from arlequin.cases.cli.tables import versions

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "runs" / "bench.json"


def machine() -> dict[str, Any]:
    """Where this runs."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory (GB)": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def processor() -> str:
    """Its name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def rows(figures: Mapping[str, Any], label: str = "") -> Iterator[tuple[str, str, str]]:
    """(model, what, figure), the models' dictionaries one after the other."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from rows(value, name)
        else:
            yield label, name, f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def table(name: str, figures: Mapping[str, Any]) -> Table:
    """The figures of an entry."""
    made = Table(title=name, title_justify="left")
    made.add_column("model")
    made.add_column("what")
    made.add_column("figure", justify="right")
    last = ""
    for model, what, figure in rows(figures):
        made.add_row(model if model != last else "", what, figure)
        last = model
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description="What things cost, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="entries to run: " + ", ".join(ENTRIES))
    names = [name for given in parser.parse_args().names for name in given.split(",") if name] or list(ENTRIES)
    unknown = [name for name in names if name not in ENTRIES]
    if unknown:
        print(f"bench: {unknown[0]} is no entry: there are {', '.join(ENTRIES)}", file=sys.stderr)
        return 2
    sys.path.append(str(ROOT / "tests"))  # modules beside this folder
    console = Console()
    report = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    entries = report.get("entries", {})
    OUT.parent.mkdir(exist_ok=True)
    for name in names:
        load, begin = os.getloadavg()[0], time.perf_counter()
        figures = function(name)()
        taken = time.perf_counter() - begin
        date = datetime.now(UTC).isoformat(timespec="seconds")
        entries[name] = {"date": date, "load": round(load, 2), "seconds": round(taken, 1), "figures": figures}
        console.print(table(f"{name}  ({taken:.0f} s, load {load:.1f})", figures))
        report = {"machine": machine(), "versions": dict(versions()), "entries": entries}
        OUT.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    console.print(f"written to {OUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
