"""Keep the page on photographs true to the shipped results.

    mialib run photographs --profile cpu --data cifar10.npz     # makes them; some hours
    python tools/photographs.py

`data/figures/photographs.png` shows every setting; `notebooks/PHOTOGRAPHS.md` has the undefended
network's attacks, and a line for each setting.
"""

from __future__ import annotations

import re

from mialib.course import headlines, plots
from mialib.experiments import Results, results
from paths import ROOT
from readme import filled

PICTURE = ROOT / "data" / "figures" / "photographs.png"
PAGE = ROOT / "notebooks" / "PHOTOGRAPHS.md"
UNDEFENDED = "undefended"
ATTACKS = (
    "correctness",
    "loss",
    "modified entropy",
    "neural (PAST)",
    "neural (CRL)",
    "discriminator",
    "rotation (PAST)",
    "gradient ℓ2",
)


def parts(trainings: Results) -> dict[str, str]:
    """What stands between the page's marks: two tables and a picture."""
    named = headlines.by_name(trainings)
    return {
        "measured": headlines.repeats(named[UNDEFENDED], *ATTACKS).data,
        "trainings": headlines.settings(named, against=named[UNDEFENDED]).data,
        "picture": f"![{picture(named).alt}](../{PICTURE.relative_to(ROOT).as_posix()})",
    }


def picture(named: dict[str, Results]) -> plots.Picture:
    """Where each setting stands, a panel for each defense."""
    series: dict[str, list[plots.Point]] = {}
    labels: dict[str, list[str]] = {}
    for name, one in named.items():
        family, _, setting = name.partition(", ")
        if name == UNDEFENDED:
            continue
        symbols = ", ".join(re.findall(r"(\S+) = ", setting))
        title = f"{family} ({symbols})" if symbols else family
        series.setdefault(title, []).append((one.accuracy(), one.highest()))
        labels.setdefault(title, []).append(re.sub(r"\S+ = ", "", setting))
    undefended = (named[UNDEFENDED].accuracy(), named[UNDEFENDED].highest())
    two_knobs = [title for title in series if title.startswith("PAST")]
    return plots.tradeoff(
        series, undefended=undefended, labels=labels, columns=3, unjoined=two_knobs
    )


def main() -> None:
    trainings = results("photographs", "cpu")
    PICTURE.write_bytes(picture(headlines.by_name(trainings)).png)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(text, **parts(trainings)), encoding="utf-8")


if __name__ == "__main__":
    main()
