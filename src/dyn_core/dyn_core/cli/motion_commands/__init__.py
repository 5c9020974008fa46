# SPDX-License-Identifier: Apache-2.0
"""Commands about logs and motions, one file each: identification, simulation, excitation.

Imports the shared files of `cli`, never `robot_commands`. Begin with `identify.py`.
"""
