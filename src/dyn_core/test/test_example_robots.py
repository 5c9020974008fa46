# SPDX-License-Identifier: Apache-2.0
"""Every robot of example-robot-data: its inverse dynamics agree with Pinocchio, and it is checked."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core.model.coupling import joint_positions

TOLERANCE = 1e-9  # relative to the greatest torque
SAMPLES = 50
EMPTY = {"ur3.urdf"}  # what xacro left of it has no link


def descriptions() -> list[Path]:
    """URDF files of example-robot-data, from a wheel or a ROS installation."""
    for directory in map(Path, sys.path):
        for prefix in (
            directory / "cmeel.prefix",
            directory.parents[2] if len(directory.parents) > 2 else directory,
        ):
            robots = prefix / "share" / "example-robot-data" / "robots"
            if robots.is_dir():
                return sorted(robots.rglob("*.urdf"))
    return []


FILES = descriptions()


def worst_error(path: Path, seed: int = 0) -> float:
    """Greatest difference of a torque over all samples, relative to the greatest torque of its sample."""
    text = path.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        free = dyn_core.load_robot(path, snap=0, mimic=False)
        robot = dyn_core.load_robot(path, snap=0)
    oracle = Oracle(text, free.joint_names, free.gravity)
    random = np.random.default_rng(seed)
    q, qd, qdd = random.uniform(-2.0, 2.0, (3, SAMPLES, robot.dof))
    torques = dyn_core.compile_model(robot, friction=False, backend="python").inverse_dynamics(q, qd, qdd)
    offset = np.array(joint_positions(robot, [0.0] * robot.dof))
    unit = np.eye(robot.dof).tolist()
    G = np.array([joint_positions(robot, e) for e in unit]).reshape(robot.dof, free.dof).T - offset[:, None]
    worst = 0.0
    for k in range(SAMPLES):
        tau_tree = oracle.inverse_dynamics(G @ q[k] + offset, G @ qd[k], G @ qdd[k], {})
        expected = G.T @ tau_tree
        scale = max(np.abs(tau_tree), default=0.0)
        if scale > 0.0:
            worst = max(worst, np.abs(torques[k] - expected).max() / scale)
    return worst


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES or [Path()], ids=lambda path: path.name)
def test_agrees_with_pinocchio(path: Path) -> None:
    if path.name in EMPTY:
        with pytest.raises(dyn_core.DynError, match="the robot has no link"):
            dyn_core.load_robot(path)
        return
    assert worst_error(path) < TOLERANCE


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES or [Path()], ids=lambda path: path.name)
def test_what_is_suspicious_is_a_list_that_can_be_read(path: Path) -> None:
    findings = dyn_core.check_robot(path)
    assert len(findings) <= 20
    assert len({(finding.kind, finding.names, finding.message) for finding in findings}) == len(findings)


if __name__ == "__main__":
    for file in FILES:
        if file.name not in EMPTY:
            print(f"{worst_error(file):.1e}  {file.name}")
