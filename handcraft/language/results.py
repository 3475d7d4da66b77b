"""Reads what a program answers with (`predict`, `allow`, `logits`, `output`) and its examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from handcraft.errors import HandcraftError, ProgramError, Span
from handcraft.language import syntax
from handcraft.language.compile_time import Scope, describe
from handcraft.language.domains import Finite, Lattice, Mixed, contains, finite, kinds
from handcraft.language.expressions import Evaluator
from handcraft.language.typed import Allow, Example, Logits, Output, Predict, Result
from handcraft.language.values import Value, show
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
        help_ = "write `predict E;`, `allow T if C;`, `logits {...};` or `output E;`, or give `--output E`"
        raise ProgramError("missing", message, Span(span.source, 0, 0), help=help_)
    first = statements[0]
    for other in statements[1:]:
        if not (isinstance(first, syntax.Allow) and isinstance(other, syntax.Allow)):
            message = "a program has one result, and this is a second one"
            raise ProgramError("duplicate", message, other.span, help="keep one of them")
    match first:
        case syntax.Predict(value, where):
            node = evaluator.sop(evaluator.evaluate(value, scope), value.span, "`predict`")
            _check_tokens(node, evaluator, value.span, "predict")
            return Predict(node, where)
        case syntax.Allow():
            allows = [s for s in statements if isinstance(s, syntax.Allow)]
            return Allow(tuple(_choice(s, evaluator, scope) for s in allows), first.span)
        case syntax.Logits(table):
            return _logits(table, evaluator, scope, first.span)
        case syntax.Output(value, where):
            node = evaluator.sop(evaluator.evaluate(value, scope), value.span, "`output`")
            return Output(node, where)
        case _:
            assert_never(first)


def read_condition(expression: syntax.Expression, evaluator: Evaluator, scope: Scope) -> int:
    """Return the node of a condition."""
    node = evaluator.sop(evaluator.evaluate(expression, scope), expression.span, "a condition")
    if "string" in kinds(evaluator.builder.domain(node)):
        message = "a condition needs a boolean or a number, and this can be a string"
        raise ProgramError("type", message, expression.span)
    return node


def read_example(
    statement: syntax.Example, result: Result, evaluator: Evaluator, scope: Scope
) -> Example:
    """Return an example, its input split into tokens without `bos`."""
    vocabulary = evaluator.builder.header.vocabulary
    text = evaluator.evaluate(statement.input, scope)
    tokens = _tokens(text, vocabulary, statement.input.span)
    if len(tokens) + (vocabulary.bos is not None) > evaluator.builder.header.context:
        message = f"the example has {len(tokens)} tokens, more than the context"
        raise ProgramError("too-long", message, statement.input.span)
    expected = evaluator.evaluate(statement.expected, scope)
    where = statement.expected.span
    if not isinstance(result, Output):
        if isinstance(expected, tuple):
            expected = vocabulary.join(_tokens(expected, vocabulary, where))
        if not isinstance(expected, str):
            message = f"an example of a continuation needs a text, and this is {describe(expected)}"
            raise ProgramError("type", message, where)
        return Example(tokens, expected, statement.span)
    if not isinstance(expected, tuple):
        message = f"an example of `output` needs a list, and this is {describe(expected)}"
        raise ProgramError("type", message, where, help="write a value for each position")
    if len(expected) != len(tokens):
        message = f"the example has {len(tokens)} tokens and {len(expected)} values"
        raise ProgramError("arity", message, where, help="write a value for each position")
    values = tuple(evaluator.constant(item, where, "an example") for item in expected)
    return Example(tokens, values, statement.span)


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


def _choice(statement: syntax.Allow, evaluator: Evaluator, scope: Scope) -> tuple[int, int]:
    thing = evaluator.evaluate(statement.token, scope)
    token = evaluator.sop(thing, statement.token.span, "`allow`")
    _check_tokens(token, evaluator, statement.token.span, "allow")
    if statement.condition is None:
        return token, evaluator.builder.constant(True, statement.span)
    return token, read_condition(statement.condition, evaluator, scope)


def _logits(
    table: syntax.Expression, evaluator: Evaluator, scope: Scope, span: Span
) -> Logits:
    thing = evaluator.evaluate(table, scope)
    if not isinstance(thing, Mapping):
        raise ProgramError("type", f"`logits` needs a dict, and this is {describe(thing)}", table.span)
    vocabulary = evaluator.builder.header.vocabulary
    for token in thing:
        if isinstance(token, bool) or token not in vocabulary.tokens:
            message = f"{show(token)} is not in the vocabulary"
            raise ProgramError("not-a-token", message, table.span)
    missing = [t for t in vocabulary.tokens if t not in thing and t != vocabulary.bos]
    if missing:
        message = f"`logits` has no entry for the token {show(missing[0])}"
        raise ProgramError("missing-key", message, table.span, help="every token is listed")
    tokens = tuple(token for token in vocabulary.tokens if token in thing)
    nodes = []
    for token in tokens:
        node = evaluator.sop(thing[token], table.span, "`logits`")
        if "string" in kinds(evaluator.builder.domain(node)):
            message = f"the logit of {show(token)} needs numbers, and this can be a string"
            raise ProgramError("type", message, table.span)
        nodes.append(node)
    return Logits(tokens, tuple(nodes), span)


def _check_tokens(node: int, evaluator: Evaluator, span: Span, word: str) -> None:
    """Raise where a value outside the vocabulary is possible, naming it."""
    domain = evaluator.builder.domain(node)
    vocabulary = evaluator.builder.header.vocabulary
    tokens = finite(vocabulary.tokens)
    match domain:
        case Finite(values):
            outside: Value | Lattice | None = next((v for v in values if not contains(tokens, v)), None)
        case Lattice() | Mixed():
            outside = domain if isinstance(domain, Lattice) else domain.numbers
        case _:
            assert_never(domain)
    if outside is None and values == (vocabulary.bos,):
        outside = vocabulary.bos
    if outside is not None and not evaluator.assumed:
        shown = str(outside) if isinstance(outside, Lattice) else show(outside)
        message = f"`{word}` needs tokens, and this can be {shown}"
        help_ = "make it a token of the vocabulary, or exclude the case with `assume`"
        raise ProgramError("not-a-token", message, span, help=help_)


def _tokens(thing: object, vocabulary: Vocabulary, span: Span) -> tuple[Token, ...]:
    if not isinstance(thing, str | tuple):
        raise ProgramError("type", "an example needs a text or a list of tokens", span)
    try:
        tokens = vocabulary.split(thing)
    except HandcraftError as error:
        raise ProgramError(error.code, error.message, span, help=error.help) from None
    return tokens[1:] if vocabulary.bos is not None else tokens

