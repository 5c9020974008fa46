# SPDX-License-Identifier: Apache-2.0
"""Node `simulation`: a simulated robot.

It may import common/. Begin with node.py; the robot is in simulated_robot.py.
"""
