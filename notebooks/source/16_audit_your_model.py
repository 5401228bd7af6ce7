# ---
# title: Audit your own model
# question: What can be said, honestly, of a model that this course has never seen?
# goals:
#   - audit a model of your own in five lines, and read the report section by section
#   - ask first whether the result can be believed
#   - say what an accusation is worth at a prior
#   - recognise an audit that was fooled by its data
#   - state a lower bound on ε as a theorem with its premise
# needs: notebooks 01, 02 and 03; a training loop in PyTorch
# read: 40
# reproduces: no figure; what an audit owes its readers
# cover: 16_believed
# ---

# %% [markdown]
# ## A model that nobody here has seen
# So far the course trained every model, and knew its members. Now somebody hands us a model. It has no class of `mialib`, no configuration, no run in the store:
# a plain `nn.Sequential`, and the owner's own training loop. Put yours in its place.
#
# One thing the owner must do *before* training: decide by **coin toss** who becomes a member. Then members and non-members differ in nothing else, and whatever an attack finds is the model's doing.

# %%
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from mialib import audit, data
from mialib.audits import AuditError
from mialib.course import figures, plots, widgets
from mialib.course.plots import show
from mialib.estimates import Estimate, words

# %%
letters = data.load("letters", size=4400)
x = torch.tensor(letters.x / 255, dtype=torch.float32)
y = torch.tensor(letters.y)
coins = np.random.default_rng(16).random((2, 2200)) < 0.5  # ours, and later a shadow's
print(f"{coins[0].sum():,} members and {(~coins[0]).sum():,} non-members")


# %%
def own_model() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, letters.classes),
    )  # fmt: skip


# %%
def own_training(x: torch.Tensor, y: torch.Tensor, *, seed: int, epochs: int = 60) -> nn.Module:
    torch.manual_seed(seed)
    model = own_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            F.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
    return model


# %% [markdown]
# ## Five lines
# **Predict** what the report will say first: a number, or a warning?

# %%
tossed = torch.tensor(coins[0])
ours_x, ours_y = x[:2200], y[:2200]
members, non_members = (ours_x[tossed], ours_y[tossed]), (ours_x[~tossed], ours_y[~tossed])
model = own_training(*members, seed=0)
report = audit(model, members, non_members, by_coin=True, name="the owner's letters")
print(report.summary())

# %% [markdown]
# `audit` took the model as it is: in eval mode, on its own device, with nothing but `(x, y)`. In {{report.head.seconds:.1f}} seconds it asked {{report.head.members + report.head.non_members:,}} records and played {{len(report.attacks)}} attacks.
# It says what it could *not* play, too: {{len(report.lacking)}} attacks lack something. For example LiRA: *{{report.lacking["LiRA"]}}*

# %% [markdown]
# ## Can this be believed?
# The report has this section before its tables of attacks, because an AUC proves nothing by itself. Three questions:
#
# 1. **Could we tell members from non-members without the model?** A *blind baseline*, a classifier that sees inputs and labels and never the model, should be at 0.5.
# 2. **What would chance do with so few records?** The *null band*: shuffle who is a member, and see where 95 % of the AUCs fall.
# 3. **Which false-alarm rates can so many non-members resolve?** With fewer than 1,000, one in a thousand is less than one record.
#
# **Predict** the width of the null band for {{report.head.members:,}} members.

# %%
belief = report.belief
print(belief.blind.sentence)
print(f"In both sets: {belief.duplicates} records; nearly so: {belief.near_duplicates}.")
measured = {row.name: row.auc for row in report.attacks}
shuffled = {name: Estimate(0.5, *band.auc) for name, band in belief.null.items()}
series = {"measured": {"blind baseline": belief.blind.auc, **measured}}
series["if membership were shuffled"] = shuffled
show(plots.comparison(series, label="AUC", chance=0.5), name="16_believed")

# %% [markdown]
# **What to see.** The blind baseline has an AUC of {{belief.blind.auc}}. Chance alone puts the loss attack between {{belief.null["loss"].auc.low:.3f}} and {{belief.null["loss"].auc.high:.3f}}; it is at {{measured["loss"].value:.3f}}.

# %%
found_blindly = words(
    Estimate(*(end - 0.5 for end in belief.blind.auc.triple)),
    lower="worse than a guess",
    higher="better than a guess, so nothing else may be believed",
    same="not told apart from a guess",
)

# %% [markdown]
# So the blind baseline is {{found_blindly}}. Thresholds were *{{belief.threshold}}*: without a shadow, no record is judged by a threshold that it helped to choose.

# %% [markdown]
# ## Utility beside privacy
# A model that knows nothing leaks nothing. So the report has both:

# %%
for name, value in vars(report.utility).items():
    print(f"{name.replace('_', ' '):<22}{value}")

