r"""Formulas as MathML, and the words that they are said in.

Browsers draw MathML without any script, and speech programs that know it read it. The others get
words from `aria-label`, for Chromium passes over `alttext`, and what it hands them otherwise are
letters such as 𝑤, which are spelled out.

>>> said(r"\lambda \sum_i \gamma_i^\alpha\,|w_i|")
'λ times the sum over i of γ i to the α times the size of w i'
"""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

SIGNS = {
    "=": "equals",
    "≠": "not equal to",
    "≈": "approximately",
    ">": "greater than",
    "≥": "at least",
    "≤": "at most",
    "+": "plus",
    "−": "minus",
    "·": "times",
    "×": "by",  # in this course always of rows and columns
    "/": "over",
    "⊗": "Kronecker",
    "∈": "in",
    "→": "towards",
    "∣": "given",
    "~": "is drawn from",
    "…": "and so on",
    "⋯": "and so on",
    "∂": "partial",
    "ℓ": "ell",
    "𝒩": "N",
}
# What is taken of something, perhaps over an index.
TAKEN = {
    "∑": "the sum",
    "∇": "the gradient",
    "𝔼": "the expectation",
    "Pr": "the probability",
    "min": "the minimum",
    "max": "the maximum",
    "argmax": "the argmax",
}
BARS = {"|": "the size of", "‖": "the norm of"}
POWERS = {"2": "squared", "3": "cubed", "⊤": "transposed", "minus 1": "inverse"}
FUNCTIONS = ("log", "sign")
LETTERS = "∂ℓ𝒩"
WORDS_OF_SIGNS = {words for sign, words in SIGNS.items() if sign not in LETTERS} | {"partial"}
PAUSE = "\ue000"  # the end of what has an end; it becomes a comma
# Browsers draw bars and names of operators as if they were relations, and "log" without a space.
SPACED = [
    (re.compile(r"<mo[^>]*>(&#x0007C;|&#x02016;|Pr)</mo>"), r'<mo lspace="0" rspace="0">\1</mo>'),
    (re.compile(r"<mo[^>]*>(max|min)</mo>"), r'<mo lspace="0" rspace="0.17em">\1</mo>'),
    (re.compile(r"<mi>log</mi>(?!<mo)"), '<mi>log</mi><mspace width="0.17em"/>'),
]
GAPS = ("1em", "2em")  # A space so wide stands between two formulas.


def with_mathml(text: str) -> str:
    """Turn $…$ and $$…$$ outside code into MathML."""
    pieces = re.split(r"(<pre.*?</pre>|<code.*?</code>|<img[^>]*>)", text, flags=re.S)
    for at in range(0, len(pieces), 2):  # The odd pieces are code and images.
        piece = re.sub(r"\$\$(.+?)\$\$", _displayed, pieces[at], flags=re.S)
        pieces[at] = re.sub(r"\$([^$\n]+?)\$", _inline, piece)
    return "".join(pieces)


def _displayed(match: re.Match) -> str:
    return _mathml(html.unescape(match[1]), display="block")


def _inline(match: re.Match) -> str:
    return _mathml(html.unescape(match[1]), display="inline")


def _mathml(latex: str, *, display: str) -> str:
    words = html.escape(said(latex, display=display))
    drawn = convert(latex, display=display)
    for written, better in SPACED:
        drawn = written.sub(better, drawn)
    return drawn.replace("<math ", f'<math aria-label="{words}" ', 1)


def said(latex: str, *, display: str = "inline") -> str:
    """A formula in words."""
    return _words(ElementTree.fromstring(convert(latex, display=display)))


def _words(element: Element) -> str:
    words = re.sub(r"\s+", " ", _said(element).replace(PAUSE, ",")).strip()
    words = re.sub(r" (?=[,.;)\]])|(?<=[(\[]) ", "", words)
    return re.sub(r",(?=[,.;)\]]|$)", "", words)


# Each kind of element.


