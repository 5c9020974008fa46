# SPDX-License-Identifier: Apache-2.0
"""All functions of every robot of example-robot-data and of config/robots agree with Pinocchio.

`make exact` makes the same comparison with compiled programs, in an environment that has the package. Every
robot is checked by `check_robot`, too.
robot is checked, too.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import Finding, findings
from example_robots import EMPTY, ILL_CONDITIONED, descriptions
from moving_base_cases import free_flyer_findings
from refusals import refused
from robots import ROBOTS, example

import dyn_core

FILES = descriptions()
SAMPLES = 50


def all_findings(path: Path, compile_all: bool) -> list[Finding]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(path, snap=0)
    return list(findings(path.read_text(encoding="utf-8"), robot, SAMPLES, lambda _: compile_all))


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES or [Path()], ids=lambda path: path.name)
def test_example_robots(path: Path) -> None:
    suspicious = dyn_core.check_robot(path)
    assert len(suspicious) <= 20
    assert len({(one.kind, one.names, one.message) for one in suspicious}) == len(suspicious)
    if path.name in EMPTY:
        with refused("robot-without-links"):
            dyn_core.load_robot(path)
        return
    found = all_findings(path, compile_all=False)
    assert [finding for finding in found if finding.missed] == []
    assert path.name in ILL_CONDITIONED or [finding for finding in found if finding.excused] == []


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch", "sdt", "high_speed_machine"])
def test_our_robots(name: str) -> None:
    found = all_findings(ROBOTS / f"{name}.urdf", compile_all=True)
    assert [finding for finding in found if finding.missed or finding.excused] == []
    assert {finding.function for finding in found if finding.against == "pinocchio"} == {
        *("inverse_dynamics", "bias_torques", "gravity_torques", "inertia_matrix", "regressor"),
        *("forward_dynamics", "torques back", "unresisted joints", "forward_kinematics", "jacobian"),
    }
    assert {finding.against for finding in found} == {"pinocchio", "c", "floats"}


ACCELERATED = {"inverse_dynamics", "inertia_matrix", "forward_dynamics", "torques back"}


@pytest.mark.parametrize(
    ("parameter", "missed"), [("M", {*ACCELERATED, "bias_torques"}), ("ZZ", ACCELERATED)]
)
def test_a_small_change_of_the_robot_is_detected(parameter: str, missed: set[str]) -> None:
    """1e-7 more mass or inertia of one body."""
    robot = example("rx90", snap=0)
    body = robot.bodies[4]
    heavier = replace(body, **{parameter: getattr(body, parameter) + 1e-7})
    other = replace(robot, bodies=(*robot.bodies[:4], heavier, *robot.bodies[5:]))
    found = findings((ROBOTS / "rx90.urdf").read_text(), other, 5, lambda _: False)
    assert {finding.function for finding in found if finding.missed} >= missed


def test_a_missed_bar_and_an_error_excused_by_conditioning() -> None:
    assert Finding("f", "c", np.nan, 1.0).missed
    assert not Finding("f", "c", 1.0, 1.0).missed
    for against, bar in (("pinocchio", 1e-9), ("c", 1e-12), ("floats", 1e-12)):
        assert not Finding("f", against, bar, 1e-7).excused
        assert Finding("f", against, 1.1 * bar, 1e-7).excused
        assert not Finding("f", against, 1e-6, 1e-7).excused


# Robots of example-robot-data on a free base agree with Pinocchio; `make exact` compares all of them.
FLYERS = [path for path in FILES if path.name in ("solo12.urdf", "anymal.urdf", "a1.urdf")]


@pytest.mark.parametrize("path", [*FLYERS, ROBOTS / "two_branch.urdf"], ids=lambda path: path.name)
def test_on_a_free_base(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(path, snap=0, mimic=False)
    found = list(free_flyer_findings(path.read_text(encoding="utf-8"), robot, 20))
    assert len(found) == 4
    assert [finding for finding in found if finding.missed or finding.excused] == []


def test_a_body_without_joints_agrees_on_a_free_base() -> None:
    text = (
        '<robot name="drone"><link name="body"><inertial><origin xyz="0.1 0 0.02"/><mass value="2"/>'
        '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link></robot>'
    )
    found = list(free_flyer_findings(text, dyn_core.load_robot(text, snap=0), 20))
    assert [finding for finding in found if finding.missed] == []
