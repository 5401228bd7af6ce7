"""Text tables of zeros and ones, parsed with whole-array operations.

Purchase100, Texas100 and Location30 come as lines of a label (1, 2, …) and single digits with commas between. A
general parser needs minutes for the largest of them. Here a block of text becomes an array of bytes; each feature
is one digit and one separator, so what remains when the labels are taken out is already the table.

>>> import io
>>> x, y = binary_table(io.BytesIO(b"7,0,1,1\\n12,1,0,0\\n"), features=3)
>>> x.tolist(), y.tolist()
([[0, 1, 1], [1, 0, 0]], [7, 12])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

BLOCK = 1 << 24  # bytes of text parsed at once
ZERO, COMMA, NEWLINE = b"0,\n"


def binary_table(stream: BinaryIO, *, features: int, label: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Parse rows of a label (if `label`) and `features` zeros and ones: x (n, features) uint8, y (n,) as written.

    Quotes, blanks and carriage returns are passed over. Without labels y is 0; `features=0` reads labels alone.
    """
    parsed = [_parse(block, features, label) for block in _blocks(stream)]
    if not parsed:
        raise ValueError("The table is empty. Delete the download and load it again.")
    x, y = zip(*parsed, strict=True)
    return np.concatenate(x), np.concatenate(y)


def _blocks(stream: BinaryIO) -> Iterator[np.ndarray]:
    """Some whole lines at a time, as bytes."""
    rest = b""
    while block := stream.read(BLOCK):
        lines, newline, rest = (rest + block.translate(None, b'" \r')).rpartition(b"\n")
        if newline:
            yield np.frombuffer(lines + newline, np.uint8)
    if rest:
        yield np.frombuffer(rest + b"\n", np.uint8)


def _parse(text: np.ndarray, features: int, label: bool) -> tuple[np.ndarray, np.ndarray]:
    """Cut the rows of one block apart: x (n, features) and y (n,)."""
    end = np.flatnonzero(text == NEWLINE)
    length = np.diff(end, prepend=-1)  # (n,) bytes of each row, its newline among them
    start, lead = end + 1 - length, length - 2 * features  # The lead is the label and the separator behind it.
    _require((lead >= 2) & (lead <= 5) if label else lead == 0, text, start, features)
    y, body = np.zeros(len(end), np.int64), np.ones(len(text), bool)
    for place in range(lead.max()):
        body[start[place < lead] + place] = False
        row = np.flatnonzero(place < lead - 1)
        digit = text[start[row] + place] - ZERO  # Anything below '0' wraps round to a large number.
        _require(digit <= 9, text, start[row], features)
        y[row] = 10 * y[row] + digit
    table = text[body].reshape(len(end), features, 2)  # (n, features, [digit, separator])
    x = table[:, :, 0] - ZERO
    _require((x <= 1).all(axis=1) & (table[:, :-1, 1] == COMMA).all(axis=1), text, start, features)
    return x, y


def _require(right: np.ndarray, text: np.ndarray, start: np.ndarray, features: int) -> None:
    """Raise with the first row that is not `right`: (rows,) bool, with the rows' starts."""
    if not right.all():
        row = bytes(text[start[right.argmin()] :][:40]).split(b"\n")[0].decode(errors="replace")
        raise ValueError(
            f"Every row should be a label of 1 to 4 digits, {features} zeros and ones, or both, with commas between; "
            f"found one that starts {row!r}. The file is not the published one: delete it and load again."
        )
