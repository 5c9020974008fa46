# SPDX-License-Identifier: Apache-2.0
"""Checks of loops that cannot be closed, or not in their stated assembly."""

from __future__ import annotations

import math

import pytest
from checked_robot import CLEAN
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, FOUR_BAR, FOUR_BAR_SIDE
from refusals import summary
from robots import ROBOTS, loop_robot

from dyn_core import Finding, Severity, check_robot

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
        ("revolute", 0.5, 0.0, "0, 1, 0", ("apart", 0.1, 0.0)),
        ("revolute", 0.5, 0.3, "0, 1, 0", ("apart-and-turned", 0.1, 0.3)),
        ("revolute", 0.4, 0.3, "0, 0, 1", None),
        ("spherical", 0.4, 0.3, "0, 1, 0", None),
        ("spherical", 0.7, 0.3, "0, 1, 0", ("apart", 0.3, 0.0)),
        ("fixed", 0.4, 0.3, "0, 0, 1", ("turned", 0.0, 0.3)),
        ("prismatic", 0.5, 0.0, "1, 0, 0", None),
        ("prismatic", 0.5, 0.0, "0, 1, 0", ("apart", 0.1, 0.0)),
        ("cylindrical", 0.5, 0.0, "1, 0, 0", None),
        ("planar", 0.5, 0.0, "0, 1, 0", None),
        ("planar", 0.5, 0.0, "1, 0, 0", ("apart", 0.1, 0.0)),
    ],
)
def test_loops(kind: str, x: float, turn: float, axis: str, expected: tuple | None) -> None:
    side = CLOSURE.format(kind=kind, x=x, turn=turn, axis=axis)
    found = [finding for finding in check_robot(CLEAN, loops=side) if finding.code == "loop-open-at-zero"]
    note = [(Severity.NOTE, "loop 'closure'")] * bool(expected)
    assert [(finding.severity, finding.element) for finding in found] == note
    for values in (finding.values for finding in found):
        given = (values["gap"].code, values["distance"], values["angle"])
        assert given == (f"loop-sides-{expected[0]}", *(pytest.approx(x, abs=1e-9) for x in expected[1:]))


def test_loops_are_checked_in_their_assembly() -> None:
    """With the shoulder at pi/2 the elbow is 0.4 m below the shoulder (its axis is y)."""
    side = CLOSURE.format(kind="spherical", x=0.0, turn=0.0, axis="0, 1, 0").replace("0.5]", "0.1]")
    shoulder = math.pi / 2

    def found(assembly: float) -> list[Finding]:
        findings = check_robot(CLEAN, loops=f"{side}assembly: {{shoulder: {assembly}}}")
        return [finding for finding in findings if finding.code.startswith("loop-open")]

    assert found(shoulder) == []
    (finding,) = found(shoulder - 0.5)
    expected = Severity.WARNING, "loop 'closure'", "loop-open-in-assembly"
    assert (finding.severity, finding.element, finding.code) == expected
    assert finding.values["distance"] == pytest.approx(0.198, abs=5e-4)


def test_universal_loops_keep_the_angle_of_their_axes() -> None:
    side = CLOSURE.format(kind="universal", x=0.4, turn=0.0, axis="0, 1, 0")
    axes = "0, 0, 1", "0, 0.6, 0.8"
    normal, oblique = (side.replace("axis:", f"axis2: [{axis}], axis:") for axis in axes)
    turned = normal.replace("rpy: [0, 0, 0.0]", "rpy: [0.2, 0, 0]")
    for text, angles in ((normal, []), (oblique, []), (turned, [pytest.approx(0.2)])):
        found = check_robot(CLEAN, loops=text)
        assert [f.values["angle"] for f in found if f.code.startswith("loop-open")] == angles


def of_loops(text: str, side: str) -> list[Finding]:
    return [finding for finding in check_robot(text, loops=side) if finding.kind in ("loop", "joint")]


