# ---
# title: Reference attacks
# question: What does one record look like to models that held it and to models that did not, and whom does that give away?
# goals:
#   - compare a record's two worlds, IN and OUT, and build LiRA and RMIA on them
#   - read an attack where false alarms are rare, with enough non-members to do so
#   - say how many reference models an attack needs, and what γ is for
#   - find the records that are at risk whoever the target is
# needs: notebook 02; the normal distribution
# read: 40
# reproduces: after PAST's Fig. 14 (LiRA, RMIA and Attack R, without and with PAST), on our data
# cover: 05_corner
# ---

# %% [markdown]
# ## Hard for whom?
# A metric attack asks: *is the loss low?* But a clear letter has a low loss in any model, and a smudge a high one, seen or not. The
# question worth asking is: *is the loss low for a model that has not seen this record?* For that, the attacker trains **reference
# models**, some with the record (IN), some without (OUT), and asks which of the two the target resembles more.
#
# Training dozens of models takes a while, so the course ships their answers: a **signal bank**. Each record is held by exactly half of
# the models, and any model can play the target. `mialib bank --profile class` trains a bank of your own on other data.

# %%
import numpy as np

from mialib import attacks, exposure, metrics, profiles
from mialib.bank import Bank
from mialib.course import figures, headlines, plots, widgets
from mialib.course.cards import cards
from mialib.course.plots import show
from mialib.experiments import rehearsal
from mialib.experiments.banks import references
from mialib.results.repeats import in_turn

# %%
found = references(PROFILE)
models = found.bank
game = attacks.game(models, target=0)
is_member = models.is_member[0]
print(f"{found.source}\n{models}\n{len(game.shadow)} references for target 0")

# %%
cards("loss", "LiRA", "LiRA offline", "RMIA", "Attack R", "Attack P")

# %% [markdown]
# ### Stop and think
# Why {{len(game.shadow)}} references and not {{len(models) - 1}}? Every record is in exactly {{len(models) // 2}} of the {{len(models)}} models. An attacker who counts
# {{len(models) // 2 - 1}} INs among the others knows that the target is the missing one. That is no attack on the model, only on our
# bookkeeping. The records were dealt out in complementary pairs of models, so `game` sends the target's partner away, too. Then every record is
# IN equally often, and counting is worthless:


