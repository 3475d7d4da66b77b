"""A program as users hold it: read from a file or a text, and interpreted exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from handcraft.errors import InputError, Notice, ProgramError, Source
from handcraft.language.elaborate import elaborate
from handcraft.language.files import read_source
from handcraft.language.header import Given
from handcraft.language.interpret import Answer, Meaning, answer, interpret, meaning_error
from handcraft.language.origin import Texts, from_files, from_origin
from handcraft.language.parse import parse as parse_tree
from handcraft.language.patterns import guide, guiding
from handcraft.language.typed import Allow, Ask, Example, Output, TypedProgram
from handcraft.language.values import Undefined
from handcraft.language.window import lookback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.language.elaborate import Reader
    from handcraft.language.syntax import Module
    from handcraft.runtime.guide import Guide
    from handcraft.runtime.recipe import Origin
    from handcraft.runtime.vocabulary import Text, Token, Vocabulary


MOST_WRITTEN = 10
"""Tokens that `complete` writes at most where it is not told how many, and there is no source."""


class Reading(NamedTuple):
    """What a program reads: a text, `bos` in front, and what stands beside it."""

    tokens: tuple[Token, ...]
    source: tuple[Token, ...] = ()


class Written(NamedTuple):
    """What a program has written, and whether `eos` follows."""

    text: str
    is_ended: bool


@dataclass(frozen=True)
class Program:
    """A checked program.

    Wherever a text is expected, a string or a list of tokens will do; a list of texts is refused.
    Of a program with a `source` the text is the source, and `target` what is written already,
    without `bos` if you like.

    Attributes:
        tree: what was written.
        typed: what was meant, with a domain for every s-op.
        origin: what it was read from, so that it can be read again.
    """

    tree: Module
    typed: TypedProgram
    origin: Origin

    @property
    def source(self) -> Source:
        """The program's text."""
        return self.typed.source

    @property
    def context(self) -> int:
        """The longest sequence that the program sees."""
        return self.typed.context

    @property
    def causal(self) -> bool:
        """Whether position i sees only keys j <= i."""
        return self.typed.causal

    @property
    def examples(self) -> tuple[Example, ...]:
        """The program's examples."""
        return self.typed.examples

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What is legal, but probably not what was meant."""
        return self.typed.notices

    @cached_property
    def lookback(self) -> int | None:
        """How many tokens at the end of a text decide what comes next; None if not bounded."""
        return lookback(self.typed)

    @cached_property
    def guide(self) -> Guide | None:
        """Which texts it can go on with, where it predicts what a pattern says."""
        number = guiding(self.typed.nodes)
        if number is None:
            return None
        asked = self.typed.nodes[number].op
        assert isinstance(asked, Ask)
        return guide(asked)

    @property
    def window_safe(self) -> bool:
        """Whether the last `context` tokens of a longer text are proved to decide what follows."""
        room = self.context - (self.typed.vocabulary.bos is not None)
        return self.lookback is not None and self.lookback <= room

    def meaning(self, text: Text, target: Text = "") -> Meaning:
        """Return the answers at all positions, a declared `bos` included, and the scope.

        Args:
            text: what is read; the source, in a program that has one.
            target: what is written already, beside a source.

        Raises:
            InputError: for an unknown token, or a text longer than its context; `bad-target` for
                a target without a source.
        """
        given = self._read(text, target)
        self._check_fits(given)
        return interpret(self.typed, given.tokens, source=given.source)

    def run(self, text: Text, target: Text = "") -> list[Answer]:
        """Return the answer at each position of a text, or of the target beside a source.

        Raises:
            InputError: as `meaning`.
            MeaningError: where the program has no meaning on this text.
        """
        given = self._read(text, target)
        self._check_fits(given)
        tokens, source = given
        answers = interpret(self.typed, tokens, source=source).answers if tokens else ()
        shown = answers[1:] if self.typed.vocabulary.bos is not None else answers
        first = len(answers) - len(shown)
        values: list[Answer] = []
        for place, found in enumerate(shown):
            if isinstance(found, Undefined):
                raise meaning_error(self.typed, tokens, place + first, source=source)
            values.append(found)
        return values

    def predict(self, text: Text, target: Text = "") -> Token:
        """Return the next token after a text, or after the target that is written from a source.

        Of several that are allowed it is the first.

        Raises:
            InputError: for an unknown token, an empty text, or an `output` program.
            MeaningError: where the program has no meaning on this text.
        """
        given = self._read(text, target)
        if self.typed.header.source is not None:
            self._check_fits(given)
        return self._next(given)

    def complete(self, text: Text, n: int | None = None, *, slide: bool = False) -> str:
        """Return the greedy continuation of a text by at most n tokens, 10 if not given.

        It ends before `eos`, and at the context where the window may not slide. From a source the
        whole text is written, up to n tokens only if that is given.

        Raises:
            InputError: for an unknown token, an empty text, an `output` program, or an n that is
                no number of tokens.
            MeaningError: where the program has no meaning on what it has to read.
        """
        return self.written(text, n, slide=slide).text

    def written(self, text: Text, n: int | None = None, *, slide: bool = False) -> Written:
        """Return what `complete` does, and whether `eos` follows.

        Raises:
            InputError: as `complete`.
            MeaningError: as `complete`.
        """
        given = self._read(text, "")
        has_source = self.typed.header.source is not None
        if has_source and slide:
            raise InputError("bad-slide", "a text that is written from a source never slides")
        if n is None:
            n = self.context + 1 if has_source else MOST_WRITTEN
        _check_length(n)
        if has_source:
            self._check_fits(given)
        vocabulary = self.typed.vocabulary
        tokens = list(given.tokens)
        made: list[Token] = []
        slides = slide or self.window_safe
        for _ in range(n):
            if len(tokens) > self.context and not slides:
                break
            token = self._next(Reading(tuple(tokens), given.source))
            if token == vocabulary.eos:
                return Written(vocabulary.join(made), is_ended=True)
            tokens.append(token)
            made.append(token)
        return Written(vocabulary.join(made), is_ended=False)

    def _read(self, text: Text, target: Text) -> Reading:
        source = self.typed.header.source
        if source is not None:
            tokens = self.typed.vocabulary.split(target, "<target>")
            return Reading(tokens, self._tokens(text, source.vocabulary))
        if not isinstance(target, str | list | tuple) or target:
            message = "only a program with a `source` is given a target"
            raise InputError("bad-target", message, help="give the text alone")
        return Reading(self._tokens(text, self.typed.vocabulary))

    def _check_fits(self, given: Reading) -> None:
        source = self.typed.header.source
        if source is not None and len(given.source) > source.context:
            message = f"the source has {len(given.source)} tokens, and its context holds"
            help_ = "shorten the source, or give it a larger `context`"
            raise InputError("too-long", f"{message} {source.context}", help=help_)
        if len(given.tokens) > self.context:
            count = f"{len(given.tokens)} tokens"
            if self.typed.vocabulary.bos is not None:
                count += " with `bos`"
            message = f"the text has {count}, and the context holds {self.context}"
            help_ = "shorten the text, or give the program a larger `context`"
            raise InputError("too-long", message, help=help_)

    def _tokens(self, text: Text, vocabulary: Vocabulary) -> tuple[Token, ...]:
        if isinstance(text, list | tuple) and any(_is_text(each, vocabulary) for each in text):
            message = "a program reads one text at a time, and this is a list of texts"
            help_ = "call it for each of them, or compile the program: a model takes lists"
            raise InputError("bad-text", message, help=help_)
        return vocabulary.split(text)

    def _next(self, given: Reading) -> Token:
        tokens = given.tokens
        if isinstance(self.typed.result, Output):
            message = "an `output` program says a value at each position, and no next token"
            raise InputError("no-continuation", message, help="use `run`")
        if not tokens:
            message = "an empty text has no last token to continue from"
            raise InputError(
                "empty-text", message, help="give a token, or declare a start token: `bos`"
            )
        first = tokens[:1] if self.typed.vocabulary.bos is not None else ()
        cut = max(len(first), len(tokens) - self.context + len(first))
        window, before = (*first, *tokens[cut:]), tokens[len(first) : cut]
        if not self.window_safe:
            before = ()
        if self.guide is not None and (before or cut == len(first)):
            self.guide.check(tokens, self.typed.vocabulary)
        found = answer(self.typed, window, -1, before, given.source)
        if isinstance(self.typed.result, Allow):
            assert isinstance(found, tuple)
            return found[0]
        assert isinstance(found, str | int)
        return found


def parse(
    program: str | Path,
    *,
    vocab: str | Sequence[Token] | range | None = None,
    context: int | None = None,
    attention: str | None = None,
    output: str | None = None,
) -> Program:
    """Read and check a program.

    Args:
        program: a `Path`, a string that ends in `.rasp` (a path too), or the text itself.
        vocab: tokens, instead of the program's `vocab`: characters, a list or a range.
        context: instead of the program's `context`.
        attention: `"causal"` or `"bidirectional"`, instead of the program's.
        output: an expression that replaces the program's result.

    Raises:
        ProgramError: with every mistake of the program, or of what is given.
        FileError: if a file cannot be read.
    """
    source = _source(program)
    return _checked(source, Given(vocab, context, attention), output, from_files)


def parse_again(origin: Origin) -> Program:
    """Read and check a program from what it was read from before, without any file.

    Raises:
        ProgramError: where it is no program any more.
    """
    main = Source(origin.texts[0].text, origin.texts[0].name)
    given = Given(origin.vocab, origin.context, origin.attention)
    return _checked(main, given, origin.output, from_origin(origin, main))


def _checked(source: Source, given: Given, output: str | None, reader: Reader) -> Program:
    tree = parse_tree(source)
    wanted = None if output is None else _expression(output)
    texts = Texts(source, reader)
    typed = elaborate(tree, given=given, output=wanted, reader=texts.read)
    return Program(tree, typed, texts.origin(given, output))


def _source(program: object) -> Source:
    """Return a program's text, under the path that its `load` statements start from."""
    if not isinstance(program, str | PathLike):
        message = f"a program is its text or the path of a file, found `{type(program).__name__}`"
        help_ = "give `Path(...)`, a string that ends in `.rasp`, or the text"
        raise ProgramError("type", message, help=help_)
    if isinstance(program, str) and (not program.endswith(".rasp") or "\n" in program):
        return Source(program)
    path = Path(program)
    return read_source(path, path.as_posix())


def _expression(output: object) -> Source:
    """Return the text of an expression that is given from outside."""
    help_ = 'write `output="sort(tokens, tokens)"`'
    if not isinstance(output, str):
        message = f"`output` is the text of an expression, found `{type(output).__name__}`"
        raise ProgramError("type", message, help=help_)
    if all(line.partition("#")[0].strip() == "" for line in output.splitlines()):
        raise ProgramError("syntax", "`output` has no expression in it", help=help_)
    return Source(output, "<output>")


def _is_text(item: object, vocabulary: Vocabulary) -> bool:
    """Return whether an item of a list is no token, but a text of its own."""
    if not isinstance(item, str) or item in vocabulary:
        return isinstance(item, list | tuple)
    try:
        vocabulary.split(item)
    except InputError:
        return False
    return True


def _check_length(n: object) -> None:
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise InputError("bad-length", f"`n` is a whole number of tokens, found `{n!r}`")
    if int(n) < 0:
        raise InputError("bad-length", f"cannot write {n} tokens")
