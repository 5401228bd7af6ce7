"""`audit`: one call from a model, or from its outputs, to a report.

    report = audit(model, members, non_members)
    report = audit(model, members, non_members, shadows=[(shadow, its_members, others)])
    report = audit(model, members, non_members, train=train)     # train(records, seed) → a model
    report = audit.from_outputs(logits=logits, labels=labels, is_member=is_member)
    report = audit.from_file("outputs.npz")
    report = audit.from_bank(bank, target=7)

All of them take `attacks` (names; all that can be played otherwise), `prior` (the share of members
in the population, for the PPV), `policy` ("aisvs", a dict of limits, or None), `name`, `guarantee`
(the ε and δ that the training claims, or `mialib.epsilon.dp_sgd(…)`), `by_coin` (whether each
record was a member by the toss of a fair coin, which a bound on ε assumes) and `seed`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mialib import __version__
from mialib.audits import advice, asking, bounds, evidence, exposed, files, policies
from mialib.audits.belief import believe
from mialib.audits.evidence import Canonical, Evidence, in_canonical_order
from mialib.audits.findings import AttackRow, Exposure, Head, Planted
from mialib.audits.planted import ask_canaries
from mialib.audits.playing import fitted_on, play
from mialib.audits.references import ReferenceTraining
from mialib.audits.report import Audit
from mialib.bank import Bank
from mialib.epsilon import Guarantee
from mialib.errors import check_choice, check_flag, check_range, plain_tuple
from mialib.splits import Canaries

LARGEST_SEED = 2**32 - 1
LARGEST_EPSILON = 1e6


class Options(NamedTuple):
    """What every way to an audit takes; see the module's docstring."""

    attacks: Iterable[str] | None = None
    prior: float = 0.01
    policy: str | Mapping[str, float] | None = None
    name: str = "audit"
    guarantee: tuple[float, float] | Guarantee | None = None
    seed: int = 0
    by_coin: bool = False


class Auditor:
    """The ways to an audit; `audit` is the one instance."""

    def __call__(self, model: Any, members: Any, non_members: Any, **options: Any) -> Audit:
        """The same as `from_model`."""
        return self.from_model(model, members, non_members, **options)

    def from_model(
        self,
        model: Any,
        members: Any,
        non_members: Any,
        *,
        shadows: Sequence[tuple[Any, ...]] = (),
        references: Bank | None = None,
        train: Callable[[Any, int], Any] | None = None,
        trainings: int = 8,
        jobs: int | None = None,
        population: Any = None,
        groups: ArrayLike | None = None,
        boundary: bool = False,
        checkpoints: Sequence[Any] = (),
        canaries: Canaries | None = None,
        **options: Any,
    ) -> Audit:
        """Audit a torch module, or a scikit-learn classifier with `predict_proba`.

        members, non_members  `Records`, (x, y) of arrays or tensors, a Dataset or a DataLoader
        shadows     (model, its members, others) for each model that was trained like the target
        references  a Bank of models on members and non-members, in this order
        train       (records, seed) → model: trains `trainings` references, in `jobs` processes;
                    see `mialib.audits.references`
        population  records that no model was trained on, for Attack P and QMIA
        groups      (n,) names, members first, or a pair; slices are by class otherwise
        boundary    ask for distances to the boundary, too: some 300 answers for each record
        checkpoints the model earlier in its training, and as a fourth entry of each shadow
        canaries    what `splits.plant` gave, if some were planted in the training set
        """
        start = time.perf_counter()
        chosen = _checked(options)
        training = None
        if train is not None:
            training = ReferenceTraining(train, trainings, jobs, chosen.seed)
            training.check()
            if references is not None:
                raise ValueError("Give references=, or train= to train some, and not both.")
        given = asking.from_model(
            model,
            members,
            non_members,
            shadows=shadows,
            references=references,
            population=population,
            groups=groups,
            training=training,
            boundary=boundary,
            checkpoints=checkpoints,
        )
        planted = None
        if canaries is not None:
            delta = _delta(chosen)
            planted = ask_canaries(model, canaries, seed=int(chosen.seed), delta=delta)
        return examine(given, chosen, start, planted)

    def from_outputs(
        self,
        *,
        labels: ArrayLike,
        is_member: ArrayLike,
        logits: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **options: Any,
    ) -> Audit:
        """Audit a model by what it answered: logits or probabilities (n, classes).

        With `inputs` (n, …) the two sets can also be compared without the model.
        """
        start = time.perf_counter()
        chosen = _checked(options)
        given = evidence.from_outputs(
            logits=logits,
            probabilities=probabilities,
            labels=labels,
            is_member=is_member,
            inputs=inputs,
            groups=groups,
        )
        return examine(given, chosen, start)

    def from_file(self, path: str | Path, **options: Any) -> Audit:
        """Audit the outputs in an `.npz` or a `.csv`; `mialib.audits.files` says what it holds."""
        columns = files.read(path)
        return self.from_outputs(**(columns | options))

    def from_bank(
        self, bank: Bank, *, target: int = 0, groups: ArrayLike | None = None, **options: Any
    ) -> Audit:
        """Audit one model of a bank; the other models are its references and its shadows."""
        start = time.perf_counter()
        chosen = _checked(options)
        return examine(evidence.from_bank(bank, target, groups), chosen, start)


