"""The items of CRL: made from shipped results in seconds, and right where they can be checked."""

import re
from math import isnan

import numpy as np
import pytest
import torch

from drawn_results import made_up
from mialib import papers, query
from mialib.experiments import facts
from mialib.reproductions import ITEMS, Evidence, find
from mialib.reproductions.crl import common, drawings, planes, tables
from mialib.reproductions.items import REAL, STAND_IN
from mialib.results import Results
from small_results import TINY

CRL = [item for item in ITEMS.values() if item.paper == "CRL"]
PROFILES = [(item.name, profile) for item in CRL for profile in item.plans]
# Their results are too long to train here, and come with the library where it has them.
SHIPPED = [item.name for item in CRL if "crl" not in item.plans.get("quick", ())]


def evidence_of(item, profile, **options):
    """Of the plans that an item needs at a profile, as if they had been run."""
    read = {plan: made_up(plan, profile, **options) for plan in item.plans_at(profile)}
    return Evidence(profile, read=read)


def check(made):
    """Pictures with words, and lines of which each is a finite number or says why there is none."""
    assert made.pictures
    assert made.lines
    for picture in made.pictures.values():
        assert not re.search(r"\bnan\b", picture.alt + picture.caption)
        assert picture.png.startswith(b"\x89PNG")
    for line in made.lines:
        assert line.own.note or not isnan(line.own.value)
        assert line.published is None or not isnan(line.published)
    assert len({(line.row, line.what) for line in made.lines}) == len(made.lines)


def test_every_row_of_the_paper_has_an_item():
    figures = [f"crl-fig-{number}" for number in range(1, 8)]
    listed = [f"crl-table-{part}" for part in ("1a", "1b", "1c", "2")]
    assert [item.name for item in CRL] == [*figures, *listed]


@pytest.mark.parametrize("name", SHIPPED)
def test_an_item_is_made_from_shipped_results(name):
    evidence = Evidence("quick")
    item = find(name)
    made = item.make(evidence)
    check(made)
    assert {line.row for line in made.lines} == {name}
    assert item.state(evidence) == (STAND_IN if item.plans else REAL)
    assert not isnan(made.lines[0].own.value)


@pytest.mark.parametrize(("name", "profile"), PROFILES)
def test_an_item_is_made_at_every_profile_that_it_names(name, profile):
    item = find(name)
    check(item.make(evidence_of(item, profile)))


@pytest.mark.parametrize("name", ["crl-fig-4", "crl-table-1a"])
def test_what_diverged_is_a_gap_and_no_zero(name):
    item = find(name)
    made = item.make(evidence_of(item, "quick", failed=("AdvReg",)))
    check(made)
    assert not any(line.what.startswith("AdvReg") for line in made.lines)


def test_a_gap_is_told():
    evidence = evidence_of(find("crl-fig-4"), "cpu", failed=("AdvReg",))
    caption = find("crl-fig-4").make(evidence).pictures["crl-fig-4"].caption
    assert "Every training diverged: AdvReg" in caption


# Table 1.


def slow_auc(results: Results, attack: str) -> float:
    """Of every pair of a member and a non-member: how often the member scores higher."""
    place = results.attacks.index(attack)
    by_seed = []
    for ranks in results.ranks[:, place].astype(int):
        members = ranks[results.is_member][:, None]
        others = ranks[~results.is_member][None]
        by_seed.append(((members > others) + 0.5 * (members == others)).mean())
    return float(np.mean(by_seed))


def test_a_cell_of_table_1_is_the_auc_of_all_pairs_beside_the_printed_one():
    evidence = evidence_of(find("crl-table-1a"), "quick")
    made = find("crl-table-1a").make(evidence)
    cells = {line.what: line for line in made.lines}
    one = evidence.results("crl").find(called="CRL (active)")
    cell = cells["CRL (active): AUC of M-Entropy"]
    assert cell.own.value == pytest.approx(slow_auc(one, "modified entropy"), abs=1e-9)
    assert cell.published == pytest.approx(0.6515)
    assert cells["RelaxLoss: train accuracy"].published == pytest.approx(0.9156)
    assert cells["RelaxLoss: train accuracy"].own.value == pytest.approx(0.95)


def test_the_first_line_of_table_1_is_what_crl_changes():
    evidence = evidence_of(find("crl-table-1a"), "quick")
    first, second, *_ = find("crl-table-1a").make(evidence).lines
    assert first.what == "CRL (active) minus CE: AUC of NN-Based"
    assert second.what == "CRL minus CE: AUC of NN-Based"
    assert first.published == second.published == pytest.approx(0.6021 - 0.8809)
    arms = [evidence.results("crl").find(called=name) for name in ("CRL (active)", "CE")]
    ours, plain = (slow_auc(one, "neural (CRL)") for one in arms)
    assert first.own.value == pytest.approx(ours - plain, abs=1e-9)


