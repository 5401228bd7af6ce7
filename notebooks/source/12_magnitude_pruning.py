# ---
# title: Magnitude pruning
# question: Does a network with fewer weights remember less about its members?
# goals:
#   - write iterative magnitude pruning from scratch, and keep pruned weights at zero
#   - count remaining parameters as the sparsity paper does
#   - draw accuracy against defense level with repeats, fit the slope, and apply the paper's rule of significance
#   - say what a claim about privacy is worth before and after it is compared at equal accuracy
# needs: notebooks 03 and 06; stochastic gradient descent with momentum
# read: 30
# reproduces: Gonon and others 2023, Section 3.1, Fig. 1 and 2, and the percentages of Section 4, on our data
# cover: 12_matched
# ---

# %% [markdown]
# ## Fewer weights, fewer memories?
# A model that memorises its members needs somewhere to keep them. So take the room away: set most weights to zero for good, which is called **pruning**, and a network with few weights
# left is **sparse**. Gonon and others (2023) report that sparse networks are harder to attack and nearly as accurate. Their recipe is **iterative magnitude pruning** (IMP): train, prune the
# smallest weights, train again, prune again. They published no code.

# %%
from functools import cache
from math import ceil

import numpy as np
import torch
from torch.nn import functional as F

from mialib import data, metrics, models, profiles
from mialib.configurations import imp
from mialib.course import figures, plots, statistics, sweeps, widgets
from mialib.course.plots import show
from mialib.course.statistics import bonferroni, student
from mialib.defenses import BestCheckpoint, Pruning
from mialib.estimates import Estimate
from mialib.query import to_device
from mialib.sparsity import magnitude
from mialib.training import Recipe, fit

# %%
digits = data.load("digits", size=400)
members, validation = digits.take(np.arange(200)), digits.take(np.arange(200, 400))
(x, y), (x_aside, y_aside) = (
    to_device(part, torch.device("cpu")) for part in (members, validation)
)
recipe = Recipe(epochs=20, batch_size=200, lr=0.5, weight_decay=1e-3)


def small_model() -> models.Network:
    return models.build("mlp", shape=digits.x.shape[1:], classes=10, widths=(32,), seed=0)


# %% [markdown]
# ## Which weights go, from scratch
# A **mask** says where a weight remains. Each round prunes a share of what *remains*, the smallest by absolute value. The threshold is **global**: one for all layers, so a layer of small weights
# may lose nearly everything. Only weights of linear layers and convolutions are pruned; a bias or a normalisation is not.


# %%
def weights_of(model: torch.nn.Module) -> list[torch.Tensor]:
    return [layer.weight for layer in (model.features[1], model.classify)]


def largest(weights: list[torch.Tensor], share: float) -> list[torch.Tensor]:
    """The masks after a `share` of what remains is pruned."""
    sizes = torch.cat([w.detach().abs().flatten() for w in weights])
    remaining = sizes[sizes > 0]
    threshold = remaining.kthvalue(ceil(share * len(remaining))).values
    return [w.detach().abs() > threshold for w in weights]


def masked_step(model: torch.nn.Module, masks: list[torch.Tensor], optimizer) -> None:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    for w, mask in zip(weights_of(model), masks, strict=True):
        w.grad *= mask
    optimizer.step()


# %% [markdown]
# ## Pruned must stay pruned, from scratch
# A weight of zero comes back to life if *anything* moves it: its gradient, or **momentum**, a fading sum of past gradients. (Weight decay cannot: 0 stays 0.) So: zero the weight, mask every gradient, and
# start each round with a *new* optimizer. **Predict**: how many of the pruned weights are alive after ten steps if we forget the mask, or the new optimizer?


# %%
def alive(forget: str) -> list[int]:
    """Of the pruned weights, how many have a weight, a gradient or a momentum that is not zero."""
    model = small_model()
    masks = [torch.ones_like(w) for w in weights_of(model)]
    optimizer = recipe.optimizer(model)
    for _ in range(10):
        masked_step(model, masks, optimizer)
    masks = largest(weights_of(model), 0.36)
    for w, mask in zip(weights_of(model), masks, strict=True):
        w.data *= mask
    if forget != "the new optimizer":
        optimizer = recipe.optimizer(model)
    applied = [mask | (forget == "to mask the gradient") for mask in masks]
    for _ in range(10):
        masked_step(model, applied, optimizer)
    seen = [(w, w.grad, optimizer.state[w]["momentum_buffer"]) for w in weights_of(model)]
    pairs = zip(masks, seen, strict=True)
    return np.sum([[int((t[~mask] != 0).sum()) for t in some] for mask, some in pairs], axis=0)


