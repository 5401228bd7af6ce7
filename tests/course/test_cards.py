"""Threat-model cards: one for each attack, by its one name."""

import pytest

from mialib.attacks import ATTACKS
from mialib.course.cards import CARDS, cards


def test_every_card_is_an_attack_and_every_attack_has_a_card():
    assert list(CARDS) == list(ATTACKS)


def test_a_card_says_something_in_every_column():
    for name, card in CARDS.items():
        assert all(card), name


def test_cards_are_lines_of_a_table():
    head, rule, *lines = cards("loss", "Attack P").data.splitlines()
    assert head.count("|") == rule.count("|") == 6
    assert [line.split("|")[1].strip() for line in lines] == ["loss", "Attack P"]
    assert all(line.count("|") == 6 for line in lines)


def test_a_misspelt_card_brings_the_nearest():
    with pytest.raises(ValueError, match="no card 'attack R'; did you mean 'Attack R'"):
        cards("attack R")
