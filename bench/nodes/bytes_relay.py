# SPDX-License-Identifier: Apache-2.0
"""The relay without deserialisation: it copies the stamp of a joint state into constant bytes.

It does less work than any node, as it does not read the numbers. No node can be faster.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any

from rclpy.serialization import serialize_message
from relay import Relay

from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.messages.joint_state_bytes import STAMP, STAMP_AT

_JOINTS = tuple(f"joint_{j}" for j in range(1, 8))


class BytesRelay(Relay):
    """Publishes the same torques, with the stamp of each joint state."""

    def open(self) -> None:
        super().open()
        numbers = array("d", bytes(8 * len(_JOINTS)))
        message, command = self._message, self._command
        message.name = list(_JOINTS)
        message.inertial = message.coriolis = message.gravity = message.friction = message.total = numbers
        command.data = numbers
        self._torque_bytes = bytearray(serialize_message(message))
        self._command_bytes = serialize_message(command)

    def create_subscription(self, *args: Any, **named: Any) -> Any:
        return super().create_subscription(*args, **named, raw=True)

    def _on_joint_state(self, raw: bytes) -> None:
        if not self._active:
            return
        stamp = slice(STAMP_AT, STAMP_AT + STAMP.size)
        self._torque_bytes[stamp] = raw[stamp]
        self._torques.publish(bytes(self._torque_bytes))
        self._commands.publish(self._command_bytes)


if __name__ == "__main__":
    sys.exit(run(BytesRelay, "relay"))
