"""Finds the name that was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like this one, if any is much like it."""
    from difflib import get_close_matches  # only mistakes pay for this import

    found = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return found[0] if found else None
