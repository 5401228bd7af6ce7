# ---
# title: Magnitude pruning
# question: Does a network with fewer weights remember less about its members?
# goals:
#   - write iterative magnitude pruning from scratch, and keep pruned weights at zero
#   - count remaining parameters as the sparsity paper does
#   - draw defense level against accuracy, and fit a slope with an interval over trainings
#   - compare a sparse network with a dense one of the same accuracy, and say on which records the match was found
# needs: notebooks 03 and 06; stochastic gradient descent with momentum
# read: 40
# reproduces: after Gonon and others 2023, Fig. 1 and 2, on our data; the percentages of its Section 4, exactly
# cover: 12_matched
# ---

# %% [markdown]
# ## Fewer weights, fewer memories?
# A model that memorises its members needs somewhere to keep them. So take the room away: set most weights to zero for good. That is called **pruning**, and a network with few weights left is **sparse**.
#
# Gonon and others (2023) write that "sparsity improves the privacy of the network, while preserving comparable performances on the task at hand" (abstract). They add that "larger scale experiments are needed before confirming this trend" (Section 1).
# Their recipe is **iterative magnitude pruning** (IMP): train, prune the smallest weights, train again, prune again. We know of no published code of theirs, so we write it ourselves. The symbols of this lesson:
#
# | symbol | meaning |
# |---|---|
# | $A$ | the percentage of records that the paper's attack, its discriminator, gets right |
# | $D$ | the defense level, $200 - 2A$: 100 for a coin toss, 0 if every answer is right |
# | $n$ | how many members + non-members an attack is asked about |

# %%
from collections import Counter
from dataclasses import replace
from functools import partial
from math import ceil

import numpy as np
import torch
from torch.nn import functional as F

from mialib import data, metrics, models, papers, profiles
from mialib.course import figures, headlines, plots, sparse, statistics, widgets
from mialib.course.figures.sparsity import short_layer
from mialib.course.plots import show
from mialib.course.plots.spoken import brief
from mialib.defenses import BestCheckpoint, Pruning
from mialib.estimates import Estimate, words
from mialib.experiments import results
from mialib.query import to_device
from mialib.sparsity import magnitude
from mialib.training import Recipe, fit

# %% [markdown]
# We write it on a tiny network and 200 digits, where each step takes a moment.

# %%
verdict = partial(words, same="not significantly different")
points = partial(brief, digits=1)
digits = data.load("digits", size=400)
members, validation = digits.take(np.arange(200)), digits.take(np.arange(200, 400))
x, y = to_device(members, torch.device("cpu"))
x_aside, y_aside = to_device(validation, torch.device("cpu"))
recipe = Recipe(epochs=20, batch_size=200, lr=0.5, weight_decay=1e-3)


def small_model() -> models.Network:
    return models.build("mlp", shape=digits.x.shape[1:], classes=10, widths=(32,), seed=0)


# %% [markdown]
# ## Which weights go, from scratch
# A **mask** says where a weight remains. Each round prunes a share of what *remains*: the smallest weights by absolute value. The threshold is **global**, one for all layers, so a layer of small weights
# may lose nearly everything. Only weights of linear layers and convolutions are pruned; biases and normalisations are not.


# %%
def weights_of(model: torch.nn.Module) -> list[torch.Tensor]:
    return [layer.weight for layer in (model.features[1], model.classify)]


def largest(weights: list[torch.Tensor], share: float) -> list[torch.Tensor]:
    """The masks after a `share` of what remains is pruned."""
    sizes = torch.cat([w.detach().abs().flatten() for w in weights])
    remaining = sizes[sizes > 0]
    threshold = remaining.kthvalue(ceil(share * len(remaining))).values
    return [w.detach().abs() > threshold for w in weights]


# %% [markdown]
# A mask is applied twice: to the weights, once, and to their gradients, in every step.


# %%
def apply_masks(model: torch.nn.Module, masks: list[torch.Tensor]) -> None:
    for w, mask in zip(weights_of(model), masks, strict=True):
        w.data *= mask


