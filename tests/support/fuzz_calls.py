"""A valid call of every public function, class and method: what the fuzzer starts from.

Every entry makes its call anew, because some of them change what they are given. What is large and
never changed is made once, in the cached functions at the top.
"""

import os
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from fuzz_verdict import Call
from mialib import (
    attacks,
    audits,
    augment,
    bank,
    clusters,
    configurations,
    data,
    defenses,
    epsilon,
    errors,
    estimates,
    experiments,
    exposure,
    foreign,
    metrics,
    models,
    origins,
    papers,
    precision,
    profiles,
    query,
    runs,
    sensitivity,
    shipped,
    signals,
    splits,
    store,
)
from mialib.configurations import Configuration
from mialib.data import Records
from mialib.defenses.advreg import Attacker
from mialib.experiments import rows, running
from mialib.results import repeats
from mialib.results.tables import as_ranks
from mialib.sparsity import butterfly, chains, magnitude
from mialib.training import Recipe, fit
from small_results import results as made_up_results

RNG_SEED = 0


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


@cache
def digits() -> Records:
    return data.load("digits", size=60)


def part(start: int, stop: int) -> Records:
    return digits().take(np.arange(start, stop))


def members() -> Records:
    return part(0, 20)


def others() -> Records:
    return part(20, 40)


def side() -> splits.Side:
    return splits.Side(members(), others(), inference=part(40, 50), validation=part(50, 60))


def model() -> models.Network:
    return models.build("mlp", shape=digits().x.shape[1:], classes=10, widths=(8,))


def image_model() -> models.Network:
    return models.build("resnet20", shape=(1, 8, 8), classes=10, width=4)


def held_model() -> models.Network:
    held = model()
    magnitude.hold(held, magnitude.smallest_pruned(held, 0.5))
    return held


def recipe() -> Recipe:
    return Recipe(epochs=1, batch_size=10, lr=0.05)


@cache
def scores() -> np.ndarray:
    return np.random.default_rng(RNG_SEED).normal(size=40)


@cache
def truth() -> np.ndarray:
    return np.arange(40) < 20


def guarantee() -> epsilon.Guarantee:
    return epsilon.promised(1.0, 1e-5)


@cache
def small_bank() -> bank.Bank:
    """Eight models, forty records, and a population."""
    rng = np.random.default_rng(RNG_SEED)
    labels = rng.integers(3, size=40)
    is_member = splits.in_out_mask(40, 8)
    logits = rng.normal(size=(8, 40, 3)) + 2 * is_member[:, :, None] * np.eye(3)[labels]
    population = bank.Bank(
        rng.normal(size=(8, 30, 3)), rng.integers(3, size=30), np.zeros((8, 30), bool)
    )
    return bank.Bank(logits, labels, is_member, population=population)


@cache
def asked() -> signals.Signals:
    """A model's signals with every column, and a population."""
    rng = np.random.default_rng(RNG_SEED)
    extra = {
        "noise": rng.normal(size=(40, 3)),
        "rotations": rng.random((40, 3)) < 0.5,
        "shifts": rng.random((40, 5)) < 0.5,
        "gradient_l1": rng.random(40),
        "gradient_l2": rng.random(40),
        "inputs": rng.normal(size=(40, 2)),
        "boundary": rng.random(40),
        "trajectory": rng.random((40, 3)),
    }
    one = small_bank().signals(0)
    population = replace(one.population, extra={"inputs": rng.normal(size=(30, 2))})
    return signals.Signals(
        one.logits, one.labels, one.is_member, extra=extra, population=population
    )


@cache
def played() -> attacks.Game:
    return attacks.game(small_bank(), target=0)


def quick_suite() -> attacks.Suite:
    return attacks.suite(asked(), shadow=asked()).only(["loss", "entropy"])


def is_of_references(name: str) -> bool:
    return attacks.Need.REFERENCES in attacks.ATTACKS[name].needs


@cache
def fitted(name: str) -> attacks.FittedAttack:
    return attacks.ATTACKS[name].fit(played().shadow if is_of_references(name) else asked())


def target_of(name: str) -> signals.Signals:
    return played().target if is_of_references(name) else asked().public()


@cache
def configuration() -> Configuration:
    return Configuration(
        data="digits", size=120, model="mlp", options={"widths": (8,)}, recipe=recipe()
    )


@cache
def finished() -> runs.Run:
    return runs.get(configuration(), store=run_store())


def run_store() -> store.Store:
    return store.Store(folder() / "runs")


@cache
def gradient() -> dict[str, torch.Tensor]:
    return sensitivity.gap_gradient(model(), members(), others())


@cache
def saved_signals() -> Path:
    path = folder() / "signals.npz"
    asked().save(path)
    return path


@cache
def saved_bank() -> Path:
    path = folder() / "bank.npz"
    small_bank().save(path)
    return path


@cache
def saved_json() -> Path:
    path = folder() / "facts.json"
    store.write_json(path, {"a": 1})
    return path


@cache
def saved_table() -> Path:
    path = folder() / "table.csv"
    path.write_text("label,loss\n0,0.5\n1,1.5\n", encoding="utf-8")
    return path


@cache
def saved_archive() -> Path:
    path = folder() / "archive.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(saved_table(), "table.csv")
    return path


def logits(n: int = 6) -> torch.Tensor:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(0))


def labels(n: int = 6) -> torch.Tensor:
    return torch.arange(n) % 3


def area(fpr, tpr, threshold):
    return np.trapezoid(tpr, fpr)


@cache
def risk() -> exposure.Risk:
    return exposure.risk(np.stack([scores(), scores()]), np.stack([truth(), ~truth()]), fpr=0.1)


