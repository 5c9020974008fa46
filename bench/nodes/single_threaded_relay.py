# SPDX-License-Identifier: Apache-2.0
"""The relay on the single-threaded executor, which the nodes use only if rclpy has no events executor."""

from __future__ import annotations

import sys

from rclpy.executors import SingleThreadedExecutor
from relay import Relay

from dyn_nodes.common.lifecycle import process

if __name__ == "__main__":
    process.make_executor = SingleThreadedExecutor
    sys.exit(process.run(Relay, "relay"))
