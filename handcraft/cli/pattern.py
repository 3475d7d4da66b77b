"""`handcraft pattern`: a regular language becomes weights, without any file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from handcraft.cli.building import compile_in
from handcraft.cli.costs import tell_costs, tell_line, write
from handcraft.cli.opening import read_vocab
from handcraft.cli.options import (
    budget_option,
    dtype_option,
    level_option,
    proof_options,
    target_option,
)
from handcraft.cli.text import TextCommand, on_one_line
from handcraft.errors import InputError

if TYPE_CHECKING:
    from handcraft.cli.building import Proof
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Token

LONGEST = 10
"""Tokens of the continuation that is shown."""


@click.command(cls=TextCommand)
@click.argument("pattern")
@target_option
@click.option("--context", type=click.IntRange(min=1), required=True, help="Longest text seen.")
@click.option("--vocab", help="The tokens, if not the symbols of the pattern.")
@click.option("--bos", help="A token that every text begins with.")
@click.option("--eos", help="A token that follows where the text is a word.")
@dtype_option
@level_option
@budget_option
@proof_options
def pattern(
    pattern: str,
    target: str | None,
    context: int,
    vocab: str | None,
    bos: str | None,
    eos: str | None,
    formats: tuple[str, ...],
    optimize: int,
    budget: dict[str, int] | None,
    proof: Proof,
) -> None:
    """Compile PATTERN to weights that write its words, and say what they cost."""
    from handcraft.compiler.patterns.program import pattern_program

    tokens = None if vocab is None else read_vocab(vocab)
    numbers = tokens is not None and len(tokens) > 0 and isinstance(tokens[0], int)
    program = pattern_program(
        pattern,
        context=context,
        vocab=tokens,
        bos=_marker("--bos", bos, numbers=numbers),
        eos=_marker("--eos", eos, numbers=numbers),
    )
    model = compile_in(program, formats, optimize, budget, proof)[formats[0]].model
    written = write(model, target, formats[0])
    tell_costs(program, model, formats, optimize, budget)
    tell_line("written", written)
    if target is None:
        tell_line("continues", _continued(model))


def _marker(option: str, text: str | None, *, numbers: bool) -> Token | None:
    """Return a start or end token, a number where the tokens are."""
    if text is None or not numbers:
        return text
    if not text.lstrip("-").isdecimal():
        raise click.BadParameter(f"`{text}` is no number, and the tokens are", param_hint=option)
    return int(text)


def _continued(model: Model) -> str:
    """Return the first text that can be continued, and its greedy continuation."""
    guide, vocabulary = model.description.guide, model.vocabulary
    assert guide is not None
    front = () if vocabulary.bos is None else (vocabulary.bos,)
    first = front or guide.following(0)[:1]
    tokens = list(first)
    while len(tokens) < len(first) + LONGEST:
        if len(tokens) > model.config.context and not model.description.window_safe:
            break
        try:
            token = model.predict(tokens)
        except InputError:
            break  # a word that nothing can follow
        if token == vocabulary.eos:
            break
        tokens.append(token)  # type: ignore[arg-type]  # one text has one next token
    shown = vocabulary.join(first[len(front) :]), vocabulary.join(tokens[len(first) :])
    return f"{on_one_line(shown[0])} :: {on_one_line(shown[1])}".lstrip()
