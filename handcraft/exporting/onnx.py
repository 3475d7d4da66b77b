"""A model as one ONNX file: the computation of `runtime/transformer.py`, node by node.

Inputs are token ids as `Model.encode` returns them, a hidden start token included: `input_ids`
`[batch, n_seq]`, int64. A model with an encoder reads its source from `input_ids`
`[batch, n_source]`, as `Model.encode_source` returns it, and the text that is written from
`decoder_input_ids` `[batch, n_seq]`. Batch and lengths are free, but there is no padding: all rows
of a batch have the same length, so a model that sees both directions is given texts of different
lengths in batches of their own. A causal model may be given rows that are filled up on the right
with any id; what it says there means nothing.

More positions than the model has, and ids that it does not know, end in an error of the software
that runs the file. A number that leaves the floating-point format does not, other than in `Model`;
in a format for which the model is proved, none leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, pi, sqrt
from typing import TYPE_CHECKING, NamedTuple, assert_never

import numpy as np

from handcraft.errors import HandcraftError
from handcraft.exporting.onnx_graph import Graph
from handcraft.extras import extra
from handcraft.runtime.manifest import Manifest, write_manifest
from handcraft.runtime.storage import MANIFEST
from handcraft.runtime.weights import ENCODER
from handcraft.version import __version__

if TYPE_CHECKING:
    from handcraft.runtime.config import Config
    from handcraft.runtime.model import Model

OPERATORS = 18
"""The operator set: the oldest one in which all reductions take their axes alike.

ONNX Runtime has all operators that are used, in float32 and float64.
"""

FORMAT = 8
"""The version of the file format that came with that operator set."""

LARGEST = (1 << 31) - 1
"""Bytes that one such file may have."""

POINTS = 24
"""Points at which the integral of erf is taken in float64: enough for an error of 2e-15."""


def onnx_model(model: Model, *, patterns: bool = False) -> bytes:
    """Return an ONNX file with the output `logits` `[batch, n_seq, n_out]`.

    The arrays have their GPT-2 names, the manifest is in the metadata under `handcraft.json`, and
    the same model gives the same bytes.

    Args:
        model: any model.
        patterns: let the attention of every layer be an output too: `h.0.attn.pattern`
            `[batch, n_head, n_seq, n_seq]`, `h.0.crossattention.pattern`
            `[batch, n_cross, n_seq, n_source]`, `encoder.h.0.attn.pattern`.

    Raises:
        HandcraftError: `missing-extra` without the library `onnx`; `too-large` for one file.
    """
    onnx = extra("onnx")
    told = Manifest(model.config, model.vocabulary, model.description, model.source_vocabulary)
    manifest = write_manifest(told)
    _check_size(model, manifest)
    graph = Graph(onnx, model.parameters)
    _write(graph, model.config, patterns=patterns)
    made = onnx.helper.make_model(
        graph.done("handcraft"),
        opset_imports=[onnx.helper.make_opsetid("", OPERATORS)],
        ir_version=FORMAT,
        producer_name="handcraft",
        producer_version=__version__,
    )
    onnx.helper.set_model_props(made, {MANIFEST: manifest})
    onnx.checker.check_model(made, full_check=True)
    written: bytes = made.SerializeToString(deterministic=True)
    return written


def _check_size(model: Model, manifest: str) -> None:
    size = len(manifest) + sum(array.nbytes for array in model.weights.values())
    if size > LARGEST:
        raise HandcraftError(
            "too-large",
            f"{size} bytes are more than the {LARGEST} that an ONNX file can have",
            help="export the model in a smaller format",
        )


@dataclass(frozen=True, slots=True)
class _Stack:
    """A transformer in the graph: the model's own, or its encoder.

    Attributes:
        graph: where it is written.
        config: its sizes.
        prefix: what stands in front of the names of its arrays.
        length: the name of the axis of its positions.
        patterns: whether its patterns are outputs.
    """

    graph: Graph
    config: Config
    prefix: str
    length: str
    patterns: bool


class _Sequence(NamedTuple):
    """The values that stand for a sequence.

    Attributes:
        ids: `[batch, n]`, each a row of `wte.weight` or beyond its end.
        length: `[1]`, how many positions there are.
        places: `[n]`, counted from 0.
    """

    ids: str
    length: str
    places: str


class _Source(NamedTuple):
    """What cross heads read: the encoder's stream, which positions of it, and their axis."""

    stream: str
    seen: str
    length: str


class _Heads(NamedTuple):
    """Heads that stand side by side: their name, number and width, and the axis of their keys."""

    name: str
    number: int
    width: int
    keys: str


