# SPDX-License-Identifier: Apache-2.0
"""Dynamics: each algorithm once, over generic scalars."""
