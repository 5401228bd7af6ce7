"""Every number of a setting follows from ranks, seed by seed; and files that are what they say."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mialib import metrics
from mialib.results.tables import RECORDS, Results, as_ranks
from small_results import results

N = 60
IS_MEMBER = np.arange(2 * N) % 3 == 0
SETTINGS = [{"defense": "Plain"}] * 3 + [{"defense": "Past", "lam": 0.1, "alpha": 1.5}] * 3


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    rounded = rng.normal(size=(6, 2, 2 * N)).round(1)  # with ties
    return rounded + 0.5 * IS_MEMBER


@pytest.fixture(scope="module")
def both(scores):
    rng = np.random.default_rng(1)
    correct = rng.random((6, 2 * N)) < 0.6
    losses = rng.random((6, 2 * N))
    return results(scores, IS_MEMBER, settings=SETTINGS, correct=correct, losses=losses)


@given(
    st.lists(st.sampled_from([-2.0, -1e-9, 0.0, 1e-9, 0.3, 5.0]), min_size=4, max_size=30),
    st.sampled_from([-3.0, -1e-9, 0.0, 0.1, 0.3, 9.0]),
)
def test_ranks_decide_as_scores_do(values, threshold):
    scores = np.array(values)
    ranks, place = as_ranks(scores, threshold)
    assert np.array_equal(ranks >= place, scores >= threshold)
    assert np.array_equal(
        np.sign(ranks[:, None] - ranks.astype(int)), np.sign(scores[:, None] - scores)
    )


def test_the_numbers_are_the_mean_over_seeds_of_those_of_the_scores(both, scores):
    plain = both.find(defense="Plain")
    of_loss = scores[:3, 0]
    expected = {
        "auc": [metrics.auc(one, IS_MEMBER) for one in of_loss],
        "advantage": [metrics.advantage(one, IS_MEMBER, threshold=0.5) for one in of_loss],
        "tpr": [metrics.tpr_at_fpr(one, IS_MEMBER, 0.05).value for one in of_loss],
    }
    assert plain.auc("loss").value == pytest.approx(np.mean(expected["auc"]), abs=1e-12)
    assert plain.by_seed("auc", "loss") == pytest.approx(expected["auc"], abs=1e-12)
    assert plain.advantage("loss").value == pytest.approx(np.mean(expected["advantage"]), abs=1e-12)
    assert plain.tpr("loss", fpr=0.05).value == pytest.approx(np.mean(expected["tpr"]), abs=1e-12)
    right = both.correct[:3, ~IS_MEMBER].mean(axis=1)
    assert plain.accuracy().value == pytest.approx(right.mean())
    gap = both.losses[:3, ~IS_MEMBER].mean(axis=1, dtype=float) - both.losses[:3, IS_MEMBER].mean(
        axis=1, dtype=float
    )
    assert plain.loss_gap().value == pytest.approx(gap.mean(), abs=1e-6)


def test_highest_and_mean_are_over_attacks_in_every_seed(both, scores):
    plain = both.find(defense="Plain")
    table = np.array(
        [[metrics.advantage(a, IS_MEMBER, threshold=0.5) for a in row] for row in scores[:3]]
    )
    assert plain.highest().value == pytest.approx(table.max(axis=1).mean())
    assert plain.mean().value == pytest.approx(table.mean())
    areas = np.array([[metrics.auc(a, IS_MEMBER) for a in row] for row in scores[:3]])
    assert plain.highest("auc").value == pytest.approx(areas.max(axis=1).mean())
    p1 = [
        metrics.p1(right, max(highest, 0))
        for right, highest in zip(
            both.correct[:3, ~IS_MEMBER].mean(axis=1), table.max(axis=1), strict=True
        )
    ]
    assert plain.p1().value == pytest.approx(np.mean(p1))


def test_no_interval_reaches_beyond_what_is_possible():
    perfect = np.where(IS_MEMBER, 1.0, 0.0) + np.zeros((2, 1, 2 * N))
    perfect[1, 0, 0] = 0.0
    estimate = results(perfect, IS_MEMBER).auc("loss")
    assert estimate.value < estimate.high == 1.0


def test_a_roc_has_a_line_for_each_seed(both, scores):
    fprs = np.array([0.0, 0.05, 0.3, 1.0])
    curves = both.find(defense="Past").roc("entropy", fprs)
    expected = [
        [metrics.roc(one, IS_MEMBER).tpr[metrics.roc(one, IS_MEMBER).fpr <= f].max() for f in fprs]
        for one in scores[3:, 1]
    ]
    assert np.allclose(curves, expected)


def test_choosing(both):
    assert len(both.where(defense="Past", lam=0.1)) == 3
    assert len(both.where(lam=None)) == 3, "a setting that a row does not have is None there"
    assert [len(one) for one in both.settings()] == [3, 3]
    assert [row.seed for row in both.find(defense="Plain").rows] == [0, 1, 2]
    assert len(both.seeds([0, 2]).find(defense="Plain")) == 2
    assert both.take(IS_MEMBER | (np.arange(2 * N) < 20)).is_member.sum() == IS_MEMBER.sum()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"defence": "Past"}, "did you mean 'defense'"),
        ({"defense": "Past", "alpha": 9}, "found 0. The rows have"),
        ({}, "found 2"),
    ],
)
def test_what_is_not_one_setting_is_said(both, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        both.find(**settings)


def test_a_number_belongs_to_one_setting(both):
    with pytest.raises(ValueError, match="belongs to one setting, found 2"):
        both.highest()
    with pytest.raises(ValueError, match="did you mean 'loss'"):
        both.find(defense="Plain").auc("los")
    with pytest.raises(ValueError, match="not resolvable with 80 non-members"):
        both.find(defense="Plain").tpr("loss", fpr=0.001)
    with pytest.raises(ValueError, match="There is no number"):
        both.find(defense="Plain").estimate("area")


def test_what_cannot_be_paired_is_refused(both, scores):
    plain = both.find(defense="Plain")
    elsewhere = results(scores[:3], ~IS_MEMBER)
    with pytest.raises(ValueError, match="different members"):
        plain.paired(elsewhere, "auc", "loss")
    with pytest.raises(ValueError, match="different members"):
        plain.joined(elsewhere)
    with pytest.raises(ValueError, match="no seed in common"):
        plain.seeds([0]).paired(plain.seeds([1]), "auc", "loss")


def test_pairs_go_by_seed_whatever_the_order(both):
    plain = both.find(defense="Plain")
    turned = plain._chosen([2, 0, 1])
    difference = turned.paired(plain, "auc", "loss")
    assert difference.triple == (0, 0, 0)


def test_a_file_holds_everything(both, tmp_path):
    both.save(tmp_path / "there" / "r.npz")
    again = Results.read(tmp_path / "there" / "r.npz")
    assert again.rows == both.rows
    assert again.attacks == both.attacks
    for name in ("ranks", "thresholds", "losses", "correct", "is_member"):
        assert np.array_equal(getattr(again, name), getattr(both, name))
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["r.npz"]


def test_what_a_file_is_about_is_read_without_its_scores(both, tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    both.save(path)
    unpacked = []
    monkeypatch.setattr("mialib.results.tables.unpacked", unpacked.append)
    assert Results.read_about(path) == both.about
    assert unpacked == []
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"r.npz is not a whole results file .* mialib run"):
        Results.read_about(path)


def test_a_file_that_is_not_whole_or_not_ours_is_said(both, tmp_path):
    path = tmp_path / "r.npz"
    both.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"r.npz is not a whole results file .* mialib run"):
        Results.read(path)
    np.savez(path, x=np.arange(3))
    with pytest.raises(ValueError, match="not a whole results file"):
        Results.read(path)


def test_a_file_of_another_version_is_said(both, tmp_path, monkeypatch):
    monkeypatch.setattr("mialib.results.tables.VERSION", 99)
    both.save(tmp_path / "r.npz")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="has version 99, and this mialib reads 1 and 2"):
        Results.read(tmp_path / "r.npz")


def test_a_full_disk_leaves_the_old_file(both, tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    both.save(path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        both.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["r.npz"]


def test_arrays_of_another_shape_are_refused(both):
    with pytest.raises(ValueError, match="need thresholds of shape"):
        Results(
            both.rows,
            both.attacks,
            both.ranks,
            both.thresholds[:-1],
            both.losses,
            both.correct,
            both.is_member,
            {},
        )


def failed(both, number):
    """The same results, whose row of this number has failed."""
    rows = list(both.rows)
    rows[number] = replace(rows[number], failure="a loss became NaN")
    return replace(both, rows=tuple(rows))


def test_a_training_that_failed_has_no_number(both):
    """Its scores are zeros: it would pass for a defense that gives nothing away."""
    first, _ = failed(both, 1).settings()
    with pytest.raises(ValueError, match=r"1 of 3 trainings failed \(a loss became NaN\)"):
        first.highest()
    assert len(first.finished()) == 2
    assert first.finished().highest().value > 0
    assert len(first.roc("loss", np.array([0.1]))) == 2


def test_what_two_plans_share_counts_once(both):
    plain = both.find(defense="Plain")
    assert len(plain.joined(both)) == 6
    assert plain.joined(both).find(defense="Plain").auc("loss") == plain.auc("loss")
    with pytest.raises(TypeError, match="Expected other Results, found 3"):
        plain.joined(3)


def test_records_that_were_dealt_otherwise_are_not_compared(both):
    """As many members, in the same places, and yet they are others."""
    here = replace(both, about={RECORDS: "a"})
    there = replace(both, about={RECORDS: "b"})
    with pytest.raises(ValueError, match="different members"):
        here.joined(there)
    with pytest.raises(ValueError, match="different members"):
        here.find(defense="Plain").paired(there.find(defense="Past"), "auc", "loss")


def test_more_records_than_two_bytes_can_rank(tmp_path):
    """Purchase100 whole has 65,774 members and non-members of the target."""
    n = 2**16 + 100
    scores = np.random.default_rng(0).permutation(n).astype(float)
    is_member = np.arange(n) % 2 == 0
    many = results(scores[None, None], is_member, thresholds=n / 2)
    many.save(tmp_path / "many.npz")
    again = Results.read(tmp_path / "many.npz")
    assert np.array_equal(again.ranks[0, 0], scores)
    found = metrics.roc(again.ranks[0, 0], again.is_member)
    assert np.array_equal(found.tpr, metrics.roc(scores, is_member).tpr)


def test_a_file_finds_its_settings_again(tmp_path):
    """JSON has lists where a plan has tuples."""
    scores = np.random.default_rng(0).random((1, 1, 2 * N))
    made = results(scores, IS_MEMBER, settings=[{"defense": "Plain", "widths": (8, 4)}])
    made.save(tmp_path / "r.npz")
    for one in (made, Results.read(tmp_path / "r.npz")):
        assert len(one.where(widths=(8, 4))) == len(one.where(widths=[8, 4])) == 1
        assert len(one.where(widths=np.array([8, 5]))) == 0


def test_a_damaged_file_is_said_wherever_it_is_damaged(both, tmp_path):
    path = tmp_path / "r.npz"
    both.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with suppress(ValueError):  # Anything else is an accident.
            Results.read(path)


@pytest.mark.parametrize("limits", [[-0.1], [0.1, np.nan], [2], "0.1"])
def test_an_fpr_outside_its_range_has_no_tpr(both, limits):
    with pytest.raises(ValueError, match=r"fpr must be a number in 0 … 1"):
        both.find(defense="Plain").roc("loss", limits)


def test_a_number_needs_both_kinds_of_records(both):
    with pytest.raises(ValueError, match="needs members and non-members, found 40 members"):
        both.take(IS_MEMBER).find(defense="Plain").accuracy()


@pytest.mark.parametrize("scores", [[0.1, np.nan], [[0.1, 0.2]]])
def test_scores_that_have_no_rank_are_refused(scores):
    with pytest.raises(ValueError, match="one score per record and no NaN"):
        as_ranks(np.array(scores), 0.5)


def test_two_attacks_on_the_same_models_are_paired(both):
    plain = both.find(defense="Plain")
    apart = plain.between("entropy", "loss", "auc")
    assert apart.value == pytest.approx(plain.auc("entropy").value - plain.auc("loss").value)
    nothing = plain.between("loss", "loss", "tpr", fpr=0.05)
    assert nothing.triple == (0, 0, 0)
    with pytest.raises(ValueError, match="number of one attack"):
        plain.between("entropy", "loss", "accuracy")


@pytest.mark.parametrize("what", ["highest", "mean"])
def test_no_interval_reaches_beyond_what_the_number_can_be(what):
    """Two trainings that differ: Student's interval alone would reach below 0."""
    scores = np.zeros((2, 1, 400))
    scores[1, 0, :60] = 1.0
    found = results(scores, np.arange(400) < 200)
    for number in ("auc", "tpr"):
        estimate = getattr(found, what)(number)
        assert 0 <= estimate.low < estimate.high <= 1
    assert getattr(found, what)().low < 0
