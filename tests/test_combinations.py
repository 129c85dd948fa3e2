"""What combines: the tables of docs/guide/what-combines.md, cell by cell.

The slow test runs all cells, the other one of each feature and use a scheme that works and one that is refused.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests are imported by themselves

from combinations.page import PAGE, TITLES, read, reason, text
from combinations.systems import FEATURES
from combinations.uses import USES, WAYS, outcome

TOLD = read(PAGE.read_text(encoding="utf-8"))
KINDS = list(FEATURES)


def check(use, feature, ways):
    for way in ways:
        assert reason(outcome(use, feature, way)) == TOLD[use, feature, way], way


def test_the_page_is_what_is_written_from_its_tables():
    assert text(TOLD) == PAGE.read_text(encoding="utf-8")
    assert TITLES.keys() == USES.keys()


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("use", USES)
def test_some_cells(use, feature):
    turn = KINDS.index(feature)
    for works in (True, False):
        ways = [way for way in WAYS[use] if (TOLD[use, feature, way] == "") == works]
        check(use, feature, ways[turn % len(ways) :][:1] if ways else [])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("use", USES)
def test_all_cells(use, feature):
    check(use, feature, WAYS[use])
