# SPDX-License-Identifier: Apache-2.0
"""Substitutes for executables of packages that are not installed; they record how they were started."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

_PROGRAM = """#!{python}
import json, os, signal, sys
words = sys.argv[1:]
texts = {{word: open(word).read() for word in words if os.path.isfile(word)}}
told = json.dumps([os.path.basename(sys.argv[0]), words, texts])
path = os.path.join({directory!r}, str(os.getpid()))
with open(path + ".partial", "w") as file:
    file.write(told)
os.replace(path + ".partial", path + ".json")
signal.signal(signal.SIGINT, lambda *_: os._exit(0))
if {waits}:
    signal.pause()
"""


@dataclass(frozen=True)
class Started:
    """How an executable was started."""

    words: list[str]  # its arguments before those of ROS
    remapped: dict[str, str]  # remapped names
    parameters: dict[str, dict[str, Any]]  # by node, for any namespace; "" for all nodes


class StandIns:
    """Packages with such executables, in a separate prefix."""

    def __init__(self, directory: Path) -> None:
        self._prefix = directory / "prefix"
        self._told = directory / "told"
        self._told.mkdir()

    def add(self, package: str, executable: str, *, waits: bool) -> None:
        """Make an executable that waits for SIGINT or ends at once."""
        index = self._prefix / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        (self._prefix / "share" / package).mkdir(exist_ok=True)
        file = self._prefix / "lib" / package / executable
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_PROGRAM.format(python=sys.executable, directory=str(self._told), waits=waits))
        file.chmod(0o755)

    def prepend(self, path: str) -> str:
        """Return an AMENT_PREFIX_PATH with these packages before the others."""
        return os.pathsep.join(part for part in (str(self._prefix), path) if part)

    def started(self) -> list[tuple[str, Started]]:
        """Return the starts so far, by the name of the executable."""
        return [_read(json.loads(file.read_text())) for file in self._told.glob("*.json")]


def _read(told: list[Any]) -> tuple[str, Started]:
    name, words, texts = told
    ros = words[words.index("--ros-args") :] if "--ros-args" in words else []
    parameters: dict[str, dict[str, Any]] = {}
    for word, following in pairwise(ros):
        if word == "--params-file":
            for key, value in yaml.safe_load(texts[following]).items():
                of_node = parameters.setdefault(key.removeprefix("/**").strip("/"), {})
                of_node.update(value["ros__parameters"])
    remapped = dict(following.split(":=", 1) for word, following in pairwise(ros) if word == "-r")
    return name, Started(words[: len(words) - len(ros)], remapped, parameters)
