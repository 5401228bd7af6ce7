"""What attacks found, as a table: over repeats, beside the reader's own training, by defense.

    plain = results("base", PROFILE).find(defense="Plain")
    repeats(plain, "loss", "entropy")                   # means over trainings, with intervals
    repeats(plain, "loss", yours={"loss": evaluation})  # one's own training beside them
    beside(evaluation, plain, "loss")                   # every number of one attack
    settings({"undefended": plain, "ℓ1": l1}, against=plain)    # defenses, by their worst attack
    pairs({"PAST − ℓ1": (past, l1)})                    # differences between two settings
    differences({"nearest": found}, title="butterflies minus", digits={"D": 0})  # all of them
    by_name(results("photographs", PROFILE))["PAST, α = 2"]     # a setting as its plan calls it
    matches([arena.matched(ring, "DMP, all", "AdvReg")])        # two at the same accuracy
    advice(arena.advice(ring, promise=0.05))                    # which one to take, by need
    ratios({"late / early": {"trained": log_ratio}})            # of means, with intervals
    grid({(0.001, 1.5): "0 of 5"})                              # λ downwards, α along
    verdicts({"AUC": {"ℓ1": "lower"}})                          # what was found, in words
    prices(contenders.arenas(PROFILE).values())                 # what each defense does and costs

A table has three numbers for each attack: the advantage, the AUC, and the TPR at 1 % FPR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from IPython.display import Markdown

from mialib.course.arena import ACCURACY, LEAKS, UNDEFENDED, Advice, Arena, Contender, Match
from mialib.course.contenders import IN_WORDS
from mialib.course.plots.spoken import brief, with_minus_signs
from mialib.errors import check_choice
from mialib.estimates import Estimate, Evaluation, words
from mialib.foreign import in_markdown
from mialib.markdown import table
from mialib.papers import Published
from mialib.results import Results
from mialib.results.repeats import InTurn

# How papers write the settings by which a plan's rows differ.
SYMBOLS = {
    "alpha": "α",
    "alpha_rce": "α_rce",
    "lam": "λ",
    "epsilon": "ε",
    "beta": "β",
    "temperature": "τ",
    "p": "p",
    "after": "epoch",
    "factors": "L",
}
NUMBERS = ("advantage", "AUC", "TPR at 1 % FPR")
# What `pairs` compares: the arguments and options of `Results.paired`.
PAIRED: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "test accuracy": (("accuracy",), {}),
    "mean advantage": (("mean",), {}),
    "highest advantage": (("highest",), {}),
    "highest AUC": (("highest", "auc"), {}),
    "highest TPR at 1 % FPR": (("highest", "tpr"), {"fpr": 0.01}),
}


def of_repeats(trainings: Results, attack: str) -> list[Estimate]:
    """The three numbers, over trainings and records."""
    return [trainings.advantage(attack), trainings.auc(attack), trainings.tpr(attack, fpr=0.01)]


def of_one(evaluation: Evaluation) -> list[Estimate]:
    """The three numbers of one training, over its records."""
    return [evaluation.advantage, evaluation.auc, evaluation.tpr_at_1_percent]


def reach(trainings: Results, attack: str, what: str = "advantage", *, digits: int = 2) -> str:
    """The lowest and the highest of the trainings, as a sentence says them."""
    values = trainings.by_seed(what, attack)
    return f"{values.min():.{digits}f} to {values.max():.{digits}f}"


def beside(evaluation: Evaluation, trainings: Results, attack: str) -> Markdown:
    """One's own training of one attack, and what repeats of the same training gave."""
    header = [
        "",
        "your training",
        f"{len(trainings)} trainings, lowest to highest",
        "their mean [95 % interval]",
    ]
    ranges = [reach(trainings, attack, what, digits=3) for what in ("advantage", "auc", "tpr")]
    own = [f"{estimate.value:.3f}" for estimate in of_one(evaluation)]
    means = [brief(estimate, digits=3) for estimate in of_repeats(trainings, attack)]
    return _table(header, zip(NUMBERS, own, ranges, means, strict=True))


def repeats(
    trainings: Results, *attacks: str, yours: Mapping[str, Evaluation] | None = None
) -> Markdown:
    """The attacks of these names, a line each: means over trainings, with their intervals."""
    header = ["attack", *NUMBERS]
    lines = [
        [in_markdown(attack), *(brief(one, digits=3) for one in of_repeats(trainings, attack))]
        for attack in attacks
    ]
    if yours is not None:
        header.append("your training: advantage")
        for line, attack in zip(lines, attacks, strict=True):
            line.append(f"{yours[attack].advantage.value:.3f}")
    return _table(header, lines)


