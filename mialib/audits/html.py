"""A report as one page of HTML: no script, no network, light and dark, on paper and on a phone.

    page(findings)         # the whole report
    summary(findings)      # its first sections, as a notebook shows them

This module only formats what an audit found. **Everything that is shown goes through `markup`**,
whose pieces escape what they are given, because names of models, classes and groups come from
strangers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mialib.audits import drawings
from mialib.audits.bounds import Bound
from mialib.audits.findings import (
    AGAINST,
    CROSS_FITTED,
    FOR,
    AttackRow,
    Findings,
    Line,
    NullBand,
    Slice,
    counted,
)
from mialib.audits.markup import (
    aside,
    bullets,
    definitions,
    document,
    figure,
    folded,
    joined,
    pair,
    paragraph,
    section,
    table,
    wrapped,
)
from mialib.audits.positions import Position, control, positions
from mialib.epsilon import as_guarantee
from mialib.estimates import Estimate

MOST_CURVES = 4
ALIKE = 0.03  # curves whose TPRs differ by no more than this are one curve to the eye
MOST_RECORDS = 20
SHOWN_RECORDS = 8  # without unfolding
SHOWN_LINES = 4  # of a policy, on each side
MOST_SLICES = 12
MOST_AGREEING = 20  # attacks whose agreement is drawn


def page(findings: Findings) -> str:
    """The report as a file's text."""
    where = positions(findings)
    return document(
        title=f"{findings.head.name}: membership inference audit",
        body=joined(
            head(findings),
            in_three_sentences(findings),
            can_this_be_believed(findings),
            utility(findings),
            attacks(findings),
            curves(findings, where),
            who_is_exposed(findings),
            epsilon(findings),
            canaries(findings),
            for_and_against(findings),
            section("What to try next", bullets(findings.next_steps)),
            section("Not tested", bullets(findings.not_tested)),
            section("Glossary", definitions(GLOSSARY)),
        ),
        positions=len(where),
    )


def summary(findings: Findings) -> str:
    """What a notebook shows: three sentences, belief, utility, attacks."""
    return wrapped(
        joined(
            in_three_sentences(findings),
            can_this_be_believed(findings),
            utility(findings),
            attacks(findings),
        )
    )


# Numbers as text.


def number(estimate: Estimate) -> str:
    """0.610 [0.580, 0.640], or why there is none."""
    return str(estimate)


def percent(estimate: Estimate) -> str:
    """12.6 % [10.1, 15.3], or why there is none.

    >>> percent(Estimate(0.126, 0.101, 0.153))
    '12.6 % [10.1, 15.3]'
    """
    if estimate.note:
        return estimate.note
    value, low, high = (100 * one for one in estimate.triple)
    return f"{value:z.1f} % [{low:z.1f}, {high:z.1f}]"


def _rate(rate: float) -> str:
    return f"{100 * rate:.3g} %"


# The sections, in their order.


def head(findings: Findings) -> str:
    """What was audited, and by what."""
    one = findings.head
    told = []
    if one.model is not None:
        told.append(("model", one.model.name))
        if one.model.parameters is not None:
            told.append(("parameters", f"{one.model.parameters:,}"))
        if one.model.sha256:
            told.append(("weights, sha256", one.model.sha256[:16]))
    told += [
        (
            "records",
            f"{one.members:,} members, {one.non_members:,} non-members, {one.classes:,} classes",
        ),
        ("handed in", f"{one.inputs} (fingerprint {one.fingerprint[:16]})"),
        ("audited", f"{one.date}, mialib {one.version}, seed {one.seed}, {one.seconds:.1f} s"),
    ]
    notes = [("handled", note) for note in one.notes]
    subtitle = paragraph("Membership inference audit: who can tell which records trained it?")
    return section(one.name, subtitle, definitions([*told, *notes]), level=1)


def in_three_sentences(findings: Findings) -> str:
    """What was found; before it, what would make it mean something else."""
    warnings = [aside(warning) for warning in findings.warnings()]
    told = paragraph(" ".join(findings.sentences()))
    return section("In three sentences", *warnings, told)


