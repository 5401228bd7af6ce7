"""Distillation: a student learns from a trained model's answers, on the members or on records that are none (DMP).

    distilled = configuration.then(DMP(), configuration.recipe)

The teacher is the model that the training starts from; the student is the same network with fresh weights. DMP, the
distillation of Shejwalkar and Houmansadr (2021), shows the student no member. Introduced in notebook 11."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from mialib.errors import check_choice, check_range, refuse
from mialib.training import Plain, Training


@dataclass(frozen=True)
class Distillation(Plain):
    """Plain distillation: the student sees the members, with the teacher's answers at a temperature for labels."""

    temperature: float = 1.0

    def __post_init__(self):
        check_range(1e-3, torch.inf, temperature=self.temperature)

    def prepare(self, training: Training) -> None:
        x, y = training.members
        loss, shares = float(F.cross_entropy(training.look(x), y)), y.bincount() / len(y)
        if loss > 0.95 * (
            chance := float(torch.special.entr(shares).sum())
        ):  # By luck a fresh model names some right.
            found = f"the teacher's mean loss on its members is {loss:.2f}, and knowing nothing {chance:.2f}"
            raise ValueError(
                f"Distil a trained model, by configuration.then({self}, recipe); {found}."
            )
        x = self.records(training)
        training.members = (
            x,
            (training.look(x) / self.temperature).softmax(dim=1),
        )  # What the loop will go over.
        fresh = [
            module for module in training.model.modules() if hasattr(module, "reset_parameters")
        ]
        kept = set(training.model.parameters()) - {
            weight for module in fresh for weight in module.parameters()
        }
        refuse(
            bool(kept),
            "A student starts afresh: each module with weights of its own needs reset_parameters().",
        )
        for module in fresh:
            module.reset_parameters()

    def records(self, training: Training) -> Tensor:
        """What the teacher is asked about."""
        return training.members[0]

    def loss(self, training: Training, x: Tensor, y: Tensor) -> Tensor:
        """τ²·KL between the teacher's answers, which are `y` here, and the student's."""
        answers = (training.model(x) / self.temperature).log_softmax(dim=1)
        return self.temperature**2 * F.kl_div(answers, y, reduction="batchmean")


@dataclass(frozen=True)
class DMP(Distillation):
    """`source` is what the teacher is asked about: "all" of the inference set; "selected", the `share` of it where the
    answers have the lowest entropy; or as many "synthetic" records as members, from a generator that saw them."""

    share: float = 0.5
    source: str = "all"

    def __post_init__(self):
        super().__post_init__()
        check_range(0, 1, share=self.share)
        check_choice("source", self.source, ("all", "selected", "synthetic"))

    def records(self, training: Training) -> Tensor:
        if self.source == "synthetic":
            return synthesize(training)
        training.reference_batch()  # Refuse to go on without non-members.
        x, _ = training.reference
        if self.source == "all":
            return x
        log_p = training.look(x).log_softmax(dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1)
        return x[entropy.argsort()[: max(round(self.share * len(x)), 1)]]


class Autoencoder(nn.Module):
    """A small variational autoencoder of vectors (n, size)."""

    def __init__(self, size: int, *, hidden: int = 512, latent: int = 32):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent)
        )
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def loss(self, x: Tensor) -> Tensor:
        """Squared error, and the KL of the code from N(0, 1); per record."""
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        code = mean + (log_variance / 2).exp() * torch.randn_like(mean)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1) / 2
        return ((self.decode(code) - x).square().sum(dim=1) / 2 / 0.1 + divergence).mean()


def synthesize(training: Training, *, epochs: int = 60) -> Tensor:
    """As many records as there are members, drawn by a generator that has learned from them."""
    x, _ = training.members
    generator = Autoencoder(x[0].numel()).to(x.device)
    optimizer = torch.optim.Adam(generator.parameters(), 1e-3)
    for _ in tqdm(range(epochs), "generator", delay=2, leave=False):
        for batch, _ in training.batches(training.members):
            optimizer.zero_grad()
            generator.loss(batch.flatten(1)).backward()
            optimizer.step()
    with torch.no_grad():
        codes = torch.randn(len(x), generator.decode[0].in_features, device=x.device)
        made = generator.decode(codes).reshape(x.shape).clamp(x.min(), x.max())
    return made.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else made
