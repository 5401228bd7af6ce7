# ---
# title: Simple defenses
# question: What do the usual regularisers do for privacy, and what do they cost?
# goals:
#   - write six regularisers as a changed loss or a changed loop, and plug them into `fit`
#   - read a plot of privacy against utility, and compare defenses under one promise of accuracy
#   - say which of them hinder even the strongest attack, with an interval over trainings
#   - explain why neither a small loss gap nor a high P1 is a proof of privacy
# needs: notebook 02; stochastic gradient descent
# read: 30
# reproduces: the simple baselines of PAST (Section 4.1) and its P1 (Eq. 6), after Fig. 3, on our data
# cover: 06_tradeoff
# ---

# %% [markdown]
# ## Overfit less, leak less?
# A model leaks because it treats its members better than non-members: it overfits. Against overfitting there are old and cheap remedies, and the PAST paper lists five of them among
# the defenses that it wants to beat. Of ℓ1 and ℓ2 it says: "if not all parameters contribute equally to the risk of leaking sensitive information, the uniform penalties can lead to a suboptimal
# tradeoff between model utility and privacy". Before anybody improves on them, let us see
# what they do. Six, each with one idea and one knob:
#
# | defense | what it changes | knob |
# |---|---|---|
# | ℓ1 | every weight pays for its size | λ |
# | ℓ2 | every weight pays for its square | λ |
# | dropout | some features are missing in each step | share $p$ |
# | label smoothing | the label is right with certainty $1 - \varepsilon$ only | ε |
# | confidence penalty | certainty costs | β |
# | early stopping | the last epochs are skipped | patience |
#
# First we build each in a few lines on 200 shopping baskets. Then repeated trainings tell what each is worth.

# %%
import numpy as np
import torch
from torch.nn import functional as F

from mialib import data, models, profiles, query
from mialib.course import figures, headlines, plots, statistics, widgets
from mialib.course.plots import show
from mialib.defenses import L1, L2, ConfidencePenalty, Dropout, EarlyStopping, LabelSmoothing
from mialib.estimates import words
from mialib.experiments import Results, results
from mialib.query import to_device
from mialib.training import Defense, Recipe, fit

baskets = data.load("shoppers", size=400)
members, validation = baskets.take(np.arange(200)), baskets.take(np.arange(200, 400))
x, y = to_device(members, torch.device("cpu"))  # (200, 600) and (200,), 100 classes


def small_model() -> models.Network:
    return models.build("mlp", shape=(600,), classes=100, widths=(128,), seed=0)


# %% [markdown]
# ## Two on the weights, from scratch
# The penalties join the loss, and $\lambda$ says how much they count. **Predict**: which of the two pulls harder on a weight of 0.01, and which on a weight of 10?


# %%
def l1_loss(model: models.Network, lam: float) -> torch.Tensor:
    sizes = sum(weight.abs().sum() for weight in model.parameters())
    return F.cross_entropy(model(x), y) + lam * sizes


def l2_loss(model: models.Network, lam: float) -> torch.Tensor:
    squares = sum((weight**2).sum() for weight in model.parameters())
    return F.cross_entropy(model(x), y) + lam / 2 * squares


# %% [markdown]
# The gradient of $\lambda|w|$ is $\lambda\,\mathrm{sign}(w)$, the same for small weights and large ones, so ℓ1 drives small weights to zero. That of
# $\tfrac{\lambda}{2} w^2$ is $\lambda w$: large weights pay most. The library never computes the sums: `L1` adds the sign to the gradient
# in the hook `after_backward`, and `L2` raises the optimizer's weight decay in `prepare`. One step of each must end at the same weights as ours.

# %%
one_step = Recipe(epochs=1, batch_size=len(y), lr=0.1, momentum=0.0, weight_decay=0.0)


def step_by_hand(loss, lam: float) -> torch.Tensor:
    model = small_model()
    loss(model, lam).backward()
    return torch.cat([(w - 0.1 * w.grad).detach().flatten() for w in model.parameters()])


