"""What a model computes, in floating-point operations, and what it keeps in memory.

The convention is that of the scaling laws of language models (Kaplan et al., 2020): 2 FLOPs for
each multiply-add of a matrix product, and nothing for what grows with one size alone: look-ups,
sums in the stream, biases, softmax with its division, norms and activations. Each part is linear
in the positions and pairs of positions that it is applied to, so passes are added before they are
multiplied by the weights.

Beside all products stand those of an engine that leaves zeros out: products with weights that are
not zero, and of queries and keys the pairs that are seen, about half of them where attention is
causal. Activations are never taken to be zero, so these products stay as wide as the heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from handcraft.errors import InputError
from handcraft.runtime.arguments import whole_number
from handcraft.runtime.weights import ENCODER, Count, shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from handcraft.runtime.config import Config
    from handcraft.runtime.description import SequenceName
    from handcraft.runtime.model import Model

Counts: TypeAlias = "Mapping[str, Count]"


class Flops(NamedTuple):
    """Floating-point operations: of all products, and of those that are not left out as zero."""

    total: int
    nonzero: int


@dataclass(frozen=True, slots=True)
class Part:
    """What one matrix, or one product of activations, costs.

    Attributes:
        where: `embedding`, `layer 0`, `unembedding`; of an encoder `encoder layer 0`.
        name: which product of a layer: `q, k, v`, `scores`, `mixing`, `output`, `MLP in` and
            `MLP out`; of heads that read a source `cross q` and so on; outside of layers empty.
        sequence: whose positions it is computed for; what belongs to the source is the same
            whatever is written.
        flops: its operations.
    """

    where: str
    name: str
    sequence: SequenceName
    flops: Flops


@dataclass(frozen=True, slots=True)
class Cost:
    """What a model takes to read a text, and to write it token by token.

    Attributes:
        tokens: of the text, `bos` included.
        source_tokens: of the source, in a model that has one.
        positions: those of the text, a hidden start token included.
        parts: one pass over all positions, and before it over the source, part by part.
        with_cache: the text token by token, each position computed once; None where attention is
            bidirectional, since every new token then changes what the others say.
        without_cache: a whole pass over 1, 2, ... tokens, each time with the source.
        parameters: numbers in all arrays.
        parameter_bytes: what they take in their format, zeros included.
        cache_bytes: keys and values of one position of the text; None without a cache.
        source_cache_bytes: keys and values of one position of the source.
    """

    tokens: int
    source_tokens: int | None
    positions: int
    parts: tuple[Part, ...]
    with_cache: Flops | None
    without_cache: Flops
    parameters: Count
    parameter_bytes: int
    cache_bytes: int | None
    source_cache_bytes: int

    @property
    def flops(self) -> Flops:
        """One pass over the text, and over its source."""
        return _sum(self.parts)

    @property
    def source_flops(self) -> Flops:
        """The share of the source, which a cache pays once for everything that is written."""
        return _sum(part for part in self.parts if part.sequence == "source")


def cost(model: Model, tokens: int | None = None, *, source: int | None = None) -> Cost:
    """Return what a model takes for a text of so many tokens.

    Args:
        model: any model.
        tokens: how long the text is, `bos` included; the context if not given.
        source: how long the source is; its context if not given.

    Raises:
        InputError: `bad-length`, `too-long`; `no-source` where there is no encoder.
    """
    config, encoder = model.config, model.config.encoder
    n_tokens, n_source = _length("text", config, tokens, least=1), None
    read = _NOTHING
    if encoder is not None:
        n_source = _length("source", encoder, source, least=0)
        read = _pass(encoder, n_source + encoder.start)
    elif source is not None:
        raise InputError("no-source", "this model has no encoder", help="give no length of one")
    first, n_seq = 1 + config.start, n_tokens + config.start
    again = [_work(_pass(config, length), read) for length in range(first, n_seq + 1)]
    counts, width = model.parameters.counts(), model.parameters.dtype.itemsize
    parameters = Count(*map(sum, zip(*counts.values(), strict=True)))
    own = sum(layer.n_head * layer.d_head for layer in config.layers)
    across = sum(layer.n_cross * layer.d_cross for layer in config.layers)
    causal = config.attention == "causal"
    kept = _sum(_parts(config, counts, _work(_kept(first, n_seq), read))) if causal else None
    return Cost(
        tokens=n_tokens,
        source_tokens=n_source,
        positions=n_seq,
        parts=tuple(_parts(config, counts, again[-1])),
        with_cache=kept,
        without_cache=_sum(_parts(config, counts, _together(again))),
        parameters=parameters,
        parameter_bytes=width * parameters.total,
        cache_bytes=2 * width * own if causal else None,
        source_cache_bytes=2 * width * across,
    )


class _Rows(NamedTuple):
    """Positions that are computed, and pairs of query and key: all of them, and those seen."""

    positions: int
    pairs: int
    seen: int


_NOTHING = _Rows(0, 0, 0)


class _Work(NamedTuple):
    """What is computed of the text and of the source, and pairs of a position in each."""

    text: _Rows
    source: _Rows
    across: int


def _length(name: str, config: Config, given: int | None, *, least: int) -> int:
    if given is None:
        return config.context
    length = whole_number("bad-length", f"the length of the {name}", given)
    if length < least:
        tokens = "1 token" if least == 1 else f"{least} tokens"
        raise InputError("bad-length", f"the {name} has at least {tokens}, not {length}")
    if length > config.context:
        raise InputError(
            "too-long",
            f"the {name} has {length} tokens, its context is {config.context}",
            help="ask for fewer tokens, or compile the program with a larger context",
        )
    return length


def _pass(config: Config, n_seq: int) -> _Rows:
    """Return what one pass computes; hidden pairs are multiplied too, and then masked."""
    causal = config.attention == "causal"
    return _Rows(n_seq, n_seq**2, n_seq * (n_seq + 1) // 2 if causal else n_seq**2)


def _kept(first: int, n_seq: int) -> _Rows:
    """Return what is computed with a cache: `first` positions, then one by one up to `n_seq`."""
    seen = n_seq * (n_seq + 1) // 2
    return _Rows(n_seq, seen + first * (first - 1) // 2, seen)


def _work(text: _Rows, source: _Rows) -> _Work:
    return _Work(text, source, text.positions * source.positions)


def _together(passes: list[_Work]) -> _Work:
    texts, sources, across = zip(*passes, strict=True)
    return _Work(_all(texts), _all(sources), sum(across))


def _all(rows: Iterable[_Rows]) -> _Rows:
    return _Rows(*map(sum, zip(*rows, strict=True)))


def _parts(config: Config, counts: Counts, work: _Work) -> Iterator[Part]:
    """Yield what each part of a model costs, in the order of the computation."""
    if config.encoder is not None:
        own = {name: counts[f"{ENCODER}{name}"] for name in shapes(config.encoder)}
        for part in _stream(config.encoder, own, _work(work.source, _NOTHING)):
            yield Part(f"encoder {part.where}", part.name, "source", part.flops)
    yield from _stream(config, counts, work)
    matrix = counts["wte.weight" if config.tied else "lm_head.weight"]
    yield Part("unembedding", "", "tokens", _product(work.text, matrix))


def _stream(config: Config, counts: Counts, work: _Work) -> Iterator[Part]:
    """Yield the parts that write to the residual stream."""
    yield Part("embedding", "", "tokens", Flops(0, 0))
    for number, layer in enumerate(config.layers):
        where = f"layer {number}"
        matrices = {name: counts.get(f"h.{number}.{name}.weight", Count(0, 0)) for name in _LINEAR}
        products = {name: _product(work.text, count) for name, count in matrices.items()}
        if layer.n_head:
            mixed = _mixed(layer.n_head * layer.d_head, work.text)
            yield Part(where, "q, k, v", "tokens", products["attn.c_attn"])
            yield Part(where, "scores", "tokens", mixed)
            yield Part(where, "mixing", "tokens", mixed)
            yield Part(where, "output", "tokens", products["attn.c_proj"])
        if layer.n_cross:
            mixed = _mixed(layer.n_cross * layer.d_cross, _Rows(0, work.across, work.across))
            read = _product(work.source, matrices["crossattention.c_attn"])
            yield Part(where, "cross q", "tokens", products["crossattention.q_attn"])
            yield Part(where, "cross k, v", "source", read)
            yield Part(where, "cross scores", "tokens", mixed)
            yield Part(where, "cross mixing", "tokens", mixed)
            yield Part(where, "cross output", "tokens", products["crossattention.c_proj"])
        if layer.d_mlp:
            yield Part(where, "MLP in", "tokens", products["mlp.c_fc"])
            yield Part(where, "MLP out", "tokens", products["mlp.c_proj"])


_LINEAR = (
    *("attn.c_attn", "attn.c_proj"),
    *("crossattention.q_attn", "crossattention.c_attn", "crossattention.c_proj"),
    *("mlp.c_fc", "mlp.c_proj"),
)


def _product(rows: _Rows, matrix: Count) -> Flops:
    """Return the cost of a matrix that is applied to every position."""
    return Flops(2 * rows.positions * matrix.total, 2 * rows.positions * matrix.nonzero)


def _mixed(width: int, rows: _Rows) -> Flops:
    """Return the cost of one product for each pair and each number of a head."""
    return Flops(2 * rows.pairs * width, 2 * rows.seen * width)


def _sum(parts: Iterable[Part]) -> Flops:
    flops = [part.flops for part in parts]
    return Flops(sum(each.total for each in flops), sum(each.nonzero for each in flops))
