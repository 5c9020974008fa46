# SPDX-License-Identifier: Apache-2.0
"""Base classes of nodes, the process, the source of the robot, diagnostics and long work.

It may import the files of common/. Begin with managed_node.py, then robot_node.py.
"""