def step_of(defense: Defense) -> torch.Tensor:
    model = small_model()
    fit(model, members, one_step, defense=defense, device="cpu")
    return torch.cat([w.detach().flatten() for w in model.parameters()])


for loss, defense in ((l1_loss, L1(0.01)), (l2_loss, L2(0.01))):
    assert torch.allclose(step_by_hand(loss, 0.01), step_of(defense), atol=1e-7), defense

# %% [markdown]
# That is also how any defense is used: `fit(model, members, recipe, defense=L1(0.01))`.

# %% [markdown]
# ## One on the features, from scratch
# **Dropout** erases each feature before the last layer with probability $p$, anew in every step, and divides the rest by $1 - p$ so that their mean stays.
# The idea: no feature can rely on another. When the model is asked, nothing is erased.


# %%
def dropout_loss(model: models.Network, share: float) -> torch.Tensor:
    features = model.features(x)
    kept = torch.empty_like(features).bernoulli_(1 - share)  # 1 or 0
    return F.cross_entropy(model.classify(features * kept / (1 - share)), y)


model = small_model()
torch.manual_seed(0)
by_hand = dropout_loss(model, 0.5)
torch.manual_seed(0)  # the same features are erased
assert Dropout(0.5).batch_loss(model, x, y).item() == by_hand.item()

# %% [markdown]
# ## Two on the outputs, from scratch
# Cross-entropy is never satisfied: it falls until the label has probability 1. **Label smoothing** asks for less: $1 - \varepsilon$ for the label, and
# $\varepsilon / (C - 1)$ for each of the other classes, of which there are $C$ in all. The **confidence penalty** leaves the label alone and subtracts β times the entropy of the output.


# %%
def smooth_targets(y: torch.Tensor, classes: int, epsilon: float) -> torch.Tensor:
    targets = torch.full((len(y), classes), epsilon / (classes - 1))
    targets[torch.arange(len(y)), y] = 1 - epsilon
    return targets  # (n, classes); every row sums to 1


def smoothing_loss(model: models.Network, epsilon: float) -> torch.Tensor:
    return -(smooth_targets(y, 100, epsilon) * model(x).log_softmax(dim=1)).sum(dim=1).mean()


def penalty_loss(model: models.Network, beta: float) -> torch.Tensor:
    log_p = model(x).log_softmax(dim=1)
    entropy = -(log_p.exp() * log_p).sum(dim=1).mean()
    return F.nll_loss(log_p, y) - beta * entropy


for loss, defense in (
    (smoothing_loss, LabelSmoothing(0.3)),
    (penalty_loss, ConfidencePenalty(0.3)),
):
    assert torch.allclose(step_by_hand(loss, 0.3), step_of(defense), atol=1e-7), defense

# %% [markdown]
# Both live in the hook `loss`. **Predict**: at which confidence is each of the two losses lowest, with ten classes and ε = β = 0.3?

# %%
confidence = np.linspace(0.02, 0.999, 400)
rest = (1 - confidence) / 9  # nine wrong classes share it equally
plain_loss = -np.log(confidence)
entropy = -confidence * np.log(confidence) - 9 * rest * np.log(rest)
curves = {
    "cross-entropy": plain_loss,
    "label smoothing": -0.7 * np.log(confidence) - 0.3 * np.log(rest),
    "confidence penalty": plain_loss - 0.3 * entropy,
}
picture = plots.lines(confidence, curves, xlabel="confidence in the label", ylabel="loss")
show(picture, name="06_losses")
lowest = {name: float(confidence[curve.argmin()]) for name, curve in curves.items()}

# %% [markdown]
# **What to see.** Cross-entropy has no lowest point inside. Label smoothing turns at {{lowest['label smoothing']:.2f}}, the penalty at
# {{lowest['confidence penalty']:.2f}}: beyond that, more certainty costs. Both limit how sure the model may be, and neither asks that it treat members and
# non-members *alike*.

# %% [markdown]
# ## One on the loop, from scratch
# **Early stopping** watches the loss on **validation** records, which are not trained on. When it has not fallen for `patience` epochs, training ends, and the
# weights of the best epoch are kept.


