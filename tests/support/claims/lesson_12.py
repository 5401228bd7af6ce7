"""Lesson 12: its verbs on pruned and dense networks all come from the run."""

from claims import Claim

CLAIMS: list[Claim] = []
