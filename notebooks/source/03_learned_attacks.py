# ---
# title: Learned attacks
# question: If a network learns the attack by itself, does it find more than a threshold does?
# goals:
#   - train an attack network on a shadow, from scratch and with `mialib`
#   - say where a network finds more than one threshold does, and where less
#   - say what more shadows buy, and what they cannot
#   - measure how a model's output answers to noise, and attack with it
# needs: notebook 02; what a multi-layer perceptron is
# read: 40
# reproduces: the neural attacks of PAST and CRL, and the sparsity paper's discriminator, on our data
# cover: 03_networks
# ---

# %% [markdown]
# ## Let a network find the rule
# A metric attack needs somebody to invent the metric. Why not let a network find it? The attacker knows the shadow's members,
# so it has a labelled dataset: *outputs of the shadow on a record* → *member or not*. Train a classifier on that, feed it with
# the target's outputs, and read off the probability of membership. This was the first attack on neural classifiers (Shokri and others,
# 2017, with one network for each class), and each of our three papers brings a network of its own.

# %%
import numpy as np

from mialib import attacks, bank, metrics, profiles, query, runs
from mialib.course import headlines, plots, statistics, widgets
from mialib.course.cards import cards
from mialib.course.plots import show
from mialib.estimates import words
from mialib.experiments import results
from mialib.signals import Signals

configuration = profiles.load(PROFILE).images
target, shadow = runs.get_all([configuration, configuration.but(side="shadow")])
is_member = target.signals.is_member

# %%
cards("loss", "neural (PAST)", "neural (CRL)", "discriminator")

# %% [markdown]
# ## The attack network from scratch
# PAST's network has hidden layers of 64 and 32, reads the softmax output, and is trained for 100 epochs by Adam. (That is what its code
# does, `Fujump/MLHospital` at 087beb6; its paper, which does not link it, says *logits*. We shall try both.)

# %%
import torch
from torch import nn


