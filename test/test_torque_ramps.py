# SPDX-License-Identifier: Apache-2.0
"""Torques change with a ramp in all cases, and keep to their limits whatever the nodes measure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Inertia
from loose_node import Make
from message_makers import AT_ONCE, NAMES
from rnea import Pinocchio, by_name, frictionless
from robot_files import ROBOTS
from torque_steps import (
    STILL,
    Q,
    nodes_of_the_arm,
    send_state,
    smooth,
    states_for,
)

from dyn_core import load_robot
from dyn_msgs.msg import DynamicParameters, JointTorques, Payload
from dyn_nodes.common.lifecycle.robot_source import Loaded


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the arm, and keeps them until the end of the test."""
    with nodes_of_the_arm() as made:
        yield made


@pytest.mark.promise("joint-states-jump", "stale-recovery")
@pytest.mark.parametrize("on_stale", ["hold", "ramp", "stop"])
@pytest.mark.parametrize("seed", range(2))
def test_no_torque_has_a_step(seed: int, on_stale: str, make: Make) -> None:
    """Data that stop, are bad or recover, clock steps, changes of robot and payload."""
    rng = np.random.default_rng(seed)
    loose = make("gravity", blend_time=0.5, on_stale=on_stale)
    q = list(Q)
    happened = set()
    for _ in range(40):
        event = str(rng.choice(["silence", "bad data", "leap", "moved", "payload", "parameters", "none"]))
        happened.add(event)
        if event == "silence":
            loose.pass_time(float(rng.uniform(0.1, 1.5)))
        elif event == "bad data":
            for _ in range(int(rng.integers(1, 60))):
                send_state(loose, [q[0], math.nan, q[2]])
        elif event == "leap":
            loose.set_time(loose.ros_now + int(rng.integers(-(10**10), 10**11)))
        elif event == "moved":
            q[1] = -float(np.sign(q[1]) * rng.uniform(0.4, 0.8))
        elif event == "payload":
            mass = float(rng.uniform(0.0, 2.0))
            loose.send("payload", Payload(link_name="slider", inertia=Inertia(m=mass)))
        elif event == "parameters":
            mass = float(rng.uniform(1.0, 3.0))
            loose.send("dynamic_parameters", DynamicParameters(name=["M2"], value=[mass]))
        states_for(loose, float(rng.uniform(0.02, 1.0)), q)
    assert len(happened) == 7
    torques = loose.published["torques"]
    assert len(torques) > 1000
    assert smooth(torques, 2.0 * max(max(map(abs, torque.total)) for torque in torques))
    assert {torque.status for torque in torques} >= {JointTorques.STATUS_OK, JointTorques.STATUS_RAMPING}


@pytest.mark.promise("activation-ramp", "deactivation")
@pytest.mark.parametrize(
    ("on_shutdown", "how"),
    [("zero", "at once"), ("hold", "at once"), ("hold", "after a cleanup"), ("hold", "with a description")],
)
def test_activations_ramp_up_from_the_last_sent_torques(on_shutdown: str, how: str, make: Make) -> None:
    loose = make("gravity", on_shutdown=on_shutdown)
    torques = states_for(loose, 1.0)
    assert not any(torques[0].total)
    full = list(torques[-1].total)
    assert torques[-1].status == JointTorques.STATUS_OK
    loose.node.trigger_deactivate()
    last = loose.published["torques"][-1]
    held = on_shutdown == "hold"
    expected = full if held else STILL
    assert last.status == (JointTorques.STATUS_HELD if held else JointTorques.STATUS_ZERO)
    assert list(last.total) == list(loose.published["commands"][-1].data) == expected
    assert not states_for(loose, 0.2)
    if how == "after a cleanup":
        loose.node.trigger_cleanup()
        loose.node.trigger_configure()
        loose.reconnect()
    loose.node.trigger_activate()
    if how == "with a description":
        described = loose.node._source.described(ROBOTS["rrp"].read_text())
        loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
    again = states_for(loose, 1.0)
    assert (list(again[0].total), list(again[-1].total)) == (expected, full)
    assert smooth([last, *again], max(map(abs, full)))


