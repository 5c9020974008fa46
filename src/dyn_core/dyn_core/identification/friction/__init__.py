# SPDX-License-Identifier: Apache-2.0
"""Friction models, equations of a motion with friction, and the selection of a model.

May import identification.regressor. Begin in friction_model.py.
"""
