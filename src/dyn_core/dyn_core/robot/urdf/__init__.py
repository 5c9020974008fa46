# SPDX-License-Identifier: Apache-2.0
"""URDF text to a `UrdfDescription`, to a robot, and back."""
