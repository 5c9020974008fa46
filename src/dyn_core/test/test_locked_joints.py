# SPDX-License-Identifier: Apache-2.0
"""Locked joints: the rest of the robot moves as with all joints, where the locked ones stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from commands import Command
from pinocchio_oracle import pin
from properties import examples, given, hypothesis, st
from random_urdf import random_driven_urdf, random_urdf
from refusals import refused
from robots import ROBOTS, example, loop_robot

import dyn_core
from dyn_core import Robot
from dyn_core.core.errors import ArgumentError
from dyn_core.robot.joints import Limits
from dyn_core.robot.urdf.locked_joints import standing_position

GRIPPER = """<robot name="arm"><link name="base"/>{links}
<joint name="lift" type="revolute"><parent link="base"/><child link="a"/>
<origin xyz="0 0 0.3" rpy="0.2 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="90" velocity="3"/></joint>
<joint name="turn" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/>
<axis xyz="1 2 0"/><limit effort="20" velocity="3"/></joint>
<joint name="left" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0.1 0 0"/>
<axis xyz="0 2 0"/><limit lower="0.01" upper="0.05" effort="9" velocity="1"/></joint>
<joint name="right" type="prismatic"><parent link="b"/><child link="d"/><origin xyz="0.1 0 0"/>
<axis xyz="0 -1 0"/><limit lower="0.01" upper="0.05" effort="9" velocity="1"/>
<mimic joint="left" multiplier="0.5" offset="0.004"/></joint>
</robot>""".format(
    links="".join(
        f'<link name="{name}"><inertial><origin xyz="0.1 0.02 0"/><mass value="{mass}"/>'
        '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name, mass in (("a", 3), ("b", 2), ("c", 0.4), ("d", 0.5))
    )
)


def agree(whole: Robot, locked: Robot) -> None:
    """Torques, accelerations and placements are those of the whole robot whose other joints stand still."""
    random = np.random.default_rng(3)
    moves = np.array([name not in dict(locked.locked) for name in whole.coordinate_names])
    assert np.array(whole.coordinate_names)[moves].tolist() == list(locked.coordinate_names)
    q, qd, qdd = random.uniform(-1.0, 1.0, (3, whole.dof)) * moves
    q[~moves] = [dict(locked.locked)[name] for name in np.array(whole.coordinate_names)[~moves]]
    model, ours = (dyn_core.compile_model(robot, backend="python") for robot in (whole, locked))
    tau = model.inverse_dynamics(q, qd, qdd)
    scale = max(1.0, np.abs(tau).max(initial=0.0))
    np.testing.assert_allclose(
        ours.inverse_dynamics(q[moves], qd[moves], qdd[moves]), tau[moves], rtol=0, atol=1e-11 * scale
    )
    A = model.inertia_matrix(q)[np.ix_(moves, moves)]
    np.testing.assert_allclose(
        ours.inertia_matrix(q[moves]), A, rtol=0, atol=1e-11 * max(1.0, np.abs(A).max())
    )
    assert ours.robot.link_names == whole.link_names
    for link in whole.link_names:
        np.testing.assert_allclose(
            ours.forward_kinematics(q[moves], link), model.forward_kinematics(q, link), rtol=0, atol=1e-12
        )


@examples(100, 15)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_trees(seed: int) -> None:
    """With planar and floating joints, or with joints that follow others."""
    text = random_urdf(seed, 6, compound=True) if seed % 2 else random_driven_urdf(seed, 6)
    whole = dyn_core.load_robot(text)
    random = np.random.default_rng(seed)
    names = [name for name in whole.coordinate_names if random.random() < 0.5]
    hypothesis.assume(0 < len(names) < whole.dof)
    positions = dict(zip(names, random.choice([0.0, 0.3, np.pi / 2, -1.1], len(names)).tolist(), strict=True))
    locked = dyn_core.load_robot(text, locked_joints=positions)
    assert {name: dict(locked.locked)[name] for name in names} == positions
    agree(whole, locked)


def test_a_gripper_agrees_with_the_reduced_model_of_pinocchio() -> None:
    arm = dyn_core.load_robot(GRIPPER, locked_joints={"left": 0.02})
    assert dict(arm.locked) == {"left": 0.02, "right": pytest.approx(0.014)}
    whole = pin.buildModelFromXML(GRIPPER)
    at = pin.neutral(whole)
    for name, position in arm.locked:
        at[whole.joints[whole.getJointId(name)].idx_q] = position
    reduced = pin.buildReducedModel(whole, [whole.getJointId(name) for name, _ in arm.locked], at)
    data = reduced.createData()
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 2))
    of_pinocchio = np.array([q[0], np.cos(q[1]), np.sin(q[1])])
    expected = pin.rnea(reduced, data, of_pinocchio, qd, qdd)
    model = dyn_core.compile_model(arm)
    np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("joints", "expected"), [(["lift", "turn"], ["left", "right"]), (["left"], ["lift", "turn"])]
)
def test_only_the_named_joints_move(joints: Sequence[str], expected: Sequence[str]) -> None:
    """The others stand at 0, or in the middle of a range without it."""
    arm = dyn_core.load_robot(GRIPPER, joints=joints)
    assert list(arm.coordinate_names) == joints
    assert [name for name, _ in arm.locked] == expected
    if "left" in expected:
        assert dict(arm.locked) == pytest.approx({"left": 0.03, "right": 0.019})
    agree(dyn_core.load_robot(GRIPPER), arm)
    both = dyn_core.load_robot(GRIPPER, {}, joints=["lift"], locked_joints={"turn": 0.4})
    assert dict(both.locked) == pytest.approx({"turn": 0.4, "left": 0.03, "right": 0.019})


@pytest.mark.parametrize(
    ("limits", "position"),
    [
        ((None, None), 0.0),
        ((-1, 2), 0.0),
        ((1, 2), 1.5),
        ((1, None), 1.0),
        ((None, -1), -1.0),
        ((0.0, 4), 0.0),
    ],
)
def test_where_a_joint_stands_that_no_position_is_given_for(limits: tuple, position: float) -> None:
    assert standing_position(Limits(*limits)) == position


def test_without_mimic_a_follower_can_be_locked_alone() -> None:
    arm = dyn_core.load_robot(GRIPPER, mimic=False, locked_joints={"right": 0.02})
    assert arm.coordinate_names == ("lift", "turn", "left")
    agree(dyn_core.load_robot(GRIPPER, mimic=False), arm)


def test_operations_are_those_of_a_fixed_joint() -> None:
    """An arm whose wrist is locked takes as many operations as one whose wrist was never described."""
    text = (ROBOTS / "rx90.urdf").read_text()
    names = dyn_core.load_robot(text).joint_names
    fixed = text
    for name in names[3:]:
        fixed = fixed.replace(f'<joint name="{name}" type="revolute"', f'<joint name="{name}" type="fixed"')
    locked = dyn_core.load_robot(text, joints=names[:3])
    counts = [
        dyn_core.compile_model(robot, backend="python").operation_counts("inverse_dynamics")
        for robot in (locked, dyn_core.load_robot(fixed))
    ]
    assert counts[0] == counts[1]


def test_what_a_side_file_says_of_locked_joints_is_left_out() -> None:
    """Friction and rotor inertia of other joints stay."""
    whole = loop_robot("rx90")
    locked = loop_robot("rx90", locked_joints={whole.joint_names[1]: 0.5})
    assert [joint.Ia for joint in locked.joints] == [j.Ia for k, j in enumerate(whole.joints) if k != 1]
    agree(whole, locked)
    with refused("side-file-joint-unknown", joint="no_such"):
        dyn_core.load_robot(GRIPPER, {"rotor_inertia": {"no_such": 1.0}}, locked_joints={"left": 0.02})


def test_a_par_file() -> None:
    """Also with a joint that has the variable of another."""
    text = dyn_core.write_par(example("rx90"))
    whole = dyn_core.load_robot(text)
    locked = dyn_core.load_robot(text, locked_joints={whole.joint_names[2]: 0.7, whole.joint_names[5]: -0.2})
    agree(whole, locked)
    assert dyn_core.load_robot(text, joints=whole.joint_names[:2]).dof == 2


def test_a_mechanism_with_loops_and_a_locked_actuator() -> None:
    """The loop stays closed, and the other actuator moves it."""
    whole = loop_robot("five_bar")
    model = dyn_core.compile_model(whole)
    at = dict(whole.assembly)
    name = whole.coordinate_names[0]
    locked = loop_robot("five_bar", locked_joints={name: at.get(name, 0.0)})
    ours = dyn_core.compile_model(locked)
    assert locked.coordinate_names == whole.coordinate_names[1:]
    other = at.get(whole.coordinate_names[1], 0.0) + 0.05
    q, qd, qdd = np.array([at.get(name, 0.0), other]), np.array([0.0, 0.4]), np.array([0.0, -0.7])
    expected = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(ours.inverse_dynamics(q[1:], qd[1:], qdd[1:]), expected[1:], rtol=0, atol=1e-9)


REFUSED: list[tuple[Mapping[str, object], str, Mapping[str, object]]] = [
    ({"locked_joints": {"nowhere": 0.0}}, "locked-joint-unknown", {"joint": "nowhere"}),
    ({"joints": ["lift", "nowhere"]}, "locked-joint-unknown", {"joint": "nowhere"}),
    ({"locked_joints": {"right": 0.0}}, "locked-joint-mimics", {"joint": "right", "leader": "left"}),
    ({"joints": ["right"]}, "locked-joint-mimics", {"joint": "right", "leader": "left"}),
    ({"locked_joints": {"left": 0.0}, "joints": ["left"]}, "locked-joint-moves", {"joint": "left"}),
    ({"locked_joints": {"left": float("nan")}}, "locked-position-invalid", {"joint": "left"}),
    ({"locked_joints": {"left": "open"}}, "locked-position-invalid", {"joint": "left", "given": "open"}),
    ({"locked_joints": {"left": 1e300}}, "locked-position-invalid", {"joint": "left"}),
]


@pytest.mark.parametrize(("options", "code", "values"), REFUSED)
def test_wrong_joints_and_positions_are_refused(
    options: dict[str, object], code: str, values: dict[str, object]
) -> None:
    with refused(code, **values):
        dyn_core.load_robot(GRIPPER, **options)


def test_a_text_instead_of_names_is_refused() -> None:
    with pytest.raises(ArgumentError):
        dyn_core.load_robot(GRIPPER, joints="lift")


def test_the_command_line(dyn: Command) -> None:
    file = dyn.write("arm.urdf", GRIPPER)
    shown = dyn.json("mdh", file, "--joints", "lift,turn", "--lock", "left=0.02")
    assert [frame["joint"] for frame in shown["frames"]] == ["lift", "turn"]
    dyn.refused("mdh", file, "--lock", "left", code="option-invalid", option="--lock")
    dyn.refused("mdh", file, "--joints", "lift,wrist", code="locked-joint-unknown", joint="wrist")
