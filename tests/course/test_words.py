"""The lessons' words: acronyms are spelled out, symbols are in the table, links lead somewhere.

Nothing is fetched: a link to elsewhere is asked for its form alone.
"""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path
from shutil import which

import pytest

import mialib
import notebooks
from hearing import PASSED_OVER, SPOKEN, stumbles
from mialib.course.plots.spoken import aloud, with_minus_signs
from pages import formulas
from paths import ROOT
from small_pictures import PICTURES

SERIES = notebooks.lessons()
each_lesson = pytest.mark.parametrize("lesson", SERIES, ids=lambda lesson: lesson.name)
GLOSSARY = (ROOT / "notebooks" / "GLOSSARY.md").read_text(encoding="utf-8")
# Names of software and of sites, which stand for nothing else.
SOFTWARE = {"DataLoader", "GitHub", "JupyterLab", "NumPy", "OpenReview", "PyTorch", "SciPy"}

# Text cells as they are read: no code, no solutions, no addresses, no numbers from the run.
FENCE = re.compile(r"```.*?```", re.S)
FILE = re.compile(r"\b[\w/]+\.(?:md|cff|toml|html|ipynb)\b")
CODE = re.compile(r"`[^`\n]+`")
BRACES = re.compile(r"\{\{.*?\}\}", re.S)
ADDRESS = re.compile(r"(?<=\])\([^)\s]+\)")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.S)


@cache
def prose(name: str) -> str:
    """The text cells of an assembled lesson, without its references."""
    lesson = next(one for one in SERIES if one.name == name)
    cells = notebooks.assemble(lesson, SERIES).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.sub(r"(?s)\n## References\n.*?(\n---\n|\Z)", r"\1", text)


def plain(text: str) -> str:
    """The text without code, addresses and what the run fills in."""
    for pattern in (FENCE, BRACES, CODE, ADDRESS, FILE):
        text = pattern.sub(" ", text)
    return text


def table(head: str) -> list[list[str]]:
    """The rows of the glossary's table under this head, as cells."""
    rows = GLOSSARY.partition(f"\n{head}\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


WORDS = table("| word | in one sentence | lesson |")
ACRONYMS = table("| short | stands for | what it is | lesson |")
SYMBOLS = table("| symbol | say | meaning | in the code | lesson | paper |")


# Acronyms and names.


def short_forms(text: str) -> set[str]:
    """Words with two capitals, such as AUC, LiRA, DP-SGD and RelaxLoss; plurals count as one."""
    found = re.findall(r"\b[A-Z][A-Za-z]*[A-Z][A-Za-z]*\b(?:-[A-Z]{2,})?", text)
    return {re.sub(r"(?<=[A-Z])s$", "", word) for word in found} - SOFTWARE


def spelled_out_there(word: str, text: str) -> bool:
    """Whether the text itself says what a word stands for: *accuracy (ACC)*."""
    return re.search(rf"\w \({re.escape(word)}\)", text) is not None


def listed() -> set[str]:
    return {word for row in ACRONYMS for word in row[0].split(", ")}


@each_lesson
def test_no_acronym_is_left_unexplained(lesson):
    text = plain(FORMULA.sub(" ", prose(lesson.name)))
    unknown = {word for word in short_forms(text) - listed() if not spelled_out_there(word, text)}
    assert unknown == set(), "spell it out in the lesson, or give it a row in notebooks/GLOSSARY.md"


@pytest.mark.parametrize("row", ACRONYMS, ids=lambda row: row[0])
def test_what_an_acronym_stands_for_has_its_letters(row):
    short, long = row[:2]
    if short in ("IN, OUT", "ImageNet"):  # A pair of words and a name, which have no long form.
        return
    initials = iter(re.findall(r"\b\w", long.lower()))
    letters = re.sub(r"[^A-Z]", "", short).lower()
    assert all(letter in initials for letter in letters), f"{short}: {long}"


def test_acronyms_that_nobody_spelled_out_are_found():
    text = "Its XYZ is high, and so are two QRSs; the area under the curve (AUC) is not."
    assert short_forms(text) == {"XYZ", "QRS", "AUC"}
    assert spelled_out_there("AUC", text)
    assert not spelled_out_there("XYZ", text)


# Symbols.

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "ell": "ℓ",
    "nabla": "∇", "partial": "∂", "infty": "∞", "pm": "±",
}  # fmt: skip
SIGNS = re.compile(r"[α-ωΓΔΘΛΞΠΣΦΨΩℓ∇∂∞±]")
UPRIGHT = re.compile(r"\\(?:text|mathrm|operatorname|begin|end)\{[^}]*\}")


