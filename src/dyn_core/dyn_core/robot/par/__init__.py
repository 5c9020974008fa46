# SPDX-License-Identifier: Apache-2.0
"""SYMORO+ .par text to a `ParRobot`, to a robot, and back.

May import `core`, `symbolic`, `robot.mdh`, `robot.urdf` and the data of `robot`. Begin with `reader.py`.
"""
