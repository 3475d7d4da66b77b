"""A stock model -> the config and the arrays of Hugging Face's GPT-2, under its own names.

The vocabulary of an `output` program is its tokens, the start token if there is one, and behind
them its values, which only an unembedding of its own produces. All others are tied, but for logits
that are too large beside what a residual stream holds. What is never produced has a logit below all
others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from handcraft.exporting.tokenizer import special_ids, vocabulary_names
from handcraft.runtime.checkpoint import PREFIX, UNEMBEDDING
from handcraft.runtime.description import Lattice

if TYPE_CHECKING:
    from handcraft.compiler.stock.stock import StockModel
    from handcraft.runtime.description import Value
    from handcraft.runtime.model import Model
    from handcraft.runtime.weights import Array

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def gpt2_config(stock: StockModel) -> dict[str, Json]:
    """Return the members of `config.json`."""
    model, config = stock.model, stock.model.config
    names = vocabulary_names(model.vocabulary, start=config.start, values=added_values(model))
    return {
        "activation_function": config.activation,
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.0,
        "dtype": model.parameters.dtype.name,
        "embd_pdrop": 0.0,
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "model_type": "gpt2",
        "n_embd": config.d_model,
        "n_head": config.n_head,
        "n_inner": config.d_mlp,
        "n_layer": config.n_layer,
        "n_positions": config.n_ctx,
        "resid_pdrop": 0.0,
        "tie_word_embeddings": config.tied,
        "vocab_size": len(names),
        **special_ids(model.vocabulary, start=config.start),
    }


def generation_config(stock: StockModel) -> dict[str, Json]:
    """Return the members of `generation_config.json`; GPT-2 ends where its positions end."""
    ids = special_ids(stock.model.vocabulary, start=stock.model.config.start)
    return {"max_length": stock.model.config.n_ctx, **ids}


def gpt2_arrays(stock: StockModel) -> dict[str, Array]:
    """Return the arrays of a `GPT2LMHeadModel`; `lm_head.weight` where it is not tied."""
    model = stock.model
    arrays = {
        f"{PREFIX}{name}": array for name, array in model.weights.items() if name != UNEMBEDDING
    }
    if model.config.tied:
        return arrays
    n_values = len(added_values(model))
    wte = model.weights["wte.weight"]
    arrays[f"{PREFIX}wte.weight"] = np.pad(wte, ((0, n_values), (0, 0)))
    arrays[UNEMBEDDING] = _unembedding(stock, n_values)
    return arrays


def added_values(model: Model) -> tuple[Value, ...]:
    """Return what an `output` program says, in the order of its logits; of others nothing."""
    outputs = model.description.outputs
    assert not isinstance(outputs, Lattice), "a stock model has a logit for each value"
    return outputs


def never_row(stock: StockModel) -> Array:
    """Return the row of an unembedding that pushes a logit below all others, `[d_model]`."""
    shape = stock.shape
    row: Array = np.zeros(shape.d_model, dtype=stock.model.parameters.dtype)
    row[shape.one], row[shape.reference] = -stock.low, stock.low
    return row


def _unembedding(stock: StockModel, n_values: int) -> Array:
    """Return `[vocab_size, d_model]`: rows of tokens or values, and what is never produced."""
    model = stock.model
    own = model.weights[UNEMBEDDING]
    head: Array = np.tile(never_row(stock), (model.config.n_vocab + n_values, 1))
    if n_values:
        head[model.config.n_vocab :] = own
    else:
        said = [
            model.vocabulary.id(t) for t in model.vocabulary.tokens if t != model.vocabulary.bos
        ]
        head[said] = own[said]
    return head
