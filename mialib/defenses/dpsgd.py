"""DP-SGD (Abadi and others 2016) by Opacus: clip every record's gradient, add noise, count ε.

    private = configuration.defended(DPSGD(sigma=1.0))      # pip install "mialib[dp]"

Each step takes every record with the same probability (Poisson sampling), which is what the count
assumes. ε and δ stand in the history. Introduced in notebook 11.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mialib.defenses.settings import plain_settings
from mialib.errors import check_range
from mialib.query import Pair
from mialib.training import Defense, Training


@dataclass
class PrivacySpent:
    """How often a record is taken into a batch, and Opacus' accountant, which counts the steps."""

    sample_rate: float
    accountant: Any


@dataclass(frozen=True)
class DPSGD(Defense[PrivacySpent]):
    """Noise of σ·C on the sum of gradients that are no longer than C.

    With no noise it still clips, and promises nothing. ε does not count that `fit` looks at members
    to see a collapse. Batch normalisation mixes records, so the network has group normalisation.
    """

    sigma: float = 1.0  # σ, the noise multiplier
    clip: float = 1.0  # C, the length that a record's gradient is cut to
    delta: float = 1e-5  # δ of the (ε, δ) that is promised
    strength_field: ClassVar[str] = "sigma"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, inf, sigma=self.sigma)
        check_range(1e-12, inf, clip=self.clip)
        check_range(1e-12, 0.5, delta=self.delta)

    def network_options(self) -> dict[str, Any]:
        return {"norm": "group"}

    def prepare(self, training: Training[PrivacySpent]) -> PrivacySpent:
        try:
            from opacus.accountants import RDPAccountant
            from opacus.optimizers import DPOptimizer
        except ImportError as error:
            raise ImportError('DP-SGD needs Opacus: pip install "mialib[dp]".') from error
        _check_network(training.model)
        if training.precision != "float32":
            raise ValueError(
                f"DP-SGD bounds every record's gradient in float32, found {training.precision}. "
                "Train it with Recipe(precision='float32')."
            )
        if training.compiled:
            raise ValueError(
                "DP-SGD reads every record's gradient from each layer, and draws batches of many "
                "sizes, so there is nothing to compile once. Train it with Recipe(compiled=False)."
            )
        _, y = training.members
        rate = min(training.recipe.batch_size / len(y), 1)
        _wrap_model(training)
        accountant = RDPAccountant()
        training.optimizer = DPOptimizer(
            training.optimizer,
            noise_multiplier=self.sigma,
            max_grad_norm=self.clip,
            expected_batch_size=round(rate * len(y)),
        )
        training.optimizer.attach_step_hook(accountant.get_optimizer_hook_fn(rate))
        return PrivacySpent(rate, accountant)

    def batches(
        self, training: Training[PrivacySpent], generator: torch.Generator
    ) -> Iterator[Pair]:
        return poisson(training.members, training.state.sample_rate, generator)

    def end_epoch(self, training: Training[PrivacySpent]) -> bool:
        if self.sigma:
            with warnings.catch_warnings(action="ignore"):  # A bound that could be tighter holds.
                epsilon = training.state.accountant.get_epsilon(self.delta)
            training.log(epsilon=float(epsilon), delta=self.delta)
        return False


def poisson(records: Pair, rate: float, generator: torch.Generator) -> Iterator[Pair]:
    """About as many batches as a shuffled pass has; a record is in each with probability `rate`."""
    x, y = records
    for _ in range(round(1 / rate)):
        is_chosen = torch.rand(len(y), generator=generator) < rate
        chosen = is_chosen.nonzero()[:, 0].to(y.device)
        if len(chosen):  # Strictly, an empty batch is a step of noise; it does not happen here.
            yield x[chosen], y[chosen]


def _check_network(model: nn.Module) -> None:
    from opacus.validators import ModuleValidator

    faults = ModuleValidator.validate(model)
    if faults:
        raise ValueError(
            "DP-SGD needs every record's own gradient. "
            "Take Configuration(options={'norm': 'group'}), "
            f"or opacus.validators.ModuleValidator.fix(model). Opacus says: {faults[0]}"
        )


def _wrap_model(training: Training) -> None:
    """Let Opacus take every record's own gradient, until the training ends.

    Opacus 1.6 gets the gradients of convolutions wrong, and corrupts memory, where channels come
    last; so weights and inputs are laid out contiguously.
    """
    from opacus import GradSampleModule

    # Opacus needs none of the inputs' gradients.
    warnings.filterwarnings("ignore", "Full backward hook is firing")
    model = training.model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    wrapped = GradSampleModule(model)
    training.cleanup.callback(wrapped.to_standard_module)
    wrapped.register_forward_pre_hook(_contiguous)
    training.model = wrapped


def _contiguous(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    return inputs[0].clone(memory_format=torch.contiguous_format)
