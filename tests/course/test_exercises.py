"""The self-checks of all lessons: right answers pass, and each usual mistake gets its sentence.

One harness for all: an exercise is a line in RIGHT and some in WRONG.
"""

import inspect
from functools import cache
from importlib import import_module
from math import ceil
from pathlib import Path

import numpy as np
import pytest
import torch

from mialib import audit
from mialib.course import exercises
from mialib.course.exercises import lesson_04, lesson_14
from mialib.course.exercises.check import Verdict, check, same_as, shown
from mialib.defenses.crl import normalized
from mialib.defenses.relaxloss import soft_loss
from mialib.metrics import auc
from small_pictures import small_arena

LESSONS = sorted(path.stem for path in Path(exercises.__path__[0]).glob("lesson_*.py"))
CHECKS = {
    (lesson, name): function
    for lesson in LESSONS
    for name, function in vars(import_module(f"mialib.course.exercises.{lesson}")).items()
    if name.startswith("check_")
}
each_check = pytest.mark.parametrize("one", CHECKS.values(), ids=[name for _, name in CHECKS])


# ---------------------------------------------------------------- answers


def threshold_for_fpr(scores, fpr):
    allowed = int(np.floor(fpr * len(scores) + 1e-9))
    return np.nextafter(np.sort(scores)[::-1][allowed], np.inf)


def auc_from_ranks(scores, is_member):
    member, other = scores[is_member][:, None], scores[~is_member]
    return (member > other).mean() + (member == other).mean() / 2


def noise_response(p, w):
    return p * (1 - p) * np.linalg.norm(w) * np.sqrt(2 / np.pi)


def noise_response_by_experiment(p, w, epsilon=1e-4):
    x = np.log(p / (1 - p))[:, None] * w / (w @ w)  # (n, d), where R(x) is p
    steps = epsilon * np.random.default_rng(0).normal(size=(200_000, 1, len(w)))
    moved = 1 / (1 + np.exp(-(x + steps) @ w))  # (draws, n)
    return np.abs(moved - p).mean(axis=0) / epsilon


def input_gradient(weights, x, label):
    logits = weights @ x
    p = np.exp(logits) / np.exp(logits).sum()
    return (p - (np.arange(len(p)) == label)) @ weights


@cache
def audited(*, memory=0.0, shift=0.0, blind=True, shared=0):
    """A report on outputs that are surer of members by `memory`; non-members lie off by `shift`."""
    rng = np.random.default_rng(0)
    is_member = np.arange(1000) < 500
    labels = rng.integers(0, 4, 1000)
    inputs = rng.normal(size=(1000, 10)) + shift * ~is_member[:, None]
    logits = rng.normal(size=(1000, 4))
    logits[np.arange(1000), labels] += 1 + (memory + 2 * shift) * is_member
    for part in (inputs, logits, labels):
        part[500 : 500 + shared] = part[:shared]
    given = {"inputs": inputs} if blind else {}
    return audit.from_outputs(logits=logits, labels=labels, is_member=is_member, **given)


LEAKS = "it remembers its members"
NOTHING = "nothing found"
SHIFTED = "the two sets differ"
TEN_PAPERS = {
    "modified entropy": (9, "higher"),
    "loss per class": (2, "not told apart"),
    "max confidence": (0, "lower"),
}
REPORT = {
    "shadow": "too private",
    "ties": "too private",
    "twice": "too leaky",
    "crops": "not moved",
}


def attack_for(references, number):
    if references == 62:
        return "LiRA"
    return "LiRA, pooled variance" if number == "AUC" else "RMIA"


def labels_over_outputs(**changed):
    return dict(lesson_04.shares_left()) | changed


def clients(**changed):
    return dict(lesson_14.advised()) | changed


def blind_scores(known, is_member, asked):
    return asked @ (known[is_member].mean(axis=0) - known[~is_member].mean(axis=0))


def few_low(n):
    """Members alike; one non-member at 0 pays for the others, who lie above."""
    member, non_member = np.full(n, n - 1.0), np.full(n, float(n))
    non_member[0] = 0
    return member, non_member


