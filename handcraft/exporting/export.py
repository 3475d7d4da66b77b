"""A model -> a folder that other software loads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never, get_args

from handcraft.compiler.recompile import recompile
from handcraft.compiler.stock.stock import StockModel, stock
from handcraft.errors import HandcraftError
from handcraft.exporting.card import CARD_FILE, gpt2_card, native_card
from handcraft.exporting.folder import write_folder
from handcraft.exporting.gpt2 import added_values, generation_config, gpt2_arrays, gpt2_config
from handcraft.exporting.onnx import onnx_model
from handcraft.exporting.safetensors import safetensors_bytes
from handcraft.exporting.tokenizer import tokenizer_files
from handcraft.runtime.arguments import file_path
from handcraft.runtime.checkpoint import ARRAYS_FILE, MANIFEST_FILE
from handcraft.runtime.manifest import Manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from handcraft.compiler.stock.stock import LayerNorm
    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.config import Activation
    from handcraft.runtime.model import Model

Target: TypeAlias = Literal["gpt2", "transformer-lens", "onnx", "safetensors", "torch"]


def export(
    model: Model,
    path: str | PathLike[str],
    *,
    to: Target,
    layer_norm: LayerNorm | None = None,
    activation: Activation | None = None,
    patterns: bool = False,
    allow_unproved: bool = False,
) -> Certificate | None:
    """Write a model to a folder that other software loads, whole or not at all.

    `gpt2` and `transformer-lens` give a stock GPT-2 with layer norms and GELU, for Hugging Face's
    `from_pretrained`; its certificate is its own. `onnx`, `safetensors` and `torch` hold the
    weights as they are, of every program.

    Args:
        model: as compiled or loaded; for a stock GPT-2 it must carry its program.
        path: the folder; one that has something in it must be an earlier export.
        to: the format.
        layer_norm: of a stock GPT-2: `epsilon` (the default), or `pair` for software whose epsilon
            is 1e-5.
        activation: of a stock GPT-2: `gelu_new` (the default), `gelu` or `relu`.
        patterns: give the attention patterns as further outputs; only `onnx`.
        allow_unproved: write also a stock GPT-2 that is not proved in its format.

    Returns:
        What was proved of what was written; None if nothing was.

    Raises:
        HandcraftError: `bad-option`; `missing-extra`; `not-stock` where no GPT-2 can hold the
            program; as `recompile`; `format` where the stock form is not proved.
        FileError: `cannot-write`, `exists`, `bad-path`.
    """
    folder = file_path(path)
    _check(to, layer_norm=layer_norm, activation=activation, patterns=patterns)
    files: Mapping[str, bytes]
    match to:
        case "gpt2" | "transformer-lens":
            made = stock_of(
                model,
                layer_norm=layer_norm or "epsilon",
                activation=activation or "gelu_new",
                allow_unproved=allow_unproved,
            )
            files, model = gpt2_files(made), made.model
        case "onnx":
            files = {"model.onnx": onnx_model(model, patterns=patterns), **_told(model, "onnx")}
        case "safetensors":
            arrays = safetensors_bytes(model.weights)
            files = {ARRAYS_FILE: arrays, **_told(model, "safetensors")}
        case "torch":
            raise NotImplementedError
        case _:
            assert_never(to)
    write_folder(folder, files)
    return model.certificate


def stock_of(
    model: Model,
    *,
    layer_norm: LayerNorm = "epsilon",
    activation: Activation = "gelu_new",
    allow_unproved: bool = False,
) -> StockModel:
    """Return a model as a stock GPT-2; raises as `recompile` and `stock`."""
    if model.config.layer_norm:
        message = "this model is in the form of a stock GPT-2 already"
        help_ = "copy its folder, or export the model that it was made from"
        raise HandcraftError("not-stock", message, help=help_)
    return stock(
        recompile(model),
        layer_norm=layer_norm,
        activation=activation,
        allow_unproved=allow_unproved,
    )


def gpt2_files(made: StockModel) -> dict[str, bytes]:
    """Return the files of a checkpoint that `AutoModelForCausalLM` and `AutoTokenizer` load."""
    model = made.model
    texts = {
        "config.json": _json(gpt2_config(made)),
        "generation_config.json": _json(generation_config(made)),
        CARD_FILE: gpt2_card(made),
        MANIFEST_FILE: _manifest(model),
        **tokenizer_files(
            model.vocabulary,
            start=model.config.start,
            values=added_values(model),
            context=model.config.context,
        ),
    }
    arrays = safetensors_bytes(gpt2_arrays(made))
    return {ARRAYS_FILE: arrays, **{name: text.encode() for name, text in texts.items()}}


def _told(model: Model, to: Target) -> dict[str, bytes]:
    """Return the files that say what a native model's numbers mean."""
    return {
        MANIFEST_FILE: _manifest(model).encode(),
        CARD_FILE: native_card(model, to).encode(),
    }


def _manifest(model: Model) -> str:
    return write_manifest(
        Manifest(model.config, model.vocabulary, model.description, model.source_vocabulary)
    )


def _json(members: object) -> str:
    return json.dumps(members, indent=2, sort_keys=True) + "\n"


def _check(to: object, *, layer_norm: object, activation: object, patterns: bool) -> None:
    if to not in get_args(Target):
        message = f"a format is one of {', '.join(get_args(Target))}, not `{to}`"
        raise HandcraftError("bad-option", message)
    is_stock = to in ("gpt2", "transformer-lens")
    if not is_stock and (layer_norm is not None or activation is not None):
        message = f"`{to}` holds the weights as they are, without layer norms"
        raise HandcraftError("bad-option", message, help="leave `layer_norm` and `activation` out")
    if patterns and to != "onnx":
        message = f"patterns are outputs of an ONNX file, not of `{to}`"
        raise HandcraftError("bad-option", message)
