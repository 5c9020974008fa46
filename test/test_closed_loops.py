# SPDX-License-Identifier: Apache-2.0
"""Nodes with a five-bar over DDS: passive joints, open loops, singularities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import message_makers
import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from identification_client import identification, wait_until_it_stands
from identification_client import trajectory as rows_of_trajectory
from loose_node import LooseNode, Make, loose_node
from message_makers import AT_ONCE, point
from refusals import refused
from robot_files import ROBOTS
from ros_graph import Graph
from sentence_patterns import Told, said
from simulation_client import simulated
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_core import Model
from dyn_msgs.msg import JointTorques
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

ACTUATED = ["left_shoulder", "right_shoulder"]
PASSIVE = ["left_elbow", "right_elbow"]
GOOD, OTHER = [-0.6, 0.7], [-0.4, 0.5]
OPEN = [-1.5, 1.5]
"""The elbows are further apart than the rods can reach."""
OPEN_AT = re.compile("left_shoulder = -1.5 rad, right_shoulder = 1.5 rad")
NEAR = [0.55, -0.52]
"""The elbows almost coincide."""


@pytest.fixture
def robot(tmp_path: Path) -> dict[str, str]:
    """Parameters for the five-bar with rods of 0.4 m instead of 0.55 m."""
    side = tmp_path / "five_bar.yaml"
    side.write_text(ROBOTS["five_bar"].with_suffix(".yaml").read_text().replace("0.55]", "0.4]"))
    return {"description_file": str(ROBOTS["five_bar"]), "side_file": str(side)}


def loaded(robot: dict[str, str]) -> dyn_core.Robot:
    return dyn_core.load_robot(robot["description_file"], loops=robot["side_file"])


@pytest.fixture
def model(robot: dict[str, str]) -> Model:
    return dyn_core.compile_model(loaded(robot))


def test_the_simulation_publishes_passive_joints(robot: dict[str, str], model: Model, graph: Graph) -> None:
    with simulated(graph, **robot, paused=True, publish_clock=True) as (ours, _):
        ours.send([3.0, -2.0])
        ours.state_when(lambda state: any(state.effort))
        state = ours.stepped(100)
        graph.wait_for(lambda: graph.diagnosis("loops open by") is not None)
    assert list(state.name) == ACTUATED + PASSIVE
    assert list(state.effort) == [3.0, -2.0, 0.0, 0.0]
    q, qd = np.array(state.position), np.array(state.velocity)
    assert np.abs(qd).min() > 1e-3  # the robot moves
    positions, velocities = model.solve_loops(q[:2], qd[:2])
    np.testing.assert_allclose(q[2:], positions, atol=1e-12)
    np.testing.assert_allclose(qd[2:], velocities, atol=1e-9)
    assert all(float(part.split()[0]) < 1e-9 for part in (graph.diagnosis("loops open by") or "").split(","))


@pytest.mark.promise("set-state-loops")
def test_states_with_open_loops_are_refused_by_the_simulation(robot: dict[str, str], graph: Graph) -> None:
    with simulated(graph, **robot, paused=True, publish_clock=True, position_limits=False) as (ours, _):
        before = ours.stepped(1)
        opened, passive = {"where": re.compile(f"at {OPEN_AT.pattern}")}, {"joint": "left_elbow"}
        ours.refuses("set_state", "loops-open-at-positions", opened, name=ACTUATED, position=OPEN)
        ours.refuses("set_state", "placed-joint-passive", passive, name=PASSIVE[:1], position=[1.0])
        assert ours.call("set_state", name=ACTUATED, position=GOOD).success
        after = ours.stepped(1)
    assert before.position[0] == pytest.approx(-0.6435, abs=1e-3)
    assert after.position[0] == pytest.approx(-0.6, abs=1e-3)


@pytest.mark.promise("simulation-leaves-loops")
def test_a_simulation_whose_loops_cannot_close_stops(robot: dict[str, str], graph: Graph) -> None:
    with simulated(graph, **robot, position_limits=False, effort_limits=False) as (ours, node):
        ours.send([-200.0, 200.0])
        graph.wait_for(lambda: node.robot is not None and graph.said("simulation-fault"))
        state = ours.next_state()
        assert np.isfinite([*state.position, *state.velocity]).all()
        assert graph.said("simulation-stopped")
        assert ours.call("reset").success
        ours.state_when(lambda state: abs(state.position[0] + 0.6435) < 0.2)


@pytest.fixture
def make(robot: dict[str, str], ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the robot, without ramps, and keeps them until the end of the test."""
    with ExitStack() as nodes:
        given = {**robot, **AT_ONCE, "ramp_up": 0.0}
        yield lambda node, **more: nodes.enter_context(loose_node(node, **{**given, **more}))


def total(loose: LooseNode) -> list[float]:
    """The newest torques, which are those of the actuated joints."""
    assert list(loose.published["torques"][-1].name) == ACTUATED
    return list(loose.published["torques"][-1].total)


def told(loose: LooseNode) -> Told:
    loose.tick()
    return loose.told