def test_at_paper_every_network_has_its_lines_and_its_picture():
    made = find("crl-table-1a").make(evidence_of(find("crl-table-1a"), "paper"))
    assert set(made.pictures) == {
        f"crl-table-1a-{network}" for network in ("vgg11", "resnet18", "densenet121")
    }
    cells = {line.what: line.published for line in made.lines}
    assert cells["densenet121, CRL: test accuracy"] == pytest.approx(0.8303)
    assert cells["densenet121, CRL: AUC of Grad-x ℓ2"] is None


@pytest.mark.parametrize("row", tables.TABLES)
def test_every_printed_cell_of_its_network_stands_in_the_table(row):
    made = find(row).make(evidence_of(find(row), "quick"))
    printed = papers.numbers("crl", item=row, model="resnet18")
    shown = {line.published for line in made.lines}
    assert {one.share for one in printed} <= shown


# Figures.


def test_relaxed_batches_are_counted_by_training():
    evidence = evidence_of(find("crl-fig-3"), "cpu")
    first, *_ = find("crl-fig-3").make(evidence).lines
    one = common.usual(common.components(evidence)["CRL (active)"])
    last = [row.facts["history"][-1]["below_rcl"] for row in one.rows]
    assert first.own.value == pytest.approx(np.mean(last))


def test_centers_that_act_are_not_taken_for_inert_ones():
    arms = common.components(evidence_of(find("crl-fig-7"), "quick"))
    rates = {
        name: {common.settings_of(one).get("center_lr") for one in arms[name]} for name in arms
    }
    assert rates["CRL"] == {1e-3}
    assert rates["CRL (active)"] == {0.5}
    assert {common.settings_of(one)["lam"] for one in arms["ImpRelaxLoss"]} == {0.0}
    assert {common.settings_of(one)["tau_rcl"] for one in arms["relaxed center loss"]} == {0.0}
    assert common.settings_of(common.usual(arms["CRL (active)"]))["lam"] == 0.3


def test_the_pulls_of_fig_2_follow_from_the_formula():
    """With p_y held fixed, (a) pulls along c − q, (b) against it, and (c) towards p_y·c."""
    batch = drawings.gathered(drawings.data.load("digits", size=300), seed=0)
    picture = drawings._scenarios(batch)
    q, y = batch.places.numpy(), batch.labels.numpy()
    c = batch.centers.numpy()[y]
    p = batch.logits.softmax(dim=1).numpy()[np.arange(len(y)), y][:, None]
    before = np.linalg.norm(q - c, axis=1)
    for scenario, pull in zip(drawings.SCENARIOS, (c - q, q - c, p * c - q), strict=True):
        after = np.linalg.norm(q + 0.01 * pull - c, axis=1)
        told = picture.numbers[f"nearer to its center, {scenario}"]
        assert told == pytest.approx((after < before).mean())


def test_a_partner_is_the_nearest_in_accuracy():
    evidence = evidence_of(find("crl-fig-7"), "cpu")
    arms = common.components(evidence)
    pairs = planes._pairs(arms["CRL (active)"], arms["RelaxLoss"], planes.mean_accuracy)
    for one, partner in pairs:
        gaps = [
            abs(other.by_seed("accuracy").mean() - one.by_seed("accuracy").mean())
            for other in arms["RelaxLoss"]
        ]
        assert partner is arms["RelaxLoss"][int(np.argmin(gaps))]


def test_the_fact_of_fig_1_is_measured_record_by_record():
    model = TINY.build_model()
    side = TINY.side_records()
    told = facts.distances(model, side, TINY)
    with torch.no_grad():
        features = model.eval().features(torch.from_numpy(side.test.scaled()))
        lengths = features.square().sum(dim=1).sqrt().numpy()
    margins = {part: query.margins(model, getattr(side, part)) for part in ("train", "test")}
    higher = margins["train"][:, None] > margins["test"][None]
    assert told["AUC"] == pytest.approx(higher.mean(), abs=1e-3)
    others = told["non_members"]
    shown = len(others["origin"])
    assert shown == min(150, len(side.test))
    assert others["origin"] == pytest.approx(lengths[:shown], abs=1e-4)
    assert others["boundary"] == pytest.approx(margins["test"][:shown], abs=1e-4)
    assert others["origin, median"] == pytest.approx(np.median(lengths), abs=1e-5)
