# ---
# title: Butterfly layers
# question: Can a network that was sparse before its first step, by a pattern that no data chose, keep a secret?
# goals:
#   - build a butterfly's supports by hand, multiply its factors and count its parameters
#   - verify that Hadamard's matrix is a butterfly
#   - read k, r, s and t off a factor, and reproduce five of the six percentages of Table 1
#   - measure what a butterfly saves in time
#   - judge trained butterflies beside dense networks of the same accuracy
# needs: notebooks 06 and 12; products of matrices, convolutions
# read: 30
# reproduces: Gonon and others 2023, Section 3.2, Fig. 3 and the percentages of Table 1; after Fig. 1, on our data
# cover: 13_supports
# ---

# %% [markdown]
# ## Zeros by pattern
# Notebook 12 trained a dense network and set the smallest weights to zero. This notebook fixes the zeros *before* the first step. A weight matrix becomes a product of a few sparse
# matrices, and where those may differ from zero, their **support**, is known in advance. Gonon and others (2023) write of this structure, which they call *butterfly*:
#
# > This structure achieves similar trade-offs as IMP, which is remarkable, as the structure is fixed beforehand, independently of the data.
#
# IMP is the pruning of notebook 12, and the trade-off is between accuracy and privacy. They also expect faster products. First we build the structure, then we test both.

# %%
import math
import time
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from IPython.display import Markdown
from torch import nn
from torch.nn import functional as F

from mialib import models, profiles
from mialib.course import figures, headlines, plots, statistics, widgets
from mialib.course.plots import show
from mialib.course.plots.spoken import brief
from mialib.estimates import words
from mialib.experiments import Results, results
from mialib.sparsity import chains
from mialib.sparsity.butterfly import ButterflyConv2d, ButterflyLayer, ButterflyLinear, projected

torch.set_num_threads(1)  # so that times can be compared
_ = torch.manual_seed(0)


# %% [markdown]
# ## A butterfly from scratch
# A matrix of size $N = 2^L$ is a **butterfly** if it is a product of $L$ factors, $W = X^{(1)} \cdots X^{(L)}$, and each factor $X^{(\ell)}$ is zero wherever this matrix is zero:
#
# $$S^{(\ell)} = I_{2^{\ell-1}} \otimes \begin{bmatrix} 1 & 1 \\ 1 & 1 \end{bmatrix} \otimes I_{N/2^{\ell}}.$$
#
# $I_n$ is the identity matrix of size $n$, and $A \otimes B$ is the **Kronecker product**: every entry $a$ of $A$ is replaced by the block $aB$. So $S^{(\ell)}$ has $2^{\ell-1}$ blocks on its diagonal, and each block is a 2×2 grid of diagonal matrices.
# **Predict** for $N = 16$: how many entries of a row may differ from zero in one factor, and in the product?


