# SPDX-License-Identifier: Apache-2.0
"""Positions of passive joints in logs are compared with the loops, but not used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from log_case import codes
from numpy.typing import NDArray
from robots import loop_robot

import dyn_core
from dyn_core.control.trajectories.fourier_motion import assembly
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.log_reading import log_of_arrays

Array = NDArray[np.float64]
T = 0.01 * np.arange(400)


Case = tuple[dyn_core.Robot, Array, Array]


@pytest.fixture(scope="module")
def case() -> Case:
    """A robot, its positions, and those of its passive joints."""
    return moved("five_bar", 0.3 * np.sin(np.outer(T, [2.0, 3.1])))


def moved(name: str, by: Array) -> Case:
    robot = loop_robot(name)
    q = assembly(robot) + by
    passive = dyn_core.compile_model(robot).solve_loops(q)
    assert isinstance(passive, np.ndarray)
    return robot, q, passive


def findings(robot: dyn_core.Robot, q: Array, passive: Array) -> dict[str, list[Finding]]:
    """Return the findings about each passive joint of a log with these positions and moving efforts."""
    names = (*robot.coordinate_names, *robot.passive_joint_names)
    whole = np.column_stack([q, passive])
    tau = np.where(np.isin(names, robot.coordinate_names), np.cos(whole), np.nan)
    log = log_of_arrays(names, T, whole, tau, robot=robot)
    assert log.joint_names == robot.coordinate_names
    np.testing.assert_allclose(log.q, q, atol=1e-12)
    assert "joint-column-of-passive-joint" in codes(log)
    others = [finding for finding in log.findings if finding.code != "joint-column-of-passive-joint"]
    return {name: [f for f in others if f.names == (name,)] for name in robot.passive_joint_names}


def test_consistent_positions_give_a_note(case: Case) -> None:
    robot, q, passive = case
    noise = 1e-3 * np.random.default_rng(0).normal(size=passive.shape)
    for found in findings(robot, q, passive + noise + [0.0, 2.0 * np.pi]).values():
        (compared,) = found
        assert (compared.code, compared.severity) == ("passive-position-agrees", Severity.NOTE)
        assert compared.values["rms"] < 0.01


def test_positions_that_contradict_the_loops_give_a_warning(case: Case) -> None:
    robot, q, passive = case
    wrong = passive.copy()
    wrong[:, 1] += 0.05
    wrong[250, 1] += 0.01
    found = findings(robot, q, wrong)
    assert [finding.severity for finding in found["left_elbow"]] == [Severity.NOTE]
    (warning,) = found["right_elbow"]
    assert (warning.code, warning.severity) == ("passive-position-contradicts", Severity.WARNING)
    expected = {"rms": 0.05, "greatest": 0.06, "time": 2.5, "mean": 0.05}
    assert {name: warning.values[name] for name in expected} == pytest.approx(expected, rel=1e-2)


def test_samples_without_a_value_are_ignored(case: Case) -> None:
    robot, q, passive = case
    some = passive.copy()
    some[:100] = np.nan
    some[200:210, 0] = np.nan
    for found in findings(robot, q, some).values():
        assert [finding.code for finding in found] == ["passive-position-agrees"]
    some[:] = np.nan
    assert not any(findings(robot, q, some).values())


def test_units_apply_to_passive_joints_too(case: Case, tmp_path: Path) -> None:
    robot, q, passive = case
    names = (*robot.coordinate_names, *robot.passive_joint_names)
    columns = ["time", *(f"position.{name} [deg]" for name in names)]
    columns += [f"effort.{name}" for name in robot.coordinate_names]
    table = np.column_stack([T, np.degrees(q), np.degrees(passive), np.cos(q)])
    file = tmp_path / "log.csv"
    np.savetxt(file, table, delimiter=",", header=",".join(columns), comments="")
    for ignored in ([], ["left_elbow"]):
        log = dyn_core.read_log(file, {"ignore": ignored}, robot=robot)
        agreeing = [f.names[0] for f in log.findings if f.code == "passive-position-agrees"]
        assert agreeing == [name for name in robot.passive_joint_names if name not in ignored]
        assert "passive-position-contradicts" not in codes(log)


@pytest.mark.parametrize(("name", "dof"), [("sr400", 6), ("delta", 3)])
def test_other_robots(name: str, dof: int) -> None:
    robot, q, passive = moved(name, 0.1 * np.sin(np.outer(T, 1.0 + 0.3 * np.arange(dof))))
    passive[:, 0] += 0.1
    wrong, *others = findings(robot, q, passive).values()
    assert [finding.severity for finding in wrong] == [Severity.WARNING]
    for found in others:
        assert [finding.code for finding in found] == ["passive-position-agrees"]
