# SPDX-License-Identifier: Apache-2.0
"""Outcome of an identification: data, parameter files, result, URDF, prediction and report.

May import identification.regressor, friction and estimators. Begin in identification_result.py.
"""
