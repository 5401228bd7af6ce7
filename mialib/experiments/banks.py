"""Banks of reference models at any profile: train them through the store, ask them, keep answers.

    make("cpu", data="cifar10.npz")         # trains what is missing, and writes one's own bank
    found = references("cpu")               # one's own bank, or the shipped one
    found.bank, found.source                # the source is a sentence

    mialib bank --profile cpu               # the same from a shell

A profile says which models there are: its experiments "bank", "bank fast" for the same models by
fewer epochs and larger batches, and "bank tuned" for the first ones tuned by PAST. Each record is
held by half of the models. Every model is asked about each record, about the record shifted by one
pixel to the left and to the right where it is an image, and about a population of records that no
model holds. Logits are kept as float16.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mialib import data, profiles, query, runs, shipped
from mialib.bank import Bank, without_views
from mialib.configurations import Configuration
from mialib.data.records import Records
from mialib.errors import check_choice
from mialib.foreign import read_json
from mialib.signals import phi_from_logits
from mialib.splits import dealt_records, in_out_mask
from mialib.store import Store, home, write_json

POPULATION = 400
SHIFTS = ((0, -1), (0, 1))
MADE_ON_THE_SPOT = ("letters", "shoppers")  # of which another seed makes others
# What the shipped banks are called, by profile and experiment.
SHIPPED = {
    ("quick", "bank"): "letters",
    ("quick", "bank tuned"): "letters tuned",
    ("cpu", "bank"): "photographs",
    ("cpu", "bank tuned"): "photographs tuned",
}
EXPERIMENTS = ("bank", "bank fast", "bank tuned")


class Found(NamedTuple):
    """A bank, and a sentence on where it comes from."""

    bank: Bank
    source: str


def references(profile: str, experiment: str = "bank", *, views: bool = False) -> Found:
    """One's own bank of this profile, or the shipped one; where there is neither, that of `quick`.

    With `views`, also the models' answers on shifted records.
    """
    for nearest in dict.fromkeys((profile, "quick")):
        found = references_at(nearest, experiment, asked=profile, views=views)
        if found is not None:
            return found
    raise ValueError(f"There is no bank at {profile!r}. Make one: {_command(profile, experiment)}")


def references_at(
    profile: str, experiment: str = "bank", *, asked: str | None = None, views: bool = False
) -> Found | None:
    """One's own bank of just this profile, or the shipped one, or nothing.

    `asked` is the profile at which the sentence on a shipped bank says how to train one's own.
    """
    check_choice("profile", profile, profiles.NAMES)
    check_choice("experiment of a bank", experiment, EXPERIMENTS)
    own = own_path(profile, experiment)
    if own.exists():
        return Found(_read(own, views), f"Your own reference models at profile `{profile}`.")
    path = shipped.FOLDER / "bank" / f"{SHIPPED.get((profile, experiment))}.npz"
    if not path.exists():
        return None
    command = _command(asked or profile, experiment)
    sentence = f"Shipped reference models of profile `{profile}`; `{command}` trains yours."
    return Found(_read(path, views), sentence)


def _command(profile: str, experiment: str) -> str:
    command = f"mialib bank --profile {profile}"
    return command if experiment == "bank" else f'{command} --experiment "{experiment}"'


def _read(path: Path, views: bool) -> Bank:
    bank = Bank.read(path)
    return bank if views else without_views(bank)


def own_path(profile: str, experiment: str = "bank") -> Path:
    """Where one's own bank lies."""
    return home() / "banks" / profile / f"{experiment}.npz"


def sides(
    profile: str, experiment: str = "bank", *, data: str | None = None
) -> list[Configuration]:
    """The configuration of every model; `data` takes other records than the profile's."""
    experiments = profiles.load(profile).experiments
    check_choice("experiment of a bank", experiment, EXPERIMENTS)
    chosen = experiments[check_choice(f"experiment of {profile!r}", experiment, experiments)]
    if data is not None:
        chosen = chosen.but(data=data)
    models = chosen.split_options["models"]
    return [chosen.but(side=f"model-{k}") for k in range(models)]


def make(
    profile: str,
    experiment: str = "bank",
    *,
    data: str | None = None,
    jobs: int | None = None,
    store: Store | None = None,
) -> Path:
    """Train what is missing, ask every model, and write one's own bank; returns where it lies.

    A file beside it says what it was made of.
    """
    models = sides(profile, experiment, data=data)
    trained = runs.get_all(models, jobs=jobs, store=store)
    path = own_path(profile, experiment)
    path.parent.mkdir(parents=True, exist_ok=True)
    bank_of(models[0], trained).save(path)
    write_json(path.with_suffix(".json"), about(trained, path))
    return path


