"""What an audit found: arrays and estimates, and nothing about how they are shown.

    findings.head                     # which model, which records, what was handled and said
    findings.belief                   # can the rest be believed? Read it first
    findings.utility                  # what the model is good for
    findings.attacks                  # a row for each attack that could be played
    findings.exposure                 # who is found: records, agreement, slices
    findings.judgement.lines          # for and against release, by the rules of a named policy
    findings.summary()                # three sentences

`mialib.audits.report.Audit` is the same with the methods of a report. All arrays (n,) are in the
order in which the records were handed in; `rows` says where each stood, because a record that lies
in both sets is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mialib.epsilon import Guarantee, Refuted, as_guarantee
from mialib.errors import check_range
from mialib.estimates import Estimate, words
from mialib.metrics import Interval

# Where a threshold comes from, from the best to the least.
FROM_SHADOWS = "fitted on shadows"
FROM_REFERENCES = "fitted on references"
FROM_POPULATION = "fitted on known non-members"
CROSS_FITTED = "chosen on one half of these records, judged on the other"

FOR = "for release"
AGAINST = "against release"


@dataclass(frozen=True)
class Model:
    """Which model it was: its class, how many parameters it has, and a hash of its weights.

    Of a model that is not torch's, only the class is known.
    """

    name: str
    parameters: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Head:
    """What was audited, and by what.

    name         what the user calls the audit
    model        the model, where it was handed in itself
    members, non_members, classes   how many there are
    fingerprint  a hash of outputs, labels and membership, in any order of the records
    inputs       what was handed in: "a model", "outputs" or "a bank"
    prior        the share of members in the population, for the PPV
    date         of the audit, year-month-day, UTC
    version      of mialib
    seconds      that the audit took
    seed         of halves and bootstrap
    notes        what was handled behind the user's back, each in a sentence
    """

    name: str
    model: Model | None
    members: int
    non_members: int
    classes: int
    fingerprint: str
    inputs: str
    prior: float
    date: str
    version: str
    seconds: float
    seed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A ROC curve on a grid of FPRs, with a 95 % band at each: (points,) each."""

    fpr: np.ndarray
    tpr: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Blind:
    """Can members be told from non-members without the model?

    auc       of a classifier that never saw the model, on records that it was not fitted on
    saw       what it saw: "inputs and labels", or "labels alone"
    sentence  what follows
    """

    auc: Estimate
    saw: str
    sentence: str

    @property
    def finds_a_shift(self) -> bool:
        """Whether the interval lies above 0.5, so that the two sets differ without the model."""
        return bool(self.auc.low > 0.5)


class NullBand(NamedTuple):
    """Where 95 % of shuffled memberships would put an attack's numbers, with these very scores.

    Who picks the strongest of many attacks also picks the luckiest. So there are wider bands, which
    hold the numbers of all attacks together (Bonferroni): what lies above is no luck.
    """

    auc: Interval
    tpr_at_1_percent: Interval
    tpr_at_0_1_percent: Interval
    auc_of_all: Interval
    tpr_at_1_percent_of_all: Interval


@dataclass(frozen=True)
class Belief:
    """Can the results be believed?

    game             what was played, in a sentence
    blind            the blind baseline
    duplicates       records that were in both sets, and were left out; None without inputs
    near_duplicates  non-members that nearly equal a member, and were kept; None without inputs
    null             for each attack: its numbers if membership were shuffled
    null_curve       the same for the whole curve of an attack without ties; `tpr` is the median
    unresolvable     the FPRs at which so few non-members say nothing
    threshold        where the thresholds come from
    """

    game: str
    blind: Blind
    duplicates: int | None
    near_duplicates: int | None
    null: dict[str, NullBand]
    null_curve: Curve
    unresolvable: tuple[float, ...]
    threshold: str


@dataclass(frozen=True)
class Utility:
    """What the model is good for; `calibration_error` is the expected one (ECE) on non-members.

    The gaps are members' accuracy minus non-members', and non-members' loss minus members'.
    """

    accuracy_members: Estimate
    accuracy_non_members: Estimate
    accuracy_gap: Estimate
    loss_gap: Estimate
    calibration_error: Estimate


