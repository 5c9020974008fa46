# SPDX-License-Identifier: Apache-2.0
"""Thousands of malformed messages among good ones, for each node and mode.

Whatever comes in, what goes out is whole, finite and within the effort limits of the description, no
callback fails, and good data gets the right torques again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from loose_node import LooseNode, loose_node
from rnea import Pinocchio, by_name, frictionless
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from storm import Storm

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.node import Simulation

MESSAGES = 3000
PAUSES = (0.001, 0.01, 0.05, 0.3)
"""Time from one message to the next (s): at times longer than the timeout of 0.2 s."""
KP = 100.0
STATUS = {getattr(JointTorques, f"STATUS_{name}") for name in ("OK", "LIMITED", "RAMPING", "HELD", "ZERO")}
CASES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "gravity": (Feedforward, {"mode": "gravity", "on_stale": "hold"}),
    "gravity that scales": (Feedforward, {"mode": "gravity", "on_stale": "stop", "on_limit": "scale"}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics", "on_stale": "ramp"}),
    "inverse dynamics withheld": (
        Feedforward,
        {"mode": "inverse_dynamics", "on_limit": "withhold", "effort_period": 0.05, "ramp_start": 0.3},
    ),
    "computed torque": (Feedforward, {"mode": "computed_torque", "on_stale": "hold"}),
    "stiff computed torque": (Feedforward, {"mode": "computed_torque", "natural_frequency": 1000.0}),
    "controller": (Controller, {"p": KP, "d": 5.0, "damping_cutoff": 50.0}),
    "integrating controller": (Controller, {"p": 1e8, "i": 1e8, "d": 1e8, "on_stale": "stop"}),
    "simulation": (Simulation, {}),
}


class Observed:
    """Checks what a node has published against its description alone, read by other means than the node's."""

    def __init__(self, text: str, commanded: list[str]) -> None:
        joints = re.findall(r'<joint name="([^"]+)" type="(?!fixed)[a-z]+".*?</joint>', text, re.DOTALL)
        limits = re.findall(r'<limit [^>]*effort="([^"]+)"', text)
        assert len(joints) == len(limits) > 0
        self.limits = {name: float(limit) for name, limit in zip(joints, limits, strict=True)}
        self._commanded = commanded

    def check(self, loose: LooseNode) -> int:
        """Check all messages since the last time, and answer how many torques or joint states they are."""
        published = loose.published
        for torques in published.get("torques", []):
            assert sorted(torques.name) == sorted(self.limits)
            for field in ("inertial", "coriolis", "gravity", "friction", "total"):
                values = getattr(torques, field)
                assert len(values) == len(torques.name)
                assert all(map(math.isfinite, values)), torques
            self._within(torques.name, torques.total)
            assert torques.status in STATUS
        for commands in published.get("commands", []):
            self._within(self._commanded, commands.data)
        for trajectory in published.get("joint_trajectory_effort", []):
            assert sorted(trajectory.joint_names) == sorted(self.limits)
            for point in trajectory.points:
                self._within(trajectory.joint_names, point.effort)
                assert all(map(math.isfinite, [*point.positions, *point.velocities, *point.accelerations]))
        for states in published.get("joint_states", []):
            assert sorted(states.name) == sorted(self.limits)
            for values in (states.position, states.velocity):
                assert len(values) == len(states.name)
                assert all(map(math.isfinite, values))
            self._within(states.name, states.effort)
        count = len(published.get("torques", published.get("joint_states", [])))
        for messages in published.values():
            messages.clear()
        return count

    def _within(self, names: list[str], values: Any) -> None:
        assert len(values) == len(names)
        for name, value in zip(names, values, strict=True):
            assert abs(value) <= self.limits[name], (name, value)


