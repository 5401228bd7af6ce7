"""The report as a page: whole, small, safe, and with the numbers of the audit."""

import csv
import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from mialib import metrics
from mialib.audits import Audit, audit, drawings, html, writing
from mialib.audits.bounds import lower_bounds, saw_membership
from mialib.audits.positions import in_words, movable, positions
from mialib.cli import main
from mialib.epsilon import dp_sgd

EVIL = "<script>alert('x')</script>\" onload=\"x"
LARGEST = 500_000  # bytes


def outputs(members: float, non_members: float, *, n: int = 600, classes: int = 4, seed: int = 0):
    """Logits of a model that is so much surer of the label, of n + n records."""
    rng = np.random.default_rng(seed)
    is_member = np.arange(2 * n) < n
    labels = rng.integers(classes, size=2 * n)
    logits = rng.normal(size=(2 * n, classes))
    sure = np.where(is_member, members, non_members) * rng.uniform(0.5, 1.5, 2 * n)
    logits[np.arange(2 * n), labels] += sure
    return {"logits": logits, "labels": labels, "is_member": is_member}


def inputs(shift: float, n: int = 600) -> np.ndarray:
    rng = np.random.default_rng(9)
    return rng.normal(size=(2 * n, 12)) + shift * (np.arange(2 * n) < n)[:, None]


@cache
def report(kind: str) -> Audit:
    """One of the models that the report must describe rightly."""
    if kind == "memorising":
        return audit.from_outputs(**outputs(6, 2), inputs=inputs(0), name=kind, policy="aisvs")
    if kind == "harmless":
        limits = {"advantage": 0.2}
        return audit.from_outputs(**outputs(3, 3), inputs=inputs(0), name=kind, policy=limits)
    if kind == "DP-SGD":
        return audit.from_outputs(**outputs(1.1, 1.0), name=kind, guarantee=(3.1, 1e-5))
    if kind == "broken":
        return audit.from_outputs(**outputs(6, 2), name=kind, guarantee=(0.1, 1e-5), by_coin=True)
    assert kind == "shift"
    return audit.from_outputs(**outputs(6, 2), inputs=inputs(0.6), name=kind)


KINDS = ("memorising", "harmless", "DP-SGD", "broken", "shift")


class Page(HTMLParser):
    """Elements that are never closed, tags with their attributes, and the text."""

    VOID = ("meta", "input", "br", "path", "line", "rect")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def words_of(text: str) -> str:
    """The page as it is read: without tags, spaces as one."""
    return re.sub(r"\s+", " ", Page(text).words)


@cache
def page(kind: str) -> str:
    return html.page(report(kind))


# The page.


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_small_whole_and_needs_nothing(kind):
    text = page(kind)
    assert len(text.encode()) < LARGEST / 4
    parsed = Page(text)
    assert parsed.open == []
    assert not {"script", "img", "link", "iframe", "object"} & {tag for tag, _ in parsed.tags}
    assert not re.search(r"https?:|//[a-z]|url\(|@import|javascript:", text)
    attributes = [name for _, given in parsed.tags for name in given]
    assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)


@pytest.mark.parametrize("kind", KINDS)
def test_every_drawing_has_its_alt_text(kind):
    text = page(kind)
    drawings = [given for tag, given in Page(text).tags if tag == "svg" and "role" in given]
    assert len(drawings) == 3
    for given in drawings:
        for name in given["aria-labelledby"].split():
            told = re.search(rf'<(title|desc) id="{name}">(.*?)</', text, re.DOTALL)
            assert told, name
            assert len(told[2]) > 10
    without = [given for tag, given in Page(text).tags if tag == "svg" and "role" not in given]
    assert all(given.get("aria-hidden") == "true" for given in without)