# %%
def stop(validation_losses: list[float], patience: int) -> tuple[int, int]:
    """How many epochs run, and which one's weights are kept; both count from 1."""
    best = 0
    for epoch, loss in enumerate(validation_losses):
        if loss < validation_losses[best]:
            best = epoch
        if epoch - best == patience:
            break
    return epoch + 1, best + 1


def look(model: models.Network, epoch: int = 0) -> dict[str, float]:
    both = {"member": members, "non_member": validation}
    logits = {role: torch.from_numpy(query.predict(model, part)) for role, part in both.items()}
    return {r: F.cross_entropy(z, torch.tensor(both[r].y).long()).item() for r, z in logits.items()}


# %% [markdown]
# The library does it in the hook `end_epoch`. **Predict**: how large is the gap between the two curves where it stops?

# %%
recipe = Recipe(epochs=20, batch_size=20, lr=0.1)
history = fit(small_model(), members, recipe, device="cpu", on_epoch=look)
seen = {role: [epoch[role] for epoch in history] for role in ("member", "non_member")}
ran, kept = stop(seen["non_member"], patience=2)

model = small_model()
early = fit(model, members, recipe, defense=EarlyStopping(2), validation=validation, device="cpu")
assert len(early) == ran
assert look(model)["non_member"] == seen["non_member"][kept - 1]
picture = plots.lines(
    np.arange(1, 21), seen, xlabel="epoch", ylabel="loss", mark=float(kept), roles=True
)
show(picture, name="06_early")

# %% [markdown]
# **What to see.** The validation loss is lowest after epoch {{kept}} (the line), {{seen['non_member'][kept - 1]:.2f}}. The members' loss is
# {{seen['member'][kept - 1]:.2f}} there, so the gap is already open. Early stopping waits until *utility* stops growing, and privacy may be lost by then.

# %% [markdown]
# ## Into an experiment
# A `Configuration` takes a defense like any other setting, and `runs.get_all` trains target and shadow with it: the attacker is **adaptive**, its shadow has the same
# defense at the same strength (notebook 02). Early stopping needs validation records, so every setting gives up the same share of its members, also where nobody looks at them.

# %%
configuration = profiles.load(PROFILE).images.but(validation=0.1)
defended = configuration.but(defense=L1(1e-3))
pair = [defended, defended.but(side="shadow")]  # runs.get_all(pair) would train them

simple = results("simple", PROFILE)
print(simple.about["source"])
plain = simple.find(defense="Plain")
records = int(simple.is_member.sum()), int((~simple.is_member).sum())
print(f"{len(simple.settings())} settings, each trained with {len(plain)} seeds")

# %% [markdown]
# Every setting met {{len(simple.attacks)}} attacks, and we sum it up by the **highest** advantage among them: a defense is as good as its worst day. Numbers are means over
# {{len(plain)}} trainings of target and shadow; the 95 % intervals cover trainings and records (n = {{records[0]:,}} + {{records[1]:,}}). Now we sort the settings of each
# defense from weak to strong.


# %%
KNOBS = {"ℓ1": (L1, "lam"), "ℓ2": (L2, "lam"), "dropout": (Dropout, "p"),
         "label smoothing": (LabelSmoothing, "epsilon"),
         "confidence penalty": (ConfidencePenalty, "beta"),
         "early stopping": (EarlyStopping, "patience")}  # fmt: skip


def by_strength(make: type[Defense], knob: str) -> dict[float, Results]:
    """Every setting of a defense with all its trainings, from the weakest on."""
    settings = simple.where(defense=make.__name__).settings()
    found = {one.rows[0].settings[knob]: one.finished() for one in settings}
    return dict(sorted(found.items(), reverse=knob == "patience"))


arms = {name: by_strength(*knob) for name, knob in KNOBS.items()}
arms = {name: arm for name, arm in arms.items() if arm}  # not every profile tries them all

