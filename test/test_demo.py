# SPDX-License-Identifier: Apache-2.0
"""The demonstration from end to end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from robot_files import ROBOTS
from ros_graph import GENEROUS_S


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dyn_nodes.demo", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("robot", ROBOTS)
def test_prints_a_torque_with_unit_for_every_joint(robot: str, ros_environment: dict[str, str]) -> None:
    demo = start(ros_environment, robot, "--duration", "0.3")
    output, _ = demo.communicate(timeout=GENEROUS_S)
    assert demo.returncode == 0, output
    rows = re.findall(r"^\S+ +-?\d+\.\d{4} (?:rad|m  ) +-?\d+\.\d{4} (?:N m|N  ) ", output, re.MULTILINE)
    joints = ROBOTS[robot].read_text()
    assert len(rows) == len(re.findall(r'<joint [^>]*type="(?:revolute|continuous|prismatic)"', joints))
    sent, answered = re.search(r"(\d+) of (\d+) joint states", output).groups()
    # On a busy machine a joint state may be replaced by the next before the node has seen it.
    assert 0.5 * int(sent) <= int(answered) <= int(sent)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_leaves_nothing_running(number: signal.Signals, ros_environment: dict[str, str]) -> None:
    mark = "DYN_TEST_MARK"
    environment = {**ros_environment, mark: f"{os.getpid()}-{number}"}
    demo = start(environment, "rrp", "--duration", "600")
    assert demo.stdout is not None
    for line in demo.stdout:
        if "using robot" in line:
            break
    children = [pid for pid in marked(f"{mark}={environment[mark]}") if pid != demo.pid]
    assert children
    handles = [os.pidfd_open(pid) for pid in children]
    demo.send_signal(number)
    demo.communicate(timeout=GENEROUS_S)
    for handle in handles:
        wait_until_gone(handle)
    assert demo.returncode == (-number if number == signal.SIGKILL else 130)


def marked(entry: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if entry.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def wait_until_gone(pidfd: int) -> None:
    """A process file descriptor is readable when the process has ended."""
    import select

    ready, _, _ = select.select([pidfd], [], [], GENEROUS_S)
    assert ready
