# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of measured signals and of the reliability of an identification.

May import identification.regressor, friction and estimators. Begin in signal_diagnosis.py.
"""
