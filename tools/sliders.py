"""Move every slider of a lesson in the lesson's own kernel, without a browser."""

from __future__ import annotations

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

# Moves each slider to several positions, both ends among them, and counts the processor time of
# drawing them. The aim is a tenth of a second. A test allows half as much again, or what a plain
# picture of two curves takes four times: on a slow or busy machine that takes longer, too. Of few
# positions each is drawn several times. Functions, so that few of their names can take the place of
# one of the lesson's.
MOVE_SLIDERS = """
import html
import time
from statistics import median
from mialib.course import frozen, plots, widgets
LIMIT = 0.15  # seconds of processor time, the median of a control's positions …
PLAIN_PICTURES = 4  # … or so many plain pictures' time, where that is longer
ANY_ONE = 7  # times as long for any one position: nothing trains
def plain_picture():
    with widgets._no_collection():
        before = time.process_time()
        plots.lines([0, 1, 2], {"a": [0, 1, 4], "b": [0, 2, 1]}, xlabel="x", ylabel="y").render()
        return time.process_time() - before
def few_of(control):
    values = [value for value in frozen._values(control) if value != control.value]
    ends = [values[0], values[-1]]
    between = frozen.thinned(values, min(7, len(values)), start=0)[1:-1]
    return [*between, *ends] if len(values) > 3 else [*values, *values, *ends]
def move(explorer, name, control, position, limit):
    explorer._pictures.clear()
    before = time.process_time()
    control.value = position
    seconds = time.process_time() - before
    assert seconds < ANY_ONE * limit, f"{name} = {position} takes {seconds:.2f} s"
    fresh = explorer.view(**explorer.values())
    assert explorer.screen.value == fresh.as_figure(), f"{name} = {position} is stale"
    assert fresh.alt in html.unescape(explorer.told.value)
    return seconds, fresh
def move_all():
    slowest = {}
    for number, explorer in enumerate(widgets.EXPLORERS):
        for name, control in explorer.controls.items():
            start = control.value
            plain = median(plain_picture() for _ in range(3))
            limit = max(LIMIT, PLAIN_PICTURES * plain)
            moves = [move(explorer, name, control, at, limit) for at in few_of(control)]
            seconds = median(took for took, _ in moves)
            assert seconds < limit, f"{name} takes {seconds:.2f} s, a plain picture {plain:.2f} s"
            slowest[f"{number} {name}"] = round(1000 * seconds)
            pictures = {fresh.png for _, fresh in moves}
            words = {str(fresh.numbers) for _, fresh in moves}
            control.value = start
            back = explorer.view(**explorer.values())
            assert len(pictures | {back.png}) > 1, f"{name} changes no picture"
            assert len(words | {str(back.numbers)}) > 1, f"{name} changes no number"
            assert not control.continuous_update, f"{name} draws while it is dragged"
            assert control.description, f"{name}: no label"
            tooltip = getattr(control, widgets.TOOLTIP)
            assert tooltip == control.description, f"{name}: no tooltip"
            assert control.layout.max_width == "640px" and control.layout.width == "100%"
    return slowest
print(len(widgets.EXPLORERS), "explorers, in milliseconds:", move_all())
"""
FAILURES = ("This position failed", "Not trained")


def move(client: NotebookClient) -> int:
    """Move them all; how many views there are, each with one slider or more."""
    probe = new_code_cell(MOVE_SLIDERS)
    client.nb.cells.append(probe)
    try:
        client.execute_cell(probe, len(client.nb.cells) - 1)
    finally:
        client.nb.cells.pop()
    _check_screens(client)
    said = "".join(output.text for output in probe.outputs)
    return int(said.split()[0])


def _check_screens(client: NotebookClient) -> None:
    """A failure inside a slider's callback stands on its screen, and nowhere else."""
    for state in client.widget_state.values():
        shown = str(state.get("value"))
        if any(failure in shown for failure in FAILURES):
            raise RuntimeError(f"A slider shows a failure: {shown[:2000]}")
