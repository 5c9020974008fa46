# SPDX-License-Identifier: Apache-2.0
"""Messages that are wrong in every way that a message can be, from a seeded generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Inertia, Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import Robot
from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload

NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1.7e308, 1e30, -1e12, 5e-324, -0.0, 1e5, 7.0)
NAMES = ("", " ", "elbow", "lift\n", "lïft", "关节", "\u202e", "{}%s'\"\\", "/", "x" * 100_000)
SECONDS = (0, -1, 1, -(2**31), 2**31 - 1, 999, 1001)
NANOSECONDS = (0, 1, 999_999_999, 10**9, 2**32 - 1)


class Storm:
    """Makes messages for a robot; about every fourth is good."""

    def __init__(self, rng: np.random.Generator, robot: Robot) -> None:
        self._rng = rng
        self._names = list(robot.joint_names)
        self._links = list(robot.link_names)
        self._parameters = list(zip(robot.parameter_names, robot.parameters, strict=True))

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    def _happens(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)

    def stamp(self, now: Time) -> Time:
        """Answer the present, or a time that is as wrong as can be."""
        if self._happens(0.8):
            return now
        if self._happens(0.5):
            return Time(sec=self._one(SECONDS), nanosec=self._one(NANOSECONDS))
        late = int(self._rng.normal(0.0, 1e8))
        seconds, nanoseconds = divmod(max(now.sec * 10**9 + now.nanosec + late, 0), 10**9)
        return Time(sec=seconds, nanosec=nanoseconds)

    def names(self) -> list[str]:
        """Answer the joints, in any order, or some that are wrong."""
        names = list(self._names)
        if self._happens(0.5):
            self._rng.shuffle(names)
        if self._happens(0.7):
            return names
        for _ in range(int(self._rng.integers(1, 4))):
            k = int(self._rng.integers(len(names) + 1))
            kind = int(self._rng.integers(5))
            if kind == 0 and names:
                names.pop(k % len(names))
            elif kind == 1:
                names.insert(k, self._one(self._names))
            elif kind == 2:
                names.insert(k, self._one(NAMES))
            elif kind == 3 and names:
                names[k % len(names)] = self._one(NAMES)
            elif self._happens(0.02):
                names += [f"joint {j}" for j in range(10_000)]
        return names if self._happens(0.95) else []

    def numbers(self, count: int, good: Sequence[float] = ()) -> list[float]:
        """Answer as many numbers, or not as many, of which some are wrong."""
        spread = self._one((0.05, 0.05, 0.5, 10.0))
        numbers = [float(x) for x in self._rng.normal(0.0, spread, count)]
        if len(good) == count:
            numbers = [x + y for x, y in zip(numbers, good, strict=True)]
        if self._happens(0.6):
            return numbers
        for _ in range(int(self._rng.integers(1, 4))):
            k = int(self._rng.integers(len(numbers) + 1))
            kind = int(self._rng.integers(4))
            if kind == 0 and numbers:
                numbers.pop(k % len(numbers))
            elif kind == 1:
                numbers.insert(k, self._one(NUMBERS))
            elif numbers:
                numbers[k % len(numbers)] = self._one(NUMBERS)
        return numbers if self._happens(0.9) else []

    def number(self) -> float:
        """Answer a number, which may be wrong."""
        return float(self._rng.normal()) if self._happens(0.6) else self._one(NUMBERS)

    def joint_state(self, now: Time) -> JointState:
        names = self.names()
        return JointState(
            header=Header(stamp=self.stamp(now), frame_id=self._one(NAMES)),
            name=names,
            position=self.numbers(len(names)),
            velocity=self._one(([], self.numbers(len(names)))),
            effort=self._one(([], self.numbers(len(names)))),
        )

    def reference(self, now: Time) -> JointReference:
        names = self.names()
        return JointReference(
            header=Header(stamp=self.stamp(now)),
            name=names,
            position=self.numbers(len(names)),
            velocity=self._one(([], self.numbers(len(names)))),
            acceleration=self._one(([], self.numbers(len(names)))),
        )

    def torques(self, now: Time) -> JointTorques:
        names = self.names()
        return JointTorques(
            header=Header(stamp=self.stamp(now)),
            name=names,
            gravity=self.numbers(len(names)),
            total=self.numbers(len(names)),
            status=self._one((0, 1, 5, 255)),
        )

    def commands(self, _: Time) -> Float64MultiArray:
        dimensions = [MultiArrayDimension(label=self._one(NAMES), size=2**32 - 1, stride=0)]
        return Float64MultiArray(
            layout=MultiArrayLayout(dim=self._one(([], dimensions)), data_offset=self._one((0, 2**32 - 1))),
            data=self.numbers(len(self._names)),
        )

    def trajectory(self, now: Time) -> JointTrajectory:
        names = self.names()
        names = names if len(names) < 1000 else self._names
        times = np.cumsum(self._rng.uniform(0.05, 1.0, int(self._rng.integers(0, 5)))).tolist()
        stamp = self._one((Time(), self.stamp(now)))
        return JointTrajectory(
            header=Header(stamp=stamp), joint_names=names, points=[self._point(names, t) for t in times]
        )

    def _point(self, names: Sequence[str], t: float) -> JointTrajectoryPoint:
        still = [0.0] * len(names)
        return JointTrajectoryPoint(
            positions=self.numbers(len(names)),
            velocities=self._one(([], still, still, self.numbers(len(names)))),
            accelerations=self._one(([], still, self.numbers(len(names)))),
            effort=self._one(([], self.numbers(len(names)))),
            time_from_start=self._duration() if self._happens(0.1) else _duration(t),
        )

    def _duration(self) -> Duration:
        return Duration(sec=self._one(SECONDS), nanosec=self._one(NANOSECONDS))

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
        return WrenchStamped(
            header=Header(stamp=self.stamp(now), frame_id=self._one((*self._links, *NAMES))),
            wrench=Wrench(force=self._vector(), torque=self._vector()),
        )

    def _vector(self) -> Vector3:
        return Vector3(x=self.number(), y=self.number(), z=self.number())

    def makers(self) -> dict[str, Callable[[Time], Any]]:
        """What makes the messages of each topic that any of the nodes subscribes, but descriptions."""
        return {
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


def _duration(seconds: float) -> Duration:
    whole, rest = divmod(round(1e9 * seconds), 10**9)
    return Duration(sec=whole, nanosec=rest)
