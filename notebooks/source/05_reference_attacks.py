# ---
# title: Reference attacks
# question: What does one record look like to models that held it and to models that did not, and whom does that give away?
# goals:
#   - compare a record's two worlds, IN and OUT, and build LiRA, RMIA and Attack R on them
#   - read an attack where false alarms are rare, with enough non-members to do so
#   - say how many reference models an attack needs, and what γ is for
#   - find the records that are at risk whoever the target is
# needs: notebook 02; the normal distribution
# read: 35
# reproduces: the attacks of PAST's Fig. 14 (LiRA, RMIA, Attack R), on our data
# cover: 05_corner
# ---

# %% [markdown]
# ## Hard for whom?
# A metric attack asks: *is the loss low?* But a clear letter has a low loss in any model, and a smudge a high one, seen or not. The
# question worth asking is: *is the loss low for a model that has not seen this record?* For that, the attacker trains **reference
# models**, some with the record (IN), some without (OUT), and asks which of the two the target resembles more.
#
# Training dozens of models takes a while, so the course ships their answers: a **signal bank** of 64 models on 2,400 letters, each
# record held by exactly half of them (`tools/bank.py` made it; its provenance lies beside it). Any model can play the target.

# %%
import numpy as np

from mialib import attacks, bank, exposure, metrics
from mialib.course import figures, plots, widgets
from mialib.course.cards import cards
from mialib.course.plots import show

letters = bank.load("letters")
game = attacks.game(letters, target=0)
is_member = letters.is_member[0]
print(f"{letters}\n{len(game.shadow)} references for target 0")
cards("loss", "LiRA", "LiRA offline", "RMIA", "Attack R", "Attack P")

# %% [markdown]
# ### Stop and think
# Why {{len(game.shadow)}} references and not 63? Every record is in exactly 32 of the 64 models. An attacker who counts 31 INs among the
# other 63 knows that the target is the 32nd. That is no attack on the model, only on our bookkeeping. The records were dealt out in
# complementary pairs of models, so `game` sends the target's partner away, too. Then every record is IN 31 times, and counting is worthless:


# %%
def count(references: bank.Bank, target) -> np.ndarray:
    return references.is_member.sum(axis=0)


cheat = game.play(attacks.FromFunction(count))
print(f"counting INs: AUC {cheat.auc.value:.3f}")
assert cheat.auc.value == 0.5

# %% [markdown]
# ## One record in two worlds
# For each record and model take the confidence on a scale without edges,
#
# $$\varphi = \log \frac{p_y}{1 - p_y}.$$
#
# Move the **record** and watch how far the two worlds are apart. *Think*: for which records can no attack work?

# %%
phi, holds = letters.phi[:, 0], letters.is_member  # both (models, records)


def record_view(record: float) -> plots.Picture:
    i = int(record)
    inside, outside = phi[2:, i][holds[2:, i]], phi[2:, i][~holds[2:, i]]
    truth = "a member" if is_member[i] else "a non-member"
    return figures.worlds(
        inside,
        outside,
        phi[0, i],
        label="scaled score φ",
        title=f"Record {i}, {truth} of the target.",
    )


widgets.explore(record_view, record=widgets.slider(0, 2399, start=929, step=1, label="record"))

# %% [markdown]
# *Without a kernel*: three records.

# %%
three = plots.small_multiples(record_view, record=[929, 5, 532])
show(three, name="05_worlds")

# %% [markdown]
# **What to see.** Record 929 is a stranger to every model that has not seen it: φ is {{three.numbers['out at 929']:.1f}} on average in the
# OUT models and {{three.numbers['in at 929']:.1f}} in the IN models, with nothing between. For record 5 the means are
# {{three.numbers['out at 5']:.1f}} and {{three.numbers['in at 5']:.1f}}, and the histograms overlap. Record 532, a non-member, is easy for everyone:
# {{three.numbers['out at 532']:.1f}} and {{three.numbers['in at 532']:.1f}}; whether it was in cannot be told, and the loss attack would accuse it.

