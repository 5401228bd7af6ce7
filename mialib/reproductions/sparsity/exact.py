"""Fig. 2 and 3 and Table 1 of the sparsity paper: drawn and counted, nothing is trained.

The paper's own sizes are drawn: 60,000 records in quarters, and a ResNet-20 of 272,474 parameters.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mialib import models, papers, profiles
from mialib.course import figures
from mialib.course.plots.picture import Picture
from mialib.data import Records
from mialib.estimates import Estimate
from mialib.models import Block, Network
from mialib.reproductions.comparing import exact
from mialib.reproductions.items import Evidence, Item, Line, Made
from mialib.sparsity import chains, magnitude
from mialib.splits import split

SIZE = 16  # of the butterfly in Fig. 3
RECORDS = 60_000
SHAPE = (3, 32, 32)
CLASSES = 10
SHARE = 0.2  # that a pruning takes of what is left
PRUNINGS = 24
FEWEST = "fewest nonzero weights where that holds"
MOST = "most nonzero weights where that holds"
OUTSIDE = "nonzero weights with a significant change of defense outside the range"


class Butterfly(NamedTuple):
    """Which convolutions are butterflies: those of the last S segments, with L factors."""

    segments: int
    factors: int

    @property
    def printed(self) -> float:
        """Percent of the parameters, as Table 1 has it."""
        method = f"Butterfly(S={self.segments}, L={self.factors})"
        value = papers.find("sparsity", method=method, metric="nonzero weights").value
        assert value is not None  # Table 1 has no empty cell.
        return value

    def __str__(self) -> str:
        return f"Butterfly (S = {self.segments}, L = {self.factors})"


BUTTERFLIES = tuple(Butterfly(segments, factors) for segments in (1, 2, 3) for factors in (2, 3))


def quoted_percentages() -> dict[int, float]:
    """How often the text's percentages were pruned, and what it prints of them."""
    outside = papers.numbers("sparsity", item="sparsity-quoted", metric=OUTSIDE)
    four, three = (one.value for one in outside)
    eight = papers.find("sparsity", item="sparsity-quoted", metric=MOST).value
    sixteen = papers.find("sparsity", item="sparsity-quoted", metric=FEWEST).value
    by_prunings = {3: three, 4: four, 8: eight, 16: sixteen}
    return {prunings: value for prunings, value in by_prunings.items() if value is not None}


def fig_2(evidence: Evidence) -> Made:
    """Whose records train what, and who attacks whom."""
    row = "sparsity-fig-2"
    settings = profiles.load("paper").experiments["sparsity dense"]
    numbered = np.arange(RECORDS)
    records = Records("numbered", numbered[:, None].astype(np.float32), numbered % 10, CLASSES)
    sides = split(settings.split, records, validation=settings.validation)
    networks = {name: _resnet() for name in sides}
    picture = figures.pipeline(sides, networks, "discriminator\nbest of 9 perceptrons")
    lines = (
        Line(row, "parameters of each network", _setting("weights"), _count(networks["target"])),
        Line(row, "members of each network", None, exact(picture.numbers["target train"])),
        Line(
            row,
            "validation records of each network",
            _setting("validation records"),
            exact(picture.numbers["target validation"]),
        ),
    )
    return Made({row: picture}, lines)


def _setting(name: str) -> float | None:
    return papers.find("sparsity", item="sparsity-settings", metric=f"setting: {name}").value


def _resnet(**options: int) -> Network:
    return models.build("resnet20", shape=SHAPE, classes=CLASSES, **options)


def _count(network: Network) -> Estimate:
    return exact(sum(parameter.numel() for parameter in network.parameters()))


def fig_3(evidence: Evidence) -> Made:
    """The supports of a butterfly's factors, and their product."""
    row = "sparsity-fig-3"
    chain = chains.square(SIZE)
    supports = [factor.support().astype(int) for factor in reversed(chain)]
    panels = {f"$X^{{({level})}}$": one for level, one in enumerate(supports, start=1)}
    panels["W"] = np.linalg.multi_dot(supports)
    spent = chains.parameters(chain)
    title = f"N = {SIZE}: 2N log₂ N = {spent} parameters; dense, N² = {SIZE**2}"
    most = max(int(one.sum(axis=axis).max()) for one in supports for axis in (0, 1))
    lines = (
        Line(row, "most non-zero entries in a row or column of a factor", None, exact(most)),
        Line(row, "parameters of all factors", None, exact(spent)),
        Line(row, "entries of the product, N²", None, exact(panels["W"].size)),
    )
    picture = figures.matrix_product(panels, title=title, height=2.1)
    return Made({row: picture}, lines)


def table_1(evidence: Evidence) -> Made:
    """The percentage of parameters that remain, of butterflies and after prunings."""
    row = "sparsity-table-1"
    counted = {one: remaining_percent(one) for one in BUTTERFLIES}
    agreeing = sum(round(percent, 1) == one.printed for one, percent in counted.items())
    lines = [
        Line(
            row,
            "butterflies whose percentage agrees with the printed digits",
            len(BUTTERFLIES),
            exact(agreeing),
        )
    ]
    for one, percent in counted.items():
        lines.append(Line(row, f"{one}: non-zero parameters, %", one.printed, exact(percent)))
    percentages = pruned_percentages()
    printed = quoted_percentages()
    for prunings in (*printed, PRUNINGS):
        what = f"IMP with {prunings} prunings: non-zero parameters, %"
        lines.append(Line(row, what, printed.get(prunings), exact(percentages[prunings])))
    pictures = {f"{row}-{factors}-factors": _picture(factors, counted) for factors in (2, 3)}
    return Made(pictures, tuple(lines))


@cache
def remaining_percent(butterfly: Butterfly) -> float:
    """The parameters of a network with butterflies, in percent of the dense one's."""
    sparse = _resnet(segments=butterfly.segments, factors=butterfly.factors)
    return 100 * _count(sparse).value / _count(_resnet()).value


@cache
def pruned_percentages() -> list[float]:
    """What remains after 0, 1, … prunings; what is never pruned counts."""
    network = _resnet()
    percentages = [magnitude.remaining(network)]
    for _ in range(PRUNINGS):
        magnitude.hold(network, magnitude.smallest_pruned(network, SHARE))
        magnitude.release(network)
        percentages.append(magnitude.remaining(network))
    return percentages


def _picture(factors: int, counted: dict[Butterfly, float]) -> Picture:
    """Each convolution before and after, in all three segments, and the percentages by S."""
    chosen = [one for one in BUTTERFLIES if one.factors == factors]
    percent = {
        "counted": [counted[one] for one in chosen],
        "printed": [one.printed for one in chosen],
    }
    before = _convolutions(_resnet())
    after = _convolutions(_resnet(segments=3, factors=factors))
    title = f"S = 3, L = {factors}"
    return figures.network_parameters(before, after, percent, at=3, title=title)


def _convolutions(network: Network) -> list[int]:
    """The parameters of every 3×3 convolution but the stem, from the input on."""
    blocks = [block for block in network.modules() if isinstance(block, Block)]
    layers = [layer for block in blocks for layer in (block.conv1, block.conv2)]
    return [sum(one.numel() for one in layer.parameters()) for layer in layers]


ITEMS = tuple(
    Item(name=name, paper="sparsity", shows=shows, data="cifar10", plans={}, make=make)
    for name, shows, make in (
        ("sparsity-fig-2", "Whose records train what, and who attacks whom", fig_2),
        ("sparsity-fig-3", "The supports of a butterfly's factors, N = 16", fig_3),
        ("sparsity-table-1", "Non-zero parameters of butterflies and after prunings", table_1),
    )
)
