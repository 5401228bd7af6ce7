# ---
# title: The arena
# question: Which defense should I use, and what does it cost me?
# goals:
#   - say which defenses may be compared, and which may not
#   - find the front of a plane of accuracy and leak, and say who is clearly behind it
#   - watch the front move with the data, the number and the attack
#   - compare two defenses at the same accuracy, on records that did not match them
#   - choose a defense for a need, and name its price in accuracy, time and records
# needs: notebook 01; every defense is told in one line under *What it costs*
# read: 35
# reproduces: after PAST's Fig. 3 and CRL's Fig. 4, with every defense of the course, on our data
# cover: 14_plane
# ---

# %% [markdown]
# ## All of them in one place
# Seven lessons trained defenses, and each compared a few. The papers do the same: every one of them shows its own method beside the rivals that it chose, at strengths that it chose.
# Somebody who has to *pick* one needs all of them on one set of axes, and the price of each. In a hurry? The answer is in the tables under
# *Which defense should I use?*, and the names in them are told under *What it costs*.
#
# Every defense pays in three currencies: **accuracy**, **time**, and **records** that it needs beside the members. What it buys is less **leak**: what the attacks reach.
#
# The trainings are there already, so nothing trains here. `contenders` reads the results of every plan and sorts them.

# %%
import numpy as np
from IPython.display import Markdown

from mialib.course import arena, contenders, figures, headlines, plots, widgets
from mialib.course.plots import show
from mialib.course.plots.spoken import brief
from mialib.estimates import words
from mialib.store import home

# %%
rings = contenders.arenas(PROFILE)
lines = ["| arena, members | settings | defenses | attacks | trainings per setting |"]
lines.append("|---|---|---|---|---|")
for name, ring in rings.items():
    cells = [len(ring.contenders), len(ring.defenses) - 1, len(ring.attacks)]
    trainings = sorted({len(one.trainings) for one in ring.competitors})
    told = " or ".join(map(str, trainings))
    lines.append(f"| {name} | {' | '.join(map(str, cells))} | {told} |")
Markdown("\n".join(lines))

# %% [markdown]
# ## Who may meet whom?
# An **arena** holds settings with the same members, the same network and the same attacks. Then two settings are compared record by record and seed by seed: what the
# luck of the draw gives to one, it gives to the other.
#
# Across arenas this is impossible. Early stopping needs validation records, so the lesson on simple defenses gave up a tenth of the members, in all settings alike. A ResNet-20 leaks
# differently from a small CNN, whatever the defense. The library refuses such pairs:

# %%
big = next(iter(rings.values()))
smaller = [ring for ring in rings.values() if "early stopping" in ring.defenses]
small = smaller[0] if smaller else big
try:
    big.undefended.minus(small.undefended, "advantage")
except ValueError as error:
    print(error)

# %% [markdown]
# Settings whose training failed with some seed stay in sight, but they are no offer. {{len(big.fallen)}} settings of `{{big.name}}` failed with every seed, so they have no number at all.

# %% [markdown]
# ## The front from scratch
# One setting **dominates** another if it is at least as good by both numbers and better by one. The **front** is what nobody dominates: there, more accuracy costs more leak.


# %%
def undominated(accuracy: np.ndarray, leak: np.ndarray) -> np.ndarray:
    """True for each point that nobody dominates; both are (n,)."""
    kept = []
    for mine, lost in zip(accuracy, leak, strict=True):
        at_least = (accuracy >= mine) & (leak <= lost)
        better = (accuracy > mine) | (leak < lost)
        kept.append(not (at_least & better).any())
    return np.array(kept)


rivals = big.competitors
accuracy = np.array([one.mean() for one in rivals])
leak = np.array([one.mean("advantage") for one in rivals])
leads = undominated(accuracy, leak)
states = arena.front(big)
names = [one.name for one in rivals]
assert [states[name] == arena.FRONT for name in names] == leads.tolist()
print(f"{leads.sum()} of {len(rivals)} settings are on the front")

