# ---
# title: Learned defenses
# question: Can a model learn to keep quiet, from an opponent, from a teacher, or from noise, and what does that cost?
# goals:
#   - write AdvReg, Mixup+MMD, distillation, DMP and DP-SGD in a few lines each, and plug them into `fit`
#   - say what each assumes, in data, in networks and in seconds
#   - tell a promise (ε) from a measurement (an attack), and test the one with the other
#   - say with an interval where a defense helps, and where tuning by PAST on top of it does not
# needs: notebooks 02, 06 and 08; gradients, softmax
# read: 40
# reproduces: the baselines AdvReg, Mixup+MMD, DMP and DP-SGD; after Table 2 of PAST, on our data
# cover: 11_promise
# ---

# %% [markdown]
# ## Defenses that bring something along
# The defenses of notebook 06 change a loss or a loop. Those of this notebook ask for more: data, a second network, or time.
#
# | defense | idea | extra data | extra network | extra time |
# |---|---|---|---|---|
# | AdvReg | train against an attacker that trains too | non-members with labels | the attacker | its passes |
# | Mixup+MMD | train on mixtures; pull members' outputs towards non-members' | non-members with labels | none | a second pass |
# | distillation | a student learns a teacher's answers | none | the teacher | a second training |
# | DMP | the same, asked about non-members only | non-members, no labels | the teacher | a second training |
# | DMP, synthetic | the same, on records of a generator trained on members | none | teacher, generator | both trainings |
# | DP-SGD | limit and blur each record's pull on the weights | none | none | a gradient for every record |
#
# In **part one** we write the first four in a few lines each, on digits, and ask what all are worth. **Part two** is DP-SGD's, which alone makes a *promise*. The symbols, each defense with its own:
#
# | symbol | meaning |
# |---|---|
# | α; $h$ | AdvReg: what a recognised member costs; the attacker network |
# | λ; $s$ | Mixup+MMD: the weight of the distance between outputs; the share of a mixture |
# | τ | distillation: the temperature that logits are divided by |
# | $C$; σ | DP-SGD: the longest gradient that a record may have; the noise, in units of $C$ |
# | ε; δ | differential privacy: how much one record may change, and how rarely more |

# %%
import copy
import importlib.util
from functools import partial

import numpy as np
import torch
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from mialib import data, models, profiles
from mialib.course import costs, figures, headlines, plots, statistics, widgets
from mialib.course.plots import show
from mialib.course.tunings import ruined_trainings
from mialib.defenses import CRL, DMP, DPSGD, AdvReg, Distillation, MixupMMD, RelaxLoss
from mialib.estimates import words
from mialib.experiments import results
from mialib.query import to_device
from mialib.training import Recipe, fit

verdict = partial(words, same="not significantly different")

# %%
digits = data.load("digits", size=400)
members, others = digits.take(np.arange(200)), digits.take(np.arange(200, 400))
(x, y), (x2, y2) = (to_device(part, torch.device("cpu")) for part in (members, others))
x.shape, x2.shape  # members, and non-members that the defender may use

# %% [markdown]
# ## Part one: AdvReg from scratch
# Two networks play against each other. The **attacker** $h$ sees the output $f(x)$ and the label $y$, and learns to say *member*. The classifier $f$ learns the
# digits, with cross-entropy $L_{\text{CE}}$, and pays α for every one of its $n$ members that the attacker recognises:
#
# $$L = L_{\text{CE}} + \alpha\,\bigl(\tfrac1n \textstyle\sum_i h(f(x_i), y_i) - \tfrac12\bigr).$$
#
# They take turns, epoch by epoch. **Predict**: what should the attacker's accuracy be when the classifier has won?


# %%
def attacker_loss(attacker, members: tuple, others: tuple) -> torch.Tensor:
    """Cross-entropy of saying 1 to members and 0 to others; the attacker gives (n,) logits."""
    return (F.softplus(-attacker(*members)).mean() + F.softplus(attacker(*others)).mean()) / 2


def advreg_loss(model, attacker, alpha: float) -> torch.Tensor:
    logits = model(x)
    return F.cross_entropy(logits, y) + alpha * (attacker(logits, y).sigmoid().mean() - 0.5)


# %% [markdown]
# Three helpers, for all that follows: a small network, one step down a gradient, and all weights in a row.


# %%
def small_model(seed: int = 0) -> models.Network:
    return models.build("mlp", shape=x.shape[1:], classes=10, widths=(64,), seed=seed)


