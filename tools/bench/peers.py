"""Other toolkits on the same arrays: equal scores first, then time and memory.

    python -m bench.peers install build/peers           # their environments, some minutes
    python -m bench peers                               # compare with those that are there

Each toolkit runs in an environment of its own (its pins conflict with the others'), each cell in a
fresh process, mialib and the toolkit by turns (`peer_process`). A cell that takes longer than
`CAP` is left out, and so are the larger ones of that toolkit's attack. A toolkit whose environment
is not there is left out with the command that makes it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from mialib import metrics
from mialib.splits import in_out_mask
from paths import ROOT

FOLDER = ROOT / "build" / "peers"
RECORD = ROOT / "data" / "peers" / "peers.json"
PROGRAM = Path(__file__).with_name("peer_process.py")
RECORDS = (1_000, 10_000, 100_000)
REFERENCES = (4, 16, 64)
POPULATION = 5_000
CLASSES = 10
CAP = 60.0  # seconds for the process of a cell
ROUNDS = 20
TURNS = 2
AIM = 10  # times as fast, at 10,000 records and 16 references
# SACRO is installed without what its report needs; it imports torch, and its scores need none.
SACRO = (
    "numpy pandas scipy scikit-learn matplotlib fpdf pypdf multiprocess dictdiffer prompt-toolkit "
    "pyyaml",
    "--no-deps sacroml==2.0.1",
)
BORROWED = {"sacro": "torch"}
ATTACKS = {
    "privacyguard": ("LiRA", "RMIA"),
    "tf": ("LiRA", "loss"),
    "art": ("correctness",),
    "sacro": ("LiRA",),
}
WITH_REFERENCES = ("LiRA", "RMIA")
NAMES = {"privacyguard": "PrivacyGuard", "tf": "TF Privacy", "art": "ART", "sacro": "SACRO-ML"}


class Cell(NamedTuple):
    """One attack of one toolkit at one size."""

    peer: str
    attack: str
    records: int
    references: int | None


class Side(NamedTuple):
    """What one of the two needed."""

    seconds: float
    megabytes: float | None


class Compared(NamedTuple):
    """A cell that both have done."""

    cell: Cell
    mialib: Side
    peer: Side
    auc_difference: float
    correlation: float  # of the ranks of their scores

    @property
    def ratio(self) -> float:
        return self.peer.seconds / self.mialib.seconds

    @property
    def is_equal(self) -> bool:
        return abs(self.auc_difference) < 1e-6 and self.correlation > 1 - 1e-6


@dataclass
class Comparison:
    """All cells that could be compared, and why the others could not."""

    cells: list[Compared] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


# Environments


def requirements(peer: str) -> Sequence[str]:
    """What pip is handed, in this order; data/peers/peers.json has it for those of the record."""
    if peer == "sacro":
        return SACRO
    return json.loads(RECORD.read_text(encoding="utf-8"))["install"][peer]


def install(folder: Path, peers: Sequence[str] = tuple(ATTACKS)) -> None:
    """Make the environments that are not there; a toolkit that cannot be had is left out."""
    for peer in peers:
        if is_ready(folder, peer):
            continue
        print(f"{peer}: making its environment", flush=True)
        try:
            make_environment(folder, peer)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{peer}: left out, because its environment could not be made: {error}")


def make_environment(folder: Path, peer: str) -> None:
    venv.create(folder / peer, with_pip=True, clear=True)
    python = str(python_of(folder, peer))
    for line in requirements(peer):
        packages = line.replace("'", "").split()
        command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*command, *packages], check=True)
    borrow(folder, peer)
    ready(folder, peer).touch()


def ready(folder: Path, peer: str) -> Path:
    """The file that is there once all of a toolkit is installed."""
    return folder / peer / "ready"


def is_ready(folder: Path, peer: str) -> bool:
    return ready(folder, peer).exists()


def borrow(folder: Path, peer: str) -> None:
    """Let the environment find a package of this one, after its own."""
    if peer not in BORROWED:
        return
    found = importlib.util.find_spec(BORROWED[peer])
    if found is None or found.origin is None:
        raise OSError(f"it borrows {BORROWED[peer]}, which is not installed here")
    home = Path(found.origin).parents[1]
    ask = "import site; print(site.getsitepackages()[0])"
    done = subprocess.run(
        [str(python_of(folder, peer)), "-c", ask], check=True, capture_output=True, text=True
    )
    Path(done.stdout.strip(), "borrowed.pth").write_text(f"{home}\n", encoding="utf-8")


def python_of(folder: Path, peer: str) -> Path:
    scripts = "Scripts" if os.name == "nt" else "bin"
    return folder / peer / scripts / "python"


def version_of(folder: Path, peer: str) -> str:
    """The toolkit's version as it is installed there."""
    package = requirements(peer)[-1].split()[-1].split("==")[0]
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run(
        [str(python_of(folder, peer)), "-c", ask], check=True, capture_output=True, text=True
    )
    return f"{package} {done.stdout.strip()}"


# Cells


