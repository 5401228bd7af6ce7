"""The files of a report: a page, and its numbers as JSON and CSV beside it.

    save(findings, "audit.html")                   # audit.html, audit.json, audit.csv
    save(findings, "audit.html", records=True)     # and audit.records.csv, a row for each record

Each file is there whole or not at all. A report may be written over; anything else is left alone.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mialib.audits import html
from mialib.audits.findings import AttackRow, Findings, Tails
from mialib.audits.markup import GENERATOR
from mialib.errors import as_path, check_flag
from mialib.estimates import Estimate
from mialib.foreign import atomically, in_spreadsheet

VERSION = 1  # of the JSON
PAGES = (".html", ".htm")
JSON_START = '{"mialib_audit":'
CSV_START = "attack,sees,"
RECORDS_START = "row,is_member,"
# What a file of each kind begins with, if it is a report.
MARKS = {".html": GENERATOR, ".htm": GENERATOR, ".json": JSON_START}
# Arrays with an entry for each record, which only `records=True` writes.
RAW = ("is_member", "labels", "rows", "groups", "scores", "calls", "found_by", "above", "rank")
NUMBERS = (
    "auc",
    "advantage",
    "tpr",
    "fpr",
    "tpr_at_1_percent",
    "tpr_at_0_1_percent",
    "ppv",
)


def save(findings: Findings, path: str | Path, *, records: bool = False) -> list[Path]:
    """Write page, JSON and CSV, and with `records` every record's scores; say where they are."""
    target = as_path(path)
    check_flag(records=records)
    if target.suffix.lower() not in PAGES:
        raise ValueError(f"A report is a page such as audit.html, found {target.name!r}.")
    contents = {
        target: html.page(findings),
        target.with_suffix(".json"): as_json(findings),
        target.with_suffix(".csv"): attacks_csv(findings),
    }
    if records:
        contents[target.with_suffix(".records.csv")] = records_csv(findings)
    for file in contents:
        _check_place(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        with atomically(file) as unfinished:
            unfinished.write_text(content, encoding="utf-8", newline="")
    return list(contents)


def _check_place(file: Path) -> None:
    """Refuse to write over what is no report."""
    if not file.exists():
        return
    if not file.is_file():
        raise ValueError(f"{file.name} is no file. Choose another name for the report.")
    with file.open("rb") as there:
        start = there.read(500).decode("utf-8", errors="replace")
    mark = MARKS.get(file.suffix.lower(), RECORDS_START if ".records" in file.name else CSV_START)
    if mark not in start:
        raise FileExistsError(
            f"{file.name} is there already and is no report of an audit, so it was left alone. "
            "Choose another name."
        )


# JSON.


def as_json(findings: Findings) -> str:
    """Every number of the report, by the names of `mialib.audits.findings`; NaN is null."""
    told = _plain(findings)
    told["summary"] = findings.summary()
    told["members_found_by"] = _plain(findings.members_found_by)
    told["most_exposed"] = _plain(findings.records(html.MOST_RECORDS))
    text = json.dumps(told, ensure_ascii=False, allow_nan=False, indent=1)
    return f"{JSON_START} {VERSION},{text[1:]}\n"


def _plain(value: Any) -> Any:
    """Dataclasses, tuples and arrays as what JSON knows."""
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
        return {name: _plain(one) for name, one in named.items() if not _is_raw(name, one)}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {_key(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _is_raw(name: str, value: Any) -> bool:
    return name in RAW and (value is None or isinstance(value, np.ndarray))


def _key(name: Any) -> str:
    return " | ".join(name) if isinstance(name, tuple) else str(name)


# CSV.


def attacks_csv(findings: Findings) -> str:
    """A row for each attack, the strongest first; each number with the ends of its interval."""
    by_name = {row.name: row for row in findings.attacks}
    rows = [_cells(by_name[one["attack"]]) for one in findings.table]
    return _as_csv([list(rows[0]), *(list(row.values()) for row in rows)])


def _cells(row: AttackRow) -> dict[str, Any]:
    """The cells of one attack by the names of their columns."""
    cells = {"attack": row.name, "sees": row.sees}
    for name in NUMBERS:
        cells |= _ends(name, getattr(row, name))
    cells |= {"threshold_from": row.threshold_from, "seconds": round(row.seconds, 4)}
    for field in fields(row.more):
        value = getattr(row.more, field.name)
        if isinstance(value, Tails):
            cells |= _tail_cells(field.name, value)
        elif isinstance(value, Estimate):
            cells |= _ends(field.name, value)
        else:
            cells[field.name] = value
    return cells


def _tail_cells(name: str, tails: Tails) -> dict[str, Any]:
    cells = {f"{name}_records": tails.records}
    for end in ("top", "bottom", "p_value"):
        cells[f"{name}_{end}"] = _number(getattr(tails, end))
    return cells | _ends(f"{name}_difference", tails.difference)


def _ends(name: str, estimate: Estimate) -> dict[str, Any]:
    """A number and the ends of its interval, each in a cell of its own."""
    columns = (name, f"{name}_low", f"{name}_high")
    return dict(zip(columns, map(_number, estimate.triple), strict=True))


def _number(value: float) -> Any:
    """A number, or an empty cell where there is none."""
    return "" if np.isnan(value) else value


def records_csv(findings: Findings) -> str:
    """A row for each record: who it is, how many attacks find it, and what each scored."""
    names = [row.name for row in findings.attacks]
    columns = [findings.rows, findings.is_member, findings.labels]
    head = ["row", "is_member", "label"]
    if findings.groups is not None:
        head.append("group")
        columns.append(findings.groups)
    head += ["found_by", "above", *(f"score of {name}" for name in names)]
    columns += [findings.exposure.found_by, findings.exposure.above]
    columns += [row.scores for row in findings.attacks]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return _as_csv([head, *map(list, rows)])


def _as_csv(lines: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [_safe(cell) for cell in line] for line in lines
    )
    return text.getvalue()


def _safe(cell: Any) -> Any:
    return in_spreadsheet(cell) if isinstance(cell, str) else cell