# %% [markdown]
# The gap of {{report.utility.accuracy_gap}} between members' and others' accuracy is itself an attack: *correctness* calls a member whoever is classified correctly.

# %% [markdown]
# ## With a shadow
# An owner can do what an attacker would: train a second model in the same way on other records. Then thresholds come from the shadow, and attacks that learn join in. `policy="aisvs"` holds the report to a public standard, that of the Open Worldwide Application Security Project (OWASP), and corrects for the number of attacks. **Predict**: will the strongest attack change?

# %%
theirs = torch.tensor(coins[1])
their_x, their_y = x[2200:], y[2200:]
shadow = own_training(their_x[theirs], their_y[theirs], seed=1)
triple = (shadow, (their_x[theirs], their_y[theirs]), (their_x[~theirs], their_y[~theirs]))
full = audit(model, members, non_members, shadows=[triple], policy="aisvs", by_coin=True)
for row in full.table[:6]:
    print(f"{row['attack']:<18} AUC {row['AUC']}   TPR at 1 % FPR {row['TPR at 1 % FPR']}")
joined = sorted({row.name for row in full.attacks} - {row.name for row in report.attacks})
quietly = max(full.attacks, key=lambda row: row.tpr_at_1_percent.value)

# %% [markdown]
# The shadow brought {{len(joined)}} more attacks ({{", ".join(joined)}}). By AUC the strongest is {{full.strongest.name}} ({{full.strongest.auc}}); at 1 % false alarms it is {{quietly.name}}, which finds {{quietly.tpr_at_1_percent}} of the members. Which attack is strongest may depend on the question, so a report names both.

# %% [markdown]
# ## What is an accusation worth?
# In the game, about half of the records were members. In the world few are. Move the **threshold** on the loss and the **prior**, the share of members among all candidates. *Think*: at a prior of 1 %, is there a threshold at which most of the accused are members?

# %%
loss = -next(row.scores for row in full.attacks if row.name == "loss")
losses = loss[full.is_member], loss[~full.is_member]


def accusation_view(threshold: float = 0.01, prior: float = 0.01) -> plots.Picture:
    return figures.accusations(*losses, threshold=threshold, prior=prior)


widgets.explore(
    accusation_view,
    threshold=widgets.log_slider(1e-5, 10, start=0.01, label="threshold on the loss"),
    prior=widgets.log_slider(0.001, 0.5, start=0.01, label="prior: share of members"),
)

# %% [markdown]
# *Without a kernel*: two priors.

# %%
crowd = plots.small_multiples(accusation_view, prior=[0.5, 0.01])
show(crowd, name="16_accusations")

# %% [markdown]
# **What to see.** At a threshold of 0.01, {{crowd.numbers["right at 0.5"]:.0%}} of the accusations are right if half of the candidates are members, and {{crowd.numbers["right at 0.01"]:.1%}} if one in a hundred is. Then {{crowd.numbers["others accused at 0.01"]:,.0f}} others are accused beside {{crowd.numbers["members accused at 0.01"]:.0f}} members: the model did not change, the crowd did.

# %% [markdown]
# ## Who is exposed?
# An average hides people. The report lists the members that most attacks find, and compares classes, with intervals that are corrected for the number of classes.

# %%
exposed = full.records(10)
rows = [one.row for one in exposed]
names = [f"{chr(65 + one.label)}: {one.found_by}" for one in exposed]
says = "Above each image: its letter, and how many attacks find it."
show(figures.images((255 * members[0][rows]).numpy(), names, caption=says), name="16_exposed")
apart = [one for one in full.exposure.slices if not one.difference.note and one.p_value < 0.05]
compared = [one for one in full.exposure.slices if not one.difference.note]

# %% [markdown]
# **What to see.** Above each letter stand its class, and how many of {{len(full.attacks)}} attacks find it at {{full.exposure.fpr:.1%}} false alarms; the first is found by {{exposed[0].found_by}}. Of {{len(compared)}} classes that are large enough to compare, {{len(apart)}} {{"is" if len(apart) == 1 else "are"}} told apart from the others.

# %% [markdown]
# ## What would have fooled us
# Now a mistake that is easy to make. The members were collected last year, and the non-members yesterday, with another scanner: a little paler. And the audited model is our *shadow*, which was trained on other letters and has **never seen one of either set**. **Predict** what the attacks say of it.

# %%
pale = (0.55 * non_members[0], non_members[1])
fooled = audit(shadow, members, pale)
fair = audit(shadow, members, non_members)
series = {
    name: {"blind baseline": one.belief.blind.auc, "strongest attack": one.strongest.auc}
    for name, one in {"sets alike": fair, "another scanner": fooled}.items()
}
show(plots.comparison(series, label="AUC", chance=0.5), name="16_fooled")
print(fooled.belief.blind.sentence)

