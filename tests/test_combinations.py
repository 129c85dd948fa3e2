"""What combines: the tables of docs/guide/what-combines.md, cell by cell.

The slow test runs all cells, the other one of each feature and use a scheme that works and one that is refused.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests are imported by themselves

from combinations.page import PAGE, TITLES, read, reason, text
from combinations.systems import FEATURES, SCHEMES
from combinations.uses import USES, outcome

TOLD = read(PAGE.read_text(encoding="utf-8"))
KINDS = list(FEATURES)


def check(use, feature, schemes):
    for scheme in schemes:
        assert reason(outcome(use, feature, scheme)) == TOLD[use, feature, scheme], scheme


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
        schemes = [scheme for scheme in SCHEMES if (TOLD[use, feature, scheme] == "") == works]
        check(use, feature, schemes[turn % len(schemes) :][:1] if schemes else [])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("use", USES)
def test_all_cells(use, feature):
    check(use, feature, SCHEMES)
