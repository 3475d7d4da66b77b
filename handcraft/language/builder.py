"""Makes the nodes of a typed program: one node for equal operations, with its domain."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import assert_never

from handcraft.errors import ProgramError, Span
from handcraft.language.cells import broadcast, evaluate
from handcraft.language.domain_rules import (
    LARGEST_JOINT_TABLE,
    LARGEST_QUICK_TABLE,
    function_domain,
    listed,
    mean_domain,
    sum_domain,
)
from handcraft.language.domains import (
    LONGEST_LIST,
    NOTHING,
    Domain,
    Finite,
    Mixed,
    as_lattice,
    finite,
    is_numeric,
    kinds,
    union,
)
from handcraft.language.merging import merged
from handcraft.language.reach import Reach, View, counts, reach
from handcraft.language.recognition import possible
from handcraft.language.sequences import SOURCE, Sides, sides
from handcraft.language.totality import branches, is_total
from handcraft.language.typed import (
    SELECTORS,
    Aggregate,
    AllOf,
    AnyOf,
    Apply,
    Ask,
    Best,
    Choose,
    Compare,
    Constant,
    Counts,
    First,
    Full,
    Header,
    Indices,
    Latest,
    Node,
    NoneOf,
    Op,
    Pick,
    Table,
    Tokens,
    Total,
    Width,
    operands,
)
from handcraft.language.values import Undefined, Value, kind

MOST_LEAVES = 32
"""Leaves of such a function; a leaf may have only one value."""

MOST_NODES = 100_000

MOST_CELLS = 1_200_000
"""Cells of tables that are worked out for all operations together."""

DEEPEST = 200
"""Operations one after another, each on the result of the one before: later stages follow them
by recursion. A function of one s-op is a table, and counts as one."""


class Builder:
    """Collects nodes; `add` returns the number of the node that does an operation.

    Attributes:
        header: vocabulary, context and attention.
        nodes: what was made so far.
        place: the place of all that is made, where it is not that of the expression: the call
            of a function whose body the reader does not see.
        words: what is told of all that is made in place of the text there.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self.nodes: list[Node] = []
        self._numbers: dict[Op, int] = {}
        self._reaches: dict[int, Reach] = {}
        self._kept: set[int] = set()
        self._total: dict[int, bool] = {}
        self._depths: list[int] = []
        self._cells = 0
        self.place: Span | None = None
        self.words: str | None = None

    def constant(self, value: Value, span: Span) -> int:
        """Return the node of a constant."""
        return self.add(Constant(value, kind(value)), span)

    def add(self, op: Op, span: Span) -> int:
        """Return the node of an operation, made now unless an equal one exists.

        Raises:
            ProgramError: `domain-too-large`, or `too-large` or `too-deep` for too many operations.
        """
        span = self.place or span
        if isinstance(op, First | Latest) and self.counts(op.selector).most <= 1:
            return op.selector
        op = merged(self, op, span)
        known = self._numbers.get(op)
        if known is not None:
            return known
        if len(self.nodes) >= MOST_NODES:
            message = f"the program makes more than {MOST_NODES} operations"
            raise ProgramError("too-large", message, span, help="use fewer or shorter loops")
        side = sides(op, self.nodes, span)
        node = replace(
            self._node(op, span, side), words=self.words, sequence=side.sequence, keys=side.keys
        )
        self._depths.append(self._depth(node))
        self.nodes.append(node)
        self._numbers[op] = len(self.nodes) - 1
        return self._numbers[op]

    def keep(self, number: int) -> None:
        """Make a node a variable of its own: no table that reads it looks through it."""
        self._kept.add(number)

    def name(self, number: int, name: str) -> None:
        """Give a node its name, unless it has one."""
        if self.nodes[number].name is None:
            self.nodes[number] = replace(self.nodes[number], name=name)

    def domain(self, number: int) -> Domain:
        """Return the domain of an s-op."""
        domain = self.nodes[number].domain
        assert domain is not None
        return domain

    def counts(self, number: int) -> Counts:
        """Return how many keys a selector takes."""
        counts_ = self.nodes[number].counts
        assert counts_ is not None
        return counts_

    def why_undefined(self, number: int) -> str | None:
        """Return why an s-op has no value on any input, None if it can have one."""
        if self.domain(number) != NOTHING:
            return None
        table = self.nodes[number].table
        outcomes = () if table is None else table.outcomes
        reasons = (each.message for each in outcomes if isinstance(each, Undefined))
        return next(reasons, "nothing is ever selected")

    def value(self, number: int) -> Value | None:
        """Return the value of a constant node, None for others."""
        op = self.nodes[number].op
        return op.value if isinstance(op, Constant) else None

    def unmasked_reach(self, number: int) -> Reach:
        """Return which keys a selector names, the causal mask not counted."""
        return self._reaches[number]

    def view(self, queries: str | None, keys: str | None) -> View:
        """Return what queries of one sequence see of the keys of another."""
        n_keys = self.header.extent(keys).context
        if queries != keys:
            rows = 1 if queries is None else self.header.extent(queries).context
            return View(rows, n_keys, "across")
        causal = self.header.attention == "causal" and keys != SOURCE
        return View(n_keys, n_keys, "causal" if causal else "bidirectional")

    def is_selector(self, number: int) -> bool:
        """Return whether a node is a selector."""
        return isinstance(self.nodes[number].op, SELECTORS)

    def _depth(self, node: Node) -> int:
        """Return how many operations stand one upon another in a node."""
        table, here = node.table, len(self.nodes)
        looked_up = table is not None and len(table.leaves) <= 1 and here not in table.leaves
        below = table.leaves if table is not None and looked_up else operands(node.op)
        depth = 1 + max((self._depths[number] for number in below), default=0)
        if depth > DEEPEST:
            message = f"this is more than {DEEPEST} operations one upon another"
            help_ = "use a shorter loop, or join steps in one selector or table"
            raise ProgramError("too-deep", message, node.span, help=help_)
        return depth

    def _charge(self, cells: int, span: Span) -> None:
        """Count cells that are worked out; a program that needs too many is refused."""
        self._cells += cells
        if self._cells > MOST_CELLS:
            message = f"the tables of the program have more than {MOST_CELLS} cells together"
            help_ = "use a smaller vocabulary or context, or fewer and shorter loops"
            raise ProgramError("too-large", message, span, help=help_)

    def _node(self, op: Op, span: Span, side: Sides) -> Node:
        if isinstance(op, SELECTORS):
            return self._selector(op, span, self.view(side.sequence, side.keys))
        table = self._table(op, span)
        domain = listed(_defined(table)) if table is not None else self._domain(op, span)
        self._refuse_many_texts(domain, span)
        if table is None and isinstance(domain, Finite):
            table = Table((len(self.nodes),), domain.values)
        return Node(op, domain, None, table, None, span)

    def _selector(self, op: Op, span: Span, view: View) -> Node:
        assert isinstance(op, SELECTORS)
        reach_ = reach(op, self.nodes, self._reaches, view)
        inner = self.nodes[op.selector].counts if isinstance(op, Best | First | Latest) else None
        counts_ = counts(reach_, op, inner, view)
        self._reaches[len(self.nodes)] = reach_
        return Node(op, None, counts_, None, None, span)

    def _table(self, op: Op, span: Span) -> Table | None:
        """Return an element-wise operation as a function of its leaves, where that is small."""
        if isinstance(op, Constant):
            return Table((), (op.value,))
        if not isinstance(op, Apply | Choose | Pick):
            return None
        tables = [self._table_of(a) for a in operands(op)]
        known = [t for t in tables if t is not None]
        if len(known) < len(tables) or self._may_skip(op):
            return None
        leaves = tuple(sorted({leaf for t in known for leaf in t.leaves}))
        sizes = [self._leaf_size(leaf) for leaf in leaves]
        if len(leaves) > MOST_LEAVES or not 0 < prod(sizes) <= LARGEST_JOINT_TABLE:
            return None  # a leaf without values may still stand in a branch that is not taken
        self._charge(prod(sizes), span)
        columns = [broadcast(t, leaves, sizes) for t in known]
        return Table(leaves, tuple(evaluate(op, row) for row in zip(*columns, strict=True)))

    def _may_skip(self, op: Op) -> bool:
        """Return whether a choice may pass over something that has no value."""
        decided = {leaf for n in operands(op) if n not in branches(op) for leaf in self._leaves(n)}
        skipped = {leaf for n in branches(op) for leaf in self._leaves(n)} - decided
        return not all(is_total(self.nodes, leaf, self._total) for leaf in skipped)

    def _leaves(self, number: int) -> tuple[int, ...]:
        table = self._table_of(number)
        return () if table is None else table.leaves

    def _table_of(self, number: int) -> Table | None:
        """Return a node as a function of the leaves that its readers have."""
        domain = self.nodes[number].domain
        if number in self._kept and isinstance(domain, Finite):
            return Table((number,), domain.values)
        return self.nodes[number].table

    def _leaf_size(self, leaf: int) -> int:
        domain = self.domain(leaf)
        assert isinstance(domain, Finite)
        return len(domain.values)

    def _domain(self, op: Op, span: Span) -> Domain:
        match op:
            case Tokens(sequence):
                return finite(self.header.extent(sequence).vocabulary.tokens)
            case Indices(sequence):
                return Finite(tuple(range(self.header.extent(sequence).context)))
            case Ask():
                return listed(possible(op, self.header.vocabulary))
            case Apply(function, arguments):
                return self._function_domain(function, arguments, span)
            case Choose(_, then, otherwise):
                return union(self.domain(then), self.domain(otherwise))
            case Pick(_, _, options):
                return union(*(self.domain(option) for option in options))
            case Aggregate(selector, value, default):
                return self._aggregate_domain(selector, value, default)
            case Total(selector, value):
                count = self.counts(selector)
                return sum_domain(_as_numbers(self.domain(value)), count.fewest, count.most)
            case Width(selector):
                count = self.counts(selector)
                return Finite(tuple(range(count.fewest, count.most + 1)))
            case Constant(value):
                return Finite((value,))
            case Full() | Compare() | AllOf() | AnyOf() | NoneOf() | Best() | First() | Latest():
                raise AssertionError("a selector has no domain")
            case _:
                assert_never(op)

    def _aggregate_domain(self, selector: int, value: int, default: int | None) -> Domain:
        count = self.counts(selector)
        values = self.domain(value)
        parts: list[Domain] = []
        if count.most > 0:
            mean = is_numeric(values)
            parts.append(mean_domain(values, max(1, count.fewest), count.most) if mean else values)
        if count.fewest == 0 and default is not None:
            parts.append(self.domain(default))
        return union(*parts) if parts else Finite(())

    def _function_domain(self, function: str, arguments: tuple[int, ...], span: Span) -> Domain:
        domains = [self.domain(a) for a in arguments]
        cells = prod(len(each.values) for each in domains if isinstance(each, Finite))
        self._charge(min(cells, LARGEST_QUICK_TABLE), span)
        domain = function_domain(function, domains)
        if domain is None:
            shown = " and ".join(_described(each) for each in domains)
            has = "operands have" if len(domains) > 1 else "operand has"
            message = f"`{function}` has too many results to list: its {has} {shown}"
            help_ = "use a smaller context or vocabulary, or `latest(...)` where a mean is taken"
            raise ProgramError("domain-too-large", message, span, help=help_)
        return domain

    def _refuse_many_texts(self, domain: Domain, span: Span) -> None:
        """Raise where there are too many values for a list that are no numbers.

        A vocabulary may be larger than `LONGEST_LIST`; its tokens, and an s-op made of them in
        two ways, may be listed all the same.
        """
        source = self.header.extent(SOURCE).vocabulary
        most = max(LONGEST_LIST, 2 * len(self.header.vocabulary), 2 * len(source))
        others = domain.others if isinstance(domain, Mixed) else domain
        if not isinstance(others, Finite) or len(others.values) <= most:
            return
        texts = sum(kind(v) == "string" for v in others.values)
        if texts > most:
            message = f"this can be {texts} different strings, more than {most}"
            help_ = "keep its parts apart, or use a smaller vocabulary"
            raise ProgramError("domain-too-large", message, span, help=help_)


def _described(domain: Domain) -> str:
    """Return what values an operand has, in a few words."""
    if not isinstance(domain, Finite):
        return f"the values {domain}"
    return "1 value" if len(domain.values) == 1 else f"{len(domain.values)} values"


def _defined(table: Table) -> list[Value]:
    return [o for o in table.outcomes if not isinstance(o, Undefined)]


def _as_numbers(domain: Domain) -> Domain:
    """Return a domain with booleans as 0 and 1."""
    if "boolean" not in kinds(domain):
        return domain
    if isinstance(domain, Finite):
        return finite(int(v) if isinstance(v, bool) else v for v in domain.values)
    return as_lattice(union(as_lattice(domain), Finite((0, 1))))
