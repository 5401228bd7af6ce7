"""Where things are kept: `MIALIB_HOME` if it is set, else a checkout's `data/`, else the user's cache folder."""

import os
from pathlib import Path


def home() -> Path:
    """The folder for runs and downloads. It is made when something is first written."""
    if chosen := os.environ.get("MIALIB_HOME"):
        return Path(chosen).expanduser()
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "notebooks" / "source").is_dir():
        return checkout / "data"
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "mialib"