# %%
def support(level: int, n: int) -> np.ndarray:
    """S of the formula; level counts from 1."""
    blocks, places = np.eye(2 ** (level - 1), dtype=int), np.eye(n // 2**level, dtype=int)
    return np.kron(np.kron(blocks, np.ones((2, 2), int)), places)


def supports(n: int) -> dict[str, np.ndarray]:
    """All factors' supports, and the product of these matrices of ones."""
    levels = range(1, n.bit_length())
    factors = {f"$X^{{({level})}}$": support(level, n) for level in levels}
    return factors | {"W": np.linalg.multi_dot([*factors.values()])}


# %%
for n in (4, 16, 64):
    *factors, whole = supports(n).values()
    assert (whole == 1).all()
    for ours, library in zip(factors, reversed(chains.square(n)), strict=True):
        assert (ours == library.support()).all()

# %% [markdown]
# The last factor meets the input first, so the library lists it first. And the product of the *supports* is 1 everywhere: exactly one path leads from each input to each output. Move **N** and watch the numbers below the matrices.


# %%
def support_view(n: float = 16) -> plots.Picture:
    n = int(n)
    spent = sum(matrix.sum() for matrix in list(supports(n).values())[:-1])
    title = f"N = {n}: 2N log₂ N = {spent:,} parameters; dense, N² = {n * n:,}"
    return figures.matrix_product(supports(n), title=title, height=2.1)


widgets.explore(support_view, n=widgets.steps([4, 8, 16, 32, 64], start=16, label="N"))

# %% [markdown]
# *Without a kernel*: $N$ = 4, 16 (the paper's Fig. 3) and 64.

# %%
show(plots.small_multiples(support_view, n=[4, 16, 64]), name="13_supports")
spent = {n: chains.parameters(chains.square(n)) for n in (4, 16, 64)}

# %% [markdown]
# **What to see.** Each row of a factor has 2 entries, each row of the product $N$. At $N$ = 64 a butterfly has {{spent[64]}} parameters instead of 4,096, in general $2N\log_2 N$ instead of $N^2$.
# The multiplications with a vector are as many.

# %% [markdown]
# ## A famous butterfly
# With so few parameters most matrices are *not* butterflies. One that is: **Hadamard's** matrix, $H_1 = 1$ and $H_{2N} = \bigl[\begin{smallmatrix} 1 & 1 \\ 1 & -1 \end{smallmatrix}\bigr] \otimes H_N$, all +1 and −1.
# The library's `projected` looks for factors. Cut the product between two factors, and a butterfly's entries fall into blocks of rank one; the first singular vectors of each block give the entries on either side.
# **Predict** the relative error $\lVert \hat W - W \rVert / \lVert W \rVert$ of the found product $\hat W$ for Hadamard's matrix, for Fourier's, and for one of random numbers.


# %%
def as_matrix(entries: torch.Tensor) -> torch.Tensor:
    """One factor's entries (k, t, r, s) in their places: k blocks of r × s diagonals."""
    k, t, r, s = entries.shape
    matrix = torch.zeros(k, r, t, k, s, t, dtype=entries.dtype)
    for block in range(k):
        for place in range(t):
            matrix[block, :, place, block, :, place] = entries[block, place]
    return matrix.reshape(k * r * t, k * s * t)


def found_factors(matrix: torch.Tensor) -> list[torch.Tensor]:
    return [as_matrix(entries) for entries in projected(matrix, chains.square(len(matrix)))][::-1]


def error(matrix: torch.Tensor) -> float:
    return float((torch.linalg.multi_dot(found_factors(matrix)) - matrix).norm() / matrix.norm())


# %%
two = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
hadamard = torch.kron(two, torch.kron(two, torch.kron(two, two)))
eye = partial(torch.eye, dtype=torch.float64)
by_hand = [torch.kron(torch.kron(eye(2 ** (i - 1)), two), eye(16 // 2**i)) for i in range(1, 5)]
assert torch.equal(torch.linalg.multi_dot(by_hand), hadamard)  # S, with `two` for the ones

# %%
k = torch.arange(16, dtype=torch.float64)
fourier = torch.exp(-2j * math.pi * k[:, None] * k / 16)
reversed_bits = [int(f"{i:04b}"[::-1], 2) for i in range(16)]  # 0001 → 1000
errors = {
    "Hadamard": error(hadamard),
    "Fourier": error(fourier),
    "Fourier, columns in bit-reversed order": error(fourier[:, reversed_bits]),
    "random": error(torch.randn(16, 16, dtype=torch.float64)),
}

# %%
names = [f"$X^{{({level})}}$" for level in range(1, 5)] + ["H"]
parts = [*found_factors(hadamard), hadamard]
shown = {name: part.numpy() for name, part in zip(names, parts, strict=True)}
show(figures.matrix_product(shown), name="13_hadamard")
for name, value in errors.items():
    print(f"{name:<40} relative error {value:.1e}")

# %% [markdown]
# **What to see.** Four factors with 32 entries each make Hadamard's 256, and the error of {{errors['Hadamard']:.0e}} is rounding. Fourier's matrix as it stands is not a butterfly ({{errors['Fourier']:.2f}}), nor is a random one ({{errors['random']:.2f}}).
# With its columns in bit-reversed order Fourier's is one, too: these are the steps of the fast Fourier transform.

# %% [markdown]
# ## Rectangles from scratch
# Layers are rarely square, and $\log_2 N$ factors are many. The **deformable butterfly** keeps the form and frees the sizes. A factor is described by four numbers: $k$ diagonal blocks, each a grid of $r \times s$ diagonal matrices, each of size $t \times t$.

# %%
factor = chains.Factor(rows=16, columns=24, r=2, s=3, t=4)
show(figures.labelled_factor(factor), name="13_factor")
assert factor.support().sum() == factor.rows * factor.s == 48

# %% [markdown]
# **What to see.** $k$ = 2 blocks stand on the diagonal, and $t$ = 4 entries on each small one. A row meets one entry of each of the $s$ = 3 diagonals across, so a factor of $krt$ rows has $krt \cdot s$ parameters.
#
# A list of factors is a **chain** if
#
# - the sizes fit, and the first factor that meets the input has $t = 1$;
# - each $t$ is the previous factor's $r$ times its $t$, and the last factor has one block ($k = 1$), so that there is one path again;
# - it is **monotone**: on the way from columns to rows the sizes never turn back. Otherwise the cheapest chain would be a bottleneck of width two.
#
# The paper takes the monotone chain with the fewest parameters, for $L$ = 2 or 3. Here it is for a 3×3 convolution from 4 channels to 16. **Predict** which of its two factors, $R_1$ next to the input or $R_2$, is larger.

# %%
chain = chains.smallest(16, 36, 2)
layer = ButterflyLinear(chain, bias=False)
with torch.no_grad():
    matrices = [as_matrix(entries) for entries in layer.factors]
    W = matrices[1] @ matrices[0]
    x = torch.randn(5, 36)
    assert torch.allclose(layer(x), x @ W.T, atol=1e-5)  # the library never makes W for this
shown = {"$R_2$": matrices[1], "$R_1$": matrices[0], "W": W}
picture = figures.matrix_product({name: matrix.numpy() for name, matrix in shown.items()}, grid=4)
show(picture, name="13_chain")
for name, one in zip(("R_1", "R_2"), chain, strict=True):
    print(f"{name}: k = {one.blocks}, r = {one.r}, s = {one.s}, t = {one.t}")
cost = [chains.parameters((one,)) for one in chain]

# %% [markdown]
# **What to see.** $R_1$ has {{cost[0]}} parameters and $R_2$ {{cost[1]}}: together {{sum(cost)}} instead of {{W.numel()}}. $W$ has no zeros left. (The blue lines are for the next section.)

# %% [markdown]
# ## A convolution as a matrix, from scratch
# A 3×3 convolution multiplies, at every place of the image, the nine pixels around it, with all their channels, by one matrix: rows are output channels, columns are (place in the kernel, channel). Torch
# orders the columns by channel first. The deformable butterfly orders them by **place first**, so that a block of $R_1$ joins neighbouring *channels* of one place or a few; the blue lines above separate the nine places.


# %%
def convolve(W: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """A 3×3 convolution as a product: W is (rows, 9 · channels), places first."""
    n, channels, height, width = images.shape
    patches = F.unfold(images, 3, padding=1).reshape(n, channels, 9, -1)  # torch has channels first
    columns = patches.transpose(1, 2).reshape(n, 9 * channels, -1)  # (n, 9·channels, places)
    return (W @ columns).reshape(n, len(W), height, width)


images = torch.randn(2, 4, 8, 8)
layer = ButterflyConv2d(chain, kernel_size=(3, 3), padding=1, bias=False)
plain = nn.Conv2d(4, 16, 3, padding=1, bias=False)
with torch.no_grad():
    assert torch.allclose(convolve(layer.dense(), images), layer(images), atol=1e-5)
    in_order = plain.weight.permute(0, 2, 3, 1).flatten(1)  # (16, 4, 3, 3) → (16, 36), places first
    assert torch.allclose(convolve(in_order, images), plain(images), atol=1e-5)

# %% [markdown]
# ## Does it save time?
# A linear layer never multiplies by the zeros: a factor is *one batched product of small blocks* (exercise 13.1). The library's convolution multiplies its factors out once per step and hands the kernel to torch. That is a plain convolution *plus* a product, so it saves parameters, but no time.
#
# **Predict** from which $N$ on a square linear butterfly is faster than a dense layer, for $L$ = 2, 3 and $\log_2 N$. Forward passes of batches of 128 on one thread, measured here: your times will differ.


# %%
# The processor's time does not count what a busy machine does meanwhile; Windows has it too coarse.
is_fine = time.get_clock_info("process_time").resolution < 1e-5
clock = time.process_time if is_fine else time.perf_counter


def fastest(*jobs, rounds: int = 7) -> list[float]:
    """The shortest time of each in seconds, taken in turns."""
    times = [[] for _ in jobs]
    for _ in range(rounds + 1):
        for job, seen in zip(jobs, times, strict=True):
            start = clock()
            job()
            seen.append(clock() - start)
    return [min(seen[1:]) for seen in times]  # the first round warms up


# %%
sizes = [256, 512, 1024, 2048]
ratios = {"L = 2": [], "L = 3": [], "L = log₂ N": [], "dense = 1": [1.0] * len(sizes)}
with torch.no_grad():
    for N in sizes:
        x = torch.randn(128, N)
        shapes = [chains.smallest(N, N, 2), chains.smallest(N, N, 3), chains.square(N)]
        layers = [nn.Linear(N, N), *(ButterflyLinear(one) for one in shapes)]
        dense_time, *times = fastest(*(partial(layer, x) for layer in layers))
        for name, seconds in zip(ratios, times, strict=False):
            ratios[name].append(dense_time / seconds)
label = "times as fast as a dense layer"
show(plots.lines(sizes, ratios, xlabel="size N", ylabel=label, log="xy"), name="13_speed")
slower = [N for N, ratio in zip(sizes, ratios["L = log₂ N"], strict=True) if ratio <= 1]
behind = (
    f"slower than the dense layer up to $N$ = {max(slower):,}"
    if slower
    else "faster at every size here"
)

# %% [markdown]
# **What to see.** At $N$ = {{sizes[-1]:,}} two factors are {{ratios['L = 2'][-1]:.0f}} times as fast as the dense layer, three {{ratios['L = 3'][-1]:.0f}} times and eleven {{ratios['L = log₂ N'][-1]:.1f}} times. At 256 it is {{ratios['L = 2'][0]:.1f}}, {{ratios['L = 3'][0]:.1f}} and {{ratios['L = log₂ N'][0]:.1f}} times.
# Multiplications are not seconds: $\log_2 N$ factors need the fewest, and are {{behind}}.

# %% [markdown]
# ## The first weights
# Torch draws the weights of a layer with $n$ inputs from $U(-b, b)$ with $b^2 = 1/n$. The variance of $W x$ is then a third of that of $x$. **Predict** what becomes of it in a product of $L$ factors, each drawn like that with $n = s$.


# %%
def mean_variance(L: int, draws: int = 50) -> float:
    """Of W·x over fresh butterflies, for x of variance 1."""
    layer = ButterflyLayer(chains.smallest(64, 64, L), bias=False)
    x = torch.randn(64, 2000)
    found = []
    with torch.no_grad():
        for _ in range(draws):
            layer.reset_parameters()
            found.append(layer.apply_chain(x).var().item())
    return float(np.mean(found))


lengths = range(1, 7)
ours = [mean_variance(L) for L in lengths]  # the library draws with b² = 3^(1 − 1/L) / s
torchs = [one / 3 ** (L - 1) for L, one in zip(lengths, ours, strict=True)]  # L factors of b²
curves = {"b² = 1 / s": torchs, "b² = 3^(1 − 1/L) / s": ours}
picture = plots.lines(lengths, curves, xlabel="factors L", ylabel="variance of W·x", log="y")
show(picture, name="13_variance")

# %% [markdown]
# **What to see.** Each factor divides the variance by 3; after six it is {{torchs[-1]:.4f}}. Drawn with $b^2 = 3^{1 - 1/L} / s$, as the library does, it is {{ours[-1]:.2f}} for six factors, near the 1/3 of a dense layer. The paper names torch's rule and does not say how it applies to factors.

# %% [markdown]
# ## A network of butterflies
# The paper changes the 3×3 convolutions of the last $S$ of the three **segments** of a ResNet-20, six convolutions each, and leaves the rest as it is.
# Move **S**, **L** and the **smallest r** that a factor may have. Crosses are the paper's Table 1. *Think!* Why does the first step of S save most?

# %%
SHAPES = [(16, 144)] * 6 + [(32, 144)] + [(32, 288)] * 5 + [(64, 288)] + [(64, 576)] * 5
DENSE = [rows * columns for rows, columns in SHAPES]
WHOLE = 272_474  # the ResNet-20 on colour images
PAPER = {2: (32.3, 15.9, 11.8), 3: (29.6, 12.9, 8.5)}  # by L, for S = 1, 2, 3


def sparse_counts(S: int, L: int, least_r: int) -> list[int]:
    """The parameters of every 3×3 convolution with butterflies in the last S segments."""
    kept = len(SHAPES) - 6 * S
    best = [chains.smallest(*shape, L, trivial=least_r == 1) for shape in SHAPES[kept:]]
    return DENSE[:kept] + [chains.parameters(chain) for chain in best]


def remaining(S: int, L: int, least_r: int = 2) -> float:
    return 100 * (1 - (sum(DENSE) - sum(sparse_counts(S, L, least_r))) / WHOLE)


# %%
def network_view(S: float = 2, L: float = 3, least_r: float = 2) -> plots.Picture:
    S, L, least_r = int(S), int(L), int(least_r)
    percent = {"counted": [remaining(s, L, least_r) for s in (1, 2, 3)]}
    if L in PAPER:
        percent["paper"] = PAPER[L]
    counts = sparse_counts(S, L, least_r)
    title = f"S = {S}, L = {L}, r ≥ {least_r}"
    return figures.network_parameters(DENSE, counts, percent, at=S, title=title)


widgets.explore(
    network_view,
    S=widgets.steps([1, 2, 3], start=2, label="segments S"),
    L=widgets.steps([1, 2, 3, 4], start=3, label="factors L"),
    least_r=widgets.steps([1, 2], start=2, label="smallest r"),
)

# %% [markdown]
# *Without a kernel*: $L$ = 2 and 3 at $S$ = 2 and $r \ge 2$, and Table 1 with the library's own networks counted. Learning rate and decay are the paper's.

# %%
show(plots.small_multiples(network_view, L=[2, 3]), name="13_network")
lines = ["| S, L | counted, % | paper, % | with r ≥ 1, % | rate | decay |", "|" + "---|" * 6]
for S, L in [(S, L) for S in (1, 2, 3) for L in (2, 3)]:
    built = models.build("resnet20", shape=(3, 32, 32), classes=10, segments=S, factors=L)
    counted = 100 * sum(p.numel() for p in built.parameters()) / WHOLE
    assert abs(counted - remaining(S, L)) < 1e-9
    recipe = profiles.load("paper").experiments[f"sparsity butterfly S={S} L={L}"].recipe
    cells = [f"{S}, {L}", f"{counted:.2f}", PAPER[L][S - 1], f"{remaining(S, L, 1):.2f}"]
    lines.append(f"| {' | '.join(map(str, [*cells, recipe.lr, recipe.weight_decay]))} |")
Markdown("\n".join(lines))

# %% [markdown]
# **What to see.** With $r \ge 2$, five of the six percentages are the paper's; where it prints 12.9, we count {{remaining(2, 3):.1f}}, and we cannot explain it. With **trivial** factors, those of $r = 1$, the column for $L$ = 3 fits nowhere, so the authors, whose code we could not find, very probably required $r \ge 2$.
# The third segment holds {{sum(DENSE[-6:]) / WHOLE:.0%}} of all parameters.

# %% [markdown]
# ## Do trained butterflies leak less?
# Notebook 12 defined the paper's **defense level** $D = 100\,(1 - \text{advantage})$ of one attack, its discriminator: 100 is a coin toss, 0 a certain answer. Because $D$ speaks of one attack only, the table adds what the strongest of all attacks
# reaches by advantage, AUC and TPR at 1 % FPR. **Predict** the direction of each column.

# %%
trained = results("butterflies", PROFILE)
print(trained.about["source"])
experiments = profiles.load(trained.about["profile"]).experiments


def shape(one: Results) -> tuple[int, int]:
    """S and L; a dense network has neither."""
    settings = one.rows[0].settings
    options = experiments[settings["experiment"]].options | settings
    return options.get("segments", 0), options.get("factors", 0)


by_shape = {shape(one): one.finished() for one in trained.settings()}
dense = by_shape.pop((0, 0))
butterflies = {f"S = {S}, L = {L}": by_shape[S, L] for S, L in sorted(by_shape)}


# %%
def size(one: Results) -> float:
    """Its parameters, in percent of the dense network's."""
    return 100 * one.fact("sparsity", "parameters")[0] / dense.fact("sparsity", "parameters")[0]


named = {f"{name} ({size(one):.0f} % of the parameters)": one for name, one in butterflies.items()}
members, non_members = int(dense.is_member.sum()), int((~dense.is_member).sum())
headlines.settings({"dense": dense, **named}, level=True)

# %% [markdown]
# {{len(butterflies)}} intervals would be as many chances to be wrong. So we ask one question: how do all butterflies *together* differ from the dense network, paired by seed and by record?


# %%
def together(partners: list[Results]) -> dict:
    """All butterflies minus their partners, as one difference per number."""
    difference = partial(
        statistics.mean_difference, list(zip(butterflies.values(), partners, strict=True))
    )
    return {
        "test accuracy": difference("accuracy"),
        "D": difference("defense_level"),
        "discriminator's AUC": difference("auc", "discriminator"),
        "its TPR at 1 % FPR": difference("tpr", "discriminator", fpr=0.01),
        "highest advantage": difference("highest"),
    }


verdict = partial(words, same="not significantly different")
change = together([dense] * len(butterflies))
for what, one in change.items():
    print(f"{what:<20}{one}  {verdict(one)}")

# %% [markdown]
# ## Their place in Fig. 1
# In the paper butterflies and pruned networks lie along one falling line. Beside ours we draw the rounds of IMP from notebook 12, and dense networks that are less accurate without any zeros: **stopped early**, or built **narrow**.

# %%
others = results("pruned", PROFILE)
same_records = others.about["records"] == trained.about["records"]
pool = [one.finished() for one in others.settings()] if same_records else [dense]
zero_free = [one for one in pool if min(one.fact("sparsity", "remaining")) > 99.9]
rounds = [one for one in pool if one.rows[0].settings.get("round", 0) > 0]
kinds = {
    f"butterflies, L = {L}": [by_shape[s] for s in sorted(by_shape) if s[1] == L] for L in (2, 3)
}
kinds["pruned (IMP)"] = rounds
kinds["dense, stopped early"] = [o for o in zero_free if o.rows[0].settings["defense"] == "Stop"]
kinds["dense, narrow"] = [o for o in zero_free if "width" in o.rows[0].settings]


# %%
def point(one: Results) -> tuple:
    """Mean ± standard deviation over trainings, as the paper draws them."""
    return tuple(statistics.spread(one.by_seed(what)) for what in ("accuracy", "defense_level"))


series = {name: [point(one) for one in some] for name, some in kinds.items() if some}
labels = {
    name: [f"S = {shape(one)[0]}" for one in some]
    for name, some in kinds.items()
    if name.startswith("butterflies")
}
picture = figures.defense_plane(series, star=point(dense), labels=labels)
caption = (
    "Crosses: mean ± standard deviation over trainings, as in the paper. Lines join rising S, "
    "later rounds, later epochs and wider networks. The upper right is best."
)
show(replace(picture, caption=caption), name="13_plane")
sparsest = min(butterflies.values(), key=size)
learned = np.mean([row.accuracy["train"] for row in sparsest.rows])

# %% [markdown]
# **What to see.** Together, and compared with the dense network, butterflies have an accuracy that is {{verdict(change["test accuracy"])}} ({{change["test accuracy"]}}) and a defense level that is {{verdict(change["D"])}} ({{brief(change["D"], digits=0)}} points; {{len(dense)}} trainings per setting, n = {{members}} + {{non_members:,}}). Fewer parameters are still enough to memorise: with {{size(sparsest):.0f}} % of them the sparsest butterfly classifies {{learned:.0%}} of its members rightly.
# And $D$ is one attack's word, so below the strongest attack judges.

# %% [markdown]
# ## At equal accuracy
# In another article the same authors report that sparsity, privacy *and error* rise together, and that a comparison without fixed accuracy is misleading. So each butterfly now meets the *dense* network of notebook 12
# (stopped early, narrow or trained again) that is nearest in accuracy, found on records that no attack is asked about; and likewise the nearest round of IMP. **Predict** what is left of the differences.


# %%
aside = statistics.accuracy_aside  # on records that are neither members nor asked about


def nearest(one: Results, candidates: list[Results]) -> Results:
    return min(candidates, key=lambda other: abs(aside(other) - aside(one)))


def called(one: Results) -> str:
    """What was done to a dense network."""
    settings = one.rows[0].settings
    if "after" in settings:
        return f"stopped after {settings['after']}"
    if "width" in settings:
        return f"width {settings['width']}"
    is_again = "prunings" in settings and "round" not in settings
    return "trained again" if is_again else "dense"


matched = {"the dense network": [dense] * len(butterflies)}
for name, candidates in (("dense, nearest accuracy", zero_free), ("IMP, nearest accuracy", rounds)):
    if candidates:
        matched[name] = [nearest(one, candidates) for one in butterflies.values()]

# %%
found = {name: together(partners) for name, partners in matched.items()}
lines = [f"| butterflies minus … | {' | '.join(change)} |", "|" + "---|" * (1 + len(change))]
for name, numbers in found.items():
    cells = [brief(one, digits=0 if what == "D" else 3) for what, one in numbers.items()]
    lines.append(f"| {name} | {' | '.join(cells)} |")
Markdown("\n".join(lines))

# %%
fair = found["dense, nearest accuracy"]
judged = fair["highest advantage"]
conclusion = words(
    judged,
    lower="here the pattern protects beyond what it costs in accuracy",
    higher="here a dense network that is merely less accurate protects better than the pattern",
    same="we do not know whether the pattern itself protects",
)
beside_imp = "Rounds of IMP on the same records are not at hand."
if "IMP, nearest accuracy" in found:
    imp = found["IMP, nearest accuracy"]
    beside_imp = (
        f"Beside the nearest rounds of IMP, accuracy is {verdict(imp['test accuracy'])} "
        f"({imp['test accuracy']}) and this advantage is {verdict(imp['highest advantage'])} "
        f"({imp['highest advantage']})."
    )

# %%
rows = {}
for (name, one), match in zip(butterflies.items(), matched["dense, nearest accuracy"], strict=True):
    arms = {"butterfly": one.by_seed("highest"), "nearest dense network": match.by_seed("highest")}
    rows[f"{name}\n{called(match)}"] = arms
picture = figures.matched_trainings(
    rows, label="highest advantage", dotted=dense.by_seed("highest").mean()
)
show(picture, name="13_claims")

# %% [markdown]
# **What to see.** Beside dense networks of nearly their accuracy (it differs by {{fair["test accuracy"]}}), the butterflies' defense level is {{verdict(fair["D"])}} ({{brief(fair["D"], digits=0)}} points), and the strongest attack's advantage is {{verdict(judged)}} ({{judged}}).
# {{beside_imp}} So {{conclusion}}.

# %% [markdown]
# ## On photographs
# The same on CIFAR-10; at profile `cpu` with a ResNet-20 of half the width. Each butterfly again meets the nearest dense network and the nearest round of IMP. **Predict** whether photographs agree with letters.

# %%
camera = PROFILE if PROFILE != "quick" else "cpu"
photographs, beside = results("butterflies", camera), results("pruned", camera)
print(photographs.about["source"])
known = profiles.load(photographs.about["profile"]).experiments


def shape_there(one: Results) -> tuple[int, int]:
    settings = one.rows[0].settings
    options = known[settings["experiment"]].options | settings
    return options.get("factors", 0), options.get("segments", 0)


# %%
taken = [one.finished() for one in photographs.settings()]
whole, *folded = sorted(taken, key=shape_there)
parameters = [one.fact("sparsity", "parameters")[0] for one in folded]
sparsest_photo = folded[int(np.argmin(parameters))]
share_left = 100 * min(parameters) / whole.fact("sparsity", "parameters")[0]
shown = {"dense": whole, f"butterfly, {share_left:.0f} % of the parameters": sparsest_photo}
headlines.settings(shown, against=whole, level=True)

# %%
rolls = [one.finished() for one in beside.settings()]
unpruned = [whole] + [one for one in rolls if min(one.fact("sparsity", "remaining")) > 99.9]
by_imp = [one for one in rolls if one.rows[0].settings.get("round", 0) > 0]
difference = {
    name: {
        what: statistics.mean_difference([(one, nearest(one, some)) for one in folded], what)
        for what in ("accuracy", "defense_level", "highest")
    }
    for name, some in {"dense": unpruned, "IMP": by_imp}.items()
}
on_photographs = words(
    difference["dense"]["highest"],
    lower="on photographs the pattern protects beyond what it costs in accuracy",
    higher="on photographs a dense network that is merely less accurate protects better",
    same="on photographs we do not know whether the pattern itself protects",
)

# %%
families = {
    f"butterflies, L = {L}": [one for one in folded if shape_there(one)[0] == L] for L in (2, 3)
}
families["pruned (IMP)"] = by_imp
families["dense, stopped early"] = [o for o in rolls if o.rows[0].settings["defense"] == "Stop"]
families["dense, narrow"] = [o for o in rolls if "width" in o.rows[0].settings]
series = {name: [point(one) for one in some] for name, some in families.items() if some}
labels = {
    name: [f"S = {S}" if S != 2 else "" for _, S in map(shape_there, some)]
    for name, some in families.items()
    if name.startswith("butterflies")
}
picture = figures.defense_plane(series, star=point(whole), labels=labels)
caption = (
    f"Crosses: mean ± standard deviation over {len(whole)} trainings. The upper right is best."
)
show(replace(picture, caption=caption), name="13_photographs")

# %% [markdown]
# **What to see.** Beside dense networks of nearly their accuracy (it differs by {{difference["dense"]["accuracy"]}}), the defense level of all butterflies together is {{verdict(difference["dense"]["defense_level"])}} ({{brief(difference["dense"]["defense_level"], digits=0)}} points) and the strongest attack's advantage {{verdict(difference["dense"]["highest"])}} ({{difference["dense"]["highest"]}}): {{on_photographs}}.
# Beside the nearest rounds of IMP this advantage is {{verdict(difference["IMP"]["highest"])}} ({{difference["IMP"]["highest"]}}), at an accuracy that is {{verdict(difference["IMP"]["accuracy"])}} ({{difference["IMP"]["accuracy"]}}). ({{len(whole)}} trainings per setting; n = {{int(whole.is_member.sum()):,}} + {{int((~whole.is_member).sum()):,}}.)

# %% [markdown]
# ## Exercise 13.1 · difficulty 3/5 · about 15 minutes
# Multiply one factor with a vector *without* making its matrix. Entries come as (k, t, r, s), as in `as_matrix`. A column of the matrix is numbered by block, then by place in the grid, then by place on the diagonal: (k, s, t); a row by (k, r, t).

# %%
from mialib.course.exercises import lesson_13 as checks


def apply_factor(entries: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Entries (k, t, r, s) and x (k·s·t,) → (k·r·t,)."""
    raise NotImplementedError


checks.check_apply_factor(apply_factor)

# %% [markdown]
# <details><summary>Hint</summary>Give x its three axes back and move s to the end: (k, t, s). Then every pair of k and t is a small product of an r × s matrix with s numbers.</details>
# <details><summary>Solution</summary>
#
# ```python
# def apply_factor(entries, x):
#     k, t, r, s = entries.shape
#     columns = x.reshape(k, s, t).transpose(0, 2, 1)[..., None]  # (k, t, s, 1)
#     return (entries @ columns)[..., 0].transpose(0, 2, 1).reshape(-1)  # (k, t, r) → (k, r, t)
# ```
# </details>

# %% [markdown]
# ## Exercise 13.2 · difficulty 3/5 · about 20 minutes
# Find the fewest parameters of a monotone chain of *two* factors. The first has $k$ blocks, $t = 1$ and some $r_1$; the second has one block and $t = r_1$. All else follows: write the number of parameters by $k$ and $r_1$, and search.


# %%
def fewest(rows: int, columns: int) -> int:
    """Both factors with r ≥ 2; the size in between lies between columns and rows."""
    raise NotImplementedError


checks.check_fewest(fewest)

# %% [markdown]
# <details><summary>Hint 1</summary>Between the factors there are k·r₁ numbers. So s₁ = columns / k, r₂ = rows / r₁, and s₂ = k.</details>
# <details><summary>Hint 2</summary>A factor has rows · s parameters: k·r₁·s₁ = r₁·columns for the first, k·rows for the second.</details>
# <details><summary>Solution</summary>
#
# ```python
# def fewest(rows, columns):
#     low, high = min(rows, columns), max(rows, columns)
#     return min(
#         r * columns + k * rows
#         for r in range(2, rows // 2 + 1)
#         for k in range(1, columns + 1)
#         if rows % r == 0 and columns % k == 0 and low <= k * r <= high
#     )
# ```
# </details>

# %% [markdown]
# ## Recap
# - A butterfly is a product of sparse factors with fixed supports and $2N \log_2 N$ parameters.
# - Hadamard's matrix is one, Fourier's after a permutation, a random one is not.
# - Rectangular chains with $r \ge 2$ and the fewest parameters give five of Table 1's six percentages.
# - Large linear layers of two or three factors save time; our convolutions save parameters only.
# - Beside dense networks of nearly the same accuracy, the strongest attack's advantage on our butterflies is {{verdict(judged)}} ({{judged}}): {{conclusion}}. And {{on_photographs}}.
#
# ## What this does not show
# - The paper's setting: CIFAR-10, 14,000 members, 300 epochs, dense networks of 87.5 % accuracy, and rates that were tuned for each butterfly (profile `paper` has them). Ours share one recipe.
# - {{len(dense)}} seeds on one draw of records; attackers with several shadows (notebook 05).
# - Times on a GPU, or with kernels written for butterflies.
#
# ## References
# - A. Gonon, L. Zheng and others, 2023, *Sparsity in neural networks can improve their privacy*,
#   [arXiv 2304.10553](https://arxiv.org/abs/2304.10553), Sections 1, 3.2 and 4, Fig. 1 and 3, Table 1.
# - The same authors, 2023, *Can sparsity improve the privacy of neural networks?*,
#   [arXiv 2304.07234](https://arxiv.org/abs/2304.07234): why accuracy must be fixed.
# - R. Lin and others, 2021, *Deformable butterfly*, [arXiv 2203.13556](https://arxiv.org/abs/2203.13556): chains, and
#   the order of a kernel's columns.
# - Q.-T. Le, L. Zheng and others, 2022, *Fast learning of fast transforms, with guarantees*,
#   [HAL hal-03438881](https://hal.science/hal-03438881): `projected`.
# - Code of the authors, as we read it: `RuiLin0212/DeBut` at commit 0da54d7 (deformable butterfly).
