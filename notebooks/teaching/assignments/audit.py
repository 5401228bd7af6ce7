"""Assignment: three models, three verdicts.

python audit.py students          reads a.npz, b.npz, c.npz; writes answers.json beside them
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mialib import audit
from mialib.audits import Audit

VERDICTS = ("it remembers its members", "the two sets differ", "nothing found")


def judge(report: Audit) -> dict[str, Any]:
    """Your verdict on one model, from its report.

    verdict           one of VERDICTS
    auc               of the strongest attack, where the model remembers its members
    tpr_at_1_percent  of the attack that is strongest there, where it does
    """
    raise NotImplementedError


def main(folder: Path) -> None:
    answers = {}
    for path in sorted(folder.glob("[abc].npz")):
        report = audit.from_file(path, name=path.stem)
        report.save(folder / f"{path.stem}.html")  # Read it: the second part asks for your words.
        answers[path.stem] = judge(report)
    (folder / "answers.json").write_text(json.dumps(answers, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
