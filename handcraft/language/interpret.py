"""What a program means: its value at each position, on exact numbers.

This defines the right answer. Every s-op has an outcome at every position: a value, or the
reason why there is none. A reason is passed on only to what really reads the value, so the branch
that is not taken and a key that is not selected never make an input meaningless.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, assert_never

from handcraft.errors import MeaningError
from handcraft.language.builder import evaluate
from handcraft.language.typed import (
    Aggregate,
    AllOf,
    Allow,
    AnyOf,
    Apply,
    Best,
    Choose,
    Compare,
    Constant,
    First,
    Full,
    Indices,
    Latest,
    Logits,
    NoneOf,
    Output,
    Pick,
    Predict,
    SelectorOp,
    Tokens,
    Total,
    TypedProgram,
    Width,
    operands,
)
from handcraft.language.values import (
    Outcome,
    Undefined,
    Value,
    compare,
    cut,
    kind,
    normal,
    truth,
)
from handcraft.runtime.vocabulary import Token, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.errors import Span

Entry: TypeAlias = bool | Undefined
Matrix: TypeAlias = list[list[Entry]]
"""A selector on one input: entry [i][j] says whether query i selects key j."""

Answer: TypeAlias = Value | tuple[Token, ...]
"""What a program says at a position; for `allow` the tokens that may come next."""


WAYS_OUT: Mapping[str, str] = {
    "division-by-zero": "choose another value there: `0 if d == 0 else n / d`",
    "missing-key": "add the entry, or choose another value there: `0 if c else table[x]`",
    "nothing-allowed": "write an `allow` for this case, or declare an `eos`",
    "nothing-selected": "give a default as the third argument: `aggregate(sel, x, default)`",
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


def interpret(program: TypedProgram, tokens: Sequence[Token]) -> Meaning:
    """Return what a program says at each position of an input.

    Args:
        program: the program.
        tokens: what it sees, a declared `bos` included; at most its context.
    """
    run = Run(program, tokens)
    answers = run.answers()
    scope = all(_holds(run.sops[a][i]) for a in program.assumptions for i in range(len(tokens)))
    return Meaning(tuple(answers), scope)


def answer(program: TypedProgram, tokens: Sequence[Token], position: int) -> Answer:
    """Return what a program says at one position.

    Raises:
        MeaningError: where it has no meaning there; names position and values.
    """
    found = interpret(program, tokens).answers[position]
    if isinstance(found, Undefined):
        raise meaning_error(program, tokens, position % len(tokens))
    return found


def meaning_error(program: TypedProgram, tokens: Sequence[Token], position: int) -> MeaningError:
    """Return why there is no answer at a position, with the expression that has no value."""
    run = Run(program, tokens)
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
        sops: of each s-op the outcome at each position.
        selectors: of each selector the matrix, the causal mask not applied.
    """

    def __init__(self, program: TypedProgram, tokens: Sequence[Token]) -> None:
        self.program = program
        self.n = len(tokens)
        self.sops: dict[int, list[Outcome]] = {}
        self.selectors: dict[int, Matrix] = {}
        for number, node in enumerate(program.nodes):
            match node.op:
                case Tokens():
                    self.sops[number] = list(tokens)
                case Indices():
                    self.sops[number] = list(range(self.n))
                case Constant(value):
                    self.sops[number] = [value] * self.n
                case Apply() | Choose() | Pick():
                    rows = zip(*(self.sops[a] for a in operands(node.op)), strict=True)
                    self.sops[number] = [evaluate(node.op, row) for row in rows]
                case Aggregate() | Total() | Width():
                    self.sops[number] = [self._gathered(node.op, i) for i in range(self.n)]
                case (
                    Full() | Compare() | AllOf() | AnyOf() | NoneOf() | Best() | First() | Latest()
                ):
                    self.selectors[number] = self._selector(node.op)
                case _:
                    assert_never(node.op)

    def origin(self, reason: Undefined) -> Span:
        """Return the place of the first node that has no value for this very reason."""
        for number, node in enumerate(self.program.nodes):
            if number in self.sops:
                found = any(outcome is reason for outcome in self.sops[number])
            else:
                found = any(entry is reason for row in self.selectors[number] for entry in row)
            if found:
                return node.span
        return self.program.result.span

    def answers(self) -> list[Answer | Undefined]:
        """Return the program's answer at each position."""
        match self.program.result:
            case Output(value):
                return list(self.sops[value])
            case Predict(value):
                return [self._token(self.sops[value][i]) for i in range(self.n)]
            case Allow(choices):
                return [self._allowed(choices, i) for i in range(self.n)]
            case Logits(tokens, values):
                return [self._likeliest(tokens, values, i) for i in range(self.n)]
            case _:
                assert_never(self.program.result)

    def _token(self, outcome: Outcome) -> Outcome:
        vocabulary = self.program.vocabulary
        if isinstance(outcome, Undefined):
            return outcome
        reason = why_not(outcome, vocabulary)
        return outcome if reason is None else Undefined("not-a-token", reason)

    def _allowed(self, choices: tuple[tuple[int, int], ...], i: int) -> Answer | Undefined:
        allowed: set[Token] = set()
        for token, condition in choices:
            verdict = self.sops[condition][i]
            if isinstance(verdict, Undefined):
                return verdict
            if truth(verdict):
                value = self._token(self.sops[token][i])
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
            logit = self.sops[value][i]
            if isinstance(logit, Undefined):
                return logit
            if token == self.program.vocabulary.bos:
                continue
            if best is None or compare(">", logit, best[0]):
                best = (logit, token)
        assert best is not None
        return best[1]

    # Selectors -------------------------------------------------------------------------------

    def _seen(self, i: int) -> range:
        return range(i + 1 if self.program.causal else self.n)

    def _selector(self, op: SelectorOp) -> Matrix:
        match op:
            case Full():
                return [[True] * self.n for _ in range(self.n)]
            case Compare(op_, key, query):
                keys = self.sops[key]
                return [[_entry(op_, k, q) for k in keys] for q in self.sops[query]]
            case AllOf(left, right):
                return self._pairs(left, right, decided_by=False)
            case AnyOf(left, right):
                return self._pairs(left, right, decided_by=True)
            case NoneOf(operand):
                rows = self.selectors[operand]
                return [[e if isinstance(e, Undefined) else not e for e in row] for row in rows]
            case Best(selector, score):
                return [self._best(selector, self.sops[score], i) for i in range(self.n)]
            case First(selector):
                return [self._extreme(selector, i, 0) for i in range(self.n)]
            case Latest(selector):
                return [self._extreme(selector, i, -1) for i in range(self.n)]
            case _:
                assert_never(op)

    def _pairs(self, left: int, right: int, *, decided_by: bool) -> Matrix:
        return [
            [b if a is (not decided_by) else a for a, b in zip(one, other, strict=True)]
            for one, other in zip(self.selectors[left], self.selectors[right], strict=True)
        ]

    def keys(self, selector: int, i: int) -> list[int] | Undefined:
        """Return the keys that query i selects among those it sees."""
        row = self.selectors[selector][i]
        selected = []
        for j in self._seen(i):
            entry = row[j]
            if isinstance(entry, Undefined):
                return entry
            if entry:
                selected.append(j)
        return selected

    def _only(self, j: int | None) -> list[Entry]:
        return [k == j for k in range(self.n)]

    def _extreme(self, selector: int, i: int, which: int) -> list[Entry]:
        keys = self.keys(selector, i)
        if isinstance(keys, Undefined):
            return [keys] * self.n
        return self._only(keys[which] if keys else None)

    def _best(self, selector: int, scores: Sequence[Outcome], i: int) -> list[Entry]:
        keys = self.keys(selector, i)
        if isinstance(keys, Undefined):
            return [keys] * self.n
        best: tuple[Value, int] | None = None
        for j in keys:
            score = scores[j]
            if isinstance(score, Undefined):
                return [score] * self.n
            if best is None or compare(">=", score, best[0]):
                best = (score, j)
        return self._only(None if best is None else best[1])

    # Aggregates ------------------------------------------------------------------------------

    def _gathered(self, op: Aggregate | Total | Width, i: int) -> Outcome:
        keys = self.keys(op.selector, i)
        if isinstance(keys, Undefined):
            return keys
        if isinstance(op, Width):
            return len(keys)
        values: list[Value] = []
        for j in keys:
            value = self.sops[op.value][j]
            if isinstance(value, Undefined):
                return value
            values.append(value)
        if isinstance(op, Total):
            return _mean([int(v) if isinstance(v, bool) else v for v in values], 1)
        if not values:
            if op.default is None:
                return Undefined("nothing-selected", "nothing is selected and there is no default")
            return self.sops[op.default][i]
        if all(kind(v) == "number" for v in values):
            return _mean(values, len(values))
        different = next((v for v in values if kind(v) != kind(values[0]) or v != values[0]), None)
        if different is not None:
            message = f"different values are selected, {cut(values[0])} and {cut(different)}"
            return Undefined("several-selected", message)
        return values[0]


def _entry(op: str, key: Outcome, query: Outcome) -> Entry:
    if isinstance(key, Undefined):
        return key
    return query if isinstance(query, Undefined) else compare(op, key, query)


def _mean(values: Sequence[Value], count: int) -> Outcome:
    total = sum((Fraction(v) for v in values if not isinstance(v, str)), Fraction(0))
    return normal(total / count)