# %% [markdown]
# **Predict**: which of the six move down (more private), which move right (more accurate), and does any move up?


# %%
def point(one: Results) -> tuple:
    return one.accuracy(), one.highest()


series = {name: [point(one) for one in arm.values()] for name, arm in arms.items()}
labels = {name: [f"{value:g}" for value in arm] for name, arm in arms.items()}
picture = plots.tradeoff(series, undefended=point(plain), labels=labels, columns=3)
show(picture, name="06_tradeoff")
smooth = arms["label smoothing"]
worst = max(smooth, key=lambda value: smooth[value].by_seed("highest").mean())
rise = smooth[worst].paired(plain, "highest")

# %% [markdown]
# **What to see.** ℓ1, ℓ2, dropout and early stopping move down, and when they are strong also far to the left: a model that learns nothing leaks nothing. Label smoothing
# and the confidence penalty move *up*: ε = {{worst:g}} raises the highest advantage from {{plain.highest().value:.2f}} to {{smooth[worst].highest().value:.2f}} (paired change {{rise}}). Only where
# smoothing is so strong that the model can no longer fit its members does it come down again.

# %% [markdown]
# ## Turn every knob
# One slider per strength; 0, and patience ∞, are plain training. Try this: give all six the same accuracy, as well as they can, and compare the other columns. *Think*: which of
# them would you call a defense by the advantage, and not by the TPR at 1 % FPR?

# %%
undefended = statistics.standing(plain)
standings = {}
for name, arm in arms.items():
    standings[name] = {np.inf if name == "early stopping" else 0: undefended}
    standings[name] |= {value: statistics.standing(one) for value, one in arm.items()}


def knobs_view(**strengths: float) -> plots.Picture:
    rows = {f"{name} {value:g}": standings[name][value] for name, value in strengths.items()}
    return figures.board({"undefended": undefended} | rows)


sliders = {name: widgets.steps(list(arm), start=list(arm)[1], label=f"{name}: {KNOBS[name][1]}")
           for name, arm in standings.items()}  # fmt: skip
widgets.explore(knobs_view, **sliders)

# %% [markdown]
# *Without a kernel*: all sliders at their weakest (level 1) and at their strongest (level 5).


# %%
def level_view(level: float) -> plots.Picture:
    return knobs_view(**{name: list(arm)[: int(level)][-1] for name, arm in arms.items()})


show(plots.small_multiples(level_view, level=[1, 5]), name="06_knobs")
weakest = next(iter(smooth))
gentle = smooth[weakest].paired(plain, "highest", "auc")
corner = smooth[weakest].paired(plain, "highest", "tpr", fpr=0.01)

# %% [markdown]
# **What to see.** Label smoothing does harm from the start: with ε = {{weakest:g}} the strongest attack's AUC is already higher ({{gentle}}), and its TPR at 1 % FPR is
# {{words(corner)}} ({{corner}}). At their strongest most defenses leave little to attack and little to use. What matters lies between.

# %% [markdown]
# ## The same promise for all
# A defense that ruins the model is private, so compare models that are *equally useful*. We promise to give up at most five points of accuracy, and turn each knob up as far as the
# promise allows. The accuracy that decides is that of the **inference** records: nobody trained on them, and no number of the table uses them. (So on the test records a
# setting may miss the promise by a little.)

# %%
PROMISE = 0.05


def accuracy_elsewhere(one: Results) -> float:
    return float(np.mean([row.accuracy["inference"] for row in one.rows]))


kept = {}
for name, arm in arms.items():
    for value, one in arm.items():  # the strongest that keeps the promise comes last
        if accuracy_elsewhere(one) >= accuracy_elsewhere(plain) - PROMISE:
            kept[name] = value
chosen = {f"{name} {value:g}": arms[name][value] for name, value in kept.items()}
headlines.settings({"undefended": plain} | chosen, against=plain)

# %% [markdown]
# Which of these changes are sure? The intervals are **paired**: both models were trained with the same seeds and asked about the same records.

