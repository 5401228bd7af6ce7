"""The numbers that the three papers print, as data: PAST, CRL and the sparsity paper.

They lie in `mialib/shipped/published`, a CSV file for each paper, with the place of each number;
`data/published/README.md` says what the columns mean. A number is taken as printed, never
corrected: where a paper contradicts itself, `where` says so.

>>> find("crl", item="crl-table-1a", model="resnet18", method="CRL", metric="test accuracy").value
71.53
>>> [one.printed for one in numbers("past", item="past-table-1", dataset="cifar100")]
['0.575', '0.360']
"""

import csv
from dataclasses import dataclass
from functools import cache

from mialib.errors import check_choice, check_flag
from mialib.shipped import FOLDER

PAPERS = {
    "past": "Defending Membership Inference Attacks via Privacy-aware Sparsity Tuning",
    "crl": "Center-Based Relaxed Learning Against Membership Inference Attacks",
    "sparsity": "Sparsity in neural networks can improve their privacy",
}
SETTING = "setting: "  # how the metric of a setting begins, to be told from a result


@dataclass(frozen=True)
class Published:
    """One number of a paper. What does not apply is "": the dataset of a setting of all, say."""

    paper: str  # a name in PAPERS
    item: str  # the figure or table, "past-fig-6"; what the text alone says, "past-quoted"
    dataset: str  # as `mialib.data` names it
    model: str  # as the paper names it, in small letters
    method: str  # a defense as `mialib.defenses` names it, or the paper's own name
    metric: str  # what was measured, or "setting: " and what was chosen
    value: float | None  # None in a cell that says N/A
    unit: str  # "%" for per cent, "" for a plain number
    where: str  # table, figure or section, and what there is to know of it
    printed: str  # the value with the digits that the paper gives it

    @property
    def is_setting(self) -> bool:
        """Whether the authors chose it; otherwise they measured it."""
        return self.metric.startswith(SETTING)

    @property
    def share(self) -> float | None:
        """The value with per cent taken out: 71.53 % is 0.7153, as mialib counts."""
        if self.value is None or self.unit != "%":
            return self.value
        return self.value / 100


def numbers(
    paper: str,
    *,
    item: str | None = None,
    dataset: str | None = None,
    model: str | None = None,
    method: str | None = None,
    metric: str | None = None,
    settings: bool | None = None,
) -> list[Published]:
    """What a paper prints, in its order: all of it, or what the given names leave.

    `settings` keeps the settings (True) or the results (False) alone. A name that none of the
    numbers left so far has is an error that suggests the nearest.
    """
    check_choice("paper with published numbers", paper, PAPERS)
    found = list(_read(paper))
    given = {"item": item, "dataset": dataset, "model": model, "method": method, "metric": metric}
    for column, name in given.items():
        if name is not None:
            check_choice(f"{column} among these numbers of {paper!r}", name, _names(found, column))
            found = [one for one in found if getattr(one, column) == name]
    if settings is None:
        return found
    check_flag(settings=settings)
    return [one for one in found if one.is_setting == settings]


def find(
    paper: str,
    *,
    item: str | None = None,
    dataset: str | None = None,
    model: str | None = None,
    method: str | None = None,
    metric: str | None = None,
) -> Published:
    """The one number that fits all the given names.

    >>> find("sparsity", item="sparsity-quoted", method="Plain").printed
    '87.5'
    """
    found = numbers(paper, item=item, dataset=dataset, model=model, method=method, metric=metric)
    if len(found) == 1:
        return found[0]
    first, second = (f"{one.item}, {one.method}, {one.metric}" for one in found[:2])
    raise ValueError(
        f"Expected names that fit one number of {paper!r}, found {len(found)} that do: "
        f"({first}), ({second}) … Give more names, or call numbers()."
    )


@cache
def _read(paper: str) -> tuple[Published, ...]:
    path = FOLDER / "published" / f"{paper}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(_published(row) for row in csv.DictReader(file))


def _published(row: dict[str, str]) -> Published:
    printed = row.pop("value")
    value = float(printed) if printed else None
    return Published(**row, value=value, printed=printed)


def _names(found: list[Published], column: str) -> list[str]:
    """Every name that a column has, in the paper's order."""
    return list(dict.fromkeys(getattr(one, column) for one in found))