# %%
pruned = sum(int((~mask).sum()) for mask in largest(weights_of(small_model()), 0.36))
counts = {what: alive(what) for what in ("nothing", "the new optimizer", "to mask the gradient")}
for what, (weight, gradient, momentum) in counts.items():
    print(
        f"forget {what:<20} of {pruned}: weights {weight}, gradients {gradient}, momenta {momentum}"
    )
assert not counts["nothing"].any()
assert counts["the new optimizer"][0] > 0.9 * pruned

# %% [markdown]
# With all three in place, weights, gradients and momenta stay at exactly 0. With the old optimizer {{counts['the new optimizer'][0]}} of {{pruned}} pruned weights are back although their gradients are masked: momentum brought them back.

# %% [markdown]
# ## The loop from scratch
# Now the rounds. The paper adds two things: each round *ends* with the weights of its best epoch on **validation** records, and the next starts from there, with the learning rate's schedule from its beginning.


# %%
def imp_by_hand(model: torch.nn.Module, prunings: int, share: float) -> list[torch.Tensor]:
    masks = [torch.ones_like(w, dtype=torch.bool) for w in weights_of(model)]
    for k in range(prunings + 1):
        masks = largest(weights_of(model), share) if k else masks
        for w, mask in zip(weights_of(model), masks, strict=True):
            w.data *= mask
        optimizer, best = recipe.optimizer(model), -1
        schedule = recipe.scheduler(optimizer)
        for _ in range(recipe.epochs):
            masked_step(model, masks, optimizer)
            schedule.step()
            if (right := (model(x_aside).argmax(dim=1) == y_aside).sum().item()) > best:
                best, kept = right, {name: v.clone() for name, v in model.state_dict().items()}
        model.load_state_dict(kept)
    return masks


# %% [markdown]
# The library's round is a defense, `Pruning`: it finds the masks (`smallest_pruned`) and hands them to torch's own pruning. Three prunings of 36 %, by hand and by the library:

# %%
mine, library = small_model(), small_model()
found = imp_by_hand(mine, 3, 0.36)
for defense in (BestCheckpoint(), *[Pruning(share=0.36)] * 3):
    fit(library, members, recipe, defense=defense, validation=validation, device="cpu")
for by_hand, mask in zip(found, magnitude.masks(library).values(), strict=True):
    assert torch.equal(by_hand, mask)
for name, value in library.state_dict().items():
    assert torch.allclose(value, mine.state_dict()[name], atol=1e-5), name
left = float(torch.cat([mask.flatten() for mask in found]).float().mean())
right = [(mine(part).argmax(1) == said).float().mean().item()
         for part, said in ((x, y), (x_aside, y_aside))]  # fmt: skip
print(f"{left:.1%} of the weights remain; accuracy {right[0]:.2f} (members), {right[1]:.2f}")

# %% [markdown]
# ## How the paper counts
# It prunes 20 % of what remains, 24 times, in a ResNet-20 on colour images. **Predict**: after 24 prunings, which are there more of, weights or the parameters that are never pruned?

# %%
network = models.build("resnet20", shape=(3, 32, 32), classes=10)
total = sum(parameter.numel() for parameter in network.parameters())
prunable = sum(layer.weight.numel() for layer in magnitude.layers(network).values())
percent = [magnitude.remaining(network)]
for _ in range(24):
    magnitude.hold(network, magnitude.smallest_pruned(network, 0.2))
    magnitude.release(network)
    percent.append(magnitude.remaining(network))
assert (total, prunable) == (272_474, 270_896)
assert [f"{percent[k]:.1f}" for k in (3, 4, 8, 16)] == ["51.5", "41.3", "17.3", "3.4"]
print("  ".join(f"{k}: {percent[k]:.1f} %" for k in (1, 2, 3, 4, 8, 16, 24)))

# %% [markdown]
# Of {{total:,}} parameters {{prunable:,}} can be pruned. The paper counts *all* others as nonzero: only then do 3, 8 and 16 prunings give its 51.5, 17.3 and 3.4 %. For 4 it prints 41.4; we count {{percent[4]:.2f}}.
# After 24 prunings {{percent[24]:.2f}} % remain, and more than half of them are biases and normalisations.

