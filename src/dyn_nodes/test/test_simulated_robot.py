# SPDX-License-Identifier: Apache-2.0
"""Brakes, commands, pushes and faults around a simulator."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from refusals import refused

import dyn_core
from dyn_core import SimulationSettings, Simulator
from dyn_nodes.simulation.simulated_robot import LinkWrench, SimulatedRobot

SLIDER = """<robot name="slider"><link name="base"/><link name="block">
  <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="block"/><axis xyz="1 0 0"/>
  <limit lower="-5" upper="5" effort="100" velocity="1"/></joint></robot>"""
STEP_S = 0.01


def slider(*, position_limits: bool = True, **surroundings: float | bool) -> SimulatedRobot:
    """2 kg that slide horizontally without friction."""
    settings = SimulationSettings(step=STEP_S, position_limits=position_limits)
    return SimulatedRobot(Simulator(dyn_core.load_robot(SLIDER), settings), **surroundings)


def along_x(link: str, force: float) -> LinkWrench:
    return LinkWrench(link, np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))


def advance(robot: SimulatedRobot, steps: int) -> float:
    for _ in range(steps):
        robot.advance()
    return float(robot.simulator.state.qd[0])


@pytest.mark.promise("stale-simulation")
def test_the_last_command_acts_until_its_timeout_if_it_has_one() -> None:
    robot = slider()
    robot.command(np.array([2.0]))
    assert advance(robot, 100) == pytest.approx(1.0)
    robot = slider(command_timeout=0.1)
    assert not robot.timed_out
    robot.command(np.array([2.0]))
    assert advance(robot, 100) == pytest.approx(0.11)  # still exerted in the period of its timeout
    assert robot.timed_out
    robot.command(np.array([2.0]))
    assert not robot.timed_out
    assert advance(robot, 1) == pytest.approx(0.12)


def test_brakes_hold_until_the_first_command_and_again_after_a_reset() -> None:
    robot = slider(brakes=True)
    robot.push(along_x("block", 50.0))
    assert advance(robot, 10) == 0.0
    robot.command(np.array([0.0]))
    assert advance(robot, 1) > 0.0
    robot.reset()
    assert robot.braked
    assert advance(robot, 10) == 0.0


def test_each_push_ends_after_its_duration_or_at_once_when_set_to_zero() -> None:
    """4 N on 2 kg for 0.1 s give 0.2 m/s."""
    robot = slider(wrench_timeout=0.1)
    robot.push(along_x("block", 4.0))
    advance(robot, 5)
    robot.push(along_x("base", 1.0))
    assert advance(robot, 20) == pytest.approx(0.2)
    robot.push(along_x("block", 4.0))
    assert advance(robot, 5) == pytest.approx(0.3)
    robot.push(LinkWrench("block", np.zeros(6)))
    assert advance(robot, 5) == pytest.approx(0.3)


@pytest.mark.promise("simulation-diverges")
def test_after_a_fault_the_robot_stands_still_until_a_reset() -> None:
    robot = slider(position_limits=False)
    robot.command(np.array([1.0]))
    advance(robot, 10)
    before = robot.simulator.state
    robot.push(along_x("block", 1e9))
    robot.advance()
    assert robot.fault is not None
    assert robot.fault.values["joint"] == "x"
    advance(robot, 10)
    assert robot.simulator.state is before
    assert_array_equal(robot.simulator.effort, [0.0])
    with refused("command-after-fault"):
        robot.command(np.array([1.0]))
    robot.reset()
    assert robot.fault is None
    robot.command(np.array([2.0]))
    assert advance(robot, 10) == pytest.approx(0.1)


@pytest.mark.promise("simulation-diverges")
def test_setting_joints_by_name_ends_a_fault() -> None:
    robot = slider(position_limits=False)
    robot.push(along_x("block", 1e9))
    robot.advance()
    robot.place({"x": 1.5}, {"x": 0.25})
    assert (robot.fault, robot.simulator.state.q.tolist()) == (None, [1.5])
    robot.place({}, {"x": 0.5})
    assert robot.simulator.state.q.tolist() == [1.5]
    assert robot.simulator.state.qd.tolist() == [0.5]


@pytest.mark.promise("payload-other-description")
def test_payloads_stay_with_links_of_the_same_name() -> None:
    """A removed payload does not come back; a payload whose link is gone is named."""
    before, after, point = slider(), slider(), ((0.0,) * 3, (0.0,) * 6)
    after.attach("block", 2.0, *point)
    assert (after.take_payloads(before), dict(after.simulator.payloads)) == ([], {})
    before.attach("block", 2.0, *point)
    assert after.take_payloads(before) == []
    after.command(np.array([4.0]))
    assert advance(after, 100) == pytest.approx(1.0)  # 4 N on 2 + 2 kg for 1 s
    renamed = SimulatedRobot(Simulator(dyn_core.load_robot(SLIDER.replace("block", "brick"))))
    (notice,) = renamed.take_payloads(before)
    assert (notice.code, notice.values["link"]) == ("payload-forgotten", "block")
    assert dict(renamed.simulator.payloads) == {}
