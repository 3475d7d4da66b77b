"""A model as its users see it: text in, text, values, logits or activations out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.arguments import format_name, real_number, whole_number
from handcraft.runtime.generation import generate, never_produced, window
from handcraft.runtime.readout import Result, check_readout, read_values
from handcraft.runtime.sampling import Sampling, forbid, greedy, probabilities
from handcraft.runtime.transformer import Ids, forward
from handcraft.runtime.vocabulary import Text, Token, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from handcraft.runtime.arguments import Format
    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.config import Config
    from handcraft.runtime.description import Description
    from handcraft.runtime.generation import StopReason
    from handcraft.runtime.trace import Trace
    from handcraft.runtime.weights import Array, Weights

Tokens: TypeAlias = tuple[Token, ...]
Shares: TypeAlias = "dict[Token, float]"

LARGEST_PASS = 1 << 23
"""Numbers that one forward pass of a batch may keep; longer batches take several."""


class Model:
    """A transformer with its vocabulary and what its numbers mean.

    Wherever a text is expected, a string or a list of tokens will do. A list is one text if
    every item is a token of the vocabulary, and so is an empty list; any other list of strings,
    and every list of lists, is a batch of texts, for which the answer is a list.

    Attributes:
        parameters: the arrays with their config.
        vocabulary: the tokens.
        description: what the logits mean, and which component computes what.
        stop_reasons: why the last `complete` stopped writing after each of its texts: `eos`,
            `length` or `context`.

    Raises:
        HandcraftError: `bad-model` where the three parts do not fit together.
    """

    def __init__(
        self, parameters: Weights, vocabulary: Vocabulary, description: Description
    ) -> None:
        check_readout(parameters.config, vocabulary, description)
        if description.guide is not None:
            description.guide.check_symbols(vocabulary)
        self.parameters = parameters
        self.vocabulary = vocabulary
        self.description = description
        self.stop_reasons: tuple[StopReason, ...] = ()

    @property
    def weights(self) -> Mapping[str, Array]:
        """The arrays, under their GPT-2 names."""
        return self.parameters.arrays

    @property
    def config(self) -> Config:
        """The numbers of the architecture."""
        return self.parameters.config

    @property
    def certificate(self) -> Certificate | None:
        """What was proved about the model; None if nothing was."""
        return self.description.certificate

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the last `complete` stopped; of a batch, why its last text did."""
        return self.stop_reasons[-1] if self.stop_reasons else None

    def __repr__(self) -> str:
        name = self.description.provenance.get("program", "model")
        return (
            f"<Model {name}: {self.config.n_layer} layers, d_model {self.config.d_model},"
            f" {self.parameters.n_parameters} parameters, {self.parameters.dtype.name}>"
        )

    @overload
    def complete(
        self,
        text: str,
        n: int = ...,
        *,
        temperature: float = ...,
        top_k: int | None = ...,
        seed: int | None = ...,
        slide: bool = ...,
    ) -> str: ...
    @overload
    def complete(
        self,
        text: Sequence[Any],
        n: int = ...,
        *,
        temperature: float = ...,
        top_k: int | None = ...,
        seed: int | None = ...,
        slide: bool = ...,
    ) -> str | list[str]: ...
    def complete(
        self,
        text: str | Sequence[Any],
        n: int = 10,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        seed: int | None = None,
        slide: bool = False,
    ) -> str | list[str]:
        """Return the text that the model writes after a text, at most n tokens.

        It ends before n tokens at `eos`, which is left out, and at the context where going on is
        not proved to be safe; `stop_reason` says which.

        Args:
            text: what to go on from; of a long text the last `context` tokens are read.
            n: how many tokens at most.
            temperature: 0 takes the most probable token, ties by place in the vocabulary.
            top_k: draw only from so many tokens.
            seed: the same seed gives the same text; a batch draws from it text by text.
            slide: go on beyond the context in any case.

        Raises:
            InputError: `no-continuation` for an `output` program; `unknown-token`, `empty-text`,
                `bad-temperature`, `bad-top-k`, `bad-length`, `bad-seed`; of a pattern `dead-text`
                where no word begins with the text, `finished-text` where nothing can follow.
        """
        self._check_predicts("complete")
        sampling = _sampling(temperature, top_k)
        n = whole_number("bad-length", "`n`", n)
        if n < 0:
            raise InputError("bad-length", f"cannot write {n} tokens")
        generator = _generator(seed)
        texts, is_batch = self._texts(text)
        generations = [
            generate(
                self.parameters,
                self.vocabulary,
                tokens,
                n,
                sampling=sampling,
                margin=self.description.margin,
                slide=slide or self.description.window_safe,
                generator=generator,
                check=self._check_goes_on,
            )
            for tokens in texts
        ]
        self.stop_reasons = tuple(generation.stop_reason for generation in generations)
        written = [self.vocabulary.join(generation.tokens) for generation in generations]
        return written if is_batch else written[0]

    @overload
    def predict(self, text: str) -> Token: ...
    @overload
    def predict(self, text: Sequence[Any]) -> Token | list[Token]: ...
    def predict(self, text: str | Sequence[Any]) -> Token | list[Token]:
        """Return the most probable next token; of equal ones the first in the vocabulary.

        Raises:
            InputError: as `complete`.
        """
        self._check_predicts("predict")
        texts, is_batch = self._texts(text)
        found = [
            self.vocabulary.tokens[greedy(self._possible(logits), self.description.margin)]
            for logits in self._last_logits(texts)
        ]
        return found if is_batch else found[0]

    @overload
    def probabilities(self, text: str) -> Shares: ...
    @overload
    def probabilities(self, text: Sequence[Any]) -> Shares | list[Shares]: ...
    def probabilities(self, text: str | Sequence[Any]) -> Shares | list[Shares]:
        """Return the probability of each token to be the next; `bos` has none.

        Raises:
            InputError: as `complete`.
        """
        self._check_predicts("probabilities")
        texts, is_batch = self._texts(text)
        found = []
        for logits in self._last_logits(texts):
            shares = probabilities(self._possible(logits)).tolist()
            found.append(dict(zip(self.vocabulary.tokens, shares, strict=True)))
        return found if is_batch else found[0]

    @overload
    def run(self, text: str) -> list[Result]: ...
    @overload
    def run(self, text: Sequence[Any]) -> list[Result] | list[list[Result]]: ...
    def run(self, text: str | Sequence[Any]) -> list[Result] | list[list[Result]]:
        """Return what the model says at each position of a text, `bos` left out.

        The next token for `predict` and `logits` programs, the tuple of the next tokens for
        `allow`, the value for `output`.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        texts, is_batch = self._texts(text)
        found = self._run_texts(texts)
        return found if is_batch else found[0]

    def run_batch(self, texts: Sequence[Text]) -> list[list[Result]]:
        """Return `run` of each text, computed side by side."""
        return self._run_texts(self._split_all(texts))

    def trace(self, text: Text) -> Trace:
        """Return all activations on one text, a hidden start token included.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        return forward(self.parameters, self.encode(text))

    def logits(self, text: Text) -> Array:
        """Return the logits `[n_seq, n_out]` at the tokens of one text, `bos` included.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        return self.trace(text).logits[int(self.config.start) :]

    def encode(self, text: Text) -> Ids:
        """Return the ids that the transformer sees: start token, `bos`, text.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        return self._ids(self.vocabulary.split(text))

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of ids; a hidden start token has none.

        Raises:
            InputError: `unknown-id`, `bad-ids`.
        """
        tokens = []
        for number in _whole_numbers(ids):
            if not 0 <= number < self.config.n_vocab:
                raise InputError("unknown-id", f"ids are from 0 to {self.config.n_vocab - 1}")
            if number != self.config.start_id:
                tokens.append(self.vocabulary.tokens[number])
        return self.vocabulary.join(tokens)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file that `handcraft.load` reads.

        Raises:
            FileError: `cannot-write`, `bad-path`.
        """
        from handcraft.runtime.storage import save  # storage makes models, so it comes later

        save(self, path)

    def astype(self, dtype: Format) -> Model:
        """Return the model with its weights in another format: float64, float32 or float16.

        Args:
            dtype: the name of the format, or numpy's type.

        Raises:
            HandcraftError: `bad-dtype`; `format` where the compiler knows that the format is too
                coarse.
        """
        name = format_name(dtype)
        formats = self.description.formats
        if formats and name not in formats:
            message = f"the model decides between numbers that {name} cannot tell apart"
            raise HandcraftError("format", message, help=f"use {' or '.join(formats)}")
        return Model(self.parameters.astype(name), self.vocabulary, self.description)

    def _check_predicts(self, name: str) -> None:
        if self.description.kind == "output":
            raise InputError(
                "no-continuation",
                f"`{name}` needs a program that predicts tokens, this one gives values",
                help="use `run`",
            )

    def _texts(self, text: str | Sequence[Any]) -> tuple[list[Tokens], bool]:
        """Return the tokens of each text, and whether there was a batch of them."""
        if not isinstance(text, str | bytes) and isinstance(text, Sequence):
            nested = any(isinstance(item, list | tuple) for item in text)
            strings = all(isinstance(item, str) for item in text)
            if nested or (strings and not all(item in self.vocabulary for item in text)):
                return self._split_all(text), True
        return [self.vocabulary.split(text)], False

    def _split_all(self, texts: Sequence[Text]) -> list[Tokens]:
        return [
            self.vocabulary.split(text, f"<input {number}>") for number, text in enumerate(texts)
        ]

    def _ids(self, tokens: Tokens) -> Ids:
        if len(tokens) > self.config.context:
            counted = "" if self.vocabulary.bos is None else f" with `{self.vocabulary.bos}`"
            raise InputError(
                "too-long",
                f"the text has {len(tokens)} tokens{counted}, the context is {self.config.context}",
                help="shorten the text, or compile the program with a larger context",
            )
        return window(self.config, self.vocabulary, tokens)

    def _run_texts(self, texts: list[Tokens]) -> list[list[Result]]:
        hidden = self.config.start + (self.vocabulary.bos is not None)
        return [
            read_values(self.config, self.vocabulary, self.description, rows[hidden:])
            for rows in self._logits([self._ids(tokens) for tokens in texts])
        ]

    def _last_logits(self, texts: list[Tokens]) -> list[Array]:
        for tokens in texts:
            self._check_goes_on(tokens)
        ids = [window(self.config, self.vocabulary, tokens) for tokens in texts]
        return [rows[-1] for rows in self._logits(ids)]

    def _check_goes_on(self, tokens: Tokens) -> None:
        """Refuse a text of which a pattern says that nothing can follow, as far as that is known.

        Of a text beyond the context it is known where its end decides.
        """
        guide = self.description.guide
        known = self.description.window_safe or len(tokens) <= self.config.context
        if guide is not None and known and tokens:
            guide.check(tokens, self.vocabulary)

    def _possible(self, logits: Array) -> Array:
        return forbid(logits[: len(self.vocabulary)], never_produced(self.vocabulary))

    def _logits(self, sequences: list[Ids]) -> list[Array]:
        """Return the logits `[n_seq, n_out]` of each sequence, in padded passes of bounded size."""
        found: list[Array] = []
        for batch in _batches(self.config, sequences):
            lengths = np.array([len(ids) for ids in batch])
            padded = np.zeros((len(batch), lengths.max()), dtype=np.int64)
            for row, ids in zip(padded, batch, strict=True):
                row[: len(ids)] = ids
            logits = forward(self.parameters, padded, lengths).logits
            found += [rows[:length] for rows, length in zip(logits, lengths, strict=True)]
        return found


