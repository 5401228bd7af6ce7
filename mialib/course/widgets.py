"""Sliders over pure functions.

`explore(view, threshold=log_slider(0.01, 10, start=1, label="threshold"))` calls `view(threshold=…)`, which must
return a `Picture` from what is already computed: nothing trains when a slider moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log10

import ipywidgets

from mialib.course.plots.picture import Picture
from mialib.errors import check_range

EXPLORERS: list[
    Explorer
] = []  # every slider view of this session, so that a test can move them without a browser
LOOK = {"layout": ipywidgets.Layout(width="520px"), "style": {"description_width": "190px"}}
SLIDER = LOOK | {"continuous_update": False}


def slider(
    low: float, high: float, *, start: float, step: float, label: str
) -> ipywidgets.FloatSlider:
    """A slider on a linear scale."""
    return ipywidgets.FloatSlider(start, min=low, max=high, step=step, description=label, **SLIDER)


def log_slider(low: float, high: float, *, start: float, label: str) -> ipywidgets.FloatLogSlider:
    """A slider on a logarithmic scale, a hundred steps from `low` to `high`."""
    check_range(1e-300, inf, low=low)
    check_range(low * (1 + 1e-9), inf, high=high)
    check_range(low, high, start=start)
    scale = {"min": log10(low), "max": log10(high), "step": (log10(high) - log10(low)) / 100}
    return ipywidgets.FloatLogSlider(
        start, **scale, description=label, readout_format=".3g", **SLIDER
    )


def steps(values: Sequence[float], *, start: float, label: str) -> ipywidgets.SelectionSlider:
    """A slider over the values at which something was computed."""
    options = [(f"{value:g}", value) for value in values]
    return ipywidgets.SelectionSlider(options=options, value=start, description=label, **SLIDER)


def choice(values: Sequence[str], *, label: str) -> ipywidgets.Dropdown:
    """A menu; the first value is chosen at the start."""
    return ipywidgets.Dropdown(options=list(values), description=label, **LOOK)


class Explorer:
    """A view under one slider for each of its arguments."""

    def __init__(self, view: Callable[..., Picture], /, **controls: ipywidgets.Widget):
        self.view, self.controls, self.screen = view, controls, ipywidgets.HTML()
        for control in controls.values():
            control.observe(self.refresh, names="value")
        self.refresh()
        EXPLORERS.append(self)

    def values(self) -> dict[str, float]:
        return {name: control.value for name, control in self.controls.items()}

    def refresh(self, change: object = None) -> None:
        """Show the view at the sliders' positions; a failure is shown, not swallowed."""
        try:
            self.screen.value = self.view(**self.values()).as_html()
        except Exception as error:
            self.screen.value = f"<b>This position failed:</b> {type(error).__name__}: {error}"
            raise

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        # Written out, because ipywidgets 7, which Colab has, cannot be asked for its bundle.
        box = ipywidgets.VBox([*self.controls.values(), self.screen])
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        text = (
            "A slider: run the notebook to move it. The figure below shows some of its positions."
        )
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": text}


explore = Explorer  # In a lesson it reads as a verb.
