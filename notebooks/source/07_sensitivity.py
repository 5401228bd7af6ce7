# ---
# title: Sensitivity
# question: Where in the network does membership live?
# goals:
#   - take the gradient of the loss gap for every weight, and leave the model as it was
#   - say how concentrated it is, against what any gradient would give
#   - follow it from module to module, through training and tuning
#   - say when a loss gap implies an advantage, and when it does not
# needs: notebook 02; gradients; the normal distribution
# read: 30
# reproduces: PAST's Fig. 1, 10, 11 and 13b and Proposition E.1, on our data
# cover: 07_where
# ---

# %% [markdown]
# ## The loss gap
# A model that fares better on its members than on others leaks. PAST sums this up in one number, the **loss gap**:
#
# $$G = \frac{1}{|S_n|}\sum_{S_n} \ell(x, y) - \frac{1}{|S_m|}\sum_{S_m} \ell(x, y),$$
#
# the non-members' mean loss minus the members'. $G$ depends on the weights, so it has a gradient, and $|\partial G / \partial w|$ says how
# far the gap moves when one weight does. The paper calls this the **privacy sensitivity** of $w$. It finds that few weights hold nearly
# all of it, and builds a defense on that (notebook 08). Let us look.

# %%
import numpy as np
import torch
from scipy.stats import norm, spearmanr
from torch.nn import functional as F

from mialib import models, profiles, runs, sensitivity
from mialib.course import figures, plots, sweeps, widgets
from mialib.course.plots import show
from mialib.estimates import Estimate
from mialib.query import to_device

configuration = profiles.load(PROFILE).experiments["images short"]
target = runs.get(configuration.but(trace=configuration.trace or 10))
model, side = target.load_model(), target.side
members, non_members = (to_device(part, torch.device("cpu")) for part in (side.train, side.test))
loss, is_member = target.signals.loss(), target.signals.is_member
gap = loss[~is_member].mean() - loss[is_member].mean()
print(f"{len(side.train)} members, {len(side.test)} non-members, loss gap {gap:.3f}")

# %% [markdown]
# ## The gap's gradient from scratch
# We take the weights of convolutions, linear layers and normalisations, without biases, as the paper's code does. The records go through in
# ten batches: the mean of the batches' gradients is the gradient of the mean, and the batches will give us an interval.
#
# Mind `model.eval()`. In training mode BatchNorm normalises by the *batch*, so that a record's loss depends on its neighbours, and every
# pass moves its running statistics: measuring would change what is measured.


# %%
def batch_gradients(model: torch.nn.Module, records: tuple, batches: int = 10) -> np.ndarray:
    """The gradient of each batch's mean loss, all weights in one row: (batches, weights)."""
    kinds = (torch.nn.Conv2d, torch.nn.BatchNorm2d, torch.nn.Linear)
    weights = [module.weight for module in model.modules() if isinstance(module, kinds)]
    model.eval()
    rows = []
    for x, y in zip(*(part.chunk(batches) for part in records), strict=True):
        gradients = torch.autograd.grad(F.cross_entropy(model(x), y), weights)
        rows.append(torch.cat([gradient.flatten() for gradient in gradients]).numpy())
    return np.stack(rows)


before = {name: value.clone() for name, value in model.state_dict().items()}
of_members, of_others = (batch_gradients(model, part) for part in (members, non_members))
gradient = of_others.mean(axis=0) - of_members.mean(axis=0)  # (weights,)
print(f"{len(gradient):,} weights, mean |∂G/∂w| {np.abs(gradient).mean():.4f}")

# %% [markdown]
# The library must agree, and the model must be as it was. A copy in training mode shows what would have happened otherwise.

