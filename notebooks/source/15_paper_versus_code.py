# ---
# title: Paper versus code
# question: Where does published code do something else than its text says, and how much does it matter?
# goals:
#   - check a printed number against the code that made it
#   - spot attacks that grade themselves, and attackers who were not told of the defense
#   - measure what a slip does to a number, over trainings and with an interval
#   - tell a slip that changes a conclusion from one that changes nothing
# needs: notebooks 01, 04, 05 and 08
# read: 35
# reproduces: no figure; the places where the code behind PAST, CRL, RelaxLoss and LiRA, and two toolkits, leave their texts
# cover: 15_effects
# ---

# %% [markdown]
# ## Three answers to one question
# A paper describes a method, and code carries it out. Where the two differ, the printed number belongs to the code. So for each difference we
# ask for one number in up to three ways: **as printed** (do what the text says), **as coded** (do what the code does) and **as it should be**.
# The **effect** of the code is *as coded* minus *as it should be*, in the same trainings and on the same records. Where a text is silent,
# nothing is printed, and the table has a dash.
#
# This is not a pillory. Code that can be read is a gift, and whoever publishes none makes no visible slips. Every repository is
# named with the commit that we read, so that you can look for yourself; later commits may have mended it.

# %%
import numpy as np

from mialib import metrics, profiles, runs
from mialib.course import differences, figures, widgets
from mialib.course.plots import show
from mialib.course.tunings import Tunings
from mialib.experiments import results
from mialib.experiments.banks import references

# %%
configuration = profiles.load(PROFILE).images
sides = ("target", "shadow")
wanted = [configuration.but(seed=seed, side=side) for seed in range(5) for side in sides]
asked = [run.ask(rotations=(-4, 0, 4)) for run in runs.get_all(wanted)]
players = [differences.Players(*pair) for pair in zip(asked[::2], asked[1::2], strict=True)]

# %%
bank = references(PROFILE).bank
plain = results("base", PROFILE).find(defense="Plain")  # the undefended model, ten times
past = Tunings(results("past", PROFILE))
relaxed = results("relaxed", PROFILE)
trained = results("versus", PROFILE)  # what this lesson needed beside them
print(trained.about["source"])

# %% [markdown]
# ## Attacks that grade themselves
# Who sets the attacker's threshold, and on whose records is the attacker judged?
#
# | | the text says | the code does | where |
# |---|---|---|---|
# | rotation | a network on three turned copies is fitted on the shadow and asked about the target | it is asked about the shadow again | `Fujump/MLHospital` @ 087beb6 (PAST's authors; the paper links no code) and `ml-stat-Sustech/ConvexConcaveLoss` @ 1931123 |
# | Yeom's threshold | a member's loss is below the mean training loss | the mean is the one that the training printed | a reader's account, issue 1 of `sam-yeom/ml-privacy-csf18` (2019) |
# | plain shadow | – | the shadow is trained without the target's defense | `DingfanChen/RelaxLoss` @ fc8c68e |
#
# **Predict**: how much does the rotation attack gain when it is graded on what it learned from?

# %%
rotation = differences.rotation(players)
show(figures.difference_view(rotation), name="15_rotation")
own, printed, exchanged, _ = (dot.value for dot in rotation.evidence.estimates.values())

# %% [markdown]
# **What to see.** Fitted on the shadow, the network has {{own:.2f}} on the shadow and {{printed:.2f}} on the target, and one would blame
# the grading. But a network that never saw the shadow, fitted on the *target*, has {{exchanged:.2f}} on the shadow's records: what differs is the records.
# Averaged over both roles, grading itself {{rotation.verb}} the advantage ({{rotation.effect}}).
#
# The network sees three bits of a record: whether each of the three copies is classified rightly. They leave little to learn by heart.
#
# ### A threshold that the attacker does not have
# The next networks have dropout. A training prints its mean loss while half of the hidden units are switched off and the weights still move; an
# attacker asks the finished network, with all of them on. **Predict** on which side of the members' losses the printed mean lies.

# %%
yeom = differences.yeom(trained.find(defense="Dropout"))
show(figures.difference_view(yeom), name="15_yeom")
lines = yeom.evidence.thresholds

# %% [markdown]
# **What to see.** The training's own log says {{lines['as coded']:.3f}}, and the mean loss of the members is {{lines['as printed']:.3f}}
# (first of {{yeom.trainings}} trainings). The advantage is {{yeom.estimate('as coded').value:.3f}} with the first threshold, {{yeom.estimate('as printed').value:.3f}} with the second and
# {{yeom.estimate('as it should be').value:.3f}} with the one from a shadow. Against the shadow's threshold, the log's {{yeom.verb}} it: {{yeom.effect}}.
#
# ### An attacker who was not told of the defense
# RelaxLoss keeps the training loss near α. **Predict** whom a threshold from an undefended shadow calls members.

