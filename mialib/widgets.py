"""Sliders over pure functions.

`explore(view, threshold=log_slider(0.01, 10))` calls `view(threshold=…)`, which must return a `Picture` from what
is already computed: nothing trains when a slider moves. Each `explore` also hands out its `Explorer`, so a test
can move the sliders without a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log10

import ipywidgets

from mialib.errors import between
from mialib.plots.picture import Picture

EXPLORERS: list[Explorer] = []  # every slider view of this session, for the tests


def slider(low: float, high: float, *, start: float, step: float, label: str) -> ipywidgets.FloatSlider:
    """A slider on a linear scale."""
    return ipywidgets.FloatSlider(start, min=low, max=high, step=step, description=label, **_LOOK)


def log_slider(low: float, high: float, *, start: float, label: str) -> ipywidgets.FloatLogSlider:
    """A slider on a logarithmic scale, a hundred steps from `low` to `high`."""
    between(1e-300, inf, low=low)
    between(low * (1 + 1e-9), inf, high=high)
    between(low, high, start=start)
    span = (log10(low), log10(high))
    step = (span[1] - span[0]) / 100
    return ipywidgets.FloatLogSlider(
        start, min=span[0], max=span[1], step=step, description=label, readout_format=".3g", **_LOOK
    )


def steps(values: Sequence[float], *, start: float, label: str) -> ipywidgets.SelectionSlider:
    """A slider over the values at which something was computed."""
    options = [(f"{value:g}", value) for value in values]
    return ipywidgets.SelectionSlider(options=options, value=start, description=label, **_LOOK)


def choice(values: Sequence[str], *, label: str) -> ipywidgets.Dropdown:
    """A menu; the first value is chosen at the start."""
    look = {name: value for name, value in _LOOK.items() if name != "continuous_update"}
    return ipywidgets.Dropdown(options=list(values), description=label, **look)


_LOOK = {
    "continuous_update": False,
    "layout": ipywidgets.Layout(width="520px"),
    "style": {"description_width": "190px"},
}


@dataclass(frozen=True, eq=False)
class Explorer:
    """Sliders above the picture that they choose."""

    view: Callable[..., Picture]
    controls: dict[str, ipywidgets.Widget]
    screen: ipywidgets.HTML

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
        text = "A slider: run the notebook to move it. The figure below shows some of its positions."
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": text}


def explore(view: Callable[..., Picture], **controls: ipywidgets.Widget) -> Explorer:
    """Show `view` under one slider for each of its arguments."""
    explorer = Explorer(view, controls, ipywidgets.HTML())
    for control in controls.values():
        control.observe(explorer.refresh, names="value")
    explorer.refresh()
    EXPLORERS.append(explorer)
    return explorer
