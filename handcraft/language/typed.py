"""The typed program: what was meant.

A program is a list of nodes in the order of their making; a node's operands are the numbers of
earlier nodes. Equal nodes are one node. Each node has a finite domain (of a selector: bounds on
how many keys a query selects), the place it came from and, where it has one, its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable

    from handcraft.errors import Notice, Source, Span
    from handcraft.language.domains import Domain
    from handcraft.language.values import Outcome, Value
    from handcraft.patterns.automaton import Automaton
    from handcraft.runtime.vocabulary import Token, Vocabulary

# S-ops ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """The token at each position of a sequence."""

    sequence: str


@dataclass(frozen=True, slots=True)
class Indices:
    """The position itself, from 0."""

    sequence: str


Question: TypeAlias = Literal["state", "accepts", "next", "is live", "live next"]
"""What can be asked of a pattern after a text.

`state` is the name of the state, `accepts` whether the text is a word, `next` the text of all
tokens that may follow, `eos` where the text is a word among them. `is live` is whether some word
begins with the text, and `live next` is `next` of such a text and has no value for others.
"""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular language, by the words of the program and by its automaton."""

    text: str = field(compare=False)
    automaton: Automaton


@dataclass(frozen=True, slots=True)
class Ask:
    """What a pattern says of the tokens so far, this position's included."""

    pattern: Pattern
    question: Question


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value everywhere; `kind` keeps `True` and `1` apart."""

    value: Value
    kind: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An element-wise function of `values.FUNCTIONS`."""

    function: str
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """`then if condition else otherwise`; `and` and `or` are made of it too.

    The branch that is not taken cannot be undefined.
    """

    condition: int
    then: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Pick:
    """A list or dict indexed by an s-op: the option whose value equals the key."""

    key: int
    values: tuple[Value, ...]
    options: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The mean of the selected numbers, or the one selected value; `default` for none selected."""

    selector: int
    value: int
    default: int | None


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of the selected values."""

    selector: int
    value: int


@dataclass(frozen=True, slots=True)
class Width:
    """How many keys each query selects."""

    selector: int


# Selectors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Full:
    """Every key; `queries` is None where any sequence may ask."""

    keys: str
    queries: str | None


@dataclass(frozen=True, slots=True)
class Compare:
    """Entry (query i, key j) is `key[j] op query[i]`."""

    op: str
    key: int
    query: int


@dataclass(frozen=True, slots=True)
class AllOf:
    """Entries in both selectors."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Entries in either selector."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class NoneOf:
    """Entries that the selector does not hold (under the causal mask: of those it can see)."""

    operand: int


@dataclass(frozen=True, slots=True)
class Best:
    """Of the selected keys the one with the highest score; of equals the latest."""

    selector: int
    score: int


@dataclass(frozen=True, slots=True)
class First:
    """Of the selected keys the first."""

    selector: int


@dataclass(frozen=True, slots=True)
class Latest:
    """Of the selected keys the last."""

    selector: int


SelectorOp: TypeAlias = Full | Compare | AllOf | AnyOf | NoneOf | Best | First | Latest
ElementwiseOp: TypeAlias = Constant | Apply | Choose | Pick
AtomOp: TypeAlias = Tokens | Indices | Ask | Aggregate | Total | Width
Op: TypeAlias = ElementwiseOp | AtomOp | SelectorOp

SELECTORS = (Full, Compare, AllOf, AnyOf, NoneOf, Best, First, Latest)
ELEMENTWISE = (Constant, Apply, Choose, Pick)


# Nodes and programs --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """A query selects at least `fewest` and at most `most` keys."""

    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Table:
    """An s-op as a function of other s-ops, its leaves.

    `outcomes` lists its value for every tuple of the leaves' values, the last leaf fastest.
    """

    leaves: tuple[int, ...]
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One s-op or selector."""

    op: Op
    domain: Domain | None
    """The values of an s-op; None for a selector."""
    counts: Counts | None
    """How many keys a selector takes; None for an s-op."""
    table: Table | None
    """An element-wise s-op as a function of its leaves, where that has few cells."""
    name: str | None
    span: Span = field(compare=False, repr=False)
    words: str | None = field(default=None, compare=False, repr=False)
    """What is told of it in place of the text of its span."""
    sequence: str | None = None
    """The sequence of an s-op, or of a selector's queries; None where it belongs to either."""
    keys: str | None = None
    """The sequence of a selector's keys; None for an s-op."""


