# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of measured signals and of the reliability of an identification."""