def settings(
    trainings: Mapping[str, Results], *, against: Results | None = None, level: bool = False
) -> Markdown:
    """A line per setting: its accuracy, and what the strongest attack reaches by each number.

    With `against`, also what changed: paired by seed and by record. With `level`, also the sparsity
    paper's defense level D, by its discriminator.
    """
    header = ["setting", "trainings", "test accuracy", *(f"highest {one}" for one in NUMBERS)]
    if level:
        header.insert(3, "defense level D")
    if against is not None:
        header += ["change of accuracy", "change of highest advantage"]
    lines = [_setting(name, one, against, level=level) for name, one in trainings.items()]
    return _table(header, lines)


def pairs(compared: Mapping[str, tuple[Results, Results]]) -> Markdown:
    """A line per pair: each number of the first minus that of the second, by seed and by record."""
    header = ["first minus second", "trainings", *PAIRED]
    return _table(header, [_pair(name, *pair) for name, pair in compared.items()])


def differences(
    found: Mapping[str, Mapping[str, Estimate]], *, title: str, digits: Mapping[str, int]
) -> Markdown:
    """A line per comparison, with its differences by name; `digits` where 3 are too many."""
    names = list(next(iter(found.values())))
    lines = [
        [in_markdown(name), *(brief(some[what], digits.get(what, 3)) for what in names)]
        for name, some in found.items()
    ]
    return _table([title, *names], lines)


def beside_paper(
    settings: Mapping[str, Results],
    asked: Mapping[str, Callable[[Results], Estimate]],
    printed: Callable[..., Published],
) -> Markdown:
    """What a paper prints beside what was found here, both in percent.

    Settings go by the paper's method, `asked` by its metric; `printed` finds a number by both.
    """
    header = ["", *(cell for metric in asked for cell in (f"{metric}: paper", "here"))]
    lines = []
    for method, one in settings.items():
        line = [method]
        for metric, number in asked.items():
            line.append(printed(method=method, metric=metric).printed)
            line.append(f"{100 * number(one).value:.1f}")
        lines.append(line)
    return _table(header, lines)


def on_top(starts: Mapping[str, Results], tuned: Mapping[str, Mapping[float, Results]]) -> Markdown:
    """Models before a tuning and after it, by its strength λ, and how each changes P1."""
    header = ["start", "λ", "test accuracy", *(f"highest {one}" for one in NUMBERS), "change of P1"]
    lines = []
    for name, start in starts.items():
        lines.append([in_markdown(name), "before", *_numbers_of(start), ""])
        for strength, one in tuned[name].items():
            change = brief(one.paired(start, "p1"))
            lines.append([in_markdown(name), f"{strength:g}", *_numbers_of(one), change])
    return _table(header, lines)


def _numbers_of(trainings: Results) -> list[str]:
    return [brief(one) for one in (trainings.accuracy(), *of_strongest(trainings))]


def counted(changes: Sequence[Estimate]) -> str:
    """How many changes rise, fall and are undecided, as a sentence says it.

    >>> counted([Estimate(0.2, 0.1, 0.3), Estimate(0.0, -0.1, 0.1)])
    'rises after 1 and is undecided after 1 of the 2 starts'
    >>> counted([Estimate(0.2, 0.1, 0.3), Estimate(0.4, 0.2, 0.6)])
    'rises after all 2 starts'
    """
    found = [words(one) for one in changes]
    verbs = {"higher": "rises", "lower": "falls"}
    said = [verbs.get(word, "is undecided") for word in found]
    if len(set(said)) == 1:
        return f"{said[0]} after all {len(said)} starts"
    kinds = [kind for kind in ("rises", "falls", "is undecided") if kind in said]
    *others, last = (f"{kind} after {said.count(kind)}" for kind in kinds)
    return f"{', '.join(others)} and {last} of the {len(said)} starts"


def _pair(name: str, one: Results, other: Results) -> list[str]:
    common = {row.seed for row in one.rows} & {row.seed for row in other.rows}
    asked = PAIRED.values()
    differences = [one.paired(other, *arguments, **options) for arguments, options in asked]
    return [in_markdown(name), str(len(common)), *(brief(one, digits=3) for one in differences)]


def _setting(name: str, trainings: Results, against: Results | None, *, level: bool) -> list[str]:
    cells = [in_markdown(name), str(len(trainings)), brief(trainings.accuracy())]
    if level:
        cells.append(brief(trainings.defense_level(), digits=0))
    cells += [brief(one) for one in of_strongest(trainings)]
    if against is not None:
        cells += [
            brief(trainings.paired(against, "accuracy")),
            brief(trainings.paired(against, "highest")),
        ]
    return cells


def of_strongest(trainings: Results) -> list[Estimate]:
    """The three numbers, each of the attack that reaches most by it."""
    return [
        trainings.highest(),
        trainings.highest("auc"),
        trainings.highest("tpr", fpr=0.01),
    ]