def below_zero(n):
    member, non_member = few_low(n)
    return member - 1000, non_member


def proximal_step(weights, importance, step):
    return weights - np.clip(weights, -step * importance, step * importance)


def focus_only(gradient, alpha):
    power = np.abs(gradient) ** alpha
    return power / power.mean() if power.any() else power


def gamma_to_alpha(gradient, alpha):
    return (np.abs(gradient) / max(np.abs(gradient).mean(), 1e-30)) ** alpha


def control_for(accuracy, accuracies, advantages):
    there = [(advantages[k], k) for k in range(len(accuracies)) if accuracies[k] >= accuracy - 0.01]
    return min(there)[1] if there else -1


def lowest_by_descent(classes, tau):
    """The loss of logits in the best direction that are very long before they are normalised."""
    best = torch.full((1, classes), -1.0 / classes, dtype=torch.float64)
    best[0, 0] += 1
    label = torch.zeros(1, dtype=torch.long)
    return torch.nn.functional.cross_entropy(normalized(1e12 * best, tau), label).item()


def pull_by_autograd(p, classes):
    logits = torch.zeros(len(p), classes, dtype=torch.float64)
    logits[:, 0] = torch.from_numpy(np.log((classes - 1) * p / (1 - p)))
    logits.requires_grad_()
    soft_loss(logits, logits, torch.zeros(len(p), dtype=torch.long)).sum().backward()
    return -logits.grad[:, 0].numpy()


def advised(**changes):
    answers = {"shop": "DMP, all", "school": "Mixup+MMD", "clinic": "none", "bank": "DP-SGD"}
    return lambda: answers | changes


def least_epsilon(tpr, fpr, delta):
    def needed(rate, other):
        if rate <= delta:
            return 0.0
        return np.inf if other == 0 else np.log((rate - delta) / other)

    return max(0.0, needed(tpr, fpr), needed(1 - fpr, 1 - tpr))


def one_sided(tpr, fpr, delta):
    return max(0.0, np.log(max(tpr - delta, 1e-300) / fpr)) if fpr else np.inf


def unbounded(tpr, fpr, delta):
    with np.errstate(all="ignore"):
        return np.maximum(np.log((tpr - delta) / fpr), np.log((1 - fpr - delta) / (1 - tpr)))


def prunings_to(prunable, others, share, percent):
    left = prunable
    for rounds in range(1000):
        if left + others <= percent / 100 * (prunable + others):
            return rounds
        left -= ceil(share * left)
    return None


def of_all_each_time(prunable, others, share, percent):
    """Prunes the share of the first count in every round."""
    rounds = 0
    while 100 * (prunable * (1 - share * rounds) + others) / (prunable + others) > percent:
        rounds += 1
    return rounds


def alarms(repeats, rng, *, ddof=1, both=True):
    first, second = rng.normal(size=(2, 50_000, repeats))
    gap = second.mean(axis=1) - first.mean(axis=1)
    reach = first.std(axis=1, ddof=ddof) + second.std(axis=1, ddof=ddof)
    return ((np.abs(gap) if both else gap) > reach).mean()


def last_of_ties(descending):
    return np.array([k for k in range(len(descending)) if descending[k] not in descending[k + 1 :]])


def null_band(scores, is_member, rng, *, share=0.95, shuffle=True):
    """Shuffles who is a member, or only draws members and non-members again."""
    areas = []
    for _ in range(300):
        chosen = rng.permutation(is_member) if shuffle else is_member
        rows = slice(None) if shuffle else rng.integers(0, len(scores), len(scores))
        areas.append(auc(scores[rows], chosen[rows]))
    return np.quantile(areas, [(1 - share) / 2, (1 + share) / 2])


def apply_factor(entries, x):
    k, t, r, s = entries.shape
    matrix = np.zeros((k, r, t, k, s, t))
    for block in range(k):
        for place in range(t):
            matrix[block, :, place, block, :, place] = entries[block, place]
    return matrix.reshape(k * r * t, k * s * t) @ x


