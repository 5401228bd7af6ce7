"""The papers' texts, which are not part of the repository.

They are looked for beside it, in `../shared/papers`, or one folder higher, from a worktree.
"""

import re

import pytest

from paths import ROOT

# The beginnings of the texts' file names, the version that was taken first.
VERSIONS = {"past": ("001", "000"), "crl": ("002", "004"), "sparsity": ("003",)}
PLACES = [folder / "shared" / "papers" for folder in ROOT.parents[:2]]
TEXTS = next((place for place in PLACES if place.is_dir()), PLACES[0])

needs_texts = pytest.mark.skipif(
    not TEXTS.is_dir(), reason="the papers' texts are not beside the repository"
)


def texts(paper: str) -> list[str]:
    """A paper's versions, with digits as the tables have them: no commas between thousands."""
    paths = [next(TEXTS.glob(f"{start}_*.txt")) for start in VERSIONS[paper]]
    read = [path.read_text(encoding="utf-8") for path in paths]
    return [re.sub(r"(?<=\d),(?=\d{3}\b)", "", text) for text in read]
