# SPDX-License-Identifier: Apache-2.0
"""URDF text to a `UrdfDescription`, to a robot, and back.

May import `core`, `symbolic`, `robot.mdh`, `robot.side_file` and the data of `robot`. Begin with
`reader.py` for the elements that are read, with `conversion.py` for the robot that is made from them.
"""
