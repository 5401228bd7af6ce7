"""All figures of build/figures on one sheet, to look at them as a whole: `make contact-sheet`.

Each is as large beside the others as on a page; its name stands above it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from notebooks import BUILD

WIDTH = 560  # of a column, in pixels
COLUMNS = 4
GAP = 28
LABEL = 26
PAPER = "white"
INK = "#1d2330"


def sheet(paths: list[Path], *, columns: int = COLUMNS) -> Image.Image:
    """The pictures in rows, in the order of their names."""
    if not paths:
        raise SystemExit("There is no figure in build/figures. Run `make run` first.")
    thumbnails = [_thumbnail(path) for path in paths]
    rows = [thumbnails[at : at + columns] for at in range(0, len(thumbnails), columns)]
    heights = [max(one.height for one in row) + GAP for row in rows]
    page = Image.new("RGB", (columns * (WIDTH + GAP) + GAP, sum(heights) + GAP), PAPER)
    top = GAP
    for row, height in zip(rows, heights, strict=True):
        for column, one in enumerate(row):
            page.paste(one, (GAP + column * (WIDTH + GAP), top))
        top += height
    return page


def _thumbnail(path: Path) -> Image.Image:
    """A picture under its name; a wide one is made to fit its column."""
    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    share = min(1.0, WIDTH / picture.width)
    picture = picture.resize((round(picture.width * share), round(picture.height * share)))
    card = Image.new("RGB", (WIDTH, picture.height + LABEL), PAPER)
    font = ImageFont.load_default(size=16)
    ImageDraw.Draw(card).text((0, 0), path.stem, fill=INK, font=font)
    card.paste(picture, (0, LABEL))
    return card


def main(folder: Path) -> None:
    paths = sorted(folder.glob("*.png"))
    path = BUILD / "contact-sheet.png"
    sheet(paths).save(path)
    print(f"{len(paths)} figures on one sheet: {path.relative_to(BUILD.parent)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "figures")
