"""Options that several commands share."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from handcraft.cli.opening import Given

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = ("float32", "float64", "float16")


def program_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that stand for header statements, as one argument `given`."""

    @click.option("--vocab", help='Characters `abc`, a range `0..9`, or a list `["a", "b"]`.')
    @click.option("--context", type=click.IntRange(min=1), help="Longest text that is seen.")
    @click.option("--attention", type=click.Choice(["causal", "bidirectional"]))
    @click.option("--output", help="An expression that replaces the program's result.")
    @wraps(command)
    def with_given(
        vocab: str | None,
        context: int | None,
        attention: str | None,
        output: str | None,
        **others: Any,
    ) -> None:
        command(given=Given(vocab, context, attention, output), **others)

    return with_given


def _formats(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the formats of `float32,float64`, each once, in the order given."""
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
    for name in names:
        if name not in FORMATS:
            raise click.BadParameter(f"`{name}` is none of {', '.join(FORMATS)}", ctx, param)
    return names


dtype_option = click.option(
    "--dtype",
    "formats",
    callback=_formats,
    default="float32,float64",
    show_default=True,
    help="Formats in which the weights are to be exact.",
)

strict_option = click.option("--strict", is_flag=True, help="Make warnings errors.")
