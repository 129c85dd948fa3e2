"""Parameters of a case and comparisons: what is accepted, and the one line for what is not."""

import json
import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest

from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity, as_json, fields, make
from arlequin.models.checks import non_negative, positive, positive_integer, within
from arlequin.models.errors import UserError


@dataclass(frozen=True)
class Parameters:
    length: Annotated[float, Quantity("m", "length", positive)] = 0.1
    gap: Annotated[float, Quantity("m", "distance", non_negative)] = 0.0
    theta: Annotated[float, Quantity("1", "θ", within, 0.5, 1.0)] = 0.5
    elements: Annotated[int, Quantity("1", "elements", positive_integer)] = 100
    order: Annotated[Literal[1, 2], Quantity("", "order")] = 1
    law: Annotated[Literal["unilateral", "penalty"], Quantity("", "law")] = "unilateral"
    damped: bool = False
    speed: Annotated[float | None, Quantity("m/s", "speed")] = None
    mesh: str = "default.msh"
    part: Annotated[int | Literal["all"], Quantity("", "number of the part", positive_integer)] = 1


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("length", "2e-6", 2e-6),
        ("length", 3, 3.0),
        ("length", np.float32(0.5), 0.5),
        ("elements", "40", 40),
        ("elements", "1e3", 1000),
        ("elements", np.int64(7), 7),
        ("order", "2", 2),
        ("order", 2, 2),
        ("law", "penalty", "penalty"),
        ("damped", "yes", True),
        ("damped", "0", False),
        ("damped", True, True),
        ("speed", "none", None),
        ("speed", None, None),
        ("speed", "-3.5", -3.5),
        ("mesh", "a b.msh", "a b.msh"),
        ("part", "all", "all"),
        ("part", "3", 3),
        ("part", 3, 3),
    ],
)
def test_accepted(name, given, expected):
    value = getattr(make(Parameters, {name: given}), name)
    assert value == expected and type(value) is type(expected)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("length", "long", "length = 'long': must be a finite number > 0 in m"),
        ("length", "", "length = '': must be a finite number"),
        ("part", "some", "part = 'some': must be a whole number ≥ 1 or all"),
        ("part", "0", "part = 0: must be"),
        ("length", "nan", "length = 'nan': must be a finite number"),
        ("length", "-inf", "length = '-inf': must be a finite number"),
        ("length", math.inf, "length = inf: must be a finite number"),
        ("length", None, "length = None: must be"),
        ("length", True, "length = True: must be"),
        ("length", [1.0, 2.0], r"length = \[1.0, 2.0\]: must be"),
        ("length", "-1", "length = -1.0: must be positive"),
        ("gap", -1, "gap = -1.0: must not be negative"),
        ("theta", "0.3", r"theta = 0.3: must lie in \[0.5, 1\]"),
        ("elements", "2.5", "elements = '2.5': must be a whole number ≥ 1"),
        ("elements", 0, "elements = 0: must be"),
        ("order", "3", "order = '3': must be one of 1, 2"),
        ("law", "glue", "law = 'glue': must be one of unilateral, penalty"),
        ("damped", "maybe", "damped = 'maybe': must be true, false"),
        ("speed", "fast", "speed = 'fast': must be a finite number in m/s or none"),
        ("mesh", 3, "mesh = 3: must be text"),
        ("lenght", "1", "lenght: no such parameter, did you mean length.; there are length, gap"),
        ("zzz", "1", "zzz: no such parameter; there are length, gap"),
    ],
)
def test_refused(name, given, says):
    with pytest.raises(UserError, match=says) as caught:
        make(Parameters, {name: given})
    assert caught.value.code == 2 and "\n" not in str(caught.value)


def test_json_gives_the_parameters_back():
    parameters = make(Parameters, {"law": "penalty", "speed": 2.5, "length": 1e-7})
    assert make(Parameters, json.loads(as_json(parameters))) == parameters


def test_a_parameter_without_default_is_asked_for():
    @dataclass(frozen=True)
    class Bare:
        length: float

    with pytest.raises(UserError, match="length: has no default"):
        make(Bare, {})


def test_ranges_in_words():
    shown = {f.name: (f.quantity.range, f.quantity.unit) for f in fields(Parameters)}
    assert shown["length"] == ("> 0", "m") and shown["theta"] == ("0.5 to 1", "1")


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (Check("a", 1.009, 1.0, 0.01), True),
        (Check("a", -1.02, -1.0, 0.01), False),
        (Check("a", 1.0, 0.0, 0.01), False),
        (Check("a", 0.0, 0.0, 0.01), True),
        (Check("a", 0.5, 0.0, 0.6, kind="absolute"), True),
        (Check("a", 1e-13, 0.0, 1e-12, kind="at most"), True),
        (Check("a", 2e-12, 1e-12, 0.0, kind="at most"), False),
        (Check("a", 98.5, 98.0, kind="at least"), True),
        (Check("a", math.nan, 1.0, 1.0), False),
        (Check("a", math.nan, 1.0, 1.0, kind="at most"), False),
        (Check("a", math.nan, 1.0, 1.0, kind="at least"), False),
    ],
)
def test_checks(check, passed):
    assert check.passed is passed


def test_numpy_verdicts_are_plain():
    assert Check("a", np.float64(1.0), np.float64(1.0)).passed is True


def test_kind_of_check():
    with pytest.raises(UserError, match="kind = 'about'"):
        Check("a", 1.0, kind="about")  # type: ignore[arg-type]
