# ---
# title: Label-only and white-box attacks
# question: How little may an attacker see and still win, and what does seeing everything buy?
# goals:
#   - attack a model that returns nothing but a label
#   - see what turned and shifted copies of a record add, and what they do not
#   - recognise an attack that was scored on its own training set
#   - compute input gradients of a whole batch in one backward pass, and attack with them
# needs: notebook 02; for the last part, what a gradient is
# read: 40
# reproduces: PAST's augmentation attacks and Grad-x of RelaxLoss and CRL, on our data
# cover: 04_by_angle
# ---

# %% [markdown]
# ## Two ends of the scale
# So far the attacker saw the model's outputs. A careful operator may return the predicted label and nothing else. A careless one
# publishes the weights. How far apart are the two, for the attacker?

# %%
import numpy as np

from mialib import attacks, metrics, profiles, query, runs
from mialib.course import figures, headlines, plots, widgets
from mialib.course.cards import cards
from mialib.course.plots import show
from mialib.estimates import words
from mialib.experiments import results

configuration = profiles.load(PROFILE).images
target, shadow = runs.get_all([configuration, configuration.but(side="shadow")])
is_member = target.signals.is_member

# %%
cards("correctness", "rotation", "translation", "loss", "gradient ℓ2")

# %% [markdown]
# ## The least an attacker can see
# One label per record. The attacker knows the true one, so it sees one bit: right or wrong. *Call it a member if it is right*: the
# advantage is the accuracy on members minus the accuracy on non-members, whatever the model. This **gap attack** is the baseline
# for all that follows.

# %%
game = attacks.game(target.signals, shadow=shadow.signals)
gap_attack = game.play(attacks.MetricThreshold("correctness"))
loss_attack = game.play(attacks.MetricThreshold("loss"))
base = results("base", PROFILE)  # ten trainings: notebook 00 says why
print(base.about["source"])
plain = base.find(defense="Plain")
yours = {"correctness": gap_attack, "loss": loss_attack}
headlines.repeats(plain, *yours, yours=yours)

# %% [markdown]
# **What to see.** One bit per record already has an advantage of {{plain.advantage("correctness")}} over {{len(plain)}} trainings; the outputs bring it
# to {{plain.advantage("loss").value:.3f}}. At 1 % false alarms one bit is worth nothing: it cannot be made strict, because all right
# answers look alike.

# %% [markdown]
# ## More bits from the same record, from scratch
# The attacker cannot see more of one answer, but it can ask more often. Turn the image by a few degrees, shift it by a pixel, and
# ask again. The hope: around a record that it has memorised, the model stays right a little further. Each copy gives one bit.
#
# **Predict**: training never turned the letters; they are as they were drawn. Turned by 3 degrees, how many members will still be right,
# and how many non-members?

# %%
from dataclasses import replace

import torch
from scipy.ndimage import rotate

model = target.load_model()
records = query.members_then_nonmembers(target.side)


def still_right(degrees: float) -> np.ndarray:
    """Is the label still predicted when every image is turned by so many degrees? (n,) bool."""
    x = records.x.astype(np.float32)
    turned = rotate(x, degrees, axes=(3, 2), reshape=False, order=1, mode="nearest")
    as_seen, _ = query.to_device(replace(records, x=turned), query.device_of(model))
    guesses = query.logits_of(model, as_seen).argmax(dim=1)  # asks in batches, in eval mode
    return guesses.cpu().numpy() == records.y


# %%
bits = np.stack([still_right(degrees) for degrees in (-3, 0, 3)], axis=1)
turned = bits[:, 2]
print(f"right when turned by 3 degrees: members {turned[is_member].mean():.2f}, "
      f"non-members {turned[~is_member].mean():.2f}")  # fmt: skip

