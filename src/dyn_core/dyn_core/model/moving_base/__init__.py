# SPDX-License-Identifier: Apache-2.0
"""Models of robots with a moving base.

Imports the rooms below `model`, shared files of `model`, and `fixed_base`. Begin with `compiled_model.py`.
"""
