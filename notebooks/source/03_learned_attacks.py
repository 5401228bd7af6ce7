# ---
# title: Learned attacks
# question: If a network learns the attack by itself, does it find more than a threshold does?
# goals:
#   - train an attack network on a shadow, from scratch and with `mialib`
#   - explain why a network can lose to one threshold on one number
#   - say what more shadows buy, and what they cannot
#   - measure how a model's output answers to noise, and attack with it
# needs: notebook 02; what a multi-layer perceptron is
# read: 25
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
from mialib.course import plots, widgets
from mialib.course.cards import cards
from mialib.course.plots import show
from mialib.signals import Signals

configuration = profiles.load(PROFILE).images
target, shadow = runs.get_all([configuration, configuration.but(side="shadow")])
is_member = target.signals.is_member
cards("loss", "neural (PAST)", "neural (CRL)", "discriminator")

# %% [markdown]
# ## The attack network from scratch
# PAST's network has hidden layers of 64 and 32, reads the softmax output, and is trained for 100 epochs by Adam. (So its code;
# its paper says *logits*. We shall try both.)

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
results = {
    "loss threshold": game.play(attacks.MetricThreshold("loss")),
    "max-confidence threshold": game.play(attacks.MetricThreshold("max confidence")),
    "PAST's network, softmax": game.play(attacks.NeuralPast()),
    "PAST's network, logits": game.play(attacks.NeuralPast(outputs="logits")),
    "CRL's network": game.play(attacks.NeuralCrl()),
}
assert abs(results["PAST's network, softmax"].auc.value - ours) < 0.05

# %% [markdown]
# CRL's network is larger (128 and 64, with dropout) and reads the softmax output *and the label*. **Predict** the order of the
# five before you look: two thresholds, three networks.

# %%
auc = {name: result.auc for name, result in results.items()}
show(
    plots.comparison({"AUC": auc}, label="AUC", chance=0.5, mark="loss threshold"),
    name="03_networks",
)

# %% [markdown]
# **What to see.** One threshold on the loss: {{auc['loss threshold']}}. PAST's network: {{auc["PAST's network, softmax"]}} on the
# softmax, {{auc["PAST's network, logits"]}} on the logits. It has thousands of weights and **loses to a single number**.
# CRL's, which sees the label, comes to {{auc["CRL's network"]}}. (n = {{results['loss threshold'].members}} +
# {{results['loss threshold'].non_members}}.)

# %% [markdown]
# ## Why the network loses
# It was never told the label. From an output alone one sees how sure the model is, but not whether it is right. Here none of the
# label-free attacks passes {{max(auc[k].value for k in ("max-confidence threshold", "PAST's network, softmax")):.2f}}; no amount of training
# recovers what is not in the input.
#
# With raw logits it is worse, and for a silly reason. Adding a constant to all logits of a record changes nothing in the softmax, but it changes the
# network's input. **Predict**: what if we subtract each record's largest logit first?

# %%
from dataclasses import replace


def without_constant(signals: Signals) -> Signals:
    return replace(signals, logits=signals.logits - signals.logits.max(axis=1, keepdims=True))


mended = attacks.game(without_constant(target.signals), shadow=without_constant(shadow.signals))
mended = mended.play(attacks.NeuralPast(outputs="logits"))
raw = auc["PAST's network, logits"].value
print(f"logits {raw:.3f}, less their largest {mended.auc}")

# %% [markdown]
# **What to see.** From {{auc["PAST's network, logits"].value:.2f}} to {{mended.auc.value:.2f}}: the same network on the same records. A network also has
# thousands of things to get wrong where a threshold has one, and {{len(shadow.signals):,}} records to learn from.
#
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


odd = attacks.game(odd_game(), shadow=odd_game())
odd_auc = {
    "threshold": odd.play(attacks.MetricThreshold("loss")).auc,
    "network": odd.play(attacks.NeuralPast()).auc,
}
print({name: str(value) for name, value in odd_auc.items()})
assert odd_auc["network"].low > odd_auc["threshold"].high

# %% [markdown]
# **What to see.** In the odd game the threshold has AUC {{odd_auc['threshold'].value:.2f}} and the network
# {{odd_auc['network'].value:.2f}}. A defense that is measured by thresholds alone may have learned to fool thresholds. Run both.

# %% [markdown]
# ## More shadows
# CRL trains five shadows and pools their records: five times the data, and habits of one shadow that the others do not share
# average out. Training many shadows takes time, so the course ships what 64 of them answered: a **signal bank**. Its models
# share one set of 2,400 letters, and each holds a random half. We take model 0 as the target, others as shadows, and only 300 of the
# letters, so that data are scarce. (A shadow may hold some of the target's members. That should help little: the network is not told which
# record it sees, and who holds what was drawn anew for each pair of models. Notebook 05 uses that knowledge. These models had more letters than
# those above, so their AUCs are lower.)
#
# More records also mean more steps of training, at the same number of epochs. To tell the two apart, a control: *one* shadow, shown
# as many times. **Predict** what it will do.

