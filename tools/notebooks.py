"""Build the course: sources (py:percent) → assembled → executed → notebooks and pages.

    python tools/notebooks.py build     rebuild the committed notebooks/ from notebooks/source/
    python tools/notebooks.py run       execute every lesson and write build/ (with pages)

A source holds a front matter and its cells. The header, the set-up cell, the `parameters` cell and
the footer come from the templates below. `{{expression}}` in a text cell is filled from the run at
that place, so a sentence cannot disagree with its figure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from tqdm import tqdm

import pages
import readme
from mialib import store
from mialib.course.plots.spoken import with_minus_signs
from paths import ROOT

SOURCES = ROOT / "notebooks" / "source"
NOTEBOOKS = ROOT / "notebooks"
BUILD = ROOT / "build"
BRACES = re.compile(r"\{\{(.+?)\}\}")
WIDGET = "application/vnd.jupyter.widget-view+json"
SCRIPT = "application/javascript"

HEADER = """\
# {number} · {title}

**{question}**

[Open in Colab]({colab})

| At a glance | This lesson |
|---|---|
| You will be able to | {goals} |
| You need | {needs} |
| Time to read | {read} minutes |
| Time to run | {time_to_run} |
| Seed | 0 for the models that you train, unless a cell says otherwise |
| Reproduces | {reproduces} |
| Last verified | {{{{verified}}}} |"""
TIME_TO_RUN = "{{seconds}} s at profile `{{profile}}`, {{start}}, on {{cores}} cores"

SETUP = """\
import importlib.util
import sys

if "google.colab" in sys.modules and importlib.util.find_spec("mialib") is None:
    # Colab brings torch and NumPy; --no-deps leaves them as they are.
    %pip install --quiet --no-deps "mialib @ git+{address}"
if importlib.util.find_spec("mialib") is None:
    raise ModuleNotFoundError("mialib is not installed: see the README, then restart.")
from mialib import doctor

doctor.require()  # says which package is missing or too old
print(doctor.device())"""

PARAMETERS = 'PROFILE = "quick"  # notebook 00 says what each profile needs'

# Runs in the lesson's own kernel after its last cell, under names that no lesson has.
FREEZE = """\
from pathlib import Path as _Path
from mialib.course import frozen as _frozen
print(_frozen.write_all(_Path({folder!r})))"""

# What JupyterLab would write, so that opening a lesson does not change it.
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": platform.python_version(),
}

FOOTER = """\
---
{neighbours}

**Words and symbols**: [glossary](GLOSSARY.md)
· **Are the attacks right?** [how we know](HOW_WE_KNOW.md)"""


@dataclass(frozen=True)
class Lesson:
    """One source file: its front matter and its cells."""

    name: str  # NN_topic
    front: dict
    cells: list[NotebookNode]

    @property
    def number(self) -> str:
        return self.name[:2]


def read_lesson(path: Path) -> Lesson:
    """Read a source: YAML between two `# ---` lines, then py:percent cells."""
    _, front, body = path.read_text(encoding="utf-8").split("# ---\n", 2)
    matter = yaml.safe_load(
        "\n".join(line.removeprefix("#").removeprefix(" ") for line in front.splitlines())
    )
    missing = {"title", "question", "goals", "needs", "read", "reproduces"} - set(matter)
    if missing:
        raise ValueError(f"{path.name}: the front matter lacks {', '.join(sorted(missing))}.")
    return Lesson(
        path.stem, matter, [c for c in jupytext.reads(body, fmt="py:percent").cells if c.source]
    )


def lessons() -> list[Lesson]:
    """Every lesson in teaching order."""
    return [read_lesson(path) for path in sorted(SOURCES.glob("[0-9][0-9]_*.py"))]


def chosen_of(series: list[Lesson], starts: list[str]) -> list[Lesson]:
    """The lessons whose names start so; all of them where nothing is named."""
    for start in starts:
        if not any(lesson.name.startswith(start) for lesson in series):
            raise SystemExit(f"No lesson's name starts with {start!r}; they start with 00, 01, …")
    return [one for one in series if not starts or one.name.startswith(tuple(starts))]


def repository() -> str:
    """The project's address, kept in pyproject.toml alone."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["repository"]


def colab_address(address: str, name: str) -> str:
    """Where Colab opens a lesson of the repository at `address`."""
    on_colab = address.replace("github.com", "colab.research.google.com/github")
    return f"{on_colab}/blob/main/notebooks/{name}.ipynb"


