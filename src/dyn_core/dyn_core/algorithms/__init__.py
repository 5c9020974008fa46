# SPDX-License-Identifier: Apache-2.0
"""Algorithms of rigid-body robots, over generic scalars (floats, arrays or graph nodes)."""