# %% [markdown]
# ## The experiment
# Fig. 2 of the paper, drawn from our own objects: letters instead of photographs, and a ResNet-20 of half the width. The **discriminator** (notebook 03) sees a record's class, the network's output, and how the output answers to a little noise. Nine are trained
# on the shadow's answers, the best there attacks.

# %%
dense = profiles.load("quick").experiments["images dense"]
pair = {side: dense.but(side=side) for side in ("target", "shadow")}
picture = figures.pipeline(
    {side: one.side_records() for side, one in pair.items()},
    {side: one.build_model() for side, one in pair.items()},
    "discriminator\nbest of 9 perceptrons",
)
show(picture, name="12_pipeline")
rounds = imp(dense, 8, share=0.36)  # runs.get_all(rounds) would train them
numbers = picture.numbers
print(rounds[-1].defense, "after", len(rounds[-1].before), "trainings")

# %% [markdown]
# **What to see.** Each network has {{numbers['target train']}} members and is asked about {{numbers['target test']}} non-members; {{numbers['target validation']}} validation records are neither. The shadow is *pruned like the target*: the attacker is adaptive.
# One of our rounds prunes 36 % of what remains, as two of the paper's ($0.8^2 = 0.64$); eight rounds are its 16. A round trains for {{dense.recipe.epochs}} epochs instead of 300.

# %% [markdown]
# The trained rounds ship with the course, as what every attack said of every record (`tools/sweep.py`), three repeats each (new first weights and orders, the same records). The paper's **defense level** is $D = 200 - 2A$, where $A$ is the percentage that the discriminator gets right: 100 is a coin toss, 0 is all known.
# With equally many members and non-members, $D = 100\,(1 - \text{advantage})$; ours are not equally many, and we take that form, which weighs both alike. **Predict** the three curves: accuracy, defense level, share that remains.

# %%
sweep = sweeps.load("pruned")
ASKED = {"accuracy": "accuracy", "defense": "discriminator", "strongest": "highest"}


@cache
def value(row: int, what: str) -> float:
    """Of one network: accuracy or defense level in percent, or 100 times its loss gap."""
    if what == "loss gap × 100":
        return 100 * sweep.rows[row]["loss_gap"]
    number = 100 * float(sweep.draws(row, ASKED[what])[0])
    return round(number if what == "accuracy" else 100 - number, 3)


def three(**settings) -> list[int]:
    """The three repeats of a setting."""
    return [sweep.find(seed=seed, **settings) for seed in range(3)]


def spread(rows: list[int]) -> tuple[Estimate, Estimate]:
    """Mean ± standard deviation of accuracy and defense level."""
    accuracy, defense = ([value(k, what) for k in rows] for what in ("accuracy", "defense"))
    return statistics.spread(accuracy), statistics.spread(defense)


# %%
step = {"defense": "Pruning", "rewind": False}
by_round = [three(defense="BestCheckpoint", width=8)]
by_round += [three(**step, share=0.36, rounds=k) for k in range(1, 9)]
at = [spread(rows) for rows in by_round]
remains = [sweep.rows[rows[0]]["remaining"] for rows in by_round]
curves = {
    "test accuracy": [accuracy for accuracy, _ in at],
    "defense level": [defense for _, defense in at],
    "parameters that remain": remains,
}
picture = plots.lines(range(9), curves, xlabel="prunings of 36 %", ylabel="percent")
show(picture, name="12_rounds")


def pm(estimate: Estimate) -> str:
    return f"{estimate.value:.1f} ± {estimate.value - estimate.low:.1f}"


jump = [(value(k, "defense"), sweep.rows[k]["loss_gap"]) for k in (by_round[3][1], by_round[4][1])]
assert at[8][0].value > at[0][0].value

# %% [markdown]
# **What to see.** {{remains[8]:.1f}} % of the parameters remain, and the mean accuracy does not fall: {{pm(at[0][0])}} before, {{pm(at[8][0])}} after (mean ± standard deviation of three repeats, as the bands). The defense level is {{pm(at[0][1])}} and {{pm(at[8][1])}}: repeats
# differ as much as rounds. Part of that is probably the *shadow's* luck: in one repeat $D$ jumps from {{jump[0][0]:.0f}} to {{jump[1][0]:.0f}} between rounds 3 and 4, while the loss gap, which needs no shadow, stays (non-members' minus members' mean loss; {{jump[0][1]:.2f}} and {{jump[1][1]:.2f}}).

