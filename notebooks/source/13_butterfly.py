# ---
# title: Butterfly layers
# question: Can a network that was sparse before its first step, by a pattern that no data chose, keep a secret?
# goals:
#   - build a butterfly's supports by hand, multiply its factors and count its parameters
#   - verify that Hadamard's matrix is a butterfly
#   - list the chains of a rectangular matrix, and reproduce five of the six percentages of Table 1
#   - judge trained butterflies by accuracy and defense level
#   - measure what a butterfly saves in time
# needs: notebooks 06 and 12; products of matrices, convolutions
# read: 35
# reproduces: the sparsity paper, Section 3.2, Fig. 1 and 3, and the percentages of Table 1, on our data
# cover: 13_supports
# ---

# %% [markdown]
# ## Zeros by pattern
# Notebook 12 trained a dense network and set to zero the weights that training left smallest. This notebook fixes
# the zeros *before* the first step: a weight matrix is a product of a few sparse matrices, and where those may differ from zero, their **support**, is known in advance. The paper finds
# this as good a defense as pruning; and it promises speed.

# %%
import math
import time
from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from mialib import metrics, models
from mialib.course import figures, plots, statistics, sweeps, widgets
from mialib.course.plots import show
from mialib.course.statistics import bonferroni, student
from mialib.estimates import Estimate
from mialib.sparsity import chains
from mialib.sparsity.butterfly import ButterflyConv2d, ButterflyLayer, ButterflyLinear, projected

torch.set_num_threads(1)  # so that times can be compared
_ = torch.manual_seed(0)


# %% [markdown]
# ## A butterfly from scratch
# A matrix of size $N = 2^L$ is a **butterfly** if it is a product of $L$ factors, $W = X^{(1)} \cdots X^{(L)}$, and each is zero wherever this is zero:
#
# $$S^{(\ell)} = I_{2^{\ell-1}} \otimes \begin{bmatrix} 1 & 1 \\ 1 & 1 \end{bmatrix} \otimes I_{N/2^{\ell}}.$$
#
# $A \otimes B$ is the **Kronecker product**: every entry $a$ of $A$ is replaced by the block $aB$. So $S^{(\ell)}$ has $2^{\ell-1}$ blocks on its diagonal, and each block is a 2×2 grid of diagonal matrices.
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


for n in (4, 16, 64):
    *factors, whole = supports(n).values()
    assert (whole == 1).all()
    for ours, library in zip(factors, reversed(chains.square(n)), strict=True):
        assert (ours == library.support()).all()

# %% [markdown]
# The last factor meets the input first, so the library lists it first. The assertions also found that the product of the *supports* is 1 everywhere: from each input to each output
# leads exactly one path. Move **N** and watch the numbers below the matrices.


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
spent = {n: sum(f.sum() for f in list(supports(n).values())[:-1]) for n in (4, 16, 64)}
for n, count in spent.items():
    assert count == 2 * n * np.log2(n) == chains.parameters(chains.square(n))
    print(f"N = {n:>2}: {count:>4} parameters instead of {n * n:>4}, {count / n**2:.0%}")

# %% [markdown]
# **What to see.** Each row of a factor has 2 entries, each row of the product 16. At $N$ = 64 that is {{spent[64]}} parameters instead of 4,096. In general it is
# $2N\log_2 N$ instead of $N^2$, in storage *and* in multiplications with a vector.

# %% [markdown]
# ## A famous butterfly
# With so few parameters most matrices are *not* butterflies. One that is: **Hadamard's** matrix, $H_1 = 1$ and $H_{2N} = \bigl[\begin{smallmatrix} 1 & 1 \\ 1 & -1 \end{smallmatrix}\bigr] \otimes H_N$, all +1 and −1.
# The library's `projected` looks for factors: cut the product between two factors, and a butterfly's entries fall into blocks of rank one; each block's first singular vectors give the entries on either side. If the matrix is a butterfly, nothing is lost. **Predict** the
# relative error $\lVert \hat W - W \rVert / \lVert W \rVert$ for Hadamard's matrix, for Fourier's, and for one of random numbers.


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
picture = figures.matrix_product(
    {name: part.numpy() for name, part in zip(names, parts, strict=True)}
)
show(picture, name="13_hadamard")
for name, value in errors.items():
    print(f"{name:<40} relative error {value:.1e}")
