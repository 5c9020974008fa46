# SPDX-License-Identifier: Apache-2.0
"""Inverse and direct dynamics, inertia matrix, Lagrange form and regressors of trees.

May import `link_motion` and `loops`. Begin with newton_euler.py (inverse dynamics, inertia matrix), then
direct_dynamics.py. Other files: elastic joints, free bases, wrenches, regressors, Lagrange form.
"""