# %% [markdown]
# That is the front of the *means*. Behind it we ask the intervals. A setting is **clearly behind** if some other is at least as good by both means, and the paired 95 % interval of one of the two
# differences excludes 0. Otherwise we do not know, and its marker stays hollow.
#
# **Predict** for letters: will the front run from the undefended model (the star) evenly down to the left, or is there a corner?

# %%
show(figures.plane(big, states=states), name="14_plane")
counts = {state: list(states.values()).count(state) for state in set(states.values())}
bare = big.undefended
drop = {one.name: one.minus(bare, "advantage") for one in rivals if one is not bare}
paid = {one.name: one.minus(bare, "accuracy") for one in rivals if one is not bare}
free = [name for name in drop if drop[name].high < 0 and paid[name].high >= 0]
able = [one for one in rivals if one.mean() >= bare.mean() - 0.03]
corner = min(able, key=lambda one: one.mean("advantage"))

# %% [markdown]
# **What to see.** {{counts.get("front", 0)}} settings are on the front, {{counts.get("beaten", 0)}} are clearly behind it, and {{counts.get("open", 0)}} are undecided. The corner lies below the star: for three points of accuracy at most, the advantage changes from
# {{bare.mean("advantage"):.2f}} to {{corner.mean("advantage"):.2f}} ({{corner.name}}). {{len(free)}} settings leak clearly less than the undefended model while their accuracy is not clearly lower.
#
# Far to the left stand models that have learned little, and little is what they leak. The diamonds stand apart. *Loss gap* (notebook 09) learns the **labels** of non-members, so these become members of a kind, and the attacks here never ask about them.


# %%
def given_away(one: arena.Contender) -> float:
    """How much more accurate it is on the inference records than on the test records."""
    gaps = [row.accuracy["inference"] - row.accuracy["test"] for row in one.trainings.rows]
    return float(np.mean(gaps))


exposed = {one.name: given_away(one) for one in big.contenders}
apart = [one.name for one in big.contenders if one.extra == arena.FURTHER_MEMBERS]
for name in (*apart, "undefended"):
    print(f"{name:<16}{exposed[name]:+.3f} on the records that it tunes on")

# %% [markdown]
# So its place on the plane is not for sale, and it does not count for the front. The other defenses that use non-members do not learn their labels; but nobody has measured what *those* records
# lose. Take records that are public.

# %% [markdown]
# ## Move the front
# Choose the **data**, the **number**, the **attack**, and a **defense** whose settings are ringed; **strength** walks through them from the weakest to the strongest. Watch the list on the right: who stays on it?
# *Think!* A defense may be on the front by the advantage and off it by the TPR at 1 % FPR. What does it then hide, and from whom?

# %%
everyone = list(dict.fromkeys(name for ring in rings.values() for name in ring.defenses))
asked = list(dict.fromkeys(attack for ring in rings.values() for attack in ring.attacks))
by_means = {  # computed once, so that the sliders answer at once
    (name, number): arena.leaders(ring, number)
    for name, ring in rings.items()
    for number in arena.LEAKS
}
sure = {name: arena.front(ring) for name, ring in rings.items()}


def plane_view(
    data=big.name, number="advantage", attack="strongest", defense="PAST", strength=0.5
) -> plots.Picture:
    known = sure[data] if (number, attack) == ("advantage", "strongest") else None
    ring = rings[data]
    chosen = {"number": number, "attack": attack, "defense": defense, "strength": strength}
    return figures.plane(ring, **chosen, states=known)


# %%
widgets.explore(
    plane_view,
    data=widgets.choice(list(rings), label="data · network, members"),
    number=widgets.choice(list(arena.LEAKS), label="number"),
    attack=widgets.choice(["strongest", *asked], label="attack"),
    defense=widgets.choice(["PAST", *(one for one in everyone if one != "PAST")], label="defense"),
    strength=widgets.slider(0.0, 1.0, start=0.5, step=0.05, label="its strength"),
)