# %% [markdown]
# **What to see.** Turned by 3 degrees, {{turned[is_member].mean():.0%}} of the members are right and {{turned[~is_member].mean():.0%}} of the non-members.
# (`mode="nearest"` repeats the edge. The original's code, `cchoquette/membership-inference` at ce12e12, fills with black instead, which at *any* angle blackens half of the edge pixels; try it
# with 0.1 degrees, and watch the members.)
#
# `run.ask` puts such questions to a run's model and adds the answers to its signals. We ask for all whole degrees up to 4 and all shifts by
# up to two steps, of the target and of the shadow.

# %%
turns = query.rotation_degrees(4)
shifts = [*query.l1_shifts(1), *query.l1_shifts(2)[1:]]
watched, watched_shadow = (
    run.ask(rotations=turns, shifts=shifts, gradient=True) for run in (target, shadow)
)
assert (watched.column("rotations")[:, [list(turns).index(a) for a in (-3, 0, 3)]] == bits).all()

# %%
copies = [query.rotated(records.take(np.arange(3, 4)), a).x for a in (-4, 0, 4)]
copies += [query.shifted(records.take(np.arange(3, 4)), *by).x for by in ((0, 2), (2, 0))]
labels = ["−4°", "0°", "4°", "right 2", "down 2"]
show(figures.images(np.concatenate(copies), labels, columns=5), name="04_copies")

# %% [markdown]
# **What to see.** Five copies of one record. To us they are the same letter; the {{len(turns) + len(shifts) - 1}} copies that we
# asked about cost {{len(turns) + len(shifts) - 1}} queries where the gap attack needs 1.

# %%
right = watched.column("rotations")
curves = {"member": right[is_member].mean(axis=0), "non_member": right[~is_member].mean(axis=0)}
by_angle = plots.lines(turns, curves, xlabel="degrees", ylabel="share still right", roles=True)
show(by_angle, name="04_by_angle")

# %% [markdown]
# **What to see.** Unturned, the members are right {{by_angle.numbers['member at 0']:.0%}} of the time; turned by 4 degrees,
# {{by_angle.numbers['member at 4']:.0%}}. Non-members: {{by_angle.numbers['non_member at 0']:.0%}} and {{by_angle.numbers['non_member at 4']:.0%}}. So one
# turned copy separates members from non-members by {{by_angle.numbers['member at 4'] - by_angle.numbers['non_member at 4']:.2f}}, the record itself by
# {{by_angle.numbers['member at 0'] - by_angle.numbers['non_member at 0']:.2f}}.
#
# What an attack can gain must come from the pattern of the bits.

# %% [markdown]
# ## From bits to an attack
# The simplest attack counts: the more copies are right, the more likely a member. The papers train a network on the bits of the shadow:
#
# - the **original**'s code (Choquette-Choo and others): $2r + 1$ angles or $4d + 1$ shifts, and one small network for each class;
# - **PAST's** code (`Fujump/MLHospital` at 087beb6): the three angles $-r, 0, r$, or the shifts with $d = 1$, and one network for all classes.
#
# Ours differ in small things: bilinear turns with the edge repeated, and plain ReLUs in the small networks.


# %%
def count_attack(columns: np.ndarray) -> attacks.Attack:
    """The number of right copies, with the threshold that is best on the shadow."""
    return attacks.MetricThreshold(
        lambda signals: signals.column("rotations")[:, columns].sum(axis=1).astype(float)
    )


# %%
played = attacks.game(watched, shadow=watched_shadow)
r_values, d_values = [1, 2, 4], [1, 2]
within = {r: np.flatnonzero(np.abs(turns) <= r) for r in r_values}
three = {r: np.flatnonzero(np.isin(turns, (-r, 0, r))) for r in r_values}
ring = {d: [i for i, by in enumerate(shifts) if sum(map(abs, by)) in (0, d)] for d in d_values}

# %% [markdown]
# Every combination is fitted on the shadow and played once, so that the sliders only look things up.


# %%
def rotations(columns, form="original"):
    return attacks.Augmentation("rotations", columns, form)


def translations(columns, form="original"):
    return attacks.Augmentation("shifts", columns, form)


