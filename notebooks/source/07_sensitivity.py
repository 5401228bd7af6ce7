# ---
# title: Sensitivity
# question: Where in the network does membership live?
# goals:
#   - take the gradient of the loss gap for every weight, and leave the model as it was
#   - say how concentrated it is, against what any gradient would give
#   - follow it through the network, through training and through tuning
#   - say when a loss gap implies an advantage, and when it does not
# needs: notebook 02; gradients; the normal distribution
# read: 40
# reproduces: after PAST's Fig. 1, 10, 11, 12 and 13b, on our data; Proposition E.1
# cover: 07_where
# ---

# %% [markdown]
# ## The loss gap
# A model that treats its members better than non-members leaks. PAST sums this up in one number, the **loss gap**:
#
# $$G = \frac{1}{|S_n|}\sum_{(x, y) \in S_n} \ell(x, y) - \frac{1}{|S_m|}\sum_{(x, y) \in S_m} \ell(x, y).$$
#
# | symbol | what it is |
# |---|---|
# | $S_m$, $S_n$ | the members and the non-members |
# | $\ell(x, y)$ | the loss of a record $x$ with the label $y$ |
# | $G$ | the loss gap. The paper puts absolute bars around it; without them, the sign says who fares better |
# | $w$ | one weight of the network |
# | $\lvert\partial G / \partial w\rvert$ | the **privacy sensitivity** of $w$: how far the gap moves when the weight does |
#
# Of the sensitivity the paper claims that "only a small fraction of parameters substantially impact the privacy risk, whereas the majority have little effect" (Section 1). It builds a defense on that,
# which is notebook 08. Part 1 of this lesson asks *where* the sensitivity lies, part 2 what the gap is worth as a *proxy* for the leak.

# %%
import numpy as np
import torch
from scipy.stats import norm, spearmanr
from torch.nn import functional as F

from mialib import models, profiles, runs, sensitivity
from mialib.course import figures, headlines, plots, widgets
from mialib.course.places import by_place, log_ratio
from mialib.course.plots import show
from mialib.course.statistics import span, student, verdict
from mialib.course.tunings import watched_arms
from mialib.estimates import Estimate, words
from mialib.experiments import results
from mialib.query import to_device

# %%
target = runs.get(profiles.load(PROFILE).experiments["resnet"])
model, side = target.load_model(), target.side
members, non_members = (to_device(part, torch.device("cpu")) for part in (side.train, side.test))
loss, is_member = target.signals.loss(), target.signals.is_member
gap = loss[~is_member].mean() - loss[is_member].mean()
print(f"{len(side.train):,} members, {len(side.test):,} non-members, loss gap {gap:.3f}")

# %% [markdown]
# ## Part 1. Where does it live?
# ### The gap's gradient from scratch
# Our network is a narrow ResNet-20. We take the weights of its convolutions, linear layer and normalisations, without biases, as the authors' code does. (That is
# `Fujump/MLHospital` at 087beb6. The paper does not link it; we take it to be its working repository.)
#
# Mind `model.eval()`. In training mode BatchNorm normalises by the *batch*, so a record's loss depends on its neighbours. And every
# pass moves its running statistics: measuring would change what is measured.


# %%
def loss_gradient(model: torch.nn.Module, records: tuple, batch: int = 250) -> np.ndarray:
    """The gradient of the records' mean loss, all weights in one row: (weights,)."""
    kinds = (torch.nn.Conv2d, torch.nn.BatchNorm2d, torch.nn.Linear)
    weights = [module.weight for module in model.modules() if isinstance(module, kinds)]
    model.eval()
    total = torch.zeros(sum(weight.numel() for weight in weights))
    x, y = records
    for inputs, labels in zip(x.split(batch), y.split(batch), strict=True):
        loss = F.cross_entropy(model(inputs), labels, reduction="sum") / len(y)
        gradients = torch.autograd.grad(loss, weights)
        total += torch.cat([gradient.flatten() for gradient in gradients])
    return total.numpy()


