# SPDX-License-Identifier: Apache-2.0
"""Scalars, vectors, matrices, screws and the expression graph on which all equations are written."""
