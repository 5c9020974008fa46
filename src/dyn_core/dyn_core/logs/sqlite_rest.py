# SPDX-License-Identifier: Apache-2.0
"""What can be had from an SQLite bag that was cut, as by a disk that was full.

SQLite refuses a file with fewer pages than its header says. In a copy whose header says what is there, the
table of the messages can be read up to the first page that is missing.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dyn_core.logs.raw_message import RawMessage

LARGEST_COPY = 2_000_000_000
"""Bytes of a file that is copied."""
_PAGE_SIZE, _PAGES = 16, 28  # places in the header


def remaining_messages(path: Path) -> Iterator[RawMessage]:
    """Answer the messages of an SQLite bag up to where it ends or is damaged."""
    size = path.stat().st_size
    if size > LARGEST_COPY:
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "bag.db3"
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file:
            head = file.read(100)
            if len(head) < 100:
                return
            (page,) = struct.unpack_from(">H", head, _PAGE_SIZE)
            page = 65536 if page == 1 else page
            if not page:
                return
            file.truncate(size // page * page)
            file.seek(_PAGES)
            file.write(struct.pack(">I", size // page))
        with contextlib.closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as database:
            yield from _messages(database)


def _messages(database: sqlite3.Connection) -> Iterator[RawMessage]:
    try:
        topics = {row[0]: (row[1], row[2]) for row in database.execute("SELECT id, name, type FROM topics")}
        definitions = _definitions(database)
        for number, received, data in database.execute("SELECT topic_id, timestamp, data FROM messages"):
            topic, kind = topics.get(number, ("", ""))
            # SQLite keeps any type in any column: what is damaged may be of another.
            if all(isinstance(text, str) for text in (topic, kind)) and isinstance(data, bytes):
                yield RawMessage(topic, kind, definitions.get(kind, ""), received, data)
    except (sqlite3.Error, UnicodeDecodeError):
        return


def _definitions(database: sqlite3.Connection) -> dict[str, str]:
    """Answer the definitions of types, which older bags do not have."""
    try:
        rows = database.execute(
            "SELECT topic_type, encoded_message_definition FROM message_definitions WHERE encoding = "
            "'ros2msg'"
        )
        return dict(rows.fetchall())
    except sqlite3.Error:
        return {}
