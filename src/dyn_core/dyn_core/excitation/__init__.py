# SPDX-License-Identifier: Apache-2.0
"""Exciting trajectories for identification, within the limits of a robot.

May import all rooms but `cli`. Begin with `exciting_trajectory.py`.
"""
