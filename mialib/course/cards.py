"""Threat-model cards: what each attack sees of the target, what it must have, what it costs.

>>> print(cards("loss").data.splitlines()[-1])
| loss | outputs, label | a shadow | 1 query a record, 1 training run | a threshold |
"""

from mialib.errors import check_choice

# attack: (sees of the target, needs, costs, what is fitted)
CARDS = {
    "correctness": (
        "predicted label, label",
        "nothing",
        "1 query a record",
        "nothing: right or wrong",
    ),
    "loss": ("outputs, label", "a shadow", "1 query a record, 1 training run", "a threshold"),
    "confidence": ("outputs, label", "a shadow", "as loss: it is the same attack", "a threshold"),
    "max confidence": ("outputs", "a shadow", "1 query a record, 1 training run", "a threshold"),
    "entropy": ("outputs", "a shadow", "1 query a record, 1 training run", "a threshold"),
    "modified entropy": (
        "outputs, label",
        "a shadow",
        "1 query a record, 1 training run",
        "a threshold",
    ),
    "neural": (
        "outputs (CRL: and label)",
        "1 to 5 shadows",
        "1 query a record, 1 to 5 training runs",
        "a network",
    ),
    "discriminator": (
        "outputs, label",
        "a shadow",
        "6 queries a record, 1 training run",
        "9 networks, one chosen",
    ),
    "augmentation": (
        "predicted labels, label",
        "a shadow",
        "2r + 1 or 4d + 1 queries a record",
        "a network a class",
    ),
    "gradient": ("weights, label", "a shadow", "1 forward and 1 backward a record", "a threshold"),
    "LiRA": (
        "outputs, label",
        "references IN and OUT",
        "tens of training runs",
        "two Gaussians a record",
    ),
    "LiRA offline": (
        "outputs, label",
        "references OUT",
        "tens of training runs, once",
        "a Gaussian a record",
    ),
    "RMIA": (
        "outputs, label",
        "1 or more references, a population",
        "few training runs",
        "nothing: γ and a are set",
    ),
    "attack R": (
        "outputs, label",
        "references OUT",
        "tens of training runs, once",
        "nothing: a percentile",
    ),
    "attack P": ("outputs, label", "a population", "1 query a record", "nothing: a percentile"),
}


def cards(*names: str) -> object:
    """The cards of these attacks as a table that a notebook shows."""
    from IPython.display import Markdown

    rows = [" | ".join((name, *CARDS[check_choice("card", name, CARDS)])) for name in names]
    head = "| attack | sees of the target | needs | costs | fits |\n|---|---|---|---|---|\n"
    return Markdown(head + "\n".join(f"| {row} |" for row in rows))
