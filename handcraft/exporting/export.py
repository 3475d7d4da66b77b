"""A model -> a folder that other software loads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never, get_args

from handcraft.compiler.recompile import recompile
from handcraft.errors import HandcraftError
from handcraft.exporting.card import CARD_FILE, gguf_card, gpt2_card, native_card
from handcraft.exporting.folder import write_file, write_folder
from handcraft.exporting.gguf import gguf_bytes
from handcraft.exporting.gpt2 import added_values, generation_config, gpt2_arrays, gpt2_config
from handcraft.exporting.hooks import hook_names, hooks_json
from handcraft.exporting.onnx import onnx_model
from handcraft.exporting.safetensors import safetensors_bytes
from handcraft.exporting.stocked import is_stock, stocked
from handcraft.exporting.tokenizer import tokenizer_files
from handcraft.exporting.torch import nanogpt, nanogpt_files, torch_files
from handcraft.runtime.arguments import file_path
from handcraft.runtime.checkpoint import ARRAYS_FILE, MANIFEST_FILE
from handcraft.runtime.manifest import Manifest, write_manifest
from handcraft.runtime.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from pathlib import Path

    from handcraft.compiler.pipeline import Compiled
    from handcraft.compiler.stock.stock import LayerNorm, StockModel
    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.config import Activation

ALONE = {"onnx": PurePath("model.onnx"), "gguf": PurePath("model.gguf")}
"""Formats of one file, which can be written without a folder around it."""

NO_NANOGPT = frozenset(
    ("not-nanogpt", "not-stock", "format", "no-program", "other-weights", "other-vocabulary")
)
"""The errors of models that no nanoGPT can hold."""

Target: TypeAlias = Literal["gpt2", "transformer-lens", "gguf", "onnx", "safetensors", "torch"]


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
    `from_pretrained`, the second with the names of all hooks, and `gguf` gives it to llama.cpp; its
    certificate is its own. `onnx`, `safetensors` and `torch` hold the weights as they are, of every
    program; `torch` also under nanoGPT's names where that can hold it.

    Args:
        model: as compiled or loaded; for a stock GPT-2 it must carry its program.
        path: the folder; one that has something in it must be an earlier export. A path that ends
            in `.onnx` or `.gguf` is that file itself.
        to: the format.
        layer_norm: of a stock GPT-2: `epsilon` (the default), or `pair` for software whose epsilon
            is 1e-5.
        activation: of a stock GPT-2: `gelu_new` (the default), `gelu` or `relu`.
        patterns: give the attention patterns as further outputs; only `onnx`.
        allow_unproved: write also a stock GPT-2 that is not proved in its format.

    Returns:
        What was proved of what was written; None if nothing was, as of weights that are not those
        that the model's program compiles to.

    Raises:
        HandcraftError: `bad-option`; `missing-extra`; `not-stock` where no GPT-2 can hold the
            program; those of `recompile`; `format` where the stock form is not proved.
        FileError: `cannot-write`, `exists`, `in-use`, `bad-path`.
    """
    target = file_path(path)
    _check_name(target, to)
    _check(model, to, layer_norm=layer_norm, activation=activation, patterns=patterns)
    files: Mapping[str, bytes]
    match to:
        case "gpt2" | "transformer-lens" | "gguf":
            made = stocked(
                model,
                layer_norm or "epsilon",
                activation or "gelu_new",
                allow_unproved=allow_unproved,
            )
            model = made.model
            files = _stock_files(made, to)
        case "onnx" | "safetensors" | "torch":
            model, compiled = _as_proved(model)
            native = _native_files(model, compiled, to, patterns=patterns)
            files = {**native, **_told(model, to)}
        case _:
            assert_never(to)
    only = ALONE.get(to)
    if only is not None and target.suffix == only.suffix:
        write_file(target, files[only.name])
    else:
        write_folder(target, files)
    return model.certificate


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


def _stock_files(made: StockModel, to: Target) -> dict[str, bytes]:
    """Return the files of a stock GPT-2 in one of the formats that hold it."""
    if to == "gguf":
        told = {MANIFEST_FILE: _manifest(made.model), CARD_FILE: gguf_card(made)}
        return {"model.gguf": gguf_bytes(made), **{n: text.encode() for n, text in told.items()}}
    if to == "transformer-lens":
        hooks = _json(hooks_json(hook_names(made)))
        card = gpt2_card(made, is_lens=True)
        return {**gpt2_files(made), CARD_FILE: card.encode(), "hooks.json": hooks.encode()}
    return gpt2_files(made)


def _native_files(
    model: Model,
    compiled: Compiled | None,
    to: Literal["onnx", "safetensors", "torch"],
    *,
    patterns: bool,
) -> dict[str, bytes]:
    """Return the files of the weights as they are, in one of the formats that hold them."""
    match to:
        case "onnx":
            return {"model.onnx": onnx_model(model, patterns=patterns)}
        case "safetensors":
            return {ARRAYS_FILE: safetensors_bytes(model.weights)}
        case "torch":
            return {**torch_files(model), **_nanogpt(model, compiled)}
        case _:
            assert_never(to)


def _as_proved(model: Model) -> tuple[Model, Compiled | None]:
    """Return a model that claims no proof where its weights are not those of its program.

    Beside it stands what its program compiles to, where that was needed to know it.
    """
    if model.certificate is None:
        return model, None
    try:
        if not is_stock(model):
            return model, recompile(model)
        stocked(model, "epsilon", "gelu_new")
    except HandcraftError as error:
        if error.code == "missing-extra":
            raise
        told = replace(model.description, certificate=None, formats=())
        return Model(model.parameters, model.vocabulary, told, model.source_vocabulary), None
    return model, None


def _nanogpt(model: Model, compiled: Compiled | None) -> dict[str, bytes]:
    """Return the files of a nanoGPT, none where it cannot hold the program."""
    try:
        return nanogpt_files(nanogpt(compiled or recompile(model)))
    except HandcraftError as error:
        if error.code not in NO_NANOGPT:
            raise
        return {}


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


def _check_name(target: Path, to: str) -> None:
    """Raise where a path is named like the file of another format."""
    for other, only in ALONE.items():
        if other != to and target.suffix == only.suffix:
            message = f"`{target}` is named like a file of {other}, and `{to}` makes a folder"
            help_ = f"give another name, or export to {other}"
            raise HandcraftError("bad-option", message, help=help_)


def _check(
    model: Model, to: object, *, layer_norm: object, activation: object, patterns: bool
) -> None:
    if to not in get_args(Target):
        message = f"a format is one of {', '.join(get_args(Target))}, not `{to}`"
        raise HandcraftError("bad-option", message)
    has_form = to in ("gpt2", "transformer-lens", "gguf")
    if has_form and is_stock(model) and (layer_norm or activation):
        message = "this model is a stock GPT-2 already, and keeps its form"
        raise HandcraftError("bad-option", message, help="export the model that it was made from")
    if not has_form and (layer_norm is not None or activation is not None):
        message = f"`{to}` holds the weights as they are, without layer norms"
        raise HandcraftError("bad-option", message, help="leave `layer_norm` and `activation` out")
    if patterns and to != "onnx":
        message = f"patterns are outputs of an ONNX file, not of `{to}`"
        raise HandcraftError("bad-option", message)
