"""A model -> the stages on the way to it, once more, from the program that it carries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handcraft.compiler.pipeline import compile_in
from handcraft.errors import HandcraftError
from handcraft.language.program import parse_again
from handcraft.runtime.model import Model

if TYPE_CHECKING:
    from handcraft.compiler.pipeline import Compiled

AGAIN = "it was edited, or made by another version: compile its program again"
"""The way out where a model is not what its program compiles to."""


def recompile(model: Model) -> Compiled:
    """Compile a model's own program again, as it was compiled, and hold it against the model.

    It is compiled in the format that it was compiled in, and then rounded to the model's: so a
    model that was rounded by `astype` is the same again, though the scores of heads would be
    scaled otherwise in that format.

    Returns:
        The stages, with the model's own weights and what this version says of them.

    Raises:
        HandcraftError: `no-program` where the model does not carry one; `other-weights` where the
            weights, `other-vocabulary` where the tokens are not exactly those of its program.
        ProgramError: where this version does not compile the program.
    """
    compiled = compiled_again(model)
    return replace(compiled, model=with_weights_of(model, compiled.model))


def compiled_again(model: Model) -> Compiled:
    """Compile a model's own program again, whatever form of it the model is.

    Raises:
        HandcraftError: `no-program`; `other-vocabulary`.
        ProgramError: where this version does not compile the program.
    """
    recipe = model.description.recipe
    if recipe is None:
        message, help_ = "this model does not carry its program", "compile it again"
        raise HandcraftError("no-program", message, help=help_)
    compiled = compile_in(
        parse_again(recipe.origin),
        recipe.formats,
        optimize=recipe.optimize,
        gap=recipe.gap,
        scale=recipe.scale,
        allow_unproved=recipe.allow_unproved,
    )[recipe.formats[0]]
    made = compiled.model
    if (made.vocabulary, made.source_vocabulary) != (model.vocabulary, model.source_vocabulary):
        message = "the vocabulary is not the one that its program has"
        raise HandcraftError("other-vocabulary", message, help=AGAIN)
    return compiled


def with_weights_of(model: Model, made: Model) -> Model:
    """Return what was made anew in the format of the model, whose weights must be the same.

    Raises:
        HandcraftError: `other-weights`.
    """
    weights = made.parameters.astype(model.parameters.dtype.name)
    if not weights.equals(model.parameters):
        message = "the weights are not those that its program compiles to"
        raise HandcraftError("other-weights", message, help=AGAIN)
    return Model(weights, made.vocabulary, made.description, made.source_vocabulary)
