"""Where the repository is, for every tool that reads or writes a file of it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
