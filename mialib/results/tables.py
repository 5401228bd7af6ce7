"""What the attacks found in every setting of a plan, by every seed, record by record.

    past = results("past", "quick")
    plain = past.find(defense="Plain")                          # one setting, all its seeds
    tuned = past.find(defense="Past", lam=1e-3, alpha=1.5)
    tuned.accuracy(), tuned.highest(), tuned.auc("loss"), tuned.tpr("loss", fpr=0.01)
    tuned.paired(plain, "highest")                              # by seed and by record
    plain.between("entropy", "loss", "auc")                     # two attacks on the same models
    [one.advantage("loss") for one in past.where(defense="Past").settings()]

Every number is an `Estimate` whose interval includes the training and the records (`repeats`).

**Scores are kept as ranks.** What a record scored in a row is kept as the number of distinct scores
below it, and a threshold as the number of distinct scores below the threshold. Every ROC, AUC,
advantage and TPR follows from ranks without rounding. float16 would bring some: of the losses of
the course's members 12 % would be 0, and 39 % lie where its steps are coarse. What is shown on an
axis, each record's loss, is kept beside them as float16.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mialib import metrics
from mialib.errors import as_array, as_path, check_choice, check_range, plain_tuple
from mialib.estimates import Estimate
from mialib.foreign import atomically, parse_json, read_arrays, shown
from mialib.results.packing import packed, unpacked
from mialib.results.repeats import RecordCounts, over_seeds_and_records, record_counts
from mialib.signals import as_rows

VERSION = 2  # of the file
READABLE = (1, 2)
MOST_RECORDS = 2**24  # whose ranks fit
RECORDS = "records"  # the entry of `about` that tells by a hash which records were scored
ARRAYS = {"ranks": "iu", "thresholds": "iu", "losses": "f", "correct": "b", "is_member": "b"}
# Every number, and where it can lie; no interval reaches beyond.
NUMBERS = {
    "accuracy": (0.0, 1.0),
    "advantage": (-1.0, 1.0),
    "auc": (0.0, 1.0),
    "tpr": (0.0, 1.0),
    "highest": (-1.0, 1.0),
    "mean": (-1.0, 1.0),
    "p1": (0.0, 1.0),
    "defense_level": (0.0, 200.0),
    "loss_gap": (-np.inf, np.inf),
}


USUAL_FPRS = (0.01, 0.001)
Curves = list[tuple[np.ndarray, np.ndarray]]  # FPR and TPR of each seed, in every draw


class CurveNumbers(NamedTuple):
    """What an attack's curves say, (seeds, 1 + draws) each."""

    auc: np.ndarray
    tpr: dict[float, np.ndarray]  # at each of USUAL_FPRS


@dataclass(frozen=True)
class Row:
    """One setting with one seed: a target and its shadow.

    settings   what was set: the defense and its fields, and what else the plan varies
    seed       decides first weights and batches of target and shadow
    accuracy   of the target on each part: train, test, …
    loss_gap   mean loss of its non-members minus that of its members
    seconds    that target and shadow took to train, with the trainings before; where every epoch is
               a row, its share
    facts      what else the plan asked for
    failure    why there are no scores; nothing where there are
    key        by which the store knows the row: a file's rows are found again by it
    """

    settings: dict[str, Any]
    seed: int
    accuracy: dict[str, float]
    loss_gap: float
    seconds: float
    facts: dict[str, Any]
    failure: str = ""
    key: str = ""