# %% [markdown]
# ## Look inside a round
# Move the **round**. Watch which layers empty first, how the weights that survive spread, and the attacks. *Think!* Why do the layers 9 to 11, the largest, lose most?

# %%
shapes = {name: layer.weight.shape for name, layer in magnitude.layers(dense.build_model()).items()}
zero = np.searchsorted(sweeps.EDGES, 0, side="right") - 1  # the bin of the pruned weights
looks = []
for row, *_ in by_round:
    bits = {name: np.frombuffer(bytes.fromhex(text), np.uint8)
            for name, text in sweep.rows[row]["masks"].items()}  # fmt: skip
    masks = {name: np.unpackbits(bits[name], count=shape.numel()).reshape(shape)
             for name, shape in shapes.items()}  # fmt: skip
    histogram = np.array(sweep.rows[row]["weights"]["histogram"])
    histogram[zero] -= sum(int((mask == 0).sum()) for mask in masks.values())
    looks.append(
        (masks, histogram, {attack: sweep.advantage(row, attack) for attack in sweep.attacks})
    )


# %%
def round_view(round: float) -> plots.Picture:
    (_, first, before), (masks, histogram, now) = looks[0], looks[k := int(round)]
    accuracy, defense = (value(by_round[k][0], what) for what in ("accuracy", "defense"))
    title = f"round {k}: {remains[k]:.1f} % remain, accuracy {accuracy:.0f} %, D {defense:.0f}"
    mine = f"round {k} "
    return figures.round_view(
        masks, {"dense": first, mine: histogram}, {"dense": before, mine: now}, title=title
    )


widgets.explore(round_view, round=widgets.steps(range(9), start=4, label="round"))

# %% [markdown]
# *Without a kernel*: the first, a middle and the last round (seed 0).

# %%
rows = plots.small_multiples(round_view, round=[1, 4, 8])
show(rows, name="12_inside")
few = int(looks[8][0]["features.11.conv2"].sum())

# %% [markdown]
# **What to see.** One threshold for all layers is not one share for all. After eight rounds the stem keeps {{rows.numbers['features.0 remaining at 8']:.0%}} and layer 11b {{few}} of its {{shapes['features.11.conv2'].numel():,}} weights: the shortcut carries the image past it. The survivors are large: the middle of
# the histogram is nearly empty.

# %% [markdown]
# ## Fig. 1: accuracy against defense
# The paper draws every network by its means over three repeats, with standard deviations, and a line of slope −3.25: a point of accuracy for 3.25 points of defense. It calls a gain **significant** if mean ± sd is disjoint from the dense network's mean ± sd, and finds significant changes from 17.3 % down, and at 41.4 and
# 51.5 %. From 17.3 to 3.4 %, a relative loss of $p$ % in accuracy goes with a relative gain of 3.6 $p$ % in defense. **Predict** our slope.


# %%
def slope(rows: list[int]) -> float:
    """Of the least-squares line of defense on accuracy."""
    points = [[value(row, what) for row in rows] for what in ("accuracy", "defense")]
    return float(np.polyfit(*points, 1)[0])


middle = np.array([[accuracy.value, defense.value] for accuracy, defense in at])
fitted = float(np.polyfit(*middle.T, 1)[0])
by_seed = student([slope([rows[seed] for rows in by_round]) for seed in range(3)])
relative = middle[4:] / middle[0] - 1  # of accuracy and defense, from 17.7 % on
levels = [[value(row, "defense") for row in rows] for rows in by_round]
assert not any(metrics.significant(some, levels[0]) for some in levels[1:])
assert by_seed.low < -3.25 < 3.25 < by_seed.high
assert (relative[:, 0] > 0).all()

# %%
lines = {
    f"fitted, {fitted:+.2f}": (fitted, *middle.mean(axis=0)),
    "the paper's, −3.25": (-3.25, *middle[0]),
}
labels = {"IMP": [f"{remains[k]:.1f} %" if k in (4, 6, 8) else "" for k in range(1, 9)]}
picture = figures.defense_plane({"IMP": at[1:]}, labels=labels, star=at[0], slopes=lines)
show(picture, name="12_plane")

