"""Refuses programs that say what is no token, with an input where it happens if one is near."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING, TypeAlias

from handcraft.errors import ProgramError, Span
from handcraft.language.domains import Domain, Finite, Lattice, Mixed
from handcraft.language.interpret import interpret, why_not
from handcraft.language.typed import Allow, Predict, TypedProgram
from handcraft.language.values import Undefined, normal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.runtime.vocabulary import Token, Vocabulary

LONGEST_TRIED = 3
MOST_TRIED = 2000
MOST_STEPS = 100_000
"""Inputs times nodes that are interpreted in search of an input."""

Input: TypeAlias = "tuple[tuple[Token, ...], tuple[Token, ...]]"
"""A text with its `bos`, and its source, which is empty in a program without one."""

Claim: TypeAlias = tuple[int, Predict | Allow]
"""A token-valued node, and a result that says only this node's values."""


def refuse_other_than_tokens(program: TypedProgram) -> None:
    """Raise where a value outside the vocabulary is possible.

    Inputs of up to `LONGEST_TRIED` tokens are tried, as far as they are not too many. Where
    these are all inputs, or the program has an `assume` and nothing was found, it is accepted.

    Raises:
        ProgramError: `not-a-token`, with the value and, where one was found, the input.
    """
    for node, result in _claims(program):
        stray = _stray(_domain(program, node), program.vocabulary)
        if stray is None:
            continue
        word = "predict" if isinstance(result, Predict) else "allow"
        alone = replace(program, result=result)
        found = _met(alone)
        if found is not None:
            message, place = found
            raise _refusal(f"{message}, and `{word}` says it on {place}", result.span)
        if not program.assumptions and not _all_tried(program):
            raise _refusal(f"{stray}, and `{word}` can say it", result.span)


def _claims(program: TypedProgram) -> Iterator[Claim]:
    result = program.result
    if isinstance(result, Predict):
        yield result.value, result
    if isinstance(result, Allow):
        for choice in result.choices:
            yield choice[0], Allow((choice,), program.nodes[choice[0]].span)


def _domain(program: TypedProgram, node: int) -> Domain:
    domain = program.nodes[node].domain
    assert domain is not None
    return domain


def _stray(domain: Domain, vocabulary: Vocabulary) -> str | None:
    """Return which value of a domain cannot be predicted and why, None for a domain of tokens."""
    match domain:
        case Finite(values):
            return next(filter(None, (why_not(value, vocabulary) for value in values)), None)
        case Mixed(numbers, others):
            stray = _stray(others, vocabulary)
            return _stray(numbers, vocabulary) if stray is None else stray
        case Lattice(low, high, unit, parts):
            if parts == 1 and (high - low) / unit <= len(vocabulary):
                steps = range(int((high - low) / unit) + 1)
                return _stray(
                    Finite(tuple(normal(low + step * unit) for step in steps)), vocabulary
                )
            return f"some value of {domain} is not in the vocabulary"


def _inputs(program: TypedProgram) -> Iterator[Input]:
    vocabulary = program.vocabulary
    front = () if vocabulary.bos is None else (vocabulary.bos,)
    longest = min(LONGEST_TRIED, program.context - len(front))
    for source in _sources(program):
        for length in range(1 - len(front), longest + 1 - len(source)):
            for tokens in product(vocabulary.tokens, repeat=length):
                yield front + tokens, source


def _sources(program: TypedProgram) -> Iterator[tuple[Token, ...]]:
    source = program.header.source
    if source is None:
        yield ()
        return
    for length in range(min(LONGEST_TRIED, source.context) + 1):
        yield from product(source.vocabulary.tokens, repeat=length)


def _most(program: TypedProgram) -> int:
    return min(MOST_TRIED, MOST_STEPS // max(1, len(program.nodes)))


def _all_tried(program: TypedProgram) -> bool:
    if program.header.source is not None:
        return False
    front = program.vocabulary.bos is not None
    if program.context - front > LONGEST_TRIED:
        return False
    return next(islice(_inputs(program), _most(program), None), None) is None


def _met(program: TypedProgram) -> tuple[str, str] | None:
    """Return what is said where it cannot be, and the input."""
    for tokens, source in islice(_inputs(program), _most(program)):
        meaning = interpret(program, tokens, source=source)
        if not meaning.in_scope:
            continue
        for found in meaning.answers:
            if isinstance(found, Undefined) and found.code == "not-a-token":
                vocabulary = program.vocabulary
                shown = tokens[1:] if vocabulary.bos is not None else tokens
                place = f"the input `{vocabulary.join(shown)}`" if shown else "the empty input"
                return found.message, _beside(program, source, place)
    return None


def _beside(program: TypedProgram, tokens: tuple[Token, ...], place: str) -> str:
    source = program.header.source
    if source is None:
        return place
    return f"{place} with the source `{source.vocabulary.join(tokens)}`"


def _refusal(message: str, span: Span) -> ProgramError:
    help_ = "say a token of the vocabulary there, or exclude such inputs with `assume`"
    return ProgramError("not-a-token", message, span, help=help_)
