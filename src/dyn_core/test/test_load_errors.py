# SPDX-License-Identifier: Apache-2.0
"""Every bad input ends in one sentence that names the place, the value and the remedy."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

import dyn_core
from dyn_core.core.text import MAX_BYTES
from dyn_core.robot.xml_text import MAX_DEPTH, MAX_ELEMENTS

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
JOINT = (
    '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
    '<origin xyz="0 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    '<dynamics damping="0" friction="0"/></joint>'
)
ROBOT = f'<robot name="r">\n<link name="a"/>\n<link name="b">{INERTIAL}</link>\n{JOINT}\n</robot>'


def changed(old: str, new: str) -> str:
    assert old in ROBOT
    return ROBOT.replace(old, new, 1)


def added(more: str) -> str:
    return changed("</robot>", f"{more}</robot>")


def fixed(name: str, parent: str, child: str) -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'


def mimic(name: str, parent: str, child: str, leader: str) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="revolute">{ends}<mimic joint="{leader}"/></joint>'


CASES = {
    "malformed": (ROBOT[:-5], "malformed XML in line 5: unclosed token"),
    "malformed after blank lines": ("\n\n<robot", "malformed XML in line 3: unclosed token"),
    "surrogate": (changed("r", "\ud800"), "the text holds a lone surrogate, which is no character"),
    "doctype": (
        '<!DOCTYPE r [<!ENTITY x "y">]><robot name="r"/>',
        "line 1: a document type or entity declaration is not allowed: remove <!DOCTYPE>",
    ),
    "entity": (changed('"r"', '"&x;"'), "malformed XML in line 1: undefined entity"),
    "deep": (
        "<a>" * (MAX_DEPTH + 1),
        f"line 1: elements are nested more than {MAX_DEPTH} deep",
    ),
    "many": (
        f"<robot>{'<a/>' * MAX_ELEMENTS}</robot>",
        f"line 1: there are more than {MAX_ELEMENTS} elements",
    ),
    "huge": (
        "<" + " " * MAX_BYTES,
        f"the text has {MAX_BYTES + 1} bytes, more than the {MAX_BYTES} that are read",
    ),
    "no robot": ("<sdf/>", "the root element (line 1) is <sdf>, where a URDF has <robot>"),
    "no link": ('<robot name="r"/>', "the robot has no link: add at least one <link>"),
    "link without name": (added("<link/>"), 'link (line 5): it has no name: add name="..."'),
    "link name twice": (
        added('<link name="a"/>'),
        "link 'a' (line 5) has the name of another link (line 2): rename one",
    ),
    "joint name twice": (
        added('<link name="c"/>' + fixed("j", "b", "c")),
        "joint 'j' (line 5) has the name of another joint (line 4): rename one",
    ),
    "joint without name": (
        changed(' name="j"', ""),
        'joint (line 4): it has no name: add name="..."',
    ),
    "joint without type": (
        changed(' type="revolute"', ""),
        "joint 'j' (line 4): it has no type: add type=\"...\"",
    ),
    "unknown type": (
        changed("revolute", "Revolute"),
        "joint 'j' (line 4): type=\"Revolute\" is unknown: use one of revolute, continuous, prismatic, "
        "fixed, planar, floating",
    ),
    "floating joint that mimics": (
        changed("revolute", "floating").replace("<axis", '<mimic joint="j"/><axis'),
        "joint 'j', <mimic> (line 4): a floating joint has several positions and can mimic none: remove it",
    ),
    "mimic of a planar joint": (
        added(f'<link name="c"/>{mimic("k", "b", "c", "j")}').replace("revolute", "planar", 1),
        "joint 'k', <mimic> (line 5): 'j' is a planar joint and has several positions: "
        "mimic a joint that has one",
    ),
    "joint with the name of a part": (
        added(f'<link name="c"/>{fixed("j/theta", "b", "c")}').replace("revolute", "planar"),
        "joint 'j' (line 4): as a planar joint it makes a joint 'j/theta', but another joint has this name "
        "(line 5): rename one",
    ),
    "link with the name of a part": (
        added(f'<link name="j/yaw_link"/>{fixed("k", "b", "j/yaw_link")}').replace("revolute", "floating"),
        "joint 'j' (line 4): as a floating joint it makes a link 'j/yaw_link', but another link has this "
        "name (line 5): rename one",
    ),
    "zero axis of a planar joint": (
        changed("revolute", "planar").replace("0 0 1", "0 0 0"),
        "joint 'j', <axis> (line 4): the axis is zero: give a direction such as xyz=\"0 0 1\"",
    ),
    "mimic without joint": (
        changed("<axis", "<mimic/><axis"),
        "joint 'j', <mimic> (line 4): it has no joint: add joint=\"...\"",
    ),
    "mimic of itself": (
        changed("<axis", '<mimic joint="j"/><axis'),
        "joint 'j', <mimic> (line 4): it mimics itself: let one of them move by itself",
    ),
    "mimic in a cycle": (
        added(f'<link name="c"/>{mimic("k", "b", "c", "j")}').replace("<axis", '<mimic joint="k"/><axis', 1),
        "joint 'k', <mimic> (line 5): it mimics itself by way of 'j': let one of them move by itself",
    ),
    "mimic multiplier": (
        changed("<axis", '<mimic joint="j" multiplier="nan"/><axis'),
        "joint 'j', <mimic> (line 4): multiplier holds \"nan\": write a finite number",
    ),
    "mimic offset": (
        changed("<axis", '<mimic joint="j" offset="1e10"/><axis'),
        "joint 'j', <mimic> (line 4): offset exceeds 1e+09: check its unit",
    ),
    "no parent": (
        changed('<parent link="a"/>', ""),
        "joint 'j' (line 4): it has no <parent>: add one",
    ),
    "no child link": (
        changed('<child link="b"/>', "<child/>"),
        "joint 'j', <child> (line 4): it has no link: add link=\"...\"",
    ),
    "missing parent": (
        changed('parent link="a"', 'parent link="x"'),
        "joint 'j' (line 4): its parent link 'x' does not exist: add it or correct the name",
    ),
    "missing child": (
        changed('child link="b"', 'child link="x"'),
        "joint 'j' (line 4): its child link 'x' does not exist: add it or correct the name",
    ),
    "two roots": (
        added('<link name="c"/>'),
        "the robot has 2 root links, 'a', 'c': join them with fixed joints",
    ),
    "two parents": (
        added('<link name="c"/>' + fixed("k", "c", "b")),
        "joint 'k' (line 5): link 'b' is also the child of joint 'j' (line 4): "
        "a link can have only one parent: take one of the joints out, or declare it as a loop",
    ),
    "cycle without root": (
        added(fixed("k", "b", "a")),
        "joint 'k' (line 5): links 'b', 'a' form a cycle: take one of the joints out, "
        "or declare it as a loop",
    ),
    "cycle beside the tree": (
        added('<link name="c"/><link name="d"/>' + fixed("k", "c", "d") + fixed("l", "d", "c")),
        "joint 'l' (line 5): links 'd', 'c' form a cycle: take one of the joints out, "
        "or declare it as a loop",
    ),
    "own parent": (
        changed('parent link="a"', 'parent link="b"'),
        "joint 'j' (line 4): its parent and its child are the same link 'b'",
    ),
    "zero axis": (
        changed("0 0 1", "0 0 0"),
        "joint 'j', <axis> (line 4): the axis is zero: give a direction such as xyz=\"0 0 1\"",
    ),
    "NaN in axis": (
        changed("0 0 1", "0 0 nan"),
        "joint 'j', <axis> (line 4): xyz holds \"nan\": write a finite number",
    ),
    "two numbers": (
        changed('xyz="0 0 0"', 'xyz="0 0"'),
        "joint 'j', <origin> (line 4): xyz=\"0 0\" has 2 numbers, not 3",
    ),
    "four angles": (
        changed('xyz="0 0 0"', 'rpy="0 0 0 0"'),
        "joint 'j', <origin> (line 4): rpy=\"0 0 0 0\" has 4 numbers, not 3",
    ),
    "far": (
        changed('xyz="0 0 0"', 'xyz="0 1e10 0"'),
        "joint 'j', <origin> (line 4): xyz exceeds 1e+09: check its unit",
    ),
    "quaternion": (
        changed('xyz="0 0 0"', 'quat_xyzw="0 0 0 1"'),
        "joint 'j', <origin> (line 4): quat_xyzw is not supported: give the rotation as rpy",
    ),
    "xacro element": (
        changed("<link", '<xacro:include filename="arm.xacro"/><link'),
        "<xacro:include> (line 2): this is xacro, not yet URDF: run xacro on the file first",
    ),
    "xacro element within a link": (
        changed("<inertial>", "<inertial>\n<xacro:inertia/>"),
        "<xacro:inertia> (line 4): this is xacro, not yet URDF: run xacro on the file first",
    ),
    "xacro argument": (
        changed('child link="b"', 'child link="$(arg side)_b"'),
        "joint 'j', <child> (line 4): link holds \"$(arg side)_b\": run xacro on the file first",
    ),
    "long name": (
        changed('link name="a"', f'link name="{"a" * 401}"'),
        f"link '{'a' * 57}...' (line 2): name has 401 characters, more than 400",
    ),
    "xacro": (
        changed('mass value="1"', 'mass value="${m}"'),
        "link 'b', <mass> (line 3): value holds \"${m}\": run xacro on the file first",
    ),
    "not a number": (
        changed('mass value="1"', 'mass value="1_0"'),
        "link 'b', <mass> (line 3): value holds \"1_0\": write a finite number",
    ),
    "too great a number": (
        changed('mass value="1"', 'mass value="1e999"'),
        "link 'b', <mass> (line 3): value holds \"1e999\": write a finite number",
    ),
    "mass of a galaxy": (
        changed('mass value="1"', 'mass value="1e42"'),
        "link 'b', <mass> (line 3): value exceeds 1e+30: check its unit",
    ),
    "negative mass": (
        changed('mass value="1"', 'mass value="-1"'),
        "link 'b', <mass> (line 3): the mass is -1 kg: it cannot be negative",
    ),
    "no ixy": (
        changed(' ixy="0"', ""),
        "link 'b', <inertia> (line 3): it has no ixy: add ixy=\"...\"",
    ),
    "negative damping": (
        changed('damping="0"', 'damping="-0.1"'),
        "joint 'j', <dynamics> (line 4): damping is -0.1: it cannot be negative",
    ),
    "infinite friction": (
        changed('friction="0"', 'friction="inf"'),
        "joint 'j', <dynamics> (line 4): friction holds \"inf\": write a finite number",
    ),
    "negative effort": (
        changed('effort="1"', 'effort="-1"'),
        "joint 'j', <limit> (line 4): effort is -1: it cannot be negative",
    ),
    "negative velocity": (
        changed('velocity="1"', 'velocity="-1"'),
        "joint 'j', <limit> (line 4): velocity is -1: it cannot be negative",
    ),
    "lower above upper": (
        changed('upper="1"', 'upper="-2"'),
        "joint 'j', <limit> (line 4): lower=-1 is greater than upper=-2",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_text(case: str) -> None:
    text, sentence = CASES[case]
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(text)
    assert str(caught.value) == sentence


def test_the_robot_of_the_cases_is_good() -> None:
    assert dyn_core.load_robot(ROBOT).joint_names == ("j",)
    assert dyn_core.load_robot(f"\ufeff\n <!-- c -->{ROBOT}").joint_names == ("j",)


def test_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(changed("revolute", "round"))
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(path)
    error = caught.value
    assert str(error).startswith(f"{path}: joint 'j' (line 4): ")
    assert (error.file, error.element, error.line) == (str(path), "joint 'j'", 4)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line) == (str(error), 4)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no such file: '{path}' is neither the path of a file nor XML text"),
        (b" \n", "{path}: the file is empty, where a URDF file was expected"),
        (b"<robot>\n\xff", "{path}: byte 0xff in line 2 is not UTF-8: save the file as UTF-8"),
        ("<robot>".encode("utf-16"), "{path}: byte 0xff in line 1 is not UTF-8: save the file as UTF-8"),
        (b"\x7fELF" + bytes(9), "{path}: malformed XML in line 1: not well-formed (invalid token)"),
        (b"name: r", "{path}: malformed XML in line 1: syntax error"),
    ],
)
def test_file(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    path = tmp_path / "robot.urdf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(str(path))
    assert str(caught.value) == sentence.format(path=path)


@pytest.mark.parametrize(
    "content",
    [ROBOT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + ROBOT.encode(), ROBOT.encode() + b"\n "],
)
def test_files_of_other_systems(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "robot.urdf"
    path.write_bytes(content)
    assert dyn_core.load_robot(path).joints == dyn_core.load_robot(ROBOT).joints
    path.write_bytes(content.replace(b"revolute", b"round"))
    with pytest.raises(dyn_core.DynError, match=r"joint 'j' \(line 4\): type=\"round\" is unknown"):
        dyn_core.load_robot(path)


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(tmp_path)
    assert str(caught.value) == f"{tmp_path}: this is a directory: give the URDF file in it"
    with pytest.raises(dyn_core.DynError, match="this is a directory: give the YAML file in it"):
        dyn_core.load_robot(ROBOT, loops=tmp_path)


def test_empty_and_missing_files_of_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "empty.par").touch()
    with pytest.raises(dyn_core.DynError, match=r"the file is empty, where a \.par file was expected"):
        dyn_core.load_robot(tmp_path / "empty.par")
    with pytest.raises(dyn_core.DynError, match=r"'none\.yaml' is neither the path of a file nor YAML text"):
        dyn_core.load_robot(ROBOT, loops="none.yaml")
    # A path is meant as one, even where it looks like text.
    with pytest.raises(
        dyn_core.DynError, match=r"^no such file: '{base: free}': give the path of a YAML file$"
    ):
        dyn_core.load_robot(ROBOT, loops=Path("{base: free}"))
    with pytest.raises(
        dyn_core.DynError, match=r"^no such file: 'none\.urdf': give the path of a URDF file$"
    ):
        dyn_core.load_robot(Path("none.urdf"))


@pytest.mark.parametrize("url", ["file:///tmp/r.urdf", "package://arm/urdf/r.urdf", "https://a.b/r.urdf"])
def test_url(url: str) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(url)
    assert str(caught.value) == f"no such file: '{url}' is a URL: give the path of a file"


@pytest.mark.parametrize(
    "source", [ROBOT.encode(), b"/tmp/r.urdf", bytearray(b"<robot/>"), None, 3, ["r.urdf"]]
)
def test_neither_a_path_nor_text(source: object) -> None:
    with pytest.raises(
        dyn_core.DynError, match=r"is neither the path of a file nor text: give a str or a Path$"
    ):
        dyn_core.load_robot(source)


def test_device() -> None:
    with pytest.raises(dyn_core.DynError, match="is not a regular file: give a URDF file"):
        dyn_core.load_robot("/dev/null")


def test_large_file(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(dyn_core.DynError, match="move meshes and data out of it"):
        dyn_core.load_robot(path)


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.urdf"
    path.write_text(ROBOT)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(dyn_core.DynError, match="the file cannot be read: Permission denied"):
        dyn_core.load_robot(path)


@pytest.mark.parametrize("source", ["", "rx90", "a" * 5000, "\0", "/dev/null/x", "no\nfile"])
def test_neither_a_file_nor_text(source: str) -> None:
    with pytest.raises(dyn_core.DynError, match=r"^no such file: ") as caught:
        dyn_core.load_robot(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, float("nan")), 9.81, ("a", "b", "c")])
def test_gravity(gravity: object) -> None:
    with pytest.raises(dyn_core.DynError, match=r"gravity is .*: give three .*numbers in m/s"):
        dyn_core.load_robot(ROBOT, gravity=gravity)


def test_yaml_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(dyn_core.DynError, match="without PyYAML: install python3-yaml"):
        dyn_core.load_robot(ROBOT, loops="passive: [j]")


def test_long_lists_are_shortened() -> None:
    text = added("".join(f'<link name="c{k}"/>' for k in range(20)))
    with pytest.raises(dyn_core.DynError, match="'c4' and 15 more: join them"):
        dyn_core.load_robot(text)