# %% [markdown]
# **What to see.** The strongest attack "finds" members of a network that never saw one: AUC {{fooled.strongest.auc}}, where sets that were drawn alike give {{fair.strongest.auc}}. The network merely answers pale letters differently. Only the blind baseline knows ({{fooled.belief.blind.auc}}), and the report says so before anything else.
#
# Das, Zhang and Tramèr (2024) found such a shift in eight published benchmarks for large models.

# %% [markdown]
# ## ε, as a theorem
# Could this training have been differentially private (notebook 11)? One run can *refute* an ε, and can never prove one. Guess for the surest records; if more guesses are right than ε allows, that ε is wrong. How many to guess is chosen on one half of the records, and the bound is taken on the other.

# %%
for bound in full.epsilon:
    print(f"{bound.attack}, {bound.refuted.direction}: {bound.refuted}")

# %% [markdown]
# There are two directions. *Accusing* says of the highest scores that they are members, and *clearing* says of the lowest that they are not. Privacy forbids both alike, but members are harmed by the first. The premise holds here, because we tossed coins. Never write "ε = …" of such a number: it is a floor.

# %% [markdown]
# ## For and against
# A report should not say *safe*. It can hold numbers to rules that somebody has named, and every line gives its number. A limit of your own can stop a pipeline:

# %%
for line in full.judgement.lines[:3]:
    print(f"{line.side}: {line.sentence}")
try:
    full.check(advantage=0.1)
except AuditError as refusal:
    print("\nstopped:", str(refusal).splitlines()[0])

# %% [markdown]
# The *upper* end of the interval is held to the limit, so that an audit with ten records cannot pass. What the report suggests to try is measured, too:

# %%
print(*full.next_steps[:2], sep="\n")
print("\nNot tested:", *full.not_tested[:3], sep="\n- ")

# %%
with tempfile.TemporaryDirectory() as folder:
    full.save(Path(folder) / "audit.html")
    sizes = {path.name: path.stat().st_size for path in sorted(Path(folder).iterdir())}
print({name: f"{size / 1000:.0f} kB" for name, size in sizes.items()})

# %% [markdown]
# `report.save("audit.html")` writes one page without scripts, ready for print, and the same as data beside it. From a terminal: `mialib audit outputs.npz --out report.html`.

# %% [markdown]
# ## Exercises
# ### Exercise 16.1 · difficulty 2/5 · about 10 minutes
# Where would chance alone put an AUC? Shuffle the membership 500 times, and return the ends between which 95 % of the AUCs lie.

# %%
from mialib.course.exercises import lesson_16 as checks


