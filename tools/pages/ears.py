"""What a speech program would spell out or lose is said in words, beside what eyes see.

ℓ1 stays what is seen; L1 stands beside it, hidden from eyes as ℓ1 is from ears. Code is left alone,
and formulas have words of their own.
"""

from __future__ import annotations

import html
import re
from itertools import groupby

from bs4 import BeautifulSoup, NavigableString

from mialib.course.plots.spoken import aloud

ATTRIBUTES = ("alt", "aria-label", "data-said")
NOT_READ = ["code", "math", "script", "style"]
PAIR = (
    '<span class="said"><span aria-hidden="true">{written}</span>'
    '<span class="heard">{said}</span></span>'
)


def mend(page: BeautifulSoup) -> None:
    """Change a page in place, words and attributes."""
    for name in ATTRIBUTES:
        for tag in page.find_all(attrs={name: True}):
            tag[name] = aloud(tag[name])
    for text in page.find_all(string=_would_stumble):
        if type(text) is NavigableString and not _is_code(text):
            text.replace_with(BeautifulSoup(_mended(text), "html.parser"))


def _would_stumble(text: str) -> bool:
    return aloud(text) != text


def _is_code(text: NavigableString) -> bool:
    return bool(text.find_parent(NOT_READ) or text.find_parent(class_="highlight"))


def _mended(text: str) -> str:
    """Words that follow each other are said together, in one breath."""
    found = re.findall(r"^\s+|\S+\s*", text)
    runs = groupby(found, key=lambda word: _would_stumble(word.rstrip()))
    return "".join(
        _pair("".join(words)) if stumbling else html.escape("".join(words))
        for stumbling, words in runs
    )


def _pair(words: str) -> str:
    written = words.rstrip()
    said = " ".join(aloud(word) for word in written.split())
    pair = PAIR.format(written=html.escape(written), said=html.escape(said))
    return pair + words[len(written) :]
