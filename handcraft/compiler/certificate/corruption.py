"""Arrays that are not what their graph says: a certificate does not speak of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.assemble import assemble
from handcraft.compiler.certificate.scales import NO_LEAK, Scaling

if TYPE_CHECKING:
    from handcraft.compiler.place import Placed
    from handcraft.language.typed import Header
    from handcraft.runtime.certificate import Certificate, Verdict
    from handcraft.runtime.weights import Weights


def checked(
    certificate: Certificate,
    weights: Weights,
    placed: Placed,
    header: Header,
    scaling: Scaling = NO_LEAK,
) -> Certificate:
    """Return a certificate that proves nothing in the format of weights that are not the graph's.

    Args:
        certificate: of the placed graph.
        weights: as they are found.
        placed: the graph that they should be made from.
        header: vocabulary, context and attention.
        scaling: of the scores.
    """
    reason = _difference(weights, assemble(placed, header, weights.dtype.name, scaling))
    if reason is None:
        return certificate
    verdicts = tuple(
        _unproved(verdict, reason) if verdict.format == weights.dtype.name else verdict
        for verdict in certificate.verdicts
    )
    return replace(certificate, verdicts=verdicts)


def _difference(found: Weights, expected: Weights) -> str | None:
    """Return the first entry that is not what it should be, in words."""
    if found.config != expected.config:
        return "the config is not that of the graph"
    for name, array in expected.arrays.items():
        wrong = np.argwhere(found[name] != array)
        if len(wrong):
            place = tuple(int(i) for i in wrong[0])
            return f"`{name}` at {list(place)} is {found[name][place]}, not {array[place]}"
    return None


def _unproved(verdict: Verdict, reason: str) -> Verdict:
    return replace(verdict, proved=False, reason=reason)