@pytest.mark.parametrize("names", [["right_elbow", *ACTUATED[::-1], "left_elbow"], ACTUATED[::-1]])
def test_feedforward_accepts_states_with_and_without_passive_joints(
    names: list[str], model: Model, make: Make
) -> None:
    loose = make(Feedforward)
    for q in (GOOD, OTHER):
        values = dict(zip(ACTUATED + PASSIVE, [*q, *model.solve_loops(q).tolist()], strict=True))
        for _ in range(2):  # a single jump may be a sensor error
            loose.measure([values[name] for name in names], names=names)
        np.testing.assert_allclose(total(loose), model.gravity_torques(q), rtol=1e-9)
    assert list(loose.published["commands"][-1].data) == total(loose)
    assert told(loose).values["loop condition"] == f"{model.loop_condition(OTHER):.4g}"


@pytest.mark.promise("motion-passive-joints")
def test_references_may_name_passive_joints_that_agree(model: Model, make: Make) -> None:
    loose = make(Feedforward, mode="inverse_dynamics")
    left, right = model.solve_loops(GOOD).tolist()
    loose.measure(GOOD, names=ACTUATED)
    names = ["right_elbow", *ACTUATED[::-1], "left_elbow"]
    motions = [[right, *GOOD[::-1], left], [0.0, -0.1, 0.2, 0.0], [0.0, 2.0, 1.0, 0.0]]
    expected = model.inverse_dynamics(GOOD, [0.2, -0.1], [1.0, 2.0])
    for given in ((GOOD, [0.2, -0.1], [1.0, 2.0], ACTUATED), (*motions, names)):
        loose.refer(*given)
        np.testing.assert_allclose(total(loose), expected, rtol=1e-9)
        loose.pass_time(0.01)
    loose.refer([*GOOD, left + 0.05], names=[*ACTUATED, "left_elbow"])
    values = {"joint": "left_elbow", "given": left + 0.05, "expected": left, "unit": "rad"}
    contradiction = said("passive-position-contradicts-loops", **values)
    assert told(loose).values["references refused"] == "1"
    assert loose.has_told("passive-joints-contradict-loops", cause=contradiction)


@pytest.mark.promise("motion-passive-joints")
@pytest.mark.parametrize("effort_period", [0.0, 0.1])
def test_trajectories_may_name_passive_joints_that_agree(
    effort_period: float, model: Model, make: Make
) -> None:
    """The efforts in the response are those of the actuated joints, as only these have controllers."""
    loose = make(Feedforward, mode="inverse_dynamics", effort_period=effort_period)
    answers = loose.published["joint_trajectory_effort"]
    names = [PASSIVE[0], ACTUATED[1], ACTUATED[0], PASSIVE[1]]
    rows = [[e[0], q[1], q[0], e[1]] for q in (GOOD, OTHER) for e in [model.solve_loops(q)]]
    loose.measure(GOOD, names=ACTUATED)
    loose.send("joint_trajectory", trajectory(rows[0], [rows[1][0] + 0.02, *rows[1][1:]], names=names))
    assert (told(loose).values["trajectories refused"], answers) == ("1", [])
    assert loose.has_told("passive-point-contradicts-loops", point=1, joint="left_elbow")
    loose.send("joint_trajectory", trajectory(*rows, names=names))
    assert list(answers[0].joint_names) == ACTUATED[::-1]
    assert len(answers[0].points) == (20 if effort_period else 2)
    last = answers[0].points[-1]
    assert list(last.positions) == pytest.approx(OTHER[::-1], abs=1e-9)
    assert list(last.effort) == pytest.approx(model.gravity_torques(OTHER)[::-1], abs=1e-6)


@pytest.mark.promise("joint-states-loops")
def test_where_loops_open_the_robot_is_held_at_its_last_good_position(model: Model, make: Make) -> None:
    loose = make(Feedforward, timeout=0.2, ramp_down=0.0)
    held = model.gravity_torques(GOOD)
    loose.measure(GOOD, names=ACTUATED)
    loose.measure(OPEN, names=ACTUATED)
    values = told(loose).values
    assert (values["joint states refused"], values["loop condition"]) == ("1", "the loops do not close")
    loose.pass_time(0.5)
    assert loose.published["torques"][-1].status == JointTorques.STATUS_HELD
    np.testing.assert_allclose(total(loose), held, rtol=1e-9)
    assert loose.told.level == DiagnosticStatus.ERROR
    assert OPEN_AT.search(loose.told.message)
    loose.measure(GOOD, names=ACTUATED)
    np.testing.assert_allclose(total(loose), held, rtol=1e-9)