def assemble(lesson: Lesson, series: list[Lesson]) -> NotebookNode:
    """The lesson as a notebook that has not run yet."""
    address = repository()
    header = HEADER.format(
        **lesson.front | {"goals": "<br>".join(f"• {goal}" for goal in lesson.front["goals"])},
        number=lesson.number,
        time_to_run=TIME_TO_RUN,
        colab=colab_address(address, lesson.name),
    )
    cells = [
        new_markdown_cell(header),
        new_code_cell(SETUP.format(address=address), metadata={"tags": ["setup"]}),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        *(
            new_markdown_cell(c.source) if c.cell_type == "markdown" else new_code_cell(c.source)
            for c in lesson.cells
        ),
        new_markdown_cell(FOOTER.format(neighbours=_neighbours(lesson, series))),
    ]
    for position, cell in enumerate(cells):
        cell.id = f"{lesson.name[:2]}-{position:03d}"
    metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE, "accelerator": "GPU"}
    return new_notebook(cells=cells, metadata=metadata)


@contextmanager
def executed(
    notebook: NotebookNode,
    *,
    title: str,
    home: Path,
    profile: str = "quick",
    figures: Path | None = None,
    kernel: str = "python3",
    folder: Path = ROOT,
) -> Iterator[NotebookClient]:
    """Run the notebook in place and fill its braces; inside, its kernel can still be asked."""
    cell_tagged(notebook, "parameters").source = PARAMETERS.replace("quick", profile)
    environment = {**os.environ, "MIALIB_HOME": str(home)}
    if figures:
        environment["MIALIB_FIGURES"] = str(figures)
    client = NotebookClient(
        notebook,
        timeout=1800,
        kernel_name=kernel,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],
    )
    cold = not (home / "runs").exists()
    started = time.perf_counter()
    with client.setup_kernel(env=environment):
        for position, cell in enumerate(tqdm(notebook.cells, title, unit="cell")):
            if cell.cell_type == "code":
                client.execute_cell(cell, position)
            elif position:  # the header is filled last
                cell.source = _fill(client, cell.source)
        seconds = round(time.perf_counter() - started, 1)
        _check_bars(client)
        yield client
    _fill_header(notebook, seconds, profile, cold)
    notebook.metadata["mialib"] = {"seconds": seconds, "profile": profile}
    clean(notebook)


def _check_bars(client: NotebookClient) -> None:
    """A progress bar that ended red told its reader that something failed, which is not so."""
    for state in client.widget_state.values():
        if state.get("bar_style") == "danger":
            raise RuntimeError(f"A progress bar ended red, as if its work had failed: {state}")


def _fill_header(notebook: NotebookNode, seconds: float, profile: str, cold: bool) -> None:
    facts = {
        "seconds": f"{seconds:.0f}",
        "verified": time.strftime("%Y-%m-%d"),
        "profile": profile,
        "start": "with nothing trained before" if cold else "with what was trained before",
        "cores": os.cpu_count(),
    }
    header = notebook.cells[0]
    header.source = BRACES.sub(lambda match: str(facts[match[1]]), header.source)


def clean(notebook: NotebookNode) -> None:
    """Leave out what must not be committed: widget state, scripts, timings, machine paths."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        outputs = cell.get("outputs", [])
        for output in [one for one in outputs if SCRIPT in one.get("data", {})]:
            outputs.remove(output)  # It names sliders, which are not there without a kernel.
        # A slider keeps its sentence; a progress bar, which is a widget too, keeps nothing.
        for output in [one for one in outputs if WIDGET in one.get("data", {})]:
            del output.data[WIDGET]
            if not output.data["text/plain"].startswith("A slider"):
                outputs.remove(output)
        for output in outputs:
            on_stderr = output.output_type == "stream" and output.name == "stderr"
            if on_stderr or output.output_type == "error":
                raise RuntimeError(f"Cell {cell.id} wrote to stderr: {json.dumps(output)[:2000]}")


def _fill(client: NotebookClient, text: str) -> str:
    """Replace each {{expression}} by its value in the lesson's own kernel.

    A :format may follow the expression.
    """
    expressions = BRACES.findall(text)
    if not expressions:
        return text
    listed = ", ".join(f"f'''{{{expression}}}'''" for expression in expressions)
    said = _probe(client, f"import json as _json\nprint(_json.dumps([{listed}]))")
    values = iter(json.loads(said))
    return BRACES.sub(lambda _: typeset(next(values)), text)


def typeset(value: str) -> str:
    """A value as the prose around it writes numbers: −0.5, and 78 % on one line."""
    return re.sub(r"(?<=\d)%", "\N{NO-BREAK SPACE}%", with_minus_signs(value))


def _probe(client: NotebookClient, code: str) -> str:
    """Run code in the lesson's kernel without a trace in the notebook; gives what it printed."""
    cell = new_code_cell(code)
    client.nb.cells.append(cell)
    try:
        client.execute_cell(cell, len(client.nb.cells) - 1, store_history=False)
    finally:
        client.nb.cells.pop()
    return "".join(output.text for output in cell.outputs)