def symbols(text: str) -> set[str]:
    """Greek letters and signs anywhere, and Latin letters in formulas; indices are left out."""
    found = set(SIGNS.findall(FORMULA.sub(" ", text)))
    for displayed, inline in FORMULA.findall(text):
        formula = UPRIGHT.sub(" ", displayed or inline)
        formula = re.sub(r"_\{[^}]*\}|_\\?\w", "", formula)
        found |= {GREEK[name] for name in re.findall(r"\\([A-Za-z]+)", formula) if name in GREEK}
        found |= set(SIGNS.findall(formula))
        found |= set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", formula)))
    return found


def lessons_of(row: list[str]) -> set[str]:
    """The numbers of the lessons in which a row's symbol has its meaning."""
    return {one.number for one in SERIES} if row[4] == "all" else set(row[4].split(", "))


def known_symbols(number: str) -> set[str]:
    """What the table explains for a lesson; a Latin letter may be explained for another one."""
    here = [row for row in SYMBOLS if number in lessons_of(row)]
    greek = {one for row in here for one in symbols(row[0])}
    latin = {one for row in SYMBOLS for one in symbols(row[0]) if one.isascii()}
    return greek | latin


@each_lesson
def test_every_symbol_is_in_the_table(lesson):
    missing = symbols(plain(prose(lesson.name))) - known_symbols(lesson.number)
    assert missing == set(), f"give it a row for lesson {lesson.number} in notebooks/GLOSSARY.md"


def test_symbols_are_found_in_formulas_and_in_text():
    text = r"With λ = 0, $\gamma_i^{\alpha}\,|w_i|$ and $$L_{\text{members}} = \mathrm{Acc}$$"
    assert symbols(text) == {"λ", "γ", "α", "w", "L"}


@pytest.mark.parametrize("row", SYMBOLS, ids=lambda row: f"{row[0]} {row[4]}")
def test_a_symbol_can_be_said_and_its_lessons_are_there(row):
    assert len(row) == 6
    assert row[1].isascii()
    assert lessons_of(row) <= {one.number for one in SERIES}


def standing(name: str) -> set[str]:
    """A lesson's symbols, and the single letters that stand in its text as words do."""
    text = FENCE.sub(" ", prose(name))
    return symbols(text) | set(re.findall(r"\b[A-Za-z]\b", text))


@pytest.mark.parametrize("row", SYMBOLS, ids=lambda row: f"{row[0]} {row[4]}")
def test_a_symbol_stands_in_a_lesson_that_it_names(row):
    named = [one.name for one in SERIES if one.number in lessons_of(row)]
    assert symbols(row[0]) <= set().union(*map(standing, named)), "drop the row, or its lessons"


NAMES = sorted({name for row in SYMBOLS for name in re.findall(r"`([^`]+)`", row[3])})


@cache
def defined_in_mialib() -> set[str]:
    """Every class, function, field and method of the library, and the parameters of functions."""
    found = set()
    home = Path(mialib.__file__).parent
    for path in home.rglob("*.py"):
        module = path.relative_to(home.parent).with_suffix("").as_posix().replace("/", ".")
        found |= {module, *names_in(ast.parse(path.read_text(encoding="utf-8")).body, module)}
    return found


def names_in(body: list, module: str) -> set[str]:
    short = module.rpartition(".")[2]
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found |= {f"{short}.{node.name}", *(one.arg for one in node.args.args)}
        if isinstance(node, ast.ClassDef):
            found |= {node.name, *(f"{node.name}.{one}" for one in fields_of(node))}
    return found


