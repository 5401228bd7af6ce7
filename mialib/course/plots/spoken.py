"""Numbers and labels as alt texts and captions say them.

>>> spoken({"loss": 0.25, "entropy": -0.001})
'loss 0.25; entropy 0.00'
>>> capital("loss gap in nats")
'Loss gap in nats'
"""

from collections.abc import Iterable, Mapping
from math import isnan

from mialib.estimates import Estimate


def spoken(numbers: Mapping[str, float], form: str = "z.2f") -> str:
    """Names and their numbers as one list; "z" in a format means that −0.00 is written 0.00."""
    return listed(f"{name} {value:{form}}" for name, value in numbers.items())


def brief(estimate: Estimate, digits: int = 2) -> str:
    """The value and its interval; the value alone of one training, or why there is no number.

    >>> brief(Estimate(0.5512, 0.5333, 0.5689)), brief(Estimate(0.5512))
    ('0.55 [0.53, 0.57]', '0.55')
    """
    value, low, high = (f"{number:z.{digits}f}" for number in estimate.triple)
    if isnan(estimate.value):
        return estimate.note
    return value if isnan(estimate.low) else f"{value} [{low}, {high}]"


def spoken_points(points: Iterable[tuple[Estimate, Estimate]], form: str = "z.2f") -> str:
    """Points of a plane as a list.

    >>> spoken_points([(Estimate(0.5), Estimate(0.25)), (Estimate(0.75), Estimate(0.0))])
    '(0.50, 0.25), (0.75, 0.00)'
    """
    return ", ".join(f"({x.value:{form}}, {y.value:{form}})" for x, y in points)


def listed(facts: Iterable[str]) -> str:
    """Facts of which some hold commas, as one list."""
    return "; ".join(facts)


def capital(label: str) -> str:
    """A label at the beginning of a sentence; the rest of it stays as it is."""
    return label[0].upper() + label[1:]
