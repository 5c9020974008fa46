# SPDX-License-Identifier: Apache-2.0
"""Loops, passive joints, rotor inertias and friction from the side file and from the URDF."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import dyn_core
from dyn_core.model.loop import LoopType
from dyn_core.robot.joints import Friction
from dyn_core.robot.yaml_text import MAX_CHARACTERS

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

MIMIC = '<mimic joint="j1"/>'
ARM = "".join(
    f'<joint name="j{j}" type="revolute"><parent link="l{j - 1}"/><child link="l{j}"/>'
    f'<axis xyz="0 0 1"/><origin xyz="0.5 0 0"/>{MIMIC if j == 3 else ""}'
    '<dynamics damping="1" friction="2"/></joint>'
    for j in (1, 2, 3)
)
LINKS = "".join(f'<link name="l{j}"/>' for j in range(4)) + '<link name="tip"/>'
TIP = '<joint name="t" type="fixed"><parent link="l3"/><child link="tip"/></joint>'
SIDE = """\
loops:
  - name: closure
    type: universal
    parent: {link: l0, xyz: [0.1, 0, 0], rpy: [0, 0, 1.5707963267948966]}
    child: {link: tip}
    axis: [0, 0, 2]
    axis2: [1, 0, 0]
passive: [j2]
assembly: {j2: 1.1, j1: -0.2}
rotor_inertia: {j1: 0.4, j3: 1}
friction:
  j2: {coulomb: 5, offset: -.1}
