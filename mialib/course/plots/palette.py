"""Colours, lines and markers of every picture.

The colours are Okabe and Ito's, which colour-blind readers can tell apart. A role (member,
target, …) keeps its colour through the course, and so does a family of defenses among points in a
plane; each colour comes with a line, a hatch or a marker of its own.
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
# An attack that stands in several pictures has one colour and line, by the name in a lesson.
ATTACKS = {
    "loss": CURVES[0],
    "Attack R": CURVES[1],
    "LiRA offline": CURVES[2],
    "LiRA, pooled variance": CURVES[2],
    "RMIA": CURVES[3],
    "LiRA": CURVES[4],
    "LiRA online": CURVES[4],
}
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

# A family of defenses has one colour, from lesson to lesson; markers tell its members apart. There
# are too many defenses for a colour each. The last two are Tol's.
SENSITIVE = COLORS[0]  # a penalty where the loss gap is sensitive
UNIFORM = COLORS[2]  # a penalty on all weights alike
UNSURE = COLORS[3]  # a softer label, or a loss that is low enough
DULL = COLORS[1]  # plain training that is longer, shorter or of a smaller network: the controls
SPARSE = COLORS[7]  # fewer weights
TAUGHT = "#332288"  # by an opponent, a teacher, or non-members
RANDOM = "#999933"  # noise in every step
DEFENSES = {  # colour and marker, by the name in a lesson
    "PAST": (SENSITIVE, "o"),
    "ℓ1": (UNIFORM, "^"),
    "uniform ℓ1": (UNIFORM, "^"),
    "ℓ2": (UNIFORM, "v"),
    "label smoothing": (UNSURE, "s"),
    "confidence penalty": (UNSURE, "P"),
    "RelaxLoss": (UNSURE, "o"),
    "CRL's RelaxLoss": (UNSURE, "X"),
    "ImpRelaxLoss": (UNSURE, "v"),
    "CRL": (UNSURE, "D"),
    "CRL, inert centers": (UNSURE, "D"),
    "CRL (active)": (UNSURE, "^"),
    "CRL, acting, by λ": (UNSURE, "^"),
    "λ = 0": (DULL, "s"),
    "tuned with λ = 0": (DULL, "s"),
    "early stopping": (DULL, "X"),
    "stopped early": (DULL, "X"),
    "dense, stopped early": (DULL, "X"),
    "dense, retrained": (DULL, "s"),
    "dense, narrow": (DULL, "v"),
    "nearest dense network": (DULL, "s"),
    "AdvReg": (TAUGHT, "o"),
    "mixup": (TAUGHT, "P"),
    "Mixup+MMD": (TAUGHT, "s"),
    "MMD alone": (TAUGHT, "^"),
    "distillation": (TAUGHT, "D"),
    "DMP": (TAUGHT, "v"),
    "dropout": (RANDOM, "D"),
    "DP-SGD": (RANDOM, "P"),
    "pruned": (SPARSE, "o"),
    "pruned (IMP)": (SPARSE, "o"),
    "pruned at once": (SPARSE, "^"),
    "butterfly": (SPARSE, "P"),
    "butterflies, L = 2": (SPARSE, "P"),
    "butterflies, L = 3": (SPARSE, "X"),
}

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


def look_of(name: str, place: int) -> tuple[str, str]:
    """Colour and marker of a defense; of any other series, those of its place in the picture.

    What stands behind a name in brackets does not count.

    >>> look_of("ℓ1 (λ)", 0) == look_of("uniform ℓ1", 5) == ("#E69F00", "^")
    True
    >>> look_of("settings of the table", 1)
    ('#CC79A7', 's')
    """
    for known in (name, name.rpartition(" (")[0]):
        if known in DEFENSES:
            return DEFENSES[known]
    return COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)]


def curve_of(name: str, place: int) -> tuple[str, Any]:
    """Colour and line of an attack; of any other curve, those of its place in the picture.

    What stands behind a name in brackets or after a comma does not count.

    >>> curve_of("RMIA, γ = 2", 0) == curve_of("RMIA", 4)
    True
    """
    for known in (name, name.partition(" (")[0], name.partition(", ")[0]):
        if known in ATTACKS:
            return ATTACKS[known]
    return CURVES[place]


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
