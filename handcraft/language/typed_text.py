"""Typed program to text: the header, then one node a line with its domain and its place.

`both = aggregate(...)` in line 3 gives

    %5 both = aggregate(%3, %4) : {0, 1/2, 1}  # line 3

and a selector says how many keys it takes in place of its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from handcraft.language.sequences import TARGET
from handcraft.language.typed import (
    Aggregate,
    AllOf,
    Allow,
    AnyOf,
    Apply,
    Ask,
    Best,
    Choose,
    Compare,
    Constant,
    Counts,
    Example,
    First,
    Full,
    Header,
    Indices,
    Latest,
    Logits,
    Node,
    NoneOf,
    Op,
    Output,
    Pick,
    Predict,
    Result,
    Tokens,
    Total,
    TypedProgram,
    Width,
)
from handcraft.language.values import show

if TYPE_CHECKING:
    from handcraft.errors import Source, Span
    from handcraft.runtime.vocabulary import Vocabulary


def typed_text(program: TypedProgram) -> str:
    """Return the program as text, the same every time."""
    lines = [
        *_header(program.header),
        *(_node(number, node, program.source) for number, node in enumerate(program.nodes)),
        *(f"assume %{node}" for node in program.assumptions),
        *_result(program.result),
        *(_example(example) for example in program.examples),
    ]
    return "".join(f"{line}\n" for line in lines)


def _header(header: Header) -> list[str]:
    vocabulary = header.vocabulary
    lines = [f"vocab {_tokens(vocabulary)}", f"context {header.context}"]
    for role, token in (("bos", vocabulary.bos), ("eos", vocabulary.eos)):
        if token is not None:
            lines.append(f"{role} {show(token)}")
    lines.append(f"attention {header.attention}")
    if header.source is not None:
        source = header.source
        lines.append(f"source {_tokens(source.vocabulary)} context {source.context}")
    return lines


def _tokens(vocabulary: Vocabulary) -> str:
    if vocabulary.kind == "characters":
        return show("".join(map(str, vocabulary.tokens)))
    return "[" + ", ".join(map(show, vocabulary.tokens)) + "]"


def _node(number: int, node: Node, source: Source) -> str:
    name = f" {node.name}" if node.name is not None else ""
    kind = f"takes {_counts(node.counts)}" if node.counts is not None else str(node.domain)
    return f"%{number}{name} = {_op(node.op)} : {kind}  # {_place(node.span, source)}"


def _counts(counts: Counts) -> str:
    if counts.fewest == counts.most:
        return f"{counts.most} key{'' if counts.most == 1 else 's'}"
    return f"{counts.fewest}..{counts.most} keys"


def _place(span: Span, source: Source) -> str:
    """Return the line, with its file where that is not the program's own text."""
    file = "" if span.source is source else f"{span.source.name} "
    return f"{file}line {span.line}"


def _op(op: Op) -> str:
    match op:
        case Tokens(sequence):
            return "tokens" if sequence == TARGET else f"{sequence}.tokens"
        case Indices(sequence):
            return "indices" if sequence == TARGET else f"{sequence}.indices"
        case Ask(pattern, question):
            return f"{question} of {pattern.text}"
        case Constant(value):
            return show(value)
        case Apply(function, arguments):
            return _applied(function, arguments)
        case Choose(condition, then, otherwise):
            return f"%{then} if %{condition} else %{otherwise}"
        case Pick(key, values, options):
            pairs = zip(values, options, strict=True)
            return "{" + ", ".join(f"{show(v)}: %{o}" for v, o in pairs) + f"}}[%{key}]"
        case Aggregate(selector, value, default):
            last = "" if default is None else f", %{default}"
            return f"aggregate(%{selector}, %{value}{last})"
        case Total(selector, value):
            return f"sum(%{selector}, %{value})"
        case Width(selector):
            return f"selector_width(%{selector})"
        case Full():
            return "full_s"
        case Compare(op_, key, query):
            return f"select(%{key}, %{query}, {op_})"
        case AllOf(left, right):
            return f"%{left} and %{right}"
        case AnyOf(left, right):
            return f"%{left} or %{right}"
        case NoneOf(operand):
            return f"not %{operand}"
        case Best(selector, score):
            return f"best(%{selector}, %{score})"
        case First(selector):
            return f"first(%{selector})"
        case Latest(selector):
            return f"latest(%{selector})"
        case _:
            assert_never(op)


def _applied(function: str, arguments: tuple[int, ...]) -> str:
    read = [f"%{argument}" for argument in arguments]
    if function.isidentifier() or len(read) != 2:
        return f"{function}({', '.join(read)})"
    return f"{read[0]} {function} {read[1]}"


def _result(result: Result) -> list[str]:
    match result:
        case Predict(value):
            return [f"predict %{value}"]
        case Output(value):
            return [f"output %{value}"]
        case Allow(choices):
            return [f"allow %{token} if %{condition}" for token, condition in choices]
        case Logits(tokens, values):
            pairs = zip(tokens, values, strict=True)
            return ["logits {" + ", ".join(f"{show(t)}: %{v}" for t, v in pairs) + "}"]
        case _:
            assert_never(result)


def _example(example: Example) -> str:
    given = ", ".join(map(show, example.input))
    if isinstance(example.expected, str):
        return f"example [{given}] -> {show(example.expected)}"
    return f"example [{given}] -> [{', '.join(map(show, example.expected))}]"
