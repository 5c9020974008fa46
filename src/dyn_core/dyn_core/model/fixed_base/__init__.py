# SPDX-License-Identifier: Apache-2.0
"""Models of robots with a fixed base, with loops, mimic and elastic joints.

Imports the rooms below `model` and the shared files of `model`. Begin with `compiled_model.py` for the
functions, or `dynamics_programs.py` for the algorithm of each.
"""