def step(model, loss: torch.Tensor, rate: float = 0.1) -> None:
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    with torch.no_grad():
        for weight, gradient in zip(model.parameters(), gradients, strict=True):
            weight -= rate * gradient


def flat(model) -> torch.Tensor:
    return torch.cat([w.detach().flatten() for w in model.parameters()])


# %% [markdown]
# The library's attacker learns for five passes before the second epoch, and for one before each later epoch. Two epochs of one step, by hand and by `fit`:

# %%
from mialib.defenses.advreg import Attacker

plain_steps = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0, "schedule": "constant"}
model, library = small_model(), small_model()
step(model, F.cross_entropy(model(x), y))  # the first epoch is plain
torch.manual_seed(1)
attacker = Attacker(10)
adam = torch.optim.Adam(attacker.parameters(), 1e-3)
seen = (model(x).detach(), y), (model(x2).detach(), y2)
for _ in range(5):
    adam.zero_grad()
    attacker_loss(attacker, *seen).backward()
    adam.step()
step(model, advreg_loss(model, attacker, 3.0))

# %%
two_steps = Recipe(2, 200, **plain_steps)
fit(library, members, two_steps, defense=AdvReg(3.0), inference=others, device="cpu")
assert torch.allclose(flat(model), flat(library), atol=1e-5)

# %% [markdown]
# ## Mixup and MMD from scratch
# **Mixup** trains on $s x_i + (1 - s) x_j$, a mixture of two members, with their labels in the same shares; $s$ comes from a Beta($a$, $a$) distribution. **MMD** (maximum mean discrepancy) is
# a distance between two *clouds* of points, here the outputs on members and on *others*, non-members. It takes a kernel, $k(a, b) = e^{-\lVert a - b \rVert^2 / 2}$, which is 1 where two points agree and near 0 where they are far apart:
#
# $$\mathrm{MMD}^2 = \bar{k}(\text{members}, \text{members}) + \bar{k}(\text{others}, \text{others}) - 2\,\bar{k}(\text{members}, \text{others}).$$
#
# A bar is a mean over all pairs of points, one from each cloud. Between epochs, while the accuracies on both differ by 0.03 or more, a second pass lowers $\lambda \cdot \mathrm{MMD}^2$ between each
# batch and one of non-members *of the same classes*.


# %%
def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.exp(-(a[:, None] - b[None]).square().sum(dim=2) / 2)  # (n, d), (m, d) → (n, m)