def _said(element: Element) -> str:
    kind = element.tag.rpartition("}")[2]
    if kind in ("mi", "mn", "mo", "mtext"):
        return _token(element)
    if kind == "mspace":
        return "," if element.get("width") in GAPS else ""
    parts = list(element)
    if kind in ("msub", "munder"):
        return _indexed(*parts)
    if kind == "msup":
        return _raised(_said(parts[0]), parts[1])
    if kind in ("msubsup", "munderover"):
        base, index, power = parts
        if base.text in TAKEN:
            return f"{TAKEN[base.text]} from {_said(index)} to {_said(power)} of"
        return _raised(_indexed(base, index), power)
    if kind == "mfrac":
        return _fraction(*(_said(part) for part in parts))
    if kind == "msqrt":
        return _closed("the square root of", _row(parts))
    if kind == "mover":
        return _covered(*(_said(part) for part in parts))
    if kind == "mtable":
        return "the matrix with rows " + "; ".join(_cells(row) for row in parts)
    return _name(parts) or _row(parts)


def _cells(row: Element) -> str:
    """With a comma between 1 and −1, which would be said as a difference."""
    return ", ".join(_said(cell).strip() for cell in row)


def _token(element: Element) -> str:
    text = (element.text or "").strip()
    if text in TAKEN:
        return f"{TAKEN[text]} of"
    return SIGNS.get(text, text)


def _name(parts: list[Element]) -> str:
    """A name that is written letter by letter, upright; "" for anything else."""
    is_upright = all(part.get("mathvariant") == "normal" for part in parts)
    return "".join(part.text or "" for part in parts) if is_upright else ""


def _indexed(base: Element, index: Element) -> str:
    """An index that is a word is written in letters, too."""
    below = _said(index)
    if len(index) > 1 and all(len(part.text or "") == 1 for part in index):
        letters = "".join(part.text or "" for part in index)
        below = letters if letters.isalpha() else below
    name = (base.text or "").strip() or _name(list(base))
    if name == "log":
        return f"log base {below}"
    if name == "∇":
        return f"the gradient with respect to {below} of"
    return f"{TAKEN[name]} over {below} of" if name in TAKEN else f"{_said(base)} {below}"


def _raised(base: str, power: Element) -> str:
    above = _words(power)
    if above in POWERS:
        return f"{base} {POWERS[above]}"
    # In parentheses stands the number of a factor, no power.
    return f"{base} {above}" if above.startswith("(") else _closed(f"{base} to the", above)


def _fraction(above: str, below: str) -> str:
    if (above, below) == ("1", "2"):
        return "one half"
    if _is_short(above) and _is_short(below):
        return f"{above} over {below}"
    return f"the fraction {above}, over {below}, end of fraction{PAUSE}"


def _covered(below: str, sign: str) -> str:
    if sign == "^":
        return f"{below} hat"
    return f"{below} bar" if _is_short(below) else f"the mean of {below}{PAUSE}"


def _closed(opening: str, words: str) -> str:
    """With a pause after more than a word or two, so that one hears where it ends."""
    return f"{opening} {words}" if _is_short(words) else f"{opening} {words}{PAUSE}"


def _is_short(words: str) -> bool:
    return len(words.split()) <= 2


# A row.


def _row(parts: list[Element]) -> str:
    """The parts one after the other; bars come in pairs, of which the second may have a power."""
    words: list[str] = []
    opened: list[str] = []
    for part in parts:
        bar = _bar(part)
        if opened and bar == opened[-1]:
            opened.pop()
            words.append(_raised(PAUSE, part[1]) if len(part) else PAUSE)
            continue
        if bar:
            opened.append(bar)
        new = BARS[bar] if bar else _said(part)
        if words and new and _is_product(words[-1], new):
            words.append("times")
        words += [new] if new else []
    return " ".join(words)


def _bar(part: Element) -> str:
    """The bar that a part is, or to which it gives a power; "" for anything else."""
    sign = part[0] if part.tag.endswith("msup") else part
    text = (sign.text or "").strip()
    return text if text in BARS else ""


def _is_product(before: str, after: str) -> bool:
    """Whether a product that is written without a sign needs one to be understood."""
    is_clear = not after.startswith("the ") and " to the " not in before
    if is_clear or after in WORDS_OF_SIGNS or after[0] in ",.;)]":
        return False
    last = before.split()[-1]
    return last[-1] not in "([,;" and last not in ("of", *FUNCTIONS, *WORDS_OF_SIGNS)
