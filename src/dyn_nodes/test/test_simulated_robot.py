# SPDX-License-Identifier: Apache-2.0
"""What stands around a simulator: brakes, commands and pushes that end, faults."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dyn_core
from dyn_core import DynError, SimulationSettings, Simulator
from dyn_nodes.link_wrench import LinkWrench
from dyn_nodes.rejection import Rejection
from dyn_nodes.simulation.simulated_robot import SimulatedRobot

SLIDER = """<robot name="slider"><link name="base"/><link name="block">
  <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="block"/><axis xyz="1 0 0"/>
  <limit lower="-5" upper="5" effort="100" velocity="1"/></joint></robot>"""
STEP_S = 0.01


def slider(*, position_limits: bool = True, **surroundings: float | bool) -> SimulatedRobot:
    """2 kg that slide level and without friction."""
    settings = SimulationSettings(step=STEP_S, position_limits=position_limits)
    return SimulatedRobot(Simulator(dyn_core.load_robot(SLIDER), settings), **surroundings)


def advance(robot: SimulatedRobot, steps: int) -> float:
    """Simulate and answer the velocity."""
    for _ in range(steps):
        robot.advance()
    return float(robot.simulator.state.qd[0])


def test_the_last_command_acts_for_ever_unless_it_has_a_timeout() -> None:
    robot = slider()
    robot.command(np.array([2.0]))
    assert advance(robot, 100) == pytest.approx(1.0)


def test_after_the_timeout_no_effort_is_exerted_until_the_next_command() -> None:
    robot = slider(command_timeout=0.1)
    assert not robot.timed_out
    robot.command(np.array([2.0]))
    assert advance(robot, 100) == pytest.approx(0.11)  # the period that begins when it is due has it
    assert robot.timed_out
    robot.command(np.array([2.0]))
    assert not robot.timed_out
    assert advance(robot, 1) == pytest.approx(0.12)


def test_brakes_hold_until_the_first_command_and_again_after_a_reset() -> None:
    robot = slider(brakes=True)
    robot.push(LinkWrench("block", np.array([50.0, 0, 0, 0, 0, 0])))
    assert advance(robot, 10) == 0.0
    robot.command(np.array([0.0]))
    assert advance(robot, 1) > 0.0
    robot.reset()
    assert robot.braked
    assert advance(robot, 10) == 0.0


def test_a_push_ends() -> None:
    """4 N on 2 kg for 0.1 s give 0.2 m/s."""
    robot = slider(wrench_timeout=0.1)
    robot.push(LinkWrench("block", np.array([4.0, 0, 0, 0, 0, 0])))
    assert advance(robot, 50) == pytest.approx(0.2)


def test_pushes_on_links_end_each_in_its_time_and_at_once_when_they_are_zero() -> None:
    robot = slider(wrench_timeout=0.1)
    robot.push(LinkWrench("block", np.array([4.0, 0, 0, 0, 0, 0])))
    advance(robot, 5)
    robot.push(LinkWrench("base", np.array([1.0, 0, 0, 0, 0, 0])))
    assert advance(robot, 20) == pytest.approx(0.2)
    robot.push(LinkWrench("block", np.array([4.0, 0, 0, 0, 0, 0])))
    assert advance(robot, 5) == pytest.approx(0.3)
    robot.push(LinkWrench("block", np.zeros(6)))
    assert advance(robot, 5) == pytest.approx(0.3)


def test_after_a_fault_the_robot_stands_where_it_was_until_it_is_reset() -> None:
    robot = slider(position_limits=False)
    robot.command(np.array([1.0]))
    advance(robot, 10)
    before = robot.simulator.state
    robot.push(LinkWrench("block", np.array([1e9, 0, 0, 0, 0, 0])))
    robot.advance()
    assert robot.fault is not None
    assert "joint 'x'" in robot.fault
    advance(robot, 10)
    assert robot.simulator.state is before
    assert_array_equal(robot.simulator.effort, [0.0])
    with pytest.raises(Rejection, match="refused until the simulation is reset"):
        robot.command(np.array([1.0]))
    robot.reset()
    assert robot.fault is None
    robot.command(np.array([2.0]))
    assert advance(robot, 10) == pytest.approx(0.1)


def test_joints_are_put_by_name_and_end_a_fault() -> None:
    robot = slider(position_limits=False)
    robot.push(LinkWrench("block", np.array([1e9, 0, 0, 0, 0, 0])))
    robot.advance()
    robot.place({"x": 1.5}, {"x": 0.25})
    assert robot.fault is None
    assert robot.simulator.state.q.tolist() == [1.5]
    robot.place({}, {"x": 0.5})
    assert robot.simulator.state.q.tolist() == [1.5]
    assert robot.simulator.state.qd.tolist() == [0.5]


@pytest.mark.parametrize("q", [{"y": 0.0}, {"x": 5.1}, {"x": float("nan")}])
def test_places_that_will_not_do_change_nothing(q: dict[str, float]) -> None:
    robot = slider()
    with pytest.raises((DynError, ValueError), match=r"joint '(x|y)'"):
        robot.place(q, {})
    assert robot.simulator.state.q.tolist() == [0.0]


def test_payloads_stay_with_links_of_the_same_name() -> None:
    before, after = slider(), slider()
    before.attach("block", 2.0, (0.0,) * 3, (0.0,) * 6)
    assert after.take_payloads(before) == []
    after.command(np.array([4.0]))
    assert advance(after, 100) == pytest.approx(1.0)  # 4 N on 2 + 2 kg for 1 s


def test_a_payload_that_was_put_down_is_not_held_again() -> None:
    before, after = slider(), slider()
    after.attach("block", 2.0, (0.0,) * 3, (0.0,) * 6)
    assert after.take_payloads(before) == []
    assert dict(after.simulator.payloads) == {}


def test_a_payload_of_a_link_that_is_no_more_is_named() -> None:
    before = slider()
    before.attach("block", 2.0, (0.0,) * 3, (0.0,) * 6)
    after = SimulatedRobot(Simulator(dyn_core.load_robot(SLIDER.replace("block", "brick"))))
    (sentence,) = after.take_payloads(before)
    assert sentence.startswith("the payload of link 'block' is forgotten: ")
    assert dict(after.simulator.payloads) == {}