def mmd2(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return kernel(a, a).mean() + kernel(b, b).mean() - 2 * kernel(a, b).mean()


def mixup_loss(model, share: float, partner: torch.Tensor) -> torch.Tensor:
    logits = model(share * x + (1 - share) * x[partner])
    wrong = [F.cross_entropy(logits, labels) for labels in (y, y[partner])]
    return share * wrong[0] + (1 - share) * wrong[1]


# %%
from mialib.defenses import mixup_mmd

outputs = [small_model()(some).softmax(dim=1) for some in (x, x2)]
assert torch.allclose(mmd2(*outputs), mixup_mmd.mmd2(*outputs), atol=1e-6)

model, share, partner = small_model(), 0.3, torch.arange(200).roll(1)
library = mixup_mmd.mixup_loss(model, x, y, share=share, partner=partner)
assert torch.allclose(mixup_loss(model, share, partner), library)

# %% [markdown]
# `fit(model, members, recipe, defense=MixupMMD(3.0), inference=others)` does the rest, and finds partners of the same class.

# %% [markdown]
# ## Distillation and DMP from scratch
# A trained **teacher** answers; a fresh **student** learns the answers, not the labels. (The *temperature* τ divides the logits of both; here it is 1.) Plain distillation asks the teacher about its members.
#
# **DMP** (distillation for membership privacy) asks it about *other* records, so that the student never meets a member. Its paper picks those where the teacher's answers have a low entropy, which are said to depend little on any single member.


# %%
def lowest_entropy(logits: torch.Tensor, share: float) -> torch.Tensor:
    """The places of the share of the records about which the teacher is surest."""
    p = logits.softmax(dim=1)
    entropy = -(p * p.log()).sum(dim=1)
    return entropy.argsort()[: round(share * len(p))]


def distillation_loss(student, asked: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """KL divergence of the student's answers from the teacher's, mean over records."""
    return (answers * (answers.log() - student(asked).log_softmax(dim=1))).sum(dim=1).mean()


# %% [markdown]
# One step of a student with fresh weights, by hand and by the library:

# %%
teacher = small_model()
fit(teacher, members, Recipe(60, 50, lr=0.1), device="cpu")
logits = teacher(x2).detach()
chosen = lowest_entropy(logits, 0.5)
student = small_model()
torch.manual_seed(0)
for module in student.modules():
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
step(student, distillation_loss(student, x2[chosen], logits[chosen].softmax(dim=1)))

# %%
library = copy.deepcopy(teacher)  # where the training starts is the teacher
half, one_step = DMP(source="selected", share=0.5), Recipe(1, 200, **plain_steps)
fit(library, members, one_step, defense=half, inference=others, device="cpu")
assert torch.allclose(flat(student), flat(library), atol=1e-6)
print("selected, by class:", *np.bincount(logits[chosen].argmax(dim=1), minlength=10))

# %% [markdown]
# The two agree. What is selected is half of the data, and not an even half: sure answers come from easy classes.

# %% [markdown]
# ## What an epoch costs
# Processor seconds of one thread, measured now on {{len(profiles.load(PROFILE).images.but(size=900).side_records().train)}} members. **Predict** the order.

# %%
from IPython.display import Markdown

defenses = [RelaxLoss(), CRL(), AdvReg(), MixupMMD(gap=0.0), Distillation(), DMP()]
has_opacus = importlib.util.find_spec("opacus") is not None
defenses += [DPSGD()] if has_opacus else []
few = profiles.load(PROFILE).images.but(size=900, trace=0)
cost = costs.epoch_costs(few, defenses, rounds=1)
lines = ["| training | seconds per epoch | over plain |", "|---|---|---|"]
lines += [f"| {name} | {one.seconds:.3f} | {one.ratio:.1f} |" for name, one in cost.items()]
Markdown("\n".join(lines))

# %% [markdown]
# Distillation and DMP train *two* models, so count their epochs twice.

# %% [markdown]
# ## What each is worth
# The papers' claims: AdvReg brings attacks "close to the random guess" with "a negligible cost in terms of the classification error"; Mixup+MMD works "with
# minimal impact on testing accuracy"; DMP "preserves the utility of the resulting models significantly better than prior defenses".
#
# Our trainings repeat the course's image model with several seeds, each target with a shadow that was defended alike.

# %%
learned = results("learned", PROFILE)
print(learned.about["source"])
plain = learned.find(defense="Plain")


# %%
def swept(name: str, by: str, **fixed) -> dict:
    """Every setting of a defense, by the value of what it varies."""
    found = learned.where(defense=name, **fixed).settings()
    return {one.rows[0].settings[by]: one.finished() for one in found}


# %%
advreg, both = swept("AdvReg", "alpha"), swept("MixupMMD", "lam", mixup=1.0)
mmd, distilled = swept("MixupMMD", "lam", mixup=0.0), swept("Distillation", "temperature")
dmp, private = swept("DMP", "source"), swept("DPSGD", "sigma")

# %% [markdown]
# Right is more accurate, down more private; the strongest of {{len(learned.attacks)}} attacks counts. **Predict**: which moves down *without* moving left?

# %%
families = {
    "AdvReg": {f"α {a:g}": one for a, one in advreg.items()},
    "Mixup+MMD": {f"λ {s:g}" if s else "mixup": one for s, one in both.items()},
    "MMD alone": {f"λ {s:g}": one for s, one in mmd.items()},
    "distillation": {f"τ {t:g}": one for t, one in distilled.items()},
    "DMP": {kind: dmp[kind] for kind in ("synthetic", "all", "selected")},
    "DP-SGD": {f"σ {s:g}": one for s, one in private.items()},
}

# %%
gained = {"DMP": dmp["all"].paired(plain, "highest"), "MMD": both[3.0].paired(plain, "highest")}
paid = {"DMP": dmp["all"].paired(plain, "accuracy"), "MMD": both[3.0].paired(plain, "accuracy")}
copied = distilled[1.0].paired(plain, "highest")


# %%
def point(one) -> tuple:
    return one.accuracy(), one.highest()


picture = plots.tradeoff(
    {name: [point(one) for one in some.values()] for name, some in families.items()},
    undefended=point(plain),
    labels={name: list(some) for name, some in families.items()},
    columns=3,
    unjoined=["DMP"],  # its sources are kinds, not strengths
)
show(picture, name="11_tradeoff")

# %% [markdown]
# **What to see.** Compared with the undefended model, DMP on all its reference records has a highest advantage that is {{verdict(gained["DMP"])}} by {{abs(gained["DMP"].value):.2f}}, at an accuracy that is {{verdict(paid["DMP"])}}.
# For Mixup+MMD at its authors' λ = 3 it is {{verdict(gained["MMD"])}} by {{abs(gained["MMD"].value):.2f}}, at an accuracy that is {{verdict(paid["MMD"])}}.
# A student that learns the answers *on the members* may copy the leak: with τ = 1 its advantage is {{verdict(copied)}}.
#
# In numbers (n = {{int(plain.is_member.sum()):,}} + {{int((~plain.is_member).sum()):,}}; DP-SGD learns at a rate of {{private[1.0].rows[0].settings["lr"]}}, all others at {{plain.rows[0].settings["lr"]}}):

# %%
shown = {"undefended": plain, "AdvReg, α = 3": advreg[3.0], "mixup alone": both[0.0]}
shown |= {"Mixup+MMD, λ = 3": both[3.0], "MMD alone, λ = 3": mmd[3.0]}
shown |= {f"distillation, τ = {t:g}": one for t, one in distilled.items()}
shown |= {"DMP, all": dmp["all"]}
shown |= {f"DP-SGD, σ = {s:g}": private[s] for s in (0.3, 1.0)}
headlines.settings(shown, against=plain)

# %% [markdown]
# And some of them against each other:

# %%
duels = {
    "mixup alone − undefended": (both[0.0], plain),
    "DMP, all − Mixup+MMD, λ = 10": (dmp["all"], both[10.0]),
    "DMP, selected − DMP, all": (dmp["selected"], dmp["all"]),
    "DMP, synthetic − DMP, all": (dmp["synthetic"], dmp["all"]),
}
trade = dmp["all"].paired(both[10.0], "highest")
kept = dmp["all"].paired(both[10.0], "accuracy")
spared = {one: dmp[one].paired(dmp["all"], "accuracy") for one in ("selected", "synthetic")}
headlines.pairs(duels)

# %% [markdown]
# - *Close to the random guess* would be an advantage near 0; AdvReg at α = 3 leaves {{advreg[3.0].highest()}}.
# - DMP's claim is about the trade. Compared with Mixup+MMD at λ = 10, its advantage is {{verdict(trade)}} and its accuracy is {{verdict(kept)}}.
# - The last two lines are economies of DMP. Compared with asking about all records, its accuracy is {{verdict(spared["selected"])}} with sure answers only, and {{verdict(spared["synthetic"])}} with invented records.

# %% [markdown]
# ## Turn every knob
# Move each slider; a strength of 0 is plain training. *Think!* Which defense lowers the highest advantage
# and leaves the TPR at 1 % FPR where it was?

# %%
mixed = {(0.0, 0.0): plain} | {(s, 1.0): one for s, one in both.items()}
mixed |= {(s, 0.0): one for s, one in mmd.items()}
tables = {"AdvReg": {0.0: plain} | advreg, "MMD": mixed, "distilled": distilled, "DMP": dmp}
tables["DP-SGD"] = {0.0: plain} | private
standings = {
    name: {place: statistics.standing(one) for place, one in some.items()}
    for name, some in tables.items()
}
undefended = statistics.standing(plain)


# %%
def knobs_view(alpha=1.0, mmd=3.0, mixup=1.0, tau=4.0, source="all", noise=1.0) -> plots.Picture:
    chosen = {"undefended": undefended, f"AdvReg, α {alpha:g}": standings["AdvReg"][alpha]}
    chosen[f"MMD λ {mmd:g}, mixup {mixup:g}"] = standings["MMD"][mmd, mixup]
    chosen[f"distilled, τ {tau:g}"] = standings["distilled"][tau]
    chosen[f"DMP, {source}"] = standings["DMP"][source]
    chosen[f"DP-SGD, σ {noise:g}"] = standings["DP-SGD"][noise]
    return figures.board(chosen)


# %%
widgets.explore(
    knobs_view,
    alpha=widgets.steps(list(tables["AdvReg"]), start=1.0, label="AdvReg: α"),
    mmd=widgets.steps(list(both), start=3.0, label="MMD: λ"),
    mixup=widgets.steps([0.0, 1.0], start=1.0, label="mixup: a of Beta(a, a)"),
    tau=widgets.steps(list(distilled), start=4.0, label="distillation: τ"),
    source=widgets.choice(list(dmp), label="DMP: asked about"),
    noise=widgets.steps(list(tables["DP-SGD"]), start=1.0, label="DP-SGD: σ"),
)

# %% [markdown]
# *Without a kernel*: every slider at its right end.

# %%
strongest = {"alpha": max(advreg), "mmd": max(both), "mixup": 1.0, "tau": max(distilled)}
picture = knobs_view(**strongest, source="synthetic", noise=max(private))
show(picture, name="11_knobs")
strong = advreg[max(advreg)]
less = {name: plain.paired(strong, "advantage", name) for name in ("loss", "correctness")}
most_noise = standings["DP-SGD"][max(private)]

# %% [markdown]
# **What to see.** DP-SGD at σ = {{max(private):g}} has an accuracy of {{most_noise["accuracy"]:.2f}}, where guessing among ten classes has 0.10: a model that has learned
# nothing is private. What is not drawn: AdvReg at α = {{max(advreg):g}} takes {{less["loss"].value:.2f}} from the advantage of the loss attack, but {{less["correctness"].value:.2f}} from that of correctness. The members are
# still learned by heart, and that alone leaks.

# %% [markdown]
# ## Who wins the game?
# If AdvReg's classifier won, its attacker would end at an accuracy of 0.5. Here is what it reached in every epoch, on the records it learned from: means over trainings, with bands of 95 %.

# %%
game = {}
for a, one in advreg.items():
    told = [[e["attacker_accuracy"] for e in epochs[1:]] for epochs in one.fact("history")]
    game[f"α = {a:g}"] = [statistics.student(seeds) for seeds in np.transpose(told)]
epochs = np.arange(2, 2 + len(game[f"α = {max(advreg):g}"]))
axes = {"xlabel": "epoch", "ylabel": "accuracy of AdvReg's attacker", "direct": "ends"}
show(plots.lines(epochs, game, **axes), name="11_game")
last = {name: curve[-1].value for name, curve in game.items()}
own, all_attacks = 2 * last[f"α = {max(advreg):g}"] - 1, strong.highest()  # 2 · accuracy − 1

# %% [markdown]
# **What to see.** The classifier does not win: the attacker ends at {{last["α = 0.3"]:.2f}}, {{last["α = 1"]:.2f}} and {{last["α = 3"]:.2f}} for α = 0.3, 1 and 3. An accuracy of
# {{last["α = 3"]:.2f}} is an advantage of {{own:.2f}}; the strongest of our attacks has {{all_attacks}}. The penalty makes the leak smaller and does not close it.

# %% [markdown]
# ## PAST on top
# Table 2 of the PAST paper tunes models that were trained with another defense, and "consistently achieves higher P1 scores compared to the original defended
# methods"; P1 joins accuracy and the highest advantage in one number (notebook 06). We tune five starts for {{learned.where(defense="Past").rows[0].settings["epochs"]}} epochs, with PAST's exponent 1.5 and three weights λ of its penalty.
#
# Tuning drops the first defense, as the authors' working repository does (`Fujump/MLHospital` at commit 087beb6). So the control is the same tuning with λ = 0. **Predict**: does P1 rise everywhere?

# %%
relaxed = results("relaxed", PROFILE)
starts = {
    "undefended": plain,
    "RelaxLoss, α = 0.5": relaxed.find(defense="RelaxLoss", **vars(RelaxLoss(alpha=0.5))),
    "CRL, α_rce = 0.5": relaxed.find(defense="CRL", **vars(CRL(alpha_rce=0.5))),
    "AdvReg, α = 1": advreg[1.0],
    "Mixup+MMD, λ = 3": both[3.0],
}

# %%
first = [None, "RelaxLoss", "CRL", "AdvReg", "MixupMMD"]
tuned = {name: swept("Past", "lam", after=after) for name, after in zip(starts, first, strict=True)}

# %%
paths = {
    name: figures.Move(point(start), {f"λ = {s:g}": point(one) for s, one in tuned[name].items()})
    for name, start in starts.items()
}
show(figures.moves(paths), name="11_past")
counted = {
    s: headlines.counted([one[s].paired(starts[name], "p1") for name, one in tuned.items()])
    for s in tuned["undefended"]
}
leaks = [statistics.standing(some[0.0])["highest"] for some in tuned.values()]

# %% [markdown]
# **What to see.** With λ = 0 the first defense is gone: from every start the highest advantage ends at {{min(leaks):.2f}} to {{max(leaks):.2f}}. With λ = 0.0003, P1
# {{counted[3e-4]}}. With λ = 0.001, which the authors used on CIFAR-10, it {{counted[1e-3]}}.

# %%
headlines.on_top(starts, tuned)

# %% [markdown]
# ({{len(tuned["undefended"][0.0])}} trainings each.) We trained neither a larger λ nor the paper's ResNet-18 with its 50 epochs of tuning; for those we do not know.

# %% [markdown]
# ## On photographs
# Three of them on CIFAR-10, at several strengths, with the course's small CNN:

# %%
photographs = headlines.by_name(
    results("photographs", PROFILE), "undefended", "AdvReg", "Mixup+MMD", "DMP"
)
bare, student = photographs["undefended"], photographs["DMP, τ = 1"]
ruined = "; ".join(name for name, one in photographs.items() if ruined_trainings(one))
headlines.settings(photographs, against=bare)

# %% [markdown]
# Compared with the undefended model, DMP's highest advantage is {{verdict(student.paired(bare, "highest"))}} at τ = 1, at an accuracy that is
# {{verdict(student.paired(bare, "accuracy"))}}. {{f"Of some settings a training ended near the accuracy of a guess, so their intervals are wide ({ruined})." if ruined else ""}} (A line with fewer trainings had one that diverged; n = {{int(bare.is_member.sum()):,}} + {{int((~bare.is_member).sum()):,}}.)

# %% [markdown]
# ## Part two: DP-SGD from scratch
# The others hope that attacks fail. **DP-SGD** limits what any record *can* do. In every step it takes each record's own gradient, cuts it to a length of at most $C$, adds
# them up, and adds Gaussian noise of standard deviation $\sigma C$. One record more or less moves the sum by at most $C$, and the noise drowns that.


# %%
def private_gradient(model, *, clip: float, noise: float) -> list[torch.Tensor]:
    """The noisy mean of cut gradients, one tensor for each parameter."""

    def loss_of_one(weights, one_x, one_y):
        return F.cross_entropy(functional_call(model, weights, one_x[None]), one_y[None])

    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    each = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(weights, x, y)  # (n, …) for each weight
    length = torch.cat([g.flatten(1) for g in each.values()], dim=1).norm(dim=1)
    keep = (clip / length).clamp(max=1)
    sums = [torch.einsum("n,n...->...", keep, g) for g in each.values()]
    return [(s + noise * clip * torch.randn(s.shape)) / len(y) for s in sums]


# %%
gradients = private_gradient(small_model(), clip=1.0, noise=0.0)
ours = flat(small_model()) - 0.1 * torch.cat([g.flatten() for g in gradients])
if has_opacus:
    library = small_model()
    fit(library, members, one_step, defense=DPSGD(0.0, clip=1.0), device="cpu")
    assert torch.allclose(ours, flat(library), atol=1e-6)

# %% [markdown]
# The library leaves this, and the counting of ε, to **Opacus**. (Batch normalisation mixes records, so DP-SGD would have to replace it; our CNN has none.)

# %% [markdown]
# ## What differential privacy promises
# Training is **(ε, δ)-differentially private** if one record more or less changes the probability of *every* outcome by a factor of at most $e^\varepsilon$, up to a small
# probability δ. That an attack says "member" is such an outcome, and so is "non-member". Hence for every attack, known or unknown,
#
# $$\mathrm{TPR} \le e^{\varepsilon}\,\mathrm{FPR} + \delta \quad\text{and}\quad 1 - \mathrm{FPR} \le e^{\varepsilon}\,(1 - \mathrm{TPR}) + \delta.$$
#
# ε follows, for a chosen δ, from σ, from a batch's share of the records and from the number of steps. Attacks cannot prove a promise, but they can *refute* one.
#
# Move **ε**: a model whose thin line enters the grey refutes it. **Predict**: which ε would rule out what attacks do to the undefended model?

# %%
delta = next(iter(private.values())).rows[0].settings["delta"]
epsilon = {s: one.fact("history")[0][-1]["epsilon"] for s, one in private.items()}
reached = {"undefended": figures.reach_of(plain)}
reached |= {f"σ = {s:g}, ε = {epsilon[s]:.3g}": figures.reach_of(private[s]) for s in private}


def promise_view(epsilon: float = 3.0) -> plots.Picture:
    return figures.promise(reached, epsilon=epsilon, delta=delta)


widgets.explore(promise_view, epsilon=widgets.log_slider(0.1, 100, start=3.0, label="ε"))

# %% [markdown]
# *Without a kernel*: ε = 1 and 4.

# %%
picture = plots.small_multiples(promise_view, epsilon=[1, 4])
show(picture, name="11_promise")
refuted = {name: one.refuted(delta) for name, one in reached.items()}
assert all(refuted[name] <= epsilon[s] for name, s in zip(list(reached)[1:], private, strict=True))
promised = ", ".join(f"{value:.3g}" for value in epsilon.values())
disproved = ", ".join(f"{refuted[name]:.1f}" for name in list(reached)[1:])
print(f"ε promised: {promised}; refuted: {disproved}")

# %% [markdown]
# **What to see.** At an FPR of 0.01, ε = 1 allows a TPR of {{picture.numbers['limit at 0.01 at 1']:.3f}} and ε = 4 one of
# {{picture.numbers['limit at 0.01 at 4']:.2f}}. The undefended model breaks the *second* inequality: many non-members have a loss that no member has, and to
# clear them so surely refutes every ε below {{refuted["undefended"]:.1f}}. Of what DP-SGD promises, printed above, the attacks contradict nothing.
#
# That so little is refuted does not prove ε too pessimistic: it speaks of the worst record, and of attacks that nobody has tried. Its price: at
# ε = {{epsilon[max(private)]:.1f}} the accuracy is {{private[max(private)].accuracy().value:.2f}}. A thousand records are a small crowd to hide in.

# %% [markdown]
# ### One number, or a whole curve
# An ε belongs to one δ; the same count gives an ε for *every* δ, and all hold at once. Together they are the **ceiling** of every attack. **Predict**: how much of it do ours use?

# %%
from mialib.epsilon import dp_sgd

recipe, n = profiles.load(PROFILE).images.recipe, int(plain.is_member.sum())
rate = recipe.batch_size / n  # a batch's share of the members
steps = recipe.epochs * round(1 / rate)
names = dict(zip(private, list(reached)[1:], strict=True))  # the names of above, by σ
guarantees = {name: dp_sgd(sigma=s, sample_rate=rate, steps=steps) for s, name in names.items()}
for s, name in names.items():
    assert np.isclose(guarantees[name].epsilon(delta), epsilon[s], rtol=0.01)  # as Opacus counts
picture = figures.ceilings({name: reached[name] for name in guarantees}, guarantees, delta=delta)
show(picture, name="11_ceiling")
most = names[max(private)]

# %% [markdown]
# **What to see.** At σ = {{max(private):g}} and an FPR of 0.01, ε alone would allow a TPR of {{picture.numbers[f"{most} allowed by one pair"]:.2f}}, the whole curve
# {{picture.numbers[f"{most} allowed"]:.3f}}. Our best attack reaches {{picture.numbers[f"{most} reached"]:.3f}} (mean of {{len(private[max(private)])}} trainings), {{picture.numbers[f"{most} used"]:.0f}} % of what the ceiling leaves above guessing. A line above it would be a bug.

# %% [markdown]
# ## Exercises
# ### Exercise 11.1: what would you advise? · difficulty 2/5 · about 10 minutes
# Four clients have a model like ours. Each wants the strongest attack to be as weak as possible, and significantly weaker than undefended. What do you advise, by our results on letters?
#
# | client | has, beside the members | may lose of the accuracy |
# |---|---|---|
# | "shop" | records without labels | 0.1 |
# | "school" | records with labels | 0.05 |
# | "clinic" | nothing | 0.1 |
# | "bank" | nothing; must show that it holds against *every* attack | anything |
#
# Choose from "AdvReg", "Mixup+MMD", "distillation", "DMP, all", "DMP, synthetic", "DP-SGD" and "none", at any strength that we trained.

# %%
from mialib.course.exercises import lesson_11 as checks


def advised() -> dict[str, str]:
    """By client: the defense that you advise."""
    raise NotImplementedError


checks.check_choices(advised)

# %% [markdown]
# <details><summary>Hint 1</summary>First strike out what asks for data that the client does not have: the first table of this notebook says so.</details>
# <details><summary>Hint 2</summary>Then strike out what costs too much accuracy. For one client nothing is left.</details>
# <details><summary>Solution</summary>
#
# ```python
# def advised():
#     return {"shop": "DMP, all", "school": "Mixup+MMD", "clinic": "none", "bank": "DP-SGD"}
# ```
#
# Good advice also says what it costs. The clinic could take DMP with invented records if it may lose a little more. The bank pays for its promise with nearly all of the accuracy: *collect more data first* is an honest answer, too.
# </details>

# %% [markdown]
# ### Exercise 11.2 · difficulty 3/5 · about 15 minutes
# An attack *audits* a promise: if it reaches this TPR at this FPR, which ε is the smallest that both inequalities still allow? Mind an FPR of 0 and a TPR of 1.


# %%
def least_epsilon(tpr: float, fpr: float, delta: float) -> float:
    """The smallest ε ≥ 0 at which (ε, δ)-differential privacy allows these rates."""
    raise NotImplementedError


checks.check_least_epsilon(least_epsilon)

# %% [markdown]
# <details><summary>Hint</summary>Solve each inequality for ε. A rate that is at most δ asks for nothing; a rate above δ against 0 asks for ∞.</details>
# <details><summary>Solution</summary>
#
# ```python
# def least_epsilon(tpr: float, fpr: float, delta: float) -> float:
#     def needed(rate: float, other: float) -> float:
#         if rate <= delta:
#             return 0.0
#         return np.inf if other == 0 else np.log((rate - delta) / other)
#
#     return max(0.0, needed(tpr, fpr), needed(1 - fpr, 1 - tpr))
# ```
#
# The thin lines above put in the ends of the intervals that favour the defender.
# </details>

# %% [markdown]
# ## Recap
# - The price of a learned defense is data, a network, time, and accuracy. From {{plain.highest().value:.2f}} undefended, DMP comes down to {{dmp["all"].highest().value:.2f}}, Mixup+MMD at λ = 3 to
#   {{both[3.0].highest().value:.2f}}.
# - A promise (ε) holds for every attack; a measured advantage for those that were tried. An attack can refute a promise, and never prove it.
# - Tuning by PAST drops the defense before it, and must first win back what that has lost.
#
# ## What this does not show
# - Few strengths, one small network, {{int(plain.is_member.sum()):,}} members.
# - Whether DMP's student leaks the *reference* records, which it did meet; what those records would bring as *training* data.
# - Attackers with many shadows (notebook 05).
# - ε counts the training of one model, not the search for its settings.
#
# ## References
# - M. Nasr, R. Shokri and A. Houmansadr, 2018, *Machine learning with membership privacy using adversarial
#   regularization*, [arXiv 1807.05852](https://arxiv.org/abs/1807.05852): AdvReg.
# - J. Li, N. Li and B. Ribeiro, 2021, *Membership inference attacks and defenses in classification models*,
#   [arXiv 2002.12062](https://arxiv.org/abs/2002.12062): Mixup+MMD.
# - V. Shejwalkar and A. Houmansadr, 2021, *Membership privacy for machine learning models through knowledge
#   transfer*, [arXiv 1906.06589](https://arxiv.org/abs/1906.06589): DMP.
# - H. Zhang and others, 2018, *mixup: beyond empirical risk minimization*,
#   [arXiv 1710.09412](https://arxiv.org/abs/1710.09412): mixup.
# - G. Hinton, O. Vinyals and J. Dean, 2015, *Distilling the knowledge in a neural network*,
#   [arXiv 1503.02531](https://arxiv.org/abs/1503.02531): distillation, and the temperature τ.
# - M. Abadi and others, 2016, *Deep learning with differential privacy*,
#   [arXiv 1607.00133](https://arxiv.org/abs/1607.00133), Algorithm 1: DP-SGD.
# - A. Yousefpour and others, 2021, *Opacus: user-friendly differential privacy library in PyTorch*,
#   [arXiv 2109.12298](https://arxiv.org/abs/2109.12298).
# - P. Kairouz, S. Oh and P. Viswanath, 2015, *The composition theorem for differential privacy*,
#   [arXiv 1311.0776](https://arxiv.org/abs/1311.0776): the two inequalities.
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 4.2 and Table 2.
# - Code of the authors, as we read it: `SPIN-UMass/ML-Privacy-Regulization` at commit 4b37f2d (AdvReg),
#   `colaalex111/MMD-mixup-Defense` at commit 0d64bbf (Mixup+MMD) and `vrt1shjwlkr/AAAI21-MIA-Defense` at commit
#   8c44180 (DMP).
