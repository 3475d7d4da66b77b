"""What calls from Python are given, checked before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from handcraft.errors import FileError, HandcraftError, InputError
from handcraft.runtime.sampling import Sampling
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


def id_numbers(given: object) -> list[int]:
    """Return an argument that must be a list of ids; numpy's are taken too.

    Raises:
        InputError: `bad-ids`.
    """
    scalar = isinstance(given, str) or (isinstance(given, np.ndarray) and given.ndim == 0)
    if scalar or not isinstance(given, Sequence | np.ndarray):
        found = type(given).__name__
        raise InputError("bad-ids", f"ids are a list of whole numbers, found `{found}`")
    return [whole_number("bad-ids", "an id", number) for number in given]


def sampling(temperature: object, top_k: object) -> Sampling:
    """Return how tokens are drawn.

    Raises:
        InputError: `bad-temperature`, `bad-top-k`.
    """
    degree = real_number("bad-temperature", "a temperature", temperature)
    return Sampling(degree, None if top_k is None else whole_number("bad-top-k", "`top_k`", top_k))


def generator(seed: object) -> np.random.Generator:
    """Return where chance comes from: of one seed always the same.

    Raises:
        InputError: `bad-seed`.
    """
    if seed is None:
        return np.random.default_rng()
    number = whole_number("bad-seed", "a seed", seed)
    if number < 0:
        raise InputError("bad-seed", f"a seed is a whole number from 0, not `{number}`")
    return np.random.default_rng(number)


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
