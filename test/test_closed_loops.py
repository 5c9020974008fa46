# SPDX-License-Identifier: Apache-2.0
"""Nodes with a five-bar over DDS: passive joints, open loops, singularities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from identified import identification, wait_until_it_stands
from identified import trajectory as rows_of_trajectory
from rclpy.exceptions import ParameterException
from robot_files import ROBOTS
from ros_graph import Graph
from sensor_msgs.msg import JointState
from simulated import hosted, overrides, simulated
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_core import DynError
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common import qos
from dyn_nodes.controller.node import Controller

ACTUATED = ["left_shoulder", "right_shoulder"]
PASSIVE = ["left_elbow", "right_elbow"]
GOOD, OTHER = [-0.6, 0.7], [-0.4, 0.5]
OPEN = [-1.5, 1.5]
"""The elbows are further apart than the rods reach."""
NEAR = [0.55, -0.52]
"""The elbows are almost in one place."""
INSTANT: dict[str, Any] = {"ramp_up": 0.0, "max_age": 30.0}
PATIENT_S = 30.0


@pytest.fixture
def robot(tmp_path: Path) -> dict[str, str]:
    """Parameters for the five-bar with rods of 0.4 m instead of 0.55 m."""
    side = tmp_path / "five_bar.yaml"
    side.write_text(ROBOTS["five_bar"].with_suffix(".yaml").read_text().replace("0.55]", "0.4]"))
    return {"description_file": str(ROBOTS["five_bar"]), "side_file": str(side)}


def loaded(robot: dict[str, str]) -> dyn_core.Robot:
    return dyn_core.load_robot(robot["description_file"], loops=robot["side_file"])


class SteadyClock:
    """A steady clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def warned(graph: Graph, sentence: str) -> bool:
    """Whether the newest diagnostics say that, not as an error."""
    last = graph.diagnostics[-1] if graph.diagnostics else None
    return bool(last and last.level == DiagnosticStatus.WARN and sentence in last.message)


# simulation


def test_the_simulation_publishes_passive_joints(robot: dict[str, str], graph: Graph) -> None:
    parameters = {**robot, "paused": True, "publish_clock": True}
    with simulated(graph, **parameters) as (ours, _):
        ours.send([3.0, -2.0])
        ours.state_when(lambda state: any(state.effort))
        state = ours.stepped(100)
        graph.wait_for(lambda: graph.diagnosis("loops open by") is not None)
    assert list(state.name) == ACTUATED + PASSIVE
    assert list(state.effort) == [3.0, -2.0, 0.0, 0.0]
    q, qd = np.array(state.position), np.array(state.velocity)
    assert np.abs(qd).min() > 1e-3  # it moves
    positions, velocities = dyn_core.compile_model(loaded(robot)).solve_loops(q[:2], qd[:2])
    np.testing.assert_allclose(q[2:], positions, atol=1e-12)
    np.testing.assert_allclose(qd[2:], velocities, atol=1e-9)
    gap, turn = (float(part.split()[0]) for part in (graph.diagnosis("loops open by") or "").split(","))
    assert max(gap, turn) < 1e-9


def test_states_of_the_simulation_that_no_closed_robot_has_are_refused(
    robot: dict[str, str], graph: Graph
) -> None:
    with simulated(graph, **robot, paused=True, publish_clock=True, position_limits=False) as (ours, _):
        before = ours.stepped(1)
        for names, positions, sentence in (
            (ACTUATED, OPEN, "do not close at left_shoulder = -1.5 rad, right_shoulder = 1.5 rad"),
            (PASSIVE[:1], [1.0], "joint 'left_elbow' is passive, it follows through the loops"),
        ):
            answer = ours.call("set_state", name=names, position=positions)
            assert not answer.success
            assert sentence in answer.message
        assert ours.call("set_state", name=ACTUATED, position=GOOD).success
        after = ours.stepped(1)
    assert before.position[0] == pytest.approx(-0.6435, abs=1e-3)
    assert after.position[0] == pytest.approx(-0.6, abs=1e-3)


def test_a_simulation_that_leaves_what_the_loops_allow_stops(robot: dict[str, str], graph: Graph) -> None:
    with simulated(graph, **robot, position_limits=False, effort_limits=False) as (ours, node):
        ours.send([-200.0, 200.0])
        graph.wait_for(lambda: node.robot is not None and graph.logged("the simulation has stopped"))
        state = ours.next_state()
        assert np.isfinite([*state.position, *state.velocity]).all()
        assert graph.logged("cannot go on after")
        assert ours.call("reset").success
        ours.state_when(lambda state: abs(state.position[0] + 0.6435) < 0.2)


# feedforward


