"""All items by name, in the order of the papers."""

from __future__ import annotations

from mialib.errors import check_choice
from mialib.reproductions import crl, past, sparsity
from mialib.reproductions.items import Item

ITEMS: dict[str, Item] = {item.name: item for item in (*past.ITEMS, *crl.ITEMS, *sparsity.ITEMS)}


def find(name: str) -> Item:
    """The item of this name; an unknown one is refused with the nearest."""
    return ITEMS[check_choice("item", name, ITEMS)]