@pytest.mark.promise("activation-ramp", "deactivation")
def test_a_controller_ramps_up_from_zero_after_each_activation(make: Make) -> None:
    loose = make("controller")
    for _ in range(2):
        first = states_for(loose, 0.02)
        assert first[0].status == JointTorques.STATUS_RAMPING
        ramp = states_for(loose, 1.0, [value - 0.05 for value in Q])
        assert by_name(ramp[-1]) == pytest.approx(dict.fromkeys(NAMES, 5.0))
        assert smooth([*first, *ramp], 5.0)
        loose.node.trigger_deactivate()
        assert not any(loose.published["torques"][-1].total)
        loose.node.trigger_activate()


TRACKING = {"reference_slack": 1e6, "max_reference_speed": 1e6, "ramp_up": 0.0, **AT_ONCE}


@pytest.mark.promise("tracking-error")
@pytest.mark.parametrize("far", [10.0, 1e5, -9e5])
def test_a_huge_tracking_error_gives_the_effort_limits_and_no_more(far: float, make: Make) -> None:
    loose = make("computed torque", natural_frequency=100.0, **TRACKING)
    send_state(loose, STILL)
    loose.refer([far] * 3, STILL, STILL)
    send_state(loose, STILL)
    torques = loose.published["torques"][-1]
    assert torques.status == JointTorques.STATUS_LIMITED
    assert list(torques.total) == [math.copysign(limit, far) for limit in (60.0, 80.0, 120.0)]


def test_without_gains_torques_are_those_of_the_desired_acceleration(make: Make) -> None:
    text = frictionless("rrp")
    given = {"description_file": "", "robot_description": text, "natural_frequency": 0.0, **TRACKING}
    loose = make("computed torque", **given)
    send_state(loose)
    loose.refer([0.5] * 3, [1.0] * 3, [2.0] * 3)
    q, qd = dict(zip(NAMES, Q, strict=True)), dict(zip(NAMES, [0.1, 0.2, 0.3], strict=True))
    send_state(loose, list(q.values()), list(qd.values()))
    expected = Pinocchio(text).torques(q, qd, dict.fromkeys(NAMES, 2.0))
    assert by_name(loose.published["torques"][-1]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.promise("joint-states-incomplete", "joint-states-velocities")
def test_a_nan_velocity_is_refused_unless_all_are_nan(make: Make) -> None:
    """Drivers without velocity measurement give NaN for all joints; velocities are then derived."""
    loose = make("computed torque", **TRACKING)
    send_state(loose, Q, [0.0, math.nan, 0.0])
    assert not loose.published["torques"]
    assert loose.told.about("message-value-implausible", joint="lift", quantity="velocity")
    for _ in range(3):
        send_state(loose, Q, [math.nan] * 3)
    assert loose.published["torques"][-1].status == JointTorques.STATUS_OK


@pytest.mark.promise("joint-states-range")
@pytest.mark.parametrize("case", ["gravity", "controller"])
@pytest.mark.parametrize("by", [0.5, 0.005])
def test_a_position_outside_of_its_range_gives_a_warning(by: float, case: str, make: Make) -> None:
    """It is still used, as the robot may be there. A rounding error gives no warning."""
    upper: Any = load_robot(ROBOTS["rrp"]).limits["lift"].upper
    loose = make(case, ramp_start=0.0)
    torques = states_for(loose, 1.0, [0.0, upper + by, 0.0])
    assert {torque.status for torque in torques} == {JointTorques.STATUS_OK}
    told = loose.told
    assert told.level == (DiagnosticStatus.OK if by < 0.01 else DiagnosticStatus.WARN)
    assert by < 0.01 or told.about("position-out-of-range", joint="lift", given=upper + by, unit="rad")