def masked_step(model: torch.nn.Module, masks: list[torch.Tensor], optimizer) -> None:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    for w, mask in zip(weights_of(model), masks, strict=True):
        w.grad *= mask
    optimizer.step()


# %% [markdown]
# ## Pruned must stay pruned, from scratch
# A weight of zero comes back to life if *anything* moves it: its gradient, or **momentum**, a fading sum of past gradients. (Weight decay does not: it shrinks a weight in proportion, and 0 stays 0.) So there are three things to do: zero the weight, mask every gradient, and
# start each round with a *new* optimizer. **Predict**: how many of the pruned weights are alive after ten steps if we forget the mask? And if we forget the new optimizer?


# %%
def alive(forget: str) -> list[int]:
    """How many pruned weights there are, and how many of them are no longer zero."""
    model = small_model()
    masks = [torch.ones_like(w, dtype=torch.bool) for w in weights_of(model)]
    optimizer = recipe.optimizer(model)
    for _ in range(10):
        masked_step(model, masks, optimizer)
    masks = largest(weights_of(model), 0.36)
    apply_masks(model, masks)
    if forget != "the new optimizer":
        optimizer = recipe.optimizer(model)
    forgets_mask = forget == "to mask the gradient"
    applied = [mask | forgets_mask for mask in masks]  # True everywhere if forgotten
    for _ in range(10):
        masked_step(model, applied, optimizer)
    pruned = torch.cat([w[~mask] for w, mask in zip(weights_of(model), masks, strict=True)])
    return [len(pruned), int((pruned != 0).sum())]


# %%
counts = {what: alive(what) for what in ("nothing", "the new optimizer", "to mask the gradient")}
for what, (pruned_weights, back) in counts.items():
    print(f"forget {what:<20} {back:>4} of {pruned_weights} pruned weights are alive again")
assert counts["nothing"][1] == 0

# %% [markdown]
# With all three in place, pruned weights stay at exactly 0. With the old optimizer, {{counts['the new optimizer'][1]}} of {{counts['the new optimizer'][0]}} are back although their gradients are masked: momentum moved them. Count the zeros after training; it is the only test that you need.

# %% [markdown]
# ## The loop from scratch
# Now the rounds. The paper adds two things. Each round *ends* with the weights of its best epoch on **validation** records, which are neither members nor asked about. The next round starts from those weights, with the learning rate's schedule from its beginning.


# %%
def imp_by_hand(model: torch.nn.Module, prunings: int, share: float) -> list[torch.Tensor]:
    masks = [torch.ones_like(w, dtype=torch.bool) for w in weights_of(model)]
    for k in range(prunings + 1):
        masks = largest(weights_of(model), share) if k else masks
        apply_masks(model, masks)
        optimizer, best = recipe.optimizer(model), -1
        schedule = recipe.scheduler(optimizer)
        for _ in range(recipe.epochs):
            masked_step(model, masks, optimizer)
            schedule.step()
            right = (model(x_aside).argmax(dim=1) == y_aside).sum().item()
            if right > best:
                best, kept = right, {name: v.clone() for name, v in model.state_dict().items()}
        model.load_state_dict(kept)
    return masks


# %% [markdown]
# The library's round is a defense, `Pruning`: it finds the masks (`smallest_pruned`) and hands them to torch's own pruning. Three prunings of 36 %, by hand and by the library, must give the same masks and the same weights:

# %%
mine, library = small_model(), small_model()
found = imp_by_hand(mine, 3, 0.36)
for defense in (BestCheckpoint(), *[Pruning(share=0.36)] * 3):
    fit(library, members, recipe, defense=defense, validation=validation, device="cpu")
for by_hand, mask in zip(found, magnitude.masks(library).values(), strict=True):
    assert torch.equal(by_hand, mask)
for name, value in library.state_dict().items():
    assert torch.allclose(value, mine.state_dict()[name], atol=1e-5), name
left = torch.cat([mask.flatten() for mask in found]).float().mean()
print(f"{left:.1%} of the weights remain, the same ones by hand and by the library")

