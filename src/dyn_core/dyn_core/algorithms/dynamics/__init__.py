# SPDX-License-Identifier: Apache-2.0
"""Inverse and direct dynamics, inertia matrix, Lagrange form and regressors of trees."""
