"""A frozen slider as HTML: radio buttons, a figure for each position, and rules that show one.

The rules need `:has()`, no script. Where all combinations of several controls are frozen, each
control is a group of its own; where one control moves at a time, all buttons are one group.
"""

from __future__ import annotations

import html

from bs4 import Tag

from pages import markup

GROUP = """\
<div class="explore" id="{name}" role="group" aria-label="{label}"{together}>\
<p class="standing">{hint}</p>{controls}\
<div class="frames" aria-live="polite">{frames}</div></div>"""
CONTROL = """\
<fieldset data-start="{start}" data-text="{text}" data-said="{text}">\
<legend>{label}</legend>\
<div class="stops">{stops}</div></fieldset>"""
STOP = '<label><input type="radio" name="{group}" id="{id}"{checked}> {text}</label>'
START = '<div class="start">{stop}</div>'
FRAME = """\
<figure data-shown-by="{buttons}">{picture}<figcaption>{caption}</figcaption></figure>"""
ONE_AT_A_TIME = "One control moves at a time; the others stay where they started."


def as_html(frozen: dict, *, name: str, place: str) -> str:
    """What `mialib.course.frozen` wrote of one view; `place` is the folder of its pictures."""
    controls = frozen["controls"]
    write = _together if frozen["together"] else _one_at_a_time
    frames = [_frame(one, frozen, name=name, place=place) for one in frozen["frames"]]
    return GROUP.format(
        name=name,
        label=html.escape("Slider: " + ", ".join(one["label"] for one in controls)),
        together=' data-together=""' if frozen["together"] else "",
        hint=html.escape(_hint(frozen)),
        controls=write(controls, name),
        frames="".join(frames),
    )


def rules(group: Tag) -> str:
    """Show a frame while the buttons that it names are chosen."""
    name = group["id"]
    shown = []
    for number, figure in enumerate(group.select("figure"), 1):
        chosen = "".join(f":has(#{button}:checked)" for button in figure["data-shown-by"].split())
        shown.append(f"#{name}{chosen} figure:nth-of-type({number}){{display:block}}")
    return "\n".join(["", *shown])


def _hint(frozen: dict) -> str:
    count = f"Frozen at {len(frozen['frames'])} positions."
    moving = "" if frozen["together"] else ONE_AT_A_TIME
    freely = "In the notebook it moves freely."
    if len(frozen["controls"]) > 1:
        freely = "In the notebook they all move freely."
    if frozen["whole"]:
        count = f"All {len(frozen['frames'])} positions."
        freely = ""
    return " ".join(part for part in (count, moving, freely, frozen["note"]) if part)


def _together(controls: list[dict], name: str) -> str:
    """Each control is a group of buttons."""
    return "".join(
        _control(control, [_button(name, k, place, control) for place in _all(control)])
        for k, control in enumerate(controls)
    )


def _button(name: str, k: int, place: int, control: dict) -> str:
    return _stop(
        group=f"{name}-{k}",
        id=f"{name}-{k}-{place}",
        text=control["stops"][place],
        checked=place == control["start"],
    )


def _one_at_a_time(controls: list[dict], name: str) -> str:
    """All buttons are one group, and the first of them is the start."""
    start = ", ".join(f"{one['label']} {one['stops'][one['start']]}" for one in controls)
    first = _stop(group=name, id=f"{name}-start", text=f"the start: {start}", checked=True)
    rows = []
    for k, control in enumerate(controls):
        others = [place for place in _all(control) if place != control["start"]]
        stops = [
            _stop(group=name, id=f"{name}-{k}-{place}", text=control["stops"][place])
            for place in others
        ]
        rows.append(_control(control, stops))
    return START.format(stop=first) + "".join(rows)


def _all(control: dict) -> range:
    return range(len(control["stops"]))


def _control(control: dict, stops: list[str]) -> str:
    start = control["start"]
    return CONTROL.format(
        start=start,
        text=html.escape(control["stops"][start]),
        label=html.escape(control["label"]),
        stops=" ".join(stops),
    )


def _stop(*, group: str, id: str, text: str, checked: bool = False) -> str:
    mark = " checked" if checked else ""
    return STOP.format(group=group, id=id, text=html.escape(text), checked=mark)


def _frame(frame: dict, frozen: dict, *, name: str, place: str) -> str:
    source = f"{place}/{frame['file']}"
    size = (frame["width"], frame["height"])
    return FRAME.format(
        buttons=" ".join(_buttons(frame["at"], frozen, name)),
        picture=markup.picture(source, alt=frame["alt"], size=size),
        caption=html.escape(frame["caption"]),
    )


def _buttons(at: list[int], frozen: dict, name: str) -> list[str]:
    """The ids of the buttons that together choose this frame."""
    if frozen["together"]:
        return [f"{name}-{k}-{place}" for k, place in enumerate(at)]
    starts = [control["start"] for control in frozen["controls"]]
    moved = [k for k, place in enumerate(at) if place != starts[k]]
    return [f"{name}-{k}-{at[k]}" for k in moved] or [f"{name}-start"]