# %% [markdown]
# ## LiRA from scratch
# The *likelihood ratio attack* fits a normal distribution to each world of each record, and asks which of the two explains the
# target's φ better:
#
# $$\Lambda(x) = \log \mathcal{N}(\varphi;\ \mu_{in}, \sigma_{in}) - \log \mathcal{N}(\varphi;\ \mu_{out}, \sigma_{out}).$$


# %%
def lira_by_hand(phi: np.ndarray, references: np.ndarray, holds: np.ndarray) -> np.ndarray:
    """φ of the target (n,) and of references (models, n), who holds what (models, n) → (n,)."""
    scores = np.empty(len(phi))
    for i in range(len(phi)):
        log_density = {}
        for world, mask in (("in", holds[:, i]), ("out", ~holds[:, i])):
            mean, deviation = references[mask, i].mean(), references[mask, i].std()
            log_density[world] = -np.log(deviation) - ((phi[i] - mean) / deviation) ** 2 / 2
        scores[i] = log_density["in"] - log_density["out"]
    return scores


ours = lira_by_hand(phi[0], phi[2:], holds[2:])

# %% [markdown]
# Model 0 is the target and model 1 its complement, so the references are the models from 2 on. The library must agree.

# %%
assert np.allclose(ours, game.scores(attacks.LiRA()), atol=1e-9)
print(f"LiRA: AUC {metrics.auc(ours, is_member):.3f}, loss: {metrics.auc(phi[0], is_member):.3f}")

# %% [markdown]
# The library does it without the loop: sums over models under a mask. Its **offline** form needs no IN models, so the references can be trained
# before anyone knows which record will be asked about. It asks how far the target lies in the upper tail of OUT: $-\log \Pr[Z > \varphi]$.

# %% [markdown]
# ## RMIA from scratch
# RMIA needs fewer models. It turns the target's probability into a ratio, $\Pr(x \mid \theta) / \Pr(x)$, where $\Pr(x)$ is averaged over references, and
# then asks how many records $z$ of a **population** (known non-members) have a ratio smaller by a factor γ:
#
# $$\mathrm{score}(x) = \Pr_z\!\left[\frac{\Pr(x \mid \theta)/\Pr(x)}{\Pr(z \mid \theta)/\Pr(z)} \ge \gamma\right].$$
#
# Offline, only OUT models are at hand, and $\Pr(x) \approx \tfrac12\bigl((1 + a)\,\overline{p}_{out} + (1 - a)\bigr)$ guesses the rest; $a = 0.3$ is the authors' value for CIFAR-10, taken unchanged, and so is $\gamma = 2$ below.


# %%
def ratio_by_hand(
    p: np.ndarray, references: np.ndarray, out: np.ndarray, a: float = 0.3
) -> np.ndarray:
    mean_out = (references * out).sum(axis=0) / out.sum(axis=0)
    return p / (0.5 * ((1 + a) * mean_out + (1 - a)))


def sigmoid(phi: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-phi))


z = sigmoid(letters.population.phi[:, 0])  # (models, population)
ratio_x = ratio_by_hand(sigmoid(phi[0]), sigmoid(phi[2:]), ~holds[2:])
ratio_z = ratio_by_hand(z[0], z[2:], np.ones_like(z[2:]))
by_hand = (ratio_x[:, None] / ratio_z[None, :] >= 2.0).mean(axis=1)  # the whole table of pairs

# %%
assert np.allclose(by_hand, game.scores(attacks.RMIA(gamma=2.0)), atol=1e-12)

# %% [markdown]
# The library sorts the population once and looks each record up, instead of comparing all pairs.
#
# **Attack R** is the plainest of the family: at which percentile of the OUT models' losses does the target's loss lie? **Attack P** compares with the
# target's own losses on the population instead. That is one fixed order of losses, so it ranks the records as the loss does and stands for it below.

# %% [markdown]
# ## In the corner
# How rare must false alarms be? A rate of one in a thousand can be read only from many non-members, so each of the 64 models
# plays the target in turn: 64 × 1,200 non-member scores. The same record appears 64 times, and its scores resemble each other, so the bootstrap
# draws *records*, with all their scores. **Predict** the order of the attacks by AUC. Is it the same at 0.1 %?