def places_before_columns(entries, x):
    """Reads x as (k, t, s), as a factor with t = 1 would allow."""
    k, t, _, s = entries.shape
    return (entries @ x.reshape(k, t, s, 1))[..., 0].reshape(-1)


def first_block_only(entries, x):
    k, t, _, s = entries.shape
    return np.tile(entries[0, 0] @ x.reshape(-1, s)[0], k * t)


def judge(advantage, accuracy, *, ignore_accuracy=False, by_middle=False):
    if by_middle:
        advantage = (sum(advantage), sum(advantage))
    if min(advantage) <= 0 <= max(advantage):
        return "we do not know"
    if min(advantage) > 0:
        return "leaks more"
    lost = max(accuracy) < 0 and not ignore_accuracy
    return "paid with accuracy" if lost else "protects"


def controls(**changes):
    pairs = {
        "centers": ("CRL, acting centers", "ImpRelaxLoss"),
        "logits": ("ImpRelaxLoss", "soft label alone"),
        "official": ("CRL, acting centers", "RelaxLoss"),
    }
    return lambda: pairs | changes


ABSTRACT = {
    "strong": "less",
    "weak": "more",
    "rare": "not significantly different",
    "photographs": "not comparable",
}


RIGHT = [
    ("check_for_clients", clients),
    ("check_honest_winner", lambda choosing, measuring: measuring[choosing.argmin()]),
    ("check_gap_attack", lambda predicted, label: predicted == label),
    ("check_may_be_printed", lambda: "DB"),
    ("check_may_be_printed", lambda: ["b", "d"]),
    ("check_verdict_at_a_prior", lambda: (0.23, "stay silent")),
    ("check_ten_papers", lambda: TEN_PAPERS),
    ("check_two_attacks", lambda: ("neural (CRL)", "neural (PAST)")),
    ("check_left_by_labels", labels_over_outputs),
    ("check_attack_for", attack_for),
    ("check_report", lambda: REPORT),
    ("check_own_audit", lambda: (audited(memory=2.0), LEAKS)),
    ("check_own_audit", lambda: (audited(), NOTHING)),
    ("check_own_audit", lambda: (audited(shift=1.0), SHIFTED)),
    ("check_own_audit", lambda: (audited(shift=1.0, memory=2.0), SHIFTED)),
    ("check_threshold_for_fpr", threshold_for_fpr),
    ("check_auc_from_ranks", auc_from_ranks),
    ("check_noise_response", noise_response),
    ("check_noise_response", noise_response_by_experiment),
    ("check_input_gradient", input_gradient),
    ("check_blind_scores", blind_scores),
    ("check_accuracy_for_p1", lambda p1, advantage: 1 / (2 / p1 - 1 / (1 - advantage))),
    ("check_ship", lambda: "ℓ1 0.0006"),
    ("check_signed", lambda: "ADF"),
    ("check_signed", lambda: "FDA"),
    ("check_silent_leak", few_low),
    ("check_chosen", lambda: (0.002, 1.0)),
    ("check_chosen", lambda: np.array([0.002, 1])),
    ("check_proximal_step", proximal_step),
    ("check_control_for", control_for),
    ("check_focus_only", focus_only),
    ("check_abstract", lambda: ABSTRACT),
    ("check_lowest_loss", lowest_by_descent),
    ("check_controls", controls()),
    ("check_controls", controls(centers=("CRL, acting centers", "CRL, inert centers"))),
    ("check_sharpening", pull_by_autograd),
    ("check_choices", advised()),
    ("check_least_epsilon", least_epsilon),
    ("check_prunings_to", prunings_to),
    ("check_false_alarms", alarms),
    ("check_apply_factor", apply_factor),
    ("check_judge", judge),
    ("check_last_of_ties", last_of_ties),
    ("check_null_band", null_band),
]

