# SPDX-License-Identifier: Apache-2.0
"""ROS 2 bags, ``mcap`` and sqlite3, by the library rosbags, with no ROS."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs import mcap_rest, sqlite_rest
from dyn_core.logs.bag_library import BagLibrary, bag_library
from dyn_core.logs.bag_message import EXTRACT
from dyn_core.logs.readers.bag_messages import TopicRows
from dyn_core.logs.stream import Recording

MCAP, SQLITE = ".mcap", ".db3"
METADATA = "metadata.yaml"


def read_bag(path: Path, suffix: str, max_values: int) -> Recording:
    """Answer what a bag says of joints, each topic by itself.

    Args:
        path: a directory, or one file.
        suffix: ``.mcap`` or ``.db3``, whatever the file is called; empty for a directory.
        max_values: how many values are read at most.

    Raises:
        DynError: it cannot be read.
    """
    bag = _Bag(bag_library(), max_values)
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
        """Take the files that metadata.yaml names; without it, or with a wrong one, all files of bags."""
        files = sorted(file for file in path.iterdir() if file.suffix in (MCAP, SQLITE))
        if (path / METADATA).exists():
            try:
                self._take(path)
            except self._library.errors as error:
                if self._count() or not files:
                    self._damage(error)
                    return
                self._say(
                    Severity.WARNING, f"the bag cannot be read as a whole ({_said(error)}): {_each(files)}"
                )
            else:
                return
        elif not files:
            raise DynError(
                f"this is a directory without {METADATA}, .mcap or .db3 files, so no bag: give a log in it"
            )
        else:
            self._say(
                Severity.NOTE, f"the bag has no {METADATA}, as when its recorder was killed: {_each(files)}"
            )
        for file in files:
            if not self._is_full:
                self.take_file(file, file.suffix)

    def take_file(self, path: Path, suffix: str) -> None:
        """Take one file of a bag."""
        before = self._count()
        try:
            with _named(path, suffix) as named:
                self._take(named)
        except self._library.errors as error:
            if self._count() == before:
                self._take_rest(path, suffix)
            self._damage(error)

    def _take(self, path: Path) -> None:
        with self._library.reader(path) as reader:
            wanted = [connection for connection in reader.connections if connection.msgtype in EXTRACT]
            self._others |= {c.topic: c.msgtype for c in reader.connections if c.msgtype not in EXTRACT}
            if not wanted:
                return
            for connection, received, data in reader.messages(connections=wanted):
                self._add(connection.topic, connection.msgtype, received, data, reader.deserialize)
                if self._is_full:
                    return

    def _take_rest(self, path: Path, suffix: str) -> None:
        """Take what is left of a file without an end."""
        types = self._library.message_types()
        rest = mcap_rest if suffix == MCAP else sqlite_rest
        for message in rest.remaining_messages(path):
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
                raise TypeError("the time at which it was received is no number")
            message = deserialize(data, kind)
            said = EXTRACT[kind](message)
        except self._library.damaged:
            self._damaged += 1
            return
        before = rows.values
        rows.add(said, _stamp(message), received)
        self._room -= rows.values - before
        self._is_full = self._room <= 0

    def _count(self) -> int:
        return sum(rows.messages for rows in self._topics.values())

    def _say(self, severity: Severity, sentence: str) -> None:
        self._findings.append(Finding(severity, "log", (), sentence))

    def _damage(self, error: BaseException) -> None:
        """Say that the rest cannot be read; DynError where nothing could."""
        if not self._count():
            raise DynError(
                f"the bag cannot be read: {_said(error)}; where it was cut, 'sqlite3 FILE .recover' mends a "
                ".db3 and "
                "'mcap recover' an .mcap file"
            ) from error
        self._say(
            Severity.WARNING,
            f"the bag was cut or is damaged ({_said(error)}): the {self._count()} messages up to there are "
            "used",
        )

    def recording(self) -> Recording:
        """Answer what was collected."""
        if self._damaged:
            self._say(Severity.WARNING, f"{self._damaged} messages cannot be decoded: they are left out")
        if self._is_full:
            self._say(
                Severity.WARNING,
                f"it is larger than what is read at once: only its first {self._count()} messages are used; "
                "record "
                "fewer topics, or cut it where the robot moves as it should",
            )
        return Recording(
            form="ROS 2 bag",
            streams=tuple(stream for rows in self._topics.values() for stream in rows.streams()),
            findings=(*self._findings, *(f for rows in self._topics.values() for f in rows.findings())),
            others=tuple(f"{topic} ({kind})" for topic, kind in sorted(self._others.items())),
        )


def _stamp(message: Any) -> int:
    """Answer the time in the header of a message (ns); 0 where it has none."""
    header = getattr(message, "header", None)
    if header is None:
        return 0
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _said(error: BaseException) -> str:
    return shortened(str(error).strip().rstrip(".") or type(error).__name__, 120)


def _each(files: list[Path]) -> str:
    one = "its file is read by itself"
    return f"its {len(files)} files are read by themselves" if len(files) > 1 else one


@contextlib.contextmanager
def _named(path: Path, suffix: str) -> Iterator[Path]:
    """Answer a path with the suffix that rosbags goes by, whatever the file is called."""
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"bag{suffix}"
        link.symlink_to(path.resolve())
        yield path if path.suffix == suffix else link