# %%
pooled = {
    "loss (Attack P)": attacks.scores_per_target(letters, attacks.AttackP()),
    "Attack R": attacks.scores_per_target(letters, attacks.AttackR()),
    "LiRA offline": attacks.scores_per_target(letters, attacks.LiRA(online=False)),
    "RMIA, γ = 2": attacks.scores_per_target(letters, attacks.RMIA(gamma=2.0)),
    "LiRA online": attacks.scores_per_target(letters, attacks.LiRA()),
}
truth = holds.ravel()
record = np.broadcast_to(np.arange(holds.shape[1]), holds.shape).ravel()
curves = plots.roc({name: (scores.ravel(), truth) for name, scores in pooled.items()}, floor=1e-4)
show(curves, name="05_corner")
evaluated = {
    n: metrics.evaluate(s.ravel(), truth, groups=record, draws=100) for n, s in pooled.items()
}

# %% [markdown]
# **What to see.** On the left, four similar curves and the loss below them. On the right they fan out. At 1 % false alarms the loss catches
# {{evaluated['loss (Attack P)'].tpr_at_1_percent.value:.1%}} of the members, hardly more than a coin would, LiRA
# {{evaluated['LiRA online'].tpr_at_1_percent.value:.1%}}. In numbers:

# %%
from IPython.display import Markdown

rows = ["| attack | AUC | TPR at 1 % FPR | TPR at 0.1 % FPR |", "|---|---|---|---|"]
for name, result in evaluated.items():
    columns = (name, result.auc, result.tpr_at_1_percent, result.tpr_at_0_1_percent)
    rows.append(f"| {' | '.join(map(str, columns))} |")
n = evaluated["LiRA online"]
counts = f"{n.members:,} member and {n.non_members:,} non-member scores"
Markdown("\n".join(rows) + f"\n\n*{counts}; 95 % intervals by record.*")

# %% [markdown]
# From the loss to online LiRA the AUC rises from {{evaluated['loss (Attack P)'].auc.value:.2f}} to {{evaluated['LiRA online'].auc.value:.2f}}, and the TPR at
# 0.1 % from {{evaluated['loss (Attack P)'].tpr_at_0_1_percent.value:.2%}} to {{evaluated['LiRA online'].tpr_at_0_1_percent.value:.1%}}. Knowing what is
# normal *for this record* is worth most where accusations must hold. (PAST's Fig. 14 draws AUC and TPR at 0.1 % against test accuracy
# on CIFAR-10; it prints no numbers and does not say how many references it used, so there is nothing to compare with yet.)

# %% [markdown]
# ## How many references?
# LiRA fits two means and two deviations a record, RMIA one mean. *Think*: who suffers first when references are few? Move the
# **number of references** below and watch the curves.

# %%
numbers, players = [4, 8, 16, 32, 62], range(0, 16, 2)
forms = {
    "LiRA": attacks.LiRA(),
    "LiRA, pooled variance": attacks.LiRA(variance="pooled"),
    "RMIA": attacks.RMIA(gamma=2.0),
    "Attack R": attacks.AttackR(),
}
some_truth = holds[players].ravel()


def with_references(number: int, attack: attacks.Attack) -> np.ndarray:
    """Scores of eight targets, each attacked with so many of its references: (8 × n,)."""
    scores = []
    for k in players:
        versus = attacks.game(letters, target=k)
        fitted = attack.fit(versus.shadow.take(slice(number)))
        scores.append(versus.scores(fitted))
    return np.concatenate(scores)


by_number = {n: {name: with_references(n, form) for name, form in forms.items()} for n in numbers}


# %%
def references_view(references: int) -> plots.Picture:
    return plots.roc({name: (scores, some_truth) for name, scores in by_number[references].items()})


widgets.explore(
    references_view, references=widgets.steps(numbers, start=4, label="number of references")
)

# %% [markdown]
# *Without a kernel*: the AUC at every position.

# %%
areas = {name: [metrics.auc(by_number[n][name], some_truth) for n in numbers] for name in forms}
picture = plots.lines(numbers, areas, xlabel="number of references", ylabel="AUC", log="x")
show(picture, name="05_references")
some_record = np.tile(np.arange(holds.shape[1]), len(players))
full = metrics.evaluate(by_number[62]["LiRA"], some_truth, groups=some_record, draws=100).auc