def test_the_sections_stand_in_their_order():
    headings = re.findall(r"<h2>(.*?)</h2>", page("memorising"))
    assert headings == [
        "In three sentences",
        "Can this be believed?",
        "Utility",
        "Attacks",
        "Curves",
        "Who is exposed",
        "ε",
        "For and against",
        "What to try next",
        "Not tested",
        "Glossary",
    ]
    assert re.findall(r"<h1>(.*?)</h1>", page("memorising")) == ["memorising"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_the_audit_is_on_the_page(kind):
    found = report(kind)
    words = words_of(page(kind))
    for row in found.attacks:
        assert row.name in words
        for shown in (
            html.number(row.auc),
            html.number(row.advantage),
            html.percent(row.tpr_at_1_percent),
            html.percent(row.ppv),
        ):
            assert shown.replace("\xa0", " ") in words, (row.name, shown)
    one = found.utility
    shares = (one.accuracy_members, one.accuracy_non_members, one.accuracy_gap)
    for shown in (*map(html.percent, shares), html.number(one.loss_gap)):
        assert shown in words
    sentences = (found.belief.blind.sentence, *found.next_steps, *found.not_tested)
    for sentence in sentences:
        assert sentence in words
    for line in found.judgement.lines:
        assert line.sentence in words
    for name, sentence in found.lacking.items():
        assert f"{name}: {sentence}" in words
    for bound in found.epsilon:
        assert bound.sentence in words


def test_a_harmless_model_is_marked_as_by_chance_and_a_memorising_one_is_not():
    assert "<small>as by chance</small>" in page("harmless")
    assert "<small>as by chance</small>" not in page("memorising")
    assert "none refutes any ε" in words_of(page("harmless"))
    assert "training is not (ε, 1e-5)-DP for any ε <" in words_of(page("memorising"))


def test_a_shift_is_said_before_everything_else():
    text = words_of(page("shift"))
    warning = report("shift").belief.blind.sentence
    assert "Nothing below is evidence of memorisation" in warning
    assert text.index(warning) < text.index("The strongest attack")
    assert text.count(warning) == 2  # and once among what can be believed
    assert 'class="aside"' in page("shift")
    assert 'class="aside"' not in page("memorising")


def test_a_guarantee_has_its_ceiling_and_a_broken_one_is_said_loudly():
    kept = words_of(page("DP-SGD"))
    assert "of what the guarantee allows beyond guessing" in kept
    assert "BROKEN" not in kept
    assert "does not contradict (3.1, 1e-5)-DP: it refutes" in kept
    assert "ε = 3.1 is promised at δ = 1e-5. That does not prove the promise." in kept
    assert '<path class="ceiling"' in page("DP-SGD")
    assert '<path class="ceiling"' not in page("memorising")
    broken = words_of(page("broken"))
    assert "does not contradict" not in broken
    assert report("broken").summary().startswith("THE GUARANTEE IS BROKEN")
    said = broken.index("THE GUARANTEE IS BROKEN: (0.1, 1e-5)-DP promises ε = 0.1")
    assert said < broken.index("The strongest attack")


def test_a_whole_curve_of_guarantees_allows_less_than_one_pair():
    whole = dp_sgd(sigma=3.0, sample_rate=0.064, steps=960)
    given = outputs(1.1, 1.0)
    curve = audit.from_outputs(**given, guarantee=whole)
    pair = audit.from_outputs(**given, guarantee=(whole.epsilon(1e-5), 1e-5))
    allowed = [
        float(re.search(r"allows a TPR of ([\d.]+) %", words_of(html.page(one)))[1])
        for one in (curve, pair)
    ]
    assert allowed[0] == pytest.approx(100 * whole.highest_tpr(0.01), abs=0.06)
    assert allowed[0] < allowed[1] / 2
    assert "DP-SGD with σ = 3" in words_of(html.page(curve))
    json.loads(writing.as_json(curve))


def test_without_a_policy_there_is_no_verdict():
    assert "No policy was named" in words_of(page("shift"))
    assert "Against release" in page("memorising")
    assert not re.search(r"\b(high|medium|low) risk\b", page("memorising"), re.IGNORECASE)


# The threshold.


@pytest.mark.parametrize("kind", KINDS)
def test_the_positions_have_the_rates_of_metrics(kind):
    found = report(kind)
    row = movable(found)
    where = positions(found)
    assert len(where) >= 4
    for position in where:
        tpr, fpr = metrics.rates(row.scores, found.is_member, threshold=position.threshold)
        assert (position.tpr, position.fpr) == (tpr, fpr)
        assert fpr <= position.limit
        assert position.ppv == metrics.ppv(tpr, fpr, found.head.prior)
        called = row.scores >= position.threshold
        told = in_words(found, position)
        assert f"{called[found.is_member].sum()} of {found.head.members} members" in told
        assert f"{called[~found.is_member].sum()} of {found.head.non_members} non-members" in told
        assert told in words_of(page(kind))


def test_a_position_is_chosen_without_a_script():
    text = page("memorising")
    buttons = [given for tag, given in Page(text).tags if given.get("type") == "radio"]
    number = len(positions(report("memorising")))
    assert len(buttons) == number
    assert {given["name"] for given in buttons} == {"at"}
    assert sum("checked" in given for given in buttons) == 1
    for k in range(number):
        assert f'<label for="at{k}">' in text
        assert f"#at{k}:checked~figure .t{k}{{display:inline}}" in text
        assert f"#at{k}:checked~.t{k}{{display:block}}" in text
        assert f'class="mark t{k}"' in text
        assert f'class="told t{k}"' in text
    # The style finds them by siblings, so buttons, sentences and figure have one parent.
    group = text[text.index('<div class="threshold"') :]
    order = [group.index(part) for part in ("<input", '<p class="told', "<figure", "</div>")]
    assert order == sorted(order)


def test_tied_scores_leave_fewer_positions_or_none():
    tied = audit.from_outputs(**outputs(6, 2), attacks=["correctness"])
    where = positions(tied)
    assert len({position.threshold for position in where}) == len(where) <= 1
    assert ("tied" in html.page(tied)) == (not where)


# Names that strangers hand in.


@cache
def hostile() -> Audit:
    given = outputs(6, 2)
    groups = np.where(np.arange(1200) % 2 == 0, EVIL, "other")
    found = audit.from_outputs(**given, name=EVIL, groups=groups, policy={"advantage": 0.1})
    attacks = tuple(
        replace(row, name=EVIL if k == 0 else row.name, sees=EVIL)
        for k, row in enumerate(found.attacks)
    )
    null = {row.name: next(iter(found.belief.null.values())) for row in attacks}
    return replace(
        found,
        attacks=attacks,
        belief=replace(found.belief, null=null),
        exposure=replace(found.exposure, attack=EVIL),
        lacking={EVIL: EVIL},
        next_steps=(EVIL,),
        not_tested=(EVIL,),
        head=replace(found.head, notes=(EVIL,), inputs=EVIL),
    )


@pytest.mark.parametrize("show", [html.page, html.summary])
def test_names_are_shown_as_text_and_never_run(show):
    text = show(hostile())
    assert "<script" not in text.lower()
    parsed = Page(text)
    assert "script" not in {tag for tag, _ in parsed.tags}
    assert not [given for _, given in parsed.tags if any(name.startswith("on") for name in given)]
    assert EVIL in words_of(text)


def test_hostile_names_stay_names_in_the_files(tmp_path):
    found = replace(hostile(), groups=np.full(1200, "=1+1"))
    found.save(tmp_path / "audit.html", records=True)
    rows = list(csv.DictReader((tmp_path / "audit.csv").open(encoding="utf-8")))
    assert EVIL in {row["attack"] for row in rows}
    records = list(csv.DictReader((tmp_path / "audit.records.csv").open(encoding="utf-8")))
    assert {row["group"] for row in records} == {"'=1+1"}
    assert json.loads((tmp_path / "audit.json").read_text())["head"]["name"] == EVIL


# Many classes, few records, many attacks.


def test_a_tick_of_tied_scores_is_written_once():
    scores = np.r_[np.full(400, -35.0), np.linspace(0, 3, 1600)]
    ticks = re.findall(r">([^<>]+)</text>", "".join(drawings._score_ticks(scores)))
    assert ticks[0] == "−35"
    assert len(set(ticks)) == len(ticks) > 2


def test_many_lines_of_a_policy_are_folded():
    """The fourth attack that exceeds a guess is in sight, and the fifth unfolds."""
    lines = [line.sentence for line in report("memorising").judgement.lines]
    section = unescape(page("memorising").split("Against release")[1])
    seen, folded = section.split("<details>", 1)
    assert f"{len(lines) - 4} more of this kind" in folded
    assert lines[3] in seen
    assert lines[4] not in seen
    assert lines[4] in folded


@pytest.mark.parametrize(("attacks", "has_numbers"), [(8, True), (12, True), (15, False)])
def test_a_caption_speaks_of_numbers_only_where_they_are_written(attacks, has_numbers):
    names = [f"attack {k}" for k in range(attacks)]
    agreeing = {(one, other): 0.5 for one in names for other in names}
    drawn = drawings.agreement(names, agreeing, told="")
    assert drawings.has_numbers(attacks) == has_numbers == (">50</text>" in drawn)


def test_a_thousand_classes_fit_into_the_page():
    found = audit.from_outputs(**outputs(8, 3, n=3000, classes=1000))
    assert len(html.page(found).encode()) < LARGEST


def test_few_records_and_two_classes_have_a_page_too():
    found = audit.from_outputs(**outputs(4, 1, n=30, classes=2))
    words = words_of(html.page(found))
    assert "An FPR of 1 % and 0.1 %, with 30 non-members" in words
    assert words.count("not resolvable") == 2 * len(found.attacks)
    assert Page(html.page(found)).open == []


def test_a_notebook_shows_the_first_sections():
    shown = report("memorising")._repr_html_()
    headings = re.findall(r"<h2>(.*?)</h2>", shown)
    assert headings == ["In three sentences", "Can this be believed?", "Utility", "Attacks"]
    # Its style touches nothing else in the notebook.
    style = re.search(r"<style>(.*?)</style>", shown, re.DOTALL)[1]
    rules = re.sub(r"@media[^{]*\{", "", style)
    selectors = [one.strip() for one in re.findall(r"([^{}]+)\{", rules) if one.strip()]
    parts = [part for selector in selectors for part in selector.split(",")]
    assert all(".mialib-audit" in part for part in parts)


# Files.


def test_json_and_csv_read_back_as_the_audit(tmp_path):
    found = report("memorising")
    written = found.save(tmp_path / "deep" / "audit.html")
    assert [path.name for path in written] == ["audit.html", "audit.json", "audit.csv"]
    assert written[0].read_text(encoding="utf-8") == page("memorising")
    told = json.loads(written[1].read_text(encoding="utf-8"))
    assert told["mialib_audit"] == writing.VERSION
    assert told["summary"] == found.summary()
    for row, one in zip(found.attacks, told["attacks"], strict=True):
        assert one["name"] == row.name
        assert one["auc"] == {
            "value": row.auc.value,
            "low": row.auc.low,
            "high": row.auc.high,
            "note": "",
        }
        assert "scores" not in one
    assert not {"labels", "rows", "is_member", "groups"} & set(told)
    assert not {"found_by", "above", "rank"} & set(told["exposure"])
    assert len(told["most_exposed"]) == html.MOST_RECORDS
    rows = list(csv.DictReader(written[2].open(encoding="utf-8")))
    assert [row["attack"] for row in rows] == [row["attack"] for row in found.table]
    assert float(rows[0]["auc_high"]) == found.strongest.auc.high
    assert float(rows[0]["tpr_at_1_percent"]) == found.strongest.tpr_at_1_percent.value


def test_records_are_written_only_if_asked(tmp_path):
    found = report("memorising")
    found.save(tmp_path / "audit.html")
    assert not (tmp_path / "audit.records.csv").exists()
    found.save(tmp_path / "audit.html", records=True)
    rows = list(csv.DictReader((tmp_path / "audit.records.csv").open(encoding="utf-8")))
    assert len(rows) == len(found.is_member)
    scores = [float(row["score of loss"]) for row in rows]
    by_name = {row.name: row for row in found.attacks}
    assert scores == by_name["loss"].scores.tolist()
    assert [row["is_member"] == "True" for row in rows] == found.is_member.tolist()


@pytest.mark.parametrize("name", ["audit.html", "audit.json", "audit.csv"])
def test_what_is_no_report_is_not_written_over(tmp_path, name):
    (tmp_path / name).write_text("logits_0,label,is_member\n")
    with pytest.raises(FileExistsError, match="left alone"):
        report("memorising").save(tmp_path / "audit.html")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "logits_0,label,is_member\n"


def test_a_report_is_written_over_and_leaves_no_other_file(tmp_path):
    report("harmless").save(tmp_path / "audit.html", records=True)
    report("memorising").save(tmp_path / "audit.html", records=True)
    assert "<h1>memorising</h1>" in (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("name", ["audit.pdf", "audit", "."])
def test_a_report_is_a_page(tmp_path, name):
    with pytest.raises(ValueError, match="page such as"):
        report("harmless").save(tmp_path / name)


# The bounds of an audit.


def test_the_largest_of_several_bounds_is_corrected_for_their_number():
    found = report("memorising")
    together = lower_bounds(found.attacks, found.is_member)
    alone = [
        lower_bounds([row], found.is_member) for row in found.attacks if not saw_membership(row)
    ]
    for k in range(2):
        best = max(one[k].refuted.epsilon for one in alone)
        assert 0 < together[k].refuted.epsilon < best
        assert together[k].refuted.level == 0.95
        assert together[k].attacks == len(alone) < len(found.attacks)


def test_shuffled_audits_refute_nothing_more_often_than_their_level_says():
    rng = np.random.default_rng(0)
    given = outputs(3, 3, n=100)
    wrong = []
    for _ in range(60):
        is_member = rng.permutation(given["is_member"])
        rows = audit.from_outputs(
            **given | {"is_member": is_member}, attacks=["loss", "entropy"]
        ).attacks
        found = lower_bounds(rows, is_member)
        wrong.append(max(bound.refuted.epsilon for bound in found) > 0)
    assert np.mean(wrong) <= 0.1


# The command.


def saved_outputs(folder):
    path = folder / "outputs.npz"
    np.savez(path, **outputs(6, 2, n=200))
    return path


def test_the_command_writes_a_report_and_says_what_it_found(tmp_path, capsys):
    out = tmp_path / "report.html"
    options = ["--name", "mine", "--prior", "0.1", "--policy", "aisvs", "--guarantee", "9", "1e-5"]
    assert main(["audit", str(saved_outputs(tmp_path)), "--out", str(out), *options]) == 0
    said = capsys.readouterr().out
    assert "The strongest attack" in said
    assert "report.html" in said
    told = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert told["head"]["name"] == "mine"
    assert told["head"]["prior"] == 0.1
    assert told["guarantee"] == [9.0, 1e-5]
    assert "PPV at prior 10" in out.read_text(encoding="utf-8")


def test_the_command_is_a_gate(tmp_path, capsys):
    call = ["audit", str(saved_outputs(tmp_path)), "--out", str(tmp_path / "report.html")]
    assert main([*call, "--check", "advantage=0.99"]) == 0
    assert "Every limit is kept." in capsys.readouterr().out
    assert main([*call, "--check", "advantage=0.1"]) == 1
    assert "above the limit 0.1" in capsys.readouterr().err
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--check", "advantage"], "is written as advantage=0.1"),
        (["--check", "advantage=nan"], "is written as advantage=0.1"),
        (["--check", "advantag=0.1"], "did you mean 'advantage'"),
        (["--check", "end=0.1"], "no number with a limit 'end'"),
        (["--out", "report.pdf"], "page such as"),
        (["--policy", "strict"], "no policy 'strict'"),
    ],
)
def test_the_command_refuses_with_a_sentence(tmp_path, capsys, monkeypatch, options, sentence):
    monkeypatch.chdir(tmp_path)
    assert main(["audit", str(saved_outputs(tmp_path)), *options]) == 1
    assert sentence in capsys.readouterr().err


def test_the_command_keeps_the_path_for_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["audit", str(saved_outputs(tmp_path)), "--out", "audit.html"])
    assert "<h1>outputs</h1>" in (tmp_path / "audit.html").read_text(encoding="utf-8")
    for path in tmp_path.glob("audit.*"):
        assert str(tmp_path) not in unescape(path.read_text(encoding="utf-8"))
