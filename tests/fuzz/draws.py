"""What the fuzzer calls: commands with parameters drawn from their kinds and from extreme values."""

import random
from collections.abc import Iterator
from typing import Any

from arlequin.cases.case import registry
from arlequin.cases.case.parameters import Field, fields

BAD = ("0", "-1", "5e-324", "1e-300", "1e-150", "1e150", "1e300", "1.8e308", "-1e30", "nan", "inf", "half", "none", "")
NUMBERS = tuple(f"1e{power}" for power in (-30, -25, -20, -15, -12, -9, -6, -3, 0, 3, 6, 9, 12, 15, 20, 25, 30))
BAD_INTEGERS = ("0", "-1", "1e9", "1e21", "9223372036854775808", "1e300", "2.5", "none")
INTEGERS = ("1", "2", "3", "7", "30", "300", "3000", "30000", "1e6", "5e7")
FACTORS = (-1.0, 1e-3, 0.1, 0.5, 2.0, 10.0, 1e3, 1e4)
TEXTS = ("", "none", "missing.msh", "0", "/")


def commands(seed: int, count: int) -> Iterator[list[str]]:
    """`run` and `check` of all cases in turn, one to three of their parameters drawn."""
    draw = random.Random(seed)
    names = list(registry.names())
    known = {name: fields(registry.load(name).parameters) for name in names}
    for i in range(count):
        name = names[i % len(names)]
        chosen = draw.sample(known[name], min(len(known[name]), draw.choice((1, 1, 1, 2, 3))))
        verb = "check" if draw.random() < 0.3 else "run"
        yield [verb, name, *(f"{field.name}={value(draw, field)}" for field in chosen)]


def value(draw: random.Random, field: Field) -> str:
    """A value for a parameter, likely a bad one."""
    if field.kind is None:
        return str(draw.choice([*field.choices, "nothing"]))
    if field.kind is bool:
        return draw.choice(("true", "false", "maybe"))
    if field.kind is str:
        return draw.choice(TEXTS)
    own: Any = field.default
    if isinstance(own, int | float) and draw.random() < 0.4:
        scaled = own * draw.choice(FACTORS)
        return str(round(scaled)) if field.kind is int else repr(scaled)
    if draw.random() < 0.3:
        return draw.choice(BAD_INTEGERS if field.kind is int else BAD)
    return draw.choice(INTEGERS if field.kind is int else NUMBERS)
