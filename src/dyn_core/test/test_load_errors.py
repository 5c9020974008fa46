# SPDX-License-Identifier: Apache-2.0
"""Every bad input gives one error with the place, the value and the remedy."""

from __future__ import annotations

import io
import os
import pickle
import sys
from pathlib import Path

import pytest
from refusals import refusal, refused, replaced, rows, summary

import dyn_core
from dyn_core.core import text
from dyn_core.core.text import MAX_BYTES, read_stream
from dyn_core.robot.xml_text import MAX_DEPTH, MAX_ELEMENTS

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
JOINT = (
    '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
    '<origin xyz="0 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    '<dynamics damping="0" friction="0"/></joint>'
)
ROBOT = f'<robot name="r">\n<link name="a"/>\n<link name="b">{INERTIAL}</link>\n{JOINT}\n</robot>'


def added(*more: str) -> str:
    return replaced(ROBOT, "</robot>", f"{''.join(more)}</robot>")


def link(name: str) -> str:
    return f'<link name="{name}"/>'


def joint(name: str, parent: str, child: str, rest: str = "", kind: str = "fixed") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{rest}</joint>'


C, D, YAW, THETA, FLOATING = link("c"), link("d"), "j/yaw_link", "j/theta", ("revolute", "floating")
MIMIC = C + joint("k", "b", "c", '<mimic joint="j"/>', "revolute")
CLASH, CYCLE = "compound-part-name-clash at joint 'j' (line 4)", "links-form-cycle at joint"
OF_K = "at joint 'k', <mimic> (line 5)"