@pytest.mark.promise("joint-states-loops")
def test_near_a_singularity_torques_follow_the_policy(model: Model, make: Make) -> None:
    """First a warning, closer to the singularity a refusal: torques stay those of the last good position."""
    limits = {"loop_condition__warning": 5.0, "loop_condition__max": 20.0}
    loose = make(Feedforward, **limits, timeout=0.2, on_stale="ramp", ramp_down=0.0)
    between = [0.3, -0.3]
    for q in (GOOD, between, between):  # a single jump may be an error
        loose.measure(q, names=ACTUATED)
    condition = float(model.loop_condition(between))
    assert 5.0 < condition < 20.0 < float(model.loop_condition(NEAR))
    loose.tick()  # the position that was refused as an error
    assert told(loose).level == DiagnosticStatus.WARN
    near = {"positions": "measured", "given": condition, "limit": 5.0}
    assert loose.told.about("loops-near-singularity", **near)
    loose.measure(NEAR, names=ACTUATED)
    values = told(loose).values
    assert values["joint states refused"] == "2"
    assert float(values["loop condition"]) == pytest.approx(model.loop_condition(NEAR), rel=1e-3)
    loose.pass_time(0.5)
    assert loose.published["torques"][-1].status == JointTorques.STATUS_ZERO
    largest = max(abs(value) for torques in loose.published["torques"] for value in torques.total)
    assert largest < 1.01 * max(np.abs(model.gravity_torques(q)).max() for q in (GOOD, between))


@pytest.mark.promise("motion-leaves-loops")
def test_references_and_trajectories_into_open_loops_are_refused(make: Make) -> None:
    loose = make(Feedforward, mode="inverse_dynamics", reference_slack=10.0)
    loose.measure(GOOD, names=ACTUATED)
    loose.refer(OPEN, names=ACTUATED)
    loose.tick()
    opened = re.compile(f".*{OPEN_AT.pattern}.*")
    assert loose.has_told("position-leaves-loops", message="the reference", cause=opened)
    loose.send("joint_trajectory", trajectory(GOOD, [-1.45, 1.45], GOOD))
    values = told(loose).values
    assert loose.has_told("trajectory-leaves-loops", cause=re.compile(".*left_shoulder = -.*"))
    assert [values[f"{name} refused"] for name in ("references", "trajectories")] == ["1", "1"]
    count = len(loose.published["torques"])
    loose.send("joint_trajectory", trajectory(GOOD, OTHER))
    loose.pass_time(0.2)
    assert len(loose.published["torques"]) > count + 10


def trajectory(*positions: Sequence[float], names: Sequence[str] = ACTUATED) -> JointTrajectory:
    still = [0.0] * len(positions[0])
    points = [point(k, q, still, still) for k, q in enumerate(positions, start=1)]
    return message_makers.trajectory(*points, names=names)


def test_limits_of_the_condition_number_are_checked(make: Make) -> None:
    with refused("condition-limits-inverted", warning=50.0, greatest=20.0):
        make(Feedforward, loop_condition__warning=50.0, loop_condition__max=20.0)


@pytest.mark.promise("joint-states-loops", "motion-leaves-loops")
def test_the_controller_accepts_actuated_joints_and_refuses_open_loops(make: Make) -> None:
    loose = make(Controller, natural_frequency=2.0, reference_slack=10.0)

    def measure(q: Sequence[float]) -> None:
        loose.measure([1.3, -1.3, *q], [0.0] * 4, PASSIVE + ACTUATED)

    measure(GOOD)
    loose.refer(OTHER, [0.0] * 2, names=ACTUATED)
    measure(GOOD)
    assert total(loose)[0] > 0.0 > total(loose)[1]
    loose.pass_time(0.01)
    count = len(loose.published["torques"])
    measure(OPEN)
    loose.refer(OPEN, names=ACTUATED)
    values = told(loose).values
    for message in ("the joint state", "the reference"):
        assert loose.has_told("position-leaves-loops", message=message)
    assert [values[f"{name} refused"] for name in ("joint states", "references")] == ["1", "1"]
    assert len(loose.published["torques"]) == count


def test_a_trajectory_is_run_and_recorded_unless_it_opens_the_loop(
    robot: dict[str, str], model: Model, graph: Graph, tmp_path: Path
) -> None:
    parameters = {**robot, "brakes": "true", "natural_frequency": 6.0, "ramp_start": 0.0, "rate": 500.0}
    parameters |= {"timeout": 5.0, "max_age": 5.0, "armature": 0.0}
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
        result = ours.run(motion([assembly, [-1.4, 1.4], assembly])).result()
        assert not result.success
        assert said("trajectory-leaves-loops").search(result.message)
        whole = [[*q, *model.solve_loops(q).tolist()] for q in (assembly, [-0.4, 0.8], assembly)]
        wrong = ours.run(motion([[*q, right - 0.02] for *q, right in whole], names=ACTUATED + PASSIVE))
        contradiction = said("passive-point-contradicts-loops", joint="right_elbow")
        assert contradiction.search(wrong.result().message)
        result = ours.run(motion(whole, names=ACTUATED + PASSIVE)).result()
        assert (result.success, result.message) == (True, "")
    log = dyn_core.read_log(result.log_file, robot=loaded(robot))
    assert log.joint_names == tuple(ACTUATED)
    # Without feedforward the robot sags.
    assert (np.ptp(log.q, axis=0) > [0.2, 0.12]).all()
    assert (np.ptp(log.q, axis=0) < 0.4).all()


def motion(positions: list[list[float]], names: list[str] = ACTUATED) -> JointTrajectory:
    return rows_of_trajectory([2.0 * k for k in range(len(positions))], positions, names=names)
