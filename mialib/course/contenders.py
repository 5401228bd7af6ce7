"""The results of all plans, sorted into arenas: same records, same network, same attacks.

    rings = arenas("quick")                         # {"letters · CNN, 1,000": Arena, …}

**Who is in it.** Each defense by its strengths. Variants that a lesson takes apart (a clamp, a
longer tuning, PAST on top of another defense) stay in their lessons. What can be asked of an arena
is in `mialib.course.arena`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mialib import profiles
from mialib.course.arena import (
    FURTHER_MEMBERS,
    NON_MEMBERS,
    NOTHING,
    UNDEFENDED,
    VALIDATION,
    Arena,
    Contender,
)
from mialib.defenses import DEFENSES
from mialib.errors import check_choice
from mialib.experiments import results
from mialib.experiments.running import own_path, shipped_path
from mialib.results import Results
from mialib.results.tables import RECORDS

PLANS = (
    "past",
    "relaxed",
    "learned",
    "simple",
    "pruned",
    "butterflies",
    "baskets",
    "photographs",
    "resnets",
)


class Kind(NamedTuple):
    """A defense as the arena calls it, and the settings that say how strong it is."""

    name: str
    knobs: tuple[str, ...] = ()


KINDS = {  # by the class; `_kind` knows the special cases
    "Plain": Kind(UNDEFENDED),
    "L1": Kind("ℓ1", ("lam",)),
    "L2": Kind("ℓ2", ("lam",)),
    "Dropout": Kind("dropout", ("p",)),
    "LabelSmoothing": Kind("label smoothing", ("epsilon",)),
    "ConfidencePenalty": Kind("confidence penalty", ("beta",)),
    "EarlyStopping": Kind("early stopping", ("patience",)),
    "Stop": Kind("stopped early", ("after",)),
    "LossGap": Kind("loss gap", ("a",)),
    "Past": Kind("PAST", ("alpha", "lam")),
    "RelaxLoss": Kind("RelaxLoss", ("alpha",)),
    "CRL": Kind("CRL", ("alpha_rce",)),
    "AdvReg": Kind("AdvReg", ("alpha",)),
    "MixupMMD": Kind("Mixup+MMD", ("lam",)),
    "Distillation": Kind("distillation", ("temperature",)),
    "DMP": Kind("DMP", ("source", "temperature")),
    "DPSGD": Kind("DP-SGD", ("sigma",)),
    "IMP": Kind("IMP", ("round",)),
}
UNIFORM_L1 = Kind("uniform ℓ1", ("lam",))
TUNED = Kind("tuned with λ = 0")
IMPROVED_RELAXLOSS = Kind("ImpRelaxLoss", ("alpha_rce",))
ACTIVE_CRL = Kind("CRL (active)", ("alpha_rce", "lam"))
MIXUP = Kind("mixup")
MMD = Kind("MMD", ("lam",))
BUTTERFLY = Kind("butterfly", ("segments", "factors"))
NARROW = Kind("narrow network", ("width",))

# In one line, for readers who start with the arena.
IN_WORDS = {
    "ℓ1": "pulls all weights to zero by equal steps",
    "ℓ2": "pulls large weights to zero",
    "dropout": "switches hidden units off at random while training",
    "label smoothing": "asks for less than full confidence in the label",
    "confidence penalty": "rewards outputs that are spread out",
    "early stopping": "stops when the loss on validation records rises",
    "stopped early": "stops at an epoch that is set beforehand",
    "loss gap": "trains on the gap between members' and non-members' losses",
    "PAST": "tunes a trained model by ℓ1 where the loss gap is sensitive",
    "uniform ℓ1": "tunes a trained model by ℓ1 everywhere: PAST without its focus",
    "tuned with λ = 0": "tunes as long without a penalty: the control",
    "RelaxLoss": "keeps the training loss near a level α",
    "ImpRelaxLoss": "RelaxLoss on normalised logits: CRL without its centers",
    "CRL": "RelaxLoss, and features that gather round a center per class",
    "CRL (active)": "CRL at a weight where its centers take effect",
    "AdvReg": "plays against an attack network while it trains",
    "mixup": "trains on blends of two records",
    "MMD": "makes members' and non-members' outputs alike in distribution",
    "Mixup+MMD": "mixup and MMD together",
    "distillation": "trains a student on the model's soft outputs for the members",
    "DMP": "trains a student on the model's outputs for other records",
    "DP-SGD": "clips each record's gradient and adds noise; has a guarantee, ε",
    "IMP": "prunes the smallest weights, round after round",
    "narrow network": "has fewer weights from the start",
    "butterfly": "has weights in products of sparse factors",
}

SYMBOLS = {
    "lam": "λ",
    "alpha": "α",
    "alpha_rce": "α_rce",
    "epsilon": "ε",
    "beta": "β",
    "temperature": "τ",
    "sigma": "σ",
    "segments": "S",
    "factors": "L",
    "after": "epoch",
    "source": "",
}
FALLING = ("patience", "after", "width")  # knobs of which less is stronger
DATA_NAMES = {"shoppers": "baskets", "purchase100": "baskets", "cifar10": "photographs"}
NETWORK_NAMES = {"cnn": "CNN", "mlp": "MLP", "resnet20": "ResNet-20"}


def arenas(profile: str, *, plans: Sequence[str] = PLANS) -> dict[str, Arena]:
    """Every arena that these plans fill, by its name; the largest comes first.

    Where a plan has no results at this profile, those serve that lessons show instead.
    """
    check_choice("profile", profile, profiles.NAMES)
    rings: dict[tuple, list[_Entry]] = {}
    for plan in plans:
        if _is_there(plan, profile):
            for entry in _entries(results(plan, profile)):
                rings.setdefault(_ring_key(entry), []).append(entry)
    filled: dict[str, Arena] = {}
    for entries in rings.values():
        arena = _arena(_free_name(_ring_name(entries[0]), filled), entries)
        if arena is not None:
            filled[arena.name] = arena
    largest = sorted(filled.values(), key=lambda arena: len(arena.contenders), reverse=True)
    return {arena.name: arena for arena in largest}


def _is_there(plan: str, profile: str) -> bool:
    """Whether `results` finds a file of the plan; not every plan is shipped."""
    return any(
        path(plan, nearest).exists()
        for nearest in (profile, "quick", "cpu")
        for path in (own_path, shipped_path)
    )


def _ring_key(entry: _Entry) -> tuple:
    """What all contenders of an arena have in common."""
    return entry.rows.about[RECORDS], entry.network, entry.rows.attacks


def _free_name(name: str, taken: Mapping[str, Arena]) -> str:
    """The same data and network can have met other records or other attacks."""
    count = 2
    free = name
    while free in taken:
        free = f"{name} ({count})"
        count += 1
    return free


class _Entry(NamedTuple):
    """A setting of a plan that takes part."""

    kind: Kind
    settings: dict[str, Any]
    rows: Results  # all of its trainings, also those that failed
    network: str


def _entries(found: Results) -> list[_Entry]:
    """The settings that take part; a defense is trained as long as most of its settings are."""
    experiments = profiles.load(found.about["profile"]).experiments
    lengths: dict[str, list[int]] = {}
    for one in found.settings():
        settings = one.rows[0].settings
        lengths.setdefault(settings["defense"], []).append(settings["epochs"])
    entries = []
    for one in found.settings():
        settings = one.rows[0].settings
        usual = max(set(lengths[settings["defense"]]), key=lengths[settings["defense"]].count)
        kind = _kind(settings)
        if kind is not None and settings["epochs"] == usual:
            entries.append(_Entry(kind, settings, one, experiments[settings["experiment"]].model))
    return entries


def _kind(settings: Mapping[str, Any]) -> Kind | None:
    """How the arena calls a setting; nothing for a variant that stays in its lesson."""
    defense = settings["defense"]
    if "after" in settings and defense != "Stop":
        return None  # on top of another defense
    if defense in ("Plain", "BestCheckpoint"):
        return _network_kind(settings)
    kind = {
        "Past": _past_kind,
        "CRL": _crl_kind,
        "MixupMMD": _mixup_kind,
        "IMP": _imp_kind,
    }.get(defense, lambda _: KINDS.get(defense))(settings)
    if kind is None or "called" in settings or _is_usual(settings, kind):
        return kind
    return None


def _network_kind(settings: Mapping[str, Any]) -> Kind:
    """Where the network is the defense."""
    if "segments" in settings:
        return BUTTERFLY
    return NARROW if "width" in settings else KINDS["Plain"]


def _past_kind(settings: Mapping[str, Any]) -> Kind:
    if settings["lam"] == 0:
        return TUNED
    return UNIFORM_L1 if settings["alpha"] == 0 else KINDS["Past"]


def _crl_kind(settings: Mapping[str, Any]) -> Kind:
    if settings["lam"] == 0:
        return IMPROVED_RELAXLOSS
    is_active = settings["center_lr"] > DEFENSES["CRL"]().center_lr  # type: ignore[attr-defined]
    return ACTIVE_CRL if is_active else KINDS["CRL"]


def _mixup_kind(settings: Mapping[str, Any]) -> Kind:
    if settings["lam"] == 0:
        return MIXUP
    return MMD if settings["mixup"] == 0 else KINDS["MixupMMD"]


def _imp_kind(settings: Mapping[str, Any]) -> Kind | None:
    """By rounds; before the first it is the undefended model."""
    if "round" not in settings and "called" not in settings:
        return None
    return KINDS["IMP"] if settings.get("round", 1) else KINDS["Plain"]


# What tells one kind from another, or a plan's own data, is no variant.
FREE = {
    "Past": ("lam", "alpha"),
    "CRL": ("lam", "center_lr"),
    "MixupMMD": ("lam", "mixup"),
    "IMP": ("prunings", "share"),
    "DMP": ("share",),
}


def _is_usual(settings: Mapping[str, Any], kind: Kind) -> bool:
    """Whether all settings but its strength are those that the defense has by itself."""
    defense = settings["defense"]
    usual = vars(DEFENSES[defense]())
    free = {*kind.knobs, *FREE.get(defense, ())}
    return all(
        settings[name] == (list(value) if isinstance(value, tuple) else value)
        for name, value in usual.items()
        if name in settings and name not in free
    )


def _ring_name(entry: _Entry) -> str:
    data = entry.rows.about["data"]
    network = NETWORK_NAMES.get(entry.network, entry.network)
    members = int(entry.rows.is_member.sum())
    return f"{DATA_NAMES.get(data, data)} · {network}, {members:,}"


def _arena(name: str, entries: Sequence[_Entry]) -> Arena | None:
    """The contenders of these entries; None where there is no undefended model among them."""
    entries = _once(entries)
    ended = [entry for entry in entries if not all(row.failure for row in entry.rows.rows)]
    bare = [entry for entry in ended if entry.kind.name == UNDEFENDED]
    if not bare:
        return None
    order = list(dict.fromkeys(entry.kind.name for entry in entries))
    ended.sort(key=lambda entry: (order.index(entry.kind.name), _place(entry)))
    rest = [entry for entry in ended if entry.kind.name != UNDEFENDED]
    fastest = _fastest(bare[:1])
    fallen = [entry for entry in entries if entry not in ended]
    return Arena(
        name=name,
        contenders=tuple(_contender(name, one, ended, fastest) for one in (bare[0], *rest)),
        fallen={_named(one, entries): one.rows.rows[0].failure for one in fallen},
        sources=tuple(dict.fromkeys(entry.rows.about["source"] for entry in entries)),
    )


def _once(entries: Iterable[_Entry]) -> list[_Entry]:
    """Plans share settings, such as the undefended model; the one with most trainings stays."""
    known: dict[tuple, _Entry] = {}
    for entry in entries:
        key = (entry.kind.name, *(str(entry.settings.get(knob)) for knob in entry.kind.knobs))
        if key not in known or len(entry.rows) > len(known[key].rows):
            known[key] = entry
    return list(known.values())


def _place(entry: _Entry) -> tuple:
    """By which the settings of a defense are sorted, from weak to strong."""
    values = []
    for knob in entry.kind.knobs:
        value = entry.settings.get(knob, 0)
        values.append(-value if knob in FALLING else value)
    return tuple(values)


def _contender(ring: str, entry: _Entry, everyone: Sequence[_Entry], fastest: float) -> Contender:
    settings = entry.settings
    return Contender(
        defense=entry.kind.name,
        strength=_strength(entry, everyone),
        ring=ring,
        trainings=entry.rows.finished(),
        failed=sum(bool(row.failure) for row in entry.rows.rows),
        times=_fastest(_as_long(entry, everyone)) / fastest,
        extra=_extra(settings),
        is_later=bool(settings["tuned"]),
    )


def _named(entry: _Entry, everyone: Sequence[_Entry]) -> str:
    strength = _strength(entry, everyone)
    return f"{entry.kind.name}, {strength}" if strength else entry.kind.name


def _strength(entry: _Entry, everyone: Sequence[_Entry]) -> str:
    """The knobs that the defense's settings differ by, with their values."""
    family = [other for other in everyone if other.kind == entry.kind]
    words = []
    for knob in entry.kind.knobs:
        if len({str(other.settings.get(knob)) for other in family}) > 1:
            value = entry.settings.get(knob)
            shown = value if isinstance(value, str) else f"{value:g}"
            words.append(f"{SYMBOLS.get(knob, knob)} {shown}".strip())
    return ", ".join(words)


