# SPDX-License-Identifier: Apache-2.0
"""Checks of a robot model: suspicious values are findings, never exceptions.

May import `core` to `model`. Begin with `check_robot.py`.
"""
