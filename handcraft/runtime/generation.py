"""Token after token: the window that a model reads, and the text that it writes.

A window of tokens moves only when the text has outgrown the context. Its first token then has
position 0 again, so no key of an earlier window is of use and the cache is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from handcraft.errors import InputError
from handcraft.runtime.cache import Cache, empty_cache, extend
from handcraft.runtime.encoder_decoder import read_source
from handcraft.runtime.sampling import Sampling, forbid, sample
from handcraft.runtime.transformer import Ids, forward

if TYPE_CHECKING:
    from collections.abc import Callable

    from handcraft.runtime.config import Config
    from handcraft.runtime.vocabulary import Token, Vocabulary
    from handcraft.runtime.weights import Array, Weights

StopReason: TypeAlias = Literal["eos", "length", "context", "finished"]
"""`finished`: the text is a word that no longer one begins with, and no `eos` can say so."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The tokens that were written, and why there are no more."""

    tokens: tuple[Token, ...]
    stop_reason: StopReason

    @property
    def steps(self) -> int:
        """How often the model was asked: once for each token, and once for `eos`."""
        return len(self.tokens) + (self.stop_reason == "eos")


def generate(
    weights: Weights,
    vocabulary: Vocabulary,
    tokens: tuple[Token, ...],
    n: int,
    *,
    sampling: Sampling,
    margin: float,
    slide: bool,
    generator: np.random.Generator,
    check: Callable[[tuple[Token, ...]], None],
    source: Ids | None = None,
) -> Generation:
    """Write up to n tokens after a text.

    Args:
        weights: the model.
        vocabulary: its tokens.
        tokens: the text, `bos` in front.
        n: how many tokens at most.
        sampling: how each is chosen.
        margin: distance of logits below half of which they count as equal.
        slide: go on beyond the context, reading the end of the text.
        generator: where chance comes from.
        check: refuses a text that nothing can follow.
        source: what the encoder reads, in a model that has one; such a text never slides.
    """
    written: list[Token] = []
    cache = empty_cache(weights, None if source is None else read_source(weights, source))
    while len(written) < n:
        if len(tokens) > weights.config.context and not slide:
            return Generation(tuple(written), "context")
        try:
            check(tokens)
        except InputError as error:
            if not written or error.code != "finished-text":
                raise
            return Generation(tuple(written), "finished")
        logits, cache = _next_logits(weights, vocabulary, tokens, cache)
        allowed = forbid(logits[: len(vocabulary)], never_produced(vocabulary))
        token = vocabulary.tokens[sample(allowed, sampling, margin, generator)]
        if token == vocabulary.eos:
            return Generation(tuple(written), "eos")
        written.append(token)
        tokens = (*tokens, token)
    return Generation(tuple(written), "length")


def never_produced(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Return the ids of tokens that no model writes: `bos`, if there is one."""
    return () if vocabulary.bos is None else (vocabulary.id(vocabulary.bos),)


def window(config: Config, vocabulary: Vocabulary, tokens: tuple[Token, ...]) -> Ids:
    """Return the ids that the model reads: start token, `bos`, and the end of the text.

    Raises:
        InputError: `empty-text` where there is nothing to read.
    """
    left_out = max(0, len(tokens) - config.context)
    if left_out and vocabulary.bos is not None:
        tokens = (vocabulary.bos, *tokens[left_out + 1 :])
    else:
        tokens = tokens[left_out:]
    start = () if config.start_id is None else (config.start_id,)
    ids = np.array([*start, *map(vocabulary.id, tokens)], dtype=np.int64)
    if not len(ids):
        raise InputError(
            "empty-text",
            "the text is empty, and this model has no start token",
            help="give at least one token, or declare `bos` in the program",
        )
    return ids


def _next_logits(
    weights: Weights, vocabulary: Vocabulary, tokens: tuple[Token, ...], cache: Cache
) -> tuple[Array, Cache]:
    """Return the logits after the text, and the cache with what the next token can use."""
    config = weights.config
    ids = window(config, vocabulary, tokens)
    if config.attention == "bidirectional":
        return forward(weights, ids, source=cache.source).logits[-1], cache
    if len(tokens) > config.context:
        cache = empty_cache(weights, cache.source)
    cache, logits = extend(weights, cache, ids[cache.length :])
    return logits[-1], cache
