"""Models in TransformerLens, which finds in them what `hook_names` says.

`bridge` gives what TransformerLens recommends: its `TransformerBridge` around Hugging Face's GPT-2.
`native` gives a bridge around TransformerLens's own transformer, with weights in the layout that
`HookedTransformer` had; that class itself left TransformerLens with version 4.

Both keep the weights as they are, in their own format. `enable_compatibility_mode()` of a bridge
would fold the gains of the layer norms into their readers and centre weights. That rounds, and
moves all logits of a position by the same amount; a row of the stream whose numbers add up to 0, as
most do, stays what it is, and others move by their mean. With `no_processing=True` nothing changes.

Logits are those of `GPT2LMHeadModel`: the values of an `output` program stand behind its tokens, so
that its model's own logits begin at `config.n_vocab`.

Ids come from `Model.encode`, or from `to_tokens`, which gives the same for a text: the tokenizer
puts the start token and `bos` in front where the program has them, and `default_prepend_bos` says
whether it does. `prepend_bos=False` takes the first token away. A text that is too long, which
`Model.encode` refuses, is cut off by `to_tokens`. `bridge(folder)` reads texts so too, other than
`TransformerBridge.boot_transformers(folder)`: that tries every tokenizer with the letter a, which
not every vocabulary has, and puts a token of its own in front where a program has none.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from handcraft.errors import FileError
from handcraft.exporting.gpt2 import added_values, gpt2_arrays, gpt2_config
from handcraft.exporting.stocked import stocked
from handcraft.exporting.tokenizer import tokenizer_files
from handcraft.extras import extra
from handcraft.runtime.checkpoint import MANIFEST_FILE

if TYPE_CHECKING:
    from torch import Tensor
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

    from handcraft.compiler.stock.stock import LayerNorm, StockModel
    from handcraft.exporting.stocked import Known
    from handcraft.runtime.config import Activation

Given: TypeAlias = "Known | str | PathLike[str]"
"""A model, stock or not, or the folder of an exported one."""

NOTHING = "<no token>"
"""The token that pads and ends texts where the program has none for that.

Its id has no row in the embedding, so that reading it is an error.
"""


def bridge(
    given: Given, *, layer_norm: LayerNorm = "epsilon", activation: Activation = "gelu_new"
) -> TransformerBridge:
    """Return a model in TransformerLens, around Hugging Face's GPT-2, on the CPU.

    Args:
        given: a model or a folder; a model that is no stock GPT-2 yet is made one.
        layer_norm: how it is made one (see `stock`).
        activation: of its neurons then.

    Raises:
        HandcraftError: `missing-extra`; `not-stock`; those of `recompile` and `stock`.
        FileError: `cannot-read`.
    """
    extra("transformer_lens")
    sources = extra("transformer_lens.model_bridge.sources")
    hf, tokenizer = _hugging_face(given, layer_norm, activation)
    made = sources.build_bridge_from_module(hf, "GPT2LMHeadModel", hf_config=hf.config)
    return _reading(made, tokenizer)


def native(
    given: Given, *, layer_norm: LayerNorm = "epsilon", activation: Activation = "gelu_new"
) -> TransformerBridge:
    """Return a model in TransformerLens's own transformer, on the CPU.

    Args:
        given: a model or a folder; a model that is no stock GPT-2 yet is made one.
        layer_norm: how it is made one (see `stock`).
        activation: of its neurons then.

    Raises:
        HandcraftError: `missing-extra`; `not-stock`; those of `recompile` and `stock`.
        FileError: `cannot-read`.
    """
    config_class = extra("transformer_lens").TransformerBridgeConfig
    sources = extra("transformer_lens.model_bridge.sources")
    conversion = extra("transformer_lens.utilities.tl_checkpoint_conversion")
    hf, tokenizer = _hugging_face(given, layer_norm, activation)
    config = config_class(
        d_model=hf.config.n_embd,
        d_head=hf.config.n_embd // hf.config.n_head,
        n_layers=hf.config.n_layer,
        n_ctx=hf.config.n_positions,
        n_heads=hf.config.n_head,
        d_mlp=hf.config.n_inner,
        d_vocab=hf.config.vocab_size,
        d_vocab_out=hf.config.vocab_size,
        act_fn=hf.config.activation_function,
        eps=hf.config.layer_norm_epsilon,
        normalization_type="LN",
        dtype=hf.dtype,
        device="cpu",
        init_weights=False,
    )
    made = sources.boot_native(config, device="cpu", dtype=hf.dtype)
    weights = conversion.convert_tl_checkpoint(_lens_weights(hf), config)
    made.load_state_dict(weights, strict=True)
    made.eval()
    return _reading(made, tokenizer)


def _hugging_face(
    given: Given, layer_norm: LayerNorm, activation: Activation
) -> tuple[GPT2LMHeadModel, PreTrainedTokenizerFast]:
    """Return the model and the tokenizer that Hugging Face's software has of it."""
    if isinstance(given, str | PathLike):
        return _read(given)
    made = stocked(given, layer_norm, activation)
    return _model(made), _tokenizer(made)


