# SPDX-License-Identifier: Apache-2.0
"""Commands about a robot, one file each: its data, functions, operations and source code.

Imports the shared files of `cli`, never `motion_commands`. Begin with `evaluate.py`.
"""