@cache
def table() -> experiments.Results:
    """Two settings with two seeds each."""
    settings = [{"defense": "Plain"}] * 2 + [{"defense": "Past", "lam": 0.1}] * 2
    found = np.stack([scores(), -scores()])
    return made_up_results(np.stack([found] * 4), truth(), settings=settings)


def one_setting() -> experiments.Results:
    return table().find(defense="Plain")


def table_with_facts() -> experiments.Results:
    rows = tuple(replace(row, facts={"weights": {"gini": 0.5}}) for row in table().rows)
    return replace(table(), rows=rows)


@cache
def small_plan() -> experiments.Plan:
    return experiments.load("baskets", "quick")


@cache
def plan_store() -> store.Store:
    """The first row of the plan is there, and says that it failed: that takes no time."""
    there = store.Store(folder() / "plan")
    plan = small_plan()
    planned = plan.rows(seeds=1)[0]
    key = rows.row_key(planned, plan.attacks, plan.facts)
    failed = rows.failed_row(planned, plan.attacks, "it was never trained")
    there.get(key, lambda place: rows.write_rows([failed], place))
    return there


@cache
def saved_results() -> Path:
    """A home with results in it."""
    home = folder() / "home"
    with mock.patch.dict(os.environ, MIALIB_HOME=str(home)):
        path = running.own_path("past", "quick")
    table().save(path)
    return path


def results_at_home(name: str, profile: str) -> experiments.Results:
    home = saved_results().parents[2]
    with mock.patch.dict(os.environ, MIALIB_HOME=str(home)):
        return experiments.results(name, profile)


def small_store() -> store.Store:
    return store.Store(folder() / "store")


def write_a_file(place: Path) -> None:
    (place / "file").write_text("done")


CHAIN = chains.smallest(8, 8, 2)


def audit_options() -> dict:
    return {
        "attacks": ["loss", "correctness"],
        "prior": 0.1,
        "policy": {"advantage": 0.5},
        "name": "mine",
        "guarantee": (1.0, 1e-5),
        "by_coin": True,
        "seed": 3,
    }


@cache
def report() -> audits.Audit:
    return audits.audit.from_outputs(
        logits=asked().logits, labels=asked().labels, is_member=truth(), attacks=["loss"]
    )


def outputs_file() -> Path:
    path = folder() / "outputs.npz"
    replace(asked(), extra={}).save(path)
    return path


def connected_nowhere(scheduler, *, store):
    """Only what is refused before a cluster is asked: starting one takes seconds."""
    with suppress(clusters.ClusterError), clusters.connected(scheduler, store=store):
        pass


