"""The gallery: pages of all cases with figures and checks, computed when the site is built.

The first page opens with the figures of the list `first` of `docs/gallery.toml`, of cases or of pages, with caption and
command. A case is run by `run_case.py`, `gallery_workers` at a time, with the parameters of `docs/gallery.toml`. Its
outcome is stored in `docs/build/runs` and reused as long as the parameters and all project files that it used are
unchanged. A case that fails or is out of tolerance is shown and gives a warning: `make docs` fails after building the
site. `ARLEQUIN_GALLERY=off` (or `-D gallery_run=0`) builds the pages from stored outcomes only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from plain import markdown, plain
from run_case import digest
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT = 600  # s
FAILED = "failed"


@dataclass(frozen=True)
class Shown:
    """A case in the gallery: the outcome of `run_case.py`, or the reason why there is none."""

    name: str
    words: tuple[str, ...]
    folder: Path
    about: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    @property
    def wrong(self) -> list[str]:
        """Names of the checks that are out of tolerance."""
        return [row[0] for row in self.about.get("checks", ()) if row[-1] == "OUT"]


@dataclass(frozen=True)
class Opening:
    """A figure that opens the gallery: its file and link from docs/gallery, caption, and the commands that draw it."""

    file: str
    link: str
    title: str
    caption: str
    commands: tuple[str, ...]


def settings() -> dict[str, Any]:
    """Content of `docs/gallery.toml`: the list `first`, and the parameters of cases by name."""
    return tomllib.loads((ROOT / "docs" / "gallery.toml").read_text(encoding="utf-8"))


def words_of(name: str) -> tuple[str, ...]:
    """The parameters of a case in the gallery, as on a command line."""
    return tuple(f"{key}={str(value).lower()}" for key, value in settings().get(name, {}).items())


def opening(entry: dict[str, str]) -> Opening:
    """An entry of the list `first`: {case or page, figure, caption}."""
    if "case" in entry:
        from arlequin.cases.case import registry

        name = entry["case"]
        compare = ("--compare",) if registry.load(name).has("comparisons") else ()
        run = " ".join(["arlequin run", name, *words_of(name), *compare])
        commands = run, f"arlequin plot runs/{name}.zarr"
        return Opening(f"{name}-{entry['figure']}.png", f"{name}.md", f"`{name}`", entry["caption"], commands)
    page = entry["page"]
    stem = page.rpartition("/")[2]
    file = f"../figures/{stem}-{entry['figure']}.png"
    command = f"python docs/_ext/run_page.py docs/{page}.md figures"
    return Opening(file, f"../{page}.md", stem.replace("-", " "), entry["caption"], (command,))


def openings(cases: list[Shown], folder: Path) -> list[Opening]:
    """The figures that open the gallery, if they exist; one that a case or page did not draw is a warning."""
    files = {case.name: {file for file, _ in case.about.get("figures", ())} for case in cases}
    found = []
    for entry in settings().get("first", ()):
        figure = opening(entry)
        name = entry.get("case")
        if figure.file in files[name] if name else (folder / figure.file).exists():
            found.append(figure)
        elif name is None or files[name]:
            logger.warning("gallery: %s of the list `first` was not drawn", figure.file, type="gallery")
    return found


def kept(folder: Path) -> dict[str, Any]:
    """The stored outcome of a run; empty if a file that it used has changed."""
    try:
        about: dict[str, Any] = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        same = all(digest(Path(file)) == was for file, was in about["files"].items())
        same = same and all((folder / figure).exists() for figure, _ in about["figures"])
    except (OSError, ValueError, KeyError):
        return {}
    return about if same else {}


def shown(name: str, store: Path, run: bool) -> Shown:
    """A case from its stored outcome, or run now."""
    words = words_of(name)
    mark = hashlib.sha256(" ".join(words).encode()).hexdigest()[:8]
    folder = store / f"{name}-{mark}"
    about = kept(folder)
    if about:
        return Shown(name, words, folder, about)
    if not run:
        return Shown(name, words, folder, why="not run in this build")
    shutil.rmtree(folder, ignore_errors=True)
    logger.info("gallery: running %s %s", name, " ".join(words))
    own = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(HERE / "run_case.py"), name, str(folder), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **own}, cwd=store, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return Shown(name, words, folder, why=f"{FAILED}: not done after {LIMIT} s")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        return Shown(name, words, folder, why=f"{FAILED}: {last}")
    about = kept(folder)
    if not about:
        return Shown(name, words, folder, why=f"{FAILED}: its code changed while it ran")
    logger.info("gallery: %s took %.1f s", name, about["seconds"])
    return Shown(name, words, folder, about)


def table(headers: tuple[str, ...], rows: list[list[str]], marks: bool = False) -> str:
    """A table in HTML, which Markdown leaves unchanged; the last column may be a verdict."""
    head = "".join(f"<th>{escape(h)}</th>" for h in headers)
    lines = []
    for row in rows:
        kinds = [f' class="{row[-1].lower()}"' if marks and n == len(row) - 1 else "" for n in range(len(row))]
        lines.append("<tr>" + "".join(f"<td{k}>{escape(c)}</td>" for c, k in zip(row, kinds, strict=True)) + "</tr>")
    return (
        '<div class="table-wrapper docutils container"><table class="docutils">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>\n"
    )


def is_energies(figure: tuple[str, str]) -> bool:
    """Whether a figure is that of the energies, which is shown last."""
    return figure[0].endswith("-energies.png")


def page(case: Shown, line: str, text: str) -> str:
    """The page of a case, in Markdown."""
    out = [f"# {case.name}", "", markdown(line), ""]
    command = " ".join(["$ arlequin check", case.name, *case.words])
    out += ["```text", command, "```", ""]
    if case.why:
        out += [":::{admonition} No figures", f":class: {'error' if FAILED in case.why else 'note'}", ""]
        out += [f"This case was {case.why}." if FAILED not in case.why else f"`{case.why}`", ":::", ""]
    for figure, caption in sorted(case.about.get("figures", ()), key=is_energies):
        out += [f"```{{figure}} {figure}", ":width: 100%", "", plain(caption), "```", ""]
    rows = case.about.get("checks", [])
    if rows:
        headers = ("quantity", "value", "reference", "unit", "error", "accepted", "")
        out += ["## Checks", "", table(headers, rows, marks=True)]
        out += [f"{len(rows) - len(case.wrong)} of {len(rows)} within tolerance.", ""]
    if case.about:
        facts = "; ".join(f"{name} {value}" for name, value in case.about["facts"].items())
        out += [
            f"<p>{escape(facts)}; run, reference and figures took {case.about['seconds']:.0f} s of processor time.</p>",
            "",
        ]
    out += ["## About", "", markdown(text.partition("\n")[2].strip()), ""]
    if case.about:
        headers = ("parameter", "value here", "unit", "default", "meaning")
        out += ["## Parameters", "", table(headers, case.about["parameters"])]
    return "\n".join(out) + "\n"


def index(cases: list[Shown], lines: dict[str, str], runs: bool, first: list[Opening]) -> str:
    """The page of all cases: the figures that open it, and one figure per case."""
    cards = []
    for case in cases:
        figures = sorted(case.about.get("figures", ()), key=is_energies)
        best = figures[0][0] if figures else ""
        image = f'<img src="../_images/{best}" alt="" loading="lazy">' if best else ""
        verdict = (
            ' <b class="out">failed</b>' if FAILED in case.why else ' <b class="out">OUT</b>' if case.wrong else ""
        )
        cards.append(
            f'<a href="{case.name}.html">{image}<span><code>{case.name}</code>{verdict}<br>'
            f"{escape(lines[case.name])}</span></a>"
        )
    checks = sum(len(case.about.get("checks", ())) for case in cases)
    wrong = sum(len(case.wrong) for case in cases)
    drawn = sum(bool(case.about) for case in cases)
    said = f"{drawn} of {len(cases)} cases ran for this build: {checks - wrong} of {checks} checks within tolerance."
    if not runs and drawn < len(cases):
        said += " This build runs no cases (`ARLEQUIN_GALLERY=off`); figures are those of earlier builds."
    out = ["# Gallery", "", "All built-in cases with their figures and checks, computed when this site was built, some"]
    out += ["of them smaller than by default (the parameters are on each page).", "", said, ""]
    for figure in first:
        out += [f"```{{figure}} {figure.file}", ":width: 80%", "", f"[{figure.title}]({figure.link}): {figure.caption}"]
        out += ["```", "", "```text", *(f"$ {command}" for command in figure.commands), "```", ""]
    out += ["## All cases", ""] if first else []
    out += ['<div class="gallery">', *cards, "</div>", "", "```{toctree}", ":hidden:", ""]
    return "\n".join([*out, *(case.name for case in cases), "```", ""])


def write(path: Path, text: str) -> None:
    """Write a page if its text is new, so that unchanged pages are not read again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def build(app: Sphinx) -> None:
    """Run the cases and write their pages into docs/gallery."""
    from arlequin.cases.case import registry

    runs = bool(app.config.gallery_run) and os.environ.get("ARLEQUIN_GALLERY", "on") != "off"
    store, folder = Path(app.srcdir) / "build" / "runs", Path(app.srcdir) / "gallery"
    store.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    with ThreadPoolExecutor(int(app.config.gallery_workers)) as pool:
        cases = list(pool.map(lambda name: shown(name, store, runs), registry.names()))
    wanted = {"index.md"}
    for case in cases:
        module = registry.load(case.name).module
        write(folder / f"{case.name}.md", page(case, registry.lines()[case.name], (module.__doc__ or "").strip()))
        wanted.add(f"{case.name}.md")
        for figure, _ in case.about.get("figures", ()):
            shutil.copyfile(case.folder / figure, folder / figure)
            wanted.add(figure)
        if FAILED in case.why:
            logger.warning("gallery: %s %s", case.name, case.why, type="gallery")
        if case.wrong:
            logger.warning("gallery: %s is out of tolerance: %s", case.name, ", ".join(case.wrong), type="gallery")
    write(folder / "index.md", index(cases, registry.lines(), runs, openings(cases, folder)))
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("gallery_run", True, "env", types=(bool, int, str))
    app.add_config_value("gallery_workers", 2, "", types=(int, str))
    app.connect("builder-inited", build)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