assert errors["Hadamard"] < 1e-12
assert errors["Fourier, columns in bit-reversed order"] < 1e-12
assert min(errors["Fourier"], errors["random"]) > 0.5

# %% [markdown]
# **What to see.** Four factors with 32 entries each make Hadamard's 256, with an error of {{errors['Hadamard']:.0e}}, which is rounding. Fourier's matrix as it stands is not a butterfly (error {{errors['Fourier']:.2f}}), but with its columns in
# bit-reversed order it is: these are the steps of the fast Fourier transform. A random matrix: {{errors['random']:.2f}}.

# %% [markdown]
# ## Rectangles from scratch
# Layers are rarely square, and $\log_2 N$ factors are many. The **deformable butterfly** keeps the form, $k$ diagonal blocks, each an $r \times s$ grid of $t \times t$ diagonal matrices, and lets $k, r, s, t$ differ between factors.
# The factor has $krt$ rows, $kst$ columns and $krt \cdot s$ parameters. A list of factors is a **chain** if
#
# - the sizes fit, and the first factor that meets the input has $t = 1$;
# - each $t$ is the previous factor's $r$ times its $t$, and the last factor has one block ($k = 1$), so that there is one path again;
# - it is **monotone**: on the way from columns to rows the sizes never turn back. Else the cheapest chain would squeeze everything through two numbers.
#
# The paper takes the monotone chain with the fewest parameters, for $L$ = 2 or 3. **Predict** which factor below is larger.

# %%
chain = chains.smallest(16, 36, 2)  # a 3×3 convolution from 4 channels to 16
layer = ButterflyLinear(chain, bias=False)
with torch.no_grad():
    matrices = [as_matrix(entries) for entries in layer.factors]
    W = matrices[1] @ matrices[0]
    x = torch.randn(5, 36)
    assert torch.allclose(layer(x), x @ W.T, atol=1e-5)  # the library never makes W for this
    assert torch.allclose(layer.dense(), W, atol=1e-6)
for factor, matrix in zip(chain, matrices, strict=True):
    assert ((matrix != 0).numpy() == factor.support()).all()
    print(factor, "k =", factor.blocks)
shown = {"$R_2$": matrices[1], "$R_1$": matrices[0], "W": W}
picture = figures.matrix_product({name: matrix.numpy() for name, matrix in shown.items()}, grid=4)
show(picture, name="13_chain")
cost = [chains.parameters((factor,)) for factor in chain]

# %% [markdown]
# **What to see.** $R_1$ has {{cost[0]}} parameters and $R_2$ {{cost[1]}}: {{sum(cost)}} instead of {{W.numel()}}. $W$ has no zeros left. (The blue lines are for the next section.)
#
# What does a third factor save? The largest matrices of a ResNet-20 have 64 rows and 576 columns. A factor with $r = 1$ is called *trivial*: each of its inputs reaches one output only.

# %%
lengths = range(1, 7)
counted = {L: [chains.parameters(c) for c in chains.chains(64, 576, L)] for L in lengths}
fewest = [min(counted[L]) for L in lengths]
trivial = [chains.parameters(chains.smallest(64, 576, L, trivial=True)) for L in lengths]
curves = {
    "most, r ≥ 2": [max(counted[L]) for L in lengths],
    "fewest, r ≥ 2": fewest,
    "fewest, r ≥ 1": trivial,
}
shares = {name: [100 * count / (64 * 576) for count in curve] for name, curve in curves.items()}
picture = plots.lines(lengths, shares, xlabel="factors L", ylabel="parameters, %", log="y")
show(picture, name="13_fewest")
for L in lengths:
    assert fewest[L - 1] == chains.parameters(chains.smallest(64, 576, L))
assert fewest[3] == fewest[4] == fewest[5]

# %% [markdown]
# **What to see.** One factor is the dense matrix, {{fewest[0]:,}} parameters. Two need {{fewest[1]:,}}, three {{fewest[2]:,}}, four {{fewest[3]:,}}, and more than four no fewer. The *largest* monotone chains of two and
# three have {{max(counted[2]):,}} and {{max(counted[3]):,}}: the choice matters.

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
    torchs_order = plain.weight.flatten(1)
    assert not torch.allclose(convolve(torchs_order, images), plain(images), atol=1e-2)