# %% [markdown]
# *Without a kernel*: the same letters by the TPR at 1 % FPR, with RelaxLoss at its strongest.

# %%
tpr = "TPR at 1 % FPR"
picture = plane_view(number=tpr, defense="RelaxLoss", strength=1.0)
show(picture, name="14_tpr")
ahead = {number: set() for number in arena.LEAKS}
for number in arena.LEAKS:
    found = by_means[big.name, number]
    ahead[number] = {name for name, state in found.items() if state == arena.FRONT}
both = ahead["advantage"] & ahead[tpr]
highest = max(one.mean(tpr) for one in big.competitors)

# %% [markdown]
# **What to see.** Of the {{len(ahead["advantage"])}} leaders by the advantage {{len(both)}} lead by the TPR at 1 % FPR, too; by the AUC it is {{len(ahead["advantage"] & ahead["AUC"])}}. The whole axis ends at {{highest:.1%}}: with one shadow, these attacks accuse few
# members with certainty, and differences up there are small. Whoever fears the one sure accusation reads this plane; whoever fears many guesses reads the other.

# %% [markdown]
# ## What it costs
# Times are those of the trainings in the tables, the fastest of each, over the undefended model; every clock is slower on a busy machine, so read them to one digit. *Later* says that a defense starts
# from a model that is trained already; its time includes that first training.

# %%
headlines.prices(rings.values())

# %% [markdown]
# For DP-SGD notebook 11 prints a larger factor. There one thread's processor time for a single epoch on few records is compared, here the clock time of
# whole trainings, of {{int(big.undefended.trainings.is_member.sum()):,}} members each: two recipes, two factors.

# %% [markdown]
# ## Two at the same accuracy
# A point that is lower *and* further left proves nothing: any model leaks less when it learns less. So hold the accuracy fixed. For a setting of one defense we look for a strength of another
# that has about the same accuracy, and then compare the leaks.
#
# There is a trap. Whoever searches many settings for a match, on the records that also measure, finds one that is *lucky there*. So we split the records: one half chooses, the other
# half compares. (Accuracy on the inference records, which served in notebooks 06 and 13, would not do here: some of these defenses have met them.) First, a setting of PAST: the one that leaks least within three points of the undefended accuracy.

# %%
choosing, measuring = big.halves
floor = choosing.undefended.mean() - 0.03
able = [one for one in choosing.defenses["PAST"] if one.competes and one.mean() >= floor]
name = min(able, key=lambda one: one.mean("advantage")).name

# %% [markdown]
# Then its rival: of the strengths of RelaxLoss whose accuracy is within 0.01, the one that leaks least, or else the nearest. (The nearest of all would be unfair: where accuracy hardly moves with the strength, it may be
# the weakest.)

# %%
gap = {one.name: choosing[name].mean() - one.mean() for one in choosing.defenses["RelaxLoss"]}
close = [other for other in gap if abs(gap[other]) <= 0.01]
if close:
    rival = min(close, key=lambda other: choosing[other].mean("advantage"))
else:
    rival = min(gap, key=lambda other: abs(gap[other]))
by_hand = measuring[name].minus(measuring[rival], "advantage")

match = arena.matched(big, name, "RelaxLoss")
assert (match.other.name, match.minus("advantage")) == (rival, by_hand)
print(f"{name} beside {rival}: highest advantage {by_hand}")

# %% [markdown]
# By hand and by the library, it is the same rival. The same setting of PAST against several rivals, first minus second; a negative leak means that PAST leaks less. **Predict** which rival comes closest.

# %%
others = ["uniform ℓ1", "RelaxLoss", "CRL", "CRL (active)", "AdvReg", "Mixup+MMD", "MMD"]
found = {other: arena.matched(big, name, other) for other in others if other in big.defenses}
headlines.matches(found.values())