LONG = "a" * 401
CHANGES = [
    *rows(
        r"""
"r" => "&x;" => xml-malformed: 1, undefined entity
 name="j" => - => attribute-missing at joint (line 4): name
 type="revolute" => - => attribute-missing at joint 'j' (line 4): type
revolute => Revolute => joint-type-unknown at joint 'j' (line 4): Revolute, revolute, continuous, prism...
<axis => <mimic/><axis => attribute-missing at joint 'j', <mimic> (line 4): joint
<axis => <mimic joint="j"/><axis => mimic-of-itself at joint 'j', <mimic> (line 4)
<parent link="a"/> => - => child-element-missing at joint 'j' (line 4): parent
<child link="b"/> => <child/> => attribute-missing at joint 'j', <child> (line 4): link
parent link="a" => parent link="x" => joint-end-unknown at joint 'j' (line 4): parent, x
child link="b" => child link="x" => joint-end-unknown at joint 'j' (line 4): child, x
parent link="a" => parent link="b" => joint-ends-equal at joint 'j' (line 4): b
0 0 1 => 0 0 0 => axis-zero at joint 'j', <axis> (line 4): xyz="0 0 1"
0 0 1 => 0 0 nan => attribute-not-finite at joint 'j', <axis> (line 4): xyz, nan
xyz="0 0 0" => xyz="0 0" => attribute-not-triple at joint 'j', <origin> (line 4): xyz, 2, 0 0
xyz="0 0 0" => rpy="0 0 0 0" => attribute-not-triple at joint 'j', <origin> (line 4): rpy, 4, 0 0 0 0
xyz="0 0 0" => xyz="0 1e10 0" => attribute-too-large at joint 'j', <origin> (line 4): xyz, 1e+09
xyz="0 0 0" => quat_xyzw="0 0 0 1" => quaternion-unsupported at joint 'j', <origin> (line 4)
<link => <xacro:include filename="arm.xacro"/><link => xacro-not-expanded: 2, xacro:include
<inertial> => <inertial>\n<xacro:inertia/> => xacro-not-expanded: 4, xacro:inertia
</robot> => <transmission name="t"><xacro:joint/></transmission></robot> => xacro-not-expanded: 5, xacro:joint
mass value="1" => mass value="${m}" => attribute-needs-xacro at link 'b', <mass> (line 3): value, ${m}
mass value="1" => mass value="1_0" => attribute-not-finite at link 'b', <mass> (line 3): value, 1_0
mass value="1" => mass value="1e999" => attribute-not-finite at link 'b', <mass> (line 3): value, 1e999
mass value="1" => mass value="1e42" => attribute-too-large at link 'b', <mass> (line 3): value, 1e+30
mass value="1" => mass value="-1" => link-mass-negative at link 'b', <mass> (line 3): -1
 ixy="0" => - => attribute-missing at link 'b', <inertia> (line 3): ixy
damping="0" => damping="-0.1" => attribute-negative at joint 'j', <dynamics> (line 4): damping, -0.1
friction="0" => friction="inf" => attribute-not-finite at joint 'j', <dynamics> (line 4): friction, inf
effort="1" => effort="-1" => attribute-negative at joint 'j', <limit> (line 4): effort, -1
velocity="1" => velocity="-1" => attribute-negative at joint 'j', <limit> (line 4): velocity, -1
<axis => <mimic joint="j" multiplier="nan"/><axis =>
    attribute-not-finite at joint 'j', <mimic> (line 4): multiplier, nan
<axis => <mimic joint="j" offset="1e10"/><axis =>
    attribute-too-large at joint 'j', <mimic> (line 4): offset, 1e+09
child link="b" => child link="$(arg side)_b" =>
    attribute-needs-xacro at joint 'j', <child> (line 4): link, $(arg side)_b
</robot> => <link/></robot> => attribute-missing at link (line 5): name
</robot> => <link name="a"/></robot> => name-repeated: 2, a, link, 5
revolute => floating => <axis => <mimic joint="j"/><axis =>
    compound-joint-mimics at joint 'j', <mimic> (line 4): floating
revolute => planar => 0 0 1 => 0 0 0 => axis-zero at joint 'j', <axis> (line 4): xyz="0 0 1"
</robot> => <link name="c"/></robot> => root-links-several: 2, [a, c]
"""
    ),
    ("r", "\ud800", "text-surrogate"),
    ('name="a"', f'name="{LONG}"', f"attribute-too-long at link '{LONG[:57]}...' (line 2): name, 401, 400"),
]
TEXTS = [
    (added(C, joint("j", "b", "c")), "name-repeated: 4, j, joint, 5"),
    (added(C, joint("k", "c", "b")), "link-parents-several at joint 'k' (line 5): b, j, 4"),
    (added(joint("k", "b", "a")), f"{CYCLE} 'k' (line 5): [b, a]"),
    (added(C, joint(THETA, "b", "c")).replace("revolute", "planar"), f"{CLASH}: planar, joint, 5, {THETA}"),
    ("\n\n<robot", "xml-malformed: 3, unclosed token"),
    ('<!DOCTYPE r [<!ENTITY x "y">]><robot name="r"/>', "xml-document-type at line 1"),
    ("<sdf/>", "root-element-unknown: 1, sdf"),
    ('<robot name="r"/>', "robot-without-links"),
    (ROBOT[:-5], "xml-malformed: 5, unclosed token"),
    ("<a>" * (MAX_DEPTH + 1), "xml-nested-too-deep at line 1: 200"),
    (f"<robot>{'<a/>' * MAX_ELEMENTS}</robot>", "xml-elements-too-many at line 1: 200000"),
    ("<" + " " * MAX_BYTES, "xml-too-large: 20000000, 20000001"),
    (added(link(YAW), joint("k", "b", YAW)).replace(*FLOATING), f"{CLASH}: floating, link, 5, {YAW}"),
    (added(MIMIC).replace("revolute", "planar", 1), f"mimic-of-compound-joint {OF_K}: planar, j"),
    (added(MIMIC).replace("<axis", '<mimic joint="k"/><axis', 1), f"mimic-cycle {OF_K}: [j]"),
    (added(C, D, joint("k", "c", "d"), joint("l", "d", "c")), f"{CYCLE} 'l' (line 5): [d, c]"),
]
TEXTS += [(replaced(ROBOT, *changes), expected) for *changes, expected in CHANGES]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[expected for _, expected in TEXTS])
def test_bad_texts_are_refused(text: str, expected: str) -> None:
    assert refusal(dyn_core.load_robot, text) == expected


