# SPDX-License-Identifier: Apache-2.0
"""A relay for references: it publishes each reference again under the topic names of the governor."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from dyn_msgs.msg import JointReference
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.process import run


class ReferenceRelay(ManagedNode):
    """Publishes each reference message again as rclpy delivers it."""

    def __init__(self) -> None:
        super().__init__("governor")
        self._active = False
        self._opened: list[Callable[[], object]] = []
        self.start()

    def open(self) -> None:
        self._references = self.create_lifecycle_publisher(
            JointReference, "~/feasible_reference", qos.COMMAND
        )
        wishes = self.create_subscription(JointReference, "~/reference", self._on_reference, qos.EACH_SAMPLE)
        self._opened += [
            lambda: self.destroy_subscription(wishes),
            lambda: self.destroy_lifecycle_publisher(self._references),
        ]

    def close(self) -> None:
        while self._opened:
            self._opened.pop()()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = False
        return super().on_deactivate(state)

    def _on_reference(self, message: JointReference) -> None:
        if self._active:
            self._references.publish(message)


if __name__ == "__main__":
    sys.exit(run(ReferenceRelay, "governor"))