# %% [markdown]
# **What to see.** The line through our means rises, {{fitted:+.2f}}. Fitted to each repeat by itself, the slope is {{by_seed.value:.1f}} [{{by_seed.low:.1f}}, {{by_seed.high:.1f}}] on average (Student's interval): −3.25 is in there, and so are 0 and +3.25. By the paper's rule **no** round is significant. The ratio beside its 3.6 does not exist: from
# {{remains[4]:.1f}} % down the accuracy is {{relative[:, 0].min():.0%}} to {{relative[:, 0].max():.0%}} *higher* than the dense network's, so there is no loss to divide by.

# %% [markdown]
# ## More training, or fewer weights?
# Why should pruning raise the accuracy? Every round is also {{dense.recipe.epochs}} more epochs. The control runs the same rounds and prunes *nothing*. Since repeats differ so much, set each beside *its own* dense network. The loss gap needs no shadow, so its luck is not in it. **Predict**: what does retraining alone do?

# %%
from dataclasses import replace

control = [three(**step, share=0.0, rounds=k) for k in (1, 2, 3)]


def change(rows: list[int], others: list[int], what: str = "defense") -> Estimate:
    """`what` of `rows` minus that of `others`, repeat by repeat."""
    return student([value(a, what) - value(b, what) for a, b in zip(rows, others, strict=True)])


def points(estimate: Estimate, scale: float = 1.0, digits: int = 1) -> str:
    numbers = (number / scale for number in (estimate.value, estimate.low, estimate.high))
    return "{} [{}, {}]".format(*(f"{number:.{digits}f}" for number in numbers))


# %%
MEASURES = ("accuracy", "defense", "loss gap × 100")
against = {
    arm: {
        f"{what}, round {k}": change(some[k], by_round[0], what)
        for k in (1, 3)
        for what in MEASURES
    }
    for arm, some in {"IMP": by_round, "no pruning": [by_round[0], *control]}.items()
}
label = "change against the dense network, in points"
picture = plots.comparison(against, label=label, dotted="no difference")
caption = "Mean over three repeats with Student's 95 % interval; dotted: no difference."
show(replace(picture, caption=caption), name="12_control")
behind = change(control[2], by_round[3], "accuracy")
gap = change(by_round[3], control[2], "loss gap × 100")
ends = change(by_round[8], by_round[0], "loss gap × 100")
three_rounds = [against[arm][f"{what}, round 3"] for arm, what in
                (("no pruning", "accuracy"), ("IMP", "loss gap × 100"))]  # fmt: skip
assert min(one.low for one in (*three_rounds, gap, behind)) > 0
assert ends.low < 0 < ends.high
for arm in against.values():
    assert all(arm[f"defense, round {k}"].low < 0 < arm[f"defense, round {k}"].high for k in (1, 3))

# %% [markdown]
# **What to see.** Retraining alone adds {{points(three_rounds[0])}} points of accuracy in three rounds: our dense network was not done after {{dense.recipe.epochs}} epochs, and pruning stays {{points(behind)}} behind, which is just told from 0. No change of the defense level can be told from 0. In round 3 that of the loss gap can: three prunings
# *widen* it by {{points(three_rounds[1], 100, 2)}}, which is {{points(gap, 100, 2)}} more than the control does. In round 8 nothing can be told: {{points(ends, 100, 2)}}.

# %% [markdown]
# ## All at once, or from the start
# Two relatives of IMP. **One-shot** pruning removes as much in a single round. **Rewinding**, from the lottery ticket of Frankle and Carbin, sets the survivors back to their values *before the very first step*: only the mask is inherited. (The paper says *rewound* of its return to the best epoch.)

# %%
from IPython.display import Markdown

once = {k: three(**step, share=round(1 - 0.64**k, 4), rounds=1) for k in (4, 8)}
rewound = {k: three(defense="Pruning", rewind=True, rounds=k) for k in range(1, 9)}
table = ["| remains | way | accuracy | defense level |", "|---|---|---|---|"]
table.append(f"| 100 % | dense | {pm(at[0][0])} | {pm(at[0][1])} |")
for k in (4, 8):
    for way, rows in {"IMP": by_round[k], "one-shot": once[k], "rewound": rewound[k]}.items():
        table.append(f"| {remains[k]:.1f} % | {way} | {' | '.join(map(pm, spread(rows)))} |")
