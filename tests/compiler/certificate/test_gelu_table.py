"""GELU looked up in a table of float16 stays within the certificate's bound for float32."""

from __future__ import annotations

import numpy as np
import pytest

from handcraft.compiler.certificate.activations import Smooth
from handcraft.compiler.certificate.formats import FORMATS
from handcraft.runtime.transformer import activate

FLOAT32 = [f.name for f in FORMATS].index("float32")
END_OF_TABLE = 10


@pytest.mark.parametrize("sharpness", [1, 8, 64, 2**24])
def test_no_entry_of_the_table_is_further_from_relu_than_the_bound(sharpness: int) -> None:
    keys = halves()
    entries = activate(keys, "gelu_new").astype(np.float16).astype(np.float64)
    for steps in (-0.5, 0.0, 0.5):
        x = keys + steps * np.spacing(keys.astype(np.float16)).astype(np.float64)
        off = np.abs(entries - np.maximum(x, 0)) / sharpness
        bound = Smooth(sharpness).off(x / sharpness, x / sharpness, np.zeros((len(FORMATS), 1)))
        assert (off <= bound[FLOAT32]).all()


def halves() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return all numbers of float16 that the table is asked for."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
    return every[np.abs(every) < END_OF_TABLE]
