"""`handcraft cost`: what a model computes, part by part, and token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from handcraft.cli.costs import tell_line
from handcraft.cli.opening import Given, open_model
from handcraft.cli.options import program_level_option, program_options
from handcraft.cli.printing import print_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from handcraft.runtime.config import Config
    from handcraft.runtime.cost import Cost, Flops
    from handcraft.runtime.model import Model

    Row: TypeAlias = tuple[str, str, str]


@click.command()
@click.argument("file")
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    show_default="the context",
    help="How long the text is, `bos` included.",
)
@click.option(
    "--source",
    type=click.IntRange(min=0),
    show_default="its context",
    help="How long the source is, in a model that has one.",
)
@program_options
@program_level_option
def cost(
    file: str, tokens: int | None, source: int | None, given: Given, optimize: int | None
) -> None:
    """Say how many FLOPs a model or a program FILE takes, with and without a cache."""
    from handcraft.runtime.cost import cost as cost_of

    model = open_model(file, given, optimize)
    found = cost_of(model, tokens, source=source)
    for name, value in _account(model, found).items():
        tell_line(name, value)
    print_page("\n" + _table([*_parts(found), *_token_by_token(found)]))


def _account(model: Model, cost: Cost) -> dict[str, str]:
    """Return what is counted, and what is kept in memory."""
    config, dtype = model.config, model.parameters.dtype.name
    total, nonzero = cost.parameters
    account = {
        "FLOPs": "2 for each multiply-add of a matrix product, masked pairs included",
        "left out": "look-ups, sums, biases, softmax, norms, activations",
        "not zero": _nonzero(config),
    }
    if config.encoder is not None and cost.source_tokens is not None:
        account["source"] = _length(config.encoder, cost.source_tokens)
    account["text"] = _length(config, cost.tokens)
    account["parameters"] = f"{total:,}, {nonzero:,} of them not zero"
    account["weights"] = f"{cost.parameter_bytes:,} bytes in {dtype}, zeros included"
    account["cache"] = _cache(config, cost)
    return account


def _nonzero(config: Config) -> str:
    if config.attention == "causal":
        return "without weights of 0 and masked pairs; the other pairs are scored and mixed whole"
    return "without weights of 0; every pair is seen, and scored and mixed whole"


def _length(config: Config, tokens: int) -> str:
    """Return `5 tokens of a context of 8, and a start token`."""
    start = ", and a start token" if config.start else ""
    return f"{_tokens(tokens)} of a context of {config.context}{start}"


def _tokens(number: int) -> str:
    return f"{number:,} token{'' if number == 1 else 's'}"


def _cache(config: Config, cost: Cost) -> str:
    if cost.cache_bytes is None:
        return "none: every new token changes what the others say"
    kept = f"{cost.cache_bytes:,} bytes a position"
    if config.encoder is None:
        return kept
    return f"{kept}, {cost.source_cache_bytes:,} bytes a position of the source"


def _parts(cost: Cost) -> Iterator[Row]:
    """Yield the rows of one pass."""
    yield ("one pass over the text", "FLOPs", "not zero")
    for part in cost.parts:
        yield _row(f"  {part.where}  {part.name}".rstrip(), part.flops)
    yield _row("  together", cost.flops)
    if cost.source_tokens is not None:
        yield _row("  of this, once for the source", cost.source_flops)


def _token_by_token(cost: Cost) -> Iterator[Row]:
    """Yield the rows of passes over 1, 2, ... tokens."""
    yield ("", "", "")
    yield ("token by token", "FLOPs", "not zero")
    if cost.with_cache is not None:
        yield _row("  with a cache", cost.with_cache)
    again = "" if cost.source_tokens is None else ", the source read each time"
    yield _row(f"  without, a pass for each{again}", cost.without_cache)


def _row(name: str, flops: Flops) -> Row:
    return (name, f"{flops.total:,}", f"{flops.nonzero:,}")


def _table(rows: list[Row]) -> str:
    """Return rows as lines: names on the left, numbers on the right of their columns."""
    first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "".join(f"{a:<{first}}  {b:>{second}}  {c:>{third}}".rstrip() + "\n" for a, b, c in rows)
