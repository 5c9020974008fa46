# SPDX-License-Identifier: Apache-2.0
"""What is said of robots, limits, boxes and starts for which there is no trajectory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from excited import QUICK, joint, limit, robot_of, two_links

import dyn_core
from dyn_core import DynError, ExcitationSettings, ForbiddenBox, excite
from dyn_core.excitation.box_file import read_boxes


def refused(robot: dyn_core.Robot, sentence: str, element: str | None = None, **settings: object) -> None:
    with pytest.raises(DynError, match=sentence) as caught:
        excite(robot, ExcitationSettings(**{**QUICK, **settings}))
    if element is not None:
        assert caught.value.element == element


def test_a_range_without_width() -> None:
    robot = robot_of(joint(1, rest=limit(0.5, 0.5)))
    refused(
        robot,
        r"^joint 'j1' cannot move: its range is 0\.5 to 0\.5 rad; give a range, or make it fixed$",
        "joint 'j1'",
    )


def test_a_follower_that_cannot_move_where_its_leader_can() -> None:
    mimic = '<mimic joint="j1" multiplier="2" offset="9"/>' + limit(-1.0, 1.0)
    robot = robot_of(joint(1, rest=limit()), joint(2, rest=mimic))
    refused(robot, r"joint 'j1' cannot move: .*'j2', which mimics it, allows -5 to -4;", "joint 'j1'")


def test_no_joint() -> None:
    robot = dyn_core.load_robot('<robot name="rock"><link name="base"/></robot>')
    refused(robot, "^robot 'rock' has no joint that moves: there is nothing to excite$")


def test_a_passive_joint() -> None:
    refused(
        two_links(loops={"passive": ["j2"]}),
        "^'j2' of robot 'chain': passive joints follow no trajectory",
        "joint 'j2'",
    )


def test_a_loop() -> None:
    loops = {
        "loops": [{"name": "ring", "type": "revolute", "parent": {"link": "l0"}, "child": {"link": "l2"}}]
    }
    refused(two_links(loops=loops), "loop", "loop 'ring'")


def test_a_start_outside_of_the_range() -> None:
    sentence = r"^joint 'j2' would stand at 1\.95 rad, and the range that is used is -1\.9 to 1\.9: give"
    refused(two_links(), sentence, "joint 'j2'", start=[0.0, 1.95])


def test_a_start_within_a_box() -> None:
    box = ForbiddenBox("table", {"j1": (0.1, 0.5), "j2": (-1.0, 1.0)})
    sentence = (
        r"^the start is within box 'table', with 'j1' at 0\.3 rad, 'j2' at 0 rad: give another start, or make"
    )
    refused(two_links(), sentence, "box 'table'", start=[0.3, 0.0], boxes=(box,))


def test_a_box_of_everything() -> None:
    box = ForbiddenBox("world", {"j1": (-2.0, 2.0), "j2": (-9.0, 9.0)})
    for start in (None, [0.0, 0.0]):
        sentence = r"^box 'world' holds all positions within the limits, as of joint 'j1' those from -1\.9 to"
        refused(two_links(), sentence, "box 'world'", boxes=(box,), start=start)


def test_boxes_that_leave_nothing_together() -> None:
    boxes = (ForbiddenBox("left", {"j1": (-9.0, 0.1)}), ForbiddenBox("right", {"j1": (0.1, 9.0)}))
    refused(
        two_links(),
        r"^of 1000 positions the robot may stand at none; .* the start is within box 'left'",
        boxes=boxes,
    )


def test_a_weight_that_cannot_be_held() -> None:
    robot = robot_of(joint(1, "prismatic", "0 0 1", limit(-1.0, 1.0, effort=20.0)))
    needed = 2.0 * 9.81 * np.cos(0.4)
    sentence = rf"joint 'j1' needs {needed:.4g} N to stand at the start, and 16 N of its limit are used"
    refused(robot, sentence, "joint 'j1'")
    refused(robot, f"^{sentence}", "joint 'j1'", start=[0.0])


def test_an_acceleration_limit_of_no_joint() -> None:
    refused(
        two_links(),
        "an acceleration limit is given for joint 'elbow', which is not one",
        accelerations={"elbow": 1.0},
    )


def test_a_start_of_no_joint() -> None:
    refused(two_links(), "a start is given for joint 'elbow', which is not one", start={"elbow": 1.0})


def test_a_start_next_to_a_box() -> None:
    """So near that the robot could not even begin to move."""
    box = ForbiddenBox("near", {"j1": (-2.0, -1e-3), "j2": (-9.0, 9.0)})
    other = ForbiddenBox("other", {"j1": (1e-3, 2.0), "j2": (-9.0, 9.0)})
    refused(
        two_links(),
        "no trajectory was found that keeps all limits from the start on",
        boxes=(box, other),
        start=[0.0, 0.0],
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"duration": 0.0}, r"duration is 0\.0: give a finite number of seconds > 0"),
        ({"duration": float("nan")}, "duration is nan"),
        ({"duration": 5.0, "blend": 2.5}, r"duration is 5 s, which two blends of 2\.5 s leave nothing of"),
        ({"blend": -1.0}, r"blend is -1\.0: give"),
        ({"position_scale": 0.0}, r"position_scale is 0\.0: give a number > 0, at most 1"),
        ({"velocity_scale": 1.5}, r"velocity_scale is 1\.5"),
        ({"acceleration_scale": float("nan")}, "acceleration_scale is nan"),
        ({"effort_scale": -0.1}, r"effort_scale is -0\.1"),
        ({"accelerations": {"j1": 0.0}}, r"the acceleration limit of joint 'j1' is 0\.0: give a number > 0"),
        ({"harmonics": 0}, "harmonics is 0: give a whole number from 1 to 20"),
        ({"harmonics": 2.5}, r"harmonics is 2\.5: give a whole number"),
        ({"periods": 41}, "periods is 41: give a whole number from 1 to 40"),
        ({"tries": True}, "tries is True: give a whole number"),
        ({"iterations": 0}, "iterations is 0"),
        ({"seed": -1}, "seed is -1: give a whole number >= 0"),
        ({"seed": 0.5}, r"seed is 0\.5"),
    ],
)
def test_settings_that_are_none(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        ExcitationSettings(**settings)


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ([0.0], r"start: expected 2 positions, one for each joint, but it has the shape \(1,\)"),
        ([0.0, np.nan], "start: the position of joint 'j2' is nan: give a finite number"),
    ],
)
def test_starts_that_are_none(start: list[float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        excite(two_links(), ExcitationSettings(start=start))


@pytest.mark.parametrize(
    ("ranges", "sentence"),
    [
        ({}, "box 'b' names no joint: give a range for at least one"),
        (
            {"j1": (1.0, 0.0)},
            "box 'b', joint 'j1': the range is 1 to 0: give two finite numbers, the lesser one first",
        ),
        ({"j1": (0.0, np.inf)}, "box 'b', joint 'j1': the range is 0 to inf"),
    ],
)
def test_boxes_that_are_none(ranges: dict[str, tuple[float, float]], sentence: str) -> None:
    with pytest.raises(DynError, match=sentence):
        ForbiddenBox("b", ranges)


def test_a_box_of_no_joint_of_the_robot() -> None:
    box = ForbiddenBox("b", {"elbow": (0.0, 1.0)})
    refused(
        two_links(),
        r"^box 'b' names joint 'elbow', which robot 'chain' does not have: its joints are 'j1', 'j2'$",
        boxes=(box,),
    )


def test_boxes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "boxes.yaml"
    path.write_text(
        "boxes:\n  - name: table\n    joints: {j1: [0.1, 2], j2: [-1.0, 0]}\n  - joints: {on: [0, 1e-1]}\n"
    )
    table, other = read_boxes(path)
    assert table == ForbiddenBox("table", {"j1": (0.1, 2.0), "j2": (-1.0, 0.0)})
    assert other == ForbiddenBox("boxes[1]", {"on": (0.0, 0.1)})
    assert read_boxes({"boxes": [{"name": "a", "joints": {"j1": [0, 1]}}]}) == (
        ForbiddenBox("a", {"j1": (0.0, 1.0)}),
    )
    assert read_boxes([{"name": "a", "joints": {"j1": [0, 1]}}]) == (ForbiddenBox("a", {"j1": (0.0, 1.0)}),)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty"),
        ("{}", "there is no entry 'boxes': give a list of boxes there"),
        ("box: []", r"the file \(line 1\): it has no entry 'box': use 'boxes'"),
        ("boxes: 3", r"boxes \(line 1\): it must be a list"),
        ("boxes:\n- name: a", r"box 'a' \(line 2\): it has no joints: give ranges as in"),
        (
            "boxes:\n- name: a\n  joints: {j1: [1]}",
            r"box 'a', joint 'j1' \(line 3\): it has 1 numbers: give the least",
        ),
        (
            "boxes:\n- name: a\n  joints: {j1: [1, x]}",
            r"box 'a', joint 'j1' \(line 3\): it is 'x': write a finite number",
        ),
        ("boxes:\n- name: a\n  joints: {j1: [1, 0]}", "box 'a', joint 'j1': the range is 1 to 0"),
        (
            "boxes:\n- {name: a, joints: {j1: [0, 1]}}\n- {name: a, joints: {j1: [0, 1]}}",
            "two boxes are named 'a'",
        ),
        ("boxes: [", "malformed YAML in line 1"),
    ],
)
def test_files_that_hold_no_boxes(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "boxes.yaml"
    path.write_text(text)
    with pytest.raises(DynError, match=f"boxes.yaml: {sentence}"):
        read_boxes(path)


def test_no_file_of_boxes(tmp_path: Path) -> None:
    with pytest.raises(DynError, match="no such file"):
        read_boxes(tmp_path / "boxes.yaml")
