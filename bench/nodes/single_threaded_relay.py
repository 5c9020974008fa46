# SPDX-License-Identifier: Apache-2.0
"""The relay on the executor that the nodes do not use where rclpy has the one of events."""

from __future__ import annotations

import sys

from rclpy.executors import SingleThreadedExecutor
from relay import Relay

from dyn_nodes.common.lifecycle import process

if __name__ == "__main__":
    process.make_executor = SingleThreadedExecutor
    sys.exit(process.run(Relay, "relay"))
