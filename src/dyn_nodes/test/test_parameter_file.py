# SPDX-License-Identifier: Apache-2.0
"""Which nodes a file of parameters is for; rcl itself is the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context

from dyn_core import DynError
from dyn_nodes.parameter_file import check_applies, nodes_of_file

PATTERNS = ["arm", "/arm", "/**/arm", "/**", "/*/arm", "/left/arm", "left: {arm}", "/left/**/arm", "/*/*/arm"]
NODES = ["/arm", "/left/arm", "/left/deep/arm", "/right/arm"]


def written(directory: Path, pattern: str) -> str:
    """A file with a parameter for the nodes of a pattern."""
    file = directory / "parameters.yaml"
    values = "{ros__parameters: {given: true}}"
    nested = pattern.replace(": {arm}", ": {arm: " + values + "}")
    file.write_text(nested if nested != pattern else f"{pattern}: {values}")
    return str(file)


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_file_applies_where_rcl_says_so(pattern: str, name: str, tmp_path: Path) -> None:
    file = written(tmp_path, pattern)
    namespace, _, own = name.rpartition("/")
    context = Context()
    rclpy.init(args=["--ros-args", "--params-file", file], context=context)
    node = rclpy.create_node(
        own, namespace=namespace, context=context, automatically_declare_parameters_from_overrides=True
    )
    applies = node.has_parameter("given")
    node.destroy_node()
    context.shutdown()
    if applies:
        check_applies(file, name)
    else:
        with pytest.raises(DynError, match=f"but the node is '{name}': write '/\\*\\*/arm:'"):
            check_applies(file, name)


def test_files_for_other_nodes_are_nobodys_mistake(tmp_path: Path) -> None:
    check_applies(written(tmp_path, "/other"), "/arm")


def test_the_nodes_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/a: {ros__parameters: {x: 1}}\nb: {c: {ros__parameters: {}}}\nd: 1\n")
    assert list(nodes_of_file(str(file))) == ["/**/a", "/b/c"]
    file.write_text("# nothing")
    assert nodes_of_file(str(file)) == {}
    file.write_text("<robot name='r'/>")
    with pytest.raises(
        DynError, match=r"parameters\.yaml: the file of parameters .line 1.: it must be a mapping"
    ):
        nodes_of_file(str(file))
    file.write_text("a: [")
    with pytest.raises(DynError, match=r"parameters\.yaml: malformed YAML"):
        nodes_of_file(str(file))