# %%
by_module = sensitivity.gap_gradient(model, side.train, side.test)
assert np.allclose(sensitivity.flat(by_module), gradient, atol=1e-5)
assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
disturbed = target.load_model().train()
disturbed(members[0][:128])
running = [name for name in before if "running" in name]
moved = sum(not torch.equal(disturbed.state_dict()[name], before[name]) for name in running)
print(f"one pass in training mode moved {moved} of BatchNorm's {len(running)} running statistics")

# %% [markdown]
# ## How concentrated?
# Sort the weights by sensitivity. In the paper the top 20 % carry 89.27 % of the total, and 97 % of all are below 0.1. **Predict** the
# share of the top 20 % here. Then **predict** it for plain normal numbers, which have no structure whatever.

# %%
top, below = sensitivity.concentration(gradient)


def resampled(seed: int) -> float:
    """The top 20 %'s share after drawing batches with replacement."""
    rng = np.random.default_rng(seed)
    one, other = (rows[rng.integers(0, 10, 10)].mean(axis=0) for rows in (of_others, of_members))
    return sensitivity.concentration(one - other)[0]


top = Estimate(top, *np.quantile([resampled(seed) for seed in range(200)], [0.025, 0.975]))

# %%
percent = np.arange(0, 101, 2)


def carried(values: np.ndarray) -> np.ndarray:
    """The share of the total in the largest 0, 2, … 100 % of the absolute values."""
    total = np.append(0, np.cumsum(np.sort(np.abs(values))[::-1]))
    return total[(percent / 100 * len(values)).round().astype(int)] / total[-1]


normal = norm.ppf((np.arange(len(gradient)) + 0.5) / len(gradient))
curves = {"this network": carried(gradient), "normal numbers": carried(normal)}
curves["all alike"] = percent / 100
labels = {"xlabel": "% of the weights, largest first", "ylabel": "share of the total"}
show(plots.lines(percent, curves, mark=20, **labels), name="07_concentration")
by_chance = sensitivity.concentration(normal)[0]

# %% [markdown]
# **What to see.** The top 20 % carry {{top}} (95 %, by batches), normal numbers {{by_chance:.2f}}: more inequality than chance
# alone would give, but far from the paper's 89 %. And {{below:.2%}} are below 0.1 here; but that depends on the scale, and says
# nothing without the mean, {{np.abs(gradient).mean():.4f}}.

# %% [markdown]
# ## One batch, and a control
# The paper's figure was drawn, as its code has it, from *one* batch of 128 members and 128 non-members. Over twenty such batches, how much does the
# share move? And are the *same weights* at the top?
#
# As a control, twenty batches in which membership is **shuffled**: both sides are drawn from members and non-members alike. Their gap is
# about nothing, so they show what the difference of any two means shows. **Predict** both.

# %%
rng = np.random.default_rng(0)
pooled = tuple(torch.cat(parts) for parts in zip(members, non_members, strict=True))


def one_batch(first: tuple, second: tuple) -> dict[str, torch.Tensor]:
    """The gap's gradient, by module, from 128 records of each."""
    rows = [rng.permutation(len(y))[:128] for _, y in (first, second)]
    return sensitivity.gap_gradient(
        model, *((x[some], y[some]) for (x, y), some in zip((first, second), rows, strict=True))
    )


batches = {
    "true membership": [one_batch(members, non_members) for _ in range(20)],
    "shuffled": [one_batch(pooled, pooled) for _ in range(20)],
}
shares, found = {}, {}
for name, rows in batches.items():
    shares[name] = sorted(sensitivity.concentration(one)[0] for one in rows)
    found[name] = sorted(1 - sensitivity.migration(gradient, one) for one in rows)

# %%
pair = zip(batches["true membership"][::2], batches["true membership"][1::2], strict=True)
agree = [1 - sensitivity.migration(*two) for two in pair]
shown = {
    "share carried by the top 20 %": shares | {"all records": [top.value] * 20},
    "same weights as with all records": found | {"by chance": [0.2] * 20},
}
labels = {"xlabel": "batch, sorted", "ylabel": "share"}
show(plots.panels(range(1, 21), shown, columns=2, **labels), name="07_one_batch")
gamma = {name: sensitivity.adaptive_weight(one) for name, one in by_module.items()}
inside = sensitivity.concentration(gamma)[0]
likeness = np.corrcoef(gradient, of_others.mean(axis=0))[0, 1]
true, control = found.values()