"""


def urdf(more: str = "") -> str:
    return f'<robot name="arm">\n{LINKS}{ARM}{TIP}\n{more}</robot>'


def test_a_side_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(SIDE)
    robot = dyn_core.load_robot(urdf(), loops=path)
    assert robot == dyn_core.load_robot(urdf(), loops=SIDE)
    assert robot == dyn_core.load_robot(urdf(), loops=yaml.safe_load(SIDE))
    assert robot == dyn_core.load_robot(urdf(), loops=str(path))
    (loop,) = robot.loops
    assert (loop.name, loop.type, loop.parent.link, loop.child.link) == (
        "closure",
        LoopType.UNIVERSAL,
        "l0",
        "tip",
    )
    assert (loop.axis, loop.child_axis) == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    assert loop.parent.T_link_cut == (((0, -1, 0), (1, 0, 0), (0, 0, 1)), (0.1, 0, 0))
    assert robot.actuated_joint_names == ("j1",)
    assert robot.passive_joint_names == ("j2",)
    assert robot.assembly == (("j1", -0.2), ("j2", 1.1))
    assert [joint.Ia for joint in robot.joints] == [0.4, 0.0, 1.0]
    assert robot.joint("j2").friction == Friction(Fv=1.0, Fs=5.0, Fo=-0.1)
    assert robot.joint("j1").friction == Friction(Fv=1.0, Fs=2.0, Fo=0.0)


def test_angles_of_loops_are_snapped() -> None:
    side = SIDE.replace("1.5707963267948966", "1.5708")
    robot = dyn_core.load_robot(urdf(), loops=side)
    assert robot.loops[0].parent.T_link_cut.R == ((0, -1, 0), (1, 0, 0), (0, 0, 1))
    (record,) = robot.snapped
    assert (record.element, record.parameter, record.line) == ("loop 'closure'", "parent rpy[2]", 2)
    assert dyn_core.load_robot(urdf(), loops=side, snap=0).snapped == ()
    constraint = CONSTRAINT.replace('rpy="0 0 0"', 'rpy="3.14159 0 0"')
    (record,) = dyn_core.load_robot(urdf(constraint)).snapped
    assert (record.element, record.parameter) == ("loop 'c'", "child rpy[0]")


def test_an_empty_side_file_changes_nothing() -> None:
    for side in ("# nothing\n", "loops:\npassive: ~\n", {}, {"loops": []}):
        expected = dyn_core.load_robot(urdf())
        assert dyn_core.load_robot(urdf(), loops=side) == expected


def test_loops_that_do_not_close_are_found_with_the_dynamics() -> None:
    robot = dyn_core.load_robot(urdf(), loops=SIDE)
    with pytest.raises(dyn_core.DynError, match="the assembly of robot 'arm' is far from closing its loops"):
        dyn_core.compile_model(robot)


CASES = {
    "unknown entry": (
        "loop: []",
        "the file (line 1): it has no entry 'loop': use 'loops', 'passive', 'assembly', "
        "'rotor_inertia', 'friction', 'elastic', 'base'",
    ),
    "no mapping": ("- a: 1", "the file (line 1): it must be a mapping, as in 'name: value'"),
    "no list": ("passive: j1", "passive (line 1): it must be a list, as in '[a, b]'"),
    "no name": ("passive: [[j1]]", "passive[0] (line 1): it must be a name"),
    "no number": (
        "assembly:\n  j1: far",
        "assembly of joint 'j1' (line 2): it is 'far': write a finite number",
    ),
    "NaN": ("assembly: {j1: .nan}", "assembly of joint 'j1' (line 1): it is '.nan': write a finite number"),
    "negative": (
        "rotor_inertia: {j1: -1}",
        "rotor_inertia of joint 'j1' (line 1): it is -1: it cannot be negative",
    ),
    "no joint": (
        "rotor_inertia: {t: 1}",
        "rotor_inertia: the robot has no moving joint 't': its joints are 'j1', 'j2', 'j3'",
    ),
    "passive mimic": (
        "passive: [j3]",
        "passive: joint 'j3' mimics another and has no position of its own: name that one",
    ),
    "loop without type": ("loops:\n- name: a", "loops[0] (line 2): it has no type: add one"),
    "loop type": (
        SIDE.replace("universal", "hinge"),
        "loop 'closure' (line 3): its type is 'hinge': use one of "
        "'revolute', 'prismatic', 'universal', 'spherical', 'cylindrical', 'planar', 'fixed'",
    ),
    "no axis2": (
        SIDE.replace("axis2", "axis", 1).replace("axis: [0, 0, 2]\n", "\n"),
        "loop 'closure' (line 2): a universal joint needs an axis2",
    ),
    "axis2": (
        SIDE.replace("universal", "revolute"),
        "loop 'closure' (line 7): only a universal joint has an axis2",
    ),
    "zero axis": (
        SIDE.replace("[1, 0, 0]", "[0, 0, 0]"),
        "loop 'closure', axis2 (line 7): the axis is zero: give a direction such as [0, 0, 1]",
    ),
    "two numbers": (
        SIDE.replace("[0.1, 0, 0]", "[0.1, 0]"),
        "loop 'closure', parent, xyz (line 4): it has 2 numbers, not 3",
    ),
    "far": (
        SIDE.replace("[0.1, 0, 0]", "[0.1, 0, 1e10]"),
        "loop 'closure', parent, xyz (line 4): it exceeds 1e+09: check its unit",
    ),
    "missing link": (
        SIDE.replace("l0", "l9"),
        "loop 'closure' (line 2): the robot has no link 'l9': its links are 'l0', 'l1', 'l2', 'l3', 'tip'",
    ),
    "rigid": (
        SIDE.replace("l0", "l3"),
        "loop 'closure' (line 2): 'l3' and 'tip' do not move on each other: name links on "
        "either side of a joint",
    ),
    "malformed": ("a: [1,\nb", "malformed YAML in line 2: expected ',' or ']', but got '<stream end>'"),
    "no character": ("a: \x07", "malformed YAML: special characters are not allowed"),
    "bomb": (
        "a: &a [1]\nb: *a",
        "line 1: anchors and aliases (& and *) are not allowed: write the value out",
    ),
    "object": ("a: !!python/object:os.system {}", "line 1: tags (!) are not allowed: remove it"),
    "deep": ("a: " + "[" * 50 + "]" * 50, "line 1: it is nested more than 20 deep"),
    "twice": ("passive: []\npassive: []", "line 2: 'passive' is there twice: keep one"),
    "key": ("{[a]: 1}", "line 1: a key must be a name"),
    "two documents": ("a: 1\n---\nb: 1", "line 3: a second document begins: keep one"),
    "large": (
        "#" * (MAX_CHARACTERS + 1),
        f"the YAML has {MAX_CHARACTERS + 1} characters, more than the {MAX_CHARACTERS} that are read",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_mistakes(case: str, tmp_path: Path) -> None:
    text, sentence = CASES[case]
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(urdf(), loops=text)
    assert str(caught.value) == sentence
    path = tmp_path / "side.yaml"
    path.write_text(text)
    (tmp_path / "arm.urdf").write_text(urdf())
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(tmp_path / "arm.urdf", loops=path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize("data", [{"loops": {1, 2}}, {"passive": [None]}, {"assembly": {"j1": True}}, 3])
def test_wrong_data(data: object) -> None:
    with pytest.raises(dyn_core.DynError):
        dyn_core.load_robot(urdf(), loops=data)


CONSTRAINT = """<constraint name="c" type="revolute">
<parent link="l0"/><parent_origin xyz="1 0 0"/><parent_axis xyz="0 3 0"/>
<child link="tip"/><child_origin xyz="0 2 0" rpy="0 0 0"/><child_axis xyz="1 0 0"/></constraint>"""
LOOP_JOINT = """<loop_joint name="c" type="spherical">
<link1 link="l0" xyz="1 0 0" rpy="0 0 0"/><link1 link="tip" xyz="0 2 0"/></loop_joint>"""


def test_loops_in_the_urdf() -> None:
    (loop,) = dyn_core.load_robot(urdf(CONSTRAINT)).loops
    assert (loop.type, loop.parent.link, loop.child.link) == (LoopType.REVOLUTE, "l0", "tip")
    assert (loop.parent.T_link_cut.p, loop.child.T_link_cut.p) == ((1, 0, 0), (0, 2, 0))
    assert (loop.axis, loop.child_axis) == ((0, 1, 0), (1, 0, 0))
    (loop,) = dyn_core.load_robot(urdf(LOOP_JOINT)).loops
    assert (loop.type, loop.parent.link, loop.child.link) == (LoopType.SPHERICAL, "l0", "tip")
    assert (loop.parent.T_link_cut.p, loop.child.T_link_cut.p) == ((1, 0, 0), (0, 2, 0))
    both = dyn_core.load_robot(urdf(CONSTRAINT), loops=SIDE)
    assert [loop.name for loop in both.loops] == ["c", "closure"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            CONSTRAINT.replace("revolute", "round"),
            "constraint 'c' (line 3): type=\"round\" is unknown: use one of",
        ),
        (CONSTRAINT.replace("0 3 0", "0 0 0"), "constraint 'c', <parent_axis> (line 4): the axis is zero"),
        (CONSTRAINT.replace("<parent ", "<father "), "constraint 'c' (line 3): it has no <parent>: add one"),
        (CONSTRAINT.replace("revolute", "universal").replace("child_axis", "x"), "needs a <child_axis>"),
        (CONSTRAINT.replace('"l0"', '"l9"'), "loop 'c' (line 3): the robot has no link 'l9'"),
        (CONSTRAINT + CONSTRAINT, "loop 'c' (line 5): another loop has its name: rename one"),
        (
            LOOP_JOINT.replace('<link1 link="tip" xyz="0 2 0"/>', ""),
            "it has 1 link: give one <link1> and one <link2>",
        ),
    ],
)
def test_mistakes_in_loops_of_the_urdf(text: str, sentence: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(urdf(text))
    assert sentence in str(caught.value)


def transmission(inside: str) -> str:
    return f'<transmission name="t1"><joint name="j1"/><actuator name="m">{inside}</actuator></transmission>'


DRAKE = '<drake:rotor_inertia value="1e-4"/>'


@pytest.mark.parametrize(
    ("more", "Ia"),
    [
        (transmission(DRAKE), 1e-4),
        (transmission(f'{DRAKE}<drake:gear_ratio value="-100"/>'), 1.0),
        (transmission(f"{DRAKE}<mechanicalReduction> 50 </mechanicalReduction>"), 0.25),
        (transmission("<mechanicalReduction>x</mechanicalReduction>"), 0.0),
        (
            '<ros2_control type="system"><joint name="j1"><param name="rotor_inertia">0.5</param>'
            "</joint></ros2_control>",
            0.5,
        ),
    ],
)
def test_rotor_inertia_in_the_urdf(more: str, Ia: float) -> None:
    robot = dyn_core.load_robot(urdf(more))
    assert [joint.Ia for joint in robot.joints] == [pytest.approx(Ia, rel=1e-15), 0.0, 0.0]
    armature = urdf(more).replace("<dynamics ", '<dynamics armature="2.5" ', 1)
    assert dyn_core.load_robot(armature).joints[0].Ia == 2.5


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            transmission(DRAKE.replace("1e-4", "-1")),
            "(line 3): the rotor inertia is -1: give 0 to",
        ),
        (
            transmission(f"{DRAKE}<mechanicalReduction>x</mechanicalReduction>"),
            'it holds "x": write a finite number',
        ),
        (transmission(f'{DRAKE}<drake:gear_ratio value="1e300"/>'), "the rotor inertia is inf"),
    ],
)
def test_mistakes_in_rotor_inertia(more: str, sentence: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(urdf(more))
    assert sentence in str(caught.value)


def test_a_joint_without_command_interface_is_passive() -> None:
    control = (
        '<ros2_control name="c" type="{}"><joint name="j1"><command_interface name="effort"/></joint>'
        '<joint name="j2"><state_interface name="position"/></joint></ros2_control>'
    )
    robot = dyn_core.load_robot(urdf(control.format("system")))
    assert (robot.actuated_joint_names, robot.passive_joint_names) == (("j1",), ("j2",))
    assert dyn_core.load_robot(urdf(control.format("sensor"))).passive_joint_names == ()
    overruled = dyn_core.load_robot(urdf(control.format("system")), loops={"passive": ["j1"]})
    assert overruled.passive_joint_names == ("j1",)
    assert math.isclose(overruled.joints[0].Ia, 0.0)
