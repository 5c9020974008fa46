# SPDX-License-Identifier: Apache-2.0
"""What feedforward sends to drives that add gravity themselves, with and without the term of gravity.

Two nodes get the same messages. They differ by gravity torques, which Pinocchio computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from loose_node import LooseNode, loose_node
from message_makers import AT_ONCE, NAMES
from rnea import Pinocchio, by_name, frictionless
from torque_steps import Q

from dyn_msgs.msg import DynamicParameters, JointTorques
from dyn_nodes.feedforward.node import Feedforward

MODES = ["gravity", "inverse_dynamics", "computed_torque"]
STILL = [0.0] * 3
MOVING = {"qd": [0.2, -0.3, 0.1], "qdd": [1.0, 2.0, -1.0]}
Make = Callable[..., tuple[LooseNode, LooseNode]]


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes a node with the term of gravity, the default, and one without it."""
    given = {"robot_description": frictionless("rrp"), **AT_ONCE, "ramp_up": 0.0, "ramp_down": 0.0}
    with ExitStack() as nodes:

        def made(**more: Any) -> tuple[LooseNode, LooseNode]:
            return (
                nodes.enter_context(loose_node(Feedforward, **given, **more)),
                nodes.enter_context(loose_node(Feedforward, **given, **more, terms__gravity=False)),
            )

        yield made


def weight(q: list[float]) -> dict[str, float]:
    return Pinocchio(frictionless("rrp")).held(dict(zip(NAMES, q, strict=True)))


def newest(loose: LooseNode, **more: float) -> Any:
    """Return the newest torques by joint, with something added."""
    totals = by_name(loose.published["torques"][-1])
    return pytest.approx({name: total + more.get(name, 0.0) for name, total in totals.items()}, abs=1e-6)


def work(loose: LooseNode, desired: list[float] | None = None, **rates: list[float]) -> None:
    """Let the robot stand or move at Q, with a reference at a desired position."""
    loose.pass_time(0.01)
    loose.measure(Q, rates.get("qd", STILL))
    if desired is not None:
        loose.refer(desired, rates.get("qd", STILL), rates.get("qdd", STILL))
        loose.pass_time(0.01)
        loose.measure(Q, rates.get("qd", STILL))


@pytest.mark.promise("gravity-sent", "gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_gravity_is_sent_in_every_mode_unless_it_is_switched_off(mode: str, make: Make) -> None:
    """At rest without a desired motion; and along one, elsewhere than the robot."""
    nodes = make(mode=mode)
    elsewhere = [Q[0] + 0.05, Q[1] + 0.08, Q[2] + 0.02]
    for motion in ({}, {"desired": elsewhere}, {"desired": elsewhere, **MOVING}):
        for loose in nodes:
            work(loose, **motion)
        at = elsewhere if motion and mode == "inverse_dynamics" else Q
        with_it, without = nodes
        assert abs(weight(at)["lift"]) > 10.0
        assert newest(without, **weight(at)) == by_name(with_it.published["torques"][-1])
        if not motion or mode == "gravity":
            assert newest(without) == dict.fromkeys(NAMES, 0.0)


@pytest.mark.promise("gravity-sent-at-the-end", "gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_hold_sends_gravity_when_data_stops_and_as_the_last_message(mode: str, make: Make) -> None:
    nodes = make(mode=mode, on_stale="hold", on_shutdown="hold")
    for loose, expected in zip(nodes, (weight(Q), dict.fromkeys(NAMES, 0.0)), strict=True):
        work(loose, Q, **MOVING)
        loose.pass_time(1.0)
        torques = loose.published["torques"]
        assert torques[-1].status == JointTorques.STATUS_HELD
        assert newest(loose) == expected
        work(loose, Q, **MOVING)
        count = len(torques)
        loose.node.trigger_deactivate()
        assert len(torques) == count + 1
        assert newest(loose) == expected
        assert list(loose.published["commands"][-1].data) == list(torques[-1].total)


@pytest.mark.promise("gravity-sent-at-the-end", "gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_stop_leaves_gravity_in_the_last_message(mode: str, make: Make) -> None:
    nodes = make(mode=mode, on_stale="stop")
    for loose, expected in zip(nodes, (weight(Q), dict.fromkeys(NAMES, 0.0)), strict=True):
        work(loose, Q)
        loose.pass_time(0.01)
        count = len(loose.published["torques"])
        loose.pass_time(2.0)
        assert len(loose.published["torques"]) == count
        assert newest(loose) == expected


@pytest.mark.promise("gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_without_gravity_hold_sends_the_constant_friction_of_the_model(mode: str, make: Make) -> None:
    _, loose = make(mode=mode, on_stale="hold", on_shutdown="hold", blend_time=0.0)
    loose.send("dynamic_parameters", DynamicParameters(name=["Fo2"], value=[3.0]))
    work(loose, Q)
    loose.pass_time(1.0)
    assert newest(loose) == {"turn": 0.0, "lift": 3.0, "stretch": 0.0}
    loose.node.trigger_deactivate()
    assert newest(loose) == {"turn": 0.0, "lift": 3.0, "stretch": 0.0}


@pytest.mark.promise("gravity-limits")
def test_effort_limits_are_of_what_is_sent(make: Make) -> None:
    """With a drive that adds gravity, the motors may get more than their limit."""
    for loose in make(mode="inverse_dynamics", reference_slack=1.0):
        work(loose, Q, qdd=[0.0, 1e3, 0.0])
        assert loose.published["torques"][-1].status == JointTorques.STATUS_LIMITED
        assert by_name(loose.published["torques"][-1])["lift"] == 80.0
