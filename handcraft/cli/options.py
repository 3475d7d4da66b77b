"""Options that several commands share."""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from handcraft.cli.building import Proof
from handcraft.cli.opening import Given

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

FORMATS = ("float32", "float64", "float16")
LEVELS = ("0", "1", "2")

_WHOLE = re.compile(r"[0-9]{1,18}")


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
            verdict = "; its verdict stands in every certificate" if name == "bfloat16" else ""
            message = f"weights are {', '.join(FORMATS)}, not `{name}`{verdict}"
            raise click.BadParameter(message, ctx, param)
    return names


dtype_option = click.option(
    "--dtype",
    "formats",
    callback=_formats,
    default="float32,float64",
    show_default=True,
    help="Formats in which the weights are to be exact.",
)

level_option = click.option(
    "-O",
    "--optimize",
    "optimize",
    type=click.IntRange(min=0, max=2),
    default=1,
    show_default=True,
    help="0 keeps every step, 1 folds what is free, 2 makes the model as small as it can.",
)

program_level_option = click.option(
    "-O",
    "--optimize",
    "optimize",
    type=click.IntRange(min=0, max=2),
    help="The level at which a program is compiled, 1 if not given.",
)


def _levels(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Return the levels of `0,1,2`, each once, in the order given."""
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
    for name in names:
        if name not in LEVELS:
            raise click.BadParameter(f"`{name}` is none of {', '.join(LEVELS)}", ctx, param)
    return tuple(map(int, names))


levels_option = click.option(
    "-O",
    "--optimize",
    "levels",
    callback=_levels,
    default="1",
    show_default=True,
    help="Optimisation levels to compare, as in `0,1,2`.",
)


def _budget(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, int] | None:
    """Return the budget of `layers=4,heads=2`."""
    if value is None:
        return None
    from handcraft.compiler.budget import NAMES

    budget: dict[str, int] = {}
    for part in value.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        if not equals or name not in NAMES:
            message = f"`{part}` limits none of {', '.join(NAMES)}: write `layers=4,heads=2`"
            raise click.BadParameter(message, ctx, param)
        if _WHOLE.fullmatch(number) is None:
            raise click.BadParameter(f"`{number}` is no whole number from 0", ctx, param)
        if name in budget:
            raise click.BadParameter(f"`{name}` is limited twice", ctx, param)
        budget[name] = int(number)
    return budget


budget_option = click.option(
    "--budget",
    callback=_budget,
    metavar="LIMITS",
    help="Refuse a model that takes more: `layers=4,heads=2,d_model=64`.",
)


def proof_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the certificate, as one argument `proof`."""

    @click.option(
        "--gap",
        type=click.Choice(["least"]),
        help="Make the scores of heads as small as the proof allows; else nothing leaks.",
    )
    @click.option(
        "--scale", type=int, callback=_scale, help="Multiply scores by this power of two."
    )
    @click.option(
        "--allow-unproved", is_flag=True, help="Compile also what is not proved in the formats."
    )
    @wraps(command)
    def with_proof(
        gap: Literal["least"] | None, scale: int | None, allow_unproved: bool, **others: Any
    ) -> None:
        if gap is not None and scale is not None:
            raise click.UsageError("--gap and --scale both say how scores are scaled: give one")
        command(proof=Proof(gap, scale, allow_unproved), **others)

    return with_proof


def _scale(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value is not None and (value < 1 or value & (value - 1)):
        message = f"`{value}` is no power of two, so scores would not be exact"
        raise click.BadParameter(message, ctx, param)
    return value


def _target(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the file to write, unless it is named like a program."""
    if value is not None and value.lower().endswith(".rasp"):
        message = f"`{value}` is the name of a program, which the weights would replace"
        raise click.BadParameter(message, ctx, param)
    return value


target_option = click.option(
    "-o", "target", metavar="F.npz", callback=_target, help="Write the weights to this file."
)

strict_option = click.option("--strict", is_flag=True, help="Make warnings errors.")
