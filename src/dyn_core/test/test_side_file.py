# SPDX-License-Identifier: Apache-2.0
"""Loops, passive joints, rotor inertias and friction from the side file and from the URDF."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refusal, refused, replaced, rows

import dyn_core
from dyn_core.robot.joints import Friction, LoopType
from dyn_core.robot.yaml_text import MAX_CHARACTERS

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

JOINT = (
    '<joint name="j{1}" type="revolute"><parent link="l{0}"/><child link="l{1}"/><axis xyz="0 0 1"/>'
    '<origin xyz="0.5 0 0"/>{2}<dynamics damping="1" friction="2"/></joint>'
)
MIMIC, TIP = (
    '<mimic joint="j1"/>',
    '<joint name="t" type="fixed"><parent link="l3"/><child link="tip"/></joint>',
)
ARM = JOINT.format(0, 1, "") + JOINT.format(1, 2, "") + JOINT.format(2, 3, MIMIC) + TIP
LINKS = "".join(f'<link name="{name}"/>' for name in ("l0", "l1", "l2", "l3", "tip"))
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
    return f'<robot name="arm">\n{LINKS}{ARM}\n{more}</robot>'


def test_a_side_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(SIDE)
    robot = dyn_core.load_robot(urdf(), loops=path)
    for source in (SIDE, yaml.safe_load(SIDE), str(path)):
        assert robot == dyn_core.load_robot(urdf(), loops=source)
    (loop,) = robot.loops
    ends = (loop.parent.link, loop.child.link)
    assert (loop.name, loop.type, ends) == ("closure", LoopType.UNIVERSAL, ("l0", "tip"))
    assert (loop.axis, loop.child_axis) == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    assert loop.parent.T_link_cut == (((0, -1, 0), (1, 0, 0), (0, 0, 1)), (0.1, 0, 0))
    assert (robot.actuated_joint_names, robot.passive_joint_names) == (("j1",), ("j2",))
    assert robot.assembly == (("j1", -0.2), ("j2", 1.1))
    assert [joint.Ia for joint in robot.joints] == [0.4, 0.0, 1.0]
    assert robot.joint("j2").friction == Friction(Fv=1.0, Fs=5.0, Fo=-0.1)
    assert robot.joint("j1").friction == Friction(Fv=1.0, Fs=2.0, Fo=0.0)
    # Open loops are found when the dynamics are computed.
    with refused("assembly-far-from-closed", robot="arm"):
        dyn_core.compile_model(robot)
    for side in ("# nothing\n", "loops:\npassive: ~\n", {}, {"loops": []}):
        assert dyn_core.load_robot(urdf(), loops=side) == dyn_core.load_robot(urdf())


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


TYPES = "[revolute, prismatic, universal, spherical, cylindrical, planar]"
CHANGES = rows(
    r"""
axis2 => axis => axis: [0, 0, 2]\n => \n => universal-axis2-missing at loop 'closure' (line 2)
universal => revolute => axis2-not-universal at loop 'closure' (line 7)
[1, 0, 0] => [0, 0, 0] => axis-zero at loop 'closure', axis2 (line 7): [0, 0, 1]
[0.1, 0, 0] => [0.1, 0] => node-not-triple at loop 'closure', parent, xyz (line 4): 2
[0.1, 0, 0] => [0.1, 0, 1e10] => value-too-large at loop 'closure', parent, xyz (line 4): 1e+09
l0 => l9 => loop-link-unknown at loop 'closure' (line 2): [l0, l1, l2, l3, tip], l9
l0 => l3 => loop-ends-on-one-body at loop 'closure' (line 2): tip, l3
"""
)
TEXTS = [
    *rows(
        r"""
- a: 1 => node-not-mapping at the file (line 1): name: value
passive: j1 => node-not-list at passive (line 1)
passive: [[j1]] => node-not-name at passive[0] (line 1)
assembly:\n  j1: far => node-not-finite at assembly of joint 'j1' (line 2): a finite number, far
assembly: {j1: .nan} => node-not-finite at assembly of joint 'j1' (line 1): a finite number, .nan
rotor_inertia: {j1: -1} => value-negative at rotor_inertia of joint 'j1' (line 1): -1
rotor_inertia: {t: 1} => side-file-joint-unknown at rotor_inertia: t, [j1, j2, j3]
passive: [j3] => entry-joint-mimics at passive: j3
loops:\n- name: a => part-missing at loops[0] (line 2): type
a: [1,\nb => yaml-malformed-in-line: 2, expected ',' or ']', but go...
a: &a [1]\nb: *a => yaml-anchor at line 1
a: !!python/object:os.system {} => yaml-tag at line 1
passive: []\npassive: [] => yaml-key-repeated at line 2: passive
{[a]: 1} => yaml-key-not-name at line 1
a: 1\n---\nb: 1 => yaml-second-document at line 3
loop: [] =>
    entry-unknown at the file (line 1): loop, [loops, passive, assembly, rotor_inertia, friction, elastic]
a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]] =>
    yaml-nested-too-deep at line 1: 20
