"""Model against interpreter: examples, every short input, and random long ones.

The interpreter says what is right, once for each input; every format of the model is compared
with it wherever the program has a meaning and the input is in scope. Nothing is printed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice, product
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from handcraft.errors import HandcraftError
from handcraft.language.typed import Constant, Example, Output, Pick
from handcraft.language.values import Undefined
from handcraft.runtime.vocabulary import Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from handcraft.language.interpret import Answer
    from handcraft.language.program import Program
    from handcraft.runtime.model import Model

Input: TypeAlias = tuple[Token, ...]
"""The tokens of an input, a declared `bos` left out."""

TOKENS_TRIED = 3
"""Different tokens in the inputs that are tried exhaustively."""

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


@dataclass(frozen=True, slots=True)
class Meaningless:
    """An input on which the program has no meaning at a position."""

    input: Input
    position: int
    reason: Undefined


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
    longest = min(longest, _room(program))
    tally = _Tally(program, models)
    every = tally.compare(_every_input(program, tokens, longest))
    drawn = tally.compare(_random_inputs(program, random, Random(seed)))
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


def tokens_tried(program: Program) -> Input:
    """Return the tokens for the exhaustive part, in the order of the vocabulary.

    Of a large vocabulary these are few: at most all but one of them stand in the program's own
    expressions, so that both the tokens that it treats in a special way and the others are there.
    """
    tokens = _tokens(program)
    if len(tokens) <= TOKENS_TRIED:
        return tokens
    mentioned: set[object] = set()
    for node in program.typed.nodes:
        match node.op:
            case Constant(value):
                mentioned.add(value)
            case Pick(_, values):
                mentioned.update(values)
            case _:
                pass
    named = [token for token in tokens if token in mentioned]
    others = [token for token in tokens if token not in mentioned]
    first = named[: TOKENS_TRIED - 1]
    chosen = [*first, *others, *named[len(first) :]][:TOKENS_TRIED]
    return tuple(token for token in tokens if token in chosen)


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

    def compare(self, inputs: Iterable[Input]) -> int:
        """Compare all models with the interpreter on inputs; return how many there were."""
        count = 0
        remaining = iter(inputs)
        while batch := list(islice(remaining, BATCH)):
            count += len(batch)
            asked = [(tokens, self._questions(tokens)) for tokens in batch]
            asked = [(tokens, questions) for tokens, questions in asked if questions]
            for name, model in self.models.items():
                answers = _answers(self.program, model, [tokens for tokens, _ in asked])
                for (tokens, questions), found in zip(asked, answers, strict=True):
                    for position, expected in questions.items():
                        if not same(expected, found[position]):
                            got = found[position]
                            self._differs(name, Difference(tokens, position, expected, got))
        return count

    def _questions(self, tokens: Input) -> dict[int, Answer]:
        """Return the right answer at each position at which there is one to compare."""
        program = self.program
        meaning = program.meaning(tokens)
        if not meaning.in_scope:
            return {}
        self.in_scope += 1
        questions: dict[int, Answer] = {}
        for position in _positions(program, len(meaning.answers)):
            answer = meaning.answers[position]
            if isinstance(answer, Undefined):
                self.without_meaning += 1
                found = Meaningless(tokens, position, answer)
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
    def size(found: Difference | Meaningless) -> tuple[int, list[int], int]:
        ids = [program.typed.vocabulary.id(token) for token in found.input]
        return len(ids), ids, found.position

    return size(one) < size(other)


def _positions(program: Program, n: int) -> range:
    """Return the positions at which a program of n tokens, `bos` included, says something.

    A bidirectional program that predicts is read after the whole text only. A value at `bos` is
    nothing that a model shows.
    """
    if isinstance(program.typed.result, Output):
        return range(_hidden(program), n)
    return range(n) if program.causal else range(n - 1, n)


def _answers(program: Program, model: Model, inputs: list[Input]) -> list[dict[int, Answer]]:
    """Return what the model says at each position of each input."""
    hidden = _hidden(program)
    filled = [tokens for tokens in inputs if tokens]
    rows = iter(model.run_batch(filled) if filled else [])
    start: dict[int, Answer] = {}
    if hidden and not isinstance(program.typed.result, Output):
        start = {0: _after_bos(model)}
    return [start | dict(enumerate(next(rows), hidden)) if tokens else start for tokens in inputs]


def _after_bos(model: Model) -> Answer:
    """Return the answer at `bos`, which `run` leaves out."""
    if model.description.kind != "allow":
        return model.predict("")
    shares = model.probabilities("")
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
    expected = program.typed.vocabulary.split(example.expected)
    return runner.complete(example.input, len(expected) - _hidden(program))


def _holds(example: Example, got: object) -> bool:
    if isinstance(got, tuple) and not isinstance(example.expected, str):
        return len(got) == len(example.expected) and all(map(same, example.expected, got))
    return got == example.expected


# Inputs --------------------------------------------------------------------------------------


def _every_input(program: Program, tokens: Input, longest: int) -> Iterator[Input]:
    shortest = 0 if _hidden(program) else 1
    return chain.from_iterable(
        product(tokens, repeat=length) for length in range(shortest, longest + 1)
    )


def _random_inputs(program: Program, count: int, chance: Random) -> Iterator[Input]:
    tokens = _tokens(program)
    grown = program.causal and bool(program.typed.assumptions)
    for _ in range(count):
        length = chance.randint(1, _room(program))
        if grown:
            yield _grown(program, tokens, length, chance)
        else:
            yield tuple(chance.choices(tokens, k=length))


def _grown(program: Program, tokens: Input, length: int, chance: Random) -> Input:
    """Return a random input in scope, token after token, as long as one can go on.

    Under causal attention an assumption at a position depends on nothing after it.
    """
    made: Input = ()
    while len(made) < length:
        order = chance.sample(tokens, k=len(tokens))
        longer = next((t for t in order if program.meaning((*made, t)).in_scope), None)
        if longer is None:
            break
        made = (*made, longer)
    return made or (chance.choice(tokens),)


def _tokens(program: Program) -> Input:
    vocabulary = program.typed.vocabulary
    return tuple(token for token in vocabulary.tokens if token != vocabulary.bos)


def _hidden(program: Program) -> int:
    """Return how many positions a declared `bos` takes."""
    return int(program.typed.vocabulary.bos is not None)


def _room(program: Program) -> int:
    """Return how many tokens fit the context beside a declared `bos`."""
    return program.context - _hidden(program)
