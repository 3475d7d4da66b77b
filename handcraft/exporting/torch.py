"""A model as PyTorch `state_dict` files: its own arrays, and those of a nanoGPT.

`state_dict.pt` holds any model: its arrays under their own names and in their own layouts, those
of GPT-2's checkpoints, where matrices are `[n_in, n_out]`.

`nanogpt.pt` holds the stock form under the names and in the layouts of nanoGPT, where they are
`[n_out, n_in]`; `model_args.json` has what its configuration is made with. That class knows one
form only: norms with an epsilon of 1e-5, exact GELU, MLPs four times as wide as the stream, and
an unembedding that is tied to `wte`. Of one that is not, it would write over one with the other
without a word; so programs that need one of their own are refused. What is proved is proved of
float32, so not under autocast, nor with TF32. A text that grows beyond `block_size` loses what it
begins with there, a start token included.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.stock.shape import USUAL
from handcraft.compiler.stock.stock import USUAL_EPSILON, stock
from handcraft.errors import HandcraftError, ProgramError
from handcraft.exporting.gpt2 import gpt2_arrays
from handcraft.extras import extra
from handcraft.runtime.checkpoint import PREFIX, UNEMBEDDING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.compiler.pipeline import Compiled
    from handcraft.compiler.stock.stock import StockModel
    from handcraft.errors import Span
    from handcraft.exporting.gpt2 import Json
    from handcraft.runtime.model import Model
    from handcraft.runtime.weights import Array

TRANSPOSED = ("c_attn.weight", "c_fc.weight", "c_proj.weight")
"""Matrices whose axes nanoGPT has the other way round."""


def torch_files(model: Model) -> dict[str, bytes]:
    """Return `state_dict.pt`: the arrays of any model as tensors, under their names.

    `torch.load` reads it with `weights_only=True`. The same model gives the same bytes, in one
    version of PyTorch.

    Raises:
        HandcraftError: `missing-extra`.
    """
    return {"state_dict.pt": _saved(model.weights)}


def nanogpt(compiled: Compiled, *, allow_unproved: bool = False) -> StockModel:
    """Return the model of a compiled program in the form that a nanoGPT has.

    Raises:
        HandcraftError: `not-nanogpt`, placed at the result where that is what does not fit;
            `not-stock`.
        ProgramError: `format` where the form cannot be proved.
    """
    model, result = compiled.model, compiled.program.typed.result.span
    if model.description.kind != "logits":  # `stock` ties those
        _check_fits(model, result)
    try:
        made = stock(
            compiled,
            layer_norm="pair",
            activation="gelu",
            mlp_width="usual",
            allow_unproved=allow_unproved,
        )
    except ProgramError as error:
        help_ = "use a smaller context, or export it to gpt2, whose norms may have another epsilon"
        raise ProgramError(error.code, error.message, error.span, help=help_) from None
    _check_fits(made.model, result)
    return made


def nanogpt_files(made: StockModel) -> dict[str, bytes]:
    """Return `nanogpt.pt` and `model_args.json` of a model that `nanogpt` has made.

    Raises:
        HandcraftError: `missing-extra`; `not-nanogpt` for a stock model of another form.
    """
    _check_fits(made.model)
    _check_form(made.model)
    arrays = {
        name: np.ascontiguousarray(array.T) if name.endswith(TRANSPOSED) else array
        for name, array in gpt2_arrays(made).items()
    }
    args = json.dumps(_model_args(made.model), indent=2) + "\n"
    return {"model_args.json": args.encode(), "nanogpt.pt": _saved(arrays, tied=True)}


def _saved(arrays: Mapping[str, Array], *, tied: bool = False) -> bytes:
    """Return the bytes of a `state_dict`; a tied unembedding is the tensor of tokens once more."""
    torch = extra("torch")
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    if tied:
        tensors[UNEMBEDDING] = tensors[f"{PREFIX}wte.weight"]
    file = BytesIO()
    torch.save(tensors, file)
    return file.getvalue()


def _check_fits(model: Model, result: Span | None = None) -> None:
    """Raise where no form of a model is a nanoGPT."""
    dtype = model.parameters.dtype.name
    if not model.config.tied:
        message = "nanoGPT ties its unembedding to `wte`, and this program needs one of its own"
        help_ = "export it to gpt2, whose unembedding need not be tied"
        raise HandcraftError("not-nanogpt", message, result, help=help_)
    if dtype != "float32":
        message = f"nanoGPT computes in float32, and this model is {dtype}"
        raise HandcraftError("not-nanogpt", message, help="compile it in float32")


def _check_form(model: Model) -> None:
    config = model.config
    what = None
    if config.layer_norm_epsilon != USUAL_EPSILON:
        what = f"its norms have epsilon {USUAL_EPSILON}, not {config.layer_norm_epsilon}"
    elif config.activation != "gelu":
        what = f"its neurons are gelu, not {config.activation}"
    elif config.d_mlp != USUAL * config.d_model:
        what = f"its layers have {USUAL * config.d_model} neurons, not {config.d_mlp}"
    if what is not None:
        raise HandcraftError("not-nanogpt", f"this is not the form of a nanoGPT: {what}")


def _model_args(model: Model) -> dict[str, Json]:
    config = model.config
    return {
        "bias": True,
        "block_size": config.n_ctx,
        "dropout": 0.0,
        "n_embd": config.d_model,
        "n_head": config.n_head,
        "n_layer": config.n_layer,
        "vocab_size": config.n_vocab,
    }