def fields_of(node: ast.ClassDef) -> list[str]:
    methods = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
    annotated = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
    return methods + [one.id for one in annotated if isinstance(one, ast.Name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_the_code_is_in_the_code(name):
    assert name in defined_in_mialib()


# Words for ears.

espeak = pytest.mark.skipif(not which("espeak-ng"), reason="espeak-ng is not installed")


def phonemes(text: str) -> str:
    """What espeak-ng would say, without pauses and stress."""
    command = ["espeak-ng", "-q", "-x", "-v", "en-gb", text]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"[\s_:]+", " ", re.sub("[',]", "", said)).strip()


@espeak
@pytest.mark.parametrize("sign", sorted(SPOKEN))
def test_espeak_names_a_sign_that_is_spoken(sign):
    said = phonemes(f"so {sign} 3")
    assert said != phonemes("so 3")
    assert phonemes("letter").split()[0] not in said


@espeak
@pytest.mark.parametrize("sign", sorted(PASSED_OVER))
def test_espeak_passes_over_other_signs(sign):
    assert phonemes(f"so {sign} we") == phonemes("so we")


@pytest.mark.parametrize("name", PICTURES)
def test_an_alt_text_can_be_read_aloud(name):
    said = PICTURES[name]().alt
    assert stumbles(said) == set(), "say it in words"
    assert not re.search(r"[{}\\]", said)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("uniform ℓ1", "uniform L1"),
        ("$X^{(2)}$, 4×4", "X (2), 4 by 4"),
        ("$R_2$", "R 2"),
        ("a loss of 8.1e-05", "a loss of 8.1 × 10 to the −5"),
        ("2e+06 and 1e3x", "2 × 10 to the 6 and 1e3x"),
        ("[-0.1, 0.2], low-FPR", "[−0.1, 0.2], low-FPR"),
        ("5 $ and $ 6", "5 $ and $ 6"),
        ("γ^α, ^2.5, N²", "γ to the α, to the 2.5, N squared"),
        ("|w|, |∂G/∂w|, a | b", "the size of w, the size of partial G/partial w, a | b"),
        ("ε < 0.7, <Bank>", "ε less than 0.7, <Bank>"),
        ("as in Fig. 2a (Eq. 3)", "as in figure 2a (equation 3)"),
        ("verified 2026-11-09, 978-3-31", "verified 9 November 2026, 978-3-31"),
        ("difficulty 2/5, √(C / 2)", "difficulty 2 of 5, the square root of (C slash 2)"),
        ("difficulty 2/5 · 1.1/2", "difficulty 2 of 5 · 1.1/2"),
        ("–", "dash"),
        ("– as a pause – and –: none", "– as a pause – and dash: none"),
    ],
)
def test_words_for_ears(written, said):
    assert aloud(written) == said
    assert aloud(said) == said


@each_lesson
def test_a_lesson_can_be_read_aloud(lesson):
    """Pages say what `aloud` makes of it; formulas have words of their own."""
    text = plain(FORMULA.sub(" ", prose(lesson.name)))
    assert stumbles(aloud(text)) == set(), "say it in words, or put it into a formula"


def test_signs_that_would_be_spelled_out_or_lost_are_found():
    assert stumbles("The ℏ of x̄, λ = 0 → 1") == {"ℏ", "\N{COMBINING MACRON}"}
    assert stumbles("1e-06, [-0.1], 3–5, a < b, |w|, γ^2") == {
        *("e-06", "-0", "3–5", "<", "|w|", "^"),
    }
    assert stumbles("–: a / b, 2026-11-18, 2/5 ") == {"–:", "/", "6-11-1", "2/5"}
    assert stumbles("–") == {"–"}
    assert stumbles("1 × 10 to the −6, low-FPR, 2e5, <Bank>, a | b, a – b, 1/τ") == set()


# A fold's words are Markdown after an empty line alone; before it, "`" is a backtick.
RAW_FOLD = re.compile(r"</summary>(?!\n\n)(.*?)</details>", re.S)


@each_lesson
def test_no_markup_is_left_as_it_is_in_a_fold(lesson):
    folds = "".join(RAW_FOLD.findall(prose(lesson.name)))
    assert not re.findall(r"`|\*\w[^*]*\*", folds)


def test_raw_folds_are_found():
    text = "<details><summary>A</summary>`x`</details> <summary>B</summary>\n\n`y`\n\n</details>"
    assert RAW_FOLD.findall(text) == ["`x`"]


# Formulas.

GLOSSARY_FORMULAS = [a or b for a, b in FORMULA.findall(CODE.sub(" ", GLOSSARY))]


@each_lesson
def test_formulas_can_be_read_aloud(lesson):
    text = CODE.sub(" ", FENCE.sub(" ", prose(lesson.name)))
    for displayed, inline in FORMULA.findall(text):
        assert stumbles(formulas.said(displayed or inline)) == set()


