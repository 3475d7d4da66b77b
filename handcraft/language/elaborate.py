"""Syntax tree -> typed program: names bound, functions unrolled, a domain for every s-op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from handcraft.errors import HandcraftError, ProgramError, Source, Span, raise_all
from handcraft.language import builtins, calls, library, patterns, results, syntax
from handcraft.language.builder import Builder
from handcraft.language.compile_time import (
    Closure,
    Poison,
    Scope,
    Selector,
    Several,
    Sop,
    Thing,
)
from handcraft.language.expressions import Evaluator, PoisonedError
from handcraft.language.header import HEADERS, Given, read_header
from handcraft.language.parse import parse
from handcraft.language.tables import unpack
from handcraft.language.typed import (
    Example,
    Header,
    Result,
    TypedProgram,
    operands,
    renumbered,
)
from handcraft.language.vetting import refuse_other_than_tokens
from handcraft.runtime.vocabulary import Vocabulary

RESULTS = (syntax.Predict, syntax.Allow, syntax.Logits, syntax.Output)

Reader = Callable[[str, Source, Span], Source]
"""Reads the file that a `load` names: its path, the text that says so, and where."""


def elaborate(
    module: syntax.Module, *, given: Given, output: Source | None = None, reader: Reader
) -> TypedProgram:
    """Check a syntax tree and return the program it means.

    Args:
        module: the program.
        given: header statements from outside, which win.
        output: an expression that replaces the program's results.
        reader: reads the files that `load` names.

    Raises:
        ProgramError: with every mistake found.
    """
    header = read_header(module, given, partial(_constant, reader))
    checker = _Checker(header, module.span, reader)
    checker.run(module)
    if output is not None or given.vocab is not None:  # the examples were for another program
        module = replace(module, body=_without(module, syntax.Example))
    if output is not None:
        module = replace(module, body=(*_without(module, *RESULTS), _output(output)))
    checker.finish(module)
    raise_all(checker.errors)
    assert checker.result is not None
    program = TypedProgram(
        module.span.source,
        header,
        tuple(checker.evaluator.builder.nodes),
        checker.result,
        tuple(checker.assumptions),
        tuple(checker.examples),
        tuple(checker.evaluator.notices),
    )
    pruned = _pruned(program)
    refuse_other_than_tokens(pruned)
    return pruned


def _without(module: syntax.Module, *kinds: type[syntax.Statement]) -> tuple[syntax.Statement, ...]:
    return tuple(s for s in module.body if not isinstance(s, kinds))


def _output(source: Source) -> syntax.Output:
    """Return the result that an expression from outside asks for."""
    text = source.text
    if not text.rstrip().endswith(";"):
        text += "\n;" if "#" in text else ";"
    body = parse(Source(text, source.name)).body if source.text.strip() else ()
    if len(body) != 1 or not isinstance(body[0], syntax.Bare):
        message = "the output is one expression"
        help_ = "write `sort(tokens, tokens)`, without `output` and without `=`"
        raise ProgramError("syntax", message, Span(source, 0, len(source.text)), help=help_)
    return syntax.Output(body[0].value, body[0].span)


def _constant(reader: Reader, expression: syntax.Expression) -> Thing:
    """Evaluate an expression of the header, where there are no s-ops yet."""
    placeholder = Header(Vocabulary("characters", ("?",)), 1, "causal")
    checker = _Checker(placeholder, expression.span, reader)
    try:
        return checker.evaluator.evaluate(expression, checker.globals)
    except ProgramError as error:
        if error.code != "unknown-name":
            raise
        help_ = "header statements are read before the definitions: write the value itself"
        raise ProgramError(error.code, error.message, error.span, help=help_) from None
    except RecursionError:
        raise _too_deep(expression.span) from None


def _too_deep(span: Span) -> ProgramError:
    help_ = "give its parts names"
    return ProgramError("too-deep", "this is nested too deeply", span, help=help_)


MOST_MISTAKES = 20
"""Mistakes of one program that are told; what follows is not looked at."""

LARGEST_LOADED = 2**19
"""Characters of all files that a program loads, each as often as it is loaded."""


class _Checker:
    """Runs the statements of one program, collecting mistakes."""

    def __init__(self, header: Header, span: Span, reader: Reader) -> None:
        builder = Builder(header)
        here = Span(span.source, 0, 0)
        self.evaluator = Evaluator(builder, self._body, self._original)
        self.names = builtins.constants(builder, here) | builtins.functions()
        self.library = Scope(Scope(None, self.names))
        self.globals = Scope(Scope(None, self.names))
        self.reader = reader
        self.loading: list[str] = []
        self.loaded = 0
        self.errors: list[HandcraftError] = []
        self.result: Result | None = None
        self.assumptions: list[int] = []
        self.examples: list[Example] = []

    def run(self, module: syntax.Module) -> None:
        """Run the statements that define names."""
        for statement in module.body:
            with self._collecting(statement.span, *_defined(statement)):
                self._statement(statement, self.globals)

    def finish(self, module: syntax.Module) -> None:
        """Read results, assumptions and examples, which see every name of the program."""
        found = [s for s in module.body if isinstance(s, RESULTS)]
        place = found[0].span if found else module.span
        with self._collecting(place):
            self.result = results.read_result(found, self.evaluator, self.globals, module.span)
            builder = self.evaluator.builder
            guide = patterns.guiding(builder.nodes)
            if guide is not None:
                self.assumptions.append(patterns.is_live(builder, guide, self.result.span))
        for statement in module.body:
            if isinstance(statement, syntax.Assume):
                with self._collecting(statement.span):
                    self._assume(statement)
            elif isinstance(statement, syntax.Example) and self.result is not None:
                with self._collecting(statement.span):
                    self._example(statement, self.result)

    def _assume(self, statement: syntax.Assume) -> None:
        node = results.read_condition(statement.condition, self.evaluator, self.globals)
        self.assumptions.append(node)

    def _example(self, statement: syntax.Example, result: Result) -> None:
        example = results.read_example(statement, result, self.evaluator, self.globals)
        self.examples.append(example)

    @contextmanager
    def _collecting(self, place: Span, *defined: str) -> Iterator[None]:
        """Collect a mistake, once for each place, and poison the names it leaves undefined."""
        try:
            yield
            return
        except PoisonedError:
            pass
        except HandcraftError as error:
            self._collect(error)
        except RecursionError:
            self._collect(_too_deep(place))
        self.globals.names.update(dict.fromkeys(defined, Poison()))

    def _collect(self, error: HandcraftError) -> None:
        if (error.code, error.span) not in [(each.code, each.span) for each in self.errors]:
            self.errors.append(error)
        if len(self.errors) >= MOST_MISTAKES or error.code == "too-large":
            raise_all(self.errors)  # to look further would take even more

    def _statement(self, statement: syntax.Statement, scope: Scope) -> None:
        match statement:
            case syntax.Assign(targets, values, span):
                self._assign(targets, values, span, scope)
            case syntax.Definition(name, _, _, span):
                self._warn_if_replaced(name, scope, span)
                scope.names[name] = Closure(statement, scope)
            case syntax.For(targets, iterable, body, span):
                listed = self.evaluator.evaluate(iterable, scope)
                for item in self.evaluator.items(listed, iterable.span, "`for`"):
                    self.evaluator.charge(1, span)
                    unpack(targets, item, scope, span)
                    for inner in body:
                        self._statement(inner, scope)
            case syntax.Bare(value):
                self.evaluator.evaluate(value, scope)
            case syntax.Load(path, span):
                self._load(path, span)
            case syntax.Return(_, span):
                raise ProgramError("misplaced", "`return` stands outside a function", span)
            case syntax.Repl():
                pass
            case _:
                if scope is not self.globals:
                    word = type(statement).__name__.lower()
                    message = f"`{word}` stands only at the top of a program"
                    raise ProgramError("misplaced", message, statement.span)

    def _assign(
        self,
        targets: tuple[str, ...],
        values: tuple[syntax.Expression, ...],
        span: Span,
        scope: Scope,
    ) -> None:
        things = tuple(self.evaluator.evaluate(value, scope) for value in values)
        thing: Thing = things[0] if len(things) == 1 else Several(things)
        if isinstance(thing, Several) and len(targets) == 1:
            message = f"one name cannot take {len(thing.values)} values"
            help_ = f"write {len(thing.values)} names before `=`"
            raise ProgramError("arity", message, span, help=help_)
        for target in targets:
            self._warn_if_replaced(target, scope, span)
        unpack(targets, thing, scope, span)
        for target in targets:
            bound = scope.names[target]
            if isinstance(bound, Sop | Selector):
                self.evaluator.builder.name(bound.node, target)

    def _warn_if_replaced(self, name: str, scope: Scope, span: Span) -> None:
        if scope is not self.globals or name in scope.names:
            return
        if name in self.names or name in library.names():
            start = span.source.text.index(name, span.start)
            place = Span(span.source, start, start + len(name))
            message = f"`{name}` replaces a name of the library"
            help_ = "take another name to keep both"
            self.evaluator.warn("replaces-library", message, place, help_)

    def _body(self, body: tuple[syntax.Statement, ...], scope: Scope, span: Span) -> Thing:
        """Run a function's body and return what it returns."""
        returned = self._run_until_return(body, scope)
        if returned is None:
            raise ProgramError("no-return", "the function ends without `return`", span)
        return returned

    def _run_until_return(self, body: Sequence[syntax.Statement], scope: Scope) -> Thing | None:
        for statement in body:
            if isinstance(statement, syntax.Return):
                things = tuple(self.evaluator.evaluate(v, scope) for v in statement.values)
                return things[0] if len(things) == 1 else Several(things)
            self._statement(statement, scope)
        return None

    def _load(self, path: str, span: Span) -> None:
        """Run the definitions of another file, relative to the file that names it."""
        source = self.reader(path, span.source, span)
        if source.name in [*self.loading, span.source.name]:
            help_ = "move what both files need to a third one"
            raise ProgramError("load-cycle", f"`{path}` loads itself", span, help=help_)
        if len(self.loading) > 30:
            raise ProgramError("too-deep", "files load each other more than 30 deep", span)
        self.loaded += len(source.text)
        if self.loaded > LARGEST_LOADED:
            message = f"the loaded files have more than {LARGEST_LOADED} characters together"
            raise ProgramError("too-large", message, span, help="load less, and each file once")
        self.loading.append(source.name)
        try:
            for statement in parse(source).body:
                if isinstance(statement, (*HEADERS, *RESULTS, syntax.Example, syntax.Assume)):
                    message = "a loaded file may only define names"
                    help_ = "move this statement to the program that loads the file"
                    raise ProgramError("misplaced", message, statement.span, help=help_)
                self._statement(statement, self.globals)
        finally:
            self.loading.pop()

    def _original(self, name: str, span: Span) -> Thing | None:
        """Return what a name means in the language: built in, derived, or of the library."""
        if name in self.names:
            return self.names[name]
        thing = builtins.derived(name, self.evaluator, span)
        if thing is not None or name not in library.names():
            return thing
        if name not in self.library.names:
            with calls.placed(self.evaluator.builder, span):
                self._statement(library.definitions()[name], self.library)
        return self.library.names[name]


def _defined(statement: syntax.Statement) -> tuple[str, ...]:
    match statement:
        case syntax.Assign(targets):
            return targets
        case syntax.Definition(name):
            return (name,)
        case syntax.For(targets, _, body):
            return (*targets, *(name for inner in body for name in _defined(inner)))
        case _:
            return ()


def _pruned(program: TypedProgram) -> TypedProgram:
    """Return the program without the nodes that no result or assumption needs."""
    needed = {*results.roots(program.result), *program.assumptions}
    for number in range(len(program.nodes) - 1, -1, -1):
        if number in needed:
            node = program.nodes[number]
            needed.update(operands(node.op))
            needed.update(node.table.leaves if node.table is not None else ())
    order = sorted(needed)
    numbers = {old: new for new, old in enumerate(order)}
    nodes = []
    for old in order:
        node = program.nodes[old]
        table = node.table
        if table is not None:
            table = replace(table, leaves=tuple(numbers[leaf] for leaf in table.leaves))
        nodes.append(replace(node, op=renumbered(node.op, numbers.__getitem__), table=table))
    return replace(
        program,
        nodes=tuple(nodes),
        result=results.renumbered(program.result, numbers),
        assumptions=tuple(numbers[a] for a in program.assumptions),
    )