@dataclass(frozen=True, eq=False)
class Results:
    """Rows, and what the attacks found in them.

    ranks        (rows, attacks, n): each record's score as a rank, higher = member; uint16, or
                 uint32 where there are more records than that has numbers
    thresholds   (rows, attacks): ranks from here on are called members, by shadows' thresholds
    losses       (rows, n) float16: the target's loss on each record
    correct      (rows, n) bool: whether the target classifies it rightly
    is_member    (n,) bool, the same in all rows
    about        plan, profile and where the numbers come from
    """

    rows: tuple[Row, ...]
    attacks: tuple[str, ...]
    ranks: np.ndarray
    thresholds: np.ndarray
    losses: np.ndarray
    correct: np.ndarray
    is_member: np.ndarray
    about: dict[str, Any]

    def __post_init__(self):
        _check_rows(self.rows)
        _check_names(self.attacks)
        for name, kind in ARRAYS.items():
            array = as_array(getattr(self, name), kind=kind, what=name)
            object.__setattr__(self, name, array)
        if self.is_member.ndim != 1:
            raise ValueError(f"Results need is_member (n,), found {self.is_member.shape}.")
        _check_about(self.about)
        rows = len(self.rows)
        n = len(self.is_member)
        expected = {
            "ranks": (rows, len(self.attacks), n),
            "thresholds": (rows, len(self.attacks)),
            "losses": (rows, n),
            "correct": (rows, n),
        }
        for name, shape in expected.items():
            found = getattr(self, name).shape
            if found != shape:
                raise ValueError(f"Results need {name} of shape {shape}, found {found}.")

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        name = f"{self.about.get('plan')} at {self.about.get('profile')}"
        return (
            f"<Results of {name}: {len(self._by_setting)} settings, {len(self)} rows, "
            f"{len(self.attacks)} attacks, {len(self.is_member)} records>"
        )

    # Choosing.

    def where(self, **settings: Any) -> Results:
        """The rows with these settings; a setting that a row does not have is None there."""
        names = dict.fromkeys(name for row in self.rows for name in row.settings)
        for name in settings:
            check_choice("setting", name, names)
        # A file has lists where a plan has tuples.
        wanted = {name: plain_tuple(value) for name, value in settings.items()}
        fitting = [number for number, row in enumerate(self.rows) if _has(row, wanted)]
        return self._chosen(fitting)

    def find(self, **settings: Any) -> Results:
        """The one setting that has these values, with all its seeds."""
        fitting = self.where(**settings)
        count = len(fitting._by_setting)
        if count != 1:
            there = {
                name: sorted({str(row.settings.get(name)) for row in self.rows})
                for name in settings
            }
            raise ValueError(
                f"Expected one setting with {settings}, found {count}. The rows have {there}."
            )
        return fitting.finished()

    def settings(self) -> list[Results]:
        """Each setting by itself, with all its seeds, in the order of the plan."""
        return [self._chosen(numbers) for numbers in self._by_setting.values()]

    def finished(self) -> Results:
        """The rows whose training did not fail; an error says why, where all failed."""
        good = [number for number, row in enumerate(self.rows) if not row.failure]
        if not good and self.rows:
            raise ValueError(f"Every training of this setting failed: {self.rows[0].failure}")
        return self if len(good) == len(self.rows) else self._chosen(good)

    def seeds(self, chosen: Iterable[int]) -> Results:
        """The rows with these seeds."""
        wanted = _as_seeds(chosen)
        return self._chosen([k for k, row in enumerate(self.rows) if row.seed in wanted])

    def take(self, records: np.ndarray) -> Results:
        """The same rows on some of the records, given by a mask or by their places."""
        rows = as_rows(records, len(self.is_member), what="records")
        return replace(
            self,
            ranks=self.ranks[:, :, rows],
            losses=self.losses[:, rows],
            correct=self.correct[:, rows],
            is_member=self.is_member[rows],
        )

    def joined(self, *others: Results) -> Results:
        """These rows, and those of other results with the same records and attacks.

        A setting and seed that two plans have in common, such as the undefended model, counts once.
        """
        everything: list[Results] = [self]
        known = {_identity(row) for row in self.rows}
        for other in others:
            self._check_same_records(other)
            if other.attacks != self.attacks:
                raise ValueError(
                    f"Expected the attacks {self.attacks}, found {other.attacks}. "
                    "Only results of the same attacks can be joined."
                )
            new = [k for k, row in enumerate(other.rows) if _identity(row) not in known]
            known |= {_identity(row) for row in other.rows}
            everything.append(other._chosen(new))
        return replace(
            self,
            rows=tuple(row for one in everything for row in one.rows),
            ranks=np.concatenate([one.ranks for one in everything]),
            thresholds=np.concatenate([one.thresholds for one in everything]),
            losses=np.concatenate([one.losses for one in everything]),
            correct=np.concatenate([one.correct for one in everything]),
        )

    def _chosen(self, numbers: Sequence[int]) -> Results:
        places = np.asarray(numbers, dtype=int)
        return replace(
            self,
            rows=tuple(self.rows[number] for number in numbers),
            ranks=self.ranks[places],
            thresholds=self.thresholds[places],
            losses=self.losses[places],
            correct=self.correct[places],
        )

    @cached_property
    def _by_setting(self) -> dict[str, list[int]]:
        """The numbers of each setting's rows."""
        numbers: dict[str, list[int]] = {}
        for number, row in enumerate(self.rows):
            numbers.setdefault(_setting_name(row), []).append(number)
        return numbers

    # Numbers of one setting.

    def accuracy(self) -> Estimate:
        """On non-members, which are the test part."""
        return self.estimate("accuracy")

    def loss_gap(self) -> Estimate:
        """Mean loss of non-members minus that of members."""
        return self.estimate("loss_gap")

    def advantage(self, attack: str) -> Estimate:
        """TPR − FPR at the threshold that the shadow chose."""
        return self.estimate("advantage", attack)

    def auc(self, attack: str) -> Estimate:
        return self.estimate("auc", attack)

    def tpr(self, attack: str, *, fpr: float = 0.01) -> Estimate:
        """The largest TPR whose FPR is at most `fpr`."""
        return self.estimate("tpr", attack, fpr=fpr)

    def highest(self, number: str = "advantage", **options: Any) -> Estimate:
        """The highest advantage (or "auc", "tpr") of any attack; each draw has its own."""
        return self.estimate("highest", number, **options)

    def mean(self, number: str = "advantage", **options: Any) -> Estimate:
        """The mean advantage (or "auc", "tpr") over all attacks, as in PAST's curves."""
        return self.estimate("mean", number, **options)

    def p1(self) -> Estimate:
        """PAST's P1, from the accuracy and the highest advantage."""
        return self.estimate("p1")

    def defense_level(self, attack: str = "discriminator") -> Estimate:
        """The sparsity paper's D: 100 if the attack tosses a coin, 0 if it is always right."""
        return self.estimate("defense_level", attack)

    def fact(self, *path: str) -> list[Any]:
        """What each training told under these names, in the order of the rows: (seeds,).

        tuned.fact("weights", "gini") has the Gini index of each seed's weights.
        """
        return [_inside(row.facts, path) for row in self.rows]

    def estimate(self, what: str, *arguments: Any, **options: Any) -> Estimate:
        """One of NUMBERS of this setting, with its interval."""
        estimate = over_seeds_and_records(self.draws(what, *arguments, **options))
        of_attacks = arguments[0] if what in ("highest", "mean") and arguments else what
        lowest, highest = NUMBERS[of_attacks]
        return replace(estimate, low=max(estimate.low, lowest), high=min(estimate.high, highest))

    def by_seed(self, what: str, *arguments: Any, **options: Any) -> np.ndarray:
        """What each training gave, in the order of the rows: (seeds,). It draws nothing."""
        observed = record_counts(self.is_member).observed()
        return self._numbers(observed, what, *arguments, **options)[:, 0]

    def paired(self, other: Results, what: str, *arguments: Any, **options: Any) -> Estimate:
        """`what` here minus `what` there, seed by seed and record by record.

        strong.paired(plain, "tpr", "loss", fpr=0.01) compares what `tpr("loss", fpr=0.01)` gives.
        """
        self._check_same_records(other)
        common = sorted({row.seed for row in self.rows} & {row.seed for row in other.rows})
        if not common:
            raise ValueError("The two settings have no seed in common, so nothing can be paired.")
        here = self._in_order_of(common).draws(what, *arguments, **options)
        there = other._in_order_of(common).draws(what, *arguments, **options)
        return over_seeds_and_records(here - there)

    def _check_same_records(self, other: Results) -> None:
        """Refuse to compare models of different members, record by record."""
        if not isinstance(other, Results):
            raise TypeError(f"Expected other Results, found {other!r}.")
        dealt = [one.about[RECORDS] for one in (self, other) if RECORDS in one.about]
        if len(set(dealt)) > 1 or not np.array_equal(self.is_member, other.is_member):
            raise ValueError(
                "The two results have different members, so nothing can be paired. "
                "Compare settings of the same records, split alike."
            )

    def between(self, attack: str, other: str, what: str = "advantage", **options: Any) -> Estimate:
        """`what` of one attack minus that of another, in the same trainings, record by record.

        plain.between("entropy", "loss", "tpr", fpr=0.01) compares two rows of one table.
        """
        check_choice("number of one attack", what, ("advantage", "auc", "tpr"))
        here = self.draws(what, attack, **options)
        there = self.draws(what, other, **options)
        return over_seeds_and_records(here - there)

    def _in_order_of(self, seeds: Sequence[int]) -> Results:
        place = {row.seed: number for number, row in enumerate(self.rows)}
        return self._chosen([place[seed] for seed in seeds])

    def draws(self, what: str, *arguments: Any, **options: Any) -> np.ndarray:
        """The number of each seed, then its value in every draw of records: (seeds, 1 + draws)."""
        return self._numbers(record_counts(self.is_member), what, *arguments, **options)

    def _numbers(
        self, counts: RecordCounts, what: str, *arguments: Any, **options: Any
    ) -> np.ndarray:
        """The number of each seed, with each row of counts: (seeds, rows of counts)."""
        check_choice("number", what, NUMBERS)
        if len(self._by_setting) != 1:
            raise ValueError(
                f"A number belongs to one setting, found {len(self._by_setting)}. "
                "Choose one with find(…)."
            )
        failed = [row for row in self.rows if row.failure]
        if failed:
            raise ValueError(
                f"{len(failed)} of {len(self)} trainings failed ({failed[0].failure}), and have no "
                "number. Take the others with finished()."
            )
        return getattr(self, f"_draw_{what}")(counts, *arguments, **options)

    def _draw_accuracy(self, counts: RecordCounts) -> np.ndarray:
        return counts.mean_of_non_members(self.correct)

    def _draw_loss_gap(self, counts: RecordCounts) -> np.ndarray:
        return counts.mean_of_non_members(self.losses) - counts.mean_of_members(self.losses)

    def _draw_advantage(self, counts: RecordCounts, attack: str) -> np.ndarray:
        return self._all_advantages(counts, self._place(attack))

    def _draw_defense_level(
        self, counts: RecordCounts, attack: str = "discriminator"
    ) -> np.ndarray:
        # D = 200 − 2A, and with members and non-members alike in weight A = 50 + 50 · Adv.
        return 100 - 100 * self._draw_advantage(counts, attack)

    def _all_advantages(self, counts: RecordCounts, place: int | slice) -> np.ndarray:
        """(seeds, 1 + draws), or for several attacks (seeds, attacks, 1 + draws)."""
        is_called = self.ranks[:, place] >= self.thresholds[:, place, None]
        return counts.mean_of_members(is_called) - counts.mean_of_non_members(is_called)

    def _draw_auc(self, counts: RecordCounts, attack: str) -> np.ndarray:
        return self._curve_numbers(counts, attack).auc

    def _draw_tpr(self, counts: RecordCounts, attack: str, *, fpr: float = 0.01) -> np.ndarray:
        non_members = int((~self.is_member).sum())
        if not metrics.resolvable(fpr, non_members):
            raise ValueError(
                f"A TPR at {float(fpr):.1%} FPR is not resolvable with {non_members:,} "
                "non-members. Ask for a higher FPR."
            )
        limit = float(fpr)
        if limit in USUAL_FPRS:
            return self._curve_numbers(counts, attack).tpr[limit]
        return _largest_tpr(self._curves(counts, attack), limit)

    def _curve_numbers(self, counts: RecordCounts, attack: str) -> CurveNumbers:
        """They are kept: whoever asks for an AUC asks for the TPR too, and curves are dear."""
        key = (self._place(attack), len(counts.members))
        if key not in self._known_numbers:
            curves = self._curves(counts, attack)
            self._known_numbers[key] = CurveNumbers(
                auc=np.stack([metrics.area(*curve) for curve in curves]),
                tpr={fpr: _largest_tpr(curves, fpr) for fpr in USUAL_FPRS},
            )
        return self._known_numbers[key]

    @cached_property
    def _known_numbers(self) -> dict[tuple[int, int], CurveNumbers]:
        return {}

    def _draw_highest(
        self, counts: RecordCounts, number: str = "advantage", **options: Any
    ) -> np.ndarray:
        return self._over_attacks(counts, number, **options).max(axis=1)

    def _draw_mean(
        self, counts: RecordCounts, number: str = "advantage", **options: Any
    ) -> np.ndarray:
        return self._over_attacks(counts, number, **options).mean(axis=1)

    def _draw_p1(self, counts: RecordCounts) -> np.ndarray:
        accuracy = self._draw_accuracy(counts)
        highest = self._draw_highest(counts).clip(0, 1)
        p1 = np.vectorize(metrics.p1, otypes=[float])
        return p1(accuracy, highest)

    def _over_attacks(self, counts: RecordCounts, number: str, **options: Any) -> np.ndarray:
        """(seeds, attacks, 1 + draws)."""
        check_choice("number of attacks", number, ("advantage", "auc", "tpr"))
        if number == "advantage":
            return self._all_advantages(counts, slice(None))
        by_attack = [self._numbers(counts, number, name, **options) for name in self.attacks]
        return np.stack(by_attack, axis=1)

    def _curves(self, counts: RecordCounts, attack: str) -> Curves:
        """FPR and TPR of each seed, in every draw: (1 + draws, points) each."""
        ranks = self.ranks[:, self._place(attack)]
        return [metrics.weighted_roc(one, counts.members, counts.non_members) for one in ranks]

    def _place(self, attack: str) -> int:
        return self.attacks.index(check_choice("attack", attack, self.attacks))

    # What a figure draws.

    def roc(self, attack: str, fpr: np.ndarray) -> np.ndarray:
        """The TPR of each seed at each of these FPRs: (seeds, points)."""
        place = self._place(attack)
        check_range(0, 1, many=True, fpr=fpr)
        limits = as_array(fpr, kind="iuf", what="fpr")
        curves = [metrics.roc(ranks, self.is_member) for ranks in self.finished().ranks[:, place]]
        return np.stack([_tpr_at(curve, limits) for curve in curves])

    # Files.

    def save(self, path: Path) -> None:
        """Write one file; it is there whole or not at all."""
        path = as_path(path)
        if not path.name:
            raise ValueError(f"Results are written to a file such as past.npz, found {path}.")
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {
            "version": VERSION,
            "attacks": self.attacks,
            "rows": [asdict(row) for row in self.rows],
            "about": self.about,
        }
        with atomically(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(
                file,
                contents=np.array(json.dumps(about, ensure_ascii=False)),
                **packed(self.ranks, self.losses),  # type: ignore[arg-type]
                thresholds=self.thresholds,
                correct=np.packbits(self.correct, axis=-1),
                is_member=self.is_member,
            )

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results that `save` wrote."""
        with _explained(as_path(path)) as path:
            arrays = read_arrays(path)
            return cls(**_fields(_contents(arrays), arrays))

    @classmethod
    def read_about(cls, path: Path) -> dict[str, Any]:
        """Only `about` of the results that `save` wrote: their scores stay packed."""
        with _explained(as_path(path)) as path:
            about = _contents(read_arrays(path, only={"contents"}))["about"]
            _check_about(about)
            return about


@contextmanager
def _explained(path: Path) -> Iterator[Path]:
    """Inside, what a file of results lacks is told in a sentence."""
    try:
        yield path
    except (ValueError, TypeError, LookupError) as error:  # A damaged name hides what it names.
        said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"{shown(path.name)} is not a whole results file ({said}). "
            "Make it again with mialib run."
        ) from None


def _contents(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What the file says in words: rows, attacks, and what they are about."""
    contents = parse_json(str(arrays["contents"]))
    _check_version(contents)
    return contents


def _check_about(about: object) -> None:
    if not isinstance(about, dict):
        raise TypeError(f"about must be a dictionary, found {about!r}.")


def _check_version(contents: dict[str, Any]) -> None:
    found = contents.get("version")
    if found not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise ValueError(f"it has version {shown(found)}, and this mialib reads {readable}")


def _fields(contents: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What a file holds, as `Results` takes it."""
    rows = tuple(_row(described) for described in contents["rows"])
    attacks = tuple(contents["attacks"])
    is_member = arrays["is_member"]
    bits = arrays["correct"]
    if bits.shape != (len(rows), (is_member.size + 7) // 8):
        raise ValueError(f"{len(rows)} rows do not fit what was classified, {bits.shape}")
    correct = np.unpackbits(bits, axis=-1, count=is_member.size)
    packing = _plain_bytes if contents["version"] == 1 else unpacked
    ranks, losses = packing(arrays)
    return {
        "rows": rows,
        "attacks": attacks,
        "ranks": ranks,
        "thresholds": arrays["thresholds"],
        "losses": losses,
        "correct": correct.astype(bool),
        "is_member": is_member,
        "about": contents["about"],
    }


def _row(described: dict[str, Any]) -> Row:
    row = Row(**described)
    kinds = {"settings": dict, "seed": int, "accuracy": dict, "facts": dict, "key": str}
    for name, kind in kinds.items():
        if not isinstance(getattr(row, name), kind):
            raise ValueError(f"the {name} of a row should be a {kind.__name__}")
    return row


def _plain_bytes(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Ranks and losses of a file of version 1, whose ranks lie in bytes."""
    ranks = arrays["high"].astype(np.uint16) << 8 | arrays["low"]
    if "highest" in arrays:
        ranks = arrays["highest"].astype(np.uint32) << 16 | ranks
    return ranks, arrays["losses"]


def _check_rows(rows: object) -> None:
    if not isinstance(rows, tuple) or not all(isinstance(row, Row) for row in rows):
        raise TypeError(f"Results need a tuple of Rows, found {rows!r}.")


def _check_names(attacks: object) -> None:
    if not isinstance(attacks, tuple) or not all(isinstance(name, str) for name in attacks):
        raise TypeError(f"Results need a tuple of the attacks' names, found {attacks!r}.")


def _identity(row: Row) -> tuple[str, int]:
    """What tells a row from the others: its setting, and its seed."""
    return _setting_name(row), row.seed


def _setting_name(row: Row) -> str:
    return json.dumps(row.settings, sort_keys=True)


def _inside(facts: dict[str, Any], path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(facts, dict):
            raise ValueError(f"There is no fact {name!r} inside {facts!r}.")
        facts = facts[check_choice("fact", name, facts)]
    return facts


def _has(row: Row, wanted: dict[str, Any]) -> bool:
    return all(plain_tuple(row.settings.get(name)) == value for name, value in wanted.items())


def _as_seeds(chosen: Iterable[int]) -> set[int]:
    listed = list(chosen) if isinstance(chosen, set | frozenset) else chosen
    seeds = as_array(listed, kind="iu", what="seeds")
    if seeds.ndim != 1:
        raise ValueError(f"Expected several seeds, such as [0, 1], found {chosen!r}.")
    return set(seeds.tolist())


def _largest_tpr(curves: Curves, fpr: float) -> np.ndarray:
    """(seeds, 1 + draws)."""
    return np.stack([metrics.largest_tpr(*curve, fpr) for curve in curves])


def _tpr_at(curve: metrics.Roc, limits: np.ndarray) -> np.ndarray:
    places = np.searchsorted(curve.fpr, limits + metrics.ROUNDING, side="right") - 1
    return curve.tpr[places]


def as_ranks(scores: np.ndarray, threshold: float) -> tuple[np.ndarray, int]:
    """Scores (n,) as ranks, and the threshold as one: what reaches it has at least its rank.

    >>> as_ranks(np.array([0.5, -1.0, 0.5, 7.0]), threshold=0.6)
    (array([1, 0, 1, 2], dtype=uint16), 2)
    """
    scores = as_array(scores, kind="biuf", what="Scores")
    if scores.ndim != 1 or np.isnan(scores).any():
        raise ValueError(f"Expected one score per record and no NaN, found {scores.shape}.")
    if len(scores) >= MOST_RECORDS:
        raise ValueError(
            f"Ranks of at most {MOST_RECORDS - 1:,} records fit, found {len(scores):,}."
        )
    place = as_array(threshold, kind="iuf", what="threshold")
    if place.ndim != 0 or np.isnan(place):
        raise ValueError(f"threshold must be one number, found {threshold}.")
    distinct, ranks = np.unique(scores, return_inverse=True)
    # A threshold above all scores has the next rank, which must fit, too.
    kind = np.uint16 if len(distinct) < 2**16 else np.uint32
    return ranks.astype(kind), int(np.searchsorted(distinct, place, side="left"))