# %% [markdown]
# **What to see.** Left: the share hardly moves, {{shares['true membership'][0]:.2f}} to {{shares['true membership'][-1]:.2f}}, and with membership
# shuffled it is {{shares['shuffled'][0]:.2f}} to {{shares['shuffled'][-1]:.2f}}. **Concentration is not a trace of membership**; the difference of any two means has it.
# Right: *which* weights are at the top depends on the batch. {{np.mean(true):.0%}} ({{true[0]:.0%}} to {{true[-1]:.0%}}) are the ones that all records name, with shuffled membership
# {{np.mean(control):.0%}} ({{control[0]:.0%}} to {{control[-1]:.0%}}), by chance 20 %, and two batches agree on {{np.mean(agree):.0%}} (ten pairs). PAST, as coded, decides by one such batch at every step which weights to punish.
#
# The members' loss is near its minimum, so the gap's gradient is mostly that of the *test loss* (correlation {{likeness:.2f}}). And when each
# module's sensitivities are divided by their mean, the top 20 % carry {{inside:.2f}}, closer to normal numbers: part of the inequality lies between modules.

# %% [markdown]
# ## Where could 89 % come from?
# In the paper's code the network is torchvision's ResNet-18 for ImageNet, fed with images of 32 × 32. Its stem halves them twice, its blocks three more times:
# in the last two blocks an "image" is one pixel. *Think*: what does a 3 × 3 kernel see of one pixel and its padding?

# %%
torch.manual_seed(0)
theirs = models.build("resnet18", shape=(3, 32, 32), classes=10, stem="imagenet")
weights = sensitivity.weights(theirs)
untrained = F.cross_entropy(theirs(torch.randn(8, 3, 32, 32)), torch.arange(8))
reached = torch.autograd.grad(untrained, list(weights.values()))
# A place in a kernel is out of reach if its gradient is 0 between all channels.
unseen = [one[..., one.abs().sum(dim=(0, 1)) == 0].numel() for one in reached if one.ndim == 4]
unreached = sum(unseen) / sum(one.numel() for one in reached)
live = 0.2 / (1 - unreached)  # the top 20 % of all, as a share of the weights that do something
with_zeros = float(np.exp(-(norm.ppf(1 - live / 2) ** 2) / 2))
print(f"{unreached:.1%} of the weights never touch a pixel")
print(f"normal numbers on the others: the top 20 % of all carry {with_zeros:.2f}")
assert PROFILE != "quick" or (gradient == 0).mean() < 0.01

# %% [markdown]
# Eight of the nine places see padding only. In all, {{unreached:.0%}} of that network's weights can never have a gradient, whatever the data. On the
# rest, plain normal numbers would already put {{with_zeros:.0%}} of the total into the top 20 %. So most of the way from {{by_chance:.0%}} to 89 % can
# be the architecture. Such zeros also pull down the *means* of the last blocks' convolutions, which the paper's Fig. 10 finds near zero. Our own network has no such places. (The rest may be
# the noise of one batch, dead channels or a real effect; the paper does not tell.)

# %% [markdown]
# ## Gap and attacks, epoch by epoch
# Is the gap a fair proxy? The course ships a table of the same training looked at after *every* epoch, with every attack fitted on a shadow
# of the same epoch (`tools/sweep.py`). **Predict** how advantage follows gap.

# %%
table = sweeps.load("epochs")
training = table.all(tuning=False)
gaps = [table.rows[k]["loss_gap"] for k in training]
advantage = {name: [table.advantage(k, name) for k in training] for name in table.attacks}


