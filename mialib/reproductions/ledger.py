"""The ledger: one row per published result, what was printed, what we found, why they differ.

    entries = ledger.entries()              # every row at every profile that was run
    as_text(entries)                        # coverage, then a line for each row
    faults(entries)                         # rows without a section, a state or a reason

    mialib ledger --write LEDGER.md         # the same as a readable page

The rows' words are in `mialib/shipped/ledger.toml`; the numbers are those of `mialib reproduce`:
the first line that an item gives to a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan

from mialib import profiles, progress, shipped
from mialib.course.plots.spoken import with_minus_signs
from mialib.foreign import parse_toml
from mialib.reproductions.items import NOT_RUN, REAL, STAND_IN, Evidence, Item, Line
from mialib.reproductions.registry import ITEMS
from mialib.results import Results

STATES = (REAL, STAND_IN, NOT_RUN)
PHOTOGRAPHS = "cifar10"
# What a row of the page is filed under.
PAPERS = {"past": "PAST", "crl": "CRL", "sparsity": "Sparsity", "wemem": "WeMem"}


@dataclass(frozen=True)
class LedgerRow:
    """The words of a row: see the head of `ledger.toml`."""

    name: str
    item: str
    paper: str
    shows: str
    claim: str
    published: str
    lesson: str
    section: str
    reason: str
    data: str = ""
    legible: bool = True
    shown: bool = True


@dataclass(frozen=True)
class Standing:
    """What was found at one profile.

    state     real, stand-in or not run
    line      the number, if there is one
    data      the records that it comes from; "" where none are needed
    scale     how many records, epochs and trainings
    """

    profile: str
    state: str
    line: Line | None = None
    data: str = ""
    scale: str = ""


@dataclass(frozen=True)
class Entry:
    """A row and how it stands at each profile that was run."""

    row: LedgerRow
    standings: tuple[Standing, ...]

    @property
    def state(self) -> str:
        """The best of all profiles."""
        found = [standing.state for standing in self.standings]
        return min([*found, NOT_RUN], key=STATES.index)

    @property
    def has_number(self) -> bool:
        return any(_is_number(standing.line) for standing in self.standings)

    @property
    def has_number_of_photographs(self) -> bool:
        return any(
            _is_number(standing.line) and standing.data == PHOTOGRAPHS
            for standing in self.standings
        )


@cache
def rows() -> tuple[LedgerRow, ...]:
    """The rows in the order of the papers."""
    text = (shipped.FOLDER / "ledger.toml").read_text(encoding="utf-8")
    return tuple(LedgerRow(**one) for one in parse_toml(text)["row"])


def entries() -> list[Entry]:
    """Every row, with what is found at each profile that has results."""
    by_name: dict[str, list[Standing]] = {row.name: [] for row in rows()}
    wanted = [(profile, item) for profile in profiles.NAMES for item in _wanted(profile)]
    evidence = {profile: Evidence(profile) for profile in profiles.NAMES}
    with progress.bar("reading the evidence", total=len(wanted), unit="item") as step:
        for profile, item in wanted:
            for name, standing in standings(item, evidence[profile]).items():
                by_name[name].append(standing)
            step()
    return [Entry(row, tuple(by_name[row.name])) for row in rows()]


def _wanted(profile: str) -> list[Item]:
    """The items that can be made there; what needs no training is made once, at the first."""
    names = dict.fromkeys(row.item for row in rows())
    known = [ITEMS[name] for name in names if name in ITEMS]
    return [
        item
        for item in known
        if profile in item.plans or (not item.needs_training and profile == profiles.NAMES[0])
    ]


def standings(item: Item, evidence: Evidence) -> dict[str, Standing]:
    """Each of the item's rows at the evidence's profile; nothing where nothing was run."""
    if item.state(evidence) == NOT_RUN:
        return {}
    lines = item.make(evidence).lines
    read = [evidence.results(plan) for plan in item.plans.get(evidence.profile, ())]
    return {
        row.name: Standing(
            profile=evidence.profile if item.needs_training else "any",
            state=item.state(evidence, row.data),
            line=next((line for line in lines if line.row == row.name), None),
            data=_data(item, evidence, read),
            scale=scale(read) if read or not item.banks else scale_of_banks(item, evidence),
        )
        for row in rows()
        if row.item == item.name
    }


def _data(item: Item, evidence: Evidence, read: Sequence[Results]) -> str:
    """The records that the numbers come from: those of the results, or of the reference models."""
    if read:
        return read[0].about["data"]
    experiments = profiles.load(evidence.profile).experiments
    return experiments[item.banks[0]].data if item.banks else ""


def scale_of_banks(item: Item, evidence: Evidence) -> str:
    """How many records and reference models the numbers rest on."""
    bank = evidence.bank(item.banks[0])
    return f"{len(bank.labels):,} records, {len(bank)} reference models"


def scale(read: Sequence[Results]) -> str:
    """How many records, epochs and trainings the numbers rest on, of each plan that differs."""
    if not read:
        return "no training"
    return "; ".join(dict.fromkeys(scale_of_plan(one) for one in read))


def scale_of_plan(results: Results) -> str:
    members = int(results.is_member.sum())
    others = len(results.is_member) - members
    rows = results.rows
    plain = next((row for row in rows if not row.settings.get("tuned")), rows[0])
    seeds = len({row.seed for row in rows})
    return f"{members:,} + {others:,} records, {plain.settings['epochs']} epochs, {seeds} seeds"


def faults(found: Sequence[Entry]) -> list[str]:
    """What a ledger may not lack, as sentences."""
    missing = []
    for entry in found:
        row = entry.row
        for word in ("lesson", "section", "reason"):
            if not getattr(row, word):
                missing.append(f"{row.name} has no {word}.")
        if row.item not in ITEMS:
            missing.append(f"{row.name} has no state: no item {row.item} can be made.")
    return missing


# Words.


def coverage(found: Sequence[Entry]) -> str:
    """The totals, in a sentence."""
    states = Counter(entry.state for entry in found)
    told = ", ".join(f"{states[state]} {state}" for state in STATES)
    numbers = sum(entry.has_number for entry in found)
    photographs = sum(entry.has_number_of_photographs for entry in found)
    return (
        f"{len(found)} published results: {told}. {numbers} have a number of our own, "
        f"{photographs} of them from photographs."
    )


def as_text(found: Sequence[Entry]) -> str:
    """For a terminal: the coverage, then a line for each row and profile."""
    lines = [coverage(found)]
    for entry in found:
        row = entry.row
        lines.append(f"\n{row.name:<26}{entry.state:<10}{row.shows}")
        lines.append(f"{'':<26}published: {row.published or 'a picture only'}")
        lines += [f"{'':<26}{told_standing(standing)}" for standing in entry.standings]
    return "\n".join(lines)


def told_standing(standing: Standing) -> str:
    """One profile's number, and what it rests on."""
    line = standing.line
    number = "no number" if line is None else f"{line.what}: {line.own}"
    return f"{standing.profile}: {number} ({standing.state}; {standing.scale})"