def _write(graph: Graph, config: Config, *, patterns: bool) -> None:
    graph.output("logits", ("batch", "n_seq", config.n_out))
    source = None
    if config.encoder is not None:
        stack = _Stack(graph, config.encoder, ENCODER, "n_source", patterns)
        read = _sequence(stack, graph.ids("input_ids", ("batch", "n_source")))
        source = _Source(_final(stack, read, None), _all_seen(graph, read), "n_source")
    name = "input_ids" if source is None else "decoder_input_ids"
    stack = _Stack(graph, config, "", "n_seq", patterns)
    final = _final(stack, _sequence(stack, graph.ids(name, ("batch", "n_seq"))), source)
    rows = "wte.weight" if config.tied else "lm_head.weight"
    graph.node("MatMul", final, graph.node("Transpose", rows, perm=[1, 0]), to="logits")


def _sequence(stack: _Stack, ids: str) -> _Sequence:
    """Measure a sequence, and send negative ids, which would count from the end, out of bounds."""
    graph = stack.graph
    zero = graph.integer(0)
    below = graph.node("Less", ids, zero)
    known = graph.node("Where", below, graph.integer(stack.config.n_vocab), ids)
    length = graph.node("Shape", ids, start=1, end=2)
    end = graph.node("Squeeze", length, graph.integers(0))
    return _Sequence(known, length, graph.node("Range", zero, end, graph.integer(1)))


def _final(stack: _Stack, sequence: _Sequence, source: _Source | None) -> str:
    """Write a transformer up to the stream that the unembedding or cross heads read."""
    graph, config = stack.graph, stack.config
    causal = config.attention == "causal"
    seen = _earlier_seen(graph, sequence) if causal else _all_seen(graph, sequence)
    x = _embed(stack, sequence)
    for number, layer in enumerate(config.layers):
        h = f"{stack.prefix}h.{number}"
        if layer.n_head:
            out = _attend_within(stack, number, _normed(stack, f"{h}.ln_1", x), seen)
            x = _added(stack, f"{h}.ln_1", x, out)
        if layer.n_cross and source is not None:
            read = _normed(stack, f"{h}.ln_cross_attn", x)
            out = _attend_across(stack, number, read, source)
            x = _added(stack, f"{h}.ln_cross_attn", x, out)
        if layer.d_mlp:
            out = _feed_forward(stack, f"{h}.mlp", _normed(stack, f"{h}.ln_2", x))
            x = _added(stack, f"{h}.ln_2", x, out)
    return _normed(stack, f"{stack.prefix}ln_f", x)


def _earlier_seen(graph: Graph, sequence: _Sequence) -> str:  # [n_query, n_key]
    queries = graph.node("Unsqueeze", sequence.places, graph.integers(1))
    return graph.node("LessOrEqual", sequence.places, queries)


def _all_seen(graph: Graph, sequence: _Sequence) -> str:  # [n_key]
    return graph.node("GreaterOrEqual", sequence.places, graph.integer(0))


def _embed(stack: _Stack, sequence: _Sequence) -> str:  # [batch, n] -> [batch, n, d_model]
    """Add the embeddings of tokens and positions.

    Cutting rows off at the end says nothing where there are too few; giving them their shape does.
    """
    graph, prefix = stack.graph, stack.prefix
    tokens = graph.node("Gather", f"{prefix}wte.weight", sequence.ids)
    rows = graph.node("Slice", f"{prefix}wpe.weight", graph.integers(0), sequence.length)
    width = graph.integers(stack.config.d_model)
    shape = graph.node("Concat", sequence.length, width, axis=0)
    positions = graph.node("Reshape", rows, shape, allowzero=1)
    return graph.node("Add", tokens, positions, to=f"{prefix}embedding")


def _normed(stack: _Stack, name: str, x: str) -> str:
    if not stack.config.layer_norm or stack.config.norm_place == "after":
        return x
    return _layer_norm(stack, name, x)


def _added(stack: _Stack, name: str, x: str, out: str) -> str:
    total = stack.graph.node("Add", x, out)
    if not stack.config.layer_norm or stack.config.norm_place == "before":
        return total
    return _layer_norm(stack, name, total)


def _layer_norm(stack: _Stack, name: str, x: str) -> str:
    """Write a norm in single steps: the operator for it keeps epsilon in float32."""
    graph, last = stack.graph, stack.graph.integers(-1)
    centred = graph.node("Sub", x, graph.node("ReduceMean", x, last))
    variance = graph.node("ReduceMean", graph.node("Mul", centred, centred), last)
    shifted = graph.node("Add", variance, graph.number(stack.config.layer_norm_epsilon))
    scaled = graph.node("Div", centred, graph.node("Sqrt", shifted))
    product = graph.node("Mul", scaled, f"{name}.weight")
    return graph.node("Add", product, f"{name}.bias")


def _linear(graph: Graph, name: str, x: str) -> str:
    return graph.node("Add", graph.node("MatMul", x, f"{name}.weight"), f"{name}.bias")


def _attend_within(stack: _Stack, number: int, x: str, seen: str) -> str:
    graph, layer = stack.graph, stack.config.layers[number]
    name = f"{stack.prefix}h.{number}.attn"
    packed = _linear(graph, f"{name}.c_attn", x)
    width = layer.n_head * layer.d_head
    q, k, v = graph.nodes(
        "Split", packed, graph.integers(width, width, width), to=("", "", ""), axis=-1
    )
    sizes = _Heads(name, layer.n_head, layer.d_head, stack.length)
    return _attend(stack, sizes, (q, k, v), seen)