def thrown(loose: LooseNode, storm: Storm, rng: np.random.Generator, observed: Observed) -> int:
    """Throw the storm at a node; answer how many messages it published meanwhile."""
    own = loose.node.get_fully_qualified_name()
    makers = {
        topic: maker
        for topic, maker in storm.makers().items()
        if loose.hears(topic if topic.startswith("/") else f"{own}/{topic}")
    }
    assert len(makers) >= 3
    count = 0
    for k in range(MESSAGES):
        topic = list(makers)[int(rng.integers(len(makers)))]
        message = makers[topic](loose.stamp)
        loose.send(topic, message)
        loose.pass_time(float(rng.choice(PAUSES, p=(0.6, 0.3, 0.09, 0.01))))
        assert loose.node.failure is None, (topic, message)
        if k % 100 == 0:
            count += observed.check(loose)
    return count + observed.check(loose)


def calm(loose: LooseNode, robot: dyn_core.Robot) -> None:
    """Take back the payloads and parameters that were good ones."""
    for link in robot.link_names:
        loose.send("payload", Payload(link_name=link))
    loose.send("dynamic_parameters", DynamicParameters(name=robot.parameter_names, value=robot.parameters))


def good_for(
    loose: LooseNode, seconds: float, q: Mapping[str, float], reference: JointReference | None = None
) -> None:
    """Send good data at 100 Hz."""
    for _ in range(round(100 * seconds)):
        header = Header(stamp=loose.stamp)
        at_rest = [0.0] * len(q)
        state = JointState(header=header, name=list(q), position=list(q.values()), velocity=at_rest)
        loose.send("/joint_states", state)
        if reference is not None:
            reference.header.stamp = loose.stamp
            loose.send("reference", reference)
        loose.pass_time(0.01)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_a_storm_of_bad_messages_does_no_harm(
    case: str, seed: int, ros_environment: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    make_node, parameters = CASES[case]
    text = frictionless("rrp")
    robot = dyn_core.load_robot(text)
    rng = np.random.default_rng([seed, *case.encode()])
    observed = Observed(text, ["stretch", "lift"] if make_node is not Simulation else [])
    given = {"robot_description": text, **parameters}
    if make_node is not Simulation:
        given["command_joints"] = ["stretch", "lift"]
    with loose_node(make_node, **given) as loose:
        assert thrown(loose, Storm(rng, robot), rng, observed) > 100
        lines = [line for line in capfd.readouterr().err.splitlines() if "[INFO]" not in line]
        # The storm lasts less than a minute of the steady clock of complaints.
        assert len(lines) < 200
        assert max(map(len, lines)) < 600
        check_recovery(case, loose, robot, text, rng)


def check_recovery(
    case: str, loose: LooseNode, robot: dyn_core.Robot, text: str, rng: np.random.Generator
) -> None:
    """Good data gets the torques of Pinocchio, or of the law of the controller written by hand."""
    oracle = Pinocchio(text)
    q = {name: float(rng.uniform(-0.02, 0.02)) for name in oracle.names}
    if case == "simulation":
        assert loose.call("reset", loose.service_request("reset")).success
        loose.send("commands", Float64MultiArray(data=[1.0, 2.0, 3.0]))
        loose.pass_time(0.1)
        assert list(loose.published["joint_states"][-1].effort) == [1.0, 2.0, 3.0]
        return
    wanted = JointReference(name=list(q), position=list(q.values()))
    if case.endswith("controller"):
        good_for(loose, 1.0, q)
        if case == "integrating controller":  # what it has integrated is its own affair
            return
        wanted.position = [value + 0.01 for value in q.values()]
        wanted.velocity = [0.0] * len(q)
        good_for(loose, 1.0, q, wanted)
        assert by_name(loose.published["torques"][-1]) == pytest.approx(dict.fromkeys(q, 0.01 * KP))
        return
    calm(loose, robot)
    if case.startswith("inverse"):
        wanted.velocity = [0.1] * len(q)
        wanted.acceleration = [0.5] * len(q)
        good_for(loose, 3.0, q, wanted)
        expected = oracle.torques(q, dict.fromkeys(q, 0.1), dict.fromkeys(q, 0.5))
    else:
        wanted.velocity = wanted.acceleration = [0.0] * len(q)
        good_for(loose, 3.0, q, wanted)
        expected = oracle.held(q)
    torques = loose.published["torques"][-1]
    assert torques.status == JointTorques.STATUS_OK
    assert by_name(torques) == pytest.approx(expected, rel=1e-9, abs=1e-9)
