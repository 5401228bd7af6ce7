# ---
# title: The membership game
# question: Why does a model that memorises give its members away, and how much is an accusation worth?
# goals:
#   - build the loss attack from scratch and fit its threshold on a shadow
#   - watch leakage grow with the loss gap while a model trains
#   - read a ROC in the corner where it matters
#   - turn rates into what an accusation is worth at a given prior
# needs: notebook 00; averages and logarithms
# read: 40
# reproduces: after PAST's Fig. 1a, on our data
# cover: 01_roc
# ---

# %% [markdown]
# ## A model that memorises
# We need a target that has something to hide. The recipe is simple: few records, a network with many more parameters than
# records, and enough epochs. The records are the letters of notebook 00. At profile `quick` the network is a small convolutional
# one: two layers of 3×3 filters (16 and 32 of them), each followed by pooling, then 128 hidden units and one output per
# letter. For the attacker, we train a **shadow** by the same recipe on records that the target has never seen.

# %%
import numpy as np

from mialib import metrics, profiles, runs
from mialib.course import figures, headlines, plots, widgets
from mialib.course.plots import show
from mialib.course.statistics import span
from mialib.course.tunings import watched_arms
from mialib.experiments import results

configuration = profiles.load(PROFILE).images
target, shadow = runs.get_all([configuration, configuration.but(side="shadow")])
side = target.side
print({name: len(part) for name, part in side.parts().items()})

# %% [markdown]
# So that no sentence rests on luck, we also read what ten such pairs gave (notebook 00 says why).

# %%
base = results("base", PROFILE)  # the same two trainings, with ten seeds
plain = base.find(defense="Plain")
print(base.about["source"])

# %% [markdown]
# The records around a model come in **parts**. The target was trained on `train` (its members) and will be examined on
# `test` (non-members). `inference` is set aside for defenses that tune on non-members; what a defense has tuned on would
# flatter it in an evaluation, so the two never mix. The shadow has three parts of its own, and no record is in two parts.
#
# ### Stop and think
# The network has {{sum(p.numel() for p in target.load_model().parameters()):,}} parameters and {{len(side.train):,}} training
# records. **Predict** its accuracy on both sides before you run the next cell.

# %%
rows = [(run.configuration.side, run.metrics["accuracy"]) for run in (target, shadow)]
for name, accuracy in rows:
    print(f"{name:<7} members {accuracy['train']:.3f}   non-members {accuracy['test']:.3f}")

# %% [markdown]
# **What to see.** On its members the target is right {{rows[0][1]['train']:.1%}} of the time, on non-members
# {{rows[0][1]['test']:.1%}}. The shadow ({{rows[1][1]['train']:.1%}} and {{rows[1][1]['test']:.1%}}) is not equally good, but it behaves alike, and
# that is why it is useful. Over {{len(plain)}} trainings the accuracy on non-members is {{plain.accuracy()}}, and that on members
# is never below {{min(row.accuracy['train'] for row in plain.rows):.1%}}.

# %% [markdown]
# ## The loss attack from scratch
# All the attacker sees of the target is a table of **signals**: logits and labels. From them comes the cross-entropy loss
# of every record,
#
# $$\ell(x, y) = -\log p_y(x), \qquad p(x) = \mathrm{softmax}(\mathrm{logits}(x)).$$
#
# Training has pushed this very number further down for members than for anyone else.