def can_this_be_believed(findings: Findings) -> str:
    """Everything that could make the results mean less than they seem to."""
    belief = findings.belief
    best = findings.strongest
    lines = [
        ("the game", belief.game),
        ("without the model", belief.blind.sentence),
        ("records in both sets", _duplicates(findings)),
        ("by chance alone", _chance(best, belief.null[best.name], len(findings.attacks))),
        ("too few records for", _unresolvable(findings)),
        ("thresholds", _thresholds(belief.threshold)),
    ]
    return section("Can this be believed?", definitions(lines))


def _duplicates(findings: Findings) -> str:
    exact = findings.belief.duplicates
    near = findings.belief.near_duplicates
    if exact is None:
        return "Unknown: the inputs were not handed in."
    told = f"{exact:,} were in both sets, and were left out." if exact else "None."
    if not near:
        return told
    return f"{told} {near:,} non-members nearly equal a member, and were kept."


def _chance(row: AttackRow, null: NullBand, attacks: int) -> str:
    """What shuffled membership would give the strongest attack, which is also the luckiest."""
    low, high = null.auc_of_all
    told = (
        f"With membership shuffled, {row.name} would have an AUC from {low:.3f} to {high:.3f} "
        f"(95 %, corrected for {counted(attacks)}); it has {row.auc.value:.3f}."
    )
    if row.tpr_at_1_percent.note:
        return told
    least, most = null.tpr_at_1_percent_of_all
    return (
        f"{told} At 1 % FPR it would find {100 * least:.1f} to {100 * most:.1f} % of the members; "
        f"it finds {100 * row.tpr_at_1_percent.value:.1f} %."
    )


def _unresolvable(findings: Findings) -> str:
    rates = findings.belief.unresolvable
    if not rates:
        return "Nothing that is told below."
    told = " and ".join(_rate(rate) for rate in rates)
    return f"An FPR of {told}, with {findings.head.non_members:,} non-members."


def _thresholds(threshold: str) -> str:
    if threshold == CROSS_FITTED:
        return (
            f"{threshold.capitalize()}: no record is judged by a threshold that it helped to "
            "choose, but an attacker has no such records. So the advantage is optimistic."
        )
    return f"{threshold.capitalize()}, as an attacker would."


def utility(findings: Findings) -> str:
    """What the model is good for."""
    one = findings.utility
    told = [
        ("accuracy on members", percent(one.accuracy_members)),
        ("accuracy on non-members", percent(one.accuracy_non_members)),
        ("their gap", percent(one.accuracy_gap)),
        ("loss gap", number(one.loss_gap)),
        ("calibration error (ECE)", percent(one.calibration_error)),
    ]
    return section("Utility", definitions(told))


def attacks(findings: Findings) -> str:
    """A row for each attack, and what the others lack."""
    prior = _rate(findings.head.prior)
    columns = ("attack", "AUC", "advantage", "TPR at 1 % FPR", "TPR at 0.1 % FPR")
    columns = (*columns, f"PPV at prior {prior}", "seconds")
    by_name = {row.name: row for row in findings.attacks}
    rows = [_attack_cells(by_name[row["attack"]], findings) for row in findings.table]
    parts = [
        paragraph(
            "The strongest first; every number with its 95 % interval over records. An AUC that "
            "shuffled membership would also give is marked: as by chance."
        ),
        table(columns, rows, wide=True),
        folded("More numbers", more_numbers(findings)),
    ]
    if findings.lacking:
        told = [f"{name}: {sentence}" for name, sentence in findings.lacking.items()]
        parts.append(folded(f"{counted(len(told))} could not run", bullets(told)))
    return section("Attacks", *parts)


def _attack_cells(row: AttackRow, findings: Findings) -> tuple[str, ...]:
    low, high = findings.belief.null[row.name].auc_of_all
    by_chance = "\nas by chance" if low <= row.auc.value <= high else ""
    return (
        f"{row.name}\n{row.sees}",
        number(row.auc) + by_chance,
        number(row.advantage),
        _resolved(row.tpr_at_1_percent),
        _resolved(row.tpr_at_0_1_percent),
        percent(row.ppv),
        f"{row.seconds:.2f}",
    )