def _sampling(temperature: object, top_k: object) -> Sampling:
    degree = real_number("bad-temperature", "a temperature", temperature)
    return Sampling(degree, None if top_k is None else whole_number("bad-top-k", "`top_k`", top_k))


def _generator(seed: object) -> np.random.Generator:
    if seed is None:
        return np.random.default_rng()
    number = whole_number("bad-seed", "a seed", seed)
    if number < 0:
        raise InputError("bad-seed", f"a seed is a whole number from 0, not `{number}`")
    return np.random.default_rng(number)


def _whole_numbers(ids: object) -> list[int]:
    scalar = isinstance(ids, str) or (isinstance(ids, np.ndarray) and ids.ndim == 0)
    if scalar or not isinstance(ids, Sequence | np.ndarray):
        found = type(ids).__name__
        raise InputError("bad-ids", f"ids are a list of whole numbers, found `{found}`")
    return [whole_number("bad-ids", "an id", number) for number in ids]


def _batches(config: Config, sequences: list[Ids]) -> Iterator[list[Ids]]:
    """Cut sequences into batches whose activations stay below `LARGEST_PASS` numbers."""
    n_seq = max(map(len, sequences), default=1)
    per_position = config.n_out + sum(
        8 * config.d_model + 2 * layer.d_mlp + layer.n_head * (6 * layer.d_head + 3 * n_seq)
        for layer in config.layers
    )
    size = max(1, LARGEST_PASS // (n_seq * per_position))
    for start in range(0, len(sequences), size):
        yield sequences[start : start + size]
