# SPDX-License-Identifier: Apache-2.0
"""Loops that cannot be closed, or not where they are said to be."""

from __future__ import annotations

import math

import pytest
from checked_robot import CLEAN
from emitted_programs import ROBOTS
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, FOUR_BAR, FOUR_BAR_SIDE

from dyn_core import Finding, Severity, check_robot, load_robot

CLOSURE = """
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
    side = CLOSURE.format(kind=kind, x=x, turn=turn, axis=axis)
    findings = [f for f in check_robot(CLEAN, loops=side) if f.message.startswith("it is open")]
    assert [finding.element for finding in findings] == ["loop 'closure'"] * bool(expected)
    for finding in findings:
        assert finding.severity is Severity.NOTE
        assert f"it is open with all joints at 0: {expected}: give an assembly" in finding.message


def test_the_assembly_is_where_loops_are_closed() -> None:
    """With the shoulder at pi/2 the elbow is 0.4 m below the shoulder (its axis is y)."""
    side = CLOSURE.format(kind="spherical", x=0.0, turn=0.0, axis="0, 1, 0").replace("0.5]", "0.1]")
    shoulder = math.pi / 2

    def messages(assembly: float) -> list[str]:
        found = check_robot(CLEAN, loops=f"{side}assembly: {{shoulder: {assembly}}}")
        return [str(finding) for finding in found if finding.message.startswith("it is open")]

    assert messages(shoulder) == []
    (message,) = messages(shoulder - 0.5)
    assert message.startswith(
        "warning: loop 'closure': it is open in the assembly: its sides are 0.198 m apart"
    )


def test_universal_loops_keep_the_angle_of_their_axes() -> None:
    side = CLOSURE.format(kind="universal", x=0.4, turn=0.0, axis="0, 1, 0")
    normal, oblique = (
        side.replace("axis:", f"axis2: [{axis}], axis:") for axis in ("0, 0, 1", "0, 0.6, 0.8")
    )
    for text in (normal, oblique):
        found = check_robot(CLEAN, loops=text)
        assert not any(finding.message.startswith("it is open") for finding in found)
    turned = normal.replace("rpy: [0, 0, 0.0]", "rpy: [0.2, 0, 0]")
    assert any("0.2 rad turned" in finding.message for finding in check_robot(CLEAN, loops=turned))


def of_loops(text: str, side: str) -> list[Finding]:
    return [finding for finding in check_robot(text, loops=side) if finding.kind in ("loop", "joint")]


@pytest.mark.parametrize("name", ["sr400", "akr3000", "palletizer", "five_bar"])
def test_loops_of_the_examples_work(name: str) -> None:
    """Nothing but notes; those of the loops say that they are planar."""
    found = check_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")
    assert {finding.severity for finding in found} == {Severity.NOTE}
    of_loop = [finding for finding in found if finding.kind == "loop"]
    (finding,) = of_loop  # one line, however many loops are planar
    whose = "of the 5 constraints of each count" if len(finding.names) > 1 else "of its 5 constraints count"
    assert finding.message.startswith(f"only 2 {whose}, as it is a planar loop, all its axes are parallel")
    assert len(finding.names) == len(load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml").loops)


def test_loops_that_cannot_work_are_errors() -> None:
    (finding,) = (
        finding
        for finding in of_loops(FIVE_BAR, FIVE_BAR_SIDE.replace("left_elbow, right_elbow]", "left_elbow]"))
        if finding.severity is Severity.ERROR
    )
    assert finding.element == "loop 'tip'"
    assert "it is over-actuated by 1" in finding.message


def test_a_badly_placed_cut_is_noted() -> None:
    messages = [finding.message for finding in of_loops(FOUR_BAR, FOUR_BAR_SIDE)]
    assert (
        "its branches have 3 and 0 joints: cut at joint 'first' they are more equal, and the model is cheaper"
        in messages
    )


def test_an_assembly_close_to_a_singularity_is_a_warning() -> None:
    """The fore arms are 1 m together; the elbows are brought almost so far apart."""
    wide = FIVE_BAR.replace("0.3 0.0 0.0", "0.9999996 0.0 0.0")
    side = """
loops:
  - {name: tip, type: revolute, parent: {link: left_fore, xyz: [0.5, 0, 0]},
     child: {link: right_fore, xyz: [0.5, 0, 0]}}
passive: [left_elbow, right_elbow]
assembly: {left_shoulder: 1.5707963267948966, left_elbow: -1.5701, right_shoulder: 1.5707963267948966,
           right_elbow: 1.5701}
"""
    (finding,) = (f for f in of_loops(wide, side) if "close to a singularity" in f.message)
    assert finding.severity is Severity.WARNING


def test_positions_of_the_assembly_outside_of_limits_are_a_warning() -> None:
    head, middle, rest = FIVE_BAR.split('lower="-3" upper="3"', 2)
    narrow = f'{head}lower="-3" upper="3"{middle}lower="0.5" upper="3"{rest}'
    (finding,) = (f for f in of_loops(narrow, FIVE_BAR_SIDE) if "outside its limits" in f.message)
    assert finding.element == "joint 'left_elbow'"
    assert "it is at -1.543 rad, outside its limits of 0.5 to 3: check them" in finding.message


def test_passive_joints_that_leave_their_limits_are_noted() -> None:
    """The left elbow, at -1.54 rad in the assembly, within limits that are narrow around that."""
    head, middle, rest = FIVE_BAR.split('lower="-3" upper="3"', 2)
    narrow = f'{head}lower="-3" upper="3"{middle}lower="-1.6" upper="-1.5"{rest}'
    (finding,) = (f for f in of_loops(narrow, FIVE_BAR_SIDE) if ": narrow theirs" in f.message)
    assert (finding.severity, finding.element) == (Severity.NOTE, "joint 'left_elbow'")
    assert "beyond its own of -1.6 to -1.5" in finding.message
    assert not any(": narrow theirs" in f.message for f in of_loops(FIVE_BAR, FIVE_BAR_SIDE))


def test_actuators_of_closed_loops_that_cannot_hold_them() -> None:
    weak = FIVE_BAR.replace('effort="100"', 'effort="0.5"').replace('axis xyz="0 0 1"', 'axis xyz="0 -1 0"')
    side = FIVE_BAR_SIDE.replace("[0.5, 0, 0]},", "[0.5, 0, 0]}, axis: [0, -1, 0],", 1)
    found = [finding for finding in of_loops(weak, side) if "gravity takes up to" in finding.message]
    assert [finding.names for finding in found] == [("left_shoulder",), ("right_shoulder",)]


def test_actuators_of_closed_loops_that_move_no_mass() -> None:
    massless = FIVE_BAR.replace('mass value="1.5"', 'mass value="0"')
    massless = massless.replace('ixx="0.01"', 'ixx="0"').replace('="0.02"', '="0"')
    found = check_robot(massless, loops=FIVE_BAR_SIDE)
    assert any("no joint moves a mass" in finding.message for finding in found)
