"""Put the real runs of data/measured/ side by side.

It writes the lessons' sweep `photographs`, what every attack found in the undefended network, the
tables on the page there, and the README's picture.

    python tools/measured.py        # after tools/record.py; some seconds a run

The discriminator is not among the sweep's attacks, because some runs were recorded without it;
where it was asked, the row has its defense level.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from mialib.course import plots
from mialib.course.real_runs import as_text
from mialib.course.sweeps import Sweep
from mialib.signals import Signals
from mialib.store import read_json
from paths import ROOT
from readme import filled
from record import MEASURED, every_attack

TABLE = ROOT / "mialib" / "shipped" / "sweeps" / "photographs.npz"
UNDEFENDED = ROOT / "mialib" / "shipped" / "measured" / "photographs.json"
PICTURE = ROOT / "data" / "figures" / "photographs.png"
PAGES = MEASURED / "README.md", ROOT / "README.md"
TRAININGS = {
    "undefended": "images-cifar10-plain",
    "label smoothing, ε = 0.3": "images-cifar10-labelsmoothing-epsilon=0.3",
    "tuned with λ = 0": "images-tuned-cifar10-past-lam=0.0-alpha=0.0-per=epoch",
    "uniform ℓ1 (PAST, α = 0), λ = 0.001": "images-tuned-cifar10-past-alpha=0.0-per=epoch",
    "PAST, α = 1.5, λ = 0.001": "images-tuned-cifar10-past-per=epoch-sample=256",
    "PAST, α = 2, λ = 0.001": "images-tuned-cifar10-past-alpha=2.0-per=epoch-sample=256",
    "RelaxLoss, α = 0.5": "images-cifar10-relaxloss-alpha=0.5",
    "RelaxLoss, α = 1": "images-cifar10-relaxloss",
    "RelaxLoss, α = 1.5": "images-cifar10-relaxloss-alpha=1.5",
    "CRL, α_rce = 0.5": "images-cifar10-crl-alpha_rce=0.5",
    "CRL, α_rce = 1": "images-cifar10-crl",
    "CRL, α_rce = 1.5": "images-cifar10-crl-alpha_rce=1.5",
    "AdvReg, α = 1": "images-cifar10-advreg",
    "Mixup+MMD, λ = 3": "images-cifar10-mixupmmd",
    "DMP, all non-members": "images-cifar10-dmp",
    "IMP, two prunings by 56 %": "images-pruned-cifar10-pruning-share=0.56-best=False",
    "butterfly, S = 2, L = 2": "images-butterfly-cifar10-plain",
    "butterfly, S = 2, L = 3": "images-butterfly-3-cifar10-plain",
    "stopped early, epoch 25": "images-cifar10-stop-after=25",
    "stopped early, epoch 27": "images-cifar10-stop-after=27",
    "stopped early, epoch 30": "images-cifar10-stop-after=30",
}
FAMILIES = (
    "PAST",
    "RelaxLoss",
    "CRL",
    "AdvReg",
    "Mixup+MMD",
    "DMP",
    "IMP",
    "butterfly",
    "stopped early",
)
SPARSE = ("undefended", "IMP", "butterfly", "stopped early")  # in the table of defense levels
FACTS = ("loss_gap", "remaining", "defense_level")


def side_by_side(folders: dict[str, Path]) -> Sweep:
    """A row for each training, with its name."""
    rows, votes, correct = [], [], []
    for name, folder in tqdm(folders.items(), "real runs", delay=2, leave=False):
        result = read_json(folder / "result.json")
        target, shadow = (
            Signals.read(folder / side / "signals.npz") for side in ("target", "shadow")
        )
        fitted = every_attack(shadow, target.public(), leave_out=["discriminator"])
        votes.append([attack.calls(target.public()) for attack in fitted.values()])
        correct.append(target.correct())
        rows.append({"name": name} | {fact: result[fact] for fact in FACTS if fact in result})
    return Sweep(rows, list(fitted), np.array(votes), np.array(correct), target.is_member)


def parts(sweep: Sweep) -> dict[str, str]:
    """What stands between the marks of the page (two tables) and of the README (a picture)."""
    sparse = [row["name"] for row in sweep.rows if row["name"].partition(",")[0] in SPARSE]
    return {
        "trainings": as_text(sweep),
        "sparsity": as_text(sweep, *sparse, level=True),
        "picture": f"![{picture(sweep).alt}]({PICTURE.relative_to(ROOT).as_posix()})",
    }


def picture(sweep: Sweep) -> plots.Picture:
    """Where each training stands; the strengths of a family are joined by a line."""
    points = [(sweep.accuracy(row), sweep.highest(row)) for row in range(len(sweep.rows))]
    series, labels = {family: [] for family in FAMILIES}, {family: [] for family in FAMILIES}
    for about, point in zip(sweep.rows, points, strict=True):
        family, _, setting = about["name"].partition(", ")
        if family in FAMILIES:
            series[family].append(point)
            labels[family].append(setting.removeprefix("S = 2, ").partition(", λ")[0])
    several = {
        family: some for family, some in labels.items() if len(some) > 1
    }  # The legend names the others.
    return plots.tradeoff(series, undefended=points[0], labels=several)


def main() -> None:
    folders = {name: MEASURED / f"cpu-{folder}" for name, folder in TRAININGS.items()}
    sweep = side_by_side(folders)
    sweep.save(TABLE)
    UNDEFENDED.write_bytes((folders["undefended"] / "result.json").read_bytes())
    PICTURE.write_bytes(picture(sweep).png)
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8"), **parts(sweep)), encoding="utf-8")


if __name__ == "__main__":
    main()
