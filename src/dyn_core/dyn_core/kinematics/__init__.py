# SPDX-License-Identifier: Apache-2.0
"""Kinematics: velocities and accelerations of links, Jacobians, over generic scalars."""
