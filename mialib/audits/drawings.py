"""The few drawings of a report, as SVG written by hand: no package, no script, small files.

Colours are classes that the page's style sheet fills in, so that they follow light and dark. Every
drawing has a title and a description that say what it shows. All text is escaped.

    roc(curves, null=…, ceiling=…)         # logarithmic axes, bands
    histogram(scores, is_member, positions)    # a line for every position of a threshold
    agreement(names, share)                # who finds the same members
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, log10

import numpy as np
import scipy

from mialib.audits.findings import Curve

WIDTH = 420
HEIGHT = 330
LEFT = 64
RIGHT = 24
TOP = 10
BOTTOM = 44
BINS = 36
WIDEST = 3.3  # standard deviations of the pooled records that the histogram shows
TICKS = (0.01, 0.1, 0.5, 0.9, 0.99)  # shares of all records
LETTER = 6.5  # the width of a letter
NAMES_WIDTH = 150  # of the attacks' names beside the square of their agreement
LEAST_CELL = 20  # the side of a cell that holds a number


def svg(body: Sequence[str], *, name: str, title: str, told: str, height: float = HEIGHT) -> str:
    """A drawing with its alt text; `name` must be unique on the page."""
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {_n(height)}" role="img" '
            f'aria-labelledby="{name}-title {name}-told">',
            f'<title id="{name}-title">{escape(title)}</title>',
            f'<desc id="{name}-told">{escape(told)}</desc>',
            *body,
            "</svg>",
        ]
    )


def _n(number: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{number:.1f}".rstrip("0").rstrip(".")


def _path(x: np.ndarray, y: np.ndarray) -> str:
    return "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in zip(x, y, strict=True))


def _text(x: float, y: float, words: str, *, anchor: str = "middle", more: str = "") -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"'
    return f"<text {place}{more}>{escape(words)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line class="{kind}" {ends}/>'


def _upright(words: str) -> str:
    """The name of the y-axis, turned."""
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turn = f' transform="rotate(-90 13 {_n(middle)})"'
    return _text(13, middle, words, more=turn)


# ROC curves on logarithmic axes.


class _LogAxes:
    """Rates from one false alarm to 1 on both axes."""

    def __init__(self, non_members: int):
        self.floor = 1 / max(non_members, 10)
        self.decades = -log10(self.floor)

    def x(self, rate: np.ndarray | float) -> np.ndarray:
        return LEFT + self._share(rate) * (WIDTH - LEFT - RIGHT)

    def y(self, rate: np.ndarray | float) -> np.ndarray:
        return HEIGHT - BOTTOM - self._share(rate) * (HEIGHT - TOP - BOTTOM)

    def _share(self, rate: np.ndarray | float) -> np.ndarray:
        return 1 + np.log10(np.clip(rate, self.floor, 1)) / self.decades

    def frame(self) -> list[str]:
        body = []
        for power in range(ceil(-self.decades - 1e-9), 1):
            rate = 10.0**power
            x = float(self.x(rate))
            y = float(self.y(rate))
            body.append(_line(x, TOP, x, HEIGHT - BOTTOM, "grid"))
            body.append(_line(LEFT, y, WIDTH - RIGHT, y, "grid"))
            body.append(_text(x, HEIGHT - BOTTOM + 17, _percent(rate)))
            body.append(_text(LEFT - 6, y + 4, _percent(rate), anchor="end"))
        body.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "non-members accused (FPR)"))
        body.append(_upright("members found (TPR)"))
        return body


def _percent(rate: float) -> str:
    return f"{100 * rate:.4g} %"


def roc(
    curves: Mapping[str, Curve],
    *,
    null: Curve,
    non_members: int,
    told: str,
    ceiling: tuple[np.ndarray, np.ndarray] | None = None,
    name: str = "roc",
) -> str:
    """ROC curves; the first has its band, grey is what shuffled membership would give.

    `ceiling` (FPRs, TPRs) is what a guarantee allows at most.
    """
    axes = _LogAxes(non_members)
    body = axes.frame()
    if ceiling is not None:
        body.append(_ceiling(axes, *ceiling))
    body.append(_band(axes, null, "null"))
    diagonal = np.array([axes.floor, 1.0])
    body.append(f'<path class="chance" d="{_path(axes.x(diagonal), axes.y(diagonal))}"/>')
    first = next(iter(curves.values()))
    body.append(_band(axes, first, "band"))
    for number, curve in reversed(list(enumerate(curves.values()))):
        body.append(f'<path class="curve c{number}" d="{_steps(axes, curve)}"/>')
    return svg(body, name=name, title="ROC curves on logarithmic axes", told=told)


def _steps(axes: _LogAxes, curve: Curve) -> str:
    return _path(axes.x(curve.fpr), axes.y(curve.tpr))


def _band(axes: _LogAxes, curve: Curve, kind: str) -> str:
    known = ~np.isnan(curve.low) & ~np.isnan(curve.high)
    x = axes.x(curve.fpr[known])
    around = np.concatenate([x, x[::-1]])
    edge = np.concatenate([axes.y(curve.low[known]), axes.y(curve.high[known])[::-1]])
    return f'<path class="{kind}" d="{_path(around, edge)}Z"/>'


def _ceiling(axes: _LogAxes, fpr: np.ndarray, tpr: np.ndarray) -> str:
    x = axes.x(fpr)
    y = axes.y(tpr)
    area = _path(np.append(x, [x[-1], x[0]]), np.append(y, [axes.y(1.0)] * 2))
    return f'<path class="forbidden" d="{area}Z"/><path class="ceiling" d="{_path(x, y)}"/>'


# The histogram of an attack's scores.


def stretched(scores: np.ndarray) -> np.ndarray:
    """Scores as places on the axis: all records together form a bell, whatever the scores are."""
    ranks = scipy.stats.rankdata(scores) / (len(scores) + 1)
    return scipy.special.ndtri(ranks)


def histogram(
    scores: np.ndarray,
    is_member: np.ndarray,
    thresholds: Sequence[float],
    *,
    told: str,
    name: str = "histogram",
) -> str:
    """Members above the line, non-members below it, and a line of class `t0`, `t1`, … each."""
    place = stretched(scores)
    edges = np.linspace(-WIDEST, WIDEST, BINS + 1)
    inside = place.clip(-WIDEST, WIDEST)
    members = np.histogram(inside[is_member], edges)[0] / is_member.sum()
    others = np.histogram(inside[~is_member], edges)[0] / (~is_member).sum()
    tallest = max(members.max(), others.max())
    middle = (TOP + HEIGHT - BOTTOM) / 2
    unit = (middle - TOP - 14) / tallest
    width = (WIDTH - LEFT - RIGHT) / BINS
    body = []
    for number, (up, down) in enumerate(zip(members, others, strict=True)):
        left = LEFT + number * width
        body.append(_bar(left, middle - up * unit, width, up * unit, "member"))
        body.append(_bar(left, middle, width, down * unit, "non-member"))
    body.append(_line(LEFT, middle, WIDTH - RIGHT, middle, "axis"))
    body.append(_text(LEFT + 4, TOP + 10, "members", anchor="start"))
    body.append(_text(LEFT + 4, HEIGHT - BOTTOM - 6, "non-members", anchor="start"))
    body += _score_ticks(scores)
    body.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "score (right: called a member)"))
    body.append(_upright("share of the records"))
    for number, threshold in enumerate(thresholds):
        x = _across(_place_of(threshold, scores, place))
        body.append(_line(x, TOP, x, HEIGHT - BOTTOM, f"mark t{number}"))
    return svg(body, name=name, title="Histogram of scores, with a threshold", told=told)


def _bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    if height < 0.05:
        return ""
    place = f'x="{_n(x + 0.4)}" y="{_n(y)}" width="{_n(width - 0.8)}" height="{_n(height)}"'
    return f'<rect class="{kind}" {place}/>'


def _across(place: float) -> float:
    return LEFT + (np.clip(place, -WIDEST, WIDEST) / WIDEST + 1) / 2 * (WIDTH - LEFT - RIGHT)


def _place_of(threshold: float, scores: np.ndarray, place: np.ndarray) -> float:
    """Halfway between the last record that is called a member and the next one."""
    called = place[scores >= threshold]
    others = place[scores < threshold]
    above = called.min() if len(called) else WIDEST
    below = others.max() if len(others) else -WIDEST
    return float((above + below) / 2)


def _score_ticks(scores: np.ndarray) -> list[str]:
    """The scores at some shares of all records, where there is room for them."""
    body = []
    taken = -np.inf
    before = ""
    for share in TICKS:
        x = _across(float(scipy.special.ndtri(share)))
        words = f"{np.quantile(scores, share, method='nearest'):.2g}".replace("-", "−")
        half = LETTER * len(words) / 2
        body.append(_line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4, "axis"))
        # Tied scores have one number at several shares, which is written once.
        if x - half > taken + LETTER and words != before:
            body.append(_text(x, HEIGHT - BOTTOM + 17, words))
            taken = x + half
            before = words
    return body


# Agreement.


def agreement(names: Sequence[str], share: Mapping[tuple[str, str], float], *, told: str) -> str:
    """A square of numbers: of the members that two attacks find, the share that both find."""
    label = NAMES_WIDTH
    cell = _cell_size(len(names))
    height = 24 + cell * len(names) + 4
    body = []
    size = "" if cell >= LEAST_CELL else ' font-size="10"'
    for column, _ in enumerate(names):
        body.append(_text(label + cell * (column + 0.5), 16, str(column + 1), more=size))
    for row, name in enumerate(names):
        y = 24 + cell * row
        body.append(_text(label - 6, y + cell / 2 + 4, f"{_short(name)} {row + 1}", anchor="end"))
        for column, other in enumerate(names):
            value = _share_of(name, other, share)
            x = label + cell * column
            body.append(_cell(x, y, cell, value))
    return svg(
        body, name="agreement", title="Agreement of attacks", told=told, height=max(height, 60)
    )


def has_numbers(attacks: int) -> bool:
    """Whether the cells of so many attacks are large enough for their numbers."""
    return _cell_size(attacks) >= LEAST_CELL


def _cell_size(attacks: int) -> float:
    return min(34.0, (WIDTH - NAMES_WIDTH - RIGHT) / attacks)


def _share_of(name: str, other: str, share: Mapping[tuple[str, str], float]) -> float:
    if name == other:
        return 1.0
    return share.get((name, other), share.get((other, name), np.nan))


def _cell(x: float, y: float, size: float, value: float) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(size - 1)}" height="{_n(size - 1)}"'
    if np.isnan(value):
        return f'<rect class="cell none" {place}/>'
    square = f'<rect class="cell" {place} fill-opacity="{value:.2f}"/>'
    if size < LEAST_CELL:
        return square
    kind = ' class="on-dark"' if value > 0.55 else ""
    return square + _text(x + size / 2, y + size / 2 + 4, f"{100 * value:.0f}", more=kind)


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"
