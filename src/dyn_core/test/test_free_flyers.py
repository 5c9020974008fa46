# SPDX-License-Identifier: Apache-2.0
"""Robots of example-robot-data on a free base agree with Pinocchio; `make exact` looks at all of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from example_robots import descriptions
from free_flyer_agreement import free_flyer_findings

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
FLYERS = [path for path in descriptions() if path.name in ("solo12.urdf", "anymal.urdf", "a1.urdf")]


@pytest.mark.parametrize("path", [*FLYERS, ROBOTS / "two_branch.urdf"], ids=lambda path: path.name)
def test_on_a_free_base(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(path, snap=0, mimic=False)
    found = list(free_flyer_findings(path.read_text(encoding="utf-8"), robot, 20))
    assert len(found) == 4
    assert [finding for finding in found if finding.missed or finding.excused] == []


def test_a_body_without_joints_flies_too() -> None:
    text = (
        '<robot name="drone"><link name="body"><inertial><origin xyz="0.1 0 0.02"/><mass value="2"/>'
        '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link></robot>'
    )
    found = list(free_flyer_findings(text, dyn_core.load_robot(text, snap=0), 20))
    assert [finding for finding in found if finding.missed] == []
