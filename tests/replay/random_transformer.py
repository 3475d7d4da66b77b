"""A random encoder-decoder, replayed: `python tests/replay/random_transformer.py`.

Prints which of its published numbers the runtime confirms, which differ and why, and the story of
six encoders that come to NaN. The page `programs/README.md` shows what `story` returns.
"""

from __future__ import annotations

import sys
from itertools import islice
from math import isnan
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from blow_up import (
    N_ENCODERS,
    Kind,
    Outcome,
    depths,
    drawn_blocks,
    measured,
    naive_softmax,
    outcome,
)
from published import Entry, entries, published
from random_models import random_translator

from handcraft.runtime.transformer import softmax
from handcraft.runtime.weights import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEEDS = 2000
DEEP_SEEDS = 50
TRANSLATORS = 20

KINDS = (
    Kind("naive softmax", naive_softmax),
    Kind("stable softmax", softmax),
    Kind("naive softmax, residual", naive_softmax, residual=True),
    Kind("naive softmax, norm", naive_softmax, norm=True),
    Kind("naive softmax, residual and norm", naive_softmax, residual=True, norm=True),
    Kind("stable softmax, residual and norm", softmax, residual=True, norm=True),
)


def report() -> str:
    """Return what became of every published number."""
    every = entries()
    return "\n".join([*_agreement(every), "", *_differences(every), "", *_others(every), ""])


def story() -> str:
    """Return how six encoders blow up, what delays it and what cures it, in numbers."""
    return "\n".join([*_outcomes(), "", *_one_stack(), "", *_depths(), "", *_translators(), ""])


def verified(every: Sequence[Entry]) -> str:
    """Return the sentence that says how many published numbers hold."""
    claimed = [entry for entry in every if entry.status == "verified"]
    agreeing = sum(entry.agrees for entry in claimed)
    return f"{agreeing} of {len(claimed)} verified entries agree to the digits stated"


# Numbers -------------------------------------------------------------------------------------


def _agreement(every: Sequence[Entry]) -> Iterator[str]:
    yield verified(every)
    claimed = [entry for entry in every if entry.status == "verified"]
    width = max(len(entry.name) for entry in claimed)
    yield f"  {'':{width}}  difference  allowed"
    for entry in claimed:
        yield f"  {entry.name:{width}}  {entry.difference:10.1e}  {entry.tolerance:7.0e}"


def _differences(every: Sequence[Entry]) -> Iterator[str]:
    differing = [entry for entry in every if entry.status == "differs"]
    yield f"{len(differing)} entries differ"
    for entry in differing:
        yield f"  {entry.name}"
        yield f"    stated  {_numbers(entry.stated)}"
        yield f"    ours    {_numbers(entry.ours)}"
        yield f"    why     {entry.note}"


def _others(every: Sequence[Entry]) -> Iterator[str]:
    others = [entry for entry in every if entry.ours is None]
    yield f"{len(others)} entries cannot be compared"
    for entry in others:
        yield f"  {entry.name}: {entry.status}" + (f"; {entry.note}" if entry.note else "")


def _numbers(values: object) -> str:
    return np.array2string(np.asarray(values, float), precision=9, suppress_small=False).replace(
        "\n", ""
    )


# Story ---------------------------------------------------------------------------------------


def _outcomes() -> Iterator[str]:
    blocks = list(islice(drawn_blocks(SEEDS), N_ENCODERS))
    rows = [_outcome(kind.name, outcome(kind, blocks)) for kind in KINDS]
    title = f"{N_ENCODERS} encoders, {SEEDS} seeds"
    head = (title, "NaN", "first in block", "largest number", "tokens differ by")
    return _table([head, *rows])


def _outcome(name: str, found: Outcome) -> tuple[str, ...]:
    first = ", ".join(f"{block}: {many}" for block, many in found.first.items())
    return name, str(found.failed), first or "-", _short(found.out), _short(found.gap)


def _one_stack() -> Iterator[str]:
    blocks = list(islice(drawn_blocks(1), N_ENCODERS))
    kinds = (KINDS[0], KINDS[1], KINDS[5])
    head = ("seed 0: largest number after block", *map(str, range(1, N_ENCODERS + 1)))
    rows = [(k.name, *(_short(float(m.out[0])) for m in measured(k, blocks))) for k in kinds]
    return _table([head, *rows])


def _depths() -> Iterator[str]:
    head = (
        f"blocks until a stable softmax overflows, {DEEP_SEEDS} seeds",
        "median",
        "least",
        "most",
    )
    rows = [(name, depths(name, DEEP_SEEDS)) for name in FORMATS]
    return _table([head, *((n, f"{median(d):g}", f"{min(d)}", f"{max(d)}") for n, d in rows)])


def _translators() -> Iterator[str]:
    words = {w: np.array(e) for w, e in published()["vocabulary_embeddings"].items()}
    models = [random_translator(seed, words) for seed in range(TRANSLATORS)]
    texts = [model.complete("hello world", 5) for model in models]
    right = texts.count("hola mundo")
    yield f'"hello world" by {TRANSLATORS} whole models with random weights: {right} right'
    for seed in range(3):
        steps, reason = models[seed].generations[0].steps, models[seed].stop_reason
        yield f'seed {seed}: "{texts[seed]}" ({reason} after {steps} steps)'


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells])


def _short(number: float) -> str:
    return "NaN" if isnan(number) else f"{number:.3g}"


if __name__ == "__main__":
    sys.stdout.write(f"{report()}\n{story()}")