WRONG = [
    ("check_for_clients", lambda: clients(shop="undefended"), "The shop: expected"),
    ("check_for_clients", lambda: clients(clinic="DMP"), "'no records beside the members'"),
    ("check_for_clients", lambda: clients(student=clients()["clinic"]), "nor more time"),
    ("check_for_clients", lambda: {"clinic": "DMP"}, "for each of clinic, shop, student"),
    ("check_honest_winner", lambda choosing, measuring: choosing.min(), "the other half's"),
    ("check_honest_winner", lambda choosing, measuring: measuring.min(), "let it only measure"),
    ("check_honest_winner", lambda choosing, measuring: measuring.mean(), "lowest in `choosing`"),
    ("check_gap_attack", lambda predicted, label: predicted != label, "what the model gets right"),
    ("check_gap_attack", lambda predicted, label: np.ones(4, bool), "expected"),
    ("check_gap_attack", lambda predicted, label: 1, "shape (4,), found ()"),
    ("check_may_be_printed", lambda: "ABD", "A does not hold. The advantage is a difference"),
    ("check_may_be_printed", lambda: "B", "missing. The table has a row"),
    ("check_may_be_printed", lambda: "BCD", "A stronger one may find more"),
    ("check_may_be_printed", lambda: "BDE", "nothing is known of other data"),
    ("check_may_be_printed", lambda: "BDF", "the letters A, B, C, D, E as one text"),
    ("check_may_be_printed", lambda: "", "One sentence that holds is missing"),
    ("check_verdict_at_a_prior", lambda: (0.73, "accuse"), "not the half of the balanced game"),
    ("check_verdict_at_a_prior", lambda: (0.4, "stay silent"), "of the members accused"),
    ("check_verdict_at_a_prior", lambda: (0.11, "stay silent"), "loose ones too"),
    ("check_verdict_at_a_prior", lambda: (0.23, "accuse"), "Nine of ten accusations should be"),
    ("check_ten_papers", lambda: TEN_PAPERS | {"loss per class": (8, "higher")}, "strictly higher"),
    (
        "check_ten_papers",
        lambda: TEN_PAPERS | {"loss per class": (2, "lower")},
        "interval of the difference",
    ),
    ("check_ten_papers", lambda: {"loss per class": (2, "lower")}, "an entry for each"),
    ("check_two_attacks", lambda: ("loss", "loss per class"), "On the smoothed letters"),
    ("check_two_attacks", lambda: ("loss", "neural (PAST)"), "On the photographs"),
    ("check_two_attacks", lambda: ("loss", "neural (CRL)"), "On the smoothed letters"),
    ("check_two_attacks", lambda: ("loss per class", "neural (CRL)"), "On the smoothed letters"),
    ("check_two_attacks", lambda: ("loss", "loss"), "Return two of"),
    ("check_two_attacks", lambda: ("loss", "discriminator"), "Return two of"),
    ("check_left_by_labels", lambda: labels_over_outputs(letters=0.71), "the strongest attack of"),
    (
        "check_left_by_labels",
        lambda: {name: 1 / share for name, share in labels_over_outputs().items()},
        "Divide the labels' advantage",
    ),
    ("check_left_by_labels", lambda: {"letters": 0.7}, "a share for each of"),
    ("check_attack_for", lambda references, number: "LiRA", "With 4 references, by the AUC,"),
    (
        "check_attack_for",
        lambda references, number: attack_for(references, "AUC"),
        "With 4 references, by the TPR at 1 % FPR,",
    ),
    ("check_attack_for", lambda references, number: attack_for(4, number), "With 62 references"),
    ("check_attack_for", lambda references, number: "loss", "expected one of LiRA"),
    ("check_report", lambda: REPORT | {"shadow": "too leaky"}, "the code lowers the advantage"),
    ("check_report", lambda: REPORT | {"ties": "not moved"}, "looks 'too private'"),
    ("check_report", lambda: REPORT | {"crops": "too leaky"}, "does not significantly change"),
    ("check_report", lambda: {"ties": "too private"}, "a judgement of each of"),
    ("check_own_audit", lambda: (audited(shift=1.0), LEAKS), "Expected 'the two sets differ'"),
    ("check_own_audit", lambda: (audited(), LEAKS), "Expected 'nothing found'"),
    ("check_own_audit", lambda: (audited(memory=2.0), NOTHING), "'it remembers its members'"),
    ("check_own_audit", lambda: (audited(blind=False), NOTHING), "Hand in `inputs=`, too"),
    ("check_own_audit", lambda: (audited(shared=3), NOTHING), "records are in both sets"),
    ("check_own_audit", lambda: ("a report", NOTHING), "found str"),
    ("check_threshold_for_fpr", lambda scores, fpr: np.quantile(scores, 1 - fpr), "too many false"),
    ("check_threshold_for_fpr", lambda scores, fpr: np.inf, "lower threshold"),
    ("check_auc_from_ranks", lambda s, m: (s[m][:, None] > s[~m]).mean(), "ties count half"),
    ("check_noise_response", lambda p, w: p / p * noise_response(0.5, w), "alike for all"),
    ("check_noise_response", lambda p, w: p * (1 - p) * np.linalg.norm(w), "1.25 times what"),
    ("check_noise_response", lambda p, w: p * (1 - p) * abs(w).sum(), "What is E|w·N|?"),
    ("check_noise_response", lambda p, w: noise_response(p, w) / p, "the slope of R at p"),
    ("check_noise_response", lambda p, w: noise_response(0.5, w), "found ()"),
    ("check_noise_response", lambda p, w: noise_response(p[:, None], w), "found (3, 1)"),
    ("check_input_gradient", lambda w, x, label: w[label], "less 1 for the label"),
    ("check_blind_scores", lambda known, m, asked: -asked.sum(axis=1), "differ by 0.5"),
    ("check_blind_scores", lambda known, m, asked: m, "come from one source"),
    (
        "check_accuracy_for_p1",
        lambda p1, advantage: 2 * p1 * (1 - advantage) / (p1 + 1 - advantage),
        "solve P1",
    ),
    (
        "check_accuracy_for_p1",
        lambda p1, advantage: p1 * advantage / (2 * advantage - p1),
        "v = 1 − advantage",
    ),
    ("check_ship", lambda: "ℓ2 0.02", "costs 0.091 of the accuracy"),
    ("check_ship", lambda: "early stopping 4", "costs 0.045 of the accuracy"),
    ("check_ship", lambda: "dropout 0.3", "not significantly lower"),
    ("check_ship", lambda: "confidence penalty 0.3", "not significantly lower"),
    ("check_ship", lambda: "ℓ2 0.01", "whose highest advantage is lower"),
    ("check_ship", lambda: "dropout", "not in `everyone`"),
    ("check_ship", lambda: 0.0006, "not in `everyone`"),
    ("check_signed", lambda: "ABDF", "Would you sign B? With membership shuffled"),
    ("check_signed", lambda: "ACDF", "Would you sign C?"),
    ("check_signed", lambda: "ADEF", "Would you sign E?"),
    ("check_signed", lambda: "DF", "does support A"),
    ("check_signed", lambda: "AD", "does support F"),
    ("check_signed", lambda: "", "does support A"),
    ("check_signed", lambda: ["A", "D", "F"], "Expected a text of letters from ABCDEF"),
    ("check_signed", lambda: "A, D, F", "Expected a text of letters"),
    ("check_silent_leak", lambda n: (np.zeros(n), np.ones(n)), "be equal, found a gap of 1"),
    ("check_silent_leak", lambda n: (np.ones(n), np.ones(n)), "0.00 only"),
    ("check_silent_leak", below_zero, "never below 0"),
    ("check_silent_leak", lambda n: (np.zeros(1), np.zeros(1)), "shape (100,)"),
    ("check_chosen", lambda: (0.001, 2.5), "ruined no training"),
    ("check_chosen", lambda: (0.0123, 1.0), "ruined no training"),
    ("check_chosen", lambda: (0.002, 1.5), "of the accuracy on the even half"),
    ("check_chosen", lambda: (0.001, 1.5), "of them leak less"),
    ("check_chosen", lambda: (0.0003, 1.0), "of them leak less"),
    ("check_chosen", lambda: (1.0, 0.002), "ruined no training"),
    (
        "check_proximal_step",
        lambda w, importance, step: w - step * importance * np.sign(w),
        "cross zero",
    ),
    (
        "check_proximal_step",
        lambda w, importance, step: np.maximum(np.abs(w) - step * importance, 0),
        "sign",
    ),
    ("check_abstract", lambda: ABSTRACT | {"weak": "less"}, "weak: the results do not say 'less'"),
    ("check_abstract", lambda: ABSTRACT | {"strong": "more"}, "strong: the results do not say"),
    ("check_abstract", lambda: ABSTRACT | {"rare": "less"}, "rare: the results do not say"),
    ("check_abstract", lambda: ABSTRACT | {"photographs": "more"}, "photographs: the results do"),
    ("check_abstract", lambda: ABSTRACT | {"rare": "perhaps"}, "is none of less, more"),
    ("check_abstract", lambda: dict.fromkeys(ABSTRACT, "less"), "weak: the results do not say"),
    ("check_abstract", lambda: {"strong": "less"}, "the keys strong, weak, rare, photographs"),
    ("check_focus_only", gamma_to_alpha, "must have mean 1"),
    (
        "check_focus_only",
        lambda g, alpha: np.abs(g) ** alpha / max((np.abs(g) ** alpha).sum(), 1e-30),
        "must have mean 1",
    ),
    ("check_focus_only", lambda g, alpha: 1.0, "shape (2, 2), found ()"),
    (
        "check_control_for",
        lambda a, accuracies, b: int(np.argmin(abs(accuracies - a))),
        "lowest advantage",
    ),
    ("check_control_for", lambda a, accuracies, b: int(np.argmin(b)), "0.01 less accurate"),
    (
        "check_control_for",
        lambda a, accuracies, b: int(np.argmin(np.where(abs(accuracies - a) <= 0.01, b, 9))),
        "expected",
    ),
    (
        "check_lowest_loss",
        lambda classes, tau: np.log1p((classes - 1) * np.exp(-1 / tau)),
        "longest lead",
    ),
    ("check_lowest_loss", lambda classes, tau: 0.0, "longest lead"),
    ("check_sharpening", lambda p, classes: np.log((classes - 1) * p / (1 - p)), "by the logit"),
    (
        "check_sharpening",
        lambda p, classes: p * (1 - p) * np.log((1 - p) / p / (classes - 1)),
        "minus",
    ),
    ("check_sharpening", lambda p, classes: 1 - p, "0 at p = 1/C"),
    (
        "check_controls",
        controls(centers=("CRL, acting centers", "undefended")),
        "normalised logits, soft label. Is that",
    ),
    ("check_controls", controls(centers=("CRL, inert centers", "ImpRelaxLoss")), "differ in: cen"),
    ("check_controls", controls(logits=("ImpRelaxLoss", "RelaxLoss")), "official relaxing"),
    ("check_controls", controls(logits=("soft label alone", "ImpRelaxLoss")), "treated one first"),
    (
        "check_controls",
        controls(official=("RelaxLoss", "CRL, acting centers")),
        "treated one first",
    ),
    ("check_controls", controls(official="CRL"), "two of undefended"),
    ("check_controls", lambda: {}, "found None"),
    ("check_choices", advised(shop="Mixup+MMD"), "asks for records with labels"),
    ("check_choices", advised(shop="DMP, synthetic"), "costs too much accuracy"),
    ("check_choices", advised(shop="none"), "does help"),
    ("check_choices", advised(school="AdvReg"), "another one leaks less"),
    ("check_choices", advised(school="DMP, all"), "costs too much accuracy"),
    ("check_choices", advised(clinic="distillation"), "does not leak less"),
    ("check_choices", advised(bank="DMP, synthetic"), "holds for every attack"),
    ("check_choices", advised(bank="LiRA"), "answer one of AdvReg"),
    ("check_choices", lambda: "DMP, all", "a dictionary by client"),
    ("check_choices", lambda: {}, "found None"),
    ("check_least_epsilon", one_sided, "the larger ε of the two"),
    ("check_least_epsilon", unbounded, "at least 0"),
    ("check_least_epsilon", lambda tpr, fpr, delta: tpr - fpr, "the larger ε of the two"),
    (
        "check_prunings_to",
        lambda prunable, others, share, percent: prunings_to(prunable, 0, share, percent),
        "never pruned",
    ),
    ("check_prunings_to", of_all_each_time, "every round"),
    ("check_false_alarms", lambda repeats, rng: alarms(repeats, rng, ddof=0), "n − 1"),
    ("check_false_alarms", lambda repeats, rng: alarms(repeats, rng, both=False), "Both direc"),
    ("check_false_alarms", lambda repeats, rng: 100 * alarms(repeats, rng), "between 0 and 1"),
    (
        "check_apply_factor",
        lambda entries, x: entries[0, 0].T @ x[: len(entries[0, 0])],
        "expected 2 numbers",
    ),
    ("check_apply_factor", lambda entries, x: apply_factor(-entries, x), "ordinary matrix"),
    ("check_apply_factor", first_block_only, "its own columns"),
    ("check_apply_factor", places_before_columns, "over k, then s, then t"),
    ("check_judge", lambda a, b: judge(a, b, ignore_accuracy=True), "so is the accuracy"),
    ("check_judge", lambda a, b: judge(a, b, by_middle=True), "holds 0"),
    ("check_judge", lambda a, b: "protects" if a[1] < 0 else "leaks more", "so is the accuracy"),
    ("check_judge", lambda a, b: "yes", "answer one of protects"),
    ("check_judge", lambda a, b: judge(a, (b[0], b[0])), "and the accuracy is not"),
    ("check_judge", lambda a, b: judge((-a[1], -a[0]), b), "expected 'protects'"),
    (
        "check_last_of_ties",
        lambda descending: np.sort(np.unique(-descending, return_index=True)[1]),
        "after the last of them",
    ),
    ("check_last_of_ties", lambda descending: np.flatnonzero(np.diff(descending)), "shape"),
    (
        "check_null_band",
        lambda *given: null_band(*given, shuffle=False),
        "Are the members shuffled?",
    ),
    ("check_null_band", lambda *given: null_band(*given, share=0.5), "Is it 95 %?"),
    ("check_null_band", lambda *given: null_band(*given)[0], "two numbers"),
]


