# ---
# title: Metric attacks
# question: Which single number gives a member away, and who chooses the threshold?
# goals:
#   - compute the five scores of the literature from a model's outputs
#   - show that loss and confidence are one attack under two names
#   - fit one threshold, or one for each class, on a shadow
#   - tell a defense that hides membership from one that only moves the threshold
# needs: notebook 01; softmax and entropy
# read: 40
# reproduces: the metric attacks of PAST (Section 4.1) and CRL, on our data
# cover: 02_adaptive
# ---

# %% [markdown]
# ## One number per record
# The attack of notebook 01 looked at a record's loss. Other papers look at other numbers: is the prediction right, how sure is
# the model, how spread out is its output? Each is a **metric attack**: turn the outputs into one score, higher for members, and
# compare it with a threshold. No network, no training beyond a shadow. They are the baseline that every cleverer attack
# has to beat, and as we shall see in the next lesson, not all of them do everywhere.

# %%
import numpy as np

from mialib import attacks, metrics, profiles, runs
from mialib.course import figures, headlines, plots, widgets
from mialib.course.cards import cards
from mialib.course.plots import show
from mialib.estimates import Estimate, words
from mialib.experiments import results

configuration = profiles.load(PROFILE).images
target, shadow = runs.get_all([configuration, configuration.but(side="shadow")])
logits = target.signals.logits.astype(float)
labels, is_member = target.signals.labels, target.signals.is_member

# %%
cards("correctness", "loss", "max confidence", "entropy", "modified entropy")

# %% [markdown]
# The table is a **threat model**: what the attacker sees of the target, what else it needs, what it costs. Two of the
# attacks need no label. That sounds modest, but the label is information: an attacker who does not know that *B* is right
# cannot tell a model that is sure and right from one that is sure and wrong.

# %% [markdown]
# ## The five scores from scratch
# Let $p$ be the softmax output and $y$ the label. The scores, each turned so that members score higher:
#
# | score | formula |
# |---|---|
# | correctness | $1$ if $\mathrm{argmax}_i\, p_i = y$, otherwise $0$ |
# | loss, confidence | $\log p_y$, and $p_y$ itself |
# | maximum confidence | $\max_i p_i$ |
# | entropy | $\sum_i p_i \log p_i$ |
# | modified entropy | $(1 - p_y)\log p_y + \sum_{i \neq y} p_i \log(1 - p_i)$ |
#
# The last one is Song and Mittal's repair of the entropy. Plain entropy is low for every sure answer. The modified one is low
# only when the model is sure *and right*.


