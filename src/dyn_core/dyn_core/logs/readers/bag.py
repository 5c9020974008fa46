# SPDX-License-Identifier: Apache-2.0
"""Read ROS 2 bags (mcap and sqlite3) with the library rosbags, without ROS."""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.core.text import read_text
from dyn_core.logs.readers.bag_messages import EXTRACT, RawMessage, TopicRows
from dyn_core.logs.readers.mcap_file import mcap_messages
from dyn_core.logs.readers.sqlite_bag import sqlite_messages
from dyn_core.logs.reading_budget import ITEM_COST, PIECE, TOO_LARGE, Budget, unpacked, unpacked_pieces
from dyn_core.logs.recording import Recording
from dyn_core.robot.yaml_text import Entries, Items, Node, Scalar, parse_yaml

MCAP, SQLITE, PACKED = ".mcap", ".db3", ".zstd"
METADATA = "metadata.yaml"
LONGEST_DEFINITION = 100_000
"""Greatest length of the definition of a type, with those of its parts (characters)."""
LARGEST_TYPE = 100_000
"""Greatest number of values in a message whose sequences are empty."""


class MessageTypes:
    """Types of messages: those of the latest ROS 2, and those that a bag defines itself.

    Attributes:
        damaged: errors that the library rosbags raises on damaged messages.
    """

    def __init__(self) -> None:
        """Import the library rosbags; DynError, with the remedy, if it is not installed."""
        try:
            from rosbags.serde import SerdeError
            from rosbags.typesys import (
                Stores,
                TypesysError,
                get_types_from_idl,
                get_types_from_msg,
                get_typestore,
            )
        except ImportError as error:
            raise DynError("rosbags-missing") from error
        self._store: Any = get_typestore(Stores.LATEST)
        self._parsers: dict[str, Callable[[str, str], Any]] = {
            "ros2msg": get_types_from_msg,
            "ros2idl": lambda text, kind: _of_idl(text, get_types_from_idl),
        }
        self._learnt: set[str] = set()
        self.damaged: tuple[type[BaseException], ...] = (
            *(SerdeError, TypesysError, struct.error, ValueError, KeyError, IndexError, AttributeError),
            *(TypeError, AssertionError, OverflowError, MemoryError, RecursionError),
        )

    def learn(self, message: RawMessage) -> None:
        """Add the definition of the type of a message, unless it is known."""
        if message.kind in self._learnt:
            return
        self._learnt.add(message.kind)
        parse = self._parsers.get(message.encoding)
        if parse is None or not 0 < len(message.definition) <= LONGEST_DEFINITION:
            return
        # If a definition cannot be read, the definition of ROS 2 is used.
        with contextlib.suppress(Exception):
            known = self._store.fielddefs
            found = {k: v for k, v in parse(message.definition, message.kind).items() if k not in known}
            counts: dict[str, int] = {}
            if all(0 < _values_of(kind, {**known, **found}, counts) <= LARGEST_TYPE for kind in found):
                self._store.register(found)

    def deserialize(self, message: RawMessage) -> Any:
        """Return a message."""
        return self._store.deserialize_cdr(message.data, message.kind)


def _of_idl(text: str, parse: Callable[[str], Any]) -> dict[str, Any]:
    """Return the types of a definition of several parts, each under a line of ``=`` and its name."""
    parts = text.split("=" * 80 + "\n") if text.startswith("=" * 80) else [text]
    bodies = [part.partition("\n")[2] if part.startswith("IDL: ") else part for part in parts if part]
    return {name: fields for body in bodies for name, fields in parse(body).items()}


def _values_of(kind: str, known: Mapping[str, Any], counts: dict[str, int]) -> int:
    """Return the number of values in a message without its sequences; more than `LARGEST_TYPE` for too many.

    `counts` keeps the numbers of the types that were counted: a type may occur in many others. ValueError for
    types of themselves, and for parts without any value: a short message could have billions of them.
    """
    from rosbags.interfaces import Nodetype

    def of_field(node: Any) -> int:
        form, content = node
        if form == Nodetype.NAME:
            return _values_of(content, known, counts)
        if form == Nodetype.ARRAY:
            return int(content[1]) * of_field(content[0])
        if form == Nodetype.SEQUENCE:
            of_field(content[0])
        return 1

    if kind not in counts:
        counts[kind] = 0  # while it is counted
        total = 0
        for _, node in known[kind][1]:
            total = min(total + of_field(node), LARGEST_TYPE + 1)
        counts[kind] = total
    if not counts[kind]:
        raise ValueError("a type without values, or of itself")
    return counts[kind]


def read_bag(path: Path, suffix: str, budget: Budget) -> Recording:
    """Return the joint values of a bag, with one stream or more for each topic.

    Args:
        path: a directory, or one file.
        suffix: ``.mcap`` or ``.db3`` for a file of any name; empty for a directory.
        budget: what may be taken.

    Raises:
        DynError: the bag cannot be read.
    """
    bag = _Bag(MessageTypes(), budget)
    if suffix:
        bag.take_file(path, suffix)
    else:
        bag.take_directory(path)
    return bag.recording()


