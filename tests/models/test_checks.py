"""Parameters are let through unchanged or refused in one line that names them."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arlequin.models import checks
from arlequin.models.errors import UserError

NUMBERS = (checks.finite, checks.positive, checks.non_negative, checks.integer, checks.positive_integer)
NOT_NUMBERS = (math.nan, math.inf, -math.inf, np.nan, np.float32("inf"), "1", None, True, np.True_, 1j, [1.0])


@pytest.mark.sampled(7)
@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_no_finite_number_is_refused(check, value):
    with pytest.raises(UserError) as caught:
        check("young", value)
    line = str(caught.value)
    assert line.startswith("young = ") and "\n" not in line and caught.value.code == 2


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), Fraction(2)], ids=repr)
def test_every_kind_of_number_is_taken(value):
    for check in NUMBERS:
        assert check("x", value) == 2 and type(check("x", value)) in (int, float)
    assert checks.within("x", value, 0, 2) == 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_signs(value):
    def passes(check):
        try:
            return check("x", value) == value
        except UserError:
            return False

    held = abs(value) <= 1e100
    assert passes(checks.finite) == held
    assert passes(checks.positive) == (held and value >= 1e-100)
    assert passes(checks.non_negative) == (held and value >= 0)
    whole = float(value).is_integer() and abs(value) <= 2.0**62
    assert passes(checks.integer) == whole
    assert passes(checks.positive_integer) == (whole and value >= 1)
    assert passes(lambda n, v: checks.within(n, v, 0.5, 1)) == (0.5 <= value <= 1)


def test_open_ends_and_bounds():
    with pytest.raises(UserError, match=r"poisson = 0.5: must lie in \]-1, 0.5\["):
        checks.within("poisson", 0.5, -1, 0.5, open_low=True, open_high=True)
    with pytest.raises(UserError, match=r"n = 9: must be a whole number in \[1, 8\]"):
        checks.integer("n", 9, 1, 8)
    with pytest.raises(UserError, match=r"elements = 2.5: must be a whole number of at least 1"):
        checks.positive_integer("elements", 2.5)
    assert checks.integer("n", 10**18) == 10**18
    with pytest.raises(UserError, match=r"n = 10{30}: must be a whole number of at most"):
        checks.integer("n", 10**30)
    with pytest.raises(UserError, match="stiffness = 1e-150: must be positive, 1e-100 at least"):
        checks.positive("stiffness", 1e-150)
    with pytest.raises(UserError, match=r"x = .*: must be numbers of a size of at most 1e\+100"):
        checks.finite_array("x", [1.0, 1e150])
    with pytest.raises(UserError):
        checks.finite("n", 10**400)


def test_choices():
    assert checks.one_of("mass", "lumped", ("consistent", "lumped")) == "lumped"
    for value in ("Lumped", None, np.ones(2), ["lumped"]):
        with pytest.raises(UserError, match="must be one of consistent, lumped"):
            checks.one_of("mass", value, ("consistent", "lumped"))


@pytest.mark.parametrize("value", ["", " ", "a/b", ".", "..", None, 3])
def test_names_that_cannot_be_a_group(value):
    with pytest.raises(UserError):
        checks.valid_name(value)
    assert checks.valid_name("coarse") == "coarse"


def test_arrays():
    assert checks.finite_array("point", (1, 2), (2,)).dtype == np.float64
    assert checks.finite_array("x", [[1, 2]], (None, 2)).shape == (1, 2)
    for value in ([1, math.nan], ["a", "b"], [[1], [1, 2]], [1j, 0], [True, False], [1, 2, 3], 1.0, None):
        with pytest.raises(UserError, match=r"^point = .*must be finite numbers of shape \(2\)"):
            checks.finite_array("point", value, (2,))
    given_array = np.zeros(2)
    checks.finite_array("point", given_array, (2,))[0] = 1
    assert given_array[0] == 0


def test_errors_are_one_line_and_travel_between_processes():
    error = UserError("two\n lines", code=1)
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == "two lines" and back.code == 1
    assert len(str(UserError.parameter("x", np.zeros(10**4), "must be positive"))) < 100
    assert str(UserError.parameter("x", np.float64(-1), "must be positive")) == "x = -1.0: must be positive"