# %% [markdown]
# ## How the paper counts
# It prunes 20 % of what remains, 24 times, in a ResNet-20 on colour images. **Predict**: after 24 prunings, which are there more of, weights or parameters that are never pruned?

# %%
network = models.build("resnet20", shape=(3, 32, 32), classes=10)
total = sum(parameter.numel() for parameter in network.parameters())
prunable = sum(layer.weight.numel() for layer in magnitude.layers(network).values())
percent = [magnitude.remaining(network)]
for _ in range(24):
    magnitude.hold(network, magnitude.smallest_pruned(network, 0.2))
    magnitude.release(network)
    percent.append(magnitude.remaining(network))
print("  ".join(f"{k}: {percent[k]:.1f} %" for k in (1, 2, 3, 4, 8, 16, 24)))

# %% [markdown]
# Of {{total:,}} parameters {{prunable:,}} can be pruned. The paper quotes 51.5, 17.3 and 3.4 %, and 3, 8 and 16 prunings give exactly these if *all* other parameters count as remaining. (For 4 it prints 41.4; we count {{percent[4]:.1f}}.)
# After 24 prunings {{percent[24]:.2f}} % remain, and more than half of that are biases and normalisations.

# %% [markdown]
# ## The experiment
# Now on a network worth attacking. We trained every round several times, target and shadow, and kept what each attack found.

# %%
pruned = results("pruned", PROFILE)
print(pruned.about["source"])
found = sparse.networks(pruned)
dense, last = found.dense, found.pruned[-1]
rounds = [dense, *found.pruned]
share = last.rows[0].settings["share"]
remains = [sparse.remaining(one) for one in rounds]
print(f"rounds: {len(found.pruned)}, trainings of each: {len(dense)}")

# %% [markdown]
# The picture is the paper's Fig. 2, drawn from our own objects. The **discriminator** (notebook 03) sees a record's class, the network's output, and how much the output changes under a little noise. Nine perceptrons are trained on the shadow's answers, and the one that is best there attacks the target.

# %%
profile = profiles.load(pruned.about["profile"])
resnet = profile.experiments[dense.rows[0].settings["experiment"]]
pair = {side: resnet.but(side=side) for side in ("target", "shadow")}
records = {side: one.side_records() for side, one in pair.items()}
networks = {side: one.build_model() for side, one in pair.items()}
picture = figures.pipeline(records, networks, "discriminator\nbest of 9 perceptrons")
show(picture, name="12_pipeline")
sizes = picture.numbers
learned = np.mean([row.accuracy["train"] for row in dense.rows])

# %% [markdown]
# **What to see.** Each network has {{sizes['target train']:,}} members and is asked about {{sizes['target test']:,}} non-members. The shadow is *pruned like the target*: the attacker is adaptive.
#
# One of our rounds prunes {{100 * share:.0f}} % of what remains, where the paper prunes 20 %, and takes {{resnet.recipe.epochs}} epochs instead of 300. That is enough to memorise: the dense network classifies {{learned:.1%}} of its members correctly.
#
# The paper judges by the **defense level** $D$. We weigh members and non-members alike, and then $D = 100\,(1 - \text{advantage})$.
# **Predict** three curves over the rounds: test accuracy, defense level, share that remains.

# %%
spread = statistics.spread
curves = {
    "test accuracy": [spread(100 * one.by_seed("accuracy")) for one in rounds],
    "defense level D": [spread(one.by_seed("defense_level")) for one in rounds],
    "remaining": remains,
}
axes = {"xlabel": f"prunings of {100 * share:.0f} %", "ylabel": "percent", "direct": "ends"}
picture = plots.lines(range(len(rounds)), curves, **axes)
caption = f"Mean ± standard deviation of {len(dense)} trainings, as the paper draws."
show(replace(picture, caption=caption), name="12_rounds")
change = {what: last.paired(dense, what) for what in ("accuracy", "defense_level")}