# %%
fair = {other: one for other, one in found.items() if one.is_close}
verdicts = {other: words(one.minus("advantage")) for other, one in fair.items()}


def named(verdict: str) -> str:
    some = [other for other, one in verdicts.items() if one == verdict]
    return ", ".join(some) if some else "nobody"


# %% [markdown]
# Where the match was close (within 0.01), the highest advantage of *{{name}}* is lower than that of {{named("lower")}}; higher than that of {{named("higher")}}; and not significantly different from that of {{named("not told apart")}}.
# A line that says *too far* compares models of different use, and decides nothing.
#
# Now choose any two. **First** and its strength meet the matched strength of **second**; every attack has a line. *Think!* Is there a pair where one attack turns against the verdict of the others?


# %%
def duel_view(data=big.name, first="PAST", strength=0.5, second="RelaxLoss") -> plots.Picture:
    return figures.duel(rings[data], first, second, strength=strength)


for ring in rings.values():
    for one in ring.halves[1].contenders:
        one.draws("advantage")  # computed once, so that the sliders answer at once

widgets.explore(
    duel_view,
    data=widgets.choice(list(rings), label="data · network, members"),
    first=widgets.choice(["PAST", *(one for one in everyone if one != "PAST")], label="first"),
    strength=widgets.slider(0.0, 1.0, start=0.5, step=0.05, label="strength of the first"),
    second=widgets.choice(
        ["RelaxLoss", *(one for one in everyone if one != "RelaxLoss")], label="second"
    ),
)

# %% [markdown]
# *Without a kernel*: DMP, asked about all reference records, beside Mixup+MMD.

# %%
picture = figures.duel(big, "DMP", "Mixup+MMD", strength=0.0)
show(picture, name="14_duel")
pair = arena.matched(big, big.defenses["DMP"][0].name, "Mixup+MMD")
gained = pair.minus("advantage")

# %% [markdown]
# **What to see.** {{pair.one.name}} and {{pair.other.name}} are {{abs(pair.gap):.3f}} apart in accuracy on the half that matched them. On the other half DMP's highest advantage is {{words(gained, same="not significantly different")}}: the
# difference is {{gained}}. ({{len(pair.one.trainings)}} trainings each; n = {{int(pair.one.trainings.is_member.sum())}} + {{int((~pair.one.trainings.is_member).sum())}} records.)

# %% [markdown]
# ## The same on photographs
# Letters are a toy. The course has one arena of real data: CIFAR-10, where the small CNN learns 3,000 photographs by heart. **Predict** which of the letters' leaders will lead again.

# %%
photographs = next((ring for ring in rings.values() if "photographs" in ring.name), big)
show(figures.plane(photographs, states=sure[photographs.name]), name="14_photographs")
bare_photo = photographs.undefended
by_heart = np.mean([row.accuracy["train"] for row in bare_photo.trainings.rows])
right_of_it = sum(one.mean() > bare_photo.mean() for one in photographs.competitors)
best = [one for one in photographs.competitors if sure[photographs.name][one.name] == "front"]
best.sort(key=lambda one: -one.mean())
families = list(dict.fromkeys(one.defense for one in best))
leaders = {one.defense for one in rivals if states[one.name] == arena.FRONT}
again = [name for name in families if name in leaders]

# %% [markdown]
# **What to see.** On the front are {{", ".join(families)}}; of these, {{", ".join(again) or "none"}} led on letters, too (trainings per setting: {{len(bare_photo.trainings)}}; n = {{int(bare_photo.trainings.is_member.sum()):,}} + {{int((~bare_photo.trainings.is_member).sum()):,}}). The undefended model has an accuracy of {{brief(bare_photo.estimate())}} and a highest advantage of
# {{brief(bare_photo.estimate("advantage"))}}; it classifies {{by_heart:.0%}} of its members rightly. {{right_of_it}} of the {{len(photographs.competitors) - 1}} defended settings are *more* accurate by their means: a model that learns by heart can gain by a brake.

