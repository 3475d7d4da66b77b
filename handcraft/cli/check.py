"""`handcraft check`: the weights of a program against its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from handcraft.cli.building import compile_in
from handcraft.cli.opening import Given, open_program
from handcraft.cli.options import dtype_option, levels_option, program_options, strict_option
from handcraft.cli.telling import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.checking import Difference, Failure, Meaningless, Report
    from handcraft.language.program import Program
    from handcraft.language.typed import Header
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Token, Vocabulary


@click.command()
@click.argument("program")
@click.option(
    "--longest",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Try every input up to this length.",
)
@click.option(
    "--random",
    "n_random",
    type=click.IntRange(min=0),
    default=300,
    show_default=True,
    help="Try so many random inputs up to the context.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@program_options
@dtype_option
@levels_option
@strict_option
@click.pass_context
def check(
    ctx: click.Context,
    program: str,
    longest: int,
    n_random: int,
    seed: int,
    given: Given,
    formats: tuple[str, ...],
    levels: tuple[int, ...],
    strict: bool,
) -> None:
    """Compare the weights of PROGRAM with what it means, on examples and many inputs."""
    from handcraft.checking import check as compare

    read = open_program(program, given, strict=strict)
    models = _models(read, formats, levels)
    report = compare(read, models, longest=longest, random=n_random, seed=seed)
    for line in _lines(report, read.typed.header):
        click.echo(line)
    if not report.holds:
        ctx.exit(FAILED)


def _models(
    program: Program, formats: tuple[str, ...], levels: tuple[int, ...]
) -> dict[str, Model]:
    """Return a model for each level and format; of one level, the format is name enough."""
    models = {}
    for level in levels:
        for name, compiled in compile_in(program, formats, level).items():
            models[f"O{level} {name}" if len(levels) > 1 else name] = compiled.model
    return models


def _lines(report: Report, header: Header) -> Iterator[str]:
    held = report.examples - len({failure.example for failure in report.failures})
    yield f"examples   {held} of {report.examples} hold" if report.examples else "examples   none"
    for failure in report.failures:
        yield f"           {_failure(failure, header)}"
    tokens = " ".join(map(str, report.tokens))
    yield (
        f"inputs     {report.every:,} of length up to {report.longest} over {tokens},"
        f" {report.random:,} random; {report.in_scope:,} in scope"
    )
    yield (f"positions  {report.compared:,} compared, {report.without_meaning:,} without meaning")
    if report.meaningless is not None:
        yield f"           {_meaningless(report.meaningless, header)}"
    width = max(9, *map(len, report.verdicts))
    for name, verdict in report.verdicts.items():
        many = "" if verdict.differences == 1 else "s"
        yield f"{name:<{width}}  {verdict.differences:,} difference{many}"
        if verdict.smallest is not None:
            yield f"           {_difference(verdict.smallest, header)}"


def _failure(failure: Failure, header: Header) -> str:
    from handcraft.explain import shown

    example = failure.example
    expected = example.expected
    if not isinstance(expected, str):
        expected = " ".join(map(shown, expected))
    got = failure.got
    if isinstance(got, tuple):
        got = " ".join(map(shown, got))
    return (
        f"line {example.span.line}, {_quoted(example.input, _read(header))}:"
        f" expected {expected}, {failure.where} gives {got}"
    )


def _meaningless(found: Meaningless, header: Header) -> str:
    return (
        f"the smallest without meaning: {_input(found, header)}, position"
        f" {found.position}: {found.reason.code}: {found.reason.message}"
    )


def _difference(found: Difference, header: Header) -> str:
    from handcraft.explain import shown

    return (
        f"the smallest: {_input(found, header)}, position {found.position}:"
        f" expected {shown(found.expected)}, got {shown(found.got)}"
    )


def _read(header: Header) -> Vocabulary:
    """Return the tokens of what examples give: the source, if there is one."""
    return header.vocabulary if header.source is None else header.source.vocabulary


def _input(found: Difference | Meaningless, header: Header) -> str:
    text = _quoted(found.input, header.vocabulary)
    if found.source is None:
        return text
    return f"source {_quoted(found.source, _read(header))}, target {text}"


def _quoted(tokens: tuple[Token, ...], vocabulary: Vocabulary) -> str:
    from handcraft.language.values import show

    return show(vocabulary.join(tokens))
