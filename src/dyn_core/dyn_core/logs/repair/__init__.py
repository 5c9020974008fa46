# SPDX-License-Identifier: Apache-2.0
"""Repair and checks of logs: time stamps, gaps, anomalies, plausibility.

May import core, robot, control, logs.mapping and the modules of logs except log_reading. Begin in
log_cleaning.py.
"""