def rank(x: list, name: str) -> float:
    return float(spearmanr(x, [one.value for one in advantage[name]]).statistic)


follow = {name: rank(gaps, name) for name in advantage}
clock = {name: rank(range(len(gaps)), name) for name in advantage}
shown = {f"{name}: {follow[name]:.2f}": {"advantage": row} for name, row in advantage.items()}
labels = {"xlabel": "loss gap", "ylabel": "advantage"}
show(plots.panels(gaps, shown, columns=5, **labels), name="07_gap_and_attacks")
late = {name: table.difference(training[14], training[11], name) for name in table.attacks}
assert all(clock[name] >= follow[name] for name in follow)
assert late["loss"].low > 0

# %% [markdown]
# **What to see.** Advantage rises with the gap; the rank correlations, over each panel, are {{min(follow.values()):.2f}} to {{max(follow.values()):.2f}} (15 epochs, n = 700 + 700). But
# *anything* that grows in training would do as well: the mere number of the epoch has {{min(clock.values()):.2f}} to {{max(clock.values()):.2f}}, and for no attack less than the gap. And the gap
# stops early: from epoch 11 to 14 it goes from {{gaps[11]:.2f}} to {{gaps[14]:.2f}}, while the loss attack gains {{late['loss']}} and the maximum
# confidence {{late['max confidence']}} (paired).

# %% [markdown]
# ## Where in the network?
# Move the **epoch** from the untrained network to the end. *Think*: does membership live near the output, as the paper has it?

# %%
by_epoch = [table.rows[k]["sensitivity"] | {"gap": table.rows[k]["loss_gap"]} for k in training]


def where_view(epoch: float) -> plots.Picture:
    row = by_epoch[int(epoch)]
    title = f"After epoch {epoch:.0f}: loss gap {round(row['gap'], 2) + 0:.2f}"
    return figures.sensitivity_by_module(row["modules"], title=title)


widgets.explore(where_view, epoch=widgets.slider(0, 14, start=14, step=1, label="epoch"))

# %% [markdown]
# *Without a kernel*: both ends. Then the mean by kind of module and depth, as a multiple of the mean of all weights.


# %%
def place(name: str, kind: str) -> str:
    block = int(name.split(".")[1]) - 2 if "." in name else 0
    depth = "stem to 3" if block < 4 else "blocks 4–6" if block < 7 else "blocks 7–9"
    return kind if kind == "linear" else f"{kind}, {depth}"


def mean_by_place(modules: dict) -> dict[str, float]:
    """The mean sensitivity of a weight, by kind of module and depth."""
    total, weights = {}, {}
    for name, module in modules.items():
        at = place(name, module["kind"])
        total[at] = total.get(at, 0) + module["mean"] * module["size"]
        weights[at] = weights.get(at, 0) + module["size"]
    return {at: total[at] / weights[at] for at in total}


ends = plots.small_multiples(where_view, epoch=[0, 14])
show(ends, name="07_where")
multiple = {
    at: v / by_epoch[-1]["mean"] for at, v in mean_by_place(by_epoch[-1]["modules"]).items()
}
print({at: round(value, 2) for at, value in multiple.items()})
assert multiple["convolution, stem to 3"] > 1 > multiple["convolution, blocks 7–9"]
for at in ("stem to 3", "blocks 4–6", "blocks 7–9"):
    assert multiple[f"normalisation, {at}"] > multiple[f"convolution, {at}"]

# %% [markdown]
# **What to see.** Upper panels: the convolutions hold {{ends.numbers['convolution at 14']:.0%}} of the total, because they hold nearly all weights. Lower panels: one weight of the first convolution counts
# {{ends.numbers['first at 14']:.1f}} times the mean; the convolutions of blocks 7–9 have {{multiple['convolution, blocks 7–9']:.2f}}, those up to block 3 {{multiple['convolution, stem to 3']:.2f}}. So *deeper* is
# less sensitive here; the paper saw the opposite. That normalisations and the linear layer exceed the convolutions around them is as in the paper.
# Some of it is there before training, when there is nothing to leak: the linear layer has {{ends.numbers['last at 0']:.0f}} times the mean, the stem {{ends.numbers['first at 0']:.0f}}.