def bank_of(configuration: Configuration, trained: list[runs.Run]) -> Bank:
    """The answers of all models."""
    dealt = dealt_to_models(configuration)
    fresh = population_of(configuration)
    device = query.pick_device(configuration.device)
    questions = [_Question.about(records, device) for records in (dealt, fresh)]
    on_dealt, on_fresh = _answers(trained, questions)
    seed = configuration.split_seed
    return Bank(
        logits=on_dealt.logits,
        labels=dealt.y,
        is_member=in_out_mask(len(dealt), len(trained), seed=seed),
        views=on_dealt.views,
        population=Bank(
            logits=on_fresh.logits,
            labels=fresh.y,
            is_member=np.zeros((len(trained), len(fresh)), bool),
            views=on_fresh.views,
        ),
        # Records that somebody published are not handed on.
        x=dealt.x if configuration.data in MADE_ON_THE_SPOT else None,
    )


def dealt_to_models(configuration: Configuration) -> Records:
    """The records that models hold or do not hold, without those that are set aside to tune on."""
    records = configuration.records()
    inference = configuration.split_options.get("inference", 0.0)
    return records.take(np.arange(dealt_records(len(records), inference)))


def population_of(configuration: Configuration) -> Records:
    """Records that no model holds, nor tunes on."""
    name = configuration.data
    seed = configuration.data_seed + 1
    if name in MADE_ON_THE_SPOT:
        return data.load(name, size=POPULATION, seed=seed)
    everything = data.load(name)
    left = np.flatnonzero(~np.isin(everything.index, configuration.records().index))
    if len(left) < POPULATION:
        raise ValueError(
            f"A population needs {POPULATION} records that no model holds, and {everything.name} "
            f"has {len(left)} left. Choose a smaller `size`."
        )
    drawn = np.random.default_rng(seed).choice(left, POPULATION, replace=False)
    return everything.take(drawn)


class _Question(NamedTuple):
    """What every model is asked: the records and, if they are images, their shifted copies."""

    labels: np.ndarray
    copies: list[Tensor]  # on the device, where they stay for all models

    @classmethod
    def about(cls, records: Records, device: torch.device) -> _Question:
        asked = [records]
        if records.x.ndim == 4:
            asked += [query.shifted(records, *by) for by in SHIFTS]
        return cls(records.y, [query.to_device(one, device)[0] for one in asked])

    def answered_by(self, network: nn.Module) -> _Answers:
        """One model's answers. All copies are asked before the device is waited for, once."""
        on_device = [query.logits_of(network, x) for x in self.copies]
        as_it_is, *shifted = torch.stack(on_device).cpu().numpy()
        if not shifted:
            return _Answers(as_it_is.astype(np.float16), None)
        phi = np.stack([phi_from_logits(logits, self.labels) for logits in shifted])
        return _Answers(as_it_is.astype(np.float16), phi.astype(np.float16))


class _Answers(NamedTuple):
    """As they are kept; those of several models have one more axis, the first."""

    logits: np.ndarray  # (n, classes)
    views: np.ndarray | None  # φ on the shifted records: (views, n); none where there are none


def _answers(trained: Sequence[runs.Run], questions: Sequence[_Question]) -> list[_Answers]:
    """All models' answers to each question; one network at a time is in memory."""
    by_model = []
    for run in trained:
        network = run.load_model()
        by_model.append([question.answered_by(network) for question in questions])
    return [_stacked(answers) for answers in zip(*by_model, strict=True)]


def _stacked(answers: Sequence[_Answers]) -> _Answers:
    views = [one.views for one in answers if one.views is not None]
    return _Answers(
        logits=np.stack([one.logits for one in answers]),
        views=np.stack(views) if views else None,
    )


def about(trained: list[runs.Run], path: Path) -> dict[str, Any]:
    """What a reader of the bank's file must know of it."""
    accuracies = [run.metrics["accuracy"] for run in trained]
    provenances = [read_json(run.folder / "provenance.json") for run in trained]
    described = read_json(trained[0].folder / "config.json")
    facts = {
        "configuration": described | {"side": f"model-0 … model-{len(trained) - 1}"},
        "views": ["as it is", *(f"shifted by {by} pixels (down, right)" for by in SHIFTS)],
        "population": f"{POPULATION} records, held by no model",
        "accuracy": {
            part: float(np.mean([one[part] for one in accuracies])) for part in ("train", "test")
        },
        "seconds": sum(one["seconds"] for one in provenances),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    kept = ("mialib", "code_version", "torch", "numpy", "records")
    return facts | {name: provenances[0][name] for name in kept}
