# SPDX-License-Identifier: Apache-2.0
"""Base classes of nodes, the process, the source of the robot, diagnostics and long work."""
