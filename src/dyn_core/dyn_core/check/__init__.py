# SPDX-License-Identifier: Apache-2.0
"""Checks of a robot model: suspicious values are findings, never exceptions.

May import `simulation` and the folders below it; it uses only `core` to `model`. Begin with `check_robot.py`.
"""
