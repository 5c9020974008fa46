# SPDX-License-Identifier: Apache-2.0
"""What can be had from an SQLite bag that was cut or is damaged, as by a disk that was full.

SQLite refuses a file with fewer pages than its header says, and reads a table from its root, which may point
to where nothing is left. Each page that is there is read by itself instead.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dyn_core.logs.raw_message import RawMessage
from dyn_core.logs.readers.bag_salvage import Place, SqlitePages, Value, sqlite_pages


def remaining_messages(path: Path) -> Iterator[RawMessage]:
    """Answer the messages that are left in an SQLite bag, in the order in which they were recorded."""
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        data = memoryview(mapped)
        try:
            pages = sqlite_pages(data)
            if pages is not None:
                yield from _messages(pages)
        finally:
            data.release()


def _messages(pages: SqlitePages) -> Iterator[RawMessage]:
    topics: dict[int, tuple[str, str]] = {}
    definitions: dict[str, str] = {}
    found: list[Place] = []
    for place in pages.places():
        match pages.record(place):
            case [_, int(), int(), bytes()]:
                found.append(place)
            case [_, str(kind), "ros2msg", str(definition), *_]:
                definitions[kind] = definition
            case [_, str(topic), str(kind), str(), *_]:
                topics[place.row] = (topic, kind)
    # Rows that trees have moved are there twice.
    order = np.argsort([place.row for place in found], kind="stable").tolist()
    last = None
    for place in (found[k] for k in order):
        values = pages.record(place)
        if values is not None and place.row != last:
            yield _message(values, topics, definitions)
        last = place.row


def _message(
    values: list[Value], topics: dict[int, tuple[str, str]], definitions: dict[str, str]
) -> RawMessage:
    _, number, received, data = values
    assert isinstance(number, int)
    assert isinstance(received, int)
    assert isinstance(data, bytes)
    topic, kind = topics.get(number, ("", ""))
    return RawMessage(topic, kind, definitions.get(kind, ""), received, data)
