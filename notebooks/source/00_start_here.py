# ---
# title: Start here
# question: Can someone tell, from a model's answers alone, whether your record was used to train it?
# goals:
#   - say what membership inference is and why it matters
#   - run a first attack and read its numbers
#   - say what a number from one training is worth
#   - name the four habits that keep such numbers honest
#   - choose a profile and find your way through the course
# needs: a little Python; a classifier that you have trained once in your life
# read: 25
# reproduces: –
# cover: 00_losses
# ---

# %% [markdown]
# ## Why anyone would ask
# A clinic trains a model on its patients' scans and puts it behind a web page. Nobody can download the scans. But
# suppose a stranger has *your* scan, sends it to the page, and learns from the answer that it was one of the scans the
# model was trained on. Then the stranger knows that you were a patient of that clinic. The model has kept a secret
# badly, although nobody broke into anything.
#
# Finding out whether a record was in a model's training set is called **membership inference**. It is the simplest
# privacy question one can ask of a model: *who* was there? What somebody said, or what else can be learned about them, are
# other questions with other tests. But a model that gives away who was in its training set has already said too much.
#
# The words of the whole course:
#
# | word | meaning |
# |---|---|
# | **record** | a pair $(x, y)$: an input and its label |
# | **member** / **non-member** | a record that was / was not in the training set of the model in question |
# | **target** | the model that is attacked |
# | **shadow** | a model that the attacker trains, on records of its own, to see what members look like |
# | **signal** | what the attacker can observe of a model: here its outputs, the logits: one number per class, which the softmax turns into probabilities |
# | **score** | the attack's number for a record; *higher always means: more likely a member* |

# %% [markdown]
# ## The rules of the game
# Every attack in this course plays the same game, and it helps to know the rules before the first number appears.
#
# | | the attacker of this lesson |
# |---|---|
# | **has** | a record and its label; more records from the same source; the recipe by which the target was trained |
# | **may** | ask the target for its output on any record; train a shadow |
# | **may not** | see the target's weights, its training set, or which of the records are members |
# | **wants** | one bit per record: in, or out |
# | **costs** | one query per record, and one training run for the shadow |
#
# We play with equally many members and non-members, drawn from one source, so an attacker who tosses a coin is right
# half of the time. What counts is how much better one can do.

# %% [markdown]
# ## A first attack, in two minutes
# The course brings its own data, so nothing is downloaded: small noisy pictures of the letters A to J.

# %%
from mialib import attacks, metrics, profiles, runs
from mialib.course import figures, plots, widgets
from mialib.course.plots import show

configuration = profiles.load(PROFILE).images
part = configuration.side_records().train
names = "ABCDEFGHIJ" if configuration.data == "letters" else "0123456789"
show(figures.images(part.x[:20], [names[y] for y in part.y[:20]]), name="00_letters")

# %% [markdown]
# **What to see.** Some letters are plain, some could be almost anything. There are {{len(part):,}} of them in the training
# set: too few to learn the alphabet well, and few enough to *memorise*.
#
# Now we train two networks by the same recipe: the **target**, and the attacker's **shadow**, on other records. (The first
# time this takes some seconds. Every run is kept, and the next notebook finds it again.)

# %%
target, shadow = runs.get_all([configuration, configuration.but(side="shadow")])
accuracy = target.metrics["accuracy"]
print(
    f"target: {accuracy['train']:.1%} right on its members, {accuracy['test']:.1%} on non-members"
)

# %% [markdown]
# **What to see.** {{accuracy['train']:.1%}} against {{accuracy['test']:.1%}}: the target knows its own records by heart
# and is right far less often on the rest. That difference is what the simplest attacks live on.
#
# ### Stop and think
# The attacker sends a record to the target and reads off $p_y$, the probability of the true label $y$. The **loss**,
# $-\log p_y$, says how surprised the model is by that label. **Predict** before you run the next cell: will members have low or high loss? And will *all* of them?

# %%
signals = target.signals
losses = plots.histograms(signals.members().loss(), signals.non_members().loss(), label="loss")
show(losses, name="00_losses")

