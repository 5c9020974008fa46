# SPDX-License-Identifier: Apache-2.0
"""Several nodes in one process: `python -m dyn_nodes.compose --params FILE`.

The nodes are those with parameters in the files, or those that --nodes names. A failure in one of them does
not end the others.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # signals come also during the imports below
    from dyn_nodes.executables import compose

    sys.exit(compose())

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from rclpy.exceptions import NameValidationException

from dyn_core import DynError
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.process import run_together
from dyn_nodes.common.parameter_file import nodes_of_file
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.identification.node import Identification
from dyn_nodes.simulation.node import Simulation

NODES: Mapping[str, Callable[..., ManagedNode]] = {
    "feedforward": Feedforward,
    "simulation": Simulation,
    "controller": Controller,
    "governor": Governor,
    "identification": Identification,
}


class NamedNode(NamedTuple):
    """A node to run."""

    name: str
    namespace: str | None  # its namespace; None where it is not given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the nodes until SIGINT or SIGTERM; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="compose",
        description="Run several nodes in one process.",
        epilog="What follows --ros-args is for all nodes.",
    )
    several = partial(parser.add_argument, nargs="+", action="extend", default=[])
    several("--params", metavar="FILE", help="YAML files of parameters")
    several("--nodes", choices=NODES, help="the nodes (default: those whose parameters are in the files)")
    rules = "names of topics and services; NODE:FROM:=TO for one node alone"
    several("--remap", metavar="FROM:=TO", help=rules)
    parser.add_argument("--namespace", default="", help="of the nodes that the files do not give one")
    given = list(sys.argv[1:] if arguments is None else arguments)
    own = given[: given.index("--ros-args")] if "--ros-args" in given else given
    options = parser.parse_args(own)
    of_ros = ["--ros-args"]
    for file in options.params:
        of_ros += ["--params-file", file]
    for rule in options.remap:
        of_ros += ["--remap", rule]
    of_ros += given[len(own) + 1 :]  # later arguments override earlier ones
    try:
        chosen = chosen_nodes(options.nodes, options.params, options.namespace)
    except DynError as problem:
        print(f"compose: {problem}", file=sys.stderr)
        return 1
    return run_together(partial(_made, chosen), "compose", of_ros)


def chosen_nodes(names: Sequence[str], files: Sequence[str], namespace: str) -> list[NamedNode]:
    """Return the nodes to run, each once; DynError where there are none.

    Without names, these are all nodes with parameters in the files. `namespace` is for nodes without one.
    """
    listed = [node for file in files for node in _nodes_of(file)]
    chosen = [node for node in listed if not names or node.name in names]
    chosen += [NamedNode(name, None) for name in names if name not in {node.name for node in listed}]
    if not chosen:
        raise DynError("node-missing", known=" or ".join(NODES))
    given = "/" + namespace.strip("/")
    placed = (node if node.namespace else NamedNode(node.name, given) for node in chosen)
    return list(dict.fromkeys(placed))


def _made(chosen: Sequence[NamedNode]) -> list[ManagedNode]:
    nodes: list[ManagedNode] = []
    for name, namespace in chosen:
        try:
            nodes.append(NODES[name](namespace=namespace))
        except (DynError, NameValidationException) as problem:
            for node in nodes:
                node.end()
            cause = problem if isinstance(problem, DynError) else str(problem).splitlines()[0]
            raise DynError("node-not-created", node=name, cause=cause) from problem
    return nodes


def _nodes_of(file: str) -> Iterator[NamedNode]:
    """Yield the nodes of this package that have parameters in a file."""
    for path in nodes_of_file(file):
        namespace, _, name = path.rpartition("/")
        if name in NODES:
            yield NamedNode(name, None if "*" in namespace else "/" + namespace.strip("/"))
