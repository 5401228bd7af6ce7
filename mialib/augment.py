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
    down, right, mirrored = (draw.to(x.device) for draw in draws(len(x), generator=generator, padding=padding))
    n, _, height, width = x.shape
    windows = F.pad(x, (padding,) * 4).permute(0, 2, 3, 1).unfold(1, height, 1).unfold(2, width, 1)  # A view.
    # By record, down and right, a crop of (height, width, channels) each.
    crops = windows.permute(0, 1, 2, 4, 5, 3)[torch.arange(n, device=x.device), down, right]
    found = torch.where(mirrored[:, None, None, None], crops.flip(2), crops).permute(0, 3, 1, 2)
    return found if x.is_contiguous(memory_format=torch.channels_last) else found.contiguous()


def draws(n: int, *, generator: torch.Generator, padding: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    """For each of n records: rows and columns from the padded corner (0 … 2 × padding), and whether to mirror."""
    refuse(padding < 0, f"padding must be 0 or more pixels, found {padding}.")
    down, right = torch.randint(2 * padding + 1, (2, n), generator=generator)
    return down, right, torch.randint(2, (n,), generator=generator).bool()
