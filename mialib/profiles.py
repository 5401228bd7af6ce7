"""The settings of the course's models at each profile. A profile is only numbers.

>>> load("quick").letters.recipe.epochs
24
"""

from dataclasses import dataclass

from mialib.errors import nearest
from mialib.runs import Configuration
from mialib.training import Recipe


@dataclass(frozen=True)
class Profile:
    """The course's experiments; the shadow of each is `configuration.but(side="shadow")`."""

    name: str
    letters: Configuration


PROFILES = {
    "quick": Profile(
        "quick",
        letters=Configuration(
            data="letters",
            options={"width": 8},
            recipe=Recipe(epochs=24, batch_size=64, lr=0.1, weight_decay=2e-3),
            trace=3,
        ),
    ),
}


def load(name: str) -> Profile:
    """The profile called `name`."""
    if name not in PROFILES:
        raise ValueError(nearest("profile", name, PROFILES))
    return PROFILES[name]
