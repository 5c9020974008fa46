# SPDX-License-Identifier: Apache-2.0
"""Messages and requests that are wrong in every way, among good ones, for a robot."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Inertia, Vector3, Wrench, WrenchStamped
from message_makers import nanoseconds, point, stamp_at, trajectory
from mutations import damaged_bytes
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload

NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1.7e308, 1e30, -1e12, 5e-324, -0.0, 1e5, 7.0)
NAMES = ("", " ", "elbow", "lift\n", "lïft", "关节", "\u202e", "{}%s'\"\\", "/", "x" * 100_000)
SECONDS = (0, -1, 1, -(2**31), 2**31 - 1, 999, 1001)
NANOSECONDS = (0, 1, 999_999_999, 10**9, 2**32 - 1)


_SEQUENCE = re.compile(r"sequence<(.*?)(?:, *\d+)?>$")
_ARRAY = re.compile(r"(.*)\[(\d+)\]$")


class Storm:
    """Makes messages for a robot; about every fourth is good."""

    def __init__(
        self,
        rng: np.random.Generator,
        robot: dyn_core.Robot,
        names: Sequence[str] = (),
        home: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Make messages for joints, by default all, near `home`, the positions of some of them (rad or m)."""
        self._rng = rng
        self._home = home
        self._random = Random(int(rng.integers(2**63)))
        self._names = list(names or robot.joint_names)
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
        """Take some of the items away, add others or replace some by others."""
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
        """Return so many numbers, or another count, with some wrong ones."""
        numbers = [float(x) for x in self._rng.normal(0.0, self._one((0.05, 0.05, 0.5, 10.0)), count)]
        if self._happens(0.6):
            return numbers
        self._spoil(numbers, [NUMBERS])
        return numbers if self._happens(0.9) else []

    def _at_home(self, names: Sequence[str], numbers: list[float]) -> list[float]:
        """Return numbers that are relative to the home position as positions."""
        homes = [self._home.get(name, 0.0) for name in names] + [0.0] * len(numbers)
        return [number + home for number, home in zip(numbers, homes, strict=False)]

    def number(self) -> float:
        """Return a number, which may be wrong."""
        return float(self._rng.normal()) if self._happens(0.6) else self._one(NUMBERS)

    def _message(self, kind: type, now: Time, always: Sequence[str], sometimes: Sequence[str] = ()) -> Any:
        """Return a message with numbers for joints in these fields."""
        names = self.names()
        fields = {field: self.numbers(len(names)) for field in always}
        if "position" in fields:
            fields["position"] = self._at_home(names, fields["position"])
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
        return trajectory(*(self._point(names, t) for t in times), names=names, stamp=stamp)

    def _point(self, names: Sequence[str], t: float) -> JointTrajectoryPoint:
        count = len(names)
        still = [0.0] * count
        velocities = self._one(([], still, still, self.numbers(count)))
        made = point(
            t,
            self._at_home(names, self.numbers(count)),
            velocities,
            self._one(([], still, self.numbers(count))),
        )
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

    def imu(self, now: Time) -> Imu:
        message = Imu(header=Header(stamp=self.stamp(now), frame_id=self._one((*self._links, *NAMES))))
        message.linear_acceleration = self._vector() if self._happens(0.5) else Vector3(z=9.81)
        message.angular_velocity = self._vector() if self._happens(0.5) else Vector3()
        if self._happens(0.7):
            message.orientation_covariance[0] = -1.0
        return message

    def odometry(self, now: Time) -> Odometry:
        message = Odometry(header=Header(stamp=self.stamp(now), frame_id="odom"))
        message.child_frame_id = self._one((*self._links, *NAMES))
        if self._happens(0.3):
            turn = message.pose.pose.orientation
            turn.x, turn.y, turn.z, turn.w = (self.number() for _ in range(4))
        if self._happens(0.5):
            message.twist.twist.linear, message.twist.twist.angular = self._vector(), self._vector()
        return message

    def any_message(self, kind: Any, depth: int = 0) -> Any:
        """Return a message of any type, with any values in its fields."""
        message = kind()
        for name, described in kind.get_fields_and_field_types().items():
            value = self._any(described, depth)
            if value is not None:
                setattr(message, name, value)
        return message

    def _any(self, described: str, depth: int) -> Any:
        """Return a value of a type, such as ``sequence<double>``; None for those that stay as they are."""
        if found := _SEQUENCE.match(described) or _ARRAY.match(described):
            fixed = found.re is _ARRAY
            count = int(found[2]) if fixed else int(self._one((0, 1, 1, 2, 3, 7)))
            values = [self._any(found[1], depth + 1) for _ in range(count)]
            if fixed:
                return np.array(values) if found[1] in ("double", "float") else None
            return values if not values or values[0] is not None else None
        if described in ("double", "float"):
            return self.number() if described == "double" else float(self._rng.normal())
        if described.startswith(("string", "wstring")):
            return self._one((*self._names, *self._links, *NAMES))
        if described == "boolean":
            return self._happens(0.5)
        if described == "octet":
            return bytes([int(self._rng.integers(256))])
        if whole := re.fullmatch(r"(u?)int(\d+)", described):
            bits = int(whole[2]) - (not whole[1])
            least = 0 if whole[1] else -(2**bits)
            return int(self._one((0, 1, 2, 3, 17, 2**bits - 1, least)))
        if "/" in described and depth < 4:
            package, name = described.split("/")
            return self.any_message(getattr(import_module(f"{package}.msg"), name), depth + 1)
        return None

    def maker(self, topic: str) -> Callable[[Time], Any] | None:
        """Return the function that makes messages of a topic, named without its node."""
        makers: dict[str, Callable[[Time], Any]] = {
            "/joint_states": self.joint_state,
            "reference": self.reference,
            "joint_trajectory": self.trajectory,
            "payload": self.payload,
            "dynamic_parameters": self.parameters,
            "feedforward": self.torques,
            "torques": self.torques,
            "commands": self.commands,
            "wrench": self.wrench,
            "base_imu": self.imu,
            "base_odometry": self.odometry,
        }
        return makers.get(topic)

    def raw(self, topic: str, kind: Any, now: Time) -> bytes:
        """Return a message of a topic as bytes, which are sometimes damaged."""
        make = self.maker(topic)
        message = make(now) if make is not None and self._happens(0.97) else self.any_message(kind)
        raw: bytes = serialize_message(message)
        return raw if self._happens(0.95) else damaged_bytes(raw, self._random)