def test_formulas_of_the_glossary_can_be_read_aloud():
    assert len(GLOSSARY_FORMULAS) > 40
    assert stumbles(" ".join(map(formulas.said, GLOSSARY_FORMULAS))) == set()


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"x_i^2 - \alpha_{rce}", "x i squared minus α rce"),
        (r"\frac{1}{n} \sum_{i=1}^n x_i", "1 over n times the sum from i equals 1 to n of x i"),
        (r"\lambda|w|", "λ times the size of w"),
        (r"\lVert q - c \rVert^2", "the norm of q minus c, squared"),
        (r"e^\varepsilon\,\mathrm{FPR} + \delta", "e to the ε times FPR plus δ"),
        (r"\Pr(x \mid \theta) / q", "the probability of (x given θ) over q"),
        (r"\nabla_x \ell = W^\top", "the gradient with respect to x of ell equals W transposed"),
        (r"\hat W, \overline{p}, \Phi^{-1}(a)", "W hat, p bar, Φ inverse (a)"),
        (r"\log_2 N, \sqrt{2/\pi}", "log base 2 N, the square root of 2 over π"),
        (
            r"\begin{bmatrix} 1 & 1 \\ 1 & -1 \end{bmatrix}",
            "[the matrix with rows 1, 1; 1, minus 1]",
        ),
        (r"\frac{a + b}{c}", "the fraction a plus b, over c, end of fraction"),
    ],
)
def test_words_of_a_formula(latex, words):
    assert formulas.said(latex) == words
    assert formulas.said(latex, display="block") == words


@pytest.mark.parametrize(
    ("filled", "said"),
    [
        ("-0.14 [-0.27, 0.00]", "−0.14 [−0.27, 0.00]"),
        ("1e-06", "1e-06"),
        ("2026-11-18", "2026-11-18"),
        ("low-FPR", "low-FPR"),
        ("λ-0", "λ-0"),
    ],
)
def test_a_negative_number_keeps_its_sign_when_it_is_read_aloud(filled, said):
    assert with_minus_signs(filled) == said


def test_a_percentage_of_the_run_looks_as_in_the_prose_around_it():
    assert (
        notebooks.typeset("from -3.5% to 78%")
        == "from −3.5\N{NO-BREAK SPACE}% to 78\N{NO-BREAK SPACE}%"
    )


# Where a word is introduced.


def test_no_word_stands_twice():
    names = [row[0].lower() for row in WORDS + ACRONYMS]
    assert len(names) == len(set(names))
    assert names[: len(WORDS)] == sorted(names[: len(WORDS)]), "in alphabetical order"


@pytest.mark.parametrize("row", WORDS + ACRONYMS, ids=lambda row: row[0])
def test_a_word_is_used_in_the_lesson_that_it_names(row):
    name = re.fullmatch(r"\[(\d\d)\]\((\1_\w+)\.ipynb\)", row[-1])[2]
    lesson = next(one for one in SERIES if one.name == name)
    text = "\n".join(cell.source for cell in notebooks.assemble(lesson, SERIES).cells).lower()
    names = row[0].split(", ") + ([row[1]] if row in ACRONYMS else [])
    assert any(stem(word) in text for word in names), f"{row[0]} is not in {name}"


def stem(name: str) -> str:
    """What its first word begins with, so that *pruned* counts as a use of *pruning*."""
    first = name.lower().split()[0]
    return first[: max(4, len(first) - 3)] if len(first) > 5 else first


# Links.

MARKDOWN = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
HTML = re.compile(r"""<(?:a|img)\b[^>]*?\b(?:href|src)=["']([^"']+)["']""")
PAGES = sorted(
    path
    for folder in ("*.md", "mialib/*.md", "notebooks/**/*.md", "data/**/*.md")
    for path in ROOT.glob(folder)
    if ".ipynb_checkpoints" not in path.parts
)


def links(text: str) -> list[str]:
    text = CODE.sub(" ", FENCE.sub(" ", text))
    return MARKDOWN.findall(text) + HTML.findall(text)


