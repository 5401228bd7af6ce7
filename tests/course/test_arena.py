"""The arena: who may meet whom, who leads, two at the same accuracy, and what is written."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from mialib import data, models
from mialib.course import arena, contenders, figures
from mialib.defenses import DEFENSES
from mialib.training import Recipe, fit

RINGS = contenders.arenas("quick")
LETTERS = RINGS["letters · CNN, 1,000"]
VALIDATED = RINGS["letters · CNN, 900"]
RESNETS = RINGS["letters · ResNet-20, 900"]
each_ring = pytest.mark.parametrize("ring", RINGS.values(), ids=list(RINGS))


@each_ring
def test_an_arena_has_one_set_of_records_and_one_undefended_model(ring):
    first = ring.undefended
    assert first.name == "undefended"
    for one in ring.contenders:
        assert one.trainings.about["records"] == first.trainings.about["records"]
        assert one.trainings.attacks == first.trainings.attacks
        assert one.ring == ring.name
    names = [one.name for one in ring.contenders]
    assert len(set(names)) == len(names)
    assert sum(one.defense == "undefended" for one in ring.contenders) == 1


def test_every_kind_of_defense_of_the_course_fights_somewhere():
    there = {name for ring in RINGS.values() for name in ring.defenses}
    wanted = {kind.name for kind in contenders.KINDS.values()}
    wanted |= {"uniform ℓ1", "tuned with λ = 0", "CRL (active)", "MMD", "butterfly"}
    assert wanted <= there


def test_the_same_data_with_other_records_is_another_arena(monkeypatch):
    shipped = contenders.results

    def dealt_anew(plan, profile):
        found = shipped(plan, profile)
        if plan != "learned":
            return found
        return replace(found, about=found.about | {"records": "others"})

    monkeypatch.setattr(contenders, "results", dealt_anew)
    rings = contenders.arenas("quick", plans=["past", "learned"])
    assert sorted(rings) == ["letters · CNN, 1,000", "letters · CNN, 1,000 (2)"]
    one, other = (ring.undefended for ring in rings.values())
    with pytest.raises(ValueError, match="cannot be paired"):
        one.minus(other, "advantage")


def test_variants_and_longer_trainings_stay_in_their_lessons():
    past = LETTERS.defenses["PAST"]
    assert {one.trainings.rows[0].settings["epochs"] for one in past} == {30}
    assert {one.trainings.rows[0].settings["proximal"] for one in past} == {False}
    assert all(one.trainings.rows[0].settings.get("after") is None for one in past)


def test_a_difference_is_that_of_the_results():
    one, other = LETTERS["DMP, all"], LETTERS["AdvReg, α 3"]
    for number, (what, options) in arena.LEAKS.items():
        expected = one.trainings.paired(other.trainings, "highest", what, **options)
        assert one.minus(other, number) == expected
    by_loss = one.trainings.paired(other.trainings, "advantage", "loss")
    assert one.minus(other, "advantage", "loss") == by_loss


def test_another_network_is_another_arena_though_the_records_are_the_same():
    here, there = VALIDATED.undefended, RESNETS.undefended
    assert here.trainings.about["records"] == there.trainings.about["records"]
    with pytest.raises(ValueError, match="cannot be paired"):
        here.minus(there, "advantage")


def test_an_unknown_name_is_answered_with_names():
    with pytest.raises(ValueError, match="DMP, all"):
        LETTERS["DMP, al"]
    with pytest.raises(ValueError, match="AUC"):
        LETTERS.undefended.estimate("AUCC")


# ---------------------------------------------------------------- the front


def test_the_front_is_what_nobody_dominates():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 6, (40, 2)) / 5  # many ties
    expected = [
        not any(
            other[0] >= one[0] and other[1] <= one[1] and (other != one).any() for other in points
        )
        for one in points
    ]
    assert arena.on_front(*points.T).tolist() == expected


@each_ring
def test_a_beaten_contender_has_a_clear_winner_and_an_open_one_has_none(ring):
    states = arena.front(ring)
    by_means = arena.leaders(ring)
    for one in ring.competitors:
        state = states[one.name]
        assert (state == arena.FRONT) == (by_means[one.name] == arena.FRONT)
        clear = [
            other
            for other in ring.competitors
            if other.mean() >= one.mean()
            and other.mean("advantage") <= one.mean("advantage")
            and (other.minus(one, "advantage").high < 0 or other.minus(one, arena.ACCURACY).low > 0)
        ]
        assert (state == arena.BEATEN) == bool(clear)


def test_who_failed_or_learns_from_further_records_does_not_lead():
    states = arena.front(LETTERS)
    assert states["PAST, α 2, λ 0.001"] == arena.UNSTEADY
    assert {states[one.name] for one in LETTERS.defenses["loss gap"]} == {arena.APART}
    assert "PAST, α 2, λ 0.002" in LETTERS.fallen
    without = replace(LETTERS, contenders=tuple(one for one in LETTERS.contenders if one.competes))
    kept = arena.front(without)
    assert all(states[name] == state for name, state in kept.items())


# ---------------------------------------------------------------- halves


def spoiled(ring, records):
    """The same arena with the outcomes of these records shuffled among them, in every row."""
    rng = np.random.default_rng(0)
    order = np.arange(len(ring.undefended.trainings.is_member))
    order[records] = rng.permutation(order[records])
    some = []
    for one in ring.contenders:
        shift = np.random.default_rng(len(one.name)).integers(0, 2, len(order)).astype(bool)
        changed = one.trainings.correct ^ (shift & records)
        table = replace(one.trainings, correct=changed, ranks=one.trainings.ranks[:, :, order])
        some.append(replace(one, trainings=table))
    return replace(ring, contenders=tuple(some))


def test_halves_share_no_record_and_are_alike():
    is_member = LETTERS.undefended.trainings.is_member
    first = arena.half_of(is_member)
    assert first[is_member].sum() == first[~is_member].sum() == 500
    choosing, measuring = LETTERS.halves
    one, other = (half["DMP, all"].mean() for half in (choosing, measuring))
    assert (one + other) / 2 == pytest.approx(LETTERS["DMP, all"].mean())
    assert one != other


@pytest.mark.parametrize("name", ["PAST, α 1, λ 0.002", "DMP, all"])
def test_the_half_that_measures_chooses_nothing(name):
    second = ~arena.half_of(LETTERS.undefended.trainings.is_member)
    other = spoiled(LETTERS, second)
    for defense in ("RelaxLoss", "uniform ℓ1", "Mixup+MMD"):
        here = arena.matched(LETTERS, name, defense)
        there = arena.matched(other, name, defense)
        assert (here.other.name, here.gap) == (there.other.name, there.gap)
        assert here.minus(arena.ACCURACY) != there.minus(arena.ACCURACY)
    chosen = [[one.one and one.one.name for one in arena.advice(ring, promise=0.05)]
              for ring in (LETTERS, other)]  # fmt: skip
    assert chosen[0] == chosen[1]
    first = arena.half_of(LETTERS.undefended.trainings.is_member)
    moved = [
        one.one and one.one.name for one in arena.advice(spoiled(LETTERS, first), promise=0.05)
    ]
    assert moved != chosen[0]


def test_a_match_leaks_least_among_those_within_reach():
    match = arena.matched(LETTERS, "PAST, α 1, λ 0.002", "uniform ℓ1", within=0.02)
    choosing, _ = LETTERS.halves
    sought = choosing["PAST, α 1, λ 0.002"].mean()
    family = choosing.defenses["uniform ℓ1"]
    close = {one.name: one.mean("advantage") for one in family if abs(one.mean() - sought) <= 0.02}
    assert match.is_close
    assert match.other.name == min(close, key=close.__getitem__)
    assert len(close) > 1


def test_without_anybody_within_reach_the_nearest_is_named_as_not_close():
    match = arena.matched(LETTERS, "DP-SGD, σ 3", "RelaxLoss")
    assert not match.is_close
    assert match.other.name == "RelaxLoss, α 1.5"
    assert match.gap < -0.3
    with pytest.raises(ValueError, match="no other setting"):
        arena.matched(LETTERS, "mixup", "mixup")


# ---------------------------------------------------------------- advice and price


@each_ring
@pytest.mark.parametrize("promise", [0.0, 0.05, 1.0])
def test_advice_keeps_the_promise_and_serves_the_need(ring, promise):
    choosing, _ = ring.halves
    floor = choosing.undefended.mean() - promise
    for one in arena.advice(ring, promise=promise):
        serving = [
            other
            for other in choosing.competitors
            if other.mean() >= floor and arena.NEEDS[one.need](other)
        ]
        if not serving:
            assert one.one is None
            continue
        leaks = {other.name: other.mean("advantage") for other in serving}
        assert leaks[one.one.name] == min(leaks.values())
        bare = ring.halves[1].undefended
        if len(one.one.trainings) == len(bare.trainings):  # Otherwise common seeds alone count.
            moved = one.leak.value - bare.estimate("advantage").value
            assert one.change.value == pytest.approx(moved)


def needs_non_members(defense) -> bool:
    """Whether the training refuses to run without them."""
    records = data.load("digits", size=60)
    model = models.build("mlp", shape=records.x.shape[1:], classes=10, widths=(8,), seed=0)
    fit(model, records, Recipe(20, 30, lr=0.1), device="cpu")  # A teacher must know something.
    try:
        fit(model, records, Recipe(1, 30, lr=0.01), defense=defense, device="cpu")
    except ValueError as error:
        return "inference set" in str(error)
    return False


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("AdvReg", {"alpha": 1.0}),
        ("LossGap", {"a": 0.3}),
        ("MixupMMD", {"lam": 0.0, "mixup": 1.0}),
        ("MixupMMD", {"lam": 3.0, "mixup": 1.0}),
        ("DMP", {"source": "all"}),
        ("DMP", {"source": "selected"}),
        ("Past", {"lam": 1e-3, "alpha": 1.5}),
        ("Past", {"lam": 0.0, "alpha": 1.5}),
        ("RelaxLoss", {"alpha": 1.0}),
        ("CRL", {"alpha_rce": 1.0, "lam": 0.1}),
        ("Dropout", {"p": 0.5}),
        ("LabelSmoothing", {"epsilon": 0.1}),
    ],
)
def test_the_extra_records_are_those_that_a_training_asks_for(name, settings):
    extra = contenders._extra({"defense": name, **settings})
    asks = extra in (arena.NON_MEMBERS, arena.FURTHER_MEMBERS)
    assert asks == needs_non_members(DEFENSES[name](**settings))


def test_the_undefended_model_takes_its_own_time():
    assert all(ring.undefended.times == 1 for ring in RINGS.values())
    rounds = [one.times for one in RESNETS.defenses["IMP"]]
    assert rounds == sorted(rounds)
    assert len({one.times for one in LETTERS.defenses["RelaxLoss"]}) == 1


# ---------------------------------------------------------------- files and figures


def test_a_table_has_a_line_for_each_contender_and_overwrites_nothing(tmp_path):
    path = arena.to_csv(RESNETS, tmp_path / "new" / "arena.csv", numbers=["advantage"])
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(RESNETS.contenders)
    states = arena.front(RESNETS)
    for line, one in zip(lines, RESNETS.contenders, strict=True):
        assert float(line["accuracy"]) == one.estimate().value
        assert float(line["highest advantage, high"]) == one.estimate("advantage").high
        assert line["by advantage"] == states[one.name]
        assert line["extra records"] == one.extra
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        arena.to_csv(VALIDATED, path, numbers=["advantage"])
    assert path.read_bytes() == before
    arena.to_csv(VALIDATED, path, numbers=["advantage"], overwrite=True)
    assert path.read_bytes() != before
    with pytest.raises(ValueError, match=r"\.csv"):
        arena.to_csv(RESNETS, tmp_path / "arena.txt")


def test_a_plane_shows_the_front_and_who_is_picked():
    picture = figures.plane(LETTERS, defense="DMP", strength=0.0)
    leaders = [name for name, state in arena.leaders(LETTERS).items() if state == arena.FRONT]
    assert picture.numbers["leaders"] == len(leaders)
    for name in leaders:
        assert picture.numbers[f"{name} leak"] == LETTERS[name].mean("advantage")
        assert name in picture.alt
    assert picture.numbers["picked accuracy"] == LETTERS["DMP, all"].mean()
    last = figures.plane(LETTERS, defense="DMP", strength=1.0)
    assert last.numbers["picked accuracy"] == LETTERS["DMP, synthetic"].mean()
    with pytest.raises(ValueError, match="strength"):
        figures.plane(LETTERS, defense="DMP", strength=2.0)


@each_ring
@pytest.mark.parametrize("number", arena.LEAKS)
def test_every_end_of_the_sliders_gives_a_plane(ring, number):
    for attack in (arena.STRONGEST, "correctness", "gradient ℓ2"):
        for defense in ("all", "PAST", "butterfly"):
            picture = figures.plane(ring, number=number, attack=attack, defense=defense)
            is_there = attack == arena.STRONGEST or attack in ring.attacks
            assert ("leaders" in picture.numbers) == is_there
            assert not any(np.isnan(value) for value in picture.numbers.values())


def test_what_was_not_asked_or_did_not_meet_is_said():
    assert "rotation (PAST) was not asked" in figures.plane(RESNETS, attack="rotation (PAST)").alt
    assert "did not meet" in figures.duel(RESNETS, "PAST", "RelaxLoss").alt
    assert "did not meet" in figures.duel(LETTERS, "mixup", "mixup").alt


def test_a_duel_says_who_met_and_how_near_they_were():
    picture = figures.duel(LETTERS, "DP-SGD", "RelaxLoss", strength=1.0)
    match = arena.matched(LETTERS, "DP-SGD, σ 3", "RelaxLoss")
    assert picture.alt.startswith("Not well matched")
    assert picture.numbers["gap"] == match.gap
    names = "DP-SGD, σ 3  minus  RelaxLoss, α 1.5"
    assert picture.numbers[f"{names} highest advantage"] == match.minus("advantage").value
