"""Trees to text and back."""

from __future__ import annotations

import string
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handcraft.errors import ProgramError, Source, Span
from handcraft.language import syntax
from handcraft.language.dump import dump
from handcraft.language.literals import LARGEST
from handcraft.language.parse import parse
from handcraft.language.unparse import unparse, unparse_expression

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NODE = TypeVar("NODE")

NOWHERE = Span(Source(""), 0, 0)
RESERVED = {"if", "else", "and", "or", "not", "in", "for", "True", "False", "def", "return"}
WORDS = ["x", "y2", "_", "größe", "vocab", "context", "bos", "eos", "attention", "source", "state"]
WORDS += [
    "predict",
    "allow",
    "logits",
    "output",
    "example",
    "assume",
    "load",
    "draw",
    "set",
    "exit",
]
SHELL = ['set example "a;b"', "show s-op example", "draw(x, 'a')", "full seq display on", "quit()"]

names = st.sampled_from(WORDS) | st.text(string.ascii_letters, min_size=1, max_size=3).filter(
    lambda name: name not in RESERVED
)
targets = st.lists(names, min_size=1, max_size=3).map(tuple)


def node(kind: type[NODE], *parts: SearchStrategy[object]) -> SearchStrategy[NODE]:
    return st.builds(kind, *parts, st.just(NOWHERE))


def several(part: SearchStrategy[NODE], least: int = 0) -> SearchStrategy[tuple[NODE, ...]]:
    return st.lists(part, min_size=least, max_size=3).map(tuple)


numbers = st.builds(
    lambda digits, places: Fraction(digits, 10**places), st.integers(0, 999), st.integers(0, 3)
)
texts = st.text(max_size=4) | st.sampled_from(["a", "#", "\\", "'", '"', "\n"])
atoms = st.one_of(
    node(syntax.Number, numbers),
    node(syntax.Text, texts),
    node(syntax.Truth, st.booleans()),
    node(syntax.Name, names),
)


def larger(part: SearchStrategy[syntax.Expression]) -> SearchStrategy[syntax.Expression]:
    argument = part | node(syntax.Operator, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
    keywords = st.dictionaries(names, part, max_size=2).map(lambda given: tuple(given.items()))
    comparison = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
    condition = st.none() | part
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "^", "and", "or"])
    return st.one_of(
        node(syntax.Unary, st.sampled_from(["-", "+", "not"]), part),
        node(syntax.Binary, binary, part, part),
        node(syntax.Comparison, part, several(st.tuples(comparison, part), 1)),
        node(syntax.Conditional, part, part, part),
        node(syntax.Call, part, several(argument), keywords),
        node(syntax.Index, part, part),
        node(syntax.Attribute, part, names),
        node(syntax.ListDisplay, several(part)),
        node(syntax.DictDisplay, several(st.tuples(part, part))),
        node(syntax.ListComprehension, part, targets, part, condition),
        node(syntax.DictComprehension, part, part, targets, part, condition),
    )


expressions: SearchStrategy[syntax.Expression] = st.recursive(atoms, larger, max_leaves=8)
vocabularies = expressions | node(syntax.IntegerRange, expressions, expressions)

simple_statements: SearchStrategy[syntax.Statement] = st.one_of(
    node(syntax.Assign, targets, several(expressions, 1)),
    node(syntax.Return, several(expressions, 1)),
    node(syntax.Bare, expressions),
    node(syntax.Load, texts),
    node(syntax.Vocab, vocabularies),
    node(syntax.Context, expressions),
    node(syntax.Marker, st.sampled_from(["bos", "eos"]), expressions),
    node(syntax.Attention, names),
    node(syntax.SourceSequence, vocabularies, st.none() | expressions),
    node(syntax.Predict, expressions),
    node(syntax.Allow, expressions, st.none() | expressions),
    node(syntax.Logits, expressions),
    node(syntax.Output, expressions),
    node(syntax.Example, expressions, expressions),
    node(syntax.Assume, expressions),
    node(syntax.Repl, st.sampled_from(SHELL)),
)


