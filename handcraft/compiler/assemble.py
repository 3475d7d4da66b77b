"""Placed graph -> weights: the one place where names become rows and columns of matrices."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from handcraft.compiler.certificate.scales import NO_LEAK, Scaling, scale
from handcraft.compiler.forms import START, Direction, Form, Number, whole
from handcraft.compiler.graph import (
    CrossReadout,
    LogitReadout,
    NumberReadout,
    TokenReadout,
    ValueReadout,
    Writes,
)
from handcraft.compiler.place import neuron_count
from handcraft.compiler.rounding import rounded, zeros
from handcraft.errors import ProgramError
from handcraft.runtime.config import Attention, Config, Readout
from handcraft.runtime.weights import ENCODER, Array, Weights, shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from handcraft.compiler.graph import Head
    from handcraft.compiler.place import Placed, PlacedLayer
    from handcraft.language.typed import Header
    from handcraft.runtime.config import LayerConfig

MOST_PARAMETERS = 2**28
"""A larger model is refused: a gigabyte in float32."""


def assemble(placed: Placed, header: Header, dtype: str, scaling: Scaling = NO_LEAK) -> Weights:
    """Return the weights of a placed graph, each rounded once from an exact rational.

    Args:
        placed: the graph with its layers and columns.
        header: vocabulary, context and attention.
        dtype: `float64`, `float32` or `float16`.
        scaling: of the scores.

    Raises:
        ProgramError: `too-large`.
        HandcraftError: where the format cannot hold a weight.
    """
    config = config_of(placed, header)
    size = sum(map(prod, shapes(config).values()))
    if size > MOST_PARAMETERS:
        message = f"the model would have {size} parameters, d_model {config.d_model}"
        help_ = "use a smaller context or vocabulary, or fewer s-ops with many values"
        raise ProgramError("too-large", message, help=help_)
    writer = _Writer(placed.columns, placed.d_model, dtype, scaling)
    source: _Writer | None = None
    arrays: dict[str, Array] = {}
    if placed.encoder is not None and config.encoder is not None:
        source = _Writer(placed.encoder.columns, placed.encoder.d_model, dtype, scaling)
        read = _layers(placed.encoder, config.encoder, source, None)
        arrays.update({f"{ENCODER}{name}": array for name, array in read.items()})
    arrays.update(_layers(placed, config, writer, source))
    head = _unembedding(placed, header, writer)
    if head is not None:
        arrays["lm_head.weight"] = head
    return Weights(config, arrays)


def _layers(
    placed: Placed, config: Config, writer: _Writer, source: _Writer | None
) -> dict[str, Array]:
    """Return the arrays of the embeddings and of all layers."""
    arrays: dict[str, Array] = {}
    arrays["wte.weight"], arrays["wpe.weight"] = _embeddings(placed, config, writer)
    for number, layer in enumerate(placed.layers):
        sizes = config.layers[number]
        if sizes.n_head:
            arrays.update(_attention(f"h.{number}.attn", layer, sizes, writer))
        if sizes.n_cross:
            assert source is not None, "cross heads read an encoder"
            name = f"h.{number}.crossattention"
            arrays.update(_crossing(name, layer, sizes, writer, source))
        if sizes.d_mlp:
            arrays.update(_mlp(f"h.{number}.mlp", layer, sizes, writer))
    return arrays


def config_of(placed: Placed, header: Header) -> Config:
    """Return the numbers of the architecture of a placed graph."""
    graph = placed.graph
    n_vocab = len(header.vocabulary) + graph.start
    n_out, readout = _readout(placed, header, n_vocab)
    attention: Attention = "causal" if header.attention == "causal" else "bidirectional"
    return Config(
        n_ctx=header.context + graph.start,
        n_vocab=n_vocab,
        d_model=placed.d_model,
        n_out=n_out,
        layers=placed.sizes,
        attention=attention,
        tied=isinstance(graph.readout, TokenReadout),
        start=graph.start,
        readout=readout,
        encoder=_encoder_of(placed, header),
    )


def _encoder_of(placed: Placed, header: Header) -> Config | None:
    if placed.encoder is None or header.source is None:
        return None
    start = placed.encoder.graph.start
    n_vocab = len(header.source.vocabulary) + start
    return Config(
        n_ctx=header.source.context + start,
        n_vocab=n_vocab,
        d_model=placed.encoder.d_model,
        n_out=n_vocab,
        layers=placed.encoder.sizes,
        attention="bidirectional",
        start=start,
    )


def _readout(placed: Placed, header: Header, n_vocab: int) -> tuple[int, Readout]:
    match placed.graph.readout:
        case TokenReadout():
            return n_vocab, "tokens"
        case LogitReadout():
            return len(header.vocabulary), "tokens"
        case ValueReadout(values):
            return len(values), "values"
        case NumberReadout():
            return 1, "number"
        case CrossReadout():
            raise AssertionError("an encoder has no logits")


class _Writer:
    """Writes forms and coefficients into matrices of one format."""

    def __init__(
        self, columns: Mapping[Direction, int], d_model: int, dtype: str, scaling: Scaling
    ) -> None:
        self.columns = columns
        self.scaling = scaling
        self.d_model = d_model
        self.dtype = dtype

    def zeros(self, *shape: int) -> Array:
        """Return a matrix of zeros."""
        return zeros(shape, self.dtype)

    def put(self, array: Array, place: tuple[int, ...], number: Number) -> None:
        """Set one entry."""
        array[place] = rounded(whole(number), self.dtype)

    def read(self, weight: Array, bias: Array, column: int, form: Form, scale: Number = 1) -> None:
        """Make an output column of a matrix `[d_model, n]` compute a form."""
        for d, coefficient in form.terms:
            self.put(weight, (self.columns[d], column), coefficient * scale)
        if form.constant:
            self.put(bias, (column,), form.constant * scale)

    def write(self, weight: Array, row: int, written: Writes) -> None:
        """Make an input row of a matrix `[n, d_model]` add to directions."""
        for d, coefficient in written:
            self.put(weight, (row, self.columns[d]), coefficient)

    def add_biases(self, bias: Array, written: Iterable[Writes]) -> None:
        """Set what operations add at every position, summed exactly."""
        total: dict[Direction, Number] = {}
        for d, value in (pair for writes in written for pair in writes):
            total[d] = total.get(d, 0) + value
        for d, value in total.items():
            self.put(bias, (self.columns[d],), value)


def _embeddings(placed: Placed, config: Config, writer: _Writer) -> tuple[Array, Array]:
    wte = writer.zeros(config.n_vocab, config.d_model)
    wpe = writer.zeros(config.n_ctx, config.d_model)
    for embedding in placed.graph.embeddings:
        for row, values in enumerate(embedding.rows):
            for index, value in enumerate(values):
                if not value:
                    continue
                column = writer.columns[(embedding.variable, index)]
                match embedding.by:
                    case "token":
                        writer.put(wte, (row, column), value)
                    case "position":
                        writer.put(wpe, (row + config.start, column), value)
                    case _:
                        writer.put(wte, (config.n_vocab - 1, writer.columns[START]), value)
    return wte, wpe


def _attention(
    name: str, layer: PlacedLayer, sizes: LayerConfig, writer: _Writer
) -> dict[str, Array]:
    """Return a layer's packed projections; the scale of the scores stands in the query matrix."""
    inner = sizes.n_head * sizes.d_head
    c_attn, b_attn = writer.zeros(writer.d_model, 3 * inner), writer.zeros(3 * inner)
    c_proj, b_proj = writer.zeros(inner, writer.d_model), writer.zeros(writer.d_model)
    q, k, v = (_Block(c_attn, b_attn, i * inner) for i in range(3))
    _heads(layer.heads, sizes.d_head, writer, writer, q, k, v, c_proj)
    writer.add_biases(b_proj, (head.bias for head in layer.heads))
    return _named(name, c_attn=(c_attn, b_attn), c_proj=(c_proj, b_proj))