# %%
rotation = {r: played.play(rotations(within[r])) for r in r_values}
past_rotation = {r: played.play(rotations(three[r], "past")) for r in r_values}
translation = {d: played.play(translations(ring[d])) for d in d_values}
past_translation = played.play(translations(ring[1], "past"))
counting = {r: played.play(count_attack(within[r])) for r in r_values}
turned_or_moved = (rotation, past_rotation, counting, translation)
reached = [one.auc for by_size in turned_or_moved for one in by_size.values()]

# %% [markdown]
# Move **r**, the largest angle, and **d**, the length of the shifts. Watch whether any row passes the gap attack, whose row is shaded.
# *Think*: why could more copies make an attack *worse*?


# %%
def label_only_view(r: int, d: int) -> plots.Picture:
    rows = {
        "gap attack (1 query)": gap_attack,
        "count of right angles": counting[r],
        "rotation": rotation[r],
        "rotation (PAST)": past_rotation[r],
        "translation": translation[d],
        "translation (PAST), d = 1": past_translation,
    }
    areas = {name: result.auc for name, result in rows.items()}
    return plots.comparison(
        {"AUC": areas},
        label=f"AUC at r = {r}, d = {d}",
        chance=0.5,
        mark="gap attack (1 query)",
        room_for=reached,
    )


# %%
widgets.explore(
    label_only_view,
    r=widgets.steps(r_values, start=1, label="largest angle r"),
    d=widgets.steps(d_values, start=1, label="length of a shift d"),
)

# %% [markdown]
# *Without a kernel*: the farthest position of both sliders.

# %%
show(label_only_view(4, 2), name="04_label_only")
every = {f"rotation r = {r}": rotation[r] for r in r_values}
every |= {f"PAST's rotation r = {r}": past_rotation[r] for r in r_values}
every |= {f"translation d = {d}": translation[d] for d in d_values}
every |= {"PAST's translation": past_translation}
best = max(every, key=lambda name: every[name].advantage.value)

# %% [markdown]
# **What to see.** In your training the gap attack has AUC {{gap_attack.auc.value:.3f}} with one query. At r = 4 PAST's rotations have
# {{past_rotation[4].auc.value:.3f}} with three, and the original's {{rotation[4].auc.value:.3f}} with nine. By advantage the best of all {{len(every)}}, picked with hindsight,
# is {{best}} with {{every[best].advantage.value:.3f}}, against the gap attack's {{gap_attack.advantage.value:.3f}}.

# %% [markdown]
# Hindsight flatters: {{len(every)}} attempts on one training will always have a winner. So we ask the repeats, for PAST's two attacks with r = 4 and d = 1, which were set before anybody looked.

# %%
copies = ("rotation (PAST)", "translation (PAST)")
gain = {name: plain.between(name, "correctness") for name in copies}
area = {name: plain.between(name, "correctness", "auc") for name in copies}
for name in copies:
    print(f"{name}: {words(gain[name])} than the gap attack by advantage, {gain[name]}")
headlines.repeats(plain, "correctness", *copies)

# %% [markdown]
# **What to see.** Over {{len(plain)}} trainings, compared with the gap attack, rotations are *{{words(gain["rotation (PAST)"])}}* by advantage
# ({{gain["rotation (PAST)"]}}) and *{{words(area["rotation (PAST)"])}}* by AUC. Translations are *{{words(gain["translation (PAST)"])}}* by advantage
# ({{gain["translation (PAST)"]}}) and *{{words(area["translation (PAST)"])}}* by AUC.
#
# More queries do not always help: what a network learns on the shadow need not suit the target. In the corner both have what the gap attack has: nothing.

# %% [markdown]
# ## An attack scored on its own training set
# In the code of PAST's authors the rotation attack's network is evaluated on the records that it was trained on: the shadow's. (We mean
# `Fujump/MLHospital` at 087beb6, which the paper does not link and we take to be its working repository, and the same group's
# `ml-stat-Sustech/ConvexConcaveLoss` at 1931123.) The number is then reported as the attack on the target. We do so here, to see
# what it does. For a fair view of the slip we add an arm between the two: fit on half of the shadow's records, score the *other half*.


