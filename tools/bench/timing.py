"""Rows and seconds, as the library has them for `mialib bench`."""

from __future__ import annotations

from mialib.benchmarks.timing import HEADING, Row, fastest

__all__ = ["HEADING", "Row", "fastest"]