def _crossing(
    name: str, layer: PlacedLayer, sizes: LayerConfig, writer: _Writer, source: _Writer
) -> dict[str, Array]:
    """Return a layer's projections of cross heads: queries from here, the rest from the source."""
    inner = sizes.n_cross * sizes.d_cross
    q_attn, b_q = writer.zeros(writer.d_model, inner), writer.zeros(inner)
    c_attn, b_attn = source.zeros(source.d_model, 2 * inner), source.zeros(2 * inner)
    c_proj, b_proj = writer.zeros(inner, writer.d_model), writer.zeros(writer.d_model)
    q = _Block(q_attn, b_q, 0)
    k, v = (_Block(c_attn, b_attn, i * inner) for i in range(2))
    _heads(layer.crosses, sizes.d_cross, writer, source, q, k, v, c_proj)
    writer.add_biases(b_proj, (head.bias for head in layer.crosses))
    return _named(name, q_attn=(q_attn, b_q), c_attn=(c_attn, b_attn), c_proj=(c_proj, b_proj))


class _Block(NamedTuple):
    """Columns of a projection, from `first` on, and their biases."""

    weight: Array
    bias: Array
    first: int


def _heads(
    heads: Sequence[Head],
    d_head: int,
    writer: _Writer,
    at_keys: _Writer,
    q: _Block,
    k: _Block,
    v: _Block,
    c_proj: Array,
) -> None:
    """Write what heads ask, what keys answer, and what is moved; `at_keys` reads the keys."""
    for number, head in enumerate(heads):
        first = number * d_head
        factor = whole(scale(head, d_head, writer.dtype, writer.scaling))
        for i, (query, key) in enumerate(zip(head.queries, head.keys, strict=True), first):
            writer.read(q.weight, q.bias, q.first + i, query, factor)
            at_keys.read(k.weight, k.bias, k.first + i, key)
        for i, column in enumerate(head.columns, first):
            at_keys.read(v.weight, v.bias, v.first + i, column.form)
            writer.write(c_proj, i, column.writes)