# %% [markdown]
# ## Take it with you
# Every plane and every duel is a picture with a name; an arena is a table. Nothing is overwritten unless you say so.

# %%
folder = home() / "arena"
quick = ["advantage"]  # The intervals of AUC and TPR take longer: leave `numbers` out.
table = arena.to_csv(big, folder / "letters.csv", numbers=quick, overwrite=True)
figure = figures.plane(big, states=states)
files = [table, *(figure.save(folder / f"plane.{kind}", overwrite=True) for kind in ("png", "svg"))]
print(*(f"{path.name}: {path.stat().st_size / 1000:.0f} kB" for path in files), sep="\n")

# %% [markdown]
# ## Which defense should I use?
# It depends on what you can spare. Promise how much accuracy you give up at most; every line then names the setting that leaks least and fits the need. It is chosen on one half of the records, and
# all numbers are measured on the other half, so that the winner's luck stays behind. (There a line may miss the promise by a little.) Changes are against the undefended model of the same arena; an interval needs more than one training. Change the promise and run the cells again.

# %%
PROMISE = 0.05  # of accuracy
on_letters = arena.advice(big, promise=PROMISE)
headlines.advice(on_letters)

# %% [markdown]
# That was `{{big.name}}`. The same on photographs:

# %%
on_photographs = arena.advice(photographs, promise=PROMISE)
headlines.advice(on_photographs)

# %% [markdown]
# And for simple defenses, which fought in an arena of their own, `{{small.name}}`:

# %%
on_simple = arena.advice(small, promise=PROMISE)
private = sorted(big.defenses["DP-SGD"], key=lambda one: one.mean())
strict, guaranteed = private[0], private[-1]
right = [brief(one.estimate()) for one in (guaranteed, bare, strict)]
floors = [one.trainings.fact("history")[0][-1]["epsilon"] for one in (guaranteed, strict)]
headlines.advice(on_simple)


# %%
def told(found: list) -> str:
    """The first two lines in words."""
    names = {line.need: line.one.name if line.one else "nobody" for line in found[:2]}
    return "; ".join(f"{need}: **{name}**" for need, name in names.items())


# %% [markdown]
# In words, for at most {{100 * PROMISE:.0f}} points of accuracy (the numbers are in the tables):
#
# - on letters, {{told(on_letters)}};
# - on photographs, {{told(on_photographs)}};
# - among the simple ones, {{told(on_simple)}}.
#
# One wish is missing, because no table can fulfil it: a **guarantee** that holds for every attack. Of all these defenses DP-SGD alone has one, an ε (notebook 11). Its most accurate setting here,
# {{guaranteed.name}}, has an accuracy of {{right[0]}} (undefended: {{right[1]}}) and takes {{guaranteed.times:.1f}} times as long. It promises ε = {{floors[0]:.3g}}; its least accurate, {{strict.name}},
# promises ε = {{floors[1]:.3g}} at an accuracy of {{right[2]}}. Ask for the ε before you pay: one far above 10 forbids next to nothing.
#
# A rule of thumb for the rest: measure your own model first (notebook 02), take the cheapest line that serves, and measure again with an attacker who knows your defense.

# %% [markdown]
# ## Exercises
# ### Exercise 14.1 · difficulty 2/5 · about 10 minutes
# A judgement. Three clients ask for a defense:
#
# - the **clinic** has photographs and not one record beside the members; it may train longer, and gives up 5 points of accuracy at most;
# - the **shop** has a trained model of letters, and non-members at hand; it gives up 2 points at most;
# - the **student** has photographs, neither more records nor more time, and gives up 5 points at most.
#
# Answer by the names of the settings as the tables write them. You need one table that is not above: change the promise.

# %%
from mialib.course.exercises import lesson_14 as checks


def for_clients() -> dict[str, str]:
    """The setting for "clinic", "shop" and "student"."""
    raise NotImplementedError


