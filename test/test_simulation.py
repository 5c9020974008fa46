# SPDX-License-Identifier: Apache-2.0
"""The node `simulation` over DDS: its motion, what it takes, what it refuses, its services and its time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Inertia, Vector3
from numpy.testing import assert_allclose, assert_array_equal
from rclpy.exceptions import ParameterException
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from simulated import Simulated, hosted, overrides, simulated

import dyn_core
from dyn_core import DynError, SimulationSettings, Simulator
from dyn_msgs.msg import Payload
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
STEPPED = {**RRP, "paused": True, "publish_clock": True}
JOINTS = ["turn", "lift", "stretch"]


def reference(**settings: Any) -> Simulator:
    """What the node should compute, with the period of its default rate."""
    given = {"step": 1.0 / 500.0, "substeps": 2} | settings
    return Simulator(dyn_core.load_robot(ROBOTS["rrp"]), SimulationSettings(**given))


def nanoseconds(message: Any) -> int:
    return int(message.sec * 10**9 + message.nanosec)


def warns(graph: Graph, sentence: str) -> Callable[[], bool]:
    """Whether the newest diagnostics warn of that."""

    def look() -> bool:
        last = graph.diagnostics[-1] if graph.diagnostics else None
        return bool(last and last.level == DiagnosticStatus.WARN and sentence in last.message)

    return look


def test_the_motion_is_that_of_the_simulator(graph: Graph) -> None:
    """Falling, in real time: at each stamp the state is that of the library to the last digit."""
    with simulated(graph, **RRP, publish_clock=True) as (ours, _):
        graph.wait_for(lambda: len(ours.states) > 100)
    expected = reference()
    states = {nanoseconds(state.header.stamp): state for state in ours.states}
    for k in range(1, max(states) * 500 // 10**9 + 1):
        expected.step()
        if (state := states.get(k * 2_000_000)) is not None:
            assert list(state.name) == JOINTS
            assert_array_equal(state.position, expected.state.q)
            assert_array_equal(state.velocity, expected.state.qd)
            assert not any(state.effort)
    assert len(states) > 50


@pytest.mark.parametrize(
    ("parameters", "settings"),
    [
        ({"rate": 100.0, "step": 0.001}, {"step": 0.01, "substeps": 10}),
        ({"rate": 300.0, "step": 0.002}, {"step": 1.0 / 300.0, "substeps": 2}),
        ({"rate": 1000.0, "step": 0.01}, {"step": 0.001, "substeps": 1}),
        ({"integrator": "semi_implicit_euler"}, {"integrator": "semi_implicit_euler"}),
        ({"friction": False}, {"friction": False}),
        ({"rotor_inertia": False}, {"rotor_inertia": False}),
        ({"position_limits": False}, {"position_limits": False}),
    ],
)
def test_settings_are_parameters(parameters: dict[str, Any], settings: dict[str, Any], graph: Graph) -> None:
    with simulated(graph, **(STEPPED | parameters)) as (ours, _):
        state = ours.stepped(200)
    expected = reference(**settings)
    for _ in range(200):
        expected.step()
    assert_array_equal(state.position, expected.state.q)


def test_commands_are_in_the_order_of_the_parameter(graph: Graph) -> None:
    with simulated(graph, **STEPPED, command_joints=["stretch", "turn"]) as (ours, _):
        ours.send([3.0, 1.0])
        state = ours.state_when(lambda state: any(state.effort))
        assert list(state.effort) == [1.0, 0.0, 3.0]


def test_torques_are_taken_by_name_and_are_zero_for_others(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        ours.send([1.0, 2.0, 3.0])
        ours.state_when(lambda state: list(state.effort) == [1.0, 2.0, 3.0])
        ours.send_by_name({"stretch": 5.0, "turn": 4.0})
        ours.state_when(lambda state: list(state.effort) == [4.0, 0.0, 5.0])
        graph.wait_for(warns(graph, "commands come on ~/torques and ~/commands: the newest one acts"))


def test_commands_move_the_robot(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        ours.send([2.0, 40.0, -3.0])
        ours.state_when(lambda state: any(state.effort))
        state = ours.stepped(100)
    expected = reference()
    expected.set_effort([2.0, 40.0, -3.0])
    for _ in range(100):
        expected.step()
    assert_array_equal(state.position, expected.state.q)
    assert_array_equal(state.velocity, expected.state.qd)


def test_efforts_are_cut_at_their_limits_and_that_is_said(graph: Graph) -> None:
    with simulated(graph, **RRP) as (ours, _):
        ours.send([1000.0, 0.0, 0.0])
        assert ours.state_when(lambda state: any(state.effort)).effort[0] == 60.0
        graph.wait_for(lambda: "turn" in (graph.diagnosis("joints at a stop") or ""))
        warnings = " ".join(status.message for status in graph.diagnostics)
        assert "joints at their effort limit: turn" in warnings
        assert "joints faster than their limit: " in warnings


BAD_COMMANDS = {
    "short": (lambda ours: ours.send([1.0, 2.0]), "command has 2 values, but there are 3 joints"),
    "empty": (lambda ours: ours.send([]), "command has 0 values"),
    "long": (lambda ours: ours.send([1.0] * 4), "command has 4 values"),
    "not a number": (lambda ours: ours.send([1.0, math.nan, 1.0]), "joint 'lift' is nan"),
    "infinite": (lambda ours: ours.send([-math.inf, 1.0, 1.0]), "joint 'turn' is -inf"),
    "unknown joint": (lambda ours: ours.send_by_name({"elbow": 1.0}), "joint 'elbow', which the robot"),
    "repeated joint": (lambda ours: ours.send_torques(["turn", "turn"], [1.0, 2.0]), "more than once"),
    "names without values": (lambda ours: ours.send_torques(JOINTS, []), "3 names but 0 values"),
    "torque that is not a number": (lambda ours: ours.send_by_name({"turn": math.nan}), "is nan"),
    "push on an unknown link": (lambda ours: ours.push("hand", [1.0, 0.0, 0.0]), "no link 'hand'"),
    "push that is not a number": (lambda ours: ours.push("arm", [math.nan, 0.0, 0.0]), "not finite"),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_what_is_refused_is_said_and_changes_nothing(case: str, graph: Graph) -> None:
    send, sentence = BAD_COMMANDS[case]
    with simulated(graph, **STEPPED) as (ours, _):
        ours.send([1.0, 2.0, 3.0])
        ours.state_when(lambda state: list(state.effort) == [1.0, 2.0, 3.0])
        send(ours)
        graph.wait_for(warns(graph, sentence))
        assert "1" in (graph.diagnosis("commands refused"), graph.diagnosis("wrenches refused"))
        assert list(ours.next_state().effort) == [1.0, 2.0, 3.0]


def test_commands_end_after_their_timeout_if_they_are_told_to(graph: Graph) -> None:
    with simulated(graph, **STEPPED, command_timeout=0.1) as (ours, _):
        ours.send([1.0, 2.0, 3.0])
        ours.state_when(lambda state: any(state.effort))
        assert any(ours.stepped(50).effort)
        assert not any(ours.stepped(2).effort)
        graph.wait_for(warns(graph, "no command for 0.1 s: no effort is exerted"))


def test_brakes_hold_the_robot_until_the_first_command(graph: Graph) -> None:
    with simulated(graph, **STEPPED, brakes=True) as (ours, _):
        assert list(ours.stepped(100).position) == [0.0, 0.0, 0.0]
        ours.send([0.0, 0.0, 0.0])
        graph.wait_for(lambda: any(ours.stepped(10).position))


def test_wrenches_act_on_links_for_their_time(graph: Graph) -> None:
    """A push of 10 N on the tip for 0.1 s; its sign is that of the environment on the link."""
    with simulated(graph, **STEPPED, wrench_timeout=0.1) as (ours, node):
        ours.push("slider", [10.0, 20.0, 30.0], [0.1, 0.2, 0.3])
        graph.wait_for(lambda: node._running.robot._wrenches)
        state = ours.stepped(80)
    expected = reference()
    for k in range(80):
        if k == 0:
            expected.set_wrenches({"slider": [10.0, 20.0, 30.0, 0.1, 0.2, 0.3]})
        elif k == 50:
            expected.set_wrenches({})
        expected.step()
    assert_array_equal(state.velocity, expected.state.qd)
    assert state.position[0] > 0.0


def test_reset_goes_back_to_the_initial_state(graph: Graph) -> None:
    initial = {"stretch__position": 0.05, "lift__position": 0.5, "lift__velocity": 1.0}
    initial = {f"initial__{name}": value for name, value in initial.items()}
    with simulated(graph, **STEPPED, **initial) as (ours, _):
        first = ours.next_state()
        assert list(first.position) == [0.0, 0.5, 0.05]
        assert list(first.velocity) == [0.0, 1.0, 0.0]
        ours.send([5.0, 0.0, 0.0])
        ours.state_when(lambda state: any(state.effort))
        before = ours.stepped(100)
        assert ours.call("reset").success
        state = ours.state_when(lambda state: list(state.position) == list(first.position))
        assert list(state.velocity) == list(first.velocity)
        assert not any(state.effort)
        # Time goes on: clocks that go back are more than most nodes bear.
        assert state.header.stamp == before.header.stamp
        assert nanoseconds(ours.stepped(1).header.stamp) == nanoseconds(before.header.stamp) + 2_000_000


def test_joints_are_put_by_name_and_others_stay(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        assert ours.call("set_state", name=["lift", "turn"], position=[0.5, 1.0]).success
        ours.state_when(lambda state: list(state.position) == [1.0, 0.5, 0.0])
        moved = ours.call("set_state", name=["stretch"], position=[0.05], velocity=[0.1])
        assert moved.success, moved.message
        state = ours.state_when(lambda state: list(state.position) == [1.0, 0.5, 0.05])
        assert list(state.velocity) == [0.0, 0.0, 0.1]


BAD_STATES = {
    "unknown joint": ({"name": ["elbow"], "position": [0.0]}, "no joint 'elbow'"),
    "repeated joint": ({"name": ["lift", "lift"], "position": [0.0, 0.0]}, "more than once"),
    "short": ({"name": ["lift"], "position": []}, "1 joints but 0 positions"),
    "too many velocities": (
        {"name": ["lift"], "position": [0.0], "velocity": [0.0, 0.0]},
        "1 joints but 2 velocities",
    ),
    "not a number": ({"name": ["lift"], "position": [math.nan]}, "joint 'lift' is nan"),
    "infinite": ({"name": ["lift"], "position": [0.0], "velocity": [math.inf]}, "joint 'lift' is inf"),
    "too fast": (
        {"name": ["turn", "lift"], "position": [0.0, 0.0], "velocity": [2.0, -1e6]},
        "the velocity -1e+06 rad/s of joint 'lift' is above its limit 2 rad/s",
    ),
    "beyond a stop": ({"name": ["lift"], "position": [9.0]}, "not between its limits"),
}


@pytest.mark.parametrize("case", BAD_STATES)
def test_states_that_will_not_do(case: str, graph: Graph) -> None:
    request, sentence = BAD_STATES[case]
    with simulated(graph, **STEPPED) as (ours, _):
        answer = ours.call("set_state", **request)
        assert not answer.success
        assert sentence in answer.message
        assert list(ours.next_state().position) == [0.0, 0.0, 0.0]


def test_a_payload_acts_at_once(graph: Graph) -> None:
    with simulated(graph, **STEPPED, friction=False) as (ours, _):
        inertia = Inertia(m=4.0, ixx=0.1, iyy=0.1, izz=0.1)
        inertia.com.x = 0.6
        assert ours.call("set_payload", payload=Payload(link_name="slider", inertia=inertia)).success
        with_payload = ours.stepped(100)
        bad = ours.call("set_payload", payload=Payload(link_name="hand", inertia=inertia))
        assert not bad.success
        assert "no link 'hand'" in bad.message
        inertia.m = -1.0
        bad = ours.call("set_payload", payload=Payload(link_name="slider", inertia=inertia))
        assert not bad.success
        assert "cannot be negative" in bad.message
    expected = reference(friction=False)
    expected.set_payload("slider", 4.0, (0.6, 0.0, 0.0), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    for _ in range(100):
        expected.step()
    assert_array_equal(with_payload.position, expected.state.q)


def test_payloads_stay_when_the_description_is_replaced(graph: Graph) -> None:
    inertia = Inertia(m=4.0, com=Vector3(x=0.6))
    with simulated(graph) as (ours, node):
        graph.describe(urdf("rrp"))
        ours.next_state()
        for link in ("slider", "arm"):
            assert ours.call("set_payload", payload=Payload(link_name=link, inertia=inertia)).success
        present = node._running
        graph.describe(urdf("rrp").replace('value="3.0"', 'value="3.5"'))
        graph.wait_for(lambda: node._running is not present)
        assert node._running.robot.simulator.payloads == present.robot.simulator.payloads
        assert present.robot.simulator.payloads["slider"] == (4.0, (0.6, 0.0, 0.0), (0.0,) * 6)


def test_payload_and_model_error_can_be_parameters(graph: Graph) -> None:
    parameters = {
        "payload__link": "slider",
        "payload__mass": 2.0,
        "payload__centre": [0.1, 0.0, 0.0],
        "payload__inertia": [0.01, 0.0, 0.0, 0.01, 0.0, 0.01],
        "model_error": 0.2,
        "seed": 3,
    }
    with simulated(graph, **STEPPED, **parameters) as (ours, _):
        state = ours.stepped(100)
    robot = dyn_core.with_model_error(dyn_core.load_robot(ROBOTS["rrp"]), 0.2, 3)
    expected = Simulator(robot, SimulationSettings(step=0.002, substeps=2))
    expected.set_payload("slider", 2.0, (0.1, 0.0, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    for _ in range(100):
        expected.step()
    assert_array_equal(state.position, expected.state.q)


def test_sensors_have_noise_and_resolution_on_request(graph: Graph) -> None:
    parameters = {"sensors__position_noise": 0.01, "sensors__velocity_resolution": 0.25, "brakes": True}
    with simulated(graph, **STEPPED, **parameters) as (ours, _):
        graph.wait_for(lambda: len(ours.states) > 200)
        ours.call("set_state", name=["lift"], position=[0.0], velocity=[0.3])
        assert ours.state_when(lambda state: any(state.velocity)).velocity[1] == 0.25
    positions = np.array([state.position for state in ours.states])
    assert_allclose(positions.std(axis=0), 0.01, rtol=0.4)


def test_paused_time_stands_still_and_the_state_is_still_told(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True) as (ours, _):
        ours.state_when(lambda state: any(state.position))
        assert ours.call("pause", data=True).success
        stamps = [nanoseconds(ours.next_state().header.stamp) for _ in range(10)]
        assert len(set(stamps)) == 1
        assert nanoseconds(ours.call("step", steps=3).time) == stamps[0] + 3 * 2_000_000
        assert ours.call("pause", data=False).success
        ours.state_when(lambda state: nanoseconds(state.header.stamp) > stamps[0] + 5 * 2_000_000)
        refused = ours.call("step", steps=1)
        assert not refused.success
        assert "not paused" in refused.message


def test_steps_have_to_be_at_least_one(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        answer = ours.call("step", steps=0)
        assert not answer.success
        assert "at least 1" in answer.message


def test_a_call_for_many_steps_is_answered_soon_with_what_is_left(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        answer = ours.call("step", steps=2**31)
        assert not answer.success
        made, left = map(int, re.findall(r"(\d+) of \d+ steps .* other (\d+)", answer.message)[0])
        assert made + left == 2**31
        assert nanoseconds(answer.time) == made * 2_000_000


def test_simulated_time_is_published_on_request(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True, use_sim_time=True) as (ours, node):
        graph.wait_for(lambda: len(ours.clocks) > 20 and len(ours.states) > 20)
        times = [nanoseconds(message.clock) for message in ours.clocks]
        assert times == sorted(set(times))
        assert all(time % 2_000_000 == 0 for time in times)
        graph.wait_for(lambda: node.get_clock().now().nanoseconds > 0)
        graph.wait_for(lambda: graph.diagnosis("real-time factor") not in (None, "none"))


def test_without_a_clock_of_its_own_stamps_are_those_of_the_node(graph: Graph) -> None:
    with simulated(graph, **RRP) as (ours, _):
        state = ours.next_state()
        assert abs(nanoseconds(graph.now()) - nanoseconds(state.header.stamp)) < 5e9
        graph.wait_for(lambda: len(ours.states) > 50)
        assert not ours.clocks


class SlowMachine:
    """A steady clock on which everything takes time: each look at it costs 10 ms, and a period takes one."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


