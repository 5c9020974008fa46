# SPDX-License-Identifier: Apache-2.0
"""Errors, findings, arrays and text: what all other folders use."""
