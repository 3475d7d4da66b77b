"""A pattern alone: the program that predicts what may follow, and its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.pipeline import compile_program
from handcraft.errors import HandcraftError, ProgramError, Source
from handcraft.language.literals import write_text
from handcraft.language.program import Program, parse
from handcraft.language.values import show
from handcraft.patterns.alphabet import symbols_of, vocabulary_of
from handcraft.patterns.build import PATTERN, automaton_of
from handcraft.patterns.parse import parse_pattern
from handcraft.patterns.tables import from_table, symbols_of_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.budget import Budget
    from handcraft.patterns.tables import Table
    from handcraft.runtime.arguments import Format
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Token


def pattern(
    text: str | None = None,
    *,
    table: Table | None = None,
    context: int,
    vocab: str | Sequence[Token] | range | None = None,
    bos: Token | None = None,
    eos: Token | None = None,
    optimize: int = 1,
    dtype: Format = "float32",
    budget: Budget | None = None,
) -> Model:
    """Compile a pattern to the model that writes its words.

    Args:
        text: the pattern: `"(aab)*"`.
        table: instead of it an automaton: `{"start": "p", "accept": ["q"], "p": {"a": "q"}, ...}`.
        context: the longest text that the model sees, a start token included.
        vocab: the tokens: characters, a list or a range; if None, the symbols of the pattern in
            order of appearance.
        bos: a start token.
        eos: a token that follows where the text is a word.
        optimize: as for `compile`.
        dtype: the same.
        budget: the same.

    Raises:
        ProgramError: for a mistake in the pattern, with its place; or what cannot be built.
        HandcraftError: `bad-option` unless one of `text` and `table` is given.
    """
    program = pattern_program(text, table=table, context=context, vocab=vocab, bos=bos, eos=eos)
    return compile_program(program, optimize=optimize, dtype=dtype, budget=budget).model


def pattern_program(
    text: str | None = None,
    *,
    table: Table | None = None,
    context: int,
    vocab: str | Sequence[Token] | range | None = None,
    bos: Token | None = None,
    eos: Token | None = None,
) -> Program:
    """Return the program `predict next(...)` of a pattern; arguments as of `pattern`."""
    if (text is None) == (table is None):
        message = "a pattern is its text or a table: give one of them"
        help_ = 'write `pattern("(aab)*", context=12)` or `pattern(table={...}, context=12)`'
        raise HandcraftError("bad-option", message, help=help_)
    if text is not None:
        _refuse_no_text(text)
    tokens = _symbols(text, table) if vocab is None else vocab
    header = "".join(
        f"{role} {_written(token)};\n"
        for role, token in (("bos", bos), ("eos", eos))
        if token is not None
    )
    known = parse(
        f"{header}output 0;\n", vocab=tokens, context=context, attention="causal"
    ).typed.vocabulary
    if text is not None:
        automaton_of(Source(text, PATTERN), known)
        asked = write_text(text)
    else:
        assert table is not None
        from_table(table, symbols_of(known))
        asked = f"automaton({_written(table)})"
    written = f"{header}predict next({asked});\n"
    return parse(written, vocab=tokens, context=context, attention="causal")


def _refuse_no_text(text: object) -> None:
    if not isinstance(text, str):
        message = f"a pattern is a text, found `{type(text).__name__}`"
        raise ProgramError("type", message, help="give an automaton as `table={...}`")


def _symbols(text: str | None, table: Table | None) -> str | tuple[Token, ...]:
    """Return the symbols of a pattern, those of one character each as text."""
    if text is not None:
        source = Source(text, PATTERN)
        return "".join(map(str, vocabulary_of(parse_pattern(source, "characters")).tokens))
    assert table is not None
    symbols = symbols_of_table(table)
    if all(isinstance(symbol, str) and len(symbol) == 1 for symbol in symbols):
        return "".join(map(str, symbols))
    return symbols


def _written(thing: object) -> str:
    """Return a constant, a list or a dict as the language writes it.

    Raises:
        ProgramError: `type` for anything else.
    """
    match thing:
        case str():
            return write_text(thing)
        case bool():
            pass
        case int():
            return show(thing)
        case dict():
            items = (f"{_written(key)}: {_written(value)}" for key, value in thing.items())
            return "{" + ", ".join(items) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_written, thing)) + "]"
        case _:
            pass
    message = f"a table has texts and whole numbers, lists and dicts, found `{thing!r}`"
    raise ProgramError("bad-automaton", message)
