"""The syntax tree: what was written, before names and values mean anything.

Every node has a span that takes no part in equality, so trees from two texts compare by what
they say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

    from handcraft.errors import Span


# Expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number: `3`, `0.25` (a quarter)."""

    value: Fraction
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A string: `"ab"` or `'ab'`."""

    value: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """`True` or `False`."""

    value: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is looked up: `tokens`."""

    id: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A comparison given as an argument: the last one of `select(k, q, ==)`."""

    op: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListDisplay:
    """`[a, b]`."""

    items: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DictDisplay:
    """`{"a": 1, "b": 2}`."""

    items: tuple[tuple[Expression, Expression], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """`0..9`, both ends included; only `vocab` and `source` take it."""

    low: Expression
    high: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListComprehension:
    """`[element for targets in iterable if condition]`."""

    element: Expression
    targets: tuple[str, ...]
    iterable: Expression
    condition: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DictComprehension:
    """`{key: value for targets in iterable if condition}`."""

    key: Expression
    value: Expression
    targets: tuple[str, ...]
    iterable: Expression
    condition: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `+x`, `not x`."""

    op: str
    operand: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * / // % ^` (`**` is written `^` here), `and`, `or`."""

    op: str
    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first op expr op expr ...`, a chain as in Python; `op` may be `in` or `not in`."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if condition else otherwise`."""

    then: Expression
    condition: Expression
    otherwise: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments, name=keyword)`."""

    function: Expression
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`."""

    base: Expression
    index: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """`base.name`: `source.tokens`."""

    base: Expression
    name: str
    span: Span = field(compare=False, repr=False)


Expression: TypeAlias = (
    Number
    | Text
    | Truth
    | Name
    | Operator
    | ListDisplay
    | DictDisplay
    | IntegerRange
    | ListComprehension
    | DictComprehension
    | Unary
    | Binary
    | Comparison
    | Conditional
    | Call
    | Index
    | Attribute
)


# Statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """`a = e;`, `a, b = f(x);`, `a, b = e1, e2;`."""

    targets: tuple[str, ...]
    values: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a `def`, with its default if it has one."""

    name: str
    default: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """`def name(parameters) { body }`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """`return e;` or `return e1, e2;`."""

    values: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """`for targets in iterable { body }`, unrolled when the program is checked."""

    targets: tuple[str, ...]
    iterable: Expression
    body: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bare:
    """An expression that stands alone: checked, then dropped."""

    value: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Load:
    """`load "file";`, relative to the file that says it."""

    path: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Vocab:
    """`vocab "ab";`, `vocab ["hello", "world"];`, `vocab 0..9;`."""

    tokens: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Context:
    """`context 5;`."""

    size: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Marker:
    """`bos "^";` or `eos ".";` (`role` says which)."""

    role: str
    token: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attention:
    """`attention causal;` or `attention bidirectional;`; any other word is kept for the checker."""

    mode: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SourceSequence:
    """`source [...] context 5;`: the second sequence of an encoder-decoder."""

    tokens: Expression
    context: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Predict:
    """`predict E;`."""

    value: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Allow:
    """`allow T if C;`, or `allow T;` where it is always allowed."""

    token: Expression
    condition: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logits:
    """`logits {"a": E1, "b": E2};`."""

    table: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """`output E;`."""

    value: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Example:
    """`example INPUT -> EXPECTED;`."""

    input: Expression
    expected: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assume:
    """`assume E;`: texts at whose every position E holds are in scope."""

    condition: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repl:
    """A statement of RASP's interactive shell (`draw`, `set example`, ...), ignored in files."""

    text: str
    span: Span = field(compare=False, repr=False)


Statement: TypeAlias = (
    Assign
    | Definition
    | Return
    | For
    | Bare
    | Load
    | Vocab
    | Context
    | Marker
    | Attention
    | SourceSequence
    | Predict
    | Allow
    | Logits
    | Output
    | Example
    | Assume
    | Repl
)


@dataclass(frozen=True, slots=True)
class Module:
    """A whole file."""

    body: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)
