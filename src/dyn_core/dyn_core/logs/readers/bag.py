# SPDX-License-Identifier: Apache-2.0
"""Read ROS 2 bags (mcap and sqlite3) with the library rosbags, without ROS."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.readers.bag_messages import EXTRACT, TopicRows
from dyn_core.logs.readers.bag_salvage import remaining_messages, remaining_rows
from dyn_core.logs.recording import Recording

MCAP, SQLITE = ".mcap", ".db3"
METADATA = "metadata.yaml"


class MessageTypes:
    """Types of messages: those of ROS 2, and those that a bag defines itself."""

    def __init__(self, store: Any, parse: Any) -> None:
        """Use a store of the library, and its function that reads definitions."""
        self._store, self._parse = store, parse
        self._learnt: set[str] = set()

    def learn(self, kind: str, definition: str) -> None:
        """Add the definition of a type, unless it is known."""
        if kind in self._learnt:
            return
        self._learnt.add(kind)
        if definition:
            # If a definition cannot be read, the definition of ROS 2 is used.
            with contextlib.suppress(Exception):
                found = self._parse(definition, kind)
                known = self._store.fielddefs
                self._store.register({name: fields for name, fields in found.items() if name not in known})

    def deserialize(self, data: bytes, kind: str) -> Any:
        """Return a message."""
        return self._store.deserialize_cdr(data, kind)


class BagLibrary:
    """The library rosbags.

    Attributes:
        damaged: errors that it raises on damaged messages.
        errors: errors that it, or a library that it calls, raises on damaged files.
    """

    def __init__(self) -> None:
        """Import the library; DynError, with the remedy, if it is not installed."""
        try:
            from rosbags.highlevel import AnyReader, AnyReaderError
            from rosbags.rosbag2 import ReaderError
            from rosbags.serde import SerdeError
            from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
        except ImportError as error:
            raise DynError("rosbags-missing") from error
        try:  # rosbags uses this binding of SQLite if it is installed
            from apsw import Error

            sqlite_error: type[BaseException] = Error
        except ImportError:
            sqlite_error = sqlite3.Error
        self._reader: Any = AnyReader
        self._parse: Any = get_types_from_msg
        self._new_store: Any = lambda: get_typestore(Stores.LATEST)
        self.damaged: tuple[type[BaseException], ...] = (
            *(AnyReaderError, SerdeError, TypesysError, struct.error, ValueError, KeyError, IndexError),
            *(AttributeError, TypeError, AssertionError, OverflowError),
        )
        others = (ReaderError, OSError, sqlite3.Error, EOFError, RuntimeError, MemoryError, sqlite_error)
        self.errors = (*self.damaged, *others)

    def reader(self, path: Path) -> Any:
        """Return a reader of a bag, as a context."""
        return self._reader([path], default_typestore=self._new_store())

    def message_types(self) -> MessageTypes:
        """Return the types of the latest ROS 2."""
        return MessageTypes(self._new_store(), self._parse)


def read_bag(path: Path, suffix: str, max_values: int) -> Recording:
    """Return the joint values of a bag, with one stream or more for each topic.

    Args:
        path: a directory, or one file.
        suffix: ``.mcap`` or ``.db3`` for a file of any name; empty for a directory.
        max_values: greatest number of values that are read.

    Raises:
        DynError: the bag cannot be read.
    """
    bag = _Bag(BagLibrary(), max_values)
    if suffix:
        bag.take_file(path, suffix)
    else:
        bag.take_directory(path)
    return bag.recording()


class _Bag:
    """The messages of all files of a bag."""

    def __init__(self, library: BagLibrary, max_values: int) -> None:
        self._library, self._room = library, max_values
        self._topics: dict[str, TopicRows] = {}
        self._others: dict[str, str] = {}
        self._findings: list[Finding] = []
        self._damaged = 0
        self._is_full = False

    def take_directory(self, path: Path) -> None:
        """Read the files that metadata.yaml names; without it, or if that fails, all files of bags."""
        files = sorted(file for file in path.iterdir() if file.suffix in (MCAP, SQLITE))
        remedy = Message("bag-files-alone" if len(files) > 1 else "bag-file-alone", count=len(files))
        if (path / METADATA).exists():
            try:
                self._take(path)
            except self._library.errors as error:
                if self._count() or not files:
                    self._damage(error)
                    return
                message = Message("bag-unreadable-as-whole", reason=_reason(error), remedy=remedy)
                self._add_finding(Severity.WARNING, message)
            else:
                return
        elif not files:
            raise DynError("directory-without-bag", metadata=METADATA)
        else:
            message = Message("bag-without-metadata", metadata=METADATA, remedy=remedy)
            self._add_finding(Severity.NOTE, message)
        for file in files:
            if not self._is_full:
                self.take_file(file, file.suffix)

    def take_file(self, path: Path, suffix: str) -> None:
        """Read one file of a bag, under a link with the suffix that rosbags expects."""
        before = self._count()
        try:
            with tempfile.TemporaryDirectory() as folder:
                link = Path(folder) / f"bag{suffix}"
                link.symlink_to(path.resolve())
                self._take(path if path.suffix == suffix else link)
        except self._library.errors as error:
            if self._count() == before:
                self._take_rest(path, suffix)
            self._damage(error)

    def _take(self, path: Path) -> None:
        with self._library.reader(path) as reader:
            connections = [connection for connection in reader.connections if connection.msgtype in EXTRACT]
            self._others |= {c.topic: c.msgtype for c in reader.connections if c.msgtype not in EXTRACT}
            if not connections:
                return
            for connection, received, data in reader.messages(connections=connections):
                self._add(connection.topic, connection.msgtype, received, data, reader.deserialize)
                if self._is_full:
                    return

    def _take_rest(self, path: Path, suffix: str) -> None:
        """Read the remaining messages of a damaged file."""
        types = self._library.message_types()
        remaining = remaining_messages if suffix == MCAP else remaining_rows
        for message in remaining(path):
            if message.kind not in EXTRACT:
                self._others[message.topic] = message.kind
                continue
            types.learn(message.kind, message.definition)
            self._add(message.topic, message.kind, message.received, message.data, types.deserialize)
            if self._is_full:
                return

    def _add(
        self, topic: str, kind: str, received: int, data: bytes, deserialize: Callable[[bytes, str], Any]
    ) -> None:
        rows = self._topics.setdefault(topic, TopicRows(topic))
        try:
            if not isinstance(received, int):
                raise TypeError("the time at which it was received is not a number")
            message = deserialize(data, kind)
            joint_values = EXTRACT[kind](message)
        except self._library.damaged:
            self._damaged += 1
            return
        before = rows.values
        rows.add(joint_values, _stamp(message), received)
        self._room -= rows.values - before
        self._is_full = self._room <= 0

    def _count(self) -> int:
        return sum(rows.messages for rows in self._topics.values())

    def _add_finding(self, severity: Severity, message: Message) -> None:
        self._findings.append(Finding(severity, "log", (), message))

    def _damage(self, error: BaseException) -> None:
        """Report that the rest cannot be read; DynError if nothing could be read."""
        if not self._count():
            raise DynError("bag-damaged", reason=_reason(error)) from error
        self._add_finding(Severity.WARNING, Message("bag-cut", reason=_reason(error), count=self._count()))

    def recording(self) -> Recording:
        """Return the collected messages."""
        if self._damaged:
            self._add_finding(Severity.WARNING, Message("bag-messages-undecodable", count=self._damaged))
        if self._is_full:
            self._add_finding(Severity.WARNING, Message("bag-too-large", count=self._count()))
        return Recording(
            form="ROS 2 bag",
            streams=tuple(stream for rows in self._topics.values() for stream in rows.streams()),
            findings=(*self._findings, *(f for rows in self._topics.values() for f in rows.findings())),
            others=tuple(f"{topic} ({kind})" for topic, kind in sorted(self._others.items())),
        )


def _stamp(message: Any) -> int:
    """Return the time in the header of a message (ns); 0 without a header."""
    header = getattr(message, "header", None)
    return 0 if header is None else int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _reason(error: BaseException) -> str:
    return shortened(str(error).strip().rstrip(".") or type(error).__name__, 120)
