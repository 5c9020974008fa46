# SPDX-License-Identifier: Apache-2.0
"""Shared parts of nodes that publish torques: desired motion, limits, reactions to stale data.

It may import common/, common/lifecycle/ and common/messages/. Begin with torque_node.py.
"""