# %%
def softmax(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


# %%
def five_scores(p: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Softmax outputs (n, classes) and labels (n,) → scores (n,) by name; higher = member."""
    rows, tiny = np.arange(len(y)), 1e-30
    true = p[rows, y]
    terms = p * np.log(np.maximum(1 - p, tiny))
    terms[rows, y] = (1 - true) * np.log(np.maximum(true, tiny))
    return {
        "correctness": (p.argmax(axis=1) == y).astype(float),
        "confidence": true,
        "max confidence": p.max(axis=1),
        "entropy": (p * np.log(np.maximum(p, tiny))).sum(axis=1),
        "modified entropy": terms.sum(axis=1),
    }


# %%
ours = five_scores(softmax(logits), labels)
for name, scores in ours.items():
    print(f"{name:<17} median {np.median(scores):.3g}")

# %% [markdown]
# The library has the same scores under the same names. They must agree.

# %%
for name, scores in ours.items():
    assert np.allclose(scores, attacks.METRICS[name](target.signals), atol=1e-6), name

# %% [markdown]
# ## Loss and confidence are one attack
# Papers like to list *loss* and *confidence* as two attacks, with two bars in the chart. But $p_y = e^{-\ell}$: one is a
# decreasing function of the other. They put the records in the same order, and a threshold on the one is a threshold on
# the other. **Predict** the difference between their AUCs before you run the cell.

# %%
two = {name: attacks.METRICS[name](target.signals) for name in ("loss", "confidence")}
order = {name: np.argsort(scores, kind="stable") for name, scores in two.items()}
difference = abs(metrics.auc(two["loss"], is_member) - metrics.auc(two["confidence"], is_member))
print(f"records in another place: {(order['loss'] != order['confidence']).sum()} of {len(labels)}")
print(f"difference of the AUCs: {difference:.1e}")
assert difference < 1e-6

# %% [markdown]
# **What to see.** Nothing moves: the difference is {{difference:.1g}}. (In single precision a confidence very near 1 is stored as 1,
# while the loss computed from the logits is still above 0; there confidences would tie where losses still differ.) From here on
# we keep one of them.

# %% [markdown]
# ## A threshold from the shadow
# A score becomes an accusation by a threshold, and the threshold comes from the shadow, where the attacker knows the members.
# `MetricThreshold` finds it by sorting: all candidate thresholds are evaluated in one pass, instead of comparing each with
# every record. `game` fits it, scores the target and makes sure that the attack is handed nothing else: no
# membership, and the rows in random order, because ours stand members first and *that* would give them away.
#
# **Predict**: which score wins, and how much does the label buy?

# %%
game = attacks.game(target.signals, shadow=shadow.signals)
names = ["correctness", "loss", "max confidence", "entropy", "modified entropy"]
yours = {name: game.play(attacks.MetricThreshold(name)) for name in names}
base = results("base", PROFILE)  # ten trainings of target and shadow: notebook 00 says why
print(base.about["source"])
plain = base.find(defense="Plain")
headlines.repeats(plain, *names, yours=yours)

# %%
ranked = sorted(names, key=lambda name: plain.advantage(name).value, reverse=True)
advantage = {name: plain.advantage(name) for name in ranked}
picture = plots.comparison({"all trainings": advantage}, label="advantage")
show(picture, name="02_scores")

# %% [markdown]
# **What to see.** Over {{len(plain)}} trainings {{ranked[0]}} leads with {{advantage[ranked[0]].value:.2f}} and {{ranked[-1]}} comes last with
# {{advantage[ranked[-1]].value:.2f}}. The interval of a *difference* says whether two of them differ:

# %%
apart = {
    "label": plain.between("loss", "max confidence"),
    "repair": plain.between("modified entropy", "loss"),
    "corner": plain.between("loss", "max confidence", "tpr", fpr=0.01),
}
for what, difference in apart.items():
    print(f"{what:<8}{difference}  {words(difference)}")

# %% [markdown]
# Compared with maximum confidence, which does not know the label, the loss attack's advantage is *{{words(apart["label"])}}* ({{apart["label"]}}). Compared
# with the loss attack, modified entropy's is *{{words(apart["repair"])}}* ({{apart["repair"]}}). Correctness has {{advantage['correctness'].value:.2f}}, the gap between accuracy on
# members and on non-members: an overfitted model leaks to anybody who can see its predictions.
#
# The column *TPR at 1 % FPR* is a warning. At 1 % false alarms the loss catches {{plain.tpr("loss", fpr=0.01).value:.1%}} of the members, and there
# the two attacks, with the label and without, are {{words(apart["corner"], lower="different", higher="different")}}: among the lowest losses, members
# and easy non-members look alike. (95 % intervals over trainings and records, n = {{yours['loss'].members:,}} + {{yours['loss'].non_members:,}}.)

# %% [markdown]
# ## One threshold for each class
# Some letters are harder than others. A loss that is high for one of them may be low for another. So Song and Mittal fit a threshold
# for each class. Ten lines from scratch:


# %%
def best_cut(scores: np.ndarray, is_member: np.ndarray) -> float:
    """The score with the largest TPR − FPR when scores at or above it are called members."""
    candidates = np.sort(scores)[::-1]  # the strictest first
    gains = [(scores[is_member] >= t).mean() - (scores[~is_member] >= t).mean() for t in candidates]
    return candidates[int(np.argmax(gains))]


# %%
known = shadow.signals
known_scores = attacks.METRICS["loss"](known)
of_class = [known.labels == c for c in range(logits.shape[1])]
cuts = np.array([best_cut(known_scores[rows], known.is_member[rows]) for rows in of_class])

# %% [markdown]
# The library's threshold lies halfway to the next score, ours *at* a score, so the two are compared where both were fitted: they
# must call the same shadow records members.

# %%
fitted = attacks.MetricThreshold("loss", per_class=True).fit(known)
assert ((known_scores >= cuts[known.labels]) == fitted.calls(known)).all()

# %% [markdown]
# A class with fewer than ten members or non-members in the shadow would take the common threshold; here every class has enough.
# **Predict**: is a threshold for each class worth it?
#
# To compare two attacks, do not compare their intervals. Both were scored on the *same records*, so what counts is the interval of
# the **difference**, record by record. From scratch, for your training:


# %%
def paired_difference(a: np.ndarray, b: np.ndarray, draws: int = 1000) -> Estimate:
    """Advantage of calls b minus that of calls a, with its interval by a paired bootstrap."""
    change = b.astype(float) - a
    inside, outside = change[is_member], change[~is_member]
    rng = np.random.default_rng(0)
    found = [rng.choice(inside, len(inside)).mean() - rng.choice(outside, len(outside)).mean()
             for _ in range(draws)]  # fmt: skip
    return Estimate(inside.mean() - outside.mean(), *np.quantile(found, [0.025, 0.975]))


# %%
one_for_all = attacks.MetricThreshold("loss").fit(known)
paired = paired_difference(one_for_all.calls(target.signals), fitted.calls(target.signals))
print(f"loss, one threshold for each class instead of one: {paired}")
held = np.bincount(known.labels).mean()

# %% [markdown]
# That is one training. `between` does the same over all of them, seed by seed and record by record.

# %%
by_class = {
    what: plain.between("loss per class", "loss", what) for what in ("advantage", "auc", "tpr")
}
for what, difference in by_class.items():
    print(f"{what:<10}{difference}  {words(difference)}")

# %%
photographs = results("photographs", PROFILE).find(called="undefended")
on_photographs = photographs.between("loss per class", "loss", "tpr", fpr=0.01)
headlines.repeats(photographs, "loss", "loss per class")

# %% [markdown]
# **What to see.** On letters, one threshold for each class, compared with one for all, is *{{words(by_class["advantage"])}}* by advantage
# ({{by_class["advantage"]}}), *{{words(by_class["auc"])}}* by AUC and *{{words(by_class["tpr"])}}* by the TPR at 1 % FPR. Ten thresholds fit the shadow better than one, but each rests on about {{held:.0f}} shadow records instead of
# {{len(known):,}}, so each is noisier. With more records they might help; we do not know.
#
# The table is from **real photographs** (CIFAR-10, the course's small CNN, {{int(photographs.is_member.sum()):,}} members, {{len(photographs)}} trainings). There the TPR at 1 % FPR is
# {{photographs.tpr("loss", fpr=0.01).value:.1%}} with one threshold and {{photographs.tpr("loss per class", fpr=0.01).value:.1%}} with one for each class
# (*{{words(on_photographs)}}*). Song and Mittal, PAST's code (`Fujump/MLHospital` at 087beb6, which the paper does not link) and CRL's text set one threshold for each class.

# %% [markdown]
# ## Move the threshold
# Choose a **score** and a **class**, and move the **threshold**. To put all scores on one axis, the plot shows the *surprise*,
# low for members: loss and entropies as they are, one minus the confidences. *Think*: for which letter does the common
# threshold accuse the most non-members?

# %%
letters = list("ABCDEFGHIJ" if configuration.data == "letters" else "0123456789")
flip = {name: 1.0 if "confidence" in name or name == "correctness" else 0.0 for name in names}
surprise = {
    name: np.maximum(flip[name] - attacks.METRICS[name](target.signals), 0) for name in names
}


# %%
def threshold_view(threshold: float, score: str = "loss", label: str = "all") -> plots.Picture:
    keep = np.full(len(labels), True) if label == "all" else labels == letters.index(label)
    values = surprise[score]
    return figures.threshold_view(
        values[keep & is_member],
        values[keep & ~is_member],
        threshold=threshold,
        label=f"surprise ({score}), class {label}",
    )


# %%
widgets.explore(
    threshold_view,
    threshold=widgets.log_slider(1e-6, 10, start=0.03, label="threshold"),
    score=widgets.choice(["loss", "max confidence", "entropy", "modified entropy"], label="score"),
    label=widgets.choice(["all", *letters], label="class"),
)

# %% [markdown]
# *Without a kernel*: what the threshold that the shadow chose for all classes does to each of them.

# %%
common = -one_for_all.threshold
called = one_for_all.calls(target.signals)


def share(rows: np.ndarray) -> Estimate:
    """The share of these records that is called a member, with its exact interval."""
    count, n = int(called[rows].sum()), int(rows.sum())
    return Estimate(count / n, *metrics.clopper_pearson(count, n))


# %%
caught = {name: share((labels == c) & is_member) for c, name in enumerate(letters)}
accused = {name: share((labels == c) & ~is_member) for c, name in enumerate(letters)}
both = {"members caught": caught, "non-members accused": accused}
roles = {"members caught": "member", "non-members accused": "non_member"}
axis = {"label": "share called a member", "dotted": "nobody"}
show(plots.comparison(both, roles=roles, **axis), name="02_classes")
most = max(accused, key=lambda name: accused[name].value)
least = min(accused, key=lambda name: accused[name].value)

# %% [markdown]
# **What to see.** In your training the same threshold, {{common:.3f}}, catches at least {{min(one.value for one in caught.values()):.0%}} of the members of every letter. But it
# accuses {{accused[most].value:.0%}} of the non-members that are {{most}} and {{accused[least].value:.0%}} of those that are {{least}}: an easy letter has a low
# loss without having been seen. Samples are small here: with some {{(~is_member).sum() / len(letters):.0f}} non-members per letter, the first share
# stands for anything between {{accused[most].low:.0%}} and {{accused[most].high:.0%}}.

# %% [markdown]
# ## A shadow that knows the defense
# Suppose that the target was trained with **label smoothing**: the label's class is asked for $1 - \varepsilon = 0.7$, and the
# others share the rest. The model is never rewarded for being sure, so all confidences fall. Is it a defense?
#
# One attacker does not know about the smoothing and uses the shadow that we have. The other is **adaptive**: it trains its
# shadow by the same recipe, smoothing included. **Predict** both advantages. The undefended model had
# {{advantage['loss'].value:.2f}}.

# %%
from mialib.defenses import LabelSmoothing

smoothed = configuration.but(defense=LabelSmoothing(0.3), trace=0)
smooth_target, smooth_shadow = runs.get_all([smoothed, smoothed.but(side="shadow")])
arms = {}
for name, attacker in (("undefended shadow", shadow), ("adaptive shadow", smooth_shadow)):
    played = attacks.game(smooth_target.signals, shadow=attacker.signals)
    arms[name] = {n: played.play(attacks.MetricThreshold(n)) for n in names}

# %%
picture = plots.comparison(
    {arm: {n: result.advantage for n, result in rows.items()} for arm, rows in arms.items()},
    label="advantage",
)
show(picture, name="02_adaptive")
naive, adaptive = (arms[arm]["loss"] for arm in arms)

# %% [markdown]
# **What to see.** In your training, against the undefended shadow, the loss attack on the smoothed model has an advantage of {{naive.advantage}}, because the old threshold
# catches {{naive.tpr.value:.1%}} of the members. Against the adaptive shadow it has {{adaptive.advantage}}. The AUC could have warned us: it needs no
# threshold, and is {{naive.auc.value:.3f}} in both arms.
#
# Is the smoothed model more private than the undefended one, or less? That is a question for the repeats: ten trainings of each, always
# with an adaptive shadow.

# %%
smooth = base.find(defense="LabelSmoothing")
change = {what: smooth.paired(plain, what, "loss") for what in ("advantage", "auc", "tpr")}
change["accuracy"] = smooth.paired(plain, "accuracy")
for what, difference in change.items():
    print(f"{what:<10}{difference}  {words(difference)} than undefended")
headlines.repeats(smooth, *names)

# %% [markdown]
# **What to see.** With smoothing the loss attack's advantage is {{words(change["advantage"])}} ({{change["advantage"]}}), and the accuracy of the
# model is {{words(change["accuracy"])}} ({{change["accuracy"]}}). Smoothing moved every confidence; it did not make members and non-members alike.
# One number points the other way: the TPR at 1 % FPR is {{words(change["tpr"])}} ({{smooth.tpr("loss", fpr=0.01).value:.1%}} instead of
# {{plain.tpr("loss", fpr=0.01).value:.1%}}).
#
# Is the corner at least safe, then? No. Smoothing holds members at a confidence near 0.7, so the very surest answers now go to non-members, and
# a *single* threshold on the loss must start with those. Notebook 03 meets an attack that does not mind.
#
# That is why every defense in this course meets an attacker whose shadow was trained the same way, and why a paper that says
# nothing about its shadow says little about its defense.

# %% [markdown]
# ## Exercises
# ### Exercise 2.1 · difficulty 3/5 · about 15 minutes
# Loss and confidence have one AUC because the AUC depends on the *order* of the scores alone. Make that visible: compute the
# AUC from ranks, without any threshold. It is the share of pairs (member, non-member) in which the member scores higher,
# and a tie counts half.

# %%
from mialib.course.exercises import lesson_02 as checks


def auc_from_ranks(scores: np.ndarray, is_member: np.ndarray) -> float:
    """Area under the ROC from the ranks of the scores; ties must count half."""
    raise NotImplementedError


checks.check_auc_from_ranks(auc_from_ranks)

# %% [markdown]
# <details><summary>Hint 1</summary>How many non-members lie below a given member? Its rank among all, less its rank among the
# members.</details>
#
# <details><summary>Hint 2</summary>
#
# `scipy.stats.rankdata` gives tied scores their average rank. Or: compare all pairs by
# broadcasting, `scores[is_member][:, None] > scores[~is_member]`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def auc_from_ranks(scores: np.ndarray, is_member: np.ndarray) -> float:
#     member, other = np.sort(scores[is_member]), np.sort(scores[~is_member])
#     below = np.searchsorted(other, member, side="left")
#     not_above = np.searchsorted(other, member, side="right")
#     return float((below + not_above).sum() / 2 / (len(member) * len(other)))
# ```
# </details>

# %% [markdown]
# ### Exercise 2.2 · difficulty 2/5 · about 10 minutes
# An experiment. Imagine ten papers, each with one of our ten trainings. Each asks by the advantage whether a rival beats the loss: *modified entropy*,
# *loss per class* (one threshold for each class) and *max confidence*. How many of the ten papers say yes? And what may be said after all ten?
# `plain.by_seed("advantage", name)` has the trainings one by one, `plain.between(name, "loss")` the difference over all, and `words` its verdict.


# %%
def ten_papers() -> dict[str, tuple[int, str]]:
    """By rival: in how many trainings it is ahead, and the verdict of `words` over all."""
    raise NotImplementedError


checks.check_ten_papers(ten_papers)

# %% [markdown]
# <details><summary>Hint</summary>Compare two arrays of ten numbers, seed by seed, and count.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# from mialib.estimates import words
# from mialib.experiments import results
#
# plain = results("base", "quick").find(defense="Plain")
#
#
# def ten_papers() -> dict[str, tuple[int, str]]:
#     loss = plain.by_seed("advantage", "loss")
#     answer = {}
#     for rival in ("modified entropy", "loss per class", "max confidence"):
#         ahead = int((plain.by_seed("advantage", rival) > loss).sum())
#         answer[rival] = ahead, words(plain.between(rival, "loss"))
#     return answer
# ```
#
# A majority of papers is no verdict, and a verdict is no large effect: look at the size of {{apart["repair"]}}. And {{int((plain.by_seed("advantage", "loss per class") > plain.by_seed("advantage", "loss")).sum())}} of ten
# papers would have praised thresholds for each class.
# </details>

# %% [markdown]
# ## Recap
# - Five scores, one idea. {{ranked[0].capitalize()}} leads with {{advantage[ranked[0]].value:.2f}}, {{ranked[-1]}} has
#   {{advantage[ranked[-1]].value:.2f}}; loss and confidence are the same attack.
# - The threshold is fitted on a shadow. One for each class changed the loss attack's advantage by {{by_class["advantage"]}}.
# - A defense must be judged by an adaptive shadow. Against label smoothing the loss attack seemed to have an advantage of {{naive.advantage.value:z.2f}}; with
#   adaptive shadows it has {{smooth.advantage("loss")}} ({{len(smooth)}} trainings, profile `{{PROFILE}}`, n = {{adaptive.members:,}} + {{adaptive.non_members:,}}).
#
# ## What this does not show
# - One strength of smoothing, one network, one set of letters. Notebook 06 sweeps strengths.
# - That per-class thresholds never pay: here each rests on {{held:.0f}} shadow records.
# - A metric attack treats all records of a class alike. Notebook 05 asks each record's own history.
#
# ## References
# - L. Song and P. Mittal, 2021, *Systematic evaluation of privacy risks of machine learning models*,
#   [arXiv 2003.10595](https://arxiv.org/abs/2003.10595): modified entropy, thresholds for each class.
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 4.1: its metric attacks.
# - S. Yeom and others, 2018, *Privacy risk in machine learning*,
#   [arXiv 1709.01604](https://arxiv.org/abs/1709.01604): loss and correctness.
# - Y. Kaya and T. Dumitras, 2021, *When does data augmentation help with membership inference attacks?*,
#   [PMLR 139](https://proceedings.mlr.press/v139/kaya21a.html): label smoothing can raise the risk.
