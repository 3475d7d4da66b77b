"""What a check tries: every short input, and random ones up to the context.

The input of a program with a source is the source, together with a text that may be written from
it: the one that the program writes, or a random one.
"""

from __future__ import annotations

from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from handcraft.language.interpret import interpret
from handcraft.language.typed import Constant, Output, Pick
from handcraft.language.values import Undefined
from handcraft.runtime.vocabulary import Token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from handcraft.language.program import Program
    from handcraft.runtime.vocabulary import Vocabulary

Input: TypeAlias = tuple[Token, ...]
"""The tokens of an input, a declared `bos` left out."""

TOKENS_TRIED = 3
"""Different tokens in the inputs that are tried exhaustively."""


class Case(NamedTuple):
    """An input, and its source in a program that has one."""

    tokens: Input
    source: Input | None = None


def tokens_tried(program: Program) -> Input:
    """Return the tokens for the exhaustive part, in the order of the (source's) vocabulary.

    Of a large vocabulary these are few: at most all but one of them stand in the program's own
    expressions, so that both the tokens that it treats in a special way and the others are there.
    """
    source = program.typed.header.source
    tokens = _but_bos(program.typed.vocabulary if source is None else source.vocabulary)
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


def every_case(program: Program, tokens: Input, longest: int) -> Iterator[Case]:
    """Yield every input over some tokens, or every source with what is written from it."""
    has_source = program.typed.header.source is not None
    shortest = 0 if has_source or hidden(program) else 1
    lengths = range(shortest, longest + 1)
    each = chain.from_iterable(product(tokens, repeat=length) for length in lengths)
    for made in each:
        yield Case(_written(program, made), made) if has_source else Case(made)


def random_cases(program: Program, count: int, chance: Random) -> Iterator[Case]:
    """Yield random inputs of random lengths; of sources every other one with a random text."""
    source = program.typed.header.source
    if source is not None:
        for number in range(count):
            length = chance.randint(0, source.context)
            read = tuple(chance.choices(source.vocabulary.tokens, k=length))
            if number % 2:
                length = chance.randint(0, program.context - hidden(program))
                text = tuple(chance.choices(_but_bos(program.typed.vocabulary), k=length))
                yield Case(text, read)
            else:
                yield Case(_written(program, read), read)
        return
    tokens = _but_bos(program.typed.vocabulary)
    grown = program.causal and bool(program.typed.assumptions)
    for _ in range(count):
        length = chance.randint(1, room(program))
        if grown:
            yield Case(_grown(program, tokens, length, chance))
        else:
            yield Case(tuple(chance.choices(tokens, k=length)))


def hidden(program: Program) -> int:
    """Return how many positions a declared `bos` takes."""
    return int(program.typed.vocabulary.bos is not None)


def room(program: Program) -> int:
    """Return how many tokens an input has at most: a source, or what fits beside `bos`."""
    source = program.typed.header.source
    return program.context - hidden(program) if source is None else source.context


def _written(program: Program, source: Input) -> Input:
    """Return what a program writes from a source, as far as it has a meaning."""
    vocabulary = program.typed.vocabulary
    assert vocabulary.bos is not None, "a source asks for it"
    tokens: Input = (vocabulary.bos,)
    while not isinstance(program.typed.result, Output) and len(tokens) < program.context:
        found = interpret(program.typed, tokens, source=source).answers[-1]
        if isinstance(found, Undefined):
            break
        token = found[0] if isinstance(found, tuple) else found
        if token == vocabulary.eos or not isinstance(token, str | int):
            break
        tokens = (*tokens, token)
    return tokens[1:]


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


def _but_bos(vocabulary: Vocabulary) -> Input:
    return tuple(token for token in vocabulary.tokens if token != vocabulary.bos)