def anchors(text: str) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"(?m)^#{1,6} +(.+?)\s*$", FENCE.sub(" ", text))
    kept = [re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", one.lower())) for one in headings]
    return {one.replace(" ", "-") for one in kept}


def leads_nowhere(link: str, folder: Path, here: str) -> bool:
    """Whether a link has no file or no heading; one to elsewhere must be a whole address."""
    if re.match(r"[a-z]+:", link):
        return not re.match(r"https://[\w.-]+\.\w+(/\S*)?$|mailto:|data:", link)
    if folder == ROOT and link.startswith("../../actions/workflows/"):  # a page of GitHub's
        workflow = link.split("/")[4]
        return not (ROOT / ".github" / "workflows" / workflow).exists()
    name, _, anchor = link.partition("#")
    target = folder / name
    source = ROOT / "notebooks" / "source" / f"{target.stem}.py"
    if name and not target.exists() and not (target.suffix == ".ipynb" and source.exists()):
        return True
    if anchor and target.suffix in ("", ".md"):
        return anchor not in anchors(target.read_text(encoding="utf-8") if name else here)
    return False


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_link_of_a_page_leads_nowhere(path):
    text = path.read_text(encoding="utf-8")
    dead = [one for one in links(text) if leads_nowhere(one, path.parent, text)]
    assert dead == []


@each_lesson
def test_no_link_of_a_lesson_leads_nowhere(lesson):
    cells = notebooks.assemble(lesson, SERIES).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    dead = [one for one in links(text) if leads_nowhere(one, ROOT / "notebooks", text)]
    assert dead == []
    assert "GLOSSARY.md" in links(text)
    assert "HOW_WE_KNOW.md" in links(text)


@pytest.mark.parametrize(
    "link",
    [
        "gone.md",
        "README.md#no-such-heading",
        "#neither",
        "http://plain",
        "https:/x.org",
        "../../actions/workflows/gone.yml",
    ],
)
def test_a_link_to_nowhere_is_noticed(link):
    text = f"# Here\n[see]({link})"
    assert [leads_nowhere(one, ROOT, text) for one in links(text)] == [True]


# References.

TITLED = re.compile(r"\*([^*]{4,})\*(?: \([A-Z]+\))?(?: [\d.]+)?, (\[[^\]]+\]\([^)]+\))")
IDENTIFIED = re.compile(
    r"\[arXiv (?P<arxiv>(?:[a-z]+/\d{7})|\d{4}\.\d{4,5})\]\(https://arxiv\.org/abs/(?P=arxiv)\)"
    r"|\[doi (?P<doi>10\.\d{4,}/[^\]]+)\]\(https://doi\.org/(?P=doi)\)"
    r"|\[[^\]]+\]\(https://(?:proceedings\.mlr\.press|jmlr\.org|hal\.science|github\.com/OWASP)/\S+\)"
)


def references(lesson) -> list[str]:
    """The items of a lesson's list of references."""
    text = "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")
    listed = re.split(r"(?m)^## ", text.partition("## References\n")[2])[0]
    items = re.split(r"(?m)^- ", listed)[1:]
    return [" ".join(item.split()) for item in items]


@each_lesson
def test_every_reference_can_be_found(lesson):
    assert len(references(lesson)) >= 2
    for item in references(lesson):
        if item.startswith(("Next: ", "Code")):
            continue
        titles = len(re.findall(r"\*[^*\s][^*]{9,}\*", item))
        assert titles >= 1, f"no title: {item}"
        assert len(IDENTIFIED.findall(item)) >= titles, f"no arXiv number, DOI or page: {item}"


@each_lesson
def test_every_repository_is_named_with_its_commit(lesson):
    for item in references(lesson):
        text = ADDRESS.sub(" ", item)
        repositories = re.findall(r"`[\w-]+/[\w.-]+`(?: at commit [0-9a-f]{7})?", text)
        names = [one for one in repositories if not one.startswith("`research/")]
        assert all("at commit" in one for one in names), item


def test_one_paper_has_one_address():
    """A title, or its beginning, leads to the same place from every lesson."""
    found = {}
    for lesson in SERIES:
        for item in references(lesson):
            for title, link in TITLED.findall(item):
                found.setdefault(title.partition(":")[0], set()).add(link)
    assert len(found) > 25
    assert {title: links for title, links in found.items() if len(links) > 1} == {}
    addresses = [link for links in found.values() for link in links]
    assert len(addresses) == len(set(addresses)), "two papers with one address"


# What HOW_WE_KNOW.md names.


def test_every_test_that_the_page_names_is_there():
    page = (ROOT / "notebooks" / "HOW_WE_KNOW.md").read_text(encoding="utf-8")
    named = re.findall(r"\((\.\./tests/[\w/]+\.py)\)", page)
    assert len(set(named)) >= 10
    for claim in re.findall(r"(?m)^- \*\*.+(?:\n  .+)*", page):
        assert "../tests/" in claim, f"no test is named: {claim}"


def test_every_test_function_that_the_page_names_is_there():
    page = (ROOT / "notebooks" / "HOW_WE_KNOW.md").read_text(encoding="utf-8")
    for function, path in re.findall(r"`(test_\w+)`[^\n]*?\(\.\./(tests/[\w/]+\.py)\)", page):
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), function