# %%
letters = bank.load("letters")
versus = attacks.game(letters.take(slice(None), slice(300)), target=0)
shadows = [versus.shadow.signals(k) for k in range(5)]
numbers = [1, 2, 5]
crl = attacks.NeuralCrl()
loss = attacks.MetricThreshold("loss")
by_number = {
    "CRL's, k shadows": [versus.play(crl.fit(shadows[:k])) for k in numbers],
    "CRL's, one shadow k times": [versus.play(crl.fit(shadows[:1] * k)) for k in numbers],
    "loss threshold": [versus.play(loss.fit(shadows[:k])) for k in numbers],
}

# %% [markdown]
# Move the **number of shadows** and watch the three rows. *Think*: which AUC should not care?


# %%
def shadows_view(shadows: int) -> plots.Picture:
    at = numbers.index(shadows)
    rows = {name: found[at].auc for name, found in by_number.items()}
    return plots.comparison({"AUC": rows}, label=f"AUC at k = {shadows}", chance=0.5)


widgets.explore(shadows_view, shadows=widgets.steps(numbers, start=1, label="number of shadows"))

# %% [markdown]
# *Without a kernel*: all positions at once.

# %%
curves = {name: [result.auc for result in found] for name, found in by_number.items()}
picture = plots.lines(numbers, curves, xlabel="number of shadows k", ylabel="AUC", log="x")
show(picture, name="03_shadows")
first, last = ({name: found[at].auc.value for name, found in by_number.items()} for at in (0, -1))

# %% [markdown]
# **What to see.** From 1 to {{numbers[-1]}} shadows CRL's network goes from {{first["CRL's, k shadows"]:.2f}} to
# {{last["CRL's, k shadows"]:.2f}}. But one shadow shown {{numbers[-1]}} times already gives {{last["CRL's, one shadow k times"]:.2f}}: most of the gain is
# longer training, some may be new data. The AUC of the loss does not depend on any shadow ({{last['loss threshold']:.2f}}); only its threshold does.
# (One target, n = {{by_number['loss threshold'][0].members}} + {{by_number['loss threshold'][0].non_members}}: at k = {{numbers[-1]}} the intervals,
# {{by_number["CRL's, k shadows"][-1].auc}} and {{by_number["CRL's, one shadow k times"][-1].auc}}, overlap.) A comparison by the number of shadows should say what happened to the number of steps.

# %% [markdown]
# ## How does the output answer to noise?
# The sparsity paper's attacker adds a third kind of feature. Move the input by a tiny random step and look how far each
# output probability moves:
#
# $$s_i(x) = \frac{1}{\varepsilon}\,\mathbb{E}_N\,\bigl| R_i(x) - R_i(x + \varepsilon N) \bigr|, \qquad N \sim \mathcal{N}(0, I),\ \varepsilon = 10^{-3},$$
#
# with five draws of $N$. Training flattens the output around a member, or so the idea goes; then $s$ is small there. **Predict** by how much. From scratch:

# %%
model = target.load_model()
records = query.members_then_nonmembers(target.side)
x, _ = query.to_device(records, query.device_of(model))
plain = query.logits_of(model, x).softmax(dim=1)  # asks in batches, in eval mode

generator = torch.Generator().manual_seed(0)
moved = []
for _ in range(5):
    step = torch.randn(x.shape, generator=generator).to(x.device)
    near = query.logits_of(model, x + 1e-3 * step).softmax(dim=1)
    moved.append((near - plain).abs() / 1e-3)
response = torch.stack(moved).mean(dim=0).cpu().numpy()  # (n, classes)

watched, watched_shadow = (run.ask(noise=True) for run in (target, shadow))
ratio = watched.column("noise").sum() / response.sum()
assert abs(ratio - 1) < 0.1  # other draws of the noise
total = watched.column("noise").sum(axis=1)
picture = plots.histograms(total[is_member], total[~is_member], label="noise response")
show(picture, name="03_noise")

# %% [markdown]
# **What to see.** The response is lower around members (median {{picture.numbers['member_median']:.2f}}) than around non-members
# ({{picture.numbers['non_member_median']:.2f}}), with much overlap. It costs six queries a record
# where the loss costs one.
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
found = noisy.play(discriminator)
level = {
    name: metrics.defense_level(50 + 50 * result.advantage.value)
    for name, result in (("discriminator", found), ("loss", results["loss threshold"]))
}
rows = {"noise response alone": alone.auc, "discriminator": found.auc}
rows["loss threshold"] = auc["loss threshold"]
picture = plots.comparison({"AUC": rows}, label="AUC", chance=0.5)
show(picture, name="03_discriminator")