# %%
undefended = relaxed.find(defense="Plain")
relaxloss = relaxed.find(defense="RelaxLoss", alpha=1.0, form="official")
adaptive = differences.adaptive(undefended, relaxloss)
show(figures.difference_view(adaptive), name="15_adaptive")
cut = adaptive.evidence.thresholds

# %% [markdown]
# **What to see.** The undefended shadow puts its threshold at {{cut['as coded']:.2f}}, where RelaxLoss leaves hardly anybody; a shadow with the defense puts it at
# {{cut['as it should be']:.2f}}. The plain shadow {{adaptive.verb}} the advantage from {{adaptive.estimate('as it should be').value:.2f}} to
# {{adaptive.estimate('as coded').value:.2f}}: a defense that looks perfect to an attacker who does not know of it. The AUC of the loss, {{relaxloss.auc("loss").value:.2f}}, needs no threshold and is
# the same either way, so here it is the safer number to read.

# %% [markdown]
# ## Statistics that leak
# Which records may shape a mean or a deviation? (φ is the confidence on a scale without edges, notebook 05; IN and OUT are the references that were trained with the record and without it.)
#
# | | the text says | the code does | where |
# |---|---|---|---|
# | mixed statistics | – | in PAST's tuning, batches of non-members move BatchNorm's running mean and variance | `Fujump/MLHospital` @ 087beb6 |
# | LiRA offline | how unlikely so *high* a φ is | how unlikely so *extreme* a φ is | `tensorflow/privacy` @ 03035d5, `research/mi_lira_2021` |
# | LiRA's deviation | with one variance for all records: one for IN, one for OUT | the raw IN values' deviation for both | the same |
#
# **Predict** which of the three moves its number most, and in which direction.

# %%
norm = trained.where(norm="batch", lam=6e-4)
statistics = differences.statistics(
    norm.find(mixed_statistics=False), norm.find(mixed_statistics=True)
)
lira = differences.lira(bank)
variance = differences.variance(bank)
differences.table([statistics, lira, variance])

# %%
show(figures.difference_view(lira), name="15_lira")

# %% [markdown]
# **What to see.** The two-sided density {{lira.verb}} the AUC of offline LiRA, from {{lira.estimate('as printed').value:.3f}} to {{lira.estimate('as coded').value:.3f}}
# ({{lira.trainings}} targets): a record that the target knows *worse* than others do is taken for a member. The shared deviation {{variance.verb}} that of
# online LiRA, by {{abs(variance.effect.value):.3f}}. Mixing the statistics {{statistics.verb}} the advantage on PAST ({{statistics.effect}}, {{statistics.trainings}} trainings).
#
# Members and non-members of our letters come from one source, so their statistics are alike, and mixing has little to mix. Where the two parts differ, we do not know.

# %% [markdown]
# ## Numbers that count twice, or not at all
# What exactly was summed, averaged or drawn?
#
# | | the text says | the code does | where |
# |---|---|---|---|
# | ties | – | of equal scores, the first alone enters the curve | `aidotse/LeakPro` @ 0078213 |
# | order of attacks | – | the list of significant AUCs is not emptied between attacks | `AI-SDC/SACRO-ML` @ 04dc28a |
# | counted twice | a mean over eight attacks, *loss* and *confidence* among them | the same eight | `Fujump/MLHospital` @ 087beb6 |
# | shifted Gini | "The Gini index continues decreasing" as a sign of sparsity; no formula | the index of $w - \min w$, not of $\lvert w \rvert$ | the same |
#
# The correctness attack has two scores, right and wrong, so nearly every record is tied. **Predict** its AUC when ties are dropped.


# %%
def area_without_ties(scores: np.ndarray, is_member: np.ndarray) -> float:
    """The area under the points of the first record of each score."""
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(-scores[order], return_index=True)
    tpr = np.cumsum(is_member[order])[first] / is_member.sum()
    fpr = np.cumsum(~is_member[order])[first] / (~is_member).sum()
    return float(np.trapezoid(tpr, fpr))


# %%
right = plain.correct.astype(float)
by_hand = [area_without_ties(one, plain.is_member) for one in right]
ties = differences.ties(plain)
assert np.isclose(np.mean(by_hand), ties.estimate("as coded").value)
with_ties = metrics.auc(right[0], plain.is_member)
show(figures.difference_view(ties), name="15_ties")

