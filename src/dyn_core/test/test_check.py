# SPDX-License-Identifier: Apache-2.0
"""What is checked, and how findings are told: forms of files, order, mistakes in files, warnings, time."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path

import pytest
from checked_robot import CLEAN, ELBOW, NO_ROTORS, SHOULDER, SLIDE, SLIDER, UPPER, isotropic, mimic, spoilt
from random_urdf import random_urdf

import dyn_core
from dyn_core import Severity, check_robot


def test_par_files_are_checked_as_far_as_they_go() -> None:
    start = "(* x *) NL = 1 ant = {0} sigma = {0} theta = {t1} G = {0, 9.81, 0} "
    messages = [str(f) for f in check_robot(start + "M = {1} MX = {0.1} XX = {0.02} YY = {0.03} ZZ = {0.1}")]
    assert any(
        re.search("warning: link 'link_1': no body has such an inertia", message) for message in messages
    )
    messages = [str(f) for f in check_robot(start + "MX = {0.1} ZZ = {0.1}")]
    assert any("note: link 'link_1': first moments without a mass" in message for message in messages)
    assert not any("inertia without a mass" in message for message in messages)
    (found,) = (f for f in check_robot(start + "M = {1} ZZ = {0.1} W0 = {1, 0, 0}") if "state" in f.message)
    assert found.severity is Severity.WARNING


def test_a_robot_is_checked_by_what_it_holds() -> None:
    robot = dyn_core.load_robot(CLEAN)
    assert check_robot(robot) == ()
    weak = dyn_core.load_robot(spoilt((SHOULDER, SHOULDER.replace("60", "2"))))
    (found,) = check_robot(weak)
    assert (found.names, found.line) == (("shoulder",), None)
    with pytest.raises(ValueError, match="a Robot is already loaded: give them to load_robot"):
        check_robot(robot, gravity=(0, 0, 0))


def test_findings_are_sorted_by_severity_then_in_tree_order() -> None:
    text = spoilt(
        (SLIDE, SLIDE.replace('"0.2"', '"0"')),
        (SHOULDER, SHOULDER.replace('"3"', '"0"')),
        (ELBOW, ELBOW.replace("-2.5", "0.1")),
        (UPPER, isotropic("0.1")),
        (SLIDER, isotropic("0.5e-7")),
        *NO_ROTORS,
    )
    assert [(f.severity, f.kind, f.names) for f in check_robot(text)] == [
        (Severity.WARNING, "joint", ("shoulder", "slide")),
        (Severity.WARNING, "link", ("slider",)),
        (Severity.NOTE, "robot", ()),
        (Severity.NOTE, "link", ("upper",)),
        (Severity.NOTE, "joint", ("elbow",)),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere.urdf", "error: robot: no such file: 'nowhere.urdf'"),
        ("<robot><link</robot>", "error: robot: malformed XML in line 1"),
        ("<robot name='r'/>", "error: robot: the robot has no link: add at least one <link>"),
        (
            spoilt((ELBOW, ELBOW.replace("-2.5", "3"))),
            "error: joint 'elbow' (line 16): <limit>: lower=3 is greater than upper=2.5",
        ),
        (
            spoilt(('<mass value="4"/>', '<mass value="-4"/>')),
            "error: link 'upper' (line 3): <mass>: the mass is -4",
        ),
    ],
)
def test_a_robot_that_cannot_be_read_is_one_finding(source: str, expected: str) -> None:
    (found,) = check_robot(source)
    assert str(found).startswith(expected)


def test_mistakes_in_other_files_name_the_file(tmp_path: Path) -> None:
    side = tmp_path / "side.yaml"
    side.write_text("passive: [nobody]")
    (found,) = check_robot(CLEAN, loops=side)
    assert str(found).startswith(f"error: side file: {side}: passive: the robot has no moving joint 'nobody'")
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(spoilt((ELBOW, ELBOW.replace("-2.5", "3"))))
    (found,) = check_robot(urdf)
    assert found.element == "joint 'elbow'"


def test_every_warning_of_load_robot_is_a_finding_once() -> None:
    text = spoilt(
        ('name="clean"', ""),
        (UPPER, 'ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.1"'),
        mimic(joint="nobody"),
        (f"<inertia {SLIDER}/>", ""),
    )
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.load_robot(text)
    assert len(caught) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [str(finding) for finding in check_robot(text) if finding.severity is Severity.WARNING]
    for words in (
        "it has no name",
        "no body has such an inertia",
        "it has no <inertia>",
        "which is no joint",
    ):
        assert len([message for message in found if words in message]) == 1, found


def test_thirty_joints_take_less_than_three_seconds() -> None:
    text = random_urdf(3, 45, massless_leaves=False).replace('type="fixed"', 'type="revolute"')
    assert dyn_core.load_robot(text).dof == 45
    start = time.process_time()
    check_robot(text)
    assert time.process_time() - start < 3.0


def test_the_parts_of_planar_and_floating_joints_are_not_blamed_for_their_names() -> None:
    body = (
        '<inertial><mass value="1"/><inertia ixx=".1" iyy=".2" izz=".2" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{body}</link>' for name in "abc")
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{axis}</joint>'
        for name, kind, parent, child, axis in (
            ("plane", "planar", "a", "b", '<axis xyz="0 0 1"/>'),
            ("space", "floating", "b", "c", ""),
        )
    )
    said = [str(finding) for finding in check_robot(f'<robot name="r">{links}{joints}</robot>')]
    assert not [line for line in said if "other characters" in line or "no <axis>" in line]
