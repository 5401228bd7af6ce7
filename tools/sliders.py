"""Move every slider of a lesson in the lesson's own kernel, without a browser."""

from __future__ import annotations

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

# Moves each slider to both ends and back, and counts the seconds of positions that were not drawn
# before. A function, so that few of its names can take the place of one of the lesson's.
MOVE_SLIDERS = """
import html
import time
from mialib.course import widgets
BUDGET = 0.3  # seconds of CPU time; 0.1 is the aim, and other processes make it longer
def move_all():
    for explorer in widgets.EXPLORERS:
        for name, control in explorer.controls.items():
            start, seen = control.value, []
            if hasattr(control, "options"):
                options = control.options
                values = [one[1] if isinstance(one, tuple) else one for one in options]
                ends = [values[0], values[-1]]
            else:
                ends = [control.min, control.max]
            if hasattr(control, "base"):
                ends = [control.base**end for end in ends]
            for position in ends:
                before = time.process_time()
                control.value = position
                seconds = time.process_time() - before
                assert seconds < BUDGET, f"{name} = {position} takes {seconds:.2f} s"
                fresh = explorer.view(**explorer.values())
                assert explorer.screen.value == fresh.as_figure(), f"{name} = {position} is stale"
                assert fresh.alt in html.unescape(explorer.told.value)
                seen.append((fresh.png, fresh.numbers))
            assert seen[0][0] != seen[1][0] and seen[0][1] != seen[1][1], f"{name} changes nothing"
            control.value = start
            assert not control.continuous_update, f"{name} draws while it is dragged"
            assert control.description, f"{name}: no label"
            tooltip = getattr(control, widgets.TOOLTIP)
            assert tooltip == control.description, f"{name}: no tooltip"
            assert control.layout.max_width == "640px" and control.layout.width == "100%"
move_all()
print(len(widgets.EXPLORERS), "explorers")
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