# %% [markdown]
# **What to see.** After {{len(rounds) - 1}} prunings {{remains[-1]:.1f}} % of the parameters remain. Compared with the dense network, the accuracy is {{verdict(change["accuracy"])}} ({{points(sparse.in_percent(change["accuracy"]))}} points).
# The defense level is {{verdict(change["defense_level"])}} ({{points(change["defense_level"])}}).
#
# In brackets are 95 % intervals over {{len(dense)}} trainings and over the records, which the figure's bands are not. The table has the other numbers by which we judge a defense, each of the attack that reaches most.

# %%
middle = len(rounds) // 2
shown = {f"{remains[k]:.1f} % remain": rounds[k] for k in (0, middle, len(rounds) - 1)}
headlines.settings(shown, against=dense, level=True)

# %% [markdown]
# ## Look inside a round
# Move the **round**. Watch which layers empty first. *Think*: there is one threshold for all layers. Why does it not take the same share of each?

# %%
first = [one.fact("sparsity", "by_layer")[0] for one in rounds]
bits = [one.fact("kept weights")[0] for one in rounds]
built = magnitude.layers(resnet.build_model())
shapes = {name: layer.weight.shape for name, layer in built.items()}
emptiest = min(first[-1], key=first[-1].get)
count = {name: shape.numel() for name, shape in shapes.items()}


# %%
def mask_of(k: int, layer: str) -> np.ndarray:
    packed = np.frombuffer(bytes.fromhex(bits[k][layer]), np.uint8)
    return np.unpackbits(packed, count=count[layer]).reshape(shapes[layer])


def round_view(round: float) -> plots.Picture:
    k = int(round)
    kept = sum(first[k][name] * count[name] for name in count)
    return figures.round_view(
        first[k],
        mask_of(k, emptiest),
        layer=emptiest,
        overall=kept / sum(count.values()),
        title=f"round {k}: {remains[k]:.1f} % of the parameters remain",
    )


# %%
widgets.explore(round_view, round=widgets.steps(range(len(rounds)), start=middle, label="round"))

# %% [markdown]
# *Without a kernel*: the first round, a middle one and the last (masks of the first training).

# %%
inside = plots.small_multiples(round_view, round=[1, middle, len(rounds) - 1])
show(inside, name="12_inside")
start = {name: layer.weight.abs().mean().item() for name, layer in built.items()}
end, empty = len(rounds) - 1, short_layer(emptiest)

# %% [markdown]
# **What to see.** One threshold is not one share for all. In the last round the stem, the first layer, keeps {{inside.numbers[f'features.0 remaining at {end}']:.0%}} of its weights, and layer {{empty}} only {{inside.numbers[f'kept at {end}']:,}} of {{count[emptiest]:,}}; the shortcut carries the image past it.
# A layer with many inputs *starts* with small weights ({{start[emptiest]:.3f}} on average there, {{start['features.0']:.3f}} in the stem), so a common threshold meets it first.

# %% [markdown]
# ## Accuracy against defense
# The paper's Fig. 1 draws every network as a point, accuracy to the right and defense level up: "The line has a slope of −3.25." So each point of accuracy given up goes with 3.25 points of defense. **Predict** our slope.
#
# One line through all points would hide how much repeats differ. So we fit one line per seed, and average the slopes with Student's interval:


# %%
def slope_by_hand(seed: int) -> float:
    """Of the least-squares line of defense level on accuracy, both in percent."""
    accuracy = [100 * one.by_seed("accuracy")[seed] for one in rounds]
    level = [one.by_seed("defense_level")[seed] for one in rounds]
    return np.polyfit(accuracy, level, 1)[0]


# %%
ours = sparse.slope(rounds)
assert np.isclose(ours.value, np.mean([slope_by_hand(seed) for seed in range(len(dense))]))
printed = papers.find("sparsity", metric="slope of defense against accuracy").value
beyond = Estimate(*(end - printed for end in ours.triple))  # ours minus the paper's

# %%
drawn = [sparse.place(one) for one in found.pruned]
labels = [f"{left:.1f} %" for left in remains[1:]]
plane = {"star": sparse.place(dense), "labels": labels, "measured": ours, "printed": printed}
show(figures.slope_fan(drawn, **plane), name="12_plane")
levels = [one.by_seed("defense_level") for one in rounds]
significant = sum(metrics.significant(some, levels[0]) for some in levels[1:])

