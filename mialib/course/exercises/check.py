"""How a self-check works: it takes the learner's function and answers with a `Verdict`.

Each lesson has its checks in a module of its own, `lesson_00` and so on. Two ways lead to one:

    check_doubled = same_as(lambda x: 2 * x, (3,), (np.array([1.0, 2.0]),), hint="Twice as much.")

    @check
    def check_doubled(answer):
        '''A function of one's own returns a complaint, or None where the answer is right.'''
        return None if answer(3) == 6 else f"For 3 expected 6, found {answer(3)}."

A judgement is checked in the same way: its function takes nothing and returns what the learner
concluded, sentences by their letters (`chosen`), or numbers and names that shipped results know.

A check says *not done yet*, *not quite* or *right*. It never stops a notebook, so that *Run all*
works before the exercises are done.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from mialib.foreign import in_markdown

Answer = Callable[..., Any]  # the learner's function
Ask = Callable[[Answer], "str | None"]  # gives a complaint about an answer, or None


@dataclass(frozen=True)
class Verdict:
    """What a check has to say: whether the answer is `right`, a `headline` and the `detail`."""

    right: bool
    headline: str
    detail: str = ""

    @property
    def text(self) -> str:
        return f"{self.headline} {self.detail}".strip()

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        mark = "✔" if self.right else "✎"
        return f"{mark} **{self.headline}** {in_markdown(self.detail)}".strip()


def check(ask: Ask) -> Callable[[Answer], Verdict]:
    """Turn a function that returns a complaint, or None, into a check that never raises."""

    @wraps(ask)
    def checked(answer: Answer) -> Verdict:
        if not callable(answer):
            kind = type(answer).__name__
            return _not_quite(f"Hand over the function itself, without calling it; found {kind}.")
        try:
            complaint = ask(_never_none(answer))
        except NotImplementedError:
            advice = 'Replace "raise NotImplementedError" and run the cell again.'
            return Verdict(False, "Not done yet.", advice)
        except ReturnedNoneError:
            return _not_quite('Your function returned None. Does it end with "return"?')
        except Exception as error:
            return _not_quite(_story(error, answer))
        return _not_quite(complaint) if complaint else Verdict(True, "Right.")

    return checked


def same_as(reference: Answer, *cases: tuple, hint: str = "") -> Callable[[Answer], Verdict]:
    """A check that compares the answer with a reference on some arguments.

    The hint names the usual mistake.
    """

    def ask(answer: Answer) -> str | None:
        for case in cases:
            expected = np.asarray(reference(*case))
            found = np.asarray(answer(*map(_copied, case)))
            arguments = ", ".join(shown(argument) for argument in case)
            if found.shape != expected.shape:
                shapes = f"expected an answer of shape {expected.shape}, found {found.shape}"
                return f"For ({arguments}) {shapes}."
            if not np.allclose(found, expected, rtol=1e-6, atol=1e-7):
                return f"For ({arguments}) {_contrast(expected, found)}. {hint}".strip()
        return None

    return check(ask)


def chosen(right: str, **why: str) -> Callable[[Answer], Verdict]:
    """A check of lettered sentences: the answer, called without arguments, names those that hold.

    `why` has the reason for each letter, whether it holds or not.

        check_may_be_said = chosen("B", A="It was not measured.", B="Ten trainings say so.")
    """
    letters = ", ".join(why)

    def ask(answer: Answer) -> str | None:
        found = answer()
        named = {letter for letter in "".join(found).upper() if letter.isalnum()}
        if not named <= set(why):
            return f"Return some of the letters {letters} as one text; found {found!r}."
        for letter, reason in why.items():
            if letter in named and letter not in right:
                return f"{letter} does not hold. {reason}"
            if letter in right and letter not in named:
                return f"One sentence that holds is missing. {reason}"
        return None

    return check(ask)


def shown(value: object, digits: int = 4) -> str:
    """A number or an array with so many significant digits; of a long array both ends.

    >>> shown(0.00056123), shown(np.array([1, 2])), shown(0.1 + 0.2, digits=17)
    ('0.0005612', '[1 2]', '0.30000000000000004')
    """

    def significant(number: np.floating) -> str:
        return f"{number:.{digits}g}"

    return np.array2string(np.asarray(value), threshold=8, formatter={"float_kind": significant})


class ReturnedNoneError(Exception):
    """The learner's function gave None."""


def _not_quite(complaint: str) -> Verdict:
    return Verdict(False, "Not quite.", complaint)


def _never_none(answer: Answer) -> Answer:
    @wraps(answer)
    def call_answer(*arguments: object) -> object:
        result = answer(*arguments)
        if result is None:
            raise ReturnedNoneError
        return result

    return call_answer


_CALL = "call_answer"  # An error that begins in this frame is one of the call itself.


def _story(error: Exception, answer: Answer) -> str:
    """What went wrong, and in which line of the learner's code."""
    what = f"{type(error).__name__}: {error}"
    file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file]
    if not own and frames[-1].name == _CALL:
        return f"Your function could not be called with the arguments of this exercise: {what}"
    if not own:
        return f"What your function returned could not be used: {what}"
    line = f"line {own[-1].lineno}"
    if own[-1].line:
        line += f", `{own[-1].line}`"
    return f"Your function raised {what} (in {line})"


def _contrast(expected: np.ndarray, found: np.ndarray) -> str:
    """Expected and found, with as many digits as it takes to see that they differ."""
    where = ""
    if expected.size > 8:  # Most of the array is not shown, so a place is named that differs.
        place = np.argwhere(~np.isclose(found, expected, rtol=1e-6, atol=1e-7))[0]
        expected, found = expected[tuple(place)], found[tuple(place)]
        where = f" at place {place.tolist()}"
    for digits in (4, 8, 17):
        wanted = shown(expected, digits)
        got = shown(found, digits)
        if wanted != got:
            break
    return f"expected {wanted}, found {got}{where}"


def _copied(argument: object) -> object:
    """An answer that changes its arguments in place must not spoil the comparison."""
    return argument.copy() if isinstance(argument, np.ndarray) else argument