MORE_COLUMNS = (
    "attack",
    "TPR at 10 % FPR",
    "TPR, no false alarm",
    "balanced accuracy",
    "PPV here",
    "NPV here",
    "F1",
    "top − bottom tenth",
)


def more_numbers(findings: Findings) -> str:
    """What other reports print of each attack; JSON and CSV have still more of it."""
    members = _rate(findings.head.members / (findings.head.members + findings.head.non_members))
    by_name = {row.name: row for row in findings.attacks}
    usual = findings.belief.threshold
    rows = [_more_cells(by_name[row["attack"]], usual) for row in findings.table]
    told = (
        "Balanced accuracy, PPV, NPV and F1 are at the attack's threshold; the last three with "
        f"{members} members, as here. The last column: the share of members among the tenth of the "
        "records that scores highest, minus that among the lowest; p is for one attack alone."
    )
    return joined(paragraph(told), table(MORE_COLUMNS, rows, wide=True))


def _more_cells(row: AttackRow, usual: str) -> tuple[str, ...]:
    more = row.more
    other = "" if row.threshold_from == usual else f"\nthreshold {row.threshold_from}"
    p_value = "" if more.tenth.difference.note else f"\n{_p_value(more.tenth.p_value)}"
    return (
        row.name + other,
        _resolved(more.tpr_at_10_percent),
        percent(more.tpr_without_alarms),
        percent(more.balanced_accuracy),
        percent(more.ppv_here),
        percent(more.npv_here),
        number(more.f1),
        number(more.tenth.difference) + p_value,
    )


