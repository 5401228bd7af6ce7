"""Other toolkits found the same AUC: the record follows from the bank, and can be made again."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import peers
from bench import peers as compared_peers
from mialib import attacks, metrics

KEPT = json.loads(peers.RECORD.read_text(encoding="utf-8"))
ROWS = KEPT["rows"]
FOLDER = os.environ.get("MIALIB_PEERS", "")


def name(row: dict) -> str:
    return f"{row['peer']}-{row['attack']}-{row['mialib']}"


def test_the_record_is_about_the_bank_beside_it():
    assert KEPT["bank"] == hashlib.sha256(peers.BANK.read_bytes()).hexdigest(), (
        "The bank is new. Do the three steps of tools/peers.py again."
    )
    models = peers.compared_bank()
    assert np.array_equal(models.is_member[1], ~models.is_member[peers.TARGET])
    assert (models.take(peers.REFERENCES).is_member.sum(axis=0) == 31).all()


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_auc_of_mialib_follows_from_the_bank(row):
    assert peers.mialib_auc(row) == pytest.approx(row["mialib_auc"], abs=1e-6)


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_verdict_follows_from_the_numbers(row):
    assert row["difference"] == pytest.approx(row["peer_auc"] - row["mialib_auc"], abs=1e-12)
    if row["verdict"] == "agrees":
        assert abs(row["difference"]) <= 1e-6
    else:
        assert row["verdict"] == f"differs: {row['why']}"
        assert row["why"]
        assert abs(row["difference"]) > 1e-6


@pytest.mark.parametrize("peer", KEPT["install"])
def test_every_peer_agrees_somewhere_in_the_recorded_version(peer):
    rows = [row for row in ROWS if row["peer"] == peer]
    assert any(row["verdict"] == "agrees" for row in rows)
    assert all(
        f"{row['package']}=={row['version']}" in " ".join(KEPT["install"][peer]) for row in rows
    )


def test_the_page_on_evidence_counts_rightly():
    page = peers.ROOT / "notebooks" / "HOW_WE_KNOW.md"
    text = re.sub(r"\(\S+?\)", "", " ".join(page.read_text(encoding="utf-8").split()))
    agree = sum(row["verdict"] == "agrees" for row in ROWS)
    assert f"{len(ROWS)} AUCs were compared" in text
    assert f"{agree} agree to 1e-6" in text
    assert f"says why {len(ROWS) - agree} differ" in text
    for version in {row["version"] for row in ROWS}:
        assert version in text


@pytest.mark.parametrize("attack", ["LiRA", "RMIA"])
def test_the_references_are_those_of_the_game(attack):
    models = peers.compared_bank()
    played = attacks.game(models, target=peers.TARGET).scores(attacks.ATTACKS[attack])
    row = {"mialib": attack, "mialib_settings": {}, "arrays": ""}
    assert peers.mialib_auc(row) == pytest.approx(
        metrics.auc(played, models.is_member[peers.TARGET]), abs=1e-12
    )


def test_a_result_that_the_record_does_not_expect_is_refused():
    with pytest.raises(ValueError, match="find the reason"):
        peers.compared(ROWS[0] | {"why": ""}, 0.5, 0.6)
    with pytest.raises(ValueError, match="find the reason"):
        peers.compared(ROWS[0] | {"why": "other formula"}, 0.5, 0.5)


@pytest.mark.skipif(
    not FOLDER, reason="optional: set MIALIB_PEERS to a folder of environments, see tools/peers.py"
)
@pytest.mark.parametrize("peer", KEPT["install"])
def test_the_peer_finds_it_again(peer, tmp_path):
    python = Path(FOLDER) / peer / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no environment {peer} in MIALIB_PEERS; peers.json says what to install")
    peers.export(tmp_path / "arrays.npz")
    command = [str(python), peers.__file__, peer, str(tmp_path / "arrays.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["auc"] == pytest.approx(
        [row["peer_auc"] for row in ROWS if row["peer"] == peer], abs=1e-6
    )


# Time and memory beside them: tools/bench/peers.py


def test_a_toolkit_without_an_environment_is_left_out_with_the_command(tmp_path):
    found = compared_peers.compare(tmp_path)
    assert found.cells == []
    assert set(found.skipped) == set(compared_peers.NAMES.values())
    assert all("make peers" in reason for reason in found.skipped.values())


def test_what_is_larger_than_a_cell_over_the_cap_is_not_tried(tmp_path, monkeypatch):
    tried = []

    def compare_cell(folder, cell, cap):
        tried.append((cell.records, cell.references))
        raise subprocess.TimeoutExpired("peer", cap)

    monkeypatch.setattr(compared_peers, "compare_cell", compare_cell)
    found = compared_peers.Comparison()
    cells = compared_peers.cells_of("sacro", records=(10, 20), references=(8, 4))
    compared_peers.compare_peer(found, tmp_path, cells, cap=1.0)
    assert tried == [(10, 8), (10, 4)]
    assert len(found.skipped) == 4


def test_a_toolkit_that_cannot_be_had_is_left_out_and_the_others_are_not(
    tmp_path, monkeypatch, capsys
):
    def make(folder, peer):
        (folder / peer).mkdir()
        if peer == "tf":
            raise subprocess.CalledProcessError(1, "pip")
        compared_peers.ready(folder, peer).touch()

    monkeypatch.setattr(compared_peers, "make_environment", make)
    compared_peers.install(tmp_path)
    assert "tf: left out" in capsys.readouterr().out
    there = [peer for peer in compared_peers.ATTACKS if compared_peers.is_ready(tmp_path, peer)]
    assert there == ["privacyguard", "art", "sacro"]
    monkeypatch.setattr(compared_peers, "ATTACKS", {"tf": ("LiRA",)})
    found = compared_peers.compare(tmp_path)
    assert "`make peers` makes it" in found.skipped["TF Privacy"]


@pytest.mark.parametrize("attack", ["LiRA", "RMIA", "loss", "correctness"])
def test_a_process_of_mialib_is_timed_and_its_scores_tell_members(attack, tmp_path):
    arrays = tmp_path / "arrays.npz"
    compared_peers.write_arrays(arrays, 300, 4)
    own = compared_peers.run(
        Path(sys.executable), "mialib", attack, arrays, tmp_path / "scores.npy", 60
    )
    assert own.seconds > 0
    scores = np.load(tmp_path / "scores.npy")
    assert metrics.auc(scores, np.load(arrays)["is_member"]) > 0.55


@pytest.mark.skipif(
    not FOLDER, reason="optional: set MIALIB_PEERS to a folder of environments, see tools/peers.py"
)
@pytest.mark.parametrize("peer", compared_peers.ATTACKS)
def test_the_toolkit_gives_equal_scores_on_a_small_cell(peer):
    if not compared_peers.python_of(Path(FOLDER), peer).exists():
        pytest.skip(f"no environment {peer} in MIALIB_PEERS; `make peers` makes it")
    for cell in compared_peers.cells_of(peer, records=(500,), references=(8,)):
        assert compared_peers.compare_cell(Path(FOLDER), cell, 60).is_equal