def _mlp(name: str, layer: PlacedLayer, sizes: LayerConfig, writer: _Writer) -> dict[str, Array]:
    c_fc, b_fc = writer.zeros(writer.d_model, sizes.d_mlp), writer.zeros(sizes.d_mlp)
    c_proj, b_proj = writer.zeros(sizes.d_mlp, writer.d_model), writer.zeros(writer.d_model)
    first = 0
    for mlp in layer.mlps:
        for i, neuron in enumerate(mlp.neurons):
            writer.read(c_fc, b_fc, first + i, neuron.pre)
            writer.write(c_proj, first + i, neuron.writes)
        first += neuron_count(mlp)
    writer.add_biases(b_proj, (mlp.bias for mlp in layer.mlps))
    return _named(name, c_fc=(c_fc, b_fc), c_proj=(c_proj, b_proj))


def _named(name: str, **layers: tuple[Array, Array]) -> dict[str, Array]:
    """Return matrices and biases of a sublayer under their names."""
    arrays = {}
    for layer, (weight, bias) in layers.items():
        arrays[f"{name}.{layer}.weight"], arrays[f"{name}.{layer}.bias"] = weight, bias
    return arrays


def _unembedding(placed: Placed, header: Header, writer: _Writer) -> Array | None:
    match placed.graph.readout:
        case TokenReadout():
            return None
        case ValueReadout(_, forms):
            rows = dict(enumerate(forms))
        case CrossReadout():
            return None
        case NumberReadout(form):
            rows = {0: form}
        case LogitReadout(tokens, forms):
            ids = (header.vocabulary.id(token) for token in tokens)
            rows = dict(zip(ids, forms, strict=True))
    n_out, _ = _readout(placed, header, 0)
    weight = writer.zeros(n_out, writer.d_model)
    for row, form in rows.items():
        for d, coefficient in form.terms:
            writer.put(weight, (row, writer.columns[d]), coefficient)
    return weight