# %% [markdown]
# **What to see.** Our slope is {{points(ours)}} over {{len(dense)}} seeds: {{words(ours, lower="the line falls", higher="the line rises", same="the line may fall, stay flat or rise, so we do not know")}}. The difference from −3.25 is {{words(beyond, lower="significant", higher="significant", same="not significant")}}.
# Our dense network has an accuracy of {{100 * dense.accuracy().value:.1f}} %, the paper's 87.5 %.
#
# The paper calls a change *significant* when mean ± standard deviation is disjoint from that of the dense network. By this rule the change is significant in {{significant}} of our {{len(found.pruned)}} rounds; exercise 12.2 asks how good the rule is.

# %% [markdown]
# ## More training, or fewer weights?
# Every round of IMP is also {{resnet.recipe.epochs}} more epochs. Perhaps they do the work, and not the pruning? The **control** runs the same rounds and prunes *nothing*. **Predict**: what does retraining alone do?

# %%
n = len(found.retrained)
longer, alike = found.retrained[-1], found.pruned[n - 1]
arms = {"dense": dense, f"{n} prunings": alike, f"{n} retrainings": longer}
headlines.settings(arms, against=dense, level=True)

# %%
more = longer.paired(dense, "accuracy")
apart = {what: alike.paired(longer, what) for what in ("accuracy", "defense_level", "loss_gap")}
answer = words(
    apart["defense_level"],
    lower="So pruning itself lowers the defense level.",
    higher="So pruning itself raises the defense level.",
    same="So we do not know whether pruning itself does anything for privacy.",
)

# %% [markdown]
# **What to see.** After retraining alone the accuracy is {{verdict(more)}} ({{points(sparse.in_percent(more))}} points). With {{n}} prunings instead of {{n}} plain retrainings, the defense level is {{verdict(apart["defense_level"])}} ({{points(apart["defense_level"])}}). {{answer}}
#
# The **loss gap**, non-members' mean loss minus members', needs no attack at all. Here it is {{verdict(apart["loss_gap"])}} ({{points(apart["loss_gap"])}}).

# %% [markdown]
# ## At equal accuracy
# In a second article the same authors say that sparsity, privacy and classification *error* rise together, and that comparing networks of different sparsity without fixing the accuracy is **misleading**. Whoever learned little has little to tell.
#
# So we make dense networks worse in two dull ways: **stopped early** after a few epochs, or built **narrow**. And one more sparse kind, **pruned at once**, which removes as much in a single round. **Predict**: will sparse networks lie above the dense ones?

# %%
rival = sparse.nearest(last, found.stopped)
plane = {"star": sparse.place(dense), "labels": found.labels(also=rival)}
show(figures.defense_panels(found.points(), **plane), name="12_matched")
early = {what: rival.paired(dense, what) for what in ("accuracy", "defense_level")}

# %% [markdown]
# **What to see.** One network was {{sparse.called(rival)}} epochs, with not one weight pruned. Compared with the dense one, its accuracy is {{verdict(early["accuracy"])}} ({{points(sparse.in_percent(early["accuracy"]))}} points) and its defense level is {{verdict(early["defense_level"])}} ({{points(early["defense_level"])}}).

# %%
shown = [last, found.at_once[-1], rival, found.narrow[-1]]
headlines.settings({sparse.called(one): one for one in shown}, against=dense, level=True)

# %%
every = [dense, *(one for some in found.kinds().values() for one in some)]
means = {
    name: [one.by_seed("advantage", name).mean() for one in every]
    for name in ("discriminator", "correctness")
}
fooled = int(np.less(means["discriminator"], means["correctness"]).sum())

