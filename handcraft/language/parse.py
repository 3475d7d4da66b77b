"""Text to syntax tree: the grammar is data, and each rule's name says which node it makes.

The parser is LALR and keeps its own stack, so that no text is too deeply nested for it. The tree
that it gives is at most `DEEPEST` levels deep, so that later stages may follow it by recursion.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput
from lark.lark import PostLex

from handcraft.errors import ProgramError, Source, Span
from handcraft.language import syntax
from handcraft.language.literals import LiteralError, read_number, read_text
from handcraft.language.mistakes import diagnose
from handcraft.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEEPEST = 100
"""Levels of a syntax tree, statements and expressions together."""

MOST_TOKENS = 150_000
"""Words, signs and literals of one text: enough to write out the largest vocabulary."""

LONGEST_NAME = 255
"""Characters of a name."""

Node: TypeAlias = Tree[Token] | Token


def parse(source: Source) -> syntax.Module:
    """Return the syntax tree of a whole file.

    Raises:
        ProgramError: `syntax` where the text is no program, `too-deep` where its tree would be
            deeper than `DEEPEST`, `too-large` where it has more than `MOST_TOKENS`.
    """
    try:
        tree = _parser().parse(source.text)
    except UnexpectedInput as error:
        raise diagnose(error, source) from None
    except _TooManyTokensError as error:
        message = f"the program has more than {MOST_TOKENS} words and signs"
        help_ = "write a loop or a comprehension, such as `[str(i) for i in range(9)]`"
        raise ProgramError("too-large", message, _span(error.token, source), help=help_) from None
    except _LongNameError as error:
        message = f"this name has {len(error.token)} characters, more than {LONGEST_NAME}"
        span = _span(error.token, source)
        raise ProgramError("too-large", message, span, help="take a shorter one") from None
    body = tuple(_statement(child, source, 1) for child in tree.children)
    return syntax.Module(body, Span(source, 0, len(source.text)))


def grammar_text() -> str:
    """Return the text of the grammar."""
    return shipped("grammars/handcraft.lark").read_text(encoding="utf-8")


@cache
def _parser() -> Lark:
    return Lark(
        grammar_text(),
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
        postlex=_Counter(),
    )


class _TooManyTokensError(Exception):
    """The text has more tokens than are read; this is the first of those."""

    def __init__(self, token: Token) -> None:
        self.token = token


class _LongNameError(Exception):
    """A name is too long to be told in a message."""

    def __init__(self, token: Token) -> None:
        self.token = token


class _Counter(PostLex):
    """Hands the lexer's tokens on to the parser, up to `MOST_TOKENS`."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        for count, token in enumerate(stream):
            if count >= MOST_TOKENS:
                raise _TooManyTokensError(token)
            if len(token) > LONGEST_NAME and token.type == "NAME":
                raise _LongNameError(token)
            yield token


def _span(node: Node, source: Source) -> Span:
    place = node if isinstance(node, Token) else node.meta
    assert place.start_pos is not None
    assert place.end_pos is not None
    return Span(source, place.start_pos, place.end_pos)


def _checked_span(node: Node, source: Source, depth: int) -> Span:
    span = _span(node, source)
    if depth > DEEPEST:
        message = f"this is more than {DEEPEST} levels deep"
        help_ = "give a part a name of its own, `part = ...;`, or make a list of the parts"
        raise ProgramError(
            "too-deep", message, Span(source, span.start, span.start + 1), help=help_
        )
    return span


# Statements ----------------------------------------------------------------------------------


def _statement(node: Node, source: Source, depth: int) -> syntax.Statement:
    span = _checked_span(node, source, depth)

    def read(child: Node) -> syntax.Expression:
        return _expression(child, source, depth + 1)

    match node:
        case Tree("assign", [targets, *values]):
            return syntax.Assign(_names(targets), tuple(map(read, values)), span)
        case Tree("definition", [Token() as name, Tree("parameters", parameters), body]):
            read_parameters = _parameters(parameters, source, depth + 1)
            return syntax.Definition(str(name), read_parameters, _body(body, source, depth), span)
        case Tree("for_loop", [targets, Token(), iterable, body]):
            return syntax.For(_names(targets), read(iterable), _body(body, source, depth), span)
        case Tree("return_values", values):
            return syntax.Return(tuple(map(read, values)), span)
        case Tree("bare", [value]):
            return syntax.Bare(read(value), span)
        case Tree("allow", [token, *condition]):
            return syntax.Allow(read(token), read(condition[0]) if condition else None, span)
        case Tree("source_sequence", [tokens, *context]):
            size = read(context[0]) if context else None
            return syntax.SourceSequence(read(tokens), size, span)
        case Tree("vocab", [tokens]):
            return syntax.Vocab(read(tokens), span)
        case Tree("load", [Token() as path]):
            return syntax.Load(_text(path, source), span)
        case Tree("attention", [Token() as mode]):
            return syntax.Attention(str(mode), span)
        case Tree("example", [given, expected]):
            return syntax.Example(read(given), read(expected), span)
        case Tree("word_statement", [Token() as word, value]):
            return _word_statement(str(word), read(value), span)
        case Token("REPL", text):
            return syntax.Repl(text.removesuffix(";").rstrip(), span)
        case _:
            raise AssertionError(f"no statement: {node}")


def _word_statement(word: str, value: syntax.Expression, span: Span) -> syntax.Statement:
    match word:
        case "context":
            return syntax.Context(value, span)
        case "bos" | "eos":
            return syntax.Marker(word, value, span)
        case "predict":
            return syntax.Predict(value, span)
        case "logits":
            return syntax.Logits(value, span)
        case "output":
            return syntax.Output(value, span)
        case "assume":
            return syntax.Assume(value, span)
        case _:
            raise AssertionError(f"no statement: {word}")