def cells_of(
    peer: str, records: Sequence[int] = RECORDS, references: Sequence[int] = REFERENCES
) -> list[Cell]:
    """All cells of a toolkit, the smaller first."""
    cells = []
    for attack in ATTACKS[peer]:
        counts = references if attack in WITH_REFERENCES else (None,)
        cells += [Cell(peer, attack, n, models) for n in records for models in counts]
    return cells


def write_arrays(path: Path, n: int, models: int) -> None:
    """Made-up answers: members and IN models have a higher φ."""
    rng = np.random.default_rng(0)
    is_member = rng.random(n) < 0.5
    is_in = in_out_mask(n, models)
    hard = rng.normal(size=n)
    labels = rng.integers(CLASSES, size=n)
    logits = rng.normal(size=(n, CLASSES))
    logits[np.arange(n), labels] += 1 + is_member
    np.savez(
        path,
        is_member=is_member,
        is_in=is_in,
        phi=hard + rng.normal(size=n) + is_member,
        phi_references=hard + rng.normal(size=(models, n)) + is_in,
        z_phi=rng.normal(size=POPULATION),
        z_phi_references=rng.normal(size=(models, POPULATION)),
        logits=logits,
        labels=labels,
    )


def compare(
    folder: Path = FOLDER,
    *,
    records: Sequence[int] = RECORDS,
    references: Sequence[int] = REFERENCES,
    cap: float = CAP,
) -> Comparison:
    """Every common cell of the toolkits whose environments are there."""
    found = Comparison()
    for peer in ATTACKS:
        if not is_ready(folder, peer):
            found.skipped[NAMES[peer]] = (
                "its environment is not there; `make peers` makes it, some minutes"
            )
            continue
        found.versions[peer] = version_of(folder, peer)
        compare_peer(found, folder, cells_of(peer, records, references), cap)
    return found


def compare_peer(found: Comparison, folder: Path, cells: Sequence[Cell], cap: float) -> None:
    """Add the cells of one toolkit; what is larger than a cell over the cap is not tried."""
    too_large: dict[str, Cell] = {}
    for cell in cells:
        over = too_large.get(cell.attack)
        if over is not None and is_larger(cell, over):
            found.skipped[told(cell)] = f"{told(over)} took longer than {cap:.0f} s"
            continue
        try:
            found.cells.append(compare_cell(folder, cell, cap))
        except subprocess.TimeoutExpired:
            too_large[cell.attack] = cell
            found.skipped[told(cell)] = f"it took longer than {cap:.0f} s"
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()[-1:]
            found.skipped[told(cell)] = f"it failed: {' '.join(last)[:200]}"


def is_larger(cell: Cell, other: Cell) -> bool:
    return cell.records >= other.records and (cell.references or 0) >= (other.references or 0)


def compare_cell(folder: Path, cell: Cell, cap: float) -> Compared:
    """Both by turns, each in a fresh process; the best turn of each counts."""
    with tempfile.TemporaryDirectory() as home:
        arrays = Path(home, "arrays.npz")
        write_arrays(arrays, cell.records, cell.references or REFERENCES[0])
        sides: dict[str, list[Side]] = {"mialib": [], cell.peer: []}
        for _ in range(TURNS):
            for who, runs in sides.items():
                python = Path(sys.executable) if who == "mialib" else python_of(folder, who)
                runs.append(run(python, who, cell.attack, arrays, Path(home, f"{who}.npy"), cap))
        own = np.load(Path(home, "mialib.npy"))
        other = np.load(Path(home, f"{cell.peer}.npy"))
        is_member = np.load(arrays)["is_member"]
    difference = metrics.auc(other, is_member) - metrics.auc(own, is_member)
    ranks = [scipy.stats.rankdata(np.round(scores, 9)) for scores in (own, other)]
    correlation = float(np.corrcoef(*ranks)[0, 1])
    return Compared(cell, best(sides["mialib"]), best(sides[cell.peer]), difference, correlation)


def run(python: Path, who: str, attack: str, arrays: Path, out: Path, cap: float) -> Side:
    command = [str(python), str(PROGRAM), who, attack, str(arrays), str(out), str(ROUNDS)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if who == "mialib":
        environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=cap
    )
    return Side(**json.loads(done.stdout.splitlines()[-1]))


def best(runs: Sequence[Side]) -> Side:
    """The shortest time and the least memory of several turns."""
    megabytes = [run.megabytes for run in runs if run.megabytes is not None]
    return Side(min(run.seconds for run in runs), min(megabytes, default=None))


def told(cell: Cell) -> str:
    size = f"{cell.records:,} records"
    if cell.references is not None:
        size += f" × {cell.references} references"
    return f"{NAMES[cell.peer]}, {cell.attack}, {size}"


def main(arguments: Sequence[str]) -> None:
    if len(arguments) not in (1, 2) or arguments[0] != "install":
        sys.exit("usage: python -m bench.peers install [FOLDER]")
    install(Path(arguments[1]) if len(arguments) == 2 else FOLDER)


if __name__ == "__main__":
    main(sys.argv[1:])