# %%
asked = {"advantage": ("highest",), "TPR": ("highest", "tpr")}
verdicts = {
    what: {name: words(one.paired(plain, *number)) for name, one in chosen.items()}
    for what, number in asked.items()
}


def those(what: str, verdict: str) -> str:
    names = [name for name, word in verdicts[what].items() if word == verdict]
    return ", ".join(names) or "none"


ranked = sorted(chosen, key=lambda name: chosen[name].by_seed("highest").mean())
apart = chosen[ranked[0]].paired(chosen[ranked[1]], "highest")

# %% [markdown]
# **What to see.** By the highest advantage, *lower* than undefended: {{those("advantage", "lower")}}; *higher*: {{those("advantage", "higher")}}; *not told apart*:
# {{those("advantage", "not told apart")}}. Lowest of all lies {{ranked[0]}}; compared with the next, {{ranked[1]}}, it is {{words(apart)}} ({{apart}}).
#
# By the highest TPR at 1 % FPR, lower: {{those("TPR", "lower")}}; higher: {{those("TPR", "higher")}}. In that corner the undefended model gives these attacks only
# {{plain.highest("tpr", fpr=0.01).value:.1%}} of its members, so there is little to protect, and something to spoil.
#
# Early stopping has costs that the table does not show. It takes a tenth of the records out of training; here every setting gave them up, but a model of your own would pay for them. And its
# knob is coarse: with little patience, training ends before it has begun.

# %% [markdown]
# ## Does a smaller gap leak less?
# PAST steers by "the loss gap between member and non-member examples as a proxy for privacy risk", and says: "A larger loss gap indicates a higher privacy risk". **Predict**: is that so for all six?

# %%
gaps = {name: [(one.loss_gap(), one.highest()) for one in arm.values()]
        for name, arm in arms.items()}  # fmt: skip
star = plain.loss_gap(), plain.highest()
axes = {"xlabel": "loss gap", "ylabel": "highest advantage", "columns": 1}
show(plots.scatter({"": gaps}, stars={"": star}, **axes), name="06_gap")
narrower = smooth[worst].paired(plain, "loss_gap")
knows = np.mean([row.accuracy["train"] for row in smooth[worst].rows])

# %% [markdown]
# **What to see.** Along ℓ1, ℓ2, dropout and early stopping the proxy works: gap and advantage fall together. Smoothing with ε = {{worst:g}} makes the gap {{words(narrower, lower="smaller", higher="larger")}}
# ({{narrower}}), and yet it raised the advantage. The model may not be sure, so all losses move close together, but it still gets {{knows:.0%}} of its members right: a small
# gap is no proof of privacy.

# %% [markdown]
# ## Who is fooled?
# A paper that tries one attack tests the defense against that attack. **Predict**: against the strongest confidence penalty, which attacks get weaker?

# %%
beta, hard = list(arms["confidence penalty"].items())[-1]
change = {attack: hard.paired(plain, "advantage", attack) for attack in simple.attacks}
moved = {attack: change[attack] for attack in sorted(change, key=lambda a: change[a].value)}
what = f"change of the advantage under the confidence penalty {beta:g}"
picture = plots.comparison({"penalty": moved}, label=what, dotted="no difference")
show(picture, name="06_fooled")
weaker = [attack for attack, change in moved.items() if change.high < 0]
stronger = [attack for attack, change in moved.items() if change.low > 0]

# %% [markdown]
# **What to see.** With β = {{beta:g}}, {{len(weaker)}} of the {{len(moved)}} attacks find less ({{", ".join(weaker)}}) and {{len(stronger)}} find more. Judged by the gradient ℓ2 alone, which falls
# from {{plain.advantage("gradient ℓ2").value:.2f}} to {{hard.advantage("gradient ℓ2").value:.2f}}, the defense would look excellent; the loss attack goes from {{plain.advantage("loss").value:.2f}} to
# {{hard.advantage("loss").value:.2f}}. The gradient attacks look for members at which the cross-entropy is flat, and the penalty keeps the model from resting there.