# %% [markdown]
# ## Inside each module
# Do few weights matter only because some *layers* matter more? The paper answers with the distribution inside each layer (Fig. 13b).
# **Predict** the top 20 %'s share inside a module.

# %%
picture = figures.sensitivity_by_module(
    by_epoch[-1]["modules"], title="The trained network", inside=by_chance
)
show(picture, name="07_inside")
large = [module["top"] for module in by_epoch[-1]["modules"].values() if module["size"] >= 300]
tops = [row["top"] for row in by_epoch]

# %% [markdown]
# **What to see.** In the {{len(large)}} modules with 300 weights or more, the top 20 % carry {{min(large):.2f}} to {{max(large):.2f}}; the dotted line at {{by_chance:.2f}} is for normal numbers. So
# inside a module there is little more inequality than chance brings. Overall it was {{tops[0]:.2f}} before training, {{max(tops[1:]):.2f}} at its highest and {{tops[-1]:.2f}} at the end: it does not grow with
# the leak.

# %% [markdown]
# ## Through tuning
# PAST goes on from the trained network with a penalty on the sensitive weights; notebook 08 explains how. Here is what its tuning does to the
# mean sensitivity (Fig. 10), beside the *same* tuning without a penalty (λ = 0). **Predict** the difference at the end.

# %%
arms = {
    "PAST": table.all(tuning=True, lam=2e-3),
    "λ = 0": table.all(tuning=True, lam=0.0),
}
rows = {arm: [table.rows[k] for k in chosen] for arm, chosen in arms.items()}
means = {
    arm: [mean_by_place(row["sensitivity"]["modules"]) for row in some]
    for arm, some in rows.items()
}
shown = {at: {arm: [row[at] for row in some] for arm, some in means.items()} for at in multiple}
labels = {"xlabel": "epoch of tuning", "ylabel": "mean sensitivity"}
show(plots.panels(range(21), shown, columns=4, scale="log", **labels), name="07_tuning")
start, past, zero = rows["PAST"][0], rows["PAST"][-1], rows["λ = 0"][-1]
lowest = min(rows["PAST"], key=lambda row: row["sensitivity"]["mean"])
odd = max(range(1, 5), key=lambda k: rows["λ = 0"][k]["loss_gap"])
highest = table.highest(arms["λ = 0"][odd])
norms = shown["normalisation, stem to 3"]
assert norms["PAST"][-1] < norms["λ = 0"][-1] / 2
assert rows["λ = 0"][odd]["loss_gap"] > start["loss_gap"]

# %% [markdown]
# **What to see.** PAST's sensitivity falls to {{lowest['sensitivity']['mean']:.4f}} at epoch {{lowest['epoch']}}, when the network is right on {{lowest['inference_accuracy']:.0%}} of new records, and climbs back.
# Over all weights it ends at {{past['sensitivity']['mean']:.4f}}, where it began ({{start['sensitivity']['mean']:.4f}}) and near what λ = 0 has ({{zero['sensitivity']['mean']:.4f}}). What PAST holds down is the normalisations: {{norms['PAST'][-1]:.3f}} against
# {{norms['λ = 0'][-1]:.3f}} in the first blocks. The *gap* fell from {{start['loss_gap']:.2f}} to {{past['loss_gap']:.2f}}; with λ = 0 it rose to {{zero['loss_gap']:.2f}}. (One run of each.)
#
# On the way the proxy fails outright: at epoch {{odd}} of tuning without penalty the gap is {{rows['λ = 0'][odd]['loss_gap']:.2f}}, more than after all of training, and the highest advantage of nine attacks is {{highest}}. The new
# learning rate has thrown the network off (right on {{rows['λ = 0'][odd]['train_accuracy']:.0%}} of its members), and its losses are large on both sides.