# %% [markdown]
# The library's convolution does *not* send patches through the factors, although that takes fewer multiplications: it multiplies the factors out once a step and hands the kernel to torch.


# %%
def fastest(*jobs, rounds: int = 5) -> list[float]:
    """The shortest time of each in seconds, taken in turns, so that a busy machine slows all."""
    times = [[] for _ in jobs]
    for _ in range(rounds + 1):
        for job, seen in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            seen.append(time.perf_counter() - start)
    return [min(seen[1:]) for seen in times]  # the first round warms up


def by_patches(images: torch.Tensor) -> torch.Tensor:
    patches = F.unfold(images, 3, padding=1).reshape(len(images), 64, 9, -1)
    out = layer.apply_chain(patches.permute(2, 1, 0, 3).reshape(576, -1))  # (64, n · places)
    return out.reshape(64, len(images), 8, 8).transpose(0, 1)


layer = ButterflyConv2d(chains.smallest(64, 576, 2), kernel_size=(3, 3), padding=1, bias=False)
images = torch.randn(128, 64, 8, 8, requires_grad=True)
assert torch.allclose(by_patches(images), layer(images), atol=1e-4)
patches, kernel = fastest(
    *(lambda make=make: make(images).sum().backward() for make in (by_patches, layer))
)
print(f"forward and backward: patches {1e3 * patches:.0f} ms, kernel {1e3 * kernel:.0f} ms")

# %% [markdown]
# Here the patches took {{patches / kernel:.1f}} times as long. The kernel's way is a plain convolution *plus* that product: it saves parameters, never time. Large *linear* layers save both, as we shall see.

# %% [markdown]
# ## The first weights
# Torch draws a layer's weights from $U(-b, b)$, $b^2 = 1/n$ for $n$ inputs, and the variance of $W x$ is then a third of that of $x$. **Predict** what becomes of it in a product of $L$ factors, each drawn like that with $n = s$.

# %%
x = torch.randn(64, 2000)
spread = {"b² = 1 / s": [], "b² = 3^(1 − 1/L) / s": []}
for L in lengths:
    layer = ButterflyLayer(chains.smallest(64, 64, L), bias=False)
    scale = 3 ** (1 - 1 / L)  # the library's, in b²
    for name, factor in zip(spread, (scale ** (-L / 2), 1.0), strict=True):
        draws = []
        for _ in range(50):
            layer.reset_parameters()
            draws.append((factor * layer.apply_chain(x)).var().item())
        spread[name].append(np.mean(draws))
picture = plots.lines(lengths, spread, xlabel="factors L", ylabel="variance of W·x", log="y")
show(picture, name="13_variance")
shrunk, kept = (values[-1] for values in spread.values())
assert max(abs(np.array(spread["b² = 3^(1 − 1/L) / s"]) * 3 - 1)) < 0.2

# %% [markdown]
# **What to see.** Each factor divides the variance by 3; after six it is {{shrunk:.4f}}. Drawn with $b^2 = 3^{1 - 1/L} / s$, as the library does, it is {{kept:.2f}} for six factors and near 1/3 for every $L$, as in the dense layer. The paper names torch's rule and is silent about factors.

# %% [markdown]
# ## A network of butterflies
# The paper changes the 3×3 convolutions of the last $S$ of the three **segments** of a ResNet-20, six convolutions each, and leaves the rest as it is.
# Move **S**, **L** and the **smallest r** that a factor may have. Crosses are the paper's Table 1. *Think!* Why does the first step of S save most?

# %%
SHAPES = [(16, 144)] * 6 + [(32, 144)] + [(32, 288)] * 5 + [(64, 288)] + [(64, 576)] * 5
DENSE = [rows * columns for rows, columns in SHAPES]
WHOLE = 272_474  # the ResNet-20 on colour images
PAPER = {2: (32.3, 15.9, 11.8), 3: (29.6, 12.9, 8.5)}


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
    title = f"S = {S}, L = {L}, r ≥ {least_r}"
    return figures.network_parameters(
        DENSE, sparse_counts(S, L, least_r), percent, at=S, title=title
    )


