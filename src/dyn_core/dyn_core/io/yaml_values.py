# SPDX-License-Identifier: Apache-2.0
"""Nodes of a YAML document as names, numbers, lists and mappings.

`owner` says in messages what a node belongs to, e.g. ``loop 'closure', parent``.
"""

from __future__ import annotations

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.io.attributes import LARGEST_LENGTH
from dyn_core.io.number import finite_number
from dyn_core.robot.description import Triple
from dyn_core.robot.yaml_text import Entries, Items, Node, Scalar


def fail(owner: str, at: Node, what: str) -> DynError:
    """Answer the error for a node that belongs to `owner`."""
    place = f"{owner} (line {at.line})" if at.line else owner
    return DynError(f"{place}: {what}", element=owner, line=at.line or None)


def entries(
    owner: str, node: Node, known: tuple[str, ...] = (), example: str = "name: value"
) -> dict[str, Node]:
    """Answer a mapping, which has no other keys than those `known`, where some are given.

    Args:
        owner: what the node belongs to, for messages.
        node: the node.
        known: the keys that there can be; empty for any.
        example: what such a mapping looks like, for messages.
    """
    if node == Scalar("", node.line):
        return {}
    if not isinstance(node, Entries):
        raise fail(owner, node, f"it must be a mapping, as in '{example}'")
    for key in node.values:
        if known and key not in known:
            raise fail(owner, node, f"it has no entry '{shortened(key, 40)}': use {listed(known, 12)}")
    return node.values


def items(owner: str, node: Node) -> tuple[Node, ...]:
    """Answer a list."""
    if node == Scalar("", node.line):
        return ()
    if not isinstance(node, Items):
        raise fail(owner, node, "it must be a list, as in '[a, b]'")
    return node.values


def name(owner: str, node: Node) -> str:
    """Answer a name."""
    if not isinstance(node, Scalar) or not node.text.strip():
        raise fail(owner, node, "it must be a name")
    return node.text.strip()


def number(owner: str, node: Node, unit: str = "") -> float:
    """Answer a finite number; messages say which unit it has, where one is given."""
    value = finite_number(node.text) if isinstance(node, Scalar) else None
    if value is None:
        wanted = f"a finite number ({unit})" if unit else "a finite number"
        raise fail(owner, node, f"it is {_shown(node)}: write {wanted}")
    return value


def _shown(node: Node) -> str:
    if not isinstance(node, Scalar):
        return "no number"
    return f"'{shortened(node.text, 40)}'" if node.text else "empty"


def not_negative(owner: str, node: Node, unit: str = "") -> float:
    """Answer a number that must not be negative."""
    value = number(owner, node, unit)
    if value < 0.0:
        raise fail(owner, node, f"it is {value:g}: it cannot be negative")
    return value


def triple(owner: str, node: Node) -> Triple:
    """Answer three lengths (m), angles (rad) or components."""
    values = items(owner, node)
    if len(values) != 3:
        raise fail(owner, node, f"it has {len(values)} numbers, not 3")
    x, y, z = (number(owner, value) for value in values)
    if max(abs(x), abs(y), abs(z)) > LARGEST_LENGTH:
        raise fail(owner, node, f"it exceeds {LARGEST_LENGTH:g}: check its unit")
    return (x, y, z)


def words(node: Node) -> tuple[str, ...]:
    """Answer the texts of the items of a list."""
    return (
        tuple(item.text for item in node.values if isinstance(item, Scalar))
        if isinstance(node, Items)
        else ()
    )
