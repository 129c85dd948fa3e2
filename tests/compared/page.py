"""What a comparison prints: sections of text, tables and remarks, as Markdown."""

import os
import platform
import sys
from dataclasses import dataclass, field
from importlib.metadata import version

PACKAGES = ("numpy", "scipy", "numba", "scikit-fem", "scikit-sparse")


@dataclass
class Section:
    """A comparison: its title, what is computed, rows of the table below its headings, remarks and skipped codes."""

    title: str
    text: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    remarks: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The section as Markdown."""
        table = [self.headings, tuple("---" for _ in self.headings), *self.rows]
        lines = [f"## {self.title}", "", self.text, "", *("| " + " | ".join(row) + " |" for row in table)]
        for remark in self.remarks:
            lines += ["", remark]
        return "\n".join(lines) + "\n"


def machine() -> str:
    """Processor, cores, interpreter and packages of this run."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        name = names[0] if names else name
    except OSError:
        pass
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return f"{name}, {os.cpu_count()} cores; Python {sys.version.split()[0]}, {packages}"
