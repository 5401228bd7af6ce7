"""The benchmarks measure something: each group is whole, and its cheapest row is a ratio."""

import inspect
import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from bench import __main__ as command
from bench import (
    attacks,
    browser,
    cluster,
    growth,
    memory,
    peers,
    reasons,
    report,
    shadows,
    training,
)
from bench.growth import Growth
from bench.timing import Row, fastest
from mialib import bank, metrics
from mialib.attacks import ATTACKS, RMIA, rmia_scores
from mialib.benchmarks.training import noise_images
from mialib.configurations import Configuration
from mialib.query import to_device
from mialib.training import Recipe

SIZES = (1_000, 2_000, 4_000)
FEW = (100, 200, 400)  # for what learns a network
LEARNED = (
    "neural (PAST)",
    "neural (CRL)",
    "discriminator",
    "rotation (PAST)",
    "translation (PAST)",
    "rotation",
    "translation",
    "trajectory",
    "QMIA",
)


def test_every_group_can_be_asked_for_its_rows():
    names = "training shadows cluster past defenses sparsity attacks data"
    assert list(command.GROUPS) == names.split()
    assert set(command.SLOW) <= set(command.GROUPS)
    assert all(callable(group.rows) for group in command.GROUPS.values())


@pytest.mark.parametrize("make", [attacks.threshold_row, training.bootstrap_row])
def test_a_cheap_row_is_measured(make):
    row = make()
    assert row.ratio > 1
    assert row.what in str(row)


def test_a_stacked_model_equals_the_one_trained_alone():
    small = Configuration(
        data="digits", size=360, model="mlp", options={"widths": (16,)}, recipe=Recipe(lr=0.05)
    )
    members = to_device(small.side_records().train, torch.device("cpu"))
    recipe = replace(small.recipe, batch_size=16)  # The last batch is smaller.
    alone = [small.but(seed=seed).build_model() for seed in range(3)]
    together = [small.but(seed=seed).build_model() for seed in range(3)]
    first = alone[0].classify.weight.detach().clone()
    shadows.train_alone(alone, members, recipe)
    stacked = shadows.train_stacked(together, members, recipe)
    assert not torch.allclose(alone[0].classify.weight, first, atol=1e-3)
    for k, network in enumerate(alone):
        for name, weight in network.named_parameters():
            assert torch.allclose(stacked[name][k], weight, atol=1e-6)


def test_a_cluster_and_processes_are_asked_for_the_same_models(tiny, monkeypatch):
    asked = []
    monkeypatch.setattr(cluster.runs, "get_all", lambda models, **_: asked.append(len(models)))
    before = dict(os.environ)
    row = cluster.dask_row([tiny, tiny.but(seed=1)], rounds=1)
    assert dict(os.environ) == before, "Dask's variables would slow down what is measured later"
    assert asked == [2, 2]
    assert row.seconds > 0
    assert row.aim == 0.9


def test_a_bank_compared_with_itself_differs_in_nothing(monkeypatch):
    monkeypatch.setattr(shadows, "ATTACKS", {"RMIA": RMIA()})
    letters = bank.load("letters").take(range(8), range(300))
    compared = shadows.fast_against_usual(letters, letters)
    assert compared["RMIA"].difference.auc.triple == (0, 0, 0)
    assert compared["RMIA"].fast.auc.value > 0.6
    with pytest.raises(ValueError, match="hold the same records"):
        shadows.fast_against_usual(letters, letters.take(range(8)[::-1]))


def test_a_cost_is_that_of_all_epochs_of_all_models(monkeypatch):
    base = Configuration(data="digits", model="mlp", recipe=Recipe(epochs=30))
    monkeypatch.setattr(shadows.rehearsal, "seconds_per_epoch", lambda _, clock: 2.0)
    cost = shadows.cost_of(base, models=256)
    assert cost.hours == pytest.approx(256 * 30 * 2 / 3600)
    assert cost.members == len(base.side_records().train)
    assert cost.examples_per_second == cost.members / 2


def test_a_fast_bank_that_is_not_there_is_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path))
    shadows.print_fast_bank()
    assert 'mialib bank --profile cpu --experiment "bank fast" makes it' in capsys.readouterr().out


def test_a_ratio_below_its_aim_is_said():
    assert str(Row("slow", seconds=2.0, baseline=1.0, aim=0.9)).endswith("missed")
    assert not str(Row("fast", seconds=1.0, baseline=1.0, aim=0.9)).endswith("missed")


def test_the_fastest_of_several_turns_counts(monkeypatch):
    seconds = iter([0.0, 3.0, 3.0, 4.0])
    monkeypatch.setattr("mialib.benchmarks.timing.time.perf_counter", lambda: next(seconds))
    assert np.allclose(fastest(lambda: None, rounds=2), [1.0])


# Growth


def test_every_attack_and_every_metric_of_records_is_among_the_jobs():
    names = set(growth.jobs())
    assert {f"attack: {name}" for name in ATTACKS} <= names
    functions = inspect.getmembers(metrics, inspect.isfunction)
    public = {
        name
        for name, function in functions
        if not name.startswith("_") and function.__module__ == metrics.__name__
    }
    assert public == set(growth.METRICS) | growth.WITHOUT_RECORDS


@pytest.mark.parametrize("what", [name for name in growth.jobs() if "audit" not in name])
def test_nothing_grows_clearly_faster_than_n_log_n(what):
    is_learned = what.removeprefix("attack: ") in LEARNED
    sizes, rounds = (FEW, 1) if is_learned else (SIZES, 3)
    job = growth.jobs()[what]
    # A neighbour's noise can make one measurement steep, not three.
    tries = (growth.grown(what, job, sizes=sizes, rounds=rounds) for _ in range(3))
    assert any(not found.is_too_steep for found in tries)


