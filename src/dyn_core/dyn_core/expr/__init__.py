# SPDX-License-Identifier: Apache-2.0
"""Expressions of symbolic scalars as a graph in which no expression appears twice."""