@dataclass(frozen=True, slots=True)
class Predict:
    """The next token."""

    value: int
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Allow:
    """The tokens that may come next, each with its condition (a token may stand more than once)."""

    choices: tuple[tuple[int, int], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logits:
    """A numeric s-op for each token; only `bos` may be left out."""

    tokens: tuple[Token, ...]
    values: tuple[int, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """A value at every position."""

    value: int
    span: Span = field(compare=False, repr=False)


Result: TypeAlias = Predict | Allow | Logits | Output


@dataclass(frozen=True, slots=True)
class Example:
    """`example INPUT -> EXPECTED`: a continuation (text), or the value at each position.

    Where there is a source, that is the input, and the text is all that is written from it.
    """

    input: tuple[Token, ...]
    expected: str | tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SourceHeader:
    """What the header says of the source: its vocabulary, and how long it can be."""

    vocabulary: Vocabulary
    context: int


@dataclass(frozen=True, slots=True)
class Header:
    """What stands outside the expressions: vocabulary, context and attention, and the source."""

    vocabulary: Vocabulary
    context: int
    attention: str
    source: SourceHeader | None = None

    def extent(self, sequence: str | None) -> SourceHeader | Header:
        """Return what is said of a sequence; of either, what is said of the target."""
        return self.source if sequence == "source" and self.source is not None else self


@dataclass(frozen=True, slots=True)
class TypedProgram:
    """A checked program."""

    source: Source
    header: Header
    nodes: tuple[Node, ...]
    result: Result
    assumptions: tuple[int, ...]
    examples: tuple[Example, ...]
    notices: tuple[Notice, ...]

    @property
    def context(self) -> int:
        """The longest sequence that the program sees."""
        return self.header.context

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self.header.vocabulary

    @property
    def causal(self) -> bool:
        """Whether position i sees only keys j <= i."""
        return self.header.attention == "causal"


def operands(op: Op) -> tuple[int, ...]:
    """Return the nodes that an operation reads."""
    read: list[int] = []

    def note(node: int) -> int:
        read.append(node)
        return node

    renumbered(op, note)
    return tuple(read)


def renumbered(op: Op, number: Callable[[int], int]) -> Op:
    """Return the operation with its operands renumbered."""
    match op:
        case Tokens() | Indices() | Ask() | Constant() | Full():
            return op
        case Apply(function, arguments):
            return Apply(function, tuple(map(number, arguments)))
        case Choose(condition, then, otherwise):
            return Choose(number(condition), number(then), number(otherwise))
        case Pick(key, values, options):
            return Pick(number(key), values, tuple(map(number, options)))
        case Aggregate(selector, value, default):
            kept = None if default is None else number(default)
            return Aggregate(number(selector), number(value), kept)
        case Total(selector, value):
            return Total(number(selector), number(value))
        case Width(selector):
            return Width(number(selector))
        case Compare(op_, key, query):
            return Compare(op_, number(key), number(query))
        case AllOf(left, right):
            return AllOf(number(left), number(right))
        case AnyOf(left, right):
            return AnyOf(number(left), number(right))
        case NoneOf(operand):
            return NoneOf(number(operand))
        case Best(selector, score):
            return Best(number(selector), number(score))
        case First(selector):
            return First(number(selector))
        case Latest(selector):
            return Latest(number(selector))
        case _:
            assert_never(op)
