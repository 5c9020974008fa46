# SPDX-License-Identifier: Apache-2.0
"""Formulations of dynamics that the literature compares, implemented as in their papers.

Only `dyn counts --forms` uses them; models compute with `algorithms`. May import `core` to `algorithms`.
Begin with `operation_counts.py`, which lists them by name.
"""
