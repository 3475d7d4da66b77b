"""What became of the lines of a program for which no component stands, as far as it is certain."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from handcraft.language import syntax
from handcraft.language.results import roots
from handcraft.language.typed import ELEMENTWISE, SELECTORS, Constant, operands
from handcraft.runtime.description import FoldedLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.graph import Graph
    from handcraft.errors import Span
    from handcraft.language.program import Program


def folded_lines(program: Program, lowered: Graph, done: frozenset[int]) -> tuple[FoldedLine, ...]:
    """Return the lines that say something and have no component, each with what became of it.

    Args:
        program: the program.
        lowered: its graph before the passes over graphs.
        done: the lines that have components.
    """
    steps = _Steps(program, done)
    before = {line_of(v.span, program) for v in lowered.variables if v.span is not None}
    before |= {line_of(op.span, program) for op in lowered.ops}
    if lowered.encoder is not None:
        inner = (*lowered.encoder.variables, *lowered.encoder.ops)
        before |= {line_of(part.span, program) for part in inner if part.span is not None}
    texts = dict(_statements(program, steps.lines))
    for line in steps.lines:
        text = "nothing reads it, or an equal step of another line does it"
        texts[line] = f"no component left: {text}" if line in before else steps.text(line)
    return tuple(FoldedLine(line, texts[line]) for line in sorted(texts.keys() - done))


def line_of(span: Span, program: Program) -> int | None:
    """Return the line of the program, or None for a place in another text."""
    return span.line if span.source == program.source and span.start < span.end else None


class _Steps:
    """The steps of a program by their lines, and what reads them."""

    def __init__(self, program: Program, done: frozenset[int]) -> None:
        self.nodes = program.typed.nodes
        self.done = done
        self.at = [line_of(node.span, program) for node in self.nodes]
        self.lines = frozenset(line for line in self.at if line is not None)
        self.readers: list[list[int]] = [[] for _ in self.nodes]
        for reader, node in enumerate(self.nodes):
            for read in operands(node.op):
                self.readers[read].append(reader)
        self.answers = frozenset(roots(program.typed.result))
        self.result = line_of(program.typed.result.span, program)

    def text(self, line: int) -> str:
        """Return what became of a line without a component."""
        own = [number for number, at in enumerate(self.at) if at == line]
        read = [n for n in own if any(self.at[reader] != line for reader in self.readers[n])]
        where = self._where(own)
        if where is None:
            return "no component: an assumption on the text"
        ops = [self.nodes[number].op for number in read or own]
        ops = [op for op in ops if not isinstance(op, Constant)]
        if not ops:
            return f"no component: known when compiling, used by {where}"
        if all(isinstance(op, SELECTORS) for op in ops):
            return f"no component: a selector used by {where}"
        if all(isinstance(op, (*SELECTORS, *ELEMENTWISE)) for op in ops):
            return f"folded into {where}"
        return f"no component of its own: used by {where}"

    def _where(self, own: list[int]) -> str | None:
        """Return the nearest lines with components that read these steps, or the answer's.

        None means that only assumptions need them.
        """
        found: set[int] = set()
        answered = False
        seen: set[int] = set()
        waiting = list(own)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            at = self.at[number]
            if at in self.done:
                found.add(at)
                continue
            answered |= number in self.answers
            waiting.extend(self.readers[number])
        if answered and self.result is not None:
            found.add(self.result)
        if found:
            return _listed(sorted(found))
        return "the answer" if answered else None


def _listed(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"


def _statements(program: Program, lines: frozenset[int]) -> Iterator[tuple[int, str]]:
    """Yield the definitions at the top of the program for which no step stands, and why."""
    used = _used_names(program)
    for statement in program.tree.body:
        if not isinstance(statement, syntax.Assign | syntax.Definition | syntax.For):
            continue
        last = statement.span.line + statement.span.text.count("\n")
        if not lines.isdisjoint(range(statement.span.line, last + 1)):
            continue
        if used is not None and used.isdisjoint(_defined(statement)):
            yield statement.span.line, "no component: nothing that is answered needs it"
        elif isinstance(statement, syntax.Definition):
            yield statement.span.line, "no component: a function"
        else:
            text = "no component: known when compiling, or done by other lines"
            yield statement.span.line, text


def _used_names(program: Program) -> frozenset[str] | None:
    """Return the names on which results and assumptions may depend; None if that is not certain.

    A loaded file may read the names of this one, and an answer given from outside names others.
    """
    body = program.tree.body
    given = program.typed.result.span.source != program.source
    if given or any(isinstance(s, syntax.Load) for s in body):
        return None
    defining = [(s, frozenset(_defined(s))) for s in body]
    used = {name for s, defined in defining if not defined for name in _names(s)}
    before: set[str] = set()
    while before != used:
        before = set(used)
        for statement, defined in defining:
            if not defined.isdisjoint(before):
                used.update(_names(statement))
    return frozenset(used)


def _defined(statement: syntax.Statement) -> Iterator[str]:
    match statement:
        case syntax.Assign():
            yield from statement.targets
        case syntax.Definition():
            yield statement.name
        case syntax.For():
            yield from statement.targets
            for inner in statement.body:
                yield from _defined(inner)
        case _:
            pass


def _names(part: object) -> Iterator[str]:
    """Yield every name that stands anywhere in a part of the tree."""
    if isinstance(part, syntax.Name):
        yield part.id
    elif isinstance(part, tuple):
        for each in part:
            yield from _names(each)
    elif is_dataclass(part):
        for field in fields(part):
            if field.name != "span":
                yield from _names(getattr(part, field.name))
