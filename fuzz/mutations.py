# SPDX-License-Identifier: Apache-2.0
"""Damage to texts and bytes, from a seed: structure that is kept, values that are not."""

from __future__ import annotations

import io
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

_MEMORY = Path("/dev/shm")
SHARED = Path(tempfile.gettempdir()) if not os.access(_MEMORY, os.W_OK) else _MEMORY
"""Folder for files of one process, in memory where that can be."""

Damage = Callable[[bytes, Random], bytes]
"""Return a damaged copy of a file."""

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z_]\w*")
VALUES = (
    *("nan", "inf", "1e308", "-1e308", "1e-320", "1e9", "-1", "0", "2", "1.5708", "1e-9", "1e99999999"),
    *("0 0 0", "1e308 0 0", "1e9 0 0", "1 1e-12 0", "", " ", "\x00", "\ud800", "٣", "${x}", "9" * 400),
    *("t1", "Pi/2", "1/0", "2147483648", "18446744073709551616", "-.inf", "null", "true", "[]", "{}"),
)
PIECES = (
    *("<", "/>", "&lt;", "&x;", "<!DOCTYPE a>", "<link/>", '"', "fixed", "prismatic", "planar"),
    *("<mimic joint='j'/>", "(*", "*)", "{", "}", ",", "=", "(" * 40, "-" * 40, "\n", "\t", ": ", "- "),
    *("&a ", "*a", "!!", "[" * 30, "|", "%", "\x85", "\u2028", "\ufeff", "Infinity", "loops:", "universal"),
    *("t2", "sqrt(", "1e-400", "floating", "p/y", "w/pitch_link", ";", "\r", ",,,,,,,,", "#", "'", "<<: *a"),
)
_WORDS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 10**6, 2 * 10**9, 2**31 - 1, 2**31, 2**32 - 1)
_DOUBLES = (float("nan"), float("inf"), -1e308, 1e308, 5e-324, -0.0, 1e9, 2e9, -1.0)
_FORMATS = ("<B", "<H", "<I", "<Q", ">I", ">Q", "<d")


def seed_number(seed: str) -> int:
    """Return the number of a seed, which may be any text."""
    return int(seed) % 2**32 if seed.isdecimal() else zlib.crc32(seed.encode())


def rotated(names: Sequence[str], seed: str) -> list[str]:
    """Return the names in turn, from one that the seed chooses: in short runs all come first sometimes."""
    first = seed_number(seed) % len(names)
    return [*names[first:], *names[:first]]


def mutated_text(text: str, random: Random) -> str:
    """Return a text with damage in one place: a value is another, or a part is missing, or there again."""
    kind = random.randrange(7)
    at = random.randrange(len(text) + 1)
    if kind == 0:  # another value for an attribute
        start = text.find('"', at)
        if start != -1 and (end := text.find('"', start + 1)) != -1:
            return f"{text[: start + 1]}{random.choice(VALUES)}{text[end:]}"
    # another number, another word
    if kind in (1, 2) and (match := (NUMBER if kind == 1 else WORD).search(text, at)):
        other = random.choice(VALUES if kind == 1 else WORD.findall(text))
        return text[: match.start()] + other + text[match.end() :]
    if kind == 3:  # a part is missing
        return text[:at] + text[at + random.randrange(60) :]
    if kind == 4:  # a part is repeated elsewhere
        source = random.randrange(len(text) + 1)
        return text[:at] + text[source : source + random.randrange(200)] + text[at:]
    if kind == 5:  # a line is missing, or is there twice
        lines = text.split("\n")
        k = random.randrange(len(lines))
        lines[k : k + 1] = [lines[k]] * random.choice((0, 2))
        return "\n".join(lines)
    return text[:at] + random.choice(PIECES) + text[at:]


def damaged_text(data: bytes, random: Random) -> bytes:
    """Return a text file with damage in one to four places, sometimes below the level of characters."""
    text = data.decode(errors="surrogateescape")
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        text = mutated_text(text, random)
    raw = text.encode(errors="surrogatepass")
    return raw if random.random() < 0.95 else mutated_bytes(raw, random)


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Return bytes with damage in one place: a number is another, or a part is missing, or there again."""
    kind, at = random.randrange(8), _place(len(data), random)
    if kind < 4:  # another count, length, type or number
        code = random.choice(_FORMATS)
        size = struct.calcsize(code)
        at -= at % random.choice((1, min(size, 4)))
        if code == "<d":
            number = struct.pack(code, random.choice(_DOUBLES))
        else:
            number = struct.pack(code, random.choice(_WORDS) & (256**size - 1))
        return data[:at] + number + data[at + size :]
    if kind == 4:  # a bit
        return (
            data[:at] + bytes(byte ^ 1 << random.randrange(8) for byte in data[at : at + 1]) + data[at + 1 :]
        )
    if kind == 5:  # cut, or with a hole
        return data[:at] + (data[at + random.randrange(1, 64) :] if random.random() < 0.7 else b"")
    if kind == 6:  # a part is repeated elsewhere
        source = random.randrange(len(data) + 1)
        return data[:at] + data[source : source + random.randrange(200)] + data[at:]
    return data[:at] + random.randbytes(random.randrange(1, 9)) + data[at + random.randrange(9) :]


def _place(size: int, random: Random) -> int:
    """Return an offset: often near the beginning or the end, where formats keep their sizes."""
    near = random.random()
    if near < 0.4:
        return random.randrange(min(size, 400) + 1)
    return max(size - random.randrange(400), 0) if near < 0.5 else random.randrange(size + 1)


def damaged_bytes(data: bytes, random: Random) -> bytes:
    """Return a binary file with damage in one to four places."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = mutated_bytes(data, random)
    return data


def damaged_archive(data: bytes, random: Random) -> bytes:
    """Return a zip file with a damaged member of the right check sum, or one that is damaged itself."""
    if random.random() < 0.3:
        return damaged_bytes(data, random)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except zipfile.BadZipFile:  # one of the corpus
        return damaged_bytes(data, random)
    k = random.randrange(len(members))
    members[k] = (members[k][0], damaged_bytes(members[k][1], random))
    if random.random() < 0.1:
        members[k] = (random.choice(("", "../t.npy", "t", "\U0001f916.npy")), members[k][1])
    made = io.BytesIO()
    packing = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(made, "w", packing) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, packing)
    return made.getvalue()


_MATLAB_HEADER, _COMPRESSED = 128, 15


def damaged_matlab(data: bytes, random: Random) -> bytes:
    """Return a MATLAB file with damage; sometimes its variables are compressed after that."""
    data = damaged_bytes(data, random)
    if random.random() < 0.7 or len(data) <= _MATLAB_HEADER:
        return data
    packed = zlib.compress(data[_MATLAB_HEADER:], 1)
    return data[:_MATLAB_HEADER] + struct.pack("<II", _COMPRESSED, len(packed)) + packed


def pick(originals: Sequence[bytes], random: Random) -> bytes:
    """Return one of the original files."""
    return originals[random.randrange(len(originals))]
