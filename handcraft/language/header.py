"""Reads what stands outside the expressions: vocabulary, context and attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

from handcraft.errors import HandcraftError, ProgramError, Span
from handcraft.language import syntax
from handcraft.language.compile_time import Thing, describe
from handcraft.language.suggestions import closest
from handcraft.language.typed import Header, SourceHeader
from handcraft.language.values import show
from handcraft.runtime.vocabulary import Token, Vocabulary, vocabulary

MODES = ("causal", "bidirectional")
LONGEST_CONTEXT = 4096
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
        ProgramError: for a missing, repeated or impossible statement, or something given that is
            of no use.
    """
    found = [s for s in module.body if isinstance(s, HEADERS)]
    _refuse_repeated(found)
    tokens: Thing | range | None = None if given.vocab is None else _outside(given.vocab)
    context: Thing | None = None if given.context is None else _size(given.context)
    mode = None if given.attention is None else _mode(given.attention)
    markers: dict[str, Token] = {}
    spans: dict[str, Span] = {}
    second: syntax.SourceSequence | None = None
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
                    raise _no_such_mode(written, _word_at(span, written))
                mode = mode or written
            case syntax.SourceSequence():
                second = statement
    if tokens is None:
        raise _missing("vocab", 'vocab "ab";', "--vocab ab", module.span)
    if context is None:
        raise _missing("context", "context 8;", "--context 8", module.span)
    if mode is None:
        mode = "causal" if found else "bidirectional"
    made = _vocabulary(tokens, markers, spans)
    longest = _context(context, made, spans.get("context"))
    if second is None:
        return Header(made, longest, mode)
    _check_target(made, mode, second.span)
    return Header(made, longest, mode, _source(second, longest, evaluate))


def _check_target(target: Vocabulary, mode: str, span: Span) -> None:
    """Refuse what cannot be written from a source, token after token, to its end."""
    for role in ("bos", "eos"):
        if getattr(target, role) is None:
            message = f"a text that is written from a source needs its `{role}`"
            token = '"^"' if role == "bos" else '"."'
            raise ProgramError("missing", message, span, help=f"write `{role} {token};`")
    if mode != "causal":
        message = "a text is written from a source under causal attention"
        help_ = "leave `attention` out: the source is bidirectional in any case"
        raise ProgramError("type", message, span, help=help_)


def _source(
    statement: syntax.SourceSequence, target_context: int, evaluate: Evaluate
) -> SourceHeader:
    """Return the source's vocabulary and context; the latter is the target's if it is not said."""
    tokens = _tokens(statement.tokens, evaluate)
    made = _vocabulary(tokens, {}, {"vocab": statement.tokens.span})
    if statement.context is None:
        return SourceHeader(made, target_context)
    context = evaluate(statement.context)
    return SourceHeader(made, _context(context, made, statement.context.span))


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


def _no_such_mode(word: str, span: Span | None) -> ProgramError:
    near = closest(word, MODES) or "` or `".join(MODES)
    message = f"there is no attention `{word}`"
    return ProgramError("unknown-name", message, span, help=f"write `{near}`")


def _word_at(span: Span, word: str) -> Span:
    """Return the place of the last word of a statement."""
    start = span.source.text.rindex(word, span.start, span.end)
    return Span(span.source, start, start + len(word))


def _outside(vocab: object) -> Thing | range:
    if isinstance(vocab, list | tuple):
        return tuple(vocab)
    if isinstance(vocab, str | range):
        return vocab
    message = f"`vocab` is a string, a list or a range, found `{type(vocab).__name__}`"
    raise ProgramError("type", message, help='give `vocab="ab"` or `vocab=["hello", "world"]`')


def _size(context: object) -> int:
    if isinstance(context, bool) or not isinstance(context, Integral):
        message = f"`context` is a whole number, found `{context!r}`"
        raise ProgramError("type", message, help="give `context=8`")
    return int(context)


def _mode(attention: object) -> str:
    if not isinstance(attention, str):
        message = f"`attention` is a word, found `{attention!r}`"
        help_ = " or ".join(f'`attention="{mode}"`' for mode in MODES)
        raise ProgramError("type", message, help=f"give {help_}")
    if attention not in MODES:
        raise _no_such_mode(attention, None)
    return attention


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
        help_ = 'write `vocab "ab";` with at least one token'
        if isinstance(tokens, range):
            help_ = f"a range goes upwards: `vocab {tokens.stop - 1}..{tokens.start};`"
        raise ProgramError("empty-vocabulary", "the vocabulary has no tokens", span, help=help_)
    if len(items) > LARGEST_VOCABULARY:
        message = f"a vocabulary of {len(items)} tokens is more than {LARGEST_VOCABULARY}"
        raise ProgramError("too-large", message, span, help="write a smaller one")
    listed = _listed(items, kind, span)
    for role, marker in markers.items():
        if isinstance(marker, int) != (kind == "integers"):
            message = f"`{role}` is {describe(marker)}, and the tokens are {kind}"
            raise ProgramError("type", message, spans[role])
    if "bos" in markers and markers["bos"] == markers.get("eos"):
        message = "`bos` and `eos` are one token"
        raise ProgramError("duplicate", message, spans["eos"])
    try:
        return vocabulary(kind, listed, markers.get("bos"), markers.get("eos"))
    except HandcraftError as error:
        raise ProgramError(error.code, error.message, span, help=error.help) from None


def _listed(items: Sequence[object], kind: str, span: Span | None) -> tuple[Token, ...]:
    """Return the tokens, each of which stands once and is of the vocabulary's kind."""
    listed: dict[Token, None] = {}
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int if kind == "integers" else str):
            message = "the tokens of a vocabulary are all strings or all whole numbers"
            raise ProgramError("type", message, span)
        if item in listed:
            message = f"the token {show(item)} stands twice in the vocabulary"
            raise ProgramError("duplicate", message, span, help="keep one of them")
        listed[item] = None
    return tuple(listed)


def _context(context: Thing, tokens: Vocabulary, span: Span | None) -> int:
    if not isinstance(context, int) or isinstance(context, bool):
        message = f"`context` needs a whole number, and this is {describe(context)}"
        raise ProgramError("type", message, span, help="write `context 8;`")
    if context < 1:
        message = f"a context of {context} has no place for a token"
        raise ProgramError("no-context", message, span, help="write `context 1;` or more")
    if context < 2 and tokens.bos is not None:
        message = "a context of 1 holds `bos` and has no place for a token"
        raise ProgramError("no-context", message, span, help="write `context 2;` or more")
    if context > LONGEST_CONTEXT:
        message = f"a context of {context} is more than {LONGEST_CONTEXT}"
        raise ProgramError("too-large", message, span, help="write a smaller one")
    return context
