# SPDX-License-Identifier: Apache-2.0
"""The node `simulation` over DDS: motion, inputs, refusals, services and time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Inertia, Vector3
from message_makers import nanoseconds
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from sentence_patterns import Told, said
from simulation_client import Simulated, hosted, overrides, simulated

import dyn_core
from dyn_core import SimulationSettings, Simulator
from dyn_msgs.msg import Payload
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
STEPPED = {**RRP, "paused": True, "publish_clock": True}
JOINTS = ["turn", "lift", "stretch"]


def reference(**settings: Any) -> Simulator:
    """Expected simulator, with the period of the default rate."""
    given = {"step": 1.0 / 500.0, "substeps": 2} | settings
    return Simulator(dyn_core.load_robot(ROBOTS["rrp"]), SimulationSettings(**given))


def after(steps: int, simulator: Simulator) -> Any:
    """The state of a simulator after some periods."""
    for _ in range(steps):
        simulator.step()
    return simulator.state


def check_fall(states: Sequence[JointState]) -> None:
    """Check that the state at each stamp equals that of the library to the last digit."""
    expected = reference()
    by_time = {nanoseconds(state.header.stamp): state for state in states}
    for k in range(1, max(by_time) // 2_000_000 + 1):
        expected.step()
        if (state := by_time.get(k * 2_000_000)) is not None:
            assert list(state.name) == JOINTS
            assert_array_equal(state.position, expected.state.q)
            assert_array_equal(state.velocity, expected.state.qd)
            assert not any(state.effort)
    assert len(by_time) > 50


def test_the_motion_equals_that_of_the_simulator(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True) as (ours, _):
        graph.wait_for(lambda: len(ours.states) > 100)
    check_fall(ours.states)


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
        assert_array_equal(ours.stepped(200).position, after(200, reference(**settings)).q)


def test_commands_in_the_order_of_the_parameter_and_torques_by_name_move_the_robot(graph: Graph) -> None:
    with simulated(graph, **STEPPED, command_joints=["stretch", "turn"]) as (ours, _):
        ours.send([3.0, 1.0])
        ours.state_when(lambda state: list(state.effort) == [1.0, 0.0, 3.0])
        ours.send_by_name({"stretch": -3.0, "turn": 4.0})
        ours.state_when(lambda state: list(state.effort) == [4.0, 0.0, -3.0])
        graph.wait_for(lambda: graph.warns("commands-on-two-topics", topic="~/torques", other="~/commands"))
        state = ours.stepped(100)
    expected = reference()
    expected.set_effort([4.0, 0.0, -3.0])
    assert_array_equal(state.position, after(100, expected).q)
    assert_array_equal(state.velocity, expected.state.qd)


@pytest.mark.promise("effort-above-limit", "outputs-within-limits")
def test_efforts_are_limited_with_a_warning(graph: Graph) -> None:
    with simulated(graph, **RRP) as (ours, _):
        ours.send([1000.0, 0.0, 0.0])
        assert ours.state_when(lambda state: any(state.effort)).effort[0] == 60.0
        graph.wait_for(lambda: "turn" in (graph.diagnosis("joints at a stop") or ""))
        told = [Told(status) for status in graph.diagnostics]
        assert any(one.about("joints-at-effort-limit", joints="turn") for one in told)
        assert any(one.about("joints-too-fast") for one in told)


SIZE, IMPLAUSIBLE, UNKNOWN_LINK = "command-size", "effort-implausible", said("link-unknown", link="hand")
TURN, LIFT = {"joint": "turn"}, {"joint": "lift"}
BAD_COMMANDS: dict[str, tuple[Callable[[Simulated], None], str, dict[str, Any]]] = {
    "short": (lambda o: o.send([1.0, 2.0]), SIZE, {"given": 2, "count": 3}),
    "empty": (lambda o: o.send([]), SIZE, {"given": 0}),
    "long": (lambda o: o.send([1.0] * 4), SIZE, {"given": 4}),
    "not a number": (lambda o: o.send([1.0, math.nan, 1.0]), IMPLAUSIBLE, LIFT),
    "infinite": (lambda o: o.send([-math.inf, 1.0, 1.0]), IMPLAUSIBLE, TURN),
    "unknown joint": (lambda o: o.send_by_name({"elbow": 1.0}), "effort-joint-unknown", {"joint": "elbow"}),
    "repeated joint": (lambda o: o.send_torques(["turn"] * 2, [1.0, 2.0]), "effort-joint-repeated", TURN),
    "names only": (lambda o: o.send_torques(JOINTS, []), "effort-counts-differ", {"names": 3, "count": 0}),
    "torque not a number": (lambda o: o.send_by_name({"turn": math.nan}), IMPLAUSIBLE, TURN),
    "unknown link": (lambda o: o.push("hand", [1.0] * 3), "wrench-link-unknown", {"cause": UNKNOWN_LINK}),
    "push not a number": (lambda o: o.push("arm", [math.nan] * 3), "wrench-implausible", {"link": "arm"}),
}


@pytest.mark.promise("command-malformed", "wrench-malformed", "refused-no-effect")
@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_refused_inputs_are_reported_and_change_nothing(case: str, graph: Graph) -> None:
    send, code, values = BAD_COMMANDS[case]
    with simulated(graph, **STEPPED) as (ours, _):
        ours.send([1.0, 2.0, 3.0])
        ours.state_when(lambda state: list(state.effort) == [1.0, 2.0, 3.0])
        send(ours)
        graph.wait_for(lambda: graph.warns(code, **values))
        assert "1" in (graph.diagnosis("commands refused"), graph.diagnosis("wrenches refused"))
        assert list(ours.next_state().effort) == [1.0, 2.0, 3.0]


@pytest.mark.promise("stale-simulation")
def test_brakes_hold_until_the_first_command_and_commands_end_after_their_timeout(graph: Graph) -> None:
    with simulated(graph, **STEPPED, brakes=True, command_timeout=0.1) as (ours, _):
        assert list(ours.stepped(100).position) == [0.0, 0.0, 0.0]
        ours.send([1.0, 2.0, 3.0])
        ours.state_when(lambda state: any(state.effort))
        state = ours.stepped(50)
        assert any(state.effort)
        assert any(state.position)
        assert not any(ours.stepped(2).effort)
        graph.wait_for(lambda: graph.warns("command-timeout", age=0.104))


def test_wrenches_act_on_links_for_their_duration(graph: Graph) -> None:
    """A push of 10 N on the tip for 0.1 s, with the sign of the environment acting on the link."""
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


@pytest.mark.promise("clock-simulation")
def test_reset_restores_the_initial_state(graph: Graph) -> None:
    initial = {"initial__stretch__position": 0.05, "initial__lift__position": 0.5}
    with simulated(graph, **STEPPED, **initial, initial__lift__velocity=1.0) as (ours, _):
        first = ours.next_state()
        assert (list(first.position), list(first.velocity)) == ([0.0, 0.5, 0.05], [0.0, 1.0, 0.0])
        ours.send([5.0, 0.0, 0.0])
        ours.state_when(lambda state: any(state.effort))
        before = ours.stepped(100)
        assert ours.call("reset").success
        state = ours.state_when(lambda state: list(state.position) == list(first.position))
        assert list(state.velocity) == list(first.velocity)
        assert not any(state.effort)
        # Time goes on, as most nodes cannot handle clocks that go back.
        assert state.header.stamp == before.header.stamp
        assert nanoseconds(ours.stepped(1).header.stamp) == nanoseconds(before.header.stamp) + 2_000_000


def test_set_state_moves_the_named_joints_only(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        assert ours.call("set_state", name=["lift", "turn"], position=[0.5, 1.0]).success
        ours.state_when(lambda state: list(state.position) == [1.0, 0.5, 0.0])
        assert ours.call("set_state", name=["stretch"], position=[0.05], velocity=[0.1]).success
        state = ours.state_when(lambda state: list(state.position) == [1.0, 0.5, 0.05])
        assert list(state.velocity) == [0.0, 0.0, 0.1]


COUNTS, NOT_PLAUSIBLE = "joint-counts-differ", "joint-value-implausible"
FAST = {**LIFT, "velocity": -1e6, "unit": "rad", "limit": 2.0}
BAD_STATES: dict[str, tuple[list[str], list[float], list[float], str, dict[str, Any]]] = {
    "unknown joint": (["elbow"], [0.0], [], "placed-joint-unknown", {"joint": "elbow"}),
    "repeated joint": (["lift", "lift"], [0.0, 0.0], [], "joint-repeated", LIFT),
    "short": (["lift"], [], [], COUNTS, {"names": 1, "count": 0}),
    "long": (["lift"], [0.0], [0.0, 0.0], COUNTS, {"names": 1, "count": 2, "quantity": "velocities"}),
    "not a number": (["lift"], [math.nan], [], NOT_PLAUSIBLE, LIFT),
    "infinite": (["lift"], [0.0], [math.inf], NOT_PLAUSIBLE, {**LIFT, "given": math.inf}),
    "too fast": (["turn", "lift"], [0.0, 0.0], [2.0, -1e6], "velocity-beyond-limit", FAST),
    "beyond a stop": (["lift"], [9.0], [], "position-beyond-limits", LIFT),
}


@pytest.mark.promise("set-state-malformed")
@pytest.mark.parametrize("case", BAD_STATES)
def test_unusable_states_are_refused(case: str, graph: Graph) -> None:
    names, position, velocity, code, values = BAD_STATES[case]
    with simulated(graph, **STEPPED) as (ours, _):
        ours.refuses("set_state", code, values, name=names, position=position, velocity=velocity)
        assert list(ours.next_state().position) == [0.0, 0.0, 0.0]


@pytest.mark.promise("payload-impossible")
def test_a_payload_acts_at_once(graph: Graph) -> None:
    with simulated(graph, **STEPPED, friction=False) as (ours, _):
        inertia = Inertia(m=4.0, ixx=0.1, iyy=0.1, izz=0.1)
        inertia.com.x = 0.6
        assert ours.call("set_payload", payload=Payload(link_name="slider", inertia=inertia)).success
        with_payload = ours.stepped(100)
        unknown = Payload(link_name="hand", inertia=inertia)
        ours.refuses("set_payload", "link-unknown", {"link": "hand"}, payload=unknown)
        inertia.m = -1.0
        negative = Payload(link_name="slider", inertia=inertia)
        ours.refuses("set_payload", "held-mass-negative", {"mass": -1.0}, payload=negative)
    expected = reference(friction=False)
    expected.set_payload("slider", 4.0, (0.6, 0.0, 0.0), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    assert_array_equal(with_payload.position, after(100, expected).q)


@pytest.mark.promise("payload-other-description")
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
    inertia = [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]
    payload = {"link": "slider", "mass": 2.0, "centre": [0.1, 0.0, 0.0], "inertia": inertia}
    given = {f"payload__{name}": value for name, value in payload.items()}
    with simulated(graph, **STEPPED, **given, model_error=0.2, seed=3) as (ours, _):
        state = ours.stepped(100)
    robot = dyn_core.with_model_error(dyn_core.load_robot(ROBOTS["rrp"]), 0.2, 3)
    expected = Simulator(robot, SimulationSettings(step=0.002, substeps=2))
    expected.set_payload(*payload.values())
    assert_array_equal(state.position, after(100, expected).q)


def test_sensors_have_noise_and_resolution_on_request(graph: Graph) -> None:
    parameters = {"sensors__position_noise": 0.01, "sensors__velocity_resolution": 0.25, "brakes": True}
    with simulated(graph, **STEPPED, **parameters) as (ours, _):
        graph.wait_for(lambda: len(ours.states) > 200)
        ours.call("set_state", name=["lift"], position=[0.0], velocity=[0.3])
        assert ours.state_when(lambda state: any(state.velocity)).velocity[1] == 0.25
    assert_allclose(np.array([state.position for state in ours.states]).std(axis=0), 0.01, rtol=0.4)


def test_paused_time_stands_still_and_the_state_is_still_published(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True) as (ours, _):
        ours.state_when(lambda state: any(state.position))
        assert ours.call("pause", data=True).success
        stamps = [nanoseconds(ours.next_state().header.stamp) for _ in range(10)]
        assert len(set(stamps)) == 1
        assert nanoseconds(ours.call("step", steps=3).time) == stamps[0] + 3 * 2_000_000
        assert ours.call("pause", data=False).success
        ours.state_when(lambda state: nanoseconds(state.header.stamp) > stamps[0] + 5 * 2_000_000)
        ours.refuses("step", "simulation-running", steps=1)


def test_a_call_for_many_steps_returns_soon_with_the_remaining_number(graph: Graph) -> None:
    with simulated(graph, **STEPPED) as (ours, _):
        ours.refuses("step", "steps-zero", steps=0)
        answer = ours.call("step", steps=2**31)
        assert not answer.success
        made, rest = divmod(nanoseconds(answer.time), 2_000_000)
        assert rest == 0
        incomplete = said("steps-incomplete", count=made, steps=2**31, remaining=2**31 - made)
        assert incomplete.fullmatch(answer.message)


@pytest.mark.promise("clock-simulation")
def test_simulated_time_is_published_on_request(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True, use_sim_time=True) as (ours, node):
        graph.wait_for(lambda: len(ours.clocks) > 20 and len(ours.states) > 20)
        times = [nanoseconds(message.clock) for message in ours.clocks]
        assert times == sorted(set(times))
        assert all(time % 2_000_000 == 0 for time in times)
        graph.wait_for(lambda: node.get_clock().now().nanoseconds > 0)
        graph.wait_for(lambda: graph.diagnosis("real-time factor") not in (None, "none"))


def test_by_default_stamps_are_those_of_the_node_and_the_description_is_published(graph: Graph) -> None:
    with simulated(graph, **RRP) as (ours, _):
        assert abs(nanoseconds(graph.now()) - nanoseconds(ours.next_state().header.stamp)) < 5e9
        graph.wait_for(lambda: len(ours.states) > 50)
        assert not ours.clocks
        graph.wait_for(lambda: ours.descriptions)
        assert ours.descriptions[0].data == urdf("rrp")
    with hosted(graph, Simulation, parameter_overrides=overrides(**RRP, publish_description=False)) as node:
        assert "/robot_description" not in [publisher.topic_name for publisher in node.publishers]


def test_a_slow_machine_gives_a_warning_and_the_motion_stays_right(graph: Graph) -> None:
    """Each reading of the steady clock costs 10 ms, and a period needs one reading."""
    ours, ticks = Simulated(graph), count(1)
    parameters = overrides(**RRP, publish_clock=True)
    with hosted(graph, Simulation, steady=lambda: 0.01 * next(ticks), parameter_overrides=parameters):
        graph.wait_for(lambda: graph.warns("machine-too-slow", expected=1.0))
        graph.wait_for(lambda: len(ours.states) > 60)
    # 2 ms of progress in 10 ms, and another 10 ms for each two or three periods.
    assert float(graph.diagnosis("real-time factor")) == pytest.approx(0.15, rel=0.25)
    check_fall(ours.states)


@pytest.mark.promise("simulation-diverges")
def test_a_simulation_that_diverges_stops_with_an_error(graph: Graph) -> None:
    with simulated(graph, **STEPPED, position_limits=False, effort_limits=False) as (ours, _):
        ours.send([9e8, 0.0, 0.0])
        ours.state_when(lambda state: any(state.effort))
        ours.refuses("step", "simulation-diverged", {"joint": "stretch"}, steps=1000)
        graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
        assert graph.told.codes == {"simulation-halted", "simulation-diverged"}
        state = ours.next_state()
        assert all(map(math.isfinite, [*state.position, *state.velocity]))
        ours.send([0.0, 0.0, 0.0])
        graph.wait_for(lambda: graph.diagnosis("commands refused") == "1")
        assert not ours.call("step", steps=1).success
        assert ours.call("reset").success
        assert ours.call("step", steps=1).success


@pytest.mark.promise("description-unusable")
def test_the_robot_can_come_from_the_topic_and_be_replaced(graph: Graph) -> None:
    with simulated(graph) as (ours, node):
        graph.wait_for(lambda: graph.warns("robot-missing"))
        ours.refuses("reset", "robot-not-loaded")
        graph.describe(urdf("rrp"))
        assert list(ours.next_state().name) == JOINTS
        ours.call("pause", data=True)
        assert ours.call("set_state", name=["lift"], position=[0.5]).success
        graph.describe("<robot name='broken'><link name='a'>")
        graph.wait_for(lambda: graph.warns("description-unusable", robot="rrp"))
        present = node._running
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: graph.level == DiagnosticStatus.OK)
        assert node._running is present
        graph.describe(urdf("rrp").replace('value="3.0"', 'value="3.5"'))
        graph.wait_for(lambda: node._running is not present)
        ours.state_when(lambda state: list(state.position) == [0.0, 0.5, 0.0])
        graph.describe(urdf("rx90"))
        ours.state_when(lambda state: len(state.name) == 6)


@pytest.mark.promise("deactivation")
def test_deactivated_it_publishes_nothing_and_time_stands_still(graph: Graph) -> None:
    with simulated(graph, **RRP, publish_clock=True) as (ours, node):
        ours.next_state()
        node.trigger_deactivate()
        ours.refuses("step", "node-inactive", steps=1)
        count, stamp = len(ours.states), nanoseconds(ours.states[-1].header.stamp)
        graph.wait_for(lambda: any(code.startswith("joints-") for code in graph.told.codes))
        assert len(ours.states) == count
        node.trigger_activate()
        assert nanoseconds(ours.next_state().header.stamp) >= stamp
        node.trigger_deactivate()
        node.trigger_cleanup()
        graph.wait_for(lambda: graph.node.count_publishers("joint_states") == 1)
        node.trigger_configure()
        node.trigger_activate()
        ours.next_state()


@pytest.mark.parametrize(
    ("parameters", "code", "values"),
    [
        ({"initial__elbow__position": 0.1}, "argument-joint-unknown", {"unknown": ["elbow"]}),
        ({"initial__lift__place": 0.1}, "parameter-name-unknown", {"parameter": "initial.lift.place"}),
        ({"initial__lift__position": 5.0}, "position-beyond-limits", {"joint": "lift"}),
        ({"payload__link": "hand", "payload__mass": 1.0}, "link-unknown", {"link": "hand"}),
        ({"side_file": "/no/such.yaml"}, "path-or-text-unknown", {}),
    ],
)
def test_wrong_parameters_are_named(
    parameters: dict[str, Any], code: str, values: dict[str, Any], graph: Graph
) -> None:
    with refused(code, **values), simulated(graph, **RRP, **parameters):
        pass
