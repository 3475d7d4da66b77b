"""What calls from Python are given, checked before it is used."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from handcraft.errors import FileError, HandcraftError, InputError
from handcraft.runtime.weights import FORMATS

Format: TypeAlias = DTypeLike
"""A format of weights: its name, or numpy's type."""


def whole_number(code: str, name: str, given: object) -> int:
    """Return an argument that must be a whole number; numpy's are taken too.

    Raises:
        InputError: with this code.
    """
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise InputError(code, f"{name} is a whole number, found `{given!r}`")
    return int(given)


def real_number(code: str, name: str, given: object) -> float:
    """Return an argument that must be a number; numpy's are taken too.

    Raises:
        InputError: with this code.
    """
    if isinstance(given, bool) or not isinstance(given, Real):
        raise InputError(code, f"{name} is a number, found `{given!r}`")
    try:
        return float(given)
    except OverflowError:
        raise InputError(code, f"{name} is a number that float64 can hold") from None


def file_path(given: object) -> Path:
    """Return an argument that must be the path of a file.

    Raises:
        FileError: `bad-path`.
    """
    if not isinstance(given, str | PathLike):
        found = type(given).__name__
        raise FileError("bad-path", f"a path is a string or a `Path`, found `{found}`")
    path = Path(given)
    if "\0" in str(path):
        raise FileError("bad-path", "a path has no null character in it")
    return path


def format_name(dtype: object) -> str:
    """Return the name of a format, which is given by this name or as numpy's type.

    Raises:
        HandcraftError: `bad-dtype`.
    """
    if isinstance(dtype, str) and dtype in FORMATS:
        return dtype
    if isinstance(dtype, type | np.dtype):
        for name in FORMATS:
            if np.dtype(name) == dtype:
                return name
    shown = dtype if isinstance(dtype, str) else repr(dtype)
    message = f"there is no format `{shown}`"
    raise HandcraftError("bad-dtype", message, help=f"use one of {', '.join(FORMATS)}")