# %%
def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Loss of each record: logits (n, classes), labels (n,) → (n,)."""
    shifted = logits - logits.max(axis=1, keepdims=True)  # so that exp cannot overflow
    log_probability = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_probability[np.arange(len(labels)), labels]


# %%
def loss_of(run) -> np.ndarray:
    return cross_entropy(run.signals.logits.astype(float), run.signals.labels)


target_loss, shadow_loss = loss_of(target), loss_of(shadow)
is_member, shadow_is_member = target.signals.is_member, shadow.signals.is_member

# %% [markdown]
# Now the threshold. Below it a record is called a member. The attacker wants the threshold with the largest **advantage**,
#
# $$\mathrm{advantage} = \mathrm{TPR} - \mathrm{FPR},$$
#
# the share of members that are called members (true positive rate) minus the share of non-members that are (false positive
# rate). It can be computed on the shadow only, because there the members are known. We simply try every loss that occurs,
# and settle halfway between the best one and the next, so that the threshold does not lean on a single record.


# %%
def advantage_at(threshold: float, loss: np.ndarray, is_member: np.ndarray) -> float:
    called_member = loss <= threshold
    return called_member[is_member].mean() - called_member[~is_member].mean()


# %%
candidates = np.unique(shadow_loss)  # sorted
gains = [advantage_at(t, shadow_loss, shadow_is_member) for t in candidates]
best = int(np.argmax(gains))
threshold = candidates[best : best + 2].mean()  # halfway to the next one
on_shadow, on_target = max(gains), advantage_at(threshold, target_loss, is_member)
best_on_target = max(advantage_at(t, target_loss, is_member) for t in np.unique(target_loss))
print(f"threshold {threshold:.3f}")
print(f"advantage {on_shadow:.3f} on the shadow, {on_target:.3f} on the target")

# %% [markdown]
# **What to see.** On the shadow, where it was chosen, the threshold has an advantage of {{on_shadow:.3f}}; on the target it reaches {{on_target:.3f}}. The
# best threshold for the target itself has {{best_on_target:.3f}}, so choosing on a shadow costs {{best_on_target - on_target:.3f}}. The rest of the difference is the
# shadow's, which simply leaks {{"more" if on_shadow > best_on_target else "less"}}; but the attacker wants the target, so only the target's number counts.
#
# The library does the same with a sort instead of a loop over all pairs. Its scores are higher for members, so they are minus
# the loss, and so is its threshold. The two must agree.

# %%
from mialib import attacks

fitted = attacks.MetricThreshold("loss").fit(shadow.signals)
scores = fitted.score(target.signals.public())
assert np.allclose(scores, -target_loss, atol=1e-9)
assert np.isclose(fitted.threshold, -threshold)
assert np.isclose(metrics.advantage(scores, is_member, threshold=fitted.threshold), on_target)
result = metrics.evaluate(scores, is_member, threshold=fitted.threshold)
assert np.isclose(result.best_advantage.value, best_on_target)
result

# %% [markdown]
# **What to see.** Your training has an advantage of {{result.advantage.value:.3f}}; ours range from {{headlines.reach(plain, "loss")}}. Over all
# {{len(plain)}} the mean is {{plain.advantage("loss")}}.
#
# The *best* advantage, {{result.best_advantage.value:.3f}}, is that of the threshold tuned on the target itself. No attacker has the labels to find it,
# so we print it as an upper bound and never as a result.

# %% [markdown]
# ## Where does the leak come from?
# The PAST paper's first figure makes a claim: while a model trains, the attack's advantage rises together with the **loss
# gap**, the mean loss of non-members minus the mean loss of members. If so, the gap can stand for the leak, and a defense
# may aim at the gap. Our runs kept the loss of every record at several epochs, so we can look.
#
# **Predict**: at which epoch does the gap open, at the start or when the training accuracy is nearly perfect?

# %%
epochs = [line["epoch"] for line in target.traced]
gap = [line["loss_gap"] for line in target.traced]
by_epoch = []
for losses, shadow_losses in zip(target.losses_by_epoch, shadow.losses_by_epoch, strict=True):
    at_this_epoch = attacks.best_threshold(-shadow_losses, shadow_is_member)
    evaluated = metrics.evaluate(-losses, is_member, threshold=at_this_epoch, draws=300)
    by_epoch.append(evaluated.advantage)

# %%
curve = [estimate.value for estimate in by_epoch]
correlation = np.corrcoef(gap, curve)[0, 1]
both = {
    "loss gap": {"this training": list(zip(epochs, gap, strict=True))},
    "loss attack": {"this training": list(zip(epochs, by_epoch, strict=True))},
}
labels = {"loss gap": "loss gap in nats", "loss attack": "advantage"}
show(plots.scatter(both, xlabel="epoch", ylabel=labels), name="01_by_epoch")
full = next(k for k, line in enumerate(target.traced) if line["train_accuracy"] >= 0.9)
then, last = target.traced[full], target.traced[-1]

# %% [markdown]
# **What to see.** From the first point to the last the gap goes from {{gap[0]:.2f}} to {{gap[-1]:.2f}} nats (the unit of natural logarithms). The advantage goes from
# {{curve[0]:.2f}} to {{curve[-1]:.2f}}, and the two {{"move together, as the paper says" if correlation > 0.9 else "do not move together as the paper says"}} (correlation {{correlation:.2f}}).
# That is one training, so take it as a description; the paper's figure, ResNet-18 on CIFAR-10, prints no number.
#
# Over {{len(plain)}} trainings the gap at the end is {{plain.loss_gap()}}. In your training {{"more" if gap[full] > gap[-1] / 2 else "less"}} than half of the
# final gap was there at epoch {{then['epoch']}} ({{gap[full]:.2f}}), when the model was right on {{then['train_accuracy']:.0%}} of its members. The later epochs changed the accuracy on non-members by
# {{last['test_accuracy'] - then['test_accuracy']:+.2f}}, and the advantage by {{curve[-1] - curve[full]:+.2f}}.

# %% [markdown]
# And on real photographs? The same two numbers were kept after every epoch of a small network on CIFAR-10, in several trainings.
# **Predict**: do they move together to the end?

# %%
camera = watched_arms(results("epochs", "cpu"))["training"]  # one entry for every epoch
gaps = np.array([one.by_seed("loss_gap") for one in camera])  # (epochs, trainings)
leaks = np.array([one.by_seed("advantage", "loss") for one in camera])
together = [np.corrcoef(*pair)[0, 1] for pair in zip(gaps.T, leaks.T, strict=True)]

# %%
panels = {"loss gap in nats": gaps, "advantage of the loss attack": leaks}
curves = {name: {"training": [span(row) for row in rows]} for name, rows in panels.items()}
reach = "from the lowest to the highest training"
picture = figures.arm_curves(curves, x=range(len(camera)), xlabel="epoch", band=reach)
show(picture, name="01_photographs")
peak = int(gaps.mean(axis=1).argmax())

# %% [markdown]
# **What to see.** Over all epochs the correlation is {{min(together):.2f}} to {{max(together):.2f}} in {{len(together)}} trainings. But the gap is widest after epoch {{peak}}: from there to
# the end it changes by {{gaps[-1].mean() - gaps[peak].mean():+.2f}} nats, and the advantage by {{leaks[-1].mean() - leaks[peak].mean():+.2f}}. The gap is a proxy
# for the leak, not the leak itself; notebook 07 comes back to that.

# %% [markdown]
# ## Move the threshold
# One threshold gives one point: a rate of caught members and a rate of false alarms. All thresholds together draw the **ROC
# curve** (receiver operating characteristic). Move the **threshold** on the loss and
# watch four things at once: the line through the histograms, the confusion matrix, and the point on the ROC, drawn
# on ordinary and on logarithmic axes. *Think*: where does the advantage peak, and what does the point do in the lower left
# corner of the logarithmic plot?

# %%
member_loss, non_member_loss = target_loss[is_member], target_loss[~is_member]


def threshold_view(threshold: float) -> plots.Picture:
    return figures.threshold_view(member_loss, non_member_loss, threshold=threshold)


# %%
slider = widgets.log_slider(1e-6, 10, start=0.03, label="threshold on the loss")
widgets.explore(threshold_view, threshold=slider)

# %% [markdown]
# *Without a kernel*: three positions of the slider.

# %%
strict, medium, loose = 1e-6, 0.03, 2.0
rows = plots.small_multiples(threshold_view, threshold=[strict, medium, loose])
show(rows, name="01_threshold")

# %% [markdown]
# **What to see.** A loose threshold ({{loose:g}}) catches {{rows.numbers['tpr at 2']:.0%}} of the members, but accuses
# {{rows.numbers['fpr at 2']:.0%}} of the non-members. One would expect a strict threshold to be safe. Yet even at one millionth, with
# {{rows.numbers['tpr at 1e-06']:.0%}} of the members caught, {{rows.numbers['fpr at 1e-06']:.0%}} of the non-members are accused.
#
# So being strict does not help this attack; in between, at {{medium}}, the advantage is {{rows.numbers['advantage at 0.03']:.2f}}. The very lowest losses belong to letters that are so plain that the model is sure of
# them, whether or not it was trained on them. Near the corner of the logarithmic plot the curve therefore clings to the diagonal, which
# is chance. Attacks that know how easy a record is (notebook 05) do better there.

# %% [markdown]
# ## What the AUC hides
# The area under the ROC sums the curve up in one number, {{result.auc.value:.2f}} here. It weighs every false-positive rate
# alike, but an attacker does not. Somebody who wants to prove that *one person* was in the data needs an accusation that
# holds, so only the far left of the curve matters.
#
# To see how much can hide there, **imagine** a second attacker. It recognises a share $q$ of the members with certainty and
# tosses a coin on everyone else. Its AUC is $q + (1 - q)/2$, so $q = 2\,\mathrm{AUC} - 1$ gives it our attack's AUC.

# %%
rng = np.random.default_rng(0)
q = 2 * result.auc.value - 1
recognised = is_member & (rng.random(len(scores)) < q)
imagined_scores = rng.random(len(scores)) + recognised  # above 1 only where it is certain
imagined = metrics.evaluate(imagined_scores, is_member, threshold=1.0)

# %%
both = {"loss attack": scores, "imagined attacker": imagined_scores}
figure = plots.roc({name: (values, is_member) for name, values in both.items()})
show(figure, name="01_roc")

# %% [markdown]
# **What to see.** The areas are nearly the same, {{result.auc.value:.2f}} and {{imagined.auc.value:.2f}}. But at 1 % false alarms
# the loss attack catches {{result.tpr_at_1_percent.value:.1%}} of the members, and the imagined one
# {{imagined.tpr_at_1_percent.value:.1%}}. The curves cross: the linear plot shows that they differ, the
# logarithmic one by how much below 1 %.
#
# That is why the course reports the TPR at a low FPR beside every AUC. Here are all three numbers of the loss attack, with the repeats.

# %%
headlines.beside(result, plain, "loss")

# %% [markdown]
# How low can we go? With {{result.non_members:,}} non-members, one false alarm in a thousand is a single record, so a TPR there is
# *{{result.tpr_at_0_1_percent}}*: wide, and decided by one letter. For one in ten thousand `mialib` answers
# *{{metrics.tpr_at_fpr(scores, is_member, 1e-4)}}* rather than print a number.

# %% [markdown]
# ## What is an accusation worth?
# The game so far had as many members as non-members. Outside, candidates are many and members few: perhaps 1 % of all
# people who might have been patients were. The **positive predictive value** is the share of true members among the accused,
#
# $$\mathrm{PPV} = \frac{\mathrm{TPR}\cdot\pi}{\mathrm{TPR}\cdot\pi + \mathrm{FPR}\cdot(1-\pi)},$$
#
# where the prior $\pi$ is the share of members among the candidates. Move the **prior** and watch the dot on the curve.
# **Predict** first: with our attack's rates, are more than half of the accused members when 1 % of the candidates are?

# %%
tpr, fpr = metrics.rates(scores, is_member, threshold=fitted.threshold)
priors = np.geomspace(1e-4, 0.5, 50)
print(f"TPR {tpr:.2f}, FPR {fpr:.2f}")


def prior_view(prior: float) -> plots.Picture:
    curve = {"PPV": metrics.ppv(tpr, fpr, priors)}
    return plots.lines(priors, curve, xlabel="prior", ylabel="PPV", mark=prior, log="x")


# %%
slider = widgets.log_slider(0.0001, 0.5, start=0.01, label="prior: share of members")
widgets.explore(prior_view, prior=slider)

# %% [markdown]
# *Without a kernel*: the slider at a prior of 1 %.

# %%
show(prior_view(0.01), name="01_prior")
accused = [tpr * 0.01 * 10_000, fpr * 0.99 * 10_000]

# %% [markdown]
# **What to see.** In the balanced game our attack's accusations are right {{float(metrics.ppv(tpr, fpr, 0.5)):.0%}} of the time, but only
# {{float(metrics.ppv(tpr, fpr, 0.01)):.1%}} at a prior of 1 %. Of 10,000 candidates it then accuses {{accused[0]:.0f}} members and {{accused[1]:,.0f}} non-members.
# The attack has not changed; the crowd has, and again only a lower FPR helps.

# %% [markdown]
# ## Exercises
# ### Exercise 1.1 · difficulty 2/5 · about 10 minutes
# An attacker may raise at most a given share of false alarms. Write the function that finds the smallest threshold that
# keeps this promise on a set of non-member scores. A record is called a member when its score is at or above the threshold.

# %%
from mialib.course.exercises import lesson_01 as checks


def threshold_for_fpr(non_member_scores: np.ndarray, fpr: float) -> float:
    """Smallest t such that the share of scores >= t is at most `fpr`; scores may be tied."""
    raise NotImplementedError


checks.check_threshold_for_fpr(threshold_for_fpr)

# %% [markdown]
# <details><summary>Hint 1</summary>How many false alarms are allowed? Round down.</details>
#
# <details><summary>Hint 2</summary>Sort the scores from high to low. The first one that must stay outside is at that
# position; the threshold must lie just above it.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def threshold_for_fpr(non_member_scores: np.ndarray, fpr: float) -> float:
#     allowed = int(np.floor(fpr * len(non_member_scores) + 1e-9))
#     descending = np.sort(non_member_scores)[::-1]
#     if allowed >= len(descending):
#         return -np.inf
#     return np.nextafter(descending[allowed], np.inf)  # just above the first score that must stay outside
# ```
#
# With ties the share of false alarms may be lower than allowed: tied records come in together or not at all.
# </details>

# %% [markdown]
# ### Exercise 1.2 · difficulty 3/5 · about 15 minutes
# An experiment. One candidate in ten is a member, and you will name people only if nine of ten accusations are right. Search all
# thresholds on the loss that accuse at least 5 % of the members, with the slider or with `metrics.roc`. How often is an accusation
# right at best, and what do you do?


# %%
def verdict_at_a_prior() -> tuple[float, str]:
    """The highest PPV at a prior of 0.1, and "accuse" or "stay silent"."""
    raise NotImplementedError


checks.check_verdict_at_a_prior(verdict_at_a_prior)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `metrics.roc(scores, is_member)` has `tpr` and `fpr` at every threshold; `metrics.ppv` takes arrays.
#
# </details>
#
# <details><summary>Hint 2</summary>Solve the formula of the last section for FPR: at which FPR would nine of ten be right?</details>
#
# <details><summary>Solution</summary>
#
# ```python
# from mialib import metrics
# from mialib.experiments import results
#
# plain = results("base", "quick").find(defense="Plain")  # or your own `scores` and `is_member`
#
#
# def verdict_at_a_prior() -> tuple[float, str]:
#     curve = metrics.roc(-plain.losses[0].astype(float), plain.is_member)
#     enough = curve.tpr >= 0.05
#     ppv = metrics.ppv(curve.tpr[enough], curve.fpr[enough], 0.1).max()
#     return float(ppv), "accuse" if ppv >= 0.9 else "stay silent"
# ```
#
# No threshold helps. Solved for FPR, the formula allows $\mathrm{TPR}\cdot\pi\,(1 - \mathrm{PPV}) / (\mathrm{PPV}\,(1 - \pi))$: with a TPR of
# {{tpr:.2f}} that is {{tpr * 0.1 * 0.1 / (0.9 * 0.9):.2%}}, where this attack has {{fpr:.0%}}.
# </details>

# %% [markdown]
# ## Recap
# - Training lowers the loss of members more than anyone else's. A threshold on the loss, fitted on a shadow, has an advantage of
#   {{plain.advantage("loss")}} over {{len(plain)}} trainings (yours {{result.advantage.value:.2f}}; n = {{result.members:,}} + {{result.non_members:,}}, `{{PROFILE}}`).
# - The advantage grows with the loss gap while the model learns (correlation {{correlation:.2f}} in one training). Late in the training on photographs
#   they part.
# - AUC weighs all false-alarm rates alike. At the far left of the ROC, at 1 % false alarms, this attack catches
#   {{plain.tpr("loss", fpr=0.01).value:.1%}} of the members.
# - What an accusation is worth depends on the prior, too: where members are rare, most of the accused are non-members.
#
# ## What this does not show
# - The curves of the letters are of one target and one shadow; only the numbers that name {{len(plain)}} trainings include the training.
#   The curves of the photographs are of {{len(together)}} trainings.
# - That gap and advantage move together in a training does not make the one the cause of the other. Notebooks 06 to 09
#   change the gap on purpose and look again.
# - The loss attack treats every record alike. Some records are easy for every model; attacks that know this (notebook 05)
#   do much better in the corner.
#
# ## References
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 3.1 and Fig. 1a: the loss gap as a proxy;
#   Section 4.1: the advantage.
# - S. Yeom and others, 2018, *Privacy risk in machine learning*,
#   [arXiv 1709.01604](https://arxiv.org/abs/1709.01604), Section 3: the loss attack and its advantage.
# - N. Carlini and others, 2022, *Membership inference attacks from first principles*,
#   [arXiv 2112.03570](https://arxiv.org/abs/2112.03570), Section 3: why the low-FPR corner.
# - B. Jayaraman and others, 2021, *Revisiting membership inference under realistic assumptions*,
#   [arXiv 2005.10881](https://arxiv.org/abs/2005.10881): priors and PPV.