before = {name: value.clone() for name, value in model.state_dict().items()}
of_others = loss_gradient(model, non_members)
gradient = of_others - loss_gradient(model, members)
print(f"{len(gradient):,} weights, mean |∂G/∂w| {np.abs(gradient).mean():.4f}")

# %% [markdown]
# The library must agree, and the model must be as it was. A copy in training mode shows what would have happened otherwise.

# %%
by_module = sensitivity.gap_gradient(model, side.train, side.test)
assert np.allclose(sensitivity.flat(by_module), gradient, atol=1e-5)
assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())

# %%
disturbed = target.load_model().train()
disturbed(members[0][:128])
running = [name for name in before if "running" in name]
moved = sum(not torch.equal(disturbed.state_dict()[name], before[name]) for name in running)
likeness = np.corrcoef(gradient, of_others)[0, 1]
print(f"one pass in training mode moved {moved} of BatchNorm's {len(running)} running statistics")
print(f"correlation of the gap's gradient with that of the non-members' loss: {likeness:.2f}")

# %% [markdown]
# Mind the last line. The members' loss is near its minimum, where its gradient is small. So the gap's gradient is nearly that of
# the non-members' loss alone, and a step that lowers the one lowers the other.

# %% [markdown]
# ### How concentrated?
# Sort the weights by sensitivity. In the paper "the cumulative sensitivity in the top 20 % parameters exceeds 89.27 % of the total" (Fig. 1b). **Predict**
# that share here. Then **predict** it for normal numbers, which have no structure.
#
# The plan `modules` has the same training with several seeds, looked at after every epoch.

# %%
modules = results("modules", PROFILE)
print(modules.about["source"])
arms = watched_arms(modules)
training = arms.pop("training")  # one entry for every epoch
untrained, trained = training[0], training[-1]
share = sensitivity.concentration(gradient).top_share
at_last, at_first = (one.fact("sensitivity", "top") for one in (trained, untrained))
top, top_at_first = student(at_last), student(at_first)
earlier = student(np.subtract(at_first, at_last))
camera = watched_arms(results("epochs", "cpu"))["training"]  # a CNN on CIFAR-10
on_camera = [student(one.fact("sensitivity", "top")) for one in (camera[0], camera[-1])]


# %%
percent = np.arange(0, 101, 2)


def carried(values: np.ndarray) -> np.ndarray:
    """The share of the total in the largest 0, 2, … 100 % of the absolute values."""
    total = np.append(0, np.cumsum(np.sort(np.abs(values))[::-1]))
    return total[(percent / 100 * len(values)).round().astype(int)] / total[-1]


normal = norm.ppf((np.arange(len(gradient)) + 0.5) / len(gradient))
curves = {"your network": carried(gradient), "normal numbers": carried(normal)}
curves["all alike"] = percent / 100
labels = {"xlabel": "% of the weights, largest first", "ylabel": "share of the total"}
show(plots.lines(percent, curves, mark=20, **labels), name="07_concentration")
by_chance = sensitivity.concentration(normal)[0]

# %% [markdown]
# **What to see.** The top 20 % carry {{top}} over {{len(trained)}} trainings, where normal numbers have {{by_chance:.2f}} and the paper has 0.89. Before training, when there was nothing to leak, they carried
# *{{words(earlier, lower="less", higher="more", same="not significantly more or less")}}* here.
#
# | the top 20 % carry | before training | after |
# |---|---|---|
# | your network | | {{share:.3f}} |
# | {{len(trained)}} trainings | {{top_at_first}} | {{top}} |
# | a CNN on photographs | {{on_camera[0]}} | {{on_camera[1]}} |

# %% [markdown]
# ### One batch, and a control
# In the authors' code that figure is drawn from *one* batch of 128 members and 128 non-members. Over ten such batches, how much does the
# share move? And are the *same weights* at the top?
#
# As a control we take ten batches in which membership is **shuffled**: both sides are drawn from members and non-members alike. Their expected gap
# is zero, so they show what the difference between any two random batches looks like. **Predict** both.