def train_attacker(features: np.ndarray, is_member: np.ndarray, *, epochs: int = 100) -> nn.Module:
    """A network C-64-32-2 that tells the shadow's members from its non-members."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(features.shape[1], 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    x, y = torch.tensor(features, dtype=torch.float32), torch.tensor(is_member).long()
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()
    return network


# %%
network = train_attacker(shadow.signals.probabilities(), shadow.signals.is_member)
with torch.no_grad():
    out, member = network(torch.tensor(target.signals.probabilities(), dtype=torch.float32)).T
ours = metrics.auc((member - out).numpy(), is_member)
print(f"AUC on the target: {ours:.3f}")

# %% [markdown]
# `mialib` has it as `NeuralPast`, built on scikit-learn's perceptron. Other random weights, so not the same to the last digit,
# but the same attack. The scores are log-odds: 0 is where the network calls it even.

# %%
game = attacks.game(target.signals, shadow=shadow.signals)
yours = {
    "loss": game.play(attacks.MetricThreshold("loss")),
    "max confidence": game.play(attacks.MetricThreshold("max confidence")),
    "neural (PAST)": game.play(attacks.NeuralPast()),
    "neural (CRL)": game.play(attacks.NeuralCrl()),
}
assert abs(yours["neural (PAST)"].auc.value - ours) < 0.05

# %% [markdown]
# CRL's network (`JEKimLab/UAI24_CRL` at fbb5993) is larger (128 and 64, with dropout) and reads the softmax output *and the label*. **Predict** the order of the
# four before you look: two thresholds, two networks. As in notebook 02, what counts is the table over ten trainings.

# %%
base = results("base", PROFILE)
print(base.about["source"])
plain = base.find(defense="Plain")
headlines.repeats(plain, *yours, yours=yours)

# %%
auc = {name: plain.auc(name) for name in yours}
show(plots.comparison({"AUC": auc}, label="AUC", chance=0.5, mark="loss"), name="03_networks")

# %% [markdown]
# **What to see.** The loss has an AUC of {{auc["loss"].value:.2f}}, PAST's network {{auc["neural (PAST)"].value:.2f}} and CRL's
# {{auc["neural (CRL)"].value:.2f}}. But an AUC is one of three numbers, so ask for the difference by each:

# %%
numbers = ("advantage", "auc", "tpr")
past = {what: plain.between("neural (PAST)", "loss", what) for what in numbers}
crl = {what: plain.between("neural (CRL)", "loss", what) for what in numbers}
for name, apart in (("PAST's network", past), ("CRL's network", crl)):
    print(name, "against the loss:", {what: words(apart[what]) for what in numbers})

# %% [markdown]
# Compared with one threshold on the loss, PAST's network is *{{words(past["advantage"])}}* by advantage
# ({{past["advantage"]}}), *{{words(past["auc"])}}* by AUC, and *{{words(past["tpr"])}}* by the TPR at 1 % FPR. For CRL's network, which sees the label, the three answers
# are *{{words(crl["advantage"])}}*, *{{words(crl["auc"])}}* and *{{words(crl["tpr"])}}*. Thousands of weights are no guarantee of finding more than
# one number does. ({{len(plain)}} trainings, n = {{yours['loss'].members:,}} + {{yours['loss'].non_members:,}}.)

# %% [markdown]
# ## What the network was not told
# PAST's network never saw the label. From an output alone one sees how sure the model is, but not whether it is right. So the fair
# comparison is with the other attack that has no label: against the maximum confidence, the network is
# *{{words(plain.between("neural (PAST)", "max confidence"))}}* by advantage and *{{words(plain.between("neural (PAST)", "max confidence", "auc"))}}* by AUC.
#
# There is also a silly way to lose. Adding a constant to all logits of a record changes nothing in the softmax, but it changes the
# input of a network that reads *logits*. **Predict**: what if we subtract each record's largest logit first?

# %%
from dataclasses import replace


def without_constant(signals: Signals) -> Signals:
    return replace(signals, logits=signals.logits - signals.logits.max(axis=1, keepdims=True))


# %%
reads_logits = attacks.NeuralPast(outputs="logits")
raw = game.play(reads_logits)
mended = attacks.game(without_constant(target.signals), shadow=without_constant(shadow.signals))
mended = mended.play(reads_logits)
print(f"AUC from logits {raw.auc}, less their largest {mended.auc}")

# %% [markdown]
# **What to see.** In your training the same network on the same records goes from {{raw.auc.value:.2f}} to {{mended.auc.value:.2f}}; from the softmax it had
# {{yours["neural (PAST)"].auc.value:.2f}}. A network has thousands of things to get wrong where a threshold has one.

# %% [markdown]
# ## Where a network finds more
# So when does a network win? When the rule is not "more is more". **Imagine** a defense that pushes members to a
# confidence of about 0.7, while non-members are either very sure or very unsure. No single threshold works then.

# %%
rng = np.random.default_rng(0)


def odd_game(n: int = 1000):
    """Signals of two classes in which members are neither sure nor unsure."""
    member = np.arange(n) < n // 2
    p = np.where(
        member,
        rng.normal(0.7, 0.05, n),
        np.where(np.arange(n) % 2, 0.4, 0.95) + rng.normal(0, 0.03, n),
    )
    p = p.clip(0.01, 0.99)
    return Signals(np.log(np.stack([p, 1 - p], axis=1)), np.zeros(n, int), member)


# %%
odd = attacks.game(odd_game(), shadow=odd_game())
odd_auc = {
    "threshold": odd.play(attacks.MetricThreshold("loss")).auc,
    "network": odd.play(attacks.NeuralPast()).auc,
}
print({name: str(value) for name, value in odd_auc.items()})
assert odd_auc["network"].low > odd_auc["threshold"].high

# %% [markdown]
# **What to see.** In the odd game the threshold has AUC {{odd_auc['threshold'].value:.2f}} and the network
# {{odd_auc['network'].value:.2f}}.
#
# Is the odd game far-fetched? Notebook 02 had such a model: **label smoothing** asks for a confidence of 0.7 on every member, and
# some non-members get more. There the loss found hardly a member at 1 % false alarms.

# %%
smooth = base.find(defense="LabelSmoothing")
learned = ("neural (PAST)", "neural (CRL)", "discriminator")
corner = {name: smooth.between(name, "loss", "tpr", fpr=0.01) for name in learned}
headlines.repeats(smooth, "loss", "max confidence", *learned)

# %% [markdown]
# **What to see.** On the smoothed model PAST's network, still without the label, is *{{words(smooth.between("neural (PAST)", "loss", "auc"))}}* than
# the loss by AUC. At 1 % false alarms it catches {{smooth.tpr("neural (PAST)", fpr=0.01).value:.1%}} of the members where the loss catches
# {{smooth.tpr("loss", fpr=0.01).value:.1%}} (*{{words(corner["neural (PAST)"])}}*). The discriminator, which we meet below, catches
# {{smooth.tpr("discriminator", fpr=0.01).value:.1%}} (*{{words(corner["discriminator"])}}*).
#
# A defense that is measured by thresholds alone may have learned to fool thresholds. Measure it by networks, too.
#
# And **real photographs**? This is what the same attacks found in the course's small CNN, undefended, on CIFAR-10.

# %%
photographs = results("photographs", PROFILE).find(called="undefended")
on_photographs = {name: photographs.between(name, "loss", "tpr", fpr=0.01) for name in learned}
headlines.repeats(photographs, "loss", "loss per class", *learned)

# %% [markdown]
# **What to see.** The AUCs are close, {{photographs.auc("loss").value:.2f}} for the loss and {{photographs.auc("discriminator").value:.2f}} for the
# discriminator. At 1 % false alarms the loss finds {{photographs.tpr("loss", fpr=0.01).value:.1%}} of the members, PAST's network
# {{photographs.tpr("neural (PAST)", fpr=0.01).value:.1%}} (*{{words(on_photographs["neural (PAST)"])}}*) and the discriminator
# {{photographs.tpr("discriminator", fpr=0.01).value:.1%}} (*{{words(on_photographs["discriminator"])}}*). ({{len(photographs)}} trainings, n = {{int(photographs.is_member.sum()):,}} +
# {{int((~photographs.is_member).sum()):,}}, intervals over trainings and records.)

# %% [markdown]
# ## More shadows
# CRL trains five shadows and pools their records: that is five times the data, and the odd habits of a single shadow average
# out. Training many shadows takes time, so the course ships what 64 of them answered: a **signal bank**. Its models
# share one set of 2,400 letters, and each holds a random half. Four of them are our targets, one after the other, with five others
# as shadows. We use only 300 of the letters, so that data are scarce. (These models were trained on 1,200 letters each, so
# their AUCs are not those above.)
#
# More records also mean more steps of training, at the same number of epochs. To tell the two apart, a control: *one* shadow, shown
# as many times. **Predict** what it will do.

# %%
few = bank.load("letters").take(slice(None), slice(300))
counts = [1, 2, 5]
rows = ["k shadows", "one shadow k times", "loss threshold"]
found = {row: {k: [] for k in counts} for row in rows}  # AUCs, one for each target
network, threshold = attacks.NeuralCrl(), attacks.MetricThreshold("loss")

# %%
for number in range(4):
    versus = attacks.game(few, target=number)
    shadows = [versus.shadow.signals(k) for k in range(5)]
    for k in counts:
        fits = (network.fit(shadows[:k]), network.fit(shadows[:1] * k), threshold.fit(shadows[:k]))
        for row, fitted in zip(rows, fits, strict=True):
            found[row][k].append(versus.play(fitted).auc.value)

# %% [markdown]
# Move the **number of shadows** and watch the three rows. *Think*: which AUC should not care?

# %%
means = {k: {row: statistics.student(aucs[k]) for row, aucs in found.items()} for k in counts}
every = [mean for of_k in means.values() for mean in of_k.values()]  # the axis holds them all


# %%
def shadows_view(shadows: int) -> plots.Picture:
    label = f"AUC at k = {shadows}"
    return plots.comparison({"AUC": means[shadows]}, label=label, chance=0.5, room_for=every)


# %%
widgets.explore(shadows_view, shadows=widgets.steps(counts, start=1, label="number of shadows"))

# %% [markdown]
# *Without a kernel*: all positions at once.

# %%
series = {row: {f"k = {k}": means[k][row] for k in counts} for row in rows}
picture = plots.comparison(series, label="AUC, mean over four targets", chance=0.5)
show(picture, name="03_shadows")
last = {row: series[row]["k = 5"] for row in rows}
pairs = zip(found["k shadows"][5], found["one shadow k times"][5], strict=True)
new_data = statistics.student([several - again for several, again in pairs])

# %% [markdown]
# **What to see.** From one shadow to five CRL's network goes from {{series["k shadows"]["k = 1"].value:.2f}} to {{last["k shadows"].value:.2f}}; one
# shadow shown five times gives {{last["one shadow k times"].value:.2f}}. The difference of the two, {{new_data}} over four targets, is what
# new data buy beyond longer training: {{words(new_data, lower="a loss", higher="a gain", same="we do not know whether they buy anything")}}. The AUC of the loss does not depend on any shadow
# ({{last["loss threshold"].value:.2f}}); only its threshold does.
#
# So a comparison by the number of shadows should say what happened to the number of steps. (Student's intervals over four targets, which share
# their letters.)

# %% [markdown]
# ## How does the output answer to noise?
# The sparsity paper's attacker adds a third kind of feature. Move the input by a tiny random step and look how far each
# output probability moves:
#
# $$s_i(x) = \frac{1}{\varepsilon}\,\mathbb{E}_N\,\bigl| R_i(x) - R_i(x + \varepsilon N) \bigr|, \qquad N \sim \mathcal{N}(0, I),\ \varepsilon = 10^{-3},$$
#
# where $R_i(x)$ is the probability of class $i$, with five draws of $N$. Training flattens the output around a member, or so the idea goes; then $s$ is small there. **Predict** by how much. From scratch:

# %%
model = target.load_model()
records = query.members_then_nonmembers(target.side)
x, _ = query.to_device(records, query.device_of(model))
unmoved = query.logits_of(model, x).softmax(dim=1)  # asks in batches, in eval mode

# %%
generator = torch.Generator().manual_seed(0)
moved = []
for _ in range(5):
    step = torch.randn(x.shape, generator=generator).to(x.device)
    near = query.logits_of(model, x + 1e-3 * step).softmax(dim=1)
    moved.append((near - unmoved).abs() / 1e-3)
response = torch.stack(moved).mean(dim=0).cpu().numpy()  # (n, classes)

# %% [markdown]
# `run.ask(noise=True)` does the same. The two must agree, but for other draws of the noise.

# %%
watched, watched_shadow = (run.ask(noise=True) for run in (target, shadow))
ratio = watched.column("noise").sum() / response.sum()
assert abs(ratio - 1) < 0.1  # other draws of the noise
total = watched.column("noise").sum(axis=1)
picture = plots.histograms(total[is_member], total[~is_member], label="noise response")
show(picture, name="03_noise")

# %% [markdown]
# **What to see.** The response is {{'lower' if picture.numbers['member_median'] < picture.numbers['non_member_median'] else 'higher'}} around members (median {{picture.numbers['member_median']:.3f}}) than around non-members
# ({{picture.numbers['non_member_median']:.2f}}), with much overlap. It costs six queries per record where the loss costs one.
#
# The paper's **discriminator** reads class, output and response, and tries perceptrons of 1×30, 2×30 and 3×100 at three learning
# rates. Which of the nine? The choice is itself a fit, so it must not see the target: a fifth of the shadow's records is kept
# aside for it.

# %%
discriminator = attacks.Discriminator().fit(watched_shadow)
for candidate in discriminator.grid:
    layers = f"{len(candidate.hidden)}×{candidate.hidden[0]:<4} rate {candidate.rate:<7}"
    print(f"{layers} right on records kept aside {candidate.accuracy:.3f}")

# %%
noisy = attacks.game(watched, shadow=watched_shadow)
alone = noisy.play(attacks.MetricThreshold(lambda signals: -signals.column("noise").sum(axis=1)))
guessed = noisy.play(discriminator)
alike = {"noise response alone": alone.auc, "discriminator": guessed.auc, "loss": yours["loss"].auc}
picture = plots.comparison({"AUC": alike}, label="AUC, your training", chance=0.5)
show(picture, name="03_discriminator")

# %% [markdown]
# **What to see.** In your training the noise response alone has AUC {{alone.auc.value:.3f}}, the discriminator {{guessed.auc.value:.3f}} and the loss
# {{yours["loss"].auc.value:.3f}}. And over all trainings?

# %%
beyond = {what: plain.between("discriminator", "loss", what) for what in numbers}
added = {what: plain.between("discriminator", "neural (CRL)", what) for what in numbers}
level = {
    name: metrics.defense_level(50 + 50 * plain.advantage(name).value)
    for name in ("discriminator", "loss")
}

# %% [markdown]
# Over {{len(plain)}} trainings the discriminator, compared with the loss, is *{{words(beyond["advantage"])}}* by
# advantage ({{beyond["advantage"]}}), *{{words(beyond["auc"])}}* by AUC ({{beyond["auc"]}}) and *{{words(beyond["tpr"])}}* by the TPR at 1 % FPR. CRL's
# network reads output and label without the noise. Compared with that, the discriminator is *{{words(added["advantage"])}}* by advantage ({{added["advantage"]}}) and
# *{{words(added["auc"])}}* by AUC ({{added["auc"]}}). So noise adds little here, if anything: the two also differ in their networks and in the choice among nine.
#
# The paper reports a *defense level* $D = 200 - 2A$, where $A$ is the attack's accuracy in percent; a coin gives 100. Our undefended model has {{level['discriminator']:.1f}} by the
# discriminator and {{level['loss']:.1f}} by the loss. Report the lower of the two: a model is as private as the best attack says.

# %% [markdown]
# ## Exercises
# ### Exercise 3.1 · difficulty 3/5 · about 15 minutes
# When can noise tell something that the output does not? A model of two classes has $R(x) = 1 / (1 + e^{-w \cdot x})$. Find its response to noise,
# $\mathbb{E}\,|R(x) - R(x + \varepsilon N)| / \varepsilon$, for a small $\varepsilon$. Write it with $p = R(x)$ and $w$.

# %%
from mialib.course.exercises import lesson_03 as checks


def noise_response(p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The response of each record, whose R(x) is p (n,), under the weights w (d,): (n,)."""
    raise NotImplementedError