# %%
def evaluated(fitted: attacks.FittedAttack, signals) -> metrics.Evaluation:
    """Every number of a fitted attack on these signals, whosesoever they are."""
    scores = fitted.score(signals.public())
    return metrics.evaluate(scores, signals.is_member, threshold=fitted.threshold)


# %%
attack = rotations(three[2], "past")
half = np.random.default_rng(0).random(len(watched_shadow)) < 0.5
seen, unseen = watched_shadow.take(half), watched_shadow.take(~half)
middle = evaluated(attack.fit(seen), unseen)
fitted = attack.fit(watched_shadow)
slip, honest = evaluated(fitted, watched_shadow), evaluated(fitted, watched)

# %%
arms = {"own training records": slip, "the shadow's other records": middle, "the target": honest}
picture = plots.comparison(
    {"advantage": {name: result.advantage for name, result in arms.items()}}, label="advantage"
)
show(picture, name="04_slip")
correctness = attacks.MetricThreshold("correctness").fit(shadow.signals)
shadow_gap = evaluated(correctness, shadow.signals).advantage.value
leaks = "more" if shadow_gap > gap_attack.advantage.value else "less"

# %% [markdown]
# **What to see.** Scored on its own training records the attack claims {{slip.advantage}}; on the target it has {{honest.advantage}}. On
# unseen records of the same shadow it has {{middle.advantage}}. In this training the shadow leaks
# {{leaks}} than the target (its gap attack has {{shadow_gap:.2f}}, the target's
# {{gap_attack.advantage.value:.2f}}), and the slip reports the shadow's leak as the target's: the reader of a table sees one number and
# cannot tell.

# %% [markdown]
# ## Seeing everything: the input gradient
# Now the other end: the attacker has the weights. A common white-box score is the norm of the loss gradient with respect to the
# *input*, $\lVert \nabla_x \ell(x, y) \rVert$, known as *Grad-x*. It is the error of the output, $p - e_y$ with the one-hot label $e_y$, carried back to the pixels. Where the error is
# small, as for members, the gradient tends to be small too.
#
# It can be computed one record at a time. That is not needed: in eval mode the records of a batch do not touch each
# other, so the gradient of the *summed* loss with respect to the batch holds every record's own gradient. One backward pass per batch.

# %%
x, y = query.to_device(records, query.device_of(model))


