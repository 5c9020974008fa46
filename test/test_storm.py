# SPDX-License-Identifier: Apache-2.0
"""Thousands of malformed messages among good ones, for each node and mode.

The output stays complete, finite and within the effort limits of the description, no callback fails, and
good data gets the right torques again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Inertia, Vector3, Wrench, WrenchStamped
from loose_node import LooseNode, loose_node
from message_makers import nanoseconds, point, stamp_at, trajectory
from random_seed import drawn, sizes
from rnea import Pinocchio, by_name, frictionless
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.simulation.node import Simulation

NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1.7e308, 1e30, -1e12, 5e-324, -0.0, 1e5, 7.0)
NAMES = ("", " ", "elbow", "lift\n", "lïft", "关节", "\u202e", "{}%s'\"\\", "/", "x" * 100_000)
SECONDS = (0, -1, 1, -(2**31), 2**31 - 1, 999, 1001)
NANOSECONDS = (0, 1, 999_999_999, 10**9, 2**32 - 1)


class Storm:
    """Makes messages for a robot; about every fourth message is good."""

    def __init__(self, rng: np.random.Generator, robot: dyn_core.Robot) -> None:
        self._rng = rng
        self._names = list(robot.joint_names)
        self._links = list(robot.link_names)
        self._parameters = list(zip(robot.parameter_names, robot.parameters, strict=True))

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    def _happens(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)

    def stamp(self, now: Time) -> Time:
        """Return the present, or a wrong time."""
        if self._happens(0.8):
            return now
        if self._happens(0.5):
            return Time(sec=self._one(SECONDS), nanosec=self._one(NANOSECONDS))
        return stamp_at(max(nanoseconds(now) + int(self._rng.normal(0.0, 1e8)), 0))

    def names(self) -> list[str]:
        """Return the joints, in any order, or wrong names."""
        names = list(self._names)
        if self._happens(0.5):
            self._rng.shuffle(names)
        if self._happens(0.7):
            return names
        self._spoil(names, (self._names, NAMES))
        if self._happens(0.01):
            names += [f"joint {j}" for j in range(10_000)]
        return names if self._happens(0.95) else []

    def _spoil(self, items: list[Any], others: Sequence[Sequence[Any]]) -> None:
        """Remove some items, add others, or replace some by others."""
        for _ in range(int(self._rng.integers(1, 4))):
            k = int(self._rng.integers(len(items) + 1))
            kind = int(self._rng.integers(4))
            if kind == 0 and items:
                items.pop(k % len(items))
            elif kind == 1:
                items.insert(k, self._one(self._one(others)))
            elif items:
                items[k % len(items)] = self._one(others[-1])

    def numbers(self, count: int) -> list[float]:
        """Return this many numbers, or another count, with some wrong ones."""
        numbers = [float(x) for x in self._rng.normal(0.0, self._one((0.05, 0.05, 0.5, 10.0)), count)]
        if self._happens(0.6):
            return numbers
        self._spoil(numbers, [NUMBERS])
        return numbers if self._happens(0.9) else []

    def number(self) -> float:
        """Return a number, which may be wrong."""
        return float(self._rng.normal()) if self._happens(0.6) else self._one(NUMBERS)

    def _message(self, kind: type, now: Time, always: Sequence[str], sometimes: Sequence[str] = ()) -> Any:
        """Return a message with numbers for joints in these fields."""
        names = self.names()
        fields = {field: self.numbers(len(names)) for field in always}
        fields |= {field: self._one(([], self.numbers(len(names)))) for field in sometimes}
        return kind(header=Header(stamp=self.stamp(now), frame_id=self._one(NAMES)), name=names, **fields)

    def joint_state(self, now: Time) -> JointState:
        return self._message(JointState, now, ["position"], ["velocity", "effort"])

    def reference(self, now: Time) -> JointReference:
        return self._message(JointReference, now, ["position"], ["velocity", "acceleration"])

    def torques(self, now: Time) -> JointTorques:
        message = self._message(JointTorques, now, ["gravity", "total"])
        message.status = self._one((0, 1, 5, 255))
        return message

    def commands(self, _: Time) -> Float64MultiArray:
        dimensions = [MultiArrayDimension(label=self._one(NAMES), size=2**32 - 1, stride=0)]
        layout = MultiArrayLayout(dim=self._one(([], dimensions)), data_offset=self._one((0, 2**32 - 1)))
        return Float64MultiArray(layout=layout, data=self.numbers(len(self._names)))

    def trajectory(self, now: Time) -> JointTrajectory:
        names = self.names()
        names = names if len(names) < 1000 else self._names
        times = np.cumsum(self._rng.uniform(0.05, 1.0, int(self._rng.integers(0, 5)))).tolist()
        stamp = self._one((Time(), self.stamp(now)))
        return trajectory(*(self._point(len(names), t) for t in times), names=names, stamp=stamp)

    def _point(self, count: int, t: float) -> JointTrajectoryPoint:
        still = [0.0] * count
        velocities = self._one(([], still, still, self.numbers(count)))
        made = point(t, self.numbers(count), velocities, self._one(([], still, self.numbers(count))))
        made.effort = self._one(([], self.numbers(count)))
        if self._happens(0.1):
            made.time_from_start = Duration(sec=self._one(SECONDS), nanosec=self._one(NANOSECONDS))
        return made

    def payload(self, _: Time) -> Payload:
        i = Inertia(m=abs(self.number()), com=self._vector())
        if self._happens(0.5):
            i.ixx = i.iyy = i.izz = 0.1
        if self._happens(0.3):
            i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz = (self.number() for _ in range(6))
        if self._happens(0.2):
            i.m = self.number()
        return Payload(link_name=self._one((*self._links, self._one(NAMES))), inertia=i)

    def parameters(self, _: Time) -> DynamicParameters:
        chosen = [self._one(self._parameters) for _ in range(3)]
        message = DynamicParameters(name=[name for name, _ in chosen], value=[value for _, value in chosen])
        if self._happens(0.5):
            message.value = self.numbers(3)
        if self._happens(0.3):
            message.name = [self._one(NAMES), *message.name[1:]]
        if self._happens(0.3):
            message.robot_name, message.description_hash = self._one(NAMES), self._one(("", "0" * 64, "x"))
        return message

    def wrench(self, now: Time) -> WrenchStamped:
        header = Header(stamp=self.stamp(now), frame_id=self._one((*self._links, *NAMES)))
        return WrenchStamped(header=header, wrench=Wrench(force=self._vector(), torque=self._vector()))

    def _vector(self) -> Vector3:
        return Vector3(x=self.number(), y=self.number(), z=self.number())

    def makers(self, loose: LooseNode) -> dict[str, Callable[[Time], Any]]:
        """Makers of messages for each topic that a node subscribes, except for descriptions."""
        made: dict[str, Callable[[Time], Any]] = {
            "/joint_states": self.joint_state,
            "reference": self.reference,
            "joint_trajectory": self.trajectory,
            "payload": self.payload,
            "dynamic_parameters": self.parameters,
            "feedforward": self.torques,
            "torques": self.torques,
            "commands": self.commands,
            "wrench": self.wrench,
        }
        own = loose.node.get_fully_qualified_name()
        heard = {topic: topic if topic.startswith("/") else f"{own}/{topic}" for topic in made}
        return {topic: make for topic, make in made.items() if loose.hears(heard[topic])}


PAUSES = (0.001, 0.01, 0.05, 0.3)
"""Time between messages (s); sometimes longer than the timeout of 0.2 s."""
KP = 100.0
STATUS = {getattr(JointTorques, f"STATUS_{name}") for name in ("OK", "LIMITED", "RAMPING", "HELD", "ZERO")}
WITHHELD = {"on_limit": "withhold", "effort_period": 0.05, "ramp_start": 0.3}
CASES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "gravity": (Feedforward, {"mode": "gravity", "on_stale": "hold"}),
    "gravity that scales": (Feedforward, {"mode": "gravity", "on_stale": "stop", "on_limit": "scale"}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics", "on_stale": "ramp"}),
    "inverse dynamics withheld": (Feedforward, {"mode": "inverse_dynamics", **WITHHELD}),
    "computed torque": (Feedforward, {"mode": "computed_torque", "on_stale": "hold"}),
    "stiff computed torque": (Feedforward, {"mode": "computed_torque", "natural_frequency": 1000.0}),
    "controller": (Controller, {"p": KP, "d": 5.0, "damping_cutoff": 50.0}),
    "integrating controller": (Controller, {"p": 1e8, "i": 1e8, "d": 1e8, "on_stale": "stop"}),
    "simulation": (Simulation, {}),
    "governor": (Governor, {}),
}


class Observed:
    """Checks the output of a node against its description, which is parsed by independent code."""

    def __init__(self, text: str, commanded: list[str]) -> None:
        joints = re.findall(r'<joint name="([^"]+)" type="(?!fixed)[a-z]+".*?</joint>', text, re.DOTALL)
        limits = re.findall(r'<limit [^>]*effort="([^"]+)"', text)
        assert len(joints) == len(limits) > 0
        self.limits = {name: float(limit) for name, limit in zip(joints, limits, strict=True)}
        self._commanded = commanded

    def check(self, loose: LooseNode) -> int:
        """Check all messages since the last call, and return the number of torques or joint states."""
        published = loose.published
        for torques in published.get("torques", []):
            terms = (torques.inertial, torques.coriolis, torques.gravity, torques.friction)
            self._complete(torques.name, torques.total, *terms)
            assert torques.status in STATUS
        for commands in published.get("commands", []):
            self._within(self._commanded, commands.data)
        for answer in published.get("joint_trajectory_effort", []):
            assert sorted(answer.joint_names) == sorted(self.limits)
            for one in answer.points:
                self._within(answer.joint_names, one.effort)
                assert all(map(math.isfinite, [*one.positions, *one.velocities, *one.accelerations]))
        for states in published.get("joint_states", []):
            self._complete(states.name, states.effort, states.position, states.velocity)
        for reference in published.get("feasible_reference", []):
            self._wished(reference.name, reference.position, reference.velocity, reference.acceleration)
        for wished in published.get("feasible_trajectory", []):
            for one in wished.points:
                self._wished(wished.joint_names, one.positions, one.velocities, one.accelerations)
        counted = ("torques", "joint_states", "feasible_reference")
        count = next(len(published[topic]) for topic in counted if topic in published)
        for messages in published.values():
            messages.clear()
        return count

    def _complete(self, names: list[str], efforts: Any, *others: Any) -> None:
        """Check that there are efforts within limits, and other finite numbers, for all joints."""
        assert sorted(names) == sorted(self.limits)
        self._within(names, efforts)
        for values in others:
            assert len(values) == len(names)
            assert all(map(math.isfinite, values)), values

    def _wished(self, names: list[str], positions: Any, *derivatives: Any) -> None:
        """See that there are finite numbers for all joints; derivatives may be left out."""
        assert sorted(names) == sorted(self.limits)
        for values in (positions, *(given for given in derivatives if len(given))):
            assert len(values) == len(names)
            assert all(map(math.isfinite, values)), values

    def _within(self, names: list[str], values: Any) -> None:
        for name, value in zip(names, values, strict=True):
            assert abs(value) <= self.limits[name], (name, value)


def thrown(loose: LooseNode, storm: Storm, rng: np.random.Generator, observed: Observed, size: int) -> int:
    """Send this many messages to a node; return the number that it published meanwhile."""
    makers = storm.makers(loose)
    assert len(makers) >= 3
    count = 0
    for k in range(size):
        topic = list(makers)[int(rng.integers(len(makers)))]
        message = makers[topic](loose.stamp)
        loose.send(topic, message)
        loose.pass_time(float(rng.choice(PAUSES, p=(0.6, 0.3, 0.09, 0.01))))
        assert loose.node.failure is None, (topic, message)
        if k % 100 == 0:
            count += observed.check(loose)
    return count + observed.check(loose)


def good_for(
    loose: LooseNode, seconds: float, q: Mapping[str, float], reference: JointReference | None = None
) -> None:
    """Send good data at 100 Hz."""
    for _ in range(round(100 * seconds)):
        loose.measure(list(q.values()), [0.0] * len(q), list(q))
        if reference is not None:
            reference.header.stamp = loose.stamp
            loose.send("reference", reference)
        loose.pass_time(0.01)


@pytest.mark.promise("outputs-finite", "outputs-within-limits", "callbacks-contained")
@sizes(200, 3000, [1, 2])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("ros_environment")
def test_a_storm_of_bad_messages_is_harmless(
    case: str, count: int, seed: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    make_node, parameters = CASES[case]
    text = frictionless("rrp")
    robot = dyn_core.load_robot(text)
    rng = np.random.default_rng([drawn(seed), *case.encode()])
    commanded = {"command_joints": ["stretch", "lift"]} if make_node in (Feedforward, Controller) else {}
    observed = Observed(text, commanded.get("command_joints", []))
    with loose_node(make_node, robot_description=text, **commanded, **parameters) as loose:
        assert thrown(loose, Storm(rng, robot), rng, observed, count) > 100 or seed is None
        lines = [line for line in capfd.readouterr().err.splitlines() if "[INFO]" not in line]
        # The storm lasts less than a minute on the steady clock of the problem log.
        assert len(lines) < 200
        assert max(map(len, lines)) < 600
        check_recovery(case, loose, robot, rng)


def check_recovery(case: str, loose: LooseNode, robot: dyn_core.Robot, rng: np.random.Generator) -> None:
    """Good data give the torques of Pinocchio, or of the control law written by hand."""
    oracle = Pinocchio(frictionless("rrp"))
    q = {name: float(rng.uniform(-0.02, 0.02)) for name in oracle.names}
    if case == "simulation":
        assert loose.call("reset", loose.service_request("reset")).success
        loose.send("commands", Float64MultiArray(data=[1.0, 2.0, 3.0]))
        loose.pass_time(0.1)
        assert list(loose.published["joint_states"][-1].effort) == [1.0, 2.0, 3.0]
        return
    wanted = JointReference(name=list(q), position=list(q.values()))
    if case == "governor":
        loose.pass_time(5.0)  # what is behind goes out
        good_for(loose, 0.02, q, wanted)
        assert loose.published["feasible_reference"][-1] == wanted
        return
    if case.endswith("controller"):
        good_for(loose, 1.0, q)
        if case == "integrating controller":  # the integral is unknown
            return
        wanted.position = [value + 0.01 for value in q.values()]
        wanted.velocity = [0.0] * len(q)
        good_for(loose, 1.0, q, wanted)
        assert by_name(loose.published["torques"][-1]) == pytest.approx(dict.fromkeys(q, 0.01 * KP))
        return
    # Undo the valid payloads and parameters.
    for link in robot.link_names:
        loose.send("payload", Payload(link_name=link))
    loose.send("dynamic_parameters", DynamicParameters(name=robot.parameter_names, value=robot.parameters))
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