def null_band(scores: np.ndarray, is_member: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The 2.5 % and the 97.5 % quantile of the AUC of shuffled members: (2,)."""
    raise NotImplementedError


checks.check_null_band(null_band)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `rng.permutation(is_member)` keeps the number of members. `metrics.auc(scores, …)`, then `np.quantile`.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# from mialib import metrics
#
#
# def null_band(scores, is_member, rng):
#     shuffled = [metrics.auc(scores, rng.permutation(is_member)) for _ in range(500)]
#     return np.quantile(shuffled, [0.025, 0.975])
# ```
#
# The scores hardly matter: without ties, the band depends on the numbers of members and non-members alone.
# </details>

# %% [markdown]
# ### Exercise 16.2 · difficulty 3/5 · about 15 minutes
# An experiment of your own, and the last one of the course. Audit a model that *you* trained, of any kind and on any data. Toss the coins first. Hand over the report
# and your conclusion: `"it remembers its members"`, `"nothing found"` or `"the two sets differ"`. Which question comes first?


# %%
def own_audit() -> tuple:
    """The report that `audit` made, and one of the three conclusions."""
    raise NotImplementedError


checks.check_own_audit(own_audit)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `audit.from_outputs(probabilities=…, labels=…, is_member=…, inputs=…, by_coin=True)` takes any model's answers. Then look at
# `report.belief.blind.finds_a_shift`, and at `report.strongest.auc.low`.
#
# </details>
# <details><summary>Solution: a forest of scikit-learn's, and a checklist for yours</summary>
#
# ```python
# from sklearn.datasets import load_digits
# from sklearn.ensemble import RandomForestClassifier
#
# from mialib import audit
#
#
# def own_audit() -> tuple:
#     digits = load_digits()
#     tossed = np.random.default_rng(0).random(len(digits.data)) < 0.5
#     forest = RandomForestClassifier(random_state=0).fit(digits.data[tossed], digits.target[tossed])
#     answers = forest.predict_proba(digits.data)
#     given = {"labels": digits.target, "is_member": tossed, "inputs": digits.data}
#     report = audit.from_outputs(probabilities=answers, by_coin=True, **given)
#     if report.belief.blind.finds_a_shift:
#         return report, "the two sets differ"
#     leaks = report.strongest.auc.low > 0.5
#     return report, "it remembers its members" if leaks else "nothing found"
# ```
#
# Now write three sentences for the owner of your model, and hold them to this list:
#
# - Do they say *how many* members and non-members, and how they were drawn?
# - Is there a number at a low false-alarm rate, or the statement that there were too few records for one?
# - Is every number beside its interval, and is it said that the interval is over records of *one* training?
# - Do they name what was not tested, and avoid the word *safe*?
#
# With many attacks, taking the strongest and then reading its own interval is a little too eager; the policy `"aisvs"` corrects for their number.
# </details>

# %% [markdown]
# ## Recap
# - Deal members by coin toss *before* training; afterwards an audit needs five lines.
# - Read *Can this be believed?* first. A network that had seen no record of either set "leaked" them with an AUC of {{fooled.strongest.auc.value:.2f}}, because the sets differed.
# - Say the counts at a low false-alarm rate and at the prior of the world, not only an AUC.
# - A lower bound on ε is a theorem with a premise: coins were tossed. One run can refute an ε, and never prove one.
# - A report names what it did not test.
#
# ## What this does not show
# - That a model is safe: attacks only get better, and {{len(full.lacking)}} of ours were not played here.
# - Other trainings: the intervals are over the records of this one model (notebook 01 has ten trainings).
# - Text, audio and generative models: `audit` is about classifiers.
# - Several releases of one model, such as pruned or quantised ones: audit all that you release, together.

# %% [markdown]
# ## The end of the course
# It began with a stranger who learned from a clinic's model that you were a patient. You can do now what that clinic did not: ask first. Before you close the last
# notebook, some numbers to take along.

# %%
from mialib.course.plots.spoken import brief
from mialib.experiments import results

base, photographs = results("base", PROFILE), results("photographs", PROFILE)
plain, smooth = (base.find(defense=name) for name in ("Plain", "LabelSmoothing"))
bare = photographs.find(called="undefended")
student = photographs.find(defense="DMP", temperature=1.0)
smoothing = smooth.paired(plain, "advantage", "loss")
changed = brief(smoothing)
bought, paid = (brief(student.paired(bare, what)) for what in ("highest", "accuracy"))
on_letters, on_photographs = (brief(one.advantage("loss")) for one in (plain, bare))

# %% [markdown]
# ### What we know
# - **A model that knows its records by heart gives them away.** One threshold on the loss has an advantage of {{on_letters}} on letters. On photographs it has {{on_photographs}}.
# - **A defense must face an attacker who knows of it.** Label smoothing hides the confidence; against an adaptive shadow the loss attack's advantage was *{{words(smoothing)}}*
#   than without it ({{changed}}).
# - **Privacy can be bought.** On photographs DMP changed the highest advantage by {{bought}}. The accuracy changed by {{paid}}, and DMP asks for records beside the members. Notebook 14 has
#   every price.
# - **An average hides people.** Reference attacks catch some records again and again, and others never (notebook 05).
#
# In brackets are 95 % intervals over trainings ({{len(plain)}} on letters, {{len(bare)}} on photographs) and records.
#
# ### What nobody knows
# - Which defense is best for *your* data. Read the planes of notebook 14 side by side, and then measure.
# - What a better attack would find. Every advantage in this course is a floor, a guarantee ε is a ceiling, and there is much room between the two.
# - Whether sparsity itself protects, or only the accuracy that it costs (notebooks 12 and 13).
# - What the *other* records lose, those that some defenses learn from without calling them members.
#
# ### Where to go
# - **Audit** something that matters to you, before it is released. If it leaks, tell its owner first, and publish rates rather than names.
# - **Reproduce** one figure: `mialib reproduce` lists them, and LEDGER.md says which numbers still come from a stand-in for the paper's data.
# - **Build** an attack or a defense of your own. CONTRIBUTING.md has a whole one of each; neither fills a screen.
# - **Teach** it. Whoever has explained once why an AUC is not an accusation will not forget it.
#
# Thank you for reading this far.

# %% [markdown]
# ## References
# - D. Das, J. Zhang and F. Tramèr, 2024, *Blind baselines beat membership inference attacks for foundation models*,
#   [arXiv 2406.16201](https://arxiv.org/abs/2406.16201).
# - T. Steinke, M. Nasr and M. Jagielski, 2023, *Privacy auditing with one (1) training run*,
#   [arXiv 2305.08846](https://arxiv.org/abs/2305.08846): the bound on ε.
# - OWASP, *AI Security Verification Standard* 1.0, [OWASP/AISVS](https://github.com/OWASP/AISVS), 11.2: requirements
#   on membership inference.
# - N. Carlini and others, 2022, *Membership inference attacks from first principles*,
#   [arXiv 2112.03570](https://arxiv.org/abs/2112.03570): why low false-alarm rates.