costs = change(once[8], by_round[8], "accuracy")
learns = [
    np.mean([sweep.rows[k]["train_accuracy"] for k in some[8]]) for some in (by_round, rewound)
]
assert costs.high < 0
for rows in (once[8], rewound[8]):
    assert metrics.significant([value(row, "defense") for row in rows], levels[0])
for rows in (once[4], rewound[4]):
    assert not metrics.significant([value(row, "defense") for row in rows], levels[0])
assert spread(rewound[8])[0].value > at[8][0].value
Markdown("\n".join(table))

# %% [markdown]
# At {{remains[4]:.1f}} % the defense levels overlap. At {{remains[8]:.1f}} % the way matters, and two are significant by the paper's rule. One-shot pruning pays with accuracy: {{points(costs)}} points against IMP. The rewound networks do not pay, and they no longer know all their members: {{learns[1]:.0%}} are classified correctly, {{learns[0]:.0%}} under IMP. A guess: IMP hands on weights
# that have memorised for {{9 * dense.recipe.epochs}} epochs, rewinding none.

# %% [markdown]
# ## At equal accuracy
# In a second article the same authors say that sparsity, privacy and classification error rise *together*, and that comparing networks of different sparsity without fixing the accuracy is **misleading**. Whoever learned little has little to tell. So we make dense networks worse in two dull ways: **stopped early**,
# or built **narrow** (2, 3 or 5 channels instead of 8). **Predict**: do sparse networks lie above them?

# %%
stopped = {after: three(defense="Stop", after=after) for after in (3, 5, 7, 9, 12)}
narrow = {width: three(defense="BestCheckpoint", width=width) for width in (2, 3, 5)}
families = {
    "IMP": by_round[1:],
    "rewound": list(rewound.values()),
    "one-shot": list(once.values()),
    "dense, stopped early": list(stopped.values()),
    "dense, narrow": list(narrow.values()),
    "dense, retrained": control,
}

# %%
labels = {
    "rewound": [""] * 7 + [f"{remains[8]:.1f} %"],
    "one-shot": ["", f"{remains[8]:.1f} %"],
    "dense, stopped early": [f"epoch {after}" for after in stopped],
    "dense, narrow": [f"width {width}" for width in narrow],
}
series = {name: [spread(rows) for rows in some] for name, some in families.items()}
show(figures.defense_plane(series, labels=labels, star=at[0]), name="12_matched")
along = student([slope([rows[s] for rows in (*stopped.values(), by_round[0])]) for s in range(3)])
heard = [[sweep.draws(k, what)[0] for k in range(len(sweep.rows))] for what in
         ("discriminator", "correctness")]  # fmt: skip
fooled = np.flatnonzero(np.less(*heard))
assert along.high < 0
assert {row for rows in (*narrow.values(), once[8], rewound[8]) for row in rows} <= set(fooled)
strongest = [np.mean([value(k, "strongest") for k in rows]) for rows in (narrow[5], rewound[8])]
lost = [[one.value / whole.value - 1 for one, whole in zip(spread(rows), at[0], strict=True)]
        for rows in stopped.values()]  # fmt: skip
ratios = [-defense / accuracy for accuracy, defense in lost]
assert min(ratios) < 3.6 < max(ratios)

# %% [markdown]
# **What to see.** The dense networks alone draw a falling line: stopped early, {{points(along)}} points of defense for each of accuracy, with not one weight pruned. A relative loss of $p$ % in accuracy comes with a relative gain of {{min(ratios):.1f}} $p$ to {{max(ratios):.1f}} $p$ %, beside the paper's 3.6 $p$ for pruning. One-shot pruning at {{remains[8]:.1f}} % lies above, and its cross reaches them. Two settings stand out: rewound networks at {{remains[8]:.1f}} %, and dense ones of width 5.
# Beware of $D$: on {{len(fooled)}} of {{len(sweep.rows)}} networks, among them all narrow ones and the rewound and one-shot ones at {{remains[8]:.1f}} %, the discriminator does worse than *correctness*, which asks only whether the answer is right. By the strongest attack width 5 falls to {{strongest[0]:.0f}}, the rewound to {{strongest[1]:.0f}}.

# %% [markdown]
# Now in numbers. Each sparse network meets the mean of the **three dense networks nearest in test accuracy**, out of all repeats of all dense settings.

# %%
dense_rows = [by_round[0], *control, *stopped.values(), *narrow.values()]
pool = [row for rows in dense_rows for row in rows]