def input_gradient_norms(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    """ℓ2 norm of each record's input gradient, all records in one backward pass: (n,)."""
    x = x.clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(model(x), y, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, x)
    return gradient.flatten(1).norm(dim=1).cpu().numpy()


# %%
one_by_one = np.concatenate([input_gradient_norms(x[i : i + 1], y[i : i + 1]) for i in range(20)])
assert np.allclose(input_gradient_norms(x[:20], y[:20]), one_by_one, rtol=1e-4)
assert np.allclose(
    input_gradient_norms(x[:500], y[:500]), watched.column("gradient_l2")[:500], rtol=1e-3
)

# %% [markdown]
# **Predict**: will the histogram tell more than that of the loss?

# %%
norms = watched.column("gradient_l2")
picture = plots.histograms(norms[is_member], norms[~is_member], label="input-gradient norm")
show(picture, name="04_gradient")

# %% [markdown]
# **What to see.** Members' norms are smaller: median {{picture.numbers['member_median']:.2g}} against
# {{picture.numbers['non_member_median']:.2g}}. That looks like the loss histogram of notebook 01, and it is nearly the same thing.

# %%
seen = {
    "a label (gap attack)": "correctness",
    "the outputs (loss)": "loss",
    "the weights (gradient ℓ1)": "gradient ℓ1",
    "the weights (gradient ℓ2)": "gradient ℓ2",
}
areas = {name: plain.auc(attack) for name, attack in seen.items()}

# %%
white = played.play(attacks.GradientNorm("l2"))
for what, one in {"label": gap_attack, "outputs": loss_attack, "weights": white}.items():
    print(f"AUC in your training, {what:<8}{one.auc.value:.3f}")
show(plots.comparison({"AUC": areas}, label="AUC", chance=0.5), name="04_ends")
smooth = base.find(defense="LabelSmoothing")
more = {what: plain.between("gradient ℓ2", "loss", what) for what in ("advantage", "auc", "tpr")}
alike = float(np.corrcoef(np.log(norms + 1e-12), np.log(target.signals.loss() + 1e-12))[0, 1])

# %% [markdown]
# **What to see.** From one bit to the outputs the AUC goes from {{plain.auc("correctness").value:.3f}} to {{plain.auc("loss").value:.3f}}, and with the
# weights to {{plain.auc("gradient ℓ2").value:.3f}}. Compared with the
# loss, the weights are *{{words(more["auc"])}}* by AUC ({{more["auc"]}}), *{{words(more["advantage"])}}* by advantage ({{more["advantage"]}}) and
# *{{words(more["tpr"])}}* by the TPR at 1 % FPR: however sure the sign, the step is small. Hiding the outputs behind labels does more for
# privacy here than hiding the weights.
#
# The reason is the chain rule (exercise 4.2 finds it for a linear model): the output's error goes into the gradient as it goes into the loss, so the two
# go together (correlation of their logarithms {{alike:.2f}}). What differs is the way back to the pixels, and on another model it may matter.

# %%
photographs = headlines.by_name(results("photographs", PROFILE))
undefended = photographs["undefended"]
tuned = photographs["PAST, α = 1.5, λ = 0.0005"]
headlines.repeats(undefended, "correctness", "loss", "gradient ℓ1", "gradient ℓ2")

# %% [markdown]
# **What to see.** On real photographs (CIFAR-10, the course's small CNN, {{len(undefended)}} trainings) the AUC is
# {{undefended.auc("correctness").value:.3f}} for the label, {{undefended.auc("loss").value:.3f}} for the outputs and {{undefended.auc("gradient ℓ2").value:.3f}}
# for the weights. But the order is no law: compared with the loss, the gradient's advantage is *{{words(smooth.between("gradient ℓ2", "loss"))}}* on the smoothed letters of
# notebook 02 ({{smooth.between("gradient ℓ2", "loss")}}) and *{{words(tuned.between("gradient ℓ2", "loss"))}}* on photographs after PAST, the defense of notebook 08
# ({{tuned.between("gradient ℓ2", "loss")}}). And this is *one* white-box score; the weights may hold more than a norm reveals.

# %% [markdown]
# ## Exercises
# ### Exercise 4.1 · difficulty 2/5 · about 10 minutes
# An experiment. An operator wants to return labels instead of outputs. How much of the leak is left? For three models, the letters (`plain`), the
# smoothed letters (`smooth`) and the photographs (`undefended`), divide the highest advantage of a label-only attack (*correctness*, *rotation (PAST)*,
# *translation (PAST)*) by the highest of an attack on outputs that asks once (*loss*, *max confidence*, *entropy*, *modified entropy*, *loss per class*,
# *neural (PAST)*, *neural (CRL)*). Is it a defense?

# %%
from mialib.course.exercises import lesson_04 as checks


def left_by_labels() -> dict[str, float]:
    """A share for "letters", "smoothed" and "photographs"."""
    raise NotImplementedError


checks.check_left_by_labels(left_by_labels)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `max(plain.advantage(name).value for name in …)`, twice per model.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# from mialib.experiments import results
#
# base = results("base", "quick")
# models = {
#     "letters": base.find(defense="Plain"),
#     "smoothed": base.find(defense="LabelSmoothing"),
#     "photographs": results("photographs", "quick").find(called="undefended"),
# }
# by_label = ["correctness", "rotation (PAST)", "translation (PAST)"]
# by_output = ["loss", "max confidence", "entropy", "modified entropy", "loss per class"]
# by_output += ["neural (PAST)", "neural (CRL)"]
#
#
# def left_by_labels() -> dict[str, float]:
#     answer = {}
#     for name, model in models.items():
#         labels = max(model.advantage(attack).value for attack in by_label)
#         answer[name] = labels / max(model.advantage(attack).value for attack in by_output)
#     return answer
# ```
#
# Between {{100 * min(checks.shares_left().values()):.0f}} and {{100 * max(checks.shares_left().values()):.0f}} % of the advantage is left: a brake, not a lock. In the corner it is another
# matter: there a label finds nobody. And label-only attacks that ask thousands of times may go further.
# </details>

# %% [markdown]
# ### Exercise 4.2 · difficulty 3/5 · about 15 minutes
# For a linear classifier, logits $= Wx$, the input gradient of the cross-entropy has a closed form. Find it, and see for yourself why
# loss and gradient norm go together.


# %%
def input_gradient(weights: np.ndarray, x: np.ndarray, label: int) -> np.ndarray:
    """Gradient (d,) of −log softmax(W x)[label] with respect to x; W is (classes, d)."""
    raise NotImplementedError


checks.check_input_gradient(input_gradient)

# %% [markdown]
# <details><summary>Hint 1</summary>The gradient with respect to the logits is $p - e_y$, with $e_y$ the one-hot label.</details>
#
# <details><summary>Hint 2</summary>Then the chain rule through $Wx$.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def input_gradient(weights: np.ndarray, x: np.ndarray, label: int) -> np.ndarray:
#     logits = weights @ x
#     p = np.exp(logits - logits.max())
#     p /= p.sum()
#     p[int(label)] -= 1
#     return weights.T @ p
# ```
#
# $\nabla_x \ell = W^\top (p - e_y)$: when $p_y \to 1$ the loss goes to 0 and so does the gradient, at the same speed. In a deep network $W$
# becomes $J$, the derivative of the logits with respect to the input, which differs from record to record.
# </details>

# %% [markdown]
# ## Recap
# - A label alone leaks the accuracy gap: advantage {{plain.advantage("correctness")}} with one query ({{len(plain)}} trainings, profile
#   `{{PROFILE}}`, n = {{gap_attack.members:,}} + {{gap_attack.non_members:,}}).
# - Copies of a record: PAST's rotations are *{{words(gain["rotation (PAST)"])}}* than that ({{gain["rotation (PAST)"].value:+.3f}}), its translations
#   *{{words(gain["translation (PAST)"])}}* ({{gain["translation (PAST)"].value:+.3f}}). Print the gap attack beside them.
# - Asked about its own shadow, the rotation attack claimed {{slip.advantage.value:.2f}}; on the target it has {{honest.advantage.value:.2f}}. Here the shadow leaks {{leaks}};
#   notebook [15](15_paper_versus_code.ipynb) takes the two apart.
# - Grad-x needs one backward pass per batch, and finds nearly what the loss finds: AUC {{plain.auc("gradient ℓ2").value:.3f}} against
#   {{plain.auc("loss").value:.3f}}.
#
# ## What this does not show
# - Models trained with augmentation, for which transformed copies were themselves training data.
# - The label-only attack by distance to the decision boundary, which needs thousands of queries per record.
# - White-box attacks on weight gradients or activations.
#
# ## References
# - C. Choquette-Choo and others, 2021, *Label-only membership inference attacks*,
#   [arXiv 2007.14321](https://arxiv.org/abs/2007.14321), Section 3: rotations and translations.
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 4.1: augmentation attacks.
# - S. Rezaei and X. Liu, 2021, *On the difficulty of membership inference attacks*,
#   [arXiv 2005.13702](https://arxiv.org/abs/2005.13702): input gradients.
# - D. Chen and others, 2022, *RelaxLoss*, [arXiv 2207.05801](https://arxiv.org/abs/2207.05801), and X. Fang and J.-E.
#   Kim, 2024, *Center-based relaxed learning against membership inference attacks* (CRL),
#   [arXiv 2404.17674](https://arxiv.org/abs/2404.17674): gradient norms as scores.
# - Code of the authors, as we read it: `cchoquette/membership-inference` at commit ce12e12 (label-only) and
#   `shrezaei/MI-Attack` at commit 34d4aca (input gradients).
