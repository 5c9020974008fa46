# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes around dyn_core: parameters, topics, conversions, safety; no mathematics here.

Each node has a folder, and `common/` has what nodes share. They may import `dyn_core`, `dyn_msgs` and ROS 2;
a node imports no other node. Begin with feedforward/node.py, then common/torques/torque_node.py.
"""
