"""A model as its users see it: text in, text, values, logits or activations out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.arguments import format_name, generator, id_numbers, sampling, whole_number
from handcraft.runtime.batches import Input, logits_of
from handcraft.runtime.encoder_decoder import read_source
from handcraft.runtime.generation import Generation, generate, never_produced, window
from handcraft.runtime.readout import Result, check_readout, check_source, read_values
from handcraft.runtime.sampling import forbid, greedy, probabilities
from handcraft.runtime.texts import Reading, read_each, read_texts, source_ids, text_ids
from handcraft.runtime.transformer import Ids, forward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from handcraft.runtime.arguments import Format
    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.config import Config
    from handcraft.runtime.description import Description
    from handcraft.runtime.generation import StopReason
    from handcraft.runtime.trace import Trace
    from handcraft.runtime.vocabulary import Text, Token, Vocabulary
    from handcraft.runtime.weights import Array, Weights

Shares: TypeAlias = "dict[Token, float]"

MOST_WRITTEN = 10
"""Tokens that `complete` writes at most where it is not told how many, and there is no source."""


class Model:
    """A transformer with its vocabulary and what its numbers mean.

    Wherever a text is expected, a string or a list of tokens will do. A list is one text if
    every item is a token of the vocabulary, and so is an empty list; any other list of strings,
    and every list of lists, is a batch of texts, for which the answer is a list.

    A model with an encoder (`config.encoder`) reads two sequences. There `text` is the source,
    and `target` what is written already, without `bos` if you like. With a batch of sources, a
    string is the target of each, and a list has one for each.

    Attributes:
        parameters: the arrays with their config.
        vocabulary: the tokens; of two sequences, the target's.
        description: what the logits mean, and which component computes what.
        source_vocabulary: the tokens of the source, in a model that has one.
        generations: what the last `complete` wrote after each of its texts, and why it stopped.

    Raises:
        HandcraftError: `bad-model` where the parts do not fit together.
    """

    def __init__(
        self,
        parameters: Weights,
        vocabulary: Vocabulary,
        description: Description,
        source_vocabulary: Vocabulary | None = None,
    ) -> None:
        check_readout(parameters.config, vocabulary, description)
        check_source(parameters.config, source_vocabulary)
        if description.guide is not None:
            description.guide.check_symbols(vocabulary)
        self.parameters = parameters
        self.vocabulary = vocabulary
        self.description = description
        self.source_vocabulary = source_vocabulary
        self.generations: tuple[Generation, ...] = ()

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
    def stop_reasons(self) -> tuple[StopReason, ...]:
        """Why the last `complete` stopped after each of its texts: `eos`, `length`, `context`."""
        return tuple(generation.stop_reason for generation in self.generations)

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the last `complete` stopped; of a batch, why its last text did."""
        return self.stop_reasons[-1] if self.generations else None

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
        n: int | None = ...,
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
        n: int | None = ...,
        *,
        temperature: float = ...,
        top_k: int | None = ...,
        seed: int | None = ...,
        slide: bool = ...,
    ) -> str | list[str]: ...
    def complete(
        self,
        text: str | Sequence[Any],
        n: int | None = None,
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
            text: what to go on from; of a long text the last `context` tokens are read. The
                source, if the model has one: then it writes a whole text of its own.
            n: how many tokens at most: 10 if not given; with a source, what the context holds.
            temperature: 0 takes the most probable token, ties by place in the vocabulary.
            top_k: draw only from so many tokens.
            seed: the same seed gives the same text; a batch draws from it text by text.
            slide: go on beyond the context in any case, which no text with a source can.

        Raises:
            InputError: `no-continuation` for an `output` program; `unknown-token`, `empty-text`,
                `bad-temperature`, `bad-top-k`, `bad-length`, `bad-seed`, `bad-slide`; `too-long`
                for a source; of a pattern `dead-text`
                where no word begins with the text, `finished-text` where nothing can follow.
        """
        self._check_predicts("complete")
        how = sampling(temperature, top_k)
        most = self._most_written(n)
        if slide and self.source_vocabulary is not None:
            raise InputError("bad-slide", "a text that is written from a source never slides")
        chance = generator(seed)
        readings, is_batch = self._readings(text, "")
        self.generations = tuple(
            generate(
                self.parameters,
                self.vocabulary,
                reading.tokens,
                most,
                sampling=how,
                margin=self.description.margin,
                slide=slide or (reading.source is None and self.description.window_safe),
                generator=chance,
                check=self._check_goes_on,
                source=self._source_ids(reading),
            )
            for reading in readings
        )
        written = [self.vocabulary.join(generation.tokens) for generation in self.generations]
        return written if is_batch else written[0]

    @overload
    def predict(self, text: str, target: Text = ...) -> Token: ...
    @overload
    def predict(self, text: Sequence[Any], target: Sequence[Any] = ...) -> Token | list[Token]: ...
    def predict(
        self, text: str | Sequence[Any], target: str | Sequence[Any] = ""
    ) -> Token | list[Token]:
        """Return the most probable next token; of equal ones the first in the vocabulary.

        Raises:
            InputError: as `complete`.
        """
        self._check_predicts("predict")
        readings, is_batch = self._readings(text, target)
        found = [
            self.vocabulary.tokens[greedy(self._possible(logits), self.description.margin)]
            for logits in self._last_logits(readings)
        ]
        return found if is_batch else found[0]

    @overload
    def probabilities(self, text: str, target: Text = ...) -> Shares: ...
    @overload
    def probabilities(
        self, text: Sequence[Any], target: Sequence[Any] = ...
    ) -> Shares | list[Shares]: ...
    def probabilities(
        self, text: str | Sequence[Any], target: str | Sequence[Any] = ""
    ) -> Shares | list[Shares]:
        """Return the probability of each token to be the next; `bos` has none.

        Raises:
            InputError: as `complete`.
        """
        self._check_predicts("probabilities")
        readings, is_batch = self._readings(text, target)
        found = []
        for logits in self._last_logits(readings):
            shares = probabilities(self._possible(logits)).tolist()
            found.append(dict(zip(self.vocabulary.tokens, shares, strict=True)))
        return found if is_batch else found[0]

    @overload
    def run(self, text: str, target: Text = ...) -> list[Result]: ...
    @overload
    def run(
        self, text: Sequence[Any], target: Sequence[Any] = ...
    ) -> list[Result] | list[list[Result]]: ...
    def run(
        self, text: str | Sequence[Any], target: str | Sequence[Any] = ""
    ) -> list[Result] | list[list[Result]]:
        """Return what the model says at each position of a text, `bos` left out.

        The next token for `predict` and `logits` programs, the tuple of the next tokens for
        `allow`, the value for `output`.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`; `dead-text` where no word of the
                pattern that is predicted begins with the text.
        """
        readings, is_batch = self._readings(text, target)
        guide = self.description.guide
        for reading in readings if guide is not None else ():
            assert guide is not None
            guide.check_alive(reading.tokens, self.vocabulary)
        found = self._run(readings)
        return found if is_batch else found[0]

    def run_batch(
        self, texts: Sequence[Text], targets: Sequence[Text] | None = None
    ) -> list[list[Result]]:
        """Return `run` of each text, or each source and target, computed side by side."""
        return self._run(read_each(self.vocabulary, self.source_vocabulary, texts, targets))

    def trace(self, text: Text, target: Text = "") -> Trace:
        """Return all activations on one text, a hidden start token included.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        (reading,) = read_each(self.vocabulary, self.source_vocabulary, [text], [target])
        ids = text_ids(self.config, self.vocabulary, reading.tokens)
        read = self._source_ids(reading)
        source = None if read is None else read_source(self.parameters, read)
        return forward(self.parameters, ids, source=source)

    def logits(self, text: Text, target: Text = "") -> Array:
        """Return the logits `[n_seq, n_out]` at the tokens of one text, `bos` included.

        With a source these are the tokens of the target.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        return self.trace(text, target).logits[int(self.config.start) :]

    def encode(self, text: Text) -> Ids:
        """Return the ids that the transformer sees: start token, `bos`, text.

        Raises:
            InputError: `too-long`, `unknown-token`, `empty-text`.
        """
        return text_ids(self.config, self.vocabulary, self.vocabulary.split(text))

    def encode_source(self, source: Text) -> Ids:
        """Return the ids that the encoder sees: a start token, if it needs one, and the source.

        Raises:
            InputError: `too-long`, `unknown-token`; `no-source` where there is no encoder.
        """
        encoder, vocabulary = self.config.encoder, self.source_vocabulary
        if encoder is None or vocabulary is None:
            raise InputError("no-source", "this model has no encoder", help="use `encode`")
        return source_ids(encoder, vocabulary, vocabulary.split(source))

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of ids; a hidden start token has none.

        Raises:
            InputError: `unknown-id`, `bad-ids`.
        """
        tokens = []
        for number in id_numbers(ids):
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
        name, formats = format_name(dtype), self.description.formats
        if formats and name not in formats:
            message = f"the model decides between numbers that {name} cannot tell apart"
            raise HandcraftError("format", message, help=f"use {' or '.join(formats)}")
        parameters = self.parameters.astype(name)
        return Model(parameters, self.vocabulary, self.description, self.source_vocabulary)

    def _check_predicts(self, name: str) -> None:
        if self.description.kind == "output":
            raise InputError(
                "no-continuation",
                f"`{name}` needs a program that predicts tokens, this one gives values",
                help="use `run`",
            )

    def _most_written(self, n: object) -> int:
        if n is None:
            # One more than fits, so that what stops a text is the context and not its length.
            return MOST_WRITTEN if self.config.encoder is None else self.config.context + 1
        most = whole_number("bad-length", "`n`", n)
        if most < 0:
            raise InputError("bad-length", f"cannot write {most} tokens")
        return most

    def _readings(
        self, text: str | Sequence[Any], target: str | Sequence[Any]
    ) -> tuple[list[Reading], bool]:
        return read_texts(self.vocabulary, self.source_vocabulary, text, target)

    def _source_ids(self, reading: Reading) -> Ids | None:
        encoder, vocabulary = self.config.encoder, self.source_vocabulary
        if reading.source is None or encoder is None or vocabulary is None:
            return None
        return source_ids(encoder, vocabulary, reading.source)

    def _run(self, readings: list[Reading]) -> list[list[Result]]:
        hidden = self.config.start + (self.vocabulary.bos is not None)
        return [
            read_values(self.config, self.vocabulary, self.description, rows[hidden:])
            for rows in self._logits(readings, text_ids)
        ]

    def _last_logits(self, readings: list[Reading]) -> list[Array]:
        for reading in readings:
            self._check_goes_on(reading.tokens)
        ids_of = window if self.config.encoder is None else text_ids
        return [rows[-1] for rows in self._logits(readings, ids_of)]

    def _logits(self, readings: list[Reading], ids_of: Callable[..., Ids]) -> list[Array]:
        inputs = [
            Input(ids_of(self.config, self.vocabulary, each.tokens), self._source_ids(each))
            for each in readings
        ]
        return logits_of(self.parameters, inputs)

    def _check_goes_on(self, tokens: tuple[Token, ...]) -> None:
        """Refuse a text of which a pattern says that nothing can follow, as far as that is known.

        Of a text beyond the context it is known where its end decides.
        """
        guide = self.description.guide
        known = self.description.window_safe or len(tokens) <= self.config.context
        if guide is not None and known and tokens:
            guide.check(tokens, self.vocabulary)

    def _possible(self, logits: Array) -> Array:
        return forbid(logits[: len(self.vocabulary)], never_produced(self.vocabulary))
