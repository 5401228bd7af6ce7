"""The items of the sparsity paper: its figures 1 to 3, its table 1, and the numbers of its text."""

from __future__ import annotations

from mialib.reproductions.items import Item

ITEMS: tuple[Item, ...] = ()
