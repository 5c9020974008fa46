# SPDX-License-Identifier: Apache-2.0
"""Boxes of joint space from YAML.

.. code-block:: yaml

    boxes:
      - name: table                # in messages
        joints:                    # the box: all of these within their ranges (rad or m)
          shoulder: [0.9, 1.8]
          elbow: [-1.0, 0.0]
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.text import path_text, read_text
from dyn_core.excitation.excitation_settings import ForbiddenBox
from dyn_core.io.yaml_values import entries, fail, items, name, number
from dyn_core.robot.yaml_text import Node, as_node, parse_yaml


def read_boxes(
    source: str | os.PathLike[str] | Mapping[str, object] | Sequence[Mapping[str, object]],
) -> tuple[ForbiddenBox, ...]:
    """Answer the boxes in a YAML file, or in what it would hold: a mapping, or its list of boxes.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and box.
    """
    if not isinstance(source, str | os.PathLike):
        node = as_node(source if isinstance(source, Mapping) else {"boxes": source})
        return _boxes(node)
    path = path_text(source)
    text = read_text(source, "YAML", "YAML")
    try:
        return _boxes(parse_yaml(text))
    except DynError as error:
        raise error.in_file(path) from error


def _boxes(root: Node) -> tuple[ForbiddenBox, ...]:
    given = entries("the file", root, ("boxes",))
    if "boxes" not in given:
        raise DynError("there is no entry 'boxes': give a list of boxes there")
    boxes = [_box(f"boxes[{k}]", node) for k, node in enumerate(items("boxes", given["boxes"]))]
    names = [box.name for box in boxes]
    for box in boxes:
        if names.count(box.name) > 1:
            raise DynError(f"two boxes are named '{box.name}': give each its own name")
    return tuple(boxes)


def _box(owner: str, node: Node) -> ForbiddenBox:
    given = entries(owner, node, ("name", "joints"))
    shown = name(f"{owner}, name", given["name"]) if "name" in given else owner
    owner = f"box '{shortened(shown, 40)}'"
    if "joints" not in given:
        raise fail(owner, node, "it has no joints: give ranges as in 'joints: {elbow: [-1.0, 0.0]}'")
    ranges = entries(f"{owner}, joints", given["joints"])
    return ForbiddenBox(
        shown,
        {joint: _range(f"{owner}, joint '{shortened(joint, 40)}'", two) for joint, two in ranges.items()},
    )


def _range(owner: str, node: Node) -> tuple[float, float]:
    values = items(owner, node)
    if len(values) != 2:
        raise fail(owner, node, f"it has {len(values)} numbers: give the least and the greatest position")
    lower, upper = (number(owner, value) for value in values)
    return lower, upper
