# SPDX-License-Identifier: Apache-2.0
"""Quality of service of the topics, in one place."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

LATEST_SAMPLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Subscriptions to measurements: only the newest matters, from reliable and best-effort publishers alike."""

COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""What we publish for controllers: reliable, so that any subscription is compatible; the newest only."""

EACH_MESSAGE = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
"""Trajectories, payloads, parameters: each of them counts."""

LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Descriptions and models: a late subscriber gets the last one."""

EACH_SAMPLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Subscriptions where several publishers speak of different things, from either kind of publisher."""
