"""Placed graph -> weights: the one place where names become rows and columns of matrices."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, prod
from typing import TYPE_CHECKING

from handcraft.compiler.forms import START, Direction, Form, Number, whole
from handcraft.compiler.graph import (
    Head,
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
from handcraft.runtime.weights import Array, Weights, shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from handcraft.compiler.place import Placed, PlacedLayer
    from handcraft.language.typed import Header
    from handcraft.runtime.config import LayerConfig

VANISHING = {"float64": 746, "float32": 746, "float16": 18}
"""A score lower by this has a share of exactly 0 after the softmax: exp(-746) is 0 in float64.

float32 (104) takes the same weights as float64, so both formats run one model; float16 has no room.
"""

LARGEST_SCORE = {"float64": 2**52, "float32": 2**23, "float16": 2**10}
"""Units of score below which every partial sum is exact in a format."""

ROUNDOFF = {"float64": Fraction(1, 2**53), "float32": Fraction(1, 2**24)}
ROUNDOFF["float16"] = Fraction(1, 2**11)
"""The largest relative error of rounding to a format."""

MOST_PARAMETERS = 2**28
"""A larger model is refused: a gigabyte in float32."""


def assemble(placed: Placed, header: Header, dtype: str) -> Weights:
    """Return the weights of a placed graph, each rounded once from an exact rational.

    Args:
        placed: the graph with its layers and columns.
        header: vocabulary, context and attention.
        dtype: `float64`, `float32` or `float16`.

    Raises:
        ProgramError: where the format cannot hold the scores of a head.
        HandcraftError: where it cannot hold another weight.
    """
    _check_resolution(placed, dtype)
    arrays: dict[str, Array] = {}
    config = _config(placed, header)
    size = sum(map(prod, shapes(config).values()))
    if size > MOST_PARAMETERS:
        message = f"the model would have {size} parameters, d_model {config.d_model}"
        help_ = "use a smaller context or vocabulary, or fewer s-ops with many values"
        raise ProgramError("too-large", message, help=help_)
    writer = _Writer(placed.columns, placed.d_model, dtype)
    arrays["wte.weight"], arrays["wpe.weight"] = _embeddings(placed, config, writer)
    for number, layer in enumerate(placed.layers):
        sizes = config.layers[number]
        if sizes.n_head:
            arrays.update(_attention(f"h.{number}.attn", layer, sizes, writer))
        if sizes.d_mlp:
            arrays.update(_mlp(f"h.{number}.mlp", layer, sizes, writer))
    head = _unembedding(placed, header, writer)
    if head is not None:
        arrays["lm_head.weight"] = head
    return Weights(config, arrays)


def holds(placed: Placed, dtype: str) -> bool:
    """Return whether a format can tell apart all that the graph decides on."""
    finest = placed.graph.resolution
    scores = [h.largest for layer in placed.layers for h in layer.heads]
    fine = finest is None or finest.roundoff >= ROUNDOFF[dtype]
    return fine and max(scores, default=0) <= LARGEST_SCORE[dtype]


def _check_resolution(placed: Placed, dtype: str) -> None:
    finest = placed.graph.resolution
    if finest is not None and finest.roundoff < ROUNDOFF[dtype]:
        message = (
            f"a decision here needs numbers rounded to {float(finest.roundoff):.1g} of their size,"
            f" and {dtype} rounds to {float(ROUNDOFF[dtype]):.1g}"
        )
        help_ = "use a wider format, a smaller context, or `latest(...)` instead of a mean"
        raise ProgramError("format", message, finest.span, help=help_)


def _config(placed: Placed, header: Header) -> Config:
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


class _Writer:
    """Writes forms and coefficients into matrices of one format."""

    def __init__(self, columns: Mapping[Direction, int], d_model: int, dtype: str) -> None:
        self.columns = columns
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
    for number, head in enumerate(layer.heads):
        first = number * sizes.d_head
        scale = whole(_scale(head, sizes.d_head, writer.dtype))
        for i, (query, key) in enumerate(zip(head.queries, head.keys, strict=True)):
            writer.read(c_attn, b_attn, first + i, query, scale)
            writer.read(c_attn, b_attn, inner + first + i, key)
        for i, column in enumerate(head.columns):
            writer.read(c_attn, b_attn, 2 * inner + first + i, column.form)
            writer.write(c_proj, first + i, column.writes)
    writer.add_biases(b_proj, (head.bias for head in layer.heads))
    return {
        f"{name}.c_attn.weight": c_attn,
        f"{name}.c_attn.bias": b_attn,
        f"{name}.c_proj.weight": c_proj,
        f"{name}.c_proj.bias": b_proj,
    }


def _scale(head: Head, d_head: int, dtype: str) -> Fraction:
    """Return the smallest power of two at which a loser's share is exactly 0.

    Scores are divided by sqrt(d_head): the gap g must satisfy s g >= vanishing * sqrt(d_head).

    Raises:
        ProgramError: `format`, where the format cannot tell the head's scores apart.
    """
    if head.largest > LARGEST_SCORE[dtype]:
        message = (
            f"this head needs scores up to {head.largest}, exact only below {LARGEST_SCORE[dtype]}"
        )
        help_ = "use a smaller context, or fewer values of the score"
        raise ProgramError("format", f"{message} in {dtype}", head.span, help=help_)
    wanted = VANISHING[dtype] * (isqrt(d_head - 1) + 1) / head.gap
    scale = Fraction(1)
    while scale < wanted:
        scale *= 2
    while scale / 2 >= wanted:
        scale /= 2
    return scale


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
    return {
        f"{name}.c_fc.weight": c_fc,
        f"{name}.c_fc.bias": b_fc,
        f"{name}.c_proj.weight": c_proj,
        f"{name}.c_proj.bias": b_proj,
    }


def _unembedding(placed: Placed, header: Header, writer: _Writer) -> Array | None:
    match placed.graph.readout:
        case TokenReadout():
            return None
        case ValueReadout(_, forms):
            rows = dict(enumerate(forms))
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