def as_markdown(found: Sequence[Entry]) -> str:
    """The readable page."""
    parts = [
        "# The ledger",
        "Every figure, table and quoted number of the three papers, and one claim of a fourth: "
        "what was printed, what this course finds, and why the two differ. `mialib ledger --write "
        "LEDGER.md` makes this page from the results at hand; `mialib reproduce ITEM` makes one "
        "item with its figure. A number is *real* on the paper's own dataset, though a network or "
        "its training may be smaller, and a *stand-in* on other data. Intervals are 95 %, over "
        "trainings and records together.",
        coverage(found),
    ]
    for paper, title in PAPERS.items():
        of_paper = [entry for entry in found if entry.row.paper == paper]
        if of_paper:
            parts.append(f"## {title}")
            parts += [_section(entry) for entry in of_paper]
    return "\n\n".join(parts) + "\n"


def _section(entry: Entry) -> str:
    row = entry.row
    where = f"[{row.lesson}](notebooks/{row.lesson}.ipynb), “{row.section}”"
    lines = [
        f"### {row.name}",
        f"{row.shows} **{entry.state}**; `mialib reproduce {row.item}`; {where}.",
        "",
        f"- Claim: {row.claim}",
        f"- Published: {row.published or 'only as a picture'}",
    ]
    for standing in entry.standings:
        told = with_minus_signs(told_standing(standing))
        lines.append(f"- Ours at `{told.replace(':', '`:', 1)}")
    if not entry.standings:
        lines.append("- Ours: not run at any profile yet")
    lines.append(f"- Why it differs: {row.reason}")
    return "\n".join(lines)


def _is_number(line: Line | None) -> bool:
    return line is not None and not isnan(line.own.value)
