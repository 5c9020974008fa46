# SPDX-License-Identifier: Apache-2.0
"""All functions of every robot of example-robot-data, and of our own, agree with Pinocchio.

`make exact` makes the same comparison, and compiles, in an environment that has the package. Every
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

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
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
    if path.name in EMPTY:
        with pytest.raises(dyn_core.DynError, match="the robot has no link"):
            dyn_core.load_robot(path)
        return
    found = all_findings(path, compile_all=False)
    assert [finding for finding in found if finding.missed] == []
    assert path.name in ILL_CONDITIONED or [finding for finding in found if finding.excused] == []


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES or [Path()], ids=lambda path: path.name)
def test_what_is_suspicious_is_a_list_that_can_be_read(path: Path) -> None:
    findings = dyn_core.check_robot(path)
    assert len(findings) <= 20
    assert len({(finding.kind, finding.names, finding.message) for finding in findings}) == len(findings)


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch", "sdt", "high_speed_machine"])
def test_our_robots(name: str) -> None:
    found = all_findings(ROBOTS / f"{name}.urdf", compile_all=True)
    assert [finding for finding in found if finding.missed] == []
    functions = {finding.function for finding in found if finding.against == "pinocchio"}
    assert functions == {
        *("inverse_dynamics", "bias_torques", "gravity_torques", "inertia_matrix", "regressor"),
        *("forward_dynamics", "torques back", "unresisted joints", "forward_kinematics", "jacobian"),
    }
    assert {finding.against for finding in found} == {"pinocchio", "c", "floats"}
    assert [finding for finding in found if finding.excused] == []


@pytest.mark.parametrize(
    ("parameter", "value", "missed"),
    [
        (
            "M",
            1e-7,
            {"inverse_dynamics", "bias_torques", "inertia_matrix", "forward_dynamics", "torques back"},
        ),
        ("ZZ", 1e-7, {"inverse_dynamics", "inertia_matrix", "forward_dynamics", "torques back"}),
    ],
)
def test_another_robot_is_found_out(parameter: str, value: float, missed: set[str]) -> None:
    """A ten-millionth more mass, or inertia, of one body."""
    path = ROBOTS / "rx90.urdf"
    robot = dyn_core.load_robot(path, snap=0)
    body = robot.bodies[4]
    heavier = replace(body, **{parameter: getattr(body, parameter) + value})
    other = replace(robot, bodies=(*robot.bodies[:4], heavier, *robot.bodies[5:]))
    found = findings(path.read_text(), other, 5, lambda _: False)
    assert {finding.function for finding in found if finding.missed} >= missed


def test_what_is_not_a_number_is_missed() -> None:
    assert Finding("f", "c", np.nan, 1.0).missed
    assert not Finding("f", "c", 1.0, 1.0).missed


def test_what_conditioning_excuses_is_said() -> None:
    for against, bar in (("pinocchio", 1e-9), ("c", 1e-12), ("floats", 1e-12)):
        assert not Finding("f", against, bar, 1e-7).excused
        assert Finding("f", against, 1.1 * bar, 1e-7).excused
        assert not Finding("f", against, 1e-6, 1e-7).excused