CALLS = {
    # Arrays.
    "mialib.errors.check_choice": lambda: Call(
        errors.check_choice, "colour", "red", ["red", "blue"]
    ),
    "mialib.errors.check_range": lambda: Call(errors.check_range, 0, 10, value=5),
    "mialib.errors.check_flag": lambda: Call(errors.check_flag, online=True),
    "mialib.errors.plain_number": lambda: Call(errors.plain_number, 3),
    "mialib.errors.plain_tuple": lambda: Call(errors.plain_tuple, [1, 2]),
    "mialib.errors.as_path": lambda: Call(errors.as_path, "file.npz"),
    "mialib.errors.as_array": lambda: Call(errors.as_array, [1.0, 2.0]),
    "mialib.epsilon.p_value": lambda: Call(
        epsilon.p_value, 30, guesses=40, records=100, epsilon=0.5, delta=1e-5
    ),
    "mialib.epsilon.lower_bound": lambda: Call(
        epsilon.lower_bound, 30, guesses=40, records=100, delta=1e-5, level=0.95
    ),
    "mialib.epsilon.one_run": lambda: Call(
        epsilon.one_run, scores(), truth(), direction="clearing", halvings=2
    ),
    "mialib.epsilon.highest_tpr": lambda: Call(epsilon.highest_tpr, 0.1, epsilon=1.0, delta=1e-5),
    "mialib.epsilon.largest_advantage": lambda: Call(epsilon.largest_advantage, 1.0, 1e-5),
    "mialib.epsilon.least_epsilon": lambda: Call(epsilon.least_epsilon, 0.5, 0.1, 1e-5),
    "mialib.epsilon.Guarantee": lambda: Call(epsilon.Guarantee, [1.0, 2.0], [1e-3, 1e-5]),
    "mialib.epsilon.Guarantee.epsilon": lambda: Call(guarantee().epsilon, 1e-5),
    "mialib.epsilon.Guarantee.highest_tpr": lambda: Call(guarantee().highest_tpr, 0.1),
    "mialib.epsilon.Guarantee.share_used": lambda: Call(guarantee().share_used, [0.5], [0.1]),
    "mialib.epsilon.Guarantee.contradiction": lambda: Call(
        guarantee().contradiction, epsilon.one_run(scores(), truth())
    ),
    "mialib.epsilon.Guarantee.agreement": lambda: Call(
        guarantee().agreement, epsilon.one_run(scores(), truth())
    ),
    "mialib.epsilon.as_guarantee": lambda: Call(epsilon.as_guarantee, (1.0, 1e-5)),
    "mialib.epsilon.promised": lambda: Call(epsilon.promised, 1.0, 1e-5),
    "mialib.epsilon.dp_sgd": lambda: Call(epsilon.dp_sgd, sigma=1.0, sample_rate=0.1, steps=100),
    "mialib.metrics.check": lambda: Call(metrics.check, scores(), truth()),
    "mialib.metrics.roc": lambda: Call(metrics.roc, scores(), truth()),
    "mialib.metrics.auc": lambda: Call(metrics.auc, scores(), truth()),
    "mialib.metrics.rates": lambda: Call(metrics.rates, scores(), truth(), threshold=0.0),
    "mialib.metrics.advantage": lambda: Call(metrics.advantage, scores(), truth(), threshold=0.0),
    "mialib.metrics.best_advantage": lambda: Call(metrics.best_advantage, scores(), truth()),
    "mialib.metrics.tpr_at_fpr": lambda: Call(
        metrics.tpr_at_fpr, scores(), truth(), fpr=0.1, draws=20
    ),
    "mialib.metrics.resolvable": lambda: Call(metrics.resolvable, 0.1, 100),
    "mialib.metrics.evaluate": lambda: Call(
        metrics.evaluate, scores(), truth(), threshold=0.0, groups=np.arange(40) % 10, draws=20
    ),
    "mialib.metrics.clopper_pearson": lambda: Call(metrics.clopper_pearson, 3, 10),
    "mialib.metrics.bootstrap": lambda: Call(metrics.bootstrap, scores(), truth(), area, draws=20),
    "mialib.metrics.ppv": lambda: Call(metrics.ppv, 0.5, 0.1, prior=0.2),
    "mialib.metrics.p1": lambda: Call(metrics.p1, 0.7, 0.3),
    "mialib.metrics.defense_level": lambda: Call(metrics.defense_level, 60.0),
    "mialib.metrics.significant": lambda: Call(metrics.significant, [0.1, 0.2, 0.3], [0.5, 0.6]),
    "mialib.metrics.weighted_roc": lambda: Call(
        metrics.weighted_roc, scores(), *repeats.record_counts(truth())
    ),
    "mialib.estimates.words": lambda: Call(estimates.words, estimates.Estimate(0.1, 0.05, 0.2)),
    "mialib.exposure.agreement": lambda: Call(
        exposure.agreement, {"a": truth(), "b": ~truth()}, truth()
    ),
    "mialib.exposure.risk": lambda: Call(
        exposure.risk, np.stack([scores(), scores()]), np.stack([truth(), ~truth()]), fpr=0.1
    ),
    "mialib.exposure.Risk.most_exposed": lambda: Call(risk().most_exposed, 3),
    "mialib.shipped.find": lambda: Call(shipped.find, "bank", "bank", "letters"),
    "mialib.papers.numbers": lambda: Call(
        papers.numbers, "past", item="past-table-1", method="Past", settings=False
    ),
    "mialib.papers.find": lambda: Call(
        papers.find, "sparsity", item="sparsity-quoted", dataset="cifar10", method="Plain"
    ),
    # What strangers hand over.
    "mialib.foreign.opened": lambda: Call(foreign.opened, saved_table()),
    "mialib.foreign.check_unpacked": lambda: Call(foreign.check_unpacked, 10, 5, limit=20),
    "mialib.foreign.read_arrays": lambda: Call(
        foreign.read_arrays, saved_signals(), only={"logits"}, limit=10**6
    ),
    "mialib.foreign.read_table": lambda: Call(
        foreign.read_table, saved_table(), texts=("group",), limit=10**6
    ),
    "mialib.foreign.read_json": lambda: Call(foreign.read_json, saved_json()),
    "mialib.foreign.parse_json": lambda: Call(foreign.parse_json, '{"a": 1}'),
    "mialib.foreign.parse_toml": lambda: Call(foreign.parse_toml, "a = 1"),
    "mialib.foreign.check_weights": lambda: Call(
        foreign.check_weights, finished().folder / "weights.safetensors"
    ),
    "mialib.foreign.members_of": lambda: Call(foreign.members_of, saved_archive(), limit=10**6),
    "mialib.foreign.in_sentence": lambda: Call(foreign.in_sentence, "the loss of <b>"),
    "mialib.foreign.in_spreadsheet": lambda: Call(foreign.in_spreadsheet, "=1+1"),
    "mialib.foreign.in_markdown": lambda: Call(foreign.in_markdown, "<b>loss</b>"),
    "mialib.foreign.shown": lambda: Call(foreign.shown, "loss.npz"),
    # Signals and banks.
    "mialib.signals.Signals": lambda: Call(
        signals.Signals,
        asked().logits,
        asked().labels,
        asked().is_member,
        np.arange(40),
        {"noise": asked().logits},
        asked().population,
    ),
    "mialib.signals.Signals.from_probabilities": lambda: Call(
        signals.Signals.from_probabilities, asked().probabilities(), asked().labels
    ),
    "mialib.signals.Signals.column": lambda: Call(asked().column, "noise"),
    "mialib.signals.Signals.take": lambda: Call(asked().take, np.arange(10)),
    "mialib.signals.Signals.save": lambda: Call(asked().save, folder() / "again.npz"),
    "mialib.signals.Signals.read": lambda: Call(signals.Signals.read, saved_signals()),
    "mialib.signals.pool": lambda: Call(signals.pool, [asked(), asked()]),
    "mialib.signals.phi_from_logits": lambda: Call(
        signals.phi_from_logits, asked().logits, asked().labels
    ),
    "mialib.signals.loss_gap": lambda: Call(signals.loss_gap, asked()),
    "mialib.signals.check_labels": lambda: Call(signals.check_labels, asked().labels, 3),
    "mialib.signals.check_not_probabilities": lambda: Call(
        signals.check_not_probabilities, asked().logits
    ),
    "mialib.signals.as_rows": lambda: Call(signals.as_rows, np.arange(3), 10),
    "mialib.bank.Bank": lambda: Call(
        bank.Bank, small_bank().logits, small_bank().labels, small_bank().is_member
    ),
    "mialib.bank.Bank.signals": lambda: Call(small_bank().signals, 0),
    "mialib.bank.Bank.take": lambda: Call(small_bank().take, np.arange(4), np.arange(10)),
    "mialib.bank.Bank.save": lambda: Call(small_bank().save, folder() / "again.npz"),
    "mialib.bank.Bank.read": lambda: Call(bank.Bank.read, saved_bank()),
    "mialib.bank.without_views": lambda: Call(bank.without_views, bank.load("letters")),
    "mialib.splits.dealt_records": lambda: Call(splits.dealt_records, 100, inference=0.2),
    "mialib.bank.load": lambda: Call(bank.load, "letters"),
    # Records and splits.
    "mialib.data.load": lambda: Call(data.load, "digits", size=30),
    "mialib.data.is_here": lambda: Call(data.is_here, "digits"),
    "mialib.data.records.short_name": lambda: Call(data.short_name, "photos/cifar10.npz"),
    "mialib.data.records.Records": lambda: Call(
        Records, "own", members().x, members().y, 10, (0.5,), (2.0,), np.arange(20)
    ),
    "mialib.data.records.Records.take": lambda: Call(members().take, np.arange(5)),
    "mialib.data.records.Records.is_of_one_dataset_with": lambda: Call(
        members().is_of_one_dataset_with, others()
    ),
    "mialib.splits.Side": lambda: Call(
        splits.Side, members(), others(), inference=part(40, 50), validation=part(50, 60)
    ),
    "mialib.splits.six_parts": lambda: Call(splits.six_parts, digits(), validation=0.1),
    "mialib.splits.halves": lambda: Call(splits.halves, digits(), shadows=2, inference=0.2),
    "mialib.splits.quarters": lambda: Call(splits.quarters, digits(), validation=0.1),
    "mialib.splits.in_out": lambda: Call(splits.in_out, digits(), models=4),
    "mialib.splits.coins": lambda: Call(splits.coins, digits(), models=2),
    "mialib.splits.plant": lambda: Call(splits.plant, members(), 10, kind="noise"),
    "mialib.splits.Canaries.among": lambda: Call(splits.plant(members(), 10).among, others()),
    "mialib.splits.in_out_mask": lambda: Call(splits.in_out_mask, 40, 8),
    "mialib.splits.split": lambda: Call(splits.split, "six_parts", digits(), validation=0.1),
    # Asking a model.
    "mialib.query.check_model": lambda: Call(query.check_model, model()),
    "mialib.query.check_records": lambda: Call(query.check_records, members=members()),
    "mialib.query.check_side": lambda: Call(query.check_side, side()),
    "mialib.query.pick_device": lambda: Call(query.pick_device, "cpu"),
    "mialib.query.device_of": lambda: Call(query.device_of, model()),
    "mialib.query.to_device": lambda: Call(query.to_device, members(), torch.device("cpu")),
    "mialib.query.eval_mode": lambda: Call(query.eval_mode, model()),
    "mialib.query.logits_of": lambda: Call(
        query.logits_of, model(), torch.from_numpy(members().scaled())
    ),
    "mialib.query.predict": lambda: Call(query.predict, model(), members()),
    "mialib.query.collect": lambda: Call(query.collect, model(), side()),
    "mialib.query.members_then_nonmembers": lambda: Call(query.members_then_nonmembers, side()),
    "mialib.query.ask": lambda: Call(
        query.ask,
        model(),
        side(),
        rotations=(-4, 4),
        shifts=((0, 1),),
        noise=True,
        gradient=True,
        inputs=True,
        boundary=True,
        checkpoints=[model()],
    ),
    "mialib.query.ask_about": lambda: Call(query.ask_about, model(), members()),
    "mialib.query.extra_columns": lambda: Call(
        query.extra_columns, model(), members(), rotations=(-4, 4), shifts=((0, 1),)
    ),
    "mialib.query.rotation_degrees": lambda: Call(query.rotation_degrees, 4),
    "mialib.query.l1_shifts": lambda: Call(query.l1_shifts, 1),
    "mialib.query.rotated": lambda: Call(query.rotated, members(), 4.0),
    "mialib.query.shifted": lambda: Call(query.shifted, members(), 0, 1),
    "mialib.query.noise_response": lambda: Call(query.noise_response, model(), members(), draws=2),
    "mialib.query.gradient_norms": lambda: Call(query.gradient_norms, model(), members()),
    "mialib.query.margins": lambda: Call(query.margins, model(), members()),
    "mialib.query.boundary_distances": lambda: Call(
        query.boundary_distances, model(), digits(), rounds=1, probes=2, steps=2
    ),
    "mialib.query.loss_trajectory": lambda: Call(query.loss_trajectory, [model()], members()),
    # Networks and sparsity.
    "mialib.models.Network": lambda: Call(
        models.Network, torch.nn.Flatten(), torch.nn.Linear(4, 2)
    ),
    "mialib.models.build": lambda: Call(
        models.build, "mlp", shape=(1, 8, 8), classes=10, seed=0, widths=(8,)
    ),
    "mialib.sparsity.chains.square": lambda: Call(chains.square, 8),
    "mialib.sparsity.chains.parameters": lambda: Call(chains.parameters, CHAIN),
    "mialib.sparsity.chains.chains": lambda: Call(chains.chains, 8, 8, 2),
    "mialib.sparsity.chains.smallest": lambda: Call(chains.smallest, 8, 8, 2),
    "mialib.sparsity.chains.check": lambda: Call(chains.check, CHAIN, rows=8, columns=8),
    "mialib.sparsity.chains.check_factors": lambda: Call(chains.check_factors, CHAIN),
    "mialib.sparsity.butterfly.ButterflyLayer": lambda: Call(
        butterfly.ButterflyLayer, CHAIN, bias=True
    ),
    "mialib.sparsity.butterfly.ButterflyLinear": lambda: Call(butterfly.ButterflyLinear, CHAIN),
    "mialib.sparsity.butterfly.ButterflyConv2d": lambda: Call(
        butterfly.ButterflyConv2d, CHAIN, kernel_size=(1, 1), stride=(1, 1)
    ),
    "mialib.sparsity.butterfly.convert": lambda: Call(butterfly.convert, image_model(), 2),
    "mialib.sparsity.butterfly.butterfly": lambda: Call(
        butterfly.butterfly, torch.nn.Linear(8, 8), 2
    ),
    "mialib.sparsity.butterfly.projected": lambda: Call(
        butterfly.projected, torch.randn(8, 8), CHAIN
    ),
    "mialib.sparsity.magnitude.layers": lambda: Call(magnitude.layers, model()),
    "mialib.sparsity.magnitude.masks": lambda: Call(magnitude.masks, model()),
    "mialib.sparsity.magnitude.smallest_pruned": lambda: Call(
        magnitude.smallest_pruned, model(), 0.5
    ),
    "mialib.sparsity.magnitude.hold": lambda: Call(
        magnitude.hold, model(), magnitude.smallest_pruned(model(), 0.5)
    ),
    "mialib.sparsity.magnitude.release": lambda: Call(magnitude.release, held_model()),
    "mialib.sparsity.magnitude.remaining": lambda: Call(magnitude.remaining, model()),
    "mialib.augment.crop_and_flip": lambda: Call(
        augment.crop_and_flip, torch.ones(4, 1, 8, 8), generator=torch.Generator()
    ),
    "mialib.augment.draws": lambda: Call(augment.draws, 4, generator=torch.Generator(), padding=2),
    # Training.
    "mialib.training.Recipe": lambda: Call(Recipe, 2, 10, 0.05),
    "mialib.training.Recipe.optimizer": lambda: Call(recipe().optimizer, model()),
    "mialib.training.Recipe.factor_at": lambda: Call(recipe().factor_at, 1),
    "mialib.training.Defense.with_strength": lambda: Call(defenses.L1().with_strength, 0.1),
    "mialib.training.fit": lambda: Call(
        fit,
        model(),
        members(),
        recipe(),
        inference=others(),
        validation=part(50, 60),
        build_initial_model=model,
        device="cpu",
        on_epoch=lambda network, epoch: None,
    ),
    "mialib.sensitivity.weights": lambda: Call(sensitivity.weights, model()),
    "mialib.sensitivity.kinds": lambda: Call(sensitivity.kinds, model()),
    "mialib.sensitivity.mean_gradient": lambda: Call(sensitivity.mean_gradient, model(), members()),
    "mialib.sensitivity.gap_gradient": lambda: Call(
        sensitivity.gap_gradient, model(), members(), others()
    ),
    "mialib.sensitivity.adaptive_weight": lambda: Call(sensitivity.adaptive_weight, torch.rand(10)),
    "mialib.sensitivity.flat": lambda: Call(sensitivity.flat, gradient()),
    "mialib.sensitivity.concentration": lambda: Call(sensitivity.concentration, gradient()),
    "mialib.sensitivity.migration": lambda: Call(sensitivity.migration, gradient(), gradient()),
    "mialib.sensitivity.gini": lambda: Call(sensitivity.gini, np.arange(1.0, 9.0)),
    "mialib.sensitivity.hoyer": lambda: Call(sensitivity.hoyer, np.arange(1.0, 9.0)),
    # Defenses.
    "mialib.defenses.named": lambda: Call(defenses.named, "Past", lam=1e-3, alpha=1.0),
    "mialib.defenses.simple.L1": lambda: Call(defenses.L1, 0.1),
    "mialib.defenses.simple.L2": lambda: Call(defenses.L2, 0.1),
    "mialib.defenses.simple.Dropout": lambda: Call(defenses.Dropout, 0.5),
    "mialib.defenses.simple.Dropout.batch_loss": lambda: Call(
        defenses.Dropout().batch_loss, model(), *query.to_device(members(), torch.device("cpu"))
    ),
    "mialib.defenses.simple.LabelSmoothing": lambda: Call(defenses.LabelSmoothing, 0.1),
    "mialib.defenses.simple.LabelSmoothing.batch_loss": lambda: Call(
        defenses.LabelSmoothing().batch_loss, logits(), labels()
    ),
    "mialib.defenses.simple.ConfidencePenalty": lambda: Call(defenses.ConfidencePenalty, 0.1),
    "mialib.defenses.simple.ConfidencePenalty.batch_loss": lambda: Call(
        defenses.ConfidencePenalty().batch_loss, logits(), labels()
    ),
    "mialib.defenses.simple.LossGap": lambda: Call(defenses.LossGap, 0.5),
    "mialib.defenses.simple.LossGap.batch_loss": lambda: Call(
        defenses.LossGap().batch_loss, torch.tensor(0.5), torch.tensor(1.0)
    ),
    "mialib.defenses.stopping.EarlyStopping": lambda: Call(defenses.EarlyStopping, 3),
    "mialib.defenses.stopping.Stop": lambda: Call(defenses.Stop, 3),
    "mialib.defenses.past.Past": lambda: Call(defenses.Past, 1e-3, 1.5),
    "mialib.defenses.past.Past.importance": lambda: Call(
        defenses.Past().importance, torch.rand(10)
    ),
    "mialib.defenses.past.Past.pull": lambda: Call(defenses.Past().pull, torch.rand(10)),
    "mialib.defenses.relaxloss.RelaxLoss": lambda: Call(defenses.RelaxLoss, 1.0),
    "mialib.defenses.relaxloss.RelaxLoss.batch_loss": lambda: Call(
        defenses.RelaxLoss().batch_loss, logits(), labels(), epoch=1
    ),
    "mialib.defenses.crl.CRL": lambda: Call(defenses.CRL, 1.0),
    "mialib.defenses.crl.CRL.batch_loss": lambda: Call(
        defenses.CRL().batch_loss, torch.ones(6, 4), logits(), labels(), torch.rand(3, 4), epoch=1
    ),
    "mialib.defenses.advreg.AdvReg": lambda: Call(defenses.AdvReg, 1.0),
    "mialib.defenses.crl.CRL.relaxed_center_loss": lambda: Call(
        defenses.CRL().relaxed_center_loss,
        torch.ones(6, 4),
        logits(),
        labels(),
        torch.rand(3, 4),
        epoch=1,
    ),
    "mialib.defenses.crl.CRL.relaxed_cross_entropy": lambda: Call(
        defenses.CRL().relaxed_cross_entropy, logits(), labels(), epoch=1
    ),
    "mialib.defenses.advreg.AdvReg.batch_loss": lambda: Call(
        defenses.AdvReg().batch_loss, logits(), labels(), Attacker(3)
    ),
    "mialib.defenses.mixup_mmd.MixupMMD": lambda: Call(defenses.MixupMMD, 1.0),
    "mialib.defenses.distillation.Distillation": lambda: Call(defenses.Distillation, 1.0),
    "mialib.defenses.distillation.Distillation.batch_loss": lambda: Call(
        defenses.Distillation().batch_loss, logits(), logits()
    ),
    "mialib.defenses.distillation.DMP": lambda: Call(defenses.DMP, 1.0),
    "mialib.defenses.dpsgd.DPSGD": lambda: Call(defenses.DPSGD, 1.0),
    "mialib.defenses.pruning.Pruning": lambda: Call(defenses.Pruning, 0.2),
    "mialib.defenses.pruning.IMP": lambda: Call(defenses.IMP, 2),
    "mialib.defenses.butterfly.Butterfly": lambda: Call(defenses.Butterfly, 1, 2),
    # Configurations, runs and the store.
    "mialib.configurations.Configuration": lambda: Call(
        Configuration,
        data="digits",
        size=120,
        split_options={},
        model="mlp",
        options={"widths": (8,)},
        recipe=recipe(),
        defense=defenses.L1(),
        before=(configurations.Stage(recipe(), defenses.L2()),),
    ),
    "mialib.configurations.Stage": lambda: Call(configurations.Stage, recipe(), defenses.L1()),
    "mialib.configurations.Configuration.but": lambda: Call(
        configuration().but,
        size=60,
        side="shadow",
        seed=1,
        defense=defenses.L1(),
        recipe=recipe(),
        options={"widths": (4,)},
    ),
    "mialib.configurations.Configuration.defended": lambda: Call(
        configuration().defended, defenses.Past(), recipe()
    ),
    "mialib.configurations.Configuration.then": lambda: Call(
        configuration().then, defenses.Past(), recipe()
    ),
    "mialib.configurations.Configuration.seed_for": lambda: Call(configuration().seed_for, "fit"),
    "mialib.configurations.imp": lambda: Call(configurations.imp, configuration(), 2, share=0.2),
    "mialib.configurations.own_code": lambda: Call(configurations.own_code, configuration()),
    "mialib.configurations.describe": lambda: Call(configurations.describe, configuration()),
    "mialib.configurations.parse": lambda: Call(
        configurations.parse, configurations.describe(configuration())
    ),
    "mialib.configurations.parse_defense": lambda: Call(
        configurations.parse_defense, configurations.describe(configuration())["defense"]
    ),
    "mialib.origins.code_hash": lambda: Call(origins.code_hash, area),
    "mialib.clusters.connected": lambda: Call(connected_nowhere, "here", store=run_store()),
    "mialib.clusters.counting_folder": lambda: Call(clusters.counting_folder, run_store()),
    "mialib.runs.get": lambda: Call(runs.get, configuration(), store=run_store()),
    "mialib.runs.get_all": lambda: Call(runs.get_all, [configuration()], store=run_store(), jobs=1),
    "mialib.runs.Run.ask": lambda: Call(finished().ask, rotations=(-4, 4), gradient=True),
    "mialib.store.Store": lambda: Call(store.Store, folder() / "store"),
    "mialib.store.Store.find": lambda: Call(small_store().find, "key"),
    "mialib.store.Store.get": lambda: Call(small_store().get, "key", write_a_file),
    "mialib.store.write_json": lambda: Call(store.write_json, folder() / "a.json", {"a": 1}),
    "mialib.profiles.load": lambda: Call(profiles.load, "quick"),
    "mialib.store.as_store": lambda: Call(store.as_store, small_store()),
    "mialib.runs.missing": lambda: Call(runs.missing, configuration(), store=run_store()),
    "mialib.precision.resolve": lambda: Call(precision.resolve, "auto", torch.device("cpu")),
    "mialib.precision.has_bfloat16": lambda: Call(precision.has_bfloat16, torch.device("cpu")),
    # Experiments.
    "mialib.experiments.plans.load": lambda: Call(experiments.load, "baskets", "quick"),
    "mialib.experiments.plans.Plan.rows": lambda: Call(small_plan().rows, seeds=1, data="digits"),
    "mialib.experiments.running.finished": lambda: Call(
        experiments.finished, "baskets", "quick", seeds=1, data="shoppers", store=plan_store()
    ),
    "mialib.experiments.running.missing": lambda: Call(
        experiments.missing, small_plan(), small_plan().rows(seeds=1), plan_store()
    ),
    "mialib.experiments.running.results": lambda: Call(results_at_home, "past", "quick"),
    "mialib.results.tables.Results": lambda: Call(
        experiments.Results,
        table().rows,
        table().attacks,
        table().ranks,
        table().thresholds,
        table().losses,
        table().correct,
        table().is_member,
        {},
    ),
    "mialib.results.tables.Results.where": lambda: Call(table().where, defense="Past", lam=0.1),
    "mialib.results.tables.Results.find": lambda: Call(table().find, defense="Past", lam=0.1),
    "mialib.results.tables.Results.seeds": lambda: Call(table().seeds, np.array([0, 1])),
    "mialib.results.tables.Results.take": lambda: Call(table().take, np.arange(30)),
    "mialib.results.tables.Results.joined": lambda: Call(table().joined, table()),
    "mialib.results.tables.Results.advantage": lambda: Call(one_setting().advantage, "loss"),
    "mialib.results.tables.Results.auc": lambda: Call(one_setting().auc, "loss"),
    "mialib.results.tables.Results.between": lambda: Call(
        one_setting().between, "entropy", "loss", "tpr", fpr=0.1
    ),
    "mialib.results.tables.Results.by_seed": lambda: Call(one_setting().by_seed, "auc", "loss"),
    "mialib.results.tables.Results.tpr": lambda: Call(one_setting().tpr, "loss", fpr=0.1),
    "mialib.results.tables.Results.highest": lambda: Call(one_setting().highest, "tpr", fpr=0.1),
    "mialib.results.tables.Results.mean": lambda: Call(one_setting().mean, "tpr", fpr=0.1),
    "mialib.results.tables.Results.estimate": lambda: Call(
        one_setting().estimate, "tpr", "loss", fpr=0.1
    ),
    "mialib.results.tables.Results.draws": lambda: Call(
        one_setting().draws, "tpr", "loss", fpr=0.1
    ),
    "mialib.results.tables.Results.paired": lambda: Call(
        one_setting().paired, table().find(defense="Past"), "tpr", "loss", fpr=0.1
    ),
    "mialib.results.tables.Results.defense_level": lambda: Call(
        one_setting().defense_level, "loss"
    ),
    "mialib.results.tables.Results.fact": lambda: Call(table_with_facts().fact, "weights", "gini"),
    "mialib.results.tables.Results.roc": lambda: Call(
        one_setting().roc, "loss", np.linspace(0, 1, 11)
    ),
    "mialib.results.tables.Results.save": lambda: Call(table().save, folder() / "table.npz"),
    "mialib.results.tables.Results.read": lambda: Call(experiments.Results.read, saved_results()),
    "mialib.results.tables.Results.read_about": lambda: Call(
        experiments.Results.read_about, saved_results()
    ),
    # Attacks.
    "mialib.attacks.augmentation.Augmentation.bits": lambda: Call(
        attacks.Augmentation("rotations").bits, asked()
    ),
    "mialib.attacks.neural.NeuralPast.features": lambda: Call(
        attacks.NeuralPast().features, asked()
    ),
    "mialib.attacks.base.FromFunction.fit": lambda: Call(
        attacks.FromFunction(lambda shadow, target: target.loss()).fit, asked()
    ),
    "mialib.attacks.reference.ReferenceAttack.fit": lambda: Call(
        attacks.LiRA().fit, played().shadow, practice=2
    ),
    "mialib.attacks.lira.LiRA.scores": lambda: Call(
        attacks.LiRA().scores, played().shadow, played().target
    ),
    "mialib.attacks.rmia.RMIA.scores": lambda: Call(
        attacks.RMIA().scores, played().shadow, played().target
    ),
    "mialib.attacks.percentile.AttackR.scores": lambda: Call(
        attacks.AttackR().scores, played().shadow, played().target
    ),
    "mialib.attacks.percentile.AttackP.scores": lambda: Call(
        attacks.AttackP().scores, played().shadow, played().target
    ),
    "mialib.attacks.percentile.AttackP.fit": lambda: Call(
        attacks.AttackP().fit, played().shadow, practice=2
    ),
    "mialib.attacks.augmentation.Augmentation.fit": lambda: Call(
        attacks.Augmentation("rotations").fit, asked()
    ),
    "mialib.attacks.discriminator.Discriminator.fit": lambda: Call(
        attacks.Discriminator().fit, asked()
    ),
    "mialib.attacks.neural.NeuralCrl.fit": lambda: Call(attacks.NeuralCrl().fit, asked()),
    "mialib.attacks.neural.NeuralPast.fit": lambda: Call(attacks.NeuralPast().fit, asked()),
    "mialib.attacks.threshold.GradientNorm.fit": lambda: Call(attacks.GradientNorm().fit, asked()),
    "mialib.attacks.threshold.BoundaryDistance.fit": lambda: Call(
        attacks.BoundaryDistance().fit, asked()
    ),
    "mialib.attacks.trajectory.LossTrajectory.fit": lambda: Call(
        attacks.LossTrajectory().fit, asked()
    ),
    "mialib.attacks.quantile.QMIA.fit": lambda: Call(attacks.QMIA().fit, asked()),
    "mialib.attacks.threshold.MetricThreshold.fit": lambda: Call(
        attacks.MetricThreshold().fit, asked()
    ),
    "mialib.attacks.registry.Suite.fit": lambda: Call(quick_suite().fit, shadow=asked()),
    "mialib.attacks.registry.Suite.scores": lambda: Call(
        quick_suite().scores, asked().public(), shadow=asked()
    ),
    "mialib.attacks.registry.Suite.calls": lambda: Call(
        quick_suite().calls, asked().public(), shadow=asked()
    ),
    "mialib.attacks.augmentation.Augmentation": lambda: Call(attacks.Augmentation, "rotations"),
    "mialib.attacks.discriminator.Discriminator": lambda: Call(attacks.Discriminator, 0),
    "mialib.attacks.neural.NeuralPast": lambda: Call(attacks.NeuralPast, "softmax", 0),
    "mialib.attacks.neural.NeuralCrl": lambda: Call(attacks.NeuralCrl, 0),
    "mialib.attacks.threshold.MetricThreshold": lambda: Call(attacks.MetricThreshold, "loss"),
    "mialib.attacks.threshold.GradientNorm": lambda: Call(attacks.GradientNorm, "l2"),
    "mialib.attacks.threshold.BoundaryDistance": lambda: Call(attacks.BoundaryDistance, False),
    "mialib.attacks.trajectory.LossTrajectory": lambda: Call(attacks.LossTrajectory, 0),
    "mialib.attacks.lira.LiRA": lambda: Call(attacks.LiRA, True),
    "mialib.attacks.quantile.QMIA": lambda: Call(attacks.QMIA, 0.01),
    "mialib.attacks.rmia.RMIA": lambda: Call(attacks.RMIA, False, 1.0, 0.3),
    "mialib.attacks.base.FromFunction": lambda: Call(
        attacks.FromFunction, lambda shadow, target: target.loss()
    ),
    "mialib.attacks.game.game": lambda: Call(attacks.game, small_bank(), target=0, seed=0),
    "mialib.attacks.game.Game.fit": lambda: Call(played().fit, attacks.LiRA()),
    "mialib.attacks.game.Game.scores": lambda: Call(played().scores, attacks.LiRA()),
    "mialib.attacks.game.Game.calls": lambda: Call(played().calls, attacks.AttackP()),
    "mialib.attacks.game.Game.play": lambda: Call(played().play, attacks.LiRA()),
    "mialib.attacks.game.scores_per_target": lambda: Call(
        attacks.scores_per_target, small_bank(), attacks.LiRA(), targets=2
    ),
    "mialib.attacks.lira.lira_scores": lambda: Call(
        attacks.lira_scores, scores(), np.tile(scores(), (8, 1)), small_bank().is_member
    ),
    "mialib.attacks.rmia.rmia_scores": lambda: Call(
        attacks.rmia_scores, np.exp(scores()), np.exp(scores())
    ),
    "mialib.attacks.rmia.likelihood_ratios": lambda: Call(
        attacks.likelihood_ratios, scores(), np.tile(scores(), (8, 1)), small_bank().is_member
    ),
    "mialib.attacks.percentile.attack_r_scores": lambda: Call(
        attacks.attack_r_scores, scores(), np.tile(scores(), (8, 1)), small_bank().is_member
    ),
    "mialib.attacks.threshold.best_threshold": lambda: Call(
        attacks.best_threshold, scores(), truth()
    ),
    "mialib.attacks.threshold.loss_score": lambda: Call(attacks.loss_score, asked()),
    "mialib.attacks.registry.suite": lambda: Call(
        attacks.suite, asked(), shadow=asked(), references=None
    ),
    "mialib.attacks.registry.Suite.only": lambda: Call(
        attacks.suite(asked(), shadow=asked()).only, ["loss"]
    ),
    "mialib.audits.auditing.Auditor.from_model": lambda: Call(
        audits.audit.from_model,
        model(),
        members(),
        others(),
        shadows=[(model(), members(), others())],
        train=lambda records, seed: model(),
        trainings=4,
        jobs=1,
        population=part(40, 50),
        groups=np.arange(40) % 2,
        **audit_options(),
    ),
    "mialib.audits.auditing.Auditor.from_outputs": lambda: Call(
        audits.audit.from_outputs,
        labels=asked().labels,
        is_member=truth(),
        logits=asked().logits,
        inputs=scores()[:, None],
        groups=np.arange(40) % 2,
        **audit_options(),
    ),
    "mialib.audits.auditing.Auditor.from_file": lambda: Call(
        audits.audit.from_file, outputs_file(), **audit_options()
    ),
    "mialib.audits.auditing.Auditor.from_bank": lambda: Call(
        audits.audit.from_bank,
        small_bank(),
        target=1,
        groups=np.arange(40) % 2,
        **audit_options(),
    ),
    "mialib.audits.findings.Findings.records": lambda: Call(report().records, 5),
    "mialib.audits.report.Audit.check": lambda: Call(
        report().check, end="low", advantage=0.9, auc=1.0
    ),
    "mialib.audits.report.Audit.save": lambda: Call(
        report().save, folder() / "audit.html", records=True
    ),
    "mialib.audits.report.Audit.compare": lambda: Call(report().compare, report()),
    "mialib.attacks.registry.Suite.without": lambda: Call(
        attacks.suite(asked(), shadow=asked()).without, ["loss"]
    ),
}