# %% [markdown]
# Do the same weights stay at the top? The **migration** from one epoch to the next is the share of the top 20 % that were not there before. Chance
# would be 0.8.

# %%
moves = {arm: [row["migration"] for row in some[1:]] for arm, some in rows.items()}
labels = {"xlabel": "epoch of tuning", "ylabel": "new in the top 20 %"}
show(plots.lines(range(1, 21), moves, **labels), name="07_migration")
in_training = [table.rows[k]["migration"] for k in training[1:]]

# %% [markdown]
# **What to see.** Each epoch of PAST renews {{np.median(moves['PAST']):.0%}} of the top (median), of the same tuning without penalty {{np.median(moves['λ = 0']):.0%}}, and of plain training {{np.median(in_training):.0%}}. It
# settles only as the learning rate goes to zero ({{moves['PAST'][-1]:.0%}}, {{moves['λ = 0'][-1]:.0%}} and {{in_training[-1]:.0%}} in the last epoch). The paper reports migration under PAST; it
# needs no penalty.

# %% [markdown]
# ## Proposition E.1 from scratch
# Why should a gap imply an advantage? The paper's proof: let the members' losses be normal with mean $\mu_S$ and deviation $\sigma_S$, the
# others' with $\mu_D$ and $\sigma_D$. Choose the threshold on the non-members so that the false-positive rate is $a$. Then
#
# $$\mathrm{Adv} = \Phi\!\left(\frac{\Phi^{-1}(a)\,\sigma_D + \mu_D - \mu_S}{\sigma_S}\right) - a,$$
#
# which rises with the gap $\mu_D - \mu_S$ *if nothing else moves*.


# %%
def promised(gap: float, member: float, non_member: float, fpr: float) -> float:
    """The advantage of a threshold on normal losses with these deviations."""
    return float(norm.cdf((norm.ppf(fpr) * non_member + gap) / member) - fpr)


draw = np.random.default_rng(0).normal(size=(2, 10**6)) * [[0.5], [1.5]] + [[0], [1]]
threshold = np.quantile(draw[1], 0.2)
simulated = (draw[0] <= threshold).mean() - 0.2
print(f"promised {promised(1, 0.5, 1.5, 0.2):.3f}, simulated {simulated:.3f}")
assert abs(promised(1, 0.5, 1.5, 0.2) - simulated) < 0.005

# %% [markdown]
# Move the **gap**, then the two **deviations** σ, then the **FPR**. *Think*: can a large gap come with a negative advantage?

# %%
widgets.explore(
    figures.two_normals,
    gap=widgets.slider(0, 4, start=1, step=0.05, label="loss gap"),
    member=widgets.slider(0.1, 2, start=0.5, step=0.05, label="σ of members"),
    non_member=widgets.slider(0.1, 2, start=0.5, step=0.05, label="σ of non-members"),
    fpr=widgets.log_slider(0.001, 0.9, start=0.1, label="FPR"),
)


# %% [markdown]
# *Without a kernel*: two values of the non-members' σ, with a gap of 1, σ = 0.5 for the members and an FPR of 10 %.


# %%
def spread_view(sigma: float) -> plots.Picture:
    return figures.two_normals(gap=1.0, member=0.5, non_member=sigma, fpr=0.1)


spread = plots.small_multiples(spread_view, sigma=[0.2, 1.5])
show(spread, name="07_bells")

# %% [markdown]
# **What to see.** The gap is 1 in both rows, the advantage {{spread.numbers['advantage at 0.2']:.2f}} and {{spread.numbers['advantage at 1.5']:.2f}}. Below an FPR of one half
# $\Phi^{-1}(a)$ is negative: a wider spread of the non-members pulls the threshold down, below the members. The gap alone does not decide.

