"""Print the rows of every group, or of those that are named."""

from __future__ import annotations

import argparse

from bench import attacks, data, defenses, past, shadows, sparsity, training
from bench.timing import HEADING
from paths import ROOT

GROUPS = {
    "training": training,
    "shadows": shadows,
    "past": past,
    "defenses": defenses,
    "sparsity": sparsity,
    "attacks": attacks,
    "data": data,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"some of: {', '.join(GROUPS)}")
    chosen = parser.parse_args().groups or list(GROUPS)
    unknown = set(chosen) - set(GROUPS)
    if unknown:
        parser.error(
            f"there is no group {', '.join(sorted(unknown))}; choose from {', '.join(GROUPS)}"
        )
    print(HEADING)
    for name in chosen:
        rows = GROUPS[name].rows()
        for row in rows:
            print(row)
        if name == "sparsity":
            sparsity.print_exponents(rows)
        if name == "shadows":
            shadows.print_fast_bank()
            shadows.print_costs()
        if name == "attacks":
            attacks.print_growth(ROOT / "data" / "figures" / "attack_cost.png")


if __name__ == "__main__":
    main()