# %% [markdown]
# **What to see.** The right curve runs from corner to corner and has {{ties.estimate('as it should be').value:.2f}}. The other has two points, ends at the first record that is classified
# wrongly, and has {{ties.estimate('as coded').value:.2f}}: below chance, from the same scores ({{ties.trainings}} trainings). A score without ties, such as the loss, loses nothing.

# %%
order = differences.order(plain)
twice = differences.twice(past.undefended)
gini = differences.gini(past.undefended, past.find(lam=1e-3, alpha=1.5))
differences.table([order, twice, gini])

# %% [markdown]
# - **Order.** Three experiments are reported: a coin, correctness and the loss. A toolkit calls an experiment dangerous if its significant AUCs are above 0.65 on average. It keeps
#   those of the experiments before, so the coin is called dangerous in {{order.estimate('as coded').value:.0%}} of all orders, and it should be in {{order.estimate('as it should be').value:.0%}}.
# - **Twice.** Confidence is $e^{-\text{loss}}$, so the two rank all records alike. The second vote {{twice.verb}} the mean advantage, by {{twice.effect.value:.3f}}.
# - **Gini.** PAST's tuning moves the usual index by {{gini.estimate('as it should be').value:+.2f}}: fewer weights carry more, the model became sparser. The shifted one moves by
#   {{gini.estimate('as coded').value:+.3f}}. The paper is right about sparsity, and its index has the opposite sign.

# %% [markdown]
# ## Code that does something else
# Does the code train what the text describes?
#
# | | the text says | the code does | where |
# |---|---|---|---|
# | untrained layer | an attack network with a hidden layer of 100 | the layer sits in a plain Python list, so no optimizer finds it | `DingfanChen/RelaxLoss` @ fc8c68e |
# | one draw per batch | images are cropped and flipped at random | one crop and one flip for all images of a batch | `JEKimLab/UAI24_CRL` @ fbb5993 |
# | clamp | the penalty's weight is $\lambda \gamma^\alpha$ | $\gamma^\alpha$ is cut off at 10,000 | `Fujump/MLHospital` @ 087beb6 |
#
# **Predict**: what can a network still tell whose hidden layer never learns?

# %%
hidden = differences.hidden(players)
augmentation = differences.augmentation(
    trained.find(called="a draw per record"), trained.find(called="a draw per batch")
)
tuned = trained.where(alpha=2.5, lam=1e-4)
clamp = differences.clamp(tuned.find(clamp=1e30), tuned.find(clamp=1e4))
differences.table([hidden, augmentation, clamp])

# %%
show(figures.difference_view(hidden), name="15_hidden")
strong = trained.where(alpha=2.5, lam=1e-3)
failed = {
    cut: sum(bool(row.failure) for row in strong.where(clamp=cut).rows) for cut in (1e4, 1e30)
}

# %% [markdown]
# **What to see.** Random features are still features: the untrained layer {{hidden.verb}} the AUC from {{hidden.estimate('as printed').value:.3f}} to {{hidden.estimate('as coded').value:.3f}}
# ({{hidden.trainings}} trainings). One draw per batch {{augmentation.verb}} the advantage ({{augmentation.effect}}): over {{configuration.recipe.epochs}} epochs each image meets
# as many views either way. At λ = 0.0001 the clamp {{clamp.verb}} the advantage ({{clamp.effect}}).
#
# At λ = 0.001 we can say less, and more: of {{len(strong.where(clamp=1e30))}} trainings {{failed[1e30]}} diverged without the clamp and {{failed[1e4]}} with it. Whoever implements the
# printed formula may get no number at all.

# %% [markdown]
# ## All of them
# **Predict** before you look: how many of these numbers does the code raise, how many does it lower, and how many stay?

# %%
found = [rotation, yeom, adaptive, statistics, lira, variance, ties, order, twice, gini]
found += [hidden, augmentation, clamp]
show(figures.effects(found), name="15_effects")
raised = [one for one in found if one.verb == "raises"]
lowered = [one for one in found if one.verb == "lowers"]
changes = raised + lowered
largest = max(found, key=lambda one: abs(one.effect.value))

# %% [markdown]
# **What to see.** The code changes {{len(changes)}} of {{len(found)}} numbers beyond what trainings and records explain. It raises {{len(raised)}} and lowers {{len(lowered)}}, and the largest effect,
# {{largest.effect.value:+.2f}}, is that of *{{largest.name}}*. Reading the code tells *that* something differs; only the experiment tells whether it matters.
#
# Choose a **difference** and turn the switch from *as printed* over *as coded* to *as it should be*. *Think*: would you have noticed it from the number alone?

# %%
by_name = {one.name: one for one in found}


def switch_view(difference: str, variant: str):
    return figures.difference_view(by_name[difference], variant)


