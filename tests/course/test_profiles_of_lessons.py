"""With one's own results of any profile, every look-up of a lesson finds what it asks for."""

import pytest

import lesson_lookups
import mialib
import notebooks
from made_up import made_up_results, pretended_loaders
from mialib import data, profiles, runs, training
from mialib.course import costs
from mialib.course.plots import picture
from mialib.experiments import plans
from mialib.experiments.running import own_path

LESSONS = [lesson for lesson in notebooks.lessons() if lesson.number >= "06"]


@pytest.fixture(params=profiles.NAMES)
def profile(request, monkeypatch, tmp_path_factory):
    """A home with made-up results of every plan that the profile has."""
    for name, loader in pretended_loaders().items():
        monkeypatch.setitem(data.LOADERS, name, loader)
    home = tmp_path_factory.getbasetemp() / f"home of {request.param}"
    monkeypatch.setenv("MIALIB_HOME", str(home))
    for name in plans.names():
        path = own_path(name, request.param)
        if request.param in plans.profiles_of(name) and not path.exists():
            made_up_results(name, request.param).save(path)
    for module, name in ((runs, "get"), (runs, "get_all"), (training, "fit"), (mialib, "audit")):
        monkeypatch.setattr(module, name, lesson_lookups.trains)
    monkeypatch.setattr(costs, "epoch_costs", lesson_lookups.trains)
    monkeypatch.setattr(picture.Picture, "render", lambda *_: b"")
    return request.param


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_finds_what_it_asks_for(lesson, profile):
    told = lesson_lookups.run(lesson, profile)
    lost = [one for one in told.skipped if any(word in one for word in lesson_lookups.LOOKUPS)]
    assert not lost, f"These look-ups could not be tried: {lost}"
