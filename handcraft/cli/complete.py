"""`handcraft complete`: the text that a model writes after a text."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import click

from handcraft.cli.building import compile_in
from handcraft.cli.opening import Given, is_program, open_model, open_program
from handcraft.cli.options import program_level_option, program_options
from handcraft.cli.telling import FAILED, tell
from handcraft.cli.text import TextCommand, on_one_line

if TYPE_CHECKING:
    from handcraft.runtime.model import Model


def _finite(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not isfinite(value):
        raise click.BadParameter(f"a temperature is a finite number, not `{value}`", ctx, param)
    return value


@click.command(cls=TextCommand)
@click.argument("file")
@click.argument("text")
@click.option(
    "-n",
    "n",
    type=click.IntRange(min=0),
    show_default="10, or from a source up to the end",
    help="At most so many tokens.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    callback=_finite,
    default=0.0,
    show_default=True,
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from so many tokens only.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed draws the same tokens.")
@click.option("--slide", is_flag=True, help="Go on beyond the context in any case.")
@program_options
@program_level_option
@click.pass_context
def complete(
    ctx: click.Context,
    file: str,
    text: str,
    n: int | None,
    temperature: float,
    top_k: int | None,
    seed: int | None,
    slide: bool,
    given: Given,
    optimize: int | None,
) -> None:
    """Continue TEXT by N tokens, with a model or a program FILE; or write from it as a source.

    A program is interpreted first, so that a text on which it has no meaning is refused.
    """
    if is_program(file):
        program = open_program(file, given)
        program.complete(text, n, slide=slide)
        level = 1 if optimize is None else optimize
        model = compile_in(program, ("float32",), level)["float32"].model
    else:
        model = open_model(file, given, optimize)
    written = model.complete(text, n, temperature=temperature, top_k=top_k, seed=seed, slide=slide)
    if model.source_vocabulary is not None:
        click.echo(f"{on_one_line(text)} :: {written} ({_end(model)})")
        if model.stop_reason == "context":
            ctx.exit(FAILED)
        return
    click.echo(f"{on_one_line(text)} :: {written}")
    if model.stop_reason == "context":
        tell(
            f"note: stopped at the context of {model.config.context} tokens; what lies beyond it"
            " may change the answer\nhelp: go on in any case with `--slide`"
        )
        ctx.exit(FAILED)


def _end(model: Model) -> str:
    """Return why a text that is written from a source ends, and after how many steps."""
    (generation,) = model.generations
    steps = f"{generation.steps} step{'' if generation.steps == 1 else 's'}"
    if generation.stop_reason == "context":
        return f"no {model.vocabulary.eos} in the context of {model.config.context} tokens"
    return f"{'eos' if generation.stop_reason == 'eos' else 'stopped'} after {steps}"