def nearest(row: int) -> list[int]:
    return sorted(pool, key=lambda k: abs(value(k, "accuracy") - value(row, "accuracy")))[:3]


def excess(rows: list[int], what: str) -> Estimate:
    """How far each repeat lies above its three nearest, on average."""
    return student([value(a, what) - np.mean([value(b, what) for b in nearest(a)]) for a in rows])


ways = {"IMP": dict(enumerate(by_round[1:], 1)), "rewound": rewound, "one-shot": once}
named = {f"{way}, {remains[k]:.1f} %": some[k] for way, some in ways.items() for k in some}
claims = {
    "against its own dense": {n: change(rows, by_round[0]) for n, rows in named.items()},
    "at equal accuracy": {n: excess(rows, "defense") for n, rows in named.items()},
    "same, strongest attack": {n: excess(rows, "strongest") for n, rows in named.items()},
}

# %%
chosen = {"IMP": (4, 8), "rewound": (4, 6, 8), "one-shot": (4, 8)}
shown = [f"{way}, {remains[k]:.1f} %" for way, some in chosen.items() for k in some]
drawn = {claim: {name: some[name] for name in shown} for claim, some in claims.items()}
label = "difference of defense level, in points"
picture = plots.comparison(drawn, label=label, dotted="no difference")
show(replace(picture, caption=caption), name="12_claims")
own, equal, strong = claims.values()
apart = max(abs(excess([row] * 3, "accuracy").value) for rows in named.values() for row in rows)
last, hard = shown[4], shown[6]
met = {match for row in rewound[8] for match in nearest(row)}
paired = [change(rewound[8], control[2], what) for what in ("strongest", "accuracy")]
wide = [bonferroni(one, comparisons=18).low for one in (equal[last], strong[last])]
longer = sum(k in rows for rows in control for row in rewound[8] for k in nearest(row))
assert min(own[hard].low, paired[0].low, wide[1]) > 0 > wide[0]
assert len({sweep.rows[k]["seed"] for k in met}) == 2
assert [name for name in named if equal[name].low > 0 and strong[name].low > 0] == [last]
assert all(one[name].low < 0 < one[name].high for one in (equal, strong)
           for name in named if not name.startswith("rewound"))  # fmt: skip

# %% [markdown]
# **What to see.** One-shot pruning to {{remains[8]:.1f}} % stands {{points(own[hard], digits=0)}} points over its own dense network, and {{points(equal[hard], digits=0)}} over dense networks of its accuracy: the gain cannot be told from what a worse network gives. Nor can any round of IMP. One of the {{len(named)}} settings passes, by the discriminator *and* by the strongest attack: rewound, {{remains[8]:.1f}} %, with {{points(equal[last], digits=0)}} and
# {{points(strong[last], digits=0)}} points. Both intervals are too narrow: its nine matches are {{len(met)}} networks of two training runs, whose luck is not counted. Against its own retrained network it is {{points(paired[0], digits=0)}} by the strongest attack, at {{points(paired[1])}} points of accuracy. (The mean of three matches is at most {{apart:.1f}} points of accuracy off.)
#
# What does that do to the claim? "Sparse networks are harder to attack" may say no more than "worse networks are harder to attack"; a *defense* must beat a network that was simply trained less. The paper's own recipe does not show that here, though intervals this wide refute nothing. The lottery ticket may, at {{remains[8]:.1f}} %; but {{longer}} of its nine matches were trained *longer*, and it is the best of {{len(named)}}:
# widened for so many comparisons (Bonferroni), its interval begins at {{wide[0]:.0f}} by the discriminator, and at {{wide[1]:.0f}} by the strongest attack.

# %% [markdown]
# ## On photographs
# Once each on CIFAR-10 (`data/measured/`): a ResNet-20 of full width, 3,000 members, 50 epochs. IMP prunes 56 % twice and trains for 25 epochs after each. The dense networks are stopped after 27 or 30 of their 50 epochs. **Predict** the order.

# %%
from mialib.course import real_runs

PRUNED = "IMP, two prunings by 56 %"
STOPPED = [f"stopped early, epoch {epoch}" for epoch in (27, 30)]
less = real_runs.difference(PRUNED, "undefended", "highest")
same, more = (real_runs.difference(PRUNED, STOPPED[1], w) for w in ("accuracy", "highest"))
assert same.low < 0 < same.high
assert more.low > 0.05
real = real_runs.sweep()
assert all(real.correct[real.find(name=n)][real.is_member].all() for n in (PRUNED, STOPPED[1]))
real_runs.table("undefended", PRUNED, *STOPPED, level=True)