def test_a_machine_that_is_too_slow_is_named_and_the_motion_stays_right(graph: Graph) -> None:
    ours = Simulated(graph)
    machine = SlowMachine()
    parameters = overrides(**RRP, publish_clock=True)
    with hosted(graph, Simulation, steady=machine, parameter_overrides=parameters):
        graph.wait_for(warns(graph, "the machine is too slow: real-time factor 0."))
        graph.wait_for(lambda: len(ours.states) > 50)
    # 2 ms in 10 ms, and 10 ms more for each two or three periods.
    assert float(graph.diagnosis("real-time factor")) == pytest.approx(0.15, rel=0.25)
    states = {nanoseconds(state.header.stamp): state for state in ours.states}
    expected = reference()
    for k in range(1, max(states) // 2_000_000 + 1):
        expected.step()
        if (state := states.get(k * 2_000_000)) is not None:
            assert_array_equal(state.position, expected.state.q)


def test_a_simulation_that_diverges_stops_and_says_so(graph: Graph) -> None:
    parameters = {"position_limits": False, "effort_limits": False}
    with simulated(graph, **STEPPED, **parameters) as (ours, _):
        ours.send([9e8, 0.0, 0.0])
        ours.state_when(lambda state: any(state.effort))
        failed = ours.call("step", steps=1000)
        assert not failed.success
        assert "the velocity of joint 'stretch' becomes" in failed.message
        graph.wait_for(lambda: graph.diagnostics and graph.diagnostics[-1].level == DiagnosticStatus.ERROR)
        assert "stopped until it is reset: " in graph.diagnostics[-1].message
        state = ours.next_state()
        assert all(map(math.isfinite, [*state.position, *state.velocity]))
        ours.send([0.0, 0.0, 0.0])
        graph.wait_for(lambda: graph.diagnosis("commands refused") == "1")
        assert not ours.call("step", steps=1).success
        assert ours.call("reset").success
        assert ours.call("step", steps=1).success


def test_the_description_is_published_unless_it_is_not_wanted(graph: Graph) -> None:
    with simulated(graph, **RRP) as (ours, _):
        graph.wait_for(lambda: ours.descriptions)
        assert ours.descriptions[0].data == urdf("rrp")
    with hosted(graph, Simulation, parameter_overrides=overrides(**RRP, publish_description=False)) as node:
        assert "/robot_description" not in [publisher.topic_name for publisher in node.publishers]


def test_the_robot_can_come_from_the_topic_and_be_replaced(graph: Graph) -> None:
    with simulated(graph) as (ours, node):
        graph.wait_for(warns(graph, "no robot"))
        assert "no robot yet" in ours.call("reset").message
        graph.describe(urdf("rrp"))
        assert list(ours.next_state().name) == JOINTS
        ours.call("pause", data=True)
        assert ours.call("set_state", name=["lift"], position=[0.5]).success
        graph.describe("<robot name='broken'><link name='a'>")
        graph.wait_for(warns(graph, "robot 'rrp' stays in use"))
        present = node._running
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: graph.diagnostics[-1].level == DiagnosticStatus.OK)
        assert node._running is present
        graph.describe(urdf("rrp").replace('value="3.0"', 'value="3.5"'))
        graph.wait_for(lambda: node._running is not present)
        ours.state_when(lambda state: list(state.position) == [0.0, 0.5, 0.0])
        graph.describe(urdf("rx90"))
        ours.state_when(lambda state: len(state.name) == 6)


