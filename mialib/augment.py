"""Random crops and flips of a batch on its device, each record by its own draw."""

import torch
from torch import Tensor
from torch.nn import functional as F

from mialib.errors import refuse


def crop_and_flip(x: Tensor, *, generator: torch.Generator, padding: int = 4) -> Tensor:
    """Shift each image by up to `padding` pixels and mirror half, by its own draw: `x` (n, channels, height, width).

    The padding is 0 in what the model sees: the mean colour if the records are standardised (as in CRL's code), black
    if they are only divided by 255 (as in PAST's). CRL's code draws once a batch, and PAST's also in evaluation."""
    fault = f"Crops and flips need images (n, channels, height, width), found records of shape {tuple(x.shape)}"
    refuse(x.ndim != 4, f"{fault}. Train with Recipe(augment=False).")
    down, right, mirrored = (
        draw.to(x.device) for draw in draws(len(x), generator=generator, padding=padding)
    )
    n, channels, height, width = x.shape
    high, wide = height + 2 * padding, width + 2 * padding
    padded = (
        F.pad(x, (padding,) * 4).permute(0, 2, 3, 1).reshape(-1, channels)
    )  # (n × high × wide, channels)
    row = torch.arange(height, device=x.device) + down[:, None]  # (n, height)
    column = torch.arange(width, device=x.device)
    column = torch.where(mirrored[:, None], column.flip(0), column) + right[:, None]  # (n, width)
    corner = torch.arange(n, device=x.device) * high * wide
    # One look-up by the place of each pixel in the padded batch is twice as fast as indexing by three arrays.
    pixel = (
        corner[:, None, None] + row[:, :, None] * wide + column[:, None, :]
    )  # (n, height, width)
    found = (
        padded.index_select(0, pixel.flatten())
        .reshape(n, height, width, channels)
        .permute(0, 3, 1, 2)
    )
    return found if x.is_contiguous(memory_format=torch.channels_last) else found.contiguous()


def draws(n: int, *, generator: torch.Generator, padding: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    """For each of n records: rows and columns from the padded corner (0 … 2 × padding), and whether to mirror."""
    refuse(padding < 0, f"padding must be 0 or more pixels, found {padding}.")
    down, right = torch.randint(2 * padding + 1, (2, n), generator=generator)
    return down, right, torch.randint(2, (n,), generator=generator).bool()
