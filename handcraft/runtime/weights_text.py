"""Weights as text: one line an array, and below it the entries of a small one that are not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.runtime.model import Model
    from handcraft.runtime.weights import Array

MOST_ENTRIES = 64
"""Entries that are listed of one array; one with more is only counted."""


def weights_text(model: Model) -> str:
    """Return the arrays as text, the same every time.

    `wte.weight [2, 5] float32: 2 of 10 not zero` is followed by `  [0, 3] 1`, one line an entry.
    """
    lines: list[str] = []
    for name, array in sorted(model.weights.items()):
        lines.append(_headline(name, array))
        if np.count_nonzero(array) <= MOST_ENTRIES:
            lines.extend(_entries(array))
    return "".join(f"{line}\n" for line in lines)


def _headline(name: str, array: Array) -> str:
    filled = int(np.count_nonzero(array))
    return f"{name} {list(array.shape)} {array.dtype.name}: {filled} of {array.size} not zero"


def _entries(array: Array) -> Iterator[str]:
    for place in np.argwhere(array):
        index = tuple(int(i) for i in place)
        yield f"  {list(index)} {np.format_float_positional(array[index], trim='-')}"
