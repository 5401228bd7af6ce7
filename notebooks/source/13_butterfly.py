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
# read: 40
# reproduces: Gonon and others 2023, Section 3.2, Fig. 3 and the percentages of Table 1; after Fig. 1, on our data
# cover: 13_supports
# ---

# %% [markdown]
# ## Zeros by pattern
# Notebook 12 trained a dense network and set the smallest weights to zero. This notebook fixes the zeros *before* the first step. A weight matrix becomes a product of a few sparse
# matrices, and where those may differ from zero, their **support**, is known in advance. Gonon and others (2023, Section 1) write of this structure, which they call *butterfly*:
#
# > This structure achieves similar trade-offs as IMP, which is remarkable, as the structure is fixed beforehand, independently of the data.
#
# IMP is the pruning of notebook 12, and the trade-off is between accuracy and privacy. The first half of this notebook builds the structure. The second half asks whether it keeps a secret. The symbols:
#
# | symbol | meaning |
# |---|---|
# | $W$; $N$ | a weight matrix; its size, where it is square |
# | $X^{(\ell)}$; $L$ | the factors of a square $W$; how many there are |
# | $S_{bf}^{(\ell)}$ | where the factor $X^{(\ell)}$ may differ from zero |
# | $R_1, R_2, \dots$ | the factors of a rectangular $W$, from the input on |
# | $k$, $r$, $s$, $t$ | the four numbers that describe such a factor |
# | $S$ | how many of a network's three segments are butterflies |
# | $D$ | the defense level, $100\,(1 - \text{advantage})$ of one attack (notebook 12) |

# %%
import math
from functools import partial

import numpy as np
import torch
from IPython.display import Markdown
from torch import nn
from torch.nn import functional as F

from mialib import models, profiles
from mialib.course import costs, figures, headlines, plots, sparse, widgets
from mialib.course.plots import show
from mialib.course.plots.spoken import brief
from mialib.estimates import words
from mialib.experiments import results
from mialib.sparsity import chains
from mialib.sparsity.butterfly import ButterflyConv2d, ButterflyLinear, projected

torch.set_num_threads(1)  # so that times can be compared
_ = torch.manual_seed(0)


# %% [markdown]
# ## A butterfly from scratch
# A matrix of size $N = 2^L$ is a **butterfly** if it is a product of $L$ factors, $W = X^{(1)} \cdots X^{(L)}$, and each factor $X^{(\ell)}$ is zero wherever this matrix is zero:
#
# $$S_{bf}^{(\ell)} = I_{2^{\ell-1}} \otimes \begin{bmatrix} 1 & 1 \\ 1 & 1 \end{bmatrix} \otimes I_{N/2^{\ell}}.$$
#
# $I_n$ is the identity matrix of size $n$, and $A \otimes B$ is the **Kronecker product**: every entry $a$ of $A$ is replaced by the block $aB$. So $S_{bf}^{(\ell)}$ has $2^{\ell-1}$ blocks on its diagonal, and each block is a 2×2 grid of diagonal matrices.
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
# The supports agree with the library's. (The last factor meets the input first, so the library lists it first.) Their product is 1 everywhere: exactly one path leads from each input to each output.
#
# Move **N** and watch the line above the matrices. *Think!* From which N on does a butterfly save anything?


# %%
def support_view(n: float = 16) -> plots.Picture:
    n = int(n)
    spent = sum(matrix.sum() for matrix in list(supports(n).values())[:-1])
    title = f"N = {n}: 2N log₂ N = {spent:,} parameters; dense, N² = {n * n:,}"
    return figures.matrix_product(supports(n), title=title, height=2.3)


widgets.explore(support_view, n=widgets.steps([4, 8, 16, 32, 64], start=16, label="N"))

# %% [markdown]
# *Without a kernel*: $N$ = 4, 16 (the paper's Fig. 3) and 64.

# %%
show(plots.small_multiples(support_view, n=[4, 16, 64]), name="13_supports")
spent = {n: chains.parameters(chains.square(n)) for n in (4, 16, 64)}

# %% [markdown]
# **What to see.** Each row of a factor has 2 entries, each row of the product $N$. A butterfly has $2N\log_2 N$ parameters instead of $N^2$: nothing is saved at $N$ = 4, and at 64 there are {{spent[64]}} instead of 4,096.
# A product with a vector takes as many multiplications.

# %% [markdown]
# ## A famous butterfly
# With so few parameters most matrices are *not* butterflies. One that is: **Hadamard's** matrix, $H_1 = 1$ and $H_{2N} = \bigl[\begin{smallmatrix} 1 & 1 \\ 1 & -1 \end{smallmatrix}\bigr] \otimes H_N$, all +1 and −1.
# The library's `projected` looks for factors by singular vectors, and its answer is exact where factors exist.
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


