"""Helpers for tests of compiled models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from handcraft.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Text


class Accuracy(NamedTuple):
    """How many predictions were right, and how many there were."""

    hits: int
    total: int

    def __str__(self) -> str:
        return f"{self.hits}/{self.total}"


def accuracy(model: Model, text: Text, prefixes: Iterable[int] | None = None) -> Accuracy:
    """Count the tokens of a text that the model predicts from what stands before them.

    Args:
        model: a model that predicts tokens.
        text: a text; a declared `bos` is not counted among its tokens.
        prefixes: how many tokens each prediction sees; from 2 to all but two without it.

    Raises:
        InputError: `bad-prefix` where no token follows such a prefix.
    """
    tokens = model.vocabulary.split(text)
    if model.vocabulary.bos is not None:
        tokens = tokens[1:]
    lengths = range(2, len(tokens) - 1) if prefixes is None else tuple(prefixes)
    for length in lengths:
        if not 0 <= length < len(tokens):
            raise InputError("bad-prefix", f"no token follows a prefix of {length} tokens")
    hits = sum(model.predict(tokens[:length]) == tokens[length] for length in lengths)
    return Accuracy(hits, len(lengths))
