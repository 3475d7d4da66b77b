"""A stock model -> a GGUF file, which llama.cpp and what is built on it run.

The arrays are float32. llama.cpp keeps keys and values in half precision unless it is told not to,
and its flash attention always does: what it says is proved with both switched off,
`--flash-attn off --cache-type-k f32 --cache-type-v f32`. Its GELU is a table in half precision,
for which the certificate holds.

Texts. llama.cpp reads them with a SentencePiece tokenizer, which refuses what is not in the
vocabulary as long as no token stands for the unknown. So the one that must be named is appended
to the vocabulary and nobody's: `<no token>`, which is never read, nor produced. A token of
characters is its text. Words and integers have a space in front, also the first of a text, and
nothing else stands between them. What begins every text, be it the start token or `bos`, is
`<start token>`, so that it is not read in a text again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from handcraft.errors import HandcraftError
from handcraft.exporting.gguf_file import file_bytes
from handcraft.exporting.gpt2 import added_values, gpt2_arrays, never_row
from handcraft.exporting.tokenizer import START, vocabulary_names
from handcraft.runtime.checkpoint import PREFIX, UNEMBEDDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.stock.stock import StockModel
    from handcraft.exporting.gguf_file import Metadata
    from handcraft.runtime.model import Model
    from handcraft.runtime.weights import Array

SWITCHES = "--flash-attn off --cache-type-k f32 --cache-type-v f32"
"""What llama.cpp has to be told."""

NOBODY = "<no token>"
"""The name of the token that is never read nor produced."""

SPACE = "\u2581"
"""How a tokenizer of this kind writes a space."""

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
"""Kinds of tokens: read piece by piece; not shown; found in a text before others are."""

LAYER = {
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
"""The parts of a layer, in Hugging Face's names and in those of GGUF."""


def gguf_bytes(stock: StockModel) -> bytes:
    """Return a GGUF file of architecture `gpt2`.

    Raises:
        HandcraftError: `bad-option` for weights that are not float32, and for neurons that are not
            `gelu_new`; `bad-vocabulary` for tokens that such a file cannot name, and where a start
            token and `bos` both begin a text.
    """
    _check(stock.model)
    return file_bytes(gguf_metadata(stock), gguf_arrays(stock))


def gguf_metadata(stock: StockModel) -> dict[str, Metadata]:
    """Return sizes and vocabulary under the keys of GGUF."""
    config = stock.model.config
    return {
        "general.architecture": "gpt2",
        "general.description": f"exact in llama.cpp with {SWITCHES}",
        "general.file_type": 0,
        "gpt2.context_length": config.n_ctx,
        "gpt2.embedding_length": config.d_model,
        "gpt2.block_count": config.n_layer,
        "gpt2.feed_forward_length": config.d_mlp,
        "gpt2.attention.head_count": config.n_head,
        "gpt2.attention.layer_norm_epsilon": config.layer_norm_epsilon,
        **_tokenizer(stock.model),
    }


def gguf_arrays(stock: StockModel) -> dict[str, Array]:
    """Return the arrays under the names of GGUF, a matrix as `[n_out, n_in]`.

    The last row of the embedding is that of the token which is nobody's: an unembedding that
    pushes its logit below all others.
    """
    made = {name.removeprefix(PREFIX): array for name, array in gpt2_arrays(stock).items()}
    nobody = never_row(stock)[None]
    arrays = {
        "token_embd.weight": np.concatenate((made["wte.weight"], nobody)),
        "position_embd.weight": made["wpe.weight"],
    }
    for number in range(stock.shape.n_layer):
        for name, theirs in LAYER.items():
            for part in ("weight", "bias"):
                array = made[f"h.{number}.{name}.{part}"]
                arrays[f"blk.{number}.{theirs}.{part}"] = array.T
    arrays["output_norm.weight"] = made["ln_f.weight"]
    arrays["output_norm.bias"] = made["ln_f.bias"]
    if UNEMBEDDING in made:
        arrays["output.weight"] = np.concatenate((made[UNEMBEDDING], nobody))
    return arrays


def _tokenizer(model: Model) -> dict[str, Metadata]:
    names, kinds = zip(*_tokens(model), strict=True)
    nobody = len(names) - 1
    front, eos = _front(model), model.vocabulary.eos
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": names,
        "tokenizer.ggml.scores": (0.0,) * len(names),
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": nobody if front is None else front,
        "tokenizer.ggml.eos_token_id": nobody if eos is None else model.vocabulary.id(eos),
        "tokenizer.ggml.unknown_token_id": nobody,
        "tokenizer.ggml.add_bos_token": front is not None,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
    }


def _tokens(model: Model) -> Iterator[tuple[str, int]]:
    """Yield the name and the kind of each id."""
    vocabulary, front = model.vocabulary, _front(model)
    in_front = "" if vocabulary.kind == "characters" else " "
    for number, name in enumerate(_names(model)):
        if number == front:
            yield START, CONTROL
        elif name == str(vocabulary.eos):
            yield in_front + name, CONTROL
        elif in_front and number < len(vocabulary):
            yield in_front + name, USER_DEFINED
        else:
            yield name.replace(" ", SPACE), NORMAL
    yield NOBODY, CONTROL


def _names(model: Model) -> tuple[str, ...]:
    start, values = model.config.start, added_values(model)
    return vocabulary_names(model.vocabulary, start=start, values=values)


def _front(model: Model) -> int | None:
    """Return the token that begins every text, if there is one."""
    if model.config.start_id is not None:
        return model.config.start_id
    bos = model.vocabulary.bos
    return None if bos is None else model.vocabulary.id(bos)


def _check(model: Model) -> None:
    dtype = model.parameters.dtype.name
    if dtype != "float32":
        message = f"llama.cpp computes in float32, and this model is in {dtype}"
        raise HandcraftError("bad-option", message, help="compile it in float32")
    if model.config.activation != "gelu_new":
        message = f"neurons of llama.cpp's GPT-2 are `gelu_new`, not `{model.config.activation}`"
        raise HandcraftError("bad-option", message, help="export it with `gelu_new`")
    if model.config.start and model.vocabulary.bos is not None:
        message = "llama.cpp puts one token in front of a text, and this model needs two"
        help_ = "leave out `bos`, or export it to gpt2"
        raise HandcraftError("bad-vocabulary", message, help=help_)
    for name in _names(model):
        if SPACE in name or "\0" in name or not _is_text(name):
            message = f"a GGUF file cannot hold the name {name!a}"
            raise HandcraftError("bad-vocabulary", message, help="use another token in its place")


def _is_text(name: str) -> bool:
    """Whether UTF-8 can hold it."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
