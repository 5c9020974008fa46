# SPDX-License-Identifier: Apache-2.0
"""Motions that show the dynamic parameters of a robot, within its limits."""
