# SPDX-License-Identifier: Apache-2.0
"""The command ``dyn``.

Imports every other room; no room imports it. Begin with `main.py`, then `options.py`. Commands about
a robot are in `robot_commands/`, commands about logs and motions in `motion_commands/`.
"""
