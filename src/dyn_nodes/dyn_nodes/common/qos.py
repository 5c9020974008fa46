# SPDX-License-Identifier: Apache-2.0
"""Quality of service of all topics, and subscriptions that a node polls."""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

LATEST_SAMPLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Subscriptions to measurements: the newest message only, from reliable and best-effort publishers."""

COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Commands: reliable, so that any subscription to them is compatible and the last one arrives; the newest
message only."""

EACH_MESSAGE = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
"""Trajectories, payloads, parameters: each message counts."""

LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Descriptions and models: a late subscriber gets the last message."""

EACH_SAMPLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Subscriptions with several publishers for different subjects, reliable or best-effort."""


_MOST = 200
"""Most messages that are taken at once: at 30 us each, this takes 6 ms."""


class PolledSubscription:
    """A subscription without an executor: waking it for each message would take 2 % of a core at 1 kHz."""

    def __init__(self, subscription: Subscription) -> None:
        """Take a subscription to serialized messages."""
        self._subscription = subscription

    def take(self) -> Iterator[bytes]:
        """Yield the messages that have come since the last call, in order."""
        subscription = self._subscription
        # The rest of a flood waits for the next call: other callbacks of this thread have to run.
        for _ in range(_MOST):
            taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is None:
                return
            yield taken[0]