# %%
rng = np.random.default_rng(0)
pooled = tuple(torch.cat(parts) for parts in zip(members, non_members, strict=True))


def one_batch(first: tuple, second: tuple) -> np.ndarray:
    """The gap's gradient from 128 records of each side."""
    chosen = []
    for x, y in (first, second):
        some = rng.permutation(len(y))[:128]
        chosen.append((x[some], y[some]))
    return sensitivity.flat(sensitivity.gap_gradient(model, *chosen))


batches = {
    "true membership": [one_batch(members, non_members) for _ in range(10)],
    "shuffled": [one_batch(pooled, pooled) for _ in range(10)],
}

# %%
shares, found = {}, {}
for name, rows in batches.items():
    shares[name] = [sensitivity.concentration(one).top_share for one in rows]
    found[name] = [1 - sensitivity.migration(gradient, one) for one in rows]
rows = batches["true membership"]
agree = [1 - sensitivity.migration(*two) for two in zip(rows[::2], rows[1::2], strict=True)]

# %%
left, right = "carried by the top 20 %", "same weights as from all records"
dotted = {left: ("all records", share), right: ("chance", 0.2)}
show(figures.batch_spread({left: shares, right: found}, dotted), name="07_one_batch")

# %% [markdown]
# **What to see.** Left: the shuffled membership gives {{np.mean(shares["shuffled"]):.2f}} on average, the true one {{np.mean(shares["true membership"]):.2f}}, so
# **concentration is not a trace of membership**. Right: of the top 20 % by one batch, {{np.mean(found["true membership"]):.0%}} are also at the top by all records; with shuffled membership
# {{np.mean(found["shuffled"]):.0%}} are. Two batches agree on {{np.mean(agree):.0%}}, and PAST, as coded, decides by one such batch at every step which weights to punish.

# %% [markdown]
# ### Where could 89 % come from?
# In the authors' code the network is torchvision's ResNet-18 for ImageNet, fed with images of 32 × 32. Its stem, the first layers, halves them twice, its blocks three
# more times, so in the last blocks an "image" is one pixel. *Think*: what does a 3 × 3 kernel see of one pixel and its padding?
#
# We build it untrained, and beside it the same network with a stem for small images. Both get noise: nobody is a member of anything.


# %%
def untrained_network(stem: str) -> tuple[float, float]:
    """The top 20 %'s share in an untrained ResNet-18, and the share of weights without a pixel."""
    torch.manual_seed(0)
    network = models.build("resnet18", shape=(3, 32, 32), classes=10, stem=stem)
    noise = [(torch.randn(32, 3, 32, 32), torch.randint(10, (32,))) for _ in range(2)]
    found = sensitivity.gap_gradient(network, *noise)
    kernels = [one for one in found.values() if one.ndim == 4]
    # A place in a kernel sees no pixel if its gradient is 0 between all channels.
    unseen = sum(one[..., one.abs().sum(dim=(0, 1)) == 0].numel() for one in kernels)
    all_weights = sum(one.numel() for one in found.values())
    return sensitivity.concentration(found).top_share, unseen / all_weights


stems = {stem: untrained_network(stem) for stem in ("imagenet", "cifar")}
for stem, (carry, unseen) in stems.items():
    print(f"{stem:<10}top 20 % carry {carry:.3f}; {unseen:.1%} of the weights see no pixel")

# %% [markdown]
# In late blocks eight of the nine places see padding only, so {{stems["imagenet"][1]:.0%}} of that network's weights can never have a gradient.
# Untrained and fed with noise, its top 20 % carry {{stems["imagenet"][0]:.3f}}; with the other stem it is {{stems["cifar"][0]:.3f}}. So the architecture alone
# *can* put the share above 0.89. Whether it does so in the paper's trained network, we do not know: we have not trained it.

