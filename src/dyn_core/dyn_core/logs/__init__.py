# SPDX-License-Identifier: Apache-2.0
"""Logs of robot motions: from a file to a `Log` in SI units, and on to signals for identification.

May import core, robot and control. Begin in log_reading.py.
"""
