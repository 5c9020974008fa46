# SPDX-License-Identifier: Apache-2.0
"""Estimation while the robot moves.

May import identification.regressor, friction and estimators. Begin in recursive_estimator.py.
"""
