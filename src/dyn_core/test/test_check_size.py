# SPDX-License-Identifier: Apache-2.0
"""Time of reading and checking robots with many joints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from growth_of_time import assert_nearly_linear

import dyn_core
from dyn_core.core.findings import Severity

INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'


def robot_text(count: int, shape: str) -> str:
    """Return a URDF whose joints are in one chain, or all at the root."""
    parts = [
        f'<link name="l{k}"><inertial><mass value="1"/>{INERTIA}</inertial></link>' for k in range(count + 1)
    ]
    for k in range(1, count + 1):
        parent = k - 1 if shape == "chain" else 0
        place = '<origin xyz="0.1 0 0.2" rpy="0.3 0.2 0"/><axis xyz="0 0 1"/>'
        limit = '<limit lower="-1" upper="1" effort="100" velocity="3"/>'
        ends = f'<parent link="l{parent}"/><child link="l{k}"/>'
        parts.append(f'<joint name="j{k}" type="revolute">{ends}{place}{limit}</joint>')
    return f'<robot name="long">{"".join(parts)}</robot>'


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_time_grows_with_the_number_of_joints(shape: str) -> None:
    """Eight times as many joints take at most 24 times as long; with the square of their number it is 64."""

    def work(count: int) -> Callable[[], None]:
        text = robot_text(count, shape)

        def check_and_load() -> None:
            found = dyn_core.check_robot(text)
            dyn_core.load_robot(text).mdh_table()
            unchecked = [finding for finding in found if finding.code == "inertia-matrix-unchecked"]
            assert [finding.severity for finding in unchecked] == [Severity.NOTE]

        return check_and_load

    assert_nearly_linear(work, 2400)


CHECK = """
import resource, sys
import dyn_core

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
found = dyn_core.check_robot(sys.stdin.read())
assert sum(finding.code == "effort-limit-below-gravity" for finding in found) > 2900
print(peak() - before)
"""


def test_memory_of_findings_about_each_joint() -> None:
    """3000 joints that are too weak: a position in each finding would take 0.3 GB more."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    settings: dict[str, Any] = {"env": environment, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", CHECK], input=robot_text(3000, "chain"), **settings)
    assert int(done.stdout) < 500_000_000
