# SPDX-License-Identifier: Apache-2.0
"""Closed loops: cut joints as constraints on the joints of the tree, and passive joints.

May import core, symbolic and robot (cut joints: robot/mdh/cut_frames.py). Begin with constraints.py and
loop_structure.py. Other folders mostly use passive_joint_positions.py.
"""
