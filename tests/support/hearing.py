"""What a listener hears of a page, and what of it would be nonsense or lost.

    stumbles("λ = 1e-06 and ∇")     # {"e-06", "∇"}
    heard(page)                     # the words of a built page, one piece a line

espeak-ng 1.51 names the signs of `SPOKEN` rightly and passes over the marks of `PASSED_OVER`, which
`test_words.py` asks it again wherever it is installed. Any other sign is spelled out, as "letter
two one one three", or is lost.
"""

from __future__ import annotations

import copy
import re

from bs4 import BeautifulSoup, Tag

SPOKEN = set("₀₁₂₃₄₅₆₇₈₉±×÷≤≥≠≈→←−∞½%°€αβγδεζηθκλμνξπρστφψωΛΦΔΣéèêüöäßøåçñ✔")
PASSED_OVER = set("·•–—…“”‘’„«»\u00a0\u202f✎")
LOST = re.compile(
    r"(?<=\d)e[+−-]\d+"  # "one e zero six"
    r"|(?<![\w.])-\d"  # "zero point one" for [-0.1
    r"|\d–\d"  # "three five" for 3–5
    r"|^–$|(?<!\S)–:"  # nothing, for an empty cell and for what the dash in it means
    r"|\d-\d\d-\d"  # "dash" twice in a date
    r"|(?<!\S)(?:[<>]=?|/)(?!\S)"
    r"|(?<!\S)\d/\d(?![\w/])"  # "slash"
    r"|\|[^|\s]+\|"
    r"|[\^²³$]"
)


def stumbles(text: str) -> set[str]:
    """Signs that would be spelled out or lost."""
    signs = {sign for sign in text if not sign.isascii()}
    return (signs - SPOKEN - PASSED_OVER) | set(LOST.findall(text))


def heard(page: BeautifulSoup) -> str:
    """The words of a page as a speech program gets them, without code."""
    page = copy.copy(page)
    for tag in page.select("script, style, code, .highlight, [aria-hidden=true]"):
        tag.decompose()
    for tag in page.find_all(["math", "img"]):
        tag.replace_with(f" {_instead(tag)} ")
    for tag in page.find_all(attrs={"aria-label": True}):
        tag.insert(0, f"{tag['aria-label']}\n")
    return page.get_text("\n")


def seen(tag: Tag) -> str:
    """The words of an element as eyes read them."""
    tag = copy.copy(tag)
    for one in tag.select(".heard"):
        one.decompose()
    return tag.get_text().strip()


def _instead(tag: Tag) -> str:
    """A formula's words, or a picture's."""
    return str(tag["aria-label"] if tag.name == "math" else tag["alt"])