def _attend_across(stack: _Stack, number: int, x: str, source: _Source) -> str:
    graph, layer = stack.graph, stack.config.layers[number]
    name = f"{stack.prefix}h.{number}.crossattention"
    q = _linear(graph, f"{name}.q_attn", x)
    packed = _linear(graph, f"{name}.c_attn", source.stream)
    width = layer.n_cross * layer.d_cross
    k, v = graph.nodes("Split", packed, graph.integers(width, width), to=("", ""), axis=-1)
    sizes = _Heads(name, layer.n_cross, layer.d_cross, source.length)
    return _attend(stack, sizes, (q, k, v), source.seen)


def _attend(stack: _Stack, heads: _Heads, qkv: tuple[str, str, str], seen: str) -> str:
    """Score the keys, mix the values, and project the heads back into the stream.

    The mask stands between the product and the division by sqrt(d_head), also where every key is
    seen: side by side, ONNX Runtime makes one operation of them, which multiplies by the
    reciprocal and may do so before the sum is whole.
    """
    graph = stack.graph
    q = _by_head(graph, heads, qkv[0], [0, 2, 1, 3])
    k = _by_head(graph, heads, qkv[1], [0, 2, 3, 1])
    v = _by_head(graph, heads, qkv[2], [0, 2, 1, 3])
    products = graph.node("Where", seen, graph.node("MatMul", q, k), graph.number(-inf))
    scores = graph.node("Div", products, graph.number(sqrt(heads.width)))
    pattern = _softmax(graph, scores, to=f"{heads.name}.pattern")
    if stack.patterns:
        graph.output(pattern, ("batch", heads.number, stack.length, heads.keys))
    by_place = graph.node("Transpose", graph.node("MatMul", pattern, v), perm=[0, 2, 1, 3])
    shape = graph.integers(0, 0, heads.number * heads.width)
    return _linear(graph, f"{heads.name}.c_proj", graph.node("Reshape", by_place, shape))


def _by_head(graph: Graph, heads: _Heads, x: str, order: list[int]) -> str:
    shape = graph.integers(0, 0, heads.number, heads.width)
    return graph.node("Transpose", graph.node("Reshape", x, shape), perm=order)


def _softmax(graph: Graph, x: str, *, to: str) -> str:
    """Write exp(x) / sum exp(x), with a share of exactly 0 where x is -inf.

    The operator for it is not taken: ONNX Runtime's multiplies by the reciprocal of the sum.
    """
    last = graph.integers(-1)
    shares = graph.node("Exp", graph.node("Sub", x, graph.node("ReduceMax", x, last)))
    return graph.node("Div", shares, graph.node("ReduceSum", shares, last), to=to)


def _feed_forward(stack: _Stack, name: str, x: str) -> str:
    pre = _linear(stack.graph, f"{name}.c_fc", x)
    return _linear(stack.graph, f"{name}.c_proj", _activate(stack, pre))


def _activate(stack: _Stack, x: str) -> str:
    graph = stack.graph
    match stack.config.activation:
        case "relu":
            return graph.node("Relu", x)
        case "gelu_new":
            cube = graph.node("Mul", x, graph.node("Mul", x, x))
            bent = graph.node("Add", x, graph.node("Mul", cube, graph.number(0.044715)))
            scaled = graph.node("Mul", bent, graph.number(sqrt(2 / pi)))
            return _gated(graph, x, graph.node("Tanh", scaled))
        case "gelu":
            return _gated(graph, x, _erf(graph, graph.node("Div", x, graph.number(sqrt(2)))))
        case _:
            assert_never(stack.config.activation)


def _gated(graph: Graph, x: str, gate: str) -> str:
    half = graph.node("Mul", x, graph.number(0.5))
    return graph.node("Mul", half, graph.node("Add", gate, graph.number(1.0)))


def _erf(graph: Graph, x: str) -> str:
    """Write erf, which ONNX Runtime lacks in float64: there as an integral, summed by Gauss.

    erf(x) = 2 / sqrt(pi) * x * integral of exp(-(x t)^2) over t from 0 to 1; beyond 6 it is 1.
    """
    if not graph.is_double:
        return graph.node("Erf", x)
    points, shares = np.polynomial.legendre.leggauss(POINTS)
    at = graph.array("erf.points", (points + 1) / 2)
    weights = graph.array("erf.weights", (shares / sqrt(pi))[:, None])
    last = graph.integers(-1)
    angles = graph.node("Mul", graph.node("Unsqueeze", x, last), at)
    heights = graph.node("Exp", graph.node("Neg", graph.node("Mul", angles, angles)))
    mean = graph.node("Squeeze", graph.node("MatMul", heights, weights), last)
    near = graph.node("Less", graph.node("Abs", x), graph.number(6.0))
    return graph.node("Where", near, graph.node("Mul", x, mean), graph.node("Sign", x))
