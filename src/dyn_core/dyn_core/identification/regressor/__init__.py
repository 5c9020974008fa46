# SPDX-License-Identifier: Apache-2.0
"""The linear model of a motion without friction: ``tau = W K`` with base parameters K.

May import rooms below identification only. Begin in base_columns.py.
"""
