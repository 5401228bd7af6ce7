"""A results file is smaller than its arrays, and holds every bit of them."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mialib.experiments.running import shipped_path
from mialib.results import Results
from mialib.results.packing import NONE, packed, unpacked


def same(found, expected):
    assert found.dtype == expected.dtype
    assert np.array_equal(found.view(np.uint8), expected.view(np.uint8))


@st.composite
def tables(draw):
    """Ranks and losses of any size, also none, and with any bits."""
    rows, attacks, n = (draw(st.integers(0, 4)) for _ in range(3))
    kind, most = draw(st.sampled_from([(np.uint16, 2**16 - 1), (np.uint32, 2**24)]))
    ranks = draw(arrays(kind, (rows, attacks, n), elements=st.integers(0, most)))
    bits = draw(arrays(np.uint16, (rows, n), elements=st.integers(0, 2**16 - 1)))
    return ranks, bits.view(np.float16)


@given(tables())
def test_nothing_is_lost(table):
    ranks, losses = table
    found, found_losses = unpacked(packed(ranks, losses))
    assert np.array_equal(found, ranks)
    same(found_losses, losses)


def test_what_agrees_is_kept_as_steps_in_its_order(rng):
    """The second attack swaps neighbours of the first, the third knows nothing of either."""
    first = np.stack([rng.permutation(1000) for _ in range(3)])
    unrelated = np.stack([rng.permutation(1000) for _ in range(3)])
    ranks = np.stack([first, first ^ 1, unrelated], axis=1).astype(np.uint16)
    losses = (1 / (1 + first)).astype(np.float16)
    kept = packed(ranks, losses)
    assert kept["references"][0] == NONE
    assert kept["references"][1] == 0
    assert kept["references"][3] in (0, 1)
    assert kept["bytes 0"][1].max() <= 6
    found, found_losses = unpacked(kept)
    assert np.array_equal(found, ranks)
    same(found_losses, losses)


def as_version_1(results, path):
    """The file that was written before ranks were packed."""
    contents = {
        "version": 1,
        "attacks": results.attacks,
        "rows": [asdict(row) for row in results.rows],
        "about": results.about,
    }
    np.savez_compressed(
        path,
        contents=np.array(json.dumps(contents)),
        low=(results.ranks & 255).astype(np.uint8),
        high=(results.ranks >> 8).astype(np.uint8),
        thresholds=results.thresholds,
        losses=results.losses,
        correct=np.packbits(results.correct, axis=-1),
        is_member=results.is_member,
    )


@pytest.mark.parametrize("place", [("precision", "quick"), ("photographs", "cpu")], ids=" ".join)
def test_shipped_results_are_the_same_in_both_versions(place, tmp_path):
    """To the bit, so every number is; and the newer file is the smaller one."""
    results = Results.read(shipped_path(*place))
    as_version_1(results, tmp_path / "old.npz")
    results.save(tmp_path / "new.npz")
    old = Results.read(tmp_path / "old.npz")
    new = Results.read(tmp_path / "new.npz")
    for name in ("ranks", "thresholds", "losses", "correct", "is_member"):
        same(getattr(old, name), getattr(results, name))
        same(getattr(new, name), getattr(results, name))
    assert old.rows == new.rows == results.rows
    sizes = [(tmp_path / name).stat().st_size for name in ("old.npz", "new.npz")]
    assert sizes[1] < 0.85 * sizes[0]
