"""Hostile values for every argument of every public function: each ends in a sentence or an answer.

The rule stands in tests/support/fuzz_verdict.py, the values in hostile.py, a valid call of each
function in fuzz_calls.py. `make test` tries a sample that is always the same, `make soak` all.
"""

import importlib
import os
import zlib

import numpy as np
import pytest

from fuzz_calls import CALLS
from fuzz_public import NO_DOORS, is_asked, public_callables
from fuzz_verdict import Call, fault_of, fault_of_error
from fuzz_worker import Case, faults_of
from hostile import HOSTILE, twists_of
from mialib import metrics
from mialib.errors import check_range

ALL = os.environ.get("MIALIB_FUZZ") == "all"
SAMPLE = 600


def all_cases() -> list[Case]:
    cases = []
    for name, make in CALLS.items():
        call = make()
        for parameter in call.parameters():
            for hostile in (*HOSTILE, *twists_of(call.valid(parameter))):
                if is_asked(name, parameter, hostile):
                    cases.append(Case(name, parameter, hostile))
    return cases


def chosen_cases() -> list[Case]:
    """All of them, or those whose checksums are the smallest: the same ones on every machine."""
    cases = all_cases()
    if ALL:
        return cases
    drawn = sorted(cases, key=lambda case: zlib.crc32("|".join(case).encode()))[:SAMPLE]
    return sorted(drawn)


@pytest.fixture(scope="module")
def faults():
    return faults_of(chosen_cases())


def test_every_public_function_has_a_valid_call():
    required = public_callables()
    assert sorted(set(required) - set(CALLS)) == [], (
        "add a valid call to tests/support/fuzz_calls.py"
    )
    extra = {name for name in CALLS if name.startswith("mialib.")} - set(required)
    assert sorted(extra) == [], "these are not public, or take nothing"
    assert len(required) > 100


def test_what_is_no_door_exists():
    for name in NO_DOORS:
        package, module, *attributes = name.split(".")
        thing = importlib.import_module(f"{package}.{module}")
        for attribute in attributes:
            thing = getattr(thing, attribute)


@pytest.mark.parametrize("name", CALLS)
def test_the_valid_call_gives_an_answer(name):
    CALLS[name]().run()


def test_hostile_values_end_in_a_sentence_or_an_answer(faults):
    told = "\n".join(f"{case}: {fault}" for case, fault in sorted(faults.items()))
    assert not faults, f"{len(faults)} of {len(chosen_cases())} cases:\n{told}"


# The fuzzer itself can tell.


def raises(error: Exception):
    def function(value):
        raise error

    return function


def test_an_answer_is_good():
    assert fault_of(Call(metrics.auc, [0.0, 1.0], [False, True])) is None


def test_a_sentence_of_mialib_is_good():
    assert fault_of(Call(check_range, 0, 1, share=2)) is None


def test_an_error_from_outside_is_a_fault():
    assert "not raised by mialib" in fault_of(Call(np.zeros(3).reshape, 7))
    assert "not raised by mialib" in fault_of(Call(raises(ValueError("one two three")), 1))


def test_an_accident_inside_mialib_is_a_fault():
    """`low <= value` of two kinds that cannot be compared, on a line of mialib's own."""
    space = {"__name__": "mialib.accident"}
    code = compile("def f(value):\n    return value.nothing", metrics.__file__, "exec")
    exec(code, space)
    assert "not raised on purpose" in fault_of(Call(space["f"], 1))


def test_a_bare_word_is_no_sentence():
    space = {}
    code = compile("def f(value):\n    raise KeyError('loss')", metrics.__file__, "exec")
    exec(code, space)
    assert "not a sentence" in fault_of(Call(space["f"], 1))


def test_a_loop_without_end_is_a_fault():
    def hang(value):
        while True:
            pass

    assert "took more than" in fault_of(Call(hang, 1))


def test_a_process_that_dies_is_a_fault_and_the_others_are_still_tried():
    cases = [Case("no such call", "x", "None"), Case("mialib.metrics.p1", "accuracy", "0")]
    assert set(faults_of(cases, processes=1)) == {cases[0]}


def test_every_parameter_is_replaced():
    call = Call(check_range, 0, 1, share=0.5)
    assert call.parameters() == ["low", "high", "whole", "many", "share"]
    call.replace("share", 3)
    with pytest.raises(ValueError, match="share must be a number in 0 … 1, found 3") as caught:
        call.run()
    assert fault_of_error(caught.value) is None
