# SPDX-License-Identifier: Apache-2.0
"""Springs in side files: the resulting robots, and refusals."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from refusals import refusal, replaced, rows, summary
from robots import ROBOTS
from same_robot import assert_same_robot

import dyn_core
from dyn_core.cli.main import main
from dyn_core.robot.joints import Elasticity, Friction, Limits
from dyn_core.robot.side_file.conversion import without_springs

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


SIDE = "elastic:\n  j1: {stiffness: 2e4, rest: 0.1, damping: 3}\n"
SIDE += "  j3: {stiffness: 1000, motor: {inertia: 1e-3, gear: -20}}\n"


def test_a_passive_spring_and_a_spring_behind_a_motor() -> None:
    rigid, robot = dyn_core.load_robot(urdf()), dyn_core.load_robot(urdf(), loops=SIDE)
    assert robot.joint_names == ("j1", "j2", "j3", "j3_motor")
    assert robot.actuated_joint_names == robot.rigid_joint_names == ("j2", "j3_motor")
    assert robot.passive_joint_names == robot.elastic_joint_names == ("j1", "j3")
    first, second, link, motor = robot.joints
    assert (first.elastic, first.friction) == (Elasticity(2e4, 0.1, 3.0), Friction(Fv=1.0, Fs=2.0))
    assert second == rigid.joints[1]
    assert link.elastic == Elasticity(1000.0, motor=4, gear=-20.0)
    for field in ("antecedent", "sigma", "mdh", "origin"):
        assert getattr(motor, field) == getattr(link, field)
    # The parameters of the drive move to the motor side of the spring (SYMORO+ 2003, sec. 3.3.2.5).
    assert (link.Ia, motor.Ia) == (0.0, pytest.approx(0.4, rel=1e-15))
    assert (link.friction, motor.friction) == (Friction(), Friction(Fv=1.0, Fs=2.0))
    assert (link.limits, motor.limits) == (Limits(-1.0, 1.0, 3.0), Limits(None, None, 3.0, 40.0))
    assert robot.link_names == (*rigid.link_names, "j3_motor_link")
    side = {"rotor_inertia": {"j3": motor.Ia}, "passive": ["j1"]}
    assert without_springs(robot) == dyn_core.load_robot(urdf(), loops=side)
    again = pickle.loads(pickle.dumps(robot))
    assert (again, hash(again)) == (robot, hash(robot))
    assert robot != dyn_core.load_robot(urdf(), loops=SIDE.replace("2e4", "3e4"))


def test_the_rotor_inertia_of_the_joint_is_that_of_its_motor() -> None:
    side = {"elastic": {"j2": {"stiffness": 10.0, "motor": {}}}}
    robot = dyn_core.load_robot(urdf(armature="0.7"), loops=side)
    assert (robot.joint("j2").Ia, robot.joint("j2_motor").Ia) == (0.0, 0.7)
    assert dyn_core.load_robot(urdf(), loops=side | {"rotor_inertia": {"j2": 0.7}}).joints == robot.joints


def test_a_side_file_without_springs_changes_nothing(tmp_path: Path) -> None:
    """An empty entry gives a warning."""
    for side in (None, "elastic: {}", {"elastic": None}):
        assert dyn_core.load_robot(urdf(), loops=side) == dyn_core.load_robot(urdf())
    path = tmp_path / "side.yaml"
    path.write_text("passive: []\nelastic:\n")
    for side, file in ((path, str(path)), (path.read_text(), None)):
        with pytest.warns(dyn_core.ModelWarning) as caught:
            robot = dyn_core.load_robot(urdf(), loops=side)
        assert [summary(warning.message) for warning in caught] == ["elastic-empty at elastic (line 2)"]
        assert caught[0].message.file == file
        assert robot == dyn_core.load_robot(urdf(), loops="passive: []")
    found = [one for one in dyn_core.check_robot(urdf(), loops=path) if one.kind == "side file"]
    assert [summary(one.values["cause"]) for one in found] == ["elastic-empty at elastic (line 2)"]


def spring(entries: str, joint: str = "j2") -> str:
    return f"elastic:\n  {joint}: {{{entries}}}"


NUMBER = "a finite number (N m/rad, o..."
CASES = rows(
    r"""
