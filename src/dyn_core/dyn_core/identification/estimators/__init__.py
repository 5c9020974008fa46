# SPDX-License-Identifier: Apache-2.0
"""Estimators of base parameters and friction, and of physically consistent parameters.

May import identification.regressor and friction. Begin in estimation.py.
"""
