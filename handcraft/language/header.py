"""Reads what stands outside the expressions: vocabulary, context and attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from handcraft.errors import HandcraftError, ProgramError, Span
from handcraft.language import syntax
from handcraft.language.compile_time import Thing, describe
from handcraft.language.suggestions import closest
from handcraft.language.typed import Header
from handcraft.language.values import show
from handcraft.runtime.vocabulary import Token, Vocabulary, vocabulary

MODES = ("causal", "bidirectional")
LONGEST_CONTEXT = 65_536
LARGEST_VOCABULARY = 65_536

HEADERS = (syntax.Vocab, syntax.Context, syntax.Marker, syntax.Attention, syntax.SourceSequence)

Evaluate = Callable[[syntax.Expression], Thing]


@dataclass(frozen=True, slots=True)
class Given:
    """Header statements given from outside; they win over those of the file."""

    vocab: str | Sequence[Token] | range | None = None
    context: int | None = None
    attention: str | None = None


def read_header(module: syntax.Module, given: Given, evaluate: Evaluate) -> Header:
    """Return the header of a program.

    Args:
        module: the program.
        given: what wins over its statements.
        evaluate: evaluates a constant expression.

    Raises:
        ProgramError: for a missing, repeated or impossible statement.
    """
    found = [s for s in module.body if isinstance(s, HEADERS)]
    _refuse_repeated(found)
    tokens: Thing | range = None if given.vocab is None else _outside(given.vocab)  # type: ignore[assignment]
    context: Thing = given.context  # type: ignore[assignment]
    mode = given.attention
    markers: dict[str, Token] = {}
    spans: dict[str, Span] = {}
    for statement in found:
        match statement:
            case syntax.Vocab(expression):
                spans["vocab"] = expression.span
                if given.vocab is None:
                    tokens = _tokens(expression, evaluate)
            case syntax.Context(size):
                spans["context"] = size.span
                if given.context is None:
                    context = evaluate(size)
            case syntax.Marker(role, token):
                spans[role] = token.span
                markers[role] = _marker(role, evaluate(token), token.span)
            case syntax.Attention(written, span):
                if written not in MODES:
                    near = closest(written, MODES) or "causal` or `bidirectional"
                    message = f"there is no attention `{written}`"
                    raise ProgramError("type", message, span, help=f"write `{near}`")
                mode = given.attention or written
            case syntax.SourceSequence(_, _, span):
                message = "`source` is part of the language, but this version cannot build it yet"
                raise ProgramError("not-yet", message, span)
    if tokens is None:
        raise _missing("vocab", 'vocab "ab";', "--vocab ab", module.span)
    if context is None:
        raise _missing("context", "context 8;", "--context 8", module.span)
    if mode is None:
        mode = "causal" if found else "bidirectional"
    if mode not in MODES:
        raise ProgramError("type", f"there is no attention `{mode}`", help="write `causal` or `bidirectional`")
    made = _vocabulary(tokens, markers, spans)
    return Header(made, _context(context, made, spans.get("context")), mode)


def is_headless(module: syntax.Module) -> bool:
    """Return whether a file has no header statement: then it is plain RASP."""
    return not any(isinstance(s, HEADERS) for s in module.body)


def _refuse_repeated(statements: Sequence[syntax.Statement]) -> None:
    seen: set[str] = set()
    for statement in statements:
        word = statement.role if isinstance(statement, syntax.Marker) else _word(statement)
        if word in seen:
            message = f"`{word}` is declared twice"
            raise ProgramError("duplicate", message, statement.span, help="keep one of them")
        seen.add(word)


def _word(statement: syntax.Statement) -> str:
    return {
        syntax.Vocab: "vocab",
        syntax.Context: "context",
        syntax.Attention: "attention",
    }.get(type(statement), "source")


def _missing(word: str, statement: str, flag: str, span: Span) -> ProgramError:
    message = f"the program does not say its `{word}`"
    place = Span(span.source, 0, 0)
    return ProgramError("missing", message, place, help=f"write `{statement}`, or give `{flag}`")


def _outside(vocab: str | Sequence[Token] | range) -> Thing | range:
    return vocab if isinstance(vocab, str | range) else tuple(vocab)


def _tokens(expression: syntax.Expression, evaluate: Evaluate) -> Thing | range:
    if not isinstance(expression, syntax.IntegerRange):
        return evaluate(expression)
    ends = []
    for side in (expression.low, expression.high):
        end = evaluate(side)
        if not isinstance(end, int) or isinstance(end, bool):
            message = f"a vocabulary ranges over whole numbers, and this is {describe(end)}"
            raise ProgramError("type", message, side.span)
        ends.append(end)
    return range(ends[0], ends[1] + 1)


def _marker(role: str, thing: Thing, span: Span) -> Token:
    if isinstance(thing, bool) or not isinstance(thing, str | int):
        raise ProgramError("type", f"`{role}` needs a token, and this is {describe(thing)}", span)
    return thing


def _vocabulary(
    tokens: Thing | range, markers: dict[str, Token], spans: dict[str, Span]
) -> Vocabulary:
    span = spans.get("vocab")
    items: Sequence[object]
    if isinstance(tokens, str):
        kind: Literal["characters", "words", "integers"] = "characters"
        items = tokens
    elif isinstance(tokens, range | tuple):
        items = tokens
        kind = "integers" if items and not isinstance(items[0], str) else "words"
    else:
        message = f"`vocab` needs a string, a list or a range, and this is {describe(tokens)}"
        raise ProgramError("type", message, span)
    if len(items) == 0:
        raise ProgramError("empty-vocabulary", "the vocabulary has no tokens", span)
    if len(items) > LARGEST_VOCABULARY:
        message = f"a vocabulary of more than {LARGEST_VOCABULARY} tokens"
        raise ProgramError("too-large", message, span)
    listed = []
    for item in items:
        wanted = int if kind == "integers" else str
        if isinstance(item, bool) or not isinstance(item, wanted):
            message = "the tokens of a vocabulary are all strings or all whole numbers"
            raise ProgramError("type", message, span)
        if item in listed[-1:] or (len(listed) < 4096 and item in listed):
            message = f"the token {show(item)} stands twice in the vocabulary"
            raise ProgramError("duplicate", message, span)
        listed.append(item)
    for role, marker in markers.items():
        if isinstance(marker, int) != (kind == "integers"):
            message = f"`{role}` is {describe(marker)}, and the tokens are {kind}"
            raise ProgramError("type", message, spans[role])
    if "bos" in markers and markers["bos"] == markers.get("eos"):
        message = "`bos` and `eos` are one token"
        raise ProgramError("duplicate", message, spans["eos"])
    try:
        return vocabulary(kind, tuple(listed), markers.get("bos"), markers.get("eos"))
    except HandcraftError as error:
        raise ProgramError(error.code, error.message, span, help=error.help) from None


def _context(context: Thing, tokens: Vocabulary, span: Span | None) -> int:
    if not isinstance(context, int) or isinstance(context, bool):
        message = f"`context` needs a whole number, and this is {describe(context)}"
        raise ProgramError("type", message, span)
    if context < 1:
        message = f"a context of {context} holds no token"
        raise ProgramError("no-context", message, span, help="write `context 1;` or more")
    if context < 2 and tokens.bos is not None:
        message = "a context of 1 holds `bos` and no token"
        raise ProgramError("no-context", message, span, help="write `context 2;` or more")
    if context > LONGEST_CONTEXT:
        message = f"a context of more than {LONGEST_CONTEXT}"
        raise ProgramError("too-large", message, span)
    return context
