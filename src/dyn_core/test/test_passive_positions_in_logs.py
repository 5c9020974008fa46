# SPDX-License-Identifier: Apache-2.0
"""Logs with positions of passive joints: they are compared with the loops, and not used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from loop_robots import loop_robot
from numpy.typing import NDArray

import dyn_core
from dyn_core.control.closed_motion import assembly
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.log_reading import log_of_arrays

Array = NDArray[np.float64]
T = 0.01 * np.arange(400)


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    return loop_robot("five_bar")


@pytest.fixture(scope="module")
def q(robot: dyn_core.Robot) -> Array:
    return assembly(robot) + 0.3 * np.sin(np.outer(T, [2.0, 3.1]))


@pytest.fixture(scope="module")
def passive(robot: dyn_core.Robot, q: Array) -> Array:
    found = dyn_core.compile_model(robot).solve_loops(q)
    assert isinstance(found, np.ndarray)
    return found


def findings(robot: dyn_core.Robot, q: Array, passive: Array, **mapping: object) -> dict[str, list[Finding]]:
    """What is said of each passive joint, of a log whose positions are these; efforts move with them."""
    names = (*robot.coordinate_names, *robot.passive_joint_names)
    whole = np.column_stack([q, passive])
    tau = np.where(np.isin(names, robot.coordinate_names), np.cos(whole), np.nan)
    log = log_of_arrays(names, T, whole, tau, robot=robot, mapping=mapping or None)
    assert log.joint_names == robot.coordinate_names
    np.testing.assert_allclose(log.q, q, atol=1e-12)
    return {
        name: [finding for finding in log.findings if finding.names == (name,)]
        for name in robot.passive_joint_names
    }


def test_what_agrees_is_noted(robot: dyn_core.Robot, q: Array, passive: Array) -> None:
    noise = 1e-3 * np.random.default_rng(0).normal(size=passive.shape)
    for said in findings(robot, q, passive + noise + [0.0, 2.0 * np.pi]).values():
        left_out, compared = sorted(said, key=lambda finding: "measured" in finding.message)
        assert "it is left out" in left_out.message
        assert compared.severity is Severity.NOTE
        assert "its measured position is 0.00" in compared.message


def test_what_contradicts_the_loops_is_warned_of(robot: dyn_core.Robot, q: Array, passive: Array) -> None:
    wrong = passive.copy()
    wrong[:, 1] += 0.05
    wrong[250, 1] += 0.01
    said = findings(robot, q, wrong)
    assert all(finding.severity is Severity.NOTE for finding in said["left_elbow"])
    (warning,) = [finding for finding in said["right_elbow"] if finding.severity is Severity.WARNING]
    assert warning.message.startswith(
        "its measured position is 0.05 rad (root of the mean square), and 0.06 rad at the most, at 2.5 s, "
        "from where the loops put it by the actuated joints, +0.05 rad of it all the time: "
    )


def test_samples_without_a_value_do_not_count(robot: dyn_core.Robot, q: Array, passive: Array) -> None:
    some = passive.copy()
    some[:100] = np.nan
    some[200:210, 0] = np.nan
    for said in findings(robot, q, some).values():
        assert any("its measured position is" in finding.message for finding in said)
        assert all(finding.severity is Severity.NOTE for finding in said)
    some[:] = np.nan
    assert not any("measured" in f.message for said in findings(robot, q, some).values() for f in said)


def test_units_hold_for_passive_joints_too(
    robot: dyn_core.Robot, q: Array, passive: Array, tmp_path: Path
) -> None:
    names = (*robot.coordinate_names, *robot.passive_joint_names)
    columns = [f"position.{name} [deg]" for name in names] + [
        f"effort.{name}" for name in robot.coordinate_names
    ]
    table = np.column_stack([T, np.degrees(q), np.degrees(passive), np.cos(q)])
    file = tmp_path / "log.csv"
    np.savetxt(file, table, delimiter=",", header=",".join(["time", *columns]), comments="")
    log = dyn_core.read_log(file, robot=robot)
    said = [finding for finding in log.findings if "its measured position is" in finding.message]
    assert [finding.names[0] for finding in said] == list(robot.passive_joint_names)
    assert all(finding.severity is Severity.NOTE for finding in said)
    ignoring = dyn_core.read_log(file, {"ignore": ["left_elbow"]}, robot=robot)
    assert [f.names[0] for f in ignoring.findings if "measured position" in f.message] == ["right_elbow"]


@pytest.mark.parametrize("name", ["sr400", "delta"])
def test_other_robots(name: str) -> None:
    robot = loop_robot(name)
    q = assembly(robot) + 0.1 * np.sin(np.outer(T, 1.0 + 0.3 * np.arange(robot.dof)))
    passive = dyn_core.compile_model(robot).solve_loops(q)
    assert isinstance(passive, np.ndarray)
    passive[:, 0] += 0.1
    for k, (joint, said) in enumerate(findings(robot, q, passive).items()):
        warned = any(finding.severity is Severity.WARNING for finding in said)
        compared = [finding for finding in said if "its measured position is" in finding.message]
        assert len(compared) == 1, joint
        assert warned == (k == 0), joint