def cell_tagged(notebook: NotebookNode, tag: str) -> NotebookNode:
    """The notebook's one cell with this tag."""
    return next(cell for cell in notebook.cells if tag in cell.metadata.get("tags", []))


def _neighbours(lesson: Lesson, series: list[Lesson]) -> str:
    """Links to the lesson before and the lesson after."""
    at = [other.name for other in series].index(lesson.name)
    links = []
    if at > 0:
        links.append(f"**Before**: {_link(series[at - 1])}")
    if at + 1 < len(series):
        links.append(f"**Next**: {_link(series[at + 1])}")
    return " · ".join(links)


def _link(lesson: Lesson) -> str:
    return f"[{lesson.number} · {lesson.front['title']}]({lesson.name}.ipynb)"


def freeze(client: NotebookClient, folder: Path) -> None:
    """Draw the lesson's sliders at some of their positions, for pages without a kernel."""
    shutil.rmtree(folder, ignore_errors=True)
    _probe(client, FREEZE.format(folder=str(folder)))


def execute_all(
    chosen: list[Lesson], series: list[Lesson], *, frames: Path | None = None, **options
) -> dict[str, NotebookNode]:
    """Execute lessons one after the other; one that fails is named and left out.

    With a folder for `frames`, their sliders are frozen there.
    """
    done = {}
    for lesson in chosen:
        notebook = assemble(lesson, series)
        try:
            with executed(notebook, title=lesson.name, **options) as client:
                if frames:
                    freeze(client, frames / lesson.name)
        except Exception as error:
            print(f"{lesson.name} failed: {str(error)[-3000:]}", file=sys.stderr)
        else:
            done[lesson.name] = notebook
    return done


def build(chosen: list[Lesson], series: list[Lesson]) -> None:
    """Rebuild the committed notebooks, each from an empty store so that its time is honest."""
    done = {}
    for lesson in chosen:
        with tempfile.TemporaryDirectory() as home:
            done |= execute_all([lesson], series, home=Path(home))
    for name, notebook in done.items():
        nbformat.write(notebook, NOTEBOOKS / f"{name}.ipynb")
    readme.update(series)
    _complain_about_missing(chosen, done)


def run(chosen: list[Lesson], series: list[Lesson], profile: str) -> None:
    """Execute into build/ and say what was made."""
    BUILD.mkdir(exist_ok=True)
    done = execute_all(
        chosen,
        series,
        home=store.home(),
        profile=profile,
        figures=BUILD / "figures",
        frames=BUILD / "frames",
    )
    for name, notebook in done.items():
        nbformat.write(notebook, BUILD / f"{name}.ipynb")
    pages.write(done, {lesson.name: lesson for lesson in series}, BUILD)
    print(f"\n{'lesson':<28}{'seconds':>8}")
    for name, notebook in done.items():
        print(f"{name:<28}{notebook.metadata['mialib']['seconds']:>8.1f}")
    figures = len(list((BUILD / "figures").glob("*.png")))
    print(
        f"\nMade {len(done)} notebooks, their pages and {figures} figures (PNG and SVG) in build/."
    )
    print("Read:  open build/index.html in a browser.\nMove the sliders:  make lab")
    _complain_about_missing(chosen, done)


def _complain_about_missing(chosen: list[Lesson], done: dict) -> None:
    failed = [lesson.name for lesson in chosen if lesson.name not in done]
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}; the reason stands above.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["build", "run"])
    parser.add_argument(
        "--only", nargs="*", default=[], help="lessons, by the start of their names: 00 01"
    )
    parser.add_argument("--profile", default="quick")
    arguments = parser.parse_args()
    series = lessons()
    chosen = chosen_of(series, arguments.only)
    if arguments.what == "build":
        build(chosen, series)
    else:
        run(chosen, series, arguments.profile)


if __name__ == "__main__":
    main()