def _body(node: Node, source: Source, depth: int) -> tuple[syntax.Statement, ...]:
    return tuple(_statement(child, source, depth + 1) for child in _children(node))


def _parameters(nodes: Sequence[Node], source: Source, depth: int) -> tuple[syntax.Parameter, ...]:
    parameters: list[syntax.Parameter] = []
    for node in nodes:
        name, *rest = _children(node)
        default = _expression(rest[0], source, depth) if rest else None
        parameter = syntax.Parameter(str(name), default, _span(node, source))
        if default is None and parameters and parameters[-1].default is not None:
            raise ProgramError(
                "syntax",
                f"`{name}` has no default, but the parameter before it has one",
                parameter.span,
                help="put the parameters with defaults last",
            )
        parameters.append(parameter)
    return tuple(parameters)


def _names(node: Node) -> tuple[str, ...]:
    return tuple(str(name) for name in _children(node))


def _children(node: Node) -> Sequence[Node]:
    assert isinstance(node, Tree)
    return node.children


# Expressions ---------------------------------------------------------------------------------


def _expression(node: Node, source: Source, depth: int) -> syntax.Expression:
    while isinstance(node, Tree) and node.data == "group":
        node = node.children[0]
    if isinstance(node, Token):
        return _atom(node, source)
    span = _checked_span(node, source, depth)

    def read(child: Node) -> syntax.Expression:
        return _expression(child, source, depth + 1)

    match node:
        case Tree("binary", [left, Token() as op, right]):
            sign = "^" if op == "**" else str(op)
            return syntax.Binary(sign, read(left), read(right), span)
        case Tree("unary", [Token() as op, operand]):
            return syntax.Unary(str(op), read(operand), span)
        case Tree("chain", [first, *rest]):
            operators = (" ".join(map(str, _children(op))) for op in rest[::2])
            return syntax.Comparison(
                read(first), tuple(zip(operators, map(read, rest[1::2]), strict=True)), span
            )
        case Tree("conditional", [then, condition, otherwise]):
            return syntax.Conditional(read(then), read(condition), read(otherwise), span)
        case Tree("call", [function, arguments]):
            return _call(read(function), _children(arguments), source, depth + 1, span)
        case Tree("operator", [Token() as op]):
            return syntax.Operator(str(op), span)
        case Tree("index", [base, index]):
            return syntax.Index(read(base), read(index), span)
        case Tree("attribute", [base, Token() as name]):
            return syntax.Attribute(read(base), str(name), span)
        case Tree("integer_range", [low, high]):
            return syntax.IntegerRange(read(low), read(high), span)
        case Tree("list_display", items):
            return syntax.ListDisplay(tuple(map(read, items)), span)
        case Tree("dict_display", entries):
            pairs = ((read(key), read(value)) for key, value in map(_children, entries))
            return syntax.DictDisplay(tuple(pairs), span)
        case Tree("list_comprehension", [element, loop]):
            names, iterable, only = _comprehension(loop, source, depth + 1)
            return syntax.ListComprehension(read(element), names, iterable, only, span)
        case Tree("dict_comprehension", [Tree("entry", [key, value]), loop]):
            names, iterable, only = _comprehension(loop, source, depth + 1)
            return syntax.DictComprehension(read(key), read(value), names, iterable, only, span)
        case _:
            raise AssertionError(f"no expression: {node.data}")


def _atom(token: Token, source: Source) -> syntax.Expression:
    span = _span(token, source)
    match token.type:
        case "NAME":
            return syntax.Name(str(token), span)
        case "NUMBER":
            try:
                return syntax.Number(read_number(token), span)
            except LiteralError as error:
                raise _located(error, span) from None
        case "STRING":
            return syntax.Text(_text(token, source), span)
        case "TRUTH":
            return syntax.Truth(token == "True", span)
        case _:
            raise AssertionError(f"no expression: {token.type}")


def _text(token: Token, source: Source) -> str:
    try:
        return read_text(str(token))
    except LiteralError as error:
        raise _located(error, _span(token, source)) from None


def _located(error: LiteralError, literal: Span) -> ProgramError:
    span = Span(literal.source, literal.start + error.start, literal.start + error.end)
    return ProgramError("syntax", error.message, span, help=error.help)


def _call(
    function: syntax.Expression, nodes: Sequence[Node], source: Source, depth: int, span: Span
) -> syntax.Call:
    arguments: list[syntax.Expression] = []
    keywords: dict[str, syntax.Expression] = {}
    for node in nodes:
        match node:
            case Tree("keyword", [Token() as name, value]):
                if name in keywords:
                    message = f"`{name}` is given twice"
                    help_ = "remove one of the two"
                    raise ProgramError("syntax", message, _span(node, source), help=help_)
                keywords[str(name)] = _expression(value, source, depth)
            case _ if keywords:
                message = "an argument without a name follows one with a name"
                help_ = "put the arguments with names last"
                raise ProgramError("syntax", message, _span(node, source), help=help_)
            case _:
                arguments.append(_expression(node, source, depth))
    return syntax.Call(function, tuple(arguments), tuple(keywords.items()), span)


def _comprehension(
    node: Node, source: Source, depth: int
) -> tuple[tuple[str, ...], syntax.Expression, syntax.Expression | None]:
    targets, _, iterable, *conditions = _children(node)
    condition = _expression(conditions[0], source, depth) if conditions else None
    return _names(targets), _expression(iterable, source, depth), condition