def _read(folder: str | PathLike[str]) -> tuple[GPT2LMHeadModel, PreTrainedTokenizerFast]:
    if not (Path(folder) / MANIFEST_FILE).is_file():
        raise FileError("cannot-read", f"`{folder}` is no folder of an exported model")
    transformers = extra("transformers")
    hf = transformers.GPT2LMHeadModel.from_pretrained(
        folder, dtype="auto", attn_implementation="eager", local_files_only=True
    )
    return hf, transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _model(made: StockModel) -> GPT2LMHeadModel:
    torch, transformers = extra("torch"), extra("transformers")
    config = transformers.GPT2Config(**gpt2_config(made), attn_implementation="eager")
    hf = transformers.GPT2LMHeadModel(config)
    hf.to(getattr(torch, made.model.parameters.dtype.name))
    weights = {name: torch.tensor(array) for name, array in gpt2_arrays(made).items()}
    if made.model.config.tied:
        weights["lm_head.weight"] = weights["transformer.wte.weight"]
    hf.load_state_dict(weights, strict=True)
    return hf.eval()


def _tokenizer(made: StockModel) -> PreTrainedTokenizerFast:
    tokenizers, transformers = extra("tokenizers"), extra("transformers")
    model = made.model
    files = tokenizer_files(
        model.vocabulary,
        start=model.config.start,
        values=added_values(model),
        context=model.config.context,
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(files["tokenizer.json"]),
        **json.loads(files["tokenizer_config.json"]),
    )


def _reading(made: TransformerBridge, tokenizer: PreTrainedTokenizerFast) -> TransformerBridge:
    """Let a bridge read texts as the model does.

    A tokenizer that a bridge gets from the beginning on is tried with the letter a, which the
    vocabulary may not have, and is given tokens that it has not.
    """
    missing = {
        role: NOTHING for role in ("pad_token", "eos_token") if getattr(tokenizer, role) is None
    }
    tokenizer.add_special_tokens(missing)
    made.tokenizer = tokenizer
    made.cfg.tokenizer_prepends_bos = tokenizer.bos_token is not None
    made.cfg.default_prepend_bos = tokenizer.bos_token is not None
    made.cfg.tokenizer_appends_eos = False
    return made


def _lens_weights(hf: GPT2LMHeadModel) -> dict[str, Tensor]:
    """Return the weights under TransformerLens's names: heads apart, `[in, out]` throughout."""
    given, config = hf.state_dict(), hf.config
    weights = {
        "embed.W_E": given["transformer.wte.weight"],
        "pos_embed.W_pos": given["transformer.wpe.weight"],
        "ln_final.w": given["transformer.ln_f.weight"],
        "ln_final.b": given["transformer.ln_f.bias"],
        "unembed.W_U": given["lm_head.weight"].T,
        "unembed.b_U": given["lm_head.weight"].new_zeros(config.vocab_size),
    }
    for number in range(config.n_layer):
        h, block = f"transformer.h.{number}", f"blocks.{number}"
        for name in ("1", "2"):
            weights[f"{block}.ln{name}.w"] = given[f"{h}.ln_{name}.weight"]
            weights[f"{block}.ln{name}.b"] = given[f"{h}.ln_{name}.bias"]
        for name, bias, weight in zip(
            "QKV",
            given[f"{h}.attn.c_attn.bias"].chunk(3),
            given[f"{h}.attn.c_attn.weight"].chunk(3, dim=1),
            strict=True,
        ):
            by_head = weight.unflatten(1, (config.n_head, -1))  # [d_model, n_head, d_head]
            weights[f"{block}.attn.W_{name}"] = by_head.transpose(0, 1)
            weights[f"{block}.attn.b_{name}"] = bias.unflatten(0, (config.n_head, -1))
        out = given[f"{h}.attn.c_proj.weight"].unflatten(0, (config.n_head, -1))
        weights[f"{block}.attn.W_O"] = out
        weights[f"{block}.attn.b_O"] = given[f"{h}.attn.c_proj.bias"]
        for name, linear in (("in", "c_fc"), ("out", "c_proj")):
            weights[f"{block}.mlp.W_{name}"] = given[f"{h}.mlp.{linear}.weight"]
            weights[f"{block}.mlp.b_{name}"] = given[f"{h}.mlp.{linear}.bias"]
    return weights