# %% [markdown]
# ## One number for both?
# PAST sums up utility and privacy in one score, "P1" (its Eq. 6, after Paul and others), the harmonic mean of the accuracy Acc and of what the highest advantage Adv leaves:
#
# $$P_1 = \frac{2 \cdot \mathrm{Acc} \cdot (1 - \mathrm{Adv})}{\mathrm{Acc} + (1 - \mathrm{Adv})}.$$
#
# **Predict**: may a model lose ten points of accuracy and *gain* in P1?

# %%
flat = {name: [(a.value, h.value) for a, h in points] for name, points in series.items()}
star = plain.accuracy().value, plain.highest().value
show(figures.p1_map(flat, undefended=star, labels=labels), name="06_p1")
everyone = {f"{name} {value:g}": one for name, arm in arms.items() for value, one in arm.items()}
gained = {name: one.paired(plain, "p1") for name, one in everyone.items()}
better = [name for name, gain in gained.items() if gain.low > 0] or list(gained)
poorest = min(better, key=lambda name: everyone[name].by_seed("accuracy").mean())
lost = everyone[poorest].paired(plain, "accuracy")

# %% [markdown]
# **What to see.** Below the thick line P1 is higher than undefended. The least accurate model whose gain is sure is {{poorest}}: its accuracy is {{words(lost)}} ({{lost}}), and its P1
# {{words(gained[poorest])}} ({{gained[poorest]}}). P1 trades accuracy for privacy at a rate that nobody chose; a hospital and a photo app would not agree on it.
#
# One caution more. The best of {{len(everyone)}} settings may be the luckiest. Suppose we had trained only once, and picked the highest P1: what would that setting reach in the other trainings?

# %%
scores = np.array([one.by_seed("p1") for one in everyone.values()])  # (settings, trainings)
winners = scores.argmax(axis=0)
others = [np.delete(scores[winner], seed).mean() for seed, winner in enumerate(winners)]
print("winners:", [list(everyone)[winner] for winner in winners])
luck = (
    "One setting wins every time, so here luck does not choose"
    if len(set(winners)) == 1
    else f"{len(set(winners))} different settings win, so luck has a say in the choice"
)

# %% [markdown]
# The winner's P1 is {{scores.max(axis=0).mean():.3f}} in the training that picked it and {{np.mean(others):.3f}} in the others. {{luck}}. You know that only after training again; so
# choose a strength on trainings and records that you do not report on.

# %% [markdown]
# ## On photographs
# One strength of each on CIFAR-10, with the course's small CNN. *Stopped early* ends after a fixed epoch, because these runs have no validation records.

# %%
simple_ones = ["dropout", "label smoothing", "confidence penalty", "ℓ2", "stopped early"]
photographs = headlines.by_name(results("photographs", PROFILE), "undefended", *simple_ones)
bare = photographs["undefended"]
headlines.settings(photographs, against=bare)

# %% [markdown]
# Smoothing with ε = 0.3 has a highest advantage of {{photographs["label smoothing"].highest().value:.2f}}, undefended it is {{bare.highest().value:.2f}}
# (*{{words(photographs["label smoothing"].paired(bare, "highest"))}}*), and at 1 % false alarms its strongest attack catches
# {{photographs["label smoothing"].highest("tpr", fpr=0.01).value:.0%}} of the members. (Trainings per line: {{len(bare)}}; n = {{int(bare.is_member.sum()):,}} + {{int((~bare.is_member).sum()):,}}.)

# %% [markdown]
# ## Exercise 6.1 · difficulty 2/5 · about 10 minutes
# How low may the accuracy fall without P1 noticing? Write the accuracy that gives a certain P1 at a certain advantage.

# %%
from mialib.course.exercises import lesson_06 as checks


def accuracy_for_p1(p1: float, advantage: float) -> float:
    """The test accuracy at which a model with this advantage has this P1."""
    raise NotImplementedError


checks.check_accuracy_for_p1(accuracy_for_p1)