widgets.explore(
    network_view,
    S=widgets.steps([1, 2, 3], start=2, label="segments S"),
    L=widgets.steps([1, 2, 3, 4], start=3, label="factors L"),
    least_r=widgets.steps([1, 2], start=2, label="smallest r"),
)

# %% [markdown]
# *Without a kernel*: $L$ = 2 and 3 at $S$ = 2 and $r \ge 2$, and the library's own networks counted.

# %%
show(plots.small_multiples(network_view, L=[2, 3]), name="13_network")
for (S, L), found in {(S, L): remaining(S, L) for L in (2, 3) for S in (1, 2, 3)}.items():
    built = models.build("resnet20", shape=(3, 32, 32), classes=10, segments=S, factors=L)
    share = 100 * sum(p.numel() for p in built.parameters()) / WHOLE
    assert abs(share - found) < 1e-9
    unlike = "" if round(found, 1) == PAPER[L][S - 1] else "  ← differs"
    alone = remaining(S, L, least_r=1)
    print(
        f"S = {S}, L = {L}: {found:.2f} %, paper {PAPER[L][S - 1]} %, r ≥ 1 {alone:.2f} %{unlike}"
    )

# %% [markdown]
# **What to see.** With $r \ge 2$, five of the six percentages are the paper's. The sixth is not: it prints 12.9 where we count {{remaining(2, 3):.1f}} ($S$ = 2, $L$ = 3), and we cannot explain it: $S$ = 3 has the same twelve layers, and agrees. If trivial factors were allowed,
# $L$ = 3 would give {{remaining(1, 3, 1):.1f}}, {{remaining(2, 3, 1):.1f}} and {{remaining(3, 3, 1):.1f}}; the authors, who published no code, very probably required $r \ge 2$. The third segment holds {{sum(DENSE[-6:]) / WHOLE:.0%}} of all parameters.

# %% [markdown]
# ## Trained butterflies on the plane of Fig. 1
# Notebook 12 defined the paper's **defense level**: $D = 100\,(1 - \text{advantage})$ of its discriminator; 100 is a coin toss. We trained each butterfly three times on letters, with a shadow each, and keep what the attacks said (`tools/sweep.py`). Beside
# them stand notebook 12's pruned networks, which had up to nine trainings each, and dense ones **stopped early** or built **narrow**. The paper finds butterflies and pruned networks on one falling line. **Predict** where ours lie.


# %%
SWEEPS = {"butterflies": sweeps.load("butterflies"), "pruned": sweeps.load("pruned")}
n, others = (int(some.sum()) for some in (SWEEPS["pruned"].is_member, ~SWEEPS["pruned"].is_member))


@cache
def value(network: tuple[str, int], what: str) -> float:
    """Of one network, a table's name and a row: its accuracy or a defense level, in percent."""
    stands = statistics.standing(SWEEPS[network[0]], network[1])
    if what == "accuracy":
        return 100 * stands["accuracy"]
    return 100 - 100 * stands["discriminator" if what == "defense" else "highest"]


def three(table: str, **settings) -> list[tuple[str, int]]:
    """The trainings of one setting by three seeds."""
    return [(table, SWEEPS[table].find(seed=seed, **settings)) for seed in range(3)]


def spread(networks: list) -> tuple[Estimate, Estimate]:
    """Mean ± standard deviation of accuracy and defense level."""
    return tuple(
        statistics.spread([value(one, what) for one in networks])
        for what in ("accuracy", "defense")
    )


# %%
dense = three("butterflies", segments=0)
butterflies = {
    (S, L): three("butterflies", segments=S, factors=L) for L in (2, 3) for S in (1, 2, 3)
}
imp = {"defense": "Pruning", "share": 0.36, "rewind": False}
pruned = [three("pruned", **imp, rounds=k) for k in range(1, 9)]
again = [three("pruned", **imp | {"share": 0.0}, rounds=k) for k in (1, 2, 3)]
stopped = [three("pruned", defense="Stop", after=k) for k in (3, 5, 7, 9, 12)]
narrow = [three("pruned", defense="BestCheckpoint", width=k) for k in (2, 3, 5)]
series = {f"butterfly, L = {L}": [spread(butterflies[S, L]) for S in (1, 2, 3)] for L in (2, 3)}
series["pruned (IMP)"] = [spread(some) for some in pruned]
series["dense, stopped early"] = [spread(some) for some in stopped]
series["dense, narrow"] = [spread(some) for some in narrow]


