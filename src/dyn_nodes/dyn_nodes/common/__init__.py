# SPDX-License-Identifier: Apache-2.0
"""Common parts of the nodes: clocks, qos, parameters and checks of data, and the folders below.

The files of this folder come first, then messages/ and lifecycle/, then torques/. Nothing here imports the
folder of a node. Begin with parameters.py and data_checks.py.
"""
