"""Arrays -> the bytes of a safetensors file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.extras import extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.weights import Array


def safetensors_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return a file with these arrays.

    Raises:
        HandcraftError: `missing-extra`.
    """
    made: bytes = extra("safetensors.numpy").save(dict(arrays), metadata={"format": "pt"})
    return made
