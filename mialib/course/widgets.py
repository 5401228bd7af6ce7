"""Sliders over pure functions.

    explore(view, threshold=log_slider(0.01, 10, start=1, label="threshold"))

calls `view(threshold=…)`, which must return a `Picture` from what is already computed: nothing
trains when a slider moves. A picture is drawn once for each position and then kept.

For a screen reader, ipywidgets gives a slider's handle no name, and calls the third of five values
"2" (leongersen/noUiSlider#1019). From Python neither can be reached, so a few lines of script
beside the sliders write the names where they belong; without them, everything else works.
"""

from __future__ import annotations

import gc
import html
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, log10
from pathlib import Path
from typing import Any, NamedTuple

import ipywidgets
from IPython.display import display

from mialib.course.plots.picture import Picture
from mialib.course.plots.spoken import aloud
from mialib.errors import check_range

# Every slider view of this session, so that a test can move them without a browser.
EXPLORERS: list[Explorer] = []
KEPT_PICTURES = 256  # per explorer; some sliders have thousands of positions
NAMES = Path(__file__).with_name("names.js").read_text(encoding="utf-8")
UNSEEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"
# ipywidgets 7, which Colab has, calls it by the longer name.
TOOLTIP = (
    "tooltip" if "tooltip" in ipywidgets.DOMWidget.class_trait_names() else "description_tooltip"
)


def slider(
    low: float, high: float, *, start: float, step: float, label: str
) -> ipywidgets.IntSlider | ipywidgets.FloatSlider:
    """A slider on a linear scale; one of whole numbers where all four numbers are whole.

    >>> slider(0, 14, start=14, step=1, label="epoch").readout_format
    'd'
    """
    numbers = (low, high, start, step)
    whole = all(isinstance(number, int) for number in numbers)
    make = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    return make(
        start,
        min=low,
        max=high,
        step=step,
        **_labelled(label),
        **_on_release(),
    )


def log_slider(low: float, high: float, *, start: float, label: str) -> ipywidgets.FloatLogSlider:
    """A slider on a logarithmic scale, a hundred steps from `low` to `high`."""
    check_range(1e-300, inf, low=low)
    check_range(low * (1 + 1e-9), inf, high=high)
    check_range(low, high, start=start)
    return ipywidgets.FloatLogSlider(
        start,
        min=log10(low),
        max=log10(high),
        step=(log10(high) - log10(low)) / 100,
        readout_format=".3g",
        **_labelled(label),
        **_on_release(),
    )


def steps(values: Sequence[float], *, start: float, label: str) -> ipywidgets.SelectionSlider:
    """A slider over the values at which something was computed."""
    options = [(f"{value:g}", value) for value in values]
    return _selection(options, label=label, value=start)


def choice(values: Sequence[str], *, label: str) -> ipywidgets.SelectionSlider:
    """A slider over names; the first is chosen at the start.

    It is no menu: JupyterLab takes the arrow keys away from one, and letters typed on it for
    commands that change the cell (jupyter-widgets/ipywidgets#3912).
    """
    return _selection(list(values), label=label)


def _selection(options: list, *, label: str, **start: Any) -> ipywidgets.SelectionSlider:
    """Its readout takes typing and ignores it, so the script forbids that."""
    control = ipywidgets.SelectionSlider(
        options=options, **start, **_labelled(label), **_on_release()
    )
    control.add_class("mialib-fixed")
    return control


def words() -> ipywidgets.HTML:
    """A place for HTML; without a tooltip of its own, ipywidgets would show "null" as one."""
    return ipywidgets.HTML(**{TOOLTIP: ""})


class Shown(NamedTuple):
    """A picture as HTML, and its words."""

    figure: str
    alt: str


class Explorer:
    """A view under one slider for each of its arguments."""

    # What a notebook shows that nobody runs.
    without_kernel = (
        "A slider: run the notebook to move it. The figure below shows some of its positions."
    )

    def __init__(self, view: Callable[..., Picture], /, **controls: ipywidgets.DOMWidget):
        self.view = view
        self.controls: dict[str, Any] = controls
        self.screen = words()
        self.told = words()  # what a screen reader says after a move
        self._pictures: dict[tuple, Shown] = {}  # by the sliders' positions
        self.told.add_class("mialib-told")
        for control in controls.values():
            control.add_class("mialib-slider")
            control.observe(self.refresh, names="value")
        self.refresh()
        EXPLORERS.append(self)

    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def refresh(self, change: object = None) -> None:
        """Show the view at the sliders' positions; a failure is shown, not swallowed."""
        try:
            with _no_collection():
                shown = self._drawn()
                self.screen.value = shown.figure
                self.told.value = _unseen(f"{self.position()}. {shown.alt}")
        except Exception as error:
            what = html.escape(f"{type(error).__name__}: {error}")
            self.screen.value = f"<b>This position failed:</b> {what}"
            self.told.value = _unseen(f"{self.position()}. This position failed.")
            raise

    def position(self) -> str:
        """Where the sliders stand, in words: "λ 0.001, attack loss"."""
        return ", ".join(
            f"{control.description} {_spoken(control)}" for control in self.controls.values()
        )

    def _drawn(self) -> Shown:
        position = tuple(self.values().values())
        if position not in self._pictures:
            if len(self._pictures) == KEPT_PICTURES:
                oldest = next(iter(self._pictures))
                del self._pictures[oldest]
            picture = self.view(**self.values())
            self._pictures[position] = Shown(picture.as_figure(), picture.alt)
        return self._pictures[position]

    def forget(self) -> None:
        """Draw every position anew: what the view shows has changed."""
        self._pictures.clear()
        self.refresh()

    def parts(self) -> list[ipywidgets.Widget]:
        """What stands on the page, from top to bottom."""
        return [*self.controls.values(), self.screen, self.told]

    def _ipython_display_(self) -> None:
        display(self._repr_mimebundle_(), raw=True)
        display({"application/javascript": NAMES, "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        # Written out, because ipywidgets 7, which Colab has, cannot be asked for its bundle.
        box = ipywidgets.VBox(self.parts())
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.without_kernel}


explore = Explorer  # In a lesson it reads as a verb.


@contextmanager
def _no_collection() -> Iterator[None]:
    """Inside, no garbage is collected: with torch loaded that takes a third of a second.

    It is done as soon as the answer is out.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _spoken(control: Any) -> str:
    """A control's value as its readout shows it."""
    value = control.label if hasattr(control, "label") else control.value
    return value if isinstance(value, str) else f"{value:.3g}"


def _unseen(sentence: str) -> str:
    """Words that are heard but not seen."""
    return f'<p role="status" style="{UNSEEN}">{html.escape(aloud(sentence))}</p>'


def _labelled(label: str) -> dict[str, Any]:
    """What every control has: a name, also as a tooltip, and a width for narrow windows."""
    return {
        "description": label,
        TOOLTIP: label,
        "layout": ipywidgets.Layout(width="100%", max_width="640px"),
        "style": {"description_width": "clamp(90px, 33%, 190px)"},
    }


def _on_release() -> dict[str, Any]:
    return {"continuous_update": False}
