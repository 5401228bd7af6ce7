"""Sliders over pure functions.

    explore(view, threshold=log_slider(0.01, 10, start=1, label="threshold"))

calls `view(threshold=…)`, which must return a `Picture` from what is already computed: nothing
trains when a slider moves. A picture is drawn once for each position and then kept.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from math import inf, log10
from typing import Any

import ipywidgets

from mialib.course.plots.picture import Picture
from mialib.errors import check_range

# Every slider view of this session, so that a test can move them without a browser.
EXPLORERS: list[Explorer] = []
KEPT_PICTURES = 256  # per explorer; some sliders have thousands of positions
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
    return ipywidgets.SelectionSlider(
        options=options, value=start, **_labelled(label), **_on_release()
    )


def choice(values: Sequence[str], *, label: str) -> ipywidgets.SelectionSlider:
    """A slider over names; the first is chosen at the start.

    It is no menu: JupyterLab takes the arrow keys away from one, and letters typed on it for
    commands that change the cell (jupyter-widgets/ipywidgets#3912).
    """
    return ipywidgets.SelectionSlider(options=list(values), **_labelled(label), **_on_release())


class Explorer:
    """A view under one slider for each of its arguments."""

    # What a notebook shows that nobody runs.
    without_kernel = (
        "A slider: run the notebook to move it. The figure below shows some of its positions."
    )

    def __init__(self, view: Callable[..., Picture], /, **controls: ipywidgets.Widget):
        self.view = view
        self.controls: dict[str, Any] = controls
        self.screen = ipywidgets.HTML()
        self._pictures: dict[tuple, str] = {}  # as HTML, by the sliders' positions
        for control in controls.values():
            control.observe(self.refresh, names="value")
        self.refresh()
        EXPLORERS.append(self)

    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def refresh(self, change: object = None) -> None:
        """Show the view at the sliders' positions; a failure is shown, not swallowed."""
        try:
            self.screen.value = self._drawn()
        except Exception as error:
            what = html.escape(f"{type(error).__name__}: {error}")
            self.screen.value = f"<b>This position failed:</b> {what}"
            raise

    def _drawn(self) -> str:
        position = tuple(self.values().values())
        if position not in self._pictures:
            if len(self._pictures) == KEPT_PICTURES:
                oldest = next(iter(self._pictures))
                del self._pictures[oldest]
            self._pictures[position] = self.view(**self.values()).as_html()
        return self._pictures[position]

    def forget(self) -> None:
        """Draw every position anew: what the view shows has changed."""
        self._pictures.clear()
        self.refresh()

    def parts(self) -> list[ipywidgets.Widget]:
        """What stands on the page, from top to bottom."""
        return [*self.controls.values(), self.screen]

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        # Written out, because ipywidgets 7, which Colab has, cannot be asked for its bundle.
        box = ipywidgets.VBox(self.parts())
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.without_kernel}


explore = Explorer  # In a lesson it reads as a verb.


def _labelled(label: str) -> dict[str, Any]:
    """What every control has: a name, also as a tooltip, and a width for narrow windows."""
    return {
        "description": label,
        TOOLTIP: label,
        "layout": ipywidgets.Layout(width="100%", max_width="640px"),
        "style": {"description_width": "190px"},
    }


def _on_release() -> dict[str, Any]:
    return {"continuous_update": False}
