"""What calls are given to read: one text or a batch of them, alone or each beside its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from handcraft.errors import InputError
from handcraft.runtime.generation import window
from handcraft.runtime.vocabulary import INPUT, Text, Token, Vocabulary

if TYPE_CHECKING:
    from handcraft.runtime.config import Config
    from handcraft.runtime.transformer import Ids

Tokens: TypeAlias = tuple[Token, ...]


class Reading(NamedTuple):
    """A text as tokens, `bos` in front, and its source in a model that has one."""

    tokens: Tokens
    source: Tokens | None = None


def read_texts(
    vocabulary: Vocabulary,
    source_vocabulary: Vocabulary | None,
    texts: str | Sequence[Any],
    targets: str | Sequence[Any],
) -> tuple[list[Reading], bool]:
    """Return the texts that a model is given, and whether they are a batch.

    With a batch of sources a string is the target of each of them, and a list has one for each.

    Raises:
        InputError: as `read_each`.
    """
    is_batch = _is_batch(vocabulary if source_vocabulary is None else source_vocabulary, texts)
    if not is_batch:
        return read_each(vocabulary, source_vocabulary, [texts], [targets]), False
    each = [targets] * len(texts) if isinstance(targets, str) else targets
    return read_each(vocabulary, source_vocabulary, texts, each), True


def read_each(
    vocabulary: Vocabulary,
    source_vocabulary: Vocabulary | None,
    texts: Sequence[Text],
    targets: Sequence[Text] | None,
) -> list[Reading]:
    """Return texts, or sources and their targets, as tokens.

    Raises:
        InputError: `unknown-token`, `bad-text`; `bad-target` where sources and targets do not
            pair, or there is a target and no source.
    """
    targets = [""] * len(texts) if targets is None else targets
    _check_pairs(texts, targets)
    names = [INPUT if len(texts) == 1 else f"<input {number}>" for number in range(len(texts))]
    if source_vocabulary is None:
        if not all(map(_is_empty, targets)):
            message = "only a model that reads a source is given a target"
            raise InputError("bad-target", message, help="give the text alone")
        return [Reading(vocabulary.split(*given)) for given in zip(texts, names, strict=True)]
    return [
        Reading(vocabulary.split(target, f"<target{name[6:]}"), source_vocabulary.split(text, name))
        for text, target, name in zip(texts, targets, names, strict=True)
    ]


def _check_pairs(texts: Sequence[Text], targets: object) -> None:
    found = len(targets) if isinstance(targets, Sequence) else None
    if found != len(texts):
        shown = f"`{targets!r}`" if found is None else f"{found} targets"
        message = f"{len(texts)} sources cannot be paired with {shown}"
        raise InputError("bad-target", message, help="give one target for each source")


def _is_empty(text: object) -> bool:
    return isinstance(text, Sequence) and len(text) == 0


def source_ids(encoder: Config, vocabulary: Vocabulary, tokens: Tokens) -> Ids:
    """Return the ids that the encoder reads: a hidden start token, if there is one, and the source.

    Raises:
        InputError: `too-long`.
    """
    if len(tokens) > encoder.context:
        raise InputError(
            "too-long",
            f"the source has {len(tokens)} tokens, its context is {encoder.context}",
            help="shorten the source, or compile the program with a larger context for it",
        )
    start = () if encoder.start_id is None else (encoder.start_id,)
    return np.array([*start, *map(vocabulary.id, tokens)], dtype=np.int64)


def text_ids(config: Config, vocabulary: Vocabulary, tokens: Tokens) -> Ids:
    """Return the ids that a model reads of a text that must not be longer than its context.

    Raises:
        InputError: `too-long`, `empty-text`.
    """
    if len(tokens) > config.context:
        counted = "" if vocabulary.bos is None else f" with `{vocabulary.bos}`"
        raise InputError(
            "too-long",
            f"the text has {len(tokens)} tokens{counted}, the context is {config.context}",
            help="shorten the text, or compile the program with a larger context",
        )
    return window(config, vocabulary, tokens)


def _is_batch(vocabulary: Vocabulary, texts: str | Sequence[Any]) -> bool:
    """Return whether a list has texts in it; one whose items all are tokens is a text itself."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        return False
    nested = any(isinstance(item, list | tuple) for item in texts)
    strings = all(isinstance(item, str) for item in texts)
    return nested or (strings and not all(item in vocabulary for item in texts))