# Every attack's scores go through this, though it is no door.
CALLS["as_ranks"] = lambda: Call(as_ranks, scores(), 0.5)

# Every network with its own options.
NETWORKS = {
    "mlp": {"widths": (8,)},
    "cnn": {"width": 4, "hidden": 8, "norm": "none"},
    "resnet20": {"width": 4, "norm": "batch", "segments": 1, "factors": 2},
    "resnet18": {"stem": "cifar", "norm": "batch", "pretrained": False},
    "vgg11": {"norm": "batch", "dropout": 0.0},
    "densenet121": {},  # without `pretrained`, which would download
    "densenet3": {"growth": 2, "layers": 2},
    "googlenet": {"norm": "batch", "dropout": 0.0},
}
for _name in NETWORKS:
    CALLS[f"models.build({_name!r}, …)"] = lambda name=_name: Call(
        models.build, name, shape=(3, 32, 32), classes=10, **NETWORKS[name]
    )

# Every attack, fitted on what it is fitted on, and asked for scores and calls.
for _name in attacks.ATTACKS:
    _fit = f"ATTACKS[{_name!r}].fit"
    CALLS[f"{_fit}(…).score"] = lambda name=_name: Call(fitted(name).score, target_of(name))
    CALLS[f"{_fit}(…).calls"] = lambda name=_name: Call(fitted(name).calls, target_of(name))