def _p_value(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _resolved(estimate: Estimate) -> str:
    """A TPR; why there is none, stands above the table, once."""
    return "not resolvable" if estimate.note.startswith("not resolvable") else percent(estimate)


def curves(findings: Findings, where: Sequence[Position]) -> str:
    """The ROC, and the scores of the strongest attack under a threshold that can be moved."""
    shown = {row.name: row.curve for row in shown_attacks(findings)}
    ceiling = None
    if findings.guarantee is not None:
        fpr = np.geomspace(1 / findings.head.non_members, 1, 200)
        ceiling = (fpr, as_guarantee(findings.guarantee).highest_tpr(fpr))
    roc = drawings.roc(
        shown,
        null=findings.belief.null_curve,
        non_members=findings.head.non_members,
        told=_roc_in_words(findings, list(shown)),
        ceiling=ceiling,
    )
    legend = [(f"c{number}", name) for number, name in enumerate(shown)]
    hidden = len(findings.attacks) - len(shown)
    left_out = f" Not drawn: {counted(hidden)}, weaker or like one of these." if hidden else ""
    legend.append(("band", f"95 % band of {next(iter(shown))}"))
    legend.append(("null", "what shuffled membership gives, 95 % at each point"))
    legend.append(("chance", "guessing"))
    if findings.guarantee is not None:
        legend.append(("ceiling", "the most that the guarantee allows"))
    roc_figure = figure(
        roc,
        "Both axes are logarithmic: what matters is at the left, where few are accused. A "
        f"curve inside the grey band says nothing.{left_out}",
        legend=legend,
    )
    return section("Curves", pair(roc_figure, control(findings, where)))


def shown_attacks(findings: Findings) -> list[AttackRow]:
    """The strongest by AUC, the best at 1 % FPR, then those by AUC that do not look the same."""
    by_auc = sorted(findings.attacks, key=lambda row: (-row.auc.value, row.name))
    at_low_fpr = min(
        findings.attacks, key=lambda row: (-np.nan_to_num(row.tpr_at_1_percent.value), row.name)
    )
    shown = [by_auc[0]]
    for row in (at_low_fpr, *by_auc):
        differs = all(_distance(row, other) > ALIKE for other in shown)
        if differs and len(shown) < MOST_CURVES:
            shown.append(row)
    return shown


def _distance(row: AttackRow, other: AttackRow) -> float:
    return float(np.max(np.abs(row.curve.tpr - other.curve.tpr)))


def _roc_in_words(findings: Findings, names: Sequence[str]) -> str:
    by_name = {row.name: row for row in findings.attacks}
    told = "; ".join(_curve_in_words(by_name[name]) for name in names)
    return f"True positive rate against false positive rate, both logarithmic. {told}."


def _curve_in_words(row: AttackRow) -> str:
    told = f"{row.name} has an AUC of {number(row.auc)}"
    if row.tpr_at_1_percent.note:
        return told
    return f"{told} and finds {percent(row.tpr_at_1_percent)} of the members at 1 % FPR"


def who_is_exposed(findings: Findings) -> str:
    """Records, the agreement of attacks, and slices."""
    one = findings.exposure
    tried = len(findings.attacks)
    found = one.found_by[findings.is_member]
    mistaken = int((one.found_by[~findings.is_member] >= 1).sum())
    told = (
        f"At {_rate(one.fpr)} false alarms each, at least one of {counted(tried)} finds "
        f"{int((found >= 1).sum()):,} of {findings.head.members:,} members, and accuses "
        f"{mistaken:,} of {findings.head.non_members:,} non-members by mistake; all of them find "
        f"{int((found == tried).sum()):,}. The most exposed members:"
    )
    columns = ("row", "class", "found by", "scores higher than")
    rows = [
        (
            f"{record.row:,}",
            str(record.label),
            f"{record.found_by} of {counted(tried)}",
            f"{_share(record.above)} of the non-members",
        )
        for record in findings.records(MOST_RECORDS)
    ]
    parts = [
        table(columns, rows[:SHOWN_RECORDS]),
        folded("more of them", table(columns, rows[SHOWN_RECORDS:])),
    ]
    records = joined(*parts)
    agreeing = _agreement(findings)
    side_by_side = pair(records, agreeing) if agreeing else records
    return section("Who is exposed", paragraph(told), side_by_side, *_slices(findings))


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _agreement(findings: Findings) -> str:
    names = [row["attack"] for row in findings.table][:MOST_AGREEING]
    if len(names) < 2:
        return ""
    share = findings.exposure.agreement
    known = {pair: value for pair, value in share.items() if not np.isnan(value)}
    if not known:
        return ""
    closest = max(known, key=lambda pair: (known[pair], pair))
    told = (
        f"A square of {len(names)} attacks by {len(names)}: of the members that either of two "
        f"attacks finds, the share that both find. {closest[0]} and {closest[1]} agree most, on "
        f"{_share(known[closest])}."
    )
    caption = "Of the members that either of two attacks finds, the share that both find: "
    if drawings.has_numbers(len(names)):
        caption += "in %."
    else:
        caption += "the darker, the more; white is none."
    return figure(drawings.agreement(names, share, told=told), caption)


def _slices(findings: Findings) -> list[str]:
    """The slices that differ most from the others, the most exposed first."""
    one = findings.exposure
    measured = [part for part in one.slices if not part.difference.note]
    ordered = sorted(measured, key=lambda part: (-part.difference.value, part.name))
    shown = ordered[:MOST_SLICES]
    if not shown:
        return [paragraph(f"No {one.sliced_by} has enough members and non-members to be measured.")]
    differ = [part for part in measured if part.difference.low > 0 or part.difference.high < 0]
    told = (
        f"Of {len(measured)} slices by {one.sliced_by}, {len(differ) or 'none'} can be told apart "
        f"from the others by {one.attack}; the intervals hold for all of them together."
    )
    columns = (one.sliced_by, "members + others", "AUC", "minus the others'", "so it is")
    listed = table(columns, [_slice_cells(part) for part in shown], wide=True)
    if differ:
        return [paragraph(told), listed]
    return [paragraph(told), folded("the most exposed of them", listed)]


def _slice_cells(part: Slice) -> tuple[str, ...]:
    return (
        part.name,
        f"{part.members:,} + {part.non_members:,}",
        number(part.auc),
        number(part.difference),
        part.words,
    )


def epsilon(findings: Findings) -> str:
    """What the attacks refute, and how that stands to a guarantee."""
    parts = [
        paragraph(
            "Differential privacy bounds every attack. So an attack that is right too often "
            "refutes a bound. It never proves one."
        )
    ]
    bounds: Iterable[Bound] = findings.epsilon or ()
    for bound in bounds:
        parts.append(paragraph(bound.sentence))
    if not findings.epsilon:
        parts.append(paragraph("No lower bound on ε was computed."))
    if findings.guarantee is not None:
        parts += _guarantee(findings)
    return section("ε", *parts)


def canaries(findings: Findings) -> str:
    """What was planted, and whether it is found; nothing where nothing was planted."""
    planted = findings.canaries
    if planted is None:
        return ""
    return section(
        "Canaries",
        paragraph(planted.sentence),
        paragraph(
            "Canaries are the worst case that a training can be asked for: they say more about ε "
            "than ordinary records, and less about ordinary people."
        ),
    )


def _guarantee(findings: Findings) -> list[str]:
    """How much of a guarantee is used, and whether it is broken, which is said loudly."""
    assert findings.guarantee is not None
    claimed = as_guarantee(findings.guarantee)
    parts = [aside(broken) for broken in findings.contradictions()]
    if findings.guarantee_sentence:
        parts.append(paragraph(findings.guarantee_sentence))
    found = [row for row in findings.attacks if not row.tpr_at_1_percent.note]
    if found:
        best = max(found, key=lambda row: row.tpr_at_1_percent.value)
        tpr = best.tpr_at_1_percent.value
        allowed = float(claimed.highest_tpr(0.01))
        ends = [tpr, best.tpr_at_1_percent.high]
        used, at_most = claimed.share_used(ends, [0.01, 0.01])
        parts.append(
            paragraph(
                f"The training claims {claimed.name}. At 1 % FPR that allows a TPR of "
                f"{100 * allowed:.1f} %, and {best.name} has {percent(best.tpr_at_1_percent)}: the "
                f"measurement uses {100 * used:.0f} % of what the guarantee allows beyond "
                f"guessing, and {100 * at_most:.0f} % at the upper end of the interval."
            )
        )
    return parts


def for_and_against(findings: Findings) -> str:
    """The lines of a policy, on two sides."""
    judged = findings.judgement
    if judged.policy is None:
        told = (
            "No policy was named, so there is no rule to hold the numbers to. Name one, or give "
            "limits of your own: audit(…, policy={'advantage': 0.1})."
        )
        return section("For and against", paragraph(told))
    parts = [paragraph(f"By the policy: {judged.policy}.")]
    rules = dict.fromkeys(line.rule for line in judged.lines)
    parts.append(bullets([f"Rule: {rule}." for rule in rules]))
    for side in (AGAINST, FOR):
        lines = [line for line in judged.lines if line.side == side]
        parts.append(_side(side, lines))
    return section("For and against", *parts)


def _side(side: str, lines: Sequence[Line]) -> str:
    if not lines:
        return section(side.capitalize(), paragraph("Nothing."), level=3)
    sentences = [line.sentence for line in lines]
    parts = [bullets(sentences[:SHOWN_LINES])]
    rest = sentences[SHOWN_LINES:]
    if rest:
        parts.append(folded(f"{len(rest)} more of this kind", bullets(rest)))
    return section(side.capitalize(), *parts, level=3)


GLOSSARY = (
    ("member, non-member", "a record that the model was, or was not, trained on"),
    ("TPR, FPR", "the shares of members and of non-members that an attack calls members"),
    ("advantage", "TPR minus FPR at the attack's threshold; 0 is guessing, 1 is certainty"),
    ("AUC", "the probability that a random member scores higher than a random non-member"),
    ("PPV", "of those whom an attack calls members, the share that are, at a given prior"),
    ("95 % interval", "over other records drawn alike; not over other trainings"),
    ("(ε, δ)-DP", "a bound on what one record can change, so on every attack"),
    ("shadow, reference", "a model that an attacker trains to learn what members look like"),
)
