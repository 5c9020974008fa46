# SPDX-License-Identifier: Apache-2.0
"""Readers of log files: one module per format, each returns a `Recording`.

May import core, robot and the modules recording, log and reading_budget of `logs`. Begin in csv.py.
"""