# %% [markdown]
# **What to see.** The chosen perceptron was right on {{discriminator.grid[0].accuracy:.1%}} of the shadow's records kept aside (the best of nine, so optimistic) and is right
# on {{(1 + found.advantage.value) / 2:.1%}} of the target's. Its AUC is {{found.auc}}; the response alone has {{alone.auc.value:.3f}}, the loss threshold
# {{auc['loss threshold'].value:.3f}}: most of what noise tells, the output had told already. The paper reports a *defense level* $D = 200 - 2A$ with the
# attack's accuracy $A$ in percent, 100 for a coin: {{level['discriminator']:.1f}} by the discriminator, {{level['loss']:.1f}} by the loss. Report the lower
# of the two: a model is as private as the best attack says.

# %% [markdown]
# ## Exercise 3.1 · difficulty 2/5 · about 10 minutes
# A network without the label loses; a one-hot label costs it ten more inputs. Two numbers may be enough, and they work for any
# number of classes: the probability of the true class, and the largest probability among the others.

# %%
from mialib.course.exercises import lesson_03 as checks


def two_features(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Outputs (n, classes) and labels (n,) → (n, 2): p of the label, largest p of another."""
    raise NotImplementedError


checks.check_two_features(two_features)

# %% [markdown]
# <details><summary>Hint</summary>Copy the outputs, set the label's entry to −1, and take the maximum of each row.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def two_features(p: np.ndarray, y: np.ndarray) -> np.ndarray:
#     rows, others = np.arange(len(y)), p.copy()
#     others[rows, y] = -1
#     return np.stack([p[rows, y], others.max(axis=1)], axis=1)
# ```
#
# Try `train_attacker(two_features(...), ...)`: few weights, nothing about classes to overfit.
# </details>

# %% [markdown]
# ## Exercise 3.2 · difficulty 3/5 · about 15 minutes
# Write the noise response of any function, and check it where the answer is known: for a linear $R(x) = w \cdot x$ it is
# $\mathbb{E}|w \cdot N| = \lVert w \rVert \sqrt{2/\pi}$, whatever $x$ and $\varepsilon$.

# %%
from collections.abc import Callable


def noise_response(
    respond: Callable, x: np.ndarray, epsilon: float, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """(1/ε)·E|R(x) − R(x + εN)| for each row of x (n, d), where respond maps (n, d) to (n,)."""
    raise NotImplementedError


checks.check_noise_response(noise_response)

# %% [markdown]
# <details><summary>Hint</summary>`rng.normal(size=x.shape)` is one draw of $N$ for all records at once. Average the absolute
# differences, not the differences.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# from collections.abc import Callable
#
# def noise_response(respond: Callable, x: np.ndarray, epsilon: float, draws: int, rng: np.random.Generator) -> np.ndarray:
#     plain = respond(x)
#     moved = [np.abs(respond(x + epsilon * rng.normal(size=x.shape)) - plain) for _ in range(draws)]
#     return np.mean(moved, axis=0) / epsilon
# ```
# </details>

# %% [markdown]
# ## Recap
# - An attack network learns from a shadow's records. PAST's has AUC {{auc["PAST's network, softmax"].value:.2f}} here, one threshold on
#   the loss {{auc['loss threshold'].value:.2f}}: without the label the network cannot know whether the model is right.
# - More shadows: {{first["CRL's, k shadows"]:.2f}} to {{last["CRL's, k shadows"]:.2f}} for CRL's network from 1 to {{numbers[-1]}}; one shadow shown as often
#   gives {{last["CRL's, one shadow k times"]:.2f}}.
# - Noise on the input is one more feature; the discriminator's AUC is {{found.auc.value:.2f}} (profile `{{PROFILE}}`).
#
# ## What this does not show
# - One target; the networks' random weights move these numbers by a few hundredths.
# - Richer features (hidden layers, gradients of weights) may give a network more to learn from; notebook 04 looks inside.
# - The discriminator was made for pruned networks, which notebook 12 treats; there it may matter more.
#
# ## References
# - R. Shokri and others, 2017, *Membership inference attacks against machine learning models*: shadows and attack networks.
# - *Defending membership inference attacks via privacy-aware sparsity tuning* (PAST), Section 4.1; its published code reads softmax.
# - The CRL paper, Section 5.1: five shadows; softmax and label are in its code.
# - The sparsity paper, Sections 2 and 4: the discriminator and the defense level; its noise feature comes from X. Yuan and L. Zhang, 2022,
#   *Membership inference attacks and defenses in neural network pruning*.