def size(networks: list) -> float:
    """The parameters of a network, in percent of the dense one's."""
    parameters = [SWEEPS[t].rows[k]["parameters"] for t, k in (networks[0], dense[0])]
    return 100 * parameters[0] / parameters[1]


# %%
star = spread(dense)
means = np.array([[one.value for one in spread(some)] for some in (dense, *butterflies.values())])
fitted = float(np.polyfit(*means.T, 1)[0])
levels = {SL: [value(k, "defense") for k in some] for SL, some in butterflies.items()}
first = [value(k, "defense") for k in dense]
apart = [SL for SL, some in levels.items() if metrics.significant(some, first)]
assert len(apart) == 5
assert (1, 3) not in apart
assert means[1:, 0].max() < means[0, 0]
assert means[1:, 1].min() > means[0, 1]
sizes_of = [size(some) for some in butterflies.values()]
by_seed = student([
    np.polyfit(*([value(k, w) for k in column] for w in ("accuracy", "defense")), 1)[0]
    for column in zip(dense, *butterflies.values(), strict=True)
])  # fmt: skip


def pm(estimate: Estimate) -> str:
    return f"{estimate.value:.0f} ± {estimate.value - estimate.low:.0f}"


# %%
labels = {f"butterfly, L = {L}": [f"S = {S}" for S in (1, 2, 3)] for L in (2, 3)}
labels["dense, narrow"] = [f"{size(narrow[0]):.0f} %", "", f"{size(narrow[2]):.0f} %"]
slopes = {f"butterflies, −{-fitted:.2f}": (fitted, *means.mean(axis=0))}
slopes["the paper's, −3.25"] = (-3.25, *means[0])
picture = figures.defense_plane(series, labels=labels, star=star, slopes=slopes)
caption = picture.caption + " Percentages: parameters, of the dense network's."
show(replace(picture, caption=caption), name="13_plane")

# %% [markdown]
# **What to see.** With {{min(sizes_of):.0f}} to {{max(sizes_of):.0f}} % of the parameters, every setting is on average less accurate than the dense network, and has a higher defense level: {{pm(series['butterfly, L = 2'][2][1])}} at $S$ = 3, $L$ = 2 instead of {{pm(star[1])}} (mean ± standard deviation of three seeds; n = {{n}} members + {{others}} others). By the paper's rule (notebook 12)
# {{len(apart)}} of the 6 gains are significant; of IMP's eight rounds none is. The line through the means falls by {{-fitted:.2f}} a point of accuracy, one line for each seed by {{-by_seed.value:.1f}} [{{-by_seed.high:.1f}}, {{-by_seed.low:.1f}}] (Student), the paper's by 3.25. But dense networks that were merely stopped early or narrow lie on the same falling band, or above it.

# %% [markdown]
# ## At equal accuracy
# As in notebook 12, each butterfly meets the mean of the **three nearest in test accuracy** of 36 dense networks (retrained, stopped and narrow ones too), by the discriminator and by the strongest of {{len(SWEEPS['pruned'].attacks)}} attacks. **Predict** what is left of the gains.

# %%
pool = [one for some in (dense, *again, *stopped, *narrow) for one in some]
assert len(pool) == 36


def points(estimate: Estimate) -> str:
    return f"{estimate.value:+.0f} [{estimate.low:+.0f}, {estimate.high:+.0f}]".replace("-", "−")


def nearest(network: tuple[str, int]) -> list[tuple[str, int]]:
    gap = {other: abs(value(other, "accuracy") - value(network, "accuracy")) for other in pool}
    return sorted(gap, key=gap.get)[:3]


def excess(network: tuple[str, int], what: str) -> float:
    """How far a network lies above its three nearest."""
    return value(network, what) - np.mean([value(k, what) for k in nearest(network)])