@pytest.mark.parametrize("with_passive", [False, True])
def test_feedforward_takes_states_with_passive_joints_and_without(
    with_passive: bool, robot: dict[str, str], graph: Graph
) -> None:
    graph.feedforward(**robot, **INSTANT)
    model = dyn_core.compile_model(loaded(robot))
    names = (
        ["right_elbow", "right_shoulder", "left_shoulder", "left_elbow"] if with_passive else ACTUATED[::-1]
    )
    for q in (GOOD, OTHER):
        values = dict(zip(ACTUATED + PASSIVE, [*q, *model.solve_loops(q).tolist()], strict=True))
        # One alone that is far from the last may be an error of the sensors.
        graph.publish_state(names, [values[name] for name in names])
        torques = graph.torques_for(names, [values[name] for name in names])
        assert list(torques.name) == ACTUATED
        np.testing.assert_allclose(torques.gravity, model.gravity_torques(q), rtol=1e-9)
    graph.wait_for(lambda: list(graph.commands[-1].data) == list(torques.total))
    # It is told once a second: what is told first may be that of the positions before.
    expected = f"{model.loop_condition(OTHER):.4g}"
    graph.wait_for(lambda: graph.diagnosis("loop condition") == expected)


def test_inverse_dynamics_of_references(robot: dict[str, str], graph: Graph) -> None:
    graph.feedforward(**robot, **INSTANT, mode="inverse_dynamics")
    model = dyn_core.compile_model(loaded(robot))
    graph.publish_state(ACTUATED, GOOD)
    graph.wait_for(lambda: graph.diagnosis("joint states used") is not None or graph.torques)
    torques = graph.answer_to(graph.refer(ACTUATED, GOOD, [0.2, -0.1], [1.0, 2.0]))
    expected = model.inverse_dynamics(GOOD, [0.2, -0.1], [1.0, 2.0])
    np.testing.assert_allclose(torques.total, expected, rtol=1e-9)


def test_references_may_name_passive_joints_that_agree(robot: dict[str, str], graph: Graph) -> None:
    graph.feedforward(**robot, **INSTANT, mode="inverse_dynamics")
    model = dyn_core.compile_model(loaded(robot))
    left, right = model.solve_loops(GOOD).tolist()
    graph.publish_state(ACTUATED, GOOD)
    graph.wait_for(lambda: graph.diagnosis("joint states used") is not None or graph.torques)
    names = ["right_elbow", *ACTUATED[::-1], "left_elbow"]
    motions = [[right, *GOOD[::-1], left], [0.0, -0.1, 0.2, 0.0], [0.0, 2.0, 1.0, 0.0]]
    torques = graph.answer_to(graph.refer(names, *motions))
    assert list(torques.name) == ACTUATED
    expected = model.inverse_dynamics(GOOD, [0.2, -0.1], [1.0, 2.0])
    np.testing.assert_allclose(torques.total, expected, rtol=1e-9)
    graph.refer([*ACTUATED, "left_elbow"], [*GOOD, left + 0.05])
    graph.wait_for(lambda: graph.diagnosis("references refused") == "1")
    assert (
        f"the reference cannot be used: passive joint 'left_elbow' is given {left + 0.05:.4g} rad, and the "
        f"loops put it at {left:.4g} rad, 0.05 rad away, where 0.01 rad are let pass"
    ) in graph.diagnostics[-1].message


@pytest.mark.parametrize("effort_period", [0.0, 0.1])
def test_trajectories_may_name_passive_joints_that_agree(
    effort_period: float, robot: dict[str, str], graph: Graph
) -> None:
    """They are answered with the efforts of the actuated joints, which alone have controllers."""
    graph.feedforward(**robot, **INSTANT, mode="inverse_dynamics", effort_period=effort_period)
    answers: list[JointTrajectory] = []
    topic = "feedforward/joint_trajectory"
    graph.node.create_subscription(JointTrajectory, f"{topic}_effort", answers.append, qos.EACH_MESSAGE)
    sender = graph.node.create_publisher(JointTrajectory, topic, qos.EACH_MESSAGE)
    graph.wait_for(
        lambda: sender.get_subscription_count() == 1 and graph.node.count_publishers(f"{topic}_effort") == 1
    )
    model = dyn_core.compile_model(loaded(robot))
    names = [PASSIVE[0], ACTUATED[1], ACTUATED[0], PASSIVE[1]]
    rows = [[e[0], q[1], q[0], e[1]] for q in (GOOD, OTHER) for e in [model.solve_loops(q)]]
    graph.publish_state(ACTUATED, GOOD)
    sender.publish(trajectory(rows[0], [rows[1][0] + 0.02, *rows[1][1:]], names=names))
    graph.wait_for(lambda: graph.diagnosis("trajectories refused") == "1")
    assert "passive joint 'left_elbow' is given" in graph.diagnostics[-1].message
    sender.publish(trajectory(*rows, names=names))
    graph.wait_for(lambda: answers)
    assert list(answers[0].joint_names) == ACTUATED[::-1]
    assert len(answers[0].points) == (20 if effort_period else 2)
    last = answers[0].points[-1]
    assert list(last.positions) == pytest.approx(OTHER[::-1], abs=1e-9)
    assert list(last.effort) == pytest.approx(model.gravity_torques(OTHER)[::-1], abs=1e-6)