@st.composite
def parameters(draw: st.DrawFn) -> tuple[syntax.Parameter, ...]:
    plain = draw(several(node(syntax.Parameter, names, st.none())))
    return plain + draw(several(node(syntax.Parameter, names, expressions)))


def blocks(body: SearchStrategy[syntax.Statement]) -> SearchStrategy[syntax.Statement]:
    return st.one_of(
        node(syntax.Definition, names, parameters(), several(body)),
        node(syntax.For, targets, expressions, several(body)),
    )


statements = st.recursive(simple_statements, blocks, max_leaves=3)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(node(syntax.Module, several(statements)))
def test_a_written_tree_reads_as_the_same_tree(module: syntax.Module) -> None:
    text = unparse(module)
    again = parse(Source(text))
    assert again == module
    assert unparse(again) == text


@pytest.mark.parametrize(
    "text",
    [
        "((a + b)) + (c * d)",
        "a - (b - c)",
        "(a ^ b) ^ c",
        "(-a) ^ b",
        "a ^ (-b)",
        "-(a * b)",
        "(-a) * b",
        "not (a == b)",
        "(not a) == b",
        "(a == b) == c",
        "(a if b else c) if d else (e if f else g)",
        "f((a if b else c), (d))[(1)].e",
        "[(a) for x in (b if c else d) if (e or f)]",
    ],
)
def test_no_brackets_can_be_left_out_of_what_is_written(text: str) -> None:
    bare = parse(Source(f"({text});")).body[0]
    assert isinstance(bare, syntax.Bare)
    written = unparse_expression(bare.value)
    for at, character in enumerate(written):
        if character == "(" and not written[at - 1 : at].isalnum():
            closing = at + 1
            while written[at : closing + 1].count("(") != written[at : closing + 1].count(")"):
                closing += 1
            fewer = written[:at] + written[at + 1 : closing] + written[closing + 1 :]
            try:
                different = parse(Source(f"({fewer});")).body[0] != bare
            except ProgramError:
                different = True
            assert different, fewer


def test_statements_are_written_one_a_line() -> None:
    text = "def f(x,n=1) { for a,b in [x] { y = 2**-n; } return y,0.50; } vocab -1..3; (output);"
    assert unparse(parse(Source(text))) == (
        "def f(x, n=1) {\n"
        "    for a, b in [x] {\n"
        "        y = 2^-n;\n"
        "    }\n"
        "    return y, 0.5;\n"
        "}\n"
        "vocab -1..3;\n"
        "(output);\n"
    )


def test_the_longest_number_can_be_written_and_read_again() -> None:
    module = parse(Source(f"x = {LARGEST - 1};"))
    assert parse(Source(unparse(module))) == module


def test_the_listing_shows_each_node_with_its_line_and_role() -> None:
    text = (
        'vocab "a\\n";\n'
        "x, y = f(1.5, ==, k=-z), {True: [w for v in u]};\n"
        "\n"
        "def g(n=2) {\n"
        "    return a < b in\n"
        "        c;\n"
        "}\n"
        "allow p if q;\n"
        "show example"
    )
    assert dump(parse(Source(text))) == (
        "1  Vocab\n"
        '1    tokens: Text "a\\n"\n'
        "2  Assign x, y\n"
        "2    values: Call\n"
        "2      function: Name f\n"
        "2      arguments: Number 3/2\n"
        "2      arguments: Operator ==\n"
        "2      k: Unary -\n"
        "2        operand: Name z\n"
        "2    values: DictDisplay\n"
        "2      key: Truth True\n"
        "2      value: ListComprehension v\n"
        "2        element: Name w\n"
        "2        iterable: Name u\n"
        "4  Definition g\n"
        "4    parameters: Parameter n\n"
        "4      default: Number 2\n"
        "5    body: Return\n"
        "5      values: Comparison\n"
        "5        first: Name a\n"
        "5        <: Name b\n"
        "6        in: Name c\n"
        "8  Allow\n"
        "8    token: Name p\n"
        "8    condition: Name q\n"
        "9  Repl show example\n"
    )
