# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the description of loops are sentences that name the loop, the value, and the remedy."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE
from test_loop_report import example

import dyn_core as dyn
from dyn_core.cli.main import main

DRIVEN = {
    "ros2_control": '<ros2_control name="x" type="system"><joint name="tip">'
    '<command_interface name="effort"/></joint></ros2_control></robot>',
    "transmission": '<transmission name="x"><joint name="tip"/><actuator name="m"/></transmission></robot>',
}
PASSIVE = "passive: [left_elbow, right_elbow]"
TIP = "xyz: [0.5, 0, 0]},"

SIDES = {
    "missing link": (
        ("link: left_fore", "link: left_four"),
        "loop 'tip' (line 3): the robot has no link 'left_four': its links are 'base', 'left_arm'",
    ),
    "same body": (
        ("link: right_fore", "link: left_fore"),
        "loop 'tip' (line 3): 'left_fore' and 'left_fore' do not move on each other: name links on",
    ),
    "not a number": (
        ("xyz: [0.5, 0, 0]},", "xyz: [.nan, 0, 0]},"),
        "loop 'tip', parent, xyz (line 3): it is '.nan': write a finite number",
    ),
    "assembly not a number": (("2.2", ".inf"), "assembly of joint 'left_shoulder' (line 6): it is '.inf'"),
    "name of a joint": (
        ("name: tip", "name: left_elbow"),
        "loop 'left_elbow' (line 3): a joint of the tree has its name: rename one",
    ),
    "name of a loop": (
        (
            "passive:",
            "  - {name: tip, type: fixed, parent: {link: left_fore}, child: {link: right_fore}}\npassive:",
        ),
        "loop 'tip' (line 5): another loop has its name: rename one",
    ),
    "the same loop twice": (
        (
            "passive:",
            "  - {name: top, type: revolute, parent: {link: right_fore, xyz: [0.5, 0, 0]},\n"
            "     child: {link: left_fore, xyz: [0.5, 0, 0]}}\npassive:",
        ),
        "loop 'top' (line 5): loop 'tip' is the same cut joint: leave one out",
    ),
    "universal, parallel axes": (
        ("type: revolute,", "type: universal, axis: [0, 0, 2], axis2: [0, 0, 1],"),
        "loop 'tip' (line 3): its axis [0, 0, 2] and its second axis [0, 0, 1] are parallel, so that nothing "
        "keeps their angle: give axes that cross",
    ),
    "universal, almost parallel axes": (
        ("type: revolute,", "type: universal, axis2: [0, 0.001, -1],"),
        "its axis [0, 0, 1] and its second axis [0, 0.001, -1] are 0.001 rad from parallel",
    ),
    "no loops, but passive joints": (
        (FIVE_BAR_SIDE[: FIVE_BAR_SIDE.index("passive")], "loops:\n"),
        "loops (line 1): it is empty, but `passive` names joints that follow through loops: give the loops",
    ),
    "passive cut joint": (
        (PASSIVE, "passive: [left_elbow, tip]"),
        "passive: 'tip' is the joint that a loop is cut at, and passive anyhow: leave it out",
    ),
    "passive unknown": (
        (PASSIVE, "passive: [left_elbow, knee]"),
        "passive: the robot has no moving joint 'knee': its joints are 'left_shoulder'",
    ),
    "passive twice": (
        (PASSIVE, "passive: [left_elbow, left_elbow]"),
        "passive: joint 'left_elbow' is named twice: keep one",
    ),
    "rotor of a cut joint": (
        (PASSIVE, f"rotor_inertia: {{tip: 0.3}}\n{PASSIVE}"),
        "rotor_inertia: 'tip' is the joint that a loop is cut at: a cut joint can have none",
    ),
    "friction of a cut joint": (
        (PASSIVE, f"friction: {{tip: {{viscous: 1}}}}\n{PASSIVE}"),
        "friction: 'tip' is the joint that a loop is cut at, whose friction no equation has: cut the loop",
    ),
    "position of a cut joint": (
        ("assembly: {", "assembly: {tip: 1, "),
        "assembly: 'tip' is the joint that a loop is cut at, and has no position: leave it out",
    ),
}


@pytest.mark.parametrize("case", SIDES)
def test_what_a_side_file_cannot_say(case: str) -> None:
    (old, new), message = SIDES[case]
    assert old in FIVE_BAR_SIDE
    with pytest.raises(dyn.DynError, match=re.escape(message)):
        dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE.replace(old, new, 1))