checks.check_for_clients(for_clients)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `headlines.advice(arena.advice(big, promise=0.02))` is the table for the shop.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# from mialib.course import arena, contenders
#
# rings = contenders.arenas("quick")
# letters = next(ring for ring in rings.values() if ring.name.startswith("letters · CNN, 1,000"))
# photographs = next(ring for ring in rings.values() if ring.name.startswith("photographs"))
#
#
# def for_clients() -> dict[str, str]:
#     on_photographs = {line.need: line for line in arena.advice(photographs, promise=0.05)}
#     on_letters = {line.need: line for line in arena.advice(letters, promise=0.02)}
#     return {
#         "clinic": on_photographs["no records beside the members"].one.name,
#         "shop": on_letters["the model is trained already"].one.name,
#         "student": on_photographs["neither more records nor more time"].one.name,
#     }
# ```
#
# Then tell each what the intervals say. The clinic's setting changes the accuracy by {{brief(on_photographs[1].accuracy)}}: with {{len(bare_photo.trainings)}} trainings it is not sure that the promise holds.
# </details>

# %% [markdown]
# ### Exercise 14.2 · difficulty 2/5 · about 10 minutes
# The lowest of many numbers is too low: part of why it is the lowest is luck. Write the honest number of a winner.


# %%
def honest_winner(choosing: np.ndarray, measuring: np.ndarray) -> float:
    """Leaks of the same n settings on two halves: choose by the first, answer by the second."""
    raise NotImplementedError


checks.check_honest_winner(honest_winner)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `argmin` of one array is a place in the other.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def honest_winner(choosing, measuring):
#     return float(measuring[choosing.argmin()])
# ```
#
# By the TPR at 1 % FPR the winner among {{len(rivals)}} settings here has {{checks.winner(big, tpr).chosen_by:.2%}} on the half that chose it and {{checks.winner(big, tpr).measured_by:.2%}} on the other.
# </details>

# %% [markdown]
# ## Recap
# - Only settings of the same records, network and attacks can be compared: that is an arena.
# - The front is what nobody dominates. Here {{counts.get("front", 0)}} of {{len(rivals)}} settings are on it by their means, and of the rest {{counts.get("open", 0)}} are not clearly behind.
# - The front moves: {{len(both)}} of its {{len(ahead["advantage"])}} settings stay when the TPR at 1 % FPR replaces the advantage.
# - At the same accuracy, found on other records than it is measured on, *{{name}}* leaks less than {{named("lower")}}.
# - The price is accuracy, time and records. The tables under *Which defense should I use?* name it for each need.
#
# ## What this does not show
# - Strengths between those that were trained, and defenses tuned with care: each has the strengths of its lesson, one recipe for all.
# - Attackers with many references (notebook 05), who reach further at low FPRs.
# - What the non-members lose that some defenses learn from.
# - Many comparisons at once: of a hundred pairs that do not differ, about five look as if they did. Halves of records keep the choice honest over records, not over seeds.
# - Other data: read the planes side by side, and see how little one tells of the next.
#
# ## References
# - Q. Hu, H. Zhang and H. Wei, 2024, *Defending membership inference attacks via privacy-aware sparsity tuning*
#   (PAST), [arXiv 2410.06814](https://arxiv.org/abs/2410.06814), Section 4.2 and Fig. 3: curves of utility and
#   privacy by defense.
# - X. Fang and J.-E. Kim, 2024, *Center-based relaxed learning against membership inference attacks* (CRL),
#   [arXiv 2404.17674](https://arxiv.org/abs/2404.17674), Fig. 4 and Table 1: defenses side by side.
# - A. Gonon, L. Zheng and others, 2023, *Can sparsity improve the privacy of neural networks?*,
#   [arXiv 2304.07234](https://arxiv.org/abs/2304.07234): why accuracy must be fixed.
# - N. Carlini and others, 2022, *Membership inference attacks from first principles*,
#   [arXiv 2112.03570](https://arxiv.org/abs/2112.03570), Section 3: why the low-FPR corner.