widgets.explore(
    switch_view,
    difference=widgets.choice(list(by_name), label="difference"),
    variant=widgets.choice(differences.VARIANTS, label="switch"),
)

# %% [markdown]
# *Without a kernel*: the chart above has every position of both sliders.

# %% [markdown]
# ## Exercises
# ### Exercise 15.1 · difficulty 2/5 · about 10 minutes
# Mend the curve. The scores come from the highest to the lowest. After which records may a threshold be drawn? Write the function that the mended ROC needs.

# %%
from mialib.course.exercises import lesson_15 as checks


def last_of_ties(descending: np.ndarray) -> np.ndarray:
    """The place of the last record of each score: (n,) from high to low → (scores,)."""
    raise NotImplementedError


checks.check_last_of_ties(last_of_ties)

# %% [markdown]
# <details><summary>Hint</summary>Where does the next score differ? And what of the very last record?</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def last_of_ties(descending: np.ndarray) -> np.ndarray:
#     drops = np.flatnonzero(np.diff(descending) != 0)
#     return np.append(drops, len(descending) - 1)
# ```
#
# Put it in place of `first` above and start the curve at (0, 0): the area becomes {{with_ties:.3f}} for the first training.
# </details>

# %% [markdown]
# ### Exercise 15.2 · difficulty 2/5 · about 10 minutes
# A judgement. You referee a paper on a defense, and find four habits in its appendix:
#
# - **shadow**: "The attacker's shadow was trained without our defense."
# - **ties**: "Of equal scores we keep the first", in the AUC of the correctness attack.
# - **twice**: "We report the mean advantage over eight attacks, loss and confidence among them."
# - **crops**: "One crop and one flip are drawn for each batch."
#
# Judging by this lesson: does the habit make the model look *too private*, *too leaky*, or is the number *not moved* beyond what trainings and records explain?


# %%
def report() -> dict[str, str]:
    """For each habit "too private", "too leaky" or "not moved"."""
    raise NotImplementedError


checks.check_report(report)

# %% [markdown]
# <details><summary>Hint</summary>A lower advantage or AUC looks more private. The chart of all effects has the signs and the intervals.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def report() -> dict[str, str]:
#     return {
#         "shadow": "too private",
#         "ties": "too private",
#         "twice": "too leaky",
#         "crops": "not moved",
#     }
# ```
#
# Would you ask for all four to be mended? The first two turn a verdict. The third moves the mean by {{twice.effect.value:.3f}}, and a table in which every line counts twice still compares like with like. Of the fourth we know that it made no
# significant difference here, on letters ({{augmentation.effect}}); that is not a proof that it never does.
# </details>

# %% [markdown]
# ## Recap
# - A printed number belongs to the code that made it. Before you compare with one, find repository and commit.
# - Ask three questions: on whose records was it graded, did the attacker know of the defense, and what was counted?
# - A slip is not an effect: {{len(changes)}} of {{len(found)}} numbers changed. The plain shadow moved the advantage by {{adaptive.effect.value:+.2f}}, dropped ties the AUC by
#   {{ties.effect.value:+.2f}}; grading on its own records {{rotation.verb}} the rotation attack's advantage.
# - Compare like with like: the same records, the same trainings, one thing changed.
#
# ## What this does not show
# - Drawn letters, a small network and three to sixteen trainings per number. On photographs, with other settings, an effect may be larger, or absent.
# - Each slip acts alone here. In a table of a paper several act together.
# - We read the code at one commit. What its authors ran for the paper may differ, and we re-implemented each slip; no line is theirs.
# - Of RelaxLoss and Yeom's paper we quote the method, not a number.
#
# ## References
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Fig. 2b and Section 4.1: the Gini index, the eight
#   attacks.
# - X. Fang and J.-E. Kim, 2024, *Center-based relaxed learning against membership inference attacks* (CRL),
#   [arXiv 2404.17674](https://arxiv.org/abs/2404.17674), Appendix B: random cropping and flipping on CIFAR-100.
# - D. Chen and others, 2022, *RelaxLoss*, [arXiv 2207.05801](https://arxiv.org/abs/2207.05801); S. Yeom and others,
#   2018, *Privacy risk in machine learning*, [arXiv 1709.01604](https://arxiv.org/abs/1709.01604), Section 3.
# - N. Carlini and others, 2022, *Membership inference attacks from first principles*,
#   [arXiv 2112.03570](https://arxiv.org/abs/2112.03570), Sections 4 and 5.
# - C. Choquette-Choo and others, 2021, *Label-only membership inference attacks*,
#   [arXiv 2007.14321](https://arxiv.org/abs/2007.14321): the rotation attack.