checks.check_noise_response(noise_response)

# %% [markdown]
# <details><summary>Hint 1</summary>A small step moves R by its slope times the step. What slope does R have where its value is p?</details>
#
# <details><summary>Hint 2</summary>
#
# $w \cdot N$ is a normal number with the standard deviation $\lVert w \rVert$, and the mean size of a standard normal number is $\sqrt{2/\pi}$.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def noise_response(p: np.ndarray, w: np.ndarray) -> np.ndarray:
#     return p * (1 - p) * np.linalg.norm(w) * np.sqrt(2 / np.pi)
# ```
#
# All records share $w$. So here the response says how sure the output is, and nothing more: it is largest at $p = 1/2$, and near 0 where the model is
# sure. A deep network has another slope around each record; there noise may tell something of its own.
# </details>

# %% [markdown]
# ### Exercise 3.2 · difficulty 3/5 · about 10 minutes
# A judgement. You may ask each record once, so the discriminator is out, and your report has room for **two** attacks. The model may be any of
# three: the undefended letters, the smoothed letters, the photographs. Choose the pair that misses least in the worst case: on each model take the
# better of the two at 1 % false alarms, and subtract it from the best of all six there. Look at the model where that difference is largest. The candidates: *loss*, *max confidence*, *modified entropy*, *loss per class*, *neural (PAST)*, *neural (CRL)*.
# `plain.tpr(name, fpr=0.01)` is such a number; `smooth` and `photographs` have theirs.