# %% [markdown]
# ## Theory against measurement
# Put in the means and deviations of the real losses, epoch by epoch, and compare with the real advantage at that FPR. **Predict** where they part.

# %%
from mialib import metrics


def theory_and_truth(losses: np.ndarray, fpr: float) -> tuple[float, Estimate]:
    inside, outside = losses[is_member].astype(float), losses[~is_member].astype(float)
    gap = outside.mean() - inside.mean()
    tpr = metrics.tpr_at_fpr(-losses, is_member, fpr, draws=200)
    truth = Estimate(tpr.value - fpr, tpr.low - fpr, tpr.high - fpr)
    return promised(gap, inside.std(), outside.std(), fpr), truth


epochs = [line["epoch"] for line in target.traced]
compared = {}
for fpr in (0.1, 0.3, 0.5):
    pairs = [theory_and_truth(losses, fpr) for losses in target.losses_by_epoch]
    compared[f"FPR {fpr:.0%}"] = dict(
        zip(("promised", "measured"), map(list, zip(*pairs, strict=True)), strict=True)
    )
labels = {"xlabel": "epoch", "ylabel": "advantage"}
show(plots.panels(epochs, compared, columns=3, **labels), name="07_theory")
strict, loose = compared["FPR 10%"], compared["FPR 50%"]
assert PROFILE != "quick" or strict["promised"][-1] < 0 < strict["measured"][-1].low

# %% [markdown]
# **What to see.** At 10 % false alarms the proposition, given the real means and deviations, promises less and less, {{strict['promised'][0]:.2f}} at epoch {{epochs[0]}} and {{strict['promised'][-1]:.2f}} at
# epoch {{epochs[-1]}}, an attack worse than chance, while the gap grows from {{target.traced[0]['loss_gap']:.2f}} to {{target.traced[-1]['loss_gap']:.2f}}. Measured, it *rises* from {{strict['measured'][0]}}
# to {{strict['measured'][-1]}}. At 50 % the two end close together ({{loose['promised'][-1]:.2f}} and {{loose['measured'][-1]}}), as they must when nearly
# every member lies below the non-members' median. The formula is right; its premise is not:

# %%
picture = figures.fitted_normals(loss[is_member], loss[~is_member])
show(picture, name="07_fitted")
wide = [(one[is_member].std(), one[~is_member].std()) for one in target.losses_by_epoch]

# %% [markdown]
# **What to see.** Losses are never negative, and most are small with a long tail. The normal density with the non-members' mean and deviation
# puts {{picture.numbers['below 0, non-members']:.0%}} of its weight on losses below 0, so its lower 10 % lie where no record can be, and the threshold there
# catches nobody. Nor do the deviations stay fixed, as the proof has it: from epoch {{epochs[0]}} to {{epochs[-1]}} the members' goes from
# {{wide[0][0]:.2f}} to {{wide[-1][0]:.2f}}, the non-members' from {{wide[0][1]:.2f}} to {{wide[-1][1]:.2f}}.
#
# The tail also makes the gap a poor proxy. Take the real losses, and multiply those of the 1 % worst non-members:

# %%
outside = np.sort(loss[~is_member])
worst = len(outside) // 100
stretched = {}
for factor in (1, 3, 10):
    changed = np.append(outside[:-worst], outside[-worst:] * factor)
    scores = -np.append(loss[is_member], changed)
    best = metrics.best_advantage(scores, np.arange(len(scores)) < is_member.sum())
    stretched[factor] = (changed.mean() - loss[is_member].mean(), best)
    print(f"× {factor:>2}: loss gap {stretched[factor][0]:.2f}, best advantage {best:.3f}")
assert stretched[10][1] == stretched[1][1]