class Tails(NamedTuple):
    """Members among the records with the highest and with the lowest scores.

    An attack may be sure of a few and know nothing of the rest, and AUC and advantage hide that.

    records      in each tail
    top, bottom  the share of members among the highest and among the lowest scores
    difference   top − bottom; 0 is guessing
    p_value      how often shuffled membership gives a difference at least as large
    """

    records: int
    top: float
    bottom: float
    difference: Estimate
    p_value: float


@dataclass(frozen=True)
class More:
    """Numbers of an attack that other reports print and that decide nothing here.

    found, missed        members that are called such at the threshold, and that are not
    accused, cleared     non-members that are called members, and that are not
    accuracy             the share of all records that it calls rightly
    balanced_accuracy    (1 + advantage) / 2, the accuracy if half of the records were members
    ppv_here, npv_here   the share of right calls among those called members, and among the others,
                         with as many members as there are here; `AttackRow.ppv` is at the prior
    f1                   the harmonic mean of TPR and `ppv_here`
    auc_p_value          how often shuffled membership gives an AUC at least as high
    tpr_at_…             the largest TPR whose FPR is at most that
    tpr_without_alarms   the TPR at the lowest threshold that accuses no non-member
    fifth, tenth, hundredth   the tails of so many records
    """

    found: int
    accused: int
    missed: int
    cleared: int
    accuracy: Estimate
    balanced_accuracy: Estimate
    ppv_here: Estimate
    npv_here: Estimate
    f1: Estimate
    auc_p_value: float
    tpr_at_10_percent: Estimate
    tpr_at_0_5_percent: Estimate
    tpr_at_0_2_percent: Estimate
    tpr_at_0_01_percent: Estimate
    tpr_at_0_001_percent: Estimate
    tpr_without_alarms: Estimate
    fifth: Tails
    tenth: Tails
    hundredth: Tails


@dataclass(frozen=True, eq=False)
class AttackRow:
    """What one attack reached; every number with a 95 % interval.

    name            as in `mialib.attacks.ATTACKS`
    sees            what it must see, in words
    auc             the probability that a member scores higher than a non-member
    tpr, fpr        the shares that it calls members at its threshold
    advantage       tpr − fpr
    tpr_at_1_percent, tpr_at_0_1_percent   the largest TPR whose FPR is at most that
    ppv             of those called members, the share that are, if `Head.prior` of all are
    threshold_from  FROM_SHADOWS, FROM_REFERENCES, FROM_POPULATION or CROSS_FITTED
    scores, calls   (n,): the score of each record, higher = member; whom it calls a member
    curve           its ROC curve with a band
    seconds         that it took to fit and to score
    more            numbers that other reports print
    """

    name: str
    sees: str
    auc: Estimate
    advantage: Estimate
    tpr: Estimate
    fpr: Estimate
    tpr_at_1_percent: Estimate
    tpr_at_0_1_percent: Estimate
    ppv: Estimate
    threshold_from: str
    scores: np.ndarray
    calls: np.ndarray
    curve: Curve
    seconds: float
    more: More


@dataclass(frozen=True)
class ExposedRecord:
    """A member that attacks find.

    row       where it stood among the records that were handed in, members first
    label     its class
    found_by  how many attacks find it at `Exposure.fpr`
    above     the share of non-members that score lower, the mean over attacks; ties count half
    """

    row: int
    label: int
    found_by: int
    above: float


@dataclass(frozen=True)
class Slice:
    """How well one attack finds the members of a class or a group.

    The intervals are corrected for the number of slices (Bonferroni), and so is `p_value`: the
    probability of a difference this large from the others if there were none.
    """

    name: str
    members: int
    non_members: int
    auc: Estimate
    difference: Estimate
    p_value: float

    @property
    def words(self) -> str:
        """Whether the slice is easier or harder to attack than the others."""
        if self.difference.note:
            return self.difference.note
        return words(
            self.difference,
            lower="less exposed than the others",
            higher="more exposed than the others",
            same="not told apart from the others",
        )


