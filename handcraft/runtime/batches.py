"""Sequences side by side: the logits of many, in padded passes of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.runtime.encoder_decoder import read_source
from handcraft.runtime.transformer import Ids, forward

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.runtime.config import Config
    from handcraft.runtime.weights import Array, Weights

LARGEST_PASS = 1 << 23
"""Numbers that one forward pass of a batch may keep; longer batches take several."""


class Input(NamedTuple):
    """The ids of a text `[n_seq]`, and those of its source `[n_source]` if the model has one."""

    ids: Ids
    source: Ids | None = None


def logits_of(weights: Weights, inputs: Sequence[Input]) -> list[Array]:
    """Return the logits `[n_seq, n_out]` of each input.

    Raises:
        InputError: `too-long`, `unknown-id`.
        HandcraftError: `not-finite`.
    """
    found: list[Array] = []
    for batch in _batches(weights.config, inputs):
        sources = [each.source for each in batch if each.source is not None]
        source = read_source(weights, *_padded(sources)) if sources else None
        ids, lengths = _padded([each.ids for each in batch])
        logits = forward(weights, ids, lengths, source).logits
        found += [rows[:length] for rows, length in zip(logits, lengths, strict=True)]
    return found


def _padded(sequences: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Return sequences filled up to one length `[n, longest]`, and the length of each `[n]`."""
    lengths = np.array([len(ids) for ids in sequences])
    padded = np.zeros((len(sequences), lengths.max()), dtype=np.int64)
    for row, ids in zip(padded, sequences, strict=True):
        row[: len(ids)] = ids
    return padded, lengths


def _batches(config: Config, inputs: Sequence[Input]) -> Iterator[Sequence[Input]]:
    """Cut inputs into batches whose activations stay below `LARGEST_PASS` numbers."""
    n_seq = max((len(each.ids) for each in inputs), default=1)
    n_source = max((len(each.source) for each in inputs if each.source is not None), default=0)
    numbers = n_seq * (config.n_out + _activations(config, n_seq, n_source))
    if config.encoder is not None:
        numbers += n_source * _activations(config.encoder, n_source, 0)
    size = max(1, LARGEST_PASS // numbers)
    for start in range(0, len(inputs), size):
        yield inputs[start : start + size]


def _activations(config: Config, n_seq: int, n_source: int) -> int:
    """Return how many numbers the layers keep for each position of a sequence."""
    return sum(
        8 * config.d_model
        + 2 * layer.d_mlp
        + layer.n_head * (6 * layer.d_head + 3 * n_seq)
        + layer.n_cross * (6 * layer.d_cross + 3 * n_source)
        for layer in config.layers
    )
