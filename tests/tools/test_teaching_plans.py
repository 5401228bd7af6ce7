"""The plans and the quiz of the teacher's kit agree with the lessons."""

import re
from dataclasses import replace

import pytest

import plans

README = (plans.FOLDER / "README.md").read_text(encoding="utf-8")
QUIZ = (plans.FOLDER / "quiz.md").read_text(encoding="utf-8")
QUESTION = re.compile(
    r"^\*\*(\d)\.\*\* .+?\n((?:- [A-C]\. .+\n)+)\n"
    r"<details><summary>Answer</summary>([A-C])\. (.+)</details>",
    re.M,
)


@pytest.fixture(scope="module")
def course():
    return plans.course()


def example():
    return plans.Course(
        titles={"00": "Ducks", "01": "Swans"},
        files={"00": "00_ducks.ipynb", "01": "01_swans.ipynb"},
        read={"00": 30, "01": 20},  # with the exercises
        exercises={"00": {"0.1": 5, "0.2": 15}, "01": {}},
        predictions={"00": 1, "01": 0},
    )


def test_the_readme_has_the_plans_as_they_are_now():
    for name, table in plans.tables().items():
        place = f"<!-- {name} -->\n{table}\n<!-- end of {name} -->"
        assert place in README, "A lesson's minutes have changed: run `python tools/plans.py`."


def test_the_rows_of_the_day_add_up_and_follow_one_another(course):
    table = plans.day_table(plans.plan()["day"], course)
    rows = re.findall(r"^\| (\d\d:\d\d) \| (\d\d:\d\d) \| (\d+) \|", table, re.M)
    for start, end, minutes in rows:
        assert plans._minutes(end) - plans._minutes(start) == int(minutes)
    assert [row[1] for row in rows[:-1]] == [row[0] for row in rows[1:]]


def test_six_weeks_teach_every_lesson_once_and_in_order(course):
    taught = [number for week in plans.plan()["weeks"]["week"] for number in week["lessons"]]
    assert taught == sorted(course.read)
    assert len(plans.plan()["weeks"]["week"]) == 6


def test_minutes_come_from_reading_times_and_exercises():
    found = example()
    day = {"parts": [{"lesson": "00", "exercises": "all"}, {"lesson": "00", "exercises": ["0.2"]}]}
    assert [part.minutes for part in plans.day_parts(day, found)] == [35, 30]
    week = {"lessons": ["00", "01"], "class": [{"text": "Quiz", "minutes": 7}], "home": []}
    together, alone = plans.week_parts(week, found)
    assert sum(part.minutes for part in together) == 15 + 20 + 7
    assert [(part.what, part.minutes) for part in alone] == [("Exercises 0.1 and 0.2", 20)]


def test_a_plan_that_does_not_fit_is_refused():
    day = {"starts": "09:00", "ends": "09:20", "parts": [{"lesson": "00", "exercises": "all"}]}
    with pytest.raises(ValueError, match=r"ends at 09:35, and plan\.toml allows 09:20"):
        plans.day_table(day, example())
    day["parts"] = [{"lesson": "01", "exercises": ["1.7"]}]
    with pytest.raises(ValueError, match=r"Lesson 01 has no exercise 1\.7"):
        plans.day_table(day, example())
    week = {"about": "Birds", "lessons": ["00"], "class": [], "home": []}
    with pytest.raises(ValueError, match="Week 1 takes 15 minutes"):
        plans.weeks_table({"class_minutes": 9, "home_minutes": 99, "week": [week]}, example())


def test_a_lesson_must_take_longer_than_its_exercises():
    found = replace(example(), read={"00": 20})
    with pytest.raises(ValueError, match="Lesson 00 names 20 minutes, and its exercises alone"):
        found.without_exercises("00")


def test_the_notes_treat_every_lesson(course):
    assert re.findall(r"^\*\*(\d\d) ", README, re.M) == sorted(course.read)


def test_the_quiz_has_three_questions_a_lesson_whose_answers_are_options(course):
    sections = re.split(r"^## (?=\d\d )", QUIZ, flags=re.M)[1:]
    assert [section[:2] for section in sections] == sorted(course.read)
    letters = []
    for section in sections:
        questions = QUESTION.findall(section)
        assert [number for number, *_ in questions] == ["1", "2", "3"]
        assert section.count("<details>") == 3
        for _, options, answer, why in questions:
            assert re.findall("- ([A-C])", options) == ["A", "B", "C"]
            assert len(why) > 20
            letters.append(answer)
    assert set(letters) == set("ABC")