@dataclass(frozen=True, eq=False)
class Exposure:
    """Who is found.

    fpr        at which a member counts as found: 1 %, or the smallest that n resolves
    found_by   (n,): how many attacks find each record; non-members are found by mistake
    above      (n,): the share of non-members below it, the mean over attacks
    rank       (n,): the share of all records below it, likewise; it goes on where `above` ends
    agreement  {(a, b): the share found by both among the members found by either}
    sliced_by  "class", or "group" where the user gave groups
    attack     the one by which the slices are measured, the strongest
    slices     in the order of their names
    """

    fpr: float
    found_by: np.ndarray
    above: np.ndarray
    rank: np.ndarray
    agreement: dict[tuple[str, str], float]
    sliced_by: str
    attack: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True)
class Line:
    """A reason: `side` is FOR or AGAINST, `sentence` has the number, `rule` what it was held to."""

    side: str
    sentence: str
    rule: str


@dataclass(frozen=True)
class Judgement:
    """Reasons for and against, by the rules of a policy; without a policy there are none."""

    policy: str | None
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Planted:
    """What the canaries say: records that a coin put IN or left OUT, asked by their loss.

    refuted   the ε that they refute, in both directions, which together hold at 95 %
    """

    kind: str
    inside: int
    outside: int
    auc: Estimate
    refuted: tuple[Refuted, ...]
    sentence: str


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that an audit found. `epsilon` has the lower bounds, where they were asked for.

    lacking     attack → what it lacks, in a sentence
    next_steps  what helped other models, measured by this library
    not_tested  what this audit says nothing about
    guarantee   what the user claims for the training, if anything: (ε, δ), or all of them at once
    is_member, labels, groups, rows   (n,) each; groups only where they were given
    """

    head: Head
    belief: Belief
    utility: Utility
    attacks: tuple[AttackRow, ...]
    lacking: dict[str, str]
    exposure: Exposure
    judgement: Judgement
    next_steps: tuple[str, ...]
    not_tested: tuple[str, ...]
    is_member: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    groups: np.ndarray | None = None
    guarantee: tuple[float, float] | Guarantee | None = None
    epsilon: tuple[Any, ...] | None = None
    canaries: Planted | None = None

    @property
    def strongest(self) -> AttackRow:
        """The attack with the highest AUC; among equals the first by name."""
        return min(self.attacks, key=lambda row: (-row.auc.value, row.name))

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each attack, the strongest first; every number is an `Estimate`."""
        ordered = sorted(self.attacks, key=lambda row: (-row.auc.value, row.name))
        return [
            {
                "attack": row.name,
                "sees": row.sees,
                "AUC": row.auc,
                "advantage": row.advantage,
                "TPR at 1 % FPR": row.tpr_at_1_percent,
                "TPR at 0.1 % FPR": row.tpr_at_0_1_percent,
                f"PPV at prior {self.head.prior:g}": row.ppv,
                "threshold": row.threshold_from,
                "seconds": row.seconds,
            }
            for row in ordered
        ]

    @property
    def members_found_by(self) -> np.ndarray:
        """How many members are found by no attack, by one, …, by all of them: (attacks + 1,)."""
        found_by = self.exposure.found_by[self.is_member]
        return np.bincount(found_by, minlength=len(self.attacks) + 1)

    def records(self, number: int = 20) -> tuple[ExposedRecord, ...]:
        """The most exposed members, the worst first: by how many attacks, then by their rank."""
        check_range(1, np.inf, whole=True, number=number)
        found_by = self.exposure.found_by
        above = self.exposure.above
        members = np.flatnonzero(self.is_member)
        rank = self.exposure.rank[members]
        order = np.lexsort((self.rows[members], -rank, -found_by[members]))
        return tuple(
            ExposedRecord(
                row=int(self.rows[place]),
                label=int(self.labels[place]),
                found_by=int(found_by[place]),
                above=float(above[place]),
            )
            for place in members[order][:number]
        )

    def summary(self) -> str:
        """The warnings, if there are any, and the three sentences."""
        return " ".join([*self.warnings(), *self.sentences()])

    def warnings(self) -> list[str]:
        """What must be read first: that the two sets differ, or that a guarantee is broken."""
        shift = [self.belief.blind.sentence] if self.belief.blind.finds_a_shift else []
        return [*shift, *self.contradictions()]

    def sentences(self) -> list[str]:
        """Three, made from the numbers: the strongest attack, low false alarms, who.

        An attack is told apart from a guess if shuffled membership would not bring any of the
        attacks as far.
        """
        return [self._strongest_sentence(), self._low_fpr_sentence(), self._who_sentence()]

    def contradictions(self) -> list[str]:
        """Sentences that the claimed guarantee is broken: by the attacks, and by the canaries."""
        if self.guarantee is None:
            return []
        claimed = as_guarantee(self.guarantee)
        told = [claimed.contradiction(one) for one in self._largest_refuted()]
        return [sentence for sentence in told if sentence]

    def _largest_refuted(self) -> list[Refuted]:
        """The larger bound of the two directions, of the attacks and of the canaries."""
        by_attacks = [bound.refuted for bound in self.epsilon or ()]
        by_canaries = self.canaries.refuted if self.canaries is not None else ()
        return [
            max(bounds, key=lambda one: one.epsilon)
            for bounds in (by_attacks, by_canaries)
            if bounds
        ]

    @property
    def guarantee_sentence(self) -> str:
        """That nothing contradicts the claimed guarantee; empty where something does."""
        refuted = self._largest_refuted()
        if self.guarantee is None or not refuted or self.contradictions():
            return ""
        largest = max(refuted, key=lambda one: one.epsilon)
        return as_guarantee(self.guarantee).agreement(largest)

    def _strongest_sentence(self) -> str:
        best = self.strongest
        by_luck = self.belief.null[best.name].auc_of_all.high
        verb = "does better than a guess"
        if best.auc.value <= by_luck:
            verb = f"is not told apart from a guess ({self._luck(f'{by_luck:.3f}')})"
        took = f"{best.seconds:.1f} s" if best.seconds >= 0.1 else "less than 0.1 s"
        return (
            f"The strongest attack ({best.name}) {verb}: its AUC is {best.auc}, and at its "
            f"threshold it accuses {_per_thousand(best.tpr.value)} of 1,000 members and "
            f"{_per_thousand(best.fpr.value)} of 1,000 non-members; it needs {best.sees}, "
            f"and took {took}."
        )

    def _low_fpr_sentence(self) -> str:
        if self.strongest.tpr_at_1_percent.note:
            number = self.head.non_members
            return f"At 1 % false alarms nothing can be said with {number} non-members."
        best = min(self.attacks, key=lambda row: (-row.tpr_at_1_percent.value, row.name))
        found = best.tpr_at_1_percent
        by_luck = self.belief.null[best.name].tpr_at_1_percent_of_all.high
        told_apart = ""
        if found.value <= by_luck:
            told_apart = f", and {self._luck(_per_thousand(by_luck))}"
        return (
            f"At low false alarms the strongest ({best.name}) finds {_per_thousand(found.value)} "
            f"of 1,000 members [{_per_thousand(found.low)} to {_per_thousand(found.high)}] while "
            f"accusing at most 10 of 1,000 non-members; a guess would find 10{told_apart}."
        )

    def _luck(self, number: str) -> str:
        """How far the luckiest attack may get, so that nobody takes luck for a finding."""
        tried = len(self.attacks)
        who = "it" if tried == 1 else f"one of {tried} attacks"
        return f"chance alone may bring {who} to {number}"

    def _who_sentence(self) -> str:
        twice = int((self.exposure.found_by[self.is_member] >= 2).sum())
        falsely = int((self.exposure.found_by[~self.is_member] >= 2).sum())
        return (
            f"With {100 * self.exposure.fpr:.3g} % false alarms each, two attacks or more agree "
            f"on {twice:,} of {self.head.members:,} members, and on {falsely:,} of "
            f"{self.head.non_members:,} non-members by mistake."
        )


def counted(attacks: int) -> str:
    """
    >>> counted(1), counted(6)
    ('1 attack', '6 attacks')
    """
    return "1 attack" if attacks == 1 else f"{attacks} attacks"


def _per_thousand(share: float) -> str:
    return f"{round(1000 * share):,}"
