# SPDX-License-Identifier: Apache-2.0
"""Mapping of columns to quantities of joints, and from the drive side to the joint side.

May import core, robot and the modules log and recording of `logs`. Begin in log_map.py.
"""