# %%
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
# **What to see.** Four factors with 32 entries each make Hadamard's 256; an error of {{errors['Hadamard']:.0e}} is rounding. A random matrix is no butterfly ({{errors['random']:.2f}}), and Fourier's is none as it stands ({{errors['Fourier']:.2f}}).
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
for name, one in zip(("R_1", "R_2"), chain, strict=True):
    print(f"{name}: k = {one.blocks}, r = {one.r}, s = {one.s}, t = {one.t}")
layer = ButterflyLinear(chain, bias=False)
R1, R2 = (as_matrix(entries.detach()) for entries in layer.factors)
W = R2 @ R1
x = torch.randn(5, 36)
assert torch.allclose(layer(x), x @ W.T, atol=1e-5)  # the library never makes W for this

# %%
shown = {"$R_2$": R2.numpy(), "$R_1$": R1.numpy(), "W": W.numpy()}
show(figures.matrix_product(shown, grid=4), name="13_chain")
cost = [chains.parameters((one,)) for one in chain]

# %% [markdown]
# **What to see.** $R_1$ has {{cost[0]}} parameters and $R_2$ {{cost[1]}}: together {{sum(cost)}} instead of {{W.numel()}}. $W$ has no zeros left. (The blue lines are for the next section.)

# %% [markdown]
# ## A convolution as a matrix, from scratch
# A 3×3 convolution multiplies, at every place of the image, the nine pixels around it, with all their channels, by one matrix. Its rows are output channels; its columns are pairs of a place in the kernel and a channel. Torch
# orders the columns by channel first. The deformable butterfly orders them by **place first**, so that a block of $R_1$ joins neighbouring *channels*; the blue lines above separate the nine places.


