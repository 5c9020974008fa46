# SPDX-License-Identifier: Apache-2.0
"""Control between a model and a robot: trajectories, control laws, limits. No threads, no clock.

This folder itself holds the limits of commands, transitions and the watchdog. May import `simulation` and the
folders below it. Begin with `laws/inverse_dynamics_control.py` or `trajectories/trajectory.py`.
"""
