"""Sliders in JupyterLab in Chromium: the milliseconds from a move to the new picture.

python -m bench browser         # from the folder tools/; five minutes

The browser tests move them and note how long it took; here they are run for all the lessons that
they open.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from paths import ROOT

LIMIT = 100.0  # milliseconds
TESTS = "tests/browser/test_lab.py"
TOLD = re.compile(r"(?P<lesson>\w+): (?P<moves>\d+) moves, median (?P<milliseconds>\d+) ms")


class Answers(NamedTuple):
    """How fast a lesson's sliders answered."""

    lesson: str
    moves: int
    milliseconds: float  # the median of the moves

    @property
    def is_too_slow(self) -> bool:
        return self.milliseconds > LIMIT


def measure() -> list[Answers]:
    """Every lesson that `make soak` opens; a lesson whose test failed is an error."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", TESTS, "-k", "sliders_answer"]
        environment = {**os.environ, "MIALIB_BROWSER": "all"}
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", f"--junitxml={report}"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise OSError(done.stdout.strip().splitlines()[-1])
        return read(report.read_text(encoding="utf-8"))


def read(report: str) -> list[Answers]:
    """What the tests noted; where they were skipped, an error with the reason."""
    tree = ElementTree.fromstring(report)
    told = [one.get("value", "") for one in tree.iter("property") if one.get("name") == "answers"]
    if not told:
        reasons = [str(one.get("message")) for one in tree.iter("skipped")]
        raise OSError(reasons[0] if reasons else "no lesson was opened")
    found = [TOLD.fullmatch(line) for line in told]
    return [
        Answers(one["lesson"], int(one["moves"]), float(one["milliseconds"]))
        for one in found
        if one is not None
    ]