# %% [markdown]
# {{worst}} records out of {{len(outside)}} take the gap from {{stretched[1][0]:.2f}} to {{stretched[10][0]:.2f}}, and no attack by threshold notices. The other way round is
# Exercise 7.2.

# %% [markdown]
# ## Exercise 7.1 · difficulty 2/5 · about 10 minutes
# Turn Fig. 1b round: how many weights does it take to carry a given share of the total sensitivity?

# %%
from mialib.course.exercises import lesson_07 as checks


def weights_needed(gradient: np.ndarray, share: float) -> int:
    """The smallest number of entries whose absolute values add up to `share` of the total."""
    raise NotImplementedError


checks.check_weights_needed(weights_needed)

# %% [markdown]
# <details><summary>Hint 1</summary>Gradients have signs; sensitivities are sizes. Take the largest first.</details>
#
# <details><summary>Hint 2</summary>`np.cumsum` gives what the first 1, 2, 3 … carry; `np.searchsorted` finds where that reaches a value.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def weights_needed(gradient: np.ndarray, share: float) -> int:
#     carried = np.cumsum(np.sort(np.abs(gradient))[::-1])
#     return int(np.searchsorted(carried, share * carried[-1])) + 1
# ```
#
# For 89.27 % our network needs {{(np.cumsum(np.sort(np.abs(gradient))[::-1]) < 0.8927 * np.abs(gradient).sum()).mean():.0%}} of its weights, not 20 %.
# </details>

# %% [markdown]
# ## Exercise 7.2: leak without a gap · difficulty 3/5 · about 15 minutes
# Make up losses of $n$ members and $n$ non-members with *equal means*, none below 0, that a threshold tells apart almost perfectly (advantage 0.98 or more for $n \ge 100$).


# %%
def silent_leak(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses of members (n,) and of non-members (n,): no loss gap, and yet a full leak."""
    raise NotImplementedError


checks.check_silent_leak(silent_leak)

# %% [markdown]
# <details><summary>Hint</summary>A mean can be moved by a single record; a threshold does not care how far away it is.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def silent_leak(n: int) -> tuple[np.ndarray, np.ndarray]:
#     member, non_member = np.zeros(n), np.ones(n)
#     member[0] = n  # one member that the model gets badly wrong
#     return member, non_member
# ```
#
# So a defense may bring the gap to zero and protect hardly anyone.
# </details>

# %% [markdown]
# ## Recap
# - The gap's gradient takes two backward passes over the records, in eval mode, and leaves the model as it was.
# - The top 20 % of our weights carry {{top}} of it; normal numbers {{by_chance:.2f}}, a shuffled membership {{np.mean(shares['shuffled']):.2f}}. Weights that
#   see no pixel can account for most of the paper's 0.89.
# - Which weights are at the top depends on the batch ({{np.mean(agree):.0%}} in common) and on the epoch.
# - Gap and advantage rise together in training, but a gap of {{rows['λ = 0'][odd]['loss_gap']:.2f}} came with a highest advantage of {{highest.value:.2f}}, and none at all can come with 0.98. Proposition E.1 holds
#   for normal losses of fixed deviation. Real ones are not (profile `{{PROFILE}}`, n = {{is_member.sum()}} + {{(~is_member).sum()}}).
#
# ## What this does not show
# - That PAST does not work: a penalty may help wherever it is put. Notebooks 08 and 09 ask, with controls.
# - The sensitivity of the paper's own trained network; we only counted what its architecture rules out.
# - One small network, one seed, one dataset; the intervals cover batches and records. The tables of epochs are those of profile `quick`.
# - An attacker's threshold comes from a shadow, not from the target's non-members, as the proposition has it.
#
# ## References
# - *Defending membership inference attacks via privacy-aware sparsity tuning* (PAST), Section 3.1, Appendices D to F: Fig. 1, 10, 11, 13 and Proposition E.1.
# - S. Yeom and others, 2018, *Privacy risk in machine learning*: the gap and the advantage of a bounded loss.
