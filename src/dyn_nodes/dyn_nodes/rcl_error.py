# SPDX-License-Identifier: Apache-2.0
"""The exception of the ROS 2 client library underneath rclpy, which rclpy itself does not name."""

from __future__ import annotations

try:
    from rclpy._rclpy_pybind11 import RCLError
except ImportError:  # it is a RuntimeError wherever it is
    RCLError = RuntimeError

__all__ = ["RCLError"]
