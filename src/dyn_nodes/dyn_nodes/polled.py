# SPDX-License-Identifier: Apache-2.0
"""Messages that wait until somebody takes them: no executor is woken for each."""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.subscription import Subscription

_MOST = 200
"""Messages that are taken at once: with 30 us for each, that is 6 ms."""


class Polled:
    """A subscription that no executor looks at: to be woken for each message takes 2 % of a core at 1 kHz."""

    def __init__(self, subscription: Subscription) -> None:
        """Take a subscription to bytes of messages."""
        self._subscription = subscription

    def take(self) -> Iterator[bytes]:
        """Answer the messages that have come since the last time, in order."""
        subscription = self._subscription
        # Of a flood, the rest is for the next time: others in this thread have to go on.
        for _ in range(_MOST):
            taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is None:
                return
            yield taken[0]
