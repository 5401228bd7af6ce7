"""Colours, lines and markers of every picture.

The colours are Okabe and Ito's, which colour-blind readers can tell apart. A role (member,
target, …) keeps its colour through the course, and each colour comes with a line, a hatch or a
marker of its own.
"""

from typing import Any

COLOR = {
    "member": "#0072B2",  # blue
    "non_member": "#D55E00",  # vermillion
    "target": "#009E73",  # bluish green
    "shadow": "#CC79A7",  # reddish purple
    "chance": "#666666",
    "mark": "#000000",
    "shade": "#dedede",  # of a row: what is lighter is white in a PNG with few colours
}
LINE = {
    "member": "-",
    "non_member": "--",
    "target": "-",
    "shadow": "--",
    "chance": ":",
    "mark": "-",
}
HATCH = {"member": None, "non_member": "////"}

# Colour and line of the first, second, … curve of a picture whose curves have no roles.
CURVES = (
    ("#009E73", "-"),
    ("#CC79A7", "--"),
    ("#E69F00", "-."),
    ("#56B4E9", (0, (5, 1))),
    ("#000000", (0, (7, 1, 1, 1))),  # A dotted line is chance.
)
# Colour and marker of the first, second, … series of points. Black comes last: it is the mark of
# the undefended model.
COLORS = (
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#0072B2",
    "#D55E00",
    "#777777",
    "#882255",
    "#000000",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "hatch.linewidth": 0.6,
    "figure.facecolor": "white",
    "svg.hashsalt": "mialib",
    "svg.fonttype": "none",
}
DPI = 110
SHADE = 0.62  # of a colour's brightness: what is left where it writes a text


def darker(color: str) -> str:
    """The same hue, dark enough to be read as a text on white.

    >>> darker("#E69F00")
    '#8f6300'
    """
    red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(SHADE * part):02x}" for part in (red, green, blue))


def group(role: str) -> str:
    """A role in the plural, as a legend names it.

    >>> group("non_member")
    'non-members'
    """
    return role.replace("_", "-") + "s"
