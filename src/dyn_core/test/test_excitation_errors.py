# SPDX-License-Identifier: Apache-2.0
"""Errors for robots, limits, boxes and starts for which no trajectory exists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from excitation_robots import QUICK, joint, limit, robot_of, two_links
from refusals import refusal, refused, rows, summary

import dyn_core
from dyn_core import DynError, ExcitationSettings, ForbiddenBox, excite
from dyn_core.excitation.excitation_settings import read_boxes

MIMIC = '<mimic joint="j1" multiplier="2" offset="9"/>' + limit(-1.0, 1.0)
ENDS = {"parent": {"link": "l0"}, "child": {"link": "l2"}}
WEIGHT = joint(1, "prismatic", "0 0 1", limit(-1.0, 1.0, effort=20.0))
TABLE = ForbiddenBox("table", {"j1": (0.1, 0.5), "j2": (-1.0, 1.0)})
WORLD = ForbiddenBox("world", {"j1": (-2.0, 2.0), "j2": (-9.0, 9.0)})
HALVES = ForbiddenBox("left", {"j1": (-9.0, 0.1)}), ForbiddenBox("right", {"j1": (0.1, 9.0)})
# So close to the start that the robot could not begin to move
NEAR = tuple(ForbiddenBox("near", {"j1": j1, "j2": (-9.0, 9.0)}) for j1 in ((-2.0, -1e-3), (1e-3, 2.0)))
TWO = two_links()
CASES = [
    (robot_of(joint(1, rest=limit(0.5, 0.5))), {}, "joint 'j1'"),
    (dyn_core.load_robot('<robot name="rock"><link name="base"/></robot>'), {}, None),
    (two_links(loops={"passive": ["j2"]}), {}, "joint 'j2'"),
    (two_links(loops={"loops": [{"name": "ring", "type": "revolute", **ENDS}]}), {}, "loop 'ring'"),
    (TWO, {"start": [0.0, 1.95]}, "joint 'j2'"),
    (TWO, {"start": [0.3, 0.0], "boxes": (TABLE,)}, "box 'table'"),
    (TWO, {"boxes": (WORLD,)}, "box 'world'"),
    (TWO, {"boxes": (WORLD,), "start": [0.0, 0.0]}, "box 'world'"),
    (TWO, {"boxes": HALVES}, "box 'left'"),
    (TWO, {"boxes": NEAR, "start": [0.0, 0.0]}, None),
    (TWO, {"accelerations": {"elbow": 1.0}}, "joint 'elbow'"),
    (TWO, {"start": {"elbow": 1.0}}, "joint 'elbow'"),
    (TWO, {"boxes": (ForbiddenBox("b", {"elbow": (0.0, 1.0)}),)}, "box 'b'"),
]
EXPECTED = """
joint-range-closed: j1, its range is 0.5 to 0.5 rad
robot-without-moving-joint: excite, rock
passive-joints-unsupported: [j2], trajectory, chain
loops-open-at-zero: , loop-opening, chain, loop-opening
start-out-of-range: j2, -1.9, 1.95, rad, 1.9
start-in-box: table, 'j1' at 0.3 rad, 'j2' at 0 rad
box-covers-range: world, j1, -1.9, rad, 1.9
box-covers-range: world, j1, -1.9, rad, 1.9
rest-position-not-found: start-in-box, 1000
trajectory-not-found
setting-joint-dependent: elbow, [j1, j2], an acceleration limit
setting-joint-dependent: elbow, [j1, j2], a start
box-joint-unknown: b, elbow, [j1, j2], chain
""".strip().splitlines()


@pytest.mark.parametrize(("case", "expected"), zip(CASES, EXPECTED, strict=True), ids=EXPECTED)
def test_no_trajectory_exists(case: tuple[Any, ...], expected: str) -> None:
    robot, settings, element = case
    with pytest.raises(DynError) as caught:
        excite(robot, ExcitationSettings(**QUICK, **settings))
    assert (summary(caught.value), caught.value.element) == (expected, element)


def test_a_follower_that_blocks_its_leader_is_refused() -> None:
    with refused("joint-range-closed", joint="j1") as caught:
        excite(robot_of(joint(1, rest=limit()), joint(2, rest=MIMIC)), ExcitationSettings(**QUICK))
    assert "'j2'" in caught.value.values["ranges"]
    assert caught.value.values["ranges"].endswith(" -5 to -4")


@pytest.mark.parametrize("start", [None, [0.0]])
def test_a_weight_above_the_effort_limit_is_refused(start: list[float] | None) -> None:
    """2 kg * 9.81 m/s^2 * cos(0.4) = 18.07 N, above 80 % of 20 N."""
    with pytest.raises(DynError) as caught:
        excite(robot_of(WEIGHT), ExcitationSettings(start=start, **QUICK))
    assert caught.value.element == "joint 'j1'"
    assert (caught.value.code == "rest-position-not-found") == (start is None)
    error = caught.value if start else caught.value.values["cause"]
    assert summary(error) == "start-effort-exceeded: j1, 16, 18.07, N"


RATIO, COUNT = "setting-range: a number > 0, at most 1", "setting-range: a whole number from 1 to 10..."
TIME, SEED = "setting-range: a finite number of seconds > 0", "setting-range: a whole number >= 0"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"duration": 0.0}, f"{TIME}, 0, duration"),
        ({"duration": float("nan")}, f"{TIME}, nan, duration"),
        ({"blend": -1.0}, f"{TIME}, -1, blend"),
        ({"duration": 5.0, "blend": 2.5}, "duration-too-short: 2.5, 5"),
        ({"position_scale": 0.0}, f"{RATIO}, 0, position_scale"),
        ({"velocity_scale": 1.5}, f"{RATIO}, 1.5, velocity_scale"),
        ({"acceleration_scale": float("nan")}, f"{RATIO}, nan, acceleration_scale"),
        ({"effort_scale": -0.1}, f"{RATIO}, -0.1, effort_scale"),
        ({"accelerations": {"j1": 0.0}}, "joint-setting-range: a number > 0, 0, j1, the acceleration limit"),
        ({"harmonics": 0}, "setting-range: a whole number from 1 to 20, 0, harmonics"),
        ({"harmonics": 2.5}, "setting-range: a whole number from 1 to 20, 2.5, harmonics"),
        ({"periods": 41}, "setting-range: a whole number from 1 to 40, 41, periods"),
        ({"tries": True}, f"{COUNT}, True, tries"),
        ({"iterations": 0}, f"{COUNT}, 0, iterations"),
        ({"seed": -1}, f"{SEED}, -1, seed"),
        ({"seed": 0.5}, f"{SEED}, 0.5, seed"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], expected: str) -> None:
    assert refusal(ExcitationSettings, **settings) == expected


def test_invalid_starts_and_boxes() -> None:
    for start, expected in (([0.0], "start-shape: 2, [1]"), ([0.0, np.nan], "start-not-finite: nan, j2")):
        assert refusal(excite, TWO, ExcitationSettings(start=start)) == expected
    assert refusal(ForbiddenBox, "b", {}) == "box-without-joints: b"
    for upper, least, expected in ((0.0, 1.0, "1, 0"), (np.inf, 0.0, "0, inf")):
        assert refusal(ForbiddenBox, "b", {"j1": (least, upper)}) == f"box-range-invalid: b, j1, {expected}"


def test_boxes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "boxes.yaml"
    with refused("path-missing", path=str(path)):
        read_boxes(path)
    path.write_text(
        "boxes:\n  - name: table\n    joints: {j1: [0.1, 2], j2: [-1.0, 0]}\n  - joints: {on: [0, 1e-1]}\n"
    )
    table = ForbiddenBox("table", {"j1": (0.1, 2.0), "j2": (-1.0, 0.0)})
    assert read_boxes(path) == (table, ForbiddenBox("boxes[1]", {"on": (0.0, 0.1)}))
    boxes = [{"name": "a", "joints": {"j1": [0, 1]}}]
    assert read_boxes({"boxes": boxes}) == read_boxes(boxes) == (ForbiddenBox("a", {"j1": (0.0, 1.0)}),)


FILES = rows(
    r"""
- => file-empty: YAML
{} => entry-missing: boxes, a list of boxes
box: [] => entry-unknown at the file (line 1): box, [boxes]
boxes: 3 => node-not-list at boxes (line 1)
boxes:\n- name: a => box-joints-missing at box 'a' (line 2)
boxes:\n- name: a\n  joints: {j1: [1]} => box-range-count at box 'a', joint 'j1' (line 3): 1
boxes:\n- name: a\n  joints: {j1: [1, x]} =>
    node-not-finite at box 'a', joint 'j1' (line 3): a finite number, x
boxes:\n- name: a\n  joints: {j1: [1, 0]} => box-range-invalid: a, j1, 1, 0
boxes:\n- {name: a, joints: {j1: [0, 1]}}\n- {name: a, joints: {j1: [0, 1]}} => box-name-repeated: a
boxes: [ => yaml-malformed-in-line: 1, expected the node content, ...
"""
)


@pytest.mark.parametrize(("text", "expected"), FILES, ids=[expected for _, expected in FILES])
def test_files_without_usable_boxes(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "boxes.yaml"
    path.write_text(text)
    with pytest.raises(DynError) as caught:
        read_boxes(path)
    assert (summary(caught.value), caught.value.file) == (expected, str(path))
