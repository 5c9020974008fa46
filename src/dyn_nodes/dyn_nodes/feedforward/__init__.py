# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: torques of the dynamic model.

It may import common/. Begin with node.py; the equations are called in torque_source.py.
"""