# %%
def convolve(W: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """A 3×3 convolution as a product: W is (rows, 9 · channels), places first."""
    n, channels, height, width = images.shape
    patches = F.unfold(images, 3, padding=1).reshape(n, channels, 9, -1)  # torch has channels first
    columns = patches.transpose(1, 2).reshape(n, 9 * channels, -1)  # (n, 9·channels, places)
    return (W @ columns).reshape(n, len(W), height, width)


# %%
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
sizes = [256, 512, 1024, 2048]
ratios = {"L = 2": [], "L = 3": [], "L = log₂ N": [], "dense": [1.0] * len(sizes)}
with torch.no_grad():
    for N in sizes:
        x = torch.randn(128, N)
        shapes = [chains.smallest(N, N, 2), chains.smallest(N, N, 3), chains.square(N)]
        layers = [nn.Linear(N, N), *(ButterflyLinear(one) for one in shapes)]
        dense_time, *times = costs.fastest(*(partial(layer, x) for layer in layers))
        for name, seconds in zip(ratios, times, strict=False):
            ratios[name].append(dense_time / seconds)

# %%
axes = {"xlabel": "size N", "ylabel": "times as fast as a dense layer", "log": "xy"}
show(plots.lines(sizes, ratios, direct="ends", **axes), name="13_speed")
slower = [N for N, ratio in zip(sizes, ratios["L = log₂ N"], strict=True) if ratio <= 1]
behind = f"slower than the dense layer up to $N$ = {max(slower):,}" if slower else "faster here"

# %% [markdown]
# **What to see.** At $N$ = {{sizes[-1]:,}} two factors are {{ratios['L = 2'][-1]:.0f}} times as fast as the dense layer, and three {{ratios['L = 3'][-1]:.0f}} times.
# Multiplications are not seconds: $\log_2 N$ factors need the fewest, and are {{behind}}.

# %% [markdown]
# ## A network of butterflies
# The paper changes the 3×3 convolutions of the last $S$ of the three **segments** of a ResNet-20, six convolutions each, and leaves the rest as it is.
# "Among all possible chains, the one with the minimal number of parameters is selected" (Section 3.2).
#
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

# %% [markdown]
# **What to see.** The 3×3 convolutions of the third segment hold {{sum(DENSE[-6:]) / WHOLE:.0%}} of all parameters, so changing them alone leaves {{remaining(1, 2):.1f}} % with two factors, and {{remaining(1, 3):.1f}} % with three.

# %%
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
# With $r \ge 2$, five of the six percentages are the paper's. Where it prints 12.9, we count {{remaining(2, 3):.1f}}, and we cannot explain it. With **trivial** factors, those of $r = 1$, the column for $L$ = 3 fits nowhere.
# So the authors, whose code we could not find, very probably required $r \ge 2$.

# %% [markdown]
# ## Do trained butterflies leak less?
# The conclusion of the paper: sparsity "reduces the effectiveness of attacks with a relatively low cost on network accuracy. This is in particular the case for structured butterfly sparsity" (Section 5). Its measure is the defense level $D$ of one attack, the discriminator: 100 is a coin toss, 0 a certain answer.
# Because $D$ is one attack's word, the table adds what the strongest of all attacks reaches. **Predict** the direction of each column.

# %%
trained = results("butterflies", PROFILE)
print(trained.about["source"])
found = sparse.networks(results("pruned", PROFILE), trained)
dense, butterflies = found.dense, found.butterflies
shown = {
    f"{shape} ({sparse.remaining(one):.0f} % remain)": one for shape, one in butterflies.items()
}
headlines.settings({"dense": dense, **shown}, level=True)

# %% [markdown]
# With {{len(butterflies)}} intervals there are {{len(butterflies)}} chances to be wrong. So we ask one question: how do all butterflies *together* differ from the dense network, paired by seed and by record?

# %%
verdict = partial(words, same="not significantly different")
points = partial(brief, digits=0)
change = sparse.differences([(one, dense) for one in butterflies.values()])
for what, one in change.items():
    print(f"{what:<20}{one}  {verdict(one)}")

# %% [markdown]
# ## Their place in Fig. 1
# "Figure 1 shows that the trade-off between robustness to MIA and network accuracy is similar" for IMP and butterflies (Section 1; an MIA is a membership inference attack). Here are our butterflies, the networks of notebook 12, and dense networks that are less accurate without any zeros: **stopped early**, or built **narrow**. **Predict** where butterflies lie.

# %%
drawn = found.points(without=["pruned at once", "dense, retrained"])
plane = {"star": sparse.place(dense), "labels": found.labels()}
show(figures.defense_panels(drawn, **plane), name="13_plane")
sparsest = min(butterflies.values(), key=sparse.remaining)
learned = np.mean([row.accuracy["train"] for row in sparsest.rows])

# %% [markdown]
# **What to see.** Compared with the dense network, butterflies have an accuracy that is {{verdict(change["test accuracy"])}} ({{brief(sparse.in_percent(change["test accuracy"]), digits=1)}} points) and a defense level that is {{verdict(change["D"])}} ({{points(change["D"])}} points).
# Fewer parameters are still enough to memorise: with {{sparse.remaining(sparsest):.0f}} % of them the sparsest butterfly classifies {{learned:.0%}} of its members correctly.
# ({{len(dense)}} trainings per setting, n = {{int(dense.is_member.sum())}} + {{int((~dense.is_member).sum()):,}}.)

# %% [markdown]
# ## At equal accuracy
# Once more the caveat of notebook 12: the same authors call a comparison without fixed accuracy misleading, because sparsity, privacy *and error* rise together. So each butterfly now meets the *dense* network that is nearest in accuracy:
# stopped early, narrow, or *retrained* (the rounds of notebook 12, in which nothing was pruned). Likewise it meets the nearest round of IMP. The nearest is found on records that no attack is asked about. **Predict** what is left of the differences.

# %%
partners = {"dense, nearest accuracy": found.without_zeros(), "IMP, nearest accuracy": found.pruned}
pairs = {
    name: sparse.matches([*butterflies.values()], some) for name, some in partners.items() if some
}
matched = {"the dense network": change}
matched |= {name: sparse.differences(some) for name, some in pairs.items()}
headlines.differences(matched, title="butterflies minus …", digits={"D": 0})

# %%
fair = matched["dense, nearest accuracy"]
judged = fair["highest advantage"]
conclusion = words(
    judged,
    lower="here the pattern protects beyond what it costs in accuracy",
    higher="here a dense network that is merely less accurate protects better than the pattern",
    same="we do not know whether the pattern itself protects",
)

# %%
rows = {}
for shape, (one, match) in zip(butterflies, pairs["dense, nearest accuracy"], strict=True):
    arms = {"butterfly": one.by_seed("highest"), "nearest dense network": match.by_seed("highest")}
    rows[f"{shape} and\n{sparse.called(match)}"] = arms
whole = dense.by_seed("highest").mean()
show(figures.matched_trainings(rows, label="highest advantage", dotted=whole), name="13_claims")

# %% [markdown]
# **What to see.** Each row is a butterfly and the dense network that it met. At nearly the same accuracy (it differs by {{brief(sparse.in_percent(fair["test accuracy"]), digits=1)}} points) the strongest attack's advantage on butterflies is {{verdict(judged)}} ({{judged}}).
# So {{conclusion}}.

# %% [markdown]
# ## On photographs
# The same on CIFAR-10; at profile `cpu` with a ResNet-20 of half the width. **Predict** whether photographs agree with letters.

# %%
camera = PROFILE if PROFILE != "quick" else "cpu"
taken = results("butterflies", camera)
print(taken.about["source"])
film = sparse.networks(results("pruned", camera), taken)
drawn = film.points(without=["pruned at once", "dense, retrained"])
plane = {"star": sparse.place(film.dense), "labels": film.labels()}
show(figures.defense_panels(drawn, **plane), name="13_photographs")
folded = list(film.butterflies.values())
whole_film = sparse.differences([(one, film.dense) for one in folded])

# %% [markdown]
# **What to see.** Compared with the dense network, the defense level of all butterflies is {{verdict(whole_film["D"])}} ({{points(whole_film["D"])}} points), at an accuracy that is {{verdict(whole_film["test accuracy"])}} ({{brief(sparse.in_percent(whole_film["test accuracy"]), digits=1)}} points). And at equal accuracy?

# %%
partners = {"dense, nearest accuracy": film.without_zeros(), "IMP, nearest accuracy": film.pruned}
beside = {
    name: sparse.differences(sparse.matches(folded, some))
    for name, some in partners.items()
    if some
}
compared = {"the dense network": whole_film, **beside}
headlines.differences(compared, title="butterflies minus …", digits={"D": 0})

# %%
on_film = beside["dense, nearest accuracy"]["highest advantage"]
on_photographs = words(
    on_film,
    lower="on photographs the pattern protects beyond what it costs in accuracy",
    higher="on photographs a dense network that is merely less accurate protects better",
    same="on photographs we do not know whether the pattern itself protects",
)

# %% [markdown]
# Beside dense networks of nearly their accuracy, the strongest attack's advantage on butterflies is {{verdict(on_film)}} ({{on_film}}): {{on_photographs}}.
# ({{len(film.dense)}} trainings per setting; n = {{int(film.dense.is_member.sum()):,}} + {{int((~film.dense.is_member).sum()):,}}.)

# %% [markdown]
# ## Exercises
# ### Exercise 13.1 · difficulty 3/5 · about 15 minutes
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
# ### Exercise 13.2: protected, or only worse? · difficulty 2/5 · about 10 minutes
# Judge a comparison by its two intervals, as the tables above give them: by how much a network's highest advantage, and its accuracy, exceed those of another one. Answer "protects", "leaks more", "paid with accuracy" or "we do not know".
# Then judge the last two lines of both tables with your function. (An end that is printed as 0.000 has a sign: `matched` for letters and `beside` for photographs have all its digits.) Does the paper's sentence, *similar trade-offs as IMP*, hold on letters? On photographs?


# %%
def judge(advantage: tuple[float, float], accuracy: tuple[float, float]) -> str:
    """Both are (low, high) of a difference; below 0 is less leakage, or less accuracy."""
    raise NotImplementedError


checks.check_judge(judge)

# %% [markdown]
# <details><summary>Hint</summary>An interval that holds 0 decides nothing. A lower advantage counts as protection only where the accuracy is not significantly lower.</details>
# <details><summary>Solution</summary>
#
# ```python
# def judge(advantage, accuracy):
#     if advantage[0] <= 0 <= advantage[1]:
#         return "we do not know"
#     if advantage[0] > 0:
#         return "leaks more"
#     return "paid with accuracy" if accuracy[1] < 0 else "protects"
# ```
#
# A good answer names both numbers: on which side of 0 the advantage lies beside the nearest rounds of IMP, and whether the accuracies were near enough to say so. If letters and photographs disagree, it says that.
# </details>

# %% [markdown]
# ## Recap
# - A butterfly is a product of sparse factors with fixed supports and $2N \log_2 N$ parameters.
# - Hadamard's matrix is one, Fourier's after a permutation, a random one is not.
# - Rectangular chains with $r \ge 2$ and the fewest parameters give five of Table 1's six percentages.
# - Large linear layers of two or three factors save time; our convolutions save parameters only.
# - At nearly the same accuracy, the strongest attack's advantage on our butterflies is {{verdict(judged)}} ({{judged}}) beside dense networks: {{conclusion}}. And {{on_photographs}}.
#
# ## What this does not show
# - The paper's setting: CIFAR-10, 14,000 members, 300 epochs, dense networks of 87.5 % accuracy, and rates that were tuned for each butterfly (profile `paper` has them). Ours share one recipe.
# - More than {{len(dense)}} seeds, and other draws of the records; attackers with several shadows (notebook 05).
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
