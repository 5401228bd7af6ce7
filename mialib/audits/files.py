"""Outputs in a file: an `.npz` of arrays, or a `.csv` with a row for each record.

    read("outputs.npz")     # logits or probabilities, labels, is_member; groups and inputs if there
    read("outputs.csv")     # logits_0, logits_1, … or probabilities_0, …, label, is_member, group

`Signals.save` writes such an `.npz`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from mialib.errors import as_path
from mialib.foreign import read_arrays, read_table, shown

# What a column or an array may be called.
NAMES = {
    "logits": "logits",
    "probabilities": "probabilities",
    "label": "labels",
    "labels": "labels",
    "is_member": "is_member",
    "group": "groups",
    "groups": "groups",
    "inputs": "inputs",
}
OUTPUTS = ("logits", "probabilities")
EXPECTED = (
    "An .npz holds logits or probabilities (n, classes), labels and is_member; a .csv has "
    "columns logits_0, logits_1, … or probabilities_0, …, label and is_member."
)
GROUPS = ("group", "groups")  # columns of text


def read(path: str | Path) -> dict[str, Any]:
    """The arrays that `audit.from_outputs` takes, by their names."""
    file = as_path(path)
    if not file.is_file():
        raise ValueError(f"There is no file {shown(file.name)}.")
    if file.suffix == ".npz":
        found = _read_npz(file)
    elif file.suffix == ".csv":
        found = _read_csv(file)
    else:
        raise ValueError(f"Expected an .npz or a .csv, found {shown(file.name)}.")
    missing = [name for name in ("labels", "is_member") if name not in found]
    if not any(name in found for name in OUTPUTS):
        missing.insert(0, "logits or probabilities")
    if missing:
        raise ValueError(f"{shown(file.name)} lacks {', '.join(missing)}. {EXPECTED}")
    return found


def _read_npz(file: Path) -> dict[str, Any]:
    arrays = read_arrays(file)
    return {NAMES[name]: array for name, array in arrays.items() if name in NAMES}


def _read_csv(file: Path) -> dict[str, Any]:
    table = read_table(file, texts=GROUPS)
    columns = dict(zip(table.names, table.values.T, strict=True))
    found: dict[str, Any] = {}
    for kind in OUTPUTS:
        numbered = _numbered(columns, kind, file.name)
        if numbered:
            found[kind] = np.stack([columns[name] for name in numbered], axis=1)
    for name in ("label", "labels"):
        if name in columns:
            found["labels"] = columns[name]
    if "is_member" in columns:
        found["is_member"] = _as_truth(file.name, columns["is_member"])
    for name in GROUPS:
        if name in table.texts:
            found["groups"] = np.array(table.texts[name])
    return found


def _numbered(columns: Collection[str], kind: str, file_name: str) -> list[str]:
    """kind_0, kind_1, … without a gap: a class that is missing would make other outputs of them."""
    given = [name for name in columns if re.fullmatch(rf"{kind}_\d+", name)]
    names = [f"{kind}_{number}" for number in range(len(given))]
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(
            f"{shown(file_name)} has {len(given)} columns {kind}_…, but lacks {missing[0]}. Number "
            "them from 0, one for each class."
        )
    return names


def _as_truth(name: str, values: np.ndarray) -> np.ndarray:
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"{shown(name)}: is_member must be True or False, or 1 or 0.")
    return values == 1
