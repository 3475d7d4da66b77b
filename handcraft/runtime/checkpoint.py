"""Reads a model back from a folder that was exported: arrays as safetensors beside the manifest.

The arrays of a stock GPT-2 have the prefix of Hugging Face's names, rows for what only its own
vocabulary has, and its unembedding names no values and pushes `bos` down, which is never produced;
all this is taken away again.

Nothing is read of a file that is larger than a model of its config can be.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from handcraft.errors import FileError, HandcraftError
from handcraft.extras import extra
from handcraft.runtime.manifest import read_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.weights import FORMATS, Weights, check_names, check_shape, shapes

if TYPE_CHECKING:
    from pathlib import Path

    from handcraft.runtime.config import Config
    from handcraft.runtime.manifest import Manifest
    from handcraft.runtime.weights import Array

MANIFEST_FILE = "handcraft.json"
ARRAYS_FILE = "model.safetensors"

PREFIX = "transformer."
"""What Hugging Face puts in front of the names of GPT-2's arrays, the unembedding's left out."""

UNEMBEDDING = "lm_head.weight"

LONGEST_MANIFEST = 1 << 26
"""Bytes of JSON that a folder may have."""

LONGEST_HEADER = 1 << 24
"""Bytes of the file of arrays that may be other than numbers."""


def load_folder(folder: Path) -> Model:
    """Read a model from an exported folder.

    Raises:
        FileError: `cannot-read` for a folder that is no export.
        HandcraftError: `missing-extra`; `bad-file` and others where something does not fit.
        OSError: where a file cannot be read.
    """
    manifest = _manifest(folder)
    arrays = _arrays(folder, manifest.config)
    if any(name.startswith(PREFIX) for name in arrays):
        arrays = _own(arrays, manifest)
    expected = shapes(manifest.config)
    check_names(expected, arrays)
    for name in sorted(arrays):
        check_shape(name, expected[name], arrays[name].shape)
    weights = Weights(manifest.config, arrays)
    return Model(weights, manifest.vocabulary, manifest.description, manifest.source_vocabulary)


def _manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST_FILE
    if not path.is_file():
        message = f"`{folder}` is a folder without `{MANIFEST_FILE}`, which says what numbers mean"
        raise FileError("cannot-read", message)
    if path.stat().st_size > LONGEST_MANIFEST:
        _refuse(f"`{MANIFEST_FILE}` is longer than {LONGEST_MANIFEST} bytes")
    try:
        return read_manifest(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        _refuse(f"`{MANIFEST_FILE}` is no text")


def _arrays(folder: Path, config: Config) -> dict[str, Array]:
    path = folder / ARRAYS_FILE
    if not path.is_file():
        _refuse(f"it is a folder without `{ARRAYS_FILE}`")
    numbers = sum(map(prod, shapes(config).values())) + 2 * prod(_rows(config))
    if path.stat().st_size > LONGEST_HEADER + 8 * numbers:
        _refuse(f"`{ARRAYS_FILE}` is larger than a model of its config can be")
    reader = extra("safetensors.numpy")
    library = extra("safetensors")
    try:
        arrays: dict[str, Array] = reader.load_file(path)
    except library.SafetensorError as error:
        _refuse(f"`{ARRAYS_FILE}` cannot be read: {error}")
    except (AttributeError, KeyError, TypeError, ValueError):
        _refuse(f"`{ARRAYS_FILE}` has numbers in another format than {', '.join(FORMATS)}")
    return arrays


def _own(arrays: dict[str, Array], manifest: Manifest) -> dict[str, Array]:
    """Return the arrays of a `GPT2LMHeadModel` under our names, without rows that we have not."""
    config, vocabulary = manifest.config, manifest.vocabulary
    own = {name.removeprefix(PREFIX): array for name, array in arrays.items()}
    if len(own) < len(arrays):
        _refuse("it has an array twice, with and without the prefix of Hugging Face's names")
    for name in ("wte.weight", UNEMBEDDING):
        if name in own:
            check_shape(name, _rows(config), own[name].shape)
    if config.tied and UNEMBEDDING in own:
        if not np.array_equal(own.pop(UNEMBEDDING), own.get("wte.weight", ())):
            _refuse(f"`{UNEMBEDDING}` is not `wte.weight`, and its config ties the two")
    elif UNEMBEDDING in own:
        first = config.n_vocab if config.readout == "values" else 0
        own[UNEMBEDDING] = own[UNEMBEDDING][first : first + config.n_out].copy()
        if config.readout == "tokens" and vocabulary.bos is not None:
            never = vocabulary.id(vocabulary.bos)
            own[UNEMBEDDING][never : never + 1] = 0
    if "wte.weight" in own:
        own["wte.weight"] = own["wte.weight"][: config.n_vocab]
    return own


def _rows(config: Config) -> tuple[int, int]:
    """Return `[vocab_size, d_model]` of the stock model: its values are tokens too."""
    n_values = config.n_out if config.readout == "values" else 0
    return config.n_vocab + n_values, config.d_model


def _refuse(message: str) -> NoReturn:
    raise HandcraftError("bad-file", message)
