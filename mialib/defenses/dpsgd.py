"""DP-SGD (Abadi and others 2016) by Opacus: clip every record's gradient, add noise, count the privacy spent.

    private = configuration.but(defense=DPSGD(1.0), options={"norm": "group"})    # pip install "mialib[dp]"

Each step takes every record with the same probability (Poisson sampling), which is what the count assumes. ε and δ
stand in the history. Introduced in notebook 11."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mialib.defenses.simple import Strength
from mialib.errors import check_range
from mialib.training import Pair, Training


@dataclass(frozen=True)
class DPSGD(Strength):
    """`strength` is the noise multiplier σ: noise of σ·`clip` on the sum of gradients no longer than `clip`. With no
    noise it still clips, and promises nothing. ε does not count that `fit` looks at members to see a collapse."""

    strength: float = 1.0
    clip: float = 1.0
    delta: float = 1e-5

    def __post_init__(self):
        super().__post_init__()
        check_range(1e-12, torch.inf, clip=self.clip)
        check_range(1e-12, 0.5, delta=self.delta)

    def prepare(self, training: Training) -> None:
        try:
            from opacus import GradSampleModule
            from opacus.accountants import RDPAccountant
            from opacus.optimizers import DPOptimizer
            from opacus.validators import ModuleValidator
        except ImportError as error:
            raise ImportError('DP-SGD needs Opacus: pip install "mialib[dp]".') from error
        if faults := ModuleValidator.validate(training.model):
            advice = "Take Configuration(options={'norm': 'group'}), or opacus.validators.ModuleValidator.fix(model)"
            raise ValueError(
                f"DP-SGD needs every record's own gradient. {advice}. Opacus says: {faults[0]}"
            )
        warnings.filterwarnings(
            "ignore", "Full backward hook is firing"
        )  # Opacus needs none of the inputs'.
        _, y = training.members
        rate = min(training.recipe.batch_size / len(y), 1)
        # Opacus 1.6 gets the gradients of convolutions wrong, and corrupts memory, where channels come last.
        training.model = GradSampleModule(training.model.to(memory_format=torch.contiguous_format))
        training.afterwards.callback(training.model.to_standard_module)
        training.model.register_forward_pre_hook(
            lambda _, x: x[0].clone(memory_format=torch.contiguous_format)
        )
        training.accountant = RDPAccountant()
        settings = {"noise_multiplier": self.strength, "max_grad_norm": self.clip}
        training.optimizer = DPOptimizer(
            training.optimizer, **settings, expected_batch_size=round(rate * len(y))
        )
        training.optimizer.attach_step_hook(training.accountant.get_optimizer_hook_fn(rate))
        training.batches = lambda records, *, generator=None: poisson(
            records, rate, generator or training.generator
        )

    def end_epoch(self, training: Training) -> bool:
        if self.strength:
            with warnings.catch_warnings(
                action="ignore"
            ):  # A bound that could be tighter still holds.
                training.say(
                    epsilon=float(training.accountant.get_epsilon(self.delta)), delta=self.delta
                )
        return False


def poisson(records: Pair, rate: float, generator: torch.Generator) -> Iterator[Pair]:
    """About as many batches as a shuffled pass has, each of every record with probability `rate`."""
    x, y = records
    for _ in range(round(1 / rate)):
        chosen = (torch.rand(len(y), generator=generator) < rate).nonzero()[:, 0].to(y.device)
        if len(
            chosen
        ):  # Strictly, an empty batch is a step of noise; it does not happen at our sizes.
            yield x[chosen], y[chosen]