def against_dense(networks: list) -> Estimate:
    pairs = zip(networks, dense, strict=True)
    return student([value(one, "defense") - value(other, "defense") for one, other in pairs])


# %%
claims = {"against the dense network": {}, "at equal accuracy": {}, "same, strongest attack": {}}
for (S, L), some in butterflies.items():
    found = [against_dense(some)]
    found += [student([excess(k, what) for k in some]) for what in ("defense", "strongest")]
    for claim, estimate in zip(claims.values(), found, strict=True):
        claim[f"S = {S}, L = {L}"] = estimate
overall = [
    student([np.mean([excess(some[s], what) for some in butterflies.values()]) for s in range(3)])
    for what in ("defense", "strongest")
]
for claim in ("at equal accuracy", "same, strongest attack"):
    assert all(one.low < 0 < one.high for one in claims[claim].values())

# %%
tiny, smallest_three = narrow[0], [butterflies[SL] for SL in ((3, 2), (2, 3), (3, 3))]
for some in smallest_three:
    assert size(tiny) < size(some)
    for what in ("accuracy", "defense", "strongest"):
        assert np.mean([value(k, what) for k in tiny]) > np.mean([value(k, what) for k in some])
own = claims["against the dense network"]
assert [name for name in own if own[name].low > 0] == ["S = 3, L = 2", "S = 3, L = 3"]
likely, second = own["S = 3, L = 2"], own["S = 3, L = 3"]
wider = {name: bonferroni(one, comparisons=6).low for name, one in own.items()}
assert [name for name in wider if wider[name] > 0] == ["S = 3, L = 2"]
every = [one for some in butterflies.values() for one in some]
met = {match for one in every for match in nearest(one)}
assert max(abs(excess(one, "accuracy")) for one in every) < 4  # points
hardest = np.mean([value(k, "strongest") for k in tiny])
print(f"{3 * len(every)} matches are {len(met)} different networks")

# %%
label = "difference of defense level, in points"
picture = plots.comparison(claims, label=label, dotted="no difference")
caption = "Difference of defense level: mean of three seeds, Student's 95 % interval; dotted: none."
show(replace(picture, caption=caption), name="13_claims")


# %% [markdown]
# **What to see.** By Student's interval two of the six gains over dense differ from 0, those of $S$ = 3: {{points(likely)}} and {{points(second)}} points for $L$ = 2 and 3; widened for six comparisons, only the first. At equal accuracy **no** butterfly can be told from dense networks: all six together stand at {{points(overall[0])}} by the discriminator, {{points(overall[1])}} by the strongest attack. Nor is a gain refuted: the intervals
# are wide, and even so too narrow, since many butterflies meet the same few networks, whose luck is not counted. A dense network of width 2, with {{size(tiny):.0f}} % of the parameters, is on average more accurate and harder to attack than the three smallest butterflies (accuracy {{pm(spread(tiny)[0])}}, $D$ {{pm(spread(tiny)[1])}},
# {{hardest:.0f}} by the strongest attack); three seeds do not settle it.

# %% [markdown]
# ## What it saves in time
# A linear layer never multiplies by zeros: it keeps the features first and the batch last, and a factor is *one batched product of small blocks* (exercise 13.1). **Predict** from which $N$ on a square butterfly is
# faster than a dense layer, for $L$ = 2, 3 and $\log_2 N$. Batches of 128, one thread, forward, measured here: your times will differ.

# %%
sizes, batch = [256, 512, 1024, 2048, 4096], 128
seconds, counts = {}, {}
with torch.no_grad():
    for N in sizes:
        x = torch.randn(batch, N)
        kinds = {f"L = {L}": chains.smallest(N, N, L) for L in (2, 3)}
        kinds["L = log₂ N"] = chains.square(N)
        layers = {"dense": nn.Linear(N, N)}
        layers |= {name: ButterflyLinear(chain) for name, chain in kinds.items()}
        times = fastest(*(partial(layer, x) for layer in layers.values()), rounds=7)
        for name, spent_here in zip(layers, times, strict=True):
            seconds.setdefault(name, []).append(spent_here)
            counts.setdefault(name, []).append(
                chains.parameters(kinds[name]) if name in kinds else N * N
            )