# %% [markdown]
# ### Where in the network?
# Of its ResNet-18 under PAST the paper reports that "the deeper layers are more effective than the earlier ones". Normalisations and
# the linear layer, it says, "contribute more significantly than convolutional layers" (Fig. 10). And within each layer the concentration "remains significant" (Fig. 13b).
#
# Move the **epoch**. First the network is trained, then PAST tunes it (notebook 08 explains how). Watch the order of the three kinds on the left, and on the right the
# distance to the dotted line, which is what normal numbers would give.

# %%
moments = training + arms["PAST"][1:]


def where_view(epoch: int) -> plots.Picture:
    one = moments[epoch]
    of_tuning = epoch - len(training) + 1
    when = f"epoch {epoch} of training" if of_tuning <= 0 else f"epoch {of_tuning} of tuning"
    title = f"After {when}: loss gap {one.by_seed('loss_gap').mean():z.2f}"
    return figures.sensitivity_by_depth(
        one.fact("sensitivity", "modules"), title=title, chance=by_chance
    )


ends = [0, len(training) - 1, len(moments) - 1]
widgets.explore(where_view, epoch=widgets.slider(0, ends[2], start=ends[1], step=1, label="epoch"))

# %% [markdown]
# *Without a kernel*: before training, after it, and after tuning. For a table we take the convolutions in thirds, from the input to the
# output, and divide the mean sensitivity of one place by that of another, training by training. λ = 0 is the same tuning without a penalty.

# %%
last = {"trained": trained} | {name: epochs[-1] for name, epochs in arms.items()}
of_modules = {name: end.fact("sensitivity", "modules") for name, end in last.items()}
deeper = {name: log_ratio(each, "late", "early") for name, each in of_modules.items()}
norms = {name: log_ratio(each, "normalisation", "convolution") for name, each in of_modules.items()}
headlines.ratios({"late / early convolutions": deeper, "normalisations / convolutions": norms})

# %%
where = plots.small_multiples(where_view, epoch=ends)
show(where, name="07_where")
inside = [where.numbers[f"inside, {end} at {ends[1]}"] for end in ("lowest", "highest")]


def sensitive_as(ratio: Estimate) -> str:
    same = "not significantly different from"
    return words(ratio, lower="less sensitive than", higher="more sensitive than", same=same)


# %% [markdown]
# **What to see.** Per weight, the late convolutions are *{{sensitive_as(deeper["trained"])}}* the early ones after training, and *{{sensitive_as(deeper["PAST"])}}* them after PAST, where the
# paper has them higher. Normalisations are *{{sensitive_as(norms["trained"])}}* convolutions after training, and *{{sensitive_as(norms["PAST"])}}* them after PAST; the paper has
# them higher, too. Right: inside a module the top 20 % carry {{inside[0]:.2f}} to {{inside[1]:.2f}} after training (of normal numbers: {{by_chance:.2f}}).

# %% [markdown]
# ### Through tuning
# "Privacy migrates from heavily regularized parameters to others during PAST", says the paper (Fig. 12), and yet its penalty lowers "the overall
# privacy sensitivity". Tuning is also more training, so λ = 0 stands beside it.
#
# The **migration** of an epoch is the share of today's top 20 % that was not in the top 20 % one epoch before. If the top were drawn anew each time, it would be 0.8.
# **Predict** what PAST does to the sensitivity, to the migration, and to the {{len(modules.attacks)}} attacks that we ask after every epoch.

# %%
for name, epochs in ({"training": training} | arms).items():
    moves = np.array([one.fact("migration") for one in epochs[1:]])  # (epochs, trainings)
    median = student(np.median(moves, axis=0))
    print(f"{name:<9}migration {median} (median epoch), {moves[-1].mean():.2f} in the last epoch")
headlines.settings(last, against=trained)