audit = Auditor()


def _checked(options: dict[str, Any]) -> Options:
    """The options, or what is wrong with one of them."""
    for name in options:
        check_choice("option", name, Options._fields)
    chosen = Options(**options)
    check_flag(by_coin=chosen.by_coin)
    check_range(0, 1, prior=chosen.prior)
    check_range(0, LARGEST_SEED, whole=True, seed=chosen.seed)
    if not isinstance(chosen.name, str):
        raise ValueError(f"The name of an audit must be a text, found {chosen.name!r}.")
    is_scalar = isinstance(chosen.attacks, str) or getattr(chosen.attacks, "shape", None) == ()
    if chosen.attacks is not None and (is_scalar or not isinstance(chosen.attacks, Iterable)):
        raise ValueError(f"attacks must be a list of names, found {chosen.attacks!r}.")
    policies.check_policy(chosen.policy)
    return chosen._replace(guarantee=_as_guarantee(chosen.guarantee))


def _as_guarantee(guarantee: Any) -> tuple[float, float] | Guarantee | None:
    if guarantee is None or isinstance(guarantee, Guarantee):
        return guarantee
    pair = plain_tuple(guarantee)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError(f"guarantee must be (ε, δ), found {guarantee!r}.")
    check_range(0, LARGEST_EPSILON, epsilon=pair[0])
    check_range(0, 1, delta=pair[1])
    return pair


# The audit itself.


def examine(
    given: Evidence, options: Options, start: float, planted: Planted | None = None
) -> Audit:
    """Every section of the report; `start` is when the clock began."""
    canonical = in_canonical_order(given)
    ordered = canonical.evidence
    is_member = ordered.is_member
    rows, lacking = play(ordered, only=options.attacks, prior=options.prior, seed=options.seed)
    threshold = fitted_on(ordered)
    utility = exposed.utility(ordered.target)
    names = canonical.classes[ordered.target.labels]
    exposure = exposed.exposure(rows, is_member, names, ordered.groups)
    refuted = lower_bounds(rows, is_member, options)
    belief = believe(ordered, rows, threshold=threshold, seed=options.seed)
    seconds = time.perf_counter() - start
    return Audit(
        head=_head(given, canonical.fingerprint, options, seconds),
        belief=belief,
        utility=utility,
        attacks=tuple(_in_callers_order(row, canonical) for row in rows),
        lacking=lacking,
        exposure=_exposure_in_callers_order(exposure, canonical),
        judgement=policies.judge(rows, utility, is_member, options.policy),
        next_steps=advice.next_steps(rows, belief.null),
        not_tested=advice.not_tested(
            lacking,
            inputs=given.inputs is not None,
            threshold_from=threshold,
            epsilon=refuted,
            canaries=planted,
        ),
        is_member=given.is_member,
        labels=given.target.labels,
        rows=given.rows,
        groups=given.groups,
        guarantee=options.guarantee,
        epsilon=refuted,
        canaries=planted,
    )


def lower_bounds(
    rows: Sequence[AttackRow], is_member: np.ndarray, options: Options
) -> tuple[Any, ...] | None:
    """Which ε the attacks refute, at the δ of the guarantee that is claimed."""
    return bounds.lower_bounds(
        rows,
        is_member,
        delta=_delta(options),
        by_coin=options.by_coin,
        seed=int(options.seed),
    )


def _delta(options: Options) -> float:
    """The δ of a pair that is claimed; a whole curve of them has one for the usual δ, too."""
    return options.guarantee[1] if isinstance(options.guarantee, tuple) else bounds.DELTA


def _head(given: Evidence, fingerprint: str, options: Options, seconds: float) -> Head:
    is_member = given.is_member
    return Head(
        name=options.name,
        model=given.model,
        members=int(is_member.sum()),
        non_members=int((~is_member).sum()),
        classes=given.target.logits.shape[1],
        fingerprint=fingerprint,
        inputs=given.kind,
        prior=float(options.prior),
        date=datetime.now(UTC).date().isoformat(),
        version=__version__,
        seconds=seconds,
        seed=int(options.seed),
        notes=given.notes,
    )


def _in_callers_order(row: AttackRow, canonical: Canonical) -> AttackRow:
    return replace(
        row,
        scores=_undone(row.scores, canonical.order),
        calls=_undone(row.calls, canonical.order),
    )


def _exposure_in_callers_order(exposure: Exposure, canonical: Canonical) -> Exposure:
    return replace(
        exposure,
        found_by=_undone(exposure.found_by, canonical.order),
        above=_undone(exposure.above, canonical.order),
        rank=_undone(exposure.rank, canonical.order),
    )


def _undone(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Values of canonically ordered records, in the order in which the records came."""
    back = np.empty_like(values)
    back[order] = values
    return back
