# SPDX-License-Identifier: Apache-2.0
"""What is used of the library rosbags, which is imported where the first bag is read."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from pathlib import Path
from typing import Any

from dyn_core.core.errors import DynError


class MessageTypes:
    """Types of messages, those of ROS 2 and those that a bag defines itself."""

    def __init__(self, store: Any, parse: Any) -> None:
        """Take a store of the library, and how it reads definitions."""
        self._store, self._parse = store, parse
        self._learnt: set[str] = set()

    def learn(self, kind: str, definition: str) -> None:
        """Take the definition of a type, unless it is known."""
        if kind in self._learnt:
            return
        self._learnt.add(kind)
        if definition:
            # A definition that cannot be read leaves the one that ROS 2 has for it.
            with contextlib.suppress(Exception):
                found = self._parse(definition, kind)
                known = self._store.fielddefs
                self._store.register({name: fields for name, fields in found.items() if name not in known})

    def deserialize(self, data: bytes, kind: str) -> Any:
        """Answer a message."""
        return self._store.deserialize_cdr(data, kind)


class BagLibrary:
    """The library.

    Attributes:
        damaged: what it raises on bytes that are no message.
        errors: what it raises on files that are no bags; what is not its own comes from what it calls.
    """

    def __init__(self) -> None:
        """Import it; ImportError where it is not installed."""
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.rosbag2 import ReaderError
        from rosbags.serde import SerdeError
        from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore

        self._reader: Any = AnyReader
        self._parse: Any = get_types_from_msg
        self._new_store: Any = get_typestore
        self._latest = Stores.LATEST
        self.damaged: tuple[type[BaseException], ...] = (
            *(
                AnyReaderError,
                SerdeError,
                TypesysError,
                struct.error,
                ValueError,
                KeyError,
                IndexError,
                AttributeError,
                TypeError,
            ),
            *(AssertionError, UnicodeDecodeError, OverflowError),
        )
        self.errors = (
            *(*self.damaged, ReaderError, OSError, sqlite3.Error, EOFError, RuntimeError, MemoryError),
            _apsw_error(),
        )

    def reader(self, path: Path) -> Any:
        """Answer a reader of a bag, as a context."""
        return self._reader([path], default_typestore=self._new_store(self._latest))

    def message_types(self) -> MessageTypes:
        """Answer the types of the latest ROS 2."""
        return MessageTypes(self._new_store(self._latest), self._parse)


def bag_library() -> BagLibrary:
    """Answer the library; DynError, which says how to get it, where it is not installed."""
    try:
        return BagLibrary()
    except ImportError as error:
        raise DynError(
            "bags cannot be read without rosbags: install it with 'python3 -m pip install rosbags'"
        ) from error


def _apsw_error() -> type[BaseException]:
    """Answer the error of the binding of SQLite that rosbags uses, where it does."""
    try:
        from apsw import Error
    except ImportError:
        return OSError
    found: type[BaseException] = Error
    return found
