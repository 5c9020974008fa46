# SPDX-License-Identifier: Apache-2.0
"""Control laws and their torques.

May import the folders below `control`, `control.trajectories` and `control.command_limits`.
Begin with `inverse_dynamics_control.py` or `pid.py`.
"""
