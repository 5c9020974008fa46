# SPDX-License-Identifier: Apache-2.0
"""Whatever happens, torques go over to others with a ramp: none has a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Inertia
from loose_node import LooseNode, loose_node
from rnea import Pinocchio, by_name, frictionless
from robot_files import ROBOTS
from torque_steps import NAMES, Q, largest_step, send_state, states_for

from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

RAMPS = {"ramp_start": 0.5, "ramp_up": 0.5, "ramp_down": 0.5, "blend_time": 0.5}
STEEPEST = 1.875 / 0.5 * 0.01
"""Part of the way that a smooth ramp of 0.5 s goes in 0.01 s where it is steepest."""
RRP = {"description_file": str(ROBOTS["rrp"])}


@pytest.mark.parametrize("on_stale", ["hold", "ramp", "stop"])
@pytest.mark.parametrize("seed", range(2))
def test_no_torque_has_a_step(seed: int, on_stale: str, ros_environment: dict[str, str]) -> None:
    """Data that stops, is bad or comes again, clocks that are set, robots and payloads that change."""
    rng = np.random.default_rng(seed)
    with loose_node(Feedforward, **RRP, **RAMPS, on_stale=on_stale) as loose:
        q = list(Q)
        happened = set()
        for _ in range(40):
            event = str(rng.choice(["silence", "bad data", "leap", "moved", "payload", "parameters", "none"]))
            happened.add(event)
            if event == "silence":
                loose.pass_time(float(rng.uniform(0.1, 1.5)))
            elif event == "bad data":
                for _ in range(int(rng.integers(1, 60))):
                    send_state(loose, [q[0], float("nan"), q[2]])
            elif event == "leap":
                loose.set_time(loose.ros_now + int(rng.integers(-(10**10), 10**11)))
            elif event == "moved":
                q[1] = -float(np.sign(q[1]) * rng.uniform(0.4, 0.8))
            elif event == "payload":
                mass = float(rng.uniform(0.0, 2.0))
                loose.send("payload", Payload(link_name="slider", inertia=Inertia(m=mass)))
            elif event == "parameters":
                loose.send(
                    "dynamic_parameters", DynamicParameters(name=["M2"], value=[rng.uniform(1.0, 3.0)])
                )
            states_for(loose, float(rng.uniform(0.02, 1.0)), q)
        assert len(happened) == 7
        torques = loose.published["torques"]
        assert len(torques) > 1000
        greatest = max(max(map(abs, torque.total)) for torque in torques)
        assert largest_step(torques) < 2.0 * greatest * STEEPEST + 1e-9
        assert {torque.status for torque in torques} >= {JointTorques.STATUS_OK, JointTorques.STATUS_RAMPING}


STARTED: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "feedforward": (Feedforward, {}),
    "feedforward that holds at last": (Feedforward, {"on_shutdown": "hold"}),
}


@pytest.mark.parametrize("case", STARTED)
def test_each_activation_begins_with_a_ramp_from_what_was_sent_last(
    case: str, ros_environment: dict[str, str]
) -> None:
    make_node, parameters = STARTED[case]
    with loose_node(make_node, **RRP, **RAMPS, **parameters) as loose:
        torques = states_for(loose, 1.0)
        assert not any(torques[0].total)
        full = list(torques[-1].total)
        assert torques[-1].status == JointTorques.STATUS_OK
        loose.node.trigger_deactivate()
        last = loose.published["torques"][-1]
        expected = full if "holds" in case else [0.0] * 3
        assert list(last.total) == expected
        assert not states_for(loose, 0.2)
        loose.node.trigger_activate()
        again = states_for(loose, 1.0)
        assert list(again[0].total) == expected
        assert list(again[-1].total) == full
        assert largest_step([last, *again]) < max(map(abs, full)) * STEEPEST + 1e-9


def test_a_controller_begins_with_a_ramp_from_zero_after_each_activation(
    ros_environment: dict[str, str],
) -> None:
    with loose_node(Controller, **RRP, p=100.0, ramp_start=0.5) as loose:
        for _ in range(2):
            first = states_for(loose, 0.02)
            assert first[0].status == JointTorques.STATUS_RAMPING
            away = [value - 0.05 for value in Q]
            ramp = states_for(loose, 1.0, away)
            assert by_name(ramp[-1]) == pytest.approx(dict.fromkeys(NAMES, 5.0))
            assert largest_step([*first, *ramp]) < 5.0 * STEEPEST + 1e-9
            loose.node.trigger_deactivate()
            assert not any(loose.published["torques"][-1].total)
            loose.node.trigger_activate()


@pytest.fixture
def tracking(ros_environment: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Makes computed torque for the arm, and keeps it until the end of the test."""
    nodes = []

    def make(**parameters: Any) -> LooseNode:
        given = {"reference_slack": 1e6, "max_reference_speed": 1e6, **parameters}
        context = loose_node(
            Feedforward, robot_description=frictionless("rrp"), mode="computed_torque", **given
        )
        nodes.append(context)
        return context.__enter__()

    yield make
    for context in nodes:
        context.__exit__(None, None, None)


def refer(loose: LooseNode, q: float, qd: float = 0.0, qdd: float = 0.0) -> None:
    reference = JointReference(name=NAMES, position=[q] * 3, velocity=[qd] * 3, acceleration=[qdd] * 3)
    reference.header.stamp = loose.stamp
    loose.send("reference", reference)


@pytest.mark.parametrize("far", [10.0, 1e5, -9e5])
def test_a_huge_tracking_error_gives_the_effort_limits_and_no_more(
    far: float, tracking: Callable[..., LooseNode]
) -> None:
    loose = tracking(natural_frequency=100.0)
    send_state(loose, [0.0] * 3)
    refer(loose, far)
    send_state(loose, [0.0] * 3)
    torques = loose.published["torques"][-1]
    assert torques.status == JointTorques.STATUS_LIMITED
    sign = 1.0 if far > 0.0 else -1.0
    assert list(torques.total) == [sign * 60.0, sign * 80.0, sign * 120.0]


def test_without_gains_the_torques_are_those_of_the_desired_acceleration(
    tracking: Callable[..., LooseNode],
) -> None:
    loose = tracking(natural_frequency=0.0)
    send_state(loose)
    refer(loose, 0.5, 1.0, 2.0)
    q, qd = dict(zip(NAMES, Q, strict=True)), dict(zip(NAMES, [0.1, 0.2, 0.3], strict=True))
    send_state(loose, list(q.values()), list(qd.values()))
    expected = Pinocchio(frictionless("rrp")).torques(q, qd, dict.fromkeys(NAMES, 2.0))
    assert by_name(loose.published["torques"][-1]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_velocity_that_is_no_number_is_refused_unless_all_are(tracking: Callable[..., LooseNode]) -> None:
    """Drivers that measure no velocity say NaN for all joints: it is derived then."""
    loose = tracking()
    nan = float("nan")
    send_state(loose, Q, [0.0, nan, 0.0])
    assert not loose.published["torques"]
    assert "joint 'lift' the velocity nan" in loose.published["diagnostics"][-1].status[0].message
    for _ in range(3):
        send_state(loose, Q, [nan] * 3)
    assert loose.published["torques"][-1].status == JointTorques.STATUS_OK
