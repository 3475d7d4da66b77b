"""A placed graph whose logits have an unembedding of their own -> one that reads them tied.

Neurons of one last operation write the logit of each token to the direction that the token's
embedding writes, where a tied unembedding reads it, and take away the 1 that stands at the token
here. A logit f is relu(f) - relu(-f), of which one is left out where the other sign cannot be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.compiler.certificate.certify import bounds
from handcraft.compiler.certificate.rows import form_rows
from handcraft.compiler.forms import START, Form, direction
from handcraft.compiler.graph import LogitReadout, MlpOp, Neuron, TokenReadout, reads, writes
from handcraft.compiler.graph import verify as verify_graph
from handcraft.compiler.place import PlacedLayer, own_size, verify
from handcraft.compiler.purposes import Gate, Gates, Purpose
from handcraft.compiler.stock.token_onehot import free, with_token_onehot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.place import Placed
    from handcraft.errors import Span
    from handcraft.runtime.config import Config
    from handcraft.runtime.vocabulary import Vocabulary


def tied(placed: Placed, config: Config, vocabulary: Vocabulary, span: Span) -> Placed | None:
    """Return a placed graph that computes the same logits at the directions of the tokens.

    Args:
        placed: the graph in its places.
        config: of its model.
        vocabulary: numbers the tokens.
        span: of the statement that says the logits.

    Returns:
        None where the graph has no logits of tokens, or an operation has changed what would have
        to be read as an embedding wrote it.
    """
    if not isinstance(placed.graph.readout, LogitReadout):
        return None
    found = with_token_onehot(placed, tuple(map(str, vocabulary.tokens)))
    if found is None:
        return None
    own, name = found
    logits = _logits(own, config, vocabulary)
    embedded = {e.variable for e in own.graph.embeddings}
    changed = {d for op in own.graph.ops for d in writes(op) if d[0] in embedded}
    if any(d in changed for logit in logits for d in logit.form.directions):
        return None
    taken = own.clears | {op.name for op in own.graph.ops}
    op = _operation(free("logits", taken), name, logits, len(vocabulary), span)
    return _with_last(own, op, name)


class _Logit(NamedTuple):
    """The logit of a token: as it is read, as it is meant, and the signs that it can have."""

    token: int
    form: Form
    meant: Form | None
    signs: tuple[int, ...]


def _logits(placed: Placed, config: Config, vocabulary: Vocabulary) -> list[_Logit]:
    graph = placed.graph
    assert isinstance(graph.readout, LogitReadout)
    is_late = any(START in writes(op) for op in graph.ops)
    forms = [_by_bias(f) if is_late else f for f in graph.readout.forms]
    stream = bounds(placed, config).stream
    read = stream.read(form_rows(forms, stream.index))
    low, high = read.low, read.high
    if config.start:
        low, high = np.minimum(low, read.start), np.maximum(high, read.start)
    signs = [
        tuple(sign for sign, can_be in ((1, most > 0), (-1, least < 0)) if can_be)
        for least, most in zip(low.tolist(), high.tolist(), strict=True)
    ]
    ids = map(vocabulary.id, graph.readout.tokens)
    return list(map(_Logit, ids, forms, graph.answers, signs))


def _by_bias(form: Form) -> Form:
    """Return a form that has the 1 which the start direction is in the end from a bias."""
    rest = Form(tuple((d, c) for d, c in form.terms if d != START), form.constant)
    return rest.plus(dict(form.terms).get(START, 0))


def _operation(name: str, onehot: str, logits: Sequence[_Logit], n_token: int, span: Span) -> MlpOp:
    """Return the neurons that write logits in place of the token here, and what they are for."""
    neurons, gates = [], []
    for token, form, meant, signs in logits:
        for sign in signs:
            neurons.append(Neuron(form.scaled(sign), (((onehot, token), sign),)))
            gates.append(Gate(None if meant is None else meant.scaled(sign), ((token, sign),)))
    for token in range(n_token):
        here = direction(onehot, token)
        neurons.append(Neuron(here, (((onehot, token), -1),)))
        gates.append(Gate(here, ((token, -1),)))
    outputs = tuple((((onehot, token), 1),) for token in range(n_token))
    purpose = Purpose(Gates(tuple(gates)), (), outputs, ())
    text = "the logit of each token, in place of the token here"
    return MlpOp(name, tuple(neurons), (), text, span, purpose=purpose)


def _with_last(placed: Placed, op: MlpOp, onehot: str) -> Placed:
    """Return a placed graph with a last operation, which writes what is read out tied.

    It stands in the last layer unless that has neurons which write what it reads.
    """
    *before, last = placed.layers or (PlacedLayer((), ()),)
    if any(reads(op) & writes(mlp) for mlp in last.mlps):
        layers = (*before, last, PlacedLayer((), (op,)))
    else:
        layers = (*before, replace(last, mlps=(*last.mlps, op)))
    graph = replace(
        placed.graph, ops=(*placed.graph.ops, op), readout=TokenReadout(onehot), answers=()
    )
    verify_graph(graph)
    made = replace(placed, graph=graph, layers=layers, sizes=tuple(map(own_size, layers)))
    verify(made)
    return made