def named(name):
    (found,) = (function for (_, each), function in CHECKS.items() if each == name)
    return found


# ---------------------------------------------------------------- every exercise


def test_every_lesson_has_checks_and_every_check_its_answers():
    assert len(LESSONS) == 17
    assert {lesson for lesson, _ in CHECKS} == set(LESSONS)
    names = {name for _, name in CHECKS}
    assert len(names) == len(CHECKS)
    assert {name for name, _ in RIGHT} == {name for name, *_ in WRONG} == names


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_answer_is_right(name, answer):
    verdict = named(name)(answer)
    assert verdict.right, verdict
    assert verdict._repr_markdown_() == "✔ **Right.**"


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_a_mistake_is_named(name, answer, words):
    verdict = named(name)(answer)
    assert not verdict.right
    assert verdict.text.startswith("Not quite. ")
    assert words in verdict.text


@each_check
def test_an_exercise_that_is_not_done_says_so(one):
    def undone(*_):
        raise NotImplementedError

    verdict = one(undone)
    assert not verdict.right
    assert verdict.text.startswith("Not done yet. ")
    assert verdict._repr_markdown_().startswith("✎ **Not done yet.** ")


@each_check
def test_a_crash_is_told_with_its_line(one):
    def crashed(*_):
        nothing = 0
        return 1 / nothing

    verdict = one(crashed)
    line = inspect.getsourcelines(crashed)[1] + 2
    assert verdict.text.startswith("Not quite. Your function raised ZeroDivisionError: division by")
    assert verdict.text.endswith(f"(in line {line}, `return 1 / nothing`)")


