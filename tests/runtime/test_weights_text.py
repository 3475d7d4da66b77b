"""Weights as text: one line an array, its entries where they are few."""

from __future__ import annotations

import numpy as np

from handcraft.runtime.config import Config
from handcraft.runtime.description import Description
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights
from handcraft.runtime.weights_text import MOST_ENTRIES, weights_text


def model(wpe: list[list[float]], dtype: str = "float32") -> Model:
    config = Config(n_ctx=len(wpe), n_vocab=3, d_model=len(wpe[0]), n_out=3, layers=())
    wte = np.zeros((3, len(wpe[0])), dtype)
    wte[1, 0], wte[2, 1] = -0.1, 1e20
    arrays = {"wte.weight": wte, "wpe.weight": np.array(wpe, dtype)}
    return Model(Weights(config, arrays), vocabulary("characters", "abc"), Description("predict"))


def test_small_arrays_are_listed_by_their_entries() -> None:
    assert (
        weights_text(model([[0.0, 0.25], [0.0, 0.0]]))
        == """\
wpe.weight [2, 2] float32: 1 of 4 not zero
  [0, 1] 0.25
wte.weight [3, 2] float32: 2 of 6 not zero
  [1, 0] -0.1
  [2, 1] 100000000000000000000
"""
    )


def test_large_arrays_are_only_counted() -> None:
    text = weights_text(model([[1.0] * (MOST_ENTRIES + 1)]))
    assert text.startswith(f"wpe.weight [1, {MOST_ENTRIES + 1}] float32: 65 of 65 not zero\nwte.")


def test_an_array_of_just_so_many_entries_is_listed() -> None:
    text = weights_text(model([[1.0] * MOST_ENTRIES], "float64"))
    assert text.count("\n  [0, ") == MOST_ENTRIES