@{stiffness: 0} => stiffness-not-positive at @, stiffness (line 2): 0
@{stiffness: -3} => stiffness-not-positive at @, stiffness (line 2): -3
elastic:\n- j2 => node-not-mapping at elastic (line 2): elbow: {stiffness: 2.0e+4}
@2e4 => node-not-mapping at @ (line 2): {stiffness: 2.0e+4, damping...
@{stiffness: 1}\n  j2: {stiffness: 2} => yaml-key-repeated at line 3: j2
@{rest: 1} => stiffness-missing at @ (line 2)
@{stiffness: 1, damping: -1} => value-negative at @, damping (line 2): -1
@{stiffness: 1, motor: {gear: 0}} => gear-zero at @, motor, gear (line 2)
@{stiffness: 1, motor: {gear: 5}} => motor-inertia-missing at @ (line 2): 0
elastic:\n  j9: {stiffness: 1} => side-file-joint-unknown at elastic (line 2): j9, [j1, j2, j3]
@{stiffness: .nan} => node-not-finite at @, stiffness (line 2): NUMBER, .nan
@{stiffness: .inf} => node-not-finite at @, stiffness (line 2): NUMBER, .inf
@{stiffness: true} => node-not-finite at @, stiffness (line 2): NUMBER, true
@{stiffness: } => node-empty at @, stiffness (line 2): NUMBER
@{stiffness: [1, 2]} => node-not-number at @, stiffness (line 2): NUMBER
@{stiffness: 1, motor: 0.1} => node-not-mapping at @, motor (line 2): {inertia: 1.0e-4, gear: 100}
@{stiffness: 1, motor: {gear: .inf}} =>
    node-not-finite at @, motor, gear (line 2): a finite number (the speed ..., .inf
@{stiffness: 1, motor: {gear: 1e200, inertia: 1}} => motor-inertia-out-of-range at @ (line 2): 1e+200, inf, 1
rotor_inertia: {j2_motor: 1}\n@{stiffness: 1, motor: {}} => entry-names-motor: rotor_inertia, j2, j2_motor
@{stiffness: 1, mass: 1} => entry-unknown at @ (line 2): mass, [stiffness, rest, damping, motor]
@{stiffness: 1, rest: there} => node-not-finite at @, rest (line 2): a finite number (rad or m), there
@{stiffness: 1, motor: {inertia: 0}} => shaft-inertia-not-positive at @, motor, inertia (line 2): 0
rotor_inertia: {j2: 0.5}\n@{stiffness: 1, motor: {inertia: 0.1}} =>
    motor-inertia-repeated at @ (line 3): 0.5, 0.1
rotor_inertia: {j2: 0.5}\n@{stiffness: 1} => spring-beside-rotor at @ (line 3): 0.5
passive: [j2]\n@{stiffness: 1, motor: {inertia: 0.1}} => spring-motor-passive at @ (line 3)
LOOP@{stiffness: 1} => spring-beside-loops at @ (line 4): c
LOOPelastic:\n  c: {stiffness: 1} => cut-joint-elastic: c
"""
)
"""Side files (@ and LOOP stand for parts that several of them share) and their errors."""


@pytest.mark.parametrize(("side", "expected"), CASES, ids=[expected for _, expected in CASES])
def test_wrong_side_files_are_refused(side: str, expected: str) -> None:
    loop = "loops:\n- {name: c, type: spherical, parent: {link: l0}, child: {link: l3}}\n"
    side = side.replace("@", "elastic:\n  j2: ").replace("LOOP", loop)
    expected = expected.replace("@", "elastic of joint 'j2'").replace("NUMBER", NUMBER)
    assert refusal(dyn_core.load_robot, urdf(), loops=side) == expected


def test_wrong_data_in_python_are_refused() -> None:
    place = f"at elastic of joint 'j2', stiffness: {NUMBER}"
    for value, expected in (
        (True, f"node-not-finite {place}, true"),
        (None, f"node-empty {place}"),
        (float("nan"), f"node-not-finite {place}, nan"),
        ([1.0], f"node-not-number {place}"),
        (1j, "data-type-unknown at elastic, j2, stiffness: 1j"),
    ):
        side = {"elastic": {"j2": {"stiffness": value}}}
        assert refusal(dyn_core.load_robot, urdf(), loops=side) == expected


ACTUATED = (
    '<ros2_control type="system" name="c"><joint name="j2"><command_interface name="effort"/></joint>'
    "</ros2_control>",
    '<transmission name="t"><joint name="j2"/><actuator name="m"/></transmission>',
)


def test_springs_that_contradict_the_urdf_are_refused() -> None:
    axis = '<axis xyz="0 1 1"/>'
    mimic = replaced(urdf(), f'{axis}<origin xyz="0.5 0 0"/>', f'{axis}<mimic joint="j2"/>')
    taken, motor = urdf().replace('"j1"', '"j2_motor"'), "stiffness: 1, motor: {inertia: 0.1}"
    actuated = "spring-beside-actuator at elastic of joint 'j2' (line 2)"
    for text, side, expected in (
        (mimic, spring("stiffness: 1", "j1"), "entry-joint-mimics at elastic (line 2): j1"),
        (taken, spring(motor), "motor-name-taken at elastic of joint 'j2' (line 2): j2_motor"),
        *((urdf(more), spring("stiffness: 1"), actuated) for more in ACTUATED),
    ):
        assert refusal(dyn_core.load_robot, text, loops=side) == expected
    for more in ACTUATED:
        assert "j2_motor" in dyn_core.load_robot(urdf(more), loops=spring(motor)).actuated_joint_names


def test_springs_are_not_written_to_urdf() -> None:
    side = SIDE.replace("inertia: 1e-3, ", "")
    robot = dyn_core.load_robot(urdf(), loops=side + "rotor_inertia: {j3: 2}")
    for write, code in ((dyn_core.write_par, "par-parts-lost"), (dyn_core.write_urdf, "urdf-parts-lost")):
        with pytest.warns(dyn_core.ModelWarning) as caught:
            text = write(robot)
        (warning,) = (warning.message for warning in caught)
        lost = "the spring of joint 'j1', the spring of joint 'j3'"
        assert (warning.code, warning.values["lost"]) == (code, lost)
        assert dyn_core.load_robot(text).joint_names == ("j1", "j2", "j3")
    assert_same_robot(dyn_core.load_robot(text, loops=side), robot)  # the URDF loads with the same side file


def test_the_machine_agrees_with_the_table_of_the_book() -> None:
    """SYMORO+ 2003, table 1.5; the URDF says where we correct its angles.

    The axes of prismatic joints may be shifted.
    """
    robot = dyn_core.load_robot(*MACHINE)
    rows = [line.split() for line in robot.mdh_table().split("\n\n")[0].splitlines()[1:]]
    assert [(row[1], row[4]) for row in rows] == [  # a(j) and sigma, without frame 12
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
    assert main(["mdh", str(MACHINE[0]), "--side-file", str(MACHINE[1]), "--json"]) == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    spring = {"stiffness": 6e7, "rest": 0.0, "damping": 2e4, "motor": 0, "gear": 1.0}
    assert (frames[0]["elastic"], "elastic" in frames[4]) == (spring, False)


def test_check_treats_drives_behind_springs_like_others() -> None:
    changes = ('effort="40"', 'effort="1"', 'effort="40"', 'effort="0"', 'velocity="3"', 'velocity="90"')
    text = replaced(urdf(armature="0.5"), *changes)
    inertias = "rotor_inertia: {j1: 0.5, j3: 0.5}\n"
    side = "elastic:\n" + "".join(f"  {j}: {{stiffness: 1e4, motor: {{}}}}\n" for j in ("j1", "j2", "j3"))
    rigid = dyn_core.check_robot(text, loops=inertias)
    found = dyn_core.check_robot(text, loops=side + inertias)
    expected = {"effort-limit-zero", "velocity-limit-in-degrees", "effort-limit-below-friction"}
    assert {finding.code for finding in rigid} >= {*expected, "effort-limit-below-gravity-at"}
    others = [finding for finding in found if not finding.code.startswith("spring-")]
    assert (others, len(found)) == (list(rigid), len(rigid) + 2)


def test_check_reports_springs() -> None:
    names = "joints 'base_yaw', 'base_y', 'base_x', 'secondary' and 6 more"
    assert list(map(summary, dyn_core.check_robot(*MACHINE))) == [
        "spring-oscillation at note, robot: 797.7",
        f"spring-as-actuator at note, {names}: 0, 6e+07, N m/rad, rad",
    ]
    found = list(map(summary, dyn_core.check_robot(urdf(), loops=SIDE.replace("0.1", "1.5"))))
    assert "spring-rest-outside-limits at warning, joint 'j1' (line 2): 1.5, rad" in found
    assert "spring-behind-motor at note, joint 'j3' (line 2): 0, 1000, N/m, m" in found
    assert not any(finding.startswith("joint-unactuated") for finding in found)
