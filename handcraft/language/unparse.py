"""Syntax tree to text, with the fewest brackets: what `parse` reads as the same tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from handcraft.language import syntax
from handcraft.language.literals import write_number, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

INDENT = "    "

# How tightly an expression holds together; a part that holds less tightly gets brackets.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _POWER, _PRIMARY = range(10)
_BINARY = {
    "or": (_OR, _OR, _AND),
    "and": (_AND, _AND, _NOT),
    "+": (_SUM, _SUM, _PRODUCT),
    "-": (_SUM, _SUM, _PRODUCT),
    "*": (_PRODUCT, _PRODUCT, _SIGNED),
    "/": (_PRODUCT, _PRODUCT, _SIGNED),
    "//": (_PRODUCT, _PRODUCT, _SIGNED),
    "%": (_PRODUCT, _PRODUCT, _SIGNED),
    "^": (_POWER, _PRIMARY, _SIGNED),
}
"""For each operator how tightly it holds, and how tightly its left and right side must."""

_BEGINS_STATEMENT = re.compile(
    r"(?:load|vocab|source(?!\.)|attention|allow|example"
    r"|context|bos|eos|predict|logits|output|assume|draw(?=\()|exit|quit)\b"
)


def unparse(module: syntax.Module) -> str:
    """Return a text that `parse` reads as `module`; one statement a line, the same every time.

    The tree is one that `parse` can make: numbers are not negative and have a finite decimal.
    """
    return "".join(_lines(module.body, ""))


def unparse_expression(expression: syntax.Expression) -> str:
    """Return the text of an expression."""
    return _expression(expression, _CONDITIONAL)


def _lines(body: Iterable[syntax.Statement], indent: str) -> Iterable[str]:
    for statement in body:
        match statement:
            case syntax.Definition(name, parameters, inner):
                head = f"def {name}({', '.join(map(_parameter, parameters))})"
            case syntax.For(targets, iterable, inner):
                head = f"for {', '.join(targets)} in {unparse_expression(iterable)}"
            case syntax.Repl(text):
                yield f"{indent}{text}\n"
                continue
            case _:
                yield f"{indent}{_simple(statement)};\n"
                continue
        yield f"{indent}{head} {{\n"
        yield from _lines(inner, indent + INDENT)
        yield f"{indent}}}\n"


def _parameter(parameter: syntax.Parameter) -> str:
    if parameter.default is None:
        return parameter.name
    return f"{parameter.name}={unparse_expression(parameter.default)}"


_Simple = (
    syntax.Assign
    | syntax.Return
    | syntax.Bare
    | syntax.Load
    | syntax.Vocab
    | syntax.Context
    | syntax.Marker
    | syntax.Attention
    | syntax.SourceSequence
    | syntax.Predict
    | syntax.Allow
    | syntax.Logits
    | syntax.Output
    | syntax.Example
    | syntax.Assume
)


def _simple(statement: _Simple) -> str:
    match statement:
        case syntax.Assign(targets, values):
            return f"{', '.join(targets)} = {_several(values)}"
        case syntax.Return(values):
            return f"return {_several(values)}"
        case syntax.Bare(value):
            text = unparse_expression(value)
            return f"({text})" if _BEGINS_STATEMENT.match(text) else text
        case syntax.Load(path):
            return f"load {write_text(path)}"
        case syntax.Vocab(tokens):
            return f"vocab {unparse_expression(tokens)}"
        case syntax.Context(size):
            return f"context {unparse_expression(size)}"
        case syntax.Marker(role, token):
            return f"{role} {unparse_expression(token)}"
        case syntax.Attention(mode):
            return f"attention {mode}"
        case syntax.SourceSequence(tokens, size):
            context = "" if size is None else f" context {unparse_expression(size)}"
            return f"source {unparse_expression(tokens)}{context}"
        case syntax.Predict(value):
            return f"predict {unparse_expression(value)}"
        case syntax.Allow(token, condition):
            if condition is None:
                return f"allow {unparse_expression(token)}"
            return f"allow {_expression(token, _OR)} if {unparse_expression(condition)}"
        case syntax.Logits(table):
            return f"logits {unparse_expression(table)}"
        case syntax.Output(value):
            return f"output {unparse_expression(value)}"
        case syntax.Example(given, expected):
            return f"example {unparse_expression(given)} -> {unparse_expression(expected)}"
        case syntax.Assume(condition):
            return f"assume {unparse_expression(condition)}"
        case _:
            assert_never(statement)


def _several(expressions: Iterable[syntax.Expression]) -> str:
    return ", ".join(map(unparse_expression, expressions))


def _expression(expression: syntax.Expression, needed: int) -> str:
    text, tightness = _written(expression)
    return text if tightness >= needed else f"({text})"


def _written(expression: syntax.Expression) -> tuple[str, int]:
    """Return the text and how tightly it holds together."""
    match expression:
        case syntax.Number(value):
            return write_number(value), _PRIMARY
        case syntax.Text(value):
            return write_text(value), _PRIMARY
        case syntax.Truth(value):
            return str(value), _PRIMARY
        case syntax.Name(name):
            return name, _PRIMARY
        case syntax.Operator(op):
            return op, _PRIMARY
        case syntax.IntegerRange(low, high):
            return f"{_expression(low, _SUM)}..{_expression(high, _SUM)}", _CONDITIONAL
        case syntax.ListDisplay(items):
            return f"[{_several(items)}]", _PRIMARY
        case syntax.DictDisplay(items):
            return f"{{{', '.join(_entry(key, value) for key, value in items)}}}", _PRIMARY
        case syntax.ListComprehension(element, targets, iterable, condition):
            loop = _loop(targets, iterable, condition)
            return f"[{unparse_expression(element)} {loop}]", _PRIMARY
        case syntax.DictComprehension(key, value, targets, iterable, condition):
            return f"{{{_entry(key, value)} {_loop(targets, iterable, condition)}}}", _PRIMARY
        case syntax.Unary("not", operand):
            return f"not {_expression(operand, _NOT)}", _NOT
        case syntax.Unary(op, operand):
            return f"{op}{_expression(operand, _SIGNED)}", _SIGNED
        case syntax.Binary("^", left, right):
            return f"{_expression(left, _PRIMARY)}^{_expression(right, _SIGNED)}", _POWER
        case syntax.Binary(op, left, right):
            holds, on_left, on_right = _BINARY[op]
            return f"{_expression(left, on_left)} {op} {_expression(right, on_right)}", holds
        case syntax.Comparison(first, rest):
            parts = (f" {op} {_expression(part, _SUM)}" for op, part in rest)
            return _expression(first, _SUM) + "".join(parts), _COMPARISON
        case syntax.Conditional(then, condition, otherwise):
            choice = f"{_expression(then, _OR)} if {_expression(condition, _OR)}"
            return f"{choice} else {unparse_expression(otherwise)}", _CONDITIONAL
        case syntax.Call(function, arguments, keywords):
            positional = map(unparse_expression, arguments)
            named = (f"{name}={unparse_expression(value)}" for name, value in keywords)
            return (
                f"{_expression(function, _PRIMARY)}({', '.join((*positional, *named))})",
                _PRIMARY,
            )
        case syntax.Index(base, index):
            return f"{_expression(base, _PRIMARY)}[{unparse_expression(index)}]", _PRIMARY
        case syntax.Attribute(base, name):
            return f"{_expression(base, _PRIMARY)}.{name}", _PRIMARY
        case _:
            assert_never(expression)


def _entry(key: syntax.Expression, value: syntax.Expression) -> str:
    return f"{unparse_expression(key)}: {unparse_expression(value)}"


def _loop(
    targets: tuple[str, ...], iterable: syntax.Expression, condition: syntax.Expression | None
) -> str:
    loop = f"for {', '.join(targets)} in {_expression(iterable, _OR)}"
    return loop if condition is None else f"{loop} if {_expression(condition, _OR)}"
