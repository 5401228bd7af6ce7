"""The plans of the teacher's kit: minutes from the lessons, sums and clock times by program.

    python tools/plans.py       fills the tables in notebooks/teaching/README.md

`plan.toml` says what is taught when. How long a lesson takes, exercises included, stands in its
front matter, how long an exercise takes in its heading, so a plan cannot disagree with the course;
one that no longer fits its day or its week is refused.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import exercises
import notebooks
import readme
from paths import ROOT

FOLDER = ROOT / "notebooks" / "teaching"
DISCUSSION = 3  # minutes for each *Predict*: a show of hands, and why


@dataclass(frozen=True)
class Course:
    """Titles and minutes: of lessons by number, of exercises by lesson and number.

    read         the minutes of a lesson with all its exercises
    predictions  how often a lesson asks for a prediction, which a class discusses
    """

    titles: dict[str, str]
    files: dict[str, str]
    read: dict[str, int]
    exercises: dict[str, dict[str, int]]
    predictions: dict[str, int]

    def in_class(self, number: str) -> int:
        """The minutes of a lesson in class, without exercises, rounded up to the next five."""
        minutes = self.without_exercises(number) + DISCUSSION * self.predictions[number]
        return 5 * ceil(minutes / 5)

    def without_exercises(self, number: str) -> int:
        """The minutes that it takes to read a lesson."""
        minutes = self.read[number] - sum(self.exercises[number].values())
        if minutes <= 0:
            raise ValueError(
                f"Lesson {number} names {self.read[number]} minutes, and its exercises alone take "
                f"{self.read[number] - minutes}. Count its time to read anew."
            )
        return minutes


@dataclass(frozen=True)
class Part:
    """What is done, and for how many minutes."""

    what: str
    minutes: int


def course() -> Course:
    """What the sources of the lessons say."""
    series = notebooks.lessons()
    return Course(
        titles={one.number: one.front["title"] for one in series},
        files={one.number: f"{one.name}.ipynb" for one in series},
        read={one.number: int(one.front["read"]) for one in series},
        exercises={
            one.number: {each.number: each.minutes for each in exercises.of_lesson(one.cells)}
            for one in series
        },
        predictions={
            one.number: sum(cell.source.count("**Predict**") for cell in one.cells)
            for one in series
        },
    )


def plan(path: Path = FOLDER / "plan.toml") -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- one day


def day_parts(planned: dict[str, Any], found: Course) -> list[Part]:
    """Every part of the day, lessons with the exercises that are done in class."""
    return [_day_part(part, found) for part in planned["parts"]]


def _day_part(part: dict[str, Any], found: Course) -> Part:
    if "text" in part:
        return _written(part)
    number = part["lesson"]
    known = found.exercises[number]
    chosen = list(known) if part["exercises"] == "all" else part["exercises"]
    unknown = [one for one in chosen if one not in known]
    if unknown:
        raise ValueError(f"Lesson {number} has no exercise {', '.join(unknown)}; see plan.toml.")
    named = f", with {_named(chosen).lower()}" if chosen else ""
    minutes = found.in_class(number) + sum(known[one] for one in chosen)
    return Part(f"{_link(number, found)}{named}", minutes)


def _named(chosen: list[str]) -> str:
    """Such as: Exercises 9.1, 9.2 and 9.3."""
    *before, last = chosen
    return f"Exercises {', '.join(before)} and {last}" if before else f"Exercise {last}"


def _written(part: dict[str, Any]) -> Part:
    return Part(part["text"], part["minutes"])


def _link(number: str, found: Course) -> str:
    return f"[{number} {found.titles[number]}](../{found.files[number]})"


def day_table(planned: dict[str, Any], found: Course) -> str:
    """The day by the clock."""
    rows = ["| from | to | minutes | |", "|---|---|---|---|"]
    now = _minutes(planned["starts"])
    for part in day_parts(planned, found):
        then = now + part.minutes
        rows.append(f"| {_clock(now)} | {_clock(then)} | {part.minutes} | {part.what} |")
        now = then
    if now > _minutes(planned["ends"]):
        raise ValueError(
            f"The day ends at {_clock(now)}, and plan.toml allows {planned['ends']}. "
            "Leave something out."
        )
    return "\n".join(rows)


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


# ---------------------------------------------------------------- six weeks


def week_parts(week: dict[str, Any], found: Course) -> tuple[list[Part], list[Part]]:
    """What is done in class and at home: lessons here, their exercises there."""
    together = [Part(_link(number, found), found.in_class(number)) for number in week["lessons"]]
    together += [_written(part) for part in week["class"]]
    alone = [_written(part) for part in week["home"]]
    for number in week["lessons"]:
        known = found.exercises[number]
        if known:
            alone.append(Part(_named(list(known)), sum(known.values())))
    return together, alone


def weeks_table(planned: dict[str, Any], found: Course) -> str:
    """Week by week: what in class, what at home, and how long."""
    rows = ["| week | in class | minutes | at home | minutes |", "|---|---|---|---|---|"]
    for at, week in enumerate(planned["week"], 1):
        cells = [f"**{at}. {week['about']}**"]
        limits = (planned["class_minutes"], planned["home_minutes"])
        for parts, most in zip(week_parts(week, found), limits, strict=True):
            total = sum(part.minutes for part in parts)
            if total > most:
                raise ValueError(f"Week {at} takes {total} minutes, and plan.toml allows {most}.")
            cells.append("<br>".join(f"{part.what} ({part.minutes})" for part in parts))
            cells.append(str(total))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def tables() -> dict[str, str]:
    """The tables of the README, by the names of their places."""
    planned = plan()
    found = course()
    return {
        "day": day_table(planned["day"], found),
        "weeks": weeks_table(planned["weeks"], found),
    }


def main() -> None:
    path = FOLDER / "README.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(readme.filled(text, **tables()), encoding="utf-8")


if __name__ == "__main__":
    main()