@each_check
def test_a_forgotten_return_is_told(one):
    def forgotten(*_):
        """Works something out, and keeps it."""

    assert "Your function returned None" in one(forgotten).text


@each_check
@pytest.mark.parametrize("junk", ["text", object(), [[1], [2, 3]], float("nan"), {}, 1j, ()])
def test_whatever_comes_back_a_check_answers(one, junk):
    assert not one(lambda *_: junk).right


@each_check
def test_an_answer_in_place_of_the_function_is_told(one):
    assert "Hand over the function itself, without calling it; found int" in one(3).text


# ---------------------------------------------------------------- how a check speaks


def test_a_crash_in_a_helper_names_the_learners_own_line():
    def helped(x):
        return np.linalg.inv(np.zeros((2, 2)))

    verdict = same_as(np.negative, (1,))(helped)
    assert "LinAlgError" in verdict.text
    assert "`return np.linalg.inv(np.zeros((2, 2)))`" in verdict.text


def test_code_without_a_file_still_has_its_line():
    space = {}
    exec("def made(x):\n    y = x\n    return y.nothing", space)
    text = same_as(np.negative, (1,))(space["made"]).text
    assert text.endswith("'int' object has no attribute 'nothing' (in line 3)")


def test_what_cannot_be_used_is_not_called_a_crash():
    verdict = named("check_threshold_for_fpr")(lambda scores, fpr: "low")
    assert "What your function returned could not be used: ValueError" in verdict.text


