"""How far the neurons of stock software are from ReLU.

GELU of s x, divided by s, comes near to the positive part of x: both are the same beyond
`SATURATED / s` up to rounding, and nowhere further apart than `FURTHEST / s`, nor than about half
of |x|. GELU by tanh and GELU by erf both keep these bounds (x times the normal distribution's tail
is at most 0.17). So does software that computes in float32, but between -10 and 10 looks GELU up in
a table: there both s x and what is found are rounded to float16, each by at most a share of 2**-11
and 2**-25.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.formats import FORMATS, ROUNDOFF, TINY

if TYPE_CHECKING:
    from handcraft.compiler.certificate.formats import Floats

SATURATED = {"float64": 10.0, "float32": 10.0, "float16": 8.0, "bfloat16": 8.0}
"""From here on GELU is x or 0, up to rounding; in float32 also from a table."""

FURTHEST = 0.18
"""GELU is nowhere further from ReLU than this, be it from a table."""

STEEPEST = 0.51
"""Nor further than this share of x, the rounding of a table included, but for `FINEST`."""

ROUNDINGS = 8
"""By so many roundings of x software may miss GELU, where it is x or 0 too."""

TABLED = 2.0**-10 * 1.01
"""The share of x by which a table misses the sum of GELU of x and of -x, but for `FINEST`."""

FINEST = 2.0**-23
"""More than what float16 loses near 0, twice."""


@dataclass(frozen=True, slots=True)
class Smooth:
    """Neurons that are GELUs of pre-activations times `sharpness`, divided by it again.

    Attributes:
        sharpness: a power of two.
    """

    sharpness: int

    def off(self, low: Floats, high: Floats, slack: Floats) -> Floats:
        """Return how far activations can be from those of ReLU, `[n_format, ...]`.

        Args:
            low: least exact pre-activation, `[...]`.
            high: the largest.
            slack: how far computed ones can be off, `[n_format, ...]`.
        """
        formats = (len(FORMATS), *([1] * low.ndim))
        u, tiny = ROUNDOFF.reshape(formats), TINY.reshape(formats)
        bound = np.array([SATURATED[f.name] for f in FORMATS]).reshape(formats) / self.sharpness
        largest = np.maximum(np.abs(low), np.abs(high)) + slack
        decided = (low - slack >= bound) | (high + slack <= -bound)
        near = np.minimum(FURTHEST / self.sharpness, STEEPEST * largest + FINEST / self.sharpness)
        rounding = ROUNDINGS * u * largest + 4 * tiny
        off: Floats = rounding + np.where(decided, 0.0, near)
        return off

    def odd(self, size: Floats) -> Floats:
        """Return how far the activation of x, less that of -x, can be from x, `[n_format, n]`.

        GELU of x less GELU of -x is x; what is found in a table is rounded twice.

        Args:
            size: the largest absolute value of x, `[n_format, n]`.
        """
        tabled = TABLED * np.minimum(size, SATURATED["float32"] / self.sharpness)
        tabled = tabled + FINEST / self.sharpness
        tabled[[f.name == "float64" for f in FORMATS]] = 0.0
        off: Floats = 2 * ROUNDINGS * ROUNDOFF * size + 8 * TINY + tabled
        return off
