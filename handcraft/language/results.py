"""Reads what a program answers with (`predict`, `allow`, `logits`, `output`) and its examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

from handcraft.errors import InputError, ProgramError, Span
from handcraft.language import patterns, syntax
from handcraft.language.compile_time import Constant, Scope, Thing, describe, is_constant
from handcraft.language.domains import finite, kinds
from handcraft.language.sequences import SOURCE
from handcraft.language.typed import (
    Allow,
    Example,
    Header,
    Logits,
    Output,
    Predict,
    Result,
    SourceHeader,
)
from handcraft.language.values import show

if TYPE_CHECKING:
    from handcraft.language.expressions import Evaluator
    from handcraft.runtime.vocabulary import Token, Vocabulary

Statement = syntax.Predict | syntax.Allow | syntax.Logits | syntax.Output


def read_result(
    statements: Sequence[Statement], evaluator: Evaluator, scope: Scope, span: Span
) -> Result:
    """Return the one result of a program.

    Raises:
        ProgramError: for none, for several kinds, or for one that does not fit the vocabulary.
    """
    if not statements:
        message = "the program says no result"
        help_ = "write `predict E;`, `allow T if C;`, `logits {...};` or `output E;`"
        help_ += ", or give `--output E`"
        raise ProgramError("missing", message, Span(span.source, 0, 0), help=help_)
    first = statements[0]
    for other in statements[1:]:
        if not (isinstance(first, syntax.Allow) and isinstance(other, syntax.Allow)):
            message = "a program has one result, and this is a second one"
            raise ProgramError("duplicate", message, other.span, help="keep one of them")
    match first:
        case syntax.Predict(value):
            node = _token(value, evaluator, scope, "predict")
            if patterns.asks_next(evaluator.builder, node) is not None:
                return patterns.prediction(evaluator.builder, node, value.span)
            return Predict(node, value.span)
        case syntax.Allow():
            allows = [s for s in statements if isinstance(s, syntax.Allow)]
            return Allow(tuple(_choice(s, evaluator, scope) for s in allows), first.span)
        case syntax.Logits(table):
            return _logits(table, evaluator, scope, first.span)
        case syntax.Output(value, where):
            node = evaluator.sop(evaluator.evaluate(value, scope), value.span, "`output`")
            _refuse_source(node, evaluator, value.span)
            _refuse_no_value(node, evaluator, value.span)
            return Output(node, where)
        case _:
            assert_never(first)


def read_condition(expression: syntax.Expression, evaluator: Evaluator, scope: Scope) -> int:
    """Return the node of a condition."""
    node = evaluator.sop(evaluator.evaluate(expression, scope), expression.span, "a condition")
    if patterns.asks_next(evaluator.builder, node) is not None:
        return patterns.is_live(evaluator.builder, node, expression.span)
    if "string" in kinds(evaluator.builder.domain(node)):
        message = "a condition needs a boolean or a number, and this can be a string"
        raise ProgramError("type", message, expression.span, help="compare it: `x == y`")
    return node


def read_example(
    statement: syntax.Example, result: Result, evaluator: Evaluator, scope: Scope
) -> Example:
    """Return an example, its input split into tokens without `bos`."""
    header = evaluator.builder.header
    vocabulary = header.vocabulary
    read: SourceHeader | Header = header if header.source is None else header.source
    text = evaluator.evaluate(statement.input, scope)
    tokens = _tokens(text, read.vocabulary, statement.input.span)
    if len(tokens) + (read.vocabulary.bos is not None) > read.context:
        of = "" if header.source is None else " of the source"
        message = f"the example has {len(tokens)} tokens, more than the context of {read.context}"
        help_ = f"write a shorter text, or a larger `context`{of}"
        raise ProgramError("too-long", f"{message} holds", statement.input.span, help=help_)
    expected = evaluator.evaluate(statement.expected, scope)
    where = statement.expected.span
    if not isinstance(result, Output):
        if isinstance(expected, tuple):
            expected = vocabulary.join(_tokens(expected, vocabulary, where))
        if not isinstance(expected, str):
            message = f"an example of a continuation needs a text, and this is {describe(expected)}"
            raise ProgramError("type", message, where)
        if header.source is not None:
            expected = _written(expected, header, where)
        return Example(tokens, expected, statement.span)
    if header.source is not None:
        message = "an example of `output` cannot say the text that is read beside a source"
        raise ProgramError("not-yet", message, statement.span, help="write `predict`, or leave it")
    if not isinstance(expected, tuple):
        message = f"an example of `output` needs a list, and this is {describe(expected)}"
        raise ProgramError("type", message, where, help="write a value for each position")
    if len(expected) != len(tokens):
        message = f"the example has {len(tokens)} tokens and {len(expected)} values"
        raise ProgramError("arity", message, where, help="write a value for each position")
    values = tuple(evaluator.constant(item, where, "an example") for item in expected)
    return Example(tokens, values, statement.span)


def _written(expected: str, header: Header, span: Span) -> str:
    """Return what is to be written from a source, to its end, as tokens joined again."""
    tokens = _tokens(expected, header.vocabulary, span)
    if len(tokens) >= header.context:
        message = f"{len(tokens)} tokens and `eos` are more than the context of {header.context}"
        help_ = "write a shorter text, or a larger `context`, which counts `bos`"
        raise ProgramError("too-long", f"{message} lets be written", span, help=help_)
    return header.vocabulary.join(tokens)


def roots(result: Result) -> tuple[int, ...]:
    """Return the nodes that a result reads."""
    match result:
        case Predict(value) | Output(value):
            return (value,)
        case Allow(choices):
            return tuple(node for choice in choices for node in choice)
        case Logits(_, values):
            return values
        case _:
            assert_never(result)


def renumbered(result: Result, numbers: Mapping[int, int]) -> Result:
    """Return a result over renumbered nodes."""
    match result:
        case Predict(value, span):
            return Predict(numbers[value], span)
        case Output(value, span):
            return Output(numbers[value], span)
        case Allow(choices, span):
            return Allow(tuple((numbers[t], numbers[c]) for t, c in choices), span)
        case Logits(tokens, values, span):
            return Logits(tokens, tuple(numbers[v] for v in values), span)
        case _:
            assert_never(result)


def _token(expression: syntax.Expression, evaluator: Evaluator, scope: Scope, word: str) -> int:
    """Return the node of what is predicted; a constant must be a token, or it is refused here."""
    thing = evaluator.evaluate(expression, scope)
    node = evaluator.sop(thing, expression.span, f"`{word}`")
    _refuse_source(node, evaluator, expression.span)
    _refuse_no_value(node, evaluator, expression.span)
    vocabulary = evaluator.builder.header.vocabulary
    if is_constant(thing) and (isinstance(thing, bool) or thing not in vocabulary.tokens):
        assert isinstance(thing, int | Fraction | str)
        message = f"{show(thing)} is not in the vocabulary"
        help_ = f"`{word}` needs a token, and the tokens are {finite(vocabulary.tokens)}"
        raise ProgramError("not-a-token", message, expression.span, help=help_)
    return node


def _refuse_source(node: int, evaluator: Evaluator, span: Span) -> None:
    """Raise where a result is over the source: what is said is said of the text that is written."""
    if evaluator.builder.nodes[node].sequence == SOURCE:
        message = "this is an s-op over the source, and a result is said of the text being written"
        help_ = "move it over: `aggregate(select(source.indices, indices, ==), x)`"
        raise ProgramError("two-sequences", message, span, help=help_)


def _refuse_no_value(node: int, evaluator: Evaluator, span: Span) -> None:
    reason = evaluator.builder.why_undefined(node)
    if reason is not None:
        message = f"the program has no meaning on any input: {reason}"
        raise ProgramError("no-meaning", message, span)


def _choice(statement: syntax.Allow, evaluator: Evaluator, scope: Scope) -> tuple[int, int]:
    token = _token(statement.token, evaluator, scope, "allow")
    if statement.condition is None:
        return token, evaluator.builder.constant(True, statement.span)
    condition = read_condition(statement.condition, evaluator, scope)
    _refuse_source(condition, evaluator, statement.condition.span)
    return token, condition


def _logits(table: syntax.Expression, evaluator: Evaluator, scope: Scope, span: Span) -> Logits:
    thing = evaluator.evaluate(table, scope)
    if not isinstance(thing, Mapping):
        message = f"`logits` needs a dict, and this is {describe(thing)}"
        help_ = 'write `logits {"a": x, "b": y};`'
        raise ProgramError("type", message, table.span, help=help_)
    vocabulary = evaluator.builder.header.vocabulary
    keys, values = _places(table, thing)
    for token in thing:
        if isinstance(token, bool) or token not in vocabulary:
            message = f"{show(token)} is not in the vocabulary"
            help_ = f"the tokens are {finite(vocabulary.tokens)}"
            raise ProgramError("not-a-token", message, keys[token], help=help_)
    missing = [t for t in vocabulary.tokens if t not in thing and t != vocabulary.bos]
    if missing:
        message = f"`logits` has no entry for the token {show(missing[0])}"
        raise ProgramError("missing-key", message, table.span, help="every token is listed")
    tokens = tuple(token for token in vocabulary.tokens if token in thing)
    return Logits(tokens, tuple(_logit(thing[t], evaluator, values[t]) for t in tokens), span)


def _places(
    table: syntax.Expression, thing: Mapping[Constant, Thing]
) -> tuple[Mapping[Constant, Span], Mapping[Constant, Span]]:
    """Return where each key and each value of a dict stands: of one not written out, all of it."""
    if not isinstance(table, syntax.DictDisplay):
        everywhere = dict.fromkeys(thing, table.span)
        return everywhere, everywhere
    entries = list(zip(thing, table.items, strict=True))
    return (
        {token: key.span for token, (key, _) in entries},
        {token: value.span for token, (_, value) in entries},
    )


def _logit(thing: Thing, evaluator: Evaluator, span: Span) -> int:
    node = evaluator.sop(thing, span, "a logit")
    _refuse_source(node, evaluator, span)
    found = kinds(evaluator.builder.domain(node))
    if "string" in found:
        can_be = "is" if found == {"string"} else "can be"
        message = f"a logit needs numbers, and this {can_be} a string"
        raise ProgramError("type", message, span, help="`indicator(x == y)` makes numbers")
    return node


def _tokens(thing: object, vocabulary: Vocabulary, span: Span) -> tuple[Token, ...]:
    if not isinstance(thing, str | tuple):
        raise ProgramError("type", "an example needs a text or a list of tokens", span)
    try:
        tokens = vocabulary.split(thing)
    except InputError as error:
        place = span
        inner = error.span
        if inner is not None and span.text[1:-1] == inner.source.text:
            place = Span(span.source, span.start + 1 + inner.start, span.start + 1 + inner.end)
        raise ProgramError(error.code, error.message, place, help=error.help) from None
    return tokens[1:] if vocabulary.bos is not None else tokens