# %% [markdown]
# **What to see.** Members have low loss (median {{losses.numbers['member_median']:.5f}}), non-members a higher one (median
# {{losses.numbers['non_member_median']:.2f}}), and nearly every loss above 0.1 is a non-member's. But on the left the histograms
# overlap: many non-members are easy letters that any model would get right, and on those the attacker will raise a false alarm.
#
# The attack is now one sentence: *call a record a member when its loss is below a threshold*. Which threshold? The
# attacker cannot look at the target's members to choose it. But of the shadow, the attacker knows every member, so the
# threshold that works best on the shadow is used on the target. `fit` finds it, and `score` gives every record a number,
# higher for members: minus the loss.

# %%
fitted = attacks.MetricThreshold("loss").fit(shadow.signals)
scores = fitted.score(signals.public())
result = metrics.evaluate(scores, signals.is_member, threshold=fitted.threshold)
result

# %% [markdown]
# **What to see.** The **advantage** is the share of members that are caught minus the share of non-members that are
# falsely accused: {{result.advantage.value:.2f}} here, on a scale where a coin has 0 and an oracle 1. The **AUC**
# (area under the ROC curve, which notebook 01 draws), {{result.auc.value:.2f}}, is the chance that a random member gets a higher score than a random non-member. Both
# come with an interval, because another {{result.members:,}} + {{result.non_members:,}} records would have given
# slightly different numbers.
#
# One row looks sobering. *TPR at 1 % FPR*, the true positive rate at a false positive rate of 1 %, is the share of members
# that can be caught when at most one non-member in a hundred may be accused. It is {{result.tpr_at_1_percent.value:.1%}}. Notebook 01 says why that row matters.

# %% [markdown]
# ## Play the attacker
# Twenty records, drawn at random. Move **letter**, look at the triangle, and say *member* or *non-member* before you read the title. *Think*: which
# letters fool the attack, and would they have fooled you?

# %%
import numpy as np

records = target.side.train.x, target.side.test.x  # members first, as in the signals
x = np.concatenate(records)
drawn = np.random.default_rng(3).permutation(len(x))[:20]
loss = signals.loss()
inside, outside = signals.members().loss(), signals.non_members().loss()


def letter_view(letter: int) -> plots.Picture:
    i = drawn[letter - 1]
    is_member, name = signals.is_member[i], f"letter {letter}: {names[signals.labels[i]]}"
    both = {"member": inside, "non_member": outside, "threshold": -fitted.threshold}
    return figures.one_record(x[i], loss[i], is_member=is_member, name=name, **both)


widgets.explore(letter_view, letter=widgets.slider(1, 20, start=1, step=1, label="letter"))

# %% [markdown]
# Sliders need a running kernel. When you open a saved notebook, or have restarted the kernel, an old slider moves and nothing follows, or a line says
# that its model was not found: run the notebook again. On the web pages of the course they need no kernel.
#
# *Without a kernel*: a member that is caught, a non-member that is accused, and one that is left alone.

# %%
truth, called = signals.is_member[drawn], loss[drawn] <= -fitted.threshold
kinds = [truth & called, ~truth & called, ~truth & ~called]
three = [int(np.flatnonzero(kind)[0]) + 1 for kind in kinds if kind.any()]
show(plots.small_multiples(letter_view, letter=three), name="00_letter")
right = int((truth == called).sum())

# %% [markdown]
# **What to see.** About these twenty the attack is right {{right}} times. It accuses {{int((called & ~truth).sum())}} of
# {{int((~truth).sum())}} non-members, and misses {{int((~called & truth).sum())}} of the members. The letters that it wrongly accuses are
# those that the model finds easy without having seen them.

# %% [markdown]
# ## What one training is worth
# This was one target, trained once. Begin again from other random weights, and you get another network and other numbers.
# The interval above knows nothing of that: it asks what other *records* would have given to *these* two networks. So one
# training is an anecdote.
#
# The remedy is to do it again. We trained target and shadow ten times, on the same records with ten seeds, and kept what every
# attack found. `results` reads it.
#
# **Predict**: how far apart will the ten advantages lie?

# %%
from mialib.course import headlines
from mialib.experiments import results

base = results("base", PROFILE)
print(base.about["source"])
plain = base.find(defense="Plain")  # without any defense
headlines.beside(result, plain, "loss")

# %% [markdown]
# The last column has an interval **that includes the training**. It answers two questions at once: what if other records had
# been drawn, and what if both networks had been trained again?

