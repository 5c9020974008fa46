# SPDX-License-Identifier: Apache-2.0
"""Readers of log files: one module per format, each returns a `Recording`.

May import core, robot and the modules recording and log of `logs`. Begin in csv.py.
"""
