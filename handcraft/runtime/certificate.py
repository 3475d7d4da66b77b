"""What was proved of a model's numbers: a verdict for each floating-point format.

Bounds hold for every input on which the program has a meaning, and for sums in any order. numpy is
not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from handcraft.runtime.description import SequenceName

LARGEST = 1e300
"""Stands for a bound that no format could hold, and for a margin that nothing can use up."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was proved for one floating-point format.

    Attributes:
        format: its name.
        proved: every answer is the program's.
        error: how far a logit (the number that is read out) can be from its exact value.
        margin: how far the logits that must be told apart are from each other, exactly.
        reason: why it is not proved; empty where it is.
        spent: the part of what may be lost of the margin that errors can use up. What is off in all
            logits alike does not count, so this can be small where `error` is not.
    """

    format: str
    proved: bool
    error: float
    margin: float
    reason: str = ""
    spent: float = 0.0

    def __post_init__(self) -> None:
        _check_bounds(self.error, self.margin, self.spent)
        if self.proved and self.reason:
            raise HandcraftError("bad-certificate", f"`{self.format}` is proved, and is not")


@dataclass(frozen=True, slots=True)
class HeadBound:
    """How surely a head looks where it should.

    Attributes:
        name: of the head.
        layer: counted from 0.
        index: which head of the layer.
        gap: the least distance of a winner's score from a loser's, in units.
        leaks: the largest share of all losers together, for each format.
        sequence: where it stands: `source` in the encoder, `tokens` anywhere else.
        across: whether it reads the source from here; such heads of a layer are counted from 0.
    """

    name: str
    layer: int
    index: int
    gap: float
    leaks: tuple[float, ...]
    sequence: SequenceName = "tokens"
    across: bool = False

    def __post_init__(self) -> None:
        _check_bounds(self.gap, *self.leaks)


@dataclass(frozen=True, slots=True)
class Threshold:
    """How far the values of a number are from the ramps of the steps that tell them apart.

    Attributes:
        name: of the operation.
        layer: counted from 0.
        index: its first neuron.
        margins: how many of its largest errors fit between a value and the next ramp, for each
            format.
        sequence: where it stands: `source` in the encoder, `tokens` anywhere else.
    """

    name: str
    layer: int
    index: int
    margins: tuple[float, ...]
    sequence: SequenceName = "tokens"

    def __post_init__(self) -> None:
        _check_bounds(*self.margins)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was proved of a model.

    Attributes:
        verdicts: for each format.
        heads: for each head; its numbers are in the order of the verdicts.
        thresholds: for each operation of steps, in the same order.
    """

    verdicts: tuple[Verdict, ...]
    heads: tuple[HeadBound, ...] = ()
    thresholds: tuple[Threshold, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.formats)) < len(self.verdicts):
            raise HandcraftError("bad-certificate", "it has two verdicts on one format")
        for row in (*(h.leaks for h in self.heads), *(t.margins for t in self.thresholds)):
            if len(row) != len(self.verdicts):
                message = f"{len(row)} numbers do not fit {len(self.verdicts)} formats"
                raise HandcraftError("bad-certificate", message)

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that it speaks of."""
        return tuple(verdict.format for verdict in self.verdicts)

    @property
    def proved(self) -> tuple[str, ...]:
        """The formats in which every answer is the program's."""
        return tuple(verdict.format for verdict in self.verdicts if verdict.proved)

    def verdict(self, format_: str) -> Verdict | None:
        """Return the verdict on a format, None if there is none."""
        return next((v for v in self.verdicts if v.format == format_), None)

    @property
    def text(self) -> str:
        """The verdicts as one sentence."""
        if not self.proved:
            return "not proved in any format"
        others = [v.format for v in self.verdicts if not v.proved]
        tail = f"; not in {', '.join(others)}" if others else ""
        return f"proved in {', '.join(self.proved)}{tail}"


def _check_bounds(*numbers: float) -> None:
    if not all(isfinite(number) and number >= 0 for number in numbers):
        raise HandcraftError("bad-certificate", f"no bounds: {', '.join(map(str, numbers))}")
