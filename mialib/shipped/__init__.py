"""Files that come with the library: the signal bank and the tables of the lessons.

>>> find("signal bank", "bank", "letters").name
'letters.npz'
"""

from pathlib import Path

from mialib.errors import check_choice

FOLDER = Path(__file__).resolve().parent


def find(kind: str, folder: str, name: str) -> Path:
    """The shipped `.npz` called `name` in `folder`; `kind` is what an error calls such a file."""
    folders = {path.name: path for path in sorted(FOLDER.iterdir()) if path.is_dir()}
    check_choice("folder of shipped files", folder, folders)
    files = {path.stem: path for path in sorted(folders[folder].glob("*.npz"))}
    return files[check_choice(kind, name, files)]
