# SPDX-License-Identifier: Apache-2.0
"""Springs of side files: what robots become with them, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from same_robot import assert_same_robot

import dyn_core
from dyn_core.cli.main import main
from dyn_core.geometry.build_elastic import without_springs
from dyn_core.model.elasticity import Elasticity
from dyn_core.robot.joints import Friction, Limits

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
MACHINE = (ROBOTS / "high_speed_machine.urdf", ROBOTS / "high_speed_machine.yaml")

INERTIAL = (
    '<inertial><mass value="2"/><origin xyz="0.1 0 0.2"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def urdf(more: str = "", armature: str = "0") -> str:
    links = "".join(f'<link name="l{j}">{INERTIAL}</link>' for j in range(4))
    joints = "".join(
        f'<joint name="j{j}" type="{"prismatic" if j == 3 else "revolute"}"><parent link="l{j - 1}"/>'
        f'<child link="l{j}"/><axis xyz="0 {j % 2} 1"/><origin xyz="0.5 0 0"/>'
        f'<limit lower="-1" upper="1" velocity="3" effort="40"/>'
        f'<dynamics damping="1" friction="2" armature="{armature if j == 2 else 0}"/></joint>'
        for j in (1, 2, 3)
    )
    return f'<robot name="arm">\n{links}{joints}\n{more}</robot>'


SIDE = """\
elastic:
  j1: {stiffness: 2e4, rest: 0.1, damping: 3}
  j3: {stiffness: 1000, motor: {inertia: 1e-3, gear: -20}}
