# SPDX-License-Identifier: Apache-2.0
"""Node `governor`: feasible motions between a planner or teleoperation source and the controller.

It may import common/. Begin with node.py.
"""
