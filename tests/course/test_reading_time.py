"""The time to read that a lesson names is counted, and no lesson takes more than 45 minutes.

Words of prose at 130 per minute, because much of it is read twice, and the minutes that the
exercises name, rounded up to the next five. What is folded away, code and references are not read
in that time.
"""

import re
from math import ceil

import pytest

import notebooks

WORDS_PER_MINUTE = 130
LONGEST = 45  # minutes
STEP = 5
NOT_READ = (
    r"## References.*",
    r"<details>.*?</details>",
    r"```.*?```",
    r"(?<=\])\([^)]*\)",  # where a link leads
)
ONE_WORD = (r"\{\{.+?\}\}", r"\$\$.+?\$\$", r"\$[^$]+\$")  # a number, a formula
EXERCISE = re.compile(r"^#+ Exercise \d+\.\d+.*?$", re.M)
MINUTES = re.compile(r" · difficulty [1-5]/5 · about (\d+) minutes$")

SERIES = notebooks.lessons()
each_lesson = pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.name)


def text(lesson) -> str:
    return "\n\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")


def words(prose: str) -> int:
    for pattern in NOT_READ:
        prose = re.sub(pattern, "", prose, flags=re.S)
    for pattern in ONE_WORD:
        prose = re.sub(pattern, "one", prose, flags=re.S)
    return len(re.findall(r"\w[\w'’.,-]*", prose))


def exercise_minutes(prose: str) -> list[int]:
    found = [MINUTES.search(heading) for heading in EXERCISE.findall(prose)]
    return [int(one[1]) for one in found if one]


def minutes(prose: str) -> int:
    """The whole time, rounded up to the next five minutes."""
    exact = words(prose) / WORDS_PER_MINUTE + sum(exercise_minutes(prose))
    return STEP * ceil(exact / STEP)


@each_lesson
def test_the_time_to_read_is_counted(lesson):
    counted = minutes(text(lesson))
    assert lesson.front["read"] == counted, f"{lesson.name}: write `read: {counted}`"


@each_lesson
def test_no_lesson_takes_longer_than_a_school_hour(lesson):
    assert minutes(text(lesson)) <= LONGEST


@each_lesson
def test_every_exercise_names_its_difficulty_and_its_minutes(lesson):
    headings = EXERCISE.findall(text(lesson))
    assert len(headings) >= 2, "a lesson has at least two exercises"
    assert len(exercise_minutes(text(lesson))) == len(headings), headings


def test_folds_code_links_and_references_are_not_read():
    folded = "```python\nthree\n```\n<details>four</details>"
    assert words(f"One [two](three.ipynb)\n{folded}\n## References\nfive") == 2


def test_a_number_and_a_formula_are_one_word_each():
    assert words("It has {{an.advantage('loss'):.2f}} and $a + b = c$.") == 5


def test_exercises_count_by_the_minutes_they_name():
    prose = "word " * 131 + "\n## Exercise 1.1 · difficulty 2/5 · about 10 minutes\n"
    assert minutes(prose) == 15
