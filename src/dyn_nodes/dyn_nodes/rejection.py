# SPDX-License-Identifier: Apache-2.0
"""Why a sample gives no torque."""

from __future__ import annotations


class Rejection(ValueError):
    """A sample is not used; the sentence names the joint and the cause."""
