# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: PID control of the joints with a feedforward.

It may import common/. Begin with node.py; the control law is in joint_controller.py.
"""
