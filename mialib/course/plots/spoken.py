"""Numbers and labels as alt texts and captions say them.

>>> spoken({"loss": 0.25, "entropy": -0.001})
'loss 0.25; entropy 0.00'
>>> capital("loss gap in nats")
'Loss gap in nats'
>>> aloud("uniform ℓ1: from -3.1e-05 to $X^{(1)}$")
'uniform L1: from −3.1 × 10 to the −5 to X (1)'
>>> aloud("Gini of |w|, after Fig. 2: γ^α < 4×4")
'Gini of the size of w, after figure 2: γ to the α less than 4 by 4'
"""

import re
from calendar import month_name
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


def in_one_line(label: str) -> str:
    """A label that stands in two lines beside an axis.

    >>> in_one_line("width 5,\\nafter 9 epochs")
    'width 5, after 9 epochs'
    """
    return label.replace("\n", " ")


def capital(label: str) -> str:
    """A label at the beginning of a sentence; the rest of it stays as it is."""
    return label[0].upper() + label[1:]


def aloud(text: str) -> str:
    """A text for ears: what a speech program would spell out or lose is written as it is said.

    espeak-ng reads "ℓ1" as "letter two one one three one", "$" as "dollar" and "N²" as "N two"; the
    hyphens of "1e-05" and "[-0.1, 0.2]", "<", "^", "|", the slash of "a / b" and a dash that fills
    a cell it does not say at all. Of "√(" it says "square", of the hyphens in a date "dash", and it
    stops for breath after "Fig."
    """
    for written, said in SAID:
        text = written.sub(said, text)
    return with_minus_signs(text)


def _formula_aloud(match: re.Match) -> str:
    """Bare letters and numbers: "$R_2$" is said "R 2"."""
    without_braces = re.sub(r"[{}\\]", "", match[1])
    return re.sub(r"[_^]", " ", without_braces)


def _power_aloud(match: re.Match) -> str:
    sign = "" if match[1] == "+" else "−"
    return f" × 10 to the {sign}{match[2]}"


def _date_aloud(match: re.Match) -> str:
    year, month, day = (int(part) for part in match.groups())
    return f"{day} {month_name[month]} {year}"


def with_minus_signs(text: str) -> str:
    """A hyphen before a number as a minus sign: read aloud, "[-0.1, 0.2]" loses its hyphen."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


# What is written, and how it is said, in this order.
SAID = [
    (re.compile(written), said)
    for written, said in (
        (r"\$(?!\s)([^$]+)(?<!\s)\$", _formula_aloud),  # "5 $ and $ 6" is none
        (r"(?<=\d)e([+−-])0*(\d+)", _power_aloud),
        (r"\|([^|\s]+)\|", r"the size of \1"),
        (r"(?<=\S)\^", " to the "),
        (r"\^", "to the "),
        (r"(?<=\d)×(?=\d)", " by "),
        (r"(?<![\w-])(\d{4})-(0[1-9]|1[0-2])-(\d{2})(?![\w-])", _date_aloud),
        (r"(?<!\S)(\d)/(\d)(?![\w/])", r"\1 of \2"),  # difficulty 2/5
        (r"(?<!\S)/(?!\S)", "slash"),
        (r"^–$|(?<!\S)–(?=:)", "dash"),  # an empty cell, and the note on what it means
        (r"(?<!\S)<(?!\S)", "less than"),
        (r"(?<!\S)>(?!\S)", "greater than"),
        (r"\bFig\.", "figure"),
        (r"\bEq\.", "equation"),
        ("√", "the square root of "),
        ("²", " squared"),
        ("³", " cubed"),
        ("∂", "partial "),
        ("∇", "nabla "),
        ("ℓ", "L"),
    )
]
