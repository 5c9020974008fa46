# SPDX-License-Identifier: Apache-2.0
"""Emitters: one file for each language that a program can be written in.

Imports `traced_program` and `straight_line` of `codegen`, and rooms below `codegen`. Begin with
`registry.py`; `matlab.py` is the shortest example of a language.
"""
