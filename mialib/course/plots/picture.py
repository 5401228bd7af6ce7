"""A figure that knows its alt text, its caption and its numbers, and that can be drawn anywhere.

picture = Picture(draw, alt="…", caption="…", numbers={"AUC": 0.7})
show(picture, name="01_roc")                              # in a lesson
picture.render("svg")                                     # bytes of a file
picture.save("roc.svg")                                   # or .png, .pdf
small_multiples(view, threshold=[0.1, 0.5, 2.0])          # what a slider shows, as rows
"""

from __future__ import annotations

import base64
import html
import io
import os
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import matplotlib
from IPython.display import Markdown, display
from matplotlib.figure import FigureBase
from matplotlib.text import Text

from mialib.course.plots.files import as_png, draw_names_plainly, drawn, new_figure, with_few_colors
from mialib.course.plots.layers import Layers, steady_png
from mialib.course.plots.palette import DPI, STYLE
from mialib.course.plots.spoken import aloud, with_minus_signs
from mialib.errors import as_path, check_choice
from mialib.foreign import atomically, in_sentence

SENTENCE_END = re.compile(r"(?<=\.)(?<!Fig\.) ")
LEAST_WIDTH = 0.6  # of a slider's picture: words of 10 points are then 9 pixels high
FILE_KINDS = ("png", "svg", "pdf")
METADATA = {  # what would differ between two files
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and its words.

    `draw(figure)` puts it on a figure or a subfigure, `size` is in inches, and `numbers` are the
    values that a sentence may quote. A picture of which only a part moves with a slider also has
    its `layers`; of one whose axes alone stay, `steady` is a name that it shares with the others of
    its kind. `alt` is for ears, so it becomes what a speech program says well.
    """

    draw: Callable[[FigureBase], None]
    alt: str
    caption: str
    size: tuple[float, float] = (6.4, 3.2)
    numbers: Mapping[str, float] = field(default_factory=dict)
    layers: Layers | None = None
    steady: Hashable = None

    def __post_init__(self):
        object.__setattr__(self, "alt", aloud(self.alt))
        object.__setattr__(self, "caption", with_minus_signs(self.caption))

    def render(self, format: str = "png") -> bytes:
        """The picture as a file's bytes; the same picture always gives the same bytes."""
        with matplotlib.rc_context(STYLE):
            figure = new_figure(self.size)
            self.draw(figure)
            if format == "png":
                return as_png(drawn(figure))
            draw_names_plainly(figure.findobj(Text))
            buffer = io.BytesIO()
            figure.savefig(buffer, format=format, metadata=METADATA.get(format))
            return buffer.getvalue()

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a file of the kind that its name ends with: .png, .svg or .pdf.

        A file that is there already is left alone, unless `overwrite` says otherwise.
        """
        path = as_path(path)
        kind = check_choice("kind of picture", path.suffix.removeprefix("."), FILE_KINDS)
        content = self.render(kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not overwrite:
            raise FileExistsError(
                f"{path.name} is there already. Choose another name, or pass overwrite=True."
            )
        with atomically(path) as unfinished:
            unfinished.write_bytes(content)
        return path

    @cached_property
    def png(self) -> bytes:
        """As a slider shows it: on axes that stand still, if it has layers or is steady."""
        if self.layers is not None:
            return self.layers.png(self.size)
        if self.steady is not None:
            return steady_png(self.steady, self.draw, self.size)
        return self.render("png")

    def as_html(self) -> str:
        """An <img> element with its alt text."""
        return self._image(self.png)

    def as_figure(self) -> str:
        """A <figure> element: the image, and below it the caption, which often is the legend.

        In a narrow window the image can be scrolled, before its words are too small to be read.
        """
        image = self._image(self.png, least=LEAST_WIDTH)
        caption = html.escape(self.caption)
        return (
            f'<figure style="margin:0;overflow-x:auto">{image}'
            f"<figcaption><em>{caption}</em></figcaption></figure>"
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        """As HTML, because JupyterLab shows an `image/png` without its alt text.

        The PNG is for what prefers one, such as nbconvert's PDFs.
        """
        small = with_few_colors(self.render("png"))
        bundle = {
            "text/html": self._image(small),
            "image/png": _base64(small),
            "text/plain": self.alt,
        }
        return bundle, {"image/png": {"alt": self.alt}}

    def _image(self, png: bytes, *, least: float = 0) -> str:
        """An <img> element that may shrink to a part `least` of its width."""
        width = round(self.size[0] * DPI)
        style = f"max-width:100%;min-width:{round(least * width)}px"
        alt = html.escape(self.alt)
        source = f"data:image/png;base64,{_base64(png)}"
        return f'<img width="{width}" style="{style}" alt="{alt}" src="{source}">'


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def show(picture: Picture, *, name: str = "") -> None:
    """Display a picture and its caption.

    With the variable MIALIB_FIGURES set, also keep it in that folder as NAME.png and NAME.svg.
    """
    display(picture)
    display(Markdown(f"*{in_sentence(picture.caption)}*"))
    folder = os.environ.get("MIALIB_FIGURES")
    if folder and name:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(picture.render("png"))
        (Path(folder) / f"{name}.svg").write_bytes(picture.render("svg"))


def small_multiples(view: Callable[..., Picture], **values: Sequence[float]) -> Picture:
    """What a slider shows at a few positions, one below the other, for readers who cannot run it.

    `values` has one name, the slider's, and its positions.
    """
    ((name, positions),) = values.items()
    pictures = [view(**{name: position}) for position in positions]
    places = [f"{position:g}" for position in positions]

    def draw(figure: FigureBase) -> None:
        rows = figure.subfigures(len(pictures), 1, hspace=0.06, squeeze=False)
        for subfigure, picture in zip(rows.flat, pictures, strict=True):
            picture.draw(subfigure)

    alts = " ".join(picture.alt for picture in pictures)
    captions = [picture.caption for picture in pictures]
    width, height = pictures[0].size
    return Picture(
        draw,
        alt=f"{len(pictures)} rows, one for each {name}: {', '.join(places)}. {alts}",
        caption=f"The slider at {name} = {', '.join(places)}. {_joint_caption(places, captions)}",
        size=(width, height * len(pictures)),
        numbers={
            f"{key} at {place}": value
            for place, picture in zip(places, pictures, strict=True)
            for key, value in picture.numbers.items()
        },
    )


def _joint_caption(places: Sequence[str], captions: Sequence[str]) -> str:
    """What rows say of themselves, after their positions; then, once, what all of them say.

    >>> _joint_caption(["1", "2"], ["Epoch 1. Bars: intervals.", "Epoch 2. Bars: intervals."])
    'At 1: Epoch 1. At 2: Epoch 2. Bars: intervals.'
    """
    by_row = [SENTENCE_END.split(caption) for caption in captions]
    shared = [one for one in by_row[0] if all(one in sentences for sentences in by_row)]
    parts = []
    for place, sentences in zip(places, by_row, strict=True):
        own = [one for one in sentences if one not in shared]
        if own:
            parts.append(f"At {place}: {' '.join(own)}")
    return " ".join([*parts, *shared])