def _metadata(path: Path) -> tuple[list[Path], bool]:
    """Return the files that a metadata.yaml names, and whether each message is packed; or DynError."""
    root = _entry(parse_yaml(read_text(path, "YAML")), "rosbag2_bagfile_information")
    names = _entry(root, "relative_file_paths")
    mode = root.values.get("compression_mode") if isinstance(root, Entries) else None
    if not isinstance(names, Items) or not all(isinstance(name, Scalar) for name in names.values):
        raise DynError("bag-metadata-incomplete", entry="relative_file_paths")
    files = [path.parent / Path(name.text).name for name in names.values if isinstance(name, Scalar)]
    if missing := [file.name for file in files if not file.exists()]:
        raise DynError("bag-files-missing", files=missing)
    return files, isinstance(mode, Scalar) and mode.text.lower() == "message"


def _entry(node: Node, name: str) -> Node:
    if not isinstance(node, Entries) or name not in node.values:
        raise DynError("bag-metadata-incomplete", entry=name)
    return node.values[name]


class _Bag:
    """The messages of all files of a bag."""

    def __init__(self, types: MessageTypes, budget: Budget) -> None:
        self._types, self._budget, self._room = types, budget, budget.max_values
        self._topics: dict[str, TopicRows] = {}
        self._others: dict[str, str] = {}
        self._findings: list[Finding] = []
        self._damaged = self._seen = 0
        self._is_full = self._are_messages_packed = False

    def take_directory(self, path: Path) -> None:
        """Read the files that metadata.yaml names; without it, or if that fails, all files of bags."""
        files = sorted(file for file in path.iterdir() if _storage(file) in (MCAP, SQLITE))
        remedy = Message("bag-files-alone" if len(files) > 1 else "bag-file-alone", count=len(files))
        if (path / METADATA).exists():
            try:
                files, self._are_messages_packed = _metadata(path / METADATA)
            except DynError as error:
                if not files:
                    raise DynError("bag-damaged", reason=_reason(error)) from error
                message = Message("bag-unreadable-as-whole", reason=_reason(error), remedy=remedy)
                self._add_finding(Severity.WARNING, message)
        elif not files:
            raise DynError("directory-without-bag", metadata=METADATA)
        else:
            message = Message("bag-without-metadata", metadata=METADATA, remedy=remedy)
            self._add_finding(Severity.NOTE, message)
        for file in files:
            if not self._is_full:
                self.take_file(file, _storage(file))

    def take_file(self, path: Path, suffix: str) -> None:
        """Read one file of a bag."""
        read = mcap_messages if suffix == MCAP else sqlite_messages
        try:
            with _plain_file(path, self._budget) as plain:
                self._take(read(plain, EXTRACT, self._budget))
        except (DynError, OSError) as error:
            self._damage(error)

    def _take(self, messages: Iterator[RawMessage]) -> None:
        for message in messages:
            if message.kind not in EXTRACT:
                if message.topic not in self._others:
                    self._budget.take(ITEM_COST + len(message.topic))
                self._others[message.topic] = message.kind
                continue
            self._types.learn(message)
            self._add(message)
            if self._is_full:
                return

    def _add(self, message: RawMessage) -> None:
        rows = self._topics.get(message.topic)
        if rows is None:
            self._budget.take(ITEM_COST + len(message.topic))
            rows = self._topics[message.topic] = TopicRows(message.topic, self._budget)
        before = rows.values
        try:
            if not isinstance(message.received, int):
                raise TypeError("the time at which it was received is not a number")
            if self._are_messages_packed:
                message = message._replace(data=self._unpacked(message.data))
            content = self._types.deserialize(message)
            rows.add(EXTRACT[message.kind](content), _stamp(content), message.received)
        except self._types.damaged:
            self._damaged += 1
        self._room -= rows.values - before
        self._seen += 1
        self._is_full = self._room <= 0 or self._seen >= self._budget.most_messages

    def _unpacked(self, packed: bytes) -> bytes:
        found = unpacked(packed, "zstd", self._budget.largest_block)
        if found is None:
            raise ValueError("the message is too large")
        return bytes(found)

    def _count(self) -> int:
        return sum(rows.messages for rows in self._topics.values())

    def _add_finding(self, severity: Severity, message: Message) -> None:
        self._findings.append(Finding(severity, "log", (), message))

    def _damage(self, error: BaseException) -> None:
        """Report that the rest cannot be read; DynError if nothing could be read."""
        if not self._count():
            if isinstance(error, DynError) and error.code == TOO_LARGE:
                raise error
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


def _storage(path: Path) -> str:
    """Return the suffix of a file of a bag, without that of a packed one."""
    return path.with_suffix("").suffix if path.suffix == PACKED else path.suffix


@contextlib.contextmanager
def _plain_file(path: Path, budget: Budget) -> Iterator[Path]:
    """Yield a file itself, or an unpacked copy of it; DynError if that would be too large."""
    if path.suffix != PACKED:
        yield path
        return
    size = 0
    with tempfile.NamedTemporaryFile() as copy, path.open("rb") as file:
        for piece in unpacked_pieces(iter(partial(file.read, PIECE), b""), "zstd"):
            size += len(piece)
            if size > budget.most_unpacked:
                raise budget.exceeded(size / budget.most_unpacked * budget.memory)
            copy.write(piece)
        copy.flush()
        yield Path(copy.name)


def _stamp(message: Any) -> int:
    """Return the time in the header of a message (ns); 0 without a header."""
    header = getattr(message, "header", None)
    return 0 if header is None else int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _reason(error: BaseException) -> str:
    if isinstance(error, DynError):
        return str(error.detail)
    return shortened(str(error).strip().rstrip(".") or type(error).__name__, 120)