# %%
at = plain.attacks.index("loss")
ten = {}
# Of every training the order of the scores was kept, and the threshold of its shadow.
for row, ranks, cut in zip(plain.rows, plain.ranks[:, at], plain.thresholds[:, at], strict=True):
    one = metrics.evaluate(ranks, plain.is_member, threshold=cut, draws=300)
    ten[f"seed {row.seed}"] = one.advantage
rows = {"your training": result.advantage, **ten, "all of them": plain.advantage("loss")}
picture = plots.comparison({"advantage": rows}, label="advantage", mark="all of them")
show(picture, name="00_trainings")
apart = plain.by_seed("advantage", "loss")

# %% [markdown]
# **What to see.** Yours has {{result.advantage.value:.2f}}; ours lie between {{apart.min():.2f}} and {{apart.max():.2f}}. All of
# them together give {{plain.advantage("loss")}}. The upper intervals are over records alone, the shaded one is over records and trainings.
#
# The {{len(plain)}} trainings differ by a standard deviation of only {{apart.std(ddof=1):.3f}}. They differ so little because we chose a network that is trained until it rests; one that is stopped halfway depends far more on
# luck. Yours has the seed 0, and on another processor it still comes out slightly different, because sums are rounded in
# another order. From here on the headline of a lesson comes from repeats, and your own training stands beside it. When the
# interval of a difference contains 0, we say that the two are *not told apart*, or *not significantly different*.

# %% [markdown]
# ## Four habits that keep the numbers honest
# Published code does not always keep them: notebook [15](15_paper_versus_code.ipynb) measures a dozen slips. The course keeps them everywhere, and tests them.
#
# 1. **One sign.** Scores are higher for members, always. A toolkit that mixes losses and confidences will one day report an
#    AUC of 0.15 where 0.85 is right.
# 2. **Nothing is chosen on the target.** Thresholds and attack models are fitted on shadows. `signals.public()` above
#    hands the attack everything but the truth about membership.
# 3. **Members and non-members differ in one thing only**, namely membership. If they came from different sources, the
#    attack would recognise the source.
# 4. **Every number has an n and an interval**, and the interval of a headline includes the training. What n cannot support is
#    not printed: a rate of one false alarm in ten thousand, for example, needs ten thousand non-members.

# %% [markdown]
# ## The map
# Attacks first, because they are the measuring instrument; then what training can do about them.
#
# | part | lessons |
# |---|---|
# | **The instrument** | 00 start here · [01 the membership game](01_membership_game.ipynb) |
# | **Attacks** | [02 metric attacks](02_metric_attacks.ipynb) · [03 learned attacks](03_learned_attacks.ipynb) · [04 label-only and white-box](04_label_only_and_white_box.ipynb) · [05 reference attacks](05_reference_attacks.ipynb) |
# | **Where membership lives** | [06 simple defenses](06_simple_defenses.ipynb) · [07 loss-gap sensitivity](07_sensitivity.ipynb) · [08 PAST](08_past.ipynb) · [09 its ablations](09_past_ablations.ipynb) |
# | **Defenses by the loss** | [10 RelaxLoss and CRL](10_crl.ipynb) · [11 learned defenses](11_learned_defenses.ipynb) |
# | **Sparsity** | [12 magnitude pruning](12_magnitude_pruning.ipynb) · [13 butterfly](13_butterfly.ipynb) |
# | **Putting it together** | [14 the arena](14_arena.ipynb) · [15 paper versus code](15_paper_versus_code.ipynb) · [16 audit your own model](16_audit_your_model.ipynb) |
#
# Each opens alone and needs no other notebook's state.

# %% [markdown]
# ## Profiles
# The cell near the top sets `PROFILE`. A profile is only a set of numbers: the code is the same at each.
#
# | profile | for | data | time |
# |---|---|---|---|
# | `quick` | any laptop, any classroom | letters, made on the spot | seconds per model |
# | `cpu` | a patient laptop | real: CIFAR-10 | minutes per model |
# | `class` | a GPU for an afternoon, such as Colab's | real: CIFAR-10, with fewer epochs and shadows than the papers | not measured: we had no GPU |
# | `paper` | a GPU and days | the papers' own | not measured |
#
# All numbers in this text were made at `{{PROFILE}}`. Where repeats are not shipped for another profile, a lesson shows those of
# `quick`, says so, and names the command that makes your own.

