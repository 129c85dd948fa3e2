"""The table of docs/verification.md: it has every case, and its numbers are those that its command gives."""

import importlib.util
import re
from pathlib import Path

import pytest

from arlequin import cases
from arlequin.cases.case import registry
from arlequin.cases.case.parameters import by_name

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBER = re.compile(r"(?<![\w^])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
QUICK = ("bar_wall", "hertz", "rate_state_block", "patch_test")


@pytest.fixture(scope="module")
def verification():
    spec = importlib.util.spec_from_file_location("verification", DOCS / "verification.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(verification):
    return verification.rows_of(verification.PAGE.read_text(encoding="utf-8"))


def test_every_case_has_its_row_in_the_order_of_the_cases(verification, rows):
    assert list(rows) == list(cases.names())
    assert set(verification.entries()) == set(cases.names())


def test_entries_name_parameters_and_convergent_sizes(verification, rows):
    """Three sizes or more, coarse to fine; what is not refined says why."""
    for name, entry in verification.entries().items():
        known = by_name(registry.load(name).module.Parameters)
        if "none" in entry:
            assert set(entry) <= {"none", "validation"} and entry["none"] in rows[name], name
            continue
        assert set(entry) <= {"over", "fixed", "error", "theory", "of", "remark", "validation"}, name
        ((parameter, sizes),) = entry["over"].items()
        assert {parameter, *entry.get("fixed", {})} <= known.keys() and len(sizes) >= 3, name
        assert sizes in (sorted(sizes), sorted(sizes, reverse=True)), name
        listed = f"`{parameter}` = {', '.join(f'{size:g}' for size in sizes)}"
        assert listed in rows[name] and entry.get("remark", "") in rows[name], name
        assert entry.get("validation", "none") in rows[name], name


def numbers(text):
    return [float(one) for one in NUMBER.findall(text)]


@pytest.mark.parametrize("name", QUICK)
def test_the_numbers_of_a_row_are_found_again(verification, rows, name):
    """To 3 % of each: uncertainties are differences of values that round-off changes."""
    found = verification.line(verification.row(name, verification.entries()[name]))
    assert NUMBER.sub("", found) == NUMBER.sub("", rows[name])
    for one, other in zip(numbers(found), numbers(rows[name]), strict=True):
        assert one == pytest.approx(other, rel=0.03, abs=1e-12)


def test_a_table_is_written_into_its_page(verification):
    text = f"above\n{verification.BEGIN}{verification.END}below\n"
    once = verification.page(text, {"bar_wall": "| `bar_wall` | new |"})
    assert once.startswith("above\n") and once.endswith("below\n")
    again = verification.page(once, {"two_bars": "| `two_bars` | first |"})
    assert list(verification.rows_of(again)) == ["two_bars", "bar_wall"]
    assert verification.page(again, {}) == again