"""


def test_a_spring_in_the_place_of_an_actuator_and_one_behind_a_motor() -> None:
    rigid, robot = dyn_core.load_robot(urdf()), dyn_core.load_robot(urdf(), loops=SIDE)
    assert robot.joint_names == ("j1", "j2", "j3", "j3_motor")
    assert robot.actuated_joint_names == ("j2", "j3_motor")
    assert robot.passive_joint_names == robot.elastic_joint_names == ("j1", "j3")
    assert robot.rigid_joint_names == ("j2", "j3_motor")
    assert robot.joint("j1").elastic == Elasticity(2e4, 0.1, 3.0)
    assert robot.joint("j1").friction == Friction(Fv=1.0, Fs=2.0)
    assert robot.joints[1] == rigid.joints[1]
    link, motor = robot.joint("j3"), robot.joint("j3_motor")
    assert link.elastic == Elasticity(1000.0, motor=4, gear=-20.0)
    assert (motor.antecedent, motor.sigma, motor.mdh, motor.origin) == (
        *(link.antecedent, link.sigma, link.mdh, link.origin),
    )
    # What belongs to the drive goes over to its side of the spring (SYMORO+ 2003, sec. 3.3.2.5).
    assert (link.Ia, motor.Ia) == (0.0, pytest.approx(0.4, rel=1e-15))
    assert (link.friction, motor.friction) == (Friction(), Friction(Fv=1.0, Fs=2.0))
    assert (link.limits, motor.limits) == (Limits(-1.0, 1.0, 3.0), Limits(None, None, 3.0, 40.0))
    assert robot.link_names == (*rigid.link_names, "j3_motor_link")
    assert without_springs(robot) == dyn_core.load_robot(
        urdf(), loops={"rotor_inertia": {"j3": motor.Ia}, "passive": ["j1"]}
    )


def test_the_rotor_inertia_of_the_joint_is_that_of_its_motor() -> None:
    side = {"elastic": {"j2": {"stiffness": 10.0, "motor": {}}}}
    robot = dyn_core.load_robot(urdf(armature="0.7"), loops=side)
    assert (robot.joint("j2").Ia, robot.joint("j2_motor").Ia) == (0.0, 0.7)
    again = dyn_core.load_robot(urdf(), loops=side | {"rotor_inertia": {"j2": 0.7}})
    assert again.joints == robot.joints


@pytest.mark.parametrize("side", [None, "elastic: {}", {"elastic": None}])
def test_without_springs_nothing_changes(side) -> None:
    assert dyn_core.load_robot(urdf(), loops=side) == dyn_core.load_robot(urdf())


def test_nothing_below_elastic_is_said(tmp_path: Path) -> None:
    path = tmp_path / "side.yaml"
    path.write_text("passive: []\nelastic:\n")
    sentence = (
        "elastic (line 2): nothing is in it, and no joint is elastic: name joints below it, or leave it out"
    )
    for side, said in ((path, f"{path}: {sentence}"), (path.read_text(), sentence)):
        with pytest.warns(dyn_core.ModelWarning) as caught:
            robot = dyn_core.load_robot(urdf(), loops=side)
        assert [str(warning.message) for warning in caught] == [said]
        assert robot == dyn_core.load_robot(urdf(), loops="passive: []")
    assert any("nothing is in it" in str(finding) for finding in dyn_core.check_robot(urdf(), loops=path))


def spring(entries: str, joint: str = "j2") -> str:
    return f"elastic:\n  {joint}: {{{entries}}}"


STIFFNESS = "write a finite number (N m/rad, or N/m for a prismatic joint)"
LOOP = "loops:\n- {name: c, type: spherical, parent: {link: l0}, child: {link: l3}}\n"
CASES = {
    "zero": (
        spring("stiffness: 0"),
        "elastic of joint 'j2', stiffness (line 2): it is 0: give a number > 0, or, for a joint that moves "
        "freely, name it in passive",
    ),
    "negative": (
        spring("stiffness: -3"),
        "elastic of joint 'j2', stiffness (line 2): it is -3: give a number > 0, or, for a joint that moves "
        "freely, name it in passive",
    ),
    "NaN": (
        spring("stiffness: .nan"),
        f"elastic of joint 'j2', stiffness (line 2): it is '.nan': {STIFFNESS}",
    ),
    "infinite": (
        spring("stiffness: .inf"),
        f"elastic of joint 'j2', stiffness (line 2): it is '.inf': {STIFFNESS}",
    ),
    "a truth": (
        spring("stiffness: true"),
        f"elastic of joint 'j2', stiffness (line 2): it is 'true': {STIFFNESS}",
    ),
    "empty": (
        spring("stiffness: "),
        f"elastic of joint 'j2', stiffness (line 2): it is empty: {STIFFNESS}",
    ),
    "list": (
        spring("stiffness: [1, 2]"),
        f"elastic of joint 'j2', stiffness (line 2): it is no number: {STIFFNESS}",
    ),
    "list of joints": (
        "elastic:\n- j2\n",
        "elastic (line 2): it must be a mapping, as in 'elbow: {stiffness: 2.0e+4}'",
    ),
    "number alone": (
        "elastic:\n  j2: 2e4",
        "elastic of joint 'j2' (line 2): it must be a mapping, as in '{stiffness: 2.0e+4, damping: 5.0}'",
    ),
    "twice": (
        spring("stiffness: 1") + "\n  j2: {stiffness: 2}",
        "line 3: 'j2' is there twice: keep one",
    ),
    "motor alone": (
        spring("stiffness: 1, motor: 0.1"),
        "elastic of joint 'j2', motor (line 2): it must be a mapping, as in '{inertia: 1.0e-4, gear: 100}'",
    ),
    "gear without end": (
        spring("stiffness: 1, motor: {gear: .inf}"),
        "elastic of joint 'j2', motor, gear (line 2): it is '.inf': write a finite number (the speed of the "
        "motor over that of the joint)",
    ),
    "huge gear": (
        spring("stiffness: 1, motor: {gear: 1e200, inertia: 1}"),
        "elastic of joint 'j2' (line 2): the inertia of its motor is inf at the joint: it is the inertia 1 "
        "kg m^2 times the square of the gear 1e+200: check both",
    ),
    "motor by name": (
        "rotor_inertia: {j2_motor: 1}\n" + spring("stiffness: 1, motor: {}"),
        "rotor_inertia: 'j2_motor' is the motor behind the spring of joint 'j2', which a side file calls by "
        "the name of the joint: what is given for 'j2' goes over to its motor",
    ),
    "no stiffness": (
        spring("rest: 1"),
        "elastic of joint 'j2' (line 2): it has no stiffness: add one (N m/rad, or N/m for a prismatic "
        "joint)",
    ),
    "unknown entry": (
        spring("stiffness: 1, mass: 1"),
        "elastic of joint 'j2' (line 2): it has no entry 'mass': use 'stiffness', 'rest', 'damping', 'motor'",
    ),
    "damping": (
        spring("stiffness: 1, damping: -1"),
        "elastic of joint 'j2', damping (line 2): it is -1: it cannot be negative",
    ),
    "rest": (
        spring("stiffness: 1, rest: there"),
        "elastic of joint 'j2', rest (line 2): it is 'there': write a finite number (rad or m)",
    ),
    "gear": (
        spring("stiffness: 1, motor: {gear: 0}"),
        "elastic of joint 'j2', motor, gear (line 2): it is 0: give the speed of the motor over that of "
        "the joint",
    ),
    "inertia": (
        spring("stiffness: 1, motor: {inertia: 0}"),
        "elastic of joint 'j2', motor, inertia (line 2): it is 0: give a number > 0 (kg m^2)",
    ),
    "no inertia": (
        spring("stiffness: 1, motor: {gear: 5}"),
        "elastic of joint 'j2' (line 2): the inertia of its motor is 0 at the joint: give motor: {inertia, "
        "gear}",
    ),
    "two inertias": (
        "rotor_inertia: {j2: 0.5}\n" + spring("stiffness: 1, motor: {inertia: 0.1}"),
        "elastic of joint 'j2' (line 3): the inertia of its motor is given twice, as 0.1 kg m^2 at the "
        "shaft and as "
        "a rotor inertia of 0.5 at the joint: take one out",
    ),
    "rotor": (
        "rotor_inertia: {j2: 0.5}\n" + spring("stiffness: 1"),
        "elastic of joint 'j2' (line 3): it has a rotor inertia of 0.5, but an elastic joint has no rotor: "
        "take it "
        "out, or, if a motor drives it through the spring, give its motor",
    ),
    "passive motor": (
        "passive: [j2]\n" + spring("stiffness: 1, motor: {inertia: 0.1}"),
        "elastic of joint 'j2' (line 3): it has a motor, but is named in passive, too: take it out of one "
        "of them",
    ),
    "no joint": (
        spring("stiffness: 1", "j9"),
        "elastic (line 2): the robot has no moving joint 'j9': its joints are 'j1', 'j2', 'j3'",
    ),
    "loop": (
        LOOP + spring("stiffness: 1"),
        "elastic of joint 'j2' (line 4): the robot has loops ('c'), and elastic joints of robots with "
        "loops are not "
        "modelled: take out the loops, or the spring",
    ),
    "cut joint": (
        LOOP + spring("stiffness: 1", "c"),
        "elastic: 'c' is the joint that a loop is cut at, and elastic joints of robots with loops are not "
        "modelled: leave it out",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_mistakes(case: str) -> None:
    side, sentence = CASES[case]
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(urdf(), loops=side)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (True, f"elastic of joint 'j2', stiffness: it is 'true': {STIFFNESS}"),
        (None, f"elastic of joint 'j2', stiffness: it is empty: {STIFFNESS}"),
        (float("nan"), f"elastic of joint 'j2', stiffness: it is 'nan': {STIFFNESS}"),
        ([1.0], f"elastic of joint 'j2', stiffness: it is no number: {STIFFNESS}"),
        (1j, "elastic, j2, stiffness: 1j is neither a mapping, a list, a text nor a number"),
    ],
)
def test_mistakes_in_python(value: object, sentence: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(urdf(), loops={"elastic": {"j2": {"stiffness": value}}})
    assert str(caught.value) == sentence


IN_THE_URDF = {
    "interface": '<ros2_control type="system" name="c"><joint name="j2">'
    '<command_interface name="effort"/></joint></ros2_control>',
    "transmission": '<transmission name="t"><joint name="j2"/><actuator name="m"/></transmission>',
}


@pytest.mark.parametrize("more", IN_THE_URDF.values(), ids=IN_THE_URDF)
def test_an_elastic_joint_that_is_actuated(more: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(urdf(more), loops=spring("stiffness: 1"))
    assert str(caught.value) == (
        "elastic of joint 'j2' (line 2): the URDF gives it an actuator, but an elastic joint has none: "
        "take the "
        "actuator out, or, if a motor drives it through the spring, give its motor"
    )
    robot = dyn_core.load_robot(urdf(more), loops=spring("stiffness: 1, motor: {inertia: 0.1}"))
    assert "j2_motor" in robot.actuated_joint_names


def test_a_mimic_has_no_spring() -> None:
    text = urdf().replace(
        '<axis xyz="0 1 1"/><origin xyz="0.5 0 0"/><limit', '<axis xyz="0 1 1"/><mimic joint="j2"/><limit'
    )
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(text, loops=spring("stiffness: 1", "j1"))
    assert str(caught.value) == (
        "elastic (line 2): joint 'j1' mimics another and has no position of its own: name that one"
    )


def test_names_that_are_taken() -> None:
    text = urdf().replace('"j1"', '"j2_motor"')
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(text, loops=spring("stiffness: 1, motor: {inertia: 1}"))
    assert str(caught.value) == (
        "elastic of joint 'j2' (line 2): its motor becomes the joint 'j2_motor', whose name is taken: "
        "rename that one"
    )


def test_a_robot_with_springs_is_a_value() -> None:
    robot = dyn_core.load_robot(urdf(), loops=SIDE)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert hash(again) == hash(robot)
    assert robot != dyn_core.load_robot(urdf(), loops=SIDE.replace("2e4", "3e4"))


@pytest.mark.parametrize("write", [dyn_core.write_urdf, dyn_core.write_par])
def test_springs_are_not_written(write) -> None:
    robot = dyn_core.load_robot(urdf(), loops=SIDE)
    with pytest.warns(dyn_core.ModelWarning) as caught:
        text = write(robot)
    form = "URDF" if write is dyn_core.write_urdf else "a .par file"
    assert [str(warning.message) for warning in caught] == [
        f"robot 'arm': {form} has no place for the spring of joint 'j1', the spring of joint 'j3': keep a "
        "side file"
    ]
    assert dyn_core.load_robot(text).joint_names == ("j1", "j2", "j3")


def test_a_written_urdf_takes_the_side_file_again() -> None:
    side = SIDE.replace("inertia: 1e-3, ", "")
    robot = dyn_core.load_robot(
        urdf().replace('armature="0"', 'armature="0"'), loops=side + "rotor_inertia: {j3: 2}"
    )
    with pytest.warns(dyn_core.ModelWarning):
        text = dyn_core.write_urdf(robot)
    assert_same_robot(dyn_core.load_robot(text, loops=side), robot)


def test_the_machine_is_that_of_the_table() -> None:
    """SYMORO+ 2003, table 1.5; where its angles are slips, see the URDF. Lines of sliding joints are free."""
    robot = dyn_core.load_robot(*MACHINE)
    rows = [line.split() for line in robot.mdh_table().split("\n\n")[0].splitlines()[1:]]
    assert [(row[1], row[4]) for row in rows] == [  # a(j) and sigma, without the frame 12
        *(("0", "0"), ("1", "1"), ("2", "1"), ("3", "1"), ("4", "1"), ("5", "0"), ("6", "1"), ("7", "1")),
        *(("8", "1"), ("9", "1"), ("10", "1"), ("5", "1")),
    ]
    turned = {row[0]: row[7].lstrip("-") for row in rows}  # alpha
    assert [j for j, alpha in turned.items() if alpha == "Pi/2"] == ["2", "3", "6", "7", "8", "9"]
    assert all(row[5] == row[6] == "0" for row in rows)  # gamma and b
    assert [row[8] for row in rows if row[8] != "0"] == ["0.35"]  # D4, at the next revolute joint
    assert robot.actuated_joint_names == robot.rigid_joint_names == ("axis_x", "axis_y")
    assert robot.link_frame("tool").body == robot.link_frame("head").body


def test_the_table_shows_springs(capsys: pytest.CaptureFixture[str]) -> None:
    table = dyn_core.load_robot(urdf(), loops=SIDE).mdh_table()
    assert table.splitlines()[-3:] == [
        "j  elastic joint  stiffness  rest  damping  motor  gear",
        "1  j1             20000      0.1   3        0      -",
        "3  j3             1000       0     0        4      -20",
    ]
    assert "elastic" not in dyn_core.load_robot(urdf()).mdh_table()
    assert main(["mdh", str(MACHINE[0]), "--loops", str(MACHINE[1]), "--json"]) == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    assert frames[0]["elastic"] == {"stiffness": 6e7, "rest": 0.0, "damping": 2e4, "motor": 0, "gear": 1.0}
    assert "elastic" not in frames[4]


def test_check_finds_in_drives_behind_springs_what_it_finds_in_others() -> None:
    text = (
        urdf(armature="0.5").replace('effort="40"', 'effort="1"', 1).replace('effort="40"', 'effort="0"', 1)
    )
    text = text.replace('velocity="3"', 'velocity="90"', 1)
    side = "elastic:\n" + "".join(f"  {j}: {{stiffness: 1e4, motor: {{}}}}\n" for j in ("j1", "j2", "j3"))
    side += "rotor_inertia: {j1: 0.5, j3: 0.5}\n"
    rigid = [
        str(finding) for finding in dyn_core.check_robot(text, loops="rotor_inertia: {j1: 0.5, j3: 0.5}")
    ]
    found = [str(finding) for finding in dyn_core.check_robot(text, loops=side)]
    for word in ("an effort limit of 0", "looks like degrees/s", "dry friction", "gravity takes up to"):
        assert any(word in finding for finding in rigid), word
    of_springs = [finding for finding in found if "spring" in finding]
    assert len(of_springs) == 2
    assert [finding for finding in found if "spring" not in finding] == rigid


def test_check_tells_of_springs() -> None:
    assert list(map(str, dyn_core.check_robot(*MACHINE))) == [
        "note: robot: with its springs it swings at up to 797.7 Hz",
        "note: joints 'base_yaw', 'base_y', 'base_x', 'secondary' and 6 more: 'base_yaw': a spring in "
        "the place of an actuator, stiffness 6e+07 N m/rad, rest 0 rad",
    ]
    found = [str(finding) for finding in dyn_core.check_robot(urdf(), loops=SIDE.replace("0.1", "1.5"))]
    assert (
        "warning: joint 'j1' (line 2): its spring rests at 1.5 rad, which is not between its limits: check "
        "rest and limits" in found
    )
    assert "note: joint 'j3' (line 2): a spring behind its motor, stiffness 1000 N/m, rest 0 m" in found
    assert not any("underactuated" in finding for finding in found)
