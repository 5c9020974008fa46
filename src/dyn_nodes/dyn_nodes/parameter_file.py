# SPDX-License-Identifier: Apache-2.0
"""Which nodes a YAML file of parameters is for, by the rules of ROS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dyn_core import DynError
from dyn_core.core.errors import listed
from dyn_core.core.text import read_text
from dyn_core.io.yaml_values import entries
from dyn_core.robot.yaml_text import Entries, Node, parse_yaml

_PARAMETERS = "ros__parameters"
_WILDCARDS = {"**": "(/[^/]+)*", "*": "/[^/]+"}


def nodes_of_file(file: str) -> dict[str, Mapping[str, Node]]:
    """Answer the parameters in a file, by the full names of their nodes, with wildcards as they are there.

    Raises:
        DynError: the file cannot be read.
    """
    try:
        tree = parse_yaml(read_text(file, "YAML", "YAML"))
        return dict(_nodes(Entries(entries("the file of parameters", tree)), ""))
    except DynError as problem:
        raise problem if problem.file else problem.in_file(file) from problem


def check_applies(file: str, node: str) -> None:
    """Raise a DynError where a file is for a node of this name in another namespace only.

    ROS would start the node with its defaults and say nothing.

    Args:
        file: YAML file of parameters.
        node: full name of the node.
    """
    name = node.rpartition("/")[2]
    patterns = list(nodes_of_file(file))
    if any(_matches(pattern, node) for pattern in patterns):
        return
    others = [pattern for pattern in patterns if pattern.rpartition("/")[2] == name]
    if others:
        raise DynError(
            f"the parameters are for {listed(others)}, but the node is '{node}': write '/**/{name}:'",
            file=file,
        )


def _matches(pattern: str, node: str) -> bool:
    parts = (_WILDCARDS.get(part, "/" + re.escape(part)) for part in pattern.strip("/").split("/"))
    return re.fullmatch("".join(parts), node) is not None


def _nodes(tree: Entries, path: str) -> Iterator[tuple[str, Mapping[str, Node]]]:
    if _PARAMETERS in tree.values:
        yield path, entries(f"'{path}'", tree.values[_PARAMETERS])
    for key, below in tree.values.items():
        if key != _PARAMETERS and isinstance(below, Entries):
            yield from _nodes(below, f"{path}/{key.strip('/')}")
