# SPDX-License-Identifier: Apache-2.0
"""The three modes of the node `feedforward` over DDS, against Pinocchio and formulas written by hand."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from identified_parameters import parameter_file
from rnea import Pinocchio, by_name, frictionless
from robot_files import SIMPLE, urdf
from ros_graph import PATIENT_S, Graph

import dyn_core
from dyn_msgs.msg import JointTorques

FRICTION = {"turn": (1.0, 4.0), "lift": (2.0, 5.0), "stretch": (3.0, 6.0)}
"""Viscous (N m s/rad, N s/m) and Coulomb (N m, N) friction."""


def rough_rrp() -> str:
    """The arm with friction."""
    text = frictionless("rrp")
    for joint, (viscous, coulomb) in FRICTION.items():
        element = f'<dynamics damping="{viscous}" friction="{coulomb}"/>'
        text = re.sub(rf'(<joint name="{joint}"[^>]*>)', rf"\1{element}", text)
    return text


def random_motion(names, seed: int = 3):
    rng = np.random.default_rng(seed)
    return [{name: float(rng.uniform(-0.5, 0.5)) for name in names} for _ in range(3)]


@pytest.mark.parametrize("robot", SIMPLE)
def test_inverse_dynamics_of_references_are_those_of_pinocchio(robot: str, graph: Graph) -> None:
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
        parts = [getattr(torques, term) for term in ("inertial", "coriolis", "gravity", "friction")]
        assert np.sum(parts, axis=0) == pytest.approx(torques.total, rel=1e-12, abs=1e-12)
        assert torques.status == JointTorques.STATUS_OK


@pytest.mark.parametrize("robot", SIMPLE)
def test_computed_torque_is_that_of_pinocchio(robot: str, graph: Graph) -> None:
    """rnea(q, qd, W) with W = qdd_d + d (qd_d - qd) + p (q_d - q), eq. (3.123), gains by joint."""
    text = frictionless(robot)
    oracle = Pinocchio(text)
    first = oracle.names[0]
    graph.feedforward(
        mode="computed_torque",
        natural_frequency=1.5,
        damping=0.7,
        reference_slack=10.0,
        max_age=PATIENT_S,
        **{f"gains__{first}__p": 50.0, f"gains__{first}__d": 3.0},
    )
    graph.load(text)
    w = 2.0 * math.pi * 1.5
    p = dict.fromkeys(oracle.names, w * w) | {first: 50.0}
    d = dict.fromkeys(oracle.names, 2.0 * 0.7 * w) | {first: 3.0}
    wanted = random_motion(oracle.names)
    measured = random_motion(oracle.names, seed=4)
    stamp = graph.refer(oracle.names, *(list(values.values()) for values in wanted))
    # The two topics are not ordered: what is sent before the reference is there is for another one.
    graph.wait_for(lambda: graph.diagnosis("references used") == "1")
    # At the time for which the reference is: for another one it would be carried there.
    graph.publish_state(
        oracle.names, list(measured[0].values()), stamp, velocities=list(measured[1].values())
    )
    W = {
        name: wanted[2][name]
        + d[name] * (wanted[1][name] - measured[1][name])
        + p[name] * (wanted[0][name] - measured[0][name])
        for name in oracle.names
    }
    expected = oracle.torques(measured[0], measured[1], W)
    limits = dict(zip(graph.models[-1].joint_name, graph.models[-1].effort_limit, strict=True))
    expected = {name: min(max(tau, -limits[name]), limits[name]) for name, tau in expected.items()}
    assert by_name(graph.answer_to(stamp)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_computed_torque_holds_where_the_robot_was_first(graph: Graph) -> None:
    graph.feedforward(mode="computed_torque", natural_frequency=1.0)
    text = frictionless("rrp")
    oracle = Pinocchio(text)
    names = graph.load(text).joint_name
    start = dict.fromkeys(names, 0.1)
    still = dict.fromkeys(names, 0.0)
    graph.answer_to(graph.publish_state(names, [0.1] * 3, velocities=[0.0] * 3))
    stamp = graph.publish_state(names, [0.12] * 3, velocities=[0.0] * 3)
    moved = dict.fromkeys(names, 0.12)
    W = {name: (2.0 * math.pi) ** 2 * (start[name] - 0.12) for name in names}
    assert by_name(graph.answer_to(stamp)) == pytest.approx(oracle.torques(moved, still, W))


def test_friction_follows_the_model_and_the_desired_velocity(graph: Graph) -> None:
    graph.feedforward(mode="inverse_dynamics", coulomb_velocity=0.2)
    names = list(graph.load(rough_rrp()).joint_name)
    qd = {"turn": 0.1, "lift": -0.3, "stretch": 0.0}
    stamp = graph.refer(names, [0.1] * 3, [qd[name] for name in names], [0.0] * 3)
    expected = {
        name: viscous * qd[name] + coulomb * math.tanh(qd[name] / 0.2)
        for name, (viscous, coulomb) in FRICTION.items()
    }
    assert by_name(graph.answer_to(stamp), "friction") == pytest.approx(expected)


@pytest.mark.parametrize("given", [{}, {"coulomb_velocity": 0.2}], ids=["of the file", "given"])
def test_the_file_of_parameters_says_how_smooth_friction_is(
    graph: Graph, tmp_path: Path, given: dict[str, float]
) -> None:
    """Of each joint for itself; the parameter counts more."""
    text = rough_rrp()
    of_file = {"turn": 0.05, "lift": 0.4}
    file = parameter_file(tmp_path / "parameters.yaml", dyn_core.load_robot(text), of_file)
    graph.feedforward(mode="inverse_dynamics", dynamic_parameters_file=str(file), **given)
    names = list(graph.load(text).joint_name)
    qd = {"turn": 0.1, "lift": -0.3, "stretch": 0.2}
    stamp = graph.refer(names, [0.1] * 3, [qd[name] for name in names], [0.0] * 3)
    v0 = {**dict.fromkeys(names, 1e-9), **of_file, **dict.fromkeys(names if given else (), 0.2)}
    expected = {
        name: viscous * qd[name] + coulomb * math.tanh(qd[name] / v0[name])
        for name, (viscous, coulomb) in FRICTION.items()
    }
    assert by_name(graph.answer_to(stamp), "friction") == pytest.approx(expected)


@pytest.mark.parametrize("term", ["inertial", "coriolis", "gravity", "friction"])
def test_each_term_has_a_switch(term: str, graph: Graph) -> None:
    graph.feedforward(mode="inverse_dynamics", **{f"terms__{term}": False})
    names = graph.load(rough_rrp()).joint_name
    torques = graph.answer_to(graph.refer(names, [0.3] * 3, [0.5] * 3, [0.7] * 3))
    assert not any(getattr(torques, term))
    others = [t for t in ("inertial", "coriolis", "gravity", "friction") if t != term]
    assert all(any(getattr(torques, other)) for other in others)
    assert np.sum([getattr(torques, t) for t in others], axis=0) == pytest.approx(torques.total)


def test_gravity_mode_takes_no_notice_of_references(graph: Graph) -> None:
    graph.feedforward()
    names = graph.load(urdf("rrp")).joint_name
    before = graph.torques_for(names, [0.3] * 3)
    graph.refer(names, [0.3] * 3, [0.5] * 3, [0.7] * 3)
    after = graph.torques_for(names, [0.3] * 3)
    assert after.total == before.total


def test_inverse_dynamics_are_gravity_torques_before_any_reference(graph: Graph) -> None:
    graph.feedforward(mode="inverse_dynamics")
    names = graph.load(rough_rrp()).joint_name
    torques = graph.torques_for(names, [0.3] * 3)
    assert any(torques.total)
    assert torques.total == torques.gravity
    stamp = graph.refer(names, [0.3] * 3, [0.5] * 3, [0.7] * 3)
    assert graph.answer_to(stamp).total != torques.total
    count = len(graph.torques)
    graph.publish_state(names, [0.2] * 3)
    graph.answer_to(graph.refer(names, [0.3] * 3, [0.5] * 3, [0.7] * 3))
    assert len(graph.torques) == count + 1


def test_derivatives_that_references_lack_are_derived(graph: Graph) -> None:
    """Of a straight line the filter finds the velocity: the friction torque says which."""
    graph.feedforward(mode="inverse_dynamics", derivative_cutoff=50.0, max_reference_speed=1e6, max_age=60.0)
    names = graph.load(rough_rrp()).joint_name
    start = graph.now()
    for k in range(40):
        stamp = type(start)(sec=start.sec, nanosec=start.nanosec)
        stamp.nanosec += k * 5_000_000
        if stamp.nanosec >= 10**9:
            stamp.sec, stamp.nanosec = stamp.sec + 1, stamp.nanosec - 10**9
        graph.answer_to(graph.refer(names, [0.4 * 0.005 * k] * 3, stamp=stamp))
    expected = {name: 0.4 * viscous + coulomb for name, (viscous, coulomb) in FRICTION.items()}
    assert by_name(graph.torques[-1], "friction") == pytest.approx(expected, rel=1e-3)


def test_commands_are_the_torques_in_the_order_of_the_controller(graph: Graph) -> None:
    graph.feedforward(command_joints=["stretch", "turn", "lift"])
    names = graph.load(urdf("rrp")).joint_name
    torques = by_name(graph.torques_for(names, [0.3] * 3))
    graph.wait_for(lambda: graph.commands)
    assert list(graph.commands[-1].data) == [torques["stretch"], torques["turn"], torques["lift"]]


def test_commands_are_in_the_order_of_the_robot_by_default(graph: Graph) -> None:
    graph.feedforward()
    torques = graph.torques_for(graph.load(urdf("rrp")).joint_name, [0.3] * 3)
    graph.wait_for(lambda: graph.commands)
    assert graph.commands[-1].data == torques.total