# %%
def count(references: Bank, target) -> np.ndarray:
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
phi, holds = models.phi[:, 0], models.is_member  # both (models, records)
mean_in = np.nanmean(np.where(holds, phi, np.nan)[2:], axis=0)
mean_out = np.nanmean(np.where(holds, np.nan, phi)[2:], axis=0)
order = np.argsort(mean_in - mean_out)  # from the least to the most different
most, middle = int(order[-1]), int(order[len(order) // 2])
easy = int(np.argmax(np.where(is_member, -np.inf, mean_out)))  # a non-member that all get right


# %%
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


# %%
last = len(is_member) - 1
widgets.explore(record_view, record=widgets.slider(0, last, start=most, step=1, label="record"))

# %% [markdown]
# *Without a kernel*: three records, chosen for how far their worlds are apart: the most, the middle one, and an easy non-member.

# %%
three = plots.small_multiples(record_view, record=[most, middle, easy])
show(three, name="05_worlds")

# %% [markdown]
# **What to see.** In the first row φ is {{three.numbers[f'out at {most}']:.1f}} on average in the OUT models and {{three.numbers[f'in at {most}']:.1f}} in
# the IN models: a stranger to whoever has not seen it. In the middle the means are {{three.numbers[f'out at {middle}']:.1f}} and
# {{three.numbers[f'in at {middle}']:.1f}}, and the histograms overlap. The last, a non-member, is easy for everyone
# ({{three.numbers[f'out at {easy}']:.1f}} and {{three.numbers[f'in at {easy}']:.1f}}): being in or out changes little, and the loss attack would accuse it.

# %% [markdown]
# ## LiRA from scratch
# The *likelihood ratio attack* fits a normal distribution to each world of each record, and asks which of the two explains the
# target's φ better:
#
# $$\Lambda(x) = \log \mathcal{N}(\varphi;\ \mu_{in}, \sigma_{in}) - \log \mathcal{N}(\varphi;\ \mu_{out}, \sigma_{out}).$$
#
# μ and σ are the mean and the standard deviation of φ in that world.


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


# %%
ours = lira_by_hand(phi[0], phi[2:], holds[2:])

# %% [markdown]
# Model 0 is the target and model 1 its complement, so the references are the models from 2 on. The library must agree.

# %%
assert np.allclose(ours, game.scores(attacks.LiRA()), atol=1e-9)
print(f"LiRA: AUC {metrics.auc(ours, is_member):.3f}, loss: {metrics.auc(phi[0], is_member):.3f}")

# %% [markdown]
# The library does it without the loop: sums over models under a mask. Its **offline** form needs no IN models, so the references can be trained
# before anyone knows which record will be asked about. It asks how far the target lies in the upper tail of OUT: $-\log(\Pr[Z > \varphi])$, with $Z$ drawn from the curve of OUT.

# %% [markdown]
# ## RMIA from scratch
# RMIA needs fewer models. It turns the target's probability of the label into a ratio, $\Pr(x \mid \theta) / \Pr(x)$: θ stands for the target, and $\Pr(x)$ is averaged over references. It
# then asks how many records $z$ of a **population** (known non-members) have a ratio smaller by a factor γ:
#
# $$\mathrm{score}(x) = \Pr_z\!\left[\frac{\Pr(x \mid \theta)/\Pr(x)}{\Pr(z \mid \theta)/\Pr(z)} \ge \gamma\right].$$
#
# Offline, only OUT models are at hand, and $\Pr(x) \approx \tfrac12\bigl((1 + a)\,\overline{p}_{out} + (1 - a)\bigr)$ guesses the rest, where $\overline{p}_{out}$ is the mean probability over the OUT models. $a = 0.3$ is the authors' value for CIFAR-10, taken unchanged, and so
# is $\gamma = 2$ below. (Their code, `privacytrustlab/ml_privacy_meter` at d327341, also computes the probability in another way, by a Taylor series of the softmax, and asks 18 copies of each record. We do neither.)


# %%
def ratio_by_hand(
    p: np.ndarray, references: np.ndarray, out: np.ndarray, a: float = 0.3
) -> np.ndarray:
    mean_out = (references * out).sum(axis=0) / out.sum(axis=0)
    return p / (0.5 * ((1 + a) * mean_out + (1 - a)))


def sigmoid(phi: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-phi))


# %%
z = sigmoid(models.population.phi[:, 0])  # (models, population)
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
# What does each attack find when false alarms must be rare? Each of the {{len(models)}} models plays the target in turn, so that no target's luck decides.
# **Predict** the order of the attacks by AUC. Is it the same at 0.1 % false alarms?

# %%
ways = {
    "loss (Attack P)": attacks.AttackP(),
    "Attack R": attacks.AttackR(),
    "LiRA offline": attacks.LiRA(online=False),
    "RMIA, γ = 2": attacks.RMIA(gamma=2.0),
    "LiRA online": attacks.LiRA(),
}
pooled = {name: attacks.scores_per_target(models, attack) for name, attack in ways.items()}

# %%
truth = holds.ravel()
curves = plots.roc({name: (scores.ravel(), truth) for name, scores in pooled.items()}, floor=1e-4)
show(curves, name="05_corner")
reached = {name: in_turn(scores, holds) for name, scores in pooled.items()}
plain_loss, lira = reached["loss (Attack P)"], reached["LiRA online"]

# %% [markdown]
# **What to see.** In the right picture the curves fan out towards the left, where accusations are rare. At 1 % false alarms the loss catches
# {{plain_loss.tpr_at_1_percent.value:.1%}} of the members (a coin: 1 %), and online LiRA {{lira.tpr_at_1_percent.value:.1%}}. Attack R and offline LiRA
# ask nearly the same question, so their lines lie close together.
#
# In numbers:

# %%
headlines.in_turn(reached)

# %% [markdown]
# These are means over {{len(models)}} targets with {{int(is_member.sum()):,}} members each; the intervals cover the training of the target and the draw of the
# records. The curves throw the scores of all targets together, as if one threshold served them all, so a legend may differ from the table: RMIA's AUC is
# {{curves.numbers["auc RMIA, γ = 2"]:.2f}} there and {{reached["RMIA, γ = 2"].auc.value:.2f}} here.
#
# Knowing what is normal *for this record* is worth most where accusations must hold: from the loss to online LiRA the TPR at 0.1 % goes
# from {{plain_loss.tpr_at_0_1_percent.value:.2%}} to {{lira.tpr_at_0_1_percent.value:.1%}}.

# %% [markdown]
# ## How many references?
# LiRA fits two means and two deviations per record, RMIA one mean. *Think*: who suffers first when references are few? Move the
# **number of references** below and watch the curves.

# %%
most_references = len(game.shadow)
numbers = [n for n in (4, 8, 16, 32) if n < most_references] + [most_references]
players = range(0, 16, 2)
forms = {
    "LiRA": attacks.LiRA(),
    "LiRA, pooled variance": attacks.LiRA(variance="pooled"),
    "RMIA": attacks.RMIA(gamma=2.0),
    "Attack R": attacks.AttackR(),
}
some_truth = holds[players].ravel()


# %%
def with_references(number: int, attack: attacks.Attack) -> np.ndarray:
    """Scores of eight targets, each attacked with so many of its references: (8 × n,)."""
    scores = []
    for k in players:
        versus = attacks.game(models, target=k)
        fitted = attack.fit(versus.shadow.take(slice(number)))
        scores.append(versus.scores(fitted))
    return np.concatenate(scores)


# %%
by_number = {n: {name: with_references(n, form) for name, form in forms.items()} for n in numbers}


# %%
def references_view(references: int) -> plots.Picture:
    return plots.roc({name: (scores, some_truth) for name, scores in by_number[references].items()})


widgets.explore(
    references_view, references=widgets.steps(numbers, start=4, label="number of references")
)

# %% [markdown]
# *Without a kernel*: the AUC at every position, as a mean over eight targets.

# %%
areas = {
    name: [in_turn(by_number[n][name].reshape(8, -1), holds[players]).auc for n in numbers]
    for name in forms
}
picture = plots.lines(numbers, areas, xlabel="number of references", ylabel="AUC", log="x")
show(picture, name="05_references")
few = {name: row[0].value for name, row in areas.items()}
many = {name: row[-1].value for name, row in areas.items()}

# %% [markdown]
# **What to see.** With 4 references, two IN and two OUT for each record, LiRA has {{few['LiRA']:.2f}}: a deviation from two values is a guess. Pooling
# the variance over all records gives {{few['LiRA, pooled variance']:.2f}}, and RMIA, which asks the OUT models only, {{few['RMIA']:.2f}}. With
# all references the three reach {{many['LiRA']:.2f}}, {{many['LiRA, pooled variance']:.2f}} and {{many['RMIA']:.2f}}: the choice of attack is a choice of budget.

# %% [markdown]
# What would your own cost? We time a few training steps on noise of the same shape, on your device, and multiply by the steps of all models.

# %%
recipe_of_bank = profiles.load(PROFILE).experiments["bank"]
seconds_per_model = recipe_of_bank.recipe.epochs * rehearsal.seconds_per_epoch(recipe_of_bank)
for count in (4, 64, 256):
    print(f"{count:>3} models, one by one: about {count * seconds_per_model / 60:,.1f} minutes")

# %% [markdown]
# An **estimate**, and for models of profile `{{PROFILE}}`; CLUSTERS.md has the one at the scale of LiRA's paper, and how several machines share the work. `mialib bench --device auto`
# measures your device more closely, and prints one line to send us: we have tried no GPU yet.

# %% [markdown]
# ## What γ is for
# RMIA's score is a share of {{len(models.population.labels)}} population records, so it has {{len(models.population.labels) + 1}} possible values. Move **γ** and watch the lower left
# corner. **Predict**: what happens to records that beat the whole population?

# %%
gammas = [0.5, 1.0, 1.5, 2.0, 4.0]
by_gamma = {g: attacks.scores_per_target(models, attacks.RMIA(gamma=g), targets=16) for g in gammas}
sixteen = holds[:16].ravel()


def gamma_view(gamma: float) -> plots.Picture:
    rows = {
        f"RMIA, γ = {gamma:g}": by_gamma[gamma].ravel(),
        "LiRA online": pooled["LiRA online"][:16].ravel(),
    }
    return plots.roc({name: (scores, sixteen) for name, scores in rows.items()}, floor=1e-3)


# %%
widgets.explore(gamma_view, gamma=widgets.steps(gammas, start=1.0, label="γ"))

# %% [markdown]
# *Without a kernel*: the TPR at every γ, as a mean over sixteen targets.

# %%
at_gamma = [in_turn(scores, holds[:16]) for scores in by_gamma.values()]
tpr = [one.tpr_at_0_1_percent for one in at_gamma]
picture = plots.lines(gammas, {"RMIA": tpr}, xlabel="γ", ylabel="TPR at 0.1 % FPR")
show(picture, name="05_gamma")
corner = {g: one.value for g, one in zip(gammas, tpr, strict=True)}
tied = {g: float((scores == 1).mean()) for g, scores in by_gamma.items()}

# %% [markdown]
# **What to see.** From γ = 1 to 2 the TPR at 0.1 % goes from {{corner[1.0]:.1%}} to {{corner[2.0]:.1%}}. At γ = 1, {{tied[1.0]:.1%}} of all scores are tied at exactly 1:
# these records beat the whole population, and no threshold parts them, so a rate of 0.1 % may be out of reach altogether. A larger γ spreads the top
# out: at γ = 2, {{f"{tied[2.0]:.1%}" if tied[2.0] else "none"}} are tied.

# %% [markdown]
# ## Slips of the reference code, measured
# The published code of LiRA (`tensorflow/privacy`, `research/mi_lira_2021` at 03035d5) differs from its paper in several places, and copies carry them on.
# Two of them: with one variance for all records it takes the deviation of the *raw IN values* for both worlds. And offline it uses the density of OUT, which is low on *both* sides: a record that fares far worse than expected
# looks like a member, too. Both are switches (`as_published_code=True`), off by default. **Predict** which one costs more.

# %%
slips = {}
for name, settings in (
    ("online, pooled variance", {"variance": "pooled"}),
    ("offline", {"online": False}),
):
    for arm in (False, True):
        attack = attacks.LiRA(as_published_code=arm, **settings)
        scores = attacks.scores_per_target(models, attack, targets=16)
        reach = in_turn(scores, holds[:16])
        slips.setdefault("as coded" if arm else "as printed", {})[name] = reach.auc
show(plots.comparison(slips, label="AUC", chance=0.5), name="05_slips")

# %% [markdown]
# **What to see.** The AUC with the variance as printed is {{slips['as printed']['online, pooled variance'].value:.3f}}, as coded
# {{slips['as coded']['online, pooled variance'].value:.3f}}. Offline it is {{slips['as printed']['offline'].value:.3f}} as printed and
# {{slips['as coded']['offline'].value:.3f}} as coded. Whoever compares with offline LiRA should say which one.
#
# And several queries? Our models also answered about each record shifted by one pixel. **Predict** what averaging over the three views does
# to LiRA's AUC.

# %%
shifted = references(PROFILE, views=True).bank
views = {"the record alone": pooled["LiRA online"][:16]}
views["three views"] = attacks.scores_per_target(shifted, attacks.LiRA(), targets=16)
by_views = {name: in_turn(scores, holds[:16]).auc for name, scores in views.items()}
one_view = [metrics.auc(shifted.phi[:16, q].ravel(), sixteen) for q in range(3)]
print({name: str(value) for name, value in by_views.items()})
print("φ alone, by view:", np.round(one_view, 3))

# %% [markdown]
# Three views have {{by_views['three views']}}, the record alone {{by_views['the record alone']}}. These models never saw shifted records, and a shifted view tells
# less: a threshold on φ has AUC {{one_view[1]:.2f}} and {{one_view[2]:.2f}} on the two shifted views and {{one_view[0]:.2f}} on the record itself.

# %% [markdown]
# ## Against a defense
# PAST (notebook 08) tunes a trained model so that members and non-members differ less in their loss. Its Fig. 14 asks whether that also helps against attacks with
# references. The paper says of it that PAST "demonstrates strong performance under both metrics and outperforms other defenses", but prints no numbers and does not say how many references it used. So we tuned all
# {{len(models)}} models in the same way. The attacker is adaptive: the references are tuned, too. **Predict** which attack suffers most.

# %%
tuned = references(PROFILE, "bank tuned").bank
defended = {
    name: in_turn(attacks.scores_per_target(tuned, attack), tuned.is_member)
    for name, attack in ways.items()
}
series = {
    arm: {name: one.auc for name, one in some.items()}
    for arm, some in {"undefended": reached, "tuned by PAST": defended}.items()
}
show(plots.comparison(series, label="AUC", chance=0.5), name="05_defended")
moved = {name: defended[name].auc.value - reached[name].auc.value for name in ways}

# %% [markdown]
# **What to see.** PAST changes the AUC of the loss by {{moved['loss (Attack P)']:+.2f}}, that of online LiRA by {{moved['LiRA online']:+.2f}}, and that of RMIA by
# {{moved['RMIA, γ = 2']:+.2f}}. Notebook 08 says what the tuning costs in accuracy.
#
# The corner of the defended models:

# %%
headlines.in_turn(defended)

# %% [markdown]
# ## On photographs
# The same game on CIFAR-10, where each model holds 3,000 photographs: undefended, and tuned by PAST. **Predict** whether references are worth more here than on letters.

# %%
camera = PROFILE if PROFILE != "quick" else "cpu"
found = {
    arm: references(camera, experiment)
    for arm, experiment in {"undefended": "bank", "tuned by PAST": "bank tuned"}.items()
}
print(*(one.source for one in found.values()), sep="\n")

# %%
on_photographs = {
    f"{name}, {arm}": in_turn(attacks.scores_per_target(one.bank, attack), one.bank.is_member)
    for arm, one in found.items()
    for name, attack in ways.items()
}
headlines.in_turn(on_photographs)

# %%
areas = {arm: {name: on_photographs[f"{name}, {arm}"].auc for name in ways} for arm in found}
show(plots.comparison(areas, label="AUC", chance=0.5), name="05_photographs")
bare, past = areas["undefended"], areas["tuned by PAST"]
moved = {name: past[name].value - bare[name].value for name in ways}

# %% [markdown]
# **What to see.** Undefended, the loss reaches an AUC of {{bare['loss (Attack P)'].value:.2f}} and online LiRA {{bare['LiRA online'].value:.2f}}. At 0.1 % false alarms the loss
# catches {{on_photographs['loss (Attack P), undefended'].tpr_at_0_1_percent.value:.2%}} and LiRA {{on_photographs['LiRA online, undefended'].tpr_at_0_1_percent.value:.1%}}. PAST changes the AUC of the
# loss by {{moved['loss (Attack P)']:+.2f}}, that of LiRA by {{moved['LiRA online']:+.2f}} and that of RMIA by {{moved['RMIA, γ = 2']:+.2f}}: judge a defense by every attack.
#
# Online LiRA's AUC minus that of the loss is {{bare['LiRA online'].value - bare['loss (Attack P)'].value:.2f}} here and {{lira.auc.value - plain_loss.auc.value:.2f}} on the letters, where it has more references.
# ({{len(found['undefended'].bank)}} targets in turn.)

# %% [markdown]
# ## Who is at risk?
# How often is a record **caught** when it is in, and **accused** when it is not, at 1 % false alarms? The most exposed records are picked on one half of the
# models and their rates read on the other, because whoever is picked for extreme numbers has extreme numbers. **Predict** what they look like.

# %%
half = len(models) // 2
scores = pooled["LiRA online"]
picked_on, read_on = (
    exposure.risk(scores[part], holds[part]) for part in (slice(half), slice(half, None))
)
worst = picked_on.most_exposed(10)
risk = exposure.risk(scores, holds)
never = np.random.default_rng(0).choice(np.flatnonzero(risk.caught == 0), 10, replace=False)
names = "ABCDEFGHIJ" if models.x is not None and models.x.shape[-1] == 16 else "0123456789"


def captioned(places: np.ndarray, caught: np.ndarray) -> list[str]:
    return [f"{names[models.labels[i]]} {caught[i]:.0%}" for i in places]


# %%
both = np.concatenate([worst, never])
captions = captioned(worst, read_on.caught) + captioned(never, risk.caught)
says = (
    "Above each image: its letter, and in what share of the models that hold it LiRA catches it. "
    "Upper row: the most exposed. Lower row: some that are never caught."
)
if models.x is None:
    print("A bank of photographs keeps no pictures:", ", ".join(captions))
else:
    show(figures.images(models.x[both], captions, caption=says), name="05_exposed")

# %% [markdown]
# **What to see.** The ten most exposed records, above, are caught in {{read_on.caught[worst].mean():.0%}} of the models that hold them, on average. They are the odd
# ones, which a model gets right only by heart. Below stand ten of the {{float((risk.caught == 0).mean()):.0%}} that were caught in none of the {{half}} models that hold them:
# **an average hides who pays**.

# %% [markdown]
# ## Exercises
# ### Exercise 5.1 · difficulty 2/5 · about 10 minutes
# A judgement. You can pay for 4 reference models, and a colleague for 62. Which of the four attacks under *How many references?* should each of you take,
# by the AUC and by the TPR at 1 % FPR? The slider there shows the curves, and
# `in_turn(by_number[4]["LiRA"].reshape(8, -1), holds[players])` has both numbers.

# %%
from mialib.course.exercises import lesson_05 as checks


def attack_for(references: int, number: str) -> str:
    """One of the four names; references is 4 or 62, number "AUC" or "TPR at 1 % FPR"."""
    raise NotImplementedError


checks.check_attack_for(attack_for)

# %% [markdown]
# <details><summary>Hint</summary>For the AUC, read the figure by number of references at both ends. Then ask who must be right about the <em>surest</em> records with two values per world.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def attack_for(references: int, number: str) -> str:
#     if references == 62:
#         return "LiRA"
#     return "LiRA, pooled variance" if number == "AUC" else "RMIA"
# ```
#
# The answer turns with the budget, and with few references by the number, too. These are means over eight targets; with 4 references the two leaders are close, so look at their
# intervals before you write that one of them wins. Whoever reports "the strongest attack" owes both the budget and the number.
# </details>

# %% [markdown]
# ### Exercise 5.2 · difficulty 3/5 · about 15 minutes
# Break the evaluation. Suppose that members came from one source and non-members from another. Write a **blind** attack: it sees records, never a model. If it wins, the
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
# - A reference attack asks what is normal for *this* record. Online LiRA: AUC {{lira.auc}}, TPR {{lira.tpr_at_0_1_percent}} at
#   0.1 % FPR; the loss {{plain_loss.tpr_at_0_1_percent}} ({{len(models)}} targets).
# - With few references pool the variance, or take an attack that asks OUT models alone. RMIA's γ decides who shares the top.
# - Risk is uneven: the ten most exposed records are caught {{read_on.caught[worst].mean():.0%}} of the time, and {{float((risk.caught == 0).mean()):.0%}} of all records in none of the
#   {{half}} models that hold them.
# - A defense is judged by attackers who train their references with it.
#
# ## What this does not show
# - The attacker here knows the recipe and has data from the same source; references of another kind may serve it worse.
# - Many references on photographs: there are 16 models of them; `mialib bank --profile cpu` trains yours.
# - Models that were trained with augmentation, or by another recipe. The intervals cover records and trainings, not other datasets.
#
# ## References
# - N. Carlini and others, 2022, *Membership inference attacks from first principles*,
#   [arXiv 2112.03570](https://arxiv.org/abs/2112.03570), Sections 4 and 5: LiRA.
# - S. Zarifzadeh and others, 2024, *Low-cost high-power membership inference attacks*,
#   [arXiv 2312.03262](https://arxiv.org/abs/2312.03262), Section 3: RMIA, γ and a.
# - J. Ye and others, 2022, *Enhanced membership inference attacks*,
#   [arXiv 2111.09679](https://arxiv.org/abs/2111.09679): Attacks P and R.
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814),
#   [longer text](https://openreview.net/forum?id=WDDyTcaP1L), Fig. 14.
# - Code of the authors, as we read it: `tensorflow/privacy` at commit 03035d5, folder `research/mi_lira_2021` (LiRA),
#   and `privacytrustlab/ml_privacy_meter` at commit d327341 (RMIA as
#   in the paper; its tool, read at commit e384af8, differs).