# %% [markdown]
# **What to see.** With 4 references, two IN and two OUT for each record, LiRA has {{areas['LiRA'][0]:.2f}}: a deviation from two values is a guess. Pooling
# the variance over all records mends it ({{areas['LiRA, pooled variance'][0]:.2f}}); RMIA, which asks the OUT models only, has {{areas['RMIA'][0]:.2f}}. With
# {{numbers[-1]}} the two LiRAs meet at {{areas['LiRA'][-1]:.2f}} and RMIA stays at {{areas['RMIA'][-1]:.2f}}. (Eight targets, 9,600 + 9,600
# scores; LiRA with {{numbers[-1]}} has {{full}}, by record.) The choice of attack is a choice of budget.

# %% [markdown]
# ## What γ is for
# RMIA's score is a share of {{len(letters.population.labels)}} population records, so it has {{len(letters.population.labels) + 1}} possible values. Move **γ** and watch the lower left
# corner. **Predict**: what happens to records that beat the whole population?

# %%
gammas = [0.5, 1.0, 1.5, 2.0, 4.0]
by_gamma = {
    g: attacks.scores_per_target(letters, attacks.RMIA(gamma=g), targets=16).ravel() for g in gammas
}
sixteen = holds[:16].ravel()


def gamma_view(gamma: float) -> plots.Picture:
    rows = {
        f"RMIA, γ = {gamma:g}": by_gamma[gamma],
        "LiRA online": pooled["LiRA online"][:16].ravel(),
    }
    return plots.roc({name: (scores, sixteen) for name, scores in rows.items()}, floor=1e-3)


widgets.explore(gamma_view, gamma=widgets.steps(gammas, start=1.0, label="γ"))

# %% [markdown]
# *Without a kernel*: the two numbers at every γ.

# %%
at_gamma = [
    metrics.evaluate(by_gamma[g], sixteen, groups=record[: len(sixteen)], draws=100) for g in gammas
]
corner = [e.tpr_at_0_1_percent for e in at_gamma]
picture = plots.lines(gammas, {"RMIA": corner}, xlabel="γ", ylabel="TPR at 0.1 % FPR")
show(picture, name="05_gamma")
highest = {g: float((scores == 1).mean()) for g, scores in by_gamma.items()}

# %% [markdown]
# **What to see.** At γ = 1 the TPR at 0.1 % is {{corner[1].value:.1%}}; at γ = 1.5, {{corner[2].value:.1%}}; at 2, {{corner[3].value:.1%}}; at 4,
# {{corner[4].value:.1%}}. The AUC falls meanwhile: {{at_gamma[1].auc.value:.3f}}, {{at_gamma[2].auc.value:.3f}}, {{at_gamma[3].auc.value:.3f}},
# {{at_gamma[4].auc.value:.3f}}. At γ = 1, {{highest[1.0]:.1%}} of all scores are tied at exactly 1: these records beat the whole population, and no
# threshold parts them. A larger γ spreads the top out, up to a point; a larger population should, too. (Sixteen targets.)

# %% [markdown]
# ## Slips of the reference code, measured
# The published code of LiRA differs from its paper in several places, and copies carry them on. Two of them: with one variance for all records it takes the deviation of
# the *raw IN values* for both worlds. And offline it uses the density of OUT, which is low on *both* sides: a record that fares far worse than expected
# looks like a member, too. Both are switches (`as_published_code=True`), off by default. **Predict** which one costs more.

# %%
slips = {}
for name, settings in (
    ("online, pooled variance", {"variance": "pooled"}),
    ("offline", {"online": False}),
):
    for arm in (False, True):
        attack = attacks.LiRA(as_published_code=arm, **settings)
        scores = attacks.scores_per_target(letters, attack, targets=16).ravel()
        result = metrics.evaluate(scores, sixteen, groups=record[: len(sixteen)], draws=100)
        slips.setdefault("as coded" if arm else "as printed", {})[name] = result.auc
show(plots.comparison(slips, label="AUC", chance=0.5), name="05_slips")