"""
    ),
    (SIDE.replace("universal", "x"), f"side-file-loop-type-unknown at loop 'closure' (line 3): x, {TYPES}"),
    ("a: \x07", "yaml-malformed: special characters are not ..."),
    ("#" * (MAX_CHARACTERS + 1), "yaml-too-long: 200001, 200000"),
]
TEXTS += [(replaced(SIDE, *changes), expected) for *changes, expected in CHANGES]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[expected for _, expected in TEXTS])
def test_wrong_side_files_are_refused(text: str, expected: str, tmp_path: Path) -> None:
    assert refusal(dyn_core.load_robot, urdf(), loops=text) == expected
    path = tmp_path / "side.yaml"
    path.write_text(text)
    (tmp_path / "arm.urdf").write_text(urdf())
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(tmp_path / "arm.urdf", loops=path)
    assert caught.value.file == str(path)


def test_wrong_data_are_refused() -> None:
    for data in ({"loops": {1, 2}}, {"passive": [None]}, {"assembly": {"j1": True}}, 3):
        with pytest.raises(dyn_core.DynError):
            dyn_core.load_robot(urdf(), loops=data)


CONSTRAINT = """<constraint name="c" type="revolute">
<parent link="l0"/><parent_origin xyz="1 0 0"/><parent_axis xyz="0 3 0"/>
<child link="tip"/><child_origin xyz="0 2 0" rpy="0 0 0"/><child_axis xyz="1 0 0"/></constraint>"""
LINK = '<link1 link="tip" xyz="0 2 0"/>'
LOOP_JOINT = f"""<loop_joint name="c" type="spherical">
<link1 link="l0" xyz="1 0 0" rpy="0 0 0"/>{LINK}</loop_joint>"""
DRAKE = '<drake:rotor_inertia value="1e-4"/>'
PLACE, REDUCTION = "transmission 't1'", "<mechanicalReduction>x</mechanicalReduction>"
OUT_OF_RANGE = f"rotor-inertia-out-of-range at {PLACE}, <drake:rotor_inertia> (line 3)"


def transmission(inside: str) -> str:
    return f'<transmission name="t1"><joint name="j1"/><actuator name="m">{inside}</actuator></transmission>'


def test_loops_in_the_urdf() -> None:
    for text, kind in ((CONSTRAINT, LoopType.REVOLUTE), (LOOP_JOINT, LoopType.SPHERICAL)):
        (loop,) = dyn_core.load_robot(urdf(text)).loops
        assert (loop.type, loop.parent.link, loop.child.link) == (kind, "l0", "tip")
        assert (loop.parent.T_link_cut.p, loop.child.T_link_cut.p) == ((1, 0, 0), (0, 2, 0))
        assert kind is LoopType.SPHERICAL or (loop.axis, loop.child_axis) == ((0, 1, 0), (1, 0, 0))
    both = dyn_core.load_robot(urdf(CONSTRAINT), loops=SIDE)
    assert [loop.name for loop in both.loops] == ["c", "closure"]


OF_CONSTRAINT = rows(
    r"""
0 3 0 => 0 0 0 => axis-zero at constraint 'c', <parent_axis> (line 4): xyz="0 0 1"
<parent  => <father  => child-element-missing at constraint 'c' (line 3): parent
revolute => universal => child_axis => x => universal-child-axis-missing at constraint 'c' (line 3)
"l0" => "l9" => loop-link-unknown at loop 'c' (line 3): [l0, l1, l2, l3, tip], l9
"""
)
IN_URDF = [
    (CONSTRAINT.replace("revolute", "x"), f"loop-type-unknown at constraint 'c' (line 3): x, {TYPES}"),
    (CONSTRAINT + CONSTRAINT, "loop-name-repeated at loop 'c' (line 5)"),
    (LOOP_JOINT.replace(LINK, ""), "loop-links-count at loop_joint 'c' (line 3): 1"),
    (transmission(DRAKE.replace("1e-4", "-1")), f"{OUT_OF_RANGE}: -1, 1e+30"),
    (transmission(f'{DRAKE}<drake:gear_ratio value="1e300"/>'), f"{OUT_OF_RANGE}: inf, 1e+30"),
    (transmission(DRAKE + REDUCTION), f"element-not-finite at {PLACE}, <mechanicalReduction> (line 3): x"),
    *((replaced(CONSTRAINT, *changes), expected) for *changes, expected in OF_CONSTRAINT),
]


@pytest.mark.parametrize(("text", "expected"), IN_URDF)
def test_mistakes_in_loops_and_transmissions_of_the_urdf(text: str, expected: str) -> None:
    assert refusal(dyn_core.load_robot, urdf(text)) == expected


PARAM = '<param name="rotor_inertia">0.5</param>'


@pytest.mark.parametrize(
    ("more", "Ia"),
    [
        (transmission(DRAKE), 1e-4),
        (transmission(f'{DRAKE}<drake:gear_ratio value="-100"/>'), 1.0),
        (transmission(f"{DRAKE}<mechanicalReduction> 50 </mechanicalReduction>"), 0.25),
        (transmission(REDUCTION), 0.0),
        (f'<ros2_control type="system"><joint name="j1">{PARAM}</joint></ros2_control>', 0.5),
    ],
)
def test_rotor_inertia_in_the_urdf(more: str, Ia: float) -> None:
    robot = dyn_core.load_robot(urdf(more))
    assert [joint.Ia for joint in robot.joints] == [pytest.approx(Ia, rel=1e-15), 0.0, 0.0]
    armature = urdf(more).replace("<dynamics ", '<dynamics armature="2.5" ', 1)
    assert dyn_core.load_robot(armature).joints[0].Ia == 2.5


def test_a_joint_without_command_interface_is_passive() -> None:
    control = (
        '<ros2_control name="c" type="{}"><joint name="j1"><command_interface name="effort"/></joint>'
        '<joint name="j2"><state_interface name="position"/></joint></ros2_control>'
    )
    for kind, side, passive in (
        ("system", None, ("j2",)),
        ("sensor", None, ()),
        ("system", {"passive": ["j1"]}, ("j1",)),
    ):
        robot = dyn_core.load_robot(urdf(control.format(kind)), side)
        assert robot.passive_joint_names == passive
        assert robot.actuated_joint_names == tuple(name for name in ("j1", "j2") if name not in passive)
    assert robot.joints[0].Ia == 0.0
