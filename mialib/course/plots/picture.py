"""A figure that knows its alt text, its caption and its numbers, and that can be drawn anywhere."""

from __future__ import annotations

import base64
import html
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure, FigureBase

COLOR = {
    "member": "#0072B2",  # blue
    "non_member": "#D55E00",  # vermillion
    "target": "#009E73",  # bluish green
    "shadow": "#CC79A7",  # reddish purple
    "chance": "#666666",
    "mark": "#000000",
}
ATTACKS = [
    ("#009E73", "-"),
    ("#CC79A7", "--"),
    ("#E69F00", "-."),
    ("#56B4E9", (0, (5, 1))),
    ("#000000", (0, (1, 1))),
]
LINE = {
    "member": "-",
    "non_member": "--",
    "target": "-",
    "shadow": "--",
    "chance": ":",
    "mark": "-",
}

STYLE = {
    "font.size": 10, "axes.titlesize": 10, "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#e6e6e6",
    "legend.frameon": False, "lines.linewidth": 1.8, "hatch.linewidth": 0.6, "figure.facecolor": "white",
    "svg.hashsalt": "mialib", "svg.fonttype": "none",
}  # fmt: skip
DPI = 110


@dataclass(frozen=True, eq=False)
class Picture:
    """`draw(figure)` puts it on a figure or subfigure; `numbers` are the values that a sentence may quote."""

    draw: Callable[[FigureBase], None]
    alt: str
    caption: str
    size: tuple[float, float] = (6.4, 3.2)
    numbers: dict[str, float] = field(default_factory=dict)

    def render(self, format: str = "png") -> bytes:
        """The picture as a file's bytes; the same picture always gives the same bytes."""
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=self.size, dpi=DPI, layout="constrained")
            self.draw(figure)
            buffer = io.BytesIO()
            blank = {"png": {"Software": None}, "svg": {"Date": None}}
            figure.savefig(buffer, format=format, metadata=blank.get(format))
        return buffer.getvalue()

    @cached_property
    def png(self) -> bytes:
        return self.render("png")

    def as_html(self) -> str:
        """An <img> element with its alt text."""
        source = base64.b64encode(self.png).decode()
        width = round(self.size[0] * DPI)
        alt = html.escape(self.alt)
        return f'<img width="{width}" style="max-width:100%" alt="{alt}" src="data:image/png;base64,{source}">'

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        bundle = {"image/png": base64.b64encode(self.png).decode(), "text/plain": self.alt}
        return bundle, {"image/png": {"alt": self.alt}}


def show(picture: Picture, *, name: str = "") -> None:
    """Display a picture and its caption; with MIALIB_FIGURES set, also keep it there as PNG and SVG."""
    from IPython.display import Markdown, display

    display(picture)
    display(Markdown(f"*{picture.caption}*"))
    folder = os.environ.get("MIALIB_FIGURES")
    if folder and name:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(picture.png)
        (Path(folder) / f"{name}.svg").write_bytes(picture.render("svg"))


def small_multiples(view: Callable[..., Picture], **values: list[float]) -> Picture:
    """What a slider shows, at a few of its positions, one below the other: for readers who cannot run it."""
    ((name, positions),) = values.items()
    pictures = [view(**{name: position}) for position in positions]
    width, height = pictures[0].size

    def draw(figure: FigureBase) -> None:
        rows = figure.subfigures(len(pictures), 1, hspace=0.06)
        for subfigure, picture in zip(rows, pictures, strict=True):
            picture.draw(subfigure)

    listed = ", ".join(f"{position:g}" for position in positions)
    return Picture(
        draw,
        alt=f"{len(pictures)} rows, one for each {name}: {listed}. "
        + " ".join(p.alt for p in pictures),
        caption=f"The slider at {name} = {listed}. {pictures[0].caption}",
        size=(width, height * len(pictures)),
        numbers={
            f"{key} at {position:g}": value
            for position, picture in zip(positions, pictures, strict=True)
            for key, value in picture.numbers.items()
        },
    )
