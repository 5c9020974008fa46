# SPDX-License-Identifier: Apache-2.0
"""The side file of a robot, from wherever it is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from dyn_core.core.errors import DynError
from dyn_core.core.text import path_text, read_text
from dyn_core.robot.side_file.reader import SideFile, side_file
from dyn_core.robot.yaml_text import as_node, parse_yaml

_YAML_TEXT = re.compile(r"\n|:\s|:$|^\s*[{#]")  # what no path of a file holds


def read_side_file(
    source: str | os.PathLike[str] | Mapping[str, object] | None,
) -> tuple[SideFile, str | None]:
    """Answer what a side file says, and its path where it has one.

    Args:
        source: path of a YAML file, YAML text, or what it would hold; None for no side file.
    """
    if source is None:
        return SideFile(), None
    if isinstance(source, Mapping):
        return side_file(as_node(source)), None
    if isinstance(source, str) and _YAML_TEXT.search(source):
        return side_file(parse_yaml(source)), None
    path = path_text(source)
    text = read_text(source, "YAML", "YAML")
    try:
        return side_file(parse_yaml(text)), path
    except DynError as error:
        raise error.in_file(path) from error