def in_turn(reached: Mapping[str, InTurn]) -> Markdown:
    """Attacks with references, a line each: means over targets, with their intervals."""
    header = ["attack", "AUC", "TPR at 1 % FPR", "TPR at 0.1 % FPR"]
    return _table(
        header,
        [
            [in_markdown(name), *(brief(one, digits=3) for one in found)]
            for name, found in reached.items()
        ],
    )


def ratios(found: Mapping[str, Mapping[str, Estimate]]) -> Markdown:
    """A line per ratio, of whose logarithm an estimate is given, and a column per arm."""
    lines = []
    for name, arms in found.items():
        cells = [brief(Estimate(*np.exp(one.triple))) for one in arms.values()]
        lines.append([in_markdown(name), *cells])
    return _table(["ratio", *next(iter(found.values()))], lines)


def grid(cells: Mapping[tuple[float, float], str]) -> Markdown:
    """What is known of each setting by (λ, α): a line per λ and a column per α."""
    lambdas = sorted({lam for lam, _ in cells})
    alphas = sorted({alpha for _, alpha in cells})
    lines = [
        [f"λ = {lam:g}", *(cells.get((lam, alpha), "–") for alpha in alphas)] for lam in lambdas
    ]
    return _table(["", *(f"α = {alpha:g}" for alpha in alphas)], lines)


def verdicts(found: Mapping[str, Mapping[str, str]]) -> Markdown:
    """A line per setting, and in it what was found of it, in words, by each number."""
    settings = next(iter(found.values()))
    lines = [[in_markdown(name), *(said[name] for said in found.values())] for name in settings]
    return _table(["setting", *found], lines)


def by_name(trainings: Results, *wanted: str) -> dict[str, Results]:
    """Settings by what their plan calls them, and by what tells them from others so called.

    Those that are `wanted`, or all:

    by_name(results("photographs", PROFILE), "undefended", "PAST")["PAST, α = 2"]
    """
    families: dict[str, list[Results]] = {}
    for one in trainings.settings():
        families.setdefault(one.rows[0].settings["called"], []).append(one.finished())
    named = {}
    for called in wanted or families:
        family = families[check_choice("setting", called, families)]
        varied = [name for name in SYMBOLS if _differs(name, family)]
        for one in family:
            words = [f"{SYMBOLS[name]} = {one.rows[0].settings[name]:g}" for name in varied]
            named[", ".join([called, *words])] = one
    return named


def matches(found: Iterable[Match]) -> Markdown:
    """A line per match: how near the accuracies were, then the first minus the second."""
    leaks = [f"highest {number}" for number in LEAKS]
    header = ["first", "second", "accuracies apart", "accuracy", *leaks]
    lines = []
    for one in found:
        gap = f"{abs(one.gap):.3f}" if one.is_close else f"{abs(one.gap):.3f}, too far"
        differences = [brief(one.minus(number), digits=3) for number in (ACCURACY, *LEAKS)]
        names = [in_markdown(one.one.name), in_markdown(one.other.name)]
        lines.append([*names, gap, *differences])
    return _table(header, lines)


def advice(found: Iterable[Advice], *, number: str = "advantage") -> Markdown:
    """A line per need: what to take, what it changes, and what it costs."""
    header = [
        "your need",
        "take",
        "accuracy, change",
        f"highest {number}",
        "change",
        "times the training",
        "records beside the members",
    ]
    return _table(header, [_advice_line(one) for one in found])


def _advice_line(one: Advice) -> list[str]:
    if one.one is None:
        return [one.need, "nobody in this arena", "–", "–", "–", "–", "–"]
    numbers = [brief(estimate) for estimate in (one.accuracy, one.leak, one.change)]
    return [one.need, in_markdown(one.one.name), *numbers, f"{one.one.times:.1f}", one.one.extra]


def prices(rings: Iterable[Arena]) -> Markdown:
    """A line per defense: what it does, its time over plain training, and the records it needs."""
    families: dict[str, list[Contender]] = {}
    for ring in rings:
        for name, family in ring.defenses.items():
            if name != UNDEFENDED:
                families.setdefault(name, []).extend(family)
    header = ["defense", "in one line", "times the training", "records beside the members", "later"]
    return _table(header, [_price_line(name, family) for name, family in families.items()])


def _price_line(name: str, family: Sequence[Contender]) -> list[str]:
    times = sorted(one.times for one in family)
    reach = f"{times[0]:.1f}"
    if times[-1] - times[0] >= 0.1:
        reach += f" to {times[-1]:.1f}"
    needs = " or ".join(dict.fromkeys(one.extra for one in family))
    later = "yes" if family[0].is_later else ""
    return [in_markdown(name), IN_WORDS.get(name, ""), reach, needs, later]


def _differs(setting: str, family: Sequence[Results]) -> bool:
    values = {str(one.rows[0].settings.get(setting)) for one in family}
    return len(values) > 1


def _table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> Markdown:
    return Markdown(with_minus_signs(table(header, lines)))
