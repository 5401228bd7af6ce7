"""Random crops and flips of a batch on its device, each record by its own draw.

    x = crop_and_flip(x, generator=generator, padding=4)        # (n, channels, height, width)
    x = crop_and_flip(x, generator=generator, together=True)    # one draw for the whole batch

`Recipe(augment=True)` trains on such batches, `Recipe(augment="batch")` on those of one draw;
evaluation never sees one.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from mialib.errors import check_flag, check_range

LARGEST_PADDING = 1024
MOST_RECORDS = 2**24  # that are cut out at once


class Draws(NamedTuple):
    """Where each of n records is cut out of its padded image, and whether it is mirrored."""

    down: Tensor  # (n,): rows from the padded corner, 0 … 2 × padding
    right: Tensor  # (n,): columns, likewise
    mirrored: Tensor  # (n,) bool


def crop_and_flip(
    x: Tensor, *, generator: torch.Generator, padding: int = 4, together: bool = False
) -> Tensor:
    """Shift each image of `x` by up to `padding` pixels and mirror half of them.

    The padding is 0 in what the model sees: the mean colour if the records are standardised (as in
    CRL's code), black if they are only divided by 255 (as in PAST's). With `together` all images
    share one draw, as in CRL's code. PAST's code draws in evaluation, too.
    """
    check_flag(together=together)
    if not isinstance(x, Tensor) or x.ndim != 4:
        shape = tuple(getattr(x, "shape", ()))
        raise ValueError(
            "Crops and flips need images (n, channels, height, width), found records of shape "
            f"{shape}. Train with Recipe(augment=False)."
        )
    drawn = draws(1 if together else len(x), generator=generator, padding=padding)
    on_device = Draws(*(draw.to(x.device).expand(len(x)) for draw in drawn))
    cut = _cut_out(x, on_device, padding)
    if x.is_contiguous(memory_format=torch.channels_last):
        return cut
    return cut.contiguous()


def draws(n: int, *, generator: torch.Generator, padding: int = 4) -> Draws:
    """The draws for n records. They are made on the CPU, so they are the same on every device."""
    check_range(0, LARGEST_PADDING, whole=True, padding=padding)
    check_range(0, MOST_RECORDS, whole=True, n=n)
    if not isinstance(generator, torch.Generator):
        raise TypeError(f"generator must be a torch.Generator, found {type(generator).__name__}.")
    down, right = torch.randint(2 * padding + 1, (2, n), generator=generator)
    mirrored = torch.randint(2, (n,), generator=generator).bool()
    return Draws(down, right, mirrored)


def _cut_out(x: Tensor, drawn: Draws, padding: int) -> Tensor:
    """The windows of the padded images, laid out channels last.

    One look-up by the place of each pixel in the padded batch is twice as fast as indexing by three
    arrays.
    """
    n, channels, height, width = x.shape
    high = height + 2 * padding
    wide = width + 2 * padding
    padded = F.pad(x, (padding, padding, padding, padding))  # (n, channels, high, wide)
    pixels = padded.permute(0, 2, 3, 1).reshape(-1, channels)  # (n × high × wide, channels)

    row = torch.arange(height, device=x.device) + drawn.down[:, None]  # (n, height)
    column = torch.arange(width, device=x.device)
    column = torch.where(drawn.mirrored[:, None], column.flip(0), column)  # (n, width)
    column = column + drawn.right[:, None]
    corner = torch.arange(n, device=x.device) * high * wide
    place = (
        corner[:, None, None] + row[:, :, None] * wide + column[:, None, :]
    )  # (n, height, width)

    cut = pixels.index_select(0, place.flatten()).reshape(n, height, width, channels)
    return cut.permute(0, 3, 1, 2)