# %% [markdown]
# **What to see.** The variance slip costs little here: {{slips['as printed']['online, pooled variance']}} against {{slips['as coded']['online, pooled variance']}}. The
# two-sided density costs a lot: {{slips['as printed']['offline']}} against {{slips['as coded']['offline']}}. Whoever compares with offline LiRA should say which one.
#
# And several queries? Our models also answered about each record shifted by one pixel. **Predict** what averaging over the three views does
# to LiRA's AUC.

# %%
shifted = bank.load("letters", views=True)
three_views = attacks.scores_per_target(shifted, attacks.LiRA(), targets=16).ravel()
alone = pooled["LiRA online"][:16].ravel()
many = {
    name: metrics.evaluate(scores, sixteen, groups=record[: len(sixteen)], draws=100).auc
    for name, scores in (("three views", three_views), ("the record alone", alone))
}
one_view = [metrics.auc(shifted.phi[:16, q].ravel(), sixteen) for q in range(3)]
print({name: str(value) for name, value in many.items()})
print("φ alone, by view:", np.round(one_view, 3))

# %% [markdown]
# {{many['three views']}} against {{many['the record alone']}}. These models never saw shifted letters, and a shifted view tells much less: a threshold on φ has
# AUC {{one_view[1]:.2f}} and {{one_view[2]:.2f}} on the two shifted views and {{one_view[0]:.2f}} on the record itself.

# %% [markdown]
# ## Who is at risk?
# Do the attacks find the same people? Each at its own threshold, which a reference attack finds by letting four references play the target; the number
# is the share found by both among the members found by either.

# %%
four_shadows = [game.shadow.signals(k) for k in range(4)]
ways = {
    "LiRA": attacks.LiRA().fit(game.shadow),
    "RMIA, γ = 2": attacks.RMIA(gamma=2.0).fit(game.shadow),
    "Attack R": attacks.AttackR().fit(game.shadow),
    "loss": attacks.MetricThreshold("loss").fit(four_shadows),
}
shared = exposure.agreement({name: game.calls(way) for name, way in ways.items()}, is_member)
for name, way in ways.items():
    found = game.play(way)
    print(
        f"{name:<12} finds {found.tpr.value:.0%} of the members, "
        f"accuses {found.fpr.value:.0%} of the others: advantage {found.advantage}"
    )
for (a, b), share in shared.both.items():
    print(f"{a} and {b}: {share:.2f}")

# %% [markdown]
# **What to see.** LiRA and RMIA share {{shared.both['LiRA', 'RMIA, γ = 2']:.0%}} of the members that either finds, Attack R and the loss
# {{shared.both['Attack R', 'loss']:.0%}}. Of {{len(shared.by_how_many):,}} members {{int((shared.by_how_many == 4).sum()):,}} are found by all four and
# {{int((shared.by_how_many == 0).sum())}} by none: at these loose thresholds, with so many false alarms, most attacks find most members.
#
# So let us be strict, and ask over many targets: how often is a record **caught** when it is in, and **accused** when it is not, at 1 % false
# alarms? The most exposed records are picked on models 0 to 31 and their rates read on models 32 to 63, because whoever is picked for
# extreme numbers has extreme numbers. **Predict** what they look like.

# %%
half = len(letters) // 2
scores = pooled["LiRA online"]
picked_on, read_on = (
    exposure.risk(scores[part], holds[part]) for part in (slice(half), slice(half, None))
)
worst = picked_on.most_exposed(10)
names = "ABCDEFGHIJ"
captions = [f"{names[letters.labels[i]]} {read_on.caught[i]:.0%}" for i in worst]
show(figures.images(letters.x[worst], captions), name="05_exposed")

# %% [markdown]
# **What to see.** The ten most exposed records with the share of models, among those that hold them, in which they are caught: {{read_on.caught[worst].mean():.0%}} on average
# ({{picked_on.caught[worst].mean():.0%}} where they were picked), accused in {{read_on.accused[worst].mean():.1%}} of the others. They are the odd ones, which a
# model gets right only by heart.