def test_deactivated_it_is_silent_and_time_stands_still(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True) as (ours, node):
        ours.next_state()
        node.trigger_deactivate()
        graph.wait_for(lambda: "not active" in ours.call("step", steps=1).message)
        count, stamp = len(ours.states), nanoseconds(ours.states[-1].header.stamp)
        graph.wait_for(warns(graph, "joints"))
        assert len(ours.states) == count
        node.trigger_activate()
        assert nanoseconds(ours.next_state().header.stamp) >= stamp
        node.trigger_deactivate()
        node.trigger_cleanup()
        graph.wait_for(lambda: graph.node.count_publishers("joint_states") == 1)
        node.trigger_configure()
        node.trigger_activate()
        ours.next_state()


MISTAKES = {
    "an unknown joint": ({"initial__elbow__position": 0.1}, "'elbow'"),
    "a kind that is none": ({"initial__lift__place": 0.1}, "it is initial.<joint>.position or initial"),
    "beyond a stop": ({"initial__lift__position": 5.0}, "not between"),
    "a seed below zero": ({"seed": -1}, "seed out of range. Min: 0, Max: 2147483647, value: -1"),
    "an unknown integrator": ({"integrator": "euler"}, "choose 'auto', 'rk4', 'semi_implicit_euler'"),
    "an order with an unknown joint": ({"command_joints": ["elbow"]}, "command_joints names 'elbow'"),
    "a payload without a link": ({"payload__link": "hand", "payload__mass": 1.0}, "no link 'hand'"),
    "a side file that is not there": ({"side_file": "/no/such.yaml"}, "/no/such.yaml"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_in_parameters_are_named(case: str, graph: Graph) -> None:
    parameters, sentence = MISTAKES[case]
    with (
        pytest.raises((DynError, ParameterException), match=sentence),
        hosted(graph, Simulation, parameter_overrides=overrides(**RRP, **parameters)),
    ):
        pass
