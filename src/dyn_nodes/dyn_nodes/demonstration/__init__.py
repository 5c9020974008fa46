# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a simulated robot follows a motion under PD control, without and with feedforward.

It starts the nodes as processes, and imports common/ only. Begin with demonstration_run.py; the command is
`dyn_nodes.demo`.
"""