def growth(values: list[float]) -> float:
    """The exponent p of a fit by N^p."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


# %%
ratios = {
    name: np.array(seconds["dense"]) / some for name, some in seconds.items() if name != "dense"
}
ratios["dense = 1"] = np.ones(len(sizes))
slower = [N for N, ratio in zip(sizes, ratios["L = log₂ N"], strict=True) if ratio <= 1]
label = "times as fast as a dense layer"
show(plots.lines(sizes, ratios, xlabel="size N", ylabel=label, log="xy"), name="13_speed")
for name in seconds:
    work, clock = growth(counts[name]), growth(seconds[name])
    print(f"{name:<11} parameters grow as N^{work:.2f}, seconds as N^{clock:.2f}")

# %% [markdown]
# **What to see.** At $N$ = 4,096 two factors are {{ratios['L = 2'][-1]:.0f}} times as fast as the dense layer, three {{ratios['L = 3'][-1]:.0f}} times and twelve {{ratios['L = log₂ N'][-1]:.1f}} times; at 256 the numbers are {{ratios['L = 2'][0]:.1f}}, {{ratios['L = 3'][0]:.1f}} and {{ratios['L = log₂ N'][0]:.1f}}. $\log_2 N$ factors are behind up to {{max(slower, default=0):,}}. The *work* grows with $N^2$ (dense), $N^{1.5}$, $N^{4/3}$ and
# $N \log N$; the seconds of two and three factors grow more slowly.

# %% [markdown]
# ## On photographs
# Once each on CIFAR-10 (`data/measured/`), with the paper's width: butterflies in two segments, 3,000 members, 50 epochs, and dense networks stopped after 27 and 30. **Predict** who leaks least.

# %%
from mialib.course import real_runs

REAL = [f"butterfly, S = 2, L = {L}" for L in (2, 3)]
STOPPED = [f"stopped early, epoch {epoch}" for epoch in (27, 30)]
moved, shorter, longer = (
    {w: [real_runs.difference(n, other, w) for n in REAL] for w in ("accuracy", "highest")}
    for other in ("undefended", *STOPPED)
)
assert max(one.high for one in moved["accuracy"] + longer["accuracy"]) < 0
assert min(one.value for one in shorter["accuracy"]) > 0
assert min(one.low for one in shorter["highest"] + longer["highest"]) > 0.05
real_runs.table("undefended", *REAL, *STOPPED, level=True)

# %% [markdown]
# **What to see.** Both lose accuracy ({{moved['accuracy'][0]}} and {{moved['accuracy'][1]}}, paired, n = 3,000 + 3,000), and leak nearly as much: {{moved['highest'][0]}} and {{moved['highest'][1]}}. Their accuracy lies between those of the
# two stopped networks, and both of these leak *less*: butterflies minus epoch 30, which is also more accurate, {{longer['highest'][0]}} and {{longer['highest'][1]}}. One training each.

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
# - Hadamard's matrix is one, Fourier's after a permutation, a random one is not: `projected` tells.
# - Rectangular chains with $r \ge 2$ and the fewest parameters give five of Table 1's six percentages.
# - On average our butterflies lost accuracy and gained defense; at equal accuracy the gain could not be told from 0, nor from a large one. On photographs, once, dense networks stopped early leaked less.
# - Large linear layers of two or three factors save time; our convolutions save parameters only.
#
# ## What this does not show
# - The paper's setting: CIFAR-10, 14,000 members, 300 epochs, and for butterflies three to ten times the dense network's rate (profile `paper` has them). Ours share one recipe.
# - Three seeds on one draw of records; attackers with several shadows (notebook 05).
# - Times on a GPU, or with kernels written for butterflies.
#
# ## References
# - A. Gonon, L. Zheng and others, 2023, *Sparsity in neural networks can improve their privacy*, Sections 3.2 and 4, Fig. 1 and 3, Table 1.
# - The same authors, 2023, *Can sparsity improve the privacy of neural networks?*, arXiv 2304.07234: why accuracy must be fixed.
# - R. Lin and others, 2021, *Deformable butterfly*: chains, and the order of a kernel's columns.
# - Q.-T. Le, L. Zheng and others, 2022, *Fast learning of fast transforms, with guarantees*: `projected`.