# %% [markdown]
# **What to see.** With a fifth of the parameters the highest advantage changes by {{less}} (paired, n = 3,000 + 3,000). Stopped at epoch 30, a dense network has the same accuracy (IMP minus it: {{same}}) and leaks *less*: {{more}}.
# Both classify every member correctly; IMP had 70 epochs more to become sure. At equal accuracy pruning *loses* here. One training each.

# %% [markdown]
# ## Exercise 12.1 · difficulty 2/5 · about 10 minutes
# How many prunings does a percentage take, as the paper counts?

# %%
from mialib.course.exercises import lesson_12 as checks


def prunings_to(prunable: int, others: int, share: float, percent: float) -> int:
    """The fewest prunings of ⌈share · what is left⌉ after which at most `percent` remains."""
    raise NotImplementedError


checks.check_prunings_to(prunings_to)

# %% [markdown]
# <details><summary>Hint</summary>A loop over rounds; `others` are never pruned and always counted.</details>
# <details><summary>Solution</summary>
#
# ```python
# def prunings_to(prunable, others, share, percent):
#     left, rounds = prunable, 0
#     while 100 * (left + others) / (prunable + others) > percent:
#         left -= int(np.ceil(share * left))
#         rounds += 1
#     return rounds
# ```
# </details>

# %% [markdown]
# ## Exercise 12.2 · difficulty 3/5 · about 15 minutes
# How good is the paper's rule? Let two experiments of `repeats` runs have the *same* normal distribution, and count how often mean ± sd of the two do not overlap.


# %%
def false_alarms(repeats: int, rng: np.random.Generator) -> float:
    """The share of pairs of equal experiments that the rule calls different."""
    raise NotImplementedError


checks.check_false_alarms(false_alarms)

# %% [markdown]
# <details><summary>Hint</summary>Draw 100,000 pairs at once. The intervals are disjoint where the means are farther apart than the two sd (`ddof=1`) together.</details>
# <details><summary>Solution</summary>
#
# ```python
# def false_alarms(repeats, rng):
#     runs = rng.normal(size=(2, 100_000, repeats))
#     gap = np.abs(np.diff(runs.mean(axis=2), axis=0))[0]
#     return (gap > runs.std(axis=2, ddof=1).sum(axis=0)).mean()
# ```
#
# With three repeats the rule errs in {{checks.RATES[3]:.0%}} of the comparisons, and the paper makes some thirty (24 prunings, 6 butterflies) with one dense network.
# </details>

# %% [markdown]
# ## Recap
# - IMP prunes the smallest of what remains, by one threshold for all layers, and trains again. Zero the weight, mask the gradient, take a new optimizer.
# - The paper's percentages count biases and normalisations as remaining.
# - Our networks lost {{100 - remains[8]:.0f}} % of their parameters and, against the dense ones, no accuracy that could be measured; the control gained more. The defense level did not change significantly; the slope may be −3.25, 0 or positive.
# - A gain in privacy counts at equal accuracy, and after the same training. At equal accuracy neither IMP nor one-shot pruning could be told from dense networks; networks rewound to their first weights could, in one of {{len(named)}} settings. On photographs, once, IMP leaked more than a dense network of its accuracy.
#
# ## What this does not show
# - The paper's scale: 14,000 photographs, augmented, 300 epochs a round. Our {{numbers['target train']}} letters are memorised at nearly any sparsity.
# - More than three repeats, or other records.
# - A control as long as eight rounds: ours ends after three.
# - What several shadows would say.
#
# ## References
# - A. Gonon and others, 2023, *Sparsity in neural networks can improve their privacy*, Sections 2 to 4, Fig. 1 and 2, Table 1.
# - A. Gonon and others, 2023, *Can sparsity improve the privacy of neural networks?*, arXiv 2304.07234: the caveat about equal accuracy.
# - J. Frankle and M. Carbin, 2019, *The lottery ticket hypothesis*, Section 1.
# - X. Yuan and L. Zhang, 2022, *Membership inference attacks and defenses in neural network pruning*: pruning that leaks *more*.
# - Next: **13**, networks that are sparse from the beginning.
