"""Files that are no models, each one step away from the saved hand-made one."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from runtime_models import handmade

Bytes = Callable[[], bytes]


@cache
def saved() -> bytes:
    """Return the bytes of the hand-made model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "aab.npz"
        handmade().save(path)
        return path.read_bytes()


def members() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(saved())) as read:
        return {name: read.read(name) for name in read.namelist()}


def archive(contents: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as written:
        for name, data in contents.items():
            written.writestr(name, data)
    return buffer.getvalue()


def with_member(name: str, data: bytes) -> bytes:
    return archive({**members(), f"{name}.npy": data})


def without_member(name: str) -> bytes:
    return archive({key: data for key, data in members().items() if key != f"{name}.npy"})


def header(descr: str = "'<f8'", shape: str = "(2, 8)", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def npy(head: str, data: bytes = bytes(128), version: bytes = b"\x01\x00") -> bytes:
    text = head.encode("latin-1")
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def wte(head: str, data: bytes = bytes(128), version: bytes = b"\x01\x00") -> Bytes:
    return partial(with_member, "wte.weight", npy(head, data, version))


def written_by_numpy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def manifest() -> dict[str, Any]:
    with np.load(io.BytesIO(saved())) as loaded:
        parsed: dict[str, Any] = json.loads(str(loaded["handcraft.json"]))
        return parsed


def text(json_text: str) -> Bytes:
    return lambda: with_member("handcraft.json", written_by_numpy(np.array(json_text)))


def change(**changes: Any) -> Bytes:
    return lambda: text(json.dumps({**manifest(), **changes}))()


def change_config(**changes: Any) -> Bytes:
    return lambda: change(config={**manifest()["config"], **changes})()


def change_vocabulary(**changes: Any) -> Bytes:
    return lambda: change(vocabulary={**manifest()["vocabulary"], **changes})()


def drop(name: str) -> Bytes:
    return lambda: text(json.dumps({k: v for k, v in manifest().items() if k != name}))()


def twice() -> bytes:
    """Return an archive with two members of one name."""
    raw = archive({"aaaaaaaaaa.npy": b"", "wte.weight.npy": b""})
    return raw.replace(b"aaaaaaaaaa", b"wte.weight")


def overlapping() -> bytes:
    """Return an archive of which every entry claims the same large member."""
    raw = bytearray(archive({f"{n:02}.npy": bytes(9000 if n == 0 else 0) for n in range(40)}))
    for place in entries(raw):
        raw[place + 20 : place + 28] = struct.pack("<II", 9000, 9000)
        raw[place + 42 : place + 46] = struct.pack("<I", 0)
    return bytes(raw)


def stating(offset: int, layout: str, *numbers: int) -> Bytes:
    """Return the hand-made model with other numbers in the directory entry of its first member."""

    def changed() -> bytes:
        raw = bytearray(saved())
        place = entries(raw)[0] + offset
        raw[place : place + struct.calcsize(layout)] = struct.pack(layout, *numbers)
        return bytes(raw)

    return changed


def entries(raw: bytearray) -> list[int]:
    """Return where the entries of the directory of an archive begin."""
    places = [raw.find(b"PK\x01\x02")]
    while places[-1] != -1:
        places.append(raw.find(b"PK\x01\x02", places[-1] + 1))
    return places[:-1]


def flipped() -> bytes:
    """Return the hand-made model with one bit of a weight flipped."""
    raw = bytearray(saved())
    raw[raw.find(struct.pack("<d", 1024.0))] ^= 1
    return bytes(raw)


def bomb() -> bytes:
    """Return a small file that unpacks to a large one."""
    return archive({"wte.weight.npy": bytes(10_000_000)}, zipfile.ZIP_DEFLATED)


GIGABYTES = 1 << 34

HOSTILE: Mapping[str, tuple[Bytes, str]] = {
    # The archive.
    "empty": (lambda: b"", "it is no intact archive of arrays"),
    "renamed-text": (lambda: b"predict 'a';\n" * 40, "it is no intact archive of arrays"),
    "truncated-at-the-end": (lambda: saved()[:-30], "it is no intact archive of arrays"),
    "truncated-in-the-middle": (lambda: saved()[:900], "it is no intact archive of arrays"),
    "without-its-head": (lambda: saved()[300:], "it is no intact archive of arrays"),
    "flipped-bit": (flipped, "it is no intact archive of arrays"),
    "encrypted": (stating(8, "<H", 1), "it is no intact archive of arrays"),
    "promised-by-the-directory": (
        stating(20, "<II", 1 << 31, 1 << 31),
        "its members are larger than the file",
    ),
    "smaller-than-stated": (stating(20, "<II", 9, 9), "it is no intact archive of arrays"),
    "overlapping": (overlapping, "its members are larger than the file"),
    "bomb": (bomb, "the member `wte.weight.npy` is compressed"),
    "twice": (twice, "the member `wte.weight.npy` is there twice"),
    "stranger": (lambda: archive({"../evil.sh": b""}), "the member `../evil.sh` is no array"),
    "plain-zip": (lambda: archive({}), "it has no `handcraft.json`"),
    "numpy-archive": (
        lambda: archive({"x.npy": written_by_numpy(np.zeros(3))}),
        "it has no `handcraft.json`",
    ),
    # The arrays.
    "missing": (
        lambda: without_member("wpe.weight"),
        "the array `wpe.weight` is missing",
    ),
    "extra": (
        lambda: with_member("h.0.mlp.c_fc.bias", npy(header())),
        "the array `h.0.mlp.c_fc.bias` has no place in this config",
    ),
    "pickled": (
        lambda: with_member("wte.weight", written_by_numpy(np.array([{}], dtype=object))),
        "`wte.weight` is a pickled object, not numbers",
    ),
    "nan-filled": (
        wte(header(), np.full(16, np.nan).tobytes()),
        "`wte.weight` is not finite in float64: nan at [0, 0]",
    ),
    "infinite": (
        wte(header(), np.full(16, -np.inf).tobytes()),
        "`wte.weight` is not finite in float64: -inf at [0, 0]",
    ),
    "other-shape": (
        wte(header(shape="(8, 2)")),
        "`wte.weight` has the shape [8, 2] (16 numbers), expected [2, 8]",
    ),
    "gigabytes": (
        wte(header(shape=f"({GIGABYTES}, {GIGABYTES})")),
        f"`wte.weight` has the shape [{GIGABYTES}, {GIGABYTES}] ({GIGABYTES**2} numbers),"
        " expected [2, 8]",
    ),
    "negative-shape": (wte(header(shape="(-2, 8)")), "`wte.weight` has no header that can be read"),
    "endless-shape": (
        wte(header(shape="(" + "9" * 3000 + ",)")),
        "`wte.weight` has no header that can be read",
    ),
    "short-data": (wte(header(), bytes(64)), "`wte.weight` has 64 bytes, expected 128"),
    "long-data": (wte(header(), bytes(136)), "`wte.weight` has 136 bytes, expected 128"),
    "integers": (
        wte(header("'<i8'")),
        "`wte.weight` is of type `<i8`, expected float64, float32, float16",
    ),
    "structured": (
        wte(header("[('a', '<f8')]")),
        "`wte.weight` has no header that can be read",
    ),
    "mixed-formats": (
        wte(header("'<f4'"), bytes(64)),
        "`h.0.attn.c_attn.bias` is float64, but `wte.weight` is float32",
    ),
    "code-in-the-header": (
        wte("__import__('os').system('true')\n"),
        "`wte.weight` has no header that can be read",
    ),
    "deep-header": (wte("(" * 3000), "`wte.weight` has no header that can be read"),
    "slow-header": (
        wte(header(shape="(" + "1" * 2000 + ", " * 900 + "x")),
        "`wte.weight` has no header that can be read",
    ),
    "unknown-version": (wte(header(), version=b"\x09\x00"), "`wte.weight` is no array"),
    "no-header": (lambda: with_member("wte.weight", b"PK"), "`wte.weight` is no array"),
    "cut-header": (
        lambda: with_member("wte.weight", npy(header())[:20]),
        "`wte.weight` has no header that can be read",
    ),
    # The JSON.
    "json-as-numbers": (
        lambda: with_member("handcraft.json", written_by_numpy(np.zeros(3))),
        "`handcraft.json` is no string",
    ),
    "json-no-code-points": (
        lambda: with_member("handcraft.json", npy(header("'<U1'", "()"), b"\xff" * 4)),
        "`handcraft.json` is no text",
    ),
    "json-cut": (text('{"format": 1'), "its JSON is broken ("),
    "json-deep": (text("[" * 200_000), "its JSON is nested too deeply"),
    "json-nan": (text('{"format": NaN}'), "its JSON has the number `NaN`"),
    "json-endless-number": (text('{"format": ' + "9" * 9000 + "}"), "its JSON is broken ("),
    "json-name-twice": (text('{"format": 1, "format": 1}'), "its JSON has a name twice"),
    "json-list": (text("[1]"), "`the whole` of its JSON is `[1]`, not an object"),
    "no-format": (drop("format"), "it has no format number"),
    "format-as-text": (change(format="1"), "it has no format number"),
    "no-config": (drop("config"), "`config` is missing in its JSON"),
    "unknown-name": (change(colour="red"), "`colour` is unknown in its JSON"),
    "config-as-text": (change(config="big"), "`config` of its JSON is `'big'`, not an object"),
    "size-as-text": (
        change_config(n_ctx="5"),
        "`config.n_ctx` of its JSON is `'5'`, not a whole number",
    ),
    "flag-as-number": (
        change_config(tied=1),
        "`config.tied` of its JSON is `1`, not true or false",
    ),
    "unknown-activation": (
        change_config(activation="tanh"),
        "`config.activation` of its JSON is `'tanh'`, not one of relu, gelu_new, gelu",
    ),
    "endless-epsilon": (
        change_config(layer_norm_epsilon=10**400),
        f"`config.layer_norm_epsilon` of its JSON is `1{'0' * 36}...`, not a number within float64",
    ),
    "layers-as-number": (
        change_config(layers=2),
        "`config.layers` of its JSON is `2`, not a list",
    ),
    "layer-of-text": (
        change_config(layers=["x"]),
        "`config.layers[0]` of its JSON is `'x'`, not an object",
    ),
    "impossible-config": (change_config(n_ctx=0), "n_ctx is a whole number from 1, not `0`"),
    "too-many-layers": (
        change_config(layers=[{"n_head": 0, "d_head": 0, "d_mlp": 0}] * 20_000),
        "20000 layers are more than 10000",
    ),
    "huge-config": (
        change_config(n_ctx=GIGABYTES),
        f"`wpe.weight` has the shape [5, 8] (40 numbers), expected [{GIGABYTES}, 8]",
    ),
    "small-vocabulary": (
        change_vocabulary(tokens=["a"]),
        "1 tokens do not fit 2 rows of `wte.weight`",
    ),
    "token-twice": (change_vocabulary(tokens=["a", "a"]), "the token `a` is there twice"),
    "token-of-none": (
        change_vocabulary(tokens=["a", None]),
        "`vocabulary.tokens[1]` of its JSON is `None`, not a whole number",
    ),
    "control-characters": (
        change_vocabulary(tokens=["\x1b", "\x1b"]),
        "the token `\\x1b` is there twice",
    ),
    "surrogates": (
        change_vocabulary(tokens=["\ud800", "\ud800"]),
        "the token `\\ud800` is there twice",
    ),
    "endless-token": (
        change_vocabulary(tokens=["a" * 1000, "b"]),
        f"`{'a' * 299}...",
    ),
    "unknown-bos": (change_vocabulary(bos="^"), "bos `^` is not in the vocabulary"),
    "margin-as-text": (change(margin="wide"), "`margin` of its JSON is `'wide'`, not a number"),
    "negative-margin": (change(margin=-1), "a margin is not `-1.0`"),
    "outputs-for-tokens": (change(outputs=[1]), "a readout of tokens has no list of values"),
    "division-by-zero": (
        change(outputs=[[1, 0]]),
        "`outputs[0]` of its JSON is `[1, 0]`, not a numerator and a denominator",
    ),
    "certificate-as-list": (
        change(certificate=[]),
        "`certificate` of its JSON is `[]`, not an object",
    ),
    "certificate-without-heads": (
        change(certificate={"verdicts": [], "thresholds": []}),
        "`certificate.heads` is missing in its JSON",
    ),
    "certificate-with-a-verdict-of-text": (
        change(certificate={"verdicts": ["proved"], "heads": [], "thresholds": []}),
        "`certificate.verdicts[0]` of its JSON is `'proved'`, not an object",
    ),
    "certificate-below-zero": (
        change(
            certificate={
                "verdicts": [
                    {
                        "format": "float32",
                        "proved": True,
                        "error": -1,
                        "margin": 2,
                        "reason": "",
                        "spent": 0,
                    }
                ],
                "heads": [],
                "thresholds": [],
            }
        ),
        "no bounds: -1.0, 2.0, 0.0",
    ),
    "certificate-with-too-many-leaks": (
        change(
            certificate={
                "verdicts": [],
                "heads": [{"name": "a", "layer": 0, "index": 0, "gap": 1, "leaks": [0]}],
                "thresholds": [],
            }
        ),
        "1 numbers do not fit 0 formats",
    ),
}
