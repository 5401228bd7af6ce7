"""Keep the README true: the lessons come from executed notebooks, the badges from the address."""

import re

import nbformat

from paths import ROOT

PLACE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end of \2 -->)", re.S)


def filled(text: str, **parts: str) -> str:
    """A page with these parts between the marks of their names; other marks keep what they hold."""

    def fill(match: re.Match) -> str:
        start, name, end = match.groups()
        return f"{start}{parts[name]}\n{end}" if name in parts else match[0]

    return PLACE.sub(fill, text)


def table(series: list) -> str:
    """Number, question, time to read and to run."""
    rows = ["| lesson | question | read | run |", "|---|---|---|---|"]
    for lesson in series:
        front = lesson.front
        cells = [
            f"[{lesson.number} {front['title']}](notebooks/{lesson.name}.ipynb)",
            front["question"],
            f"{front['read']} min",
            f"{seconds_to_run(lesson.name):.0f} s",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def seconds_to_run(name: str) -> float:
    """What the committed notebook says; NaN if it was not built yet."""
    path = ROOT / "notebooks" / f"{name}.ipynb"
    if not path.exists():
        return float("nan")
    return nbformat.read(path, as_version=4).metadata["mialib"]["seconds"]


def update(series: list) -> None:
    """Write the table between its two marks."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(filled(text, lessons=table(series)), encoding="utf-8")


def with_address(text: str, *, address: str, colab: str) -> str:
    """The README with badges, clone command and Colab link of the repository at `address`.

    The badge of the tests is relative, so GitHub shows each fork its own. Colab has no such way,
    and its badge would be a picture from elsewhere, so there it is a plain link.
    """
    tests = "../../actions/workflows/test.yml"
    badges = (
        f"[![The tests on GitHub]({tests}/badge.svg)]({tests}) [Open lesson 00 in Colab]({colab})"
    )
    clone = f"""\
```sh
git clone {address}
cd {address.rpartition("/")[2]}
make lab     # opens lesson 00 in JupyterLab, where the sliders move
```"""
    return filled(text, badges=badges, clone=clone)