TIP_IN_URDF = """<constraint name="tip" type="revolute">
<parent link="left_fore"/><parent_origin xyz="0.5 0 0"/>
<child link="right_fore"/><child_origin xyz="0.5 0 0"/>{more}</constraint></robot>"""

NOT_READ = {
    '<dynamics damping="0.3"/>': "'tip'.*its <dynamics> .*whose friction no equation has: cut the loop",
    '<limit lower="-1" upper="1"/>': "its <limit> .*of which no limits are kept",
    '<mimic joint="left_elbow"/>': "its <mimic> .*a loop has no <mimic>: leave it out",
    '<parent_orign xyz="1 0 0"/>': "a loop has no <parent_orign>: leave it out, or correct its name",
}


@pytest.mark.parametrize("more", NOT_READ)
@pytest.mark.parametrize("tag", ["constraint", "loop_joint"])
def test_what_is_not_read_of_a_loop_is_said(
    more: str, tag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = TIP_IN_URDF.format(more=more).replace("constraint", tag)
    text = FIVE_BAR.replace("</robot>", loop)
    with pytest.warns(dyn.ModelWarning, match=NOT_READ[more]):
        dyn.load_robot(text, loops="passive: [left_elbow, right_elbow]")
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    main(["check", str(file)])
    assert re.search(NOT_READ[more], " ".join(capsys.readouterr().out.split()))


@pytest.mark.parametrize("more", ["", '<dynamics damping="0.0" friction="0"/>'])
def test_friction_that_is_none_needs_no_remark(more: str, recwarn: pytest.WarningsRecorder) -> None:
    text = FIVE_BAR.replace("</robot>", TIP_IN_URDF.format(more=more))
    dyn.load_robot(text, loops="passive: [left_elbow, right_elbow]")
    assert not recwarn.list


@pytest.mark.parametrize("tag", DRIVEN)
def test_a_cut_at_an_actuated_joint(tag: str) -> None:
    driven = FIVE_BAR.replace("</robot>", DRIVEN[tag])
    with pytest.raises(
        dyn.DynError,
        match=r"loop 'tip' \(line 3\): the URDF gives it an actuator: .* cut the loop at a",
    ):
        dyn.load_robot(driven, loops=FIVE_BAR_SIDE)
    constraint = '<constraint name="tip" type="revolute"><parent link="left_fore"/><child link="right_fore"/>'
    with pytest.raises(dyn.DynError, match=r"loop 'tip' .*: the URDF gives it an actuator"):
        dyn.load_robot(driven.replace("</robot>", f"{constraint}</constraint></robot>"))


def test_a_loop_of_joints_that_stand_still() -> None:
    joint = '<joint name="left_shoulder" type="revolute">'
    still = FIVE_BAR.replace(joint, f'{joint}<mimic joint="right_shoulder" multiplier="0"/>')
    side = "loops: [{name: c, type: revolute, parent: {link: base}, child: {link: left_arm}}]"
    with pytest.raises(
        dyn.DynError,
        match="'base' and 'left_arm' do not move on each other, as all joints between them stand",
    ):
        dyn.load_robot(still, loops=side)


STRAIGHT = FIVE_BAR.replace("0.3 0.0 0.0", "1.8 0.0 0.0")

ANALYSES = {
    "too few actuators": (
        FIVE_BAR,
        (PASSIVE, "passive: [left_elbow, right_elbow, left_shoulder]"),
        r"'five_bar' has 4 joints in its tree and 2 independent constraints of its loops, so 2 degrees of "
        r"freedom, but 1 actuated joint, 'right_shoulder': it is under-actuated by 1; nothing determines "
        r"'left_shoulder'.*take such from `passive`",
    ),
    "too many actuators": (
        FIVE_BAR,
        (PASSIVE, ""),
        r"so 2 degrees of freedom, but 4 actuated joints, 'left_shoulder', 'left_elbow', 'right_shoulder', "
        r"'right_elbow': it is over-actuated by 2; say under `passive`",
    ),
    "no actuators": (
        FIVE_BAR,
        (PASSIVE, "passive: [left_shoulder, right_shoulder, left_elbow, right_elbow]"),
        "so 2 degrees of freedom, but 0 actuated joints: it is under-actuated by 2",
    ),
    "lengths that cannot close": (
        FIVE_BAR.replace("0.3 0.0 0.0", "3.3 0.0 0.0"),
        ("", ""),
        r"cannot be closed: in its assembly loop 'tip' is open by 3 m and 0 rad, and where it comes nearest "
        r"to closing them loop 'tip' is open by 1\.\d+ m and 0 rad: check the frames of the loops and the "
        r"assembly$",
    ),
    "far from closing": (
        FIVE_BAR,
        ("2.2", "-1.2"),
        r"the assembly of robot 'five_bar' is far from closing its loops: loop 'tip' is open by \S+ m and 0 "
        r"rad; where they close, joint '\w+' is at \S+ rad and not at \S+: give joint positions near",
    ),
    "stretched": (
        STRAIGHT,
        (
            "assembly: {left_shoulder: 2.2, left_elbow: -1.544, right_shoulder: 0.9, right_elbow: 1.56}",
            f"assembly: {{left_shoulder: 0, left_elbow: 0, right_shoulder: {math.pi}, right_elbow: 0}}",
        ),
        r"'five_bar' is singular in its assembly, at left_shoulder = 0, .*: the constraints of its 2 passive "
        r"joints have rank 1 there, .*: give an assembly in which no loop is stretched or folded",
    ),
    "cut axis that is not parallel": (
        FIVE_BAR,
        (TIP, "xyz: [0.5, 0, 0], rpy: [0.001, 0, 0]},"),
        r"loop 'tip' is open by \S+ m and 0.001 rad: .*; the axes of loop 'tip' are up to 0.001 rad from "
        r"those of a planar loop, which blocks its motion: make them exactly parallel",
    ),
    "axis that is not parallel": (
        FIVE_BAR.replace('<axis xyz="0 0 1"/>', '<axis xyz="0.001 0 1"/>', 1),
        ("", ""),
        "the axes of loop 'tip' are up to 0.001 rad from those of a planar loop",
    ),
    "offset across the plane": (
        FIVE_BAR,
        (TIP, "xyz: [0.5, 0, 0.01]},"),
        "where it comes nearest to closing them loop 'tip' is open by 0.01 m and 0 rad",
    ),
}


@pytest.mark.parametrize("case", ANALYSES)
def test_loops_that_cannot_work(case: str) -> None:
    """Nothing is raised before the dynamics are asked for, so that `check_robot` can say more."""
    text, (old, new), message = ANALYSES[case]
    assert old in FIVE_BAR_SIDE
    robot = dyn.load_robot(text, loops=FIVE_BAR_SIDE.replace(old, new, 1))
    for use in (lambda: dyn.compile_model(robot, backend="python"), lambda: dyn.loop_report(robot)):
        with pytest.raises(dyn.DynError, match=message) as caught:
            use()
        assert caught.value.element == "loop 'tip'"


def test_the_wrong_joints_actuated() -> None:
    """As many actuators as degrees of freedom, but joint 1 has none, which the loop does not move."""
    robot = example("sr400")
    side = {
        "loops": [
            {
                "name": "joint_9",
                "type": "revolute",
                "parent": {"link": "link_8", "xyz": [0, 0, 0.95]},
                "child": {"link": "link_3", "xyz": [-0.40, 0, 0]},
                "axis": [0, 1, 0],
            }
        ],
        "passive": ["joint_2", "joint_1"],
        "assembly": dict(robot.assembly),
    }
    from emitted_programs import ROBOTS

    wrong = dyn.load_robot(ROBOTS / "sr400.urdf", loops=side)
    with pytest.raises(
        dyn.DynError,
        match=r"as many as actuated joints, but these are the wrong ones: the constraints of the 2 passive "
        r"joints have rank 1; with .* held, 'joint_1' can still move",
    ):
        dyn.compile_model(wrong, backend="python")


def test_positions_that_do_not_close() -> None:
    model = dyn.compile_model(dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE), backend="python")
    with pytest.raises(
        dyn.DynError,
        match=r"do not close at left_shoulder = 3.142 rad, right_shoulder = 0 rad: as near as they come, "
        r"loop 'tip' is open by 0.\d+ m and 0 rad: keep the actuated joints where the loops can close",
    ):
        model.inverse_dynamics([math.pi, 0.0], [0.0, 0.0], [0.0, 0.0])


def test_the_command_line_shows_no_traceback(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    from pathlib import Path

    side = Path(str(tmp_path)) / "side.yaml"
    robot = Path(str(tmp_path)) / "robot.urdf"
    robot.write_text(FIVE_BAR)
    side.write_text(FIVE_BAR_SIDE.replace(PASSIVE, ""))
    assert main(["loops", str(robot), "--loops", str(side)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("dyn: error: robot 'five_bar' has 4 joints")
    side.write_text(FIVE_BAR_SIDE.replace("left_fore", "nothing"))
    assert main(["loops", str(robot), "--loops", str(side)]) == 1
    assert f"{side}: loop 'tip' (line 3): the robot has no link 'nothing'" in capsys.readouterr().err
