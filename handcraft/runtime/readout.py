"""From logits to what they mean: a token, the tokens allowed, or a value of the program."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn, TypeAlias, assert_never

from handcraft.errors import HandcraftError
from handcraft.runtime.description import Lattice, Value, plain
from handcraft.runtime.generation import never_produced
from handcraft.runtime.sampling import forbid, greedy, near_best

if TYPE_CHECKING:
    from handcraft.runtime.config import Config
    from handcraft.runtime.description import Description
    from handcraft.runtime.vocabulary import Token, Vocabulary
    from handcraft.runtime.weights import Array

Result: TypeAlias = Value | tuple["Token", ...]


def read_values(
    config: Config, vocabulary: Vocabulary, description: Description, logits: Array
) -> list[Result]:
    """Return what the logits `[n_seq, n_out]` mean at each position.

    `predict` and `logits` programs give the next token, `allow` the tuple of the next tokens,
    `output` its value.
    """
    if description.kind != "output":
        possible = forbid(logits[:, : len(vocabulary)], never_produced(vocabulary))
        if description.kind == "allow":
            marked = near_best(possible, description.margin)
            return [
                tuple(t for t, m in zip(vocabulary.tokens, row, strict=True) if m)
                for row in marked.tolist()
            ]
        return [vocabulary.tokens[best] for best in greedy(possible, description.margin)]
    match config.readout:
        case "tokens":
            best = greedy(logits[:, : len(vocabulary)], description.margin)
            return [vocabulary.tokens[number] for number in best]
        case "values":
            assert not isinstance(description.outputs, Lattice), "a lattice is read as a number"
            return [description.outputs[n] for n in greedy(logits, description.margin)]
        case "number":
            return _nearest(description.outputs, logits[:, 0].tolist())
        case _:
            assert_never(config.readout)


def check_readout(config: Config, vocabulary: Vocabulary, description: Description) -> None:
    """Raise `bad-model` where config, vocabulary and description tell different stories."""
    expected = ("tokens",) if config.encoder is None else ("source", "tokens")
    if description.sequences != expected:
        _refuse(f"the sequences are {', '.join(expected)}, not {', '.join(description.sequences)}")
    n_tokens = len(vocabulary) + config.start
    if n_tokens != config.n_vocab:
        _refuse(f"{n_tokens} tokens do not fit {config.n_vocab} rows of `wte.weight`")
    if config.start + (vocabulary.bos is not None) > config.n_ctx:
        _refuse(f"{config.n_ctx} positions leave no room for the text")
    if description.kind != "output" and config.readout != "tokens":
        _refuse(f"`{description.kind}` reads tokens, not {config.readout}")
    if description.kind != "output" and len(vocabulary) == len(never_produced(vocabulary)):
        _refuse("there is no token to predict beside `bos`")
    outputs = description.outputs
    match config.readout:
        case "tokens":
            if outputs != ():
                _refuse("a readout of tokens has no list of values")
        case "values":
            if isinstance(outputs, Lattice) or len(outputs) != config.n_out:
                _refuse(f"a readout of values has one value for each of {config.n_out} logits")
        case "number":
            if isinstance(outputs, Lattice):
                return
            if not outputs or not all(map(_is_number, outputs)):
                _refuse("a readout of a number has at least one value, and only numbers")
            if any(a >= b for a, b in pairwise(map(_number, outputs))):
                _refuse("the values of a readout of a number stand in ascending order")
        case _:
            assert_never(config.readout)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _number(value: Value) -> Fraction:
    return Fraction(value)


def _nearest(outputs: tuple[Value, ...] | Lattice, numbers: list[float]) -> list[Result]:
    if isinstance(outputs, Lattice):
        return [plain(outputs.nearest(number)) for number in numbers]
    found: list[Result] = []
    for number in map(Fraction, numbers):
        place = bisect_left(outputs, number)
        around = map(_number, outputs[max(0, place - 1) : place + 1])
        found.append(plain(min(around, key=lambda value: abs(value - number))))
    return found


def check_source(config: Config, source_vocabulary: Vocabulary | None) -> None:
    """Raise `bad-model` where encoder and source vocabulary do not fit together."""
    if config.encoder is None:
        if source_vocabulary is not None:
            _refuse("a source vocabulary needs an encoder to read it")
        return
    if source_vocabulary is None:
        _refuse("an encoder needs a source vocabulary")
    n_tokens = len(source_vocabulary) + config.encoder.start
    if n_tokens != config.encoder.n_vocab:
        _refuse(f"{n_tokens} tokens of the source do not fit {config.encoder.n_vocab} rows")
    if source_vocabulary.bos is not None or source_vocabulary.eos is not None:
        _refuse("`bos` and `eos` belong to the text that is written, not to its source")


def _refuse(message: str) -> NoReturn:
    raise HandcraftError("bad-model", message)