@pytest.mark.parametrize("name", ["sr400", "akr3000", "palletizer", "five_bar"])
def test_loops_of_the_examples_work(name: str) -> None:
    """Only notes; those about loops say that they are planar."""
    found = check_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")
    assert {finding.severity for finding in found} == {Severity.NOTE}
    (finding,) = (finding for finding in found if finding.kind == "loop")  # one note for all planar loops
    assert finding.code == "loop-constraints-redundant" + "-each" * (len(finding.names) > 1)
    values = finding.values
    assert (values["independent"], values["constraints"], values["reason"].code) == (2, 5, "loop-planar")
    assert len(finding.names) == len(loop_robot(name).loops)


def test_loops_that_cannot_work_are_errors() -> None:
    found = of_loops(FIVE_BAR, FIVE_BAR_SIDE.replace("left_elbow, right_elbow]", "left_elbow]"))
    (finding,) = (finding for finding in found if finding.severity is Severity.ERROR)
    assert (finding.element, finding.code) == ("loop 'tip'", "loops-overactuated")
    assert finding.values["excess"] == 1


def test_a_badly_placed_cut_is_noted() -> None:
    found = [finding for finding in of_loops(FOUR_BAR, FOUR_BAR_SIDE) if finding.code == "loop-cut-unequal"]
    assert [dict(finding.values) for finding in found] == [{"parent": 3, "child": 0, "joint": "first"}]


def test_an_assembly_close_to_a_singularity_is_a_warning() -> None:
    """The forearms are 1 m together; the elbows are moved almost that far apart."""
    wide = FIVE_BAR.replace("0.3 0.0 0.0", "0.9999996 0.0 0.0")
    up, bent = math.pi / 2, 1.5701
    assembly = f"{{left_shoulder: {up}, left_elbow: {-bent}, right_shoulder: {up}, right_elbow: {bent}}}"
    side = f"{FIVE_BAR_SIDE.partition('assembly')[0]}assembly: {assembly}"
    (finding,) = (f for f in of_loops(wide, side) if f.code == "assembly-nearly-singular")
    assert finding.severity is Severity.WARNING


def with_elbow_limits(lower: str, upper: str) -> str:
    head, middle, rest = FIVE_BAR.split('lower="-3" upper="3"', 2)
    return f'{head}lower="-3" upper="3"{middle}lower="{lower}" upper="{upper}"{rest}'


def test_positions_of_the_assembly_outside_of_limits_are_a_warning() -> None:
    found = map(summary, of_loops(with_elbow_limits("0.5", "3"), FIVE_BAR_SIDE))
    assert "assembly-outside-limits at warning, joint 'left_elbow' (line 9): 0.5, -1.543, rad, 3" in found


def test_passive_joints_that_leave_their_limits_are_noted() -> None:
    """The left elbow is at -1.54 rad in the assembly, and its limits are narrow around that value."""
    code = "passive-joint-leaves-limits"
    (finding,) = (f for f in of_loops(with_elbow_limits("-1.6", "-1.5"), FIVE_BAR_SIDE) if f.code == code)
    assert (finding.severity, finding.element) == (Severity.NOTE, "joint 'left_elbow'")
    assert (finding.values["lower"], finding.values["upper"]) == (-1.6, -1.5)
    assert not any(finding.code == code for finding in of_loops(FIVE_BAR, FIVE_BAR_SIDE))


def test_actuators_that_cannot_hold_closed_loops_against_gravity() -> None:
    weak = FIVE_BAR.replace('effort="100"', 'effort="0.5"').replace('axis xyz="0 0 1"', 'axis xyz="0 -1 0"')
    side = FIVE_BAR_SIDE.replace("[0.5, 0, 0]},", "[0.5, 0, 0]}, axis: [0, -1, 0],", 1)
    found = [f for f in of_loops(weak, side) if f.code.startswith("effort-limit-below-gravity")]
    assert [finding.names for finding in found] == [("left_shoulder",), ("right_shoulder",)]


def test_closed_loops_whose_actuators_move_no_mass() -> None:
    massless = FIVE_BAR.replace('mass value="1.5"', 'mass value="0"')
    massless = massless.replace('ixx="0.01"', 'ixx="0"').replace('="0.02"', '="0"')
    assert "robot-without-mass" in {found.code for found in check_robot(massless, loops=FIVE_BAR_SIDE)}
