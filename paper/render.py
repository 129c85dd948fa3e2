"""The paper as an HTML page: `python paper/render.py` writes paper/build/paper.html from paper.md and paper.bib.

Citations `[@key; @key]` and `@key` are resolved, formulas are MathML. With pandoc and a PDF engine on the path
(xelatex, lualatex, pdflatex, tectonic or typst) paper/build/paper.pdf is written, too. A citation key without entry, an
entry without citation, and a missing figure end in one line.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)
GROUP = re.compile(r"\[(@[\w-]+(?:\s*;\s*@[\w-]+)*)\]")
KEY = re.compile(r"(?<![\w@])@([\w-]+)")
FIGURE = re.compile(r"^!\[(.*)\]\((.*)\)$", re.MULTILINE)
ENGINES = ("xelatex", "lualatex", "pdflatex", "tectonic", "typst")
STYLE = (
    "body { max-width: 46em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 Georgia, serif; } img { width: 100%; }"
    " figcaption { font-size: 0.9em; } table { border-collapse: collapse; font-size: 0.9em; }"
    " td, th { padding: 0.2em 0.6em; border-bottom: 1px solid #ccc; text-align: left; } pre { overflow-x: auto; }"
)


class PaperError(Exception):
    """What is wrong with the paper, in one line."""


def entries(text: str) -> dict[str, dict[str, str]]:
    """Fields of each BibTeX entry by key; braces within fields protect capitals and are left out."""
    return {
        key: {name.lower(): re.sub(r"[{}]", "", value).replace("--", "–") for name, value in FIELD.findall(body)}
        for _, key, body in ENTRY.findall(text)
    }


def authors(entry: Mapping[str, str]) -> list[str]:
    return entry["author"].split(" and ")


def short(entry: Mapping[str, str]) -> str:
    """«Moreau 1988», «Combescure and Gravouil 2002», «Xue et al. 2023»."""
    names = [name.split(",")[0] for name in authors(entry)]
    first = names[0] if len(names) == 1 else f"{names[0]} and {names[1]}" if len(names) == 2 else f"{names[0]} et al."
    return f"{first} {entry.get('year', 'n.d.')}"


def full(entry: Mapping[str, str]) -> str:
    """Line of the list of references, in Markdown."""
    place = [entry[name] for name in ("journal", "booktitle", "publisher", "howpublished", "note") if name in entry]
    numbers = ", ".join(entry[name] for name in ("volume", "pages") if name in entry)
    link = f"https://doi.org/{entry['doi']}" if "doi" in entry else entry.get("url", "")
    names = ", ".join(authors(entry)).replace(", others", " et al.").rstrip(".")
    parts = [names, f"*{entry['title']}*", *place, numbers, entry.get("year", "")]
    return ". ".join(part for part in parts if part) + "." + (f" <{link}>" if link else "")


def cited(text: str) -> list[str]:
    """Keys in the text, in order, each once; code, formulas and mail addresses are no citations."""
    prose = re.sub(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$", "", text, flags=re.DOTALL)
    return list(dict.fromkeys(KEY.findall(prose)))


def check(text: str, library: Mapping[str, Mapping[str, str]], folder: Path) -> None:
    """Reject unknown and unused keys and missing figures."""
    keys = cited(text)
    for what, names in (
        ("citation key without entry in paper.bib", [key for key in keys if key not in library]),
        ("entry of paper.bib that is not cited", [key for key in library if key not in keys]),
        ("missing figure (python paper/figures.py)", [f for _, f in FIGURE.findall(text) if not (folder / f).exists()]),
    ):
        if names:
            raise PaperError(f"paper: {what}: {', '.join(names)}")


def markdown(text: str, library: Mapping[str, Mapping[str, str]]) -> str:
    """The text with citations as links, figures with captions and the list of references, in MyST Markdown."""

    def link(key: str) -> str:
        return f"[{short(library[key])}](#{key})"

    text = GROUP.sub(lambda m: "(" + "; ".join(link(key) for key in KEY.findall(m.group(1))) + ")", text)
    text = KEY.sub(lambda m: link(m.group(1)) if m.group(1) in library else m.group(), text)
    text = FIGURE.sub(lambda m: f"```{{figure}} ../{m.group(2)}\n{m.group(1)}\n```", text)
    listed = sorted(library, key=lambda key: short(library[key]).lower())
    return text.rstrip() + "\n\n" + "\n\n".join(f"({key})=\n{full(library[key])}" for key in listed) + "\n"


def html(text: str, title: str, author: str, date: str) -> str:
    from docutils.core import publish_parts
    from myst_parser.docutils_ import Parser

    settings = {
        "myst_enable_extensions": ["dollarmath", "amsmath"], "math_output": "MathML", "report_level": 2,
        "halt_level": 2, "raw_enabled": False, "file_insertion_enabled": False, "myst_heading_anchors": 2,
        "traceback": True, "doctitle_xform": False, "input_encoding": "utf-8",
    }  # fmt: skip
    body = publish_parts(text, parser=Parser(), writer="html5", settings_overrides=settings)["body"]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    top = f"<h1>{escape(title)}</h1><p>{escape(author)}, {escape(date)}</p>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{top}\n{body}\n</body></html>\n'


def front(text: str) -> tuple[dict[str, str], str]:
    """Title, date and bibliography of the front matter, with the first author's name; the text after it."""
    _, head, body = text.split("---\n", 2)
    values = dict(re.findall(r"^(\w+): *[\"']?(.+?)[\"']?$", head, re.MULTILINE))
    found = re.search(r"^ +- name: (.+)$", head, re.MULTILINE)
    return {**values, "author": found.group(1) if found else ""}, body


def main(folder: Path = HERE) -> Path:
    source = (folder / "paper.md").read_text(encoding="utf-8")
    about, text = front(source)
    library = entries((folder / about["bibliography"]).read_text(encoding="utf-8"))
    check(text, library, folder)
    target = folder / "build" / "paper.html"
    target.parent.mkdir(exist_ok=True)
    page = html(markdown(text, library), about["title"], about["author"], about["date"])
    target.write_text(page, encoding="utf-8")
    pandoc, engine = shutil.which("pandoc"), next(filter(shutil.which, ENGINES), None)
    if pandoc and engine:
        pdf = target.with_suffix(".pdf")
        command = [pandoc, "paper.md", "--citeproc", f"--pdf-engine={engine}", "-o", str(pdf)]
        subprocess.run(command, cwd=folder, check=True)
    return target


if __name__ == "__main__":
    try:
        print(f"open {main().relative_to(Path.cwd())}")
    except PaperError as error:
        sys.exit(str(error))