# %% [markdown]
# Beware of $D$, which is one attack's word: in {{fooled}} of {{len(every)}} settings the discriminator does worse, on average, than *correctness*, which asks only whether the answer is right. So the strongest attack judges, too.
#
# Now pair by pair. Each sparse network meets the **dense one nearest in accuracy**. The match is found on the {{len(resnet.side_records().parts()[statistics.part_aside(dense)]):,}} *{{statistics.part_aside(dense)}}* records, which no attack is asked about. So the records that choose the match do not judge it.

# %%
pairs = sparse.matches([*found.pruned, *found.at_once], found.without_zeros())
named = {f"{sparse.called(one)} − {sparse.called(other)}": (one, other) for one, other in pairs}
headlines.pairs(named)

# %% [markdown]
# One interval in twenty misses by chance, and here are {{len(pairs)}} rows of them. There are two honest ways out: widen every interval for so many comparisons (**Bonferroni**), or ask one question of all rows together.

# %%
wider = partial(statistics.bonferroni, comparisons=len(pairs), repeats=len(dense))
gains = [wider(one.paired(other, "defense_level")) for one, other in pairs]
counted = {sign: sum(words(one) == sign for one in gains) for sign in ("higher", "lower")}
together = sparse.differences(pairs)
conclusion = words(
    together["highest advantage"],
    lower="So here pruning protects beyond what it costs in accuracy.",
    higher="So here a dense network that merely learned less protects better than pruning.",
    same="So we do not know whether pruning protects beyond what it costs in accuracy.",
)
headlines.differences({"all together": together}, title="sparse minus dense", digits={"D": 0})

# %% [markdown]
# After the correction {{counted["higher"]}} of {{len(pairs)}} sparse settings have a higher defense level than their match, and {{counted["lower"]}} a lower one. All together the highest advantage is {{verdict(together["highest advantage"])}} ({{together["highest advantage"]}}) at nearly the same accuracy.
# {{conclusion}}

# %% [markdown]
# ## On photographs
# The same on CIFAR-10; at profile `cpu` with a ResNet-20 of half the width, and fewer epochs per round. **Predict** whether photographs agree with letters.

# %%
camera = PROFILE if PROFILE != "quick" else "cpu"
taken = results("pruned", camera)
print(taken.about["source"])
film = sparse.networks(taken)
plane = {"star": sparse.place(film.dense), "labels": film.labels()}
show(figures.defense_panels(film.points(), **plane), name="12_photographs")
sparsest = film.pruned[-1]
lost = {what: sparsest.paired(film.dense, what) for what in ("accuracy", "defense_level")}
camera_slope = sparse.slope([film.dense, *film.pruned])

# %% [markdown]
# **What to see.** With {{sparse.remaining(sparsest):.1f}} % of its parameters, compared with the dense network, the accuracy is {{verdict(lost["accuracy"])}} ({{points(sparse.in_percent(lost["accuracy"]))}} points) and the defense level {{verdict(lost["defense_level"])}} ({{points(lost["defense_level"])}}).
# The slope over the rounds is {{points(camera_slope)}} beside the paper's −3.25{{"; whether it falls or rises, we do not know" if camera_slope.low <= 0 <= camera_slope.high else ""}}. At equal accuracy, all rounds together:

# %%
again = len(film.retrained)
control = film.pruned[again - 1], film.retrained[-1]
fair = {
    "dense, nearest accuracy": sparse.matches(film.pruned, film.without_zeros()),
    f"after {again} rounds, retrained without pruning": [control],
}
judged = {name: sparse.differences(some) for name, some in fair.items()}
headlines.differences(judged, title="pruned minus …", digits={"D": 0})

# %%
leak = judged["dense, nearest accuracy"]["highest advantage"]
on_photographs = words(
    leak,
    lower="On photographs pruned networks leak less than dense ones of the same accuracy.",
    higher="On photographs dense networks of nearly the same accuracy leak less.",
    same="On photographs we do not know whether pruning protects beyond what it costs.",
)
met = Counter(sparse.called(other) for _, other in fair["dense, nearest accuracy"])
whom = " and ".join(f"{rounds} met *{name}*" for name, rounds in met.items())

