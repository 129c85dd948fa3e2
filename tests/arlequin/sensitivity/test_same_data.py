"""What counts as the same data: functions of a script over the same closure among it."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import arlequin as aq
from arlequin.system.same_data import same_data


def load(amplitude, rate=3.0, table=(1.0, 2.0)):
    """A function over a closure, made anew on each call."""
    values = np.array(table)
    return lambda t, shift=0.5: amplitude * np.sin(rate * t + shift) * values


@dataclass
class Force:
    size: float
    kept: list

    def __call__(self, t):
        return self.size * t


def bar(young=2e11, force=5.0):
    steel = aq.LinearElastic(young=young, poisson=0.0, density=7800.0)
    mesh = aq.mesh.interval(0.0, 1.0, cells=4)
    return aq.Bar("bar", mesh, steel, section=1e-4, tractions={"right": lambda x, t: (force * t,)})


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (load(1.0), load(1.0), True),
        (load(1.0), load(1.0 + 1e-15), False),
        (load(1.0), load(1.0, table=(1.0, 2.1)), False),
        (load(1.0), lambda t, shift=0.5: 0.0, False),
        (functools.partial(load, 1.0), functools.partial(load, 1.0), True),
        (functools.partial(load, 1.0), functools.partial(load, rate=1.0), False),
        (Force(1.0, [1]).__call__, Force(1.0, [1]).__call__, True),
        (Force(1.0, [1]).__call__, Force(1.0, [2]).__call__, False),
        ({"a": [1, (2.0, None)]}, {"a": [1, (2.0, None)]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        (1, 1.0, False),
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), False),  # cannot be compared
        (np.random.default_rng(0), np.random.default_rng(0), False),
        (bar(), bar(), True),
        (bar(), bar(young=2.1e11), False),
        (bar(), bar(force=6.0), False),
    ],
)
def test_same_data(one, other, same):
    assert same_data(one, other) is same


def test_a_list_that_holds_itself_is_compared():
    one, other = [1.0], [1.0]
    one.append(one)
    other.append(other)
    assert same_data(one, other)


@pytest.mark.parametrize("changed", range(6))
def test_one_of_many_functions_differs(changed):
    """Objects that the comparison makes on its way must not be taken for each other."""
    some, others = ([load(1.0 + (i == k)) for i in range(6)] for k in (changed, 99))
    assert not same_data(some, others)
    assert same_data(others, [load(1.0) for _ in range(6)])