# %%
def course(epochs: list, place: str) -> list[Estimate]:
    """The mean sensitivity of this place after every epoch."""
    by_epoch = [one.fact("sensitivity", "modules") for one in epochs]
    return [span([by_place(each)[place] for each in some]) for some in by_epoch]


KINDS = ("convolution", "normalisation", "linear")
shown = {kind: {arm: course(epochs, kind) for arm, epochs in arms.items()} for kind in KINDS}

# %%
pairs = list(zip(of_modules["PAST"], of_modules["λ = 0"], strict=True))
change = {}
for kind in KINDS:
    change[kind] = student([by_place(past)[kind] - by_place(zero)[kind] for past, zero in pairs])
worst = min(arms["PAST"], key=lambda one: one.by_seed("accuracy").mean())
lowest = min(one.by_seed("accuracy").mean() for one in arms["λ = 0"])

# %%
labels = {"xlabel": "epoch of tuning", "ylabel": "mean sensitivity"}
picture = plots.panels(range(len(arms["PAST"])), shown, columns=3, scale="log", **labels)
show(picture, name="07_tuning")

# %% [markdown]
# **What to see.** Compared with λ = 0, PAST ends with a sensitivity that is *{{verdict(change["convolution"])}}* in the convolutions,
# *{{verdict(change["normalisation"])}}* in the normalisations and *{{verdict(change["linear"])}}* in the linear layer. On the way PAST wrecks the model: at epoch {{worst.rows[0].settings["epoch"]}} it is right on
# {{worst.by_seed("accuracy").mean():.0%}} of new records (λ = 0 falls to {{lowest:.0%}}). Weights migrate with λ = 0 and in plain training, too.
#
# (Bands: from the lowest training to the highest.)

# %% [markdown]
# ## Part 2. Is the gap a fair proxy?
# ### Through training and tuning
# "The loss gap monotonically increases in sync with the attack advantage across various attacks", says the paper of training (Fig. 1a and 11). **Predict**
# the path of our models in the plane of gap and advantage: first through training, then through the two ways of tuning.


# %%
def path(epochs: list) -> list[tuple[float, float]]:
    """Loss gap and highest advantage of any attack after every epoch: means over trainings."""
    return [(one.by_seed("loss_gap").mean(), one.by_seed("highest").mean()) for one in epochs]


paths = {f"tuning, {name}": path(epochs) for name, epochs in arms.items()}
show(figures.gap_paths({"training": path(training)} | paths), name="07_paths")

