# SPDX-License-Identifier: Apache-2.0
"""Bags for tests, written by rosbags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_case import Motion

rosbags2 = pytest.importorskip("rosbags.rosbag2", reason="rosbags is not installed")
typesys = pytest.importorskip("rosbags.typesys")

SECOND = 1_000_000_000
EPOCH = 1_700_000_000 * SECOND
STORAGES = {"mcap": rosbags2.StoragePlugin.MCAP, "sqlite3": rosbags2.StoragePlugin.SQLITE3}
SUFFIX = {"mcap": ".mcap", "sqlite3": ".db3"}

JOINT_TORQUES = """std_msgs/Header header
string[] name
float64[] inertial
float64[] coriolis
float64[] gravity
float64[] friction
float64[] total
uint8 status
"""
CONTROLLER_STATE = """std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint reference
trajectory_msgs/JointTrajectoryPoint feedback
trajectory_msgs/JointTrajectoryPoint error
trajectory_msgs/JointTrajectoryPoint output
"""
DYNAMIC_JOINT_STATE = """std_msgs/Header header
string[] joint_names
control_msgs/InterfaceValue[] interface_values
================================================================================
MSG: control_msgs/InterfaceValue
string[] interface_names
float64[] values
"""


def store() -> Any:
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    for text, name in (
        (JOINT_TORQUES, "dyn_msgs/msg/JointTorques"),
        (CONTROLLER_STATE, "control_msgs/msg/JointTrajectoryControllerState"),
        (DYNAMIC_JOINT_STATE, "control_msgs/msg/DynamicJointState"),
    ):
        found = typesys.get_types_from_msg(text, name)
        store.register({key: value for key, value in found.items() if key not in store.fielddefs})
    return store


class Messages:
    """Makes messages of the types that are read."""

    def __init__(self) -> None:
        self.store = store()
        self.types = self.store.types

    def header(self, stamp: int) -> Any:
        time = self.types["builtin_interfaces/msg/Time"](sec=stamp // SECOND, nanosec=stamp % SECOND)
        return self.types["std_msgs/msg/Header"](stamp=time, frame_id="")

    def joint_state(
        self, stamp: int, names: Sequence[str], q: Sequence[float], qd: Sequence[float], tau: Sequence[float]
    ) -> Any:
        return self.types["sensor_msgs/msg/JointState"](
            header=self.header(stamp),
            name=list(names),
            position=np.array(q, dtype=float),
            velocity=np.array(qd, dtype=float),
            effort=np.array(tau, dtype=float),
        )

    def joint_torques(self, stamp: int, names: Sequence[str], total: Sequence[float]) -> Any:
        nothing = np.zeros(len(names))
        return self.types["dyn_msgs/msg/JointTorques"](
            header=self.header(stamp),
            name=list(names),
            inertial=nothing,
            coriolis=nothing,
            gravity=nothing,
            friction=nothing,
            total=np.array(total, dtype=float),
            status=0,
        )

    def point(self, q: Sequence[float] = (), qd: Sequence[float] = (), tau: Sequence[float] = ()) -> Any:
        return self.types["trajectory_msgs/msg/JointTrajectoryPoint"](
            positions=np.array(q, dtype=float),
            velocities=np.array(qd, dtype=float),
            accelerations=np.zeros(0),
            effort=np.array(tau, dtype=float),
            time_from_start=self.types["builtin_interfaces/msg/Duration"](sec=0, nanosec=0),
        )

    def controller_state(self, stamp: int, names: Sequence[str], feedback: Any, output: Any) -> Any:
        return self.types["control_msgs/msg/JointTrajectoryControllerState"](
            header=self.header(stamp),
            joint_names=list(names),
            reference=self.point(),
            feedback=feedback,
            error=self.point(),
            output=output,
        )

    def dynamic_joint_state(
        self, stamp: int, names: Sequence[str], q: Sequence[float], tau: Sequence[float]
    ) -> Any:
        value = self.types["control_msgs/msg/InterfaceValue"]
        return self.types["control_msgs/msg/DynamicJointState"](
            header=self.header(stamp),
            joint_names=list(names),
            interface_values=[
                value(interface_names=["effort", "position"], values=np.array([t, p]))
                for p, t in zip(q, tau, strict=True)
            ],
        )

    def numbers(self, data: Sequence[float]) -> Any:
        layout = self.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        return self.types["std_msgs/msg/Float64MultiArray"](layout=layout, data=np.array(data, dtype=float))

    def text(self, text: str) -> Any:
        return self.types["std_msgs/msg/String"](data=text)


def write_bag(
    path: Path, storage: str, messages: Messages, topics: dict[str, Iterable[tuple[int, Any]]]
) -> Path:
    """Write messages, each with the time at which it was received (ns), by topic."""
    with rosbags2.Writer(path, version=9, storage_plugin=STORAGES[storage]) as writer:
        entries = []
        for topic, items in topics.items():
            connection = None
            for received, message in items:
                if connection is None:
                    connection = writer.add_connection(topic, message.__msgtype__, typestore=messages.store)
                entries.append((received, connection, message))
        for received, connection, message in sorted(entries, key=lambda entry: entry[0]):
            writer.write(connection, received, messages.store.serialize_cdr(message, message.__msgtype__))
    return path


def joint_states(messages: Messages, m: Motion) -> list[tuple[int, Any]]:
    """Answer a motion as joint states."""
    return [
        (
            EPOCH + round(t * SECOND) + 250_000,
            messages.joint_state(EPOCH + round(t * SECOND), m.joints, m.q[k], m.qd[k], m.tau[k]),
        )
        for k, t in enumerate(m.time)
    ]


def motion_bag(path: Path, storage: str, m: Motion) -> Path:
    messages = Messages()
    return write_bag(path, storage, messages, {"/joint_states": joint_states(messages, m)})


def bag_file(path: Path) -> Path:
    return next(file for file in path.iterdir() if file.suffix in SUFFIX.values())