def test_where_loops_do_not_close_the_robot_is_held_where_they_did(
    robot: dict[str, str], graph: Graph
) -> None:
    steady = SteadyClock()
    graph.feedforward(steady, **robot, **INSTANT, timeout=0.2, ramp_down=0.0)
    model = dyn_core.compile_model(loaded(robot))
    held = model.gravity_torques(GOOD)
    graph.torques_for(ACTUATED, GOOD)
    graph.publish_state(ACTUATED, OPEN)
    graph.wait_for(lambda: graph.diagnosis("joint states refused") == "1")
    assert graph.diagnosis("loop condition") == "the loops do not close"
    steady.now += 0.5
    graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_HELD)
    np.testing.assert_allclose(graph.torques[-1].total, held, rtol=1e-9)
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    assert (
        "do not close at left_shoulder = -1.5 rad, right_shoulder = 1.5 rad" in graph.diagnostics[-1].message
    )
    torques = graph.torques_for(ACTUATED, GOOD)
    np.testing.assert_allclose(torques.total, held, rtol=1e-9)


def test_near_a_singularity_torques_are_as_the_policy_says(robot: dict[str, str], graph: Graph) -> None:
    """Warned of first, refused nearer to it: torques stay those of the last good position."""
    steady = SteadyClock()
    limits: dict[str, Any] = {"loop_condition__warning": 5.0, "loop_condition__max": 20.0}
    graph.feedforward(steady, **robot, **INSTANT, **limits, timeout=0.2, on_stale="ramp", ramp_down=0.0)
    model = dyn_core.compile_model(loaded(robot))
    between = [0.3, -0.3]
    graph.torques_for(ACTUATED, GOOD)
    graph.publish_state(ACTUATED, between)  # one alone that is far from the last may be an error
    graph.torques_for(ACTUATED, between)
    condition = float(model.loop_condition(between))
    assert 5.0 < condition < 20.0 < float(model.loop_condition(NEAR))
    said = f"near a singularity of the loops: their condition number is {condition:.3g}, above 5"
    graph.wait_for(lambda: warned(graph, f"measured positions: {said}"))
    graph.publish_state(ACTUATED, NEAR)
    graph.wait_for(lambda: graph.diagnosis("joint states refused") == "2")
    assert float(graph.diagnosis("loop condition") or "nan") == pytest.approx(
        model.loop_condition(NEAR), rel=1e-3
    )
    steady.now += 0.5
    graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_ZERO)
    largest = max(abs(value) for torques in graph.torques for value in torques.total)
    assert largest < 1.01 * max(np.abs(model.gravity_torques(q)).max() for q in (GOOD, between))


def test_references_and_trajectories_into_open_loops_are_refused(robot: dict[str, str], graph: Graph) -> None:
    graph.feedforward(**robot, **INSTANT, mode="inverse_dynamics", reference_slack=10.0)
    sender = graph.node.create_publisher(JointTrajectory, "feedforward/joint_trajectory", qos.EACH_MESSAGE)
    graph.wait_for(lambda: sender.get_subscription_count() == 1)
    graph.publish_state(ACTUATED, GOOD)
    graph.refer(ACTUATED, OPEN)
    graph.wait_for(lambda: graph.diagnosis("references refused") == "1")
    assert (
        "the reference cannot be used: the loops of robot 'five_bar' do not close"
        in graph.diagnostics[-1].message
    )
    sender.publish(trajectory(GOOD, [-1.45, 1.45], GOOD))
    graph.wait_for(lambda: graph.diagnosis("trajectories refused") == "1")
    message = graph.diagnostics[-1].message
    assert "the trajectory cannot be followed" in message
    assert "s after its start the loops of robot 'five_bar' do not close at left_shoulder = -" in message
    count = len(graph.torques)
    sender.publish(trajectory(GOOD, OTHER))
    graph.wait_for(lambda: len(graph.torques) > count + 10)


def trajectory(*positions: Sequence[float], names: Sequence[str] = ACTUATED) -> JointTrajectory:
    points = [
        JointTrajectoryPoint(
            positions=list(q),
            velocities=[0.0] * len(q),
            accelerations=[0.0] * len(q),
            time_from_start=Duration(sec=k),
        )
        for k, q in enumerate(positions, start=1)
    ]
    return JointTrajectory(joint_names=names, points=points)