half = training[len(training) // 2]
late = {what: trained.paired(half, what) for what in ("loss_gap", "highest")}
tuned = {what: last["PAST"].paired(last["λ = 0"], what) for what in ("loss_gap", "highest")}
for name, found in {"training, end minus middle": late, "PAST minus λ = 0": tuned}.items():
    for what, difference in found.items():
        print(f"{name:<28}{what:<10}{difference}  {verdict(difference)}")

# %% [markdown]
# **What to see.** In the first half of training, gap and advantage rise together. In the second half the gap is *{{verdict(late["loss_gap"])}}* at the end, and the highest advantage
# *{{verdict(late["highest"])}}*. PAST ends with a gap that is *{{verdict(tuned["loss_gap"])}}* compared with λ = 0, and a highest advantage that is *{{verdict(tuned["highest"])}}*.
#
# So a growing gap announced a growing leak while the network was learning. Then the leak grew on, and the gap did not tell.

# %% [markdown]
# ### Proposition E.1 from scratch
# Why should a gap imply an advantage? The paper's proof assumes that losses are normal. Then a threshold on the loss has the advantage
#
# $$\mathrm{Adv} = \Phi\!\left(\frac{\Phi^{-1}(a)\,\sigma_D + \mu_D - \mu_S}{\sigma_S}\right) - a,$$
#
# which rises with the gap $\mu_D - \mu_S$ *if nothing else moves*.
#
# | symbol | what it is |
# |---|---|
# | $\mu_S$, $\sigma_S$ | mean and standard deviation of the members' losses |
# | $\mu_D$, $\sigma_D$ | those of the non-members' losses |
# | $a$ | the false-positive rate (FPR), by which the threshold is chosen on the non-members |
# | $\Phi$, $\Phi^{-1}$ | the standard normal distribution function, and its quantiles |


# %%
def promised(gap: float, member: float, non_member: float, fpr: float) -> float:
    """The advantage of a threshold on normal losses with these standard deviations."""
    return float(norm.cdf((norm.ppf(fpr) * non_member + gap) / member) - fpr)


draw = np.random.default_rng(0).normal(size=(2, 10**6)) * [[0.5], [1.5]] + [[0], [1]]
threshold = np.quantile(draw[1], 0.2)
simulated = (draw[0] <= threshold).mean() - 0.2
print(f"promised {promised(1, 0.5, 1.5, 0.2):.3f}, simulated {simulated:.3f}")
assert abs(promised(1, 0.5, 1.5, 0.2) - simulated) < 0.005

# %% [markdown]
# Move the **gap**, then the two **standard deviations** σ, then the **FPR**. *Think*: can a large gap come with a negative advantage?

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
# ### Theory against measurement
# Put in the means and standard deviations of the real losses, epoch by epoch, and compare with the real advantage at that FPR. **Predict** where they part.


# %%
def theory(one, fpr: float) -> list[float]:
    """What the proposition promises of each training's losses."""
    losses = one.losses.astype(float)
    inside, outside = losses[:, one.is_member], losses[:, ~one.is_member]
    gaps = outside.mean(axis=1) - inside.mean(axis=1)
    moments = zip(gaps, inside.std(axis=1), outside.std(axis=1), strict=True)
    return [promised(*three, fpr) for three in moments]


after = training[1:]  # The untrained network has no gap.
compared = {}
for fpr in (0.1, 0.5):
    compared[f"FPR {fpr:.0%}"] = {
        "promised": [span(theory(one, fpr)) for one in after],
        "measured": [span(one.by_seed("tpr", "loss", fpr=fpr) - fpr) for one in after],
    }

# %%
labels = {"xlabel": "epoch", "ylabel": "advantage"}
picture = plots.panels(range(1, len(training)), compared, columns=2, **labels)
show(picture, name="07_theory")
strict, loose = ({arm: row[-1] for arm, row in both.items()} for both in compared.values())

# %% [markdown]
# **What to see.** At 10 % false alarms the proposition, given the real means and deviations, ends at {{strict["promised"].value:z.2f}}, an attack that is worse than chance; the measured advantage is
# {{strict["measured"].value:.2f}}. At 50 % the two end close together, as they must when nearly every member lies below the non-members' median. The formula is right; its premise is not:

# %%
picture = figures.fitted_normals(loss[is_member], loss[~is_member])
show(picture, name="07_fitted")

# %% [markdown]
# **What to see.** Losses are never negative, and most are small with a long tail. The normal density with the non-members' mean and deviation
# puts {{picture.numbers['below 0, non-members']:.0%}} of its weight on losses below 0, so its lower 10 % lie where no record can be, and the threshold there
# catches nobody.

# %% [markdown]
# ### On photographs
# Does the gap rank *defenses* as it ranks epochs? Notebooks 06 to 11 train the course's small CNN on CIFAR-10 in many ways. Here is each one's loss gap, and what its
# strongest attack reaches.

# %%
photographs = headlines.by_name(results("photographs", PROFILE))
gap_of = {name: float(one.by_seed("loss_gap").mean()) for name, one in photographs.items()}
leak_of = {name: float(one.by_seed("highest").mean()) for name, one in photographs.items()}
ranked = float(spearmanr(list(gap_of.values()), list(leak_of.values())).statistic)
widest, leakiest = max(gap_of, key=gap_of.get), max(leak_of, key=leak_of.get)
print(
    f"{len(gap_of)} ways to train: rank correlation of gap and highest advantage {ranked:.2f}",
    "(1: the same order)",
)

# %% [markdown]
# The widest gap, {{gap_of[widest]:.1f}}, belongs to a setting of CRL (notebook 10: *{{widest}}*), and its strongest attack has an advantage of {{leak_of[widest]:.2f}}. The largest leak, {{leak_of[leakiest]:.2f}}, belongs to *{{leakiest}}*, whose gap is
# {{gap_of[leakiest]:.1f}}. A defense that shrinks the gap has not yet shown that it protects. (Trainings of each: {{len(photographs["undefended"])}}; {{int(photographs["undefended"].is_member.sum()):,}} members.)

# %% [markdown]
# ## Exercises
# ### Exercise 7.1 · difficulty 2/5 · about 10 minutes
# A judgement. A colleague sums up this lesson in six sentences. Which would you sign?
#
# - **A** In our trained networks the top 20 % of the weights carry more of the gap's sensitivity than the top 20 % of normal numbers would.
# - **B** They carry that much because they remember the members.
# - **C** The paper's 89 % comes from weights that see no pixel.
# - **D** While a network learns, in the first half of its training, loss gap and advantage rise together.
# - **E** So at any moment the larger gap means the larger leak.
# - **F** For normal losses of fixed deviations a larger gap means a larger advantage, and our losses are not normal.

# %%
from mialib.course.exercises import lesson_07 as checks


def signed() -> str:
    """The letters of the sentences that you would sign: "AB", for example."""
    raise NotImplementedError


checks.check_signed(signed)

# %% [markdown]
# <details><summary>Hint</summary>Ask of each: was there a control, and what did it say? "It can be so" and "it is so" are two sentences.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def signed() -> str:
#     return "ADF"
# ```
#
# B fails its control: with membership shuffled, the top 20 % carry as much. C is a hypothesis; nobody here has trained that network. E was true for a while, and then it was not.
# </details>

# %% [markdown]
# ### Exercise 7.2 · difficulty 3/5 · about 15 minutes
# An experiment: a leak without a gap. Make up losses of $n$ members and $n$ non-members with *equal means*, none below 0, that a threshold separates almost perfectly (advantage 0.98 or more for $n \ge 100$).


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
# - The gap's gradient is taken in eval mode, and leaves the model as it was.
# - The top 20 % of the weights carry {{top}} of it; of normal numbers they would carry {{by_chance:.2f}}, of a shuffled membership {{np.mean(shares["shuffled"]):.2f}}. The paper's 0.89
#   *can* come from weights that see no pixel; that is a hypothesis.
# - Which weights are at the top depends on the batch ({{np.mean(agree):.0%}} in common) and on the epoch, with a penalty or without.
#   After training, late convolutions are *{{sensitive_as(deeper["trained"])}}* early ones.
# - Gap and advantage rise together in the first half of training. After that one moves without the other. Proposition E.1 assumes normal losses of
#   fixed deviations, and real losses are not normal (profile `{{PROFILE}}`, {{is_member.sum():,}} members, {{(~is_member).sum():,}} non-members).
#
# ## What this does not show
# - That PAST does not work: a penalty may help wherever it is put. Notebooks 08 and 09 ask, with controls.
# - The sensitivity of the paper's own trained network; we asked an untrained one.
# - One small network, one set of letters, {{len(trained)}} seeds; one λ and one α of PAST, at a learning rate that starts where training started.
# - An attacker's threshold comes from a shadow, not from the target's non-members, as the proposition assumes.
#
# ## References
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814),
#   [longer text](https://openreview.net/forum?id=WDDyTcaP1L), Section 3.1, Appendices D to F: Fig. 1, 10 to 13 and
#   Proposition E.1.
# - S. Yeom and others, 2018, *Privacy risk in machine learning*,
#   [arXiv 1709.01604](https://arxiv.org/abs/1709.01604): the gap and the advantage of a bounded loss.
