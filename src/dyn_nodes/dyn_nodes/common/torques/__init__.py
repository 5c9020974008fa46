# SPDX-License-Identifier: Apache-2.0
"""Shared parts of nodes that publish torques: desired motion, limits, reactions to stale data."""
