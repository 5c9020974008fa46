# SPDX-License-Identifier: Apache-2.0
"""The three modes of the node `feedforward` over DDS, against Pinocchio and formulas derived by hand."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from identified_parameters import parameter_file
from loose_node import loose_node
from message_makers import NAMES, later
from rnea import Pinocchio, by_name, frictionless
from robot_files import ROBOTS, SIMPLE, urdf
from ros_graph import Graph

import dyn_core
from dyn_msgs.msg import JointTorques
from dyn_nodes.feedforward.node import Feedforward

FRICTION = {"turn": (1.0, 4.0), "lift": (2.0, 5.0), "stretch": (3.0, 6.0)}
"""Viscous (N m s/rad, N s/m) and Coulomb (N m, N) friction."""
TERMS = ("inertial", "coriolis", "gravity", "friction")


def rough_rrp() -> str:
    text = frictionless("rrp")
    for joint, (viscous, coulomb) in FRICTION.items():
        element = f'<dynamics damping="{viscous}" friction="{coulomb}"/>'
        text = re.sub(rf'(<joint name="{joint}"[^>]*>)', rf"\1{element}", text)
    return text


def random_motion(names, seed: int = 3):
    rng = np.random.default_rng(seed)
    return [{name: float(rng.uniform(-0.5, 0.5)) for name in names} for _ in range(3)]


@pytest.mark.parametrize("robot", SIMPLE)
def test_inverse_dynamics_of_references_agree_with_pinocchio(robot: str, graph: Graph) -> None:
    text = frictionless(robot)
    oracle = Pinocchio(text)
    graph.feedforward(mode="inverse_dynamics", max_reference_speed=1e6)
    graph.load(text)
    for seed in range(3):
        q, qd, qdd = random_motion(oracle.names, seed)
        shuffled = list(np.random.default_rng(seed).permutation(oracle.names))
        stamp = graph.refer(shuffled, *([values[name] for name in shuffled] for values in (q, qd, qdd)))
        torques = graph.answer_to(stamp)
        assert by_name(torques) == pytest.approx(oracle.torques(q, qd, qdd), rel=1e-9, abs=1e-9)
        parts = [getattr(torques, term) for term in TERMS]
        assert np.sum(parts, axis=0) == pytest.approx(torques.total, rel=1e-12, abs=1e-12)
        assert torques.status == JointTorques.STATUS_OK


@pytest.mark.parametrize("robot", SIMPLE)
def test_computed_torque_agrees_with_pinocchio(robot: str, graph: Graph) -> None:
    """rnea(q, qd, W) with W = qdd_d + d (qd_d - qd) + p (q_d - q), eq. (3.123), gains by joint."""
    text = frictionless(robot)
    oracle = Pinocchio(text)
    first = oracle.names[0]
    gains = {f"gains__{first}__p": 50.0, f"gains__{first}__d": 3.0}
    given = {"natural_frequency": 1.5, "damping": 0.7, "reference_slack": 10.0, **gains}
    graph.feedforward(mode="computed_torque", **given)
    info = graph.load(text)
    w = 2.0 * math.pi * 1.5
    p = dict.fromkeys(oracle.names, w * w) | {first: 50.0}
    d = dict.fromkeys(oracle.names, 2.0 * 0.7 * w) | {first: 3.0}
    (q_d, qd_d, qdd_d), (q, qd, _) = (random_motion(oracle.names, seed) for seed in (3, 4))
    stamp = graph.refer(oracle.names, *(list(values.values()) for values in (q_d, qd_d, qdd_d)))
    # The two topics are not synchronised: torques sent before the reference arrives are for another one.
    graph.wait_for(lambda: graph.diagnosis("references used") == "1")
    # Use the time of the reference: at another time the reference would be extrapolated.
    graph.publish_state(oracle.names, list(q.values()), stamp, velocities=list(qd.values()))
    W = {n: qdd_d[n] + d[n] * (qd_d[n] - qd[n]) + p[n] * (q_d[n] - q[n]) for n in oracle.names}
    limits = dict(zip(info.joint_name, info.effort_limit, strict=True))
    expected = {n: min(max(tau, -limits[n]), limits[n]) for n, tau in oracle.torques(q, qd, W).items()}
    assert by_name(graph.answer_to(stamp)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_computed_torque_holds_the_first_position(graph: Graph) -> None:
    graph.feedforward(mode="computed_torque", natural_frequency=1.0)
    text = frictionless("rrp")
    graph.load(text)
    graph.answer_to(graph.publish_state(NAMES, [0.1] * 3, velocities=[0.0] * 3))
    stamp = graph.publish_state(NAMES, [0.12] * 3, velocities=[0.0] * 3)
    moved, still, W = (dict.fromkeys(NAMES, value) for value in (0.12, 0.0, -0.02 * (2.0 * math.pi) ** 2))
    assert by_name(graph.answer_to(stamp)) == pytest.approx(Pinocchio(text).torques(moved, still, W))


@pytest.mark.parametrize(
    ("of_file", "given"), [(False, 0.2), (True, None), (True, 0.2)], ids=["given", "of the file", "both"]
)
def test_friction_is_smoothed_by_the_parameter_or_by_the_file(
    of_file: bool, given: float | None, graph: Graph, tmp_path: Path
) -> None:
    """The friction uses the model and the desired velocity; the file has a value for each joint."""
    text, in_file = rough_rrp(), {"turn": 0.05, "lift": 0.4}
    parameters: dict[str, object] = {} if given is None else {"coulomb_velocity": given}
    if of_file:
        file = parameter_file(tmp_path / "parameters.yaml", dyn_core.load_robot(text), in_file)
        parameters["dynamic_parameters_file"] = str(file)
    graph.feedforward(mode="inverse_dynamics", **parameters)
    graph.load(text)
    v0 = {**dict.fromkeys(NAMES, 1e-9), **in_file, **dict.fromkeys(NAMES if given else (), 0.2)}
    for qd in ([0.1, -0.3, 0.0], [0.1, -0.3, 0.2]):
        stamp = graph.refer(NAMES, [0.1] * 3, qd, [0.0] * 3)
        expected = {
            n: FRICTION[n][0] * v + FRICTION[n][1] * math.tanh(v / v0[n])
            for n, v in zip(NAMES, qd, strict=True)
        }
        assert by_name(graph.answer_to(stamp), "friction") == pytest.approx(expected)


@pytest.mark.parametrize("term", ["gravity", "friction", "coriolis"])
def test_a_term_that_the_drive_compensates_is_not_sent(term: str, graph: Graph) -> None:
    graph.feedforward(mode="inverse_dynamics", drive_compensates=[term])
    graph.load(rough_rrp())
    torques = graph.answer_to(graph.refer(NAMES, [0.3] * 3, [0.5] * 3, [0.7] * 3))
    assert not any(getattr(torques, term))
    others = [getattr(torques, other) for other in TERMS if other != term]
    assert all(map(any, others))
    assert np.sum(others, axis=0) == pytest.approx(torques.total)


def test_inverse_dynamics_are_gravity_torques_before_the_first_reference(graph: Graph) -> None:
    graph.feedforward(mode="inverse_dynamics")
    graph.load(rough_rrp())
    torques = graph.torques_for(NAMES, [0.3] * 3)
    assert any(torques.total)
    assert torques.total == torques.gravity
    motion = ([0.3] * 3, [0.5] * 3, [0.7] * 3)
    assert graph.answer_to(graph.refer(NAMES, *motion)).total != torques.total
    count = len(graph.torques)
    graph.publish_state(NAMES, [0.2] * 3)
    graph.answer_to(graph.refer(NAMES, *motion))
    assert len(graph.torques) == count + 1


def test_missing_derivatives_of_references_are_derived(graph: Graph) -> None:
    """The filter finds the velocity of a straight line; the friction torque shows it."""
    graph.feedforward(mode="inverse_dynamics", derivative_cutoff=50.0, max_reference_speed=1e6, max_age=60.0)
    graph.load(rough_rrp())
    start = graph.now()
    for k in range(40):
        graph.answer_to(graph.refer(NAMES, [0.4 * 0.005 * k] * 3, stamp=later(start, 0.005 * k)))
    expected = {name: 0.4 * viscous + coulomb for name, (viscous, coulomb) in FRICTION.items()}
    assert by_name(graph.torques[-1], "friction") == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("given", [{}, {"command_joints": ["stretch", "turn", "lift"]}])
def test_commands_are_in_the_order_of_the_controller_or_of_the_robot(
    given: dict[str, list[str]], graph: Graph
) -> None:
    graph.feedforward(**given)
    graph.load(urdf("rrp"))
    torques = by_name(graph.torques_for(NAMES, [0.3] * 3))
    graph.refer(NAMES, [0.3] * 3, [0.5] * 3, [0.7] * 3)  # gravity torques do not depend on it
    assert by_name(graph.torques_for(NAMES, [0.3] * 3)) == torques
    graph.wait_for(lambda: graph.commands)
    assert list(graph.commands[-1].data) == [torques[n] for n in given.get("command_joints", NAMES)]


@pytest.mark.promise("control-lost", "control-lost-diagnostics")
@pytest.mark.parametrize("on_stale", ["hold", "ramp", "stop"])
def test_computed_torque_that_has_lost_the_robot_ends_as_stale_data_does(
    on_stale: str, ros_environment: dict[str, str]
) -> None:
    """The joint swings more and more; afterwards gravity is sent, or zero, also with `stop`."""
    given = {"ramp_start": 0.0, "ramp_down": 0.1, "max_torque_rate": 0.0, "on_stale": on_stale}
    gains = {"mode": "computed_torque", "natural_frequency": 20.0, "description_file": str(ROBOTS["rrp"])}
    still = [0.0] * 3
    with loose_node(Feedforward, **given, **gains) as loose:
        loose.measure(still, still)
        swing = 0.0005
        while not loose.has_told("control-diverges", joint="lift"):
            swing *= -1.3
            loose.pass_time(0.01)
            loose.measure([0.0, swing, 0.0], still)
            assert abs(swing) < 0.1
        assert loose.told.level == DiagnosticStatus.ERROR
        for _ in range(20):
            loose.pass_time(0.01)
            loose.measure([0.0, swing, 0.0], still)
        last = loose.published["torques"][-1]
        held = Pinocchio(urdf("rrp")).held({"turn": 0.0, "lift": swing, "stretch": 0.0})
        expected = held if on_stale == "hold" else dict.fromkeys(NAMES, 0.0)
        assert by_name(last) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert last.status == (JointTorques.STATUS_HELD if on_stale == "hold" else JointTorques.STATUS_ZERO)
        loose.refer([0.0, swing, 0.0])
        assert loose.has_told("control-diverges")
        assert "references used" not in loose.told.values
