# SPDX-License-Identifier: Apache-2.0
"""``dyn info``: the report of a robot, against its XML and placements at random positions."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from commands import Command
from robots import ROBOTS

import dyn_core
from dyn_core.core.messages import sentence
from dyn_core.robot.joints import position_range
from dyn_core.robot.mdh.direct_geometry import link_placements
from dyn_core.robot.robot import Robot

TREES = ("rrp", "rx90", "two_branch", "planar_base")
FINGERS = """<robot name="gripper"><link name="palm"><inertial><mass value="2"/></inertial></link>
<link name="left"><inertial><mass value="0.5"/></inertial></link><link name="right"/><link name="pad"/>
<joint name="open" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 2 0"/>
  <limit lower="0" upper="0.04" effort="20" velocity="0.1"/></joint>
<joint name="other" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 -1 0"/>
  <limit lower="0" upper="0.04" effort="20" velocity="0.1"/>
  <mimic joint="open" multiplier="2" offset="0.01"/></joint>
<joint name="turn" type="continuous"><parent link="left"/><child link="pad"/><origin xyz="0 0.1 0"/></joint>
</robot>"""


def example(name: str) -> Robot:
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf")


@pytest.mark.parametrize("name", TREES)
def test_masses_limits_and_axes_are_those_of_the_xml(name: str) -> None:
    report = dyn_core.robot_report(example(name))
    root = ElementTree.parse(ROBOTS / f"{name}.urdf").getroot()
    masses = [float(mass.get("value", "nan")) for mass in root.iterfind("link/inertial/mass")]
    assert report.mass == pytest.approx(math.fsum(masses))
    assert report.mass - report.moving_mass == pytest.approx(report.links[0].mass or 0.0)
    elements = {element.get("name"): element for element in root.iterfind("joint")}
    simple = [joint for joint in report.joints if joint.name in elements]
    assert len(simple) >= 3
    for joint in simple:
        element = elements[joint.name]
        axis, limit, child = element.find("axis"), element.find("limit"), element.find("child")
        assert child is not None
        assert joint.child == child.get("link")
        assert joint.type == element.get("type")
        numbers = np.array([1.0, 0.0, 0.0] if axis is None else axis.get("xyz", "").split(), dtype=float)
        np.testing.assert_allclose(joint.axis, numbers / np.linalg.norm(numbers), atol=1e-12)
        for attribute in ("lower", "upper", "velocity", "effort"):
            given = None if limit is None else limit.get(attribute)
            if joint.type != "continuous" or attribute in ("velocity", "effort"):
                assert getattr(joint.limits, attribute) == (None if given is None else float(given))


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_no_position_within_the_limits_is_beyond_the_reach(name: str) -> None:
    robot, numbers = example(name), np.random.default_rng(3)
    found = dyn_core.robot_report(robot).reach
    assert found.joint == robot.joints[0].name
    assert not found.is_bound
    ranges = [position_range(joint.limits) for joint in robot.joints]
    lower, upper = np.clip(np.array(ranges), -math.pi, math.pi).T
    first = link_placements(robot, [0.0] * robot.dof)[robot.child_links[0].name].p
    moved = [frame.name for frame in robot.link_frames if frame.body]
    placements = (
        link_placements(robot, q) for q in numbers.uniform(lower, upper, (2000, robot.dof)).tolist()
    )
    farthest = max(np.linalg.norm(np.subtract(T[link].p, first)) for T in placements for link in moved)
    assert 0.9 * found.distance < farthest <= found.distance + 1e-9


def test_the_reach_of_known_robots() -> None:
    rx90 = dyn_core.robot_report(example("rx90")).reach
    assert (rx90.distance, rx90.link) == (pytest.approx(0.45 + 0.45 + 0.085), "tool0")
    # Two links of 1 m and an elbow that stays bent by a right angle or more: the law of cosines.
    bent = dyn_core.load_robot(planar_arm(math.pi / 2))
    assert dyn_core.robot_report(bent).reach.distance == pytest.approx(math.sqrt(2.0))
    assert dyn_core.robot_report(dyn_core.load_robot(planar_arm(-0.5))).reach.distance == pytest.approx(2.0)
    nothing = dyn_core.load_robot('<robot name="r"><link name="a"/></robot>')
    assert dyn_core.robot_report(nothing).reach == dyn_core.Reach(0.0, None, "a", False)
    side = ROBOTS / "palletizer.yaml"
    assert dyn_core.robot_report(dyn_core.load_robot(ROBOTS / "palletizer.urdf", side)).reach.is_bound


def planar_arm(least: float) -> str:
    """Return two links of 1 m; the elbow turns from `least` to 3 rad."""
    joint = '<parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/><origin xyz="{} 0 0"/>'
    return (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="tip"/>'
        f'<joint name="j" type="continuous">{joint.format("a", "b", 5)}</joint>'
        f'<joint name="k" type="revolute">{joint.format("b", "c", 1)}'
        f'<limit lower="{least}" upper="3" effort="1" velocity="1"/></joint>'
        f'<joint name="end" type="fixed">{joint.format("c", "tip", 1)}</joint></robot>'
    )


def test_mimicked_and_locked_joints(dyn: Command, tmp_path: Path) -> None:
    path = dyn.write("gripper.urdf", FINGERS)
    data = dyn.json("info", path)
    joints = {joint["name"]: joint for joint in data["joints"]}
    assert (data["dof"], data["mass"], data["moving_mass"]) == (2, 2.5, 0.5)
    assert [joints[name]["index"] for name in ("open", "other", "turn")] == [0, None, 1]
    assert joints["open"]["axis"] == [0.0, 1.0, 0.0]
    followed = {name: joints["other"][name] for name in ("role", "follows", "multiplier", "offset")}
    assert followed == {"role": "mimic", "follows": "open", "multiplier": 2.0, "offset": 0.01}
    assert "other = 2 open +0.01" in dyn("info", path).out.splitlines()
    locked = dyn.json("info", path, "--lock", "open=0.02")
    assert locked["locked"] == {"open": 0.02, "other": pytest.approx(0.05)}
    assert (locked["dof"], [joint["name"] for joint in locked["joints"]]) == (1, ["turn"])
    pad = next(link for link in locked["links"] if link["name"] == "left")
    assert (pad["joint"], pad["fixed_to"]) == (None, "palm")


def installed(folder: Path, *names: str) -> Path:
    """Return a prefix in which these robots of `config/robots` are installed."""
    robots = folder / "prefix" / "share" / "dyn_nodes" / "config" / "robots"
    robots.mkdir(parents=True)
    for name in names:
        (robots / name).write_text((ROBOTS / name).read_text())
    return folder / "prefix"


def test_robots_by_name(dyn: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    prefix = installed(tmp_path, "rrp.urdf", "five_bar.urdf", "five_bar.yaml")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'empty'}:{prefix}")
    assert dyn("mdh", "rrp") == dyn("mdh", str(ROBOTS / "rrp.urdf"))
    assert dyn.json("info", "five_bar")["loops"]
    dyn.refused("mdh", "five", code="robot-unknown", robot="five", known="five_bar, rrp")
    dyn.refused("mdh", "five.urdf", code="path-or-text-unknown")
    (tmp_path / "rrp").write_text((ROBOTS / "rx90.urdf").read_text())
    assert dyn.json("mdh", "rrp")["robot"] == "rx90"  # a file of that name goes before an installed robot
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    dyn.refused("mdh", "five", code="path-or-text-unknown")


def test_the_side_file_beside_a_description(dyn: Command, tmp_path: Path) -> None:
    path = dyn.write("five_bar.urdf", (ROBOTS / "five_bar.urdf").read_text())
    side = str(ROBOTS / "five_bar.yaml")
    alone = dyn("mdh", path)
    assert alone.err == ""
    beside = dyn.write("five_bar.yaml", (ROBOTS / "five_bar.yaml").read_text())
    found = dyn("mdh", path)
    assert found.out == dyn("mdh", path, "--side-file", side).out != alone.out
    assert found.err == f"dyn: note: {sentence('side-file-beside', {'path': beside})}\n"
    assert tuple(dyn("mdh", path, "--side-file", "none")) == tuple(alone)
    dyn.write("five_bar.yaml", "controller_manager: {ros__parameters: {update_rate: 500}}\n")
    assert tuple(dyn("mdh", path)) == tuple(alone)
    wrong = dyn.write("five_bar.yaml", "passive: [nowhere]\n")
    error = dyn.json("mdh", path, code=1)["error"]
    assert (error["code"], error["file"]) == ("side-file-joint-unknown", wrong)


def test_xacro_is_expanded(dyn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = dyn.write("five_bar.urdf.xacro", "<robot/>")
    side = Path(dyn.write("five_bar.yaml", (ROBOTS / "five_bar.yaml").read_text()))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dyn.json("info", path, code=1)["error"]["code"] == "xacro-missing"
    program = tmp_path / "xacro"
    program.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done < {ROBOTS / "five_bar.urdf"}\n')
    program.chmod(0o755)
    data = dyn.json("info", path)
    assert (data["robot"], len(data["loops"])) == ("five_bar", 1)
    side.unlink()
    program.write_text("#!/bin/sh\necho no such property >&2; exit 2\n")
    dyn.refused("info", path, code="xacro-failed", reason="no such property", file=path)
    program.write_text("#!/bin/sh\necho '<robot name=\"r\"/>'\n")
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(path)
    assert caught.value.file == path


def test_loops_and_bases(dyn: Command) -> None:
    files = [str(ROBOTS / f"palletizer.{ending}") for ending in ("urdf", "yaml")]
    data = dyn.json("info", files[0], "--side-file", files[1])
    assert {loop["name"] for loop in data["loops"]} == {"rod_head", "lower_level_head", "upper_level_head"}
    actuated = [joint["name"] for joint in data["joints"] if joint["role"] == "actuated"]
    assert actuated == ["axis_1", "axis_2", "axis_4", "axis_3"]
    assert dyn.json("info", str(ROBOTS / "planar_base.urdf"))["base"]["kind"] == "planar"
    head, *_ = dyn("info", str(ROBOTS / "rx90.urdf")).out.splitlines()
    assert head == "rx90: 6 degrees of freedom, fixed base"