def _as_long(entry: _Entry, everyone: Sequence[_Entry]) -> list[_Entry]:
    """The settings that take as many steps: strength alone costs no time, unless it stops early."""
    family = [other for other in everyone if other.kind == entry.kind]
    if entry.settings["defense"] == "DMP":
        return [other for other in family if other.settings["source"] == entry.settings["source"]]
    if entry.settings["defense"] in ("EarlyStopping", "Stop", "IMP"):
        return [entry]
    return [entry] if entry.kind in (BUTTERFLY, NARROW) else family


def _fastest(entries: Sequence[_Entry]) -> float:
    """Seconds of the fastest training: slower ones had to share their machine."""
    seconds = [row.seconds for entry in entries for row in entry.rows.rows if not row.failure]
    return min(seconds)


def _extra(settings: Mapping[str, Any]) -> str:
    """The records that a setting needs beside its members."""
    defense = settings["defense"]
    if defense in ("EarlyStopping", "BestCheckpoint"):
        return VALIDATION
    if defense == "IMP":
        return VALIDATION if settings["best"] else NOTHING
    if defense == "Past":
        return NON_MEMBERS if settings["lam"] and settings["alpha"] else NOTHING
    if defense == "MixupMMD":
        return NON_MEMBERS if settings["lam"] else NOTHING
    if defense == "DMP":
        return NOTHING if settings["source"] == "synthetic" else NON_MEMBERS
    if defense == "LossGap":
        return FURTHER_MEMBERS
    return NON_MEMBERS if defense == "AdvReg" else NOTHING
