# SPDX-License-Identifier: Apache-2.0
"""Estimation while the robot moves."""
