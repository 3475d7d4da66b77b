"""Model against interpreter: examples, every short input, and random long ones.

The interpreter says what is right, once for each input; every format of the model is compared
with it wherever the program has a meaning and the input is in scope. Nothing is printed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from handcraft.errors import HandcraftError
from handcraft.language.program import Program
from handcraft.language.typed import Example, Output
from handcraft.language.values import Undefined
from handcraft.trials import Case, Input, every_case, hidden, random_cases, room, tokens_tried

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from handcraft.language.interpret import Answer
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Token

BATCH = 256
"""Inputs that are compared side by side."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An example that does not hold; `where` is `interpreter` or a format."""

    example: Example
    where: str
    got: object


@dataclass(frozen=True, slots=True)
class Difference:
    """What the model says otherwise than the interpreter; positions count a declared `bos`."""

    input: Input
    position: int
    expected: Answer
    got: Answer
    source: Input | None = None


@dataclass(frozen=True, slots=True)
class Meaningless:
    """An input on which the program has no meaning at a position."""

    input: Input
    position: int
    reason: Undefined
    source: Input | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one format of the model did: positions that differ, and the smallest input with one."""

    differences: int
    smallest: Difference | None


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        examples: examples of the program.
        failures: those that do not hold.
        every: inputs of the exhaustive part.
        tokens: the tokens that these are made of.
        longest: tokens of the longest of these.
        random: random inputs.
        in_scope: inputs, of both parts, on which every assumption holds.
        compared: positions that were compared.
        without_meaning: positions in scope at which the program has no meaning.
        meaningless: the smallest input with such a position.
        verdicts: for each format what was found.
    """

    examples: int
    failures: tuple[Failure, ...]
    every: int
    tokens: Input
    longest: int
    random: int
    in_scope: int
    compared: int
    without_meaning: int
    meaningless: Meaningless | None
    verdicts: Mapping[str, Verdict]

    @property
    def holds(self) -> bool:
        """Whether every example holds and nothing differs."""
        return not self.failures and not any(v.differences for v in self.verdicts.values())


def check(
    program: Program,
    models: Mapping[str, Model],
    *,
    longest: int = 5,
    random: int = 300,
    seed: int = 0,
) -> Report:
    """Compare a program's models with its interpreter.

    Args:
        program: the program.
        models: its model in each format, under the format's name.
        longest: tokens of the longest inputs that are tried exhaustively.
        random: how many random inputs are tried, of any length up to the context.
        seed: where they come from.
    """
    tokens = tokens_tried(program)
    longest = min(longest, room(program))
    tally = _Tally(program, models)
    every = tally.compare(every_case(program, tokens, longest))
    drawn = tally.compare(random_cases(program, random, Random(seed)))
    return Report(
        examples=len(program.examples),
        failures=tuple(_failures(program, models)),
        every=every,
        tokens=tokens,
        longest=longest,
        random=drawn,
        in_scope=tally.in_scope,
        compared=tally.compared,
        without_meaning=tally.without_meaning,
        meaningless=tally.meaningless,
        verdicts={
            name: Verdict(tally.differences[name], tally.smallest.get(name)) for name in models
        },
    )


class _Tally:
    """What was found so far."""

    def __init__(self, program: Program, models: Mapping[str, Model]) -> None:
        self.program = program
        self.models = models
        self.in_scope = 0
        self.compared = 0
        self.without_meaning = 0
        self.meaningless: Meaningless | None = None
        self.differences = dict.fromkeys(models, 0)
        self.smallest: dict[str, Difference] = {}

    def compare(self, inputs: Iterable[Case]) -> int:
        """Compare all models with the interpreter on inputs; return how many there were."""
        count = 0
        remaining = iter(inputs)
        while batch := list(islice(remaining, BATCH)):
            count += len(batch)
            asked = [(case, self._questions(case)) for case in batch]
            asked = [(case, questions) for case, questions in asked if questions]
            for name, model in self.models.items():
                answers = _answers(self.program, model, [case for case, _ in asked])
                for (case, questions), found in zip(asked, answers, strict=True):
                    for at, right in questions.items():
                        if not same(right, found[at]):
                            self._differs(
                                name, Difference(case.tokens, at, right, found[at], case.source)
                            )
        return count

    def _questions(self, case: Case) -> dict[int, Answer]:
        """Return the right answer at each position at which there is one to compare."""
        program = self.program
        tokens, source = case
        meaning = program.meaning(tokens) if source is None else program.meaning(source, tokens)
        if not meaning.in_scope:
            return {}
        self.in_scope += 1
        questions: dict[int, Answer] = {}
        for position in _positions(program, len(meaning.answers)):
            answer = meaning.answers[position]
            if isinstance(answer, Undefined):
                self.without_meaning += 1
                found = Meaningless(tokens, position, answer, source)
                if self.meaningless is None or _is_smaller(program, found, self.meaningless):
                    self.meaningless = found
            else:
                questions[position] = answer
        self.compared += len(questions)
        return questions

    def _differs(self, name: str, found: Difference) -> None:
        self.differences[name] += 1
        if name not in self.smallest or _is_smaller(self.program, found, self.smallest[name]):
            self.smallest[name] = found