def test_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(replaced(ROBOT, "revolute", "round"))
    with refused("joint-type-unknown") as caught:
        dyn_core.load_robot(path)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert str(error) == str(caught.value)
        assert str(error).startswith(f"{path}: joint 'j' (line 4): ")
        assert (error.file, error.element, error.line) == (str(path), "joint 'j'", 4)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b" \n", "file-empty: URDF"),
        (b"<robot>\n\xff", "file-byte-not-utf8: 255, 2"),
        ("<robot>".encode("utf-16"), "file-byte-not-utf8: 255, 1"),
        (b"\x7fELF" + bytes(9), "xml-malformed: 1, not well-formed (invalid to..."),
        (b"name: r", "xml-malformed: 1, syntax error"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "robot.urdf"
    with refused("path-or-text-unknown", path=str(path), alternative="XML text"):
        dyn_core.load_robot(str(path))
    path.write_bytes(content)
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(str(path))
    assert (caught.value.file, summary(caught.value)) == (str(path), expected)


@pytest.mark.parametrize(
    "content",
    [ROBOT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + ROBOT.encode(), ROBOT.encode() + b"\n "],
)
def test_files_of_other_formats_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "robot.urdf"
    path.write_bytes(content)
    good = dyn_core.load_robot(ROBOT)
    assert dyn_core.load_robot(path).joints == good.joints
    assert good.joint_names == dyn_core.load_robot(f"\ufeff\n <!-- c -->{ROBOT}").joint_names == ("j",)
    path.write_bytes(content.replace(b"revolute", b"round"))
    with refused("joint-type-unknown", given="round") as caught:
        dyn_core.load_robot(path)
    assert caught.value.line == 4


def test_directories_devices_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("path-is-directory", form="URDF") as caught:
        dyn_core.load_robot(tmp_path)
    assert caught.value.file == str(tmp_path)
    with refused("path-is-directory", form="YAML"):
        dyn_core.load_robot(ROBOT, loops=tmp_path)
    with refused("path-irregular", form="URDF"):
        dyn_core.load_robot("/dev/null")
    with refused("path-or-text-unknown", path="none.yaml", alternative="YAML text"):
        dyn_core.load_robot(ROBOT, loops="none.yaml")
    # A Path object is always a path, even where it looks like text.
    with refused("path-missing", path="{base: free}", form="YAML"):
        dyn_core.load_robot(ROBOT, loops=Path("{base: free}"))
    with refused("path-missing", path="none.urdf", form="URDF"):
        dyn_core.load_robot(Path("none.urdf"))
    path = tmp_path / "empty.par"
    path.touch()
    with refused("file-empty", form=".par"):
        dyn_core.load_robot(path)
    os.truncate(path, MAX_BYTES + 1)
    with refused("description-file-too-large"):
        dyn_core.load_robot(path)

    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path.write_text(ROBOT)
    monkeypatch.setattr(Path, "open", forbidden)
    with refused("file-unreadable", reason="Permission denied"):
        dyn_core.load_robot(path)


SOURCES: dict[str, tuple[object, ...]] = {
    "path-is-url": ("file:///tmp/r.urdf", "package://arm/urdf/r.urdf", "https://a.b/r.urdf"),
    "path-type": (ROBOT.encode(), b"/tmp/r.urdf", bytearray(b"<robot/>"), None, 3, ["r.urdf"]),
    "path-or-text-unknown": ("", "rx90", "a" * 5000, "\0", "/dev/null/x", "no\nfile"),
}


@pytest.mark.parametrize("code", SOURCES)
def test_an_input_that_is_neither_a_file_nor_text_is_refused(code: str) -> None:
    for source in SOURCES[code]:
        with refused(code, **({"path": source} if code == "path-is-url" else {})) as caught:
            dyn_core.load_robot(source)
        assert "\n" not in str(caught.value)


def test_other_wrong_arguments_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for gravity in ((0, 0), (0, 0, float("nan")), 9.81, ("a", "b", "c")):
        with refused("setting-range", setting="gravity"):
            dyn_core.load_robot(ROBOT, gravity=gravity)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with refused("pyyaml-missing"):
        dyn_core.load_robot(ROBOT, loops="passive: [j]")


def test_the_longest_input_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_BYTES", 8)
    assert read_stream(io.BytesIO(b"<robot/>"), "standard input") == "<robot/>"
    with refused("description-input-too-large", limit=8):
        read_stream(io.BytesIO(b"<robot />"), "standard input")