# %%
def two_attacks() -> tuple[str, str]:
    """The names of two attacks."""
    raise NotImplementedError


checks.check_two_attacks(two_attacks)

# %% [markdown]
# <details><summary>Hint</summary>Make a table of six attacks by three models. Where does a pair of thresholds fail?</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def two_attacks() -> tuple[str, str]:
#     return "neural (PAST)", "neural (CRL)"
# ```
#
# By the means. On the smoothed letters the thresholds find {{max(smooth.tpr(name, fpr=0.01).value for name in ("loss", "max confidence", "modified entropy", "loss per class")):.1%}} at best, so one of the two must be a network. Which one leads depends on the
# model, and on the smoothed letters they differ by {{smooth.between("neural (PAST)", "neural (CRL)", "tpr", fpr=0.01)}}. Choose attacks that do not rank the records alike.
# </details>

# %% [markdown]
# ## Recap
# - An attack network learns from a shadow's records. On the undefended letters, compared with one threshold on the loss, PAST's AUC is
#   *{{words(past["auc"])}}* and CRL's *{{words(crl["auc"])}}* ({{len(plain)}} trainings, profile `{{PROFILE}}`).
# - Where members are not simply the surest records, networks find more than the loss does. At 1 % false alarms PAST's network catches
#   {{smooth.tpr("neural (PAST)", fpr=0.01).value:.1%}} of the smoothed letters' members, and the loss {{smooth.tpr("loss", fpr=0.01).value:.1%}}. On photographs the
#   discriminator is *{{words(on_photographs["discriminator"])}}* than the loss by the same number.
# - More shadows bring more steps as well as more data; a control tells the two apart.
# - Noise on the input is one more feature; the discriminator's AUC is {{plain.auc("discriminator")}}.
#
# ## What this does not show
# - One architecture on the photographs, and {{len(photographs)}} trainings.
# - Richer features (hidden layers, gradients of weights) may give a network more to learn from; notebook 04 looks inside.
# - The discriminator was made for pruned networks, which notebook 12 treats; there it may matter more.
#
# ## References
# - R. Shokri and others, 2017, *Membership inference attacks against machine learning models*,
#   [arXiv 1610.05820](https://arxiv.org/abs/1610.05820): shadows and attack networks.
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 4.1; the authors' code,
#   `Fujump/MLHospital` at commit 087beb6, reads softmax.
# - X. Fang and J.-E. Kim, 2024, *Center-based relaxed learning against membership inference attacks* (CRL),
#   [arXiv 2404.17674](https://arxiv.org/abs/2404.17674), Section 5.1: five shadows; softmax and label are in
#   the code, `JEKimLab/UAI24_CRL` at commit fbb5993.
# - A. Gonon and others, 2023, *Sparsity in neural networks can improve their privacy*,
#   [arXiv 2304.10553](https://arxiv.org/abs/2304.10553), Sections 2 and 4: the discriminator and the defense level;
#   its noise feature comes from X. Yuan and L. Zhang, 2022, *Membership inference attacks and defenses in neural
#   network pruning*, [arXiv 2202.03335](https://arxiv.org/abs/2202.03335).