# %% [markdown]
# <details><summary>Hint</summary>Write v for 1 − advantage, multiply by a + v, and collect the terms with a.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def accuracy_for_p1(p1: float, advantage: float) -> float:
#     v = 1 - advantage
#     return p1 * v / (2 * v - p1)
# ```
#
# The undefended model has an accuracy of {{plain.accuracy().value:.2f}} and a P1 of {{plain.p1().value:.2f}}. A model that leaks nothing has the same P1 at an accuracy of
# {{plain.p1().value / (2 - plain.p1().value):.2f}}.
# </details>

# %% [markdown]
# ## Exercise 6.2 · difficulty 3/5 · about 15 minutes
# A better rule than P1: promise an accuracy, then take the strength that keeps it and leaks least. (The *strongest* that keeps it need not be that one, as label smoothing showed.) Row 0 is the
# undefended model.


# %%
def choose_strength(accuracy: np.ndarray, advantage: np.ndarray, most: float) -> int:
    """The row with the lowest advantage that is at most `most` less accurate than row 0."""
    raise NotImplementedError


checks.check_choose_strength(choose_strength)

# %% [markdown]
# <details><summary>Hint</summary>Give the rows that break the promise an infinite advantage; row 0 never breaks it.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def choose_strength(accuracy: np.ndarray, advantage: np.ndarray, most: float) -> int:
#     kept = accuracy >= accuracy[0] - most
#     return int(np.where(kept, advantage, np.inf).argmin())
# ```
#
# Feed it accuracies of validation records and advantages of attacks on a shadow. The test records are for the report alone.
# </details>

# %% [markdown]
# ## Recap
# - Each defense is a few lines in one hook: `loss` (dropout, smoothing, penalty), `after_backward` (ℓ1), `prepare` (ℓ2), `end_epoch` (early stopping).
# - Under one promise of accuracy, the highest advantage is lower with {{those("advantage", "lower")}}. A refinement of ℓ1 must beat *these*; notebooks 08 and 09 ask whether PAST does.
# - Defenses on the outputs can raise the risk: smoothing with ε = {{worst:g}} changes the highest advantage by {{rise}}, while the loss gap shrinks.
# - Try many attacks: {{len(weaker)}} of {{len(moved)}} are fooled by a penalty that helps {{len(stronger)}} others.
# - P1 hides whether privacy was paid for with accuracy. Promise an accuracy instead, and choose on records that you do not report on.
#
# ## What this does not show
# - Small letters, one small network. Where training is long and data plenty, regularisers may cost more, and smoothing may behave.
# - Which defense is best. Strengths lie far apart, so no two rows of the table have the same accuracy; between two strengths we do not know.
# - The highest of {{len(simple.attacks)}} noisy numbers is a little too high, for all rows alike.
# - One shadow per target. The reference attacks of notebook 05 may find more, above all where early stopping ended the shadow at another epoch than the target.
#
# ## References
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 3.1: the loss gap; Section 4.1, Fig. 3, Eq.
#   6: baselines and P1. Its working code, `Fujump/MLHospital` at commit 087beb6, has ε = 0.8 as the default of label
#   smoothing; the paper names no value.
# - R. Shokri and others, 2017, *Membership inference attacks against machine learning models*,
#   [arXiv 1610.05820](https://arxiv.org/abs/1610.05820), Section VIII: ℓ2 as a defense.
# - N. Srivastava and others, 2014, *Dropout*, [JMLR 15](https://jmlr.org/papers/v15/srivastava14a.html); G. Pereyra
#   and others, 2017, *Regularizing neural networks by penalizing confident output distributions*,
#   [arXiv 1701.06548](https://arxiv.org/abs/1701.06548).
# - Y. Kaya and T. Dumitras, 2021, *When does data augmentation help with membership inference attacks?*,
#   [PMLR 139](https://proceedings.mlr.press/v139/kaya21a.html): label smoothing amplifies the risk there, too.
# - L. Song and P. Mittal, 2021, *Systematic evaluation of privacy risks of machine learning models*,
#   [arXiv 2003.10595](https://arxiv.org/abs/2003.10595): defenses against adaptive attackers.
