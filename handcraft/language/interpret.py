"""What a program means: its value at each position, on exact numbers.

This defines the right answer. Every s-op has an outcome at every position: a value, or the
reason why there is none. A reason is passed on only to what really reads the value, so the branch
that is not taken and a key that is not selected never make an input meaningless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from handcraft.errors import MeaningError
from handcraft.language import recognition
from handcraft.language.columns import applied, only, picked, ratio, sums_of
from handcraft.language.places import (
    Places,
    Rows,
    Spread,
    all_of,
    any_of,
    chosen,
    compared,
    first_of,
    for_each,
    highest,
    last_of,
    members,
    none_of,
    reason_at,
    spread,
)
from handcraft.language.sequences import SOURCE, TARGET
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
    First,
    Full,
    Indices,
    Latest,
    Logits,
    Node,
    NoneOf,
    Output,
    Pick,
    Predict,
    SelectorOp,
    Tokens,
    Total,
    TypedProgram,
    Width,
)
from handcraft.language.values import Outcome, Undefined, Value, compare, cut, truth
from handcraft.runtime.vocabulary import Token, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.errors import Span

Answer: TypeAlias = Value | tuple[Token, ...]
"""What a program says at a position; for `allow` the tokens that may come next."""


WAYS_OUT: Mapping[str, str] = {
    "division-by-zero": "choose another value there: `0 if d == 0 else n / d`",
    "dead-text": "write a text that some word of the pattern begins with",
    "finished-text": "declare an `eos`, which then follows every word",
    "missing-key": "add the entry, or choose another value there: `0 if c else table[x]`",
    "nothing-allowed": "write an `allow` for this case, or declare an `eos`",
    "nothing-selected": "give a default as the third argument: `aggregate(sel, x, default)`",
    "no-symbol": "write start and end tokens around a text only",
    "not-a-token": "say a token of the vocabulary there",
    "several-selected": "choose one with `latest(...)`, `first(...)` or `best(...)`, "
    "or count with `indicator(x == y)`",
}
"""What to do where a program has no meaning, by the code of the reason."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A program on one input.

    Attributes:
        answers: at each position the answer, or why there is none.
        in_scope: whether every assumption holds at every position.
    """

    answers: tuple[Answer | Undefined, ...]
    in_scope: bool


def interpret(
    program: TypedProgram,
    tokens: Sequence[Token],
    before: Sequence[Token] = (),
    source: Sequence[Token] = (),
) -> Meaning:
    """Return what a program says at each position of an input.

    Args:
        program: the program.
        tokens: what it sees, a declared `bos` included; at most its context.
        before: what stands between `bos` and the rest, where patterns tell a longer text of which
            only the end is seen.
        source: what stands beside them, in a program that has one.
    """
    run = Run(program, tokens, before, source)
    answers = run.answers()
    scope = all(_holds(outcome) for a in program.assumptions for outcome in run.sops[a])
    return Meaning(tuple(answers), scope)


def answer(
    program: TypedProgram,
    tokens: Sequence[Token],
    position: int,
    before: Sequence[Token] = (),
    source: Sequence[Token] = (),
) -> Answer:
    """Return what a program says at one position.

    Raises:
        MeaningError: where it has no meaning there; names position and values.
    """
    found = interpret(program, tokens, before, source).answers[position]
    if isinstance(found, Undefined):
        raise meaning_error(program, tokens, position % len(tokens), before, source)
    return found


def meaning_error(
    program: TypedProgram,
    tokens: Sequence[Token],
    position: int,
    before: Sequence[Token] = (),
    source: Sequence[Token] = (),
) -> MeaningError:
    """Return why there is no answer at a position, with the expression that has no value."""
    run = Run(program, tokens, before, source)
    found = run.answers()[position]
    assert isinstance(found, Undefined)
    message = f"the program has no meaning at position {position}: {found.message}"
    return MeaningError(found.code, message, run.origin(found), help=WAYS_OUT.get(found.code))


def why_not(value: Value, vocabulary: Vocabulary) -> str | None:
    """Return why a value cannot be predicted, None for a token that can."""
    if isinstance(value, bool) or value not in vocabulary.tokens:
        return f"{cut(value)} is not in the vocabulary"
    return "`bos` is never predicted" if value == vocabulary.bos else None


def _holds(outcome: Outcome) -> bool:
    return not isinstance(outcome, Undefined) and truth(outcome)


class Run:
    """The outcomes of all nodes on one input.

    Attributes:
        n: how many tokens the input has.
        sops: of each s-op the outcome at each position of its sequence; of one that belongs to
            either sequence there is one outcome, for all positions.
    """

    def __init__(
        self,
        program: TypedProgram,
        tokens: Sequence[Token],
        before: Sequence[Token] = (),
        source: Sequence[Token] = (),
    ) -> None:
        self.program = program
        self.n = len(tokens)
        self.sops: dict[int, list[Outcome]] = {}
        self._selectors: dict[int, Rows] = {}
        self._spreads: dict[tuple[int, str | None], Spread] = {}
        texts: dict[str | None, Sequence[Token]] = {TARGET: tokens, SOURCE: source}
        self._lengths: dict[str | None, int] = {None: 1, TARGET: len(tokens), SOURCE: len(source)}
        self._masks: dict[tuple[str | None, str | None], Sequence[Places]] = {}
        for number, node in enumerate(program.nodes):
            n = self._lengths[node.sequence]
            match node.op:
                case Tokens(sequence):
                    self.sops[number] = list(texts[sequence])
                case Indices():
                    self.sops[number] = list(range(n))
                case Ask():
                    self.sops[number] = recognition.outcomes(
                        node.op, tokens, program.vocabulary, before
                    )
                case Constant(value):
                    self.sops[number] = [value]
                case Apply(function, arguments):
                    columns = [self.column(a, node.sequence) for a in arguments]
                    self.sops[number] = applied(function, columns)
                case Choose(condition, then, otherwise):
                    parts = (self.column(a, node.sequence) for a in (condition, then, otherwise))
                    self.sops[number] = [
                        c if isinstance(c, Undefined) else t if truth(c) else o
                        for c, t, o in zip(*parts, strict=True)
                    ]
                case Pick(key, values, options):
                    columns = [self.column(a, node.sequence) for a in options]
                    self.sops[number] = picked(self.column(key, node.sequence), values, columns)
                case Aggregate(selector, value, default):
                    self.sops[number] = self._aggregate(node.sequence, selector, value, default)
                case Total(selector, value):
                    self.sops[number] = self._total(selector, value)
                case Width(selector):
                    rows = self._selectors[selector]
                    self.sops[number] = [
                        rows.gap(i) if rows.gaps[i] else row.bit_count()
                        for i, row in enumerate(rows.selected)
                    ]
                case (
                    Full() | Compare() | AllOf() | AnyOf() | NoneOf() | Best() | First() | Latest()
                ):
                    self._selectors[number] = self._selector(node, node.op)
                case _:
                    assert_never(node.op)

    def column(self, number: int, sequence: str | None) -> list[Outcome]:
        """Return the outcome of an s-op at each position of a sequence."""
        outcomes = self.sops[number]
        if self.program.nodes[number].sequence == sequence:
            return outcomes
        return outcomes * self._lengths[sequence]

    def keys(self, selector: int, i: int) -> list[int] | Undefined:
        """Return the keys that query i selects among those it sees."""
        rows = self._selectors[selector]
        return rows.gap(i) if rows.gaps[i] else list(members(rows.selected[i]))

    def origin(self, reason: Undefined) -> Span:
        """Return the place of the first s-op that has no value for this very reason."""
        for number, outcomes in self.sops.items():
            if any(outcome is reason for outcome in outcomes):
                return self.program.nodes[number].span
        return self.program.result.span

    def answers(self) -> list[Answer | Undefined]:
        """Return the program's answer at each position."""
        match self.program.result:
            case Output(value):
                return list(self.column(value, TARGET))
            case Predict(value):
                return [self._token(outcome) for outcome in self.column(value, TARGET)]
            case Allow(choices):
                return [self._allowed(choices, i) for i in range(self.n)]
            case Logits(tokens, values):
                return [self._likeliest(tokens, values, i) for i in range(self.n)]
            case _:
                assert_never(self.program.result)

    def _token(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Undefined):
            return outcome
        reason = why_not(outcome, self.program.vocabulary)
        return outcome if reason is None else Undefined("not-a-token", reason)

    def _allowed(self, choices: tuple[tuple[int, int], ...], i: int) -> Answer | Undefined:
        allowed: set[Token] = set()
        for token, condition in choices:
            verdict = self.column(condition, TARGET)[i]
            if isinstance(verdict, Undefined):
                return verdict
            if truth(verdict):
                value = self._token(self.column(token, TARGET)[i])
                if isinstance(value, Undefined):
                    return value
                assert isinstance(value, str | int)
                allowed.add(value)
        vocabulary = self.program.vocabulary
        if not allowed and vocabulary.eos is not None:
            return (vocabulary.eos,)
        if not allowed:
            return Undefined("nothing-allowed", "no token is allowed")
        return tuple(token for token in vocabulary.tokens if token in allowed)

    def _likeliest(
        self, tokens: tuple[Token, ...], values: tuple[int, ...], i: int
    ) -> Answer | Undefined:
        best: tuple[Value, Token] | None = None
        for token, value in zip(tokens, values, strict=True):
            logit = self.column(value, TARGET)[i]
            if isinstance(logit, Undefined):
                return logit
            if token == self.program.vocabulary.bos:
                continue
            if best is None or compare(">", logit, best[0]):
                best = (logit, token)
        assert best is not None
        return best[1]

    def _spread(self, number: int, sequence: str | None) -> Spread:
        if (number, sequence) not in self._spreads:
            self._spreads[number, sequence] = spread(self.column(number, sequence))
        return self._spreads[number, sequence]

    def _seen(self, queries: str | None, keys: str | None) -> Sequence[Places]:
        """Return the keys of one sequence that each query of another sees."""
        if (queries, keys) not in self._masks:
            every = (1 << self._lengths[keys]) - 1
            causal = self.program.causal and queries == keys == TARGET
            n = self._lengths[queries]
            self._masks[queries, keys] = [(2 << i) - 1 if causal else every for i in range(n)]
        return self._masks[queries, keys]

    def _rows(self, selector: int, sequence: str | None) -> Rows:
        """Return a selector for each query of a sequence."""
        rows, n = self._selectors[selector], self._lengths[sequence]
        if self.program.nodes[selector].sequence == sequence:
            return rows
        return for_each(rows, n)

    def _selector(self, node: Node, op: SelectorOp) -> Rows:
        seen = self._seen(node.sequence, node.keys)
        match op:
            case Full():
                return Rows(seen, [0] * len(seen), {})
            case Compare(op_, key, query):
                queries = self.column(query, node.sequence)
                return compared(op_, self._spread(key, node.keys), queries, seen)
            case AllOf(left, right):
                return all_of(self._rows(left, node.sequence), self._rows(right, node.sequence))
            case AnyOf(left, right):
                return any_of(self._rows(left, node.sequence), self._rows(right, node.sequence))
            case NoneOf(operand):
                return none_of(self._selectors[operand], seen)
            case Best(selector, score):
                choose = highest(self._spread(score, node.keys))
                return chosen(self._selectors[selector], choose, seen)
            case First(selector):
                return chosen(self._selectors[selector], first_of, seen)
            case Latest(selector):
                return chosen(self._selectors[selector], last_of, seen)
            case _:
                assert_never(op)

    def _total(self, selector: int, value: int) -> list[Outcome]:
        rows = self._selectors[selector]
        values = self._spread(value, self.program.nodes[selector].keys)
        sums, scale = sums_of(rows.selected, values.outcomes)
        outcomes: list[Outcome] = []
        for i, row in enumerate(rows.selected):
            if rows.gaps[i]:
                outcomes.append(rows.gap(i))
            elif row & values.undefined:
                outcomes.append(reason_at(values, row))
            else:
                outcomes.append(ratio(sums[row], scale))
        return outcomes

    def _aggregate(
        self, sequence: str | None, selector: int, value: int, default: int | None
    ) -> list[Outcome]:
        rows = self._rows(selector, sequence)
        values = self._spread(value, self.program.nodes[selector].keys)
        fillers = None if default is None else self.column(default, sequence)
        no_number = values.booleans | values.strings | values.undefined
        means = [0 if row & no_number else row for row in rows.selected]
        sums, scale = sums_of(means, values.outcomes)
        outcomes: list[Outcome] = []
        for i, row in enumerate(rows.selected):
            if rows.gaps[i]:
                outcomes.append(rows.gap(i))
            elif row & values.undefined:
                outcomes.append(reason_at(values, row))
            elif means[i]:
                outcomes.append(ratio(sums[row], scale * row.bit_count()))
            elif row:
                outcomes.append(only(row, values))
            elif fillers is not None:
                outcomes.append(fillers[i])
            else:
                message = "nothing is selected and there is no default"
                outcomes.append(Undefined("nothing-selected", message))
        return outcomes
