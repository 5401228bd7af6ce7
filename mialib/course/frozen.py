"""Sliders for pages without a kernel: a view, drawn at up to 25 of its positions.

    frozen_positions(explorer)      # [{"threshold": 1e-06}, {"threshold": 2e-06}, …]
    freeze(explorer)                # the same with a picture each: `Frozen`
    write_all(folder)               # all sliders of this session: frozen.json and PNG files

One slider is frozen at 25 positions, two at 5 × 5. Where more sliders have too many combinations,
one moves at a time and the others stay where they started.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mialib.course import widgets
from mialib.course.plots.files import with_few_colors
from mialib.course.plots.picture import Picture
from mialib.course.trainer import TrainThisPoint
from mialib.course.widgets import Explorer
from mialib.foreign import atomically

LARGEST = 25  # positions of one view
INDEX = "frozen.json"
NEEDS_THE_NOTEBOOK = "The button that trains a setting of your own needs the notebook."


@dataclass(frozen=True)
class Stops:
    """A control, and where it stands in the frozen frames."""

    label: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]
    start: int  # where among the values it stood


@dataclass(frozen=True)
class Frame:
    """One position, by the places of its values among the stops, and its picture."""

    at: tuple[int, ...]
    position: dict[str, Any]
    picture: Picture


@dataclass(frozen=True)
class Frozen:
    """A view at some of its positions.

    `together` says that every combination of the stops is there; otherwise one control moves at a
    time. `whole` says that the notebook has no further position.
    """

    stops: tuple[Stops, ...]
    frames: tuple[Frame, ...]
    together: bool
    whole: bool
    note: str = ""


# Which positions.


def frozen_positions(explorer: Explorer) -> list[dict[str, Any]]:
    """The arguments of the view in each frozen frame, at most 25; the start is one of them."""
    stops = frozen_stops(explorer)
    return [_position(stops, at) for at in _places(list(stops.values()))]


def frozen_stops(explorer: Explorer) -> dict[str, Stops]:
    """Where each control stands in the frozen frames, by its name."""
    every = {name: _every_stop(explorer, name) for name in explorer.controls}
    sizes = [len(values) for values in every.values()]
    counts = dict(zip(every, _counts(sizes), strict=True))
    return {
        name: _stops(explorer.controls[name], thinned(values, counts[name], start=start))
        for (name, values), start in zip(every.items(), _starts(explorer, every), strict=True)
    }


def thinned(values: Sequence[Any], most: int, *, start: int) -> list[Any]:
    """At most so many values, evenly spaced; both ends and the one at `start` are among them.

    >>> thinned(range(101), 5, start=30)
    [0, 30, 50, 75, 100]
    """
    if len(values) <= most:
        return list(values)
    places = np.linspace(0, len(values) - 1, most).round().astype(int)
    if start not in places:
        inner = places[1:-1] if most > 2 else places
        inner[np.abs(inner - start).argmin()] = start
    return [values[place] for place in places]


def _every_stop(explorer: Explorer, name: str) -> list[Any]:
    """Every value at which a control can stand, in order; its own value is one of them."""
    values = _values(explorer.controls[name])
    if isinstance(explorer, TrainThisPoint) and name in explorer.settings:
        chosen = explorer.chosen()
        # Only the button could show the others.
        return [
            value
            for value in values
            if value == chosen[name] or explorer.is_trained(**{**chosen, name: value})
        ]
    return values


def _values(control: Any) -> list[Any]:
    if hasattr(control, "options"):
        return [one[1] if isinstance(one, tuple) else one for one in control.options]
    steps = round((control.max - control.min) / control.step)
    values = [control.min + k * control.step for k in range(steps + 1)]
    if hasattr(control, "base"):
        values = [control.base**exponent for exponent in values]
    # A slider may start between two of its steps.
    nearest = min(range(len(values)), key=lambda k: abs(values[k] - control.value))
    values[nearest] = control.value
    return values


def _starts(explorer: Explorer, every: dict[str, list[Any]]) -> list[int]:
    return [values.index(explorer.controls[name].value) for name, values in every.items()]


def _counts(sizes: Sequence[int]) -> list[int]:
    """How many stops each control has in the frozen frames."""
    if prod(sizes) <= LARGEST:
        return list(sizes)
    if len(sizes) == 1:
        return [LARGEST]
    if len(sizes) == 2:
        first = min(sizes[0], max(5, LARGEST // sizes[1]))
        return [first, min(sizes[1], LARGEST // first)]
    return _one_at_a_time(sizes)


def _one_at_a_time(sizes: Sequence[int]) -> list[int]:
    """The start is shared; what is left is dealt out in turn, to those that have more stops."""
    counts = [1] * len(sizes)
    for _ in range(LARGEST - 1):
        having_more = [k for k, size in enumerate(sizes) if counts[k] < size]
        if having_more:
            poorest = min(having_more, key=lambda k: counts[k])
            counts[poorest] += 1
    return counts


def _stops(control: Any, values: Sequence[Any]) -> Stops:
    texts = tuple(_text(control, value) for value in values)
    start = list(values).index(control.value)
    return Stops(control.description, tuple(values), texts, start)


def _text(control: Any, value: Any) -> str:
    """A value as the control shows it."""
    if hasattr(control, "options"):
        named = [one for one in control.options if isinstance(one, tuple) and one[1] == value]
        return str(named[0][0]) if named else str(value)
    return format(value, control.readout_format)


def _are_together(stops: Sequence[Stops]) -> bool:
    return prod(len(one.values) for one in stops) <= LARGEST


def _places(stops: Sequence[Stops]) -> list[tuple[int, ...]]:
    """Every combination of the stops, or one control moved at a time; the start comes first then.

    Each is given by the places of its values among the stops.
    """
    if _are_together(stops):
        return list(itertools.product(*(range(len(one.values)) for one in stops)))
    start = tuple(one.start for one in stops)
    moved = [
        (*start[:k], place, *start[k + 1 :])
        for k, one in enumerate(stops)
        for place in range(len(one.values))
        if place != one.start
    ]
    return [start, *moved]


def _position(stops: dict[str, Stops], at: Sequence[int]) -> dict[str, Any]:
    return {name: one.values[place] for (name, one), place in zip(stops.items(), at, strict=True)}


# Their pictures.


def freeze(explorer: Explorer) -> Frozen:
    """Draw a view at its frozen positions."""
    by_name = frozen_stops(explorer)
    stops = tuple(by_name.values())
    frames = []
    for at in _places(stops):
        position = _position(by_name, at)
        frames.append(Frame(at, position, explorer.view(**position)))
    in_the_notebook = prod(len(_values(control)) for control in explorer.controls.values())
    return Frozen(
        stops,
        tuple(frames),
        together=_are_together(stops),
        whole=len(frames) == in_the_notebook,
        note=NEEDS_THE_NOTEBOOK if isinstance(explorer, TrainThisPoint) else "",
    )


# Their files.


def write_all(folder: Path) -> int:
    """Write every slider view of this session; says how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    told = [
        _written(freeze(explorer), folder, number)
        for number, explorer in enumerate(widgets.EXPLORERS)
    ]
    with atomically(folder / INDEX) as unfinished:
        unfinished.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    return len(told)


def _written(frozen: Frozen, folder: Path, number: int) -> dict:
    """Write a view's pictures, and say what stands in the index."""
    return {
        "together": frozen.together,
        "whole": frozen.whole,
        "note": frozen.note,
        "controls": [
            {"label": one.label, "stops": one.texts, "start": one.start} for one in frozen.stops
        ],
        "frames": [
            _written_frame(frame, folder / f"{number}-{k:02d}.png")
            for k, frame in enumerate(frozen.frames)
        ],
    }


def _written_frame(frame: Frame, path: Path) -> dict:
    content = with_few_colors(frame.picture.png)
    path.write_bytes(content)
    width, height = Image.open(io.BytesIO(content)).size
    words = {"alt": frame.picture.alt, "caption": frame.picture.caption}
    return {"at": frame.at, "file": path.name, "width": width, "height": height, **words}
