# SPDX-License-Identifier: Apache-2.0
"""Integration methods, their equations of motion, and the events of friction and stops.

May import settings and states of `simulation`, and the folders below. Begin with `integration_step.py`.
"""
