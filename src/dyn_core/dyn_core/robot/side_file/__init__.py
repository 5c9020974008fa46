# SPDX-License-Identifier: Apache-2.0
"""The YAML file beside a URDF: loops, actuators, friction, elastic joints and the kind of base.

May import `core`, `symbolic`, `robot.mdh` and the data of `robot`. Begin with `reader.py` for the format.
"""