def test_what_is_quadratic_is_found():
    def all_pairs(n: int):
        values = np.arange(n, dtype=float)
        return lambda: (values[:, None] < values).sum()

    assert growth.grown("pairs", all_pairs, sizes=(500, 1_000, 2_000, 4_000)).is_too_steep


def test_an_exponent_is_the_slope_of_the_logarithms():
    sizes = (10, 100, 1_000, 10_000)
    square = Growth("square", sizes, tuple(1e-9 * n**2 for n in sizes))
    assert square.exponent == pytest.approx(2)
    assert square.is_too_steep
    assert "too steep" in growth.as_line(square)


def test_growth_is_drawn_and_told():
    found = [
        Growth(what, growth.SIZES, tuple(1e-6 * n for n in growth.SIZES)) for what in report.DRAWN
    ]
    assert len(report.growth_picture(found).png) > 1000
    table = report.growth_table(found)
    assert len(table) == len(found) + 2
    assert "1.00" in table[2]


# Where the time goes


def test_a_profile_tells_convolutions_from_the_rest():
    share = reasons.training_share("float32", images=16)
    assert share.of_kind > share.others / 10 > 0
    assert share.whole == share.of_kind + share.others


def test_matrix_products_are_told_from_the_rest_of_an_input_gradient():
    share = reasons.gradient_share(50)
    assert share.of_kind > share.others / 10 > 0


def test_the_look_at_the_end_of_an_epoch_is_a_part_of_it(monkeypatch):
    monkeypatch.setattr(reasons, "FIRST", 1)
    look = reasons.seconds_within("_epoch_entry", "resnet20", noise_images(16))
    assert look.of_kind > 0
    assert look.others > 0


def test_the_sorting_is_what_rmia_needs(rng):
    ratio, population = rng.lognormal(size=50), rng.lognormal(size=30)
    first_to_beat = reasons.sorting(ratio, population)()
    beaten = np.sort(rmia_scores(ratio, population)) * len(population)
    assert [np.sum(first_to_beat <= place) for place in range(len(ratio))] == beaten.tolist()


# The page


def test_a_section_or_a_group_that_fails_is_left_out_with_the_reason(tmp_path, monkeypatch):
    def broken(folder):
        raise OSError("no room")

    monkeypatch.setattr(report, "SECTIONS", {"Memory": broken})
    page = tmp_path / "RESULTS.md"
    report.write({"a": [Row("work", 1.0, 2.0, 1)]}, {"past": "some minutes"}, page)
    text = page.read_text(encoding="utf-8")
    assert "Left out: OSError: no room" in text
    assert "| work | 1 s | 2 s | 2 | 1 |" in text
    assert "left out: past (some minutes)" in text


def test_a_peak_over_the_limit_is_said():
    large, small, slow = report.memory_table(
        [
            memory.Peak("LiRA", 11.0, 2500.0, 10.0),
            memory.Peak("RMIA", 1.0, 500.0, None),
            memory.Peak("bank", 11.0, 500.0, 10.0),
        ]
    )[2:]
    assert large == "| LiRA | 11 s | 10 MB | 2,500 MB, over the limit |"
    assert small == "| RMIA | 1 s | not measured | 500 MB |"
    assert slow == "| bank | 11 s, over the limit | 10 MB | 500 MB |"


NOTED = """\
<testsuite>
<testcase name="a"><properties>
<property name="answers" value="01_membership_game: 7 moves, median 67 ms"/>
</properties></testcase>
<testcase name="b"><properties>
<property name="answers" value="12_magnitude_pruning: 9 moves, median 107 ms"/>
</properties></testcase>
</testsuite>"""
SKIPPED = '<testsuite><testcase name="a"><skipped message="No Chromium."/></testcase></testsuite>'


def test_the_answers_of_a_browser_are_read_and_slow_ones_said():
    answers = browser.read(NOTED)
    assert [one.moves for one in answers] == [7, 9]
    quick, slow = report.answers_table(answers)[2:]
    assert quick == "| 01_membership_game | 7 | 67 ms |"
    assert slow.endswith("| 107 ms, missed |")
    with pytest.raises(OSError, match="No Chromium"):
        browser.read(SKIPPED)


def test_missed_aims_against_other_toolkits_are_said():
    cell = peers.Cell("tf", "LiRA", 10_000, 16)
    fast = peers.Compared(cell, peers.Side(1.0, 5.0), peers.Side(20.0, 9.0), 0.0, 1.0)
    assert report.misses(fast) == []
    slow = fast._replace(peer=peers.Side(9.0, 1.0), auc_difference=0.1)
    assert [sentence.split(": ")[1] for sentence in report.misses(slow)] == [
        "the scores differ, rank correlation 1.000000",
        "9 times as fast, the aim is 10",
        "5.0 MB, the toolkit 1.0 MB",
    ]


def test_the_page_has_no_paths_and_its_pictures_have_alt_texts():
    text = report.PAGE.read_text(encoding="utf-8")
    assert os.sep + "home" not in text
    assert "/tmp" not in text
    pictures = [line for line in text.splitlines() if line.startswith("![")]
    assert pictures
    for line in pictures:
        alt, _, name = line.removeprefix("![").removesuffix(")").partition("](")
        assert len(alt) > 40
        assert (report.PAGE.parent / name).exists()