def test_limits_of_the_condition_number_are_checked(robot: dict[str, str], graph: Graph) -> None:
    with pytest.raises(DynError, match=r"loop_condition\.warning is 50, above loop_condition\.max, 20"):
        graph.feedforward(**robot, loop_condition__warning=50.0, loop_condition__max=20.0)
    with pytest.raises(ParameterException):
        graph.feedforward(**robot, loop_condition__max=0.5)


# controller


def test_the_controller_takes_actuated_joints_and_refuses_open_loops(
    robot: dict[str, str], graph: Graph
) -> None:
    torques: list[JointTorques] = []
    graph.node.create_subscription(JointTorques, "controller/torques", torques.append, 100)
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    references = graph.node.create_publisher(JointReference, "controller/reference", qos.COMMAND)
    parameters = {**robot, "max_age": 30.0, "timeout": PATIENT_S, "ramp_start": 0.0, "natural_frequency": 2.0}
    with hosted(graph, Controller, parameter_overrides=overrides(**parameters, reference_slack=10.0)):
        graph.wait_for(lambda: states.get_subscription_count() and references.get_subscription_count())
        graph.wait_for(lambda: graph.node.count_publishers("controller/torques") == 1)

        def measure(q: Sequence[float], elbows: Sequence[float] = (1.3, -1.3)) -> None:
            header, names = Header(stamp=graph.now()), PASSIVE + ACTUATED
            states.publish(
                JointState(header=header, name=names, position=[*elbows, *q], velocity=[0.0] * len(names))
            )

        measure(GOOD)
        graph.wait_for(lambda: torques)
        assert list(torques[-1].name) == ACTUATED
        references.publish(
            JointReference(
                header=Header(stamp=graph.now()), name=ACTUATED, position=OTHER, velocity=[0.0] * 2
            )
        )
        graph.wait_for(lambda: graph.diagnosis("references used") == "1")
        measure(GOOD)
        graph.wait_for(lambda: any(torques[-1].total))
        assert torques[-1].total[0] > 0.0 > torques[-1].total[1]
        count = len(torques)
        measure(OPEN)
        graph.wait_for(lambda: graph.diagnosis("joint states refused") == "1")
        references.publish(JointReference(header=Header(stamp=graph.now()), name=ACTUATED, position=OPEN))
        graph.wait_for(lambda: graph.diagnosis("references refused") == "1")
        assert "do not close" in graph.diagnostics[-1].message
        assert len(torques) == count


# identification


def test_a_trajectory_is_run_and_recorded_unless_it_opens_the_loop(
    robot: dict[str, str], graph: Graph, tmp_path: Path
) -> None:
    parameters = {**robot, "brakes": "true", "natural_frequency": 6.0, "ramp_start": 0.0, "rate": 500.0}
    parameters |= {"timeout": 5.0, "max_age": 5.0}
    graph.start(
        *("-m", "dyn_nodes.compose", "--nodes", "simulation", "controller"),
        *("--remap", "simulation/torques:=controller/torques"),
        "controller/joint_trajectory:=identification/joint_trajectory",
        "--ros-args",
        *(word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")),
    )
    with identification(graph, directory=str(tmp_path), **robot) as (ours, _):
        assembly = [-0.6435, 0.6435]
        wait_until_it_stands(ours, ACTUATED, assembly)
        refused = ours.run(motion([assembly, [-1.4, 1.4], assembly])).result()
        assert not refused.success
        assert "do not close at left_shoulder = -" in refused.message
        model = dyn_core.compile_model(loaded(robot))
        whole = [[*q, *model.solve_loops(q).tolist()] for q in (assembly, [-0.4, 0.8], assembly)]
        wrong = ours.run(motion([[*q, right - 0.02] for *q, right in whole], names=ACTUATED + PASSIVE))
        assert "passive joint 'right_elbow' is given" in wrong.result().message
        result = ours.run(motion(whole, names=ACTUATED + PASSIVE)).result()
        assert (result.success, result.message) == (True, "")
    log = dyn_core.read_log(result.log_file, robot=loaded(robot))
    assert log.joint_names == tuple(ACTUATED)
    # There is no feedforward, so that it sags.
    assert (np.ptp(log.q, axis=0) > [0.2, 0.12]).all()
    assert (np.ptp(log.q, axis=0) < 0.4).all()


def motion(positions: list[list[float]], names: list[str] = ACTUATED) -> JointTrajectory:
    return rows_of_trajectory([2.0 * k for k in range(len(positions))], positions, names=names)