# %% [markdown]
# Beside dense networks of nearly their accuracy the highest advantage on pruned ones is {{verdict(leak)}} ({{leak}}). {{on_photographs}}
# Mind who met whom: of the {{len(film.pruned)}} rounds, {{whom}}. (*Dense* is the network before any pruning, and *width* one of fewer channels.)
# ({{len(film.dense)}} trainings per setting; n = {{int(film.dense.is_member.sum()):,}} + {{int((~film.dense.is_member).sum()):,}}.)

# %% [markdown]
# ## Exercises
# ### Exercise 12.1 · difficulty 2/5 · about 10 minutes
# How many prunings does a percentage take, as the paper counts?

# %%
from mialib.course.exercises import lesson_12 as checks


def prunings_to(prunable: int, others: int, share: float, percent: float) -> int:
    """The fewest prunings of ⌈share · what is left⌉ after which at most `percent` remains."""
    raise NotImplementedError


checks.check_prunings_to(prunings_to)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A loop over rounds; `others` are never pruned and always counted.
#
# </details>
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
# ### Exercise 12.2 · difficulty 3/5 · about 15 minutes
# How good is the paper's rule? Let two experiments of `repeats` runs have the *same* normal distribution, and count how often mean ± sd of the two do not overlap.


# %%
def false_alarms(repeats: int, rng: np.random.Generator) -> float:
    """The share of pairs of equal experiments that the rule calls different."""
    raise NotImplementedError


checks.check_false_alarms(false_alarms)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Draw 100,000 pairs at once. The intervals are disjoint where the means are farther apart than the two sd (`ddof=1`) together.
#
# </details>
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
# - IMP prunes the smallest of what remains, by one threshold for all layers, and trains again. Zero the weight, mask the gradient, take a new optimizer, and count the zeros afterwards.
# - The paper's percentages count biases and normalisations as remaining.
# - With {{remains[-1]:.1f}} % of its parameters our network's defense level is {{verdict(change["defense_level"])}} and its accuracy {{verdict(change["accuracy"])}}, compared with the dense network ({{len(dense)}} trainings, n = {{sizes['target train']:,}} + {{sizes['target test']:,}}, `{{PROFILE}}`). The slope is {{points(ours)}} beside the paper's −3.25.
# - A gain in privacy counts at equal accuracy and after the same training. At equal accuracy the highest advantage of sparse networks is {{verdict(together["highest advantage"])}}. {{conclusion}}
# - {{on_photographs}}
#
# ## What this does not show
# - The paper's scale: 14,000 photographs, augmented, 300 epochs a round, 24 rounds.
# - Whether more trainings would tell more apart: we have {{len(dense)}} of each setting.
# - A control as long as {{len(rounds) - 1}} rounds: ours ends after {{n}}.
# - **Rewinding**, as in the lottery ticket of Frankle and Carbin: survivors return to their values *before the first step*. We did not run it. (The paper says *rewound* of its return to the best epoch.)
#
# ## References
# - A. Gonon and others, 2023, *Sparsity in neural networks can improve their privacy*,
#   [arXiv 2304.10553](https://arxiv.org/abs/2304.10553), Sections 2 to 4, Fig. 1 and 2, Table 1.
# - A. Gonon and others, 2023, *Can sparsity improve the privacy of neural networks?*,
#   [arXiv 2304.07234](https://arxiv.org/abs/2304.07234): the caveat about equal accuracy.
# - J. Frankle and M. Carbin, 2019, *The lottery ticket hypothesis*,
#   [arXiv 1803.03635](https://arxiv.org/abs/1803.03635), Section 1.
# - X. Yuan and L. Zhang, 2022, *Membership inference attacks and defenses in neural network pruning*,
#   [arXiv 2202.03335](https://arxiv.org/abs/2202.03335): pruning that leaks *more*.
# - Code, as we read it: `facebookresearch/open_lth` at commit 2ce732f, whose ResNet-20 has the paper's number of
#   weights, and `Machine-Learning-Security-Lab/mia_prune` at commit db3a7af (Yuan and Zhang). Of the paper itself we
#   found none.