def same(expected: object, got: object) -> bool:
    """Return whether two answers are equal, `True` and `1` told apart."""
    return expected == got and isinstance(expected, bool) == isinstance(got, bool)


def _is_smaller(
    program: Program, one: Difference | Meaningless, other: Difference | Meaningless
) -> bool:
    def size(found: Difference | Meaningless) -> tuple[int, list[int], int, list[int], int]:
        source = program.typed.header.source
        read = [] if source is None else [source.vocabulary.id(t) for t in found.source or ()]
        ids = [program.typed.vocabulary.id(token) for token in found.input]
        return len(read), read, len(ids), ids, found.position

    return size(one) < size(other)


def _positions(program: Program, n: int) -> range:
    """Return the positions at which a program of n tokens, `bos` included, says something.

    A bidirectional program that predicts is read after the whole text only. A value at `bos` is
    nothing that a model shows.
    """
    if isinstance(program.typed.result, Output):
        return range(hidden(program), n)
    return range(n) if program.causal else range(n - 1, n)


def _answers(program: Program, model: Model, cases: list[Case]) -> list[dict[int, Answer]]:
    """Return what the model says at each position of each input."""
    if program.typed.header.source is not None:
        return _answers_across(program, model, cases)
    front = hidden(program)
    filled = [case.tokens for case in cases if case.tokens]
    rows = iter(model.run_batch(filled) if filled else [])
    start: dict[int, Answer] = {}
    if front and not isinstance(program.typed.result, Output):
        start = {0: _after_bos(model)}
    return [start | dict(enumerate(next(rows), front)) if c.tokens else start for c in cases]


def _answers_across(program: Program, model: Model, cases: list[Case]) -> list[dict[int, Answer]]:
    """Return the same where each input stands beside its source."""
    if not cases:
        return []
    sources = [case.source or () for case in cases]
    rows = model.run_batch(sources, [case.tokens for case in cases])
    answers: list[dict[int, Answer]] = [dict(enumerate(row, 1)) for row in rows]
    starts: list[Answer]
    if isinstance(program.typed.result, Output):
        return answers
    if model.description.kind == "allow":
        shares = model.probabilities(sources)
        assert isinstance(shares, list)
        starts = list(map(_allowed, shares))
    else:
        tokens = model.predict(sources)
        assert isinstance(tokens, list)
        starts = list(tokens)
    return [{0: start} | row for start, row in zip(starts, answers, strict=True)]


def _after_bos(model: Model) -> Answer:
    """Return the answer at `bos`, which `run` leaves out."""
    if model.description.kind != "allow":
        return model.predict("")
    return _allowed(model.probabilities(""))


def _allowed(shares: Mapping[Token, float]) -> Answer:
    most = max(shares.values())
    return tuple(token for token, share in shares.items() if share > most / 2)


def _failures(program: Program, models: Mapping[str, Model]) -> Iterator[Failure]:
    runners: dict[str, Program | Model] = {"interpreter": program, **models}
    for example in program.examples:
        for where, runner in runners.items():
            try:
                got = _given(program, runner, example)
            except HandcraftError as error:
                yield Failure(example, where, error)
            else:
                if not _holds(example, got):
                    yield Failure(example, where, got)


def _given(program: Program, runner: Program | Model, example: Example) -> object:
    """Return what the interpreter or a model gives for an example."""
    if not isinstance(example.expected, str):
        return tuple(runner.run(example.input))
    if program.typed.header.source is not None:
        return _written_to_its_end(runner, example.input)
    expected = program.typed.vocabulary.split(example.expected)
    return runner.complete(example.input, len(expected) - hidden(program))


def _written_to_its_end(runner: Program | Model, source: Input) -> str:
    """Return what is written from a source; if `eos` does not follow, with a word on that."""
    if isinstance(runner, Program):
        text, is_ended = runner.written(source)
    else:
        text = str(runner.complete(source))
        is_ended = runner.stop_reason == "eos"
    return text if is_ended else f"{text} and no end"


def _holds(example: Example, got: object) -> bool:
    if isinstance(got, tuple) and not isinstance(example.expected, str):
        return len(got) == len(example.expected) and all(map(same, example.expected, got))
    return got == example.expected
