# SPDX-License-Identifier: Apache-2.0
"""Quality of service of all topics, and subscriptions that a node polls."""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Publishers of commands: reliable, so that any subscription to them is compatible and the last one arrives;
the newest message only."""

_SEVERAL = 10
"""Messages that a subscription keeps. With one, publishers of a topic would replace messages of each other.
Fast DDS never frees the memory of a message that finds no place because all others are newer."""

EACH_MESSAGE = QoSProfile(depth=_SEVERAL, reliability=ReliabilityPolicy.RELIABLE)
"""Trajectories, payloads, parameters, subscriptions to commands: each message counts."""

EACH_SAMPLE = QoSProfile(depth=_SEVERAL, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Subscriptions to measurements and references, from reliable and best-effort publishers."""

LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Descriptions and models: a late subscriber gets the last message."""

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
