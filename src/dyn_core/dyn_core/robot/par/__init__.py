# SPDX-License-Identifier: Apache-2.0
"""SYMORO+ .par text to a `ParRobot`, to a robot, and back."""
