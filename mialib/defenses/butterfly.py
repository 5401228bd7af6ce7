"""Butterfly layers as a defense: a network that is sparse before its first step, by a pattern.

    defended = configuration.defended(Butterfly(segments=3, factors=2))

The training is that of the configuration; what changes are the network's layers (Gonon et al.
2023). See `mialib.sparsity.butterfly`. Introduced in notebook 13.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mialib.defenses.settings import plain_settings
from mialib.errors import check_range
from mialib.sparsity.chains import LONGEST_CHAIN
from mialib.training import Defense, Training


@dataclass(frozen=True)
class Butterfly(Defense[None]):
    """The 3×3 convolutions of the last segments of a ResNet-20 become butterflies."""

    segments: int = 3  # S, how many of the three segments, counted from the output
    factors: int = 2  # L, how many sparse factors make each layer's matrix
    strength_field: ClassVar[str] = "segments"

    def __post_init__(self):
        plain_settings(self)
        check_range(0, 3, whole=True, segments=self.segments)
        check_range(1, LONGEST_CHAIN, whole=True, factors=self.factors)

    def network_options(self) -> dict[str, Any]:
        return {"segments": self.segments, "factors": self.factors}

    def trainings(self) -> tuple[Defense | None, ...]:
        return (None,)

    def prepare(self, training: Training) -> None:
        raise ValueError(
            f"{self} changes the network and not its training. Take configuration.defended(…), "
            "or mialib.sparsity.butterfly.convert(network, factors) before `fit`."
        )