# %% [markdown]
# ## Responsible use
# Run these attacks on models that are yours, or that you were asked to examine. If you find that a model leaks, tell its
# owner before you tell the world, and publish rates rather than names: *which* people are exposed is itself the secret.
# A low advantage here is not a certificate either. It means that these attacks, at this strength, found little. More on
# [responsible use](RESPONSIBLE_USE.md).

# %% [markdown]
# ## Exercises
# A check never stops the notebook: it says *not done yet*, *not quite* or *right*.
#
# ### Exercise 0.1 · difficulty 1/5 · about 5 minutes
# The simplest attack does not even need the loss; the predicted label is enough: call a record a member when the model gets
# it *right*. Write it.

# %%
from mialib.course.exercises import lesson_00 as checks


def gap_attack(predicted: np.ndarray, label: np.ndarray) -> np.ndarray:
    """True for each record that is called a member; both arrays are (n,) class numbers."""
    raise NotImplementedError


checks.check_gap_attack(gap_attack)

# %% [markdown]
# <details><summary>Hint</summary>Compare the two arrays element by element.</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def gap_attack(predicted: np.ndarray, label: np.ndarray) -> np.ndarray:
#     return predicted == label
# ```
#
# Its advantage is exactly the accuracy on members minus the accuracy on non-members,
# {{accuracy['train'] - accuracy['test']:.2f}} for your target and {{plain.advantage("correctness")}} over {{len(plain)}} trainings. The loss attack
# has {{plain.between("loss", "correctness")}} more: that is what looking at *how sure* the model is adds to *whether it is right*.
# </details>

# %% [markdown]
# ### Exercise 0.2 · difficulty 2/5 · about 5 minutes
# A judgement. A newspaper asks what you found, and suggests five sentences. Which of them may be printed?
#
# - **A**: "The attack catches {{plain.advantage("loss").value:.0%}} of the members."
# - **B**: "Train the network again, and the advantage will again be near {{plain.advantage("loss").value:.2f}}."
# - **C**: "A model on which this attack has an advantage of 0.02 keeps its members secret."
# - **D**: "When only one non-member in a hundred may be accused, this attack finds few members."
# - **E**: "On other data the advantage lies in the same interval."


# %%
def may_be_printed() -> str:
    """The letters of the sentences that hold, such as "ACE"."""
    raise NotImplementedError


checks.check_may_be_printed(may_be_printed)

# %% [markdown]
# <details><summary>Hint</summary>What is subtracted from what in an advantage? And what did we do again: the training, or everything?</details>
#
# <details><summary>Solution</summary>
#
# ```python
# def may_be_printed() -> str:
#     return "BD"
# ```
#
# A mistakes TPR − FPR for the TPR. B is what the interval over trainings is for. C forgets the stronger attacks of lessons 02 to 05, and D is the row
# *TPR at 1 % FPR*. E promises what nobody measured: ten seeds say nothing of other letters.
# </details>

# %% [markdown]
# ## Recap
# - Membership inference asks for one bit per record: in the training set, or not. In a stranger's hands the answer can do harm.
# - A model that memorises has low loss on its members. A threshold on the loss, found on a shadow, already has an advantage of
#   {{plain.advantage("loss")}} ({{len(plain)}} trainings, n = {{result.members:,}} + {{result.non_members:,}}, `{{PROFILE}}`); yours has {{result.advantage.value:.2f}}.
# - One training is an anecdote. An interval that includes the training says what the next one may give.
# - Four habits keep the numbers honest: one sign, nothing chosen on the target, one source, an interval.
# - Profile `quick` runs anywhere, and each lesson opens alone.
#
# ## What this does not show
# - These are drawn letters and a small network. Real photographs come with the other profiles.
# - Ten seeds, but one recipe and one set of letters. Another network or other data may leak more, or less.
# - This is one of the simplest attacks in the course. A model that withstands it may fall to one of lessons 02 to 05.
#
# ## References
# - R. Shokri and others, *Membership inference attacks against machine learning models*,
#   [arXiv 1610.05820](https://arxiv.org/abs/1610.05820), 2017: the game with shadows.
# - S. Yeom and others, *Privacy risk in machine learning: analyzing the connection to overfitting*,
#   [arXiv 1709.01604](https://arxiv.org/abs/1709.01604), 2018: the loss attack and the attack of exercise 0.1.
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 2.1: the setting used here.
