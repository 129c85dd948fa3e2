"""The paper: citations, figures and formulas; what is missing ends the build in one line."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAPER = ROOT / "paper"


@pytest.fixture
def render():
    pytest.importorskip("myst_parser")
    spec = importlib.util.spec_from_file_location("render", PAPER / "render.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    """A copy of the paper with empty figures."""
    for name in ("paper.md", "paper.bib"):
        shutil.copyfile(PAPER / name, tmp_path / name)
    (tmp_path / "figures").mkdir()
    figures = re.findall(r"NAMES = \((.*)\)", (PAPER / "figures.py").read_text(encoding="utf-8"))[0]
    for name in re.findall(r'"([^"]+)"', figures):
        (tmp_path / "figures" / name).write_bytes(b"")
    return tmp_path


def test_the_paper_is_built_with_its_citations_resolved(render, folder, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)  # without pandoc
    page = render.main(folder).read_text(encoding="utf-8")
    assert 'href="#bendhia"' in page and 'id="bendhia"' in page and "Ben Dhia 1998" in page
    assert not re.search(r"@\w", re.sub(r"<style>.*?</style>", "", page)) and "system-message" not in page
    assert page.count("<math") > 15 and page.count("<figcaption") == 3
    words = len(re.sub(r"\$\$.*?\$\$", "", (folder / "paper.md").read_text(encoding="utf-8"), flags=re.DOTALL).split())
    assert words < 1600


def test_the_paper_has_the_sections_of_the_journal(folder):
    text = (folder / "paper.md").read_text(encoding="utf-8")
    head = text.split("---\n")[1]
    assert re.findall(r"^(\w+):", head, re.MULTILINE) == [
        "title",
        "tags",
        "authors",
        "affiliations",
        "date",
        "bibliography",
    ]
    sections = re.findall(r"^# (.+)$", text, re.MULTILINE)
    assert sections[:4] == ["Summary", "Statement of need", "State of the field", "Software design"]
    assert sections[-2:] == ["Acknowledgements", "References"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: (f / "figures" / "drift.png").unlink(), "paper: missing figure .*: figures/drift.png"),
        (
            lambda f: append(f / "paper.md", "As @nobody says."),
            "paper: citation key without entry in paper.bib: nobody",
        ),
        (
            lambda f: append(f / "paper.bib", "@book{unread,\n  author = {A},\n  title = {B},\n}"),
            "paper: entry of paper.bib that is not cited: unread",
        ),
    ],
    ids=["figure", "key", "entry"],
)
def test_what_is_missing_is_said_in_one_line(render, folder, change, said):
    change(folder)
    with pytest.raises(render.PaperError, match=f"^{said}$"):
        render.main(folder)


def append(path, text):
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{text}\n", encoding="utf-8")


def test_the_number_of_cases_is_that_of_the_registry():
    from arlequin.cases.case import registry

    text = (PAPER / "paper.md").read_text(encoding="utf-8")
    assert re.findall(r"The (\d+) built-in cases", text) == [str(len(registry.NAMES))]
