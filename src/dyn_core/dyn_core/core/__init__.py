# SPDX-License-Identifier: Apache-2.0
"""Errors, findings, arrays, text and results of other processes: what all other folders use.

Imports nothing of dyn_core. Begin with `errors.py`.
"""