# %%
risk = exposure.risk(scores, holds)
never = np.random.default_rng(0).choice(np.flatnonzero(risk.caught == 0), 10, replace=False)
captions = [f"{names[letters.labels[i]]} {risk.caught[i]:.0%}" for i in never]
show(figures.images(letters.x[never], captions), name="05_safe")

# %% [markdown]
# **What to see.** Ten drawn at random from those that are never caught. {{float((risk.caught == 0).mean()):.0%}} of all records are never caught,
# {{float((risk.caught > 0.5).mean()):.0%}} more often than not. **An average hides who pays**: "TPR {{risk.caught.mean():.0%}} at 1 %" does not mean that everyone
# runs a risk of {{risk.caught.mean():.0%}}.

# %% [markdown]
# ## Exercise 5.1: break the evaluation · difficulty 2/5 · about 10 minutes
# Write the cheat of tuning the threshold on the target: the largest TPR − FPR over all thresholds. The check plays it on pure noise.

# %%
from mialib.course.exercises import lesson_05 as checks


def claimed_advantage(scores: np.ndarray, is_member: np.ndarray) -> float:
    """The advantage at the threshold that is best on these very records."""
    raise NotImplementedError


checks.check_claimed_advantage(claimed_advantage)

# %% [markdown]
# <details><summary>Hint</summary>Try every score as the threshold, and one above all.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def claimed_advantage(scores: np.ndarray, is_member: np.ndarray) -> float:
#     cuts = np.append(scores, np.inf)
#     return max((scores[is_member] >= t).mean() - (scores[~is_member] >= t).mean() for t in cuts)
# ```
#
# On scores that know nothing, with 50 + 50 records, the cheat claims {{np.mean([metrics.best_advantage(np.random.default_rng(i).normal(size=100), np.arange(100) < 50) for i in range(500)]):.2f}} on average (500 draws), and never less than 0.
# </details>

# %% [markdown]
# ## Exercise 5.2: break it again · difficulty 3/5 · about 15 minutes
# Suppose that members came from one source and non-members from another. Write a **blind** attack: it sees records, never a model. If it wins, the
# evaluation measures the sources, not the leak.


# %%
def blind_scores(known: np.ndarray, is_member: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Records (n, d) with their membership, and records (m, d) to score: (m,); higher = member."""
    raise NotImplementedError


checks.check_blind_scores(blind_scores)

# %% [markdown]
# <details><summary>Hint</summary>The difference of the two groups' means is a direction; project on it.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def blind_scores(known: np.ndarray, is_member: np.ndarray, asked: np.ndarray) -> np.ndarray:
#     direction = known[is_member].mean(axis=0) - known[~is_member].mean(axis=0)
#     return asked @ direction
# ```
#
# Run a blind attack before you trust any evaluation, above all one with members from before a date and non-members from after it.
# </details>

# %% [markdown]
# ## Recap
# - A reference attack asks what is normal for *this* record. Online LiRA: AUC {{evaluated['LiRA online'].auc}}, TPR {{evaluated['LiRA online'].tpr_at_0_1_percent}} at
#   0.1 % FPR; the loss {{evaluated['loss (Attack P)'].tpr_at_0_1_percent}} ({{n.non_members:,}} non-member scores).
# - With few references pool the variance or use RMIA; γ = 1.5 to 2 wins the corner at some cost in AUC.
# - Risk is uneven: the ten most exposed records are caught {{read_on.caught[worst].mean():.0%}} of the time, {{float((risk.caught == 0).mean()):.0%}} of all records never.
#
# ## What this does not show
# - The attacker here knows the recipe and has data from the same source; references of another kind may serve it worse.
# - One small dataset, and models trained without augmentation. Intervals cover the draw of records
#   (with 100 draws, so roughly), not of models or datasets.
#
# ## References
# - N. Carlini and others, 2022, *Membership inference attacks from first principles*, Sections 4 and 5: LiRA.
# - S. Zarifzadeh and others, 2024, *Low-cost high-power membership inference attacks*, Section 3: RMIA, γ and a.
# - J. Ye and others, 2022, *Enhanced membership inference attacks*: Attacks P and R.
# - *Defending membership inference attacks via privacy-aware sparsity tuning* (PAST), Fig. 14.
