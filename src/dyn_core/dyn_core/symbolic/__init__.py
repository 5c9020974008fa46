# SPDX-License-Identifier: Apache-2.0
"""Scalars, vectors, matrices, screws and the expression graph on which all equations are written.

May import `core`. Begin with `scalar.py`, then `step.py` and `expression_graph.py`.
"""