def test_a_function_of_other_arguments_is_told_so():
    verdict = named("check_threshold_for_fpr")(lambda scores: scores.max())
    start = "Your function could not be called with the arguments of this exercise: TypeError"
    assert start in verdict.text


def test_markdown_in_a_message_is_shown_and_not_rendered():
    """As pages are made: nothing of the learner's text may become an element."""
    from nbconvert.filters import markdown2html

    text = (
        "`__my_value__` is <class int>\n# heading\n- item [link](address) *star* $x$ a|b ~~c~~ &lt;"
    )

    @check
    def loud(answer):
        return text

    html = markdown2html(loud(lambda: 1)._repr_markdown_())
    assert html.count("<") == 4  # One paragraph with one bold headline.
    shown_text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert " ".join(text.split()) in shown_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.00056123, "0.0005612"),
        (1234567.0, "1.235e+06"),
        (3, "3"),
        (np.array([0.5, 1e-7]), "[0.5 1e-07]"),
        (np.arange(20), "[ 0  1  2 ... 17 18 19]"),
    ],
)
def test_numbers_are_shown_with_significant_digits(value, expected):
    assert shown(value) == expected


def test_digits_are_added_until_the_difference_is_seen():
    text = same_as(lambda x: x, (1.0,))(lambda x: x + 1e-5).text
    assert "expected 1, found 1.00001" in text


def test_a_difference_in_the_middle_of_a_long_array_has_a_place():
    def spoiled(x):
        x[3, 1] = 7.5
        return x

    verdict = same_as(np.positive, (np.zeros((10, 2)),), hint="Touch nothing.")(spoiled)
    assert verdict.text.endswith("expected 0, found 7.5 at place [3, 1]. Touch nothing.")


def test_the_winner_of_one_half_is_measured_on_the_other():
    ring = small_arena()
    leaks = [np.array([one.mean("AUC") for one in half.competitors]) for half in ring.halves]
    lowest = leaks[0].argmin()
    assert lesson_14.winner(ring, "AUC") == (leaks[0][lowest], leaks[1][lowest])


def test_a_verdict_prints_as_its_text():
    assert repr(Verdict(False, "Not quite.", "Try again.")) == "Not quite. Try again."
