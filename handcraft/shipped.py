"""Files that the package ships: its own data in a wheel, the folders beside it in a checkout."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def shipped(name: str) -> Traversable:
    """Return the file or folder of that name, as in `grammars/pattern.lark` or `programs`."""
    packaged = files("handcraft").joinpath(name)
    if packaged.is_file() or packaged.is_dir():
        return packaged
    return Path(__file__).parents[1] / name
