# SPDX-License-Identifier: Apache-2.0
"""ROS 2 bags, ``mcap`` and sqlite3, by the library rosbags, with no ROS."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dyn_core.check.finding import Finding, Severity
from dyn_core.errors import DynError, shortened
from dyn_core.logs.bag_message import EXTRACT
from dyn_core.logs.bag_stream import TopicRows
from dyn_core.logs.stream import Recording


def read_bag(path: Path, suffix: str, max_values: int) -> Recording:
    """Answer what a bag says of joints, each topic by itself.

    Args:
        path: a directory with a metadata.yaml, or one file.
        suffix: ``.mcap`` or ``.db3``, whatever the file is called; empty for a directory.
        max_values: how many values are read at most.

    Raises:
        DynError: it cannot be read.
    """
    rosbags = _rosbags()
    findings: list[Finding] = []
    topics: dict[str, TopicRows] = {}
    others: dict[str, str] = {}
    try:
        with _named(path, suffix) as named, rosbags.open(named) as reader:
            wanted = [connection for connection in reader.connections if connection.msgtype in EXTRACT]
            others = {c.topic: c.msgtype for c in reader.connections if c.msgtype not in EXTRACT}
            if wanted:
                findings += _collect(rosbags, reader, wanted, topics, max_values)
    except rosbags.errors as error:
        if not any(rows.messages for rows in topics.values()):
            raise _unreadable(error) from error
        findings.append(_cut(topics, error))
    for rows in topics.values():
        findings += rows.findings()
    return Recording(
        form="ROS 2 bag",
        streams=tuple(stream for rows in topics.values() for stream in rows.streams()),
        findings=tuple(findings),
        others=tuple(f"{topic} ({kind})" for topic, kind in sorted(others.items())),
    )


def _collect(
    rosbags: _Rosbags, reader: Any, wanted: list[Any], topics: dict[str, TopicRows], max_values: int
) -> list[Finding]:
    """Collect the messages, as many as fit."""
    unread = 0
    values = 0
    for connection, received, data in reader.messages(connections=wanted):
        rows = topics.get(connection.topic)
        if rows is None:
            rows = topics[connection.topic] = TopicRows(connection.topic)
        try:
            message = reader.deserialize(data, connection.msgtype)
            said = EXTRACT[connection.msgtype](message)
        except rosbags.damaged:
            unread += 1
            continue
        before = rows.values
        rows.add(said, _stamp(message), received)
        values += rows.values - before
        if values > max_values:
            return [
                Finding(
                    Severity.WARNING,
                    "log",
                    (),
                    "it is larger than what is read at once: only its first messages are used; record fewer "
                    "topics, "
                    "or cut it where the robot moves as it should",
                )
            ]
    if unread:
        return [Finding(Severity.WARNING, "log", (), f"{unread} messages are damaged: they are left out")]
    return []


def _stamp(message: Any) -> int:
    """Answer the time in the header of a message (ns); 0 where it has none."""
    header = getattr(message, "header", None)
    if header is None:
        return 0
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _cut(topics: dict[str, TopicRows], error: BaseException) -> Finding:
    count = sum(rows.messages for rows in topics.values())
    return Finding(
        Severity.WARNING,
        "log",
        (),
        f"the bag is damaged ({shortened(str(error), 80)}): the {count} messages before that are used",
    )


def _unreadable(error: BaseException) -> DynError:
    return DynError(
        f"the bag cannot be read: {shortened(str(error), 160)}; 'ros2 bag reindex' mends a bag without its "
        "metadata, 'mcap recover' one that was cut"
    )


class _Rosbags:
    """What is used of the library; it is slow to import, and few need it."""

    def __init__(self) -> None:
        import sqlite3
        import struct

        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.rosbag2 import ReaderError
        from rosbags.typesys import Stores, get_typestore

        self._reader: Any = AnyReader
        self._store: Any = get_typestore(Stores.LATEST)
        # What is not the library's own comes from what it calls, on bytes that make no sense.
        self.damaged: tuple[type[BaseException], ...] = (
            *(AnyReaderError, struct.error, ValueError, KeyError, IndexError, AttributeError, TypeError),
            *(AssertionError, UnicodeDecodeError, MemoryError, OverflowError),
        )
        self.errors = (
            *self.damaged,
            ReaderError,
            OSError,
            sqlite3.Error,
            EOFError,
            _apsw_error(),
            RuntimeError,
        )

    def open(self, path: Path) -> Any:
        """Answer a reader of a bag."""
        return self._reader([path], default_typestore=self._store)


def _apsw_error() -> type[BaseException]:
    """Answer the error of the binding of SQLite that rosbags uses, where it does."""
    try:
        from apsw import Error
    except ImportError:
        return OSError
    found: type[BaseException] = Error
    return found


def _rosbags() -> _Rosbags:
    try:
        return _Rosbags()
    except ImportError as error:
        raise DynError(
            "bags cannot be read without rosbags: install it with 'python3 -m pip install rosbags'"
        ) from error


@contextlib.contextmanager
def _named(path: Path, suffix: str) -> Iterator[Path]:
    """Answer a path with the suffix that rosbags goes by, whatever the file is called."""
    if not suffix or path.suffix == suffix:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"bag{suffix}"
        link.symlink_to(path.resolve())
        yield link
