# SPDX-License-Identifier: Apache-2.0
"""Loops that cannot be closed, or not where they are said to be."""

from __future__ import annotations

import math

import pytest
from checked_robot import CLEAN

from dyn_core import Severity, check_robot

FOUR_BAR = """
loops:
  - {{name: closure, type: {kind}, parent: {{link: base, xyz: [{x}, 0, 0.5], rpy: [0, 0, {turn}]}},
     child: {{link: fore}}, axis: [{axis}]}}
"""


@pytest.mark.parametrize(
    ("kind", "x", "turn", "axis", "expected"),
    [
        ("revolute", 0.4, 0.0, "0, 1, 0", None),
        ("revolute", 0.4005, 0.0, "0, 1, 0", None),
        ("revolute", 0.5, 0.0, "0, 1, 0", "its sides are 0.1 m apart"),
        ("revolute", 0.5, 0.3, "0, 1, 0", "its sides are 0.1 m apart and 0.3 rad turned"),
        ("revolute", 0.4, 0.3, "0, 0, 1", None),
        ("spherical", 0.4, 0.3, "0, 1, 0", None),
        ("spherical", 0.7, 0.3, "0, 1, 0", "its sides are 0.3 m apart"),
        ("fixed", 0.4, 0.3, "0, 0, 1", "its sides are 0.3 rad turned"),
        ("prismatic", 0.5, 0.0, "1, 0, 0", None),
        ("prismatic", 0.5, 0.0, "0, 1, 0", "its sides are 0.1 m apart"),
        ("cylindrical", 0.5, 0.0, "1, 0, 0", None),
        ("planar", 0.5, 0.0, "0, 1, 0", None),
        ("planar", 0.5, 0.0, "1, 0, 0", "its sides are 0.1 m apart"),
    ],
)
def test_loops(kind: str, x: float, turn: float, axis: str, expected: str | None) -> None:
    side = FOUR_BAR.format(kind=kind, x=x, turn=turn, axis=axis)
    findings = [f for f in check_robot(CLEAN, loops=side) if "not available yet" not in f.message]
    assert [finding.element for finding in findings] == ["loop 'closure'"] * bool(expected)
    for finding in findings:
        assert finding.severity is Severity.NOTE
        assert f"it is open with all joints at 0: {expected}: give an assembly" in finding.message


def test_the_assembly_is_where_loops_are_closed() -> None:
    """With the shoulder at pi/2 the elbow is 0.4 m below the shoulder (its axis is y)."""
    side = FOUR_BAR.format(kind="spherical", x=0.0, turn=0.0, axis="0, 1, 0").replace("0.5]", "0.1]")
    shoulder = math.pi / 2

    def messages(assembly: float) -> list[str]:
        found = check_robot(CLEAN, loops=f"{side}assembly: {{shoulder: {assembly}}}")
        return [str(finding) for finding in found if "not available yet" not in finding.message]

    assert messages(shoulder) == []
    (message,) = messages(shoulder - 0.5)
    assert message.startswith(
        "warning: loop 'closure': it is open in the assembly: its sides are 0.198 m apart"
    )


def test_universal_loops_keep_the_angle_of_their_axes() -> None:
    side = FOUR_BAR.format(kind="universal", x=0.4, turn=0.0, axis="0, 1, 0")
    normal, oblique = (
        side.replace("axis:", f"axis2: [{axis}], axis:") for axis in ("0, 0, 1", "0, 0.6, 0.8")
    )
    for text in (normal, oblique):
        assert all("open" not in finding.message for finding in check_robot(CLEAN, loops=text))
    turned = normal.replace("rpy: [0, 0, 0.0]", "rpy: [0.2, 0, 0]")
    assert any("0.2 rad turned" in finding.message for finding in check_robot(CLEAN, loops=turned))
